"""PodTopologySpread's filter: upstream's cases of filtering_test.go, the worked cases of the specification.

Upstream's helper labels nodes ``zone`` and ``node``; nodes a and b are in zone1, x and y in zone2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.answers import Code
from podrules.scheduling.scheduler.framework.interface import CycleContext
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import SpreadDomain
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import (
    Relaxation,
    SpreadState,
    TopologySkew,
    add_pod,
    domains,
    remove_pod,
)
from podrules.scheduling.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread
from tests.objects import make_pod
from tests.podrules.scheduling.scheduler.plugins.building_nodes import node_of
from tests.podrules.scheduling.scheduler.plugins.building_spread import (
    BAR,
    FOO,
    anyway,
    hard,
    labelled,
    make_incoming,
    make_spread_cycle,
    spread_node,
    spread_nodes,
    spread_pods,
)

PLUGIN = PodTopologySpread()
NOT_MATCH = "node(s) didn't match pod topology spread constraints"
ONES = {"S": Code.SUCCESS, "U": Code.UNSCHEDULABLE, "X": Code.UNSCHEDULABLE_AND_UNRESOLVABLE}
ABXY = spread_nodes("abxy")
SPREAD_2103 = spread_pods(a="foo foo", b="foo", y="foo foo foo")
ON_FOO = {"nodeSelector": {"foo": ""}}
AFFINE_TO_FOO = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "foo", "operator": "In", "values": [""]}]}]
            }
        }
    }
}
FOO_NODES = [*(spread_node(letter, more="foo") for letter in "abx"), spread_node("y")]
TAINTED_Y = [*(spread_node(letter, more="foo") for letter in "abx"), spread_node("y", tainted=True)]
FOO_BUT_B = [
    spread_node("a", more="foo"),
    spread_node("b"),
    spread_node("x", more="foo"),
    spread_node("y", more="foo", tainted=True),
]
ONE_EACH_ABY = spread_pods(a="foo", b="foo", y="foo")


def affine(operator: str, *nodes: str) -> dict[str, object]:
    """A pod's spec with node affinity to the label ``node``."""
    term = {"matchExpressions": [{"key": "node", "operator": operator, "values": list(nodes)}]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    }


def state_of(context: CycleContext) -> SpreadState:
    found = PLUGIN.pre_filter(context)
    assert found.status.ok
    assert isinstance(found.state, SpreadState)
    return found.state


def codes_of(context: CycleContext) -> list[Code]:
    return [Code(int(code)) for code in PLUGIN.filter(context, state_of(context)).codes]


