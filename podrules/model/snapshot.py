"""A cluster at one instant, as far as scheduling reads it."""

from __future__ import annotations

from podrules.model.base import KubeObject, Model
from podrules.model.node import CSINode, Node
from podrules.model.pod import Pod
from podrules.model.resource import DeviceClass, ResourceClaim, ResourceSlice
from podrules.model.storage import (
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from podrules.model.workload import ReplicationController, Service, Workload

__all__ = ["ClusterSnapshot"]


class ClusterSnapshot(Model, frozen=True):
    """All lists; names of fields are the resources' plural names."""

    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    """Bound pods, and pending ones that were nominated."""
    namespaces: tuple[KubeObject, ...] = ()
    services: tuple[Service, ...] = ()
    replication_controllers: tuple[ReplicationController, ...] = ()
    replica_sets: tuple[Workload, ...] = ()
    stateful_sets: tuple[Workload, ...] = ()
    persistent_volume_claims: tuple[PersistentVolumeClaim, ...] = ()
    persistent_volumes: tuple[PersistentVolume, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    csi_nodes: tuple[CSINode, ...] = ()
    csi_drivers: tuple[CSIDriver, ...] = ()
    csi_storage_capacities: tuple[CSIStorageCapacity, ...] = ()
    volume_attachments: tuple[VolumeAttachment, ...] = ()
    resource_claims: tuple[ResourceClaim, ...] = ()
    resource_slices: tuple[ResourceSlice, ...] = ()
    device_classes: tuple[DeviceClass, ...] = ()
