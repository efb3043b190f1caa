"""The word that was probably meant by an unknown one. Loaded only for a mistake."""

from __future__ import annotations

from collections.abc import Sequence

from podrules.api.names import nearest_word


def nearest(word: str, among: Sequence[str], *, closeness: float = 0.6) -> str:
    """The most similar flag or value, ignoring dashes and case; empty: none is similar.

    Args:
        word: The typed word.
        among: The words to choose from.
        closeness: The required similarity, from 0 to 1, as difflib defines it.
    """
    plain = {name.lstrip("-").lower(): name for name in among}
    return plain.get(nearest_word(word.lstrip("-").lower(), plain, closeness=closeness), "")


def not_one_of(value: str, choices: Sequence[str]) -> str:
    """The problem of a value, and after a line break the probable intention."""
    near = nearest(value, choices)
    advice = f"Did you mean {near}?" if near else "Write one of these"
    return f'"{value}": not one of {", ".join(choices)}\n{advice}'