@pytest.mark.parametrize(
    ("pod", "nodes", "pods", "expected"),
    [
        pytest.param(make_incoming(hard(1, "zone")), ABXY, [], "SSSS", id="no existing pods"),
        pytest.param(
            make_incoming(hard(1, "zone", BAR)), ABXY, [], "SSSS", id="no existing pods, pod doesn't match itself"
        ),
        pytest.param(
            make_incoming(hard(1, "zone")),
            ABXY,
            [
                make_pod("p-a1", namespace="ns1", labels=labelled("foo"), nodeName="node-a"),
                make_pod("p-b1", namespace="ns2", labels=labelled("foo"), nodeName="node-a"),
                *spread_pods(x="foo", y="foo"),
            ],
            "SSUU",
            id="existing pods in a different namespace do not count",
        ),
        pytest.param(
            make_incoming(hard(1, "zone", None)),
            ABXY,
            spread_pods(x="foo", y="foo"),
            "SSSS",
            id="existing pods do not match null selector",
        ),
        pytest.param(
            make_incoming(hard(1, "zone")),
            ABXY,
            SPREAD_2103,
            "SSSS",
            id="pods spread across zones as 3/3, all nodes fit",
        ),
        pytest.param(
            make_incoming(hard(1, "zone")),
            [spread_node("a"), spread_node("b", without=["zone"]), *spread_nodes("xy")],
            spread_pods(a="foo", b="foo", x="foo", y="foo"),
            "SXUU",
            id="pods spread across zones as 1/2 due to absence of label 'zone' on node-b",
        ),
        pytest.param(
            make_incoming(hard(1, "rack")),
            spread_nodes("ax"),
            [],
            "XX",
            id="pod cannot be scheduled as all nodes don't have label 'rack'",
        ),
        pytest.param(
            make_incoming(hard(1, "node")),
            ABXY,
            SPREAD_2103,
            "UUSU",
            id="pods spread across nodes as 2/1/0/3, only node-x fits",
        ),
        pytest.param(
            make_incoming(hard(2, "node")),
            ABXY,
            SPREAD_2103,
            "USSU",
            id="pods spread across nodes as 2/1/0/3, maxSkew is 2, node-b and node-x fit",
        ),
        pytest.param(
            make_incoming(hard(1, "node"), labels="bar"),
            ABXY,
            SPREAD_2103,
            "USSU",
            id="pods spread across nodes as 2/1/0/3, but pod doesn't match itself",
        ),
        pytest.param(
            make_incoming(hard(1, "node"), spec=affine("In", "node-a", "node-y")),
            ABXY,
            SPREAD_2103,
            "SSSU",
            id="incoming pod has nodeAffinity, pods spread as 2/~1~/~0~/3, hence node-a fits",
        ),
        pytest.param(
            make_incoming(hard(1, "node")),
            spread_nodes("ab"),
            [
                make_pod(
                    "p-a",
                    labels=labelled("foo"),
                    metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"},
                    nodeName="node-a",
                ),
                *spread_pods(b="foo"),
            ],
            "SU",
            id="terminating Pods should be excluded",
        ),
        pytest.param(
            make_incoming(hard(1, "zone"), spec=affine("NotIn", "node-b")),
            ABXY,
            spread_pods(b="foo foo", y="foo"),
            "SSUU",
            id="incoming pod has nodeAffinity, pods spread as 0/~2~/0/1, hence node-a fits",
        ),
        pytest.param(
            make_incoming(hard(2, "node", minDomains=4)),
            spread_nodes("abc"),
            spread_pods(a="foo foo", b="foo foo", c="foo"),
            "UUS",
            id="2/2/1, maxSkew is 2, and the number of domains < minDomains, then the third node fits",
        ),
        pytest.param(
            make_incoming(hard(2, "node", minDomains=2)),
            spread_nodes("abc"),
            spread_pods(a="foo foo", b="foo foo", c="foo"),
            "SSS",
            id="2/2/1, maxSkew is 2, and the number of domains > minDomains, then the all nodes fit",
        ),
        pytest.param(
            make_incoming(hard(2, "zone", minDomains=3)),
            ABXY,
            ONE_EACH_ABY,
            "UUSS",
            id="zone 2/1, maxSkew is 2 and the number of domains < minDomains, then the third and fourth nodes fit",
        ),
        pytest.param(
            make_incoming(hard(2, "zone", minDomains=1)),
            ABXY,
            ONE_EACH_ABY,
            "SSSS",
            id="zone 2/1, maxSkew is 2 and the number of domains > minDomains, then the all nodes fit",
        ),
        pytest.param(
            make_incoming(hard(1, "node"), spec=ON_FOO),
            FOO_NODES,
            ONE_EACH_ABY,
            "UUSS",
            id="NodeAffinityPolicy honored with labelSelectors",
        ),
        pytest.param(
            make_incoming(hard(1, "node", nodeAffinityPolicy="Ignore"), spec=ON_FOO),
            FOO_NODES,
            ONE_EACH_ABY,
            "UUSU",
            id="NodeAffinityPolicy ignored with labelSelectors",
        ),
        pytest.param(
            make_incoming(hard(1, "node"), spec=AFFINE_TO_FOO),
            FOO_NODES,
            ONE_EACH_ABY,
            "UUSS",
            id="NodeAffinityPolicy honored with nodeAffinity",
        ),
        pytest.param(
            make_incoming(hard(1, "node", nodeAffinityPolicy="Ignore"), spec=AFFINE_TO_FOO),
            FOO_NODES,
            ONE_EACH_ABY,
            "UUSU",
            id="NodeAffinityPolicy ignored with nodeAffinity",
        ),
        pytest.param(
            make_incoming(hard(1, "node", nodeTaintsPolicy="Honor")),
            TAINTED_Y,
            ONE_EACH_ABY,
            "UUSS",
            id="NodeTaintsPolicy honored",
        ),
        pytest.param(make_incoming(hard(1, "node")), TAINTED_Y, ONE_EACH_ABY, "UUSU", id="NodeTaintsPolicy ignored"),
    ],
)
def test_single_constraint(pod: Pod, nodes: Sequence[Node], pods: Sequence[Pod], expected: str) -> None:
    assert codes_of(make_spread_cycle(pod, nodes, pods)) == [ONES[letter] for letter in expected]


