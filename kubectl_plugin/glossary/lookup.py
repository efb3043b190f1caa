"""From a text to entries: a typed term, or a pasted message, for example of an event.

    0/12 nodes are available: 2 Insufficient memory, 10 node(s) were unschedulable. preemption: 0/12 nodes are …

The sentence is FitError's, and preemption's has the same form; each reason is looked up separately. Other messages are
in a frame that Kubernetes puts around a cause, such as ``pods "web" is forbidden:``: the cause counts first. A known
word inside a text of another form explains nothing.

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

from kubectl_plugin.glossary.catalogue import CATALOGUE, CODES, Entry
from podrules.api.model.quantity import whole_number

MAX_TEXT: Final = 8192
"""The most characters of a line that are read: no message of Kubernetes is longer."""
MAX_INPUT: Final = 16 * MAX_TEXT
"""The most characters of several lines that are read, from the end: the newest events are the last."""
_MAX_FRAMES: Final = 8
"""Frames around one cause, and details behind one field."""
_COUNTED: Final = re.compile(r"(?:\b\d+/(\d+) )?nodes are available:", re.IGNORECASE)
_PREEMPTION: Final = re.compile(r"(^|, )preemption:( |$)")
"""The text after it is about preemption."""
_ENTRY: Final = re.compile(r"(?:^|, )(\d+) (?=\D)")
_NO_SCALE_UP: Final = re.compile(r"(pod didn't trigger scale-up[^:]*): (.+)")
"""cluster-autoscaler's event; its numbers count groups of nodes."""
_SUGGESTED: Final = 5
_CLOSE: Final = 0.6
_CLOSE_WHERE_SHORT: Final = 0.7
"""Similarity by difflib: two of three letters are equal by chance."""
_SHORT: Final = 3
_MAX_WORDS: Final = 12
"""The most words of a text that is read as several terms in a row."""
_EVENT_BEGINS: Final = r"(?:\S+ ){0,2}(?:\([^)]*\) )?(?:Normal|Warning) (?P<reason>[A-Z]\w+) "
_OBJECT: Final = r"[A-Za-z.]+/\S+(?: \w+\.\w+\{[^}]*\})?"
_EVENTS: Final = (
    rf"{_EVENT_BEGINS}{_OBJECT} (?P<source>[a-z][\w.-]*)(?:, \S+)? (?P<message>.+) \d\w* \d+ \S{{1,253}}\.[\da-f]+",
    rf"{_EVENT_BEGINS}{_OBJECT} (?P<message>.+)",
    rf"{_EVENT_BEGINS}\S+ (?:\([^)]*\) )?(?P<source>[a-z][\w.-]*)(?:, \S+)? (?P<message>.+)",
)
"""A line of `kubectl get events -o wide`, of `kubectl get events`, or of the events that `kubectl describe` lists."""
_OURS: Final = re.compile(
    r"kubelet|default-scheduler|cluster-autoscaler|horizontal-pod-autoscaler|volume_expand|\w+_(?:claim|volume)"
    r"|controllermanager|(?:attachdetach|persistentvolume|(?:cloud-)?node(?:-lifecycle)?|taint-eviction|daemonset"
    r"|deployment|(?:cron)?job|replica(?:set|tion)|statefulset)-controller"
)
"""Kubernetes' own sources of events; for others, or without a source, a reason does not explain unknown messages."""
_ROWS: Final = (
    (
        r"(?:[A-Z]\w+Pressure|(?:Containers)?Ready|(?:NetworkUna|A)vailable|Progressing|ReplicaFailure|Scaling\w+) "
        r"(?:True|False|Unknown) (?:\w+, \d+ \w+ \d+ [\d:]+ [+-]\d+ ){0,2}(?P<reason>[A-Z]\w+)(?: (?P<cause>.+))?"
    ),
    r"(?:[a-z\d][\w.-]* ){1,2}\d+/\d+ (?P<cause>[A-Z]\S*) \d+ (?:\([^)]* ago\) )?\d\w*(?: .*)?",
    r"\S+ (?P<cause>(?:NotReady|Ready|Unknown)(?:,SchedulingDisabled)?) \S+ \d\w* v\d+\.\d+\S*(?: .*)?",
    r"(?P<cause>Unschedulable: true)",
    r"(?:Taints: )?(?P<cause>[\w.-]+/[\w.-]+)(?:=[\w.-]*)?:(?:NoSchedule|PreferNoSchedule|NoExecute)",
)
"""Lines that kubectl prints: a condition, a pod in a list, a node in a list, a cordon, a taint."""
_LOG: Final = re.compile(
    r"(?:[^\"]*\] )?\"(?P<said>[^\"]+ [^\"]+)\"(?= \w+=)(?:.*? err=\"(?P<error>(?:[^\"\\]|\\.)*)\")?.*"
)
"""A line in the log of a component: the message, followed by keys and values."""
_LAST: Final = {"CrashLoopBackOff": 1, "Pulled": 2, "phase": 2, "KubeletReady": 2, "ScalingReplicaSet": 2}
"""The entries to list last: those with their cause in other lines, then those without a problem."""
_SOME: Final = re.compile(
    r"\d+ (?=Insufficient |Too many |node\(s\) |pod has |persistentvolumeclaim |cannot allocate |Preemption is |No ).+"
)
"""Counted reasons, copied from a scheduler's message."""
_LABEL: Final = re.compile(
    r"\"?\b(?:last state|state|reason|message|status|exit ?code)\"?: *\"?(?P<cause>\S.*?)\"?,?", re.IGNORECASE
)
"""A line of a container or pod, as `kubectl describe`, YAML and JSON show it."""
_LABELS: Final = re.compile(
    r"(?<=\S) +(?=(?:Last State|State|Reason|Message|Exit Code|Started|Finished|\* [\w.]\S+): )"
)
"""The separator of such lines that were pasted as one."""
_SAYS: Final = re.compile(r"(?:error|warning): (?P<cause>.+)", re.IGNORECASE)
"""A prefix of messages of any program: if the message is known with it, that counts first."""
_FRAMES: Final = (
    r"([\"'`])(?P<cause>.+)\1",
    r"error creating: (?P<cause>.+)",
    r"\w+ (?:claim \S+ for )?pod \S+ in statefulset \S+ failed error: (?P<cause>.+)",
    r"error from server(?: \(\w+\))?: (?P<cause>.+)",
    r"error when [^:]+: (?P<cause>.+)",
    r"(?:error: )?unable to (?:drain|cordon|uncordon) node [^:]+: (?P<cause>.+?)(?:, continuing command\.\.\.)?",
    r"(?:the )?[\w.]+(?: \"[^\"]*\")? is (?:forbidden|invalid): (?P<cause>.+)",
    r"internal error occurred: (?P<cause>.+)",
    r"pod (?:was rejected: |(?=(?:the )?node |predicate ))(?P<cause>.+)",
    r"rpc error: code = \w+ desc = (?P<cause>.+)",
    r"running [\w \"]+ plugin(?: for pod)?(?: \"[^\"]*\")?: (?P<cause>.+)",
    r"(?:last state: |(?:command )?terminated with )(?P<cause>exit code.+)",
    r"container \"[^\"]*\" in pod \"[^\"]*\" is waiting to start: (?P<cause>.+)",
    r"failed to \"\w+\" for \"[^\"]*\" with (?P<reason>\w+): \"(?P<cause>.+)\"",
    r"(?P<reason>(?-i:(?:[A-Z][a-z0-9]+){2,})): (?P<cause>.+)",
    r"init:(?P<cause>[a-z].+)",
    r"node \S+ event: (?P<cause>.+)",
    r"error processing PVC \S+: (?P<cause>.+)",
    r"\(combined from similar events\): (?P<cause>.+)",
    r"(?:error: )?resource mapping not found for name: \S* namespace: \S* from \S+: (?P<cause>.+)",
    r"\w+ in version \"[^\"]*\" cannot be handled as an? \w+: (?P<cause>.+)",
    r"(?:error validating \S+: (?:error validating data: )?|ValidationError\([^)]*\): )(?P<cause>.+?)(?:; if you .*)?",
    r"invalid metrics \(\d+ invalid out of \d+\), first error is: (?P<cause>.+)",
    r"failed to create new replica set \"[^\"]*\": (?P<cause>.+)",
    r"what (?:is|are|does) (?:(?:an?|the) )?(?P<cause>.+?)(?: mean)?\??",
    r"(?:why )?(?:is|are|was) (?:my|our|the) (?:pod|node|container)s? (?:stuck |in )*(?P<cause>(?!killed|stuck).+?)\??",
    r"unable to attach or mount volumes: unmounted .* failed to process volumes=\S*: (?P<cause>.+)",
)
"""Prefixes of Kubernetes before the text of a cause; the cause counts first."""
_FIELD: Final = re.compile(
    r"(?:\* )?[a-z][\w.\[\]()/\"-]*: (?:invalid value|forbidden|required value|unsupported value|duplicate value"
    r"|not found|too (?:long|short|many|few)|internal error)(?P<details>: .+)?",
    re.IGNORECASE,
)
"""A validation message about a field: a value may follow, then the rule."""
_VAGUE: Final = frozenset(
    (
        *(
            "answers",
            "application",
            "back",
            "broken",
            "certain",
            "completed",
            "configuration",
            "conflict",
            "created",
            "critical",
        ),
        *("deleted", "done", "ended", "failed", "fits", "image", "immediate", "kept", "killing", "likely", "lost"),
        *("never", "normal", "planned", "possible", "pulled", "pulling", "queue", "ready", "refused", "rejected"),
        *("replaced", "request", "requests", "restart", "restarted", "running", "runtime", "safe", "scheduled"),
        *("several", "started", "stuck", "succeeded", "suspended", "unknown"),
    )
)
"""Words of any program: with another term before or after them, they are not a message of Kubernetes."""
_QUESTION: Final = re.compile(
    r"^(?:what|why|who|which|when|how|does|do|is|are|was|can) (?:(?:is|are|was|does|my|the|an?) )*"
)
_PATH: Final = re.compile(r"\.?(?:pod\.)?(?:spec|status|metadata)(?:\.[A-Za-z]+(?:\[[^]]*\])?){1,9}")
_WORD: Final = re.compile(r"[^\W_]{4,}")
_NO_LETTER: Final = re.compile(r"[\W_]+")


