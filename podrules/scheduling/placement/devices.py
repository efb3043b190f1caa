"""The devices that a pod's claims take when the pod is placed, and return when it is deleted.

    placed   the devices that Filter found for the node are the claim's; it can be used where they are reached. What has
             to be done before a pod may use them (binding conditions) is taken as done
    gone     claims that the pod controls are deleted with it; a claim with no other user loses its devices

Source: k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go (createNodeSelector)
at v0.36.3; pkg/controller/resourceclaim/controller.go (syncClaim) at v1.36.3; KEP-4381, KEP-5004.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from podrules.api.model.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from podrules.api.model.base import ObjectMeta
from podrules.api.model.pod import Pod
from podrules.api.model.resource import (
    AllocationResult,
    Device,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceSlice,
)
from podrules.api.model.snapshot import ClusterSnapshot, merged
from podrules.scheduling.scheduler.cycle import FilterResult
from podrules.scheduling.scheduler.plugins.dynamic_resources import DynamicResources, DynamicResourcesState
from podrules.scheduling.scheduler.plugins.dynamic_resources.claims import CLAIM_ANNOTATION
from podrules.scheduling.scheduler.plugins.dynamic_resources.pools import AllocatedDevice


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
