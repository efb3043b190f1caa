"""What ended a pod as a whole: its own status, who deleted it, or what events tell of one that is gone.

    finished      status.reason and status.message are the kubelet's word; without them its containers ended themselves
    deleted       unless its containers had ended before. Condition DisruptionTarget names the scheduler, the eviction
                  API, the taint manager or garbage collection, each of which sets it right before it deletes. Without
                  it: its controller (event SuccessfulDelete about that), its Job, its owner that is gone, or anybody
    no grace      deletionGracePeriodSeconds 0 is that of a forced deletion, or of the kubelet's last request once the
                  containers have stopped: the deletion time tells which
    gone          events alone are left. An event that names a cause is proof if the kubelet did not stop the pod before

Source, at v1.36.3: pkg/scheduler/framework/preemption/executor.go, pkg/registry/core/pod/storage/eviction.go
(addConditionAndDeletePod), pkg/controller/tainteviction/taint_eviction.go, pkg/controller/podgc/gc_controller.go,
pkg/controller/controller_utils.go (SuccessfulDelete), pkg/kubelet/status/status_manager.go (the last delete).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from podrules.container_state import Termination, observed_containers
from podrules.died.cause import Cause
from podrules.died.container_end import container_verdict, was_stopped
from podrules.died.evidence import Evidence, PodEvents
from podrules.died.messages import (
    DISRUPTIONS,
    EVENT_CAUSES,
    UNHEALTHY,
    cause_of_condition,
    cause_of_eviction,
    cause_of_kill,
    cause_of_status,
    deleted_name,
    is_plain_stop,
)
from podrules.died.verdict import NOTHING, Clue, Source, Verdict, Weight, proven, weighed
from podrules.ending import deleted_at
from podrules.model.base import Condition
from podrules.model.event import Event
from podrules.model.instant import instant
from podrules.model.pod import ContainerRef, Pod
from podrules.platform import pod_platform

__all__ = ["Order", "gone_verdict", "order_of_deletion", "pod_verdict"]

_DISRUPTION: Final = "DisruptionTarget"
_NEAR: Final = timedelta(seconds=30)
"""Between a condition and the deletion that its author asks for right after: by two clocks of the control plane."""
_SECOND: Final = timedelta(seconds=1)
_STOPPING: Final = timedelta(seconds=30)
"""What a stop may take beyond the grace period, until the kubelet has removed the pod."""
_JOB: Final = "Job"
_JOB_ENDS: Final = ("Failed", "FailureTarget", "Complete", "SuccessCriteriaMet", "Suspended")
_SILENT: Final = (
    Cause.API_EVICTION,
    Cause.JOB_ENDED,
    Cause.OWNER,
    Cause.DELETED,
    Cause.FORCE_DELETED,
    Cause.NODE_SHUTDOWN,
    Cause.SANDBOX_CHANGED,
)
"""For which the kubelet stops a pod without that an event about the pod says so."""
_TOLD_BY_EVENTS: Final = (
    Cause.EVICTED_MEMORY,
    Cause.EVICTED_DISK,
    Cause.EVICTED_INODES,
    Cause.EVICTED_PIDS,
    Cause.CONTAINER_STORAGE_LIMIT,
    Cause.POD_STORAGE_LIMIT,
    Cause.EMPTY_DIR_LIMIT,
    Cause.KUBELET_PREEMPTION,
    Cause.ACTIVE_DEADLINE,
    Cause.PREEMPTION,
    Cause.TAINT_EVICTION,
    Cause.LIVENESS_PROBE,
    Cause.STARTUP_PROBE,
)
"""For which an event about the pod comes before."""
_OF_CONTAINERS: Final = (
    Cause.OWN_MEMORY_LIMIT,
    Cause.POD_MEMORY_LIMIT,
    Cause.NODE_OUT_OF_MEMORY,
    Cause.LIVENESS_PROBE,
    Cause.STARTUP_PROBE,
    Cause.POST_START_HOOK,
    Cause.CONTAINER_LOST,
    Cause.APPLICATION,
)
"""By which the containers of a pod may have ended before it was deleted."""
_MARKING: Final = "Marking for deletion"
_BY_KUBELET: Final = "TerminationByKubelet"


def pod_verdict(evidence: Evidence, pod: Pod) -> Verdict | None:
    """What ended a pod that is there; None: nothing but its containers themselves, if those."""
    named = cause_of_status(pod.status.reason, pod.status.message) if pod.finished else None
    if named is not None:
        return proven(named, Clue(Source.POD, "status.reason", f"{pod.status.reason}: {pod.status.message}"))
    condition = _disruption(pod)
    if pod.finished and condition is not None and condition.reason == _BY_KUBELET:
        by_kubelet = cause_of_condition(condition.message)
        if by_kubelet is not None:
            # A pod whose processes exit with 0 becomes Succeeded, and its status.reason says nothing.
            return proven(by_kubelet, _of_condition(condition))
    if pod.finished or pod.metadata.deletion_timestamp is None:
        # Over a limit of its own, it has no condition either.
        told = _told(evidence) if pod.finished else None
        if told is not None and _before_its_end(told[1], pod):
            return proven(told[0], _clue(told[1]))
    order = order_of_deletion(evidence, pod)
    if pod.metadata.deletion_timestamp is None or order is Order.BEFORE:
        return _collected(pod)
    return _deleted(evidence, pod, surely=order is Order.AFTER)


def _collected(pod: Pod) -> Verdict | None:
    """The verdict on a pod that garbage collection called finished, for its node was gone."""
    condition = _disruption(pod)
    gone = pod.finished and condition is not None and DISRUPTIONS.get(condition.reason) is Cause.NODE_GONE
    return proven(Cause.NODE_GONE, _of_condition(condition)) if gone and condition is not None else None


class Order(Enum):
    """Whether a pod's app containers had ended when it was deleted."""

    BEFORE = "Before"
    AFTER = "After"
    UNKNOWN = "Unknown"


