"""Changes that would let a pod onto a node: single changes, the cheapest of several, and chains."""

from __future__ import annotations

from typing import Any, Final

import pytest
from msgspec.structs import replace

from podrules.api.model.pod import PodOnNode, PodReference
from podrules.scheduling.placement.likely import likely_placement
from podrules.scheduling.scheduler.framework.answers import ChangeKind
from podrules.scheduling.scheduler.plugins.node_resources.columns import InsufficientResource
from tests.cases import cases, row
from tests.objects import raw_condition
from tests.podrules.scheduling.placement.building import (
    Json,
    group_of,
    make_node,
    make_pod,
    make_taint,
    only_change,
    place,
    situation,
)

MI = 1024**2
ZONE = "topology.kubernetes.io/zone"


def test_cordoned_node_is_to_be_uncordoned() -> None:
    taint = make_taint("node.kubernetes.io/unschedulable")
    change = only_change(place(make_pod(), [make_node("a", unschedulable=True, taints=[taint])]), "NodeUnschedulable")
    assert (change.kind, change.node) == (ChangeKind.UNCORDON, "a")


def test_taint_of_the_cordon_is_no_further_reason() -> None:
    taint = make_taint("node.kubernetes.io/unschedulable")
    group = group_of(place(make_pod(), [make_node("a", unschedulable=True, taints=[taint])]), "NodeUnschedulable")
    assert group.nodes[0].also == ()
    of_its_own = [taint, make_taint("dedicated", "gpu")]
    group = group_of(place(make_pod(), [make_node("a", unschedulable=True, taints=of_its_own)]), "NodeUnschedulable")
    assert group.nodes[0].also == ("TaintToleration",)


def test_silent_node_differs_from_other_taints() -> None:
    unreachable = make_taint("node.kubernetes.io/unreachable", effect="NoExecute")
    unknown = [raw_condition("Ready", "Unknown")]
    nodes = [
        make_node("answers", taints=[unreachable]),
        make_node("lost", taints=[unreachable], conditions=unknown),
        make_node("gpu", taints=[make_taint("dedicated", "gpu")], conditions=unknown),
    ]
    group = group_of(place(make_pod(), nodes), "TaintToleration")
    assert (group.count, group.silent) == (3, ("lost",)), "it does not answer, and its taint says so"


def test_taint_is_to_be_tolerated() -> None:
    placement = place(make_pod(), [make_node("a", taints=[make_taint("dedicated", "gpu")])])
    change = only_change(placement, "TaintToleration")
    assert (change.kind, change.field, change.value) == (
        ChangeKind.TOLERATE,
        "spec.tolerations",
        "dedicated=gpu:NoSchedule",
    )


def test_several_taints_are_tolerated_one_after_the_other() -> None:
    placement = place(make_pod(), [make_node("a", taints=[make_taint("one"), make_taint("two", effect="NoExecute")])])
    remedy = group_of(placement, "TaintToleration").remedy
    assert remedy is not None
    assert [change.value for change in remedy.changes] == ["one:NoSchedule", "two:NoExecute"]


def test_taint_of_trouble_is_not_to_be_tolerated() -> None:
    placement = place(make_pod(), [make_node("a", taints=[make_taint("node.kubernetes.io/unreachable")])])
    change = only_change(placement, "TaintToleration")
    assert (change.kind, change.node) == (ChangeKind.REMOVE_TAINT, "a")


def test_control_plane_toleration_is_the_last_remedy() -> None:
    nodes = [
        make_node("cp", taints=[make_taint("node-role.kubernetes.io/control-plane")]),
        make_node("gpu", taints=[make_taint("dedicated", "gpu")]),
    ]
    assert only_change(place(make_pod(), nodes), "TaintToleration").value == "dedicated=gpu:NoSchedule"


def test_node_with_the_smallest_shortage_is_named() -> None:
    nodes = [make_node("a", memory="2Gi"), make_node("b", memory="2Gi")]
    pods = [make_pod("x", on="a", memory="1536Mi"), make_pod("y", on="b", memory="1200Mi")]
    group = group_of(place(make_pod(memory="1Gi"), nodes, pods), "NodeResourcesFit")
    assert group.nodes[0].facts == (InsufficientResource("memory", 1024 * MI, 1200 * MI, 2048 * MI),)
    assert group.remedy is not None
    (change,) = group.remedy.changes
    assert (change.kind, change.node, change.amounts) == (ChangeKind.FREE, "b", {"memory": 176 * MI})


def test_request_above_node_size_needs_larger_node() -> None:
    change = only_change(place(make_pod(cpu="6"), [make_node("a", cpu="4")]), "NodeResourcesFit")
    assert (change.kind, change.amounts) == (ChangeKind.ENLARGE, {"cpu": 2000})


