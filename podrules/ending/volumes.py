"""Which volumes prevent a second writer if a replacement starts while the old pod still runs, and when that happens.

    ReadWriteMany, ReadOnlyMany     for several pods: several writers are intended
    ReadWriteOnce, ReadWriteOncePod for one writer. What prevents a second one after the pod object is gone?
      CSI, attached to the node     the attach/detach controller: it waits until the old node has unmounted, or for its
      in-tree disk                  force detach (6 min, only from nodes that do not respond); then its driver detaches
      iSCSI, FC                     the same controller, until detach. That changes only its record: it does not stop
                                    the writer, and from then on nothing prevents a second one
      NFS, CSI without attachment   nothing
      local, hostPath               nothing on the same node; its node affinity excludes other nodes, or they have
                                    another folder. The same applies to a hostPath in the pod itself
      iSCSI, FC in the pod itself   nothing: only a PersistentVolume has the access mode that keeps two nodes apart
      NFS, Azure File in the pod    nothing, unless the pod mounts it read-only
      RBD, CephFS, GlusterFS        no kubelet of this version mounts them: their plugins were removed in 1.31, 1.31 and
                                    1.26. This source does not cover the plugins of older kubelets

The controller attaches only csi, fc and iscsi volumes, and in-tree disks as volumes of CSI drivers. It attaches a
PersistentVolume to one node at a time, unless that is ReadWriteMany or ReadOnlyMany, or has no access mode.

Access modes bind claims to volumes and, except for ReadWriteOncePod, do not limit pods. The scheduler and the kubelet
enforce ReadWriteOncePod for existing pod objects, so not after a force deletion.

Source: pkg/controller/volume/attachdetach/{attach_detach_controller,util}, pkg/volume/util/util.go
(IsMultiAttachAllowed), cmd/kube-controller-manager/app/plugins_test.go (TestProbeAttachableVolumePlugins),
pkg/volume/csi/csi_attacher.go (getAttachmentName), pkg/volume/{iscsi,fc}/attacher.go (Detach), pkg/volume at v1.36.3;
CHANGELOG-1.26.md, CHANGELOG-1.31.md; kubernetes.io/docs "Access Modes".

Two pods of a Deployment can write to one volume at once, even with one replica:

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
pkg/controller/controller_utils.go (FilterActivePods) at v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.controllers import scaled
from podrules.api.model.node import Node, Taint
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import NodeSelector
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
from podrules.node.lost_node import UNREACHABLE
from podrules.pod.tolerations import NO_EXECUTE, eviction_after

_SHARED_MODES: Final = frozenset({"ReadWriteMany", "ReadOnlyMany"})
_MIGRATED: Final = {
    "aws_elastic_block_store": "AWS EBS",
    "azure_disk": "Azure Disk",
    "cinder": "Cinder",
    "gce_persistent_disk": "GCE PD",
    "portworx_volume": "Portworx",
    "vsphere_volume": "vSphere",
}
"""In-tree sources that CSI drivers attach to one node at a time."""
_SHARES: Final = {"azure_file": "Azure File", "nfs": "NFS"}
"""In-tree sources that any node can write to."""
_FOLDERS: Final = {"host_path": "hostPath", "local": "local"}
"""In-tree sources that are a folder of a node."""
_ON_NODE: Final = r"(?:^metadata\.name|(?<!node-role\.kubernetes\.io)/(?:host|node)(?:name|id)?) In$"
"""Requirements of labels with a different value on each node: the kubelet's, and those of local CSI drivers."""
_NFS: Final = r"(?:^|[/.-])nfs(?:[/.-]|$)"
_CONTROLLED: Final = {"fc": "FC", "iscsi": "iSCSI"}
"""In-tree sources that the attach/detach controller attaches."""
_REMOVED: Final = {"cephfs": "CephFS", "glusterfs": "GlusterFS", "rbd": "Ceph RBD"}
"""In-tree sources with removed plugins."""
REMOVED_SINCE: Final = {"CephFS": "1.31", "GlusterFS": "1.26", "Ceph RBD": "1.31"}
"""By backend: the first version with a kubelet that no longer mounts it."""
_ALONE: Final = frozenset({(READ_WRITE_ONCE_POD,), ("ReadOnlyMany",)})
"""Access modes with which there is no second writer."""
_SILENT: Final = Taint(key=UNREACHABLE, effect=NO_EXECUTE)


