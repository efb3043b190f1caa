"""The causes that can end a pod or a container, and how certain a verdict is.

The list is closed. Any other cause counts as the nearest one that is true: a process that a user kills on the node,
outside Kubernetes, counts as one that ended by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum

from msgspec import Struct

from podrules.api.model.event import Event


class Cause(Enum):
    """What ended it."""

    # The kernel.
    OWN_MEMORY_LIMIT = "OwnMemoryLimit"
    """The container reached its own memory limit."""
    POD_MEMORY_LIMIT = "PodMemoryLimit"
    """The containers of the pod together reached the memory limit of the pod's cgroup."""
    NODE_OUT_OF_MEMORY = "NodeOutOfMemory"
    """The node, or all its pods together, ran out of memory, and the kernel chose this container."""

    # The kubelet, one container.
    LIVENESS_PROBE = "LivenessProbe"
    STARTUP_PROBE = "StartupProbe"
    POST_START_HOOK = "PostStartHook"
    RESIZE = "Resize"
    """A resize in place had to restart it."""
    DEFINITION_CHANGED = "DefinitionChanged"
    """Its image was changed in place."""
    RESTART_ALL = "RestartAllContainers"
    """Another container's end restarts all of the pod."""
    SANDBOX_CHANGED = "SandboxChanged"
    """The sandbox of the pod was gone, as after a restart of the node: everything in it started again."""
    SIDECAR_STOPPED = "SidecarStopped"
    """The pod's main containers had ended, and the kubelet stopped its sidecars."""
    CONTAINER_LOST = "ContainerLost"
    """The runtime no longer knew a container that ran before: how it ended is not known."""

    # The application.
    APPLICATION = "Application"
    """Its process ended, and neither Kubernetes nor the kernel's OOM killer ended it: by its own exit code, or by a
    signal that came from elsewhere."""
    NODE_REBOOT = "NodeReboot"
    """The node restarted without the kubelet's graceful shutdown: its system stopped the processes."""

    # It never ran.
    IMAGE = "Image"
    """The image pull failed."""
    CONFIGURATION = "Configuration"
    """An object that the container refers to does not exist or is not valid."""
    RUNTIME = "Runtime"
    """The runtime could not start it."""

    # The kubelet, the whole pod.
    EVICTED_MEMORY = "EvictedMemory"
    EVICTED_DISK = "EvictedDisk"
    EVICTED_INODES = "EvictedInodes"
    EVICTED_PIDS = "EvictedPids"
    CONTAINER_STORAGE_LIMIT = "ContainerStorageLimit"
    """A container wrote more than its limit of ephemeral-storage."""
    POD_STORAGE_LIMIT = "PodStorageLimit"
    """The containers together wrote more than their limits of ephemeral-storage."""
    EMPTY_DIR_LIMIT = "EmptyDirLimit"
    """An emptyDir volume grew over its sizeLimit."""
    KUBELET_PREEMPTION = "KubeletPreemption"
    """A critical pod needed the room."""
    NODE_SHUTDOWN = "NodeShutdown"
    ACTIVE_DEADLINE = "ActiveDeadline"
    """activeDeadlineSeconds expired."""
    REJECTED = "Rejected"
    """The kubelet rejected it."""
    STATIC_MANIFEST = "StaticManifest"
    """The manifest of a static pod was changed, or removed from its node."""

    # The control plane and its clients.
    PREEMPTION = "Preemption"
    """The scheduler made room for a pod of higher priority."""
    API_EVICTION = "ApiEviction"
    """A client requested an eviction from the eviction API: a drain, or an autoscaler."""
    TAINT_EVICTION = "TaintEviction"
    """It did not tolerate a taint of its node."""
    NODE_REMOVED = "NodeGone"
    """Its Node object is gone, and garbage collection removed the pod."""
    JOB_ENDED = "JobEnded"
    """Its Job failed, was suspended or completed, and the Job controller deleted the pod."""
    OWNER = "Owner"
    """Its controller deleted it: fewer replicas, or another revision."""
    DELETED = "Deleted"
    """A client deleted it."""
    FORCE_DELETED = "ForceDeleted"
    """A client deleted it without a grace period: its object was removed at once."""


