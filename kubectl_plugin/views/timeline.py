"""A pod's timelines in words: for each way a table of what happens when, and a drawn bar."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Final

from kubectl_plugin.render.command import Command, qos
from kubectl_plugin.render.page import Page, Row, Section, Severity, Table
from kubectl_plugin.reports.pod import PodReport
from kubectl_plugin.reports.verdict import most_urgent
from kubectl_plugin.views.ending import held_by, told_words
from kubectl_plugin.views.platform_words import PROVIDER
from kubectl_plugin.views.safety_words import finalizer_words
from kubectl_plugin.views.taint_words import node_sentences
from kubectl_plugin.views.timeline_bar import bar_table
from kubectl_plugin.views.unread import unread_lines
from kubectl_plugin.views.words import clock, is_plain_name
from podrules.model.instant import later
from podrules.timeline.events import (
    Event,
    Note,
    PodTimeline,
    Reminder,
    Rule,
    Span,
    Standing,
    Way,
    WayTimeline,
    What,
)

__all__ = ["timeline_page"]

_TITLES: Final = {
    Way.DELETE: "kubectl delete, or a controller; seconds from the DELETE",
    Way.DRAIN: "kubectl drain; seconds from the eviction",
    Way.PREEMPT: "the scheduler makes room; seconds from the DELETE",
    Way.EVICT_HARD: "a hard threshold is met; seconds from the kubelet's choice",
    Way.EVICT_SOFT: "a soft threshold is met; seconds from the kubelet's choice",
    Way.PROBE: "seconds from when the container hangs (startup probe: from its start)",
    Way.SHUTDOWN: "its machine is shut down in order; seconds from the shutdown",
    Way.NODE_LOST: "its node stops answering; seconds from the last heartbeat",
}
_GONE_TITLE: Final = "its node is gone, there is no Node object; seconds from now"
_GONE_LEAD: Final = "Its node is gone; nobody confirms that its processes ended"
_STANDINGS: Final = {
    Standing.NOT_RUNNING: "it is on no node (spec.nodeName is empty)",
    Standing.FINISHED: "nothing of it runs any more (status.phase)",
    Standing.STOPPING: "it is being deleted already; nothing shortens that",
    Standing.HIGHEST: "nobody has a higher priority (spec.priority)",
    Standing.NO_PREEMPTION: "every profile of the scheduler disables DefaultPreemption",
    Standing.SILENT: "its kubelet, which would have to do it, does not answer",
    Standing.CRITICAL: "the kubelet never evicts it: it is critical, or static",
    Standing.NO_PROBE: "no container that runs has a liveness or startup probe",
    Standing.NOT_MODELLED: "it runs on Windows, whose kubelet chooses by rules that are not modelled",
    Standing.PROVIDER: PROVIDER,
    Standing.PASSED_OVER: "kubectl drain leaves pods of DaemonSets and static pods alone",
}
"""Why a way is not open, or not known."""
_NOT_KNOWN: Final = frozenset({Standing.NOT_MODELLED, Standing.PROVIDER})
_LONGEST_PATH: Final = 50
_UNFENCED: Final = frozenset({Rule.NOT_LOCKED, Rule.FORCE_DETACH_UNFENCED})
_UNKNOWN_RULES: Final = frozenset({Rule.OWNER_DECIDES, Rule.NOT_BY_KUBELET, Rule.VOLUME_UNKNOWN})


def timeline_page(report: PodReport, told: PodTimeline, *, now: datetime | None, title: str = "") -> Page:
    """The timelines alone: the way that matters now first; ``title`` instead of the pod's own name."""
    namespace = f" in namespace {report.namespace}" if report.namespace else ""
    node = report.status.node if report.status else None
    parts: list[Section | Table] = []
    shown: list[WayTimeline] = []
    same: list[Row] = []
    for entry in (way for way in told.ways if way.events):
        like = next((other for other in shown if _alike(entry, other)), None)
        if like is not None:
            condition = _condition(entry)
            same.append(Row((entry.way.value, f"as {like.way.value}{f'; {condition}' if condition else ''}")))
        else:
            shown.append(entry)
            parts += _way_parts(entry, entry.began, now)
    about_node = node_sentences(report.status, now)
    urgency = most_urgent(part.severity for part in about_node)
    ruled_out = [entry for entry in told.ways if not entry.events]
    closed = [_standing_row(entry) for entry in ruled_out if entry.standing not in _NOT_KNOWN]
    unknown = [_standing_row(entry) for entry in ruled_out if entry.standing in _NOT_KNOWN]
    if same:
        parts.append(Section("The same", tuple(same)))
    if closed:
        parts.append(Section("Cannot be", tuple(closed)))
    if unknown:
        parts.append(Section("Not known", tuple(unknown)))
    if not told.budgets_known and any(entry.way is Way.DRAIN and entry.events for entry in told.ways):
        parts.append(Section("Unknown", ("whether a PodDisruptionBudget refuses a drain",)))
    if report.unread:
        parts.append(Section("Unread", unread_lines(report.unread)))
    return Page(
        title=title or f"pod/{report.name}{namespace}{f', on {node.name}' if node else ''}",
        verdict=(
            *(sentence for part in about_node for sentence in part.sentences),
            *_verdict(report, told, now),
            *_held_by(report, told, now),
        ),
        severity=Severity.TROUBLE if told.silent else urgency,
        parts=tuple(parts),
        next_commands=tuple(_next_commands(report, told)),
    )