@cases(
    "owner, kind",
    {
        "DaemonSet": row({"apiVersion": "apps/v1", "kind": "DaemonSet"}, ChangeKind.ENLARGE),
        "static pod": row({"apiVersion": "v1", "kind": "Node"}, ChangeKind.ENLARGE),
        "ReplicaSet": row({"apiVersion": "apps/v1", "kind": "ReplicaSet"}, ChangeKind.FREE),
    },
)
def test_requests_of_daemon_and_static_pods_are_not_freed(owner: Json, kind: ChangeKind) -> None:
    stays: Any = make_pod("x", on="a", memory="512Mi")
    stays["metadata"]["ownerReferences"] = [{**owner, "name": "o", "uid": "o", "controller": True}]
    if owner["kind"] == "Node":
        stays["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "hash"}
    placement = place(make_pod(memory="8000Mi"), [make_node("a")], [stays])
    change = only_change(placement, "NodeResourcesFit")
    assert (change.kind, change.amounts, change.promised) == (kind, {"memory": 320 * MI}, {})


def test_overcommitted_amount_is_part_of_freed_amount() -> None:
    pods = [make_pod("x", on="a", cpu="1", memory="7Gi"), make_pod("y", on="a", cpu="1", memory="2Gi")]
    change = only_change(place(make_pod(memory="8Gi"), [make_node("a")], pods), "NodeResourcesFit")
    assert (change.kind, change.amounts) == (ChangeKind.FREE, {"memory": 9 * 1024 * MI})
    assert change.promised == {"memory": 9 * 1024 * MI}


def test_room_of_nominated_pod_is_separate() -> None:
    rival: Any = make_pod("rival", memory="3Gi")
    rival["status"] = {**rival.get("status", {}), "nominatedNodeName": "a"}
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
    daemon: Any = make_pod("d", on="a", memory="6Gi")
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}
    daemon["metadata"]["ownerReferences"] = [owner]
    pods = [daemon, make_pod("x", on="b", memory="7Gi")]
    group = group_of(place(make_pod(memory="4Gi"), [make_node("a"), make_node("b")], pods), "NodeResourcesFit")
    assert group.remedy is not None
    assert [(change.kind, change.node) for change in group.remedy.changes] == [(ChangeKind.FREE, "b")]
    assert group.nodes[0].node == "b"


def test_full_node_needs_one_pod_less() -> None:
    node: Any = make_node("a")
    node["status"]["allocatable"]["pods"] = "1"
    change = only_change(place(make_pod(), [node], [make_pod("x", on="a")]), "NodeResourcesFit")
    assert (change.kind, change.amounts) == (ChangeKind.FREE, {"pods": 1})


def test_own_label_is_written_to_the_node() -> None:
    change = only_change(place(make_pod(nodeSelector={"disk": "ssd"}), [make_node("a")]), "NodeAffinity")
    assert (change.kind, change.node, change.value) == (ChangeKind.LABEL_NODE, "a", "disk=ssd")


def test_existence_label_is_written_empty() -> None:
    terms = [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    placement = place(make_pod(affinity={"nodeAffinity": required}), [make_node("a")])
    change = only_change(placement, "NodeAffinity")
    assert (change.kind, change.node, change.value) == (ChangeKind.LABEL_NODE, "a", "disk=")


def test_machine_label_is_not_written() -> None:
    placement = place(make_pod(nodeSelector={ZONE: "z9"}), [make_node("a")])
    change = only_change(placement, "NodeAffinity")
    assert (change.kind, change.field, change.value) == (ChangeKind.DROP, "spec.nodeSelector", f"{ZONE}=z9")


@cases(
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


@cases(
    "key, value, fields",
    {
        "it uses the GPU": row("nvidia.com/gpu", "present", {"requests": {"nvidia.com/gpu": "1"}}),
        "it runs on Windows": row("os", "windows", {"os": {"name": "windows"}}),
        "a value of the cluster's own": row("sku", "cpu", {}),
        "a key of the cluster's own": row("example.com/ToBeDeletedByClusterAutoscaler", "", {}),
    },
)
def test_taint_for_such_pods_is_to_be_tolerated(key: str, value: str, fields: Json) -> None:
    pod: Any = make_pod()
    for name, field in fields.items():
        pod["spec"] |= {name: field} if name != "requests" else {}
        pod["spec"]["containers"][0]["resources"]["requests"] |= field if name == "requests" else {}
    node: Any = make_node("a", taints=[make_taint(key, value)])
    node["status"]["allocatable"]["nvidia.com/gpu"] = "1"
    assert only_change(place(pod, [node]), "TaintToleration").kind is ChangeKind.TOLERATE


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
    name = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [name]}}
    node = make_node("a", labels={"kubernetes.io/hostname": "a"}, taints=[taint])
    placement = place(make_pod(affinity={"nodeAffinity": required}), [node])
    assert group_of(placement, "TaintToleration").remedy is None
    placement = place(make_pod(nodeSelector={"kubernetes.io/hostname": "a"}), [node])
    remedy = group_of(placement, "TaintToleration").remedy
    assert remedy is not None
    assert {change.kind for change in remedy.changes} == {ChangeKind.ADD_NODE, ChangeKind.DROP}


