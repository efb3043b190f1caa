"""The pod's node stops responding; the seconds count from its last heartbeat (`podrules.node.lost_node` has the rules).

    heartbeat + 50 s     Ready Unknown. The controller checks every 5 s, also for heartbeats: it may take 60 s
    at once              the taint, one node each 10 s in a zone
    + tolerationSeconds  the pod is deleted, counted from when the taint was noticed
    never by itself      SIGTERM, the object's end: its kubelet receives no request and cannot confirm the end

The Ready condition and the taint that the Node records have their exact time; ranges are for future events.

Source: see `podrules.node.lost_node` and `podrules.node.lost_node`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.node import Taint
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Toleration
from podrules.ending.deleted_pod import grace_of, holders
from podrules.ending.timeline.aftermath import Ownership, after_deletion, forced_detach, free_volumes
from podrules.ending.timeline.events import (
    AT_ONCE,
    NEVER,
    EventKind,
    Note,
    Reminder,
    Span,
    Standing,
    TimelineEvent,
    TimeRule,
    Way,
    WayTimeline,
)
from podrules.ending.volumes import WriterGuard
from podrules.node.lost_node import GC_CHECK_PERIOD, ORPHANS_GONE_WITHIN, UNREACHABLE, MonitorGrace, collected_within
from podrules.node.reachability import Reach
from podrules.pod.termination import GraceSource
from podrules.pod.tolerations import DEFAULT_TOLERATION_SECONDS, NO_EXECUTE, eviction_after, tolerates_taint

_MONITOR_PERIOD: Final = 5
"""--node-monitor-period, seconds: the controller notices a heartbeat, and its absence, up to this much later."""
_TAINTED_WITHIN: Final = 1
"""Seconds; the controller's taint pass runs ten times a second."""
_UNREACHABLE_TAINT: Final = Taint(UNREACHABLE, "", NO_EXECUTE)


class SilentNodeRecord(Struct, frozen=True):
    """What a silent Node records, in seconds from its last heartbeat; None: not yet, or without a time."""

    unknown: int | None = None
    """When its Ready condition became Unknown."""
    tainted: int | None = None
    """When it got the taint."""


NOTHING_NOTED: Final = SilentNodeRecord()


def tolerations_of(pod: Pod, *, daemon: bool) -> tuple[Toleration, ...]:
    """The tolerations of a planned pod, with the one for unreachable nodes that will be added.

    The DaemonSet controller adds one without a limit (AddOrUpdateDaemonPodTolerations); the admission plugin
    DefaultTolerationSeconds adds one with 300 s to a pod that names neither that key nor all keys.
    """
    own = pod.spec.tolerations
    added = Toleration(key=UNREACHABLE, operator="Exists", effect=NO_EXECUTE)
    if daemon:
        return (added, *own)
    if any(entry.key in {"", UNREACHABLE} and entry.effect in {"", NO_EXECUTE} for entry in own):
        return own
    limited = Toleration(
        key=UNREACHABLE, operator="Exists", effect=NO_EXECUTE, toleration_seconds=DEFAULT_TOLERATION_SECONDS
    )
    return (*own, limited)


def node_lost(
    pod: Pod,
    owner: Ownership,
    guards: Sequence[WriterGuard],
    tolerations: Sequence[Toleration],
    monitor: MonitorGrace,
    *,
    noted: SilentNodeRecord = NOTHING_NOTED,
    deleted_after: int | None = None,
    fenced: Span | None = None,
) -> WayTimeline:
    """The timeline of a pod on a node that stops responding.

    ``deleted_after``: for a deleted pod, seconds from the last heartbeat; 0 or less: before it. ``fenced``: for an
    out-of-service node, the time of the taint, in the same seconds.
    """
    heartbeat, unknown, tainted = _falls_silent(noted, monitor.seconds)
    deletion, signal = _deletion_and_signal(tolerations, tainted.span, deleted_after)
    grace = grace_of(pod)
    given = grace.seconds if grace.given is None else grace.given
    events = [heartbeat, unknown, tainted, deletion]
    reach = Reach.SILENT if fenced is None else Reach.OUT_OF_SERVICE
    returns = Reminder.NODE_RETURNS if deleted_after is None else Reminder.NODE_RETURNS_LATE
    # A finished pod has nothing to stop.
    notes = [] if pod.finished else [Note(returns)]
    notes += [Note(Reminder.VERSION_UNKNOWN)] if noted.unknown is None and not monitor.known else []
    held = next(iter(holders(pod.metadata.finalizers)), "")
    deleted = deletion.span
    if pod.finished:
        going = deleted_after is not None
        after = after_deletion(
            pod,
            owner,
            deleted=deleted,
            ended=AT_ONCE,
            grace_seconds=given if going else 0,
            silent=True,
            collected=collected_within(reach, deleted=True),
            swept_from=AT_ONCE if fenced is None else fenced,
        )
        events.append(after.events[0] if going else replace(after.events[0], field=GraceSource.FINISHED.value))
    elif deleted == NEVER:
        events.append(TimelineEvent.of(EventKind.OBJECT_REMOVED, NEVER, TimeRule.TOLERATED_FOR_EVER))
        notes.append(Note(Reminder.NODE_DELETED, ORPHANS_GONE_WITHIN, held))
    else:
        early, silent = deleted.earliest, unknown.span.earliest
        deleted_first = early is not None and silent is not None and early < silent
        after = after_deletion(
            pod,
            owner,
            deleted=deleted if fenced is None else deleted.or_later(fenced),
            ended=NEVER,
            grace_seconds=given,
            silent=True,
            collected=collected_within(reach, deleted=True),
            # The pod's Ready condition becomes False with the node's, unless the pod is deleted before.
            unready=None if deleted_first else unknown.span,
        )
        events.append(signal)
        events += [*after.events, *free_volumes(guards, NEVER, forced=forced_detach(after, reach))]
        if fenced is None:
            notes += [
                Note(Reminder.NODE_DELETED, ORPHANS_GONE_WITHIN, held),
                Note(Reminder.OUT_OF_SERVICE, GC_CHECK_PERIOD, held),
            ]
            # Once the node is tainted, the rate of its zone no longer matters.
            notes += [Note(Reminder.MAX_SILENT)] if noted.tainted is None else []
    return WayTimeline(
        way=Way.NODE_LOST, standing=Standing.APPLIES, grace_seconds=given, events=tuple(events), notes=tuple(notes)
    )


