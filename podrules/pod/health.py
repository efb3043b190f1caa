"""Whether a pod on a node runs as expected, the problem of each container, and what `kubectl get pods` prints.

Under STATUS it prints ``Running``, ``CrashLoopBackOff``, ``Init:0/2``, ``Completed``. A later row takes precedence
over earlier ones, if it has a value:

    the pod             its phase; its reason, as Evicted; SchedulingGated
    init containers     the first incomplete one: ``Init:`` with how it ended, why it waits, or how many are complete
    other containers    the first that waits with a reason or has ended, once the init containers are complete
    Completed           another that failed counts instead; if one still runs: Running, or NotReady
    deletion            Terminating while the pod has not finished; Unknown if its node was lost (NodeLost)

Source: pkg/printers/internalversion/printers.go (printPod) at v1.36.3.

A pod on a node and its containers are one of these:

    waits, passing        ContainerCreating, PodInitializing: the kubelet prepares the sandbox, volumes and images, and
                          runs init containers first; their states show the reason of a delay
    waits, held up        any other reason: the kubelet tried and failed, and tries again: CrashLoopBackOff,
                          ImagePullBackOff, CreateContainerConfigError, RunContainerError, InvalidImageName and so on
    ended                 an app container or init container has ended with an error, or a sidecar has ended. An app
                          container that exits with 0 has completed, unless it has to restart
    not ready             it runs, but its readiness probe has not succeeded
    restarted             it runs, and has ended before
    node not Ready        all containers are ready, but the pod's Ready is False without a reason, which kubelets always
                          give: the node controller sets it so on the pods of a node that is no longer Ready
    readiness gates       all containers are ready, but a condition of a readiness gate is not True, or missing
    Ready                 the pod's condition; if its kubelet has not reported it, by the containers' statuses

Source: pkg/kubelet/kubelet_pods.go (convertToAPIContainerStatuses), pkg/kubelet/status/generate.go
(GeneratePodReadyCondition, GeneratePodReadyToStartContainersCondition), pkg/kubelet/images/types.go,
pkg/kubelet/container/sync_result.go, pkg/kubelet/kuberuntime/kuberuntime_container.go (Err…),
pkg/controller/util/node/controller_utils.go (MarkPodsNotReady) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.node import Node
from podrules.api.model.pod import ContainerStateTerminated, ContainerStatus, Pod
from podrules.pod.cgroup import pod_resource_config
from podrules.pod.container_state import (
    OOM_KILLED,
    ContainerKind,
    ObservedContainer,
    StateKind,
    fails_init,
    observed_containers,
    observed_ephemeral,
)
from podrules.pod.platform import pod_platform

_COMPLETED: Final = "Completed"
_GATED: Final = "SchedulingGated"
_NODE_LOST: Final = "NodeLost"
PASSES: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
"""The reasons of a container that waits without a problem."""


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


class TroubleKind(Enum):
    """The kind of a container's problem, the worst first."""

    HELD_UP = "HeldUp"
    """It waits, and waiting alone does not help."""
    ENDED = "Ended"
    NOT_READY = "NotReady"
    STARTING = "Starting"
    """It waits, and will start by itself."""
    RESTARTED = "Restarted"
    """It runs, and has ended before."""


class Trouble(Struct, frozen=True, rename="camel"):
    """One container that does not run as expected."""

    kind: TroubleKind
    container: str
    init: bool = False
    """Whether it is an init container or a sidecar."""
    reason: str = ""
    """The kubelet's reason why it waits, or how it ended; empty: it gives none."""
    message: str = ""
    exit_code: int | None = None
    """The exit code of its last end; None: it has not ended, or the status does not show it."""
    end_reason: str = ""
    signal: int | None = None
    """The number of the signal of its last end; None: the status has none."""
    ended_at: str | None = None
    restarts: int = 0


class UnmetGate(Struct, frozen=True, rename="camel"):
    """A condition of ``spec.readinessGates`` that is not True: a component other than the kubelet has to set it."""

    condition: str
    """Its type."""
    status: str = ""
    """False or Unknown; empty: the pod does not have the condition yet."""
    reason: str = ""
    message: str = ""


