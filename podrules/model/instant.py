"""Points in time as the API writes them, and times some seconds later.

    read            RFC 3339, in UTC as the API server writes it
    added           beyond the years 1 to 9999, which are all that the API writes, the last or the first moment of them
    seconds in Go   time.Duration(seconds) * time.Second: nanoseconds in an int64, which wrap. From 9,223,372,037 s,
                    292 years, on it is another span, and often a negative one

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
    """An RFC 3339 time of the API in UTC, None when it is absent or cannot be read."""
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
    """That many seconds after a moment, before it if negative; the first or last of all moments where that is none."""
    try:
        return when + timedelta(seconds=seconds)
    except OverflowError:
        return _LAST if seconds > 0 else _FIRST


def go_seconds(seconds: int) -> int:
    """What a field in seconds is once Go has multiplied it into a time.Duration, rounded away from zero to a second."""
    nanoseconds = (seconds * _SECOND + _SIGN) % (2 * _SIGN) - _SIGN
    return -(-nanoseconds // _SECOND) if nanoseconds > 0 else nanoseconds // _SECOND
