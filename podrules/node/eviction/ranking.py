"""The order in which pods are evicted: named comparators for each signal; the first with a difference decides.

    memory                exceeds its request > lower priority > most usage above its request
    nodefs, imagefs,      exceeds its request > lower priority > most usage above its ephemeral-storage request
      containerfs         (also for inodes: there the first comparator uses a request of inodes, which is always 0)
    pids                  lower priority > most processes
    without measurements  before all others, in each comparator of usage

Critical pods (static, mirror, priority >= 2000000000) are ranked with the others and then skipped.

Which parts of a pod count on a scarce disk depends on how disks are shared:

                          nodefs                         imagefs                containerfs
    one disk for all      layers, logs, local volumes    the same               as nodefs
    separate images       logs, local volumes            layers                 as imagefs
    separate images,      layers, logs, local volumes    nothing                as nodefs
      layers on the node

Source: pkg/kubelet/eviction/helpers.go (rankMemoryPressure, rankDiskPressureFunc, rankPIDPressure,
buildSignalToRankFunc) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import cmp_to_key
from typing import Final

from msgspec import Struct

from podrules.api.features import REFERENCE, Features
from podrules.api.model.pod import Pod
from podrules.node.eviction.thresholds import INODES, PIDS, Signal
from podrules.node.eviction.usage import FsStatsType, StatsFunc, pod_usage, request_quantity
from podrules.pod.priority import is_critical_pod
from podrules.pod.resources import EPHEMERAL_STORAGE


class Comparator(Enum):
    """The reason why one pod is evicted before another."""

    NO_STATS = "NoStats"
    """The pod is not measured."""
    EXCEEDS_REQUEST = "ExceedsRequest"
    PRIORITY = "Priority"
    USAGE_OVER_REQUEST = "UsageOverRequest"
    PROCESSES = "Processes"


class Disks(Struct, frozen=True):
    """Which filesystems are separate."""

    image_fs: bool = False
    """Images have their own disk (HasDedicatedImageFs)."""
    container_fs: bool = False
    """Images have their own disk, without the containers' writable layers (HasDedicatedContainerFs)."""


class RankedPod(Struct, frozen=True):
    """The values by which pods are compared."""

    pod: Pod
    measured: bool
    usage: int
    """Bytes, inodes or processes."""
    request: int
    """Bytes; for inodes those of ephemeral-storage, which upstream subtracts. 0 for processes."""
    exceeds: bool
    priority: int
    critical: bool
    """Whether the kubelet skips it."""

    @property
    def over_request(self) -> int:
        """The usage less the request; negative if it uses less."""
        return self.usage - self.request


class EvictionPlace(Struct, frozen=True):
    """A pod's place in the order."""

    ranked: RankedPod
    decided_by: Comparator | None
    """Why it is before the next pod that can be evicted; None: no reason, either may be evicted first, or it is the
    last, or it is never evicted."""


_Compare = Callable[[RankedPod, RankedPod], int]

_LAYERS_LOGS_VOLUMES: Final = frozenset(FsStatsType)
_LOGS_VOLUMES: Final = frozenset({FsStatsType.LOGS, FsStatsType.LOCAL_VOLUME_SOURCE})
_LAYERS: Final = frozenset({FsStatsType.ROOT})


def _no_stats(first: RankedPod, second: RankedPod) -> int:
    return first.measured - second.measured


def _exceeds(first: RankedPod, second: RankedPod) -> int:
    return second.exceeds - first.exceeds


def _priority(first: RankedPod, second: RankedPod) -> int:
    return _sign(first.priority - second.priority)


def _over_request(first: RankedPod, second: RankedPod) -> int:
    # Without measurements the request does not count either: the pods are equal.
    return _sign(second.over_request - first.over_request) if first.measured and second.measured else 0


_BY_REQUEST: Final[tuple[tuple[Comparator, _Compare], ...]] = (
    (Comparator.NO_STATS, _no_stats),
    (Comparator.EXCEEDS_REQUEST, _exceeds),
    (Comparator.PRIORITY, _priority),
    (Comparator.USAGE_OVER_REQUEST, _over_request),
)
_BY_PROCESSES: Final[tuple[tuple[Comparator, _Compare], ...]] = (
    (Comparator.PRIORITY, _priority),
    (Comparator.NO_STATS, _no_stats),
    (Comparator.PROCESSES, _over_request),
)


def rank(
    pods: Iterable[Pod],
    stats: StatsFunc,
    signal: Signal,
    disks: Disks = Disks(),  # noqa: B008 - it is frozen
    *,
    features: Features = REFERENCE,
) -> tuple[EvictionPlace, ...]:
    """The active pods of a node in the order of eviction, including critical ones; equal ones keep the given order."""
    comparators = _BY_PROCESSES if signal.resource == PIDS else _BY_REQUEST
    measured = _filesystem_stats(signal, disks)

    def compare(first: RankedPod, second: RankedPod) -> int:
        return next((order for _, by in comparators if (order := by(first, second))), 0)

    ordered = sorted(
        (_ranked(pod, stats, signal, measured, features) for pod in pods),
        key=cmp_to_key(compare),
    )
    return tuple(_places(ordered, comparators))


def _places(
    ordered: Sequence[RankedPod], comparators: Sequence[tuple[Comparator, _Compare]]
) -> Iterable[EvictionPlace]:
    evictable = (place for place in ordered if not place.critical)
    following = next(evictable, None)
    for place in ordered:
        decided = None
        if place is following:
            following = next(evictable, None)
            decided = next((name for name, by in comparators if following and by(place, following)), None)
        yield EvictionPlace(place, decided)


def _ranked(
    pod: Pod, stats: StatsFunc, signal: Signal, measured: frozenset[FsStatsType], features: Features
) -> RankedPod:
    own, resource = stats(pod), signal.resource
    usage = pod_usage(pod, own, resource, measured) if own is not None else 0
    request, exceeds = 0, False
    if resource != PIDS:
        asked = request_quantity(pod, resource, features=features)
        subtracted = asked if resource != INODES else request_quantity(pod, EPHEMERAL_STORAGE, features=features)
        request, exceeds = subtracted.value, own is not None and usage > asked.value
    return RankedPod(pod, own is not None, usage, request, exceeds, pod.spec.priority or 0, is_critical_pod(pod))


def _filesystem_stats(signal: Signal, disks: Disks) -> frozenset[FsStatsType]:
    """The parts of a pod that count for a disk signal; empty for other signals."""
    if signal.is_memory or signal is Signal.PID_AVAILABLE:
        return frozenset()
    if not disks.image_fs:
        return _LAYERS_LOGS_VOLUMES
    if disks.container_fs:
        on_images = signal in {Signal.IMAGE_FS_AVAILABLE, Signal.IMAGE_FS_INODES_FREE}
        return frozenset() if on_images else _LAYERS_LOGS_VOLUMES
    return _LOGS_VOLUMES if signal in {Signal.NODE_FS_AVAILABLE, Signal.NODE_FS_INODES_FREE} else _LAYERS


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