@pytest.mark.parametrize(
    ("pod", "nodes", "pods", "expected"),
    [
        pytest.param(
            make_incoming(hard(1, "zone"), hard(1, "node")),
            ABXY,
            SPREAD_2103,
            "UUSU",
            id="two Constraints on zone and node, spreads = [3/3, 2/1/0/3]",
        ),
        pytest.param(
            make_incoming(hard(1, "zone"), hard(1, "node")),
            ABXY,
            spread_pods(a="foo foo", b="foo", y="foo foo foo foo"),
            "UUUU",
            id="two Constraints on zone and node, spreads = [3/4, 2/1/0/4]",
        ),
        pytest.param(
            make_incoming(hard(1, "zone"), hard(1, "node", BAR), labels="foo+bar"),
            ABXY,
            spread_pods(a="foo", y="bar"),
            "UUSU",
            id="Constraints hold different labelSelectors, spreads = [1/0, 1/0/0/1]",
        ),
        pytest.param(
            make_incoming(hard(1, "zone"), hard(1, "node", BAR), labels="foo+bar"),
            ABXY,
            spread_pods(a="foo", x="bar", y="bar"),
            "UUUU",
            id="Constraints hold different labelSelectors, spreads = [1/0, 0/0/1/1]",
        ),
        pytest.param(
            make_incoming(hard(1, "zone"), hard(1, "node", BAR), labels="foo+bar"),
            ABXY,
            spread_pods(a="foo foo+bar", y="foo foo+bar foo"),
            "USUU",
            id="Constraints hold different labelSelectors, spreads = [2/3, 1/0/0/1]",
        ),
        pytest.param(
            make_incoming(hard(1, "zone"), hard(1, "node", BAR), labels="bar"),
            ABXY,
            spread_pods(a="foo", x="bar", y="bar"),
            "SSUU",
            id="Constraints hold different labelSelectors but pod doesn't match itself on 'zone' constraint",
        ),
        pytest.param(
            make_incoming(hard(1, "zone"), hard(1, "node")),
            [*spread_nodes("ab"), spread_node("x", without=["node"]), spread_node("y")],
            spread_pods(a="foo", y="foo"),
            "USXU",
            id="two Constraints on zone and node, absence of label 'node' on node-x, spreads = [1/1, 1/0/0/1]",
        ),
        pytest.param(
            make_incoming(hard(1, "zone"), hard(1, "node", nodeAffinityPolicy="Ignore"), spec=ON_FOO),
            FOO_NODES,
            ONE_EACH_ABY,
            "UUSU",
            id="two node inclusion Constraints, zone: honor/ignore, node: ignore/ignore",
        ),
        pytest.param(
            make_incoming(hard(1, "zone", nodeTaintsPolicy="Honor"), hard(1, "node")),
            TAINTED_Y,
            ONE_EACH_ABY,
            "UUSU",
            id="two node inclusion Constraints, zone: honor/honor, node: honor/ignore",
        ),
        pytest.param(
            make_incoming(hard(1, "zone"), hard(1, "node"), spec=ON_FOO),
            FOO_BUT_B,
            ONE_EACH_ABY,
            "USSU",
            id="two node inclusion Constraints, zone: honor/ignore, node: honor/ignore",
        ),
        pytest.param(
            make_incoming(
                hard(1, "zone", nodeTaintsPolicy="Honor"), hard(1, "node", nodeAffinityPolicy="Ignore"), spec=ON_FOO
            ),
            FOO_BUT_B,
            ONE_EACH_ABY,
            "UUSU",
            id="two node inclusion Constraints, zone: honor/honor, node: ignore/ignore",
        ),
        pytest.param(
            make_incoming(hard(1, "zone", BAR), hard(1, "zone"), labels="foo+bar"),
            ABXY,
            spread_pods(a="foo+bar foo", b="foo+bar", y="foo foo+bar foo"),
            "UUSS",
            id="two Constraints on zone, spreads = [3/3, 2/1]",
        ),
        pytest.param(
            make_incoming(hard(1, "zone", BAR), hard(1, "zone"), labels="foo+bar"),
            ABXY,
            spread_pods(a="foo+bar foo", b="foo+bar", y="foo foo+bar foo foo"),
            "UUUU",
            id="two Constraints on zone, spreads = [3/4, 2/1]",
        ),
    ],
)
def test_multiple_constraints(pod: Pod, nodes: Sequence[Node], pods: Sequence[Pod], expected: str) -> None:
    assert codes_of(make_spread_cycle(pod, nodes, pods)) == [ONES[letter] for letter in expected]


