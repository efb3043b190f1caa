"""Claims that `died` and `node` must not make: pods, nodes and events that resemble another end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_container, raw_node, raw_pod

Object = Mapping[str, Any]
NODE: Final = "edge-3"
SIZE: Final = {"cpu": "16", "memory": "64Gi", "pods": "110"}
NOW: Final = datetime(2026, 5, 20, 12, 0, tzinfo=UTC)
FLAT: Final = 10_000
"""The width of the output, so that no line wraps."""


def at(seconds: float) -> str:
    """The time this many seconds from now."""
    return (NOW + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def node(*conditions: Object, **more: Any) -> Object:
    ready = raw_condition("Ready", lastHeartbeatTime=at(0), lastTransitionTime=at(-90_000))
    own = conditions if any(one["type"] == "Ready" for one in conditions) else (*conditions, ready)
    metadata = {"creationTimestamp": at(-900_000), "uid": "n-1"}
    return raw_node(NODE, metadata=metadata, capacity=SIZE, allocatable=SIZE, conditions=own, **more)


def pod(
    name: str = "mail-55d-abcde",
    owner: str = "ReplicaSet/mail-55d",
    *,
    made: float = -7000,
    metadata: Object | None = None,
    containers: Sequence[Object] | None = None,
    status: Object | None = None,
    **spec: Any,
) -> Object:
    kind, _, own = owner.partition("/")
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": own, "uid": f"o-{own}", "controller": True}
    meta = {"creationTimestamp": at(made), "ownerReferences": [reference] if owner else [], **(metadata or {})}
    state = {"phase": "Running", "startTime": at(made), **(status or {})}
    spec = {"nodeName": NODE, "terminationGracePeriodSeconds": 30, "restartPolicy": "Always", **spec}
    return raw_pod(name, "post", uid=f"u-{name}", metadata=meta, containers=containers, status=state, **spec)


def failed(reason: str, message: str, since: float = -7000, *conditions: Object, **more: Any) -> Object:
    """A pod that its kubelet rejected or ended."""
    status = {"phase": "Failed", "reason": reason, "message": message, "conditions": list(conditions)}
    return pod(made=since, status=status, **more)


def ran(end: Object, *, runs: float | None = -10, restarts: int = 1, name: str = "app") -> Object:
    """The status of a container that ended and restarted a moment ago."""
    again = {"running": {"startedAt": at(runs)}} if runs is not None else {"terminated": end}
    last = {"lastState": {"terminated": end}} if runs is not None else {}
    return {"name": name, "restartCount": restarts, "ready": runs is not None, "image": "i", "state": again, **last}


def exited(code: int, reason: str, ended: float, began: float = -7000) -> Object:
    return {"exitCode": code, "reason": reason, "startedAt": at(began), "finishedAt": at(ended)}


def event(about: str, reason: str, message: str, when: float, by: str = "kubelet", **more: Any) -> Object:
    """An event about ``Kind/name``."""
    kind, _, name = about.partition("/")
    space = "default" if kind == "Node" else "post"
    field = more.pop("field", "")
    involved = {"kind": kind, "name": name, "uid": {"Node": NODE, "Pod": f"u-{name}"}.get(kind, f"o-{name}")}
    involved |= {"namespace": space} if kind != "Node" else {}
    involved |= {"fieldPath": field} if field else {}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{reason}.{when}", "namespace": space, "creationTimestamp": at(when)},
        "involvedObject": involved,
        "reason": reason,
        "message": message,
        "firstTimestamp": at(when),
        "lastTimestamp": at(when),
        "source": {"component": by, **({"host": NODE} if by == "kubelet" else {})},
        **more,
    }


def said(folder: Path, objects: Sequence[Object], *words: str) -> str:
    """The page for some objects; ``now`` is one of their times."""
    file = folder / "list.json"
    clock = event("Node/clock", "Clock", "", 0, "none")
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*objects, clock]}))
    ran = run(*words, "--snapshot", str(file))
    assert "Traceback" not in ran.err
    return " ".join(ran.out.split())


def died(folder: Path, *objects: Object, name: str = "mail-55d-abcde") -> str:
    return said(folder, objects, "died", f"pod/{name}", "-n", "post")


# Time


PODS_FAILED: Final = raw_condition("Ready", "False", reason="PodFailed", lastTransitionTime=at(-7300))
TARGET: Final = raw_condition("DisruptionTarget", reason="TerminationByKubelet", lastTransitionTime=at(-7300))
LOW: Final = "The node was low on resource: memory. "
UNKNOWN: Final = {"exitCode": 137, "reason": "ContainerStatusUnknown", "startedAt": None, "finishedAt": None}


@pytest.mark.parametrize(
    "ended",
    [
        failed("OutOfpods", "Pod was rejected: Node didn't have enough resource: pods", -7300),
        failed("Evicted", LOW, -9000, PODS_FAILED),
        failed("Evicted", LOW, -9000, TARGET),
        failed("Terminated", "Pod was terminated in response to imminent node shutdown.", -9000, TARGET),
    ],
)
def test_old_failure_is_not_in_the_last_hour(ended: Object, tmp_path: Path) -> None:
    assert "Nothing has ended in the last 60 min" in said(tmp_path, [node(), ended], "died", "-A")
    assert "Ended in the last hour" not in said(tmp_path, [node(), ended], "node", NODE)
    assert "1 pod in the last 3 h" in said(tmp_path, [node(), ended], "died", "-A", "--since", "3h")
    assert "At 09:58:20 UTC (121 min ago)" in died(tmp_path, node(), ended)


def test_failed_pod_without_times_is_not_in_the_last_hour(tmp_path: Path) -> None:
    status = {"phase": "Failed", "reason": "Evicted", "message": LOW, "containerStatuses": [ran(UNKNOWN, runs=None)]}
    assert "Nothing has ended in the last 60 min" in said(tmp_path, [pod(status=status)], "died", "-A")
    assert "evicted the pod" in died(tmp_path, pod(status=status))


# Memory


SYSTEM: Final = "System OOM encountered, victim process: fluentbit, pid: 77"
CGROUP: Final = (
    "Memory cgroup out of memory: Killed process 4201 (ruby) total-vm:9000kB, anon-rss:8000kB, oom_score_adj:9"
)


def out_of_memory(*kills: tuple[str, float], limit: str = "2Gi", reason: str = "OOMKilled") -> list[Object]:
    box = raw_container(limits={"memory": limit} if limit else None)
    status = {"phase": "Running", "containerStatuses": [ran(exited(137, reason, -100))]}
    reasons = {SYSTEM: "SystemOOM"}
    evidence = [event(f"Node/{NODE}", reasons.get(text, "OOMKilling"), text, when) for text, when in kills]
    return [node(), pod(containers=[box], status=status), *evidence]


def test_oom_event_of_the_same_second_comes_first(tmp_path: Path) -> None:
    page = died(tmp_path, *out_of_memory((SYSTEM, -108), (CGROUP, -100)))
    assert "app: it reached its own memory limit of 2Gi" in page
    assert "Likely, not certain: also possible: node out of memory" in page
    assert "(ruby)" in page
    assert "fluentbit" in page


@pytest.mark.parametrize("kills", [((SYSTEM, -100), (CGROUP, -100)), ((CGROUP, -106), (SYSTEM, -101))])
def test_both_oom_events_leave_limit_and_node_open(kills: Any, tmp_path: Path) -> None:
    page = died(tmp_path, *out_of_memory(*kills))
    assert "Either the kernel killed container app: it reached its own memory limit" in page
    assert f"or the kernel killed container app: node {NODE} ran out of memory" in page
    assert page.count("(ruby)") == page.count("fluentbit") == 1


@pytest.mark.parametrize("reason", ["OOMKilled", "Error"])
def test_cgroup_oom_without_limit_is_not_the_machine(reason: str, tmp_path: Path) -> None:
    page = died(tmp_path, *out_of_memory((CGROUP, -100), limit="", reason=reason))
    assert f"node {NODE}, or the cgroup of all its pods, ran out of memory" in page
    assert "(ruby)" in page
    assert "cgroup of all its pods" not in died(tmp_path, *out_of_memory((SYSTEM, -100), limit=""))


# Pods that a kubelet rejected


LACKS: Final = "Pod was rejected: Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}"


@pytest.mark.parametrize(
    ("reason", "message", "why", "helps"),
    [
        ("SysctlForbidden", "forbidden sysctl", f"{NODE} does not allow a sysctl of the pod", "allowedUnsafeSysctls"),
        ("TopologyAffinityError", "Pod was rejected: x", f"into the NUMA nodes of {NODE}", "topologyManagerPolicy"),
        ("SMTAlignmentError", "Pod was rejected: x", "whole physical CPU cores", "full-pcpus-only"),
        ("AppArmor", "Pod was rejected: x", f"{NODE} cannot enforce its AppArmor profile", "load the profile"),
        ("PodLevelResourcesNotSupported", "x", "a feature that this kubelet does not have", "upgrade the node"),
        ("OutOfcpu", LACKS.format("cpu", 500, 3900, 4000), f"{NODE} had 3.9 of 4 cpu in use", "bypassed"),
        ("OutOfmemory", LACKS.format("memory", 2**31, 3 * 2**30, 2**32), "3Gi of 4Gi memory in use", "bypassed"),
        ("OutOfa.b/c", LACKS.format("a.b/c", 1, 8, 8), "8 of 8 a.b/c in use, and it requests 1", "bypassed"),
    ],
)
def test_each_rejection_has_its_own_remedy(reason: str, message: str, why: str, helps: str, tmp_path: Path) -> None:
    for owner, then in [
        ("ReplicaSet/mail-55d", "ReplicaSet mail-55d does not count it, and makes another"),
        ("", "no controller makes another: delete it and create it again"),
        ("DaemonSet/mail", ""),
    ]:
        page = died(tmp_path, node(), failed(reason, message, -200, owner=owner))
        assert "The kubelet rejected the pod: " in page
        assert why in page
        assert helps in page
        assert then in page
        assert ("stays Failed" in page) == bool(then)
        assert "the node changed" not in page or reason.startswith("OutOf")


def test_sibling_is_not_replacement_of_rejected_pod(tmp_path: Path) -> None:
    owner: dict[str, Any] = {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
    owner |= {"metadata": {"name": "mail-55d", "namespace": "post", "uid": "o-mail-55d"}}
    owner |= {"spec": {"replicas": 2, "selector": {"matchLabels": {}}}}
    one = failed("OutOfcpu", LACKS.format("cpu", 500, 3900, 4000), -200)
    running = {"conditions": [raw_condition("Ready")]}
    sibling, later = pod("mail-55d-sib", made=-200, status=running), pod("mail-55d-new", made=-198, status=running)
    assert "replacement mail-55d-new" in died(tmp_path, node(), owner, one, sibling, later)
    assert "no replacement was found" in died(tmp_path, node(), owner, one, sibling)


# Replacements of deleted pods


PERHAPS: Final = "perhaps replaced by {} on edge-3: Pending, not Ready, created 100 s ago: unknown, because no event"


def owner(kind: str, name: str) -> Object:
    version = {"Job": "batch/v1", "ReplicationController": "v1"}.get(kind, "apps/v1")
    labels = {"app": name}
    selector = labels if kind == "ReplicationController" else {"matchLabels": labels}
    metadata = {"name": name, "namespace": "post", "uid": f"o-{name}"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {"replicas": 1, "selector": selector}}


def successor(name: str, of: str, made: float = -100, **more: Any) -> Object:
    references = pod("any", of)["metadata"]["ownerReferences"]
    metadata = {"uid": f"new-{name}", "labels": {"app": of.partition("/")[2]}, "ownerReferences": references}
    return pod(name, of, made=made, metadata=metadata, **more)


def ran_before(name: str, since: float = -3000) -> list[Object]:
    bound = f"Successfully assigned post/{name} to {NODE}"
    started = event(f"Pod/{name}", "Started", "Started container app", since + 2, field="spec.containers{app}")
    return [event(f"Pod/{name}", "Scheduled", bound, since, "default-scheduler"), started]


PENDING: Final = {"phase": "Pending"}


@pytest.mark.parametrize("owner_is_there", [True, False])
@pytest.mark.parametrize(
    ("of", "gone", "new"),
    [
        ("ReplicaSet/mail-55d", "mail-55d-bcdfg", "mail-55d-k9x2p"),
        ("ReplicaSet/mail-55d-with-a-name-that-is-cut", "mail-55d-with-a-name-bcdfg", "mail-55d-with-a-name-k9x2p"),
        ("StatefulSet/db", "db-1", "db-1"),
        ("DaemonSet/log", "log-bcdfg", "log-k9x2p"),
        ("Job/import", "import-bcdfg", "import-k9x2p"),
        ("Job/import", "import-3-bcdfg", "import-3-k9x2p"),
        ("ReplicationController/old", "old-bcdfg", "old-k9x2p"),
    ],
)
def test_younger_pod_is_a_possible_replacement(
    of: str, gone: str, new: str, tmp_path: Path, *, owner_is_there: bool
) -> None:
    """No event shows when the pod ended."""
    own = [owner(*of.split("/"))] if owner_is_there else []
    page = died(tmp_path, node(), *own, successor(new, of, status=PENDING), *ran_before(gone), name=gone)
    if gone == new:
        assert "replacement db-1 on edge-3: Pending, not Ready, created 100 s ago" in page
        assert "what ended the pod before this one." in page
    else:
        assert PERHAPS.format(new) in page
    assert "no replacement was found" not in page


@pytest.mark.parametrize(
    ("of", "gone", "other", "more"),
    [
        ("ReplicaSet/mail-55d", "mail-55d-bcdfg", "mail-66e-k9x2p", {}),
        ("StatefulSet/db", "db-1", "db-2", {}),
        ("DaemonSet/log", "log-bcdfg", "log-k9x2p", {"nodeName": "edge-4"}),
        ("Job/import", "import-3-bcdfg", "import-4-k9x2p", {}),
        ("ReplicaSet/mail-55d", "mail-55d-bcdfg", "mail-55d-k9x2p", {"made": -3000}),
        ("ReplicaSet/mail-55d", "mail-55d-bcdfg", "mail-55d-k9x2p", {"status": {"phase": "Failed"}}),
    ],
)
def test_unrelated_pods_are_no_replacement(of: str, gone: str, other: str, more: Any, tmp_path: Path) -> None:
    page = died(tmp_path, node(), owner(*of.split("/")), successor(other, of, **more), *ran_before(gone), name=gone)
    assert f"{of.replace('/', ' ')}: no replacement was found" in page


def test_late_kubelet_does_not_rule_out_replacement(tmp_path: Path) -> None:
    gone, of = "mail-55d-bcdfg", "ReplicaSet/mail-55d"
    stop = event(f"Pod/{gone}", "Killing", "Stopping container app", -60, field="spec.containers{app}")
    evidence = [node(), owner(*of.split("/")), successor("mail-55d-k9x2p", of, made=-500), *ran_before(gone), stop]
    assert "perhaps replaced by mail-55d-k9x2p" in died(tmp_path, *evidence, name=gone)
    tainted = event(f"Pod/{gone}", "TaintManagerEviction", f"Marking for deletion Pod post/{gone}", -505, "taint")
    assert "replacement mail-55d-k9x2p on edge-3" in died(tmp_path, *evidence, tainted, name=gone)


@pytest.mark.parametrize("made", [-500, -30])
def test_scaled_down_pod_has_no_replacement(made: int, tmp_path: Path) -> None:
    """It deletes surplus pods, as in a rollout; a pod that it creates later belongs to another replica count."""
    gone, of = "mail-55d-bcdfg", "ReplicaSet/mail-55d"
    stop = event(f"Pod/{gone}", "Killing", "Stopping container app", -60, field="spec.containers{app}")
    by_owner = event(of, "SuccessfulDelete", f"Deleted pod: {gone}", -62, "replicaset-controller")
    evidence = [node(), owner(*of.split("/")), successor("mail-55d-k9x2p", of, made=made), *ran_before(gone), stop]
    page = died(tmp_path, *evidence, by_owner, name=gone)
    assert "not replaced: ReplicaSet mail-55d wanted fewer pods" in page
    assert "replacement" not in page
    assert "replaced by" not in page


def test_reason_of_pending_replacement_is_named(tmp_path: Path) -> None:
    gone, of = "mail-55d-bcdfg", "ReplicaSet/mail-55d"
    stop = event(f"Pod/{gone}", "Killing", "Stopping container app", -60, field="spec.containers{app}")
    waits = {"name": "app", "restartCount": 4, "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    status = {"phase": "Pending", "containerStatuses": [waits]}
    evidence = [node(), owner(*of.split("/")), successor("mail-55d-k9x2p", of, made=-50, status=status), stop]
    page = died(tmp_path, *evidence, *ran_before(gone), name=gone)
    assert "replacement mail-55d-k9x2p on edge-3: ImagePullBackOff, not Ready, created" in page
    assert "kubectl qos explain pod/mail-55d-k9x2p -n post" in page


@pytest.mark.parametrize(
    ("lost", "own", "fenced"),
    [
        pytest.param(-230, None, True, id="by default 70 s were left"),
        pytest.param(-500, None, False, id="the default was over"),
        pytest.param(-230, 30, False, id="its own time was over"),
        pytest.param(-500, 600, True, id="its own time was not over"),
        pytest.param(None, None, False, id="when the node was lost is not known"),
    ],
)
def test_fence_deletes_pods_before_toleration_ends(
    lost: float | None, own: int | None, fenced: bool, tmp_path: Path
) -> None:
    gone, unreachable = "mail-55d-bcdfg", {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    added = {} if lost is None else {"timeAdded": at(lost)}
    out = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
    evidence = [
        node(UNKNOWN_NODE, taints=[unreachable | added, out]),
        owner("ReplicaSet", "mail-55d"),
        event(f"Pod/{gone}", "NodeNotReady", "Node is not ready", -230, "node-controller"),
        event(f"Pod/{gone}", "TaintManagerEviction", f"Marking for deletion Pod post/{gone}", -100, "taint"),
        *ran_before(gone),
    ]
    if own is not None:
        stays = [{"key": unreachable["key"], "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": own}]
        target = raw_condition("DisruptionTarget", reason="DeletionByTaintManager", lastTransitionTime=at(-100))
        meta = {"deletionTimestamp": at(-70), "deletionGracePeriodSeconds": 30}
        evidence.append(pod(gone, metadata=meta, tolerations=stays, status={"conditions": [target]}))
    page = died(tmp_path, *evidence, name=gone)
    words = ["node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"]
    assert f"a taint of its node: {', '.join(words[::-1] if fenced else words)}. " in page
    assert ("(a fence) deletes pods at once" in page) is fenced
    assert ("Kubernetes deletes pods there once their tolerationSeconds are over" in page) is not fenced


def test_capture_without_pods_leaves_the_replacement_open(tmp_path: Path) -> None:
    gone = "mail-55d-bcdfg"
    stop = event(f"Pod/{gone}", "Killing", "Stopping container app", -60, field="spec.containers{app}")
    page = died(tmp_path, node(), owner("ReplicaSet", "mail-55d"), *ran_before(gone), stop, name=gone)
    assert "ReplicaSet mail-55d: unknown whether it made a replacement" in page


# Force deletions


UNKNOWN_NODE: Final = raw_condition("Ready", "Unknown", lastTransitionTime=at(-900))
WEBHOOK: Final = "kubectl-qos.io/webhook"


def allowed(name: str, when: float = -100, risk: str = "volume data (claim data-db-0, NFS)") -> Object:
    text = f"A force deletion by jane@example.com was allowed (mode warn): {name} on {NODE}; {risk}"
    related = {"kind": "Node", "name": NODE}
    return event(f"Pod/{name}", "ForceDeletionAllowed", text, when, WEBHOOK, related=related)


def stop_of(name: str, when: float) -> Object:
    return event(f"Pod/{name}", "Killing", "Stopping container app", when, field="spec.containers{app}")


NO_STOP = f"No event shows that its kubelet stopped it: its processes may still run on {NODE}."


def test_webhook_names_user_of_force_deletion(tmp_path: Path) -> None:
    new = successor("db-7", "StatefulSet/db", made=-99, status=PENDING)
    page = died(tmp_path, node(), owner("StatefulSet", "db"), new, allowed("db-7"), name="db-7")
    assert "User jane@example.com force deleted the pod. At 11:58:20 UTC" in page
    assert "Likely, not certain: also possible: deleted." in page
    assert "volume data (claim data-db-0, NFS)" in page
    assert f"{NO_STOP} Likely, not certain" in page.partition("Proof")[0]
    assert f"on {NODE}: crictl pods --name db-7 --namespace post --state ready lists it as long as it runs" in page
    assert "replacement db-7" in page
    assert f"kubectl qos node {NODE}" in page
    page = died(tmp_path, node(), new, allowed("db-7"), stop_of("db-7", -97), name="db-7")
    assert "User jane@example.com force deleted the pod" in page
    assert f"the kubelet of {NODE} began to stop its containers at" in page
    assert "may still run" not in page
    assert "crictl" not in page
    page = died(tmp_path, node(UNKNOWN_NODE), pod("other"), allowed("bare"), name="bare")
    assert f"{NODE} does not answer, and {NO_STOP.lower()}" in page.lower()
    assert "crictl" not in page


def test_force_deletion_of_stopping_pod_is_not_only_cause(tmp_path: Path) -> None:
    evidence = [stop_of("bare-one", -400), allowed("bare-one", -100)]
    page = died(tmp_path, node(), pod("other"), *ran_before("bare-one"), *evidence, name="bare-one")
    assert "The kubelet stopped the pod" in page.partition("Proof")[0]
    marked = event("Pod/bare-one", "TaintManagerEviction", "Marking for deletion Pod post/bare-one", -300, "taint")
    page = died(tmp_path, node(), pod("other"), marked, allowed("bare-one", -100), name="bare-one")
    assert "User jane@example.com force deleted the pod" in page
    assert "also possible: taint of the node, deleted" in page


def captured(folder: Path, *objects: Object, name: str) -> str:
    """The page of a pod from a snapshot: objects that it lacks do not exist."""
    clock = event("Node/clock", "Clock", "", 0, "none")
    file = write_cluster(folder / "c.qos", [*objects, clock])
    return " ".join(run("died", f"pod/{name}", "-n", "post", "--snapshot", file).out.split())


@pytest.mark.parametrize("of", ["ReplicaSet/mail-55d", "DaemonSet/log"])
def test_silent_kubelet_did_not_stop_deleted_pod(of: str, tmp_path: Path) -> None:
    gone = f"{of.partition('/')[2]}-bcdfg"
    page = captured(tmp_path, node(UNKNOWN_NODE), owner(*of.split("/")), pod("other"), *ran_before(gone), name=gone)
    silent = f"{NODE} does not answer, and n{NO_STOP[1:]}"
    assert f"A client force deleted the pod. {silent} Likely, not certain: also possible: deleted." in page
    fenced = node(UNKNOWN_NODE, taints=[{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}])
    page = captured(tmp_path, fenced, owner(*of.split("/")), pod("other"), *ran_before(gone), name=gone)
    assert "A client deleted the pod; unknown whether with or without grace." in page
    listed = died(tmp_path, node(UNKNOWN_NODE), owner(*of.split("/")), pod("other"), *ran_before(gone), name=gone)
    assert "The remaining evidence does not show what ended it." in listed


@pytest.mark.parametrize(
    ("gone", "objects"),
    [
        pytest.param("mail-55d-bcdfg", [node(), owner("ReplicaSet", "mail-55d")], id="its node answers"),
        pytest.param("import-bcdfg", [node(UNKNOWN_NODE), owner("Job", "import")], id="it may have completed"),
        pytest.param("bare", [node(UNKNOWN_NODE)], id="nothing restarts it"),
        pytest.param("import-bcdfg", [node(), owner("Job", "import")], id="it was completed, or its node answers"),
        pytest.param("bare", [node()], id="nothing restarts it, and its node answers"),
        pytest.param("mail-55d-bcdfg", [owner("ReplicaSet", "mail-55d")], id="its node is not known"),
    ],
)
def test_pod_without_a_stop_may_have_ended_by_itself(gone: str, objects: list[Object], tmp_path: Path) -> None:
    page = captured(tmp_path, *objects, pod("other"), *ran_before(gone), name=gone)
    assert "The remaining evidence does not show what ended it." in page
    assert "force deleted" not in page
    silent = any(one["kind"] == "Node" and UNKNOWN_NODE in one["status"]["conditions"] for one in objects)
    lost = any(one["kind"] == "Node" for one in objects) or f"The Node object of {NODE} is gone"
    lead = f"{NODE} does not answer, and n{NO_STOP[1:]}" if silent else NO_STOP
    lead = lead if lost is True else f"{lost}, and n{NO_STOP[1:]}"
    assert f"The remaining evidence does not show what ended it. {lead}" in page
    assert (f"on {NODE}: crictl pods --name {gone} --namespace post --state ready" in page) is not silent
    table = " ".join(run("died", "-n", "post", "--snapshot", str(tmp_path / "c.qos")).out.split())
    unseen = f"No event shows that the kubelet stopped {gone} on {NODE}"
    assert (f"{unseen}, which does not answer: it may still run." in table) is silent
    assert (f"{unseen}: it may still run." in table) is (gone.startswith("mail") and not silent)
    assert ("Nothing has ended" in table) is (not silent and not gone.startswith("mail"))
    assert ("unknown unknown" in table) is ("Nothing has ended" not in table)
    assert "who deleted the pod, and whether the webhook warned of force" in page


def removed_by(controller: str, name: str, when: float) -> Object:
    text = f"delete Pod {name} in StatefulSet db successful"
    return event(controller, "SuccessfulDelete", text, when, "statefulset-controller")


def test_stateful_set_deletes_what_garbage_collection_ended(tmp_path: Path) -> None:
    """The Node object was deleted, not the machine: the pod is set to Failed, and its controller creates another."""
    new = successor("db-7", "StatefulSet/db", made=-99, nodeName="edge-4")
    other = {**node(), "metadata": {**node()["metadata"], "name": "edge-4"}}
    events = [*ran_before("db-7"), removed_by("StatefulSet/db", "db-7", -100)]
    page = captured(tmp_path, other, owner("StatefulSet", "db"), new, *events, name="db-7")
    lead = page.partition("Proof")[0]
    assert "Another pod has this name now; this is about the one before it." in lead
    assert "Garbage collection removed the pod: its Node object is gone." in lead
    assert (
        f"The Node object of {NODE} is gone, and n{NO_STOP[1:]} Likely, not certain: also possible: its controller, "
        in lead
    )
    assert "for a rollout" not in page
    assert f"on {NODE}: crictl pods --name db-7" in page
    assert f"kubectl qos node {NODE}" not in page
    listed = " ".join(run("died", f"node/{NODE}", "--snapshot", str(tmp_path / "c.qos")).out.split())
    assert f"No event shows that the kubelet stopped db-7 on {NODE}: it may still run." in listed
    # Its kubelet stopped it, or its node exists: no garbage collection.
    page = captured(tmp_path, other, owner("StatefulSet", "db"), new, *events, stop_of("db-7", -99), name="db-7")
    assert "StatefulSet db removed the pod, for a rollout or because it was scaled down." in page
    page = captured(tmp_path, node(), owner("StatefulSet", "db"), new, *events, name="db-7")
    assert "StatefulSet db removed the pod, for a rollout or because it was scaled down." in page
    # The Node was created again since.
    again = {**node(), "metadata": {**node()["metadata"], "creationTimestamp": at(-90)}}
    page = captured(tmp_path, again, owner("StatefulSet", "db"), new, *events, name="db-7")
    assert "Either garbage collection removed the pod" in page
    assert NO_STOP in page


@pytest.mark.parametrize("why", ["gone", "silent"])
def test_pod_on_lost_node_may_still_run(why: str, tmp_path: Path) -> None:
    nodes = [node(UNKNOWN_NODE)] if why == "silent" else []
    page = captured(tmp_path, *nodes, pod("db-7", "StatefulSet/db"), *ran_before("db-7"), name="db-7")
    lost = f"{NODE} does not answer" if why == "silent" else f"The Node object of {NODE} is gone"
    assert f"{lost}: unknown whether its processes still run there. Its object shows no end." in page
    assert "Neither the pod nor a container has ended" not in page


@pytest.mark.parametrize(
    ("generation", "spec", "conditions", "left"),
    [
        pytest.param(1, {}, (), "", id="never changed"),
        pytest.param(1, {"completionMode": "Indexed"}, (), "few", id="two pods of an index"),
        pytest.param(3, {}, (("Suspended", "False", -8000),), "few", id="resumed before"),
        pytest.param(3, {}, (("Suspended", "False", -100),), "few ended", id="resumed since"),
        pytest.param(2, {"suspend": True}, (), "few ended", id="suspended"),
        pytest.param(1, {}, (("Complete", "True", -90),), "few ended", id="complete"),
    ],
)
def test_unfinished_job_did_not_remove_pod_at_its_end(
    generation: int, spec: Object, conditions: Sequence[tuple[str, str, float]], left: str, tmp_path: Path
) -> None:
    job = owner("Job", "import")
    written = [raw_condition(kind, status, lastTransitionTime=at(when)) for kind, status, when in conditions]
    meta = {**job["metadata"], "generation": generation, "creationTimestamp": at(-9000)}
    job = {**job, "metadata": meta, "spec": {"parallelism": 1, **spec}, "status": {"conditions": written}}
    events = [*ran_before("import-bcdfg"), stop_of("import-bcdfg", -30)]
    page = captured(tmp_path, node(), job, pod("other"), *events, name="import-bcdfg")
    assert ("controller" in page.partition("Proof")[0]) is ("few" in left)
    assert ("Job ended" in page.partition("Proof")[0]) is ("ended" in left)
    deleted = {"deletionTimestamp": at(-1), "deletionGracePeriodSeconds": 30, "labels": {"app": "import"}}
    going = pod("import-bcdfg", "Job/import", metadata=deleted)
    page = captured(tmp_path, node(), job, going, *events, name="import-bcdfg")
    assert ("Job import removed the pod" in page) is bool(left)
    assert ("Job had ended" in page) is ("ended" in left)


def test_refused_force_deletion_ended_nothing(tmp_path: Path) -> None:
    """The webhook's event precedes the deletion."""
    runs = pod("mail-55d-bcdfg", status={"phase": "Running"})
    assert "Neither the pod nor a container has ended." in died(
        tmp_path, node(), runs, allowed("mail-55d-bcdfg"), name="mail-55d-bcdfg"
    )


