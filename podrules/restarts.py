"""When a container of a pod was started anew for the last time: what `kubectl get pods` prints beside RESTARTS."""

from __future__ import annotations

from podrules.model.pod import Pod

__all__ = ["last_restart"]


def last_restart(pod: Pod) -> str | None:
    """When the container had ended that was started anew last; None: none was, or no kubelet told when.

    Source: pkg/printers/internalversion/printers.go (printPod, lastRestartDate) at v1.36.3.
    """
    status = pod.status
    ends = (one.last_state.terminated for one in (*status.init_container_statuses, *status.container_statuses))
    return max((end.finished_at for end in ends if end is not None and end.finished_at), default=None)
