"""Changes that would let a pod onto a node: single changes, the cheapest of several, and chains."""

from __future__ import annotations

from typing import Any, Final

import pytest
from msgspec.structs import replace

from podrules.api.model.pod import PodOnNode, PodReference
from podrules.scheduling.placement.likely import likely_placement
from podrules.scheduling.scheduler.framework.answers import ChangeKind
from podrules.scheduling.scheduler.plugins.node_resources.columns import InsufficientResource
from tests.objects import raw_condition, raw_container
from tests.podrules.scheduling.building import HOST, REQUIRED, ZONE, Json, anti_affinity, node_affinity, owned
from tests.podrules.scheduling.placement.building import (
    group_of,
    make_host,
    make_node,
    make_pod,
    make_taint,
    only_change,
    place,
    remedy_of,
    situation,
)
from tests.table import row, table

MI = 1024**2
GPU = make_taint("dedicated", "gpu")


def test_taint_of_the_cordon_is_no_further_reason() -> None:
    taints = [make_taint("node.kubernetes.io/unschedulable")]
    found = place(make_pod(), [make_node("a", unschedulable=True, taints=taints)])
    assert group_of(found, "NodeUnschedulable").nodes[0].also == ()
    change = only_change(found, "NodeUnschedulable")
    assert (change.kind, change.node) == (ChangeKind.UNCORDON, "a")
    found = place(make_pod(), [make_node("a", unschedulable=True, taints=[*taints, make_taint("dedicated", "gpu")])])
    assert group_of(found, "NodeUnschedulable").nodes[0].also == ("TaintToleration",)


def test_silent_node_differs_from_other_taints() -> None:
    unreachable = make_taint("node.kubernetes.io/unreachable", effect="NoExecute")
    unknown = [raw_condition("Ready", "Unknown")]
    nodes = [
        make_node("answers", taints=[unreachable]),
        make_node("lost", taints=[unreachable], conditions=unknown),
        make_node("gpu", taints=[GPU], conditions=unknown),
    ]
    group = group_of(place(make_pod(), nodes), "TaintToleration")
    assert (group.count, group.silent) == (3, ("lost",)), "it does not answer, and its taint says so"


def test_taint_is_to_be_tolerated() -> None:
    change = only_change(place(make_pod(), [make_node("a", taints=[GPU])]), "TaintToleration")
    expected = (ChangeKind.TOLERATE, "spec.tolerations", "dedicated=gpu:NoSchedule")
    assert (change.kind, change.field, change.value) == expected


def test_several_taints_are_tolerated_one_after_the_other() -> None:
    placement = place(make_pod(), [make_node("a", taints=[make_taint("one"), make_taint("two", effect="NoExecute")])])
    changes = remedy_of(placement, "TaintToleration").changes
    assert [change.value for change in changes] == ["one:NoSchedule", "two:NoExecute"]


def test_taint_of_trouble_is_not_to_be_tolerated() -> None:
    placement = place(make_pod(), [make_node("a", taints=[make_taint("node.kubernetes.io/unreachable")])])
    change = only_change(placement, "TaintToleration")
    assert (change.kind, change.node) == (ChangeKind.REMOVE_TAINT, "a")


def test_control_plane_toleration_is_the_last_remedy() -> None:
    nodes = [
        make_node("cp", taints=[make_taint("node-role.kubernetes.io/control-plane")]),
        make_node("gpu", taints=[GPU]),
    ]
    assert only_change(place(make_pod(), nodes), "TaintToleration").value == "dedicated=gpu:NoSchedule"


def test_node_with_the_smallest_shortage_is_named() -> None:
    nodes = [make_node("a", memory="2Gi"), make_node("b", memory="2Gi")]
    pods = [make_pod("x", on="a", memory="1536Mi"), make_pod("y", on="b", memory="1200Mi")]
    group = group_of(place(make_pod(memory="1Gi"), nodes, pods), "NodeResourcesFit")
    assert group.nodes[0].facts == (InsufficientResource("memory", 1024 * MI, 1200 * MI, 2048 * MI),)
    (change,) = group.remedy.changes if group.remedy is not None else ()
    assert (change.kind, change.node, change.amounts) == (ChangeKind.FREE, "b", {"memory": 176 * MI})


