"""Names that are similar to a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from heapq import nsmallest
from typing import Final

_MOST: Final = 3
_LONGEST: Final = 253
"""No object has a longer name. The time of a comparison grows with the square of the length."""
_MAX_COMPARED: Final = 100
"""The number of names with the nearest length that are compared: one takes up to 0.1 ms."""


def did_you_mean(name: str, existing: Iterable[str]) -> str:
    """``; did you mean shop-high or shop-low?``; empty: no name is similar."""
    if len(name) > _LONGEST:
        return ""
    compared = list(existing)
    if len(compared) > _MAX_COMPARED:
        compared = nsmallest(_MAX_COMPARED, compared, key=lambda other: (abs(len(other) - len(name)), other))
    near = get_close_matches(name, sorted(compared), n=_MOST)
    return f"; did you mean {' or '.join(near)}?" if near else ""
