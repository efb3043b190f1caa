"""Nodes and their pods as columns."""

from __future__ import annotations

import pytest
from msgspec import Struct

from podrules.api.model.decode import from_object
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.node_table import ABSENT, BoundPods, Nodes, NodeTable
from tests.objects import raw_node, raw_pod


def make_table(nodes: dict[str, dict[str, str]], pods: dict[str, str]) -> NodeTable:
    """Nodes by name with their labels, pods by name with their node."""
    return NodeTable(
        [make_node(name, labels) for name, labels in nodes.items()],
        [make_pod(name, node) for name, node in pods.items()],
    )


def make_node(name: str, labels: dict[str, str]) -> Node:
    return from_object(raw_node(name, labels), Node)


def make_pod(name: str, node: str = "") -> Pod:
    return from_object(raw_pod(name, uid=name, nodeName=node), Pod)


def placed(table: NodeTable) -> list[list[str]]:
    return [[pod.metadata.name for pod in pods] for pods in map(table.pods.on, range(len(table)))]


def test_label_is_a_column_of_codes() -> None:
    table = make_table({"a": {"zone": "z2"}, "b": {}, "c": {"zone": "z1"}, "d": {"zone": "z2"}}, {})
    column = table.label("zone")
    assert column.codes.tolist() == [0, ABSENT, 1, 0]
    assert column.values == ("z2", "z1")
    assert table.label("zone") is column
    assert table.label("none").codes.tolist() == [ABSENT] * 4


def test_pods_are_on_their_nodes() -> None:
    table = make_table({"a": {}, "b": {}}, {"p": "b", "q": "a", "r": "b", "lost": "gone", "pending": ""})
    assert placed(table) == [["q"], ["p", "r"]]
    assert [pod.metadata.name for pod in table.pods] == ["p", "q", "r"]
    assert table.pod_rows.tolist() == [1, 0, 1]


def test_derived_tables_do_not_change_the_first() -> None:
    table = make_table({"a": {}, "b": {}}, {"p": "a", "q": "b"})
    assert placed(table.with_pods([(make_pod("new"), "a"), (make_pod("lost"), "gone")])) == [["p", "new"], ["q"]]
    assert placed(table.without_pods(frozenset({"p"}))) == [[], ["q"]]
    assert placed(table) == [["p"], ["q"]]


def count_nodes(nodes: Nodes) -> list[int]:
    return [len(nodes)]


def names_of(pods: BoundPods) -> list[str]:
    return [pod.metadata.name for pod in pods]


def test_derived_values_are_computed_once() -> None:
    table = make_table({"a": {}}, {})
    first = table.nodes.derived(count_nodes)
    assert first == [1]
    assert table.nodes.derived(count_nodes) is first


def test_derived_values_belong_to_their_source() -> None:
    table = make_table({"a": {}}, {"p": "a"})
    nodes, pods = table.nodes.derived(count_nodes), table.pods.derived(names_of)
    relabelled = table.with_nodes({"a": make_node("a", {"zone": "z"})})
    emptied = table.without_pods(frozenset({"p"}))

    assert relabelled.pods.derived(names_of) is pods
    assert relabelled.nodes.derived(count_nodes) is not nodes
    assert relabelled.label("zone").values == ("z",)
    assert table.label("zone").values == ()
    assert emptied.nodes.derived(count_nodes) is nodes
    assert emptied.pods.derived(names_of) == []


def test_nodes_are_replaced_by_their_own_name() -> None:
    table = make_table({"a": {}}, {})
    with pytest.raises(KeyError):
        table.with_nodes({"a": make_node("b", {})})
    with pytest.raises(KeyError):
        table.with_nodes({"b": make_node("b", {})})


def is_q(pod: Pod) -> bool:
    return pod.metadata.name == "q"


def test_unchanged_pods_are_reused() -> None:
    table = make_table({"a": {}, "b": {}}, {"p": "a", "q": "b"})
    some = table.pods.only(is_q)
    assert (names_of(some), some.rows.tolist()) == (["q"], [1])
    changed = table.without_pods(frozenset({"p"})).with_pods([(make_pod("r"), "b")])
    assert changed.pods.only(is_q) is some
    assert names_of(changed.with_pods([(make_pod("q"), "a")]).pods.only(is_q)) == ["q", "q"]
    assert names_of(changed.without_pods(frozenset({"q"})).pods.only(is_q)) == []


def nothing(nodes: Nodes, snapshot: ClusterSnapshot) -> list[str]:
    return []


def test_side_tables_are_built_for_each_snapshot() -> None:
    table, snapshot = make_table({"a": {}}, {}), ClusterSnapshot()
    first = table.nodes.derived_with(snapshot, nothing)
    assert table.with_pods([(make_pod("p"), "a")]).nodes.derived_with(snapshot, nothing) is first
    assert table.nodes.derived_with(ClusterSnapshot(), nothing) is not first


def test_least_recently_used_value_is_rebuilt() -> None:
    table = make_table({"a": {}}, {})
    kept, lost = table.nodes.derived(CountingAgain(-1)), table.nodes.derived(CountingAgain(-2))
    for number in range(300):
        table.nodes.derived(CountingAgain(number))
        assert table.nodes.derived(CountingAgain(-1)) is kept
    assert table.nodes.derived(CountingAgain(-2)) is not lost


class CountingAgain(Struct, frozen=True):
    number: int

    def __call__(self, nodes: Nodes) -> list[int]:
        return [len(nodes), self.number]
