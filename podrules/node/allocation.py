"""What a node has promised: requests against allocatable, limits beyond it, by QoS class.

The scheduler admits by requests alone, so requests exceed allocatable only where a resize, a static pod or a smaller
node made it so. The sum of limits may: that is overcommit, and what it costs when pods use it is decided by the kernel
and the kubelet, not by the scheduler. Pods that have finished do not count; pods that are being deleted do until they
are gone. A resource without room keeps off only pods that request some of it; the number of pods binds all.

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

__all__ = ["NodeAllocation", "ResourceAllocation", "is_full", "limited_resources", "node_allocation", "percent_of"]


def is_full(allocatable: int, requested: int) -> bool:
    """Whether no pod fits that requests any of a resource (fitsRequest); one that requests none may.

    Args:
        allocatable: Of the node.
        requested: By the pods on it, in the same unit.
    """
    return requested >= allocatable


class ResourceAllocation(Struct, frozen=True):
    """One resource of a node: amounts are quantities."""

    name: str
    capacity: Quantity
    allocatable: Quantity
    requested: Quantity
    limited: Quantity
    """The sum of limits of the containers and pods that have one."""
    without_limit: int
    """Pods with a container that nothing limits: they may take all there is."""
    requested_by_class: dict[PodQOSClass, Quantity]

    @property
    def reserved(self) -> Quantity:
        """What the system keeps: capacity minus allocatable."""
        return self.capacity - self.allocatable

    @property
    def free(self) -> Quantity:
        """What the scheduler can still promise."""
        return self.allocatable - self.requested

    @property
    def full(self) -> bool:
        """As `is_full`."""
        return is_full(self.allocatable.milli_value, self.requested.milli_value)


class NodeAllocation(Struct, frozen=True):
    """All that a node has promised."""

    pods: int
    max_pods: int
    pods_by_class: dict[PodQOSClass, int]
    resources: tuple[ResourceAllocation, ...]

    @property
    def pods_full(self) -> bool:
        """Whether no pod fits any more, whatever it requests."""
        return is_full(self.max_pods, self.pods)


def node_allocation(node: Node, pods: Iterable[Pod], *, features: Features = REFERENCE) -> NodeAllocation:
    """Sum what the pods of a node ask for; pods bound elsewhere and finished ones are left out."""
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
    """What one pod asks for."""

    qos_class: PodQOSClass
    requests: ResourceList
    limits: ResourceList
    limited: frozenset[str]
    """The resources of which each container that runs with the others has a limit, or the pod itself."""


def limited_resources(pod: Pod, features: Features) -> frozenset[str]:
    """The resources that nothing in the pod may use without a limit, once its init containers have ended."""
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
    """How much of what is allocatable an amount is, in whole per cent, rounded down; 0 where nothing is allocatable."""
    return 100 * amount // allocatable if allocatable > 0 else 0
