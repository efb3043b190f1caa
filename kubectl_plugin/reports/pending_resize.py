"""Whether a pod's in-place resize is not done."""

from __future__ import annotations

from podrules.model.pod import Pod

__all__ = ["pending_resize"]


def pending_resize(pod: Pod) -> str | None:
    """``Deferred``, ``Infeasible`` or ``InProgress``; None: none is under way."""
    pending, running = pod.status.condition("PodResizePending"), pod.status.condition("PodResizeInProgress")
    if pending is not None and pending.status == "True":
        return pending.reason
    return "InProgress" if running is not None and running.status == "True" else None