def order_of_deletion(evidence: Evidence, pod: Pod) -> Order:
    """Whether its app containers had ended by themselves before it was deleted, or were stopped for that.

    The kubelet's last request, once all has stopped, sets both fields of a deletion again, with grace 0. When the pod
    was deleted is not known then.
    """
    deleted = deleted_at(pod)
    ends = list(_ends(evidence, pod))
    if deleted is None:
        return Order.BEFORE if pod.finished else Order.AFTER
    if len(ends) < len(pod.spec.containers):
        return Order.AFTER
    if any(was_stopped(evidence.events, ref, end) for ref, end in ends):
        return Order.AFTER
    times = [instant(end.finished_at) for _, end in ends]
    known = [evidence.clocks.server_time(time) for time in times if time is not None]
    began = [instant(end.started_at) for _, end in ends]
    if len(known) < len(times):
        return Order.UNKNOWN
    if evidence.events is not None and all(map(evidence.events.complete_since, began)):
        return Order.BEFORE
    return _by_times(evidence, pod, deleted, max(known))


def _by_times(evidence: Evidence, pod: Pod, deleted: datetime, ended: datetime) -> Order:
    margin, reset = evidence.clocks.margin, pod.metadata.deletion_grace_period_seconds == 0
    first = (
        deleted - timedelta(seconds=pod.spec.termination_grace_period_seconds or 0) - _STOPPING if reset else deleted
    )
    if ended + margin < first:
        return Order.BEFORE
    return Order.AFTER if ended - margin > deleted else Order.UNKNOWN


def _ends(evidence: Evidence, pod: Pod) -> Iterator[tuple[ContainerRef, Termination]]:
    """How its app containers ended, as far as they have."""
    observed = {one.name: one.end for one in observed_containers(pod, pod_platform(pod, evidence.node))}
    for ref in pod.containers():
        end = None if ref.is_init else observed.get(ref.container.name)
        if end is not None:
            yield ref, end