def test_request_above_node_size_needs_larger_node() -> None:
    change = only_change(place(make_pod(cpu="6"), [make_node("a", cpu="4")]), "NodeResourcesFit")
    assert (change.kind, change.amounts) == (ChangeKind.ENLARGE, {"cpu": 2000})


@table(
    "version, owner, kind",
    {
        "DaemonSet": row("apps/v1", "DaemonSet", ChangeKind.ENLARGE),
        "static pod": row("v1", "Node", ChangeKind.ENLARGE),
        "ReplicaSet": row("apps/v1", "ReplicaSet", ChangeKind.FREE),
    },
)
def test_requests_of_daemon_and_static_pods_are_not_freed(version: str, owner: str, kind: ChangeKind) -> None:
    mirrored = {"annotations": {"kubernetes.io/config.mirror": "hash"}} if owner == "Node" else None
    stays = owned(make_pod("x", on="a", memory="512Mi", metadata=mirrored), owner, version=version)
    placement = place(make_pod(memory="8000Mi"), [make_node("a")], [stays])
    change = only_change(placement, "NodeResourcesFit")
    assert (change.kind, change.amounts, change.promised) == (kind, {"memory": 320 * MI}, {})


def test_overcommitted_amount_is_part_of_freed_amount() -> None:
    pods = [make_pod("x", on="a", cpu="1", memory="7Gi"), make_pod("y", on="a", cpu="1", memory="2Gi")]
    change = only_change(place(make_pod(memory="8Gi"), [make_node("a")], pods), "NodeResourcesFit")
    assert (change.kind, change.amounts) == (ChangeKind.FREE, {"memory": 9 * 1024 * MI})
    assert change.promised == {"memory": 9 * 1024 * MI}


def test_room_of_nominated_pod_is_separate() -> None:
    rival = make_pod("rival", memory="3Gi", status={"nominatedNodeName": "a"})
    nodes, there = [make_node("a")], make_pod("x", on="a", memory="4Gi")
    group = group_of(place(make_pod(memory="5Gi"), nodes, [there, rival]), "NodeResourcesFit")
    (fact,) = group.nodes[0].facts
    assert isinstance(fact, InsufficientResource)
    assert (fact.used, fact.nominated) == (7 * 1024 * MI, 3 * 1024 * MI)
    assert fact.nominated_pods == (PodReference("default", "rival"),)
    assert group.remedy is not None
    assert group.remedy.changes[0].kind is ChangeKind.FREE
    # Because of the pod, the node is too small for 6Gi, whichever other pods leave.
    tight = only_change(place(make_pod(memory="6Gi"), nodes, [there, rival]), "NodeResourcesFit")
    assert tight.kind is ChangeKind.ENLARGE


def test_node_with_movable_pods_precedes_larger_node() -> None:
    pods = [owned(make_pod("d", on="a", memory="6Gi"), "DaemonSet"), make_pod("x", on="b", memory="7Gi")]
    group = group_of(place(make_pod(memory="4Gi"), [make_node("a"), make_node("b")], pods), "NodeResourcesFit")
    assert group.remedy is not None
    assert [(change.kind, change.node) for change in group.remedy.changes] == [(ChangeKind.FREE, "b")]
    assert group.nodes[0].node == "b"


def test_full_node_needs_one_pod_less() -> None:
    change = only_change(place(make_pod(), [make_node("a", pods="1")], [make_pod("x", on="a")]), "NodeResourcesFit")
    assert (change.kind, change.amounts) == (ChangeKind.FREE, {"pods": 1})


def test_own_label_is_written_to_the_node() -> None:
    change = only_change(place(make_pod(nodeSelector={"disk": "ssd"}), [make_node("a")]), "NodeAffinity")
    assert (change.kind, change.node, change.value) == (ChangeKind.LABEL_NODE, "a", "disk=ssd")


def test_existence_label_is_written_empty() -> None:
    placement = place(make_pod(affinity=node_affinity("disk", "Exists")), [make_node("a")])
    change = only_change(placement, "NodeAffinity")
    assert (change.kind, change.node, change.value) == (ChangeKind.LABEL_NODE, "a", "disk=")


