"""Suggests existing names that are similar to a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

__all__ = ["near_names", "nearest_word"]

_MOST: Final = 3
_BEGINNING: Final = 0.8
"""How close, as difflib counts it, a beginning has to be: names that go on are many."""


def nearest_word(word: str, known: Iterable[str], *, closeness: float = 0.6) -> str:
    """The word of a fixed list that is nearest to what was typed; empty: none is near.

    Args:
        word: What was typed.
        known: The list.
        closeness: How alike they have to be, as difflib counts it from 0 to 1.
    """
    # Loaded when something is mistyped.
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=closeness)), "")


def near_names(name: str, names: Iterable[str]) -> Sequence[str]:
    """The nearest first; without one, those that begin nearly so, as the pods of a workload do. Three at most.

    Args:
        name: What was typed.
        names: What there is.
    """
    # Loaded when something is mistyped.
    from difflib import get_close_matches

    names = list(names)
    if found := get_close_matches(name, names, n=_MOST):
        return found
    beginnings: dict[str, list[str]] = {}
    for other in names:
        beginnings.setdefault(other[: len(name) + 1], []).append(other)
    near = get_close_matches(name, beginnings, n=_MOST, cutoff=_BEGINNING)
    return [other for beginning in near for other in beginnings[beginning]][:_MOST]
