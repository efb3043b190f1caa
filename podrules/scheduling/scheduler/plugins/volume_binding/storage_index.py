"""Claims, volumes and classes by name, and the state of a claim, for all plugins that look at volumes.

    class of a claim or volume   annotation volume.beta.kubernetes.io/storage-class, else storageClassName
    bound                        a claim with volumeName and annotation pv.kubernetes.io/bind-completed

The index of a snapshot is kept with the nodes, and with it what plugins derive from both.

Source: k8s.io/component-helpers/storage/{volume/helpers,volume/pv_helpers,ephemeral/ephemeral}.go at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeVar

from podrules.api.model.node import CSINode
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.storage import CSIDriver, PersistentVolume, PersistentVolumeClaim, StorageClass, Volume
from podrules.scheduling.scheduler.framework.answers import Fact
from podrules.scheduling.scheduler.framework.interface import CycleContext
from podrules.scheduling.scheduler.framework.node_table import Nodes

T = TypeVar("T")

STORAGE: Final = "storage"
"""The resource that claims request and volumes have."""
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
ANNOTATIONS_PROVISIONER: Final = (
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
)
ANNOTATION_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
ANNOTATION_BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"


class StorageIndex:
    """A snapshot's storage objects by name, next to its nodes."""

    def __init__(self, nodes: Nodes, snapshot: ClusterSnapshot) -> None:
        """Index when asked."""
        self.nodes = nodes
        self.snapshot = snapshot
        self.attachments = snapshot.volume_attachments
        self.capacities = snapshot.csi_storage_capacities
        self.drivers: Mapping[str, CSIDriver] = {driver.metadata.name: driver for driver in snapshot.csi_drivers}
        self._derived: dict[Callable[[StorageIndex], Any], Any] = {}

    @cached_property
    def claims(self) -> Mapping[tuple[str, str], PersistentVolumeClaim]:
        """By namespace and name."""
        return {
            (claim.metadata.namespace, claim.metadata.name): claim for claim in self.snapshot.persistent_volume_claims
        }

    @cached_property
    def volumes(self) -> Mapping[str, PersistentVolume]:
        """By name."""
        return {volume.metadata.name: volume for volume in self.snapshot.persistent_volumes}

    @cached_property
    def volumes_by_class(self) -> Mapping[str, Sequence[PersistentVolume]]:
        """By class, in the order of the snapshot; upstream's order within a class is random."""
        found: dict[str, list[PersistentVolume]] = {}
        for volume in self.snapshot.persistent_volumes:
            found.setdefault(volume_class(volume), []).append(volume)
        return found

    @cached_property
    def classes(self) -> Mapping[str, StorageClass]:
        """By name."""
        return {entry.metadata.name: entry for entry in self.snapshot.storage_classes}

    @cached_property
    def csi_nodes(self) -> Mapping[int, CSINode]:
        """By row of the node."""
        rows = self.nodes.rows
        return {rows[node.metadata.name]: node for node in self.snapshot.csi_nodes if node.metadata.name in rows}

    def derived(self, build: Callable[[StorageIndex], T]) -> T:
        """What a function makes of this index, made once; the function itself, defined at module level, is the key."""
        if build not in self._derived:
            self._derived[build] = build(self)
        found: T = self._derived[build]
        return found


def storage_index(context: CycleContext) -> StorageIndex:
    """The storage objects of a cycle."""
    return context.table.nodes.derived_with(context.snapshot, StorageIndex)


class ClaimReference(NamedTuple):
    """The claim that a volume of a pod stands for."""

    name: str
    ephemeral: bool
    """Made for the pod, which must own it."""


def claim_reference(pod: Pod, volume: Volume) -> ClaimReference | None:
    """The claim of a volume; None for volumes without one (ephemeral.VolumeClaimName)."""
    if volume.persistent_volume_claim is not None:
        return ClaimReference(volume.persistent_volume_claim.claim_name, ephemeral=False)
    if volume.ephemeral is not None:
        return ClaimReference(f"{pod.metadata.name}-{volume.name}", ephemeral=True)
    return None


