"""The scheduling queue: which pods are scheduled before a pod.

    order      the higher priority first, then the longer wait (PrioritySort); of the waiting time the pod's
               creation is what the API shows
    not in it  pods with scheduling gates, pods that are being deleted, pods of other schedulers; pods in their binding
               cycle: since 1.35 these have a nominated node, and none of them was Unschedulable before
    again      a pod that found no node waits until something changes that may help it, at most 5 minutes
               (podMaxInUnschedulablePodsDuration), and then for a back-off of 1, 2, 4, … 10 seconds, by how often it
               was tried (podInitialBackoffSeconds, podMaxBackoffSeconds)

Source: pkg/scheduler/framework/plugins/queuesort/priority_sort.go, pkg/scheduler/backend/queue/{scheduling_queue,
backoff_queue}.go, pkg/scheduler/schedule_one.go (bindingCycle) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from podrules.api.model.pod import DEFAULT_SCHEDULER_NAME, Pod
from podrules.pod.priority import PREEMPT_NEVER


class QueuePosition(Struct, frozen=True, rename="camel"):
    """A pending pod among those of its scheduler."""

    position: int
    """1: no pod is before it."""
    pending: int
    """With the pod itself."""
    higher_priority: int
    """How many are before it because of their priority."""
    gated: int = 0
    """Pending pods of its scheduler that scheduling gates keep out of the queue."""
    tied: int = 0
    """Others of the same priority and creation time: whether they are before it is not known."""


def queue_position(pod: Pod, pods: Iterable[Pod]) -> QueuePosition | None:
    """Where a pod stands among all pods of the cluster if they were tried now; None: it is not queued."""
    if not _is_queued(pod):
        return None
    scheduler = _scheduler(pod)
    waiting = [
        other
        for other in pods
        if _waits(other) and _scheduler(other) == scheduler and other.metadata.uid != pod.metadata.uid
    ]
    others = [other for other in waiting if not other.spec.scheduling_gates]
    own = _key(pod)
    priority = pod.spec.priority or 0
    return QueuePosition(
        position=1 + sum(_key(other) < own for other in others),
        pending=1 + len(others),
        higher_priority=sum((other.spec.priority or 0) > priority for other in others),
        gated=len(waiting) - len(others),
        tied=sum(_key(other) == own for other in others),
    )


def queued_above(pod: Pod, pods: Iterable[Pod]) -> list[Pod]:
    """The pods of higher priority that wait for a node and may preempt, in the order in which they are tried."""
    higher = (one for one in pods if (one.spec.priority or 0) > (pod.spec.priority or 0) and _is_queued(one))
    return sorted((one for one in higher if one.spec.preemption_policy != PREEMPT_NEVER), key=_key)


def _is_queued(pod: Pod) -> bool:
    return _waits(pod) and not pod.spec.scheduling_gates


def _waits(pod: Pod) -> bool:
    """Whether the scheduler is to choose a node for it some time."""
    condition = pod.status.condition("PodScheduled")
    binds = bool(pod.status.nominated_node_name) and (condition is None or condition.status != "False")
    return not (binds or pod.spec.node_name or pod.finished or pod.metadata.deletion_timestamp is not None)


def _scheduler(pod: Pod) -> str:
    return pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME


def _key(pod: Pod) -> tuple[int, str]:
    """The smaller is tried first; RFC 3339 times of the API sort as text."""
    return -(pod.spec.priority or 0), pod.metadata.creation_timestamp or "~"
