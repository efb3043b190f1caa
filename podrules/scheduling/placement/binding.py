"""One pod more on a cluster, as a what-if has it: bound where it fits, or where pods that are preempted leave it room.

    victims   are gone at once, as if they had ended, and budgets allow less for each victim that was ready
    claims    are bound: a volume that exists is the claim's from now on; one that a CSI driver of the node provisions
              is reached from nodes that agree with this one in the driver's topology keys; with another provisioner
              they are unknown
    devices   that Filter found for the node are the claim's; what has to be done before a pod may use them (binding
              conditions) is taken as done. Claims that a pod controls go with it

Source: pkg/scheduler/schedule_one.go, pkg/scheduler/framework/plugins/volumebinding/binder.go (AssumePodVolumes,
BindPodVolumes), pkg/controller/resourceclaim/controller.go (syncClaim) at v1.36.3,
k8s.io/component-helpers/storage/volume/pv_helpers.go (GetBindVolumeToClaim) and
k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go (createNodeSelector) at
v0.36.3; KEP-490, KEP-4381, KEP-5004.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.csi_translation import MIGRATED_PROVISIONERS
from podrules.api.model.base import ObjectMeta
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
from podrules.scheduling.placement.outcome import Placement
from podrules.scheduling.placement.planned import DaemonNodes, PlannedVictim
from podrules.scheduling.placement.situation import Situation
from podrules.scheduling.scheduler.cycle import FilterResult, score_nodes
from podrules.scheduling.scheduler.framework.interface import nominated_rows
from podrules.scheduling.scheduler.plugins.default_preemption import is_terminating_by_preemption, priority_of
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


class Placed(Struct, frozen=True):
    """The pods of a spec on their nodes."""

    situation: Situation
    """The last pod, and the cluster with all of them."""
    budgets: Sequence[PodDisruptionBudget]
    """What they allow afterwards."""
    rows: tuple[int, ...] = ()
    """The nodes; those of pods that need no preemption, and come before the first victim, are first."""
    unaided: int = 0
    """How many need no preemption."""
    victims: tuple[PlannedVictim, ...] = ()
    stopped: Placement | None = None
    """What the others meet; None: there are none."""
    daemon: DaemonNodes | None = None
    """The nodes of a DaemonSet."""
    wanted: int | None = None
    """How many pods of a DaemonSet are to come."""


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
    row = situation.table.index[candidate.node]
    nominated = tuple(map(reference, nominated_rows(filtered.context).get(row, ())))
    victims: list[PlannedVictim] = []
    for victim in candidate.victims:
        pod, owner = victim.pod, owner_guarantee(victim.pod).guarantee
        leaving = pod.metadata.deletion_timestamp is not None
        violated = () if leaving else victim.violates
        victims.append(
            PlannedVictim(
                pod=reference(pod),
                node=candidate.node,
                priority=priority_of(pod),
                violates=tuple("/".join(budget.metadata.place) for budget in violated),
                leaving=leaving,
                replaced=owner is not Guarantee.NOT_REPLACED,
                preempted_for=nominated if is_terminating_by_preemption(pod) else (),
                stateful=owner is Guarantee.AT_MOST_ONE,
            )
        )
    gone = [victim.pod for victim in candidate.victims]
    left = replace(situation.without_pods(gone), snapshot=devices_freed(situation.snapshot, gone))
    return Room(row, left, recounted(budgets, gone=gone), victims)


def volumes_bound(snapshot: ClusterSnapshot, filtered: FilterResult, row: int) -> ClusterSnapshot:
    """The cluster of a cycle with the claims of the cycle's pod bound, which has gone to the node of a row."""
    context = filtered.context
    state = context.states.get(VolumeBinding.name)
    if not isinstance(state, PodVolumeClaims) or not state.delayed:
        return snapshot
    index = storage_index(context)
    claims: list[PersistentVolumeClaim] = []
    volumes: list[PersistentVolume] = []
    for claim, reserved in reserved_volumes(index, state, row, context.features):
        meta, volume = claim.metadata, reserved or _provisioned(index, claim, row)
        if volume is None:
            # The claim stays with the node, as it does until its volume exists.
            annotations = meta.annotations | {ANNOTATION_SELECTED_NODE: index.nodes.names[row]}
            claims.append(replace(claim, metadata=replace(meta, annotations=annotations)))
            continue
        claims.append(
            replace(
                claim,
                metadata=replace(meta, annotations=meta.annotations | {ANNOTATION_BIND_COMPLETED: "yes"}),
                spec=replace(claim.spec, volume_name=volume.metadata.name),
                status=PersistentVolumeClaimStatus(phase="Bound"),
            )
        )
        holder = ClaimRef(namespace=meta.namespace, name=meta.name, uid=meta.uid)
        spec, status = replace(volume.spec, claim_ref=holder), PersistentVolumeStatus(phase="Bound")
        volumes.append(replace(volume, spec=spec, status=status))
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
    # It is reached from nodes that agree with this one in the driver's topology keys.
    labels = index.nodes[row].metadata.labels
    required = tuple(
        NodeSelectorRequirement(key, "In", (labels[key],)) for key in driver.topology_keys if key in labels
    )
    # No volume has this name: one that is provisioned is named after its claim's uid.
    volume = f"planned-{claim.metadata.namespace}-{claim.metadata.name}"
    return PersistentVolume(
        metadata=ObjectMeta(name=volume),
        spec=PersistentVolumeSpec(
            access_modes=claim.spec.access_modes,
            capacity=claim.spec.resources.requests,
            storage_class_name=claim_class(claim),
            volume_mode=claim.spec.volume_mode,
            node_affinity=VolumeNodeAffinity(NodeSelector((NodeSelectorTerm(required),))) if required else None,
            volume_attributes_class_name=claim.spec.volume_attributes_class_name,
            csi=CSIVolumeSource(driver=name, volume_handle=volume),
        ),
    )


