"""Parses times as the API writes them, adds seconds to them, and parses Go's durations: ``1m30s``, ``1.5h``.

    parsing         RFC 3339, in UTC as the API server writes it
    limits          the API writes the years 1 to 9999, and Python holds no others. A moment in the first or the last of
                    them becomes the nearest one between, so that callers can add minutes to every moment
    spans           a field holds any int64 of seconds. One of more than 10,000 years becomes that long
    seconds in Go   time.Duration(seconds) * time.Second: nanoseconds in an int64, which wrap. From 9,223,372,037 s,
                    292 years, on the result is another span, and often a negative one

Source: time.Duration and time.ParseDuration of the Go library;
Time.MarshalJSON in k8s.io/apimachinery/pkg/apis/meta/v1/time.go at v0.36.3.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

FIRST: Final = datetime(2, 1, 1, tzinfo=UTC)
LAST: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""The limits."""
_LONGEST: Final = 10_000 * 366 * 86_400
_NO_TIME: Final = timedelta()
_SECOND: Final = 10**9
"""In nanoseconds."""
_SIGN: Final = 1 << 63


def instant(stamp: str | None) -> datetime | None:
    """An RFC 3339 time of the API, in UTC and within the limits; None: it is absent or cannot be read."""
    if not stamp:
        return None
    try:
        when = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return later(when.replace(tzinfo=UTC), -(when.utcoffset() or _NO_TIME).total_seconds())


def later(when: datetime, seconds: float) -> datetime:
    """The moment so many seconds later, or earlier if negative, within the limits."""
    try:
        return min(max(when + timedelta(seconds=seconds), FIRST), LAST)
    except OverflowError:
        return LAST if seconds > 0 else FIRST


def span(seconds: int) -> timedelta:
    """The span of so many seconds, within the limits."""
    return timedelta(seconds=min(max(seconds, -_LONGEST), _LONGEST))


def go_seconds(seconds: int) -> int:
    """The seconds that remain when Go converts a field to a time.Duration, rounded away from zero to whole seconds."""
    nanoseconds = (seconds * _SECOND + _SIGN) % (2 * _SIGN) - _SIGN
    return -(-nanoseconds // _SECOND) if nanoseconds > 0 else nanoseconds // _SECOND


_PART: Final = r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)"
_WHOLE: Final = rf"([-+]?)((?:{_PART})+)"
_MICROSECONDS: Final = {"ns": 1e-3, "us": 1, "µs": 1, "μs": 1, "ms": 1e3, "s": 1e6, "m": 6e7, "h": 3.6e9}


class DurationError(ValueError):
    """The text is not a duration; the message quotes it."""


def parse_duration(text: str) -> timedelta:
    """Read a duration; nanoseconds are rounded to microseconds.

    Raises:
        DurationError: the text is not a duration, or it is longer than a timedelta can hold.
    """
    found = re.fullmatch(_WHOLE, text)
    if text in {"0", "+0", "-0"}:
        return timedelta()
    if found is None:
        raise DurationError(f"{text[:40]!r} is not a duration: write e.g. 30s, 1m30s or 500ms")
    sign = -1 if found[1] == "-" else 1
    microseconds = sum(float(number) * _MICROSECONDS[unit] for number, unit in re.findall(_PART, found[2]))
    try:
        return timedelta(microseconds=sign * microseconds)
    except OverflowError as error:
        raise DurationError(f"{text[:40]!r} is too long a duration") from error