def _deleted(evidence: Evidence, pod: Pod, *, surely: bool) -> Verdict:
    """Who deleted a pod that is marked for deletion.

    Args:
        evidence: What is known.
        pod: The pod.
        surely: Whether its containers ended for that, and had not ended before.
    """
    condition, when = _disruption(pod), deleted_at(pod)
    named = DISRUPTIONS.get(condition.reason) if condition is not None else None
    weights: dict[Cause, Weight] = {}
    clues: dict[Cause, list[Clue]] = {}
    owner = _by_owner(evidence, pod.metadata.name)
    if condition is not None and named is not None:
        set_at = instant(condition.last_transition_time)
        near = set_at is not None and when is not None and abs(set_at - when) <= _NEAR
        weights, clues = {named: Weight.MUCH}, {named: [_of_condition(condition)]}
        if not near:
            weights[Cause.DELETED] = Weight.POSSIBLE
    elif owner is not None:
        weights, clues = {owner[0]: Weight.MUCH}, {owner[0]: [owner[1]]}
    else:
        weights = dict(_deleters(evidence, pod))
        clues = {Cause.OWNER: [Clue(Source.OWNER, "metadata.ownerReferences", "gone")]} if evidence.owner_gone else {}
    if not surely:
        for cause in _by_themselves(evidence, pod):
            weights.setdefault(cause, Weight.SOME)
    if len(weights) == 1:
        [(cause, found)] = ((cause, clues.get(cause, [])) for cause in weights)
        return proven(cause, *found)
    return weighed(weights, clues)


def _by_themselves(evidence: Evidence, pod: Pod) -> frozenset[Cause]:
    """What may have ended its app containers before."""
    causes = (container_verdict(evidence, pod, ref, end).causes for ref, end in _ends(evidence, pod))
    return frozenset().union(*causes)


def _deleters(evidence: Evidence, pod: Pod) -> Iterator[tuple[Cause, Weight]]:
    """Who may have deleted a pod without a condition."""
    forced = _forced(evidence, pod)
    if forced is not False:
        yield Cause.FORCE_DELETED, Weight.SOME if forced is None else Weight.MUCH
    if forced is not True:
        yield Cause.DELETED, Weight.SOME
    if pod.metadata.controller is None or forced is True:
        return
    told = evidence.owner_events
    since = instant(pod.metadata.creation_timestamp)
    silent = told is not None and told.complete_since(since) and not evidence.owner_gone
    if not silent:
        yield Cause.OWNER, Weight.MUCH if evidence.owner_gone else Weight.SOME
        if _is_of_job(pod):
            yield Cause.JOB_ENDED, Weight.MUCH if _job_ended(evidence) else Weight.SOME


def _forced(evidence: Evidence, pod: Pod) -> bool | None:
    """Whether it was deleted without grace; None: or its kubelet removed it, once it had stopped."""
    if pod.metadata.deletion_grace_period_seconds != 0 or not pod.spec.node_name:
        return False
    if (pod.spec.termination_grace_period_seconds or 0) == 0:
        return None
    when, clocks = instant(pod.metadata.deletion_timestamp), evidence.clocks
    ends = [status.state.terminated for status in pod.status.container_statuses]
    if when is None or not ends or any(end is None for end in ends):
        return True
    times = [time for end in ends if end is not None and (time := instant(end.finished_at)) is not None]
    last = max(times, default=None)
    if last is None or abs(clocks.server_time(last) - when) <= clocks.margin:
        return None
    return clocks.server_time(last) > when


def _by_owner(evidence: Evidence, name: str) -> tuple[Cause, Clue] | None:
    """That its controller tells of having deleted it."""
    for event in reversed(evidence.owner_events.named("SuccessfulDelete") if evidence.owner_events else ()):
        if deleted_name(event.message) == name:
            cause = Cause.JOB_ENDED if event.involved_object.kind == _JOB else Cause.OWNER
            return cause, Clue(Source.OWNER_EVENT, event.reason, event.message, event.last)
    return None


def _is_of_job(pod: Pod) -> bool:
    return pod.metadata.controller is not None and pod.metadata.controller.kind == _JOB


def _job_ended(evidence: Evidence) -> bool:
    return evidence.owner is not None and any(map(evidence.owner.status.is_true, _JOB_ENDS))