class FoundEntry(NamedTuple):
    """An entry and why it was found."""

    entry: Entry
    text: str
    """The part of the text that it explains."""
    nodes: int | None
    """The number of nodes in the message; None: not given."""


class Reading(NamedTuple):
    """The known entries of a text, and the unknown parts of a Kubernetes message."""

    found: tuple[FoundEntry, ...] = ()
    """Each entry once: entries for all nodes first, then in the order of the text."""
    unknown: tuple[str, ...] = ()


def find(text: str) -> tuple[FoundEntry, ...]:
    """The entries of a text: a term, a reason or a whole message."""
    return read(text).found


def read(text: str) -> Reading:
    """Read a text; of one line, the first `MAX_TEXT` characters count, of several the last `MAX_INPUT`."""
    lines = [" ".join(line[:MAX_TEXT].split()) for line in _LABELS.sub("\n", text[-MAX_INPUT:]).splitlines()]
    fields = len(lines) > 1 and not any(line.startswith("API Version: ") for line in lines)
    if any(re.fullmatch(r"(?:- )?\"?kind\"?: \"?Event\"?,?", line) for line in lines):
        lines = [line for line in lines if not re.match(r"(?:- )?\"?reason\"?: ", line)]
    readings = [_read_line(line, fields) for line in dict.fromkeys(lines)]
    by_line = _joined(reading for reading in readings if reading is not None)
    if by_line.found or by_line.unknown:
        return by_line._replace(found=tuple(sorted(by_line.found, key=lambda one: _LAST.get(one.entry.name, 0))))
    return _read_message(" ".join(text[:MAX_TEXT].split()), _MAX_FRAMES)


