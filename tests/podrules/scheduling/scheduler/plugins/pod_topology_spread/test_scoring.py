"""PodTopologySpread's score: upstream's cases of scoring_test.go, the worked case of the specification."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.answers import Code
from podrules.scheduling.scheduler.framework.interface import CycleContext
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import PodTopologySpreadArgs, SpreadTerm
from podrules.scheduling.scheduler.plugins.pod_topology_spread.plugin import (
    PodTopologySpread,
    SpreadScoreState,
    explain_score,
    raw_scores,
)
from tests.objects import make_pod, make_service, make_workload, raw_owner
from tests.podrules.scheduling.scheduler.plugins.building_nodes import node_of, scores_of
from tests.podrules.scheduling.scheduler.plugins.building_spread import (
    AFFINE_TO_FOO,
    BAR,
    DELETED,
    FOO,
    HOSTNAME,
    ON_FOO,
    anyway,
    hard,
    labelled,
    make_incoming,
    make_spread_cycle,
    spread_node,
    spread_nodes,
    spread_pods,
)
from tests.table import row, table

PLUGIN = PodTopologySpread()
ABXY = spread_nodes("abxy")
ABCD = spread_nodes("abcd")
BY_HOST = make_incoming(anyway(1, HOSTNAME))
SPREAD_2103 = spread_pods(a="foo foo", b="foo", d="foo foo foo")
SPREAD_4321 = spread_pods(a="foo foo foo foo", b="foo foo foo", c="foo foo", d="foo")
SPREAD_4213 = spread_pods(a="foo foo foo foo", b="foo foo", x="foo", y="foo foo foo")
BOTH = make_incoming(anyway(1, "zone"), anyway(1, HOSTNAME))
BY_BAR = make_incoming(anyway(1, "zone"), anyway(1, HOSTNAME, BAR), labels="foo+bar")
FOO_AB = [spread_node("a", more="foo"), spread_node("b", more="foo"), spread_node("c")]
TAINTED_C = [*spread_nodes("ab"), spread_node("c", tainted=True)]
SPREAD_211 = spread_pods(a="foo foo", b="foo", c="foo")


def state_of(context: CycleContext, rows: Sequence[int]) -> SpreadScoreState:
    found = PLUGIN.pre_score(context, np.array(rows, np.int32))
    assert found.status.ok
    assert isinstance(found.state, SpreadScoreState)
    return found.state


@table(
    "pod, nodes, pods, feasible, expected",
    {
        "one constraint on node, no existing pods": row(BY_HOST, spread_nodes("ab"), [], 2, [100, 100]),
        "one constraint on node, only one node is candidate": row(
            BY_HOST, spread_nodes("ab"), spread_pods(a="foo foo", b="foo"), 1, [100]
        ),
        "one constraint on node, all nodes have the same number of matching pods": row(
            BY_HOST, spread_nodes("ab"), spread_pods(a="foo", b="foo"), 2, [100, 100]
        ),
        "one constraint on node, all 4 nodes are candidates": row(BY_HOST, ABCD, SPREAD_2103, 4, [20, 60, 100, 0]),
        "one constraint on node, null selector": row(
            make_incoming(anyway(1, HOSTNAME, None)), ABCD, SPREAD_2103, 4, [100, 100, 100, 100]
        ),
        "one constraint on node, all 4 nodes are candidates, maxSkew=2": row(
            make_incoming(anyway(2, HOSTNAME)), ABCD, SPREAD_2103, 4, [33, 66, 100, 16]
        ),
        "one constraint on node, all 4 nodes are candidates, maxSkew=3": row(
            make_incoming(anyway(3, HOSTNAME)), ABCD, SPREAD_4321, 4, [44, 66, 77, 100]
        ),
        "one constraint on node, 3 out of 4 nodes are candidates": row(BY_HOST, ABXY, SPREAD_4213, 3, [33, 83, 100]),
        "one constraint on node, 3 out of 4 nodes are candidates, one node doesn't match topology key": row(
            BY_HOST,
            [spread_node("a"), spread_node("b", without=[HOSTNAME]), *spread_nodes("xy")],
            SPREAD_4213,
            3,
            [16, 0, 100],
        ),
        "one constraint on zone, 3 out of 4 nodes are candidates": row(
            make_incoming(anyway(1, "zone")), ABXY, SPREAD_4213, 3, [75, 75, 100]
        ),
        "two Constraints on zone and node, 2 out of 4 nodes are candidates": row(
            BOTH,
            spread_nodes("axby"),
            spread_pods(a="foo foo", b="foo", x="foo foo", y="foo foo foo foo"),
            2,
            [100, 63],
        ),
        "two Constraints on zone, 2 out of 4 nodes are candidates": row(
            make_incoming(anyway(1, "zone"), anyway(1, "zone", BAR), labels="foo+bar"),
            spread_nodes("axby"),
            spread_pods(a="foo+bar foo", b="foo+bar", y="foo foo+bar foo"),
            2,
            [85, 100],
        ),
        "two Constraints on zone and node, with different labelSelectors": row(
            BY_BAR, ABXY, spread_pods(a="foo", b="foo+bar", y="foo bar"), 4, [60, 20, 100, 60]
        ),
        "two Constraints on zone and node, with different labelSelectors, some nodes have 0 pods": row(
            BY_BAR, ABXY, spread_pods(b="bar", x="foo", y="foo+bar"), 4, [100, 60, 40, 0]
        ),
        "two Constraints on zone and node, with different labelSelectors, 3 out of 4 nodes are candidates": row(
            BY_BAR, ABXY, spread_pods(a="foo", b="foo+bar", y="foo bar"), 3, [50, 25, 100]
        ),
        "existing pods in a different namespace do not count": row(
            BY_HOST,
            spread_nodes("ab"),
            [make_pod(namespace="ns1", labels=labelled("foo"), nodeName="node-a"), *spread_pods(a="foo", b="foo foo")],
            2,
            [100, 33],
        ),
        "terminating Pods should be excluded": row(
            BY_HOST,
            spread_nodes("ab"),
            [make_pod(labels=labelled("foo"), metadata=DELETED, nodeName="node-a"), *spread_pods(b="foo")],
            2,
            [100, 0],
        ),
        "minDomains has no effect when ScheduleAnyway": row(
            make_incoming(anyway(2, "node", minDomains=10)),
            spread_nodes("abc"),
            spread_pods(a="foo foo", b="foo foo", c="foo"),
            3,
            [75, 75, 100],
        ),
        "NodeAffinityPolicy honored with labelSelectors": row(
            make_incoming(anyway(1, "node"), spec=ON_FOO), FOO_AB, SPREAD_211, 3, [0, 33, 100]
        ),
        "NodeAffinityPolicy ignored with labelSelectors": row(
            make_incoming(anyway(1, "node", nodeAffinityPolicy="Ignore"), spec=ON_FOO),
            FOO_AB,
            SPREAD_211,
            3,
            [66, 100, 100],
        ),
        "NodeAffinityPolicy honored with nodeAffinity": row(
            make_incoming(anyway(1, "node"), spec=AFFINE_TO_FOO), FOO_AB, SPREAD_211, 3, [0, 33, 100]
        ),
        "NodeAffinityPolicy ignored with nodeAffinity": row(
            make_incoming(anyway(1, "node", nodeAffinityPolicy="Ignore"), spec=AFFINE_TO_FOO),
            FOO_AB,
            SPREAD_211,
            3,
            [66, 100, 100],
        ),
        "NodeTaintsPolicy honored": row(
            make_incoming(anyway(1, "node", nodeTaintsPolicy="Honor")), TAINTED_C, SPREAD_211, 3, [0, 33, 100]
        ),
        "NodeTaintsPolicy ignored": row(make_incoming(anyway(1, "node")), TAINTED_C, SPREAD_211, 3, [66, 100, 100]),
        "matchLabelKeys ANDed with LabelSelector when LabelSelector is empty": row(
            make_incoming(
                anyway(1, "zone", {}, matchLabelKeys=["foo"]),
                anyway(1, HOSTNAME, {}, matchLabelKeys=["bar"]),
                labels="foo+bar",
            ),
            ABXY,
            spread_pods(a="foo", b="foo+bar", x="foo bar"),
            4,
            [60, 20, 60, 100],
        ),
        "matchLabelKeys ANDed with LabelSelector when LabelSelector isn't empty": row(
            make_incoming(anyway(1, "zone"), anyway(1, HOSTNAME, BAR, matchLabelKeys=["baz"]), labels="foo+bar+baz"),
            ABXY,
            spread_pods(a="foo", b="foo+bar+baz", x="foo bar bar+baz"),
            4,
            [60, 20, 60, 100],
        ),
    },
)
def test_pod_topology_spread_score(
    pod: Pod, nodes: Sequence[Node], pods: Sequence[Pod], feasible: int, expected: list[int]
) -> None:
    # Upstream's nodes c and d of the cases by matchLabelKeys are x and y here: only their zones matter.
    assert scores_of(PLUGIN, make_spread_cycle(pod, nodes, pods), range(feasible)) == expected


ZONE_KEY = "topology.kubernetes.io/zone"
SYSTEM = [
    *(node_of(name, {HOSTNAME: name, ZONE_KEY: "mars"}) for name in ("node-a", "node-b")),
    *(node_of(name, {HOSTNAME: name}) for name in ("node-c", "node-d")),
]
OWNED = make_pod(
    "p", labels={"foo": "tar", "baz": "sup"}, metadata={"ownerReferences": [raw_owner("ReplicaSet", "rs1")]}
)
RS1 = make_workload("rs1", selector={"matchExpressions": FOO["matchExpressions"]})


def test_score_system_defaulting_without_zone_with_service() -> None:
    context = make_spread_cycle(make_incoming(), ABCD, SPREAD_4321, services=[make_service(selector={"foo": ""})])
    assert scores_of(PLUGIN, context) == [44, 66, 77, 100]


def test_state_normal_case() -> None:
    state = state_of(make_spread_cycle(BOTH, spread_nodes("abx")), range(3))
    assert [(spread.domains_num, spread.weight) for spread in state.spreads] == [(2, math.log(4)), (3, math.log(5))]
    assert not state.ignored.any()


def test_state_node_x_doesnt_have_label_zone() -> None:
    nodes = [*spread_nodes("ab"), spread_node("x", without=["zone"])]
    state = state_of(make_spread_cycle(BY_BAR, nodes), range(3))
    assert [spread.weight for spread in state.spreads] == [math.log(3), math.log(4)]
    assert state.ignored.tolist() == [False, False, True]


def test_state_system_default_constraints_and_a_replicaset() -> None:
    state = state_of(make_spread_cycle(OWNED, SYSTEM, replica_sets=[RS1]), range(4))
    # Nodes without a zone form their own zone.
    assert [(spread.constraint.max_skew, spread.domains_num) for spread in state.spreads] == [(3, 4), (5, 2)]
    assert not state.ignored.any()


def test_state_default_constraints_and_a_replicaset() -> None:
    args = PodTopologySpreadArgs(
        default_constraints=(anyway(1, HOSTNAME, None), hard(2, "rack", None), anyway(2, "planet", None)),
        defaulting_type="List",
    )
    nodes = [node_of("node-a", {"rack": "rack1", HOSTNAME: "node-a", "planet": "mars"})]
    state = state_of(make_spread_cycle(OWNED, nodes, args=args, replica_sets=[RS1]), [0])
    assert [spread.constraint.field for spread in state.spreads] == ["defaultConstraints[0]", "defaultConstraints[2]"]


@table(
    "pod, args",
    {
        "the pod doesn't have soft topology spread Constraints": row(make_incoming(hard(1, "zone")), None),
        "default constraints and a replicaset that doesn't match": row(
            OWNED, PodTopologySpreadArgs(default_constraints=(anyway(1, HOSTNAME, None),), defaulting_type="List")
        ),
    },
)
def test_pre_score_skip(pod: Pod, args: PodTopologySpreadArgs | None) -> None:
    found = PLUGIN.pre_score(make_spread_cycle(pod, ABXY, args=args), np.arange(4, dtype=np.int32))
    assert found.status.code is Code.SKIP


def test_pre_score_unreadable_selector_is_an_error() -> None:
    bad = anyway(1, "node", {"matchExpressions": [{"key": "foo", "operator": "In"}]})
    found = PLUGIN.pre_score(make_spread_cycle(make_incoming(bad), ABXY), np.arange(4, dtype=np.int32))
    assert found.status.code is Code.ERROR


def test_S6_worked_case() -> None:
    context = make_spread_cycle(BOTH, ABXY, spread_pods(a="foo foo", b="foo", y="foo foo foo foo"))
    state = state_of(context, range(4))
    zone, host = state.spreads
    zones = ("zone1", "zone1", "zone2", "zone2")
    assert dict(zip(zones, zone.counts.tolist(), strict=True)) == {"zone1": 3, "zone2": 4}
    assert host.counts.tolist() == [2, 1, 0, 4]
    weights = (math.log(2 + 2), math.log(4 + 2))
    expected = [round(zones * weights[0] + nodes * weights[1]) for zones, nodes in ((3, 2), (3, 1), (4, 0), (4, 4))]
    raw = raw_scores(state, np.arange(4, dtype=np.int32)).tolist()
    assert raw == expected == [8, 6, 6, 13]
    assert scores_of(PLUGIN, context) == [100 * (13 + 6 - score) // 13 for score in raw] == [84, 100, 100, 46]


def test_S6_numbers_of_a_node() -> None:
    context = make_spread_cycle(make_incoming(anyway(3, "zone")), ABXY, spread_pods(a="foo foo", b="foo"))
    state = state_of(context, range(4))
    assert explain_score(context, state, 0) == (
        SpreadTerm(
            field="spec.topologySpreadConstraints[0]",
            topology_key="zone",
            domain="zone1",
            count=3,
            max_skew=3,
            domains=2,
            weight=math.log(4),
            score=3 * math.log(4) + 2,
        ),
    )


def test_S6_ignored_nodes_score_zero() -> None:
    nodes = [spread_node("a"), spread_node("b", without=["zone"])]
    context = make_spread_cycle(make_incoming(anyway(1, "zone")), nodes, spread_pods(a="foo"))
    assert scores_of(PLUGIN, context) == [100, 0]
    assert explain_score(context, state_of(context, range(2)), 1) == ()


def test_S6_pods_on_ignored_nodes_do_not_count() -> None:
    nodes = [spread_node("a"), spread_node("b", without=[HOSTNAME]), spread_node("x")]
    state = state_of(make_spread_cycle(BOTH, nodes, spread_pods(a="foo", b="foo foo", x="foo")), range(3))
    assert state.spreads[0].counts[[0, 2]].tolist() == [1, 1]


def test_S6_missing_zone_label_under_system_defaults() -> None:
    context = make_spread_cycle(OWNED, SYSTEM, replica_sets=[RS1])
    state = state_of(context, range(4))
    host, zone = explain_score(context, state, 2)
    assert (host.domain, zone.domain, zone.score) == ("node-c", None, 0.0)


def test_S6_maximum_of_zero_gives_all_nodes_the_top_score() -> None:
    context = make_spread_cycle(make_incoming(anyway(1, "zone")), ABXY)
    assert scores_of(PLUGIN, context) == [100, 100, 100, 100]


def test_S6_pods_of_infeasible_nodes_count_except_hostname() -> None:
    pods = spread_pods(b="foo foo", x="foo")
    by_zone = make_spread_cycle(make_incoming(anyway(1, "zone")), ABXY, pods)
    assert state_of(by_zone, [0, 2]).spreads[0].counts[[0, 2]].tolist() == [2, 1]
    by_host = make_spread_cycle(BY_HOST, ABXY, pods)
    assert state_of(by_host, [0, 2]).spreads[0].counts[[0, 2]].tolist() == [0, 1]


def test_S6_hostname_domain_is_the_node_not_its_label() -> None:
    twin = node_of("node-b", {**spread_node("b").metadata.labels, HOSTNAME: "node-a"})
    context = make_spread_cycle(BY_HOST, [spread_node("a"), twin], spread_pods(a="foo", b="foo foo"))
    (spread,) = state_of(context, range(2)).spreads
    assert (spread.counts.tolist(), spread.domains_num) == ([1, 2], 2)
