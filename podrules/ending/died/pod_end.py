"""What ended an existing pod as a whole: by its status, or by its deletion.

Its app containers had ended when it was deleted, or were stopped for the deletion:

    not ended       the deletion ends them
    Killing         "Stopping container …" while one ran: the kubelet stopped it
    no Killing      all events are present: they had ended by themselves
    times           ended before the deletion, by more than the clocks may differ. The kubelet's last request sets
                    both fields of a deletion again, with grace 0: it was deleted up to its grace period before then

Source: pkg/kubelet/status/status_manager.go (syncPod), pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer)
at v1.36.3.

Who deleted it:

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

Why a kubelet rejected it:

    NodeShutdown          the node shuts down
    Evicted               "The node had condition: [DiskPressure]": it is short of a resource
    UnexpectedAdmission…  a device plugin or another manager of the kubelet rejected the pod; a kubelet that restarts
                          before its device plugins does so for each pod
    the others            the node did not fit when the pod arrived: it was bound without the scheduler, or the node
                          changed

The scheduler keeps pods away from a node that is short or shuts down by taints. A pod that tolerates them returns
there at once. The DaemonSet controller adds such tolerations to its pods, and reports each failed pod that it replaces.

Source: pkg/kubelet/eviction/eviction_manager.go (Admit), pkg/kubelet/nodeshutdown, pkg/kubelet/cm/devicemanager,
pkg/controller/daemon/daemon_controller.go (podsShouldBeOnNode) at v1.36.3.

The pod is

    finished      the kubelet writes status.reason and status.message, and condition DisruptionTarget with reason
                  TerminationByKubelet. If the processes exit with 0, the pod succeeds and has no reason. Above a
                  storage limit of its own it has no condition either: only an event shows the cause
    deleted       unless its containers had ended before
    neither       its containers ended by themselves

Source, at v1.36.3: pkg/kubelet/kubelet_pods.go (generateAPIPodStatus), pkg/kubelet/status/status_manager.go
(mergePodStatus), pkg/kubelet/eviction/eviction_manager.go (localStorageEviction), pkg/controller/podgc/
gc_controller.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.api.model.base import Condition
from podrules.api.model.instant import instant, later
from podrules.api.model.node import Taint
from podrules.api.model.pod import ContainerRef, Pod
from podrules.ending.deleted_pod import deleted_at
from podrules.ending.died.cause import Cause, Clue, EndVerdict, EvidenceSource, Grade, Weight, of_event, proven, weighed
from podrules.ending.died.container_end import container_verdict, was_stopped
from podrules.ending.died.controllers import (
    causes_from_controller,
    excluded_controllers,
    job_may_have_ended,
    scaling_clues,
)
from podrules.ending.died.evidence import Evidence, stopped_at
from podrules.ending.died.gone import DELETERS, announced, cause_from_event, deletes_active
from podrules.ending.died.messages import (
    BY_KUBELET,
    CONDITION,
    DISRUPTION,
    DISRUPTIONS,
    FORCE_ALLOWED,
    cause_of_condition,
    cause_of_status,
)
from podrules.pod.container_state import Termination, has_process, observed_containers
from podrules.pod.platform import pod_platform
from podrules.pod.tolerations import NO_SCHEDULE, tolerates_taint
from podrules.workload.evictors import pod_evictor
from podrules.workload.safety import Guarantee, owner_guarantee

_STOPPING: Final = timedelta(seconds=30)
"""The time that a stop may take beyond the grace period, until the kubelet has removed the pod."""
_NEAR: Final = timedelta(seconds=10)
"""Between a condition and the deletion that its author requests next: by two clocks of the control plane."""
_SECOND: Final = timedelta(seconds=1)
"""Times in the API are in whole seconds."""
_Weighed = tuple[dict[Cause, Weight], dict[Cause, list[Clue]]]
_SHUTTING_DOWN: Final = "node is shutting down"
_CONDITIONS: Final = rf"{re.escape(CONDITION)}\[([^\]]{{1,200}})\]"
_TAINTS: Final = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
}
_NOT_READY: Final = "node.kubernetes.io/not-ready"
"""The taint of a node that shuts down: its kubelet reports it as not Ready."""
_DAEMON_FAILED: Final = "FailedDaemonPod"
_MAX_READ: Final = 2000
_ALL: Final = "all taints"


class Order(Enum):
    """Whether a pod's app containers had ended when it was deleted."""

    BEFORE = "Before"
    AFTER = "After"
    UNKNOWN = "Unknown"


def order_of_deletion(evidence: Evidence, pod: Pod) -> Order:
    """Whether its app containers had ended by themselves before it was deleted."""
    deleted = deleted_at(pod)
    ends = list(app_ends(evidence, pod))
    if deleted is None:
        return Order.BEFORE if pod.finished else Order.AFTER
    if len(ends) < len(pod.spec.containers):
        return Order.AFTER
    if any(was_stopped(evidence.known_events, ref, end) for ref, end in ends):
        return Order.AFTER
    times = [instant(end.finished_at) for _, end in ends]
    known = [evidence.clocks.server_time(time) for time in times if time is not None]
    if len(known) < len(times):
        return Order.UNKNOWN
    if all(evidence.has_all_events(ref.container.name, end) for ref, end in ends):
        return Order.BEFORE
    margin, first, ended = evidence.clocks.margin, deleted, max(known)
    if was_reset(pod):
        first = later(first, -(pod.spec.termination_grace_period_seconds or 0)) - _STOPPING
    if ended + margin < first:
        return Order.BEFORE
    return Order.AFTER if ended - margin > deleted else Order.UNKNOWN


