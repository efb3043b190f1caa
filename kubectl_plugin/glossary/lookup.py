"""From a text to entries: a term as people type it, or a message as it is pasted out of an event.

    0/12 nodes are available: 2 Insufficient memory, 10 node(s) were unschedulable. preemption: 0/12 nodes are …

The sentence is FitError's, and preemption's own has the same form; each reason is looked up by itself. Other messages
stand in a frame that Kubernetes puts around a cause, such as ``pods "web" is forbidden:``: the cause counts first. A
known word inside a text of another form explains nothing.

Source: FitError.Error in pkg/scheduler/framework/types.go at v1.37.1.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from math import log
from typing import Final, NamedTuple

from kubectl_plugin.glossary.catalogue import CATALOGUE
from kubectl_plugin.glossary.entry import Entry
from podrules.model.quantity import whole_number

__all__ = ["MAX_TEXT", "Found", "Reading", "find", "read", "similar"]

MAX_TEXT: Final = 8192
"""Characters of a text that are read: no message of Kubernetes is longer."""
_MAX_FRAMES: Final = 8
"""Frames around one cause, and details behind one field."""
_COUNTED: Final = re.compile(r"(?:\b\d+/(\d+) )?nodes are available:", re.IGNORECASE)
_PREEMPTION: Final = re.compile(r"(^|, )preemption:( |$)")
"""Says whose the text behind it is."""
_ENTRY: Final = re.compile(r"(?:^|, )(\d+) (?=\D)")
_NO_SCALE_UP: Final = re.compile(r"(pod didn't trigger scale-up[^:]*): (.+)")
"""cluster-autoscaler's event; its numbers count groups of nodes."""
_SUGGESTED: Final = 5
_CLOSE: Final = 0.6
_CLOSE_WHERE_SHORT: Final = 0.7
"""As difflib counts it: of three letters two are alike by chance."""
_SHORT: Final = 3
_MAX_WORDS: Final = 12
"""The most words of a text that is taken for several terms in a row."""
_EVENT: Final = re.compile(
    r"(?:\S+ ){0,2}(?:\([^)]*\) )?(?:Normal|Warning) (?P<reason>[A-Z]\w+) "
    r"(?:[A-Za-z.]+/\S+(?: spec\.\w+\{[^}]*\})?|\S+ (?:\([^)]*\) )?[a-z][\w-]*(?:, \S+)?) (?P<message>.+)"
)
"""A line of `kubectl get events`, or of the events that `kubectl describe` lists."""
_LABEL: Final = re.compile(
    r"\"?\b(?:last state|state|reason|message|status|exit ?code)\"?: *\"?(?P<cause>\S.*?)\"?,?", re.IGNORECASE
)
"""A line of a container or pod, as `kubectl describe`, YAML and JSON show it."""
_LABELS: Final = re.compile(
    r"(?<=\S) +(?=(?:Last State|State|Reason|Message|Exit Code|Started|Finished|\* [\w.]\S+): )"
)
"""Between such lines that were pasted as one."""
_SAYS: Final = re.compile(r"(?:error|warning): (?P<cause>.+)", re.IGNORECASE)
"""What comes before a text of any program: the text with it, if it is known, counts first."""
_FRAMES: Final = (
    r"([\"'`])(?P<cause>.+)\1",
    r"error creating: (?P<cause>.+)",
    r"\w+ (?:claim \S+ for )?pod \S+ in statefulset \S+ failed error: (?P<cause>.+)",
    r"error from server(?: \(\w+\))?: (?P<cause>.+)",
    r"error when [^:]+: (?P<cause>.+)",
    r"(?:error: )?unable to (?:drain|cordon|uncordon) node [^:]+: (?P<cause>.+?)(?:, continuing command\.\.\.)?",
    r"(?:the )?[\w.]+(?: \"[^\"]*\")? is (?:forbidden|invalid): (?P<cause>.+)",
    r"internal error occurred: (?P<cause>.+)",
    r"pod was rejected: (?P<cause>.+)",
    r"rpc error: code = \w+ desc = (?P<cause>.+)",
    r"running [\w \"]+ plugin(?: for pod)?(?: \"[^\"]*\")?: (?P<cause>.+)",
    r"(?:last state: |(?:command )?terminated with )(?P<cause>exit code.+)",
    r"container \"[^\"]*\" in pod \"[^\"]*\" is waiting to start: (?P<cause>.+)",
    r"failed to \"\w+\" for \"[^\"]*\" with (?P<reason>\w+): \"(?P<cause>.+)\"",
    r"(?P<reason>(?-i:(?:[A-Z][a-z0-9]+){2,})): (?P<cause>.+)",
    r"init:(?P<cause>[a-z].+)",
    r"node \S+ event: (?P<cause>.+)",
    r"error processing PVC \S+: (?P<cause>.+)",
    r"unable to attach or mount volumes: unmounted .* failed to process volumes=\S*: (?P<cause>.+)",
)
"""What Kubernetes puts before the text of a cause; the cause counts first."""
_FIELD: Final = re.compile(
    r"(?:\* )?[a-z][\w.\[\]()/\"-]*: (?:invalid value|forbidden|required value|unsupported value|duplicate value"
    r"|not found|too (?:long|short|many|few)|internal error)(?P<details>: .+)?",
    re.IGNORECASE,
)
"""What validation says of a field: a value may follow, then the rule."""
_VAGUE: Final = frozenset(
    (
        *("completed", "created", "critical", "failed", "immediate", "killing", "lost", "never", "pulled", "pulling"),
        *(
            "queue",
            "ready",
            "request",
            "requests",
            "restart",
            "running",
            "scheduled",
            "started",
            "succeeded",
            "unknown",
        ),
    )
)
"""Words of any program: with another term behind or before them they are no message of Kubernetes."""
_WORD: Final = re.compile(r"[^\W_]{4,}")
_NO_LETTER: Final = re.compile(r"[\W_]+")