def devices_taken(snapshot: ClusterSnapshot, filtered: FilterResult, row: int) -> ClusterSnapshot:
    """The cluster with the devices of a cycle's pod allocated on a row's node, and its claims reserved for it.

    The resource claims of the snapshot are the cycle's, but for what others gave back.
    """
    state = filtered.context.states.get(DynamicResources.name)
    if not isinstance(state, DynamicResourcesState):
        return snapshot
    pod, node = filtered.context.pod, filtered.context.table.names[row]
    user = ResourceClaimConsumerReference(resource="pods", name=pod.metadata.name, uid=pod.metadata.uid)
    offered = {
        (entry.spec.driver, entry.spec.pool.name, device.name): (entry, device)
        for entry in snapshot.resource_slices
        for device in entry.spec.devices
    }
    found = iter(state.allocations.get(row, ()))
    changed: list[ResourceClaim] = []
    for claim in state.claims:
        held, status = claim, claim.status
        if status.allocation is None:
            devices = next(found, None)
            if devices is None:
                # The node itself offers what the claim would request.
                continue
            if claim is state.special:
                # The claim for extended resources is made when the pod is placed.
                metadata = ObjectMeta(
                    name=f"{pod.metadata.name}-extended-resources-planned",
                    namespace=pod.metadata.namespace,
                    annotations={CLAIM_ANNOTATION: "true"},
                    owner_references=(pod.as_controller,),
                )
                held = replace(claim, metadata=metadata)
            status = replace(status, allocation=_allocated(devices, [offered[one.id] for one in devices], node))
        changed.append(replace(held, status=replace(status, reserved_for=(*status.reserved_for, user))))
    return replace(snapshot, resource_claims=merged(snapshot.resource_claims, changed))


def _allocated(
    devices: Sequence[AllocatedDevice], offers: Sequence[tuple[ResourceSlice, Device]], node: str
) -> AllocationResult:
    """What is allocated on a node, and where all of the devices are reached (createNodeSelector)."""
    results = tuple(
        DeviceRequestAllocationResult(
            request=device.request,
            driver=device.id.driver,
            pool=device.id.pool,
            device=device.id.device,
            admin_access=device.admin_access or None,
            # Any value will do: its presence shows that others may share the device.
            share_id="planned" if offer.allow_multiple_allocations else None,
            consumed_capacity=dict(device.consumed),
        )
        for device, (_, offer) in zip(devices, offers, strict=True)
    )
    fields: list[NodeSelectorRequirement] = []
    labels: list[NodeSelectorRequirement] = []
    for offer, device in offers:
        place = device if offer.spec.per_device_node_selection else offer.spec
        if place.node_name is not None or device.binds_to_node:
            fields, labels = [NodeSelectorRequirement("metadata.name", "In", (node,))], []
            break
        if place.node_selector is not None:
            for term in place.node_selector.node_selector_terms[:1]:
                fields += (entry for entry in term.match_fields if entry not in fields)
                labels += (entry for entry in term.match_expressions if entry not in labels)
    term = NodeSelectorTerm(match_expressions=tuple(labels), match_fields=tuple(fields))
    # Without a term they are reached everywhere.
    return AllocationResult(DeviceAllocationResult(results), NodeSelector((term,)) if fields or labels else None)


def devices_freed(snapshot: ClusterSnapshot, gone: Iterable[Pod]) -> ClusterSnapshot:
    """The cluster without the claims of pods that are gone, and without what they alone had reserved."""
    uids = frozenset(pod.metadata.uid for pod in gone)
    if not (uids and snapshot.resource_claims):
        return snapshot
    kept: list[ResourceClaim] = []
    for claim in snapshot.resource_claims:
        owner, users = claim.metadata.controller, claim.status.reserved_for
        if owner is not None and owner.uid in uids:
            continue
        left = tuple(user for user in users if user.uid not in uids)
        if left != users:
            # A claim with no other user loses its devices.
            allocation = claim.status.allocation if left else None
            claim = replace(claim, status=replace(claim.status, reserved_for=left, allocation=allocation))  # noqa: PLW2901
        kept.append(claim)
    return replace(snapshot, resource_claims=tuple(kept))
