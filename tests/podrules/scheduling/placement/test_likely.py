"""The whole likely placement of one pod."""

from __future__ import annotations

from typing import Any

from podrules.scheduling.placement.outcome import PlacementOutcome, ReasonCount
from podrules.scheduling.scheduler.framework.answers import ChangeKind
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import SpreadDomain
from tests.podrules.scheduling.building import HOST, ZONE, Json, mounted, spread
from tests.podrules.scheduling.placement.building import (
    make_node,
    make_pod,
    make_taint,
    only_change,
    place,
    remedy_of,
    zoned,
)
from tests.podrules.scheduling.scheduler.plugins.building_devices import (
    make_claim,
    make_class,
    make_request,
    make_slice,
)

FOO = {"foo": "bar"}


def spread_pod(*keys: str) -> Json:
    return make_pod("new", labels=FOO, topologySpreadConstraints=[spread(key, foo="bar") for key in keys])


FOUR_NODES = [zoned("node1", "zoneA"), zoned("node2", "zoneA"), zoned("node3", "zoneB"), zoned("node4", "zoneB")]
THREE_PODS = [make_pod(f"p{number}", on=f"node{number}", labels=FOO) for number in (1, 2, 3)]


def test_S3_zone_leaves_zone_b() -> None:
    placement = place(spread_pod(ZONE), FOUR_NODES, THREE_PODS, every_node=True)
    assert {score.node for score in placement.scores} == {"node3", "node4"}
    (constraint,) = placement.spread
    assert constraint.domains == (
        SpreadDomain("zoneA", 2, 2, fits=False, with_pod=3),
        SpreadDomain("zoneB", 1, 1, fits=True, with_pod=2),
    )


def test_S3_node_leaves_node4() -> None:
    assert [score.node for score in place(spread_pod(HOST), FOUR_NODES, THREE_PODS).scores] == ["node4"]


def test_S3_both_together_leave_node4() -> None:
    placement = place(spread_pod(ZONE, HOST), FOUR_NODES, THREE_PODS)
    assert placement.best == ("node4",)
    assert all(not constraint.conflicts_with for constraint in placement.spread)


def test_S3_conflicting_constraints_name_remedies() -> None:
    places = (("p1", "node1"), ("p2", "node1"), ("p3", "node3"))
    pods = [make_pod(name, on=node, labels=FOO) for name, node in places]
    placement = place(spread_pod(ZONE, HOST), FOUR_NODES[:3], pods)
    assert placement.outcome is PlacementOutcome.UNSCHEDULABLE
    first, second = placement.spread
    assert (first.leaves, first.conflicts_with) == (1, ("spec.topologySpreadConstraints[1]",))
    assert (second.leaves, second.conflicts_with) == (1, ("spec.topologySpreadConstraints[0]",))
    assert remedy_of(placement, "PodTopologySpread").node == "node2"
    change = only_change(placement, "PodTopologySpread")
    expected = (ChangeKind.SPREAD, "spec.topologySpreadConstraints[0].maxSkew", "2")
    assert (change.kind, change.field, change.value) == expected


def test_message_equals_the_scheduler_message() -> None:
    nodes = [make_node("a", cpu="1"), make_node("b", taints=[make_taint("dedicated")])]
    placement = place(make_pod(cpu="2"), nodes)
    assert placement.message == "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)."
    assert [(group.plugin, group.count) for group in placement.rejected] == [
        ("NodeResourcesFit", 1),
        ("TaintToleration", 1),
    ]


def test_scores_add_up_and_the_best_are_named() -> None:
    placement = place(make_pod(), [make_node("a"), make_node("b"), make_node("c", cpu="32", memory="64Gi")])
    assert placement.best == ("c",)
    assert placement.feasible == 3
    assert placement.scores[0].node == "c"
    assert all(score.total == sum(score.plugins.values()) for score in placement.scores)


def test_every_node_is_shown_if_requested() -> None:
    nodes = [make_node(f"n{number}") for number in range(9)]
    assert len(place(make_pod(), nodes).scores) == 3
    assert len(place(make_pod(), nodes, every_node=True).scores) == 9
    assert len(place(make_pod(cpu="9"), nodes).rejected[0].nodes) == 1
    assert len(place(make_pod(cpu="9"), nodes, every_node=True).rejected[0].nodes) == 9


def test_gated_pod_is_not_scheduled() -> None:
    placement = place(make_pod(schedulingGates=[{"name": "wait"}]), [make_node("a")])
    assert (placement.outcome, placement.reason) == (PlacementOutcome.HELD, "waiting for scheduling gates: [wait]")


def test_running_pod_is_judged_as_a_new_pod() -> None:
    pod = make_pod(on="a", cpu="3")
    placement = place(pod, [make_node("a"), make_node("b", cpu="16", memory="32Gi")], [pod])
    assert placement.current is not None
    assert (placement.current.node, placement.current.fits, placement.current.rank) == ("a", True, 2)
    assert placement.best == ("b",)


def test_running_pods_node_may_be_closed_to_it_now() -> None:
    pod = make_pod(on="a")
    placement = place(pod, [make_node("a", unschedulable=True), make_node("b")], [pod])
    assert placement.current is not None
    assert (placement.current.fits, placement.current.plugin) == (False, "NodeUnschedulable")


def test_deleted_node_is_not_judged() -> None:
    pod = make_pod(on="gone")
    assert place(pod, [make_node("a")], [pod]).current is None


def test_condition_is_compared_with_the_answer() -> None:
    message = "0/1 nodes are available: 1 Insufficient cpu. preemption: none."
    agreeing = place(make_pod(cpu="9", message=message), [make_node("a")])
    assert agreeing.scheduler_message is not None
    assert agreeing.scheduler_message.agrees
    outdated = place(make_pod(cpu="1", message=message), [make_node("a")])
    assert outdated.scheduler_message is not None
    assert outdated.scheduler_message.changed == (ReasonCount("Insufficient cpu", 1, 0),)


def test_large_cluster_is_sampled_by_the_scheduler() -> None:
    assert place(make_pod(), [make_node(f"n{number}") for number in range(99)]).sampled is None
    assert place(make_pod(), [make_node(f"n{number}") for number in range(250)]).sampled == 120


def test_pre_filter_rejection_is_one_group() -> None:
    placement = place(make_pod(volumes=[mounted("missing")]), [make_node("a"), make_node("b")])
    (group,) = placement.rejected
    assert (group.plugin, group.count, group.reasons) == (
        "VolumeRestrictions",
        2,
        ('persistentvolumeclaim "missing" not found',),
    )


def test_unmodelled_placement_is_unknown() -> None:
    request = make_request(selector="device.attributes['x'].nothing_we_know()")
    lists: dict[str, Any] = {
        "deviceClasses": [make_class()],
        "resourceClaims": [make_claim("mine", request)],
        "resourceSlices": [make_slice("x", node="a")],
    }
    pod = make_pod(resourceClaims=[{"name": "c", "resourceClaimName": "mine"}])
    placement = place(pod, [make_node("a")], **lists)
    assert placement.outcome in {PlacementOutcome.UNKNOWN, PlacementOutcome.UNSCHEDULABLE}
    assert placement.scores == ()


def test_cluster_without_nodes_has_upstream_message() -> None:
    placement = place(make_pod(), [])
    assert (placement.outcome, placement.message) == (
        PlacementOutcome.UNSCHEDULABLE,
        "no nodes available to schedule pods",
    )
