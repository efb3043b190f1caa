"""Parses Go's durations, as a kubelet's configuration writes them: ``1m30s``, ``500ms``, ``1.5h``.

Source: time.ParseDuration of the Go library.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

_PART: Final = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE: Final = re.compile(rf"([-+]?)((?:{_PART.pattern})+)")
_MICROSECONDS: Final = {"ns": 1e-3, "us": 1, "µs": 1, "μs": 1, "ms": 1e3, "s": 1e6, "m": 6e7, "h": 3.6e9}


class DurationError(ValueError):
    """The text is not a duration; the message quotes it."""


def parse_duration(text: str) -> timedelta:
    """Read a duration; nanoseconds are rounded to microseconds.

    Raises:
        DurationError: the text is not a duration, or it is longer than a timedelta can hold.
    """
    found = _WHOLE.fullmatch(text)
    if text in {"0", "+0", "-0"}:
        return timedelta()
    if found is None:
        raise DurationError(f"{text[:40]!r} is not a duration: write e.g. 30s, 1m30s or 500ms")
    sign = -1 if found[1] == "-" else 1
    microseconds = sum(float(number) * _MICROSECONDS[unit] for number, unit in _PART.findall(found[2]))
    try:
        return timedelta(microseconds=sign * microseconds)
    except OverflowError as error:
        raise DurationError(f"{text[:40]!r} is too long a duration") from error
