"""Extended resources that devices provide: ``requests: {example.com/gpu: 1}`` without a claim of its own.

    a class stands for    its ``extendedResourceName``, and deviceclass.resource.kubernetes.io/<its name>; of classes
                          with the same name the newest, then the first by name
    on a node             a resource that the node itself offers is left to NodeResourcesFit; one that it does not
                          becomes requests of a claim, one for each container; init containers use what others have

Source: pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go at v1.36.3;
k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache at v0.36.3; KEP-5004.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from podrules.api.model.base import ObjectMeta
from podrules.api.model.instant import FIRST, instant
from podrules.api.model.node import Node
from podrules.api.model.pod import Container, Pod
from podrules.api.model.quantity import ZERO
from podrules.api.model.resource import (
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from podrules.pod.resources import pod_requests

CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
CLAIM_ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
SPECIAL_NAME: Final = "<extended-resources>"
"""The name of a claim that has not been written yet."""


def classes_by_resource(classes: Iterable[DeviceClass]) -> dict[str, DeviceClass]:
    """The class for each extended resource (ExtendedResourceCache).

    Upstream leaves out the second name of a class that loses its first to a newer one that it saw before; the order of
    events is not known here, so that name is kept.
    """
    found: dict[str, DeviceClass] = {}
    for device_class in classes:
        name = device_class.spec.extended_resource_name
        if name is not None and (name not in found or _precedes(device_class, found[name])):
            found[name] = device_class
        found[CLASS_PREFIX + device_class.metadata.name] = device_class
    return found


def _precedes(one: DeviceClass, other: DeviceClass) -> bool:
    first, second = (_created(one), _created(other))
    return first > second or (first == second and one.metadata.name < other.metadata.name)


def _created(device_class: DeviceClass) -> datetime:
    return instant(device_class.metadata.creation_timestamp) or FIRST


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
    requests = [
        request for resource in resources for request in _requests(pod, resource, classes[resource].metadata.name)
    ]
    ordered = tuple(sorted(requests, key=lambda request: request.name))
    return replace(claim, spec=ResourceClaimSpec(DeviceClaim(ordered)))


def _requests(pod: Pod, resource: str, class_name: str) -> list[DeviceRequest]:
    """Requests of one resource: the largest of the init containers', and those of the others."""
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
    amounts = {**{index: amount for index, amount in long.items() if amount}, **({largest: count} if count else {})}
    return [_request(containers[index], index, resource, class_name, amount) for index, amount in amounts.items()]


def _amount(container: Container, resource: str) -> int:
    amount = container.resources.requests.get(resource, ZERO)
    return amount.value if amount.exponent >= 0 or amount.value * 1000 == amount.milli_value else 0


def _request(container: Container, index: int, resource: str, class_name: str, count: int) -> DeviceRequest:
    place = sorted(container.resources.requests).index(resource)
    exactly = ExactDeviceRequest(device_class_name=class_name, count=count)
    return DeviceRequest(f"container-{index}-request-{place}", exactly)
