"""The model of a cluster at one moment, with the lists that scheduling reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from podrules.api.model.base import KubeObject, Model
from podrules.api.model.node import CSINode, Node
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.api.model.resource import DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from podrules.api.model.storage import (
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from podrules.api.model.workload import ReplicationController, Service, Workload

T = TypeVar("T", bound=KubeObject)


class ClusterSnapshot(Model, frozen=True):
    """All lists of a cluster; each field has the resource's plural name."""

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
    resource_claim_templates: tuple[ResourceClaimTemplate, ...] = ()
    resource_slices: tuple[ResourceSlice, ...] = ()
    device_classes: tuple[DeviceClass, ...] = ()
    pod_disruption_budgets: tuple[PodDisruptionBudget, ...] = ()


def merged(objects: Sequence[T], changed: Iterable[T]) -> tuple[T, ...]:
    """A list with changed objects in their old positions, and new objects at the end."""
    left = {entry.metadata.place: entry for entry in changed}
    kept = [left.pop(entry.metadata.place, entry) for entry in objects]
    return (*kept, *left.values())