def test_finalizer_keeps_force_deleted_pod(tmp_path: Path) -> None:
    metadata = {"deletionTimestamp": at(-99), "deletionGracePeriodSeconds": 0, "finalizers": ["example.com/keeps"]}
    state = {"phase": "Running", "containerStatuses": [{"name": "app", "state": {"running": {"startedAt": at(-900)}}}]}
    kept = pod("kept", "", metadata=metadata, status=state)
    assert "User jane@example.com force deleted the pod" in died(tmp_path, node(), kept, allowed("kept"), name="kept")


# Containers that never started


def waits(name: str, reason: str, **more: Any) -> Object:
    state = {"waiting": {"reason": reason, "message": "x"}}
    status = {"name": "app", "ready": False, "restartCount": 0, "image": "i", "state": state, **more}
    return pod(name, made=-500, status={"phase": "Pending", "containerStatuses": [status]})


NOT_STARTED: Final = {"terminated": exited(128, "StartError", -20, -20)}


def test_unstarted_containers_have_not_ended(tmp_path: Path) -> None:
    waiting = [
        waits("image", "ImagePullBackOff"),
        waits("key", "CreateContainerConfigError"),
        waits("init", "PodInitializing"),
        waits("path", "CrashLoopBackOff", lastState=NOT_STARTED),
    ]
    crashed = pod("crashed", status={"containerStatuses": [ran(exited(1, "Error", -100))]})
    page = said(tmp_path, [node(), *waiting, crashed], "died", "-A")
    assert "What ended: 1 pod in the last 60 min All have the same cause: its own process." in page
    assert "Not counted: 3 pods with a container that never began." in page
    counted, _, apart = page.partition("Never began WHEN")
    assert "crashed/app" in counted.partition("By cause")[0]
    assert [name in apart for name in ("image/app", "key/app", "path/app", "init/app")] == [True, True, True, False]
    page = said(tmp_path, [node(), *waiting], "died", "-A")
    assert "What ended Nothing has ended in the last 60 min, according to pods and events. Not counted: 3 pods" in page
    assert "Ended in the last hour" not in said(tmp_path, [node(), *waiting], "node", NODE)
    file = str(tmp_path / "list.json")
    ends = json.loads(run("died", "-A", "-o", "json", "--snapshot", file).out)["items"]
    assert {one["name"] for one in ends} == {"image", "key", "path"}


