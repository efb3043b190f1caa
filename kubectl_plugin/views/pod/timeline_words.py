"""The words of timelines: a row for each way, kind of event, rule and reminder."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from kubectl_plugin.views.node.node_words import PROVIDER
from podrules.ending.timeline.events import (
    EventKind,
    Note,
    Reminder,
    RuleTrait,
    Standing,
    TimelineEvent,
    TimeRule,
    Way,
)
from podrules.node.reachability import OUT_OF_SERVICE

_LONGEST_PATH: Final = 50


def _path(field: str) -> str:
    """A field path; a long one without its container, which the line already names."""
    return field if len(field) <= _LONGEST_PATH else re.sub(r"^spec\.(?:initC|c)ontainers\[[0-9]+\]\.", "", field)


class WayWords(NamedTuple):
    """The words of a way to end."""

    lead: str
    """The beginning of its sentence."""
    title: str
    """What begins it, and from when the seconds count."""
    decisive: tuple[EventKind, ...] = (
        EventKind.SIGTERM,
        EventKind.SIGKILL,
        EventKind.OBJECT_REMOVED,
        EventKind.REPLACED,
    )
    """The events that its sentence names."""


WAYS: Final = {
    Way.DELETE: WayWords("Deleted now", "kubectl delete, or a controller; seconds from the DELETE"),
    Way.DRAIN: WayWords("Drained now", "kubectl drain; seconds from the DELETE"),
    Way.PREEMPT: WayWords("Preempted now", "the scheduler makes room; seconds from the DELETE"),
    Way.EVICT_HARD: WayWords("Evicted now", "a hard threshold is met; seconds from the kubelet's choice"),
    Way.EVICT_SOFT: WayWords("Evicted softly", "a soft threshold is met; seconds from the kubelet's choice"),
    Way.PROBE: WayWords(
        "When a probe fails",
        "seconds from when the container hangs (startup probe: from its start)",
        (EventKind.PROBE_FAILED, EventKind.SIGKILL, EventKind.RESTARTED),
    ),
    Way.SHUTDOWN: WayWords(
        "When its machine is shut down", "an orderly shutdown of its machine; seconds from the shutdown"
    ),
    Way.NODE_LOST: WayWords(
        "When its node stops answering",
        "its node stops answering; seconds from the last heartbeat",
        (EventKind.DELETED, EventKind.OBJECT_REMOVED, EventKind.REPLACED),
    ),
}
STANDINGS: Final = {
    Standing.NOT_RUNNING: "it is on no node (spec.nodeName is empty)",
    Standing.FINISHED: "no process of it runs any more (status.phase)",
    Standing.STOPPING: "it is being deleted already, see delete",
    Standing.HIGHEST: "no pod has a higher priority (spec.priority)",
    Standing.NO_PREEMPTION: "every profile of the scheduler disables DefaultPreemption",
    Standing.SILENT: "only its kubelet can do it, and it is silent",
    Standing.CRITICAL: "the kubelet never evicts it: it is critical, or static",
    Standing.NO_PROBE: "no container that runs has a liveness or startup probe",
    Standing.NOT_MODELLED: "it runs on Windows, where the rules of the kubelet are not modelled",
    Standing.PROVIDER: PROVIDER,
    Standing.PASSED_OVER: "kubectl drain does not evict static pods and pods of DaemonSets",
}
"""Why a way is not possible, or unknown."""
NOT_KNOWN: Final = frozenset({Standing.NOT_MODELLED, Standing.PROVIDER})


class StepWords(NamedTuple):
    """The words of one kind of event."""

    what: str
    """In the table, with the event's subject."""
    short: str = ""
    """In a sentence; empty: no sentence names it."""
    observed: bool = False
    """Whether the pod or node that was read shows it once it has happened."""


STEPS: Final = {
    EventKind.LAST_HEARTBEAT: StepWords("last heartbeat"),
    EventKind.NODE_UNKNOWN: StepWords("Ready Unknown", observed=True),
    EventKind.TAINTED: StepWords("node tainted", observed=True),
    EventKind.DELETED: StepWords("deleted", "deleted", observed=True),
    EventKind.PROBE_FAILED: StepWords("failure found {subject}", "found"),
    EventKind.PRE_STOP: StepWords("preStop {subject}"),
    EventKind.SIGTERM: StepWords("{signal} {subject}", "SIGTERM"),
    EventKind.SIGKILL: StepWords("SIGKILL {subject}", "SIGKILL"),
    EventKind.KILL_TIMEOUT: StepWords("kill time-out"),
    EventKind.PROCESSES_ENDED: StepWords("all ended"),
    EventKind.RESTARTED: StepWords("restart {subject}", "restarted"),
    EventKind.FAILED: StepWords("phase Failed"),
    EventKind.MACHINE_OFF: StepWords("machine may go off"),
    EventKind.OBJECT_REMOVED: StepWords("object gone", "object gone", observed=True),
    EventKind.REPLACED: StepWords("another pod", "another pod"),
    EventKind.VOLUME_FREE: StepWords("volume {subject} {state}"),
}


