"""Deletion through the API: by ``kubectl delete`` or a controller, by ``kubectl drain``, or by preemption.

All three use the pod's own grace period and differ in who may reject the deletion. The seconds count from the DELETE;
for a pod that is being deleted, from the first one.

    drain     requests pods/eviction, and repeats it every 5 s while a PodDisruptionBudget blocks it; skips pods of
              DaemonSets and mirror pods; rejects pods without a controller unless --force is given
    preempt   the scheduler deletes its victims, all with lower priority; budgets do not block it, but it prefers
              victims without a violated budget

Source: pkg/registry/core/pod/storage/eviction.go, pkg/scheduler/framework/preemption/executor.go at v1.36.3;
pkg/drain/{drain.go,filters.go} of k8s.io/kubectl at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.ending.deleted_pod import Grace, grace_of
from podrules.ending.timeline.aftermath import (
    FORCE_DETACH_SECONDS,
    Ownership,
    Stop,
    after_deletion,
    ended_before,
    forced_detach,
    free_volumes,
    idle_notes,
    stop_of,
)
from podrules.ending.timeline.events import (
    AT_ONCE,
    NEVER,
    EventKind,
    Note,
    Reminder,
    RuleTrait,
    Span,
    Standing,
    TimelineEvent,
    TimeRule,
    Way,
    WayTimeline,
)
from podrules.ending.volumes import WriterGuard
from podrules.node.lost_node import collected_within
from podrules.node.reachability import Reach
from podrules.pod.priority import SYSTEM_NODE_CRITICAL, SYSTEM_PRIORITY_CLASSES
from podrules.pod.termination import GraceSource, check_graceful_delete
from podrules.workload.disruption import Evictions
from podrules.workload.safety import Guarantee


def stopped_by_deletion(pod: Pod, grace: Grace, owner: Ownership) -> Stop:
    """The kubelet's stop of a deleted pod; the API cannot stop the processes of a mirror pod."""
    if owner.guarantee.guarantee is Guarantee.KUBELET_OWNED:
        return Stop((), AT_ONCE)
    stop = stop_of(pod, grace)
    found = None if stop.events else ended_before(pod)
    return stop if found is None else Stop((), found, before=True)


def delete(
    pod: Pod,
    owner: Ownership,
    guards: Sequence[WriterGuard],
    *,
    reach: Reach,
    fenced: Span = AT_ONCE,
    asked: int | None = None,
) -> WayTimeline:
    """A DELETE now, which requests ``asked`` seconds; for a pod that is being deleted, the stop that is under way.

    From ``fenced`` on, in seconds from the DELETE, garbage collection removes objects on its node.
    """
    going = pod.metadata.deletion_timestamp is not None
    standing = Standing.UNDER_WAY if going else Standing.APPLIES
    return _deleted(Way.DELETE, standing, pod, owner, guards, reach=reach, fenced=fenced, asked=asked)


def drain(
    pod: Pod,
    owner: Ownership,
    guards: Sequence[WriterGuard],
    budgets: Sequence[PodDisruptionBudget],
    *,
    reach: Reach,
    asked: int | None = None,
) -> WayTimeline:
    """``kubectl drain`` of the pod's node now, with the budgets of the pod's namespace."""
    if (barred := _barred(pod)) is not None:
        return WayTimeline(way=Way.DRAIN, standing=barred)
    kind = owner.guarantee.guarantee
    if kind is Guarantee.KUBELET_OWNED or (kind is Guarantee.ONE_PER_NODE and not pod.finished):
        return WayTimeline(way=Way.DRAIN, standing=Standing.PASSED_OVER)
    reason = Evictions(budgets).refused(pod) or ""
    standing = Standing.HELD if reason else Standing.APPLIES
    if kind is Guarantee.NOT_REPLACED and not pod.finished and not reason:
        standing = Standing.NEEDS_FORCE
    return _deleted(Way.DRAIN, standing, pod, owner, guards, reach=reach, reason=reason, asked=asked)


def preempt(
    pod: Pod, owner: Ownership, guards: Sequence[WriterGuard], *, reach: Reach, disabled: bool = False
) -> WayTimeline:
    """kube-scheduler deletes the pod for one with higher priority, if one of its profiles has DefaultPreemption."""
    barred = _barred(pod)
    if barred is None:
        barred = Standing.FINISHED if pod.finished else Standing.SILENT if reach.quiet else None
    if barred is None and (pod.spec.priority or 0) >= SYSTEM_PRIORITY_CLASSES[SYSTEM_NODE_CRITICAL].value:
        barred = Standing.HIGHEST
    if barred is None and disabled:
        barred = Standing.NO_PREEMPTION
    if barred is not None:
        return WayTimeline(way=Way.PREEMPT, standing=barred)
    return _deleted(Way.PREEMPT, Standing.APPLIES, pod, owner, guards, reach=reach)


