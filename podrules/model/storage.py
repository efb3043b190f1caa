"""Volumes, claims and attachments, as far as rules read them.

Source: k8s.io/api/core/v1/types.go and k8s.io/api/storage/v1/types.go at v0.36.3.
"""

from __future__ import annotations

from msgspec import field

from podrules.model.base import KubeObject, Model

__all__ = [
    "CSIVolumeSource",
    "Empty",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PersistentVolumeClaimSpec",
    "PersistentVolumeClaimVolumeSource",
    "PersistentVolumeSpec",
    "Volume",
    "VolumeAttachment",
]


class Empty(Model, frozen=True):
    """A source of which only its presence counts."""


class PersistentVolumeClaimVolumeSource(Model, frozen=True):
    """``volumes[].persistentVolumeClaim``."""

    claim_name: str = ""
    read_only: bool = False


class Volume(Model, frozen=True):
    """``spec.volumes[]`` of a pod: what may outlive it or be shared."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: Empty | None = None
    """A claim of the pod's own, named ``<pod>-<volume>``."""


class PersistentVolumeClaimSpec(Model, frozen=True):
    """``spec``."""

    access_modes: tuple[str, ...] = ()
    volume_name: str = ""


class PersistentVolumeClaim(KubeObject, frozen=True):
    """A PersistentVolumeClaim."""

    spec: PersistentVolumeClaimSpec = field(default_factory=PersistentVolumeClaimSpec)


class CSIVolumeSource(Model, frozen=True):
    """``spec.csi``."""

    driver: str = ""
    volume_handle: str = ""


class PersistentVolumeSpec(Model, frozen=True):
    """``spec``: of the sources exactly one is set."""

    access_modes: tuple[str, ...] = ()
    csi: CSIVolumeSource | None = None
    aws_elastic_block_store: Empty | None = None
    azure_disk: Empty | None = None
    azure_file: Empty | None = None
    cephfs: Empty | None = None
    cinder: Empty | None = None
    fc: Empty | None = None
    gce_persistent_disk: Empty | None = None
    glusterfs: Empty | None = None
    host_path: Empty | None = None
    iscsi: Empty | None = None
    local: Empty | None = None
    nfs: Empty | None = None
    portworx_volume: Empty | None = None
    rbd: Empty | None = None
    vsphere_volume: Empty | None = None


class PersistentVolume(KubeObject, frozen=True):
    """A PersistentVolume."""

    spec: PersistentVolumeSpec = field(default_factory=PersistentVolumeSpec)


class VolumeAttachmentSpec(Model, frozen=True):
    """``spec``."""

    attacher: str = ""
    node_name: str = ""


class VolumeAttachmentStatus(Model, frozen=True):
    """``status``."""

    attached: bool = False


class VolumeAttachment(KubeObject, frozen=True):
    """A VolumeAttachment: a CSI volume that is, or is being, attached to a node."""

    spec: VolumeAttachmentSpec = field(default_factory=VolumeAttachmentSpec)
    status: VolumeAttachmentStatus = field(default_factory=VolumeAttachmentStatus)