def what_words(event: TimelineEvent) -> str:
    """What happens."""
    state = "open" if RuleTrait.UNFENCED in event.rule.traits else "free"
    signal = event.signal or EventKind.SIGTERM.value
    return STEPS[event.what].what.format(subject=event.subject, signal=signal, state=state).rstrip()


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


def _kill(event: TimelineEvent) -> str:
    grace = (
        "a hard threshold gives no grace"
        if event.field == "evictionHard"
        else f"{_path(event.field)} {event.seconds} s"
    )
    if event.rule is TimeRule.MINIMUM_GRACE_PERIOD:
        return f"if alive: {grace}; at least 2 s after SIGTERM"
    return f"if alive: {grace}"


def _finalizers(event: TimelineEvent) -> str:
    if ", " in event.subject:
        return f"finalizers {event.subject} keep it until their owners remove them ({event.field})"
    return f"finalizer {event.subject} keeps it until its owner removes it ({event.field})"


def _grace_zero(event: TimelineEvent) -> str:
    if event.field:
        return f"with the DELETE: no process of it runs ({event.field})"
    return "with the DELETE: its grace period is 0"


def _noted(event: TimelineEvent) -> str:
    """What the Node itself records."""
    if event.what is EventKind.TAINTED:
        return f"{event.subject}:NoExecute"
    return "lastTransitionTime; Services drop the pod"


WHY: Final[dict[TimeRule, str | Callable[[TimelineEvent], str]]] = {
    TimeRule.START: _start,
    TimeRule.AFTER_PRE_STOP: "after {field}",
    TimeRule.SIDECAR_TURN: "after the containers before it or the grace period ({field})",
    TimeRule.GRACE_PERIOD: _kill,
    TimeRule.MINIMUM_GRACE_PERIOD: _kill,
    TimeRule.SHORTENED: (
        "if alive: {field} {seconds} s may be a second delete's, which does not shorten the stop in flight"
    ),
    TimeRule.KILL_TIMEOUT: "the kubelet stops waiting: 1.5 x grace, at least 10 s; it may evict another pod",
    TimeRule.STOPPED: "earliest if all end on SIGTERM at once",
    TimeRule.ENDED_BEFORE: "its containers have ended ({field})",
    TimeRule.KUBELET_CONFIRMS: "kubelet saw all end and unmounted: 1 s or more",
    TimeRule.GRACE_ZERO: _grace_zero,
    TimeRule.SECOND_DELETE: "a second delete with 0 s removes it, whatever still runs",
    TimeRule.FINALIZERS: _finalizers,
    TimeRule.REQUESTED_BEFORE: "it was deleted before its node went silent; unknown whether it ended",
    TimeRule.DELETED_BEFORE: "{field}",
    TimeRule.KUBELET_SILENT: "only its kubelet can, and it is silent",
    TimeRule.KUBELET_GOES_TOO: "only its kubelet can, and it stops with the machine",
    TimeRule.PROBE_FOUND: lambda event: f"at once: {event.field.rpartition('.')[2]} failed",
    TimeRule.PROBE_PERIODS: "failureThreshold x periodSeconds ({seconds} s each) of {field}",
    TimeRule.RESTART_POLICY: lambda event: (
        f"{'it stays ended' if event.latest is None else 'in the same pod, on the same node'} ({_path(event.field)})"
    ),
    TimeRule.SHUTDOWN_GROUPS: "pods of lower priority stop first; all groups have {seconds} s ({field})",
    TimeRule.NOT_BY_KUBELET: "{field} {seconds}: the kubelet stops no pod, the machine itself decides",
    TimeRule.NODE_MONITOR_GRACE: "--{field} {seconds} s, checked every 5 s; Services drop the pod now",
    TimeRule.NODE_SHOWS: _noted,
    TimeRule.TAINT_RATE: "{subject}:NoExecute; one node each 10 s (--{field})",
    TimeRule.TOLERATION_SECONDS: "{field} {seconds} s from the taint",
    TimeRule.NOT_TOLERATED: "{field} does not tolerate the taint",
    TimeRule.TOLERATED_FOR_EVER: "it tolerates the taint forever {field}",
    TimeRule.POD_GC: "the Node does not exist: pod garbage collection removes it, within {seconds} s",
    TimeRule.POD_GC_OUT_OF_SERVICE: (
        "its node is declared out of service and not Ready: pod garbage collection removes it, within {seconds} s"
    ),
    TimeRule.OBJECT_STAYS: "it stays as it ended until it is deleted",
    TimeRule.OWNER_DELETES: "{subject} deletes it, without grace because the pod has finished",
    TimeRule.POD_STAYS: "the pod stays, on its node, with its volumes",
    TimeRule.MIRROR: "a mirror of a static pod: the kubelet recreates it, its processes run on",
    TimeRule.INACTIVE: "{subject}: such a pod no longer counts, even if its processes still run",
    TimeRule.AFTER_OBJECT: "{subject} waits for the object's end",
    TimeRule.SURGE: "{subject} creates it while the old one still runs ({field})",
    TimeRule.JOB_TERMINATING_OR_FAILED: (
        "{subject}: once deleted, and {seconds} s after it failed or was Ready last, doubled each time ({field})"
    ),
    TimeRule.JOB_FAILED: "{subject}: {seconds} s after it ended, doubled each time ({field} Failed)",
    TimeRule.NOT_REPLACED: "no replacement: it has no controller",
    TimeRule.OWNER_DECIDES: "{subject} decides, by rules that are unknown here",
    TimeRule.UNMOUNTED: "unmounted, reported in {seconds} s ({field}); then detached",
    TimeRule.FORCE_DETACH: (
        "the pod's object keeps it; {seconds} s after that is gone, unless --{field}; out-of-service taint: at once"
    ),
    TimeRule.FORCE_DETACH_UNFENCED: (
        "the pod's object keeps it; {seconds} s after that is gone (out-of-service taint: at once) it is detached, "
        "which does not stop the writer"
    ),
    TimeRule.NOT_IN_USE: "the pod's object keeps it; detached as soon as that is gone: {field} does not list it",
    TimeRule.NOT_IN_USE_UNFENCED: (
        "the pod's object keeps it; as soon as that is gone it is detached ({field} does not list it), "
        "which does not stop the writer"
    ),
    TimeRule.NOT_LOCKED: "nothing keeps another node's writer off",
    TimeRule.VOLUME_UNKNOWN: "unknown whether it has to be detached first: it could not be read",
}


