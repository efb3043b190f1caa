"""A pod's timelines in words: for each way a table of what happens when, and a drawn bar.

The bar has a lane for each container, the object, the next pod and each volume. It shows the slowest case: hooks and
processes take all the time they get.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from kubectl_plugin.render.command import Command, qos
from kubectl_plugin.render.page import Page, Row, Section, Table
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.reports.verdict import Severity, most_urgent
from kubectl_plugin.views.caveats import assumed_words, unread_lines, versions_section
from kubectl_plugin.views.node.node_words import node_sentences
from kubectl_plugin.views.pod.ending import deletion_time, held_by
from kubectl_plugin.views.pod.safety_words import finalizer_words
from kubectl_plugin.views.pod.timeline_words import (
    NOT_KNOWN,
    STANDINGS,
    STEPS,
    WAYS,
    note_words,
    what_words,
    why_words,
)
from kubectl_plugin.views.words import clock, listed
from podrules.api.escape import escape
from podrules.api.model.instant import later
from podrules.ending.timeline.events import (
    EventKind,
    Note,
    PodTimeline,
    Reminder,
    RuleTrait,
    Span,
    Standing,
    TimelineEvent,
    TimeRule,
    Way,
    WayTimeline,
)

_DELETED_NODE_TITLE: Final = "its Node object is deleted; seconds from now"
_DELETED_NODE_LEAD: Final = "Its node is gone; nothing confirms that its processes ended"
_DEFAULTS: Final = Note(Reminder.KUBELET_NOT_READ)
_REMOVED: Final = frozenset({TimeRule.MIRROR, TimeRule.SECOND_DELETE})
_WIDTH: Final = 60
_LABEL: Final = 18
_HOOK, _WAITS, _RUNS, _STOPPING, _KILL, _OPEN = "p", "w", "=", "-", "K", ">"
_MARKS: Final = {EventKind.NODE_UNKNOWN: "U", EventKind.TAINTED: "T", EventKind.DELETED: "D"}
_LEGEND: Final = {
    "U": "U Ready Unknown",
    "T": "T tainted",
    "D": "D deleted",
    _HOOK: "p preStop",
    _WAITS: "w waits",
    _RUNS: "= there",
    _STOPPING: "- SIGTERM",
    _KILL: "K SIGKILL",
    _OPEN: "> no end",
}


def timeline_page(report: PodReport, timeline: PodTimeline, *, now: datetime | None, title: str = "") -> Page:
    """The page of the timelines, the most relevant way first; ``title`` replaces the pod's own name."""
    namespace = f" in namespace {report.namespace}" if report.namespace else ""
    node = report.status.node if report.status else None
    parts: list[Section | Table] = []
    shown: list[WayTimeline] = []
    schedules: list[object] = []
    same: list[Row] = []
    for entry in (one for one in timeline.ways if one.events):
        # The same events may happen at the same times for other reasons.
        schedule = [(event.what, event.subject, event.earliest, event.latest) for event in entry.events]
        like = next((other for other, known in zip(shown, schedules, strict=True) if known == schedule), None)
        if like is not None:
            condition = _condition(entry)
            same.append(Row((entry.way.value, f"as {like.way.value}{f'; {condition}' if condition else ''}")))
        else:
            shown.append(entry)
            schedules.append(schedule)
            parts += _way_parts(entry, now)
    about_node = node_sentences(report.status, now)
    urgency = most_urgent(part.severity for part in about_node)
    ruled_out = [entry for entry in timeline.ways if not entry.events]
    ways: dict[Standing, list[str]] = {}
    for entry in ruled_out:
        ways.setdefault(entry.standing, []).append(entry.way.value)
    closed = [f"{', '.join(named)}: {STANDINGS[one]}" for one, named in ways.items() if one not in NOT_KNOWN]
    unknown = [f"{', '.join(named)}: {STANDINGS[one]}" for one, named in ways.items() if one in NOT_KNOWN]
    commands: list[Command] = []
    if report.status is not None:
        commands = [qos("partitions")] if timeline.silent else []
        commands.append(qos("explain pod/{}", report.name, namespace=report.namespace))
    refused = not timeline.budgets_known and any(entry.way is Way.DRAIN and entry.events for entry in timeline.ways)
    budgets = ["whether a PodDisruptionBudget refuses a drain"] if refused else []
    parts += [
        Section("The same", tuple(same)),
        Section("Not possible", tuple(closed)),
        Section("Not known", tuple(unknown)),
        versions_section(report.version_notes),
        Section("Unknown", (*budgets, *unread_lines(report.unread))),
    ]
    return Page(
        title=title or f"pod/{report.name}{namespace}{f', on {node.name}' if node else ''}",
        verdict=(
            *(sentence for part in about_node for sentence in part.sentences),
            *_verdict(report, timeline, now),
            *_held_by(report, timeline, now),
            *assumed_words(report.lacks),
        ),
        severity=Severity.TROUBLE if timeline.silent else urgency if about_node else None,
        parts=tuple(parts),
        next_commands=tuple(commands),
    )


