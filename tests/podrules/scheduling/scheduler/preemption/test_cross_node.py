"""Removing pods of other nodes, which the scheduler never tries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podrules.scheduling.scheduler.preemption import CrossNodeHelp, cross_node_help, preempt
from tests.podrules.scheduling.building import Json, anti_affinity, spread
from tests.podrules.scheduling.scheduler.preemption.building import (
    DATA,
    HIGH,
    LARGE,
    LOW,
    MID,
    USES_DATA,
    VERY_HIGH,
    cycle,
    make_node,
    make_pod,
)
from tests.table import table

A = {"app": "a"}
ZONE_1 = {"zone": "1"}
NODES = [make_node("node1", labels=ZONE_1), make_node("node2", labels=ZONE_1)]


def help_for(pod: Json, nodes: Sequence[Json], pods: Sequence[Json], **lists: Any) -> CrossNodeHelp | None:
    filtered = cycle(pod, nodes, pods, **lists)
    found = preempt(filtered, ())
    assert found.preemption is not None
    return cross_node_help(filtered, found.preemption, ())


def names_of(found: CrossNodeHelp | None) -> tuple[str, list[str], list[str]] | None:
    if found is None:
        return None
    elsewhere, here = ([pod.metadata.name for pod in pods] for pods in (found.elsewhere, found.on_node))
    return found.node, elsewhere, here


def test_P4_anti_affinity_of_the_pod_to_pods_of_the_zone() -> None:
    """Both nodes have one: for each node, the other node's pod is in the way."""
    pod = make_pod("p", priority=HIGH, affinity=anti_affinity("zone", app="a"))
    pods = [make_pod("p1", priority=LOW, on="node1", labels=A), make_pod("p2", priority=MID, on="node2", labels=A)]
    assert names_of(help_for(pod, NODES, pods)) == ("node1", ["p2"], ["p1"])


def test_P4_anti_affinity_of_a_pod_on_another_node() -> None:
    pod = make_pod("p", "100m", HIGH, labels=A)
    hermit = make_pod("hermit", priority=LOW, on="node2", affinity=anti_affinity("zone", app="a"))
    full = make_pod("full", "450m", HIGH, on="node2")
    assert names_of(help_for(pod, NODES, [hermit, full])) == ("node1", ["hermit"], [])


def test_P4_spread_over_zones() -> None:
    """Two pods too many in zone 1, on the node without room; zone 2 is full.

    Spreading counts no pod of another namespace and no terminating pod.
    """
    pod = make_pod("p", LARGE, HIGH, labels=A, topologySpreadConstraints=[spread("zone", app="a")])
    nodes = [*NODES, make_node("node3", labels={"zone": "2"})]
    pods = [
        make_pod("old", "100m", LOW, on="node2", labels=A, start=1),
        make_pod("young", "50m", LOW, on="node2", labels=A, start=2),
        make_pod("keeper", "350m", HIGH, on="node2"),
        make_pod("three", "500m", HIGH, on="node3", labels=A),
        make_pod("four", "0", HIGH, on="node1", labels=A),
        make_pod("other", "0", LOW, on="node2", labels=A, start=3, namespace="other"),
        make_pod("going", "0", LOW, on="node2", labels=A, start=3, deleted=True),
    ]
    found = help_for(pod, nodes, pods)
    assert names_of(found) == ("node1", ["old", "young"], [])


def test_P4_claim_that_a_pod_of_another_node_uses() -> None:
    nodes = [make_node("node1"), make_node("node2")]
    user = make_pod("user", "100m", LOW, on="node2", volumes=USES_DATA)
    full = make_pod("full", "400m", HIGH, on="node2")
    found = help_for(make_pod("p", LARGE, HIGH, volumes=USES_DATA), nodes, [user, full], **DATA)
    assert names_of(found) == ("node1", ["user"], [])


def test_P4_victims_of_the_node_itself_are_named_too() -> None:
    pod = make_pod("p", LARGE, HIGH, affinity=anti_affinity("zone", app="a"))
    nodes = [make_node("node1", labels=ZONE_1), make_node("node2", "100m", labels=ZONE_1)]
    pods = [make_pod("big", LARGE, LOW, on="node1"), make_pod("p2", "100m", LOW, on="node2", labels=A)]
    assert names_of(help_for(pod, nodes, pods)) == ("node1", ["p2"], ["big"])


@table(
    "pods",
    {
        "a more important pod": [make_pod("p2", priority=VERY_HIGH, on="node2", labels=A)],
        "an equally important pod": [make_pod("p2", priority=HIGH, on="node2", labels=A)],
        "more than a few": [make_pod(f"p{number}", priority=LOW, on="node2", labels=A) for number in range(6)]
        + [make_pod("keeper", priority=HIGH, on="node2", labels={"app": "b"})],
    },
)
def test_P4_no_cross_node_hint(pods: Sequence[Json]) -> None:
    nodes = [NODES[0], make_node("node2", "0", labels=ZONE_1, pods=len(pods))]
    pod = make_pod("p", LARGE, HIGH, affinity=anti_affinity("zone", app="a"))
    assert help_for(pod, nodes, pods) is None


def test_no_hint_if_the_pod_would_still_not_fit() -> None:
    pod = make_pod("p", LARGE, HIGH, affinity=anti_affinity("zone", app="a"))
    pods = [
        make_pod("p2", priority=LOW, on="node2", labels=A),
        make_pod("full1", LARGE, HIGH, on="node1"),
        make_pod("full2", LARGE, HIGH, on="node2"),
    ]
    assert help_for(pod, NODES, pods) is None


def test_no_hint_if_preemption_helps() -> None:
    pod = make_pod("p", LARGE, HIGH)
    nodes = [make_node("node1")]
    assert help_for(pod, nodes, [make_pod("p1", LARGE, LOW, on="node1")]) is None
