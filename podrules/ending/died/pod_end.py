"""What ended an existing pod as a whole: by its status, or by its deletion.

    finished      the kubelet writes status.reason and status.message, and condition DisruptionTarget with reason
                  TerminationByKubelet. If the processes exit with 0, the pod succeeds and has no reason. Above a
                  storage limit of its own it has no condition either: only an event shows the cause
    deleted       unless its containers had ended before; see `stop_order` and `deleted`
    neither       its containers ended by themselves

Source, at v1.36.3: pkg/kubelet/kubelet_pods.go (generateAPIPodStatus), pkg/kubelet/status/status_manager.go
(mergePodStatus), pkg/kubelet/eviction/eviction_manager.go (localStorageEviction), pkg/controller/podgc/
gc_controller.go.
"""

from __future__ import annotations

from datetime import datetime

from podrules.api.model.event import Event
from podrules.api.model.instant import instant
from podrules.api.model.pod import Pod
from podrules.ending.died.cause import Cause, Clue, EndVerdict, EvidenceSource, Grade, of_event, proven
from podrules.ending.died.deleted import deleted_verdict, disruption, of_condition
from podrules.ending.died.evidence import Evidence
from podrules.ending.died.gone import DELETERS, cause_from_event
from podrules.ending.died.messages import BY_KUBELET, DISRUPTIONS, cause_of_condition, cause_of_status
from podrules.ending.died.stop_order import Order, order_of_deletion
from podrules.workload.safety import Guarantee, owner_guarantee


def pod_verdict(evidence: Evidence, pod: Pod) -> EndVerdict | None:
    """What ended an existing pod; None: its containers ended by themselves, if at all."""
    if pod.finished:
        said = _by_status(pod) or _by_event(evidence, pod) or _unknown(pod)
        if said is not None:
            return said
    if owner_guarantee(pod).guarantee is Guarantee.KUBELET_OWNED:
        # Deleting the mirror pod of a static pod does not stop it.
        return None
    order = order_of_deletion(evidence, pod)
    if pod.metadata.deletion_timestamp is None or order is Order.BEFORE:
        return _collected(pod) if pod.finished else None
    return deleted_verdict(evidence, pod, surely=order is Order.AFTER)


def _by_status(pod: Pod) -> EndVerdict | None:
    """The cause that the kubelet wrote into the status of a pod that it ended."""
    named = cause_of_status(pod.status.reason, pod.status.message)
    if named is not None:
        return proven(named, Clue(EvidenceSource.POD, "status.reason", f"{pod.status.reason}: {pod.status.message}"))
    condition = disruption(pod)
    if condition is None or condition.reason != BY_KUBELET:
        return None
    by_kubelet = cause_of_condition(condition.message)
    return None if by_kubelet is None else proven(by_kubelet, of_condition(condition))


def _unknown(pod: Pod) -> EndVerdict | None:
    """No cause: the status names a reason that the rules do not know, or shows no container that ended."""
    condition = disruption(pod)
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


def _by_event(evidence: Evidence, pod: Pod) -> EndVerdict | None:
    """The cause from an event of the kubelet that came while the pod ran."""
    named = cause_from_event(evidence)
    if named is None or named[0] in DELETERS or not _before_its_end(named[1], pod):
        return None
    return proven(named[0], of_event(named[1]))


def _before_its_end(event: Event, pod: Pod) -> bool:
    """Whether an event came while a container of the pod ran, and the pod is not marked for deletion."""
    when = instant(event.last)
    return when is not None and any(when <= time for time in _times(pod)) and pod.metadata.deletion_timestamp is None


def _times(pod: Pod) -> list[datetime]:
    ends = [status.state.terminated for status in pod.status.container_statuses]
    return [time for end in ends if end is not None and (time := instant(end.finished_at)) is not None]


def _collected(pod: Pod) -> EndVerdict | None:
    """The verdict on a pod that garbage collection set Failed because its node was gone."""
    condition = disruption(pod)
    if condition is None or DISRUPTIONS.get(condition.reason) is not Cause.NODE_REMOVED:
        return None
    return proven(Cause.NODE_REMOVED, of_condition(condition))
