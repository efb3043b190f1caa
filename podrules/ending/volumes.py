"""Which volumes of a pod prevent a second writer if a replacement starts while the old pod still runs.

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
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.api.model.affinity import NodeSelector
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.storage import CSIVolumeSource, PersistentVolume, PersistentVolumeClaim

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
_ON_NODE: Final = re.compile(r"(?:^metadata\.name|(?<!node-role\.kubernetes\.io)/(?:host|node)(?:name|id)?) In$")
"""Requirements of labels with a different value on each node: the kubelet's, and those of local CSI drivers."""
_NFS: Final = re.compile(r"(?:^|[/.-])nfs(?:[/.-]|$)")
_CONTROLLED: Final = {"fc": "FC", "iscsi": "iSCSI"}
"""In-tree sources that the attach/detach controller attaches."""
_REMOVED: Final = {"cephfs": "CephFS", "glusterfs": "GlusterFS", "rbd": "Ceph RBD"}
"""In-tree sources with removed plugins."""
REMOVED_SINCE: Final = {"CephFS": "1.31", "GlusterFS": "1.26", "Ceph RBD": "1.31"}
"""By backend: the first version with a kubelet that no longer mounts it."""


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
    return any(_ON_NODE.search(f"{key} In") for key in pod.spec.node_selector) or bool(_names_of_node(required))


def is_nfs(name: str) -> bool:
    """Whether the volumes of a CSI driver or a provisioner are NFS, by its name."""
    return _NFS.search(name) is not None


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
            if _ON_NODE.search(f"{one.key} {one.operator}")
            for value in one.values
        ]
        for term in terms
    ]
    found = {label for labels in named for label in labels}
    return found if all(named) and len({value for _, value in found}) == 1 else set()
