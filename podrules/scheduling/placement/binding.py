"""Binds a pod's claims when the pod is placed: the next pod finds them bound.

    a volume that exists   is the claim's from now on
    provisioned            by a CSI driver of the node: a volume that is reached from nodes that agree with this one in
                           the driver's topology keys; with another provisioner they are unknown: the claim stays with
                           the node, as it does until its volume exists

Source: pkg/scheduler/framework/plugins/volumebinding/binder.go (AssumePodVolumes, BindPodVolumes) at v1.36.3,
k8s.io/component-helpers/storage/volume/pv_helpers.go (GetBindVolumeToClaim) at v0.36.3; KEP-490.
"""

from __future__ import annotations

from msgspec.structs import replace

from podrules.api.csi_translation import MIGRATED_PROVISIONERS
from podrules.api.model.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from podrules.api.model.base import ObjectMeta
from podrules.api.model.node import CSINodeDriver, Node
from podrules.api.model.snapshot import ClusterSnapshot, merged
from podrules.api.model.storage import (
    ClaimRef,
    CSIVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    VolumeNodeAffinity,
)
from podrules.scheduling.scheduler.cycle import FilterResult
from podrules.scheduling.scheduler.plugins.volume_binding.binder import (
    ANNOTATION_SELECTED_NODE,
    PodVolumeClaims,
    reserved_volumes,
)
from podrules.scheduling.scheduler.plugins.volume_binding.plugin import VolumeBinding
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import (
    ANNOTATION_BIND_COMPLETED,
    StorageIndex,
    claim_class,
    storage_index,
)


def volumes_bound(snapshot: ClusterSnapshot, filtered: FilterResult, row: int) -> ClusterSnapshot:
    """The cluster with the claims of a cycle's pod bound.

    Args:
        snapshot: Its volumes and their claims are the cycle's.
        filtered: The cycle.
        row: Of the node that the pod has gone to.
    """
    context = filtered.context
    state = context.states.get(VolumeBinding.name)
    if not isinstance(state, PodVolumeClaims) or not state.delayed:
        return snapshot
    index = storage_index(context)
    claims: list[PersistentVolumeClaim] = []
    volumes: list[PersistentVolume] = []
    for claim, reserved in reserved_volumes(index, state, row, context.features):
        volume = reserved or _provisioned(index, claim, row)
        if volume is None:
            claims.append(_staying(claim, index.nodes.names[row]))
            continue
        claims.append(_bound(claim, volume))
        volumes.append(_bound_to(volume, claim))
    return replace(
        snapshot,
        persistent_volume_claims=merged(snapshot.persistent_volume_claims, claims),
        persistent_volumes=merged(snapshot.persistent_volumes, volumes),
    )


def _provisioned(index: StorageIndex, claim: PersistentVolumeClaim, row: int) -> PersistentVolume | None:
    """The volume that a claim's class makes for a node; None: the nodes that can reach it are unknown."""
    provisioner = index.classes[claim_class(claim)].provisioner
    name = MIGRATED_PROVISIONERS.get(provisioner, provisioner)
    drivers = index.csi_nodes[row].spec.drivers if row in index.csi_nodes else ()
    driver = next((entry for entry in drivers if entry.name == name), None)
    if driver is None:
        return None
    # No volume has this name: one that is provisioned is named after its claim's uid.
    volume = f"planned-{claim.metadata.namespace}-{claim.metadata.name}"
    return PersistentVolume(
        metadata=ObjectMeta(name=volume),
        spec=PersistentVolumeSpec(
            access_modes=claim.spec.access_modes,
            capacity=claim.spec.resources.requests,
            storage_class_name=claim_class(claim),
            volume_mode=claim.spec.volume_mode,
            node_affinity=_reached_from(driver, index.nodes[row]),
            volume_attributes_class_name=claim.spec.volume_attributes_class_name,
            csi=CSIVolumeSource(driver=name, volume_handle=volume),
        ),
    )


def _reached_from(driver: CSINodeDriver, node: Node) -> VolumeNodeAffinity | None:
    labels = node.metadata.labels
    required = tuple(
        NodeSelectorRequirement(key, "In", (labels[key],)) for key in driver.topology_keys if key in labels
    )
    return VolumeNodeAffinity(NodeSelector((NodeSelectorTerm(required),))) if required else None


def _staying(claim: PersistentVolumeClaim, node: str) -> PersistentVolumeClaim:
    annotations = claim.metadata.annotations | {ANNOTATION_SELECTED_NODE: node}
    return replace(claim, metadata=replace(claim.metadata, annotations=annotations))


def _bound(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolumeClaim:
    annotations = claim.metadata.annotations | {ANNOTATION_BIND_COMPLETED: "yes"}
    return replace(
        claim,
        metadata=replace(claim.metadata, annotations=annotations),
        spec=replace(claim.spec, volume_name=volume.metadata.name),
        status=PersistentVolumeClaimStatus(phase="Bound"),
    )


def _bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    reference = ClaimRef(namespace=claim.metadata.namespace, name=claim.metadata.name, uid=claim.metadata.uid)
    return replace(volume, spec=replace(volume.spec, claim_ref=reference), status=PersistentVolumeStatus(phase="Bound"))