def _node_is_deleted(entry: WayTimeline) -> bool:
    """Whether the node is lost permanently, without a Node object."""
    return entry.way is Way.NODE_LOST and entry.standing is Standing.UNDER_WAY


def _refusal(entry: WayTimeline) -> str:
    """What a way needs first; empty if nothing."""
    if entry.standing is Standing.HELD:
        return f"refused now: {entry.reason.removesuffix('.')}"
    if entry.standing is Standing.NEEDS_FORCE:
        return "only with --force, because it has no controller"
    return ""


def _condition(entry: WayTimeline) -> str:
    """The condition of a way, or why its grace period is short."""
    notes = {note.reminder: note for note in entry.notes}
    if Reminder.NO_THRESHOLD in notes:
        return note_words(notes[Reminder.NO_THRESHOLD])
    if Reminder.NO_MAX_GRACE in notes:
        return "its own grace period counts once evictionMaxPodGracePeriod is set"
    return _refusal(entry)


def _verdict(report: PodReport, timeline: PodTimeline, now: datetime | None) -> tuple[str, ...]:
    """The result of the first way in one sentence, after what prevents it."""
    first = timeline.ways[0]
    if not first.events:
        verb = "is not known" if first.standing in NOT_KNOWN else "is not possible"
        return (f"{first.way.value} {verb}: {STANDINGS[first.standing]}.",)
    assumed = ", with its kubelet's defaults (its own are not known)" if _DEFAULTS in first.notes else ""
    lead = _DELETED_NODE_LEAD if _node_is_deleted(first) else f"{WAYS[first.way].lead}{assumed}"
    if first.began is not None:
        since = f"Being deleted since {deletion_time(report.ending, now)}"
        lead = f"Last heartbeat {clock(first.began, now)}" if first.way is Way.NODE_LOST else since
    decisive = WAYS[first.way].decisive
    if Note(Reminder.SHORTER, 0) in first.notes:
        lead, decisive = (
            f"{lead}; with a second delete of 0 s now",
            (EventKind.OBJECT_REMOVED, EventKind.REPLACED, EventKind.SIGKILL),
        )
    if first.way is not Way.NODE_LOST and any(event.rule is TimeRule.MIRROR for event in first.events):
        return (f"{lead}: its mirror in the API is removed, and the kubelet recreates it. Its processes run on.",)
    words = (_decisive(first, what, now, report.ending.holders) for what in decisive)
    sentence = f"{', '.join(filter(None, words))}."
    refusal = _refusal(first)
    if refusal:
        return f"{refusal[:1].upper()}{refusal[1:]}.", f"Once it is allowed: {sentence}"
    return (f"{lead}: {sentence}",)


def _held_by(report: PodReport, timeline: PodTimeline, now: datetime | None) -> Iterator[str]:
    """What keeps the object of a pod that is being deleted, unless the verdict already says it."""
    first = timeline.ways[0]
    gone = next((event for event in first.events if event.what is EventKind.OBJECT_REMOVED), None)
    if gone is None or report.ending.deleted_at is None or first.began is None or gone.rule in _REMOVED:
        return
    waits = gone.latest is None and gone.rule in {TimeRule.KUBELET_CONFIRMS, TimeRule.KUBELET_SILENT}
    if waits or _still_stops(first, now) or gone.earliest is None or _passed(gone, first.began, now):
        yield from held_by(report, now)


