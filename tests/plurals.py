"""Finds wrong plurals: ``1 nodes``, ``1 of 1 containers``, ``1 pod are``; in pages and in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

_NOUN: Final = (
    r"(?:attachment|budget|candidate|change|claim|cluster|command|container|device|disk|domain|error|event|failure"
    r"|file|finding|gate|heading|Job|inode|line|member|namespace|node|notice|object|other|path|pod|priority|replica|restart"
    r"|rule|second|taint|thing|time|victim|volume|warning|workload|zone)"
)
_NOUNS: Final = rf"(?:{_NOUN}s|processes)"
_VERBS: Final = r"(?:are|do|have|go|stay|hang|run|wait|fit|fail|lack|were)"
_ONE: Final = r"(?<![\w.,:/=+-])1"
_WRONG: Final = re.compile(
    rf"{_ONE}\s(?:more )?{_NOUNS}\b(?!/)|\b1st of 1\b|\b1 of 1 \w+s\b"
    rf"|{_ONE} of \d+ {_VERBS}\b|{_ONE} (?:more )?{_NOUN} {_VERBS}\b"
    r"|\bwithout (?:node|pod) [^\s,]+(?:, [^\s,]+)* and ",
    re.IGNORECASE,
)
_COUNTED: Final = re.compile(rf" (?:more |other )?{_NOUNS}\b")
_PRONOUNS: Final = {"possessive", "their"}


def wrong_plurals(text: str) -> Iterator[str]:
    """What is wrong, with what stands around it; a table's columns are further apart than words."""
    for found in _WRONG.finditer(text):
        yield text[max(found.start() - 40, 0) : found.end() + 20]


def plurals_in_code(source: str) -> Iterator[str]:
    """Each f-string that puts a number before a noun in the plural, unless a condition chooses it."""
    tree = ast.parse(source)
    chosen = {inner for one in ast.walk(tree) if isinstance(one, ast.IfExp) for inner in ast.walk(one)}
    for text in ast.walk(tree):
        if isinstance(text, ast.JoinedStr) and text not in chosen and any(map(_is_plural, *_neighbours(text))):
            yield ast.unparse(text)


def _neighbours(text: ast.JoinedStr) -> tuple[list[ast.expr], list[ast.expr]]:
    """The parts of a text, and what stands behind each."""
    return text.values[:-1], text.values[1:]


def _is_plural(number: ast.expr, words: ast.expr) -> bool:
    """Whether that is a value and a noun in the plural; ``{their} pods`` and what a condition chooses are not."""
    if not isinstance(number, ast.FormattedValue) or not isinstance(words, ast.Constant):
        return False
    is_word = isinstance(number.value, ast.IfExp) or getattr(number.value, "id", "") in _PRONOUNS
    return not is_word and _COUNTED.match(str(words.value)) is not None
