"""Normalising: upstream's cases (TestDefaultNormalizeScore with the framework's maximum)."""

from __future__ import annotations

import numpy as np

from podrules.scheduling.scheduler.plugins.scores import default_normalize_score
from tests.table import row, table


@table(
    "scores, reverse, expected",
    {
        "normal": row([1, 2, 3, 4], False, [25, 50, 75, 100]),
        "reversed": row([1, 2, 3, 4], True, [75, 50, 25, 0]),
        "larger": row([1000, 10, 20, 30], False, [100, 1, 2, 3]),
        "larger, reversed": row([1000, 10, 20, 30], True, [0, 99, 98, 97]),
        "equal, reversed": row([1, 1, 1, 1], True, [0, 0, 0, 0]),
        "none": row([0, 0], False, [0, 0]),
        "none, reversed": row([0, 0], True, [100, 100]),
        "rounded down before it is reversed or not": row([2, 3], False, [66, 100]),
        "rounded down, then reversed": row([2, 3], True, [34, 0]),
        "no nodes": row([], True, []),
    },
)
def test_default_normalize_score(scores: list[int], reverse: bool, expected: list[int]) -> None:
    assert default_normalize_score(np.array(scores, np.int64), reverse=reverse).tolist() == expected