def _standing_row(entry: WayTimeline) -> Row:
    return Row((entry.way.value, _STANDINGS[entry.standing]))


def _is_gone(told: WayTimeline) -> bool:
    """Whether the node is lost for good: it has no Node object."""
    return told.way is Way.NODE_LOST and told.standing is Standing.UNDER_WAY


def _alike(entry: WayTimeline, other: WayTimeline) -> bool:
    """Whether the same happens at the same times, for whatever reason."""

    def told(one: WayTimeline) -> list[tuple[object, ...]]:
        return [(event.what, event.subject, event.earliest, event.latest) for event in one.events]

    return told(entry) == told(other)


def _refusal(told: WayTimeline) -> str:
    """What has to be so for a way to be open; empty when it is."""
    if told.standing is Standing.HELD:
        return f"refused now: {told.reason.removesuffix('.')}"
    if told.standing is Standing.NEEDS_FORCE:
        return "only with --force, because it has no controller"
    return ""


def _condition(told: WayTimeline) -> str:
    """The same, or why it is as short as it is."""
    if any(note.reminder is Reminder.NO_MAX_GRACE for note in told.notes):
        return "its own grace period counts once evictionMaxPodGracePeriod is set"
    return _refusal(told)


def _verdict(report: PodReport, told: PodTimeline, now: datetime | None) -> tuple[str, ...]:
    """What the first way comes to, in one sentence, after what keeps it from being so."""
    first = told.ways[0]
    if not first.events:
        verb = "is not known" if first.standing in _NOT_KNOWN else "cannot be"
        return (f"{first.way.value} {verb}: {_STANDINGS[first.standing]}.",)
    lead = _GONE_LEAD if _is_gone(first) else _LEADS[first.way]
    if first.began is not None:
        since = f"Being deleted since {told_words(report.ending, now)}"
        lead = f"Last heartbeat {clock(first.began, now)}" if first.way is Way.NODE_LOST else since
    if first.way is not Way.NODE_LOST and any(event.rule is Rule.MIRROR for event in first.events):
        return (f"{lead}: its mirror in the API goes, and the kubelet makes it anew. Its processes run on.",)
    words = (_decisive(first, what, now, report.ending.holders) for what in _DECISIVE[first.way])
    sentence = f"{', '.join(filter(None, words))}."
    refusal = _refusal(first)
    if refusal:
        return f"{refusal[:1].upper()}{refusal[1:]}.", f"Once it is allowed: {sentence}"
    return (f"{lead}: {sentence}",)


_LEADS: Final = {
    Way.DELETE: "Deleted now",
    Way.DRAIN: "Drained now",
    Way.PREEMPT: "Preempted now",
    Way.EVICT_SOFT: "Evicted softly",
    Way.EVICT_HARD: "Evicted now",
    Way.PROBE: "When a probe fails",
    Way.SHUTDOWN: "When its machine is shut down",
    Way.NODE_LOST: "When its node stops answering",
}
_STOPS: Final = (What.SIGTERM, What.SIGKILL, What.OBJECT_GONE, What.REPLACED)
_DECISIVE: Final = {
    Way.DELETE: _STOPS,
    Way.DRAIN: _STOPS,
    Way.PREEMPT: _STOPS,
    Way.EVICT_SOFT: _STOPS,
    Way.EVICT_HARD: _STOPS,
    Way.PROBE: (What.PROBE_FAILED, What.SIGKILL, What.RESTARTED),
    Way.SHUTDOWN: _STOPS,
    Way.NODE_LOST: (What.DELETED, What.OBJECT_GONE, What.REPLACED),
}
_SHORT: Final = {
    What.DELETED: "deleted",
    What.PROBE_FAILED: "found",
    What.SIGTERM: "SIGTERM",
    What.SIGKILL: "SIGKILL",
    What.OBJECT_GONE: "object gone",
    What.REPLACED: "another pod",
    What.RESTARTED: "restarted",
}

