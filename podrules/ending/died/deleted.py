"""Who deleted a pod that still exists.

    DisruptionTarget    the scheduler, the eviction API, the taint managers and garbage collection set it right before
                        they delete. Set after the deletion, or after the kubelet had begun to stop the pod, it shows
                        a second request
    an evictor          an autoscaler or the like names the pod in an event; see `podrules.workload.evictors`
    its controller      says so in an event; see `controllers`
    no evidence         its controller, garbage collection for an owner that is gone, or any client
    no grace            deletionGracePeriodSeconds 0 comes from a force deletion, or from the kubelet's last request

Source, at v1.36.3: pkg/scheduler/framework/preemption/executor.go, pkg/registry/core/pod/storage/eviction.go
(addConditionAndDeletePod), pkg/controller/tainteviction/taint_eviction.go, pkg/controller/devicetainteviction/
device_taint_eviction.go, pkg/controller/podgc/gc_controller.go, pkg/kubelet/status/status_manager.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from podrules.api.model.base import Condition
from podrules.api.model.instant import instant
from podrules.api.model.pod import Pod
from podrules.ending.deleted_pod import deleted_at
from podrules.ending.died.cause import Cause, Clue, EndVerdict, EvidenceSource, Weight, of_event, weighed
from podrules.ending.died.container_end import container_verdict
from podrules.ending.died.controllers import (
    causes_from_controller,
    excluded_controllers,
    job_may_have_ended,
    scaling_clues,
)
from podrules.ending.died.evidence import Evidence, stopped_at
from podrules.ending.died.gone import announced, cause_from_event, deletes_active
from podrules.ending.died.messages import DISRUPTION, DISRUPTIONS, FORCE_ALLOWED
from podrules.ending.died.stop_order import app_ends, was_reset
from podrules.pod.container_state import has_process
from podrules.workload.evictors import pod_evictor

_NEAR: Final = timedelta(seconds=10)
"""Between a condition and the deletion that its author requests next: by two clocks of the control plane."""
_SECOND: Final = timedelta(seconds=1)
"""Times in the API are in whole seconds."""

_Weighed = tuple[dict[Cause, Weight], dict[Cause, list[Clue]]]


def deleted_verdict(evidence: Evidence, pod: Pod, *, surely: bool) -> EndVerdict:
    """Who deleted a pod that is marked for deletion.

    Args:
        evidence: What is known.
        pod: The pod.
        surely: Whether the deletion ended its containers, which had not ended before.
    """
    condition = disruption(pod)
    if condition is None:
        weights, clues = _by_evictor(evidence, pod) or _deleters(evidence, pod)
    else:
        weights, clues = _disrupted(evidence, pod, condition)
    if not surely and not (clues.get(Cause.OWNER) and deletes_active(evidence) and weights.keys() == {Cause.OWNER}):
        for cause in _by_themselves(evidence, pod):
            weights.setdefault(cause, Weight.SOME)
    return weighed(weights, clues)


def _by_evictor(evidence: Evidence, pod: Pod) -> _Weighed | None:
    """What the event of an evicting program says about this deletion; None: no such event came with it."""
    named, when = cause_from_event(evidence), deleted_at(pod)
    by = None if named is None else pod_evictor(named[1])
    at = None if named is None or by is None else instant(named[1].last)
    if named is None or at is None or when is None or was_reset(pod) or abs(when - at) > _NEAR:
        return None
    return {named[0]: Weight.MUCH}, {named[0]: [of_event(named[1])]}


def disruption(pod: Pod) -> Condition | None:
    """Condition DisruptionTarget, if it is True."""
    condition = pod.status.condition(DISRUPTION)
    return condition if condition is not None and condition.status == "True" else None


def of_condition(condition: Condition) -> Clue:
    """The condition as evidence."""
    said = f"{condition.reason}: {condition.message}"
    return Clue(EvidenceSource.POD, DISRUPTION, said, condition.last_transition_time)


def _by_themselves(evidence: Evidence, pod: Pod) -> frozenset[Cause]:
    """The causes that may have ended its app containers before the deletion."""
    causes = (container_verdict(evidence, pod, ref, end).causes for ref, end in app_ends(evidence, pod))
    return frozenset[Cause]().union(*causes)


def _disrupted(evidence: Evidence, pod: Pod, condition: Condition) -> _Weighed:
    """Who set the condition, or deleted the pod before that."""
    named, deleters = DISRUPTIONS.get(condition.reason), _deleters(evidence, pod)
    if named is None:
        # The reason of a component that the rules do not know.
        return {**deleters[0], Cause.DELETED: Weight.SOME, Cause.API_EVICTION: Weight.SOME}, deleters[1]
    clues = {named: [of_condition(condition)]}
    if _is_late(pod, condition):
        return {**deleters[0], named: Weight.SOME}, deleters[1] | clues
    if _is_its_own(evidence, pod, condition):
        return {named: Weight.MUCH}, clues
    return {**dict.fromkeys(deleters[0], Weight.POSSIBLE), named: Weight.MUCH}, clues


def _is_its_own(evidence: Evidence, pod: Pod, condition: Condition) -> bool:
    """Whether the author of the condition was also the first to delete the pod."""
    set_at, when = instant(condition.last_transition_time), deleted_at(pod)
    if set_at is None or when is None:
        return False
    if not was_reset(pod):
        return when - set_at <= _NEAR
    # The time of the first deletion is not known: it is the first if the kubelet had not begun to stop the pod before.
    began = stopped_at(evidence)
    return began is not None and set_at <= began <= set_at + _NEAR


def _is_late(pod: Pod, condition: Condition) -> bool:
    set_at, when = instant(condition.last_transition_time), deleted_at(pod)
    return set_at is not None and when is not None and set_at > when + _SECOND


def _deleters(evidence: Evidence, pod: Pod) -> _Weighed:
    """Who may have deleted a pod, regardless of its condition."""
    made, when = instant(pod.metadata.creation_timestamp), deleted_at(pod)
    named = causes_from_controller(evidence, made)
    if named:
        return dict.fromkeys(named, Weight.MUCH), named
    weights: dict[Cause, Weight] = {}
    forced = _forced(evidence, pod)
    if forced is not False:
        weights[Cause.FORCE_DELETED] = Weight.SOME if forced is None else Weight.MUCH
    if forced is not True:
        weights[Cause.DELETED] = Weight.SOME
        weights |= dict(_controllers(evidence, excluded_controllers(evidence, made, when)))
    scaled = scaling_clues(evidence.scalings, evidence.name, when) if Cause.OWNER in weights else []
    asked = [Clue(EvidenceSource.POD, "metadata.deletionTimestamp", pod.metadata.deletion_timestamp or "")]
    clues = {Cause.DELETED: [*asked, *map(of_event, announced(evidence, when))], Cause.FORCE_DELETED: asked}
    for event in evidence.known_events.named(FORCE_ALLOWED):
        at = instant(event.last)
        if forced is not False and when is not None and at is not None and abs(when - at) <= _NEAR:
            weights[Cause.FORCE_DELETED] = Weight.MUCH
            clues[Cause.FORCE_DELETED] = [*asked, of_event(event)]
    if scaled:
        weights[Cause.OWNER] = Weight.MUCH
        clues[Cause.OWNER] = scaled
    if evidence.owner_missing:
        clues[Cause.OWNER] = [Clue(EvidenceSource.OWNER, "metadata.ownerReferences", "gone")]
    return weights, clues


def _controllers(evidence: Evidence, excluded: frozenset[Cause]) -> Iterator[tuple[Cause, Weight]]:
    if Cause.OWNER not in excluded:
        yield Cause.OWNER, Weight.MUCH if evidence.owner_missing else Weight.SOME
    if Cause.JOB_ENDED not in excluded:
        yield Cause.JOB_ENDED, Weight.MUCH if job_may_have_ended(evidence) else Weight.SOME


def _forced(evidence: Evidence, pod: Pod) -> bool | None:
    """Whether it was deleted without grace; None: unknown, as its kubelet may have removed it after the stop."""
    if not was_reset(pod):
        return False
    if (pod.spec.termination_grace_period_seconds or 0) == 0:
        return None
    when, clocks, began = instant(pod.metadata.deletion_timestamp), evidence.clocks, stopped_at(evidence)
    if when is not None and began is not None and when - began > clocks.margin:
        # A force deletion would come before the kubelet stops the pod.
        return False
    if any(has_process(pod, ref) for ref in pod.containers() if pod.status.container_statuses):
        return True
    times = [time for _, end in app_ends(evidence, pod) if (time := instant(end.finished_at)) is not None]
    last = max(times, default=None)
    if when is None or last is None or abs(clocks.server_time(last) - when) <= clocks.margin:
        return None
    return True if clocks.server_time(last) > when else None
