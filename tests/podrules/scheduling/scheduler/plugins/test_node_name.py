"""NodeName: upstream's cases (TestNodeName)."""

from __future__ import annotations

import pytest

from podrules.scheduling.scheduler.framework.answers import SUCCESS, Code, Status
from podrules.scheduling.scheduler.plugins.one_field import NodeName
from tests.podrules.scheduling.scheduler.plugins.building_nodes import filter_status, make_cycle, node_of, pod_of

OTHER = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) didn't match the requested node name",))


@pytest.mark.parametrize(
    ("wanted", "node", "expected"),
    [
        pytest.param("", "node", SUCCESS, id="no host specified"),
        pytest.param("foo", "foo", SUCCESS, id="host matches"),
        pytest.param("bar", "foo", OTHER, id="host doesn't match"),
    ],
)
def test_filter(wanted: str, node: str, expected: Status) -> None:
    context = make_cycle(pod_of({"nodeName": wanted}), [node_of(node)])
    assert filter_status(NodeName(), context) == expected


def test_only_the_named_node_fits() -> None:
    context = make_cycle(pod_of({"nodeName": "b"}), [node_of("a"), node_of("b"), node_of("c")])
    assert [filter_status(NodeName(), context, row) for row in range(3)] == [OTHER, SUCCESS, OTHER]
