"""TaintToleration: upstream's cases (TestTaintTolerationFilter, …FilterWithFeatureGate, …Score) with the gate off."""

from __future__ import annotations

from msgspec.structs import replace

from podrules.api.model.node import Node
from podrules.scheduling.scheduler.framework.answers import SUCCESS, Code, Status
from podrules.scheduling.scheduler.framework.interface import CycleContext
from podrules.scheduling.scheduler.plugins.taint_toleration import TaintToleration
from tests.podrules.scheduling.scheduler.plugins.building_nodes import (
    filter_status,
    make_cycle,
    make_taint,
    make_toleration,
    node_of,
    pod_of,
    scores_of,
)
from tests.table import row, table

UNTOLERATED = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) had untolerated taint(s)",))
PREFER = "PreferNoSchedule"


def tainted(name: str, *taints: str) -> Node:
    keys = ("key", "value", "effect")
    return node_of(name, spec={"taints": [dict(zip(keys, taint.split(), strict=True)) for taint in taints]})


def cycle(tolerations: list[str], *nodes: Node) -> CycleContext:
    pod = pod_of()
    spec = replace(pod.spec, tolerations=tuple(map(make_toleration, tolerations)))
    return make_cycle(replace(pod, spec=spec), nodes)


@table(
    "tolerations, taints, expected",
    {
        "A pod having no tolerations can't be scheduled onto a node with nonempty taints": row(
            [], ["dedicated user1 NoSchedule"], UNTOLERATED
        ),
        "A pod which can be scheduled on a dedicated node assigned to user1 with effect NoSchedule": row(
            ["dedicated - user1 NoSchedule"], ["dedicated user1 NoSchedule"], SUCCESS
        ),
        "A pod which can't be scheduled on a dedicated node assigned to user2 with effect NoSchedule": row(
            ["dedicated Equal user2 NoSchedule"], ["dedicated user1 NoSchedule"], UNTOLERATED
        ),
        "A pod can be scheduled onto the node, with a toleration uses operator Exists that tolerates the taints "
        "on the node": row(["foo Exists - NoSchedule"], ["foo bar NoSchedule"], SUCCESS),
        "A pod has multiple tolerations, node has multiple taints, all the taints are tolerated, pod can be "
        "scheduled onto the node": row(
            ["dedicated Equal user2 NoSchedule", "foo Exists - NoSchedule"],
            ["dedicated user2 NoSchedule", "foo bar NoSchedule"],
            SUCCESS,
        ),
        "A pod has a toleration that keys and values match the taint on the node, but (non-empty) effect "
        "doesn't match, can't be scheduled onto the node": row(
            ["foo Equal bar PreferNoSchedule"], ["foo bar NoSchedule"], UNTOLERATED
        ),
        "The pod has a toleration that keys and values match the taint on the node, the effect of toleration is "
        "empty, and the effect of taint is NoSchedule. Pod can be scheduled onto the node": row(
            ["foo Equal bar -"], ["foo bar NoSchedule"], SUCCESS
        ),
        "The pod has a toleration that key and value don't match the taint on the node, but the effect of taint "
        "on node is PreferNoSchedule. Pod can be scheduled onto the node": row(
            ["dedicated Equal user2 NoSchedule"], ["dedicated user1 PreferNoSchedule"], SUCCESS
        ),
        "The pod has no toleration, but the effect of taint on node is PreferNoSchedule. Pod can be scheduled "
        "onto the node": row([], ["dedicated user1 PreferNoSchedule"], SUCCESS),
        "Pod with Gt toleration cannot be scheduled when feature gate is disabled": row(
            ["sla Gt 750 NoSchedule"], ["sla 950 NoSchedule"], UNTOLERATED
        ),
        "Pod with Lt toleration cannot be scheduled when feature gate is disabled": row(
            ["sla Lt 950 NoSchedule"], ["sla 800 NoSchedule"], UNTOLERATED
        ),
        "Pod with mixed tolerations (Equal and Gt) when feature gate is disabled - only Equal is honored": row(
            ["dedicated Equal user1 NoSchedule", "sla Gt 750 NoSchedule"], ["dedicated user1 NoSchedule"], SUCCESS
        ),
        "Pod with mixed tolerations, Gt toleration needed but filtered out when feature gate is disabled": row(
            ["dedicated Equal user1 NoSchedule", "sla Gt 750 NoSchedule"],
            ["dedicated user1 NoSchedule", "sla 950 NoSchedule"],
            UNTOLERATED,
        ),
    },
)
def test_filter(tolerations: list[str], taints: list[str], expected: Status) -> None:
    assert filter_status(TaintToleration(), cycle(tolerations, tainted("nodeA", *taints))) == expected


@table(
    "tolerations, taints, expected",
    {
        "node with taints tolerated by the pod, gets a higher score than those node with intolerable taints": row(
            ["foo Equal bar PreferNoSchedule"], [["foo bar PreferNoSchedule"], ["foo blah PreferNoSchedule"]], [100, 0]
        ),
        "the nodes that all of their taints are tolerated by the pod, get the same score, no matter how many "
        "tolerable taints a node has": row(
            ["cpu Equal arm64 PreferNoSchedule", "disk Equal ssd PreferNoSchedule"],
            [[], ["cpu arm64 PreferNoSchedule"], ["cpu arm64 PreferNoSchedule", "disk ssd PreferNoSchedule"]],
            [100, 100, 100],
        ),
        "the more intolerable taints a node has, the lower score it gets.": row(
            ["foo Equal bar PreferNoSchedule"],
            [[], ["cpu arm64 PreferNoSchedule"], ["cpu arm64 PreferNoSchedule", "disk ssd PreferNoSchedule"]],
            [100, 50, 0],
        ),
        "only taints and tolerations that have effect PreferNoSchedule are checked by taints-tolerations "
        "priority function": row(
            ["cpu Equal arm64 NoSchedule", "disk Equal ssd NoSchedule"],
            [[], ["cpu arm64 NoSchedule"], ["cpu arm64 PreferNoSchedule", "disk ssd PreferNoSchedule"]],
            [100, 100, 0],
        ),
        "Default behaviour No taints and tolerations, lands on node with no taints": row(
            [], [[], ["cpu arm64 PreferNoSchedule"]], [100, 0]
        ),
        "a toleration of every effect counts": row(
            ["cpu Equal arm64 -"], [["cpu arm64 PreferNoSchedule"], ["cpu x86 PreferNoSchedule"]], [100, 0]
        ),
    },
)
def test_score(tolerations: list[str], taints: list[list[str]], expected: list[int]) -> None:
    nodes = [tainted(f"node{index}", *texts) for index, texts in enumerate(taints)]
    assert scores_of(TaintToleration(), cycle(tolerations, *nodes)) == expected


def test_only_feasible_nodes_are_compared() -> None:
    worst = tainted("a", f"a x {PREFER}", f"b x {PREFER}", f"c x {PREFER}")
    nodes = [worst, tainted("b", f"a x {PREFER}"), tainted("c")]
    assert scores_of(TaintToleration(), cycle([], *nodes), [2, 1]) == [100, 0]


def test_explain_names_the_taints() -> None:
    node = tainted("a", "a x NoSchedule", "b x NoExecute", f"c x {PREFER}", f"d x {PREFER}")
    found = TaintToleration().explain(cycle(["a Exists - -", "d Exists - NoSchedule"], node), None, 0)
    assert found.rejecting == (make_taint("b x NoExecute"),)
    assert found.deterring == (make_taint(f"c x {PREFER}"), make_taint(f"d x {PREFER}"))
