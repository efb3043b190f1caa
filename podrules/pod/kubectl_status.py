"""The text that `kubectl get pods` prints under STATUS: ``Running``, ``CrashLoopBackOff``, ``Init:0/2``, ``Completed``.

A later row takes precedence over earlier ones, if it has a value:

    the pod             its phase; its reason, as Evicted; SchedulingGated
    init containers     the first incomplete one: ``Init:`` with how it ended, why it waits, or how many are complete
    other containers    the first that waits with a reason or has ended, once the init containers are complete
    Completed           another that failed counts instead; if one still runs: Running, or NotReady
    deletion            Terminating while the pod has not finished; Unknown if its node was lost (NodeLost)

Source: pkg/printers/internalversion/printers.go (printPod) at v1.36.3.
"""

from __future__ import annotations

from typing import Final

from podrules.api.model.pod import ContainerStateTerminated, ContainerStatus, Pod

_COMPLETED: Final = "Completed"
_GATED: Final = "SchedulingGated"
_NODE_LOST: Final = "NodeLost"


def kubectl_status(pod: Pod) -> str:
    """A pod's STATUS as kubectl prints it; empty if its status has neither a phase nor a container.

    Its content comes from the cluster: a reason can be any text, so it is escaped for display.
    """
    if pod.metadata.deletion_timestamp and pod.status.reason == _NODE_LOST:
        return "Unknown"
    if pod.metadata.deletion_timestamp and not pod.finished:
        return "Terminating"
    initializing = _initializing(pod)
    if initializing and not _has_condition(pod, "Initialized"):
        return initializing
    return _of_containers(pod, initializing or _of_pod(pod))


def kubectl_restarts(pod: Pod) -> int:
    """The number that kubectl prints under RESTARTS: of incomplete init containers, afterwards of the others."""
    statuses = pod.status.init_container_statuses
    if not statuses:
        return sum(status.restart_count for status in pod.status.container_statuses)
    if _initializing(pod) and not _has_condition(pod, "Initialized"):
        return sum(status.restart_count for status in statuses)
    sidecars = {ref.container.name for ref in pod.containers() if ref.is_sidecar}
    counted = (*pod.status.container_statuses, *(status for status in statuses if status.name in sidecars))
    return sum(status.restart_count for status in counted)


def _of_pod(pod: Pod) -> str:
    scheduled = pod.status.condition("PodScheduled")
    if scheduled is not None and scheduled.reason == _GATED:
        return _GATED
    return pod.status.reason or pod.status.phase


def _initializing(pod: Pod) -> str:
    """The status of the first incomplete init container; empty: all are complete."""
    if not pod.status.init_container_statuses:
        return ""
    sidecars = {ref.container.name for ref in pod.containers() if ref.is_sidecar}
    for done, status in enumerate(pod.status.init_container_statuses):
        ended, waits = status.state.terminated, status.state.waiting
        if (ended is not None and ended.exit_code == 0) or (status.name in sidecars and status.started):
            continue
        if ended is not None:
            return f"Init:{_end(ended)}"
        if waits is not None and waits.reason not in {"", "PodInitializing"}:
            return f"Init:{waits.reason}"
        return f"Init:{done}/{len(pod.spec.init_containers)}"
    return ""


def _of_containers(pod: Pod, reason: str) -> str:
    said = [(status, _container_reason(status)) for status in pod.status.container_statuses]
    found = next((word for _, word in said if word), reason)
    if found != _COMPLETED:
        return found
    runs = any(status.ready and status.state.running is not None for status, _ in said)
    if runs and _has_condition(pod, "Ready"):
        return "Running"
    failed = (word for status, word in said if status.state.terminated and status.state.terminated.exit_code)
    return next(failed, "NotReady" if runs else found)


def _container_reason(status: ContainerStatus) -> str:
    ended, waits = status.state.terminated, status.state.waiting
    if waits is not None and waits.reason:
        return waits.reason
    return _end(ended) if ended is not None else ""


def _end(ended: ContainerStateTerminated) -> str:
    return ended.reason or (f"Signal:{ended.signal}" if ended.signal else f"ExitCode:{ended.exit_code}")


def _has_condition(pod: Pod, kind: str) -> bool:
    condition = pod.status.condition(kind)
    return condition is not None and condition.status == "True"


def last_restart(pod: Pod) -> str | None:
    """The last end of a restarted container; None: none restarted, or the time is not known.

    Source: pkg/printers/internalversion/printers.go (printPod, lastRestartDate) at v1.36.3.
    """
    status = pod.status
    ends = (one.last_state.terminated for one in (*status.init_container_statuses, *status.container_statuses))
    return max((end.finished_at for end in ends if end is not None and end.finished_at), default=None)
