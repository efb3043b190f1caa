"""The order in which pods are evicted, from their usage and requests; pods above a local storage limit.

Usage and request of a resource under pressure:

    memory              working set of the pod
    ephemeral-storage,  what the scarce disk stores: writable layers, logs, local volumes (emptyDir on disk,
      inodes            hostPath, configMap, gitRepo); images do not count for any pod
    pids                processes

    request             the pod-level request if pod-level resources are set, else the sum of its containers as the
                        scheduler counts them; overhead is added to a nonzero request

Source: pkg/kubelet/eviction/helpers.go (podDiskUsage, memoryUsage, processUsage), pkg/api/v1/resource/helpers.go
(GetResourceRequestQuantity) and pkg/volume/util/util.go (IsLocalEphemeralVolume) at v1.36.3.

The kubelet evicts a pod above a local storage limit at once, even without pressure:

    an emptyDir       uses more than its sizeLimit
    the pod           uses more ephemeral storage than the sum of its containers' limits
    a container       uses more (logs, and its writable layer unless images have their own disk) than its limit; since
                      1.37 also a sidecar

The first rule that applies decides. The kubelet keeps a critical pod, and then does not check its other limits.

Source: pkg/kubelet/eviction/eviction_manager.go (localStorageEviction) at v1.36.3 and v1.37.1.

Each signal has named comparators; the first with a difference decides:

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

from collections.abc import Callable, Collection, Iterable
from enum import Enum
from functools import cmp_to_key
from typing import Final

from msgspec import Struct

from podrules.api.features import REFERENCE, Features
from podrules.api.model.kubelet import FsStats, PodStats
from podrules.api.model.pod import Pod
from podrules.api.model.quantity import ZERO, Quantity
from podrules.node.eviction.thresholds import INODES, PIDS, Signal
from podrules.pod.priority import is_critical_pod, static_pod_uid
from podrules.pod.resources import (
    EPHEMERAL_STORAGE,
    MEMORY,
    PodResourcesOptions,
    is_pod_level_resources_set,
    is_supported_pod_level_resource,
    pod_limits,
    pod_requests,
)

_CONTAINERS_ONLY: Final = PodResourcesOptions(exclude_overhead=True, skip_pod_level_resources=True)

StatsFunc = Callable[[Pod], PodStats | None]
"""Returns a pod's measurements; None: it has none."""


class FsStatsType(Enum):
    """The parts of a pod on a filesystem."""

    LOCAL_VOLUME_SOURCE = "localVolumeSource"
    LOGS = "logs"
    ROOT = "root"


def stats_by_uid(stats: Iterable[PodStats]) -> StatsFunc:
    """Find a pod's measurements by its UID, a mirror pod's by that of the static pod (cachedStatsFunc)."""
    by_uid = {entry.pod_ref.uid: entry for entry in stats}

    def find(pod: Pod) -> PodStats | None:
        return by_uid.get(static_pod_uid(pod) or pod.metadata.uid)

    return find


def pod_usage(pod: Pod, stats: PodStats, resource: str, measured: Collection[FsStatsType] = ()) -> int:
    """A pod's usage in bytes, inodes or processes; a missing measurement counts as 0.

    The resource is ``memory``, ``ephemeral-storage``, ``inodes`` or ``pids``. For a disk, the parts in ``measured``
    count, which the scarce filesystem stores.
    """
    if resource == MEMORY:
        return stats.memory.working_set_bytes or 0 if stats.memory else 0
    if resource == PIDS:
        return stats.process_stats.process_count or 0 if stats.process_stats else 0
    known = [fs for fs in _filesystems(pod, stats, measured) if fs is not None]
    return sum((fs.inodes_used if resource == INODES else fs.used_bytes) or 0 for fs in known)