def counts(state: SpreadState) -> list[tuple[dict[str, int], int]]:
    """For each constraint the matching pods of each domain, and the global minimum."""
    return [
        ({domain.value: domain.matching for domain in domains(spread)}, spread.min_match_num)
        for spread in state.spreads
    ]


ZONE = make_incoming(hard(1, "zone"))
NODE = make_incoming(hard(1, "node"))
BOTH = make_incoming(hard(1, "zone"), hard(1, "node"))
BY_BAR = make_incoming(hard(1, "zone"), hard(1, "node", BAR), labels="foo+bar")


@pytest.mark.parametrize(
    ("preemptor", "added", "pods", "nodes", "expected"),
    [
        pytest.param(
            NODE,
            spread_pods(a="foo"),
            [],
            "ab",
            [({"node-a": 1, "node-b": 0}, 0)],
            id="node a and b both impact current min match",
        ),
        pytest.param(
            NODE,
            spread_pods(a="foo"),
            spread_pods(b="foo"),
            "ab",
            [({"node-a": 1, "node-b": 1}, 1)],
            id="only node a impacts current min match",
        ),
        pytest.param(
            NODE,
            [make_pod(namespace="ns1", labels=labelled("foo"), nodeName="node-a")],
            spread_pods(b="foo"),
            "ab",
            [({"node-a": 0, "node-b": 1}, 0)],
            id="add a pod in a different namespace doesn't change topologyKeyToMinPodsMap",
        ),
        pytest.param(
            NODE,
            spread_pods(b="foo"),
            spread_pods(b="foo"),
            "ab",
            [({"node-a": 0, "node-b": 2}, 0)],
            id="add pod on non-critical node won't trigger re-calculation",
        ),
        pytest.param(
            BOTH,
            spread_pods(a="foo"),
            [],
            "ax",
            [({"zone1": 1, "zone2": 0}, 0), ({"node-a": 1, "node-x": 0}, 0)],
            id="node a and x both impact topologyKeyToMinPodsMap on zone and node",
        ),
        pytest.param(
            BOTH,
            spread_pods(a="foo"),
            spread_pods(x="foo"),
            "ax",
            [({"zone1": 1, "zone2": 1}, 1), ({"node-a": 1, "node-x": 1}, 1)],
            id="only node a impacts topologyKeyToMinPodsMap on zone and node",
        ),
        pytest.param(
            BOTH,
            spread_pods(a="foo"),
            spread_pods(b="foo foo", x="foo"),
            "abx",
            [({"zone1": 3, "zone2": 1}, 1), ({"node-a": 1, "node-b": 2, "node-x": 1}, 1)],
            id="node a impacts topologyKeyToMinPodsMap on node, node x impacts topologyKeyToMinPodsMap on zone",
        ),
        pytest.param(
            BY_BAR,
            spread_pods(a="foo"),
            spread_pods(b="foo+bar", x="foo+bar bar"),
            "abx",
            [({"zone1": 2, "zone2": 1}, 1), ({"node-a": 0, "node-b": 1, "node-x": 2}, 0)],
            id="different labelSelectors, node a impacts topologyKeyToMinPodsMap on zone",
        ),
        pytest.param(
            BY_BAR,
            spread_pods(a="foo+bar"),
            spread_pods(b="bar", x="foo+bar bar"),
            "abx",
            [({"zone1": 1, "zone2": 1}, 1), ({"node-a": 1, "node-b": 1, "node-x": 2}, 1)],
            id="different labelSelectors, node a impacts topologyKeyToMinPodsMap on both zone and node",
        ),
    ],
)
def test_add_pod(
    preemptor: Pod, added: Sequence[Pod], pods: Sequence[Pod], nodes: str, expected: list[tuple[dict[str, int], int]]
) -> None:
    context = make_spread_cycle(preemptor, spread_nodes(nodes), pods)
    row = context.table.index[added[0].spec.node_name]
    assert counts(add_pod(state_of(context), preemptor, added[0], row)) == expected


