"""Each event, rule and reminder of a timeline, in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from podrules.ending.timeline.events import EventKind, Note, Reminder, TimelineEvent, TimeRule
from podrules.node.reachability import OUT_OF_SERVICE

_LONGEST_PATH: Final = 50
_UNFENCED: Final = frozenset({TimeRule.NOT_LOCKED, TimeRule.FORCE_DETACH_UNFENCED, TimeRule.NOT_IN_USE_UNFENCED})


def _path(field: str) -> str:
    """A field path; a long one without its container, which the line already names."""
    return field if len(field) <= _LONGEST_PATH else re.sub(r"^spec\.(?:initC|c)ontainers\[[0-9]+\]\.", "", field)


def _container(word: str) -> Callable[[TimelineEvent], str]:
    return lambda event: f"{word} {event.subject}".rstrip()


WHAT: Final[dict[EventKind, Callable[[TimelineEvent], str]]] = {
    EventKind.LAST_HEARTBEAT: lambda _: "last heartbeat",
    EventKind.NODE_UNKNOWN: lambda _: "Ready Unknown",
    EventKind.TAINTED: lambda _: "node tainted",
    EventKind.DELETED: lambda _: "deleted",
    EventKind.PROBE_FAILED: _container("failure found"),
    EventKind.PRE_STOP: _container("preStop"),
    EventKind.SIGTERM: lambda event: f"{event.signal or 'SIGTERM'} {event.subject}".rstrip(),
    EventKind.SIGKILL: _container("SIGKILL"),
    EventKind.KILL_TIMEOUT: lambda _: "kill time-out",
    EventKind.PROCESSES_ENDED: lambda _: "all ended",
    EventKind.RESTARTED: _container("restart"),
    EventKind.FAILED: lambda _: "phase Failed",
    EventKind.MACHINE_OFF: lambda _: "machine may go off",
    EventKind.OBJECT_REMOVED: lambda _: "object gone",
    EventKind.REPLACED: lambda _: "another pod",
    EventKind.VOLUME_FREE: lambda event: f"volume {event.subject} {'open' if event.rule in _UNFENCED else 'free'}",
}


def _start(event: TimelineEvent) -> str:
    match event.what:
        case EventKind.DELETED:
            return "its deletionTimestamp is set"
        case EventKind.LAST_HEARTBEAT:
            return event.field
        case EventKind.PRE_STOP:
            return _path(event.field) if event.seconds is None else f"{_path(event.field)} {event.seconds} s"
        case _:
            return "at once"


def _named(words: str) -> Callable[[TimelineEvent], str]:
    """Words with the deciding number and field path."""
    return lambda event: words.format(seconds=event.seconds, field=_path(event.field), subject=event.subject)


def _kill(event: TimelineEvent) -> str:
    grace = (
        "a hard threshold gives no grace"
        if event.field == "evictionHard"
        else f"{_path(event.field)} {event.seconds} s"
    )
    if event.rule is TimeRule.MINIMUM_GRACE_PERIOD:
        return f"if it still runs: {grace}; at least 2 s after SIGTERM"
    return f"if it still runs: {grace}"


def _finalizers(event: TimelineEvent) -> str:
    if ", " in event.subject:
        return f"finalizers {event.subject} keep it until their owners remove them ({event.field})"
    return f"finalizer {event.subject} keeps it until its owner removes it ({event.field})"


def _grace_zero(event: TimelineEvent) -> str:
    if event.field:
        return f"with the DELETE: no process of it runs ({event.field})"
    return "with the DELETE: its grace period is 0"


def _noted(event: TimelineEvent) -> str:
    """What the Node itself records, and where."""
    if event.what is EventKind.TAINTED:
        return f"{event.subject}:NoExecute ({event.field} timeAdded)"
    return "since lastTransitionTime of the Node; Services dropped the pod then"


WHY: Final[dict[TimeRule, Callable[[TimelineEvent], str]]] = {
    TimeRule.START: _start,
    TimeRule.AFTER_PRE_STOP: _named("after {field}"),
    TimeRule.SIDECAR_TURN: _named("after the containers before it ended, or when the grace period is over ({field})"),
    TimeRule.GRACE_PERIOD: _kill,
    TimeRule.MINIMUM_GRACE_PERIOD: _kill,
    TimeRule.SHORTENED: _named(
        "if it still runs: {field} {seconds} s may be a second delete's, which does not shorten the stop in flight"
    ),
    TimeRule.KILL_TIMEOUT: _named("the kubelet stops waiting: 1.5 x grace, at least 10 s; it may evict another pod"),
    TimeRule.STOPPED: _named("earliest if all end on SIGTERM at once"),
    TimeRule.ENDED_BEFORE: _named("its containers have ended ({field})"),
    TimeRule.KUBELET_CONFIRMS: _named(
        "once the kubelet saw all end and unmounted: about 1 s, unmounting may take longer"
    ),
    TimeRule.GRACE_ZERO: _grace_zero,
    TimeRule.SECOND_DELETE: _named("a second delete with 0 s removes it, whatever still runs"),
    TimeRule.FINALIZERS: _finalizers,
    TimeRule.REQUESTED_BEFORE: _named("it was deleted before its node went silent; unknown whether it ended"),
    TimeRule.DELETED_BEFORE: _named("already deleted ({field})"),
    TimeRule.KUBELET_SILENT: _named("only its kubelet can do it, and it does not answer"),
    TimeRule.KUBELET_GOES_TOO: _named("only its kubelet can do it, and it stops with the machine"),
    TimeRule.PROBE_FOUND: lambda event: f"at once: {event.field.rpartition('.')[2]} failed",
    TimeRule.PROBE_PERIODS: _named("failureThreshold x periodSeconds ({seconds} s each) of {field}"),
    TimeRule.RESTART_POLICY: lambda event: (
        f"{'it stays ended' if event.latest is None else 'in the same pod, on the same node'} ({_path(event.field)})"
    ),
    TimeRule.SHUTDOWN_GROUPS: _named("pods of lower priority stop first; all groups have {seconds} s ({field})"),
    TimeRule.NOT_BY_KUBELET: _named("{field} {seconds}: the kubelet stops no pod, the machine itself decides"),
    TimeRule.NODE_MONITOR_GRACE: _named("--{field} {seconds} s, checked every 5 s; Services drop the pod now"),
    TimeRule.NODE_SHOWS: _noted,
    TimeRule.TAINT_RATE: _named("{subject}:NoExecute; one node each 10 s (--{field})"),
    TimeRule.TOLERATION_SECONDS: _named("{field} {seconds} s from the taint"),
    TimeRule.NOT_TOLERATED: _named("{field} does not tolerate the taint"),
    TimeRule.TOLERATED_FOR_EVER: _named("it tolerates the taint forever {field}"),
    TimeRule.POD_GC: _named("the Node does not exist: pod garbage collection removes it, within {seconds} s"),
    TimeRule.POD_GC_OUT_OF_SERVICE: _named(
        "its node is declared out of service and not Ready: pod garbage collection removes it, within {seconds} s"
    ),
    TimeRule.OBJECT_STAYS: _named("it stays as it ended until it is deleted"),
    TimeRule.OWNER_DELETES: _named("{subject} deletes it, without grace because the pod has finished"),
    TimeRule.POD_STAYS: _named("the pod stays, on its node, with its volumes"),
    TimeRule.MIRROR: _named("a mirror of a static pod: the kubelet recreates it, its processes run on"),
    TimeRule.INACTIVE: _named("{subject}: such a pod no longer counts, even if its processes still run"),
    TimeRule.AFTER_OBJECT: _named("{subject} waits until the object is gone"),
    TimeRule.SURGE: _named("{subject} creates it while the old one still runs ({field})"),
    TimeRule.JOB_TERMINATING_OR_FAILED: _named(
        "{subject}: once deleted, and {seconds} s after it failed or was Ready last, doubled each time ({field})"
    ),
    TimeRule.JOB_FAILED: _named("{subject}: {seconds} s after it ended, doubled each time ({field} Failed)"),
    TimeRule.NOT_REPLACED: _named("no replacement: it has no controller"),
    TimeRule.OWNER_DECIDES: _named("{subject} decides, by rules that are unknown here"),
    TimeRule.UNMOUNTED: _named("unmounted, reported within {seconds} s ({field}); then the driver detaches it"),
    TimeRule.FORCE_DETACH: _named(
        "the pod's object keeps it; {seconds} s after that is gone, unless --{field}; out-of-service taint: at once"
    ),
    TimeRule.FORCE_DETACH_UNFENCED: _named(
        "the pod's object keeps it; {seconds} s after that is gone (out-of-service taint: at once) it is detached, "
        "which does not stop the writer"
    ),
    TimeRule.NOT_IN_USE: _named(
        "the pod's object keeps it; detached as soon as that is gone: {field} does not list it"
    ),
    TimeRule.NOT_IN_USE_UNFENCED: _named(
        "the pod's object keeps it; as soon as that is gone it is detached ({field} does not list it), "
        "which does not stop the writer"
    ),
    TimeRule.NOT_LOCKED: _named("nothing keeps another node off it, even while this pod still writes"),
    TimeRule.VOLUME_UNKNOWN: _named("unknown whether it has to be detached first: it could not be read"),
}


def _swept(note: Note) -> str:
    """When pod garbage collection removes the object; a finalizer still keeps it."""
    if note.subject:
        return f"garbage collected within {note.seconds} s, but finalizer {note.subject} still keeps the object"
    return f"the object is gone within {note.seconds} s"


NOTES: Final[dict[Reminder, Callable[[Note], str]]] = {
    Reminder.SECOND_DELETE: lambda note: (
        "a second delete may shorten the period, never lengthen it; with 0 s (--force) it removes an object without "
        f"finalizers at once. It does not stop processes sooner: they may still live until {note.seconds} s"
    ),
    Reminder.NOT_LONGER: lambda note: (
        f"a second delete with {note.seconds} s changes nothing: the pod's period is not longer"
    ),
    Reminder.SHORTER: lambda note: (
        f"a second delete with {note.seconds} s shortens the object's period, not the stop under way"
    ),
    Reminder.ZERO_IS_FORCED: lambda _: "kubectl delete requests 0 s with --force only; without it, 0 counts as 1 s",
    Reminder.EXITS_ZERO: lambda _: "when every process exits 0 the phase is Succeeded, with no reason",
    Reminder.JOB_COUNTS_SUCCESS: lambda _: (
        "when every process exits 0 the Job counts the pod as done, and creates none"
    ),
    Reminder.BACK_OFF: lambda note: (
        f"the first two restarts are at once; a later one within {note.seconds} s of the last (doubled each time, "
        "up to 300 s) waits that long"
    ),
    Reminder.NO_MAX_GRACE: lambda _: (
        "evictionMaxPodGracePeriod is 0 (default): as short as a hard one; the pod's own period counts once it is set"
    ),
    Reminder.THRESHOLDS: lambda note: f"its kubelet's thresholds: {note.subject}",
    Reminder.NO_THRESHOLD: lambda note: f"its kubelet never does this: {note.subject} sets no threshold",
    Reminder.KUBELET_NOT_READ: lambda _: "the kubelet's configuration is unknown: its defaults are assumed",
    Reminder.THEN_NODE_LOST: lambda note: (
        f"{f'what takes longer than {note.seconds} s may not come; ' if note.seconds is not None else ''}"
        "once the machine is off, its node is lost: see node-lost"
    ),
    Reminder.NODE_RETURNS: lambda _: (
        "if the node answers again before the deletion, the pod stays; after it, its kubelet stops it"
    ),
    Reminder.NODE_RETURNS_LATE: lambda _: "once the node answers again, its kubelet stops it",
    Reminder.NODE_DELETED: lambda note: f"the Node is deleted: {_swept(note)}",
    Reminder.OUT_OF_SERVICE: lambda note: f"taint {OUT_OF_SERVICE}: {_swept(note)}, volumes detached at once",
    Reminder.VERSION_UNKNOWN: lambda _: "the control plane's version is unknown: 50 s since 1.32, 40 s before",
    Reminder.MAX_SILENT: lambda _: "when most nodes of a zone are silent they are tainted later, or not at all",
    Reminder.NOT_RUNNING: lambda note: f"container {note.subject} does not run now: it has no process to stop",
    Reminder.STATIC_NOT_BACK: lambda _: "a static pod that the kubelet stopped does not restart by itself",
}
