"""Programs that end pods and remove nodes: `died`, `node` and `report` name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from kubectl_plugin.reports.verdict import VerdictCode
from kubectl_plugin.views.evictor_words import going_verdict, going_word, held_words, node_words, removed_words
from podrules.workload.evictors import Agent, Evictor, Purpose, Where
from tests.kubectl_plugin.answers import data, in_order, write_list
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_container, raw_node, raw_object, raw_pod

Object = Mapping[str, Any]
NODE: Final = "worker-a7"
SIZE: Final = {"cpu": "8", "memory": "32Gi", "pods": "110"}
NOW: Final = "2026-11-04T09:30:00Z"
SPOT: Final = "Spot interruption warning was triggered"
DISRUPTED: Final = (
    "Deleting the pod to accommodate the terminationTime 2026-11-04 09:20:00 of the node. The pod was granted 30 "
    "seconds of grace-period of its 900 terminationGracePeriodSeconds."
)
DESCHEDULED: Final = "pod eviction from worker-a7 node by sigs.k8s.io/descheduler"
MISSING: Final = f"Deleting node {NODE} because it does not exist in the cloud provider"
MIRROR: Final = f"audit-proxy-{NODE}"
STATIC: Final = "5f2b8c0d9e1a4736b1c2d3e4f5a69788"


def at(clock: str) -> str:
    return f"2026-11-04T{clock}Z"


def node(*taints: str, made: str = "08:00:00", **more: Any) -> Object:
    """The worker, with taints of these keys."""
    ready = raw_condition("Ready", lastHeartbeatTime=NOW, lastTransitionTime=at("08:00:00"))
    more["conditions"] = [ready, *more.get("conditions", ())]
    more["metadata"] = {"creationTimestamp": at(made), "uid": "n-7", **more.get("metadata", {})}
    added = {"value": "1762248300", "effect": "NoSchedule", "timeAdded": at("09:25:00")}
    own = [{"key": key, **added} for key in taints]
    return raw_node(NODE, capacity=SIZE, allocatable=SIZE, taints=own, **more)


def event(kind: str, name: str, reason: str, message: str, clock: str, by: str, uid: str = "u-1") -> Object:
    space = "default" if kind == "Node" else "billing"
    about = {"kind": kind, "name": name, "uid": uid, **({"namespace": space} if kind == "Pod" else {})}
    source = {"component": by, **({"host": NODE} if by == "kubelet" else {})}
    said: Object = {"reason": reason, "message": message, "firstTimestamp": at(clock), "lastTimestamp": at(clock)}
    made = {"creationTimestamp": at(clock)}
    name = f"{name}.{reason}.{clock}"
    return raw_object("Event", name, space, metadata=made, involvedObject=about, source=source, **said)


def of_pod(reason: str, message: str, clock: str, by: str, uid: str = "u-1", name: str = "invoice") -> Object:
    return event("Pod", name, reason, message, clock, by, uid)


def of_node(reason: str, message: str, by: str, clock: str = "09:29:00") -> Object:
    return event("Node", NODE, reason, message, clock, by, NODE)


def stop(clock: str, uid: str = "u-1", name: str = "invoice") -> list[Object]:
    """A kubelet's events about a pod that it ran and stopped."""
    return [
        of_pod("Started", "Started container app", "08:30:00", "kubelet", uid, name),
        of_pod("Killing", "Stopping container app", clock, "kubelet", uid, name),
    ]


def evicted_pod(**annotations: str) -> Object:
    """A pod that the eviction API has deleted, within its grace period."""
    disrupted = raw_condition(
        "DisruptionTarget", reason="EvictionByEvictionAPI", message="Eviction API: evicting",
        lastTransitionTime=at("09:29:40"),
    )  # fmt: skip
    running = {"name": "app", "ready": True, "state": {"running": {"startedAt": at("08:30:00")}}}
    metadata = {
        "creationTimestamp": at("08:29:00"), "deletionTimestamp": at("09:30:10"), "deletionGracePeriodSeconds": 30,
        "annotations": annotations,
    }  # fmt: skip
    status = {"phase": "Running", "conditions": [disrupted], "containerStatuses": [running]}
    return raw_pod(
        "invoice", "billing", uid="u-1", containers=[raw_container("app")], nodeName=NODE, metadata=metadata,
        status=status, terminationGracePeriodSeconds=30,
    )  # fmt: skip


