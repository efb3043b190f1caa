"""The models of volumes, claims, storage classes and attachments.

Source: k8s.io/api/core/v1/types.go and k8s.io/api/storage/v1/types.go at v0.36.3.
"""

from __future__ import annotations

from typing import Final

from msgspec import field

from podrules.api.model.base import Condition, KubeObject, Model, ResourceList, Time
from podrules.api.model.quantity import Quantity
from podrules.api.model.selectors import LabelSelector, NodeSelector

READ_WRITE_ONCE: Final = "ReadWriteOnce"
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"
"""The access mode that lets only one pod use a claim."""


class Empty(Model, frozen=True):
    """A field that rules read only for its presence, not for its content."""


class PersistentVolumeClaimVolumeSource(Model, frozen=True):
    """``volumes[].persistentVolumeClaim``."""

    claim_name: str = ""
    read_only: bool = False


class GCEPersistentDiskVolumeSource(Model, frozen=True):
    """``gcePersistentDisk``."""

    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStoreVolumeSource(Model, frozen=True):
    """``awsElasticBlockStore``."""

    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False


class ISCSIVolumeSource(Model, frozen=True):
    """``iscsi``."""

    target_portal: str = ""
    iqn: str = ""
    lun: int = 0
    read_only: bool = False


class FCVolumeSource(Model, frozen=True):
    """``fc``: targetWWNs with lun, or wwids."""

    target_wwns: tuple[str, ...] = field(default=(), name="targetWWNs")
    lun: int | None = None
    wwids: tuple[str, ...] = ()
    read_only: bool = False


class NFSVolumeSource(Model, frozen=True):
    """``nfs``."""

    read_only: bool = False


class AzureFileVolumeSource(Model, frozen=True):
    """``azureFile``."""

    read_only: bool = False


class RBDVolumeSource(Model, frozen=True):
    """``rbd``."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    read_only: bool = False


class AzureDiskVolumeSource(Model, frozen=True):
    """``azureDisk``."""

    disk_uri: str = field(default="", name="diskURI")
    kind: str | None = None


class CinderVolumeSource(Model, frozen=True):
    """``cinder``."""

    volume_id: str = field(default="", name="volumeID")


class PortworxVolumeSource(Model, frozen=True):
    """``portworxVolume``."""

    volume_id: str = field(default="", name="volumeID")


class VsphereVirtualDiskVolumeSource(Model, frozen=True):
    """``vsphereVolume``."""

    volume_path: str = ""


class ImageVolumeSource(Model, frozen=True):
    """``image``."""

    reference: str = ""


class EmptyDirVolumeSource(Model, frozen=True):
    """``emptyDir``."""

    medium: str = ""
    """``Memory`` or ``HugePages…``; empty: the node's disk."""
    size_limit: Quantity | None = None


class VolumeResourceRequirements(Model, frozen=True):
    """``resources`` of a claim."""

    requests: ResourceList = {}


class PersistentVolumeClaimSpec(Model, frozen=True):
    """``spec``."""

    access_modes: tuple[str, ...] = ()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = field(default_factory=VolumeResourceRequirements)
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimTemplate(Model, frozen=True):
    """``ephemeral.volumeClaimTemplate``."""

    spec: PersistentVolumeClaimSpec = field(default_factory=PersistentVolumeClaimSpec)


class EphemeralVolumeSource(Model, frozen=True):
    """``volumes[].ephemeral``."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class Volume(Model, frozen=True):
    """``spec.volumes[]`` of a pod, with the sources that rules read."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    """A claim of the pod's own, named ``<pod>-<volume>``."""
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    nfs: NFSVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    fc: FCVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    image: ImageVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    empty_dir: EmptyDirVolumeSource | None = None
    host_path: Empty | None = None
    config_map: Empty | None = None
    git_repo: Empty | None = None


class PersistentVolumeClaimStatus(Model, frozen=True):
    """``status``."""

    phase: str = ""
    capacity: ResourceList = {}
    conditions: tuple[Condition, ...] = ()
    """The progress of a resize: Resizing, FileSystemResizePending, ControllerResizeError, NodeResizeError."""


class PersistentVolumeClaim(KubeObject, frozen=True):
    """A PersistentVolumeClaim."""

    spec: PersistentVolumeClaimSpec = field(default_factory=PersistentVolumeClaimSpec)
    status: PersistentVolumeClaimStatus = field(default_factory=PersistentVolumeClaimStatus)


class CSIVolumeSource(Model, frozen=True):
    """``spec.csi``."""

    driver: str = ""
    volume_handle: str = ""


class ClaimRef(Model, frozen=True):
    """``spec.claimRef``."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeNodeAffinity(Model, frozen=True):
    """``spec.nodeAffinity`` of a volume."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Model, frozen=True):
    """``spec``: exactly one source is set."""

    access_modes: tuple[str, ...] = ()
    capacity: ResourceList = {}
    claim_ref: ClaimRef | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    csi: CSIVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: Empty | None = None
    cephfs: Empty | None = None
    cinder: CinderVolumeSource | None = None
    fc: FCVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    glusterfs: Empty | None = None
    host_path: Empty | None = None
    iscsi: ISCSIVolumeSource | None = None
    local: Empty | None = None
    nfs: Empty | None = None
    portworx_volume: PortworxVolumeSource | None = None
    rbd: Empty | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None


class PersistentVolumeStatus(Model, frozen=True):
    """``status``."""

    phase: str = ""


class PersistentVolume(KubeObject, frozen=True):
    """A PersistentVolume."""

    spec: PersistentVolumeSpec = field(default_factory=PersistentVolumeSpec)
    status: PersistentVolumeStatus = field(default_factory=PersistentVolumeStatus)


class TopologySelectorLabelRequirement(Model, frozen=True):
    """``allowedTopologies[].matchLabelExpressions[]``."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Model, frozen=True):
    """``allowedTopologies[]``."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(KubeObject, frozen=True):
    """A StorageClass."""

    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeAttachmentSource(Model, frozen=True):
    """``spec.source``: a PersistentVolume, or the CSI form of an in-tree volume that a pod has without a claim."""

    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(Model, frozen=True):
    """``spec``."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = field(default_factory=VolumeAttachmentSource)


class VolumeError(Model, frozen=True):
    """A driver's error when it could not attach or detach a volume."""

    message: str = ""
    time: Time | None = None


class VolumeAttachmentStatus(Model, frozen=True):
    """``status``."""

    attached: bool = False
    attach_error: VolumeError | None = None
    detach_error: VolumeError | None = None


class VolumeAttachment(KubeObject, frozen=True):
    """A VolumeAttachment: a CSI volume that is attached, or will be attached, to a node."""

    spec: VolumeAttachmentSpec = field(default_factory=VolumeAttachmentSpec)
    status: VolumeAttachmentStatus = field(default_factory=VolumeAttachmentStatus)


class CSIDriverSpec(Model, frozen=True):
    """``spec``."""

    storage_capacity: bool | None = None
    attach_required: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None
    """Since 1.35: a pod with a volume of the driver goes to no node without it."""


class CSIDriver(KubeObject, frozen=True):
    """A CSIDriver: a driver's settings for Kubernetes."""

    spec: CSIDriverSpec = field(default_factory=CSIDriverSpec)


class CSIStorageCapacity(KubeObject, frozen=True):
    """A CSIStorageCapacity: how much storage of a class a driver can still provision in one topology segment."""

    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None