class Found(NamedTuple):
    """An entry and why it was found."""

    entry: Entry
    text: str
    """The part of the text that it explains."""
    nodes: int | None
    """Of how many nodes the message said it; None: it did not say."""


class Reading(NamedTuple):
    """What is known of a text, and of a message of Kubernetes the parts that are not."""

    found: tuple[Found, ...] = ()
    """Each entry once: what holds on all nodes first, then as the text says it."""
    unknown: tuple[str, ...] = ()


def find(text: str) -> tuple[Found, ...]:
    """The entries of a text: a term, a reason or a whole message."""
    return read(text).found


def read(text: str) -> Reading:
    """What is known of a text; only its first `MAX_TEXT` characters count."""
    lines = [" ".join(line.split()) for line in _LABELS.sub("\n", text[:MAX_TEXT]).splitlines()]
    events = [event for line in lines if (event := _EVENT.fullmatch(line))]
    if events:
        return _joined(_read_cause(event["reason"], event["message"], _MAX_FRAMES) for event in events)
    labelled = [line for line in lines if _LABEL.fullmatch(line) or _FIELD.fullmatch(line)]
    by_line = _joined(_read_message(line, _MAX_FRAMES) for line in labelled if len(lines) > 1)
    return Reading(by_line.found) if by_line.found else _read_message(" ".join(text[:MAX_TEXT].split()), _MAX_FRAMES)


def _read_cause(reason: str, cause: str, frames: int) -> Reading:
    """What is known of a cause, else of the reason that stands before it."""
    said = _read_message(cause, frames)
    if said.found or (named := _by_name(reason)) is None:
        return said
    return Reading((Found(named, reason, None),), (cause,))


