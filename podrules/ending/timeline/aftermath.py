"""How a pod's containers stop, and what follows: its object is removed, its owner creates another, volumes are free.

Within the grace period:

    SIGTERM   at once, or after preStop; for a sidecar after the containers that stop first, or at the end of the
              period
    SIGKILL   at the end of the period, and at least 2 s after SIGTERM; for containers that have not ended by then
    ended     at the earliest if all obey SIGTERM, at the latest after the last SIGKILL

A container that does not run now gets no signal. A stop in progress keeps its initial period: the kubelet's pod worker
accepts a shorter one, but does not pass it to the runtime again.

Source: pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer), kuberuntime_termination_order.go
(waitForTurn, which gives up when the period is over), pkg/kubelet/kubelet.go (SyncTerminatingPod, with a context
that UpdatePod does not cancel) at v1.36.3.

After the end of its processes:

Object
    deleted          the kubelet removes the object once every process ended and volumes are unmounted: it checks every
                     second, and took one second in a measurement; finalizers keep the object longer
    grace period 0   the API server removes it with the DELETE
    killed only by   it stays, Failed, until a client deletes it; a StatefulSet and a DaemonSet delete theirs
    the kubelet      automatically, which removes a finished pod at once
    mirror pod       the kubelet removes and recreates it; the static pod is not affected
Replacement
    ReplicaSet       at the deletionTimestamp, or when the phase is Failed: such a pod no longer counts (IsPodActive)
    StatefulSet      when the object is gone, for any reason
    DaemonSet        the same; with maxSurge at the deletionTimestamp
    Job              podReplacementPolicy TerminatingOrFailed: when it is deleted, and 10 s after the failure, which is
                     the end of its containers, else when it was Ready last, else the deletion; Failed, which a
                     podFailurePolicy implies: 10 s after its end. Each failure doubles the 10 s, up to 10 min; a pod
                     that ended Succeeded is not replaced
    no owner         a pod without a controller is not replaced
    The ReplicaSet of a Deployment decides, not the Deployment.
Volume attached to the node
    the attach/detach controller waits for the kubelet to unmount it and to report that, which it does every 10 s

Source: pkg/kubelet/{kubelet.go,status/status_manager.go}, pkg/controller/controller_utils.go (IsPodActive),
pkg/controller/{replicaset/replica_set.go,statefulset/stateful_set_control.go,daemon/daemon_controller.go},
pkg/controller/job/{job_controller.go,backoff_utils.go}, pkg/apis/batch/v1/defaults.go,
pkg/controller/volume/attachdetach/reconciler/reconciler.go at v1.36.3; KEP-3939.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Final

from msgspec import Struct

from podrules.api.model.instant import instant
from podrules.api.model.pod import Pod
from podrules.api.model.workload import Workload
from podrules.ending.attachment import FORCE_DETACH_AFTER
from podrules.ending.deleted_pod import Grace, deleted_at, holders
from podrules.ending.timeline.events import AT_ONCE, NEVER, EventKind, Note, Reminder, Span, TimelineEvent, TimeRule
from podrules.ending.volumes import WriterGuard, WriterLock
from podrules.node.lost_node import ORPHANS_GONE_WITHIN
from podrules.node.reachability import Reach
from podrules.pod.container_state import idle_containers
from podrules.pod.termination import MINIMUM_GRACE_PERIOD_SECONDS, ContainerStop, container_stops
from podrules.workload.safety import Guarantee, OwnerGuarantee

_CONFIRMED_SECONDS: Final = 2
"""Two periods of the kubelet's runtime check (genericPlegRelistPeriod, 1 s); unmounting may take longer."""
_REPORTED_SECONDS: Final = 10
"""nodeStatusUpdateFrequency: how often the kubelet reports status.volumesInUse."""
FORCE_DETACH_SECONDS: Final = int(FORCE_DETACH_AFTER.total_seconds())
JOB_BACK_OFF_SECONDS: Final = 10
"""DefaultJobPodFailureBackOff."""
_POLICY: Final = "Job spec.podReplacementPolicy"
_NO_SURGE: Final = (None, 0, "0", "0%")


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

    ``longest``: the stop with the period with which it may have begun; else the same as ``step``.
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


class Ownership(Struct, frozen=True):
    """A pod's controller, for the time at which another pod is created."""

    guarantee: OwnerGuarantee
    workload: Workload | None = None
    """The controller itself; None: not known."""

    @property
    def name(self) -> str:
        """``StatefulSet db``; empty without one."""
        return f"{self.guarantee.kind} {self.guarantee.name}".strip()

    @property
    def only_replaces_failed(self) -> bool:
        """Whether a Job waits for a pod's end (onlyReplaceFailedPods)."""
        spec = self.workload.spec if self.workload is not None else None
        return spec is not None and (spec.pod_replacement_policy == "Failed" or spec.pod_failure_policy is not None)

    @property
    def surges(self) -> bool:
        """Whether a DaemonSet creates the next pod while the old one exists (AllowsSurge)."""
        rolling = self.workload.spec.update_strategy.rolling_update if self.workload is not None else None
        return rolling is not None and rolling.max_surge not in _NO_SURGE


