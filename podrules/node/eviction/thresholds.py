"""Eviction signals, the kubelet's thresholds for them, and which thresholds its measurements meet.

Signals name the resource that the kubelet reclaims and the condition that the node reports: pkg/kubelet/eviction/
api/types.go, helpers.go (signalToResource, signalToNodeCondition) at v1.36.3.

Thresholds from the kubelet's configuration:

    evictionHard      met: the kubelet evicts a pod at once
    evictionSoft      met for evictionSoftGracePeriod: the kubelet evicts a pod with a grace period
    evictionHard not set                     memory.available 100Mi, nodefs.available 10 %, nodefs.inodesFree 5 %,
                                             imagefs.available 15 %, imagefs.inodesFree 5 % (Linux)
    set, even to one signal                  the others have no threshold, unless mergeDefaultEvictionSettings
    enforceNodeAllocatable contains "pods"   the hard memory threshold also applies to allocatableMemory.available
    containerfs                              never configured: it gets that of nodefs or imagefs, which has its disk

A percentage refers to the signal's capacity, stored as a float32 as in upstream. 0% and 100% mean no threshold.

Source, at v1.36.3: pkg/kubelet/eviction/helpers.go (ParseThresholdConfig, UpdateContainerFsThresholds),
api/types.go (GetThresholdQuantity), defaults_linux.go; cmd/kubelet/app/server.go (loadConfigFile).

A kubelet's measurements as signals:

    memory.available            node.memory.availableBytes, of availableBytes + workingSetBytes
    allocatableMemory.available the same for the cgroup of all pods
    *.available, *.inodesFree   for the node's, the images' and the containers' filesystems
    pid.available               node.rlimit.maxpid - curproc, of maxpid
    met when                    threshold > available

Source: pkg/kubelet/eviction/helpers.go (makeSignalObservations, thresholdsMet) at v1.36.3.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping
from datetime import timedelta
from enum import Enum
from math import isfinite
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.base import Condition
from podrules.api.model.instant import DurationError, parse_duration
from podrules.api.model.kubelet import ContainerStats, FsStats, KubeletConfiguration, MemoryStats, NodeStats
from podrules.api.model.quantity import Quantity, QuantityError, QuantityFormat
from podrules.pod.resources import EPHEMERAL_STORAGE, MEMORY

INODES: Final = "inodes"
PIDS: Final = "pids"
DEFAULT_EVICTION_HARD: Final[Mapping[str, str]] = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}
"""The defaults of a kubelet on Linux."""
_PODS: Final = "pods"
_NONE: Final = frozenset({"0%", "100%"})
_NUMBER: Final = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
PODS_CGROUP: Final = "pods"
"""The name of the cgroup of all pods in the list of system containers."""
_SIGN_BIT: Final = 1 << 63


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


_SIGNALS: Final = {signal.value: signal for signal in Signal}
_CONTAINER_FS: Final = {
    Signal.CONTAINER_FS_AVAILABLE: (Signal.NODE_FS_AVAILABLE, Signal.IMAGE_FS_AVAILABLE),
    Signal.CONTAINER_FS_INODES_FREE: (Signal.NODE_FS_INODES_FREE, Signal.IMAGE_FS_INODES_FREE),
}
"""The source of each signal's thresholds: if images share the node's disk or containers have one, and otherwise."""


class ThresholdConfigError(ValueError):
    """A threshold that a kubelet would reject. The message names the field, its value and what is accepted."""


class ThresholdValue(Struct, frozen=True):
    """An amount, or a share of the capacity."""

    quantity: Quantity | None = None
    percentage: float = 0.0
    """From 0 to 1, a float32; used if there is no quantity."""

    def __str__(self) -> str:
        return f"{self.percentage * 100:g}%" if self.quantity is None else str(self.quantity)

    def of(self, capacity: int) -> Quantity:
        """The amount (GetThresholdQuantity); bytes or a count."""
        if self.quantity is not None:
            return self.quantity
        return Quantity(int(float(capacity) * self.percentage), 0, QuantityFormat.BINARY_SI)


class Threshold(Struct, frozen=True):
    """When to evict: as soon as less than the value is left, or after the grace period in that state."""

    signal: Signal
    value: ThresholdValue
    grace_period: timedelta = timedelta()
    min_reclaim: ThresholdValue | None = None
    """Once met, it stays met until this much more is left."""

    @property
    def is_hard(self) -> bool:
        """Whether there is no grace period."""
        return not self.grace_period


def effective_eviction_hard(config: KubeletConfiguration) -> Mapping[str, str]:
    """``evictionHard`` with the defaults that the kubelet adds when it loads its configuration."""
    if config.eviction_hard is None:
        return DEFAULT_EVICTION_HARD
    if config.merge_default_eviction_settings:
        return {**DEFAULT_EVICTION_HARD, **config.eviction_hard}
    return config.eviction_hard


def parse_threshold_config(config: KubeletConfiguration) -> tuple[Threshold, ...]:
    """Hard thresholds, then soft ones, then that of the pods' cgroup (ParseThresholdConfig).

    Raises:
        ThresholdConfigError: a kubelet would reject a threshold.
    """
    found = _statements(effective_eviction_hard(config), "evictionHard")
    periods = {
        _signal(name, "evictionSoftGracePeriod"): _grace_period(name, text)
        for name, text in config.eviction_soft_grace_period.items()
    }
    for threshold in _statements(config.eviction_soft, "evictionSoft"):
        if threshold.signal not in periods:
            raise ThresholdConfigError(
                f"evictionSoftGracePeriod[{threshold.signal.value}] is missing: each signal of evictionSoft needs one"
            )
        found.append(replace(threshold, grace_period=periods[threshold.signal]))
    reclaims = {
        _signal(name, "evictionMinimumReclaim"): _minimum_reclaim(name, text)
        for name, text in config.eviction_minimum_reclaim.items()
    }
    found = [replace(threshold, min_reclaim=reclaims.get(threshold.signal)) for threshold in found]
    if _PODS in config.enforce_node_allocatable:
        found += [
            replace(threshold, signal=Signal.ALLOCATABLE_MEMORY_AVAILABLE)
            for threshold in found
            if threshold.signal is Signal.MEMORY_AVAILABLE and threshold.is_hard
        ]
    return tuple(found)


def usable_thresholds(config: KubeletConfiguration) -> tuple[tuple[Threshold, ...], str]:
    """The thresholds, and why the defaults replace the kubelet's own; empty: they do not."""
    try:
        return parse_threshold_config(config), ""
    except ThresholdConfigError as error:
        return parse_threshold_config(KubeletConfiguration()), str(error)


