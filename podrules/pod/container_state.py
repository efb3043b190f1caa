"""The state of each container: whether it has a process, why it waits, how it ended.

The kernel can kill only containers with a process, and a stop waits only for these:

    status says running               it has one
    status says waiting, terminated   it has none: as in ImagePullBackOff, CrashLoopBackOff, PodInitializing
    no status                         a planned pod, or a kubelet that has not reported: app containers and sidecars
                                      count as running, init containers as ended
    the pod has finished              none has one

A status without a state means waiting (ContainerState of the API). A status is the kubelet's last report: on a node
that does not respond it may be old.

Source: k8s.io/api/core/v1/types.go (ContainerState) at v0.36.3; pkg/kubelet/kuberuntime/kuberuntime_container.go
(killContainersWithSyncResult, which stops what the runtime runs) at v1.36.3.

The kubelet's report on a container:

    state          Running, Waiting or Terminated; for a status with none set: Waiting
    end            its current end, if it has ended
    last           its end before the restart; absent: not known
    signal         the signal of the status, else exit code - 128 if that is a signal of Linux (1 to 64): the convention
                   of shells and runtimes. A process may exit with such a code by itself. On Windows, and on virtual
                   kubelets: none
    unknown        ContainerStatusUnknown means an end that the kubelet did not observe. Its exit code has no meaning
    OOMKilled      only if the kubelet reports it: exit code 137 alone has many causes

Source: k8s.io/api/core/v1/types.go (ContainerState, ContainerStateTerminated) at v0.36.3; pkg/kubelet/kubelet_pods.go
(convertToAPIContainerStatuses), pkg/kubelet/status/status_manager.go (TerminatePod), pkg/kubelet/kuberuntime/helpers.go
(isInitContainerFailed) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.api.model.pod import Container, ContainerRef, ContainerStateTerminated, ContainerStatus, Pod
from podrules.pod.platform import Platform

OOM_KILLED: Final = "OOMKilled"
STATUS_UNKNOWN: Final = "ContainerStatusUnknown"
_SIGNALS: Final = 64
_SIGNAL_BASE: Final = 128
_MEMORY: Final = "memory"
_NO_TIMES: Final = ("0001-01-01T00:00:00", "1970-01-01T00:00:00")


def status_of(pod: Pod, name: str) -> ContainerStatus | None:
    """The kubelet's report on a container; None: no report."""
    return next((status for status in pod.status.of_containers if status.name == name), None)


def has_process(pod: Pod, ref: ContainerRef) -> bool:
    """Whether a container runs, by its status."""
    return _runs(pod, ref, status_of(pod, ref.container.name))


def with_process(pod: Pod) -> Iterator[ContainerRef]:
    """The running containers; efficient for thousands of containers."""
    return (ref for ref, status in _with_status(pod) if _runs(pod, ref, status))


def idle_containers(pod: Pod) -> tuple[str, ...]:
    """App containers and sidecars that are known not to run now: they do not have to stop."""
    return tuple(
        ref.container.name
        for ref, status in _with_status(pod)
        if (ref.is_sidecar or not ref.is_init) and status and not _runs(pod, ref, status)
    )


def _with_status(pod: Pod) -> Iterator[tuple[ContainerRef, ContainerStatus | None]]:
    # The first status with a name counts.
    by_name = {status.name: status for status in reversed(pod.status.of_containers)}
    return ((ref, by_name.get(ref.container.name)) for ref in pod.containers())


def _runs(pod: Pod, ref: ContainerRef, status: ContainerStatus | None) -> bool:
    if pod.finished:
        return False
    if status is None:
        return not ref.is_init or ref.is_sidecar
    return status.state.running is not None


class ContainerKind(Enum):
    """The kind of a container."""

    APP = "App"
    INIT = "Init"
    """It ends before the next containers start."""
    SIDECAR = "Sidecar"
    """An init container with restartPolicy Always: it runs at the same time as the others."""
    EPHEMERAL = "Ephemeral"
    """Added to a running pod, as by `kubectl debug`: it is never restarted, and does not affect the pod's status."""


class StateKind(Enum):
    """The state of a container."""

    RUNNING = "Running"
    WAITING = "Waiting"
    TERMINATED = "Terminated"