def test_failed_hook_ended_started_container(tmp_path: Path) -> None:
    page = said(tmp_path, [node(), waits("hook", "PostStartHookError")], "died", "-A")
    assert "What ended: 1 pod" in page
    assert "Not counted" not in page


# A node that restarted


def crashed(code: int, reason: str, reboot: float | None = -595, sandbox: float | None = -590) -> list[Object]:
    """A container that ended 600 s ago and restarted 540 s ago."""
    status = {"phase": "Running", "containerStatuses": [ran(exited(code, reason, -600), runs=-540)]}
    evidence = [event(f"Node/{NODE}", "Rebooted", f"Node {NODE} has been rebooted, boot id: 7f", reboot or 0)]
    evidence = evidence if reboot is not None else []
    if sandbox is not None:
        evidence.append(
            event("Pod/mail-55d-abcde", "SandboxChanged", "Pod sandbox changed, it will be killed", sandbox)
        )
    return [node(), pod(status=status), *evidence]


@pytest.mark.parametrize(("code", "sandbox"), [(255, -590), (255, None), (137, -590), (0, -580), (143, -560)])
def test_node_restart_ended_restarted_containers(code: int, sandbox: float | None, tmp_path: Path) -> None:
    page = died(tmp_path, *crashed(code, "Error" if code else "Completed", sandbox=sandbox))
    assert "Its node restarted, and ended container app without the kubelet." in page
    assert "Likely, not certain: also possible:" in page
    assert "event of its node, Rebooted" in page
    assert ("event SandboxChanged" in page) == (sandbox is not None)
    assert "drain a node before it is restarted" in page
    assert "read the log" not in page


