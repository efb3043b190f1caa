"""The distribution of pods over zones, and the current skew of constraints."""

from __future__ import annotations

from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, TopologySpreadConstraint
from podrules.scheduling.spread import ZONE, spreads_of, workload_spreads, zone_nodes
from tests.objects import make_constraint, make_node, make_pod, raw_condition, raw_owner


def node(name: str, zone: str, *, ready: bool = True) -> Node:
    labels = {ZONE: zone} if zone else {}
    conditions = [raw_condition("Ready")] if ready else []
    return make_node(name, labels=labels, capacity={"cpu": "4", "memory": "8Gi"}, conditions=conditions)


def pods(
    count: int,
    on: str,
    constraint: TopologySpreadConstraint | None = None,
    kind: str = "ReplicaSet",
    *,
    owner: str = "web",
    phase: str = "Running",
    deleted: str | None = None,
) -> list[Pod]:
    return [
        make_pod(
            f"{owner}-{on}-{number}",
            labels={"app": "web"},
            metadata={"ownerReferences": [raw_owner(kind, owner)], "deletionTimestamp": deleted},
            nodeName=on,
            topologySpreadConstraints=[constraint] if constraint else [],
            status={"phase": phase},
        )
        for number in range(count)
    ]


NODES = [node("a1", "a"), node("b1", "b"), node("c1", "c")]


def zonal(max_skew: int, when: str = "DoNotSchedule", **more: int) -> TopologySpreadConstraint:
    return make_constraint(max_skew, ZONE, when, {"matchLabels": {"app": "web"}}, **more)


def test_zones_count_what_is_ready() -> None:
    zones = zone_nodes([*NODES, node("a2", "a", ready=False), node("x", "")])
    counted = [(zone.zone, zone.nodes, zone.ready) for zone in zones]
    assert counted == [("", 1, 1), ("a", 2, 1), ("b", 1, 1), ("c", 1, 1)]
    assert (zones[1].cpu, zones[1].memory) == (8000, 2 * 8 * 2**30)


def test_skew_is_that_of_the_emptiest_domain() -> None:
    (found,) = workload_spreads(NODES, [*pods(3, "a1", zonal(1)), *pods(1, "b1", zonal(1))])
    assert found.zones == {"a": 3, "b": 1}
    (constraint,) = found.constraints
    assert (constraint.most, constraint.least, constraint.skew, constraint.domains) == (3, 0, 3, 3)
    assert (constraint.most_in, constraint.least_in) == ("a", "c")
    assert found.exceeded is constraint


def test_skew_of_max_skew_is_allowed() -> None:
    (found,) = workload_spreads(NODES, pods(2, "a1", zonal(2)))
    assert (found.constraints[0].skew, found.exceeded) == (2, None)


def test_too_few_domains_make_the_minimum_0() -> None:
    nodes = [node("a1", "a"), node("b1", "b")]
    even = [*pods(2, "a1", zonal(1, minDomains=3)), *pods(2, "b1", zonal(1, minDomains=3))]
    few = workload_spreads(nodes, even)[0].constraints[0]
    assert (few.least, few.least_in) == (0, None)
    enough = [*pods(2, "a1", zonal(1)), *pods(2, "b1", zonal(1))]
    assert workload_spreads(nodes, enough)[0].constraints[0].skew == 0


def test_soft_constraints_are_separate() -> None:
    (found,) = workload_spreads(NODES, pods(2, "a1", zonal(1, "ScheduleAnyway")))
    assert not found.constraints[0].hard
    assert found.exceeded is found.constraints[0]


def test_only_live_pods_of_spread_workloads_count() -> None:
    ended = [*pods(1, "b1", phase="Succeeded"), *pods(1, "c1", deleted="2026-01-01T00:00:00Z")]
    (found,) = workload_spreads(NODES, [*pods(2, "a1"), *ended, *pods(1, "b1", kind="DaemonSet")])
    assert (found.zones, found.pods, found.in_one_zone) == ({"a": 2}, 2, True)


def test_one_pod_is_not_spread() -> None:
    assert not workload_spreads(NODES, pods(1, "a1"))[0].in_one_zone


def test_selector_that_cannot_be_read_is_no_constraint() -> None:
    broken = make_constraint(1, ZONE, "DoNotSchedule", {"matchExpressions": [{"key": "a", "operator": "Odd"}]})
    assert workload_spreads(NODES, pods(2, "a1", broken))[0].constraints == ()


def test_spread_of_one_workload_counts_other_pods() -> None:
    own = pods(2, "a1", zonal(1))
    others = pods(1, "a1", zonal(1), owner="old")
    (found,) = spreads_of(own, NODES, [*own, *others])
    assert (found.name, found.zones, found.constraints[0].most) == ("web", {"a": 2}, 3)


def test_pods_of_a_daemon_set_are_not_spread() -> None:
    own = pods(2, "a1", zonal(1), kind="DaemonSet")
    assert spreads_of(own, NODES, own) == ()
