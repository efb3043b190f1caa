"""Whether a pod's app containers had ended when it was deleted, or were stopped for the deletion.

    not ended       the deletion ends them
    Killing         "Stopping container …" while one ran: the kubelet stopped it
    no Killing      all events are present: they had ended by themselves
    times           ended before the deletion, by more than the clocks may differ. The kubelet's last request sets
                    both fields of a deletion again, with grace 0: it was deleted up to its grace period before then

Source: pkg/kubelet/status/status_manager.go (syncPod), pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer)
at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from podrules.api.model.instant import instant, later
from podrules.api.model.pod import ContainerRef, Pod
from podrules.ending.deleted_pod import deleted_at
from podrules.ending.died.container_end import was_stopped
from podrules.ending.died.evidence import Evidence
from podrules.pod.container_state import Termination, observed_containers
from podrules.pod.platform import pod_platform

_STOPPING: Final = timedelta(seconds=30)
"""The time that a stop may take beyond the grace period, until the kubelet has removed the pod."""


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
    return _by_times(evidence, pod, deleted, max(known))


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


def _by_times(evidence: Evidence, pod: Pod, deleted: datetime, ended: datetime) -> Order:
    margin, first = evidence.clocks.margin, deleted
    if was_reset(pod):
        first = later(first, -(pod.spec.termination_grace_period_seconds or 0)) - _STOPPING
    if ended + margin < first:
        return Order.BEFORE
    return Order.AFTER if ended - margin > deleted else Order.UNKNOWN