@pytest.mark.parametrize("reboot", [-595, -602])
def test_lost_container_of_a_node_that_restarted(reboot: float, tmp_path: Path) -> None:
    page = died(tmp_path, *crashed(255, "Unknown", reboot))
    assert f"Node {NODE} restarted: the runtime lost container app: unknown how it ended." in page
    assert "event of its node, Rebooted" in page
    assert "check whether the node" not in page
    assert "check whether the node" in died(tmp_path, *crashed(255, "Unknown", None))


@pytest.mark.parametrize("reboot", [None, -5000, -300, -30])
def test_another_restart_of_the_node_did_not_end_it(reboot: float | None, tmp_path: Path) -> None:
    assert "restarted" not in died(tmp_path, *crashed(255, "Error", reboot, None)).partition("Proof")[0]
    assert "node restarted" not in died(tmp_path, *crashed(1, "Error", reboot, None))


# Deleted nodes


GONE: Final = "mail-55d-abcde"
ASSIGNED: Final = event(f"Pod/{GONE}", "Scheduled", f"Successfully assigned post/{GONE} to {NODE}", -5000, "scheduler")
KILLING: Final = event(f"Pod/{GONE}", "Killing", "Stopping container app", -700, field="spec.containers{app}")
CLOUD: Final = event(
    f"Node/{NODE}", "DeletingNode", f"Deleting node {NODE} because it does not exist in the cloud provider", -800, "ccm"
)
REMOVING: Final = event(f"Node/{NODE}", "RemovingNode", f"Node {NODE} event: Removing Node {NODE} from Controller", -60)
SILENT: Final = event(f"Pod/{GONE}", "NodeNotReady", "Node is not ready", -860, "node-controller")
OTHER: Final = [raw_node("edge-9"), pod("other", made=-100)]