class Health(Struct, frozen=True, rename="camel"):
    """The health of a pod, by the last report of its kubelet."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    kubectl_status: str = ""
    """What `kubectl get pods` prints under STATUS."""
    restarts: int = 0
    """What `kubectl get pods` prints under RESTARTS."""
    bound: bool = False
    """Whether it has a node."""
    created: str | None = None
    containers: tuple[ObservedContainer, ...] = ()
    """The containers that its kubelet reports, app containers first."""
    memory_limited: bool = False
    """Whether the pod's cgroup has a memory limit: the pod's own, or because each container has one."""
    ephemeral: tuple[ObservedContainer, ...] = ()
    """The ephemeral containers that its kubelet reports: they do not affect the pod's health."""
    troubles: tuple[Trouble, ...] = ()
    """The problems, the worst first; init containers before others. Empty for a finished pod."""
    ready: bool | None = None
    """Whether it is Ready; None: its kubelet has reported nothing, or the pod has finished."""
    ready_since: str | None = None
    """The last transition of its Ready condition."""
    unready: str = ""
    """Why its Ready condition is not True, in the kubelet's words."""
    unmet_gates: tuple[UnmetGate, ...] = ()
    """The unmet readiness gates of a pod with ready containers."""
    marked_not_ready: bool = False
    """Its containers are ready, but its Ready is False without a reason: the node controller set it so."""
    no_sandbox: bool = False
    """Its sandbox and network do not exist (PodReadyToStartContainers)."""
    started: str | None = None
    """When its kubelet accepted it."""
    initializing: str = ""
    """The running init container, or starting sidecar, for which others wait; empty: none."""
    initializing_since: str | None = None

    def of_kind(self, kind: TroubleKind) -> tuple[Trouble, ...]:
        """The containers with a kind of problem."""
        return tuple(trouble for trouble in self.troubles if trouble.kind is kind)

    @property
    def broken(self) -> bool:
        """Whether a container does not run, and waiting does not help."""
        return any(trouble.kind in {TroubleKind.HELD_UP, TroubleKind.ENDED} for trouble in self.troubles)

    @property
    def oom_killed(self) -> tuple[ObservedContainer, ...]:
        """The containers with reason OOMKilled at their last end."""
        return tuple(one for one in self.containers if one.latest is not None and one.latest.reason == OOM_KILLED)

    def container(self, name: str) -> ObservedContainer:
        """The container of that name, if its kubelet reports it.

        Raises:
            StopIteration: its kubelet reports none.
        """
        return next(one for one in self.containers if one.name == name)


def health(pod: Pod, node: Node | None = None) -> Health:
    """The health of a pod, by the last report of its kubelet.

    Args:
        pod: The pod.
        node: The node to which it is bound, for the meaning of exit codes; None: the pod decides.
    """
    ready, sandbox = pod.status.condition("Ready"), pod.status.condition("PodReadyToStartContainers")
    platform = pod_platform(pod, node)
    containers = observed_containers(pod, platform)
    found = Health(
        phase=pod.status.phase,
        reason=pod.status.reason,
        message=pod.status.message,
        kubectl_status=kubectl_status(pod),
        restarts=kubectl_restarts(pod),
        bound=bool(pod.spec.node_name),
        created=pod.metadata.creation_timestamp,
        containers=containers,
        memory_limited=bool(pod_resource_config(pod).memory),
        ephemeral=observed_ephemeral(pod, platform),
        started=pod.status.start_time,
    )
    if pod.finished:
        return found
    order = list(TroubleKind)
    troubles = sorted(_troubles(pod, containers), key=lambda trouble: (order.index(trouble.kind), not trouble.init))
    unready = ready if ready is not None and ready.status != "True" else None
    initializing = next((one for one in containers if _initializes(pod, one)), None)
    return replace(
        found,
        troubles=tuple(troubles),
        ready=readiness(pod),
        ready_since=ready.last_transition_time if ready is not None else None,
        unready=": ".join(filter(None, (unready.reason, unready.message))) if unready is not None else "",
        unmet_gates=tuple(_unmet_gates(pod, containers)),
        marked_not_ready=_marked_not_ready(pod, containers),
        no_sandbox=sandbox is not None and sandbox.status == "False",
        initializing=initializing.name if initializing is not None else "",
        initializing_since=initializing.started_at if initializing is not None else None,
    )