def ask(folder: Path, objects: Sequence[Object], *words: str) -> str:
    ran = run(*words, "--snapshot", write_cluster(folder / "cluster.json", objects))
    assert not ran.err
    return " ".join(ran.out.split())


def died(folder: Path, *objects: Object, name: str = "invoice") -> str:
    return ask(folder, objects, "died", f"pod/{name}", "-n", "billing")


VPA: Final = "Pod was evicted by VPA Updater to apply resource recommendation."
PLUGIN: Final = "pod evicted by sigs.k8s.io/deschedulerPodLifeTime"
MOVED: Final = "descheduler evicted the pod to move it"
GONE: Final = [
    ("ScaleDown", "deleting pod for node scale down", "cluster-autoscaler", "cluster-autoscaler evicted the pod to"),
    ("Evicted", "Evicted pod: Underutilized", "karpenter", "to remove node worker-a7 (Underutilized)."),
    ("Evicted", "Evicted pod", "karpenter", "Karpenter evicted the pod to remove node worker-a7."),
    ("Disrupted", DISRUPTED, "karpenter", "Karpenter deleted the pod to remove node worker-a7."),
    ("EvictedByVPA", VPA, "vpa-updater", "VPA evicted the pod to apply its recommendation."),
    ("LowNodeUtilization", DESCHEDULED, "sigs.k8s.io/descheduler", f"{MOVED} (LowNodeUtilization)."),
    ("Descheduled", PLUGIN, "sigs.k8s.io.descheduler", f"{MOVED} (PodLifeTime)."),
    ("Descheduled", DESCHEDULED, "descheduler", f"{MOVED}."),
    ("NotSet", DESCHEDULED, "sigs.k8s.io.descheduler", f"{MOVED}."),
]


@pytest.mark.parametrize(("reason", "message", "by", "said"), GONE)
def test_event_about_deleted_pod_names_the_program(
    reason: str, message: str, by: str, said: str, tmp_path: Path
) -> None:
    evidence = of_pod(reason, message, "09:20:00", by)

    answer = died(tmp_path, node(), *stop("09:20:01"), evidence)

    assert said in answer
    assert "Likely" not in answer
    assert answer.count(f"event {reason} at 09:20:00") == 1
    if "deleted" in said:
        return
    # The same event about a pod that still exists.
    there = died(tmp_path, node(), evicted_pod(), of_pod(reason, message, "09:29:40", by))
    assert said in there
    assert "Likely" not in there
    assert f"event {reason} at 09:29:40" in there


@pytest.mark.parametrize(
    ("reason", "helps"),
    [
        ("Expired", "raise expireAfter of the NodePool"),
        ("NodeRepair", "see why the node was unhealthy"),
        ("Forceful Termination", "raise terminationGracePeriod of the NodePool"),
        ("Spot Interrupted", "spot machines end at short notice"),
        ("Drifted", "karpenter.sh/do-not-disrupt"),
        ("Empty", "karpenter.sh/do-not-disrupt"),
    ],
)
def test_karpenter_remedy_depends_on_its_reason(reason: str, helps: str, tmp_path: Path) -> None:
    evidence = of_pod("Evicted", f"Evicted pod: {reason}", "09:20:00", "karpenter")
    answer = died(tmp_path, node(), *stop("09:20:01"), evidence)
    assert f"to remove node worker-a7 ({reason})." in answer
    assert helps in answer
    assert ("do-not-disrupt" in answer) == ("do-not-disrupt" in helps)