def test_host_port_is_given_up_by_its_holder() -> None:
    def with_port(name: str, on: str = "") -> Json:
        pod: Any = make_pod(name, on=on)
        pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
        return pod  # type: ignore[no-any-return]

    change = only_change(place(with_port("web"), [make_node("a")], [with_port("old", "a")]), "NodePorts")
    assert (change.kind, change.pods) == (ChangeKind.REMOVE_PODS, (PodOnNode("default", "old", "a"),))


@pytest.mark.parametrize(
    ("holders", "kind"), [(1, ChangeKind.REMOVE_PODS), (3, ChangeKind.REMOVE_PODS), (4, ChangeKind.DROP)]
)
def test_anti_affinity_is_dropped_with_too_many_pods(holders: int, kind: ChangeKind) -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    node = make_node("a", cpu="16", labels={"kubernetes.io/hostname": "a"})
    pods = [make_pod(f"db-{number}", on="a", labels={"app": "db"}) for number in range(holders)]
    assert only_change(place(make_pod(affinity=anti), [node], pods), "InterPodAffinity").kind is kind


def test_another_pods_anti_affinity_ends_with_that_pod() -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    node = make_node("a", labels={"kubernetes.io/hostname": "a"})
    placement = place(make_pod(labels={"app": "web"}), [node], [make_pod("lonely", on="a", affinity=anti)])
    assert only_change(placement, "InterPodAffinity").pods == (PodOnNode("default", "lonely", "a"),)


def test_nodes_without_the_key_share_no_domain() -> None:
    """Neither node has a zone: zone terms of pods on the other node exclude no pod from this one."""

    def away(**apps: str) -> Json:
        keys = {"hostname": "kubernetes.io/hostname", "zone": ZONE}
        terms = [
            {"topologyKey": keys[key], "labelSelector": {"matchLabels": {"app": app}}} for key, app in apps.items()
        ]
        return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}

    nodes = [
        make_node("a", labels={"kubernetes.io/hostname": "a"}),
        make_node("b", labels={"kubernetes.io/hostname": "b"}, unschedulable=True),
    ]
    in_the_way = (PodOnNode("default", "db", "a"),)
    pods = [make_pod("db", on="a", labels={"app": "db"}), make_pod("elsewhere", on="b", labels={"app": "web"})]
    placement = place(make_pod(affinity=away(hostname="db", zone="web")), nodes, pods)
    assert only_change(placement, "InterPodAffinity").pods == in_the_way
    pods = [
        make_pod("db", on="a", affinity=away(hostname="web")),
        make_pod("elsewhere", on="b", affinity=away(zone="web")),
    ]
    placement = place(make_pod(labels={"app": "web"}), nodes, pods)
    assert only_change(placement, "InterPodAffinity").pods == in_the_way


def test_changes_are_chained_until_the_node_fits() -> None:
    node = make_node("a", cpu="1", unschedulable=True, taints=[make_taint("dedicated", "gpu")])
    group = group_of(place(make_pod(cpu="2"), [node]), "NodeUnschedulable")
    assert group.alone == 0
    assert group.nodes[0].also == ("TaintToleration", "NodeResourcesFit")
    assert group.remedy is not None
    kinds = [change.kind for change in group.remedy.changes]
    assert kinds == [ChangeKind.UNCORDON, ChangeKind.TOLERATE, ChangeKind.ENLARGE]


def test_unfixable_rejection_has_no_remedy() -> None:
    rules = [{"action": "RestartAllContainers"}]
    pod: Any = make_pod()
    pod["spec"]["containers"][0]["restartPolicyRules"] = rules
    group = group_of(place(pod, [make_node("a")]), "NodeDeclaredFeatures")
    assert group.remedy is None


def test_best_node_after_a_pod_change_is_named() -> None:
    labels = {"team": "a"}
    nodes = [
        make_node("small", cpu="2", labels=labels, taints=[make_taint("dedicated", "gpu")]),
        make_node("large", cpu="16", labels=labels, taints=[make_taint("dedicated", "gpu")]),
    ]
    remedy = group_of(place(make_pod(), nodes), "TaintToleration").remedy
    assert remedy is not None
    assert (remedy.node, remedy.feasible) == ("large", 2)


APART: Final = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
        ]
    }
}