def _disruption(pod: Pod) -> Condition | None:
    condition = pod.status.condition(_DISRUPTION)
    return condition if condition is not None and condition.status == "True" else None


def _of_condition(condition: Condition | None) -> Clue:
    said = "" if condition is None else f"{condition.reason}: {condition.message}"
    return Clue(Source.POD, _DISRUPTION, said, condition.last_transition_time if condition is not None else None)


def _clue(event: Event) -> Clue:
    return Clue(Source.EVENT, event.reason, event.message, event.last)


# Events


def _told(evidence: Evidence) -> tuple[Cause, Event] | None:
    """The last event that names what ended the pod as a whole."""
    events = evidence.events.events if evidence.events is not None else ()
    for event in reversed(events):
        cause = cause_of_eviction(event.message) if event.reason == "Evicted" else EVENT_CAUSES.get(event.reason)
        if event.reason == "TaintManagerEviction" and not event.message.startswith(_MARKING):
            # Told of each pod that goes while it was to be deleted later.
            continue
        if cause is not None:
            return cause, event
    return None


def _before_its_end(event: Event, pod: Pod) -> bool:
    """Whether an event came while a container of the pod ran."""
    when = instant(event.last)
    ends = [status.state.terminated for status in pod.status.container_statuses]
    times = [time for end in ends if end is not None and (time := instant(end.finished_at)) is not None]
    return when is not None and any(when <= time for time in times)


def gone_verdict(evidence: Evidence) -> Verdict:
    """What ended a pod whose object is gone, by the events that are left."""
    events = evidence.events
    told = _told(evidence)
    stops = _stops(events.events) if events is not None else ()
    if told is not None:
        cause, event = told
        if stops and not any(_before(stop, event) for stop in stops):
            return proven(cause, _clue(event))
        return weighed({cause: Weight.MUCH, Cause.DELETED: Weight.POSSIBLE}, {cause: [_clue(event)]})
    owner = _by_owner(evidence, evidence.name)
    if owner is not None:
        cause, clue = owner
        # Its containers may have ended before, unless the kubelet tells that it stopped them.
        others = {} if stops else dict.fromkeys(_OF_CONTAINERS, Weight.POSSIBLE)
        return weighed({cause: Weight.MUCH, **others}, {cause: [clue]})
    return _anybody(evidence, stops) if stops else NOTHING


def _anybody(evidence: Evidence, stops: Sequence[Event]) -> Verdict:
    """The pod was stopped, and no event tells for whom."""
    weights = dict.fromkeys(_SILENT, Weight.SOME)
    events = evidence.events
    began = min((time for stop in stops if (time := instant(stop.first)) is not None), default=None)
    if events is None or not events.complete_since(_earlier(began)):
        weights |= dict.fromkeys(_TOLD_BY_EVENTS, Weight.SOME)
    weights |= dict.fromkeys(_failed_probes(events), Weight.SOME)
    clues = {cause: [_clue(stops[-1])] for cause in weights}
    node = evidence.node
    if node is not None and node.spec.unschedulable:
        weights[Cause.API_EVICTION] = Weight.MUCH
        clues[Cause.API_EVICTION].append(Clue(Source.NODE, "spec.unschedulable", "true"))
    return weighed(weights, clues)


def _failed_probes(events: PodEvents | None) -> Iterator[Cause]:
    """The probes that failed: of a pod that is not to restart, the kubelet then stops all."""
    for event in events.named("Unhealthy") if events is not None else ():
        yield from (cause for cause, words in UNHEALTHY.items() if words in event.message)


def _earlier(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment - _SECOND


def _stops(events: Sequence[Event]) -> tuple[Event, ...]:
    """Those by which the kubelet stopped the whole pod."""
    kills = (event for event in events if event.reason == "Killing" and cause_of_kill(event.message) is None)
    return tuple(event for event in kills if is_plain_stop(event.message))


def _before(stop: Event, event: Event) -> bool:
    first, second = instant(stop.first), instant(event.first)
    return first is None or second is None or first < second - _SECOND
