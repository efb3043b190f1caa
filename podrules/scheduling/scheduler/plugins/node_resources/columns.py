"""What nodes can give and what the pods on them asked for, a column for each resource; what is missing.

    allocatable        status.allocatable; cpu in thousandths, the rest in whole units
    requested          the sum over the node's pods of what the scheduler accounts for each (`scheduler_request`)
    nonzero requested  the same, with 100m cpu and 200Mi memory for each container that asks for none

Pods are summed by kind: pods with the same container requests are processed together.

Source: pkg/scheduler/framework/types.go (NodeInfo.update, SetNode, Resource.Add) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.features import Features
from podrules.api.model.pod import Pod, PodReference
from podrules.api.model.quantity import Quantity
from podrules.pod.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    SchedulerRequest,
    is_scalar_resource_name,
    scheduler_request,
)
from podrules.scheduling.scheduler.framework.answers import FAR, Fact
from podrules.scheduling.scheduler.framework.node_table import BoundPods, BoundPodsChange, Nodes

PODS: Final = "pods"
_COUNTED: Final = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE, PODS})
_ALIKE_KEPT: Final = 1 << 14
"""Combinations of shared parts that are remembered: where pods share nothing, none comes again."""
_END_OF_CONTAINER: Final = -1
"""Ends a part of a pod's kind (`_kind`), as those below; identities of objects are never below zero."""
_END_OF_INIT_CONTAINER: Final = -2
_END_OF_SIDECAR: Final = -3
_END_OF_OVERHEAD: Final = -4
_END_OF_POD: Final = -5
_END_OF_STATUS: Final = -6
_END_OF_POD_STATUS: Final = -7
_INFEASIBLE: Final = -8

Column = NDArray[np.int64]


class Amounts(Struct, frozen=True):
    """Amounts of resources, a column each."""

    columns: Mapping[str, Column]
    none: Column
    """The column of a resource that no node or pod names."""

    def of(self, resource: str) -> Column:
        """A resource's column."""
        return self.columns.get(resource, self.none)

    def plus(self, other: Amounts, sign: int) -> Amounts:
        """The sum, or the difference when the sign is -1."""
        names = self.columns.keys() | other.columns.keys()
        return Amounts({name: self.of(name) + sign * other.of(name) for name in names}, self.none)


class NodeAccounts(Struct, frozen=True):
    """What the pods of each node are accounted for."""

    features: Features
    pods: Column
    requested: Amounts
    nonzero: Amounts
    """Only cpu and memory differ from `requested`."""

    def after(self, change: BoundPodsChange) -> NodeAccounts:
        """With the pods that came, or without those that went."""
        other = _accounts(change.pods, change.rows, len(self.pods), self.features)
        return NodeAccounts(
            self.features,
            self.pods + change.sign * other.pods,
            self.requested.plus(other.requested, change.sign),
            self.nonzero.plus(other.nonzero, change.sign),
        )


def allocatable(nodes: Nodes) -> Amounts:
    """What the nodes can give; ``pods`` among the rest."""
    columns = {name: np.zeros(len(nodes), np.int64) for name in (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)}
    for row, node in enumerate(nodes):
        for name, amount in node.status.allocatable.items():
            if name not in columns:
                columns[name] = np.zeros(len(nodes), np.int64)
            columns[name][row] = amount.milli_value if name == CPU else amount.value
    kept = {name: column for name, column in columns.items() if name in _COUNTED or is_scalar_resource_name(name)}
    return Amounts(kept, np.zeros(len(nodes), np.int64))


class Accounting(Struct, frozen=True):
    """Makes the `NodeAccounts` of pods under given features: ``table.pods.derived(Accounting(features))``."""

    features: Features

    def __call__(self, pods: BoundPods) -> NodeAccounts:
        """Sum up the pods of each node."""
        return _accounts(pods, pods.rows, pods.node_count, self.features)


class PodRequests:
    """What pods are accounted for one by one, worked out once for each kind."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self._known: dict[tuple[object, ...], tuple[Pod, SchedulerRequest]] = {}
        """A pod of each kind: the identity of its objects distinguishes the kinds, so they have to stay."""

    def of(self, pod: Pod) -> SchedulerRequest:
        """One pod's."""
        key = _kind(pod)
        if key not in self._known:
            self._known[key] = pod, scheduler_request(pod, self._features)
        return self._known[key][1]


class RequestsOf(Struct, frozen=True):
    """Makes `PodRequests` under given features: ``table.pods.derived(RequestsOf(features))``."""

    features: Features

    def __call__(self, pods: BoundPods) -> PodRequests:
        """None is worked out yet."""
        del pods
        return PodRequests(self.features)


