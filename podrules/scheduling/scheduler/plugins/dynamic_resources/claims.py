"""A pod's claims, and the devices that all claims hold.

    spec.resourceClaims[]     names a claim, or a template; the pod's status names its claim. A status without a name
                              means that none is needed
    held                      devices of allocated claims; those of admin access are not held, those with a share id are
                              held in part
    ready                     every binding condition of the claim's devices is true; one that failed, or that is not
                              ready when the binding timeout is over, makes the claim unavailable on every node

Source: k8s.io/dynamic-resource-allocation/resourceclaim/resourceclaim.go at v0.36.3;
pkg/scheduler/framework/plugins/dynamicresources/{dynamicresources,allocateddevices,dra_manager}.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from podrules.api.features import REFERENCE, Features
from podrules.api.model.instant import instant, later
from podrules.api.model.pod import Pod, PodResourceClaim
from podrules.api.model.resource import AllocationResult, ResourceClaim
from podrules.scheduling.scheduler.plugins.dynamic_resources.capacity import Consumed, add_consumed
from podrules.scheduling.scheduler.plugins.dynamic_resources.devices import AllocatedState, DeviceID
from podrules.scheduling.scheduler.plugins.dynamic_resources.selectors import UnknownAnswer


class ClaimError(Exception):
    """The pod has to wait for a claim; the text says why."""


def pod_claims(pod: Pod, claims: Mapping[str, ResourceClaim], *, features: Features = REFERENCE) -> list[ResourceClaim]:
    """The pod's claims in its order, from claims by namespace and name (foreachPodResourceClaim).

    Raises:
        ClaimError: one is missing, is being deleted, or belongs to another pod.
    """
    found = []
    for reference in pod.spec.resource_claims:
        name = _claim_name(pod, reference)
        if name is None:
            continue
        claim = claims.get(f"{pod.metadata.namespace}/{name}")
        if claim is None:
            raise ClaimError(f'could not find ResourceClaim "{pod.metadata.namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimError(f'resourceclaim "{name}" is being deleted')
        if reference.resource_claim_name is None and not is_controlled_by(claim, pod):
            owner = "Pod" if features.dra_owner_in_capitals else "pod"
            raise ClaimError(
                f"ResourceClaim {claim.key} was not created for {owner} {_key(pod)} ({owner} is not owner)"
            )
        found.append(claim)
    return found


def _claim_name(pod: Pod, reference: PodResourceClaim) -> str | None:
    """The name of the claim referred to; None when the pod needs none (resourceclaim.Name)."""
    if reference.resource_claim_name is not None:
        return reference.resource_claim_name
    if reference.resource_claim_template_name is None:
        where = f'pod "{_key(pod)}", spec.resourceClaim "{reference.name}"'
        raise ClaimError(f"{where}: none of the supported fields are set")
    for status in pod.status.resource_claim_statuses:
        if status.name == reference.name:
            return status.resource_claim_name
    raise ClaimError(f'pod "{_key(pod)}": ResourceClaim not created yet')


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def is_controlled_by(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether the pod manages the claim (metav1.IsControlledBy)."""
    owner = claim.metadata.controller
    return owner is not None and owner.uid == pod.metadata.uid


def allocated_state(claims: Iterable[ResourceClaim], *, shareable: bool = True) -> AllocatedState:
    """The devices that allocated claims hold (GatherAllocatedState).

    Args:
        claims: All of the cluster.
        shareable: Gate DRAConsumableCapacity: a device can be held in part; without it every device is held alone.
    """
    devices: set[DeviceID] = set()
    shared: set[DeviceID] = set()
    capacity: dict[DeviceID, Consumed] = {}
    for claim in claims:
        allocation = claim.status.allocation
        for result in allocation.devices.results if allocation else ():
            device = DeviceID(result.driver, result.pool, result.device)
            if result.admin_access:
                continue
            if result.share_id is None or not shareable:
                devices.add(device)
                continue
            shared.add(device)
            if result.consumed_capacity:
                add_consumed(capacity.setdefault(device, {}), result.consumed_capacity)
    return AllocatedState(frozenset(devices), frozenset(shared), capacity)


def is_unavailable(
    claim: ResourceClaim, allocation: AllocationResult, timeout: timedelta, now: datetime | None
) -> bool:
    """Whether binding failed or took too long (isClaimReadyForBinding, isClaimTimeout).

    Raises:
        UnknownAnswer: it depends on the time, which is not given.
    """
    ready, failed = _readiness(claim, allocation)
    if ready or failed:
        return failed
    begun = instant(allocation.allocation_timestamp)
    if begun is None:
        return False
    if now is None:
        raise UnknownAnswer(f"whether binding of claim {claim.key} has timed out depends on the time")
    return later(begun, timeout.total_seconds()) < now


def _readiness(claim: ResourceClaim, allocation: AllocationResult) -> tuple[bool, bool]:
    """Whether all binding conditions are true; whether one of failure is."""
    for result in allocation.devices.results:
        if not result.binding_conditions:
            continue
        reported = next(
            (
                status
                for status in claim.status.devices
                if (status.driver, status.pool, status.device) == (result.driver, result.pool, result.device)
            ),
            None,
        )
        if reported is None:
            return False, False
        true = {condition.type for condition in reported.conditions if condition.status == "True"}
        if true.intersection(result.binding_failure_conditions):
            return False, True
        if not true.issuperset(result.binding_conditions):
            return False, False
    return True, False
