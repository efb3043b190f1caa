"""Unfinished in-place resizes of pods."""

from __future__ import annotations

from podrules.api.model.pod import Pod


def pending_resize(pod: Pod) -> str | None:
    """The state of a resize: ``Deferred``, ``Infeasible`` or ``InProgress``; None: no resize."""
    pending, running = pod.status.condition("PodResizePending"), pod.status.condition("PodResizeInProgress")
    if pending is not None and pending.status == "True":
        return pending.reason
    return "InProgress" if running is not None and running.status == "True" else None


def resize_message(pod: Pod) -> str:
    """The kubelet's message about an unfinished resize; empty: none.

    Source: pkg/kubelet/status/status_manager.go (SetPodResizePendingCondition, SetPodResizeInProgressCondition) at
    v1.36.3: for a resize in progress, the reason is empty or ``Error``.
    """
    pending, running = pod.status.condition("PodResizePending"), pod.status.condition("PodResizeInProgress")
    if pending is not None and pending.status == "True":
        return pending.message
    if running is None or running.status != "True":
        return ""
    return ": ".join(filter(None, (running.reason, running.message)))