def _read_message(text: str, frames: int) -> Reading:
    """What is known of a text in one line, inside so many frames at most."""
    if frames and text[:1] in ("{", "[") and (in_json := _read_json(text, frames - 1)).found:
        return in_json
    if (counted := _counted(text)) is not None:
        return counted
    if frames and text[:1] == "[" and text[-1:] == "]":
        return Reading(_joined(_read_message(one, frames - 1) for one in text[1:-1].split(", ")).found)
    frame = next(filter(None, (frame.fullmatch(text) for frame in _frames())), None) if frames else None
    if frame is not None:
        cause = _read_cause(frame.groupdict().get("reason", ""), frame["cause"].strip(), frames - 1)
        if cause.found:
            return cause
    if (entry := _entry(text)) is not None:
        return Reading((Found(entry, text, None),), (frame["cause"],) if frame is not None else ())
    said = _LABEL.fullmatch(text) or _SAYS.fullmatch(text)
    if frames and said and (said.re is _LABEL or not _VAGUE.issuperset(_words(said["cause"]))):
        return _read_message(said["cause"], frames - 1)
    if field := _FIELD.fullmatch(text):
        return _read_field(text, field["details"] or "")
    parts = [_entry(part) for part in re.split(r", |; |\. ", text)]
    if len(parts) > 1 and all(parts):
        return Reading(_once(Found(entry, entry.name, None) for entry in parts if entry is not None))
    return Reading(_once(_terms_in_a_row(text)))


def _read_json(text: str, frames: int) -> Reading:
    """What is known of the reasons, messages and exit codes of objects in JSON, the inner ones first."""
    objects: list[dict[str, object]] = []
    try:
        json.loads(text, object_hook=objects.append)
    except (ValueError, RecursionError):
        return Reading()
    readings: list[Reading] = []
    for one in objects:
        reason, message = (" ".join(str(one.get(key) or "").split()) for key in ("reason", "message"))
        code = _read_message(f"exit code {one['exitCode']}", 0) if "exitCode" in one else Reading()
        readings += (_read_cause(reason, message, frames) if message else _read_message(reason, 0), code)
    return _joined(readings)


def _read_field(text: str, details: str) -> Reading:
    """The rule that a field breaks, or what all such texts have in common."""
    _, *behind = details.split(": ")
    known = (_entry(": ".join(behind[at:])) for at in range(max(0, len(behind) - _MAX_FRAMES), len(behind)))
    return Reading((Found(next(filter(None, known), _BY_NAME["invalid value"]), text, None),))


def _joined(readings: Iterable[Reading]) -> Reading:
    all_read = list(readings)
    unknown = dict.fromkeys(chain.from_iterable(reading.unknown for reading in all_read))
    return Reading(_once(chain.from_iterable(reading.found for reading in all_read)), tuple(unknown))


def _once(found: Iterable[Found]) -> tuple[Found, ...]:
    """The first of each entry."""
    first: dict[str, Found] = {}
    for one in found:
        first.setdefault(one.entry.name, one)
    return tuple(first.values())


def _terms_in_a_row(text: str) -> tuple[Found, ...]:
    """The entries of a text that is known terms and nothing else, as ``OOMKilled exit 137``; of each the longest."""
    words = text.split()[:_MAX_WORDS]
    if len(words) != len(text.split()) or not _VAGUE.isdisjoint(_words(text)):
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


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def similar(text: str) -> tuple[str, ...]:
    """Terms that look like a text or hold it, best first: of each entry the spelling that is meant."""
    wanted = _folded(text[:MAX_TEXT])
    closeness = _CLOSE if len(wanted) > _SHORT else _CLOSE_WHERE_SHORT
    near = difflib.get_close_matches(wanted, _spellings(), n=_SUGGESTED, cutoff=closeness)
    spellings = dict.fromkeys([*near, *_holding(wanted), *_sharing_words(wanted)])
    first = {_BY_NAME[spelling].name: spelling for spelling in reversed(spellings)}
    return tuple(_spellings()[spelling] for spelling in spellings if first[_BY_NAME[spelling].name] == spelling)[
        :_SUGGESTED
    ]


def _holding(wanted: str) -> list[str]:
    """Spellings with a text in them: first those with it as a word of its own, the shortest first."""
    holding = [folded for folded in _spellings() if wanted and wanted in folded]
    return sorted(holding, key=lambda folded: (wanted not in folded.split(), len(folded)))