KURED: Final = {"weave.works/kured-reboot-in-progress": at("09:28:00")}
DRAINO: Final = raw_condition("DrainScheduled", message="Drain activity scheduled")


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (node("ToBeDeletedByClusterAutoscaler"), "probably because cluster-autoscaler removes node worker-a7"),
        (node("karpenter.sh/disruption"), "probably because Karpenter removes node worker-a7"),
        (node(metadata={"annotations": KURED}), "probably because kured restarts node worker-a7"),
        (node(conditions=[DRAINO]), "probably because draino drains node worker-a7"),
        (node("aws-node-termination-handler/spot-itn"), "reports that the cloud takes node worker-a7 away"),
    ],
)
def test_node_evidence_names_probable_evictor(state: Object, said: str, tmp_path: Path) -> None:
    answer = died(tmp_path, state, evicted_pod())

    assert f"The pod was evicted through the eviction API, {said}" in answer or said in answer
    gone = died(tmp_path, state, *stop("09:27:00"))
    assert said in gone
    assert "Likely, not certain" in gone


LOW: Final = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi. "
FAILED: Final = f"{DESCHEDULED} failed: total eviction limit exceeded (3)"
SCALED: Final = "deleting pod for node scale down"
UPDATED: Final = "Pod resources updated by invoice: container 0: cpu request"
EMPTY: Final = "Disrupting Node: Empty/Delete"
OTHERS: Final[Mapping[str, tuple[Sequence[Object], str, str]]] = {
    "an eviction that failed": (
        [node(), *stop("09:20:01"), of_pod("EvictionFailed", FAILED, "09:20:00", "sigs.k8s.io/descheduler")],
        "",
        "descheduler evicted",
    ),
    "an eviction of the kubelet": (
        [node("karpenter.sh/disrupted"), *stop("09:20:01"), of_pod("Evicted", LOW, "09:20:00", "kubelet")],
        "The kubelet evicted the pod: the node was low on memory",
        "Karpenter",
    ),
    "a spot interruption": (
        [
            *(node("karpenter.sh/disrupted"), evicted_pod()),
            of_pod("Evicted", "Evicted pod", "09:29:40", "karpenter"),
            of_node("SpotInterrupted", SPOT, "karpenter", "09:29:30"),
        ],
        "Karpenter evicted the pod: the cloud takes node worker-a7 away. ... spot machines end at short notice",
        "expireAfter",
    ),
    "an annotation": ([node(), evicted_pod(vpaUpdates=UPDATED)], "perhaps by VPA, which manages it", "Karpenter"),
    "a later event": (
        [
            node("karpenter.sh/disrupted"),
            *stop("09:05:00"),
            of_node("DisruptionTerminating", EMPTY, "karpenter", "09:27:00"),
        ],
        "",
        "Karpenter",
    ),
    "an old event": (
        [node(), evicted_pod(), of_pod("ScaleDown", SCALED, "09:05:00", "cluster-autoscaler")],
        "A client evicted the pod through the eviction API",
        "cluster-autoscaler evicted",
    ),
}
"""All objects, a text of the answer, and one that it does not have."""


@pytest.mark.parametrize("name", OTHERS)
def test_other_evidence_about_a_pod(name: str, tmp_path: Path) -> None:
    objects, has, lacks = OTHERS[name]
    answer = died(tmp_path, *objects)
    assert in_order(answer, has)
    assert lacks not in answer


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (
            of_node("ScaleDown", "node removed by cluster autoscaler", "cluster-autoscaler", "09:21:00"),
            "its Node object is gone; cluster-autoscaler removed node worker-a7.",
        ),
        (
            of_node("DeletingNode", MISSING, "cloud-node-lifecycle-controller", "09:21:00"),
            "its Node object is gone; its machine no longer exists in the cloud.",
        ),
        (
            of_node("SpotInterrupted", SPOT, "karpenter", "09:19:00"),
            "its Node object is gone; Karpenter removed node worker-a7: the cloud took it away.",
        ),
    ],
)
def test_events_of_deleted_node_name_its_remover(evidence: Object, said: str, tmp_path: Path) -> None:
    pod = evicted_pod()
    pod["status"]["conditions"][0] |= {"reason": "DeletionByPodGC", "message": "PodGC: node no longer exists"}
    other = raw_node("worker-b1", capacity=SIZE, allocatable=SIZE)

    assert said in died(tmp_path, other, pod, evidence)


