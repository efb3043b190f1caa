"""Whether a pod on a node runs as it should, and what is wrong with which container.

    waits, passing        ContainerCreating, PodInitializing: the sandbox, volumes and images are made ready, init
                          containers go first; their own states tell why it lasts
    waits, held up        any other reason: the kubelet tried and failed, and tries again: CrashLoopBackOff,
                          ImagePullBackOff, CreateContainerConfigError, RunContainerError, InvalidImageName and so on
    ended                 an app container or sidecar has ended with an error, or a sidecar at all; an init container
                          with an error. An app container that exits 0 is done, unless it is to be started anew
    not ready             it runs, and its readiness probe has not succeeded
    started anew          it runs, and ended with an error before
    Ready                 the pod's condition; where its kubelet has not told it, by what it tells of the containers

Source: pkg/kubelet/kubelet_pods.go (convertToAPIContainerStatuses), pkg/kubelet/status/generate.go
(GeneratePodReadyCondition, GeneratePodReadyToStartContainersCondition), pkg/kubelet/images/types.go,
pkg/kubelet/container/sync_result.go, pkg/kubelet/kuberuntime/kuberuntime_container.go (Err…) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.model.pod import ContainerRef, ContainerStatus, Pod
from podrules.processes import status_of

__all__ = ["Health", "Trouble", "TroubleKind", "health", "readiness"]

_PASSES: Final = frozenset({"", "ContainerCreating", "PodInitializing"})


class TroubleKind(Enum):
    """What a container does not do as it should, the worst first."""

    HELD_UP = "HeldUp"
    """It waits, and more than time is needed."""
    ENDED = "Ended"
    NOT_READY = "NotReady"
    STARTING = "Starting"
    """It waits, and that passes by itself."""
    RESTARTED = "Restarted"
    """It runs, and ended with an error before."""


class Trouble(Struct, frozen=True, rename="camel"):
    """One container that does not run as it should."""

    kind: TroubleKind
    container: str
    init: bool = False
    """Whether it is an init container or a sidecar."""
    reason: str = ""
    """The kubelet's word for why it waits, or for how it ended; empty: it gives none."""
    message: str = ""
    exit_code: int | None = None
    """With which it ended last; None: it has not ended."""
    end_reason: str = ""
    ended_at: str | None = None
    restarts: int = 0


class Health(Struct, frozen=True, rename="camel"):
    """How a pod on a node is."""

    troubles: tuple[Trouble, ...] = ()
    """The worst first; init containers before others."""
    ready: bool | None = None
    """None: its kubelet has told nothing."""
    unready: str = ""
    """Why its Ready condition is not True, in the kubelet's words."""
    no_sandbox: bool = False
    """Its sandbox and network are not there (PodReadyToStartContainers)."""
    started: str | None = None
    """When its kubelet took it on."""
    initializing: str = ""
    """The init container that runs now, before the app containers may; empty: none."""
    initializing_since: str | None = None

    def of_kind(self, kind: TroubleKind) -> tuple[Trouble, ...]:
        """The containers with that trouble."""
        return tuple(trouble for trouble in self.troubles if trouble.kind is kind)

    @property
    def broken(self) -> bool:
        """Whether a container does not run and will not by waiting."""
        return any(trouble.kind in {TroubleKind.HELD_UP, TroubleKind.ENDED} for trouble in self.troubles)


def health(pod: Pod) -> Health:
    """How a pod is, by what its kubelet said last."""
    if pod.finished:
        return Health()
    order = list(TroubleKind)
    troubles = sorted(_troubles(pod), key=lambda trouble: (order.index(trouble.kind), not trouble.init))
    ready, sandbox = pod.status.condition("Ready"), pod.status.condition("PodReadyToStartContainers")
    told = ready if ready is not None and ready.status != "True" else None
    initializing, since = _initializing(pod)
    return Health(
        troubles=tuple(troubles),
        ready=readiness(pod),
        unready=": ".join(filter(None, (told.reason, told.message))) if told is not None else "",
        no_sandbox=sandbox is not None and sandbox.status == "False",
        started=pod.status.start_time,
        initializing=initializing,
        initializing_since=since,
    )


def _initializing(pod: Pod) -> tuple[str, str | None]:
    """The init container that runs now and since when; a sidecar runs beside the others and holds nobody up."""
    for ref in pod.containers():
        status = status_of(pod, ref.container.name) if ref.is_init and not ref.is_sidecar else None
        if status is not None and status.state.running is not None:
            return ref.container.name, status.state.running.started_at
    return "", None


def readiness(pod: Pod) -> bool | None:
    """Whether it is Ready; None: its kubelet has told nothing."""
    ready = pod.status.condition("Ready")
    if ready is not None:
        return ready.status == "True"
    statuses = pod.status.container_statuses
    return all(status.ready for status in statuses) if statuses else None


def _troubles(pod: Pod) -> Iterator[Trouble]:
    for ref in pod.containers():
        status = status_of(pod, ref.container.name)
        kind = None if status is None else _kind(pod, ref, status)
        if status is None or kind is None:
            continue
        state = status.state
        waits, end = state.waiting, state.terminated or status.last_state.terminated
        ended = state.terminated
        yield Trouble(
            kind,
            ref.container.name,
            ref.is_init,
            waits.reason if waits is not None else ended.reason if ended is not None else "",
            waits.message if waits is not None else ended.message if ended is not None else "",
            None if end is None else end.exit_code,
            "" if end is None else end.reason,
            None if end is None else end.finished_at,
            status.restart_count,
        )


def _kind(pod: Pod, ref: ContainerRef, status: ContainerStatus) -> TroubleKind | None:
    state, last = status.state, status.last_state.terminated
    if state.terminated is not None:
        anew = ref.is_sidecar or (not ref.is_init and pod.spec.restart_policy in {"", "Always"})
        return TroubleKind.ENDED if state.terminated.exit_code or anew else None
    if state.running is None:
        reason = state.waiting.reason if state.waiting is not None else ""
        return TroubleKind.STARTING if reason in _PASSES else TroubleKind.HELD_UP
    if ref.is_init and not ref.is_sidecar:
        return TroubleKind.STARTING if pod.status.phase == "Pending" and not last else _restarted(status)
    if not status.ready and readiness(pod) is False:
        return TroubleKind.NOT_READY
    return _restarted(status)


def _restarted(status: ContainerStatus) -> TroubleKind | None:
    last = status.last_state.terminated
    return TroubleKind.RESTARTED if last is not None and last.exit_code else None
