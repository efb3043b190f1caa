"""When NoExecute taints delete a pod. Cases without a remark are those of upstream's taint_eviction_test.go."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from podrules.api.model.instant import LAST
from podrules.api.model.node import Taint
from podrules.api.model.selectors import Toleration
from podrules.pod.tolerations import Eviction, taint_eviction
from tests.table import table

AT = datetime(2026, 11, 23, 7, 29, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def _taint(key: str, after: int | None = 0, effect: str = "NoExecute") -> Taint:
    return Taint(key, "", effect, None if after is None else (AT + after * SECOND).isoformat())


def _tolerates(key: str, seconds: int | None = None) -> Toleration:
    return Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=seconds)


def _at(seconds: int, tolerated: int, key: str) -> Eviction:
    return Eviction(AT + seconds * SECOND, tolerated, taint=f"{key}:NoExecute")


@table(
    "taints, own, expected",
    {
        "no taint": ([], [], None),
        "NoSchedule deletes no pod": ([_taint("a", effect="NoSchedule")], [], None),
        "not tolerated": ([_taint("a")], [], _at(0, 0, "a")),
        "tolerated for a time": ([_taint("a")], [_tolerates("a", 120)], _at(120, 120, "a")),
        "tolerated without end": ([_taint("a")], [_tolerates("a")], Eviction(None, None)),
        "two at once: the shorter time": (
            [_taint("a"), _taint("b")],
            [_tolerates("a", 300), _tolerates("b", 60)],
            _at(60, 60, "b"),
        ),
        # processPodOnNode returns when work is queued from before.
        "a later one does not shorten the scheduled time": (
            [_taint("a"), _taint("b", 10)],
            [_tolerates("a", 300), _tolerates("b", 60)],
            _at(300, 300, "a"),
        ),
        "a later one not tolerated": ([_taint("a"), _taint("b", 10)], [_tolerates("a", 300)], _at(10, 0, "b")),
        "over before the later one": ([_taint("b", 400), _taint("a")], [_tolerates("a", 300)], _at(300, 300, "a")),
        "the first without end, then one for a time": (
            [_taint("a"), _taint("b", 10)],
            [_tolerates("a"), _tolerates("b", 60)],
            _at(70, 60, "b"),
        ),
        "no timeAdded": ([_taint("a", None)], [_tolerates("a", 60)], Eviction(None, 60, taint="a:NoExecute")),
    },
)
def test_T5_when_taints_delete_a_pod(
    taints: Sequence[Taint], own: Sequence[Toleration], expected: Eviction | None
) -> None:
    assert taint_eviction(own, taints) == expected


MOST = 2**63 - 1
YEARS = 9_223_372_036
"""The maximum seconds of a Go Duration, which counts nanoseconds."""


@pytest.mark.parametrize(
    ("seconds", "stays"),
    [
        (YEARS, YEARS),
        (YEARS + 1, None),
        (10**10, None),
        (10**12, 3_875_820_020),
        (10**15, 2_003_764_206),
        (2**55, 0),
        (MOST - 1, None),
        (MOST, None),
    ],
)
def test_T5_seconds_beyond_a_duration_wrap(seconds: int, stays: int | None) -> None:
    expected = Eviction(None, None) if stays is None else _at(stays, stays, "a")
    assert taint_eviction([_tolerates("a", seconds)], [_taint("a")]) == expected


def test_T5_shortest_of_the_seconds_is_taken_before_it_wraps() -> None:
    own = [_tolerates("a", 10**10), _tolerates("b", 10**12)]
    assert taint_eviction(own, [_taint("a"), _taint("b")]) == Eviction(None, None)


def test_T5_taint_of_the_last_day_deletes_then() -> None:
    end = Taint("a", "", "NoExecute", "9999-12-31T23:59:59Z")
    assert taint_eviction([_tolerates("a", 60)], [end]) == Eviction(LAST, 60, taint="a:NoExecute")


def test_T5_toleration_starts_when_pod_is_bound() -> None:
    bound = AT + 30 * SECOND
    assert taint_eviction([_tolerates("a", 60)], [_taint("a")], bound=bound) == _at(90, 60, "a")
    assert taint_eviction([_tolerates("a", 60)], [_taint("a")], bound=AT - SECOND) == _at(60, 60, "a")