def test_changed_manifest_stops_a_static_pod(tmp_path: Path) -> None:
    mirror = {"kubernetes.io/config.mirror": "0" * 32, "kubernetes.io/config.hash": "0" * 32}
    running = {"name": "app", "ready": True, "state": {"running": {"startedAt": at("09:21:00")}}}
    now = raw_pod(
        MIRROR, "billing", uid="m-2", containers=[raw_container("app")], nodeName=NODE,
        metadata={"creationTimestamp": at("09:21:00"), "annotations": mirror},
        status={"phase": "Running", "containerStatuses": [running]},
    )  # fmt: skip
    own = of_pod("Started", "Started container app", "09:21:00", "kubelet", "0" * 32, MIRROR)

    answer = died(tmp_path, node(), now, own, *stop("09:20:30", STATIC, MIRROR), name=MIRROR)

    assert f"The kubelet stopped the static pod: its manifest on {NODE} was changed." in answer
    assert "Likely" not in answer
    assert "/etc/kubernetes/manifests" in answer
    # The pod's own events end nothing.
    assert "Neither the pod nor a container has ended." in died(tmp_path, node(), now, own, name=MIRROR)


def test_removed_manifest_stops_a_static_pod(tmp_path: Path) -> None:
    answer = died(tmp_path, node(), *stop("09:20:30", STATIC, MIRROR), name=MIRROR)

    assert f"The kubelet stopped the static pod: its manifest on {NODE} was changed, or removed." in answer


def test_static_pod_without_mirror_is_uncertain(tmp_path: Path) -> None:
    file = write_list(tmp_path / "list.json", [node(), *stop("09:20:30", STATIC, MIRROR)])

    ran = run("died", f"pod/{MIRROR}", "-n", "billing", "--snapshot", file)

    assert ran.code == 11
    assert "Likely, not certain: also possible: sandbox gone." in " ".join(ran.out.split())


def announced(message: str) -> Object:
    """A node of AKS with an event of its machine."""
    return node(conditions=[raw_condition("VMEventScheduled", message=message)])


HANDLER: Final = "aws-node-termination-handler"
UNDERUSED: Final = "Disrupting Node: Underutilized/Delete"
ENDS: Final = {"deletionTimestamp": at("09:24:00"), "finalizers": ["karpenter.sh/termination"]}
DRAINED: Final = {"machineconfiguration.openshift.io/desiredDrain": "drain-rendered-worker-5c"}
CLOUD: Final = "the cloud takes the machine away"
GOING: Final[Mapping[str, Sequence[Object]]] = {
    "cluster-autoscaler evicts its pods and removes it (taint ToBe": [node("ToBeDeletedByClusterAutoscaler")],
    "Karpenter evicts its pods and removes it (taint karpenter.sh/disrupted": [node("karpenter.sh/disrupted")],
    f"Karpenter says: {UNDERUSED}.": [
        node("karpenter.sh/disrupted"),
        of_node("DisruptionTerminating", UNDERUSED, "karpenter", "09:25:00"),
    ],
    "finalizer karpenter.sh/termination": [node(metadata=ENDS)],
    f"{CLOUD} ({HANDLER}: event SpotInterruption)": [
        node(),
        of_node("SpotInterruption", "Spot ITN received.", HANDLER, "09:28:30"),
    ],
    f"{CLOUD} (GKE: taint cloud": [node("cloud.google.com/impending-node-termination")],
    f"{CLOUD} (GKE: label": [node(labels={"cloud.google.com/active-node-maintenance": "ONGOING"})],
    f"{CLOUD} (AKS: condition VMEventScheduled)": [announced("Preempt Scheduled: Wed, 04 Nov 2026 09:31:00 GMT")],
    "About to restart: AKS announces it, and evicts no pod for it (condition VMEventScheduled)": [
        announced("Reboot Scheduled: Wed, 04 Nov 2026 09:45:00 GMT")
    ],
    **{
        f"{CLOUD} ({HANDLER}: event {reason})": [node(), of_node(reason, "received. Instance i-4", HANDLER, "09:28:30")]
        for reason in ("ASGLifecycle", "StateChange", "SQSTermination")
    },
    "AKS drains it: its pods are evicted (taint rem": [node("remediator.kubernetes.azure.com/unschedulable")],
    "machine-config-operator evicts its pods first (annotation machineconf": [node(metadata={"annotations": DRAINED})],
    "draino drains it: its pods are evicted (event DrainStarting)": [
        node(unschedulable=True),
        of_node("DrainStarting", "Draining node", "draino", "09:27:00"),
    ],
}
"""By text of the page of the node: the node and events."""