_SEEN: Final = frozenset({What.NODE_UNKNOWN, What.TAINTED, What.DELETED, What.OBJECT_GONE})
"""What a pod and a node that can still be read show not to have come."""
_TOLD_BEFORE: Final = frozenset({Rule.NODE_TELLS, Rule.DELETED_BEFORE, Rule.START, Rule.ENDED_BEFORE})
_FOLLOWS_OBJECT: Final = frozenset({Rule.AFTER_OBJECT, Rule.FORCE_DETACH, Rule.FORCE_DETACH_UNFENCED})
_FOLLOWS_END: Final = frozenset({Rule.STOPPED, Rule.UNMOUNTED, Rule.JOB_FAILED})


def _held_by(report: PodReport, told: PodTimeline, now: datetime | None) -> Iterator[str]:
    """What keeps the object of a pod that is being deleted, where nothing else of the verdict has told."""
    first = told.ways[0]
    gone = next((event for event in first.events if event.what is What.OBJECT_GONE), None)
    if gone is None or report.ending.deleted_at is None or first.began is None or gone.rule is Rule.MIRROR:
        return
    waits = gone.latest is None and gone.rule in {Rule.KUBELET_CONFIRMS, Rule.KUBELET_SILENT}
    if waits or _still_stops(first, now) or gone.earliest is None or _passed(gone, first.began, now):
        yield from held_by(report, now)


def _decisive(told: WayTimeline, what: What, now: datetime | None, finalizers: Sequence[str]) -> str:
    """``SIGKILL at 30 s``: the last of its kind, and of SIGTERM the first: that is when the end begins."""
    found = [event for event in told.events if event.what is what]
    if not found:
        return ""
    event, name = found[-1], _SHORT[what]
    if what is What.SIGTERM:
        event, several = _first_told(found)
        name = f"first {name}" if several else event.signal or name
    if event.rule is Rule.NOT_BY_KUBELET:
        return f"its kubelet sends no {name}"
    if event.earliest is None:
        return f"{name} {'unknown' if event.rule in _UNKNOWN_RULES else 'never by itself'}"
    if event.rule is Rule.DELETED_BEFORE and told.began is None:
        return "being deleted already"
    if event.rule is Rule.FINALIZERS:
        return f"{name} once {finalizer_words(finalizers, 'is', 'are')} removed"
    if event.latest is None and event.rule in {Rule.POD_GC, Rule.POD_GC_OUT_OF_SERVICE}:
        return f"{name} within {event.seconds} s from now"
    if event.latest is None and told.began is not None and what is What.OBJECT_GONE:
        return "object still there"
    if event.latest is None and event.rule is Rule.AFTER_OBJECT:
        return f"{name} once the object is gone"
    if event.latest is None:
        return f"{name} after {event.earliest} s or more"
    word = "at" if event.earliest == event.latest else "by"
    if told.began is not None:
        due = clock(later(told.began, event.latest), now)
        return _past_due(event, name, due) if _overdue(event, told, now) else f"{name} {word} {due}"
    return f"{name} at once" if event.latest == 0 else f"{name} {word} {event.latest} s"


def _first_told(found: list[Event]) -> tuple[Event, bool]:
    """When the first app container gets its SIGTERM, a sidecar where it alone runs; and whether others do later."""
    of_apps = [event for event in found if event.rule is not Rule.SIDECAR_TURN]
    if len({event.span for event in of_apps}) < 2:
        return (of_apps or found)[0], False
    earliest = [event.earliest for event in of_apps if event.earliest is not None]
    # One whose hook lasts no one knows how long may be told before one that comes at a second that is known.
    return of_apps[0].during(Span(min(earliest, default=None), of_apps[0].latest)), True


def _past_due(event: Event, name: str, due: str) -> str:
    """What the pod itself shows not to have come: it was read."""
    match event.what:
        case What.OBJECT_GONE:
            return f"object due to go by {due} and still there"
        case What.REPLACED:
            return f"{name} once the object is gone"
    return f"deletion due since {due}"