@pytest.mark.parametrize(
    ("preemptor", "removed", "pods", "nodes", "expected"),
    [
        pytest.param(
            ZONE,
            spread_pods(a="foo"),
            spread_pods(a="foo", b="foo", x="foo"),
            "abx",
            [({"zone1": 1, "zone2": 1}, 1)],
            id="one spreadConstraint on zone, topologyKeyToMinPodsMap unchanged",
        ),
        pytest.param(
            ZONE,
            spread_pods(a="foo"),
            spread_pods(a="foo", b="foo", x="foo", y="foo"),
            "abxy",
            [({"zone1": 1, "zone2": 2}, 1)],
            id="one spreadConstraint on node, topologyKeyToMinPodsMap changed",
        ),
        pytest.param(
            ZONE,
            spread_pods(a="bar"),
            spread_pods(a="bar foo", b="foo", x="foo", y="foo"),
            "abxy",
            [({"zone1": 2, "zone2": 2}, 2)],
            id="delete an irrelevant pod won't help",
        ),
        pytest.param(
            BOTH,
            spread_pods(x="foo"),
            spread_pods(a="foo foo", b="foo", x="foo foo"),
            "abx",
            [({"zone1": 3, "zone2": 1}, 1), ({"node-a": 2, "node-b": 1, "node-x": 1}, 1)],
            id="two spreadConstraints",
        ),
    ],
)
def test_remove_pod(
    preemptor: Pod, removed: Sequence[Pod], pods: Sequence[Pod], nodes: str, expected: list[tuple[dict[str, int], int]]
) -> None:
    context = make_spread_cycle(preemptor, spread_nodes(nodes), pods)
    row = context.table.index[removed[0].spec.node_name]
    assert counts(remove_pod(state_of(context), preemptor, removed[0], row)) == expected


def test_remove_pod_of_uncounted_node_changes_nothing() -> None:
    preemptor = make_incoming(hard(1, "node"), spec=affine("NotIn", "node-a"))
    context = make_spread_cycle(preemptor, spread_nodes("ab"), spread_pods(a="foo", b="foo"))
    state = remove_pod(state_of(context), preemptor, spread_pods(a="foo")[0], 0)
    assert counts(state) == [({"node-b": 1}, 1)]


