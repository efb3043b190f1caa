"""Node selectors: upstream's cases (TestNodeSelectorMatch, TestMatchNodeSelectorTerms), and edges of each operator."""

from __future__ import annotations

from collections.abc import Sequence

from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.plugins.node_selector import (
    match_node_selector,
    match_node_selector_term,
    pod_matches_node_affinity,
)
from tests.podrules.scheduling.scheduler.plugins.building_nodes import (
    Json,
    make_requirement,
    make_selector,
    make_term,
    node_of,
    pod_of,
    requiring,
)
from tests.table import row, table

LABEL_1 = make_requirement("label_1", "In", "label_1_val")
HOST_1 = make_requirement("metadata.name", "In", "host_1")
BOTH = {"matchExpressions": [LABEL_1], "matchFields": [HOST_1]}


@table(
    "terms, labels, expected",
    {
        "node matches field selector, but not labels": row([BOTH], {}, False),
        "node matches field selector and label selector": row([BOTH], {"label_1": "label_1_val"}, True),
        "second term matches": row([[LABEL_1], {"matchFields": [HOST_1]}], {}, True),
        "no terms": row([], {}, False),
        "nil term": row([{}], {}, False),
        "term without requirements": row([[]], {"label_1": "label_1_val"}, False),
        "an invalid requirement invalidates its term": row(
            [[LABEL_1, make_requirement("invalid key", "Exists")]], {"label_1": "label_1_val"}, False
        ),
        "but no other term": row(
            [[make_requirement("invalid key", "Exists")], [LABEL_1]], {"label_1": "label_1_val"}, True
        ),
    },
)
def test_match_node_selector(terms: Sequence[Json], labels: dict[str, str], expected: bool) -> None:
    table = NodeTable([node_of("host_1", labels), node_of("host_2")], ())
    assert match_node_selector(table.nodes, make_selector(*terms)).tolist() == [expected, False]


@table(
    "requirement, expected",
    {
        # The nodes' values: absent, empty, "4", "0005", "-7", "big", "9223372036854775808".
        "In": row(make_requirement("l", "In", "4", "big"), "0010010"),
        "In: the empty value is one": row(make_requirement("l", "In", ""), "0100000"),
        "In: none is not valid": row(make_requirement("l", "In"), "0000000"),
        "NotIn: a node without the label too": row(make_requirement("l", "NotIn", "4", "big"), "1101101"),
        "NotIn: none is not valid": row(make_requirement("l", "NotIn"), "0000000"),
        "Exists": row(make_requirement("l", "Exists"), "0111111"),
        "Exists: with a value not valid": row(make_requirement("l", "Exists", "4"), "0000000"),
        "DoesNotExist": row(make_requirement("l", "DoesNotExist"), "1000000"),
        "DoesNotExist: with a value not valid": row(make_requirement("l", "DoesNotExist", "4"), "0000000"),
        "Gt: whole numbers of 64 bits only": row(make_requirement("l", "Gt", "4"), "0001000"),
        "Gt: leading zeros": row(make_requirement("l", "Gt", "0003"), "0011000"),
        "Lt: negative labels too": row(make_requirement("l", "Lt", "5"), "0010100"),
        "Lt: a bound below 0 is no label value": row(make_requirement("l", "Lt", "-5"), "0000000"),
        "Gt: two values are not valid": row(make_requirement("l", "Gt", "4", "5"), "0000000"),
        "Gt: a bound that is no number is not valid": row(make_requirement("l", "Gt", "x"), "0000000"),
        "Lt: 64 bits": row(make_requirement("l", "Lt", "9223372036854775808"), "0000000"),
        "unknown operator": row(make_requirement("l", "Near", "4"), "0000000"),
        "label that no node has": row(make_requirement("other", "NotIn", "4"), "1111111"),
    },
)
def test_each_operator(requirement: Json, expected: str) -> None:
    values = ["", "4", "0005", "-7", "big", "9223372036854775808"]
    table = NodeTable([node_of("absent"), *(node_of(f"n{value}", {"l": value}) for value in values)], ())
    matched = match_node_selector_term(table.nodes, make_term([requirement]))
    assert "".join(str(int(answer)) for answer in matched) == expected


@table(
    "fields, expected",
    {
        "In": row([make_requirement("metadata.name", "In", "a")], [True, False, True]),
        "NotIn": row([make_requirement("metadata.name", "NotIn", "a")], [False, True, True]),
        "two names are not valid": row([make_requirement("metadata.name", "In", "a", "b")], [False] * 3),
        "Exists is not valid": row([make_requirement("metadata.name", "Exists")], [False] * 3),
        "all hold": row(
            [make_requirement("metadata.name", "NotIn", "a"), make_requirement("metadata.name", "NotIn", "b")],
            [False, False, True],
        ),
        "other fields are empty": row([make_requirement("metadata.uid", "In", "x")], [False, False, True]),
        "and differ from any value": row([make_requirement("metadata.uid", "NotIn", "x")], [True] * 3),
        "but equal the empty one": row([make_requirement("metadata.uid", "In", "")], [True] * 3),
    },
)
def test_fields(fields: list[Json], expected: list[bool]) -> None:
    table = NodeTable([node_of("a"), node_of("b"), node_of("")], ())  # a node without a name is not compared
    assert match_node_selector_term(table.nodes, make_term({"matchFields": fields})).tolist() == expected


@table(
    "spec, expected",
    {
        "no selector": row({}, [True, True, True]),
        "nodeSelector": row({"nodeSelector": {"foo": "bar"}}, [True, True, False]),
        "all of its labels": row({"nodeSelector": {"foo": "bar", "baz": "blah"}}, [False, True, False]),
        "affinity": row(requiring([make_requirement("baz", "DoesNotExist")]), [True, False, True]),
        "both": row(
            {"nodeSelector": {"foo": "bar"}, **requiring([make_requirement("baz", "DoesNotExist")])},
            [True, False, False],
        ),
        "affinity without terms": row(requiring(), [False, False, False]),
        "nodeSelector is not checked": row({"nodeSelector": {"not a key": "bar"}}, [False, False, False]),
    },
)
def test_pod_matches_node_affinity(spec: Json, expected: list[bool]) -> None:
    table = NodeTable([node_of("a", {"foo": "bar"}), node_of("b", {"foo": "bar", "baz": "blah"}), node_of("c")], ())
    assert pod_matches_node_affinity(table.nodes, pod_of(spec)).tolist() == expected
