"""Eviction signals, with the resource that the kubelet reclaims and the condition that the node reports.

Source: pkg/kubelet/eviction/api/types.go, helpers.go (signalToResource, signalToNodeCondition) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final

from podrules.api.model.base import Condition
from podrules.pod.resources import EPHEMERAL_STORAGE, MEMORY

INODES: Final = "inodes"
PIDS: Final = "pids"


class NodeCondition(Enum):
    """Conditions of a node under pressure."""

    MEMORY_PRESSURE = "MemoryPressure"
    DISK_PRESSURE = "DiskPressure"
    PID_PRESSURE = "PIDPressure"


class Signal(Enum):
    """The signals of the eviction manager: each is an amount that is left."""

    MEMORY_AVAILABLE = "memory.available"
    """Capacity less the working set of the whole node; bytes."""
    ALLOCATABLE_MEMORY_AVAILABLE = "allocatableMemory.available"
    """The limit of all pods' cgroup less their working set; bytes."""
    NODE_FS_AVAILABLE = "nodefs.available"
    NODE_FS_INODES_FREE = "nodefs.inodesFree"
    IMAGE_FS_AVAILABLE = "imagefs.available"
    IMAGE_FS_INODES_FREE = "imagefs.inodesFree"
    CONTAINER_FS_AVAILABLE = "containerfs.available"
    CONTAINER_FS_INODES_FREE = "containerfs.inodesFree"
    PID_AVAILABLE = "pid.available"

    @property
    def is_memory(self) -> bool:
        """Whether it is one of the two memory signals, which the kubelet handles before all others."""
        return self in {Signal.MEMORY_AVAILABLE, Signal.ALLOCATABLE_MEMORY_AVAILABLE}

    @property
    def resource(self) -> str:
        """The reclaimed resource: ``memory``, ``ephemeral-storage``, ``inodes`` or ``pids``."""
        if self.is_memory:
            return MEMORY
        if self is Signal.PID_AVAILABLE:
            return PIDS
        return INODES if self.value.endswith("inodesFree") else EPHEMERAL_STORAGE

    @property
    def condition(self) -> NodeCondition:
        """The condition that the node reports while a threshold of the signal is met."""
        if self.is_memory:
            return NodeCondition.MEMORY_PRESSURE
        return NodeCondition.PID_PRESSURE if self is Signal.PID_AVAILABLE else NodeCondition.DISK_PRESSURE


def pressures_of(conditions: Iterable[Condition]) -> tuple[NodeCondition, ...]:
    """The pressure conditions that a node reports.

    Its kubelet reports them while a threshold is met, and for evictionPressureTransitionPeriod after that.
    """
    true = {condition.type for condition in conditions if condition.status == "True"}
    return tuple(condition for condition in NodeCondition if condition.value in true)