@pytest.mark.parametrize(
    ("preemptor", "node_b"),
    [
        pytest.param(
            make_incoming(hard(1, "zone"), spec=affine("NotIn", "node-b")),
            spread_node("b"),
            id="outside the pod's affinity, in a domain that other nodes have too",
        ),
        pytest.param(BOTH, spread_node("b", without=["node"]), id="without the key of another constraint"),
        pytest.param(BOTH, spread_node("b", without=["zone", "node"]), id="without any key"),
    ],
)
@pytest.mark.parametrize("change", [add_pod, remove_pod])
def test_pod_on_a_node_that_does_not_count_changes_no_domain(
    preemptor: Pod, node_b: Node, change: Callable[[SpreadState, Pod, Pod, int], SpreadState]
) -> None:
    nodes = [spread_node("a"), node_b, spread_node("x")]
    context = make_spread_cycle(preemptor, nodes, spread_pods(a="foo", b="foo", x="foo"))
    state = state_of(context)
    assert counts(change(state, preemptor, spread_pods(b="foo")[0], 1)) == counts(state)


def test_S1_match_label_keys_narrow_the_selector() -> None:
    # Stored pods have both: the selector merged on creation, and the keys that the scheduler merges again.
    by_version = hard(1, "node", matchLabelKeys=["bar", "absent"])
    pods = spread_pods(a="foo", b="foo+bar")
    narrowed = make_spread_cycle(make_incoming(by_version, labels="foo+bar"), spread_nodes("ab"), pods)
    assert codes_of(narrowed) == [Code.SUCCESS, Code.UNSCHEDULABLE]
    without = make_spread_cycle(make_incoming(by_version, labels="foo"), spread_nodes("ab"), pods)
    assert counts(state_of(without)) == [({"node-a": 1, "node-b": 1}, 1)]


@pytest.mark.parametrize("keys", [[], ["foo"]])
def test_S1_absent_selector_matches_nothing_whatever_the_keys(keys: list[str]) -> None:
    pod = make_incoming(hard(1, "node", None, matchLabelKeys=keys))
    context = make_spread_cycle(pod, spread_nodes("ab"), spread_pods(a="foo foo foo"))
    assert counts(state_of(context)) == [({"node-a": 0, "node-b": 0}, 0)]
    assert PLUGIN.explain(context, state_of(context), 0)[0].self_match == 0


def test_S1_empty_selector_matches_only_the_pod_itself() -> None:
    context = make_spread_cycle(make_incoming(hard(1, "node", {})), spread_nodes("ab"), spread_pods(a="foo foo"))
    assert counts(state_of(context)) == [({"node-a": 0, "node-b": 0}, 0)]
    assert PLUGIN.explain(context, state_of(context), 0)[0].skew == 1


def test_S1_empty_selector_counts_by_match_label_keys() -> None:
    pod = make_incoming(hard(1, "node", {}, matchLabelKeys=["foo"]))
    context = make_spread_cycle(pod, spread_nodes("ab"), spread_pods(a="foo foo bar"))
    assert counts(state_of(context)) == [({"node-a": 2, "node-b": 0}, 0)]


def test_S1_schedule_anyway_does_not_filter() -> None:
    found = PLUGIN.pre_filter(make_spread_cycle(make_incoming(anyway(1, "node")), spread_nodes("ab")))
    assert found.status.code is Code.SKIP


def test_S1_unreadable_selector_is_an_error() -> None:
    bad = hard(1, "node", {"matchExpressions": [{"key": "foo", "operator": "Near"}]})
    found = PLUGIN.pre_filter(make_spread_cycle(make_incoming(bad), spread_nodes("ab")))
    assert found.status.code is Code.ERROR
    assert '"Near" is not a valid label selector operator' in found.status.reasons[0]