def _read_line(line: str, fields: bool) -> Reading | None:
    """Read a line that kubectl or a component prints, also with `fields`; None: another line."""
    if event := _first(_EVENTS, line):
        return _read_event(event.groupdict().get("source") or "", event["reason"], event["message"])
    if row := _first(_ROWS, line):
        cause = row["cause"] or row["reason"]
        return Reading(_read_message(cause if " " in cause else cause.replace(",", ", "), _MAX_FRAMES).found)
    if log := _LOG.fullmatch(line):
        said = _read_message(re.sub(r"\\(.)", r"\1", log["error"] or ""), _MAX_FRAMES)
        return Reading(said.found or _read_message(log["said"], _MAX_FRAMES).found)
    if fields and (_LABEL.fullmatch(line) or _FIELD.fullmatch(line)):
        return Reading(_read_message(line, _MAX_FRAMES).found)
    return None


def _read_event(source: str, reason: str, message: str) -> Reading:
    """Read the message of an event, else its reason, if its source is Kubernetes' own."""
    named = _by_name("CreateContainerError" if (source, reason) == ("kubelet", "Failed") else reason)
    said = _read_message(message, _MAX_FRAMES)
    if said.found or named is None:
        return said
    return Reading((FoundEntry(named, reason, None),) if _OURS.fullmatch(source) else (), (message,))