@pytest.mark.parametrize("events", [(ASSIGNED, SILENT), (ASSIGNED,)])
def test_pod_without_a_stop_on_a_node_that_the_cloud_removed(events: Sequence[Object], tmp_path: Path) -> None:
    page = died(tmp_path, *OTHER, CLOUD, *events)
    assert f"pod/{GONE} in namespace post, on {NODE}" in page
    assert "its Node object is gone; its machine no longer exists in the cloud" in page
    assert "Likely, not certain" in page
    assert "Perhaps" not in page
    assert "kubectl get nodes" not in page
    registered = event(f"Node/{NODE}", "RegisteredNode", f"Registered Node {NODE} in Controller", -400, "nc")
    assert "The remaining evidence does not show what ended it" in died(tmp_path, *OTHER, CLOUD, registered, *events)


def test_node_of_deleted_pod_is_named_without_node_object(tmp_path: Path) -> None:
    evicted = event(f"Pod/{GONE}", "ScaleDown", "deleting pod for node scale down", -702, "cluster-autoscaler")
    page = died(tmp_path, *OTHER, KILLING, evicted)
    assert f"on {NODE} " in page
    assert f"to remove node {NODE}" in page
    assert "kubectl get nodes" in page
    assert "kubectl get nodes" not in died(tmp_path, *OTHER, KILLING, evicted, REMOVING)