@pytest.mark.parametrize("said", GOING)
def test_node_and_report_show_imminent_removal(said: str, tmp_path: Path) -> None:
    objects = [*GOING[said], raw_node("worker-b1", capacity=SIZE, allocatable=SIZE)]

    page = ask(tmp_path, objects, "node", NODE)
    report = ask(tmp_path, objects, "report", "-A")

    # An event alone gives no code: a List may lack events.
    alone = "event" in said
    assert said in page
    assert "says: 17" not in page
    ahead = "restart" if "About to restart" in page else "go"
    assert (f"! {NODE} is about to {ahead}" in report) is not alone
    assert (": its pods are evicted." in report) is not (alone or "evicts no pod" in page)
    assert ("NodeGoing" in codes(tmp_path, objects)) is not alone
    assert codes(tmp_path, objects) == codes(tmp_path, [one for one in objects if one["kind"] != "Event"])


def codes(folder: Path, objects: Sequence[Object]) -> list[str]:
    """The codes of the node and of the report from a List."""
    file = write_list(folder / "list.json", objects)
    asked = [("node", NODE), ("report", "-A"), ("explain", f"node/{NODE}")]
    return [data(*words, "--snapshot", file)["verdict"]["code"] for words in asked]


@pytest.mark.parametrize(
    "objects",
    [
        [node()],
        # Events from long ago, about an earlier node of the name, about other nodes, and of an autoscaler that gave up.
        [node(), of_node("SpotInterrupted", SPOT, "karpenter", "09:05:00")],
        [node(made="09:29:00"), of_node("SpotInterrupted", SPOT, "karpenter", "09:28:00")],
        [node(), of_node("Drain", "Draining node", "kubelet")],
        [node(), of_node("ScaleDown", "marked the node as toBeDeleted/unschedulable", "autoscaler")],
        # A risk, and maintenance that is days away.
        [node(), of_node("RebalanceRecommendation", "received", HANDLER)],
        [node(), of_node("ScheduledEvent", "maintained at 2026-11-20", HANDLER)],
        # A freeze, which only pauses a machine; a finished drain; a label with another value.
        [announced("Freeze Scheduled: Wed, 04 Nov 2026")],
        [node(conditions=[raw_condition("PreemptScheduled", "False")])],
        [node(metadata={"annotations": {"machineconfiguration.openshift.io/desiredDrain": "uncordon-rendered"}})],
        [node(labels={"cloud.google.com/active-node-maintenance": "PENDING"})],
        [node(metadata={"finalizers": ["karpenter.sh/termination"]})],
        [node("DeletionCandidateOfClusterAutoscaler")],
    ],
)
def test_other_evidence_shows_no_imminent_removal(objects: list[Object], tmp_path: Path) -> None:
    page = ask(tmp_path, objects, "node", NODE)
    assert "About to" not in page
    assert "drains it" not in page
    assert "about to go" not in ask(tmp_path, objects, "report", "-A")