def _accounts(pods: Sequence[Pod], rows: NDArray[np.int32], node_count: int, features: Features) -> NodeAccounts:
    # For each pod the number of its kind, and one pod of each kind.
    seen: dict[tuple[object, ...], int] = {}
    alike: dict[tuple[object, ...], int] = {}
    examples: list[Pod] = []
    codes = np.empty(len(pods), np.int32)
    for index, pod in enumerate(pods):
        parts = _shared_parts(pod)
        code = alike.get(parts)
        if code is None:
            code = seen.setdefault(_kind(pod), len(examples))
            if code == len(examples):
                examples.append(pod)
            if len(alike) < _ALIKE_KEPT:
                alike[parts] = code
        codes[index] = code
    requests = [scheduler_request(pod, features) for pod in examples]

    def summed(amounts: Iterable[int]) -> Column:
        each = np.fromiter(amounts, np.int64, len(requests))
        total = np.zeros(node_count, np.int64)
        np.add.at(total, rows, each[codes])
        return total

    columns = {
        CPU: summed(request.milli_cpu for request in requests),
        MEMORY: summed(request.memory for request in requests),
        EPHEMERAL_STORAGE: summed(request.ephemeral_storage for request in requests),
    }
    for name in {name for request in requests for name in request.scalar}:
        columns[name] = summed(request.scalar.get(name, 0) for request in requests)
    nonzero = {
        CPU: summed(request.nonzero_milli_cpu for request in requests),
        MEMORY: summed(request.nonzero_memory for request in requests),
    }
    none = np.zeros(node_count, np.int64)
    counts = np.bincount(rows, minlength=node_count).astype(np.int64)
    return NodeAccounts(features, counts, Amounts(columns, none), Amounts(columns | nonzero, none))


def _shared_parts(pod: Pod) -> tuple[object, ...]:
    """The objects that `_kind` looks into: pods that have the very same ones are of one kind.

    That holds while they are there. Pods that were made from one template have the same, if they were read in protobuf.
    """
    spec, status = pod.spec, pod.status
    parts: list[object] = [
        id(spec.containers),
        id(spec.init_containers),
        id(spec.overhead),
        id(spec.resources),
        id(status.resources),
        id(status.allocated_resources),
    ]
    for entry in status.container_statuses:
        parts += (entry.name, id(entry.resources), id(entry.allocated_resources))
    parts.append(_END_OF_CONTAINER)
    for entry in status.init_container_statuses:
        parts += (entry.name, id(entry.resources), id(entry.allocated_resources))
    parts += [condition.reason for condition in status.conditions if condition.type == "PodResizePending"]
    return tuple(parts)


def _kind(pod: Pod) -> tuple[object, ...]:
    """Equal for pods with the same accounted request; all that `scheduler_request` reads.

    Amounts are compared by identity: equal texts were parsed once, and an equal amount that was parsed twice only makes
    one kind more. One flat tuple, for this runs for every pod of a cluster.
    """
    spec, status = pod.spec, pod.status
    parts: list[object] = []

    def add(amounts: Mapping[str, Quantity], end: int) -> None:
        parts.extend(amounts)
        parts.extend(map(id, amounts.values()))
        parts.append(end)

    for container in spec.containers:
        add(container.resources.requests, _END_OF_CONTAINER)
    for container in spec.init_containers:
        add(container.resources.requests, _END_OF_SIDECAR if container.restarts_always else _END_OF_INIT_CONTAINER)
    if spec.overhead:
        add(spec.overhead, _END_OF_OVERHEAD)
    if spec.resources is not None:
        add(spec.resources.requests, _END_OF_POD)
    reported = False
    for entry in status.of_containers:
        if entry.resources is not None:
            reported = True
            parts.append(entry.name)
            add(entry.resources.requests, _END_OF_STATUS)
            add(entry.allocated_resources, _END_OF_STATUS)
    if status.resources is not None:
        add(status.resources.requests, _END_OF_POD_STATUS)
        add(status.allocated_resources, _END_OF_POD_STATUS)
    if reported or status.resources is not None:
        parts.extend([container.name for container in (*spec.containers, *spec.init_containers)])
        pending = status.condition("PodResizePending")
        if pending is not None and pending.reason == "Infeasible":
            parts.append(_INFEASIBLE)
    return tuple(parts)


TOO_MANY_PODS: Final = "Too many pods"


class InsufficientResource(Fact, frozen=True):
    """NodeResourcesFit: a resource that the node has too little of; cpu in thousandths, the rest in whole units."""

    resource: str
    requested: int
    """By the pod."""
    used: int
    """Requested by the pods on the node, and by those that were nominated to it and go first."""
    allocatable: int
    nominated: int = 0
    """Of what is used, requested by pods that were nominated to the node: they are not there yet."""
    nominated_pods: tuple[PodReference, ...] = ()

    @property
    def short(self) -> int:
        """What is missing."""
        return self.requested - (self.allocatable - self.used)

    @property
    def too_large(self) -> bool:
        """Whether it would be missing even if nothing ran on the node."""
        return self.requested > self.allocatable - self.nominated

    @property
    def reason(self) -> str:
        """Upstream's reason."""
        return TOO_MANY_PODS if self.resource == PODS else f"Insufficient {self.resource}"

    @property
    def unresolvable(self) -> bool:
        """Whether the whole node has less than the request, which no preemption changes."""
        return self.resource != PODS and self.requested > self.allocatable

    @property
    def distance(self) -> float:
        """What is missing, in parts of what the node has."""
        return self.short / max(self.allocatable, 1) + (FAR if self.too_large else 0.0)