def test_machine_label_is_not_written() -> None:
    placement = place(make_pod(nodeSelector={ZONE: "z9"}), [make_node("a")])
    change = only_change(placement, "NodeAffinity")
    assert (change.kind, change.field, change.value) == (ChangeKind.DROP, "spec.nodeSelector", f"{ZONE}=z9")


@table(
    "key, value, effect",
    {
        "cluster-autoscaler": row("ToBeDeletedByClusterAutoscaler", "1790000000", "NoSchedule"),
        "Karpenter": row("karpenter.sh/disruption", "disrupting", "NoSchedule"),
        "spot": row("aws-node-termination-handler/spot-itn", "abc", "NoExecute"),
        "another system": row("os", "Win2022", "NoSchedule"),
        "other hardware": row("nvidia.com/gpu", "present", "NoSchedule"),
    },
)
def test_toleration_does_not_open_unsuitable_node(key: str, value: str, effect: str) -> None:
    placement = place(make_pod(), [make_node("a", taints=[make_taint(key, value, effect=effect)])])
    change = only_change(placement, "TaintToleration")
    assert (change.kind, change.node, change.value) == (ChangeKind.ADD_NODE, "a", f"{key}={value}:{effect}")


@table(
    "key, value, fields",
    {
        "it uses the GPU": row(
            "nvidia.com/gpu", "present", {"containers": [raw_container(requests={"nvidia.com/gpu": "1"})]}
        ),
        "it runs on Windows": row("os", "windows", {"os": {"name": "windows"}}),
        "a value of the cluster's own": row("sku", "cpu", {}),
        "a key of the cluster's own": row("example.com/ToBeDeletedByClusterAutoscaler", "", {}),
    },
)
def test_taint_for_such_pods_is_to_be_tolerated(key: str, value: str, fields: Json) -> None:
    node: Any = make_node("a", taints=[make_taint(key, value)])
    node["status"]["allocatable"]["nvidia.com/gpu"] = "1"
    assert only_change(place(make_pod(**fields), [node]), "TaintToleration").kind is ChangeKind.TOLERATE


def test_starting_node_precedes_toleration() -> None:
    nodes = [
        make_node("team", taints=[make_taint("dedicated", "team-b")]),
        make_node("new", taints=[make_taint("ebs.csi.aws.com/agent-not-ready", effect="NoExecute")]),
    ]
    change = only_change(place(make_pod(), nodes), "TaintToleration")
    assert (change.kind, change.node) == (ChangeKind.REMOVE_TAINT, "new")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("nvidia.com/gpu.product", "NVIDIA-H100"),
        ("cloud.google.com/gke-accelerator", "nvidia-l4"),
        ("kubernetes.io/arch", "arm64"),
        ("kubernetes.io/os", "windows"),
        ("eks.amazonaws.com/nodegroup", "batch"),
    ],
)
def test_machine_label_needs_another_node(key: str, value: str) -> None:
    change = only_change(place(make_pod(nodeSelector={key: value}), [make_node("a")]), "NodeAffinity")
    assert (change.kind, change.node, change.value) == (ChangeKind.ADD_NODE, "a", f"{key}={value}")


@pytest.mark.parametrize(
    "taint",
    [make_taint("karpenter.sh/disrupted"), make_taint("google.com/tpu", "present")],
    ids=["leaving", "hardware"],
)
def test_another_node_does_not_help_a_pod_that_is_pinned(taint: Json) -> None:
    node = make_host("a", taints=[taint])
    pinned = node_affinity("metadata.name", "In", "a", matching="matchFields")
    assert group_of(place(make_pod(affinity=pinned), [node]), "TaintToleration").remedy is None
    remedy = remedy_of(place(make_pod(nodeSelector={HOST: "a"}), [node]), "TaintToleration")
    assert {change.kind for change in remedy.changes} == {ChangeKind.ADD_NODE, ChangeKind.DROP}


def test_host_port_is_given_up_by_its_holder() -> None:
    containers = [raw_container(ports=[{"containerPort": 80, "hostPort": 80}])]
    old = make_pod("old", on="a", containers=containers)
    change = only_change(place(make_pod(containers=containers), [make_node("a")], [old]), "NodePorts")
    assert (change.kind, change.pods) == (ChangeKind.REMOVE_PODS, (PodOnNode("default", "old", "a"),))