class Termination(Struct, frozen=True, rename="camel"):
    """How a container ended."""

    exit_code: int
    reason: str = ""
    """The kubelet's reason: ``Error``, ``Completed``, ``OOMKilled`` and so on."""
    message: str = ""
    signal: int | None = None
    """The number of the signal that ended it; None: the status has none."""
    started_at: str | None = None
    finished_at: str | None = None


class ObservedContainer(Struct, frozen=True, rename="camel"):
    """One container by its status."""

    name: str
    kind: ContainerKind
    state: StateKind
    reason: str = ""
    """Why it waits."""
    message: str = ""
    ready: bool = False
    started: bool | None = None
    """Whether its startup probe has succeeded; None: not reported."""
    started_at: str | None = None
    """The start of its current run; None: it does not run, or the start is not reported."""
    restarts: int = 0
    end: Termination | None = None
    last: Termination | None = None
    memory_limit: str | None = None
    """Its own memory limit (``spec.containers[].resources.limits.memory``); None: it has none."""

    @property
    def latest(self) -> Termination | None:
        """Its last end; None: it has not ended, or its status does not show it."""
        return self.end or self.last


def fails_init(pod: Pod, exit_code: int, reason: str) -> bool:
    """Whether an init container with this end failed: OOMKilled alone is enough, unless the app containers run."""
    return exit_code != 0 or (reason == OOM_KILLED and pod.status.phase != "Running")


def observed_containers(pod: Pod, platform: Platform) -> tuple[ObservedContainer, ...]:
    """The containers that its kubelet reports, app containers first.

    Args:
        pod: The pod.
        platform: Its platform, for the meaning of exit codes.
    """
    linux = platform is Platform.LINUX
    statuses = ((ref, status_of(pod, ref.container.name)) for ref in pod.containers())
    return tuple(
        _observed(
            ref.container,
            ContainerKind.SIDECAR if ref.is_sidecar else ContainerKind.INIT if ref.is_init else ContainerKind.APP,
            status,
            linux=linux,
        )
        for ref, status in statuses
        if status is not None
    )


def observed_ephemeral(pod: Pod, platform: Platform) -> tuple[ObservedContainer, ...]:
    """The ephemeral containers that its kubelet reports; the arguments are those of `observed_containers`.

    Source: pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodActions) at v1.36.3.
    """
    linux, own = platform is Platform.LINUX, {one.name: one for one in pod.spec.ephemeral_containers}
    statuses = ((own.get(status.name), status) for status in pod.status.ephemeral_container_statuses)
    return tuple(
        _observed(one, ContainerKind.EPHEMERAL, status, linux=linux) for one, status in statuses if one is not None
    )


def _observed(own: Container, kind: ContainerKind, status: ContainerStatus, *, linux: bool) -> ObservedContainer:
    state, limit = status.state, own.resources.limits.get(_MEMORY)
    # As in `has_process`: a container with state running is running, even if another state is set.
    found = StateKind.TERMINATED if state.terminated is not None else StateKind.WAITING
    return ObservedContainer(
        own.name,
        kind,
        StateKind.RUNNING if state.running is not None else found,
        state.waiting.reason if state.waiting is not None else "",
        state.waiting.message if state.waiting is not None else "",
        status.ready,
        status.started,
        state.running.started_at if state.running is not None else None,
        status.restart_count,
        _termination(state.terminated, linux=linux),
        _termination(status.last_state.terminated, linux=linux),
        None if limit is None else str(limit),
    )


def _termination(end: ContainerStateTerminated | None, *, linux: bool) -> Termination | None:
    if end is None:
        return None
    is_signal = linux and end.reason != STATUS_UNKNOWN and 0 < end.exit_code - _SIGNAL_BASE <= _SIGNALS
    guessed = end.exit_code - _SIGNAL_BASE if is_signal else None
    times = _time(end.started_at), _time(end.finished_at)
    return Termination(end.exit_code, end.reason, end.message, end.signal or guessed, *times)


def _time(stamp: str | None) -> str | None:
    """A time of a status; None: it is the zero time of Go or of Unix."""
    return None if stamp is not None and stamp.startswith(_NO_TIMES) else stamp
