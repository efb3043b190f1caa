"""Times of the API: accepted formats, and arithmetic."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from podrules.api.model.base import ObjectMeta
from podrules.api.model.decode import DecodeError, from_object
from podrules.api.model.instant import FIRST, LAST, go_seconds, instant, later, span


def _is_read(stamp: str) -> bool:
    try:
        from_object({"creationTimestamp": stamp}, ObjectMeta)
    except DecodeError:
        return False
    return True


@pytest.mark.parametrize("year", ["0000", "0001", "1900", "2000", "2026", "2028", "2100", "9999"])
def test_only_existing_days_are_read(year: str) -> None:
    for month in range(14):
        for day in range(33):
            stamp = f"{year}-{month:02}-{day:02}T10:00:00Z"
            assert _is_read(stamp) == (instant(stamp) is not None), stamp


@pytest.mark.parametrize(
    ("stamp", "at"),
    [
        ("2026-11-22T11:30:00+01:30", datetime(2026, 11, 22, 10, tzinfo=UTC)),
        ("2026-11-22T10:00:00.5Z", datetime(2026, 11, 22, 10, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-11-22T10:00:00.123456789Z", datetime(2026, 11, 22, 10, 0, 0, 123_456, tzinfo=UTC)),
        ("9999-12-31T23:59:59-01:00", LAST),
        ("9999-12-31T23:59:59Z", LAST),
        ("9998-12-31T23:59:59Z", LAST - timedelta(seconds=1)),
        ("0001-01-01T00:00:00Z", FIRST),
        ("0001-01-01T00:00:00+01:00", FIRST),
    ],
)
def test_times_are_read_in_utc(stamp: str, at: datetime) -> None:
    assert _is_read(stamp)
    assert instant(stamp) == at


@pytest.mark.parametrize(
    "stamp",
    [
        "",
        "garbage",
        "yesterday",
        "2026-11-22",
        "2026-11-22T10:00:00",
        "2026-11-22 10:00:00Z",
        "20261122T100000Z",
        "2026-11-22T24:00:00Z",
        "2026-11-22T10:60:00Z",
        "2026-11-22T10:00:60Z",
        "2026-11-22T10:00:00Z\n",
        "2026-11-22T10:00:00+24:00",
        "12026-11-22T10:00:00Z",
    ],
)
def test_times_that_go_refuses_are_refused(stamp: str) -> None:
    assert not _is_read(stamp)


@pytest.mark.parametrize("seconds", [10**12, 10**18, 2**63 - 1])
def test_times_out_of_range_are_clamped(seconds: int) -> None:
    now = datetime(2026, 11, 22, tzinfo=UTC)
    assert (later(now, seconds), later(now, -seconds)) == (LAST, FIRST)


@pytest.mark.parametrize("stamp", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"])
def test_minutes_can_be_added_to_every_moment(stamp: str) -> None:
    moment = instant(stamp)
    assert moment is not None
    assert moment - timedelta(days=300) < moment < moment + timedelta(days=300)


@pytest.mark.parametrize("seconds", [10**12, 10**18, 2**63 - 1])
def test_too_long_span_is_clamped(seconds: int) -> None:
    assert (span(seconds), span(-seconds)) == (span(10**12), -span(10**12))
    assert span(10**12) > LAST - FIRST > span(30) == timedelta(seconds=30)


@pytest.mark.parametrize(
    ("seconds", "known"),
    [(0, 0), (-1, -1), (9_223_372_036, 9_223_372_036), (9_223_372_037, -9_223_372_037), (2**63 - 1, -1), (2**55, 0)],
)
def test_seconds_wrap_as_nanoseconds_of_an_int64(seconds: int, known: int) -> None:
    assert go_seconds(seconds) == known