def _way_parts(told: WayTimeline, began: datetime | None, now: datetime | None) -> Iterator[Section | Table]:
    title = f"{told.way.value}: {_GONE_TITLE if _is_gone(told) else _TITLES[told.way]}"
    if began is None:
        plain = tuple((_seconds(event), *_words(event)) for event in told.events)
        yield Table(title, ("seconds", "what", "why"), plain, right=frozenset({0}))
    else:
        rows = [
            (_seconds(event), _time(event, began, now), *_words(event, overdue=_overdue(event, told, now)))
            for event in told.events
        ]
        passed = sum(1 for event in told.events if _passed(event, began, now))
        if now is not None:
            rows.insert(passed, ("", clock(now, now).removesuffix(" UTC"), "now", ""))
        yield Table(title, ("seconds", "UTC", "what", "why"), tuple(rows), right=frozenset({0}))
    gone = next((event for event in told.events if event.what is What.OBJECT_GONE), None)
    bar = bar_table(told, overdue=gone is not None and _overdue(gone, told, now))
    if bar is not None:
        yield bar
    refusal = _refusal(told)
    notes = [*([refusal] if refusal else []), *(_NOTES[note.reminder](note) for note in told.notes)]
    if notes:
        yield Section("Mind", tuple(notes))


def _words(event: Event, *, overdue: bool = False) -> tuple[str, str]:
    why = _WHY[event.rule](event)
    late = "nobody has confirmed it" if event.rule in _FOLLOWS_END else "it has not come"
    return _WHAT[event.what](event), f"due, and {late}: {why}" if overdue else why


def _seconds(event: Event) -> str:
    """``30``, ``0-30``, ``5 on``, ``never``."""
    if event.earliest is None:
        return "unknown" if event.rule in _UNKNOWN_RULES else "never"
    if event.latest is None:
        return f"{event.earliest} on"
    return str(event.earliest) if event.earliest == event.latest else f"{event.earliest}-{event.latest}"


def _time(event: Event, began: datetime, now: datetime | None) -> str:
    """The time of day of the latest second."""
    if event.latest is None:
        return ""
    return clock(later(began, event.latest), now).removesuffix(" UTC")


def _passed(event: Event, began: datetime, now: datetime | None) -> bool:
    return now is not None and event.latest is not None and later(began, event.latest) <= now


def _overdue(event: Event, told: WayTimeline, now: datetime | None) -> bool:
    """Whether it is due, and has not come or nobody has confirmed it: the pod was read, so its object is there."""
    if told.began is None or event.rule in _TOLD_BEFORE or not _passed(event, told.began, now):
        return False
    gone = next((other for other in told.events if other.what is What.OBJECT_GONE), None)
    late = _still_stops(told, now) or (gone is not None and _passed(gone, told.began, now))
    return event.what in _SEEN or event.rule in _FOLLOWS_OBJECT or (late and event.rule in _FOLLOWS_END)


def _still_stops(told: WayTimeline, now: datetime | None) -> bool:
    """Whether all should have ended, and the kubelet tells of containers that run."""
    stops = [event for event in told.events if event.rule is Rule.STOPPED]
    return told.began is not None and any(_passed(event, told.began, now) for event in stops)


def _path(field: str) -> str:
    """A path, without its container where it would be too long for a line: the container is named beside it."""
    return field if len(field) <= _LONGEST_PATH else re.sub(r"^spec\.(?:initC|c)ontainers\[[0-9]+\]\.", "", field)


def _container(word: str) -> Callable[[Event], str]:
    return lambda event: f"{word} {event.subject}".rstrip()


_WHAT: Final[dict[What, Callable[[Event], str]]] = {
    What.LAST_HEARTBEAT: lambda _: "last heartbeat",
    What.NODE_UNKNOWN: lambda _: "Ready Unknown",
    What.TAINTED: lambda _: "node tainted",
    What.DELETED: lambda _: "deleted",
    What.PROBE_FAILED: _container("failure found"),
    What.PRE_STOP: _container("preStop"),
    What.SIGTERM: lambda event: f"{event.signal or 'SIGTERM'} {event.subject}".rstrip(),
    What.SIGKILL: _container("SIGKILL"),
    What.KILL_TIMEOUT: lambda _: "kill time-out",
    What.PROCESSES_ENDED: lambda _: "all ended",
    What.RESTARTED: _container("restart"),
    What.FAILED: lambda _: "phase Failed",
    What.MACHINE_OFF: lambda _: "machine goes off",
    What.OBJECT_GONE: lambda _: "object gone",
    What.REPLACED: lambda _: "another pod",
    What.VOLUME_FREE: lambda event: f"volume {event.subject} {'open' if event.rule in _UNFENCED else 'free'}",
}


