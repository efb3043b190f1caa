"""The entries of the glossary, by topic, as `glossary.md` states them.

``# topic`` begins a topic and ``## name`` an entry; the next line says what the entry means. Items are sentences of the
rule, or ``key: value``: ``do`` a remedy, ``run`` a command, ``pattern`` one more alternative of the pattern, ``code``,
``also``, ``see`` and ``source`` a list with semicolons.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pkgutil import get_data
from typing import Final

from msgspec import Struct


class Entry(Struct, frozen=True, kw_only=True, rename="camel"):
    """One term, or one message of Kubernetes."""

    name: str
    """The name as upstream spells it."""
    also: tuple[str, ...] = ()
    """Other spellings."""
    pattern: str = ""
    """A regular expression for a message with names or numbers; it matches the whole message."""
    means: str
    """The decisive fact, in one sentence."""
    rule: tuple[str, ...] = ()
    """The rule behind it, sentence by sentence."""
    do: tuple[str, ...] = ()
    """The remedies."""
    commands: tuple[str, ...] = ()
    """Commands that show more."""
    source: tuple[str, ...]
    """Files of kubernetes v1.37.1, KEPs, or kernel files; empty for a term of this program."""
    see: tuple[str, ...] = ()
    """Names of other entries."""


_KEYS: Final = frozenset(("do", "run", "also", "code", "pattern", "see", "source"))


def parse(text: str) -> tuple[dict[str, tuple[Entry, ...]], dict[str, tuple[str, ...]]]:
    """The entries by topic, and the codes of `kubectl qos` that an entry explains, by the entry's name."""
    topics: dict[str, tuple[Entry, ...]] = {}
    codes: dict[str, tuple[str, ...]] = {}
    for part in text.split("\n# ")[1:]:
        topic, *entries = part.strip().split("\n\n## ")
        topics[topic] = tuple(_parse_entry(entry.splitlines(), codes) for entry in entries)
    return topics, codes


def _parse_entry(lines: Sequence[str], codes: dict[str, tuple[str, ...]]) -> Entry:
    name, means, *items = lines
    found: defaultdict[str, list[str]] = defaultdict(list)
    for item in items:
        key, _, value = item.removeprefix("- ").partition(": ")
        if key in _KEYS:
            found[key].append(value)
        else:
            found["rule"].append(item.removeprefix("- "))
    if found["code"]:
        codes[name] = _split(found["code"])
    return Entry(
        name=name,
        means=means,
        rule=tuple(found["rule"]),
        do=tuple(found["do"]),
        commands=tuple(map(_unquote, found["run"])),
        also=_split(found["also"]),
        pattern="|".join(map(_unquote, found["pattern"])),
        see=_split(found["see"]),
        source=_split(found["source"]),
    )


def _split(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(part for value in values for part in value.split("; "))


def _unquote(code: str) -> str:
    """A code span of Markdown without its quotes: two and a space around a text that contains one itself."""
    return code[3:-3] if code.startswith("`` ") else code[1:-1]


CATALOGUE, CODES = parse((get_data(__package__, "glossary.md") or b"").decode())