def test_event_host_is_not_the_pod_node(tmp_path: Path) -> None:
    source = {"component": "volcano", "host": "edge-1"}
    evidence = event(f"Pod/{GONE}", "Evict", "Pod is evicted", -701, "volcano", source=source)
    assert f"in namespace post, on {NODE}" in died(tmp_path, node(), evidence, KILLING)
    assert "on edge-1" not in died(tmp_path, node(), evidence)


def test_daemon_set_that_deletes_a_failed_pod_names_the_node(tmp_path: Path) -> None:
    said = f"Found failed daemon pod post/logs-zz9xk on node {NODE}, will try to kill it"
    events = [event("DaemonSet/logs", "FailedDaemonPod", said, -700, "daemonset-controller")]
    events.append(event("DaemonSet/logs", "SuccessfulDelete", "Deleted pod: logs-zz9xk", -700, "daemonset-controller"))
    page = died(tmp_path, node(), *events, name="logs-zz9xk")
    assert f"pod/logs-zz9xk in namespace post, on {NODE}" in page
    assert "Its controller deleted the pod, which had ended" in page
    assert "The kubelet stopped the pod" not in page
    assert "node gone" not in page
    assert "Node object is unknown" not in page


# Reasons of nodes that are not Ready


CNI: Final = "container runtime network not ready: NetworkReady=false message:cni plugin not initialized"
GOES_DOWN: Final = "node is shutting down"


