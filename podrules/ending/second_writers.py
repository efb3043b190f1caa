"""When two pods of a Deployment can write to one volume at once, even with one replica, and which volumes allow it.

    rollout      with maxSurge above 0 the next pod starts before the old one ends, with maxSurge 0 while it ends: a
                 terminating pod no longer counts. Strategy Recreate waits until the old pods have ended
    replacement  after a drain, an eviction or a delete the next pod starts while the old one ends, with any strategy.
                 A silent node's pods are marked for deletion after their tolerationSeconds, and may run on. If the
                 pods can run on only one node, the next one waits for it after a drain or on a silent node

Nothing prevents a second writer to NFS, a CSI driver with attachRequired false, or iSCSI and FC in the pod itself. For
disks and attached CSI volumes the attach/detach controller excludes other nodes, but not pods on one node; local and
hostPath volumes have different files on another node. So two pods can write to them if all run on one node.
ReadWriteMany, and NFS and Azure File in the pod itself, are not declared for one writer.

Source: pkg/controller/deployment/{rolling.go,recreate.go,util/deployment_util.go} (NewRSNewReplicas),
pkg/controller/controller_utils.go (FilterActivePods) at v1.36.3, and `podrules.ending.volumes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.node import Taint
from podrules.api.model.pod import Pod
from podrules.api.model.storage import (
    READ_WRITE_ONCE,
    READ_WRITE_ONCE_POD,
    CSIDriver,
    CSIVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    StorageClass,
)
from podrules.api.model.workload import UpdateStrategy, Workload
from podrules.api.scaled import scaled
from podrules.ending.volumes import (
    WriterGuard,
    WriterLock,
    claimed_volumes,
    inline_disks,
    inline_guards,
    is_for_one_node,
    is_nfs,
    writer_guard,
)
from podrules.node.lost_node import UNREACHABLE
from podrules.pod.taint_eviction import eviction_after
from podrules.pod.tolerations import NO_EXECUTE

_ALONE: Final = frozenset({(READ_WRITE_ONCE_POD,), ("ReadOnlyMany",)})
"""Access modes with which there is no second writer."""
_SILENT: Final = Taint(key=UNREACHABLE, effect=NO_EXECUTE)


class SecondWriters(Struct, frozen=True, rename="camel"):
    """Two pods of a Deployment, and what prevents the second one from writing to each volume of the first."""

    surges: bool | None
    """Whether a rollout starts the next pod before the old one begins to terminate; None: only after its end."""
    replicas: int
    one_node: bool
    """Whether all its pods run on one node, which its template or a volume names."""
    stays: bool
    """Whether its pods tolerate the taint of silent nodes forever, and are not replaced there."""
    guards: tuple[WriterGuard, ...]

    def with_lock(self, lock: WriterLock) -> tuple[WriterGuard, ...]:
        """The volumes with a lock; NOT_NEEDED means that they are for several pods."""
        return tuple(guard for guard in self.guards if guard.lock is lock)

    @property
    def unguarded(self) -> tuple[WriterGuard, ...]:
        """The volumes without a guard."""
        return (*self.with_lock(WriterLock.NONE), *self.with_lock(WriterLock.NODE))


def second_writers(deployment: Workload, pod: Pod, guards: Iterable[WriterGuard]) -> SecondWriters | None:
    """Whether a second pod of a Deployment may write to its volumes; None: it has no replica, or its pods no volume."""
    replicas, strategy = deployment.spec.replicas, deployment.spec.strategy
    replicas = 1 if replicas is None else replicas
    if not replicas or not (found := tuple(guards)):
        return None
    one_node = is_for_one_node(pod) or any(guard.lock is WriterLock.NODE for guard in found)
    if one_node:
        found = tuple(replace(one, lock=WriterLock.NODE) if _is_of_nodes(one) else one for one in found)
    surges = None if strategy.type == "Recreate" else bool(surge_of(strategy, replicas))
    return SecondWriters(surges, replicas, one_node, eviction_after(pod.spec.tolerations, (_SILENT,)) is None, found)


def _is_of_nodes(guard: WriterGuard) -> bool:
    """Whether the guard of a volume excludes pods on other nodes, but not those on one node."""
    of_claim = guard.lock is WriterLock.UNKNOWN and guard.access_modes == (READ_WRITE_ONCE,)
    return of_claim or guard.lock in {WriterLock.ATTACHMENT, WriterLock.CONTROLLER, WriterLock.FOLDER}


def surge_of(strategy: UpdateStrategy, replicas: int) -> int | None:
    """How many pods a Deployment's rollout may create above its replicas; None: the field is not a number."""
    rolling = strategy.rolling_update
    return scaled("25%" if rolling is None or rolling.max_surge is None else rolling.max_surge, replicas, up=True)


def coming_guards(
    pod: Pod,
    claims: Callable[[str], PersistentVolumeClaim | None],
    volumes: Callable[[PersistentVolumeClaim], PersistentVolume | None],
    drivers: Callable[[str], CSIDriver | None],
    classes: Mapping[str, StorageClass],
) -> Iterator[WriterGuard]:
    """The guards of the volumes of a pod without a node, with a lookup function for each kind.

    A claim without a volume gets one from its class.
    """
    own = {volume.name for volume in pod.spec.volumes if volume.ephemeral is not None}
    for claimed in claimed_volumes(pod):
        if claimed.name in own or claimed.read_only:
            # Each pod has its own ephemeral claims, and a volume that is only read has no writer.
            continue
        claim = claims(claimed.claim)
        if claim is not None and claim.spec.access_modes in _ALONE:
            continue
        volume = None if claim is None else volumes(claim) or _coming(claim, classes)
        if claim is None or volume is None:
            yield WriterGuard(claimed.name, WriterLock.UNKNOWN, "", claim.spec.access_modes if claim else ())
        else:
            name = "" if volume.spec.csi is None else volume.spec.csi.driver
            driver = drivers(name) if name else None
            attached = driver.spec.attach_required is not False if driver else False if is_nfs(name) else None
            yield writer_guard(claimed, claim, volume, attached=attached)
    disks = tuple(inline_disks(pod))
    for guard in inline_guards(pod):
        if guard.lock not in {WriterLock.NOT_NEEDED, WriterLock.FOLDER}:
            yield guard if guard in disks else replace(guard, lock=WriterLock.NOT_NEEDED)


def _coming(claim: PersistentVolumeClaim, classes: Mapping[str, StorageClass]) -> PersistentVolume | None:
    """The volume that the provisioner of its class will create."""
    made = classes.get(claim.spec.storage_class_name or "") if not claim.spec.volume_name else None
    if made is None:
        return None
    source = CSIVolumeSource(driver=made.provisioner)
    return PersistentVolume(spec=PersistentVolumeSpec(csi=source, access_modes=claim.spec.access_modes))


def volume_of(claim: PersistentVolumeClaim, volumes: Mapping[str, PersistentVolume]) -> PersistentVolume | None:
    """The PersistentVolume of a claim, by its volumeName, else by a claimRef; None: it is not among them."""
    if claim.spec.volume_name:
        return volumes.get(claim.spec.volume_name)
    refs = ((one, one.spec.claim_ref) for one in volumes.values())
    return next((one for one, ref in refs if ref and (ref.namespace, ref.name) == claim.metadata.place), None)