def _of(kind: str, name: str, revision: str, on: str = "") -> Json:
    """A pod with anti-affinity to pods of the same application."""
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}
    labels = {"app": "db", "pod-template-hash": revision}
    pod: Any = make_pod(f"{name}-{on or 'new'}", on=on, labels=labels, affinity=APART)
    pod["metadata"]["ownerReferences"] = [owner]
    return pod  # type: ignore[no-any-return]


def _two() -> list[Json]:
    return [make_node(name, labels={"kubernetes.io/hostname": name}) for name in ("a", "b")]


def test_rollout_stops_a_blocking_old_pod() -> None:
    old = [_of("ReplicaSet", "db-6f", "6f", on) for on in ("a", "b")]
    change = only_change(place(_of("ReplicaSet", "db-7c", "7c"), _two(), old), "InterPodAffinity")
    assert (change.kind, change.pods) == (ChangeKind.ROLL_OUT, (PodOnNode("default", "db-6f-a", "a"),))


def test_pods_stopped_by_rollout_free_no_room() -> None:
    old = [_of("ReplicaSet", "db-6f", "6f", on) for on in ("a", "b")]
    extra = replace(situation(_of("ReplicaSet", "db-7c", "7c"), _two(), old), is_extra=True)
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
    there: Any = _of(kind, "db", "6f", "a")
    there["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    node = make_node(
        "a",
        labels={"kubernetes.io/hostname": "a"},
        conditions=[raw_condition("Ready", "Unknown" if silent else "True")],
    )
    change = only_change(place(_of("ReplicaSet", "db-7c", "7c"), [node], [there]), "InterPodAffinity")
    assert (change.kind, change.silent) == (expected, silent)


def _sized(kind: str, name: str, revision: str, on: str = "", cpu: str = "3") -> Any:
    pod: Any = _of(kind, name, revision, on)
    del pod["spec"]["affinity"]
    pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    return pod


def test_rollout_that_waits_for_cpu_stops_an_old_pod() -> None:
    """As few as possible: each node here has two, and one makes room."""
    nodes = [make_node(name, cpu="7") for name in ("a", "b")]
    old = [_sized("ReplicaSet", "db-6f", "6f", on) for on in ("a", "b")]
    more = [_sized("ReplicaSet", "api-5c", "5c", on) for on in ("a", "b")]
    new = _sized("ReplicaSet", "db-7c", "7c")
    change = only_change(place(new, nodes, [*old, *more]), "NodeResourcesFit")
    assert (change.kind, change.pods) == (ChangeKind.ROLL_OUT, (PodOnNode("default", "db-6f-a", "a"),))
    assert only_change(place(new, nodes, [*more, *more]), "NodeResourcesFit").kind is ChangeKind.FREE


def test_old_pod_that_is_too_small_makes_no_room() -> None:
    old = [_sized("ReplicaSet", "db-6f", "6f", "a", cpu="1"), _sized("ReplicaSet", "api-5c", "5c", "a")]
    change = only_change(place(_sized("ReplicaSet", "db-7c", "7c"), [make_node("a")], old), "NodeResourcesFit")
    assert change.kind is ChangeKind.FREE


def test_room_is_freed_by_the_end_of_a_pod() -> None:
    ending = _sized("ReplicaSet", "api-5c", "5c", "b")
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    stays = _sized("ReplicaSet", "api-5c", "5c", "a", cpu="2")
    found = place(_sized("ReplicaSet", "db-7c", "7c"), [make_node("a"), make_node("b")], [stays, ending])
    assert only_change(found, "NodeResourcesFit").pods == (PodOnNode("default", "api-5c-b", "b"),)


@pytest.mark.parametrize(
    ("kind", "name"), [("ReplicaSet", "db-7c"), ("ReplicaSet", "cache-6f"), ("StatefulSet", "db"), ("DaemonSet", "db")]
)
def test_stopping_a_returning_pod_is_no_remedy(kind: str, name: str) -> None:
    there = [_of(kind, name, "7c", on) for on in ("a", "b")]
    change = only_change(place(_of("ReplicaSet", "db-7c", "7c"), _two(), there), "InterPodAffinity")
    assert (change.kind, change.value) == (ChangeKind.ADD_NODE, "")


def test_stopping_a_pod_that_fits_elsewhere_is_a_remedy() -> None:
    node: Any = make_node("c", labels={"kubernetes.io/hostname": "c"}, taints=[make_taint("dedicated", "cache")])
    moved = _of("ReplicaSet", "cache-6f", "6f", "a")
    moved["spec"]["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    there = [moved, _of("ReplicaSet", "db-7c", "7c", "b")]
    placement = place(_of("ReplicaSet", "db-7c", "7c"), [*_two(), node], there)
    change = only_change(placement, "InterPodAffinity")
    assert (change.kind, change.node) == (ChangeKind.REMOVE_PODS, "a")
