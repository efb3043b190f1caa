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

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from podrules.api.features import REFERENCE, Features
from podrules.api.model.base import ObjectMeta
from podrules.api.model.instant import FIRST, instant, later
from podrules.api.model.node import Node
from podrules.api.model.pod import Container, Pod
from podrules.api.model.quantity import ZERO
from podrules.api.model.resource import (
    AllocationResult,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from podrules.pod.resources import pod_requests
from podrules.scheduling.scheduler.plugins.dynamic_resources.constraints import Consumed, add_consumed
from podrules.scheduling.scheduler.plugins.dynamic_resources.pools import AllocatedState, DeviceID, UnknownAnswer


class ClaimError(Exception):
    """The pod has to wait for a claim; the text says why."""


def pod_claims(pod: Pod, claims: Mapping[str, ResourceClaim], *, features: Features = REFERENCE) -> list[ResourceClaim]:
    """The pod's claims in its order, from claims by namespace and name (foreachPodResourceClaim).

    Raises:
        ClaimError: one is missing, is being deleted, or belongs to another pod.
    """
    found = []
    for reference in pod.spec.resource_claims:
        name = reference.resource_claim_name
        if name is None and reference.resource_claim_template_name is None:
            where = f'pod "{_key(pod)}", spec.resourceClaim "{reference.name}"'
            raise ClaimError(f"{where}: none of the supported fields are set")
        if name is None:
            statuses = [entry for entry in pod.status.resource_claim_statuses if entry.name == reference.name]
            if not statuses:
                raise ClaimError(f'pod "{_key(pod)}": ResourceClaim not created yet')
            name = statuses[0].resource_claim_name
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


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def is_controlled_by(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether the pod manages the claim (metav1.IsControlledBy)."""
    owner = claim.metadata.controller
    return owner is not None and owner.uid == pod.metadata.uid


def allocated_state(claims: Iterable[ResourceClaim], *, shareable: bool = True) -> AllocatedState:
    """The devices that allocated claims hold (GatherAllocatedState).

    They are ``shareable`` with the gate DRAConsumableCapacity; without it a claim holds each device alone.
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


# Extended resources that devices provide: ``requests: {example.com/gpu: 1}`` without a claim of its own.
#
#     a class stands for    its ``extendedResourceName``, and deviceclass.resource.kubernetes.io/<its name>; of classes
#                           with the same name the newest, then the first by name
#     on a node             a resource that the node itself offers is left to NodeResourcesFit; one that it does not
#                           becomes requests of a claim, one for each container; init containers use what others have
#
# Source: pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go at v1.36.3;
# k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache at v0.36.3; KEP-5004.

CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
CLAIM_ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
SPECIAL_NAME: Final = "<extended-resources>"
"""The name of a claim that has not been written yet."""


def classes_by_resource(classes: Iterable[DeviceClass]) -> dict[str, DeviceClass]:
    """The class for each extended resource (ExtendedResourceCache).

    Upstream leaves out the second name of a class that loses its first to a newer one that it saw before; the order of
    events is not known here, so that name is kept.
    """

    def key(device_class: DeviceClass) -> tuple[timedelta, str]:
        created = instant(device_class.metadata.creation_timestamp) or FIRST
        return FIRST - created, device_class.metadata.name

    found: dict[str, DeviceClass] = {}
    for device_class in classes:
        name = device_class.spec.extended_resource_name
        if name is not None and (name not in found or key(device_class) < key(found[name])):
            found[name] = device_class
        found[CLASS_PREFIX + device_class.metadata.name] = device_class
    return found


def is_extended_resource(name: str) -> bool:
    """Whether devices can provide the resource (IsDRAExtendedResourceName)."""
    if name.startswith(CLASS_PREFIX):
        return True
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def needs_claim(pod: Pod, classes: Mapping[str, DeviceClass]) -> bool:
    """Whether the pod requests a resource that a class provides."""
    return any(
        not amount.is_zero and is_extended_resource(name) and name in classes
        for name, amount in pod_requests(pod).items()
    )


def find_claim(pod: Pod, claims: Iterable[ResourceClaim]) -> ResourceClaim | None:
    """The claim that an earlier attempt has left (findExtendedResourceClaim)."""
    for claim in claims:
        if claim.metadata.annotations.get(CLAIM_ANNOTATION) != "true":
            continue
        for owner in claim.metadata.owner_references:
            if owner.controller and (owner.name, owner.uid) == (pod.metadata.name, pod.metadata.uid):
                return claim
    return None


def special_claim(pod: Pod) -> ResourceClaim:
    """The claim that would be written for the pod; its requests differ from node to node."""
    return ResourceClaim(ObjectMeta(name=SPECIAL_NAME, namespace=pod.metadata.namespace))


def node_requests(pod: Pod, node: Node, classes: Mapping[str, DeviceClass]) -> tuple[str, ...] | None:
    """The resources that devices must provide on a node; None if one is available in neither way."""
    wanted = []
    for name, amount in pod_requests(pod).items():
        if not is_extended_resource(name) or amount.value == 0:
            continue
        if name in classes and node.status.allocatable.get(name, ZERO).value == 0:
            wanted.append(name)
        elif name not in node.status.allocatable:
            return None
    return tuple(sorted(wanted))


def claim_for(
    pod: Pod, claim: ResourceClaim, resources: Sequence[str], classes: Mapping[str, DeviceClass]
) -> ResourceClaim:
    """The claim with the requests for these resources (createRequestsAndMappings)."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    requests = []
    for resource in resources:
        for index, amount in _amounts(pod, resource).items():
            place = sorted(containers[index].resources.requests).index(resource)
            exactly = ExactDeviceRequest(device_class_name=classes[resource].metadata.name, count=amount)
            requests.append(DeviceRequest(f"container-{index}-request-{place}", exactly))
    ordered = tuple(sorted(requests, key=lambda request: request.name))
    return replace(claim, spec=ResourceClaimSpec(DeviceClaim(ordered)))


def _amounts(pod: Pod, resource: str) -> dict[int, int]:
    """By container, how many devices it needs: the neediest init container, and the others with a request."""
    inits = pod.spec.init_containers
    containers = (*inits, *pod.spec.containers)
    short = [index for index, container in enumerate(inits) if not container.restarts_always]
    long: dict[int, int] = {}
    for index, container in enumerate(containers):
        if index not in short:
            long[index] = _amount(container, resource)
    largest, count = -1, 0
    for index in short:
        reusable = sum(amount for other, amount in long.items() if other >= index)
        missing = _amount(containers[index], resource) - reusable
        if missing > count:
            largest, count = index, missing
    return {**{index: amount for index, amount in long.items() if amount}, **({largest: count} if count else {})}


def _amount(container: Container, resource: str) -> int:
    amount = container.resources.requests.get(resource, ZERO)
    return amount.value if amount.exponent >= 0 or amount.value * 1000 == amount.milli_value else 0
