"""NodeName: upstream's cases (TestNodeName)."""

from __future__ import annotations

from podrules.scheduling.scheduler.framework.answers import SUCCESS, Code, Status
from podrules.scheduling.scheduler.plugins.one_field import NodeName
from tests.podrules.scheduling.scheduler.plugins.building_nodes import filter_status, make_cycle, node_of, pod_of
from tests.table import row, table

OTHER = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) didn't match the requested node name",))


@table(
    "wanted, node, expected",
    {
        "no host specified": row("", "node", SUCCESS),
        "host matches": row("foo", "foo", SUCCESS),
        "host doesn't match": row("bar", "foo", OTHER),
    },
)
def test_filter(wanted: str, node: str, expected: Status) -> None:
    context = make_cycle(pod_of({"nodeName": wanted}), [node_of(node)])
    assert filter_status(NodeName(), context) == expected


def test_only_the_named_node_fits() -> None:
    context = make_cycle(pod_of({"nodeName": "b"}), [node_of("a"), node_of("b"), node_of("c")])
    assert [filter_status(NodeName(), context, row) for row in range(3)] == [OTHER, SUCCESS, OTHER]
