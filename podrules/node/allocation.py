"""The allocation of a node: requests compared with allocatable, and limits above it, by QoS class.

The scheduler uses only requests, so requests exceed allocatable only after a resize, with a static pod or on a node
that became smaller. The sum of limits may exceed it: that is overcommit, and the kernel and the kubelet, not the
scheduler, decide what happens if pods use it. Finished pods do not count; pods that are being deleted count until they
are gone. A resource without room excludes only pods that request it; the number of pods limits all.

Source: pkg/scheduler/framework/types.go (NodeInfo), pkg/scheduler/scheduler.go (informer of non-terminal pods) and
fitsRequest in pkg/scheduler/framework/plugins/noderesources/fit.go at v1.36.3; ``kubectl describe node`` prints the
same sums without pod-level resources and resizes in flight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from podrules.api.features import REFERENCE, Features
from podrules.api.model.base import ResourceList
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodQOSClass
from podrules.api.model.quantity import ZERO, Quantity
from podrules.pod.qos import get_pod_qos
from podrules.pod.resources import CPU, EPHEMERAL_STORAGE, MEMORY, pod_limits, pod_requests, scheduler_options


def is_full(allocatable: int, requested: int) -> bool:
    """Whether no pod with a request of the resource fits (fitsRequest); one without a request may fit.

    Args:
        allocatable: The allocatable amount of the node.
        requested: The sum of requests of the pods on it, in the same unit.
    """
    return requested >= allocatable


class ResourceAllocation(Struct, frozen=True):
    """One resource of a node: amounts are quantities."""

    name: str
    capacity: Quantity
    allocatable: Quantity
    requested: Quantity
    limited: Quantity
    """The sum of limits of the containers and pods with a limit."""
    without_limit: int
    """The number of pods with an unlimited container: they may use everything."""
    requested_by_class: dict[PodQOSClass, Quantity]

    @property
    def reserved(self) -> Quantity:
        """The amount reserved for the system: capacity minus allocatable."""
        return self.capacity - self.allocatable

    @property
    def free(self) -> Quantity:
        """The amount that the scheduler can still allocate."""
        return self.allocatable - self.requested

    @property
    def full(self) -> bool:
        """As `is_full`."""
        return is_full(self.allocatable.milli_value, self.requested.milli_value)


class NodeAllocation(Struct, frozen=True):
    """All allocations of a node."""

    pods: int
    max_pods: int
    pods_by_class: dict[PodQOSClass, int]
    resources: tuple[ResourceAllocation, ...]

    @property
    def pods_full(self) -> bool:
        """Whether no further pod fits, regardless of its requests."""
        return is_full(self.max_pods, self.pods)


def node_allocation(node: Node, pods: Iterable[Pod], *, features: Features = REFERENCE) -> NodeAllocation:
    """Sum the requests and limits of a node's pods, without finished pods and pods on other nodes."""
    own = [pod for pod in pods if pod.spec.node_name == node.metadata.name and not pod.finished]
    options = scheduler_options(features)
    asked = [
        _Asked(
            get_pod_qos(pod, features=features),
            pod_requests(pod, options),
            pod_limits(pod, options),
            limited_resources(pod, features),
        )
        for pod in own
    ]
    extended = sorted(name for name in node.status.allocatable if "/" in name or name.startswith("hugepages-"))
    names = [CPU, MEMORY, EPHEMERAL_STORAGE, *extended]
    return NodeAllocation(
        pods=len(own),
        max_pods=node.status.allocatable.get("pods", ZERO).value,
        pods_by_class={
            qos_class: sum(1 for entry in asked if entry.qos_class is qos_class) for qos_class in PodQOSClass
        },
        resources=tuple(_resource(node, name, asked) for name in names if name in node.status.allocatable),
    )


class _Asked(NamedTuple):
    """The requests and limits of one pod."""

    qos_class: PodQOSClass
    requests: ResourceList
    limits: ResourceList
    limited: frozenset[str]
    """The resources that each concurrently running container limits, or the pod itself."""


def limited_resources(pod: Pod, features: Features) -> frozenset[str]:
    """The resources that are limited for the whole pod, once its init containers have ended."""
    own = pod.spec.resources if features.pod_level_resources else None
    whole = () if own is None else (name for name, limit in own.limits.items() if not limit.is_zero)
    running = [ref.container for ref in pod.containers() if not ref.is_init or ref.is_sidecar]
    limits = [{name for name, limit in one.resources.limits.items() if not limit.is_zero} for one in running]
    return frozenset(whole).union(set.intersection(*limits) if limits else ())


def _resource(node: Node, name: str, asked: Sequence[_Asked]) -> ResourceAllocation:
    by_class = dict.fromkeys(PodQOSClass, ZERO)
    limited, without_limit = ZERO, 0
    for pod in asked:
        by_class[pod.qos_class] += pod.requests.get(name, ZERO)
        limited += pod.limits.get(name, ZERO)
        without_limit += name not in pod.limited
    allocatable = node.status.allocatable[name]
    return ResourceAllocation(
        name=name,
        capacity=node.status.capacity.get(name, allocatable),
        allocatable=allocatable,
        requested=sum(by_class.values(), ZERO),
        limited=limited,
        without_limit=without_limit,
        requested_by_class=by_class,
    )


def percent_of(amount: int, allocatable: int) -> int:
    """An amount as a whole percentage of the allocatable amount, rounded down; 0 if nothing is allocatable."""
    return 100 * amount // allocatable if allocatable > 0 else 0