def test_node_kept_by_karpenter_shows_the_reason(tmp_path: Path) -> None:
    blocked = "Pdb prevents pod evictions (PodDisruptionBudget=[billing/invoice])"
    evidence = of_node("DisruptionBlocked", blocked, "karpenter", "09:27:00")

    page = ask(tmp_path, [node(), evidence], "node", NODE)

    assert f"Held back Karpenter did not remove it (DisruptionBlocked, 3 min ago): {blocked}" in page
    assert "About to go" not in page


def test_node_lists_what_programs_ended_on_it(tmp_path: Path) -> None:
    evidence = of_pod("EvictedByVPA", VPA, "09:29:40", "vpa")
    assert "1 evicted by VPA billing/invoice" in ask(tmp_path, [node(), evicted_pod(), evidence], "node", NODE)


def test_cloud_warning_outranks_drain_taint(tmp_path: Path) -> None:
    spot = of_node("SpotInterrupted", SPOT, "karpenter", "09:29:30")
    waits = of_node("FailedDraining", "Failed to drain node, 3 pods are waiting to be evicted", "karpenter", "09:29:50")

    page = ask(tmp_path, [node("karpenter.sh/disrupted"), spot, waits], "node", NODE)

    assert (
        "About to go: the cloud takes the machine away (Karpenter: taint karpenter.sh/disrupted=1762248300:NoSchedule)"
        in page
    )
    assert f"Karpenter says: {SPOT}." in page
    assert "Held back Karpenter waits (FailedDraining, 10 s ago): Failed to drain node, 3 pods" in page


def test_autoscaler_removal_outranks_cloud_event(tmp_path: Path) -> None:
    pod = evicted_pod()
    pod["status"]["conditions"][0] |= {"reason": "DeletionByPodGC", "message": "PodGC: node no longer exists"}
    evidence = [
        of_node("ScaleDown", "node removed by cluster autoscaler", "cluster-autoscaler", "09:21:00"),
        of_node("DeletingNode", MISSING, "c", "09:24:00"),
    ]

    assert "cluster-autoscaler removed node worker-a7." in died(tmp_path, pod, *evidence, raw_node("worker-b1"))


@pytest.mark.parametrize("agent", Agent)
@pytest.mark.parametrize("where", Where)
@pytest.mark.parametrize(
    "purpose", [one for one in Purpose if one.value.endswith("Node") or one is Purpose.INTERRUPTED]
)
def test_every_program_has_a_text(agent: Agent, where: Where, purpose: Purpose) -> None:
    by = Evictor(agent, purpose, where, "sign")
    verdict = going_verdict(by, None)
    said = [*verdict.sentences, going_word(by), held_words(by, None), node_words(by, ""), removed_words(by, "n1")]

    assert all(said)
    assert verdict.sentences[0].endswith(".")
    assert (verdict.code is VerdictCode.NODE_GOING) is not by.is_announced


@pytest.mark.parametrize("name", ["c33-a", "c33-b"])
def test_captured_nodes_show_imminent_removal(name: str) -> None:
    file = f"tests/testdata/cases/field/{name}.json"

    ran = run("node", "--snapshot", file, "-o", "json")

    assert '"code": "NodeGoing"' in ran.out
    assert "is about to go" in run("report", "-A", "--snapshot", file).out


def test_hostile_message_is_cut_and_escaped(tmp_path: Path) -> None:
    evidence = of_node("DisruptionTerminating", f"Disrupting Node: \x1b[31m{'x' * 100_000}end", "karpenter", "09:25:00")

    page = ask(tmp_path, [node("karpenter.sh/disrupted"), evidence], "node", NODE)

    assert "\x1b" not in page
    assert page.count("x") < 1_000
    assert "xend." in page
