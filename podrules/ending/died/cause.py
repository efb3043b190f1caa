"""The causes that can end a pod or a container, and verdicts: which causes fit the evidence, and how certain that is.

    a cause that does not fit   is left out because of existing evidence. Missing evidence excludes nothing
    one cause is left           Certain
    one has stronger evidence   Likely; the others are also named
    several are equal           Several: A or B, and which evidence would decide

So less evidence leaves more causes, and never only a wrong one.

The list of causes is closed. Any other cause counts as the nearest one that is true: a process that a user kills on the
node, outside Kubernetes, counts as one that ended by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum
from typing import Final, NamedTuple, Self

from msgspec import Struct

from podrules.api.model.event import Event


class Trace(Enum):
    """What remains of a cause once the pod's object is gone."""

    SILENT = "Silent"
    """The kubelet stops the pod, and no event about the pod says why."""
    EVENT = "Event"
    """An event about the pod announces it."""
    CONTAINERS = "Containers"
    """It may have ended the containers before the pod was deleted."""
    OWN = "Own"
    """The object of the pod stays, or a rule of its own weighs it."""


class Family(Enum):
    """Causes that the rules treat alike."""

    MEMORY = "Memory"
    """The kernel killed the container for memory."""
    NEVER_RAN = "NeverRan"
    """The container could not be started."""
    EVICTION = "Eviction"
    """The kubelet evicted the pod."""
    NODE = "Node"
    """Its node stopped or was removed, perhaps by a program that manages nodes."""
    DELETION = "Deletion"
    """It deletes the pod through the API and does not end it first: the pod is then gone or being deleted."""
    CONTROLLER = "Controller"
    """The controller deletes its own pod."""
    OTHER = "Other"


class CauseRule(NamedTuple):
    """How the rules recognise a cause."""

    trace: Trace = Trace.OWN
    family: Family = Family.OTHER
    cleaned_up: bool = False
    """Whether a pod that it ended may be deleted by its controller later, whatever events remain."""
    events: tuple[str, ...] = ()
    """Reasons of events about the pod that name it."""
    status: str = ""
    """The ``status.reason`` of a finished pod that names it."""
    disruptions: tuple[str, ...] = ()
    """Reasons of condition DisruptionTarget with which a component deletes the pod."""
    resource: str = ""
    """The resource in the message of an eviction from a node that is low on it."""
    limit: str = ""
    """A pattern for the message of an eviction for a limit of the pod itself."""
    killing: str = ""
    """Words of event Killing about one container."""
    probe: str = ""
    """``liveness``, ``startup``: the probe that failed."""
    waits: tuple[str, ...] = ()
    """Reasons of a waiting or ended container that never ran, or was stopped as it started."""


_NO_MARK: Final = CauseRule()