class WriterLock(Enum):
    """What prevents a second writer."""

    NOT_NEEDED = "NotNeeded"
    """The volume is for several pods, or this pod only reads it."""
    ATTACHMENT = "Attachment"
    CONTROLLER = "Controller"
    """Only the attach/detach controller, until it detaches the volume: the detach does not stop the writer."""
    NODE = "Node"
    """Only pods on its one node can use it; there nothing prevents a second writer."""
    FOLDER = "Folder"
    """Another folder on each node; on the same node nothing prevents a second writer."""
    NONE = "None"
    REMOVED = "Removed"
    """No kubelet of this version mounts it."""
    UNKNOWN = "Unknown"

    @property
    def of_a_node(self) -> bool:
        """Whether no pod on another node writes to the same files."""
        return self in {WriterLock.NODE, WriterLock.FOLDER}


class ClaimedVolume(Struct, frozen=True, rename="camel"):
    """A volume of the pod with a claim."""

    name: str
    claim: str
    read_only: bool


class WriterGuard(Struct, frozen=True, rename="camel"):
    """What prevents a second writer to one volume."""

    volume: str
    """The name in the pod."""
    lock: WriterLock
    backend: str = ""
    """``NFS``, ``AWS EBS``, or the CSI driver's name; empty: not known."""
    access_modes: tuple[str, ...] = ()
    mounted: bool = True
    """Whether its node's status.volumesInUse lists it; if not, it is detached as soon as the pod object is gone."""


def only_read(pod: Pod) -> frozenset[str]:
    """The volumes that the containers of a pod mount only read-only (kubelet_pods.go: makeMounts)."""
    spec = pod.spec
    every = (*spec.init_containers, *spec.containers, *spec.ephemeral_containers)
    mounts = [mount for one in every for mount in (*one.volume_mounts, *one.volume_devices)]
    return frozenset(mount.name for mount in mounts) - {mount.name for mount in mounts if not mount.read_only}


def claimed_volumes(pod: Pod) -> tuple[ClaimedVolume, ...]:
    """The claims that a pod mounts, including its own ephemeral ones (ephemeral.VolumeClaimName)."""
    found: list[ClaimedVolume] = []
    read = only_read(pod)
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            source = volume.persistent_volume_claim
            found.append(ClaimedVolume(volume.name, source.claim_name, source.read_only or volume.name in read))
        elif volume.ephemeral is not None:
            found.append(ClaimedVolume(volume.name, f"{pod.metadata.name}-{volume.name}", read_only=False))
    return tuple(found)


def is_multi_attach_allowed(volume: PersistentVolume) -> bool:
    """Whether it may be attached to several nodes at once (IsMultiAttachAllowed)."""
    modes = volume.spec.access_modes
    return not modes or not _SHARED_MODES.isdisjoint(modes)


def inline_guards(pod: Pod) -> Iterator[WriterGuard]:
    """The guards of a pod's inline volumes with data that outlives the pod."""
    yield from inline_disks(pod)
    yield from _inline(pod, _SHARES, WriterLock.NONE)
    yield from _inline(pod, _FOLDERS, WriterLock.FOLDER)


def inline_disks(pod: Pod) -> Iterator[WriterGuard]:
    """The guards of a pod's inline disks, which are for one writer; iSCSI and FC may multi-attach."""
    yield from _inline(pod, _CONTROLLED, WriterLock.NONE)
    yield from _inline(pod, _MIGRATED, WriterLock.ATTACHMENT)


def _inline(pod: Pod, sources: Mapping[str, str], lock: WriterLock) -> Iterator[WriterGuard]:
    for volume in pod.spec.volumes:
        for field, name in sources.items():
            source = getattr(volume, field, None)
            if source is not None:
                read = getattr(source, "read_only", False) or volume.name in only_read(pod)
                kept = WriterLock.NOT_NEEDED if read else lock
                yield WriterGuard(volume.name, kept, f"{name} in the pod itself")


def attachment_name(source: CSIVolumeSource, node: str) -> str:
    """The name of the VolumeAttachment of a CSI volume on a node (getAttachmentName)."""
    # The import starts OpenSSL; few pods have such volumes.
    import hashlib

    return "csi-" + hashlib.sha256(f"{source.volume_handle}{source.driver}{node}".encode()).hexdigest()


def writer_guard(
    claimed: ClaimedVolume, claim: PersistentVolumeClaim, volume: PersistentVolume, *, attached: bool | None
) -> WriterGuard:
    """What prevents a second writer to a volume if its pod is force deleted.

    Args:
        claimed: The volume in the pod.
        claim: Its claim with the intended access modes; the volume may allow more.
        volume: The PersistentVolume behind the claim.
        attached: Whether its VolumeAttachment shows it as attached to the pod's node; None: not known. Used for CSI.
    """
    return _guard(claimed.name, claim.spec.access_modes, volume, attached=attached, read_only=claimed.read_only)