def app_ends(evidence: Evidence, pod: Pod) -> Iterator[tuple[ContainerRef, Termination]]:
    """The ends of its app containers that have ended."""
    observed = {one.name: one.end for one in observed_containers(pod, pod_platform(pod, evidence.node))}
    for ref in pod.containers():
        end = None if ref.is_init else observed.get(ref.container.name)
        if end is not None:
            yield ref, end


def was_reset(pod: Pod) -> bool:
    """Whether the kubelet's last request may have set the pod's deletion time."""
    return pod.metadata.deletion_grace_period_seconds == 0 and bool(pod.spec.node_name)


def deleted_verdict(evidence: Evidence, pod: Pod, *, surely: bool) -> EndVerdict:
    """Who deleted a pod that is marked for deletion; ``surely``: the deletion ended containers that had not ended."""
    condition = disruption(pod)
    weights, clues = _deleters(evidence, pod) if condition is None else _disrupted(evidence, pod, condition)
    if not surely and not (clues.get(Cause.OWNER) and deletes_active(evidence) and weights.keys() == {Cause.OWNER}):
        # Its containers may have ended by themselves before.
        for ref, end in app_ends(evidence, pod):
            for cause in container_verdict(evidence, pod, ref, end).causes:
                weights.setdefault(cause, Weight.SOME)
    return weighed(weights, clues)


def disruption(pod: Pod) -> Condition | None:
    """Condition DisruptionTarget, if it is True."""
    condition = pod.status.condition(DISRUPTION)
    return condition if condition is not None and condition.status == "True" else None


def of_condition(condition: Condition) -> Clue:
    """The condition as evidence."""
    said = f"{condition.reason}: {condition.message}"
    return Clue(EvidenceSource.POD, DISRUPTION, said, condition.last_transition_time)


def _disrupted(evidence: Evidence, pod: Pod, condition: Condition) -> _Weighed:
    """Who set the condition, or deleted the pod before that."""
    named, (weights, clues) = DISRUPTIONS.get(condition.reason), _without_condition(evidence, pod)
    if named is None:
        # The reason of a component that the rules do not know.
        return {**weights, Cause.DELETED: Weight.SOME, Cause.API_EVICTION: Weight.SOME}, clues
    own = {named: [of_condition(condition)]}
    set_at, when, began = instant(condition.last_transition_time), deleted_at(pod), stopped_at(evidence)
    if set_at is not None and when is not None and set_at > when + _SECOND:
        return {**weights, named: Weight.SOME}, clues | own
    first = set_at is not None and when is not None and when - set_at <= _NEAR
    if was_reset(pod):
        # The time of the first deletion is not known: it is the first if the kubelet had not begun the stop before.
        first = set_at is not None and when is not None and began is not None and set_at <= began <= set_at + _NEAR
    if first:
        return {named: Weight.MUCH}, own
    return {**dict.fromkeys(weights, Weight.POSSIBLE), named: Weight.MUCH}, own


def _deleters(evidence: Evidence, pod: Pod) -> _Weighed:
    """Who deleted a pod without a condition: an evicting program, if its event came with this deletion."""
    named, when = cause_from_event(evidence), deleted_at(pod)
    at = None if named is None or pod_evictor(named[1]) is None else instant(named[1].last)
    if named is None or at is None or when is None or was_reset(pod) or abs(when - at) > _NEAR:
        return _without_condition(evidence, pod)
    return {named[0]: Weight.MUCH}, {named[0]: [of_event(named[1])]}


def _without_condition(evidence: Evidence, pod: Pod) -> _Weighed:
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
        excluded = excluded_controllers(evidence, made, when)
        if Cause.OWNER not in excluded:
            weights[Cause.OWNER] = Weight.MUCH if evidence.owner_missing else Weight.SOME
        if Cause.JOB_ENDED not in excluded:
            weights[Cause.JOB_ENDED] = Weight.MUCH if job_may_have_ended(evidence) else Weight.SOME
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


class RejectionKind(Enum):
    """Why a kubelet rejected a pod."""

    SHUTDOWN = "Shutdown"
    PRESSURE = "Pressure"
    ADMISSION = "Admission"
    """A device plugin or another manager of the kubelet rejected it."""
    NO_FIT = "NoFit"


class Rejection(Struct, frozen=True, rename="camel"):
    """One rejection."""

    kind: RejectionKind
    reason: str
    """The kubelet's reason."""
    conditions: tuple[str, ...] = ()
    """The conditions of a node under pressure: ``DiskPressure``."""
    times: int = 1
    """How many pods of the same controller its node rejected, as far as is known, including this one."""
    toleration: str = ""
    """The taints that the pod tolerates, so that the scheduler places such pods there again; empty: none."""