def request_quantity(pod: Pod, resource: str, *, features: Features = REFERENCE) -> Quantity:
    """A pod's request of a resource, including overhead (GetResourceRequestQuantity)."""
    pod_level = features.pod_level_resources and is_pod_level_resources_set(pod)
    if pod_level:
        own = pod.spec.resources.requests if pod.spec.resources is not None else {}
        requested = own.get(resource, ZERO) if is_supported_pod_level_resource(resource) else ZERO
    else:
        requested = pod_requests(pod, _CONTAINERS_ONLY).get(resource, ZERO)
    overhead = pod.spec.overhead.get(resource, ZERO)
    return requested if requested.is_zero else requested + overhead


def _filesystems(pod: Pod, stats: PodStats, measured: Collection[FsStatsType]) -> Iterable[FsStats | None]:
    for container in stats.containers:
        if FsStatsType.ROOT in measured:
            yield container.rootfs
        if FsStatsType.LOGS in measured:
            yield container.logs
    if FsStatsType.LOCAL_VOLUME_SOURCE in measured:
        by_name = {volume.name: volume for volume in reversed(stats.volume_stats)}
        for volume in pod.spec.volumes:
            on_disk = volume.empty_dir is not None and not volume.empty_dir.medium
            if on_disk or any((volume.host_path, volume.config_map, volume.git_repo)):
                yield by_name.get(volume.name)


class StorageLimit(Struct, frozen=True, rename="camel"):
    """The limit that a pod exceeds."""

    field: str
    """``spec.volumes[0].emptyDir.sizeLimit``, ``spec.containers[0].resources.limits.ephemeral-storage``; for the whole
    pod ``spec.containers[*]…``."""
    usage: int
    """Bytes."""
    limit: int
    """Bytes."""
    message: str
    """Upstream's message for the pod's status."""


def exceeded_storage_limit(pod: Pod, stats: PodStats, *, image_fs: bool, features: Features) -> StorageLimit | None:
    """The first limit that a pod exceeds; ``image_fs``: images have their own disk, with the writable layers."""
    used = {volume.name: volume.used_bytes for volume in stats.volume_stats}
    for index, volume in enumerate(pod.spec.volumes):
        most, usage = volume.empty_dir.size_limit if volume.empty_dir is not None else None, used.get(volume.name)
        if most is not None and most.sign > 0 and usage is not None and Quantity(usage) > most:
            message = f'Usage of EmptyDir volume "{volume.name}" exceeds the limit "{most}". '
            return StorageLimit(f"spec.volumes[{index}].emptyDir.sizeLimit", usage, most.value, message)
    whole, usage = pod_limits(pod).get(EPHEMERAL_STORAGE), _used(stats.ephemeral_storage)
    if whole is not None and Quantity(usage) > whole:
        message = f"Pod ephemeral local storage usage exceeds the total limit of containers {whole}. "
        return StorageLimit(f"spec.containers[*].resources.limits.{EPHEMERAL_STORAGE}", usage, whole.value, message)
    limits = {
        ref.container.name: (ref.field, limit)
        for ref in pod.containers()
        if (not ref.is_init or (features.sidecar_storage_limits and ref.is_sidecar))
        and not (limit := ref.container.resources.limits.get(EPHEMERAL_STORAGE, ZERO)).is_zero
    }
    for measured in stats.containers:
        if measured.name not in limits:
            continue
        container, limit = limits[measured.name]
        usage = _used(measured.logs) + (0 if image_fs else _used(measured.rootfs))
        if limit < Quantity(usage):
            message = f'Container {measured.name} exceeded its local ephemeral storage limit "{limit}". '
            field = f"{container}.resources.limits.{EPHEMERAL_STORAGE}"
            return StorageLimit(field, usage, limit.value, message)
    return None


def _used(fs: FsStats | None) -> int:
    return fs.used_bytes or 0 if fs is not None else 0


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
    evictable = (place for place in ordered if not place.critical)
    following, places = next(evictable, None), []
    for place in ordered:
        decided = None
        if place is following:
            following = next(evictable, None)
            decided = next((name for name, by in comparators if following and by(place, following)), None)
        places.append(EvictionPlace(place, decided))
    return tuple(places)


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
