"""One pod more on a cluster, as a what-if has it: bound where it fits, or where pods that are preempted leave it room.

Victims are gone at once, as if they had ended, and budgets allow less for each victim that was ready.

Source: pkg/scheduler/schedule_one.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.csi_translation import MIGRATED_PROVISIONERS
from podrules.api.model.base import ObjectMeta
from podrules.api.model.node import CSINodeDriver, Node
from podrules.api.model.pod import Pod, reference
from podrules.api.model.policy import PodDisruptionBudget
from podrules.api.model.resource import (
    AllocationResult,
    Device,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceSlice,
)
from podrules.api.model.selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
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
from podrules.scheduling.placement.planned import PlannedVictim
from podrules.scheduling.placement.situation import Situation
from podrules.scheduling.scheduler.cycle import FilterResult, score_nodes
from podrules.scheduling.scheduler.framework.interface import nominated_rows
from podrules.scheduling.scheduler.plugins.default_preemption import Victim, is_terminating_by_preemption, priority_of
from podrules.scheduling.scheduler.plugins.dynamic_resources import DynamicResources, DynamicResourcesState
from podrules.scheduling.scheduler.plugins.dynamic_resources.claims import CLAIM_ANNOTATION
from podrules.scheduling.scheduler.plugins.dynamic_resources.pools import AllocatedDevice
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
from podrules.scheduling.scheduler.preemption import preempt
from podrules.workload.disruption import recounted
from podrules.workload.safety import Guarantee, owner_guarantee


def with_pod(situation: Situation, filtered: FilterResult, row: int) -> Situation:
    """The same with its pod on a node."""
    snapshot = devices_taken(volumes_bound(situation.snapshot, filtered, row), filtered, row)
    table = situation.table.with_pods([(situation.pod, situation.table.names[row])])
    return replace(situation, table=table, snapshot=snapshot)


def best_row(filtered: FilterResult) -> int | None:
    """The row that is taken; None: no node fits, or the cycle fails."""
    if not len(filtered.feasible) or filtered.error:
        return None
    best = score_nodes(filtered).best
    return int(best[0]) if len(best) else None


class Room(Struct, frozen=True):
    """A node that preemption frees."""

    row: int
    situation: Situation
    """Without the victims."""
    budgets: Sequence[PodDisruptionBudget]
    """What they allow afterwards."""
    victims: Sequence[PlannedVictim]


def make_room(situation: Situation, filtered: FilterResult, budgets: Sequence[PodDisruptionBudget]) -> Room | None:
    """None: preemption frees no node, or the cycle fails and preempts no pod."""
    if len(filtered.feasible) or filtered.error:
        return None
    found = preempt(filtered, budgets)
    if not found.status.ok or not found.best:
        return None
    candidate = found.best[0]
    gone = [victim.pod for victim in candidate.victims]
    return Room(
        row=situation.table.index[candidate.node],
        situation=replace(situation.without_pods(gone), snapshot=devices_freed(situation.snapshot, gone)),
        budgets=recounted(budgets, gone=gone),
        victims=[_victim(victim, candidate.node, filtered) for victim in candidate.victims],
    )


def _victim(victim: Victim, node: str, filtered: FilterResult) -> PlannedVictim:
    pod = victim.pod
    leaving = pod.metadata.deletion_timestamp is not None
    owner = owner_guarantee(pod).guarantee
    nominated = nominated_rows(filtered.context).get(filtered.context.table.index[node], ())
    return PlannedVictim(
        reference(pod),
        node,
        priority_of(pod),
        () if leaving else tuple(f"{budget.metadata.namespace}/{budget.metadata.name}" for budget in victim.violates),
        leaving,
        owner is not Guarantee.NOT_REPLACED,
        tuple(map(reference, nominated)) if is_terminating_by_preemption(pod) else (),
        owner is Guarantee.AT_MOST_ONE,
    )


# Binds a pod's claims when the pod is placed: the next pod finds them bound.
#
#     a volume that exists   is the claim's from now on
#     provisioned            by a CSI driver of the node: a volume that is reached from nodes that agree with this one in
#                            the driver's topology keys; with another provisioner they are unknown: the claim stays with
#                            the node, as it does until its volume exists
#
# Source: pkg/scheduler/framework/plugins/volumebinding/binder.go (AssumePodVolumes, BindPodVolumes) at v1.36.3,
# k8s.io/component-helpers/storage/volume/pv_helpers.go (GetBindVolumeToClaim) at v0.36.3; KEP-490.


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


# The devices that a pod's claims take when the pod is placed, and return when it is deleted.
#
#     placed   the devices that Filter found for the node are the claim's; it can be used where they are reached. What has
#              to be done before a pod may use them (binding conditions) is taken as done
#     gone     claims that the pod controls are deleted with it; a claim with no other user loses its devices
#
# Source: k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go (createNodeSelector)
# at v0.36.3; pkg/controller/resourceclaim/controller.go (syncClaim) at v1.36.3; KEP-4381, KEP-5004.


def devices_taken(snapshot: ClusterSnapshot, filtered: FilterResult, row: int) -> ClusterSnapshot:
    """The cluster with the devices of a cycle's pod allocated, and its claims reserved for it.

    Args:
        snapshot: Its resource claims are the cycle's, but for what others gave back.
        filtered: The cycle.
        row: Of the node that the pod has gone to.
    """
    state = filtered.context.states.get(DynamicResources.name)
    if not isinstance(state, DynamicResourcesState):
        return snapshot
    pod, node = filtered.context.pod, filtered.context.table.names[row]
    offered = _Offered(snapshot.resource_slices)
    found = iter(state.allocations.get(row, ()))
    changed: list[ResourceClaim] = []
    for claim in state.claims:
        held = claim
        if claim.status.allocation is None:
            devices = next(found, None)
            if devices is None:
                # The node itself offers what the claim would request.
                continue
            held = _allocated(_written(claim, pod, special=claim is state.special), offered.result(devices, node))
        changed.append(_reserved(held, pod))
    return replace(snapshot, resource_claims=merged(snapshot.resource_claims, changed))


def devices_freed(snapshot: ClusterSnapshot, gone: Iterable[Pod]) -> ClusterSnapshot:
    """The cluster without the claims of pods that are gone, and without what they alone had reserved."""
    uids = frozenset(pod.metadata.uid for pod in gone)
    if not (uids and snapshot.resource_claims):
        return snapshot
    return replace(snapshot, resource_claims=tuple(_left(snapshot.resource_claims, uids)))


def _left(claims: Iterable[ResourceClaim], gone: frozenset[str]) -> Iterator[ResourceClaim]:
    for claim in claims:
        owner = claim.metadata.controller
        if owner is not None and owner.uid in gone:
            continue
        users = claim.status.reserved_for
        left = tuple(user for user in users if user.uid not in gone)
        if left == users:
            yield claim
        else:
            allocation = claim.status.allocation if left else None
            yield replace(claim, status=replace(claim.status, reserved_for=left, allocation=allocation))


def _written(claim: ResourceClaim, pod: Pod, *, special: bool) -> ResourceClaim:
    """A claim as it is stored: the one for extended resources is made when the pod is placed."""
    if not special:
        return claim
    metadata = ObjectMeta(
        name=f"{pod.metadata.name}-extended-resources-planned",
        namespace=pod.metadata.namespace,
        annotations={CLAIM_ANNOTATION: "true"},
        owner_references=(pod.as_controller,),
    )
    return replace(claim, metadata=metadata)


def _allocated(claim: ResourceClaim, allocation: AllocationResult) -> ResourceClaim:
    return replace(claim, status=replace(claim.status, allocation=allocation))


def _reserved(claim: ResourceClaim, pod: Pod) -> ResourceClaim:
    user = ResourceClaimConsumerReference(resource="pods", name=pod.metadata.name, uid=pod.metadata.uid)
    return replace(claim, status=replace(claim.status, reserved_for=(*claim.status.reserved_for, user)))


class _Offered:
    """The devices of slices, by driver, pool and name."""

    def __init__(self, slices: Iterable[ResourceSlice]) -> None:
        self._found = {
            (entry.spec.driver, entry.spec.pool.name, device.name): (entry, device)
            for entry in slices
            for device in entry.spec.devices
        }

    def result(self, devices: Sequence[AllocatedDevice], node: str) -> AllocationResult:
        """What is allocated on a node."""
        offers = [self._found[device.id] for device in devices]
        results = (_result(device, offer) for device, (_, offer) in zip(devices, offers, strict=True))
        return AllocationResult(DeviceAllocationResult(tuple(results)), _device_reached_from(offers, node))


def _result(device: AllocatedDevice, offer: Device) -> DeviceRequestAllocationResult:
    return DeviceRequestAllocationResult(
        request=device.request,
        driver=device.id.driver,
        pool=device.id.pool,
        device=device.id.device,
        admin_access=device.admin_access or None,
        # Any value will do: its presence shows that others may share the device.
        share_id="planned" if offer.allow_multiple_allocations else None,
        consumed_capacity=dict(device.consumed),
    )


def _device_reached_from(offers: Iterable[tuple[ResourceSlice, Device]], node: str) -> NodeSelector | None:
    """Where all of the devices are reached; None: everywhere (createNodeSelector)."""
    fields: list[NodeSelectorRequirement] = []
    labels: list[NodeSelectorRequirement] = []
    for offer, device in offers:
        place = device if offer.spec.per_device_node_selection else offer.spec
        if place.node_name is not None or device.binds_to_node:
            only = NodeSelectorRequirement("metadata.name", "In", (node,))
            return NodeSelector((NodeSelectorTerm(match_fields=(only,)),))
        if place.node_selector is not None:
            for term in place.node_selector.node_selector_terms[:1]:
                fields += (entry for entry in term.match_fields if entry not in fields)
                labels += (entry for entry in term.match_expressions if entry not in labels)
    if not (fields or labels):
        return None
    return NodeSelector((NodeSelectorTerm(match_expressions=tuple(labels), match_fields=tuple(fields)),))
