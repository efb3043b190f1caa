"""What is wrong with a pod, in one word for lists of many."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum

from podrules.ending import PATIENCE, Ending, pod_ending
from podrules.health import health
from podrules.model.pod import Pod
from podrules.placement.outcome import Outcome

__all__ = ["PodRisk", "may_have_no_place", "pod_risk"]


class PodRisk(Enum):
    """What is wrong with a pod, the worst first."""

    NODE_DOWN = "NodeDown"
    """Its node does not answer."""
    UNSCHEDULABLE = "Unschedulable"
    FAILED = "Failed"
    TERMINATING_LATE = "TerminatingLate"
    """Its processes should have ended by now."""
    TAINTED = "Tainted"
    """A NoExecute taint of its node deletes it, now or at an instant to come."""
    OOM_KILLED = "OOMKilled"
    """A container of it was killed for memory, at last."""
    OVER_REQUEST = "OverRequest"
    """It uses more memory than it requests: first in the kubelet's order."""
    HELD_UP = "HeldUp"
    """A container of it waits, and more than time is needed."""
    KEPT = "Kept"
    """Its processes have ended, and finalizers keep its object."""
    NOT_READY = "NotReady"
    NOT_STARTED = "NotStarted"
    """It has a node, and its containers do not run yet."""
    NOT_MODELLED = "NotModelled"
    """It waits, and belongs to a group or to another scheduler: whether it has a place is not known."""


def pod_risk(
    pod: Pod,
    *,
    over_request: bool = False,
    down: bool = False,
    provider: bool = False,
    tainted: bool = False,
    outcome: Outcome | None = None,
    at: datetime | None,
) -> PodRisk | None:
    """The worst that is wrong with a pod; None: nothing is.

    Args:
        pod: As it is stored.
        over_request: Whether it uses more memory than it requests.
        down: Whether its node does not answer.
        provider: Whether its node is a virtual kubelet: when anything ends there is not known.
        tainted: Whether NoExecute taints of its node delete it.
        outcome: Of a pod that waits for a node: what the rules of the scheduler give now; None: they were not asked.
        at: When it was so; None: not known.
    """
    status, ending = pod.status, pod_ending(pod, quiet=down or provider)
    if _is_kept(ending, at):
        return PodRisk.KEPT
    if status.phase == "Succeeded":
        return None
    if down and not pod.finished:
        return PodRisk.NODE_DOWN
    if may_have_no_place(pod):
        if outcome is Outcome.NOT_MODELLED:
            return PodRisk.NOT_MODELLED
        if outcome is Outcome.UNSCHEDULABLE or (outcome is None and _found_none(pod)):
            return PodRisk.UNSCHEDULABLE
    if status.phase == "Failed":
        return PodRisk.FAILED
    if ending.is_late(at):
        return PodRisk.TERMINATING_LATE
    if tainted:
        return PodRisk.TAINTED
    state = health(pod)
    if state.oom_killed:
        return PodRisk.OOM_KILLED
    if state.broken and not pod.metadata.deletion_timestamp:
        return PodRisk.HELD_UP
    if over_request:
        return PodRisk.OVER_REQUEST
    if status.phase in {"Pending", "Unknown"} and pod.spec.node_name and not pod.metadata.deletion_timestamp:
        return PodRisk.NOT_STARTED
    if status.phase == "Running" and state.ready is False and not pod.metadata.deletion_timestamp:
        return PodRisk.NOT_READY
    return None


def may_have_no_place(pod: Pod) -> bool:
    """Whether the scheduler looks for a node; it passes over gated pods and those that are being deleted."""
    passed_over = pod.spec.scheduling_gates or pod.metadata.deletion_timestamp or pod.finished
    return not pod.spec.node_name and not passed_over


def _found_none(pod: Pod) -> bool:
    """Whether the scheduler looked in vain, the last time."""
    scheduled = pod.status.condition("PodScheduled")
    return scheduled is not None and scheduled.status == "False"


def _is_kept(ending: Ending, at: datetime | None) -> bool:
    """Whether finalizers alone have kept its object for a minute."""
    told, held = ending.deleted_at, ending.finalizers and not ending.processes
    if told is None or at is None or not held:
        return False
    return at - told > timedelta(seconds=ending.grace.longest) + PATIENCE