@pytest.mark.parametrize(
    ("holders", "kind"), [(1, ChangeKind.REMOVE_PODS), (3, ChangeKind.REMOVE_PODS), (4, ChangeKind.DROP)]
)
def test_anti_affinity_is_dropped_with_too_many_pods(holders: int, kind: ChangeKind) -> None:
    pods = [make_pod(f"db-{number}", on="a", labels={"app": "db"}) for number in range(holders)]
    placement = place(make_pod(affinity=anti_affinity(app="db")), [make_host("a", cpu="16")], pods)
    assert only_change(placement, "InterPodAffinity").kind is kind


def test_another_pods_anti_affinity_ends_with_that_pod() -> None:
    lonely = make_pod("lonely", on="a", affinity=anti_affinity(app="web"))
    placement = place(make_pod(labels={"app": "web"}), [make_host("a")], [lonely])
    assert only_change(placement, "InterPodAffinity").pods == (PodOnNode("default", "lonely", "a"),)


def test_nodes_without_the_key_share_no_domain() -> None:
    """Neither node has a zone: zone terms of pods on the other node exclude no pod from this one."""
    of_host, of_zone = (anti_affinity(key, app=app)["podAntiAffinity"] for key, app in ((HOST, "db"), (ZONE, "web")))
    both = {"podAntiAffinity": {REQUIRED: [*of_host[REQUIRED], *of_zone[REQUIRED]]}}
    nodes = [make_host("a"), make_host("b", unschedulable=True)]
    in_the_way = (PodOnNode("default", "db", "a"),)
    pods = [make_pod("db", on="a", labels={"app": "db"}), make_pod("elsewhere", on="b", labels={"app": "web"})]
    placement = place(make_pod(affinity=both), nodes, pods)
    assert only_change(placement, "InterPodAffinity").pods == in_the_way
    pods = [
        make_pod("db", on="a", affinity=anti_affinity(app="web")),
        make_pod("elsewhere", on="b", affinity=anti_affinity(ZONE, app="web")),
    ]
    placement = place(make_pod(labels={"app": "web"}), nodes, pods)
    assert only_change(placement, "InterPodAffinity").pods == in_the_way


def test_changes_are_chained_until_the_node_fits() -> None:
    node = make_node("a", cpu="1", unschedulable=True, taints=[GPU])
    group = group_of(place(make_pod(cpu="2"), [node]), "NodeUnschedulable")
    assert group.alone == 0
    assert group.nodes[0].also == ("TaintToleration", "NodeResourcesFit")
    assert group.remedy is not None
    kinds = [change.kind for change in group.remedy.changes]
    assert kinds == [ChangeKind.UNCORDON, ChangeKind.TOLERATE, ChangeKind.ENLARGE]


def test_unfixable_rejection_has_no_remedy() -> None:
    pod = make_pod(containers=[raw_container(restartPolicyRules=[{"action": "RestartAllContainers"}])])
    assert group_of(place(pod, [make_node("a")]), "NodeDeclaredFeatures").remedy is None


def test_best_node_after_a_pod_change_is_named() -> None:
    nodes = [make_node(name, cpu=cpu, taints=[GPU]) for name, cpu in (("small", "2"), ("large", "16"))]
    remedy = remedy_of(place(make_pod(), nodes), "TaintToleration")
    assert (remedy.node, remedy.feasible) == ("large", 2)


TWO: Final = [make_host("a"), make_host("b")]
DELETED: Final = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def _of(kind: str, name: str, revision: str, on: str = "", **more: Any) -> Any:
    """A controller's pod; without a size it has anti-affinity to pods of the same application."""
    labels = {"app": "db", "pod-template-hash": revision}
    apart: Any = {} if "cpu" in more else {"affinity": anti_affinity(app="db")}
    return owned(make_pod(f"{name}-{on or 'new'}", on=on, labels=labels, **apart, **more), kind, name)


NEW: Final = _of("ReplicaSet", "db-7c", "7c")


