"""Pods that name their node themselves: the kubelet there decides, no scheduler."""

from __future__ import annotations

from typing import Any, Final

import pytest

from podrules.placement.likely import named_placement
from podrules.placement.outcome import NamedFate, NamedNode
from podrules.placement.plan import Demand, plan
from podrules.reachability import NodeReach, Reach
from tests.podrules.placement.building import Json, make_node, make_pod, make_taint, situation

ANSWERS: Final = NodeReach("a", Reach.ANSWERS, "")


def named(pod: Json, node: Json, *others: Json, reach: NodeReach | None = ANSWERS) -> NamedNode:
    found = named_placement(situation(pod, [node, make_node("b")], others), reach).named
    assert found is not None
    return found


def test_what_only_the_scheduler_asks_does_not_matter() -> None:
    taints = [make_taint("dedicated"), make_taint("node.kubernetes.io/unschedulable")]
    spread = {"maxSkew": 1, "topologyKey": "nowhere", "whenUnsatisfiable": "DoNotSchedule"}
    pod = make_pod(on="a", topologySpreadConstraints=[spread])
    assert named(pod, make_node("a", taints=taints, unschedulable=True)) == NamedNode("a", NamedFate.RUNS)


@pytest.mark.parametrize(
    ("asked", "node", "reason"),
    [
        ({"cpu": "5"}, {}, "OutOfcpu"),
        ({"memory": "9Gi"}, {}, "OutOfmemory"),
        ({"nodeSelector": {"disk": "ssd"}}, {}, "NodeAffinity"),
        ({}, {"taints": [make_taint("gone", effect="NoExecute")]}, "TaintToleration"),
        ({"cpu": "5", "nodeSelector": {"disk": "ssd"}}, {}, "OutOfcpu"),
    ],
)
def test_the_kubelet_refuses_by_its_first_reason(asked: Any, node: Any, reason: str) -> None:
    assert named(make_pod(on="a", **asked), make_node("a", **node)) == NamedNode("a", NamedFate.REFUSED, reason)


def test_a_host_port_that_is_taken_is_a_reason() -> None:
    container = {"name": "x", "ports": [{"containerPort": 80, "hostPort": 80}]}
    other = make_pod("other", on="a", containers=[container])
    found = named(make_pod(on="a", containers=[container]), make_node("a"), other)
    assert found == NamedNode("a", NamedFate.REFUSED, "NodePorts")


def test_for_a_critical_pod_the_kubelet_makes_room() -> None:
    found = named(make_pod(on="a", cpu="3", priority=2_000_000_000), make_node("a"), make_pod("other", on="a", cpu="3"))
    assert found == NamedNode("a", NamedFate.RUNS)


def test_what_a_node_does_not_have_at_all_is_not_asked_for() -> None:
    containers = [{"name": "x", "resources": {"requests": {"example.com/gpu": "1"}}}]
    assert named(make_pod(on="a", containers=containers), make_node("a")).fate is NamedFate.RUNS


def test_a_node_that_is_silent_or_gone_starts_nothing() -> None:
    silent = NodeReach("a", Reach.SILENT, "")
    assert named(make_pod(on="a"), make_node("a"), reach=silent) == NamedNode("a", NamedFate.SILENT)
    assert named(make_pod(on="x"), make_node("a"), reach=None) == NamedNode("x", NamedFate.NO_NODE)


def test_replicas_fill_the_node_that_they_name() -> None:
    before = situation(make_pod(on="a", cpu="3"), [make_node("a", taints=[make_taint("dedicated")]), make_node("b")])
    (found,) = plan([Demand("deployment/web", before, 2, reach=ANSWERS)], preemption=True)
    assert (found.placed, found.nodes) == (1, {"a": 1})
    assert found.stopped is not None
    assert found.stopped.named == NamedNode("a", NamedFate.REFUSED, "OutOfcpu")
