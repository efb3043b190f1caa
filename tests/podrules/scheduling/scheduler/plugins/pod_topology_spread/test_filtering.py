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
from tests.podrules.scheduling.scheduler.plugins.building_nodes import Json, make_requirement, node_of, requiring
from tests.podrules.scheduling.scheduler.plugins.building_spread import (
    AFFINE_TO_FOO,
    BAR,
    DELETED,
    FOO,
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
NOT_MATCH = "node(s) didn't match pod topology spread constraints"
ONES = {"S": Code.SUCCESS, "U": Code.UNSCHEDULABLE, "X": Code.UNSCHEDULABLE_AND_UNRESOLVABLE}
ABXY = spread_nodes("abxy")
SPREAD_2103 = spread_pods(a="foo foo", b="foo", y="foo foo foo")
FOO_NODES = [*(spread_node(letter, more="foo") for letter in "abx"), spread_node("y")]
TAINTED_Y = [*FOO_NODES[:3], spread_node("y", tainted=True)]
FOO_BUT_B = [FOO_NODES[0], spread_node("b"), FOO_NODES[2], spread_node("y", more="foo", tainted=True)]
ONE_EACH_ABY = spread_pods(a="foo", b="foo", y="foo")


def affine(operator: str, *nodes: str) -> Json:
    """A pod's spec with node affinity to the label ``node``."""
    return requiring([make_requirement("node", operator, *nodes)])


def state_of(context: CycleContext) -> SpreadState:
    found = PLUGIN.pre_filter(context)
    assert found.status.ok
    assert isinstance(found.state, SpreadState)
    return found.state


def codes_of(context: CycleContext) -> list[Code]:
    return [Code(int(code)) for code in PLUGIN.filter(context, state_of(context)).codes]


@table(
    "pod, nodes, pods, expected",
    {
        "no existing pods": row(make_incoming(hard(1, "zone")), ABXY, [], "SSSS"),
        "no existing pods, pod doesn't match itself": row(make_incoming(hard(1, "zone", BAR)), ABXY, [], "SSSS"),
        "existing pods in a different namespace do not count": row(
            make_incoming(hard(1, "zone")),
            ABXY,
            [
                make_pod("p-a1", namespace="ns1", labels=labelled("foo"), nodeName="node-a"),
                make_pod("p-b1", namespace="ns2", labels=labelled("foo"), nodeName="node-a"),
                *spread_pods(x="foo", y="foo"),
            ],
            "SSUU",
        ),
        "existing pods do not match null selector": row(
            make_incoming(hard(1, "zone", None)), ABXY, spread_pods(x="foo", y="foo"), "SSSS"
        ),
        "pods spread across zones as 3/3, all nodes fit": row(
            make_incoming(hard(1, "zone")), ABXY, SPREAD_2103, "SSSS"
        ),
        "pods spread across zones as 1/2 due to absence of label 'zone' on node-b": row(
            make_incoming(hard(1, "zone")),
            [spread_node("a"), spread_node("b", without=["zone"]), *spread_nodes("xy")],
            spread_pods(a="foo", b="foo", x="foo", y="foo"),
            "SXUU",
        ),
        "pod cannot be scheduled as all nodes don't have label 'rack'": row(
            make_incoming(hard(1, "rack")), spread_nodes("ax"), [], "XX"
        ),
        "pods spread across nodes as 2/1/0/3, only node-x fits": row(
            make_incoming(hard(1, "node")), ABXY, SPREAD_2103, "UUSU"
        ),
        "pods spread across nodes as 2/1/0/3, maxSkew is 2, node-b and node-x fit": row(
            make_incoming(hard(2, "node")), ABXY, SPREAD_2103, "USSU"
        ),
        "pods spread across nodes as 2/1/0/3, but pod doesn't match itself": row(
            make_incoming(hard(1, "node"), labels="bar"), ABXY, SPREAD_2103, "USSU"
        ),
        "incoming pod has nodeAffinity, pods spread as 2/~1~/~0~/3, hence node-a fits": row(
            make_incoming(hard(1, "node"), spec=affine("In", "node-a", "node-y")), ABXY, SPREAD_2103, "SSSU"
        ),
        "terminating Pods should be excluded": row(
            make_incoming(hard(1, "node")),
            spread_nodes("ab"),
            [make_pod("p-a", labels=labelled("foo"), metadata=DELETED, nodeName="node-a"), *spread_pods(b="foo")],
            "SU",
        ),
        "incoming pod has nodeAffinity, pods spread as 0/~2~/0/1, hence node-a fits": row(
            make_incoming(hard(1, "zone"), spec=affine("NotIn", "node-b")),
            ABXY,
            spread_pods(b="foo foo", y="foo"),
            "SSUU",
        ),
        "2/2/1, maxSkew is 2, and the number of domains < minDomains, then the third node fits": row(
            make_incoming(hard(2, "node", minDomains=4)),
            spread_nodes("abc"),
            spread_pods(a="foo foo", b="foo foo", c="foo"),
            "UUS",
        ),
        "2/2/1, maxSkew is 2, and the number of domains > minDomains, then the all nodes fit": row(
            make_incoming(hard(2, "node", minDomains=2)),
            spread_nodes("abc"),
            spread_pods(a="foo foo", b="foo foo", c="foo"),
            "SSS",
        ),
        "zone 2/1, maxSkew is 2 and the number of domains < minDomains, then the third and fourth nodes fit": row(
            make_incoming(hard(2, "zone", minDomains=3)), ABXY, ONE_EACH_ABY, "UUSS"
        ),
        "zone 2/1, maxSkew is 2 and the number of domains > minDomains, then the all nodes fit": row(
            make_incoming(hard(2, "zone", minDomains=1)), ABXY, ONE_EACH_ABY, "SSSS"
        ),
        "NodeAffinityPolicy honored with labelSelectors": row(
            make_incoming(hard(1, "node"), spec=ON_FOO), FOO_NODES, ONE_EACH_ABY, "UUSS"
        ),
        "NodeAffinityPolicy ignored with labelSelectors": row(
            make_incoming(hard(1, "node", nodeAffinityPolicy="Ignore"), spec=ON_FOO), FOO_NODES, ONE_EACH_ABY, "UUSU"
        ),
        "NodeAffinityPolicy honored with nodeAffinity": row(
            make_incoming(hard(1, "node"), spec=AFFINE_TO_FOO), FOO_NODES, ONE_EACH_ABY, "UUSS"
        ),
        "NodeAffinityPolicy ignored with nodeAffinity": row(
            make_incoming(hard(1, "node", nodeAffinityPolicy="Ignore"), spec=AFFINE_TO_FOO),
            FOO_NODES,
            ONE_EACH_ABY,
            "UUSU",
        ),
        "NodeTaintsPolicy honored": row(
            make_incoming(hard(1, "node", nodeTaintsPolicy="Honor")), TAINTED_Y, ONE_EACH_ABY, "UUSS"
        ),
        "NodeTaintsPolicy ignored": row(make_incoming(hard(1, "node")), TAINTED_Y, ONE_EACH_ABY, "UUSU"),
        "two Constraints on zone and node, spreads = [3/3, 2/1/0/3]": row(
            make_incoming(hard(1, "zone"), hard(1, "node")), ABXY, SPREAD_2103, "UUSU"
        ),
        "two Constraints on zone and node, spreads = [3/4, 2/1/0/4]": row(
            make_incoming(hard(1, "zone"), hard(1, "node")),
            ABXY,
            spread_pods(a="foo foo", b="foo", y="foo foo foo foo"),
            "UUUU",
        ),
        "Constraints hold different labelSelectors, spreads = [1/0, 1/0/0/1]": row(
            make_incoming(hard(1, "zone"), hard(1, "node", BAR), labels="foo+bar"),
            ABXY,
            spread_pods(a="foo", y="bar"),
            "UUSU",
        ),
        "Constraints hold different labelSelectors, spreads = [1/0, 0/0/1/1]": row(
            make_incoming(hard(1, "zone"), hard(1, "node", BAR), labels="foo+bar"),
            ABXY,
            spread_pods(a="foo", x="bar", y="bar"),
            "UUUU",
        ),
        "Constraints hold different labelSelectors, spreads = [2/3, 1/0/0/1]": row(
            make_incoming(hard(1, "zone"), hard(1, "node", BAR), labels="foo+bar"),
            ABXY,
            spread_pods(a="foo foo+bar", y="foo foo+bar foo"),
            "USUU",
        ),
        "Constraints hold different labelSelectors but pod doesn't match itself on 'zone' constraint": row(
            make_incoming(hard(1, "zone"), hard(1, "node", BAR), labels="bar"),
            ABXY,
            spread_pods(a="foo", x="bar", y="bar"),
            "SSUU",
        ),
        "two Constraints on zone and node, absence of label 'node' on node-x, spreads = [1/1, 1/0/0/1]": row(
            make_incoming(hard(1, "zone"), hard(1, "node")),
            [*spread_nodes("ab"), spread_node("x", without=["node"]), spread_node("y")],
            spread_pods(a="foo", y="foo"),
            "USXU",
        ),
        "two node inclusion Constraints, zone: honor/ignore, node: ignore/ignore": row(
            make_incoming(hard(1, "zone"), hard(1, "node", nodeAffinityPolicy="Ignore"), spec=ON_FOO),
            FOO_NODES,
            ONE_EACH_ABY,
            "UUSU",
        ),
        "two node inclusion Constraints, zone: honor/honor, node: honor/ignore": row(
            make_incoming(hard(1, "zone", nodeTaintsPolicy="Honor"), hard(1, "node")), TAINTED_Y, ONE_EACH_ABY, "UUSU"
        ),
        "two node inclusion Constraints, zone: honor/ignore, node: honor/ignore": row(
            make_incoming(hard(1, "zone"), hard(1, "node"), spec=ON_FOO), FOO_BUT_B, ONE_EACH_ABY, "USSU"
        ),
        "two node inclusion Constraints, zone: honor/honor, node: ignore/ignore": row(
            make_incoming(
                hard(1, "zone", nodeTaintsPolicy="Honor"), hard(1, "node", nodeAffinityPolicy="Ignore"), spec=ON_FOO
            ),
            FOO_BUT_B,
            ONE_EACH_ABY,
            "UUSU",
        ),
        "two Constraints on zone, spreads = [3/3, 2/1]": row(
            make_incoming(hard(1, "zone", BAR), hard(1, "zone"), labels="foo+bar"),
            ABXY,
            spread_pods(a="foo+bar foo", b="foo+bar", y="foo foo+bar foo"),
            "UUSS",
        ),
        "two Constraints on zone, spreads = [3/4, 2/1]": row(
            make_incoming(hard(1, "zone", BAR), hard(1, "zone"), labels="foo+bar"),
            ABXY,
            spread_pods(a="foo+bar foo", b="foo+bar", y="foo foo+bar foo foo"),
            "UUUU",
        ),
    },
)
def test_constraints(pod: Pod, nodes: Sequence[Node], pods: Sequence[Pod], expected: str) -> None:
    assert codes_of(make_spread_cycle(pod, nodes, pods)) == [ONES[letter] for letter in expected]


Change = Callable[[SpreadState, Pod, Pod, int], SpreadState]
Count = tuple[dict[str, int], int]


def counts(state: SpreadState) -> list[Count]:
    """For each constraint the matching pods of each domain, and the global minimum."""
    return [
        ({domain.value: domain.matching for domain in domains(spread)}, spread.min_match_num)
        for spread in state.spreads
    ]


ZONE = make_incoming(hard(1, "zone"))
NODE = make_incoming(hard(1, "node"))
BOTH = make_incoming(hard(1, "zone"), hard(1, "node"))
BY_BAR = make_incoming(hard(1, "zone"), hard(1, "node", BAR), labels="foo+bar")


@table(
    "change, preemptor, changed, pods, nodes, expected",
    {
        "node a and b both impact current min match": row(
            add_pod, NODE, spread_pods(a="foo"), [], "ab", [({"node-a": 1, "node-b": 0}, 0)]
        ),
        "only node a impacts current min match": row(
            add_pod, NODE, spread_pods(a="foo"), spread_pods(b="foo"), "ab", [({"node-a": 1, "node-b": 1}, 1)]
        ),
        "add a pod in a different namespace doesn't change topologyKeyToMinPodsMap": row(
            add_pod,
            NODE,
            [make_pod(namespace="ns1", labels=labelled("foo"), nodeName="node-a")],
            spread_pods(b="foo"),
            "ab",
            [({"node-a": 0, "node-b": 1}, 0)],
        ),
        "add pod on non-critical node won't trigger re-calculation": row(
            add_pod, NODE, spread_pods(b="foo"), spread_pods(b="foo"), "ab", [({"node-a": 0, "node-b": 2}, 0)]
        ),
        "node a and x both impact topologyKeyToMinPodsMap on zone and node": row(
            add_pod,
            BOTH,
            spread_pods(a="foo"),
            [],
            "ax",
            [({"zone1": 1, "zone2": 0}, 0), ({"node-a": 1, "node-x": 0}, 0)],
        ),
        "only node a impacts topologyKeyToMinPodsMap on zone and node": row(
            add_pod,
            BOTH,
            spread_pods(a="foo"),
            spread_pods(x="foo"),
            "ax",
            [({"zone1": 1, "zone2": 1}, 1), ({"node-a": 1, "node-x": 1}, 1)],
        ),
        "node a impacts topologyKeyToMinPodsMap on node, node x impacts topologyKeyToMinPodsMap on zone": row(
            add_pod,
            BOTH,
            spread_pods(a="foo"),
            spread_pods(b="foo foo", x="foo"),
            "abx",
            [({"zone1": 3, "zone2": 1}, 1), ({"node-a": 1, "node-b": 2, "node-x": 1}, 1)],
        ),
        "different labelSelectors, node a impacts topologyKeyToMinPodsMap on zone": row(
            add_pod,
            BY_BAR,
            spread_pods(a="foo"),
            spread_pods(b="foo+bar", x="foo+bar bar"),
            "abx",
            [({"zone1": 2, "zone2": 1}, 1), ({"node-a": 0, "node-b": 1, "node-x": 2}, 0)],
        ),
        "different labelSelectors, node a impacts topologyKeyToMinPodsMap on both zone and node": row(
            add_pod,
            BY_BAR,
            spread_pods(a="foo+bar"),
            spread_pods(b="bar", x="foo+bar bar"),
            "abx",
            [({"zone1": 1, "zone2": 1}, 1), ({"node-a": 1, "node-b": 1, "node-x": 2}, 1)],
        ),
        "one spreadConstraint on zone, topologyKeyToMinPodsMap unchanged": row(
            remove_pod,
            ZONE,
            spread_pods(a="foo"),
            spread_pods(a="foo", b="foo", x="foo"),
            "abx",
            [({"zone1": 1, "zone2": 1}, 1)],
        ),
        "one spreadConstraint on node, topologyKeyToMinPodsMap changed": row(
            remove_pod,
            ZONE,
            spread_pods(a="foo"),
            spread_pods(a="foo", b="foo", x="foo", y="foo"),
            "abxy",
            [({"zone1": 1, "zone2": 2}, 1)],
        ),
        "delete an irrelevant pod won't help": row(
            remove_pod,
            ZONE,
            spread_pods(a="bar"),
            spread_pods(a="bar foo", b="foo", x="foo", y="foo"),
            "abxy",
            [({"zone1": 2, "zone2": 2}, 2)],
        ),
        "two spreadConstraints": row(
            remove_pod,
            BOTH,
            spread_pods(x="foo"),
            spread_pods(a="foo foo", b="foo", x="foo foo"),
            "abx",
            [({"zone1": 3, "zone2": 1}, 1), ({"node-a": 2, "node-b": 1, "node-x": 1}, 1)],
        ),
    },
)
def test_changed_pod(
    change: Change, preemptor: Pod, changed: Sequence[Pod], pods: Sequence[Pod], nodes: str, expected: Sequence[Count]
) -> None:
    context = make_spread_cycle(preemptor, spread_nodes(nodes), pods)
    row = context.table.index[changed[0].spec.node_name]
    assert counts(change(state_of(context), preemptor, changed[0], row)) == expected


def test_remove_pod_of_uncounted_node_changes_nothing() -> None:
    preemptor = make_incoming(hard(1, "node"), spec=affine("NotIn", "node-a"))
    context = make_spread_cycle(preemptor, spread_nodes("ab"), spread_pods(a="foo", b="foo"))
    state = remove_pod(state_of(context), preemptor, spread_pods(a="foo")[0], 0)
    assert counts(state) == [({"node-b": 1}, 1)]


@table(
    "preemptor, node_b",
    {
        "outside the pod's affinity, in a domain that other nodes have too": row(
            make_incoming(hard(1, "zone"), spec=affine("NotIn", "node-b")), spread_node("b")
        ),
        "without the key of another constraint": row(BOTH, spread_node("b", without=["node"])),
        "without any key": row(BOTH, spread_node("b", without=["zone", "node"])),
    },
)
@pytest.mark.parametrize("change", [add_pod, remove_pod])
def test_pod_on_a_node_that_does_not_count_changes_no_domain(preemptor: Pod, node_b: Node, change: Change) -> None:
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
        make_pod(labels=labelled("foo"), metadata=DELETED, nodeName="node-a"),
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


@table(
    "keys, expected",
    {
        "by zone leaves zoneB": row(["zone"], ["node3", "node4"]),
        "by node leaves node4": row(["node"], ["node4"]),
        "both leave node4": row(["zone", "node"], ["node4"]),
    },
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
    assert [verdicts.reasons(row) for row in range(3)] == [(NOT_MATCH,), (f"{NOT_MATCH} (missing required label)",), ()]
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