def _decisive(entry: WayTimeline, what: EventKind, now: datetime | None, finalizers: Sequence[str]) -> str:
    """``SIGKILL at 30 s``: the last of its kind, but the first SIGTERM, which begins the end."""
    found = [event for event in entry.events if event.what is what]
    if not found:
        return ""
    stay = [event.subject for event in found if what is EventKind.RESTARTED and event.earliest is None]
    if stay and len(stay) < len(found):
        others = [event for event in entry.events if event.what is not what or event.subject not in stay]
        return f"{_decisive(replace(entry, events=tuple(others)), what, now, finalizers)}, {listed(stay)} never"
    event, name = found[-1], STEPS[what].short
    if what is EventKind.SIGTERM:
        event, several = _first_signal(found)
        name = f"first {name}" if several else event.signal or name
    if event.rule is TimeRule.NOT_BY_KUBELET:
        return f"its kubelet sends no {name}"
    if event.earliest is None:
        return f"{name} {'unknown' if RuleTrait.UNKNOWN in event.rule.traits else 'never by itself'}"
    if event.rule is TimeRule.DELETED_BEFORE and entry.began is None:
        return "being deleted already"
    if event.rule is TimeRule.FINALIZERS:
        return f"{name} once {finalizer_words(finalizers, 'is', 'are')} removed"
    if event.latest is None and event.rule in {TimeRule.POD_GC, TimeRule.POD_GC_OUT_OF_SERVICE}:
        return f"{name} within {event.seconds} s from now"
    if event.latest is None and entry.began is not None and what is EventKind.OBJECT_REMOVED:
        return "object still there"
    if event.latest is None and event.rule is TimeRule.AFTER_OBJECT:
        return f"{name} once the object is gone"
    if event.latest is None:
        return f"{name} after {event.earliest} s or more"
    word = "at" if event.earliest == event.latest else "by"
    if entry.began is not None:
        due = clock(later(entry.began, event.latest), now)
        return _past_due(event, name, due) if _overdue(event, entry, now) else f"{name} {word} {due}"
    return f"{name} at once" if event.latest == 0 else f"{name} {word} {event.latest} s"


def _first_signal(found: list[TimelineEvent]) -> tuple[TimelineEvent, bool]:
    """The first SIGTERM of an app container, or of a sidecar that runs alone; and whether others get theirs later."""
    of_apps = [event for event in found if event.rule is not TimeRule.SIDECAR_TURN]
    if len({event.span for event in of_apps}) < 2:
        return (of_apps or found)[0], False
    earliest = [event.earliest for event in of_apps if event.earliest is not None]
    # A container with a hook of unknown length may get SIGTERM before one with a known second.
    return of_apps[0].during(Span(min(earliest, default=None), of_apps[0].latest)), True


def _past_due(event: TimelineEvent, name: str, due: str) -> str:
    """An overdue event: the pod was read and does not show it."""
    match event.what:
        case EventKind.OBJECT_REMOVED:
            return f"object due to be removed by {due} and still there"
        case EventKind.REPLACED:
            return f"{name} once the object is gone"
    return f"deletion due since {due}"


def _way_parts(entry: WayTimeline, now: datetime | None) -> Iterator[Section | Table]:
    if (bar := _bar(entry, now)) is not None:
        yield bar
    title = f"{entry.way.value}: {_DELETED_NODE_TITLE if _node_is_deleted(entry) else WAYS[entry.way].title}"
    began, previous, rows = entry.began, "", list[tuple[str, ...]]()
    for event in entry.events:
        what, why = _words(event, overdue=_overdue(event, entry, now))
        row: tuple[str, ...] = (what, min(why, "the same", key=len) if why == previous else why)
        if began is not None:
            # The time of day of the latest second.
            time = "" if event.latest is None else clock(later(began, event.latest), now).removesuffix(" UTC")
            row = (time, *row)
        rows.append((_seconds(event), *row))
        previous = why
    if began is not None and now is not None:
        passed = sum(1 for event in entry.events if _passed(event, began, now))
        rows.insert(passed, ("", clock(now, now).removesuffix(" UTC"), "now", ""))
    headings = ("seconds", *(["UTC"] if began is not None else []), "what", "why")
    yield Table(title, headings, tuple(rows), right=frozenset({0}))
    refusal = _refusal(entry)
    notes = [*([refusal] if refusal else []), *(note_words(note) for note in entry.notes)]
    if notes:
        yield Section("Note", tuple(notes))


def _words(event: TimelineEvent, *, overdue: bool = False) -> tuple[str, str]:
    why = why_words(event)
    late = "not confirmed" if RuleTrait.AFTER_END in event.rule.traits else "not observed"
    return what_words(event), f"due but {late}: {why}" if overdue else why


def _seconds(event: TimelineEvent) -> str:
    """``30``, ``0-30``, ``5 on``, ``never``."""
    if event.earliest is None:
        return "unknown" if RuleTrait.UNKNOWN in event.rule.traits else "never"
    if event.latest is None:
        return f"{event.earliest} on"
    return str(event.earliest) if event.earliest == event.latest else f"{event.earliest}-{event.latest}"


def _passed(event: TimelineEvent, began: datetime, now: datetime | None) -> bool:
    return now is not None and event.latest is not None and later(began, event.latest) <= now


def _overdue(event: TimelineEvent, entry: WayTimeline, now: datetime | None) -> bool:
    """Whether an event is due and not observed or confirmed: the pod was read, so its object still exists."""
    if entry.began is None or RuleTrait.RECORDED in event.rule.traits or not _passed(event, entry.began, now):
        return False
    gone = next((other for other in entry.events if other.what is EventKind.OBJECT_REMOVED), None)
    if gone is not None and gone.rule is TimeRule.SECOND_DELETE:
        return RuleTrait.AFTER_END in event.rule.traits and _still_stops(entry, now)
    late = _still_stops(entry, now) or (gone is not None and _passed(gone, entry.began, now))
    return (
        STEPS[event.what].observed
        or RuleTrait.AFTER_OBJECT in event.rule.traits
        or (late and RuleTrait.AFTER_END in event.rule.traits)
    )