def _initializes(pod: Pod, container: ObservedContainer) -> bool:
    """Whether others wait for it: for an init container until its end, for a sidecar until its startup probe succeeds.

    Source: pkg/kubelet/kuberuntime/kuberuntime_container.go (computeInitContainerActions) at v1.36.3.
    """
    if container.state is not StateKind.RUNNING:
        return False
    unstarted = container.kind is ContainerKind.SIDECAR and container.started is False
    return container.kind is ContainerKind.INIT or (unstarted and pod.status.phase == "Pending")


def _unmet_gates(pod: Pod, containers: Iterable[ObservedContainer]) -> Iterator[UnmetGate]:
    """The gates that a pod waits for; none while its containers are not ready, because then only they decide.

    Source: pkg/kubelet/status/generate.go (GeneratePodReadyCondition) at v1.36.3.
    """
    if readiness(pod) is not False or not _containers_ready(pod, containers):
        return
    for gate in pod.spec.readiness_gates:
        found = pod.status.condition(gate.condition_type)
        if found is None:
            yield UnmetGate(gate.condition_type)
        elif found.status != "True":
            yield UnmetGate(gate.condition_type, found.status, found.reason, found.message)


def _containers_ready(pod: Pod, containers: Iterable[ObservedContainer]) -> bool:
    """Whether all containers are ready, by the pod's condition or, without one, by each of them."""
    condition = pod.status.condition("ContainersReady")
    running = [one.ready for one in containers if one.kind is not ContainerKind.INIT]
    return condition.status == "True" if condition is not None else bool(running) and all(running)


def _marked_not_ready(pod: Pod, containers: Iterable[ObservedContainer]) -> bool:
    """Whether the node controller set Ready False: its kubelet always gives a reason."""
    ready = pod.status.condition("Ready")
    unexplained = ready is not None and ready.status == "False" and not ready.reason
    return unexplained and _containers_ready(pod, containers) and not any(_unmet_gates(pod, containers))


def readiness(pod: Pod) -> bool | None:
    """Whether it is Ready; None if its kubelet has reported nothing."""
    ready = pod.status.condition("Ready")
    if ready is not None:
        return ready.status == "True"
    statuses = pod.status.container_statuses
    return all(status.ready for status in statuses) if statuses else None


def _troubles(pod: Pod, containers: tuple[ObservedContainer, ...]) -> Iterator[Trouble]:
    for one in containers:
        kind = _kind(pod, one)
        if kind is None:
            continue
        latest = one.latest
        yield Trouble(
            kind,
            one.name,
            one.kind is not ContainerKind.APP,
            one.end.reason if one.end is not None else one.reason,
            one.end.message if one.end is not None else one.message,
            None if latest is None else latest.exit_code,
            "" if latest is None else latest.reason,
            None if latest is None else latest.signal,
            None if latest is None else latest.finished_at,
            one.restarts,
        )


def _kind(pod: Pod, one: ObservedContainer) -> TroubleKind | None:
    init, sidecar = one.kind is ContainerKind.INIT, one.kind is ContainerKind.SIDECAR
    if one.end is not None:
        policies = [pod.restart_policy(own) for own in pod.spec.containers if own.name == one.name]
        restarts = sidecar or (not init and policies == ["Always"])
        failed = fails_init(pod, one.end.exit_code, one.end.reason) if init else bool(one.end.exit_code)
        return TroubleKind.ENDED if failed or restarts else None
    if one.state is StateKind.WAITING:
        return TroubleKind.STARTING if one.reason in PASSES else TroubleKind.HELD_UP
    if init:
        return TroubleKind.STARTING if pod.status.phase == "Pending" and one.last is None else _restarted(one)
    if not one.ready and readiness(pod) is False:
        return TroubleKind.NOT_READY
    return _restarted(one)


def _restarted(one: ObservedContainer) -> TroubleKind | None:
    return TroubleKind.RESTARTED if one.last is not None else None