def _sharing_words(wanted: str) -> list[str]:
    """Spellings that share words with a text, those with the rarest first, and of them the shortest."""
    words_of = {folded: set(_WORD.findall(folded)) for folded in _spellings()}
    words = set(_WORD.findall(wanted))
    weights = {
        word: log(len(words_of) / had) for word in words if (had := sum(word in has for has in words_of.values()))
    }
    shared = {folded: sum(weights.get(word, 0) for word in has) for folded, has in words_of.items()}
    return sorted((one for one, weight in shared.items() if weight), key=lambda one: (-shared[one], len(one)))


def _entry(text: str) -> Entry | None:
    return _by_name(text) or next((entry for pattern, entry in _patterns() if pattern.fullmatch(text)), None)


def _by_name(text: str) -> Entry | None:
    """The entry with that spelling, or with its letters, in one word or several, in the singular or the plural."""
    if (named := _BY_NAME.get(_folded(text))) is not None:
        return named
    letters, by_letters = _letters(text), _by_letters()
    return by_letters.get(letters) or by_letters.get(letters.removesuffix("s")) or by_letters.get(f"{letters}s")


def _counted(text: str) -> Reading | None:
    """The reasons of a message that counts nodes, or groups of nodes; None: it is another."""
    if scale_up := _NO_SCALE_UP.fullmatch(text):
        parts = (scale_up[1], *_ENTRY.split(scale_up[2].rstrip("."))[2::2])
        return _joined(_read_part(part, None) for part in parts)
    before, *sentences = _COUNTED.split(text)
    if not sentences:
        return None
    readings = [Reading(_read_clauses(before).found)]
    for total, sentence in zip(sentences[::2], sentences[1::2], strict=True):
        # A sentence ends with a full stop before a space: names of resources have full stops inside.
        reasons, _, rest = f"{sentence.strip()} ".partition(". ")
        on_all_nodes, *numbered = _ENTRY.split(reasons.strip())
        if on_all_nodes:
            readings.append(_read_part(on_all_nodes, None))
        pairs = sorted(zip(numbered[::2], numbered[1::2], strict=True), key=lambda pair: pair[0] != total)
        readings.extend(_read_part(reason, whole_number(count)) for count, reason in pairs)
        readings.append(_read_clauses(rest))
    joined = _joined(readings)
    return joined if joined.found else joined._replace(found=(Found(_BY_NAME["failedscheduling"], text, None),))


def _read_part(text: str, nodes: int | None) -> Reading:
    part = _read_message(text, 1)
    if not part.found:
        return Reading(unknown=(text,))
    return part._replace(found=tuple(one._replace(text=text, nodes=nodes) for one in part.found))


def _read_clauses(text: str) -> Reading:
    clauses = re.split(r", |; |: |\. ", _PREEMPTION.sub(r"\1", text.strip()))
    return _joined(_read_part(clause.strip(". "), None) for clause in clauses if clause.strip(". "))


def _folded(text: str) -> str:
    return " ".join(text.split()).strip("\"'`.:, ").casefold()


def _letters(text: str) -> str:
    return _NO_LETTER.sub("", _folded(text))


def _spelt(entries: Iterable[Entry]) -> Iterator[tuple[str, Entry]]:
    for entry in entries:
        for spelling in (entry.name, *entry.also):
            yield spelling, entry


@cache
def _by_letters() -> dict[str, Entry]:
    """Of spellings that share their letters, the entry that comes first."""
    return {letters: entry for spelling, entry in reversed(_BY_NAME.items()) if (letters := _letters(spelling))}


@cache
def _spellings() -> dict[str, str]:
    """As they are written, by how they are looked up."""
    return {_folded(spelling): spelling for spelling, _ in reversed(tuple(_spelt(_ALL)))}


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Entry], ...]:
    """Compiled where no spelling is enough."""
    return tuple((re.compile(entry.pattern, re.IGNORECASE), entry) for entry in _ALL if entry.pattern)


@cache
def _frames() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(frame, re.IGNORECASE) for frame in _FRAMES)


_ALL: Final = tuple(entry for entries in CATALOGUE.values() for entry in entries)
_BY_NAME: Final = {_folded(spelling): entry for spelling, entry in _spelt(_ALL)}