def second_delete(timeline: WayTimeline, second: Span, *, kept: bool) -> WayTimeline:
    """Add a second DELETE with grace period 0: the object is removed at once, unless it is kept; the stop continues."""
    gone = Span(second.earliest, None) if kept else second
    before = next((event.span for event in timeline.events if event.what is EventKind.OBJECT_REMOVED), NEVER)

    def moved(event: TimelineEvent) -> TimelineEvent:
        if event.what is EventKind.OBJECT_REMOVED:
            return replace(event.during(gone), rule=TimeRule.FINALIZERS if kept else TimeRule.SECOND_DELETE)
        if event.rule in {TimeRule.FORCE_DETACH, TimeRule.FORCE_DETACH_UNFENCED}:
            # With an out-of-service taint the detach does not wait.
            return event.during(gone.later(0 if event.span == before != NEVER else FORCE_DETACH_SECONDS))
        follows = RuleTrait.AFTER_OBJECT in event.rule.traits or event.rule is TimeRule.MIRROR
        return event.during(gone) if follows else event

    return replace(timeline, events=tuple(map(moved, timeline.events)))


def _barred(pod: Pod) -> Standing | None:
    """Why neither a drain nor a preemption deletes a pod."""
    if not pod.spec.node_name:
        return Standing.NOT_RUNNING
    return Standing.STOPPING if pod.metadata.deletion_timestamp is not None else None


def _deleted(
    way: Way,
    standing: Standing,
    pod: Pod,
    owner: Ownership,
    guards: Sequence[WriterGuard],
    *,
    reach: Reach,
    reason: str = "",
    fenced: Span = AT_ONCE,
    asked: int | None = None,
) -> WayTimeline:
    source = check_graceful_delete(pod, None).source
    if source in {GraceSource.NOT_SCHEDULED, GraceSource.FINISHED}:
        events = tuple(_nothing_runs(pod, owner, source, reach, fenced))
        return WayTimeline(way=way, standing=standing, grace_seconds=0, events=events, reason=reason)
    grace, going = grace_of(pod), pod.metadata.deletion_timestamp is not None
    if asked is not None and not going:
        grace = Grace(max(asked, 1), GraceSource.OPTION.value, given=asked)
    given = grace.seconds if grace.given is None else grace.given
    stop = stopped_by_deletion(pod, grace, owner)
    marked = TimelineEvent.of(EventKind.DELETED, AT_ONCE, TimeRule.START, field="metadata.deletionTimestamp")
    silent = reach.quiet
    collected = collected_within(reach, deleted=True)
    after = after_deletion(
        pod,
        owner,
        deleted=AT_ONCE,
        ended=stop.ended,
        grace_seconds=given,
        silent=silent,
        collected=collected,
        swept_from=fenced,
    )
    if silent:
        signals: tuple[TimelineEvent, ...] = (TimelineEvent.of(EventKind.SIGTERM, NEVER, TimeRule.KUBELET_SILENT),)
    else:
        signals = (*stop.events, *_ended(stop))
    events = (
        marked,
        *signals,
        *after.events,
        *free_volumes(guards, stop.ended, forced=forced_detach(after, reach) if silent or collected else None),
    )
    notes = [*idle_notes(pod), *after.notes]
    if stop.events and not silent and way is Way.DELETE and given:
        notes.insert(0, Note(Reminder.SECOND_DELETE, stop.ended.latest))
    if asked == 0 and way is Way.DELETE:
        notes.insert(0, Note(Reminder.ZERO_IS_FORCED))
    if asked is not None and going:
        notes.insert(0, Note(Reminder.NOT_LONGER if asked >= given else Reminder.SHORTER, asked))
    return WayTimeline(
        way=way, standing=standing, reason=reason, grace_seconds=given, events=events, notes=tuple(notes)
    )


def _nothing_runs(
    pod: Pod, owner: Ownership, source: GraceSource, reach: Reach, fenced: Span
) -> Iterator[TimelineEvent]:
    """A pod without processes: the DELETE removes its object, and a finished pod is already replaced.

    A pod that was marked for deletion while it ran, and has ended since, still waits for its kubelet.
    """
    waits = source is GraceSource.FINISHED and bool(pod.metadata.deletion_grace_period_seconds)
    after = after_deletion(
        pod,
        owner,
        deleted=AT_ONCE,
        ended=(ended_before(pod) or Span(0, None)) if waits else AT_ONCE,
        grace_seconds=(pod.metadata.deletion_grace_period_seconds or 0) if waits else 0,
        silent=reach.quiet,
        collected=collected_within(reach, deleted=True),
        swept_from=fenced,
    )
    replaced_before = source is GraceSource.FINISHED
    for event in after.events:
        if event.what is EventKind.OBJECT_REMOVED and event.rule is TimeRule.GRACE_ZERO:
            yield replace(event, field=source.value)
        elif event.what is EventKind.OBJECT_REMOVED or not replaced_before:
            yield event


def _ended(stop: Stop) -> Iterator[TimelineEvent]:
    if stop.events:
        yield TimelineEvent.of(EventKind.PROCESSES_ENDED, stop.ended, TimeRule.STOPPED)
    elif stop.before:
        yield TimelineEvent.of(
            EventKind.PROCESSES_ENDED, stop.ended, TimeRule.ENDED_BEFORE, field="status.containerStatuses"
        )