class Cause(Enum):
    """What ended it."""

    rule: CauseRule

    def __new__(cls, code: str, rule: CauseRule = _NO_MARK) -> Self:
        """Only the code is the value."""
        cause = object.__new__(cls)
        cause._value_ = code
        cause.rule = rule
        return cause

    # The kernel.
    OWN_MEMORY_LIMIT = "OwnMemoryLimit", CauseRule(Trace.CONTAINERS, Family.MEMORY)
    """The container reached its own memory limit."""
    POD_MEMORY_LIMIT = "PodMemoryLimit", CauseRule(Trace.CONTAINERS, Family.MEMORY)
    """The containers of the pod together reached the memory limit of the pod's cgroup."""
    NODE_OUT_OF_MEMORY = "NodeOutOfMemory", CauseRule(Trace.CONTAINERS, Family.MEMORY)
    """The node, or all its pods together, ran out of memory, and the kernel chose this container."""

    # The kubelet, one container.
    LIVENESS_PROBE = (
        "LivenessProbe",
        CauseRule(Trace.CONTAINERS, killing="failed liveness probe", probe="liveness"),
    )
    STARTUP_PROBE = (
        "StartupProbe",
        CauseRule(Trace.CONTAINERS, killing="failed startup probe", probe="startup"),
    )
    POST_START_HOOK = (
        "PostStartHook",
        CauseRule(Trace.CONTAINERS, killing="FailedPostStartHook", waits=("PostStartHookError",)),
    )
    RESIZE = "Resize", CauseRule(killing="resize requires restart")
    """A resize in place had to restart it."""
    DEFINITION_CHANGED = "DefinitionChanged", CauseRule(killing="definition changed")
    """Its image was changed in place."""
    RESTART_ALL = "RestartAllContainers"
    """Another container's end restarts all of the pod."""
    SANDBOX_CHANGED = "SandboxChanged", CauseRule(Trace.SILENT)
    """The sandbox of the pod was gone, as after a restart of the node: everything in it started again."""
    SIDECAR_STOPPED = "SidecarStopped"
    """The pod's main containers had ended, and the kubelet stopped its sidecars."""
    CONTAINER_LOST = "ContainerLost", CauseRule(Trace.CONTAINERS)
    """The runtime no longer knew a container that ran before: how it ended is not known."""

    # The application.
    APPLICATION = "Application", CauseRule(Trace.CONTAINERS)
    """Its process ended, and neither Kubernetes nor the kernel's OOM killer ended it: by its own exit code, or by a
    signal that came from elsewhere."""
    NODE_REBOOT = "NodeReboot", CauseRule(family=Family.NODE)
    """The node restarted without the kubelet's graceful shutdown: its system stopped the processes."""

    # It never ran.
    IMAGE = (
        "Image",
        CauseRule(
            family=Family.NEVER_RAN,
            waits=(
                *("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"),
                *("RegistryUnavailable", "SignatureValidationFailed"),
            ),
        ),
    )
    """The image pull failed."""
    CONFIGURATION = "Configuration", CauseRule(family=Family.NEVER_RAN, waits=("CreateContainerConfigError",))
    """An object that the container refers to does not exist or is not valid."""
    RUNTIME = (
        "Runtime",
        CauseRule(
            family=Family.NEVER_RAN,
            waits=(
                *("CreateContainerError", "RunContainerError", "StartError", "ContainerCannotRun", "PreStartHookError"),
            ),
        ),
    )
    """The runtime could not start it."""

    # The kubelet, the whole pod.
    EVICTED_MEMORY = "EvictedMemory", CauseRule(Trace.EVENT, Family.EVICTION, resource="memory")
    EVICTED_DISK = "EvictedDisk", CauseRule(Trace.EVENT, Family.EVICTION, resource="ephemeral-storage")
    EVICTED_INODES = "EvictedInodes", CauseRule(Trace.EVENT, Family.EVICTION, resource="inodes")
    EVICTED_PIDS = "EvictedPids", CauseRule(Trace.EVENT, Family.EVICTION, resource="pids")
    CONTAINER_STORAGE_LIMIT = (
        "ContainerStorageLimit",
        CauseRule(Trace.EVENT, Family.EVICTION, limit=r"Container \S+ exceeded its local ephemeral storage limit "),
    )
    """A container wrote more than its limit of ephemeral-storage."""
    POD_STORAGE_LIMIT = (
        "PodStorageLimit",
        CauseRule(Trace.EVENT, Family.EVICTION, limit="Pod ephemeral local storage usage exceeds the total limit "),
    )
    """The containers together wrote more than their limits of ephemeral-storage."""
    EMPTY_DIR_LIMIT = (
        "EmptyDirLimit",
        CauseRule(Trace.EVENT, Family.EVICTION, limit=r"Usage of EmptyDir volume \S+ exceeds the limit "),
    )
    """An emptyDir volume grew over its sizeLimit."""
    KUBELET_PREEMPTION = "KubeletPreemption", CauseRule(Trace.EVENT, events=("Preempting",), status="Preempting")
    """A critical pod needed the room."""
    NODE_SHUTDOWN = "NodeShutdown", CauseRule(Trace.SILENT, Family.NODE, cleaned_up=True)
    ACTIVE_DEADLINE = (
        "ActiveDeadline",
        CauseRule(Trace.EVENT, events=("DeadlineExceeded",), status="DeadlineExceeded"),
    )
    """activeDeadlineSeconds expired."""
    REJECTED = "Rejected", CauseRule(cleaned_up=True)
    """The kubelet rejected it."""
    STATIC_MANIFEST = "StaticManifest"
    """The manifest of a static pod was changed, or removed from its node."""

    # The control plane and its clients.
    PREEMPTION = (
        "Preemption",
        CauseRule(Trace.EVENT, Family.DELETION, events=("Preempted",), disruptions=("PreemptionByScheduler",)),
    )
    """The scheduler made room for a pod of higher priority."""
    API_EVICTION = "ApiEviction", CauseRule(Trace.SILENT, Family.DELETION, disruptions=("EvictionByEvictionAPI",))
    """A client requested an eviction from the eviction API: a drain, or an autoscaler."""
    TAINT_EVICTION = (
        "TaintEviction",
        CauseRule(
            Trace.EVENT,
            Family.DELETION,
            events=("TaintManagerEviction", "DeviceTaintManagerEviction"),
            disruptions=("DeletionByTaintManager", "DeletionByDeviceTaintManager"),
        ),
    )
    """It did not tolerate a taint of its node."""
    NODE_REMOVED = (
        "NodeGone",
        CauseRule(Trace.SILENT, Family.NODE, cleaned_up=True, disruptions=("DeletionByPodGC",)),
    )
    """Its Node object is gone, and garbage collection removed the pod."""
    JOB_ENDED = "JobEnded", CauseRule(Trace.SILENT, Family.CONTROLLER)
    """Its Job failed, was suspended or completed, and the Job controller deleted the pod."""
    OWNER = "Owner", CauseRule(Trace.SILENT, Family.CONTROLLER)
    """Its controller deleted it: fewer replicas, or another revision."""
    DELETED = "Deleted", CauseRule(Trace.SILENT, Family.DELETION)
    """A client deleted it."""
    FORCE_DELETED = "ForceDeleted", CauseRule(Trace.SILENT, Family.DELETION, events=("ForceDeletionAllowed",))
    """A client deleted it without a grace period: its object was removed at once. The event is our webhook's: it
    allowed the force deletion, right before that happens."""


def causes_of(family: Family) -> frozenset[Cause]:
    """The causes of a family."""
    return frozenset(cause for cause in Cause if cause.rule.family is family)


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