def test_S2_numbers_of_a_node() -> None:
    context = make_spread_cycle(make_incoming(hard(1, "zone")), ABXY, spread_pods(a="foo foo", b="foo", y="foo"))
    state = state_of(context)
    skew = PLUGIN.explain(context, state, 0)[0]
    assert skew == TopologySkew(
        field="spec.topologySpreadConstraints[0]",
        topology_key="zone",
        domain="zone1",
        matching=3,
        self_match=1,
        minimum=1,
        skew=3,
        max_skew=1,
        domains=2,
        min_domains=1,
    )
    assert skew.rejects
    assert domains(state.spreads[0]) == (
        SpreadDomain("zone1", matching=3, skew=3, fits=False, with_pod=4),
        SpreadDomain("zone2", matching=1, skew=1, fits=True, with_pod=2),
    )


def test_S2_terminating_and_foreign_pods_are_not_counted() -> None:
    pods = [
        make_pod(labels=labelled("foo"), metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}, nodeName="node-a"),
        make_pod(namespace="other", labels=labelled("foo"), nodeName="node-a"),
        make_pod(labels=labelled("foo"), nodeName="node-a"),
    ]
    context = make_spread_cycle(make_incoming(hard(1, "node")), spread_nodes("ab"), pods)
    assert counts(state_of(context)) == [({"node-a": 1, "node-b": 0}, 0)]


def test_S2_nodes_lacking_any_required_key_are_out() -> None:
    nodes = [spread_node("a"), spread_node("b", without=["node"]), spread_node("x")]
    context = make_spread_cycle(BOTH, nodes, spread_pods(b="foo foo", x="foo"))
    assert counts(state_of(context)) == [({"zone1": 0, "zone2": 1}, 0), ({"node-a": 0, "node-x": 1}, 0)]


def test_S2_nodes_outside_the_pods_affinity_are_out() -> None:
    pod = make_incoming(hard(1, "node"), spec=affine("In", "node-a"))
    context = make_spread_cycle(pod, spread_nodes("ab"), spread_pods(a="foo", b="foo"))
    assert counts(state_of(context)) == [({"node-a": 1}, 1)]


ZONED = [("node1", "zoneA"), ("node2", "zoneA"), ("node3", "zoneB"), ("node4", "zoneB")]
BY_FOO_BAR = {"matchLabels": {"foo": "bar"}}


def worked(pod: Pod, nodes: Sequence[tuple[str, str]], placed: Sequence[str]) -> CycleContext:
    """The specification's worked cases: nodes with their zones, and pods labelled foo=bar by their nodes."""
    made = [node_of(name, {"zone": zone, "node": name}) for name, zone in nodes]
    pods = [make_pod(f"pod{index}", labels={"foo": "bar"}, nodeName=name) for index, name in enumerate(placed)]
    incoming = replace(pod, metadata=replace(pod.metadata, labels={"foo": "bar"}))
    return make_spread_cycle(incoming, made, pods)


def fitting(context: CycleContext) -> list[str]:
    return [name for name, code in zip(context.table.names, codes_of(context), strict=True) if code is Code.SUCCESS]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param(["zone"], ["node3", "node4"], id="by zone leaves zoneB"),
        pytest.param(["node"], ["node4"], id="by node leaves node4"),
        pytest.param(["zone", "node"], ["node4"], id="both leave node4"),
    ],
)
def test_S3_constraints_are_anded(keys: list[str], expected: list[str]) -> None:
    pod = make_incoming(*(hard(1, key, BY_FOO_BAR) for key in keys))
    assert fitting(worked(pod, ZONED, ["node1", "node2", "node3"])) == expected


CONFLICT = [("node1", "zoneA"), ("node2", "zoneA"), ("node3", "zoneB")]