def _start(event: Event) -> str:
    match event.what:
        case What.DELETED:
            return "its deletionTimestamp is set"
        case What.LAST_HEARTBEAT:
            return event.field
        case What.PRE_STOP:
            return _path(event.field) if event.seconds is None else f"{_path(event.field)} {event.seconds} s"
        case _:
            return "at once"


def _named(words: str) -> Callable[[Event], str]:
    """Words with the number and the path of what decided."""
    return lambda event: words.format(seconds=event.seconds, field=_path(event.field), subject=event.subject)


def _kill(event: Event) -> str:
    grace = (
        "a hard threshold gives no grace"
        if event.field == "evictionHard"
        else f"{_path(event.field)} {event.seconds} s"
    )
    if event.rule is Rule.MINIMUM_GRACE_PERIOD:
        return f"if it still runs: {grace}; at least 2 s after SIGTERM"
    return f"if it still runs: {grace}"


def _finalizers(event: Event) -> str:
    if ", " in event.subject:
        return f"finalizers {event.subject} keep it until their owners remove them ({event.field})"
    return f"finalizer {event.subject} keeps it until its owner removes it ({event.field})"


def _grace_zero(event: Event) -> str:
    if event.field:
        return f"with the DELETE: nothing of it runs ({event.field})"
    return "with the DELETE: its grace period is 0"


def _noted(event: Event) -> str:
    """What the Node itself has noted, and where."""
    if event.what is What.TAINTED:
        return f"{event.subject}:NoExecute ({event.field} timeAdded)"
    return "since lastTransitionTime of the Node; Services dropped the pod then"


_WHY: Final[dict[Rule, Callable[[Event], str]]] = {
    Rule.START: _start,
    Rule.AFTER_PRE_STOP: _named("after {field}"),
    Rule.SIDECAR_TURN: _named("after the containers before it ended, or when the grace period is over ({field})"),
    Rule.GRACE_PERIOD: _kill,
    Rule.MINIMUM_GRACE_PERIOD: _kill,
    Rule.SHORTENED: _named(
        "if it still runs: {field} {seconds} s may be a second delete's, which does not shorten the stop in flight"
    ),
    Rule.KILL_TIMEOUT: _named("the kubelet waits no longer: 1.5 x grace, at least 10 s; it may evict another pod"),
    Rule.STOPPED: _named("first when all obey SIGTERM at once"),
    Rule.ENDED_BEFORE: _named("its containers have ended ({field})"),
    Rule.KUBELET_CONFIRMS: _named("once the kubelet saw all end and unmounted: about 1 s, unmounting may take longer"),
    Rule.GRACE_ZERO: _grace_zero,
    Rule.FINALIZERS: _finalizers,
    Rule.TOLD_BEFORE: _named("it was told before its node went silent; whether it ended, nobody knows"),
    Rule.DELETED_BEFORE: _named("it is already ({field})"),
    Rule.KUBELET_SILENT: _named("only its kubelet can do it, and that does not answer"),
    Rule.KUBELET_GOES_TOO: _named("only its kubelet can do it, and that goes down with the machine"),
    Rule.PROBE_PERIODS: _named("failureThreshold x periodSeconds ({seconds} s each) of {field}"),
    Rule.RESTART_POLICY: _named("in the same pod, on the same node ({field})"),
    Rule.SHUTDOWN_GROUPS: _named("pods of lower priority go first; all groups have {seconds} s ({field})"),
    Rule.NOT_BY_KUBELET: _named("{field} {seconds}: the kubelet stops nothing, the machine itself decides"),
    Rule.NODE_MONITOR_GRACE: _named("--{field} {seconds} s, looked at every 5 s; Services drop the pod now"),
    Rule.NODE_TELLS: _noted,
    Rule.TAINT_RATE: _named("{subject}:NoExecute; one node each 10 s (--{field})"),
    Rule.TOLERATION_SECONDS: _named("{field} {seconds} s from the taint"),
    Rule.NOT_TOLERATED: _named("{field} does not tolerate the taint"),
    Rule.TOLERATED_FOR_EVER: _named("it tolerates the taint for ever {field}"),
    Rule.POD_GC: _named("there is no such Node: pod garbage collection removes it, within {seconds} s"),
    Rule.POD_GC_OUT_OF_SERVICE: _named(
        "its node is declared out of service and not Ready: pod garbage collection removes it, within {seconds} s"
    ),
    Rule.OBJECT_STAYS: _named("it stays as it ended, until somebody deletes it"),
    Rule.OWNER_DELETES: _named("{subject} deletes it; of a finished pod that needs no grace"),
    Rule.POD_STAYS: _named("the pod stays, on its node, with its volumes"),
    Rule.MIRROR: _named("a mirror of a static pod: the kubelet makes it anew, its processes run on"),
    Rule.INACTIVE: _named("{subject}: such a pod counts no more, whatever still runs of it"),
    Rule.AFTER_OBJECT: _named("{subject} waits until the object is gone"),
    Rule.SURGE: _named("{subject} makes it beside the old one ({field})"),
    Rule.JOB_TERMINATING_OR_FAILED: _named(
        "{subject}: once deleted, and {seconds} s after it failed or was Ready last, doubled each time ({field})"
    ),
    Rule.JOB_FAILED: _named("{subject}: {seconds} s after it ended, doubled each time ({field} Failed)"),
    Rule.NOT_REPLACED: _named("nobody makes another: it has no controller"),
    Rule.OWNER_DECIDES: _named("{subject} decides, and its rules are not known here"),
    Rule.UNMOUNTED: _named("unmounted, told within {seconds} s ({field}); then the driver detaches it"),
    Rule.FORCE_DETACH: _named(
        "the pod's object holds it; {seconds} s after that is gone, unless --{field}; out-of-service taint: at once"
    ),
    Rule.FORCE_DETACH_UNFENCED: _named(
        "the pod's object holds it; {seconds} s after that is gone (out-of-service taint: at once) it is detached, "
        "which fences nobody"
    ),
    Rule.NOT_LOCKED: _named("nothing keeps another node off it, even while this pod still writes"),
    Rule.VOLUME_UNKNOWN: _named("whether it has to be detached first could not be read"),
}


