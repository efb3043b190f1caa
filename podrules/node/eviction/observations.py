"""A kubelet's measurements as eviction signals, and which thresholds they meet.

    memory.available            node.memory.availableBytes, of availableBytes + workingSetBytes
    allocatableMemory.available the same for the cgroup of all pods
    *.available, *.inodesFree   for the node's, the images' and the containers' filesystems
    pid.available               node.rlimit.maxpid - curproc, of maxpid
    met when                    threshold > available

Source: pkg/kubelet/eviction/helpers.go (makeSignalObservations, thresholdsMet) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from podrules.api.model.kubelet import ContainerStats, FsStats, MemoryStats, NodeStats
from podrules.api.model.quantity import Quantity, QuantityFormat
from podrules.node.eviction.signals import Signal
from podrules.node.eviction.thresholds import Threshold

PODS_CGROUP: Final = "pods"
"""The name of the cgroup of all pods in the list of system containers."""
_SIGN_BIT: Final = 1 << 63


class SignalObservation(Struct, frozen=True):
    """One signal's value."""

    available: Quantity
    capacity: Quantity
    time: str = ""
    """RFC 3339; empty: not known."""


Observations = Mapping[Signal, SignalObservation]


def make_signal_observations(node: NodeStats) -> dict[Signal, SignalObservation]:
    """All measured signals."""
    runtime = node.runtime
    pods: ContainerStats | None = node.system_container(PODS_CGROUP)
    found = {
        Signal.MEMORY_AVAILABLE: _memory(node.memory),
        Signal.ALLOCATABLE_MEMORY_AVAILABLE: _memory(pods.memory if pods else None),
        Signal.NODE_FS_AVAILABLE: _bytes(node.fs),
        Signal.NODE_FS_INODES_FREE: _inodes(node.fs),
        Signal.IMAGE_FS_AVAILABLE: _bytes(runtime.image_fs if runtime else None),
        Signal.IMAGE_FS_INODES_FREE: _inodes(runtime.image_fs if runtime else None),
        Signal.CONTAINER_FS_AVAILABLE: _bytes(runtime.container_fs if runtime else None),
        Signal.CONTAINER_FS_INODES_FREE: _inodes(runtime.container_fs if runtime else None),
        Signal.PID_AVAILABLE: _pids(node),
    }
    return {signal: observation for signal, observation in found.items() if observation is not None}


def thresholds_met(
    thresholds: Iterable[Threshold], observations: Observations, *, enforce_min_reclaim: bool = False
) -> tuple[Threshold, ...]:
    """The thresholds that are met, with or without a grace period.

    Args:
        thresholds: The thresholds; their order is kept.
        observations: The observed signals; a missing signal meets no threshold.
        enforce_min_reclaim: Whether `Threshold.min_reclaim` is added to the required amount.
    """
    return tuple(
        threshold
        for threshold in thresholds
        if (observed := observations.get(threshold.signal)) is not None
        and _required(threshold, observed, enforce_min_reclaim=enforce_min_reclaim) > observed.available
    )


def _required(threshold: Threshold, observed: SignalObservation, *, enforce_min_reclaim: bool) -> Quantity:
    wanted = threshold.value.of(observed.capacity.value)
    if enforce_min_reclaim and threshold.min_reclaim is not None:
        wanted += threshold.min_reclaim.of(observed.capacity.value)
    return wanted


def _memory(memory: MemoryStats | None) -> SignalObservation | None:
    if memory is None or memory.available_bytes is None or memory.working_set_bytes is None:
        return None
    # A cgroup above its limit has a negative amount left, which upstream reports as an unsigned number.
    available = (memory.available_bytes + _SIGN_BIT) % (2 * _SIGN_BIT) - _SIGN_BIT
    return _observed(available, available + memory.working_set_bytes, memory.time)


def _bytes(fs: FsStats | None) -> SignalObservation | None:
    if fs is None or fs.available_bytes is None or fs.capacity_bytes is None:
        return None
    return _observed(fs.available_bytes, fs.capacity_bytes, fs.time)


def _inodes(fs: FsStats | None) -> SignalObservation | None:
    if fs is None or fs.inodes_free is None or fs.inodes is None:
        return None
    return _observed(fs.inodes_free, fs.inodes, fs.time, QuantityFormat.DECIMAL_SI)


def _pids(node: NodeStats) -> SignalObservation | None:
    limit = node.rlimit
    if limit is None or limit.max_pid is None or limit.num_of_running_processes is None:
        return None
    return _observed(
        limit.max_pid - limit.num_of_running_processes, limit.max_pid, limit.time, QuantityFormat.DECIMAL_SI
    )


def _observed(
    available: int, capacity: int, time: str, form: QuantityFormat = QuantityFormat.BINARY_SI
) -> SignalObservation:
    return SignalObservation(Quantity(available, 0, form), Quantity(capacity, 0, form), time)
