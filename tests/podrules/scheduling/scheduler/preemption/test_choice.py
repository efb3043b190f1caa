"""The chosen candidate; the names of upstream's cases are kept (TestSelectBestCandidate)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podrules.scheduling.scheduler.preemption import Criterion, NodeChoice
from tests.podrules.scheduling.building import Json, make_budget
from tests.podrules.scheduling.scheduler.preemption.building import (
    HIGH,
    LARGE,
    LOW,
    MEDIUM,
    MID,
    NEGATIVE,
    SMALL,
    VERY_HIGH,
    VERY_LARGE,
    looked_at,
    make_node,
    make_pod,
    preempted,
)
from tests.table import row, table


def chosen(pod: Json, pods: Sequence[Json], **given: Any) -> NodeChoice:
    """The choice among the nodes of the pods."""
    names = sorted({each["spec"]["nodeName"] for each in pods})
    return looked_at(preempted(pod, [make_node(name) for name in names], pods, **given)).choice


def on(number: int, *pods: tuple[int, str] | tuple[int, str, int]) -> list[Json]:
    """Pods of a node, each with priority, size and start."""
    return [
        make_pod(f"p{number}.{index}", size, priority, on=f"node{number}", start=start[0] if start else 0)
        for index, (priority, size, *start) in enumerate(pods, start=1)
    ]


PREEMPTOR = make_pod("p", VERY_LARGE, HIGH)


@table(
    "pods, expected",
    {
        "a pod that fits on both nodes when lower priority pods are preempted": row(
            [*on(1, (MID, LARGE)), *on(2, (MID, LARGE))], NodeChoice(("node1", "node2"), Criterion.FIRST)
        ),
        "node with min highest priority pod is picked": row(
            [
                *on(1, (MID, MEDIUM), (MID, LARGE)),
                *on(2, (MID, MEDIUM), (LOW, MEDIUM)),
                *on(3, (LOW, MEDIUM), (LOW, MEDIUM)),
            ],
            NodeChoice(("node3",), Criterion.LOWEST_TOP_PRIORITY),
        ),
        "when highest priorities are the same, minimum sum of priorities is picked": row(
            [
                *on(1, (MID, MEDIUM), (MID, LARGE)),
                *on(2, (MID, LARGE), (LOW, MEDIUM)),
                *on(3, (MID, MEDIUM), (MID, MEDIUM)),
            ],
            NodeChoice(("node2",), Criterion.SMALLEST_PRIORITY_SUM),
        ),
        "when highest priority and sum are the same, minimum number of pods is picked": row(
            [
                *on(1, (MID, SMALL), (NEGATIVE, SMALL), (MID, SMALL), (NEGATIVE, SMALL)),
                *on(2, (MID, LARGE), (NEGATIVE, MEDIUM)),
                *on(3, (MID, MEDIUM), (NEGATIVE, SMALL), (LOW, SMALL)),
            ],
            # 2^31 is added to each priority, so that the sum decides although upstream's name mentions the number.
            NodeChoice(("node2",), Criterion.SMALLEST_PRIORITY_SUM),
        ),
        "sum of adjusted priorities is considered": row(
            [
                *on(1, (MID, SMALL), (NEGATIVE, SMALL), (NEGATIVE, SMALL)),
                *on(2, (MID, LARGE), (NEGATIVE, MEDIUM)),
                *on(3, (MID, MEDIUM), (NEGATIVE, SMALL), (LOW, SMALL)),
            ],
            NodeChoice(("node2",), Criterion.SMALLEST_PRIORITY_SUM),
        ),
        "same priority, same number of victims, different start time for each node's pod": row(
            [
                *on(1, (MID, MEDIUM, 2), (MID, MEDIUM, 2)),
                *on(2, (MID, MEDIUM, 3), (MID, MEDIUM, 3)),
                *on(3, (MID, MEDIUM, 1), (MID, MEDIUM, 1)),
            ],
            NodeChoice(("node2",), Criterion.LATEST_START),
        ),
        "same priority, same number of victims, different start time for all pods": row(
            [
                *on(1, (MID, MEDIUM, 4), (MID, MEDIUM, 2)),
                *on(2, (MID, MEDIUM, 5), (MID, MEDIUM, 1)),
                *on(3, (MID, MEDIUM, 3), (MID, MEDIUM, 6)),
            ],
            NodeChoice(("node3",), Criterion.LATEST_START),
        ),
        "different priority, same number of victims, different start time for all pods": row(
            [
                *on(1, (LOW, MEDIUM, 4), (MID, MEDIUM, 2)),
                *on(2, (MID, MEDIUM, 6), (LOW, MEDIUM, 1)),
                *on(3, (LOW, MEDIUM, 3), (MID, MEDIUM, 5)),
            ],
            NodeChoice(("node2",), Criterion.LATEST_START),
        ),
    },
)
def test_select_best_candidate(pods: Sequence[Json], expected: NodeChoice) -> None:
    assert chosen(PREEMPTOR, pods) == expected


def test_lowest_priority_sum_then_number_of_pods() -> None:
    pods = [
        *on(1, (MID, SMALL), (LOW, SMALL), (LOW, SMALL)),
        *on(2, (HIGH, LARGE)),
        *on(3, (MID, MEDIUM), (LOW, SMALL), (LOW, SMALL), (LOW, MEDIUM)),
        *on(4, (MID, MEDIUM), (MID, SMALL), (MID, SMALL), (NEGATIVE, SMALL)),
    ]
    assert chosen(make_pod("p", VERY_LARGE, VERY_HIGH), pods).best == ("node1",)


def test_P4_fewest_violations_come_before_priorities() -> None:
    """The protected pod has the lowest priority of all, but the other node is chosen."""
    guarded = make_pod("guarded", LARGE, LOW, on="node1", labels={"app": "foo"})
    important = make_pod("important", LARGE, MID, on="node2")
    found = chosen(PREEMPTOR, [guarded, important], podDisruptionBudgets=[make_budget()])
    assert found == NodeChoice(("node2",), Criterion.FEWEST_PDB_VIOLATIONS)


def test_P4_lowest_top_priority_comes_before_the_sum() -> None:
    found = chosen(PREEMPTOR, [*on(1, (MID, LARGE)), *on(2, *[(MID - 1, SMALL)] * 4)])
    assert found == NodeChoice(("node2",), Criterion.LOWEST_TOP_PRIORITY)


def test_P4_sum_comes_before_the_number() -> None:
    """Each pod adds 2^31: one more pod outweighs any priority except the lowest possible ones."""
    found = chosen(PREEMPTOR, [*on(1, (MID, LARGE), (0, SMALL)), *on(2, (MID, LARGE))])
    assert found == NodeChoice(("node2",), Criterion.SMALLEST_PRIORITY_SUM)


def test_P4_fewest_victims_decide_where_priorities_cannot() -> None:
    """A pod of the lowest priority adds nothing to the sum."""
    least = -(2**31)
    found = chosen(PREEMPTOR, [*on(1, (MID, LARGE), (least, SMALL)), *on(2, (MID, LARGE))])
    assert found == NodeChoice(("node2",), Criterion.FEWEST_VICTIMS)


def test_P4_latest_start_decides_last() -> None:
    assert chosen(PREEMPTOR, [*on(1, (MID, LARGE, 7)), *on(2, (MID, LARGE, 8))]) == NodeChoice(
        ("node2",), Criterion.LATEST_START
    )


def test_P4_of_several_victims_the_earliest_start_counts() -> None:
    """The youngest of all is on the second node, as is the oldest, which decides."""
    found = chosen(PREEMPTOR, [*on(1, (MID, MEDIUM, 4), (MID, MEDIUM, 3)), *on(2, (MID, MEDIUM, 9), (MID, MEDIUM, 1))])
    assert found == NodeChoice(("node1",), Criterion.LATEST_START)


def test_P4_victim_that_has_not_started_counts_as_now() -> None:
    pods = [make_pod("p1", LARGE, MID, on="node1"), make_pod("p2", LARGE, MID, on="node2", start=59)]
    assert chosen(PREEMPTOR, pods) == NodeChoice(("node1",), Criterion.LATEST_START)


def test_one_candidate_leaves_nothing_to_decide() -> None:
    assert chosen(PREEMPTOR, on(1, (MID, LARGE))) == NodeChoice(("node1",), None)