@pytest.mark.parametrize("message", [CNI, GOES_DOWN])
def test_kubelet_message_explains_unready_node(message: str, tmp_path: Path) -> None:
    unready = raw_condition("Ready", "False", message=message, lastHeartbeatTime=at(0), lastTransitionTime=at(-100))
    objects = [node(unready), pod()]
    assert f"Its kubelet says: {message}." in said(tmp_path, objects, "node", NODE)
    assert f"Its kubelet says: {message}." in said(tmp_path, objects, "explain", f"node/{NODE}")
    assert f"The kubelet says: {message}." in said(tmp_path, objects, "report", "-A")
    data = [{**objects[0], "metadata": {**objects[0]["metadata"], "name": name}} for name in ("a1", "a2")]
    report = said(tmp_path, data, "report", "-A")
    assert "2 nodes are not Ready." in report
    assert f"The kubelet says: {message}." in report


@pytest.mark.parametrize("status", ["Unknown", "True"])
def test_node_that_is_ready_or_silent_gives_no_reason(status: str, tmp_path: Path) -> None:
    old = raw_condition("Ready", status, message=GOES_DOWN, lastHeartbeatTime=at(0), lastTransitionTime=at(-100))
    assert "shutting down" not in said(tmp_path, [node(old)], "node", NODE)
    assert "shutting down" not in said(tmp_path, [node(old)], "report", "-A")


# Hooks and device taints


def stopped(code: int, ended: float, hook: float | None, grace: int = 40) -> list[Object]:
    """A pod that its ReplicaSet deleted 300 s ago."""
    box = raw_container("app", lifecycle={"preStop": {"exec": {"command": ["drain"]}}})
    meta = {"deletionTimestamp": at(-300 + grace), "deletionGracePeriodSeconds": grace}
    status = {"containerStatuses": [ran(exited(code, "Error" if code else "Completed", ended), runs=None)]}
    one = pod(metadata=meta, containers=[box], status=status, terminationGracePeriodSeconds=grace)
    field = "spec.containers{app}"
    evidence = [event(f"Pod/{GONE}", "Killing", "Stopping container app", -300, field=field)]
    evidence.append(event("ReplicaSet/mail-55d", "SuccessfulDelete", f"Deleted pod: {GONE}", -300, "rs"))
    if hook is not None:
        evidence.append(event(f"Pod/{GONE}", "FailedPreStopHook", "PreStopHook failed", hook, field=field))
    return [node(), one, *evidence]


def test_pre_stop_hook_that_took_all_of_the_grace_period(tmp_path: Path) -> None:
    page = died(tmp_path, *stopped(137, -258, -258))
    assert "its preStop hook took all of the grace period of 40 s (FailedPreStopHook)" in page
    assert "app: let the preStop hook end sooner" in page
    assert "raise terminationGracePeriodSeconds above 40 s" in page
    assert "let it end on SIGTERM" not in page
    assert "nothing: " not in page


def test_pre_stop_hook_that_failed_at_once(tmp_path: Path) -> None:
    page = died(tmp_path, *stopped(0, -298, -299))
    assert "its preStop hook failed after 1 s (FailedPreStopHook)" in page
    assert "app: correct the preStop hook, which failed" in page
    page = died(tmp_path, *stopped(137, -259, -299))
    assert "app: correct the preStop hook, which failed" in page
    assert "app: let it end on SIGTERM" in page
    page = died(tmp_path, *stopped(137, -259, None))
    assert "app: let it end on SIGTERM" in page
    assert "preStop hook failed" not in page


@pytest.mark.parametrize("gone", [True, False])
def test_device_taint_is_not_a_node_taint(gone: bool, tmp_path: Path) -> None:
    evidence = event(f"Pod/{GONE}", "DeviceTaintManagerEviction", "Marking for deletion", -701, "controller-manager")
    meta = {"deletionTimestamp": at(-660), "deletionGracePeriodSeconds": 40}
    said = {
        "reason": "DeletionByDeviceTaintManager",
        "message": "Device Taint manager: deleting due to NoExecute taint",
    }
    target = raw_condition("DisruptionTarget", lastTransitionTime=at(-701), **said)
    there = [pod(metadata=meta, status={"conditions": [target]})]
    page = died(tmp_path, node(), *([evidence] if gone else there), KILLING)
    assert "its ResourceClaim does not tolerate a taint of its device" in page
    assert "in the request of its ResourceClaim or template" in page
    assert "taint of its node" not in page


# Jobs, evictions without a resource, and further possible causes


@pytest.mark.parametrize(
    ("reason", "says"),
    [
        ("DeadlineExceeded", "the Job had ended (DeadlineExceeded)."),
        ("BackoffLimitExceeded", "the Job had ended (BackoffLimitExceeded)."),
        ("Suspended", "the Job was suspended."),
    ],
)
def test_event_of_deleted_job_explains_pod_deletion(reason: str, says: str, tmp_path: Path) -> None:
    deleted = event("Job/import-3", "SuccessfulDelete", "Deleted pod: import-3-bcdfg", -700, "job-controller")
    ended = event("Job/import-3", reason, "x", -699, "job-controller")
    page = died(tmp_path, node(), deleted, ended, name="import-3-bcdfg")
    assert f"Job import-3 removed the pod: {says}" in page
    assert "Either" not in page
    early = event("Job/import-3", reason, "x", -1500, "job-controller")
    assert "because fewer may run at once" in died(tmp_path, node(), deleted, early, name="import-3-bcdfg")