def _still_stops(entry: WayTimeline, now: datetime | None) -> bool:
    """Whether all containers should have ended and the kubelet reports that some run."""
    stops = [event for event in entry.events if event.rule is TimeRule.STOPPED]
    return entry.began is not None and any(_passed(event, entry.began, now) for event in stops)


def _bar(entry: WayTimeline, now: datetime | None) -> Table | None:
    """The drawing; None when all is at once or never."""
    end = max((event.latest or event.earliest or 0 for event in entry.events), default=0)
    if end <= 0:
        return None
    lanes = [(label, text.rstrip()) for label, text in _lanes(entry, end, now) if text.strip()]
    scale = f"0{f'{end} s':>{_WIDTH - 1}}"
    used = {sign for _, text in lanes for sign in text}
    legend = ", ".join(words for sign, words in _LEGEND.items() if sign in used)
    rows = (*((_fit(label), text) for label, text in lanes), ("", legend))
    return Table("", (entry.way.value, scale), rows, drawing=True)


def _lanes(entry: WayTimeline, end: int, now: datetime | None) -> Iterator[tuple[str, str]]:
    containers = dict.fromkeys(event.subject for event in entry.events if event.what is EventKind.SIGKILL)
    for name in containers:
        yield name, _container([event for event in entry.events if event.subject == name], end)
    gone = next((event for event in entry.events if event.what is EventKind.OBJECT_REMOVED), None)
    if gone is not None:
        # The object still exists if it is overdue.
        lane = list(_until(gone, end, overdue=_overdue(gone, entry, now)))
        marked = [one for one in entry.events if one.what in _MARKS and not _overdue(one, entry, now)]
        column = -1
        for left, event in zip(range(len(marked), 0, -1), marked, strict=True):
            second = event.earliest if event.latest is None else event.latest
            if second is not None:
                # Each mark has its own column, and the last one is for the end.
                column = min(max(_column(second, end), column + 1), _WIDTH - 1 - left)
                lane[column] = _MARKS[event.what]
        yield "object", "".join(lane)
    for event in entry.events:
        if event.what is EventKind.REPLACED and event.earliest is not None:
            start = event.latest if event.latest is not None else event.earliest
            yield "another pod", _drawn([(start, end, _RUNS)], end)
        elif event.what is EventKind.VOLUME_FREE and event.earliest != 0:
            yield f"{event.subject} held", _until(event, end)


def _container(events: list[TimelineEvent], end: int) -> str:
    """The lane of one container: running, preStop hook, SIGTERM, SIGKILL."""
    by_what = {event.what: event for event in events}
    killed = by_what[EventKind.SIGKILL]
    hook, found = by_what.get(EventKind.PRE_STOP), by_what.get(EventKind.PROBE_FAILED)
    signalled = by_what[EventKind.SIGTERM].latest or 0
    kill = end if killed.latest is None else killed.latest
    begins = (found.latest if found is not None else hook.latest if hook is not None else None) or 0
    hooked = begins
    if hook is not None:
        # A hook of unknown length takes all the time until SIGTERM.
        hooked = signalled if hook.seconds is None else min(begins + hook.seconds, signalled)
    spans = [(0, begins, _RUNS), (begins, hooked, _HOOK), (hooked, signalled, _WAITS), (signalled, kill, _STOPPING)]
    drawn = list(_drawn(spans, end))
    drawn[_column(kill, end)] = _KILL
    return "".join(drawn)


def _until(event: TimelineEvent, end: int, *, overdue: bool = False) -> str:
    """The lane of something that exists until the event, or forever."""
    if event.latest is not None and not overdue:
        return _drawn([(0, event.latest, _RUNS)], end)
    return _drawn([(0, end, _RUNS)], end)[:-1] + _OPEN


def _drawn(spans: list[tuple[int, int, str]], end: int) -> str:
    line = [" "] * _WIDTH
    for start, stop, sign in spans:
        first, last = _column(start, end), _column(stop, end)
        if stop > start:
            line[first : last + 1] = sign * (last + 1 - first)
    return "".join(line)


def _column(second: int, end: int) -> int:
    return min(second * (_WIDTH - 1) // end, _WIDTH - 1)


def _fit(label: str) -> str:
    text = escape(label)
    return text if len(text) <= _LABEL else f"{text[: _LABEL - 2]}.."