def rejection_of(evidence: Evidence, reason: str, message: str) -> Rejection:
    """Why the kubelet rejected a pod, by the reason and the message of its status, or of the kubelet's event."""
    text = message[:_MAX_READ]
    found = re.search(_CONDITIONS, text)
    conditions = tuple(found[1].split()) if found is not None else ()
    kind, keys = RejectionKind.NO_FIT, [key for one in conditions if (key := _TAINTS.get(one)) is not None]
    if conditions:
        kind = RejectionKind.PRESSURE
    elif reason == "NodeShutdown" or re.search(_SHUTTING_DOWN, text, flags=re.IGNORECASE):
        kind, keys = RejectionKind.SHUTDOWN, [_NOT_READY]
    elif reason == "UnexpectedAdmissionError":
        kind = RejectionKind.ADMISSION
    pod, node = evidence.pod, evidence.node.metadata.name if evidence.node is not None else ""
    owner = pod.metadata.controller if pod is not None else evidence.controller
    alike = 1
    for one in evidence.neighbours or () if owner is not None else ():
        if one.finished and cause_of_status(one.status.reason, one.status.message) is Cause.REJECTED:
            alike += one.metadata.controller == owner
    # The DaemonSet controller reports each failed pod that it found on the node.
    failed = (one for one in evidence.known_owner_events.named(_DAEMON_FAILED) if f" on node {node}," in one.message)
    times = max(alike, sum(one.times for one in failed) if node else 0)
    toleration = "" if pod is None or not keys else _toleration(pod, keys)
    return Rejection(kind, reason, conditions, times, toleration)


def _toleration(pod: Pod, keys: list[str]) -> str:
    """The tolerations that let the scheduler place a pod on a node with all of these taints."""
    found: dict[str, None] = {}
    for key in keys:
        taint = Taint(key=key, effect=NO_SCHEDULE)
        one = next((one for one in pod.spec.tolerations if tolerates_taint(one, taint)), None)
        if one is None:
            return ""
        found[one.key and taint.text] = None
    return ", ".join(text or _ALL for text in found)


def pod_verdict(evidence: Evidence, pod: Pod) -> EndVerdict | None:
    """What ended an existing pod; None: its containers ended by themselves, if at all."""
    condition, marked = disruption(pod), pod.metadata.deletion_timestamp is not None
    if pod.finished:
        said = _by_status(pod, condition)
        named = cause_from_event(evidence) if said is None and not marked else None
        if named is not None and named[0] not in DELETERS and (when := instant(named[1].last)) is not None:
            ends = (one.state.terminated for one in pod.status.container_statuses)
            times = (instant(end.finished_at) for end in ends if end is not None)
            if any(time is not None and when <= time for time in times):
                # The kubelet's event came while the pod ran.
                said = proven(named[0], of_event(named[1]))
        said = said or _unknown(pod, condition)
        if said is not None:
            return said
    if owner_guarantee(pod).guarantee is Guarantee.KUBELET_OWNED:
        # Deleting the mirror pod of a static pod does not stop it.
        return None
    order = order_of_deletion(evidence, pod)
    if marked and order is not Order.BEFORE:
        return deleted_verdict(evidence, pod, surely=order is Order.AFTER)
    if pod.finished and condition is not None and DISRUPTIONS.get(condition.reason) is Cause.NODE_REMOVED:
        # Garbage collection set it Failed because its node was gone.
        return proven(Cause.NODE_REMOVED, of_condition(condition))
    return None


def _by_status(pod: Pod, condition: Condition | None) -> EndVerdict | None:
    """The cause that the kubelet wrote into the status of a pod that it ended."""
    named = cause_of_status(pod.status.reason, pod.status.message)
    if named is not None:
        return proven(named, Clue(EvidenceSource.POD, "status.reason", f"{pod.status.reason}: {pod.status.message}"))
    if condition is None or condition.reason != BY_KUBELET:
        return None
    by_kubelet = cause_of_condition(condition.message)
    return None if by_kubelet is None else proven(by_kubelet, of_condition(condition))


def _unknown(pod: Pod, condition: Condition | None) -> EndVerdict | None:
    """No cause: the status names a reason that the rules do not know, or shows no container that ended."""
    if condition is not None and condition.reason == BY_KUBELET:
        said = ": ".join(filter(None, (pod.status.reason, pod.status.message or condition.message)))
        return EndVerdict(Grade.NOTHING, clues=(Clue(EvidenceSource.POD, "status", said), of_condition(condition)))
    if pod.metadata.deletion_timestamp is not None or condition is not None:
        return None
    ended = any(one.state.terminated is not None for one in pod.status.container_statuses)
    if ended and not (pod.status.reason and pod.status.phase == "Failed"):
        return None
    if any(one.state.terminated for one in pod.status.init_container_statuses) and not pod.status.reason:
        return None
    said = ": ".join(filter(None, (pod.status.phase, pod.status.reason, pod.status.message)))
    return EndVerdict(Grade.NOTHING, clues=(Clue(EvidenceSource.POD, "status", said),))
