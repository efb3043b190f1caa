"""A pod's usage and request of a resource under pressure.

    memory              working set of the pod
    ephemeral-storage,  what the scarce disk stores: writable layers, logs, local volumes (emptyDir on disk,
      inodes            hostPath, configMap, gitRepo); images do not count for any pod
    pids                processes

    request             the pod-level request if pod-level resources are set, else the sum of its containers as the
                        scheduler counts them; overhead is added to a nonzero request

Source: pkg/kubelet/eviction/helpers.go (podDiskUsage, memoryUsage, processUsage), pkg/api/v1/resource/helpers.go
(GetResourceRequestQuantity) and pkg/volume/util/util.go (IsLocalEphemeralVolume) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from enum import Enum
from typing import Final

from podrules.api.features import REFERENCE, Features
from podrules.api.model.kubelet import FsStats, PodStats
from podrules.api.model.pod import Pod
from podrules.api.model.quantity import ZERO, Quantity
from podrules.api.model.storage import Volume
from podrules.node.eviction.thresholds import INODES, PIDS
from podrules.pod.priority import static_pod_uid
from podrules.pod.resources import (
    MEMORY,
    PodResourcesOptions,
    is_pod_level_resources_set,
    is_supported_pod_level_resource,
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

    Args:
        pod: The pod.
        stats: Its measurements.
        resource: ``memory``, ``ephemeral-storage``, ``inodes`` or ``pids``.
        measured: For the disk: the parts that the scarce filesystem stores.
    """
    if resource == MEMORY:
        return stats.memory.working_set_bytes or 0 if stats.memory else 0
    if resource == PIDS:
        return stats.process_stats.process_count or 0 if stats.process_stats else 0
    return sum(_amount(fs, resource) for fs in _filesystems(pod, stats, measured))


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
        yield from (by_name.get(volume.name) for volume in pod.spec.volumes if _is_local(volume))


def _is_local(volume: Volume) -> bool:
    on_disk = volume.empty_dir is not None and not volume.empty_dir.medium
    return on_disk or any((volume.host_path, volume.config_map, volume.git_repo))


def _amount(fs: FsStats | None, resource: str) -> int:
    if fs is None:
        return 0
    return (fs.inodes_used if resource == INODES else fs.used_bytes) or 0
