"""From a text to entries: a term as people type it, or a message as it is pasted out of an event.

    0/12 nodes are available: 2 Insufficient memory, 10 node(s) were unschedulable. preemption: 0/12 nodes are …

The sentence is FitError's, and preemption's own has the same form; each reason is looked up by itself.

Source: FitError.Error in pkg/scheduler/framework/types.go at v1.36.3.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from kubectl_plugin.glossary.catalogue import CATALOGUE
from kubectl_plugin.glossary.entry import Entry
from podrules.model.quantity import whole_number

__all__ = ["MAX_TEXT", "Found", "find", "similar"]

MAX_TEXT: Final = 8192
"""Characters of a text that are read: no message of Kubernetes is longer."""
_OF_INIT: Final = "Init:"
"""Before the state of an init container, in STATUS."""
_COUNTED: Final = re.compile(r"\b\d+/\d+ nodes are available:", re.IGNORECASE)
_BEFORE_COUNTED: Final = re.compile(r"(^|, )preemption: *$")
"""Says whose the next sentence is."""
_ENTRY: Final = re.compile(r"(?:^|, )(\d+) (?=\D)")
_SUGGESTED: Final = 5
_CLOSE: Final = 0.6
_CLOSE_WHERE_SHORT: Final = 0.7
"""As difflib counts it: of three letters two are alike by chance."""
_SHORT: Final = 3
_MAX_WORDS: Final = 12
"""The most words of a text that is taken for several terms in a row."""
_EVENT: Final = re.compile(
    r"(?:\S+ ){0,2}(?:\([^)]*\) )?(?:Normal|Warning) (?P<reason>[A-Z]\w+) "
    r"(?:[a-z]+/\S+|\S+ (?:\([^)]*\) )?[a-z][\w-]*(?:, \S+)?) (?P<message>.+)"
)
"""A line of `kubectl get events`, or of the events that `kubectl describe` lists."""
_WORD: Final = re.compile(r"[^\W_]{4,}")
_NO_LETTER: Final = re.compile(r"[\W_]+")


class Found(NamedTuple):
    """An entry and why it was found."""

    entry: Entry
    text: str
    """The part of the text that it explains."""
    nodes: int | None
    """Of how many nodes the message said it; None: it did not say."""


def find(text: str) -> tuple[Found, ...]:
    """The entries of a text in its own order, each once; none when nothing is known of any part.

    Args:
        text: A term, a reason or a whole message; only its first `MAX_TEXT` characters count.
    """
    text = text[:MAX_TEXT]
    events = [_EVENT.fullmatch(" ".join(line.split())) for line in text.splitlines()]
    if any(events):
        return _once(chain.from_iterable(find(event["message"]) or find(event["reason"]) for event in events if event))
    whole = _entry(text) or _behind_its_subject(text)
    if whole is not None:
        return (Found(whole, text.strip(), None),)
    parts = _once(Found(entry, part, nodes) for part, nodes in _parts(text) if (entry := _entry(part)) is not None)
    return parts or _once(_terms_in_a_row(text))


def _once(found: Iterable[Found]) -> tuple[Found, ...]:
    """The first of each entry."""
    first: dict[str, Found] = {}
    for one in found:
        first.setdefault(one.entry.name, one)
    return tuple(first.values())


def _terms_in_a_row(text: str) -> tuple[Found, ...]:
    """The entries of a text that is known terms and nothing else, as ``OOMKilled exit 137``; of each the longest."""
    words = text.split()[:_MAX_WORDS]
    if len(words) != len(text.split()):
        return ()
    found = []
    while words:
        tried = (" ".join(words[:length]) for length in range(len(words), 0, -1))
        term = next(((part, entry) for part in tried if (entry := _entry(part)) is not None), None)
        if term is None:
            return ()
        found.append(Found(term[1], term[0], None))
        words = words[len(term[0].split()) :]
    return tuple(found)


def similar(text: str) -> tuple[str, ...]:
    """Terms that look like a text or hold it, best first: of each entry the spelling that is meant."""
    wanted = _folded(text[:MAX_TEXT])
    closeness = _CLOSE if len(wanted) > _SHORT else _CLOSE_WHERE_SHORT
    near = difflib.get_close_matches(wanted, _SPELLINGS, n=_SUGGESTED, cutoff=closeness)
    spellings = dict.fromkeys([*near, *_holding(wanted), *_sharing_words(wanted)])
    first = {_BY_NAME[spelling].name: spelling for spelling in reversed(spellings)}
    return tuple(_SPELLINGS[spelling] for spelling in spellings if first[_BY_NAME[spelling].name] == spelling)[
        :_SUGGESTED
    ]


def _holding(wanted: str) -> list[str]:
    """Spellings with a text in them: first those with it as a word of its own, the shortest first."""
    holding = [folded for folded in _SPELLINGS if wanted and wanted in folded]
    return sorted(holding, key=lambda folded: (wanted not in folded.split(), len(folded)))


def _sharing_words(wanted: str) -> list[str]:
    """Spellings that share words with a text, those with the most first, and of them the shortest."""
    words = set(_WORD.findall(wanted))
    shared = {folded: len(words & set(_WORD.findall(folded))) for folded in _SPELLINGS}
    return sorted((one for one, count in shared.items() if count), key=lambda one: (-shared[one], len(one)))


def _entry(text: str) -> Entry | None:
    by_name = _BY_NAME.get(_folded(text)) or _by_letters(text)
    if by_name is not None:
        return by_name
    plain = " ".join(text.split())
    return next((entry for pattern, entry in _PATTERNS if pattern.fullmatch(plain)), None)


def _behind_its_subject(text: str) -> Entry | None:
    """The entry of what stands behind a prefix such as ``Pod was rejected:``; a scheduler's message is taken apart."""
    if _COUNTED.search(text):
        return None
    if text.startswith(_OF_INIT):
        return _entry(text.removeprefix(_OF_INIT))
    _, *behind = text.split(": ")
    return next(filter(None, (_entry(": ".join(behind[at:])) for at in range(len(behind)))), None)


