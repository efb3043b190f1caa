"""Normalising: upstream's cases (TestDefaultNormalizeScore with the framework's maximum)."""

from __future__ import annotations

import numpy as np
import pytest

from podrules.scheduling.scheduler.plugins.scores import default_normalize_score


@pytest.mark.parametrize(
    ("scores", "reverse", "expected"),
    [
        pytest.param([1, 2, 3, 4], False, [25, 50, 75, 100], id="normal"),
        pytest.param([1, 2, 3, 4], True, [75, 50, 25, 0], id="reversed"),
        pytest.param([1000, 10, 20, 30], False, [100, 1, 2, 3], id="larger"),
        pytest.param([1000, 10, 20, 30], True, [0, 99, 98, 97], id="larger, reversed"),
        pytest.param([1, 1, 1, 1], True, [0, 0, 0, 0], id="equal, reversed"),
        pytest.param([0, 0], False, [0, 0], id="none"),
        pytest.param([0, 0], True, [100, 100], id="none, reversed"),
        pytest.param([2, 3], False, [66, 100], id="rounded down before it is reversed or not"),
        pytest.param([2, 3], True, [34, 0], id="rounded down, then reversed"),
        pytest.param([], True, [], id="no nodes"),
    ],
)
def test_default_normalize_score(scores: list[int], reverse: bool, expected: list[int]) -> None:
    assert default_normalize_score(np.array(scores, np.int64), reverse=reverse).tolist() == expected