class Aftermath(Struct, frozen=True):
    """The following events, with notes."""

    events: tuple[TimelineEvent, ...]
    notes: tuple[Note, ...] = ()


def after_deletion(
    pod: Pod,
    owner: Ownership,
    *,
    deleted: Span,
    ended: Span,
    grace_seconds: int,
    silent: bool = False,
    collected: int | None = None,
    unready: Span | None = None,
    swept_from: Span = AT_ONCE,
) -> Aftermath:
    """The object and its replacement after a DELETE.

    In seconds: the object gets its deletionTimestamp at ``deleted``, its last process ends at ``ended``. Its Ready
    condition becomes False at ``unready``, if that is before the deletion. Pod garbage collection removes the object
    within ``collected``, from ``swept_from`` on; None: it does not. ``silent``: its kubelet does not respond.
    """
    swept = None if collected is None else deleted.or_later(swept_from).later(0, collected)
    gone = _object_removed(pod, owner, deleted, ended, grace_seconds, silent=silent, swept=swept, collected=collected)
    notes = [Note(Reminder.JOB_COUNTS_SUCCESS)] if owner.guarantee.guarantee is Guarantee.RUNS_TO_COMPLETION else []
    failed = _failed_at(pod, deleted, unready)
    replaced = _replaced(owner, deleted, failed, NEVER if silent else ended, gone.span)
    return Aftermath((gone, replaced), tuple(notes))


def after_kubelet_kill(owner: Ownership, ended: Span) -> Aftermath:
    """The object and its replacement after the kubelet stopped a pod that was not deleted."""
    failed = ended.later(0, _CONFIRMED_SECONDS)
    phase = TimelineEvent.of(EventKind.FAILED, failed, TimeRule.KUBELET_CONFIRMS, field="status.phase")
    guarantee = owner.guarantee.guarantee
    if guarantee in {Guarantee.AT_MOST_ONE, Guarantee.ONE_PER_NODE}:
        gone = TimelineEvent.of(EventKind.OBJECT_REMOVED, failed, TimeRule.OWNER_DELETES, subject=owner.name)
    else:
        gone = TimelineEvent.of(EventKind.OBJECT_REMOVED, NEVER, TimeRule.OBJECT_STAYS)
    notes = [Note(Reminder.EXITS_ZERO)]
    if guarantee is Guarantee.RUNS_TO_COMPLETION:
        notes = [Note(Reminder.JOB_COUNTS_SUCCESS)]
    elif guarantee is Guarantee.KUBELET_OWNED:
        notes.append(Note(Reminder.STATIC_NOT_BACK))
    return Aftermath((phase, gone, _replaced(owner, failed, ended, ended, gone.span)), tuple(notes))


def forced_detach(after: Aftermath, reach: Reach) -> tuple[Span, Span]:
    """When a silent node's volumes are detached: those that it lists as in use, and the others.

    The others wait only for the object; with the out-of-service taint all do.
    """
    gone = next((event.span for event in after.events if event.what is EventKind.OBJECT_REMOVED), NEVER)
    return gone if reach.declared else gone.later(FORCE_DETACH_SECONDS), gone


def free_volumes(
    guards: Sequence[WriterGuard], ended: Span, *, forced: tuple[Span, Span] | None = None
) -> Iterator[TimelineEvent]:
    """When another node can use each volume; volumes for several pods need not wait and are left out.

    ``forced``: the times of the forced detach, if the kubelet of the pod does not respond.
    """
    for guard in guards:
        match guard.lock:
            case WriterLock.NOT_NEEDED | WriterLock.REMOVED:
                continue
            case WriterLock.NODE | WriterLock.FOLDER if forced is not None or not guard.access_modes:
                continue
            case WriterLock.NONE | WriterLock.NODE | WriterLock.FOLDER:
                span, rule, field, seconds = AT_ONCE, TimeRule.NOT_LOCKED, "", None
            case WriterLock.UNKNOWN:
                span, rule, field, seconds = NEVER, TimeRule.VOLUME_UNKNOWN, "", None
            case _ if forced is not None and not guard.mounted:
                span, field, seconds = forced[1], "status.volumesInUse", None
                rule = TimeRule.NOT_IN_USE_UNFENCED if guard.lock is WriterLock.CONTROLLER else TimeRule.NOT_IN_USE
            case _ if forced is not None:
                span, field, seconds = forced[0], "disable-force-detach-on-timeout", FORCE_DETACH_SECONDS
                unfenced = guard.lock is WriterLock.CONTROLLER
                rule = TimeRule.FORCE_DETACH_UNFENCED if unfenced else TimeRule.FORCE_DETACH
            case _:
                span, rule = ended.later(0, _REPORTED_SECONDS), TimeRule.UNMOUNTED
                field, seconds = "status.volumesInUse", _REPORTED_SECONDS
        yield TimelineEvent.of(EventKind.VOLUME_FREE, span, rule, subject=guard.volume, field=field, seconds=seconds)


