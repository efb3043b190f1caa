"""What can end a pod or a container: the causes among which a verdict decides, and how sure it is.

The list is closed. Any other cause counts as the nearest one that is true: a process that somebody kills on the
node, past Kubernetes, ended as if by itself.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["Cause", "Grade"]


class Cause(Enum):
    """What ended it."""

    # The kernel.
    OWN_MEMORY_LIMIT = "OwnMemoryLimit"
    """The container came to its own memory limit."""
    POD_MEMORY_LIMIT = "PodMemoryLimit"
    """The containers of the pod together came to the memory limit of the pod's cgroup."""
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
    """The runtime knew no more of a container that ran before: how it ended is not known."""

    # The application.
    APPLICATION = "Application"
    """Its process ended, and neither Kubernetes nor the kernel's OOM killer ended it: by its own exit code, or by a
    signal that came from elsewhere."""
    NODE_REBOOT = "NodeReboot"
    """The node restarted without the kubelet's graceful shutdown: its system stopped the processes."""

    # It never ran.
    IMAGE = "Image"
    """The image could not be had."""
    CONFIGURATION = "Configuration"
    """What the container refers to is not there or not valid."""
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
    """activeDeadlineSeconds was over."""
    REJECTED = "Rejected"
    """The kubelet did not take it on."""
    STATIC_MANIFEST = "StaticManifest"
    """The manifest of a static pod was changed, or removed from its node."""

    # The control plane and its clients.
    PREEMPTION = "Preemption"
    """The scheduler made room for a pod of higher priority."""
    API_EVICTION = "ApiEviction"
    """Somebody asked the eviction API: a drain, or an autoscaler."""
    TAINT_EVICTION = "TaintEviction"
    """It did not tolerate a taint of its node."""
    NODE_GONE = "NodeGone"
    """Its Node object is gone, and garbage collection removed the pod."""
    JOB_ENDED = "JobEnded"
    """Its Job failed, was suspended or was done, and the Job controller removed the pod."""
    OWNER = "Owner"
    """Its controller removed it: fewer replicas, or another revision."""
    DELETED = "Deleted"
    """Somebody deleted it."""
    FORCE_DELETED = "ForceDeleted"
    """Somebody deleted it without grace: its object went at once."""


class Grade(Enum):
    """How sure a verdict is; the surest first."""

    CERTAIN = "Certain"
    """One cause alone fits all of the evidence."""
    LIKELY = "Likely"
    """Others fit, too; more speaks for one."""
    SEVERAL = "Several"
    """As much speaks for two or more."""
    NOTHING = "Nothing"
    """Nothing is left that would tell."""