def _by_letters(text: str) -> Entry | None:
    """The entry whose spelling has the same letters, in one word or several, in the singular or the plural."""
    letters = _letters(text)
    return next(
        (_BY_LETTERS[one] for one in (letters, letters.removesuffix("s"), f"{letters}s") if one in _BY_LETTERS), None
    )


def _parts(text: str) -> Iterator[tuple[str, int | None]]:
    """The reasons of a message, and of how many nodes each was said."""
    before, *sentences = _COUNTED.split(" ".join(text.split()))
    yield from _clauses(before)
    for sentence in sentences:
        reasons, _, rest = _split_sentence(sentence)
        numbered = _ENTRY.split(reasons.strip())
        for count, reason in zip(numbered[1::2], numbered[2::2], strict=True):
            yield reason, whole_number(count)
        yield from _clauses(rest)


def _split_sentence(sentence: str) -> tuple[str, str, str]:
    """Reasons end with a full stop before a space or the end: names of resources have full stops inside."""
    end = re.search(r"\.(?= |$)", sentence)
    return (sentence, "", "") if end is None else (sentence[: end.start()], ".", sentence[end.end() :])


def _clauses(text: str) -> Iterator[tuple[str, int | None]]:
    for clause in re.split(r", |; |: |\. ", _BEFORE_COUNTED.sub("", text)):
        if clause.strip():
            yield clause.strip(), None


def _folded(text: str) -> str:
    return " ".join(text.split()).strip("\"'`.:, ").casefold()


def _letters(text: str) -> str:
    return _NO_LETTER.sub("", _folded(text))


def _spelt(entries: Iterable[Entry]) -> Iterator[tuple[str, Entry]]:
    for entry in entries:
        for spelling in (entry.name, *entry.also):
            yield spelling, entry


_ALL: Final = tuple(entry for entries in CATALOGUE.values() for entry in entries)
_BY_NAME: Final = {_folded(spelling): entry for spelling, entry in _spelt(_ALL)}
_BY_LETTERS: Final = {
    letters: entry for spelling, entry in reversed(_BY_NAME.items()) if (letters := _letters(spelling))
}
"""Of spellings that share their letters, that of the entry that comes first."""
_SPELLINGS: Final = {_folded(spelling): spelling for spelling, _ in reversed(tuple(_spelt(_ALL)))}
"""As they are written, by how they are looked up."""
_PATTERNS: Final = tuple((re.compile(entry.pattern, re.IGNORECASE), entry) for entry in _ALL if entry.pattern)