def test_rollout_stops_a_blocking_old_pod() -> None:
    old = [_of("ReplicaSet", "db-6f", "6f", on) for on in ("a", "b")]
    change = only_change(place(NEW, TWO, old), "InterPodAffinity")
    assert (change.kind, change.pods) == (ChangeKind.ROLL_OUT, (PodOnNode("default", "db-6f-a", "a"),))


def test_pods_stopped_by_rollout_free_no_room() -> None:
    old = [_of("ReplicaSet", "db-6f", "6f", on) for on in ("a", "b")]
    extra = replace(situation(NEW, TWO, old), is_extra=True)
    assert only_change(likely_placement(extra), "InterPodAffinity").kind is ChangeKind.ADD_NODE


@pytest.mark.parametrize(
    ("kind", "silent", "expected"),
    [
        ("ReplicaSet", False, ChangeKind.AWAIT_PODS),
        ("ReplicaSet", True, ChangeKind.AWAIT_PODS),
        ("StatefulSet", False, ChangeKind.ADD_NODE),
    ],
)
def test_pod_that_is_being_deleted_is_awaited(kind: str, silent: bool, expected: ChangeKind) -> None:
    """A StatefulSet recreates the pod in the same place."""
    there = _of(kind, "db", "6f", "a", metadata=DELETED)
    node = make_host("a", conditions=[raw_condition("Ready", "Unknown" if silent else "True")])
    change = only_change(place(NEW, [node], [there]), "InterPodAffinity")
    assert (change.kind, change.silent) == (expected, silent)


def _sized(name: str, on: str = "", cpu: str = "3", **more: Any) -> Any:
    return _of("ReplicaSet", name, name.partition("-")[2], on, cpu=cpu, **more)


def test_rollout_that_waits_for_cpu_stops_an_old_pod() -> None:
    """As few as possible: each node here has two, and one makes room."""
    nodes = [make_node(name, cpu="7") for name in ("a", "b")]
    old = [_sized("db-6f", on) for on in ("a", "b")]
    more = [_sized("api-5c", on) for on in ("a", "b")]
    new = _sized("db-7c")
    change = only_change(place(new, nodes, [*old, *more]), "NodeResourcesFit")
    assert (change.kind, change.pods) == (ChangeKind.ROLL_OUT, (PodOnNode("default", "db-6f-a", "a"),))
    assert only_change(place(new, nodes, [*more, *more]), "NodeResourcesFit").kind is ChangeKind.FREE


def test_old_pod_that_is_too_small_makes_no_room() -> None:
    old = [_sized("db-6f", "a", cpu="1"), _sized("api-5c", "a")]
    change = only_change(place(_sized("db-7c"), [make_node("a")], old), "NodeResourcesFit")
    assert change.kind is ChangeKind.FREE


def test_room_is_freed_by_the_end_of_a_pod() -> None:
    pods = [_sized("api-5c", "a", cpu="2"), _sized("api-5c", "b", metadata=DELETED)]
    found = place(_sized("db-7c"), [make_node("a"), make_node("b")], pods)
    assert only_change(found, "NodeResourcesFit").pods == (PodOnNode("default", "api-5c-b", "b"),)


@pytest.mark.parametrize(
    ("kind", "name"), [("ReplicaSet", "db-7c"), ("ReplicaSet", "cache-6f"), ("StatefulSet", "db"), ("DaemonSet", "db")]
)
def test_stopping_a_returning_pod_is_no_remedy(kind: str, name: str) -> None:
    there = [_of(kind, name, "7c", on) for on in ("a", "b")]
    change = only_change(place(NEW, TWO, there), "InterPodAffinity")
    assert (change.kind, change.value) == (ChangeKind.ADD_NODE, "")


def test_stopping_a_pod_that_fits_elsewhere_is_a_remedy() -> None:
    node = make_host("c", taints=[make_taint("dedicated", "cache")])
    moved = _of("ReplicaSet", "cache-6f", "6f", "a", tolerations=[{"key": "dedicated", "operator": "Exists"}])
    change = only_change(place(NEW, [*TWO, node], [moved, _of("ReplicaSet", "db-7c", "7c", "b")]), "InterPodAffinity")
    assert (change.kind, change.node) == (ChangeKind.REMOVE_PODS, "a")