def _first(patterns: Iterable[str], text: str) -> re.Match[str] | None:
    return next(filter(None, (re.fullmatch(pattern, text) for pattern in patterns)), None)


def _read_cause(reason: str, cause: str, frames: int) -> Reading:
    """Read a cause, else the reason before it."""
    said = _read_message(cause, frames)
    if said.found or (named := _by_name(reason)) is None:
        return said
    return Reading((FoundEntry(named, reason, None),), (cause,))


def _read_message(text: str, frames: int) -> Reading:
    """Read a text in one line, inside at most this many frames."""
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
        return Reading((FoundEntry(entry, text, None),), (frame["cause"],) if frame is not None else ())
    said = _LABEL.fullmatch(text) or _SAYS.fullmatch(text)
    if frames and said and (said.re is _LABEL or not _VAGUE.issuperset(_words(said["cause"]))):
        return _read_message(said["cause"], frames - 1)
    if field := _FIELD.fullmatch(text):
        return _read_field(text, field["details"] or "")
    if _SOME.fullmatch(text):
        some = _counted(f"nodes are available: {text}")
        return some if some is not None and not some.unknown else Reading()
    parts = [_entry(part) for part in re.split(r", |; |\. ", text)]
    if len(parts) > 1 and all(parts):
        return Reading(_once(FoundEntry(entry, entry.name, None) for entry in parts if entry is not None))
    return Reading(_once(_terms_in_a_row(text)))


def _read_json(text: str, frames: int) -> Reading:
    """Read the reasons, messages and exit codes of objects in JSON, the inner ones first."""
    objects: list[dict[str, object]] = []
    try:
        json.loads(text, object_hook=objects.append)
    except (ValueError, RecursionError):
        return Reading()
    readings: list[Reading] = []
    for one in objects:
        reason, message = (" ".join(str(one.get(key) or "").split()) for key in ("reason", "message"))
        code = _read_message(f"exit code {one['exitCode']}", 0) if "exitCode" in one else Reading()
        said = _read_cause(reason, message, frames) if message else _read_message(reason, 0)
        if message and one.get("type") in ("Normal", "Warning"):
            said = _read_event(str(one.get("reportingComponent") or ""), reason, message)
        readings += (said, code)
    return _joined(readings)


def _read_field(text: str, details: str) -> Reading:
    """The rule that a field breaks, or the entry for all such messages."""
    _, *behind = details.split(": ")
    known = (_entry(": ".join(behind[at:])) for at in range(max(0, len(behind) - _MAX_FRAMES), len(behind)))
    return Reading((FoundEntry(next(filter(None, known), _BY_NAME["invalid value"]), text, None),))


def _joined(readings: Iterable[Reading]) -> Reading:
    all_read = list(readings)
    unknown = dict.fromkeys(chain.from_iterable(reading.unknown for reading in all_read))
    return Reading(_once(chain.from_iterable(reading.found for reading in all_read)), tuple(unknown))


def _once(found: Iterable[FoundEntry]) -> tuple[FoundEntry, ...]:
    """The first of each entry."""
    first: dict[str, FoundEntry] = {}
    for one in found:
        first.setdefault(one.entry.name, one)
    return tuple(first.values())


def _terms_in_a_row(text: str) -> tuple[FoundEntry, ...]:
    """The entries of a text that consists only of known terms, as ``OOMKilled exit 137``; the longest of each."""
    words = text.split()[:_MAX_WORDS]
    if len(words) != len(text.split()) or not _VAGUE.isdisjoint(_words(text)):
        return ()
    found = []
    while words:
        tried = (" ".join(words[:length]) for length in range(len(words), 0, -1))
        term = next(((part, entry) for part in tried if (entry := _entry(part)) is not None), None)
        if term is None:
            return ()
        found.append(FoundEntry(term[1], term[0], None))
        words = words[len(term[0].split()) :]
    return tuple(found)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def similar(text: str) -> tuple[str, ...]:
    """Terms that are similar to a text or contain it, best first: for each entry, the intended spelling."""
    wanted = _QUESTION.sub("", _folded(text[:MAX_TEXT]), 1).rstrip("?")
    closeness = _CLOSE if len(wanted) > _SHORT else _CLOSE_WHERE_SHORT
    near = difflib.get_close_matches(wanted, _spellings(), n=_SUGGESTED, cutoff=closeness)
    spellings = dict.fromkeys([*_named(wanted), *near, *_holding(wanted), *_sharing_words(wanted)])
    first = {_BY_NAME[spelling].name: spelling for spelling in reversed(spellings)}
    return tuple(_spellings()[spelling] for spelling in spellings if first[_BY_NAME[spelling].name] == spelling)[
        :_SUGGESTED
    ]


