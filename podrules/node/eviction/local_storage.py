"""Pods above a local storage limit: the kubelet evicts them at once, even without pressure.

    an emptyDir       uses more than its sizeLimit
    the pod           uses more ephemeral storage than the sum of its containers' limits
    a container       uses more (logs, and its writable layer unless images have their own disk) than its limit; since
                      1.37 also a sidecar

The first rule that applies decides. The kubelet keeps a critical pod, and then does not check its other limits.

Source: pkg/kubelet/eviction/eviction_manager.go (localStorageEviction) at v1.36.3 and v1.37.1.
"""

from __future__ import annotations

from msgspec import Struct

from podrules.api.features import Features
from podrules.api.model.kubelet import FsStats, PodStats
from podrules.api.model.pod import Pod
from podrules.api.model.quantity import ZERO, Quantity
from podrules.pod.resources import EPHEMERAL_STORAGE, pod_limits


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
    """The first limit that a pod exceeds.

    Args:
        pod: The pod.
        stats: Its measurements.
        image_fs: Whether images have their own disk, which then also stores writable layers.
        features: The rules of the kubelet's version.
    """
    sidecars = features.sidecar_storage_limits
    return _empty_dir(pod, stats) or _whole_pod(pod, stats) or _container(pod, stats, image_fs, sidecars=sidecars)


def _empty_dir(pod: Pod, stats: PodStats) -> StorageLimit | None:
    used = {volume.name: volume.used_bytes for volume in stats.volume_stats}
    for index, volume in enumerate(pod.spec.volumes):
        limit = volume.empty_dir.size_limit if volume.empty_dir is not None else None
        usage = used.get(volume.name)
        if limit is not None and limit.sign > 0 and usage is not None and Quantity(usage) > limit:
            message = f'Usage of EmptyDir volume "{volume.name}" exceeds the limit "{limit}". '
            return StorageLimit(f"spec.volumes[{index}].emptyDir.sizeLimit", usage, limit.value, message)
    return None


def _whole_pod(pod: Pod, stats: PodStats) -> StorageLimit | None:
    limit = pod_limits(pod).get(EPHEMERAL_STORAGE)
    usage = _used(stats.ephemeral_storage)
    if limit is None or Quantity(usage) <= limit:
        return None
    message = f"Pod ephemeral local storage usage exceeds the total limit of containers {limit}. "
    return StorageLimit(f"spec.containers[*].resources.limits.{EPHEMERAL_STORAGE}", usage, limit.value, message)


def _container(pod: Pod, stats: PodStats, image_fs: bool, *, sidecars: bool) -> StorageLimit | None:
    limits = {
        ref.container.name: (ref.field, limit)
        for ref in pod.containers()
        if (not ref.is_init or (sidecars and ref.is_sidecar))
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
