"""Parses times as the API writes them, and adds seconds to them.

    parsing         RFC 3339, in UTC as the API server writes it
    adding          a result outside the years 1 to 9999, which are all that the API writes, becomes the nearest moment
                    within them
    seconds in Go   time.Duration(seconds) * time.Second: nanoseconds in an int64, which wrap. From 9,223,372,037 s,
                    292 years, on the result is another span, and often a negative one

Source: time.Duration of the Go library; Time.MarshalJSON in k8s.io/apimachinery/pkg/apis/meta/v1/time.go at v0.36.3.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

__all__ = ["go_seconds", "instant", "later"]

_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)
_NO_TIME: Final = timedelta()
_SECOND: Final = 10**9
"""In nanoseconds."""
_SIGN: Final = 1 << 63


def instant(stamp: str | None) -> datetime | None:
    """An RFC 3339 time of the API, in UTC; None: it is absent or cannot be read."""
    if not stamp:
        return None
    try:
        when = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    if when.tzinfo is None:
        return when.replace(tzinfo=UTC)
    return later(when.replace(tzinfo=UTC), -(when.utcoffset() or _NO_TIME).total_seconds())


def later(when: datetime, seconds: float) -> datetime:
    """The moment so many seconds later, or earlier if negative, limited to the moments that Python can represent."""
    try:
        return when + timedelta(seconds=seconds)
    except OverflowError:
        return _LAST if seconds > 0 else _FIRST


def go_seconds(seconds: int) -> int:
    """The seconds that remain when Go converts a field to a time.Duration, rounded away from zero to whole seconds."""
    nanoseconds = (seconds * _SECOND + _SIGN) % (2 * _SIGN) - _SIGN
    return -(-nanoseconds // _SECOND) if nanoseconds > 0 else nanoseconds // _SECOND
