"""Remedies match what the owner of a taint, a label or a pod would do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest

from tests.controlplane.client import Object
from tests.kubectl_plugin.answers import check_texts, write_list
from tests.kubectl_plugin.running import run
from tests.kubectl_plugin.test_field_cases import FIELD
from tests.objects import raw_condition, raw_event, raw_node, raw_object, raw_owner, raw_pod, raw_workload


def said(*words: str) -> str:
    ran = run(*words)
    assert "Traceback" not in ran.err
    return " ".join("\n".join(ran.out.splitlines()[:12]).split())


@pytest.mark.parametrize(
    ("case", "way"),
    [
        ("c33-a", "add a node or wait for a new one: cluster-autoscaler is about to remove a."),
        ("c33-b", "add a node or wait for a new one: Karpenter is about to remove b."),
        ("c33-d", "wait until Cilium's agent is ready on d."),
        ("c33-h", "add a node that runs Linux: h runs Windows."),
    ],
)
def test_taint_with_an_owner_is_not_tolerated(case: str, way: str) -> None:
    page = said("explain", "pod/web", "--snapshot", str(FIELD / f"{case}.json"))
    assert f"Way out: {way}" in page
    assert "tolerate " not in page.replace("does not tolerate", "")


def test_rollout_that_is_stuck_stops_an_old_pod() -> None:
    page = said("explain", "pod/api-new-1", "--snapshot", str(FIELD / "c17.json"))
    check_texts(page, "Way out: let the rollout stop default/api-old-1 on w1 first: maxUnavailable 1.", "stop pod")


NOW: Final = "2026-11-23T07:30:00Z"
ROOM: Final = {"cpu": "4", "memory": "8Gi", "pods": "110"}


def node(name: str, **labels: str) -> Object:
    ready = raw_condition("Ready", lastHeartbeatTime=NOW, lastTransitionTime=NOW)
    return raw_node(name, {"kubernetes.io/hostname": name, **labels}, allocatable=ROOM, conditions=[ready])


def pending(name: str = "web-1", **spec: Any) -> Object:
    refused = raw_condition("PodScheduled", "False", reason="Unschedulable", lastTransitionTime=NOW)
    metadata = spec.pop("metadata", {})
    status = {"phase": "Pending", "conditions": [refused]}
    return raw_pod(name, "shop", uid=name, metadata=metadata, status=status, **{"requests": {"cpu": "1"}, **spec})


def owned(kind: str, name: str) -> Object:
    """Metadata of a pod with a controller."""
    return {"ownerReferences": [raw_owner(kind, name, uid=name)]}


def explained(directory: Path, *items: Object, name: str = "web-1") -> str:
    """The page of a pod with all its sections."""
    file = write_list(directory / "cluster.json", items)
    return said("explain", f"pod/{name}", "-n", "shop", "-o", "wide", "--snapshot", file)


def required(**term: Any) -> Object:
    terms = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def values(key: str, *values: str) -> Object:
    return {"key": key, "operator": "In", "values": values}


HOST: Final = "kubernetes.io/hostname"
PINNED: Final = [
    ({"nodeSelector": {HOST: "rack-9"}}, f"None of 2 nodes has {HOST}=rack-9."),
    (
        {"affinity": required(matchFields=[values("metadata.name", "rack-9")])},
        "None of 2 nodes has metadata.name=rack-9.",
    ),
    (
        {"affinity": required(matchExpressions=[values(HOST, "rack-8", "rack-9")])},
        f"None of 2 nodes has {HOST}=rack-8 or {HOST}=rack-9.",
    ),
]


@pytest.mark.parametrize(("spec", "sentence"), PINNED)
def test_unknown_node_name_is_the_cause(spec: Object, sentence: str, tmp_path: Path) -> None:
    page = explained(tmp_path, node("rack-1"), node("rack-2"), pending(**spec))
    assert f"0 of 2 nodes fit. {sentence}" in page
    assert "do not match" not in page.partition("Why no node fits")[0]


@pytest.mark.parametrize(("spec", "sentence"), PINNED)
def test_known_node_name_is_not_the_cause(spec: Object, sentence: str, tmp_path: Path) -> None:
    page = explained(tmp_path, node("rack-1"), node("rack-9"), pending(requests={"cpu": "64"}, **spec))
    check_texts(page, "1 lacks cpu", sentence)


def test_unpinned_daemon_pod_has_no_own_node(tmp_path: Path) -> None:
    pin = required(matchFields=[values("metadata.name", "rack-2")])
    daemon = pending(affinity=pin, requests={"cpu": "9"}, metadata=owned("DaemonSet", "agent"))
    page = explained(tmp_path, node("rack-1"), node("rack-2"), node("rack-3"), daemon)
    assert "Of 3 nodes, 1 lacks cpu and 2 are not its node." in page


def test_one_reason_is_named_once(tmp_path: Path) -> None:
    full = node("rack-2")
    full["status"]["allocatable"] = {**ROOM, "pods": "0"}
    assert "Of 2 nodes, 2 lack cpu." in explained(tmp_path, node("rack-1"), full, pending(requests={"cpu": "9"}))


def test_daemon_pods_with_same_reason_are_grouped(tmp_path: Path) -> None:
    full = node("rack-2")
    full["status"]["allocatable"] = {**ROOM, "pods": "0"}
    daemons = raw_workload("DaemonSet", "agent", "shop", pod_spec=raw_pod(requests={"cpu": "9"})["spec"])
    manifest = write_list(tmp_path / "agent.json", [daemons])
    cluster = write_list(tmp_path / "cluster.json", [node("rack-1"), full])
    assert "rack-1 and rack-2 lack cpu." in said("place", "-f", manifest, "--snapshot", cluster)


WRITERS: Final = [
    pytest.param(
        {"openshift.io/node-selector": "node-role.kubernetes.io/infra="},
        {"node-role.kubernetes.io/infra": ""},
        "take node-role.kubernetes.io/infra= out of its namespace's annotation openshift.io/node-selector "
        "(admission copies it) (then n1).",
        id="OpenShift",
    ),
    pytest.param(
        {"scheduler.alpha.kubernetes.io/node-selector": "topology.kubernetes.io/region=eu-9, tier=web"},
        {"topology.kubernetes.io/region": "eu-9", "topology.kubernetes.io/zone": "eu-9a"},
        "take topology.kubernetes.io/region=eu-9 out of its namespace's annotation scheduler.alpha.kubernetes.io/"
        "node-selector (admission copies it) and drop spec.nodeSelector topology.kubernetes.io/zone=eu-9a (then n1).",
        id="PodNodeSelector, and one of its own",
    ),
    pytest.param(
        {"openshift.io/node-selector": "", "note": "topology.kubernetes.io/zone=eu-9a"},
        {"topology.kubernetes.io/zone": "eu-9a"},
        "drop spec.nodeSelector topology.kubernetes.io/zone=eu-9a (then n1).",
        id="the pod's own",
    ),
]


@pytest.mark.parametrize(("annotations", "selector", "way"), WRITERS)
def test_admission_fields_are_changed_at_their_source(
    annotations: dict[str, str], selector: dict[str, str], way: str, tmp_path: Path
) -> None:
    space = raw_object("Namespace", "shop", metadata={"annotations": annotations})
    assert f"Way out: {way}" in explained(tmp_path, node("n1"), pending(nodeSelector=selector), space)
    assert f"Way out: {way}" in said("place", "pod/web-1", "-n", "shop", "--snapshot", str(tmp_path / "cluster.json"))


MCO: Final = "machineconfiguration.openshift.io"
KARPENTER: Final = {"deletionTimestamp": NOW, "finalizers": ["karpenter.sh/termination"]}


def cordoned(name: str, **metadata: Any) -> Object:
    whole = node(name)
    spec = {**whole.get("spec", {}), "unschedulable": True}
    return {**whole, "metadata": {**whole["metadata"], **metadata}, "spec": spec}


@pytest.mark.parametrize(
    ("metadata", "way"),
    [
        (
            {"annotations": {f"{MCO}/desiredDrain": "drain-rendered-infra-9"}},
            "wait until machine-config-operator has restarted m-4.",
        ),
        ({"annotations": {"weave.works/kured-reboot-in-progress": NOW}}, "wait until kured has restarted m-4."),
        (KARPENTER, "add a node or wait for a new one: Karpenter removes node m-4."),
        ({}, "uncordon m-4."),
    ],
)
def test_node_that_a_program_takes_is_not_uncordoned(metadata: Object, way: str, tmp_path: Path) -> None:
    assert f"Way out: {way}" in explained(tmp_path, cordoned("m-4", **metadata), pending())


def test_interrupted_node_is_not_to_be_uncordoned(tmp_path: Path) -> None:
    by = {"component": "aws-node-termination-handler"}
    warned = raw_event("Node/m-4", "SpotInterruption", "Spot ITN received", uid="m-4", last=NOW, source=by)
    page = explained(tmp_path, cordoned("m-4"), cordoned("m-5"), pending(), warned)
    check_texts(page, "uncordon m-5", "uncordon m-4")


def test_no_room_is_freed_on_node_about_to_be_removed(tmp_path: Path) -> None:
    leaving = {**node("m-4"), "metadata": {**node("m-4")["metadata"], **KARPENTER}}
    full = raw_pod("full", "shop", uid="full", nodeName="m-4", status={"phase": "Running"}, requests={"cpu": "3500m"})
    page = explained(tmp_path, leaving, full, pending())
    assert "Way out: add a node or wait for a new one: Karpenter removes node m-4." in page


def test_degraded_machine_config_shows_the_reason(tmp_path: Path) -> None:
    annotations = {f"{MCO}/desiredDrain": "drain-rendered-b", f"{MCO}/reason": "failed to drain node: m-4 after 1 hour"}
    items = [cordoned("m-4", annotations=annotations), pending()]
    file = write_list(tmp_path / "cluster.json", items)
    page = said("node", "m-4", "--snapshot", file)
    assert "machine-config-operator says: failed to drain node: m-4 after 1 hour." in page


def test_paused_rollout_is_resumed_first(tmp_path: Path) -> None:
    def of(name: str, revision: str, **spec: Any) -> Object:
        labels = {"app": "pay", "pod-template-hash": revision}
        metadata = {"creationTimestamp": NOW, "labels": labels, **owned("ReplicaSet", f"pay-{revision}")}
        return pending(name, metadata=metadata, requests={"cpu": "3"}, **spec)

    old = {**of("pay-5d-x", "5d", nodeName="m-4"), "status": {"phase": "Running"}}
    items = [node("m-4"), old, of("pay-6f-y", "6f")]
    said_then = "let the rollout stop shop/pay-5d-x on m-4 first: maxUnavailable 1."
    for paused, way in ((False, said_then), (True, "resume the paused rollout and let it stop shop/pay-5d-x on m-4")):
        deployment = raw_workload("Deployment", "pay", "shop", paused=paused)
        assert f"Way out: {way}" in explained(tmp_path, *items, deployment, name="pay-6f-y")


def tainted(name: str, key: str, effect: str = "NoSchedule", **ready: str) -> Object:
    condition = raw_condition("Ready", **{"lastHeartbeatTime": NOW, "lastTransitionTime": NOW, **ready})
    taint = {"key": key, "value": "x", "effect": effect}
    return raw_node(name, {"kubernetes.io/hostname": name}, allocatable=ROOM, conditions=[condition], taints=[taint])


def of_daemon_set(name: str, on: str, *, ready: str) -> Object:
    status = {"phase": "Running", "conditions": [raw_condition("Ready", ready, lastTransitionTime=NOW)]}
    return raw_pod(name, "kube-system", uid=name, metadata=owned("DaemonSet", "agent"), status=status, nodeName=on)


@pytest.mark.parametrize(
    ("key", "way"),
    [
        ("medik8s.io/remediation", "wait until the remediator has repaired r-2."),
        ("remediation.medik8s.io/self-node-remediation", "wait until the remediator has repaired r-2."),
        ("kubevirt.io/drain", "wait until KubeVirt has drained r-2 and its taint is gone."),
        ("readiness.k8s.io/gpu", "wait until what node-readiness-controller waits for is ready on r-2."),
        ("cni.acme.com/not-ready", "wait until the agent of cni.acme.com is ready on r-2."),
        ("acme.com/storage-notready", "wait until the agent of acme.com is ready on r-2."),
        ("karpenter.sh/unregistered", "wait until r-2 has registered with Karpenter."),
        ("acme.com/ready", "tolerate acme.com/ready=x:NoSchedule"),
    ],
)
def test_repair_taint_is_awaited(key: str, way: str, tmp_path: Path) -> None:
    assert f"Way out: {way}" in explained(tmp_path, tainted("r-2", key), pending())


@pytest.mark.parametrize(("ready", "why"), [("False", " (kube-system/agent-1 there is not healthy)"), ("True", "")])
def test_unhealthy_agent_is_named(ready: str, why: str, tmp_path: Path) -> None:
    agents = [of_daemon_set("agent-1", "r-2", ready=ready), of_daemon_set("agent-2", "other", ready="False")]
    page = explained(tmp_path, tainted("r-2", "disk.acme.com/agent-not-ready"), *agents, pending())
    assert f"Way out: wait until the agent of disk.acme.com is ready on r-2{why}." in page


def test_reason_of_unready_node_is_shown(tmp_path: Path) -> None:
    down = tainted("r-2", "node.kubernetes.io/not-ready", status="False", message="PLEG is not healthy: 4 min.")
    page = explained(tmp_path, down, pending())
    assert "wait until r-2 is Ready again (its kubelet says: PLEG is not healthy: 4 min)." in page
    for command in (("node", "r-2"), ("explain", "node/r-2")):
        page = said(*command, "--snapshot", str(tmp_path / "cluster.json"))
        assert "places no pod here. Its kubelet says: PLEG is not healthy: 4 min." in page


def scaling_event(reason: str, message: str, by: str, at: str, uid: str = "web-1") -> Object:
    return raw_event("Pod/web-1", reason, message, namespace="shop", uid=uid, last=at, source={"component": by})


REFUSED: Final = "pod didn't trigger scale-up: 1 max node group size reached"
BY: Final = "cluster-autoscaler"


@pytest.mark.parametrize(
    ("events", "line"),
    [
        ([("NotTriggerScaleUp", REFUSED, BY, "2026-11-23T07:28:00Z")], f"{BY}, 2 min ago: {REFUSED}."),
        (
            [
                ("NotTriggerScaleUp", REFUSED, BY, "2026-11-23T07:20:00Z"),
                ("TriggeredScaleUp", "pod triggered scale-up", BY, "2026-11-23T07:28:00Z"),
            ],
            f"{BY}, 2 min ago: pod triggered scale-up.",
        ),
        (
            [("FailedScheduling", "no instance type fits", "karpenter", "2026-11-23T07:28:00Z")],
            "karpenter, 2 min ago: no instance type fits.",
        ),
        ([("FailedScheduling", "0/1 nodes are available", "default-scheduler", NOW)], ""),
        ([("NotTriggerScaleUp", REFUSED, BY, "2026-11-23T05:00:00Z")], ""),
        ([("NotTriggerScaleUp", REFUSED, BY, NOW, "an-earlier-one")], ""),
        ([("NotTriggerScaleUp", "", BY, NOW)], f"{BY}, just now: NotTriggerScaleUp."),
    ],
)
def test_autoscaler_message_is_quoted(events: list[tuple[str, ...]], line: str, tmp_path: Path) -> None:
    page = explained(tmp_path, cordoned("m-4"), pending(), *(scaling_event(*one) for one in events))
    assert line in page
    assert line or ("scale-up" not in page and "available" not in page)


OLD_KEY: Final = "failure-domain.beta.kubernetes.io/zone"
ZONE: Final = "topology.kubernetes.io/zone"


def spread(key: str, **more: Any) -> Object:
    selector = {"matchLabels": {"app": "shop"}}
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector, **more}


def of_shop(name: str, on: str = "", *, constraint: Object) -> Object:
    made = pending(name, metadata={"labels": {"app": "shop"}}, topologySpreadConstraints=[constraint], nodeName=on)
    return {**made, "status": {"phase": "Running"}} if on else made


@pytest.mark.parametrize("key", ["topology.kubernetes.io/zonee", OLD_KEY])
@pytest.mark.parametrize("there", [(), ("p",)])
def test_corrected_key_is_suggested_before_soft_spread(key: str, there: tuple[str], tmp_path: Path) -> None:
    """This also holds if it opens fewer nodes than ScheduleAnyway does."""
    nodes = [node(name, **{ZONE: f"zone-{name}"}) for name in "pqr"]
    pods = [of_shop(f"web-on-{name}", name, constraint=spread(ZONE)) for name in there]
    page = explained(tmp_path, *nodes, *pods, of_shop("web-1", constraint=spread(key)))
    assert f"Way out: spread over {ZONE} instead of {key} (then" in page


def test_key_that_some_nodes_have_is_kept(tmp_path: Path) -> None:
    rack = "acme.com/rack"
    nodes = [node("p", **{rack: "r1"}), node("q", **{rack: "r2"})]
    nodes[1] = {**nodes[1], "spec": {"unschedulable": True}}
    pods = [of_shop("web-0", "p", constraint=spread(rack))]
    assert f"{ZONE} instead" not in explained(tmp_path, *nodes, *pods, of_shop("web-1", constraint=spread(rack)))


def test_unreachable_min_domains_is_lowered(tmp_path: Path) -> None:
    constraint = spread(ZONE, minDomains=4)
    nodes = [node(name, **{ZONE: f"zone-{name}"}) for name in "pq"]
    pods = [of_shop(f"web-on-{name}", name, constraint=constraint) for name in "pq"]
    page = explained(tmp_path, *nodes, *pods, of_shop("web-1", constraint=constraint))
    assert f"Way out: minDomains 2 on {ZONE} (then" in page
    whole = run("explain", "pod/web-1", "-n", "shop", "--snapshot", str(tmp_path / "cluster.json")).out
    assert "least 0 because minDomains is 4" in " ".join(whole.split())


@pytest.mark.parametrize(
    ("labels", "way"),
    [
        (
            {"kubernetes.io/arch": "aarch64"},
            "drop spec.nodeSelector kubernetes.io/arch=aarch64, for kubelets arm64 (then p).",
        ),
        ({"kubernetes.io/arch": "s390x"}, "add a node with kubernetes.io/arch=s390x."),
        ({"kubernetes.io/os": "Linux"}, "drop spec.nodeSelector kubernetes.io/os=Linux, for kubelets linux (then p)."),
        ({"tier": "Gold"}, "label p tier=Gold (it has tier=gold)."),
    ],
)
def test_impossible_node_is_not_suggested(labels: Object, way: str, tmp_path: Path) -> None:
    own = {"kubernetes.io/arch": "arm64", "kubernetes.io/os": "linux", "tier": "gold"}
    assert f"Way out: {way}" in explained(tmp_path, node("p", **own), pending(nodeSelector=labels))


def test_larger_node_is_added_and_replaces_none(tmp_path: Path) -> None:
    assert "Way out: add a node with 16 free CPU." in explained(tmp_path, node("p"), pending(requests={"cpu": "9"}))
    pinned = pending(requests={"cpu": "9"}, nodeSelector={"kubernetes.io/hostname": "p"})
    assert "Way out: replace p with one that has 16 free CPU." in explained(tmp_path, node("p"), pinned)


OF_SET: Final = owned("ReplicaSet", "a")


def test_self_anti_affinity_needs_another_domain(tmp_path: Path) -> None:
    term = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "rack"}
    own = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    meta = {"labels": {"app": "a"}, **OF_SET}
    there = raw_pod("a-0", "shop", uid="a-0", metadata=meta, nodeName="w", affinity=own, status={"phase": "Running"})
    page = explained(tmp_path, node("w", rack="1"), there, pending(metadata=meta, affinity=own))
    assert (
        "by its required pod anti-affinity. Ways out: add a node in another rack (rack); request fewer pods; or make "
        "its anti-affinity preferred."
    ) in page


def test_second_pod_of_a_claim_for_one_pod_needs_another_claim(tmp_path: Path) -> None:
    meta = {"uid": "one", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    spec = {"accessModes": ["ReadWriteOncePod"], "volumeName": "pv", "resources": {"requests": {"storage": "1"}}}
    claim = raw_object("PersistentVolumeClaim", "one", "shop", metadata=meta, spec=spec, status={"phase": "Bound"})
    volume = raw_object("PersistentVolume", "pv")
    uses: dict[str, Any] = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "one"}}]}
    there = raw_pod("a-0", "shop", uid="a-0", metadata=OF_SET, nodeName="w", status={"phase": "Running"}, **uses)
    page = explained(tmp_path, node("w"), claim, volume, there, pending(metadata=OF_SET, **uses))
    assert "1 is ruled out because another pod uses its ReadWriteOncePod claim. Way out: one replica, or " in page
    assert "another access mode for claim one." in page


@pytest.mark.parametrize("key", ["topology.kubernetes.io/zon", "acme.com/racks"])
@pytest.mark.parametrize("by_affinity", [False, True])
def test_mistyped_label_is_corrected_before_it_is_dropped(key: str, by_affinity: bool, tmp_path: Path) -> None:
    term = required(matchExpressions=[values(key, "a")])
    spec = {"affinity": term} if by_affinity else {"nodeSelector": {key: "a"}}
    there = "acme.com/rack" if "acme" in key else ZONE
    page = explained(tmp_path, node("p", **{there: "a"}), node("q", **{there: "b"}), pending(**spec))
    assert re.search(rf"Way out: correct \S.*\(nodes have {there}\), or drop it \(then", page)
    assert "Way out: correct" not in explained(tmp_path, node("p", **{key: "b"}), pending(**spec))
