"""How containers stop within a grace period: hooks, SIGTERM, SIGKILL, and the end of the last container.

    SIGTERM   at once, or after preStop; for a sidecar after the containers that stop first, or at the end of the
              period
    SIGKILL   at the end of the period, and at least 2 s after SIGTERM; for containers that have not ended by then
    ended     at the earliest if all obey SIGTERM, at the latest after the last SIGKILL

A container that does not run now gets no signal. A stop in progress keeps its initial period: the kubelet's pod worker
accepts a shorter one, but does not pass it to the runtime again.

Source: pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer), kuberuntime_termination_order.go
(waitForTurn, which gives up when the period is over), pkg/kubelet/kubelet.go (SyncTerminatingPod, with a context
that UpdatePod does not cancel) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from msgspec import Struct

from podrules.api.model.instant import instant
from podrules.api.model.pod import Pod
from podrules.ending.deleted_pod import Grace, deleted_at
from podrules.ending.timeline.events import EventKind, Note, Reminder, Span, TimelineEvent, TimeRule
from podrules.pod.processes import idle_containers
from podrules.pod.termination import MINIMUM_GRACE_PERIOD_SECONDS, ContainerStop, container_stops


class Stop(Struct, frozen=True):
    """The stop of a pod's containers; seconds count from the kubelet's start of the stop."""

    events: tuple[TimelineEvent, ...]
    ended: Span
    before: bool = False
    """Whether all containers have already ended."""


def stop_of(pod: Pod, grace: Grace) -> Stop:
    """The stop of the containers that run now."""
    first = container_stops(pod, grace.seconds)
    last = {step.name: step for step in container_stops(pod, grace.longest)}
    events = [event for step in first for event in stop_events(step, last[step.name], grace)]
    ended = Span(
        max((step.sigterm_earliest for step in first), default=0),
        max((step.sigkill_latest for step in last.values()), default=0),
    )
    return Stop(tuple(events), ended)


def ended_before(pod: Pod) -> Span | None:
    """When the last container of a pod being deleted ended, in seconds from its DELETE; None if not known."""
    deleted = deleted_at(pod)
    ends = [status.state.terminated for status in pod.status.of_containers]
    moments = [instant(end.finished_at) for end in ends if end is not None]
    known = [moment for moment in moments if moment is not None]
    if deleted is None or not known:
        return None
    seconds = max(0, ceil((max(known) - deleted).total_seconds()))
    return Span(seconds, seconds)


def stop_events(step: ContainerStop, longest: ContainerStop, grace: Grace) -> Iterator[TimelineEvent]:
    """The events of the stop of one container: preStop, SIGTERM, SIGKILL.

    Args:
        step: The stop with the current grace period.
        longest: The stop with the period with which it may have begun; else the same.
        grace: The grace period and the field that decided it.
    """
    name, hook = step.name, f"{step.field}.lifecycle.preStop.{step.pre_stop}"
    if step.pre_stop is not None:
        known = step.pre_stop_earliest if step.pre_stop_earliest == longest.pre_stop_latest else None
        yield TimelineEvent.of(EventKind.PRE_STOP, Span(0, 0), TimeRule.START, subject=name, field=hook, seconds=known)
    rule, field = TimeRule.START, ""
    if step.waits:
        rule, field = TimeRule.SIDECAR_TURN, f"{step.field}.restartPolicy"
    elif step.pre_stop is not None:
        rule, field = TimeRule.AFTER_PRE_STOP, hook
    term = Span(step.sigterm_earliest, longest.sigterm_latest)
    yield TimelineEvent.of(EventKind.SIGTERM, term, rule, subject=name, field=field, signal=step.stop_signal)
    kill = Span(max(grace.seconds, step.sigterm_earliest + MINIMUM_GRACE_PERIOD_SECONDS), longest.sigkill_latest)
    rule = TimeRule.GRACE_PERIOD if kill.latest == grace.longest else TimeRule.MINIMUM_GRACE_PERIOD
    if grace.first is not None:
        rule = TimeRule.SHORTENED
    seconds = grace.seconds if grace.given is None else grace.given
    yield TimelineEvent.of(EventKind.SIGKILL, kill, rule, subject=name, field=grace.field, seconds=seconds)


def idle_notes(pod: Pod) -> Iterator[Note]:
    """A note for each container that does not run."""
    for name in idle_containers(pod):
        yield Note(Reminder.NOT_RUNNING, subject=name)
