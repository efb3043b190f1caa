"""Taints and tolerations: upstream's cases (TestTolerationToleratesTaint, TestFindMatchingUntoleratedTaint)."""

from __future__ import annotations

from podrules.api.model.node import Node
from podrules.pod.tolerations import DO_NOT_SCHEDULE, tolerates_taint
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.plugins.taint_toleration import count_untolerated_taints, untolerated_taint_codes
from tests.objects import make_node
from tests.podrules.scheduling.scheduler.plugins.building_nodes import make_taint, make_toleration
from tests.table import row, table


@table(
    "toleration, taint, expected",
    {
        "toleration and taint have the same key and effect, and operator is Exists, and taint has no value, "
        "expect tolerated": row("foo Exists - NoSchedule", "foo - NoSchedule", True),
        "toleration and taint have the same key and effect, and operator is Exists, and taint has some value, "
        "expect tolerated": row("foo Exists - NoSchedule", "foo bar NoSchedule", True),
        "toleration and taint have the same effect, toleration has empty key and operator is Exists, means "
        "match all taints, expect tolerated": row("- Exists - NoSchedule", "foo bar NoSchedule", True),
        "toleration and taint have the same key, effect and value, and operator is Equal, expect tolerated": row(
            "foo Equal bar NoSchedule", "foo bar NoSchedule", True
        ),
        "toleration and taint have the same key and effect, but different values, and operator is Equal, "
        "expect not tolerated": row("foo Equal value1 NoSchedule", "foo value2 NoSchedule", False),
        "toleration and taint have the same key and value, but different effects, and operator is Equal, "
        "expect not tolerated": row("foo Equal bar NoSchedule", "foo bar NoExecute", False),
        "no key and no operator: the value decides": row("- - bar NoSchedule", "foo bar NoSchedule", True),
        "no effect: all effects": row("foo - bar -", "foo bar NoExecute", True),
        "Gt is behind a gate": row("foo Gt 1 NoSchedule", "foo 2 NoSchedule", False),
        "Lt is behind a gate": row("foo Lt 3 NoSchedule", "foo 2 NoSchedule", False),
        "unknown operator": row("foo Near bar NoSchedule", "foo bar NoSchedule", False),
    },
)
def test_tolerates_taint(toleration: str, taint: str, expected: bool) -> None:
    assert tolerates_taint(make_toleration(toleration), make_taint(taint)) is expected


def make_table(*taints: list[str]) -> NodeTable:
    def node(index: int, texts: list[str]) -> Node:
        parts = [dict(zip(("key", "value", "effect"), text.split(), strict=True)) for text in texts]
        return make_node(f"n{index}", taints=parts)

    return NodeTable([node(index, texts) for index, texts in enumerate(taints)], ())


@table(
    "tolerations, taints, expected",
    {
        "tolerate no taints with empty tolerations and no taints": row([], [], -1),
        "tolerations with one Exists": row(["foo Exists - NoSchedule"], ["foo bar NoSchedule"], -1),
        "empty tolerations, one taint": row([], ["foo bar NoSchedule"], 0),
        "effect that does not count": row([], ["foo bar PreferNoSchedule"], -1),
        "all taints are tolerated": row(
            ["foo Equal bar NoSchedule", "foo2 Equal bar2 NoSchedule"],
            ["foo bar NoSchedule", "foo2 bar2 NoSchedule"],
            -1,
        ),
        "the first untolerated taint that counts": row(
            ["foo Equal bar NoSchedule"],
            ["a b PreferNoSchedule", "foo bar NoSchedule", "foo2 bar2 NoExecute", "foo3 bar3 NoSchedule"],
            2,
        ),
    },
)
def test_untolerated_taint_codes(tolerations: list[str], taints: list[str], expected: int) -> None:
    table = make_table([], taints, ["other x NoExecute"])
    codes = untolerated_taint_codes(table.nodes, [make_toleration(text) for text in tolerations], DO_NOT_SCHEDULE)
    assert codes.tolist() == [-1, expected, 0]


def test_each_taint_counts_once_a_node() -> None:
    table = make_table(["a x NoSchedule", "b x NoSchedule", "c x NoExecute"], [], ["a x NoSchedule"])
    counts = count_untolerated_taints(table.nodes, [make_toleration("b Exists - -")], {"NoSchedule"})
    assert counts.tolist() == [1, 0, 1]


def test_nodes_without_taints() -> None:
    assert untolerated_taint_codes(make_table([], []).nodes, ()).tolist() == [-1, -1]
    assert untolerated_taint_codes(make_table().nodes, ()).tolist() == []
