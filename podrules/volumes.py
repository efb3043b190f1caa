"""Which volumes of a pod keep out a second writer, when a replacement starts while the old copy still runs.

    ReadWriteMany, ReadOnlyMany     made for several pods: nothing to keep out
    ReadWriteOnce, ReadWriteOncePod made for one writer. Who keeps a second one out when the pod object is gone?
      backend attaches exclusively  the disk itself: it cannot be attached elsewhere before it is detached
      CSI, attached to the node     the attach/detach controller: it waits until the old node has let go, or for its
                                    force detach (6 min, only from nodes that do not answer)
      NFS, iSCSI, FC, hostPath,     nobody
      local, CSI without attachment

Access modes bind claims to volumes and, ReadWriteOncePod aside, limit no pod; ReadWriteOncePod is kept by the scheduler
and the kubelet for pod objects that exist, so not past a force deletion.

Source: pkg/controller/volume/attachdetach/{attach_detach_controller,util}, pkg/volume/csi/csi_attacher.go
(getAttachmentName), pkg/volume/{nfs,iscsi,fc,hostpath,local,rbd} at v1.36.3; kubernetes.io/docs "Access Modes".
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.model.pod import Pod
from podrules.model.storage import CSIVolumeSource, PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec

__all__ = ["ClaimedVolume", "WriterGuard", "WriterLock", "attachment_name", "claimed_volumes", "writer_guard"]

_SHARED_MODES: Final = frozenset({"ReadWriteMany", "ReadOnlyMany"})
_EXCLUSIVE: Final = {
    "aws_elastic_block_store": "AWS EBS",
    "azure_disk": "Azure Disk",
    "cinder": "Cinder",
    "gce_persistent_disk": "GCE PD",
    "portworx_volume": "Portworx",
    "rbd": "Ceph RBD",
    "vsphere_volume": "vSphere",
}
"""In-tree sources whose backend attaches to one node at a time, or locks."""
_OPEN: Final = {
    "azure_file": "Azure File",
    "cephfs": "CephFS",
    "fc": "FC",
    "glusterfs": "GlusterFS",
    "host_path": "hostPath",
    "iscsi": "iSCSI",
    "local": "local",
    "nfs": "NFS",
}
"""In-tree sources that let any node write."""


class WriterLock(Enum):
    """Whether a second writer is kept out."""

    NOT_NEEDED = "NotNeeded"
    """The volume is made for several pods, or this pod only reads it."""
    BACKEND = "Backend"
    ATTACHMENT = "Attachment"
    NONE = "None"
    UNKNOWN = "Unknown"


class ClaimedVolume(Struct, frozen=True, rename="camel"):
    """A volume of the pod that is a claim."""

    name: str
    claim: str
    read_only: bool


class WriterGuard(Struct, frozen=True, rename="camel"):
    """Who keeps a second writer out of one volume."""

    volume: str
    """Name in the pod."""
    lock: WriterLock
    backend: str = ""
    """``NFS``, ``AWS EBS``, or the CSI driver's name; empty when it is not known."""
    access_modes: tuple[str, ...] = ()


def claimed_volumes(pod: Pod) -> tuple[ClaimedVolume, ...]:
    """The claims that a pod mounts, its own ephemeral ones among them (ephemeral.VolumeClaimName)."""
    found: list[ClaimedVolume] = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            source = volume.persistent_volume_claim
            found.append(ClaimedVolume(volume.name, source.claim_name, source.read_only))
        elif volume.ephemeral is not None:
            found.append(ClaimedVolume(volume.name, f"{pod.metadata.name}-{volume.name}", read_only=False))
    return tuple(found)


def attachment_name(source: CSIVolumeSource, node: str) -> str:
    """The name of the VolumeAttachment of a CSI volume on a node (getAttachmentName)."""
    # Loading it starts OpenSSL, for volumes that few pods have.
    import hashlib

    return "csi-" + hashlib.sha256(f"{source.volume_handle}{source.driver}{node}".encode()).hexdigest()


def writer_guard(
    claimed: ClaimedVolume, claim: PersistentVolumeClaim, volume: PersistentVolume, *, attached: bool | None
) -> WriterGuard:
    """Who keeps a second writer out of a volume when its pod is force deleted.

    Args:
        claimed: The volume in the pod.
        claim: Its claim, which says how it is meant to be used; the volume may allow more.
        volume: The PersistentVolume behind the claim.
        attached: Whether its VolumeAttachment to the pod's node says so; None when that is not known. Counts for CSI.
    """
    modes = claim.spec.access_modes
    backend, lock = _backend(volume.spec, attached=attached)
    if claimed.read_only or _SHARED_MODES & set(modes):
        lock = WriterLock.NOT_NEEDED
    return WriterGuard(claimed.name, lock, backend, modes)


def _backend(spec: PersistentVolumeSpec, *, attached: bool | None) -> tuple[str, WriterLock]:
    if spec.csi is not None:
        locks = {True: WriterLock.ATTACHMENT, False: WriterLock.NONE, None: WriterLock.UNKNOWN}
        return spec.csi.driver, locks[attached]
    for sources, lock in ((_EXCLUSIVE, WriterLock.BACKEND), (_OPEN, WriterLock.NONE)):
        for field, name in sources.items():
            if getattr(spec, field) is not None:
                return name, lock
    return "", WriterLock.UNKNOWN
