"""Whether a pod on a node runs as it should, and what is wrong with which container.

    waits, passing        ContainerCreating, PodInitializing: the sandbox, volumes and images are made ready, init
                          containers go first; their own states tell why it lasts
    waits, held up        any other reason: the kubelet tried and failed, and tries again: CrashLoopBackOff,
                          ImagePullBackOff, CreateContainerConfigError, RunContainerError, InvalidImageName and so on
    ended                 an app container or sidecar has ended with an error, or a sidecar at all; an init container
                          with an error. An app container that exits 0 is done, unless it has to restart
    not ready             it runs, and its readiness probe has not succeeded
    restarted             it runs, and ended before
    node not Ready        all containers are ready, and the pod's Ready is False without a reason, which a kubelet gives
                          always: the node controller does so to the pods of a node when its Ready is no longer True
    readiness gates       all containers are ready, and a condition that the pod names is not True, or not there yet
    Ready                 the pod's condition; where its kubelet has not told it, by what it tells of the containers

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
from podrules.api.model.pod import Pod
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
from podrules.pod.kubectl_status import kubectl_restarts, kubectl_status
from podrules.pod.platform import pod_platform

__all__ = ["PASSES", "Health", "Trouble", "TroubleKind", "UnmetGate", "health", "readiness"]

PASSES: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
"""Why a container waits that has only to wait."""


class TroubleKind(Enum):
    """What a container does not do as it should, the worst first."""

    HELD_UP = "HeldUp"
    """It waits, and more than time is needed."""
    ENDED = "Ended"
    NOT_READY = "NotReady"
    STARTING = "Starting"
    """It waits, and that passes by itself."""
    RESTARTED = "Restarted"
    """It runs, and ended before."""


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
    """The exit code with which it ended last; None: it has not ended, or the status does not say."""
    end_reason: str = ""
    signal: int | None = None
    """The signal that ended it last, by number; None: the status has none."""
    ended_at: str | None = None
    restarts: int = 0


class UnmetGate(Struct, frozen=True, rename="camel"):
    """A condition of ``spec.readinessGates`` that is not True: somebody else than the kubelet has to set it."""

    condition: str
    """Its type."""
    status: str = ""
    """False or Unknown; empty: the pod has no such condition yet."""
    reason: str = ""
    message: str = ""


class Health(Struct, frozen=True, rename="camel"):
    """How a pod is, by what its kubelet said last."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    kubectl_status: str = ""
    """What `kubectl get pods` prints under STATUS."""
    restarts: int = 0
    """What it prints under RESTARTS."""
    bound: bool = False
    """Whether it has a node."""
    created: str | None = None
    containers: tuple[ObservedContainer, ...] = ()
    """All that its kubelet told of; app containers first."""
    memory_limited: bool = False
    """Whether the pod's cgroup has a memory limit: of the pod itself, or because each container has one."""
    ephemeral: tuple[ObservedContainer, ...] = ()
    """The same of ephemeral containers: they do not change how the pod is."""
    troubles: tuple[Trouble, ...] = ()
    """The worst first; init containers before others. Empty for a pod that has finished."""
    ready: bool | None = None
    """None: its kubelet has told nothing, or the pod has finished."""
    ready_since: str | None = None
    """When its Ready condition became what it is."""
    unready: str = ""
    """Why its Ready condition is not True, in the kubelet's words."""
    unmet_gates: tuple[UnmetGate, ...] = ()
    """The readiness gates that keep a pod from being Ready although its containers are."""
    marked_not_ready: bool = False
    """Its containers are ready, and its Ready is False without a reason: the node controller marked it so."""
    no_sandbox: bool = False
    """Its sandbox and network are not there (PodReadyToStartContainers)."""
    started: str | None = None
    """When its kubelet took it on."""
    initializing: str = ""
    """The init container, or the sidecar not yet started, that runs now before others may; empty: none."""
    initializing_since: str | None = None

    def of_kind(self, kind: TroubleKind) -> tuple[Trouble, ...]:
        """The containers with that trouble."""
        return tuple(trouble for trouble in self.troubles if trouble.kind is kind)

    @property
    def broken(self) -> bool:
        """Whether a container does not run and will not by waiting."""
        return any(trouble.kind in {TroubleKind.HELD_UP, TroubleKind.ENDED} for trouble in self.troubles)

    @property
    def oom_killed(self) -> tuple[ObservedContainer, ...]:
        """The containers that ran out of memory when they ended last, as the kubelet says."""
        return tuple(one for one in self.containers if one.latest is not None and one.latest.reason == OOM_KILLED)

    def container(self, name: str) -> ObservedContainer:
        """The container of that name, if its kubelet reports it.

        Raises:
            StopIteration: it told of none.
        """
        return next(one for one in self.containers if one.name == name)


def health(pod: Pod, node: Node | None = None) -> Health:
    """How a pod is, by what its kubelet said last.

    Args:
        pod: The pod.
        node: The one to which it is bound: what exit codes mean there; None: the pod's own words decide.
    """
    ready, sandbox = pod.status.condition("Ready"), pod.status.condition("PodReadyToStartContainers")
    platform = pod_platform(pod, node)
    containers = observed_containers(pod, platform)
    told = Health(
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
        return told
    order = list(TroubleKind)
    troubles = sorted(_troubles(pod, containers), key=lambda trouble: (order.index(trouble.kind), not trouble.init))
    unready = ready if ready is not None and ready.status != "True" else None
    initializing = next((one for one in containers if _initializes(pod, one)), None)
    return replace(
        told,
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
    """Whether it runs before others may: an init container until its end, a sidecar until its startup probe succeeds.

    Source: pkg/kubelet/kuberuntime/kuberuntime_container.go (computeInitContainerActions) at v1.36.3.
    """
    if container.state is not StateKind.RUNNING:
        return False
    unstarted = container.kind is ContainerKind.SIDECAR and container.started is False
    return container.kind is ContainerKind.INIT or (unstarted and pod.status.phase == "Pending")


def _unmet_gates(pod: Pod, containers: Iterable[ObservedContainer]) -> Iterator[UnmetGate]:
    """The gates that a pod waits for; none while its containers are not ready, for then they alone decide.

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
    told = pod.status.condition("ContainersReady")
    running = [one.ready for one in containers if one.kind is not ContainerKind.INIT]
    return told.status == "True" if told is not None else bool(running) and all(running)


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
        anew = sidecar or (not init and policies == ["Always"])
        failed = fails_init(pod, one.end.exit_code, one.end.reason) if init else bool(one.end.exit_code)
        return TroubleKind.ENDED if failed or anew else None
    if one.state is StateKind.WAITING:
        return TroubleKind.STARTING if one.reason in PASSES else TroubleKind.HELD_UP
    if init:
        return TroubleKind.STARTING if pod.status.phase == "Pending" and one.last is None else _restarted(one)
    if not one.ready and readiness(pod) is False:
        return TroubleKind.NOT_READY
    return _restarted(one)


def _restarted(one: ObservedContainer) -> TroubleKind | None:
    return TroubleKind.RESTARTED if one.last is not None else None