@pytest.mark.parametrize("message", ["", "The node was low on resource: example.com/x."])
def test_eviction_without_a_known_resource_is_an_eviction(message: str, tmp_path: Path) -> None:
    page = died(tmp_path, failed("Evicted", message, -200, TARGET))
    assert "The kubelet evicted the pod; the resource is unknown. At 09:58:20 UTC" in page
    assert "Unknown what ended it" not in page


def test_kubelet_evicts_no_static_pod(tmp_path: Path) -> None:
    uid = {"uid": "0c9e5b1f2a3d4e5f60718293a4b5c6d7"}
    evidence = event("Pod/proxy-edge-3", "Killing", "Stopping container proxy", -700, field="spec.containers{proxy}")
    stop = {**evidence, "involvedObject": {**evidence["involvedObject"], **uid}}
    page = died(tmp_path, node(), pod("other"), stop, name="proxy-edge-3")
    assert "stopped the static pod: its manifest" in page
    assert "evicted:" not in page


def test_two_likely_causes_are_not_exhaustive(tmp_path: Path) -> None:
    page = died(tmp_path, *out_of_memory(("Killed process 4 (ruby) total-vm:9kB", -100), reason="Error"))
    assert "Both fit the remaining evidence. Also possible: node out of memory" in page


# Deletions


@pytest.mark.parametrize(
    ("reason", "message", "by"),
    [("Evict", "Pod is evicted, because of preempt", "volcano"), ("Evicted", "Evicted by team robot", "robot")],
)
@pytest.mark.parametrize("gone", [True, False])
def test_stop_that_another_program_announces_has_its_event(
    reason: str, message: str, by: str, gone: bool, tmp_path: Path
) -> None:
    meta = {"deletionTimestamp": at(-661), "deletionGracePeriodSeconds": 40}
    there = [] if gone else [pod(metadata=meta)]
    evidence = event(f"Pod/{GONE}", reason, message, -701, by)
    page = died(tmp_path, node(), *there, KILLING, evidence)
    assert page.count(f"event {reason} at") == 1
    assert message in page
    old = event(f"Pod/{GONE}", reason, message, -4000, by)
    assert message not in died(tmp_path, node(), *there, KILLING, old)


COMBINED: Final = "(combined from similar events): "


@pytest.mark.parametrize("lead", ["", COMBINED])
def test_replica_set_deletes_only_pods_that_run(lead: str, tmp_path: Path) -> None:
    evidence = [event("ReplicaSet/mail-55d", "SuccessfulDelete", f"{lead}Deleted pod: {GONE}", -700, "rs")]
    evidence.append(
        event("Deployment/mail", "ScalingReplicaSet", f"{lead}Scaled down replica set mail-55d to 4", -701, "d")
    )
    page = died(tmp_path, node(), *evidence)
    assert "ReplicaSet mail-55d removed the pod: it was scaled down to 4. At" in page
    assert "also possible" not in page


def test_similar_names_are_searched_only_when_printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_names: object) -> None:
        raise AssertionError

    monkeypatch.setattr("cluster_io.in_memory.near_names", fail)
    assert "1 pod" in said(tmp_path, [node(), pod("other"), KILLING], "died", "-A")


@pytest.mark.parametrize(("asked", "runs"), [(-2400, True), (-20, False)])
def test_deleted_pod_that_still_runs_has_not_ended(asked: float, runs: bool, tmp_path: Path) -> None:
    meta = {"deletionTimestamp": at(asked + 30), "deletionGracePeriodSeconds": 30}
    state = {"name": "app", "restartCount": 0, "state": {"running": {"startedAt": at(-6000)}}}
    one = pod(metadata=meta, status={"containerStatuses": [state]})
    evidence = event(f"Pod/{GONE}", "FailedKillPod", "error killing pod: context deadline exceeded", -10, count=18)
    page = died(tmp_path, node(), one, evidence)
    still = "It has not ended: its grace period of 30 s is over, and these containers run: app."
    assert (still in page) == runs
    assert "event FailedKillPod" in page
    assert "It has not ended" not in died(tmp_path, node(raw_condition("Ready", "Unknown")), one)


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (
            "apparmor failed to apply profile: write /proc/thread-self/attr/apparmor/exec: no such file or directory",
            "its AppArmor profile is not loaded on the node",
        ),
        ('failed to stat "/srv/blobs": no such file or directory', 'path "/srv/blobs" does not exist on the node'),
        ("failed to apply OCI options: no command specified", "it has no command"),
        ("some other error", "the runtime reports an error"),
    ],
)
def test_failures_of_the_container_runtime(message: str, what: str, tmp_path: Path) -> None:
    waits = {"waiting": {"reason": "CreateContainerError", "message": message}}
    status = {"phase": "Pending", "containerStatuses": [{"name": "app", "restartCount": 0, "state": waits}]}
    page = died(tmp_path, node(), pod(status=status))
    assert f"Container app could not start: {what} (CreateContainerError)." in page
    assert ("What helps" in page) == (message != "some other error")


def test_disk_pressure_shows_recent_kubelet_events(tmp_path: Path) -> None:
    pressed = node(raw_condition("DiskPressure", lastHeartbeatTime=at(0), lastTransitionTime=at(-700)))
    short = "Attempting to reclaim ephemeral-storage"
    freed = "Failed to garbage collect required amount of images, only found 0 bytes eligible to free"
    for when in (-60, -2000):
        evidence = [event(f"Node/{NODE}", "EvictionThresholdMet", short, when, count=40)]
        evidence.append(event(f"Node/{NODE}", "FreeDiskSpaceFailed", freed, when))
        page = said(tmp_path, [pressed, pod(), *evidence], "node", NODE)
        assert (f"EvictionThresholdMet 60 s ago: {short}." in page) == (when == -60)
        assert ("FreeDiskSpaceFailed 60 s ago: Failed to garbage collect" in page) == (when == -60)


@pytest.mark.parametrize("known", [[ASSIGNED], [event(f"Pod/{GONE}", "FailedScheduling", "0/3 nodes", -500)], []])
def test_name_that_an_event_has_is_not_mistyped(known: Sequence[Object], tmp_path: Path) -> None:
    page = died(tmp_path, *known, pod(f"{GONE[:-1]}f", made=-100), raw_node(NODE))
    assert ("Did you mean" in page) is not bool(known)