def _named(wanted: str) -> list[str]:
    """Spellings that a text contains as separate words, the longest first."""
    words = wanted.split()[:_MAX_WORDS]
    parts = [" ".join(words[at : at + length]) for length in (3, 2, 1) for at in range(len(words) - length + 1)]
    return [part for part in parts if part in _spellings() and _VAGUE.isdisjoint(part.split())]


def _holding(wanted: str) -> list[str]:
    """Spellings that contain a text: first those with it as a separate word, the shortest first."""
    holding = [folded for folded in _spellings() if wanted and wanted in folded]
    return sorted(holding, key=lambda folded: (wanted not in folded.split(), len(folded)))


def _sharing_words(wanted: str) -> list[str]:
    """Spellings that share words with a text, those with the rarest words first, then the shortest."""
    words_of = {folded: set(_WORD.findall(folded)) for folded in _spellings()}
    words = set(_WORD.findall(wanted))
    weights = {
        word: log(len(words_of) / had) for word in words if (had := sum(word in has for has in words_of.values()))
    }
    shared = {folded: sum(weights.get(word, 0) for word in has) for folded, has in words_of.items()}
    return sorted((one for one, weight in shared.items() if weight), key=lambda one: (-shared[one], len(one)))


def _entry(text: str) -> Entry | None:
    # Patterns are compiled only for a text that is not a spelling.
    return (
        _by_name(text)
        or next((entry for pattern, entry in _patterns() if pattern.fullmatch(text)), None)
        or next(filter(None, map(_by_name, _less(text))), None)
    )


def _less(text: str) -> list[str]:
    """The name of a flag or field without its value, or the ends of a field's path, the longest first."""
    steps = re.sub(r"\[[^]]*\]", "", text).split(".") if _PATH.fullmatch(text) else []
    flag = re.fullmatch(r"(--[a-z-]+(?==)|[a-z]+[A-Z]\w+(?=: ))(?:=|: )\S+", text)
    ends = [".".join(steps[at:]) for at in range(1, len(steps))]
    return [flag[1]] if flag else [end for end in ends if end not in _VAGUE]


def _by_name(text: str) -> Entry | None:
    """The entry with that spelling, or with its letters, in one word or several, in the singular or the plural."""
    if (named := _BY_NAME.get(_folded(text))) is not None:
        return named
    letters, by_letters = _letters(text), _by_letters()
    return by_letters.get(letters) or by_letters.get(letters.removesuffix("s")) or by_letters.get(f"{letters}s")


def _counted(text: str) -> Reading | None:
    """The reasons of a message that counts nodes, or groups of nodes; None: another message."""
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
    return joined if joined.found else joined._replace(found=(FoundEntry(_BY_NAME["failedscheduling"], text, None),))


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
        for spelling in (entry.name, *entry.also, *CODES.get(entry.name, ())):
            yield spelling, entry


@cache
def _by_letters() -> dict[str, Entry]:
    """The first entry among spellings with the same letters."""
    return {letters: entry for spelling, entry in reversed(_BY_NAME.items()) if (letters := _letters(spelling))}


@cache
def _spellings() -> dict[str, str]:
    """The spellings as written, by their form for lookups."""
    return {_folded(spelling): spelling for spelling, _ in reversed(tuple(_spelt(_ALL)))}


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Entry], ...]:
    """The patterns of entries, compiled if no spelling matches."""
    return tuple((re.compile(entry.pattern, re.IGNORECASE), entry) for entry in _ALL if entry.pattern)


@cache
def _frames() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(frame, re.IGNORECASE) for frame in _FRAMES)


_ALL: Final = tuple(entry for entries in CATALOGUE.values() for entry in entries)
_BY_NAME: Final = {_folded(spelling): entry for spelling, entry in _spelt(_ALL)}