def test_S3_conflict_of_zone_and_node() -> None:
    placed = ["node1", "node1", "node3"]
    by_zone, by_node = hard(1, "zone", BY_FOO_BAR), hard(1, "node", BY_FOO_BAR)
    assert fitting(worked(make_incoming(by_zone), CONFLICT, placed)) == ["node3"]
    assert fitting(worked(make_incoming(by_node), CONFLICT, placed)) == ["node2"]
    context = worked(make_incoming(by_zone, by_node), CONFLICT, placed)
    assert fitting(context) == []
    zone, node = "spec.topologySpreadConstraints[0]", "spec.topologySpreadConstraints[1]"
    assert PLUGIN.relaxations(context, state_of(context)) == (
        Relaxation(f"{zone}.maxSkew", 2, ("node2",)),
        Relaxation(f"{zone}.whenUnsatisfiable", "ScheduleAnyway", ("node2",)),
        Relaxation(f"{node}.maxSkew", 2, ("node3",)),
        Relaxation(f"{node}.whenUnsatisfiable", "ScheduleAnyway", ("node3",)),
    )


def test_S3_suggested_larger_skew_frees_a_node() -> None:
    # node-x would pass the zone constraint with maxSkew 2, but the other constraint excludes it.
    pods = spread_pods(a="foo foo", x="foo+bar", c="bar")
    context = make_spread_cycle(BY_BAR, spread_nodes("axc"), pods)
    found = PLUGIN.relaxations(context, state_of(context))
    assert Relaxation("spec.topologySpreadConstraints[0].maxSkew", 3, ("node-a",)) in found


def test_S3_another_key_frees_nodes() -> None:
    context = make_spread_cycle(make_incoming(hard(1, "rack")), spread_nodes("ab"), spread_pods(a="foo"))
    assert PLUGIN.relaxations(context, state_of(context)) == (
        Relaxation("spec.topologySpreadConstraints[0].whenUnsatisfiable", "ScheduleAnyway", ("node-a", "node-b")),
        Relaxation("spec.topologySpreadConstraints[0].topologyKey", "kubernetes.io/hostname", ("node-b",)),
    )


def test_S5_reasons_and_codes() -> None:
    nodes = [spread_node("a"), spread_node("b", without=["zone"]), spread_node("x")]
    context = make_spread_cycle(make_incoming(hard(1, "zone")), nodes, spread_pods(a="foo"))
    verdicts = PLUGIN.filter(context, state_of(context))
    assert [verdicts.reasons(row) for row in range(3)] == [
        (NOT_MATCH,),
        (f"{NOT_MATCH} (missing required label)",),
        (),
    ]
    assert list(verdicts.codes) == [Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.SUCCESS]


def test_S5_first_constraint_that_rejects_decides() -> None:
    nodes = [spread_node("a", without=["node"]), spread_node("b"), spread_node("x")]
    context = make_spread_cycle(BOTH, nodes, spread_pods(b="foo"))
    # node-a has too much skew by zone, which is checked first, and lacks the second key.
    assert codes_of(context)[0] is Code.UNSCHEDULABLE
    assert [skew.rejects for skew in PLUGIN.explain(context, state_of(context), 0)] == [True, True]


@pytest.mark.parametrize(("min_domains", "expected"), [(2, 1), (3, 0)])
def test_S5_minimum_is_zero_with_fewer_domains_than_min_domains(min_domains: int, expected: int) -> None:
    pod = make_incoming(hard(1, "zone", minDomains=min_domains))
    context = make_spread_cycle(pod, ABXY, spread_pods(a="foo", x="foo"))
    assert state_of(context).spreads[0].min_match_num == expected


def test_S5_no_node_counts() -> None:
    pod = make_incoming(hard(1, "node", FOO), spec=affine("In", "node-z"))
    context = make_spread_cycle(pod, spread_nodes("ab"), spread_pods(a="foo"))
    assert codes_of(context) == [Code.SUCCESS, Code.SUCCESS]
    assert state_of(context).spreads[0].min_match_num == 0