class Grade(Enum):
    """How certain a verdict is; the most certain first."""

    CERTAIN = "Certain"
    """Only one cause fits all of the evidence."""
    LIKELY = "Likely"
    """Several causes fit; the evidence for one is stronger."""
    SEVERAL = "Several"
    """The evidence for two or more causes is equally strong."""
    NOTHING = "Nothing"
    """No remaining evidence shows a cause."""


# A verdict: which causes fit the evidence, what supports each, and how certain the result is.
#
#     a cause that does not fit   is left out because of existing evidence. Missing evidence excludes nothing
#     one cause is left           Certain
#     one has stronger evidence   Likely; the others are also named
#     several are equal           Several: A or B, and which evidence would decide
#
# So less evidence leaves more causes, and never only a wrong one.


class Weight(IntEnum):
    """How strong the evidence for a cause is."""

    POSSIBLE = 0
    """No evidence excludes it."""
    SOME = 1
    MUCH = 2
    PROOF = 3
    """A component of Kubernetes names the cause of this very end."""


class EvidenceSource(Enum):
    """The source of a piece of evidence."""

    POD = "Pod"
    """The pod's stored object."""
    EVENT = "Event"
    OWNER_EVENT = "OwnerEvent"
    OWNER = "Owner"
    NODE = "Node"
    NODE_EVENT = "NodeEvent"
    KUBELET = "Kubelet"
    """The kubelet's configuration."""
    NEIGHBOUR = "Neighbour"
    """Another pod on the node."""


class Clue(Struct, frozen=True, rename="camel"):
    """One piece of evidence."""

    source: EvidenceSource
    where: str
    """``status.reason``, ``Killing``: the field or the event's reason."""
    says: str
    """The value, in its author's words."""
    at: str | None = None


def of_event(event: Event, source: EvidenceSource = EvidenceSource.EVENT) -> Clue:
    """An event as evidence; the default source is an event about the pod."""
    return Clue(source, event.reason, event.message, event.last)


class Suspect(Struct, frozen=True, rename="camel"):
    """A cause that fits the evidence."""

    cause: Cause
    weight: Weight
    clues: tuple[Clue, ...] = ()
    """The evidence for it."""


class EndVerdict(Struct, frozen=True, rename="camel"):
    """Which causes fit, and how certain that is."""

    grade: Grade
    suspects: tuple[Suspect, ...] = ()
    """One cause, or for grade Several those with equal evidence."""
    others: tuple[Suspect, ...] = ()
    """The causes that also fit, with weaker evidence."""
    clues: tuple[Clue, ...] = ()
    """The remaining evidence that names no cause."""

    @property
    def cause(self) -> Cause | None:
        """The only cause; None: several, or none."""
        return self.suspects[0].cause if len(self.suspects) == 1 else None

    @property
    def causes(self) -> frozenset[Cause]:
        """All that fit."""
        return frozenset(one.cause for one in (*self.suspects, *self.others))


NOTHING = EndVerdict(Grade.NOTHING)


def proven(cause: Cause, *clues: Clue) -> EndVerdict:
    """The verdict if a component of Kubernetes names the cause."""
    return EndVerdict(Grade.CERTAIN, (Suspect(cause, Weight.PROOF, clues),))


def weighed(weights: Mapping[Cause, Weight], clues: Mapping[Cause, Iterable[Clue]]) -> EndVerdict:
    """The verdict over the causes that fit."""
    if not weights:
        return NOTHING
    order = list(Cause)
    found = [Suspect(cause, weight, tuple(clues.get(cause, ()))) for cause, weight in weights.items()]
    found.sort(key=lambda one: (-one.weight, order.index(one.cause)))
    first = tuple(one for one in found if one.weight == found[0].weight)
    if len(found) == 1:
        return EndVerdict(Grade.CERTAIN, first)
    return EndVerdict(Grade.LIKELY if len(first) == 1 else Grade.SEVERAL, first, tuple(found[len(first) :]))
