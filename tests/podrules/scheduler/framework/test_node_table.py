"""Nodes and their pods in columns."""

from __future__ import annotations

from podrules.model.decode import from_object
from podrules.model.node import Node
from podrules.model.pod import Pod
from podrules.scheduler.framework.node_table import ABSENT, NodeTable


def make_table(nodes: dict[str, dict[str, str]], pods: dict[str, str]) -> NodeTable:
    """Nodes by name with their labels, pods by name with their node."""
    return NodeTable(
        [from_object({"metadata": {"name": name, "labels": labels}}, Node) for name, labels in nodes.items()],
        [
            from_object({"metadata": {"name": name, "uid": name}, "spec": {"nodeName": node}}, Pod)
            for name, node in pods.items()
        ],
    )


def placed(table: NodeTable) -> list[list[str]]:
    return [[pod.metadata.name for pod in pods] for pods in table.pods_by_row]


def test_a_label_is_a_column_of_codes() -> None:
    table = make_table({"a": {"zone": "z2"}, "b": {}, "c": {"zone": "z1"}, "d": {"zone": "z2"}}, {})
    column = table.label("zone")
    assert column.codes.tolist() == [0, ABSENT, 1, 0]
    assert column.values == ("z2", "z1")
    assert table.label("zone") is column
    assert table.label("none").codes.tolist() == [ABSENT] * 4


def test_pods_stand_on_their_nodes() -> None:
    table = make_table({"a": {}, "b": {}}, {"p": "b", "q": "a", "r": "b", "lost": "gone", "pending": ""})
    assert placed(table) == [["q"], ["p", "r"]]
    assert [pod.metadata.name for pod in table.pods] == ["p", "q", "r"]
    assert table.pod_rows.tolist() == [1, 0, 1]


def test_other_tables_leave_the_first_as_it_is() -> None:
    table = make_table({"a": {}, "b": {}}, {"p": "a", "q": "b"})
    pending = from_object({"metadata": {"name": "new", "uid": "new"}}, Pod)
    assert placed(table.with_pods([(pending, "a")])) == [["p", "new"], ["q"]]
    assert placed(table.without_pods(frozenset({"p"}))) == [[], ["q"]]
    assert placed(table) == [["p"], ["q"]]


def count_nodes(table: NodeTable) -> list[int]:
    return [len(table)]


def test_what_is_derived_is_made_once() -> None:
    table = make_table({"a": {}}, {})
    first = table.derived(count_nodes)
    assert first == [1]
    assert table.derived(count_nodes) is first
    assert table.with_pods([]).derived(count_nodes) is not first
