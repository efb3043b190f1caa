"""Node selectors: upstream's cases (TestNodeSelectorMatch, TestMatchNodeSelectorTerms), and edges of each operator."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

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

LABEL_1 = make_requirement("label_1", "In", "label_1_val")
HOST_1 = make_requirement("metadata.name", "In", "host_1")
BOTH = {"matchExpressions": [LABEL_1], "matchFields": [HOST_1]}


@pytest.mark.parametrize(
    ("terms", "labels", "expected"),
    [
        pytest.param([BOTH], {}, False, id="node matches field selector, but not labels"),
        pytest.param([BOTH], {"label_1": "label_1_val"}, True, id="node matches field selector and label selector"),
        pytest.param([[LABEL_1], {"matchFields": [HOST_1]}], {}, True, id="second term matches"),
        pytest.param([], {}, False, id="no terms"),
        pytest.param([{}], {}, False, id="nil term"),
        pytest.param([[]], {"label_1": "label_1_val"}, False, id="term without requirements"),
        pytest.param(
            [[LABEL_1, make_requirement("invalid key", "Exists")]],
            {"label_1": "label_1_val"},
            False,
            id="an invalid requirement invalidates its term",
        ),
        pytest.param(
            [[make_requirement("invalid key", "Exists")], [LABEL_1]],
            {"label_1": "label_1_val"},
            True,
            id="but no other term",
        ),
    ],
)
def test_match_node_selector(terms: Sequence[Json], labels: dict[str, str], expected: bool) -> None:
    table = NodeTable([node_of("host_1", labels), node_of("host_2")], ())
    assert match_node_selector(table.nodes, make_selector(*terms)).tolist() == [expected, False]


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        # The nodes' values: absent, empty, "4", "0005", "-7", "big", "9223372036854775808".
        pytest.param(make_requirement("l", "In", "4", "big"), "0010010", id="In"),
        pytest.param(make_requirement("l", "In", ""), "0100000", id="In: the empty value is one"),
        pytest.param(make_requirement("l", "In"), "0000000", id="In: none is not valid"),
        pytest.param(make_requirement("l", "NotIn", "4", "big"), "1101101", id="NotIn: a node without the label too"),
        pytest.param(make_requirement("l", "NotIn"), "0000000", id="NotIn: none is not valid"),
        pytest.param(make_requirement("l", "Exists"), "0111111", id="Exists"),
        pytest.param(make_requirement("l", "Exists", "4"), "0000000", id="Exists: with a value not valid"),
        pytest.param(make_requirement("l", "DoesNotExist"), "1000000", id="DoesNotExist"),
        pytest.param(make_requirement("l", "DoesNotExist", "4"), "0000000", id="DoesNotExist: with a value not valid"),
        pytest.param(make_requirement("l", "Gt", "4"), "0001000", id="Gt: whole numbers of 64 bits only"),
        pytest.param(make_requirement("l", "Gt", "0003"), "0011000", id="Gt: leading zeros"),
        pytest.param(make_requirement("l", "Lt", "5"), "0010100", id="Lt: negative labels too"),
        pytest.param(make_requirement("l", "Lt", "-5"), "0000000", id="Lt: a bound below 0 is no label value"),
        pytest.param(make_requirement("l", "Gt", "4", "5"), "0000000", id="Gt: two values are not valid"),
        pytest.param(make_requirement("l", "Gt", "x"), "0000000", id="Gt: a bound that is no number is not valid"),
        pytest.param(make_requirement("l", "Lt", "9223372036854775808"), "0000000", id="Lt: 64 bits"),
        pytest.param(make_requirement("l", "Near", "4"), "0000000", id="unknown operator"),
        pytest.param(make_requirement("other", "NotIn", "4"), "1111111", id="label that no node has"),
    ],
)
def test_each_operator(requirement: Json, expected: str) -> None:
    values = ["", "4", "0005", "-7", "big", "9223372036854775808"]
    table = NodeTable([node_of("absent"), *(node_of(f"n{value}", {"l": value}) for value in values)], ())
    matched = match_node_selector_term(table.nodes, make_term([requirement]))
    assert "".join(str(int(answer)) for answer in matched) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param([make_requirement("metadata.name", "In", "a")], [True, False, True], id="In"),
        pytest.param([make_requirement("metadata.name", "NotIn", "a")], [False, True, True], id="NotIn"),
        pytest.param([make_requirement("metadata.name", "In", "a", "b")], [False] * 3, id="two names are not valid"),
        pytest.param([make_requirement("metadata.name", "Exists")], [False] * 3, id="Exists is not valid"),
        pytest.param(
            [make_requirement("metadata.name", "NotIn", "a"), make_requirement("metadata.name", "NotIn", "b")],
            [False, False, True],
            id="all hold",
        ),
        pytest.param([make_requirement("metadata.uid", "In", "x")], [False, False, True], id="other fields are empty"),
        pytest.param([make_requirement("metadata.uid", "NotIn", "x")], [True] * 3, id="and differ from any value"),
        pytest.param([make_requirement("metadata.uid", "In", "")], [True] * 3, id="but equal the empty one"),
    ],
)
def test_fields(fields: list[Json], expected: list[bool]) -> None:
    table = NodeTable([node_of("a"), node_of("b"), node_of("")], ())  # a node without a name is not compared
    assert match_node_selector_term(table.nodes, make_term({"matchFields": fields})).tolist() == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [True, True, True], id="no selector"),
        pytest.param({"nodeSelector": {"foo": "bar"}}, [True, True, False], id="nodeSelector"),
        pytest.param({"nodeSelector": {"foo": "bar", "baz": "blah"}}, [False, True, False], id="all of its labels"),
        pytest.param(requiring([make_requirement("baz", "DoesNotExist")]), [True, False, True], id="affinity"),
        pytest.param(
            {"nodeSelector": {"foo": "bar"}, **requiring([make_requirement("baz", "DoesNotExist")])},
            [True, False, False],
            id="both",
        ),
        pytest.param(requiring(), [False, False, False], id="affinity without terms"),
        pytest.param({"nodeSelector": {"not a key": "bar"}}, [False, False, False], id="nodeSelector is not checked"),
    ],
)
def test_pod_matches_node_affinity(spec: Json, expected: list[bool]) -> None:
    table = NodeTable([node_of("a", {"foo": "bar"}), node_of("b", {"foo": "bar", "baz": "blah"}), node_of("c")], ())
    assert pod_matches_node_affinity(table.nodes, pod_of(spec)).tolist() == expected