def _falls_silent(noted: SilentNodeRecord, monitor: int) -> tuple[TimelineEvent, TimelineEvent, TimelineEvent]:
    """The last heartbeat, the change of Ready to Unknown, and the taint that follows."""
    heartbeat = TimelineEvent.of(EventKind.LAST_HEARTBEAT, AT_ONCE, TimeRule.START, field="Lease spec.renewTime")
    if noted.unknown is None:
        span = AT_ONCE.later(monitor, monitor + 2 * _MONITOR_PERIOD)
        unknown = TimelineEvent.of(
            EventKind.NODE_UNKNOWN,
            span,
            TimeRule.NODE_MONITOR_GRACE,
            field="node-monitor-grace-period",
            seconds=monitor,
        )
    else:
        span = Span(noted.unknown, noted.unknown)
        unknown = TimelineEvent.of(
            EventKind.NODE_UNKNOWN, span, TimeRule.NODE_SHOWS, field="status.conditions[type=Ready]"
        )
    if noted.tainted is None:
        expected = span.later(0, _TAINTED_WITHIN)
        return (
            heartbeat,
            unknown,
            TimelineEvent.of(
                EventKind.TAINTED, expected, TimeRule.TAINT_RATE, subject=UNREACHABLE, field="node-eviction-rate"
            ),
        )
    at = Span(noted.tainted, noted.tainted)
    return (
        heartbeat,
        unknown,
        TimelineEvent.of(EventKind.TAINTED, at, TimeRule.NODE_SHOWS, subject=UNREACHABLE, field="spec.taints"),
    )


def _deletion_and_signal(
    tolerations: Sequence[Toleration], tainted: Span, deleted_after: int | None
) -> tuple[TimelineEvent, TimelineEvent]:
    """The deletion, and whether the kubelet may still have signalled its processes."""
    silent = TimelineEvent.of(EventKind.SIGTERM, NEVER, TimeRule.KUBELET_SILENT)
    if deleted_after is None:
        after = eviction_after(tolerations, [_UNREACHABLE_TAINT])
        used = (index for index, one in enumerate(tolerations) if tolerates_taint(one, _UNREACHABLE_TAINT))
        index = next(used, None)
        span, rule, field, seconds = tainted, TimeRule.NOT_TOLERATED, "spec.tolerations", None
        if index is not None and after is None:
            span, rule, field = NEVER, TimeRule.TOLERATED_FOR_EVER, f"spec.tolerations[{index}]"
        elif index is not None and after is not None:
            seconds = int(after.total_seconds())
            span, rule = tainted.later(seconds), TimeRule.TOLERATION_SECONDS
            field = f"spec.tolerations[{index}].tolerationSeconds"
        return TimelineEvent.of(EventKind.DELETED, span, rule, field=field, seconds=seconds), silent
    at = Span(deleted_after, deleted_after)
    deletion = TimelineEvent.of(EventKind.DELETED, at, TimeRule.DELETED_BEFORE, field="metadata.deletionTimestamp")
    if deleted_after > 0:
        return deletion, silent
    return deletion, TimelineEvent.of(EventKind.SIGTERM, Span(deleted_after, None), TimeRule.REQUESTED_BEFORE)


def node_missing(pod: Pod, owner: Ownership, guards: Sequence[WriterGuard]) -> WayTimeline:
    """The Node does not exist: pod garbage collection removes the pod without grace period; seconds count from now."""
    within = Span(0, ORPHANS_GONE_WITHIN)
    after = after_deletion(pod, owner, deleted=within, ended=NEVER, grace_seconds=0)
    signal = TimelineEvent.of(EventKind.SIGTERM, NEVER, TimeRule.KUBELET_SILENT)
    events = (
        signal,
        *(
            # Pod garbage collection deletes the object with grace period 0.
            replace(event, rule=TimeRule.POD_GC, field="spec.nodeName", seconds=ORPHANS_GONE_WITHIN)
            if event.rule is TimeRule.GRACE_ZERO
            else event
            for event in after.events
        ),
        *free_volumes(guards, NEVER, forced=forced_detach(after, Reach.GONE)),
    )
    return WayTimeline(way=Way.NODE_LOST, standing=Standing.UNDER_WAY, grace_seconds=0, events=events)