def _swept(note: Note) -> str:
    """When pod garbage collection is done with the object; a finalizer keeps it all the same."""
    if note.subject:
        return f"garbage collected within {note.seconds} s, but finalizer {note.subject} still keeps the object"
    return f"the object is gone within {note.seconds} s"


_NOTES: Final[dict[Reminder, Callable[[Note], str]]] = {
    Reminder.SECOND_DELETE: lambda note: (
        "a second, shorter or forced delete removes the object sooner, not the processes: they may live until "
        f"{note.seconds} s, though the object is gone"
    ),
    Reminder.EXITS_ZERO: lambda _: "when every process exits 0 the phase is Succeeded, with no reason",
    Reminder.JOB_COUNTS_SUCCESS: lambda _: "when every process exits 0 the Job counts the pod as done, and makes none",
    Reminder.BACK_OFF: lambda note: (
        f"the first two restarts are at once; a later one within {note.seconds} s of the last (doubled each time, "
        "up to 300 s) waits that long"
    ),
    Reminder.NO_MAX_GRACE: lambda _: (
        "evictionMaxPodGracePeriod is 0 (default): as short as a hard one; the pod's own period counts once it is set"
    ),
    Reminder.KUBELET_NOT_READ: lambda _: "the kubelet's configuration is not known: its defaults are assumed",
    Reminder.THEN_NODE_LOST: lambda _: "once the machine is off, its node is lost: see node-lost",
    Reminder.NODE_RETURNS: lambda _: (
        "the node answers again: before the deletion the pod stays; after it its kubelet stops it then"
    ),
    Reminder.NODE_RETURNS_LATE: lambda _: "the node answers again: its kubelet stops it then",
    Reminder.NODE_DELETED: lambda note: f"the Node is deleted: {_swept(note)}",
    Reminder.OUT_OF_SERVICE: lambda note: (
        f"taint node.kubernetes.io/out-of-service: {_swept(note)}, volumes detached at once"
    ),
    Reminder.MAX_SILENT: lambda _: "when most nodes of a zone are silent they are tainted later, or not at all",
    Reminder.NOT_RUNNING: lambda note: f"container {note.subject} does not run now: nothing of it has to stop",
    Reminder.STATIC_NOT_BACK: lambda _: "a static pod that the kubelet stopped does not come back by itself",
}


def _next_commands(report: PodReport, told: PodTimeline) -> Iterator[Command]:
    if report.status is None or not all(map(is_plain_name, (report.name, report.namespace))):
        return
    if told.silent:
        yield qos("partitions")
    yield qos("explain", f"pod/{report.name}", namespace=report.namespace)
