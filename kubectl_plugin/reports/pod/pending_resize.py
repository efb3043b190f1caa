"""In-place resizes of pods that are not done."""

from __future__ import annotations

from podrules.api.model.pod import Pod

__all__ = ["pending_resize", "resize_message"]


def pending_resize(pod: Pod) -> str | None:
    """The state of a resize: ``Deferred``, ``Infeasible`` or ``InProgress``; None: there is none."""
    pending, running = pod.status.condition("PodResizePending"), pod.status.condition("PodResizeInProgress")
    if pending is not None and pending.status == "True":
        return pending.reason
    return "InProgress" if running is not None and running.status == "True" else None


def resize_message(pod: Pod) -> str:
    """What the kubelet says of a resize that is not done; empty: nothing.

    Source: pkg/kubelet/status/status_manager.go (SetPodResizePendingCondition, SetPodResizeInProgressCondition) at
    v1.36.3: of one in progress the reason is empty, or ``Error``.
    """
    pending, running = pod.status.condition("PodResizePending"), pod.status.condition("PodResizeInProgress")
    if pending is not None and pending.status == "True":
        return pending.message
    if running is None or running.status != "True":
        return ""
    return ": ".join(filter(None, (running.reason, running.message)))