def why_words(event: TimelineEvent) -> str:
    """Why it happens then, with the deciding number and field path."""
    words = WHY[event.rule]
    if not isinstance(words, str):
        return words(event)
    return words.format(seconds=event.seconds, field=_path(event.field), subject=event.subject)


NOTES: Final = {
    Reminder.SECOND_DELETE: (
        "a second delete may shorten the period, never lengthen it; 0 s (--force) removes an object without finalizers "
        "at once, but processes may still live until {seconds} s"
    ),
    Reminder.NOT_LONGER: ("a second delete with {seconds} s changes nothing: the pod's period is not longer"),
    Reminder.SHORTER: ("a second delete with {seconds} s shortens the object's period, not the stop under way"),
    Reminder.ZERO_IS_FORCED: "kubectl delete requests 0 s with --force only; without it, 0 counts as 1 s",
    Reminder.EXITS_ZERO: "when every process exits 0 the phase is Succeeded, with no reason",
    Reminder.JOB_COUNTS_SUCCESS: ("when every process exits 0 the Job counts the pod as done, and creates none"),
    Reminder.BACK_OFF: (
        "the first two restarts are at once; a later one within {seconds} s of the last (doubled each time, "
        "up to 300 s) waits that long"
    ),
    Reminder.NO_MAX_GRACE: (
        "evictionMaxPodGracePeriod is 0 (default): as short as a hard one; the pod's own period counts once it is set"
    ),
    Reminder.THRESHOLDS: "its kubelet's thresholds: {subject}",
    Reminder.NO_THRESHOLD: "its kubelet never does this: {subject} sets no threshold",
    Reminder.KUBELET_NOT_READ: "the kubelet's configuration is unknown: its defaults are assumed",
    Reminder.THEN_NODE_LOST: "{late}once the machine is off, its node is lost: see node-lost",
    Reminder.NODE_RETURNS: (
        "if the node answers again before the deletion, the pod stays; after it, its kubelet stops it"
    ),
    Reminder.NODE_RETURNS_LATE: "once the node answers again, its kubelet stops it",
    Reminder.NODE_DELETED: "the Node is deleted: {swept}",
    Reminder.OUT_OF_SERVICE: f"taint {OUT_OF_SERVICE}: {{swept}}, volumes detached at once",
    Reminder.VERSION_UNKNOWN: "the control plane's version is unknown: 50 s since 1.32, 40 s before",
    Reminder.MAX_SILENT: "when most nodes of a zone are silent they are tainted later, or not at all",
    Reminder.NOT_RUNNING: "container {subject} does not run now: it has no process to stop",
    Reminder.STATIC_NOT_BACK: "a static pod that the kubelet stopped does not restart by itself",
}


def note_words(note: Note) -> str:
    """A reminder with its number and subject; pod garbage collection waits for a finalizer."""
    swept = f"the object is gone within {note.seconds} s"
    if note.subject:
        swept = f"garbage collected within {note.seconds} s, but finalizer {note.subject} still keeps the object"
    late = "" if note.seconds is None else f"what takes longer than {note.seconds} s may not come; "
    return NOTES[note.reminder].format(seconds=note.seconds, subject=note.subject, swept=swept, late=late)