def is_owned(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    """Whether the pod controls the claim (ephemeral.VolumeIsForPod)."""
    owner = claim.metadata.controller
    return owner is not None and owner.uid == pod.metadata.uid


def not_owned(claim: PersistentVolumeClaim, pod: Pod) -> str:
    """Upstream's words for a claim that has an ephemeral volume's name and is not its claim."""
    theirs, ours = claim.metadata, pod.metadata
    return (
        f"PVC {theirs.namespace}/{theirs.name} was not created for pod {ours.namespace}/{ours.name} (pod is not owner)"
    )


def not_found(resource: str, name: str) -> str:
    """The API's words for an object that is not there."""
    return f'{resource} "{name}" not found'


def claim_class(claim: PersistentVolumeClaim) -> str:
    """The class of a claim (GetPersistentVolumeClaimClass)."""
    return claim.metadata.annotations.get(ANNOTATION_CLASS, claim.spec.storage_class_name or "")


def claim_provisioner(index: StorageIndex, claim: PersistentVolumeClaim) -> str:
    """Who makes a claim's volume: its class may name an in-tree plugin, and the annotation the driver in its place."""
    asked = (claim.metadata.annotations.get(one, "") for one in ANNOTATIONS_PROVISIONER)
    kind = index.classes.get(claim_class(claim))
    return next(filter(None, asked), "" if kind is None else kind.provisioner)


def volume_class(volume: PersistentVolume) -> str:
    """The class of a volume (GetPersistentVolumeClass)."""
    return volume.metadata.annotations.get(ANNOTATION_CLASS, volume.spec.storage_class_name)


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim has its volume permanently (isPVCFullyBound)."""
    return bool(claim.spec.volume_name) and ANNOTATION_BIND_COMPLETED in claim.metadata.annotations


# The state of a claim that a pod needs, before any node is examined.
#
#     Missing          the claim is not there; of an ephemeral volume: it is not made yet
#     Lost             phase Lost: the volume that it was bound to is gone
#     BeingDeleted     it has a deletionTimestamp
#     NotOwned         of an ephemeral volume, and another's
#     Bound            it has its volume permanently
#     Delayed          unbound, names no volume, and its class waits for the first consumer
#     Immediate        unbound otherwise: also where its class is not there, or it names none
#     NoBindingMode    unbound, and its class says nothing of when to bind
#
# The first five are asked of all claims before the others are.
#
# Source: pkg/scheduler/framework/plugins/volumebinding/{volume_binding,binder}.go (podHasPVCs, GetPodVolumeClaims) at
# v1.36.3; k8s.io/component-helpers/storage/volume/pv_helpers.go (IsDelayBindingMode) at v0.36.3.


class ClaimState(Enum):
    """What keeps a claim from being used, or how it comes to its volume."""

    MISSING = "Missing"
    LOST = "Lost"
    BEING_DELETED = "BeingDeleted"
    NOT_OWNED = "NotOwned"
    BOUND = "Bound"
    DELAYED = "Delayed"
    IMMEDIATE = "Immediate"
    NO_BINDING_MODE = "NoBindingMode"


UNUSABLE: Final = frozenset({ClaimState.MISSING, ClaimState.LOST, ClaimState.BEING_DELETED, ClaimState.NOT_OWNED})
"""States in which no node could help, whatever the class is."""


def claim_state(index: StorageIndex, pod: Pod, reference: ClaimReference) -> ClaimState:
    """The state of one claim of a pod, which `claim_reference` names."""
    claim = index.claims.get((pod.metadata.namespace, reference.name))
    if claim is None:
        return ClaimState.MISSING
    if claim.status.phase == "Lost":
        return ClaimState.LOST
    if claim.metadata.deletion_timestamp is not None:
        return ClaimState.BEING_DELETED
    if reference.ephemeral and not is_owned(claim, pod):
        return ClaimState.NOT_OWNED
    if is_bound(claim):
        return ClaimState.BOUND
    found = index.classes.get(claim_class(claim))
    if found is not None and found.volume_binding_mode is None:
        return ClaimState.NO_BINDING_MODE
    waits = found is not None and found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
    return ClaimState.DELAYED if waits and not claim.spec.volume_name else ClaimState.IMMEDIATE


class ClaimMismatch(Fact, frozen=True):
    """VolumeBinding and VolumeZone: a claim or volume that the node cannot use."""

    claim: str
    volume: str
    storage_class: str
    labels: dict[str, tuple[str, ...]]
    """Labels that the volume asks of a node, with the values it allows: its node affinity, or its own zone labels."""
    reason: str
    has: dict[str, str] = {}
    """Those of them that the node has."""