def attached_guard(volume: PersistentVolume) -> WriterGuard:
    """What prevents a second writer to an attached volume that no pod object uses any longer."""
    return _guard(volume.metadata.name, volume.spec.access_modes, volume, attached=True)


def _guard(
    name: str, modes: tuple[str, ...], volume: PersistentVolume, *, attached: bool | None, read_only: bool = False
) -> WriterGuard:
    """The guard of a volume; a volume that is only read, or is for several pods, needs none."""
    backend, lock = _backend(volume, attached=attached)
    unneeded = read_only or not _SHARED_MODES.isdisjoint(modes)
    return WriterGuard(name, WriterLock.NOT_NEEDED if unneeded else lock, backend, modes)


def volume_backend(volume: PersistentVolume) -> str:
    """The storage of a volume: ``NFS``, ``AWS EBS``, the CSI driver's name; empty: not known."""
    return _backend(volume, attached=None)[0]


def _backend(volume: PersistentVolume, *, attached: bool | None) -> tuple[str, WriterLock]:
    spec, shared = volume.spec, is_multi_attach_allowed(volume)
    if spec.csi is not None:
        # Only the driver of a volume for several nodes knows whether it accepts a second one.
        kept = WriterLock.UNKNOWN if shared else WriterLock.ATTACHMENT
        free = WriterLock.NODE if _own_node(volume) else WriterLock.NONE
        locks = {True: kept, False: free, None: WriterLock.UNKNOWN}
        return spec.csi.driver, locks[attached]
    for sources, lock in (
        (_MIGRATED, WriterLock.UNKNOWN if shared else WriterLock.ATTACHMENT),
        (_CONTROLLED, WriterLock.NONE if shared else WriterLock.CONTROLLER),
        (_SHARES, WriterLock.NONE),
        (_FOLDERS, WriterLock.NODE if _own_node(volume) else WriterLock.FOLDER),
        (_REMOVED, WriterLock.REMOVED),
    ):
        for field, name in sources.items():
            if getattr(spec, field) is not None:
                return name, lock
    return "", WriterLock.UNKNOWN


def is_for_one_node(pod: Pod) -> bool:
    """Whether the nodeSelector of a pod, or its required affinity, names one node."""
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return any(re.search(_ON_NODE, f"{key} In") for key in pod.spec.node_selector) or bool(_names_of_node(required))


def is_nfs(name: str) -> bool:
    """Whether the volumes of a CSI driver or a provisioner are NFS, by its name."""
    return re.search(_NFS, name) is not None


def is_of_node(volume: PersistentVolume, node: Node) -> bool:
    """Whether the node affinity of a volume names this node and no other."""
    labels = {**node.metadata.labels, "metadata.name": node.metadata.name}
    return any(labels.get(key) == value for key, value in _own_node(volume))


def _own_node(volume: PersistentVolume) -> set[tuple[str, str]]:
    affinity = volume.spec.node_affinity
    return _names_of_node(affinity.required if affinity is not None else None)


def _names_of_node(selector: NodeSelector | None) -> set[tuple[str, str]]:
    """The unique labels by which all terms name the same node; empty if they do not."""
    terms = () if selector is None else selector.node_selector_terms
    named = [
        [
            (one.key, value)
            for one in (*term.match_expressions, *term.match_fields)
            if re.search(_ON_NODE, f"{one.key} {one.operator}")
            for value in one.values
        ]
        for term in terms
    ]
    found = {label for labels in named for label in labels}
    return found if all(named) and len({value for _, value in found}) == 1 else set()


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
        # These guards exclude pods on other nodes, but not those on one node.
        kinds = {WriterLock.ATTACHMENT, WriterLock.CONTROLLER, WriterLock.FOLDER}
        of_claim = (WriterLock.UNKNOWN, (READ_WRITE_ONCE,))
        found = tuple(
            replace(one, lock=WriterLock.NODE) if one.lock in kinds or (one.lock, one.access_modes) == of_claim else one
            for one in found
        )
    surges = None if strategy.type == "Recreate" else bool(surge_of(strategy, replicas))
    return SecondWriters(surges, replicas, one_node, eviction_after(pod.spec.tolerations, (_SILENT,)) is None, found)


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