def _object_removed(
    pod: Pod,
    owner: Ownership,
    deleted: Span,
    ended: Span,
    grace: int,
    *,
    silent: bool,
    swept: Span | None,
    collected: int | None,
) -> TimelineEvent:
    others = holders(pod.metadata.finalizers)
    if others:
        reached = deleted if grace == 0 else swept or (NEVER if silent else ended)
        return TimelineEvent.of(
            EventKind.OBJECT_REMOVED,
            Span(reached.earliest, None),
            TimeRule.FINALIZERS,
            subject=", ".join(others),
            field="metadata.finalizers",
        )
    if grace == 0:
        return TimelineEvent.of(EventKind.OBJECT_REMOVED, deleted, TimeRule.GRACE_ZERO, seconds=0)
    if swept is not None:
        orphaned = collected == ORPHANS_GONE_WITHIN
        rule = TimeRule.POD_GC if orphaned else TimeRule.POD_GC_OUT_OF_SERVICE
        return TimelineEvent.of(
            EventKind.OBJECT_REMOVED,
            swept,
            rule,
            field="spec.nodeName" if orphaned else "spec.taints",
            seconds=collected,
        )
    if silent:
        return TimelineEvent.of(EventKind.OBJECT_REMOVED, NEVER, TimeRule.KUBELET_SILENT)
    if owner.guarantee.guarantee is Guarantee.KUBELET_OWNED:
        return TimelineEvent.of(EventKind.OBJECT_REMOVED, deleted.later(0, _CONFIRMED_SECONDS), TimeRule.MIRROR)
    confirmed = ended.later(0, _CONFIRMED_SECONDS)
    return TimelineEvent.of(EventKind.OBJECT_REMOVED, confirmed, TimeRule.KUBELET_CONFIRMS, seconds=_CONFIRMED_SECONDS)


def _failed_at(pod: Pod, deleted: Span, unready: Span | None) -> Span:
    """The start of a Job's back-off for a deleted pod that runs (getFinishedTime)."""
    failed = deleted if unready is None else unready
    ready = pod.status.condition("Ready")
    if ready is not None and ready.status == "False":
        # The pod may have been unready for longer than the back-off.
        return Span(-JOB_BACK_OFF_SECONDS, failed.latest)
    return failed


def _replaced(owner: Ownership, inactive: Span, failed: Span, ended: Span, gone: Span) -> TimelineEvent:
    """When the owner creates another pod.

    Args:
        owner: The controller.
        inactive: When the pod no longer counts: at its deletionTimestamp, or when it is Failed.
        failed: The start of the back-off of a Job that replaces deleted pods.
        ended: When its last process ended.
        gone: When its object is gone.
    """
    own = owner.guarantee
    span, rule, field, seconds = NEVER, TimeRule.OWNER_DECIDES, own.field, None
    match own.guarantee:
        case Guarantee.AVAILABILITY_FIRST:
            span, rule = inactive, TimeRule.INACTIVE
        case Guarantee.ONE_PER_NODE if owner.surges:
            span, rule, field = inactive, TimeRule.SURGE, "DaemonSet spec.updateStrategy.rollingUpdate.maxSurge"
        case Guarantee.AT_MOST_ONE | Guarantee.ONE_PER_NODE:
            span, rule = gone, TimeRule.AFTER_OBJECT
        case Guarantee.RUNS_TO_COMPLETION:
            field, seconds = _POLICY, JOB_BACK_OFF_SECONDS
            if owner.only_replaces_failed:
                span, rule = ended.later(JOB_BACK_OFF_SECONDS), TimeRule.JOB_FAILED
            else:
                span, rule = inactive.or_later(failed.later(JOB_BACK_OFF_SECONDS)), TimeRule.JOB_TERMINATING_OR_FAILED
        case Guarantee.KUBELET_OWNED:
            span, rule = gone, TimeRule.MIRROR
        case Guarantee.NOT_REPLACED:
            rule = TimeRule.NOT_REPLACED
    return TimelineEvent.of(EventKind.REPLACED, span, rule, subject=owner.name, field=field, seconds=seconds)