def with_container_fs(thresholds: Iterable[Threshold], *, image_fs: bool, container_fs: bool) -> tuple[Threshold, ...]:
    """Replace the thresholds of containerfs with those of the disk that it shares (UpdateContainerFsThresholds).

    Images may have their own disk, and containers' writable layers another one.
    """
    kept = [threshold for threshold in thresholds if threshold.signal not in _CONTAINER_FS]
    shares_image_fs = image_fs and not container_fs
    return (
        *kept,
        *(
            replace(threshold, signal=signal)
            for signal, (node_fs, own_image_fs) in _CONTAINER_FS.items()
            for threshold in kept
            if threshold.signal is (own_image_fs if shares_image_fs else node_fs)
        ),
    )


def _statements(statements: Mapping[str, str], field: str) -> list[Threshold]:
    signals = {_signal(name, field): text for name, text in statements.items()}
    return [
        Threshold(signal, _value(text, f"{field}[{signal.value}]"))
        for signal, text in signals.items()
        if text not in _NONE
    ]


def _signal(name: str, field: str) -> Signal:
    if name not in _SIGNALS:
        raise ThresholdConfigError(f"{field}[{name}]: no such eviction signal; use one of: {', '.join(_SIGNALS)}")
    return _SIGNALS[name]


def _value(text: str, field: str) -> ThresholdValue:
    if text.endswith("%"):
        percentage = _percentage(text, field)
        if not 0 <= percentage <= 1:
            raise ThresholdConfigError(f"{field}: {text} is not between 0% and 100%")
        return ThresholdValue(percentage=percentage)
    quantity = _quantity(text, field)
    if quantity.sign <= 0:
        raise ThresholdConfigError(f"{field}: {text} is not positive; 0% means no threshold")
    return ThresholdValue(quantity)


def _minimum_reclaim(name: str, text: str) -> ThresholdValue:
    field = f"evictionMinimumReclaim[{name}]"
    if text.endswith("%"):
        percentage = _percentage(text, field)
        if percentage <= 0:
            raise ThresholdConfigError(f"{field}: {text} is not positive")
        return ThresholdValue(percentage=percentage)
    quantity = _quantity(text, field)
    if quantity.sign < 0:
        raise ThresholdConfigError(f"{field}: {text} is negative")
    return ThresholdValue(quantity)


def _grace_period(name: str, text: str) -> timedelta:
    field = f"evictionSoftGracePeriod[{name}]"
    try:
        period = parse_duration(text)
    except DurationError as error:
        raise ThresholdConfigError(f"{field}: {error}") from error
    if period < timedelta():
        raise ThresholdConfigError(f"{field}: {text} is negative")
    return period


def _quantity(text: str, field: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except QuantityError as error:
        raise ThresholdConfigError(f"{field}: {error}") from error


def _percentage(text: str, field: str) -> float:
    number = text.rstrip("%")
    if re.fullmatch(_NUMBER, number) is None:
        raise ThresholdConfigError(f"{field}: {text[:40]!r} is not a percentage: write e.g. 10%")
    percentage = _float32(_float32(float(number)) / 100)
    if not isfinite(percentage):
        raise ThresholdConfigError(f"{field}: {text[:40]!r} is out of range")
    return percentage


def _float32(value: float) -> float:
    """The nearest float32."""
    (rounded,) = struct.unpack("f", struct.pack("f", value))
    return float(rounded)


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
    """The thresholds that are met, in the given order; a missing signal meets none.

    ``enforce_min_reclaim``: `Threshold.min_reclaim` is added to the required amount.
    """
    met = []
    for threshold in thresholds:
        observed = observations.get(threshold.signal)
        if observed is None:
            continue
        wanted = threshold.value.of(observed.capacity.value)
        if enforce_min_reclaim and threshold.min_reclaim is not None:
            wanted += threshold.min_reclaim.of(observed.capacity.value)
        if wanted > observed.available:
            met.append(threshold)
    return tuple(met)


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
