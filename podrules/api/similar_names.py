"""Suggests existing names that are similar to a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

_MAX_NAMES: Final = 3
_MIN_BEGINNING_RATIO: Final = 0.8
"""The minimum ratio of difflib for the beginning of a name: many names share a beginning."""


def nearest_word(word: str, known: Iterable[str], *, closeness: float = 0.6) -> str:
    """The word in a fixed list that is most similar to a typed word; empty: none is similar.

    Args:
        word: The typed word.
        known: The list.
        closeness: The minimum ratio of difflib, from 0 to 1.
    """
    # Loaded only for a mistyped word.
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=closeness)), "")


def near_names(name: str, names: Iterable[str]) -> Sequence[str]:
    """At most three similar names, the most similar first.

    If none is similar, names with a similar beginning count, such as a workload's pods.

    Args:
        name: The typed name.
        names: The existing names.
    """
    # Loaded only for a mistyped name.
    from difflib import get_close_matches

    names = list(names)
    if found := get_close_matches(name, names, n=_MAX_NAMES):
        return found
    beginnings: dict[str, list[str]] = {}
    for other in names:
        beginnings.setdefault(other[: len(name) + 1], []).append(other)
    near = get_close_matches(name, beginnings, n=_MAX_NAMES, cutoff=_MIN_BEGINNING_RATIO)
    return [other for beginning in near for other in beginnings[beginning]][:_MAX_NAMES]
