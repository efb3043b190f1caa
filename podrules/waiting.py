"""What the containers of a pod on a node wait for, before they run or between two runs.

    ContainerCreating        its sandbox, volumes and image are being made ready: that passes by itself
    PodInitializing          init containers go first: their own states tell why it lasts
    any other reason         the kubelet tried and failed, and tries again: CrashLoopBackOff, ImagePullBackOff,
                             CreateContainerConfigError and so on

Source: pkg/kubelet/kubelet_pods.go (ContainerCreating, PodInitializing), pkg/kubelet/images/types.go,
pkg/kubelet/container/sync_result.go, pkg/kubelet/kuberuntime/kuberuntime_container.go (Err…) at v1.36.3.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from podrules.model.pod import Pod

__all__ = ["Wait", "readiness", "waits"]

_IN_ORDER: Final = frozenset({"", "ContainerCreating", "PodInitializing"})


class Wait(Struct, frozen=True, rename="camel"):
    """A container that waits."""

    container: str
    reason: str
    """The kubelet's word for it; empty: it gives none."""
    message: str
    held_up: bool
    """Something went wrong: more than time is needed."""


def readiness(pod: Pod) -> bool | None:
    """Whether it is Ready; None: its kubelet has not told."""
    ready = pod.status.condition("Ready")
    return None if ready is None else ready.status == "True"


def waits(pod: Pod) -> tuple[Wait, ...]:
    """The containers that wait, those first that are held up, init containers before others."""
    if pod.finished:
        return ()
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    found = [
        Wait(entry.name, waiting.reason, waiting.message, waiting.reason not in _IN_ORDER)
        for entry in statuses
        if (waiting := entry.state.waiting) is not None
    ]
    return tuple(sorted(found, key=lambda wait: not wait.held_up))
