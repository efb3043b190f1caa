"""The scores of NodeResourcesFit and NodeResourcesBalancedAllocation, and the arguments of both.

    scoringStrategy  absent: LeastAllocated; its resources, absent: cpu and memory; a weight of 0 counts as 1

Source: k8s.io/kube-scheduler/config/v1/types_pluginargs.go at v0.36.3,
pkg/scheduler/apis/config/v1/defaults.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from podrules.api.model.base import Model
from podrules.api.model.misfit import shown
from podrules.api.model.quantity import ZERO
from podrules.pod.resources import (
    CPU,
    DEFAULT_MEMORY_REQUEST,
    DEFAULT_MILLI_CPU_REQUEST,
    MEMORY,
    PodResourcesOptions,
    is_scalar_resource_name,
    pod_requests,
    scheduler_options,
)
from podrules.scheduling.scheduler.framework.answers import SKIP
from podrules.scheduling.scheduler.framework.interface import MAX_NODE_SCORE, CycleContext, PreScoreResult, WithoutState
from podrules.scheduling.scheduler.plugins.node_resources.columns import PODS, Accounting, allocatable
from podrules.scheduling.scheduler.plugins.scores import UtilizationShapePoint, check_shape, rounded_mean, shape_scores

LEAST_ALLOCATED: Final = "LeastAllocated"
MAX_ALLOCATED: Final = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"
_STRATEGIES: Final = (LEAST_ALLOCATED, MAX_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)


class ResourceSpec(Model, frozen=True):
    """``resources[]``: a resource and how much it counts."""

    name: str = ""
    weight: Annotated[int, Meta(ge=0, le=100)] = 0


class RequestedToCapacityRatioParam(Model, frozen=True):
    """``requestedToCapacityRatio``."""

    shape: tuple[UtilizationShapePoint, ...] = ()

    def __post_init__(self) -> None:
        """Check the shape."""
        if not self.shape:
            raise ValueError("Required value: write at least one point in shape")
        check_shape(self.shape)


class ScoringStrategy(Model, frozen=True):
    """``scoringStrategy``."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None

    def __post_init__(self) -> None:
        """Check the type and what belongs to it (ValidateNodeResourcesFitArgs)."""
        if self.type not in _STRATEGIES:
            raise ValueError(f"Unsupported value: {shown(self.type)}: write one of {', '.join(_STRATEGIES)} in type")
        if (self.requested_to_capacity_ratio is None) is (self.type == REQUESTED_TO_CAPACITY_RATIO):
            raise ValueError("Invalid value: requestedToCapacityRatio and the type of that name need each other")


class NodeResourcesFitArgs(Model, frozen=True):
    """``pluginConfig[].args`` of NodeResourcesFit."""

    ignored_resources: tuple[str, ...] = ()
    """Extended resources that the filter passes over."""
    ignored_resource_groups: tuple[str, ...] = ()
    """The same for all of a group: ``example.com`` for ``example.com/gpu``."""
    scoring_strategy: ScoringStrategy | None = None

    @property
    def strategy(self) -> ScoringStrategy:
        """The strategy in force."""
        return self.scoring_strategy or ScoringStrategy(type=LEAST_ALLOCATED)


class NodeResourcesBalancedAllocationArgs(Model, frozen=True):
    """``pluginConfig[].args`` of NodeResourcesBalancedAllocation."""

    resources: tuple[ResourceSpec, ...] = ()

    def __post_init__(self) -> None:
        """Check the resources (ValidateNodeResourcesBalancedAllocationArgs)."""
        if len({spec.name for spec in self.resources}) < len(self.resources) or any(
            spec.weight > 1 for spec in self.resources
        ):
            raise ValueError("Invalid value: write each name of resources once, with weight 1")


def weighted(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    """The resources in force: the defaults when none are given, no weight below 1."""
    given = resources or (ResourceSpec(CPU), ResourceSpec(MEMORY))
    return tuple(ResourceSpec(spec.name, spec.weight or 1) for spec in given)


# How full nodes would be with the pod, and what that is worth.
#
#     a resource counts on a node  when the node has any of it, and the pod asks for it or it is cpu, memory or
#                                  ephemeral storage
#     LeastAllocated               sum(weight * ((capacity - requested) * 100 / capacity)) / sum(weight)
#     MostAllocated                sum(weight * (min(requested, capacity) * 100 / capacity)) / sum(weight)
#     RequestedToCapacityRatio     round(sum(weight * shape(requested * 100 / capacity)) / sum(weight)) over the
#                                  resources with a score above 0; a shape is linear between its points
#     balanced                     50 + (50 + with the pod - without it) / 2, each (1 - deviation of the shares) * 100;
#                                  until 1.35 the balance with the pod alone
#
# Every division is of integers and cuts towards zero, save where a rounding is written.
#
# Source: pkg/scheduler/framework/plugins/noderesources/{resource_allocation,least_allocated,most_allocated,
# requested_to_capacity_ratio,balanced_allocation}.go and plugins/helper/shape_score.go at v1.36.3.

_FIT_OPTIONS: Final = PodResourcesOptions(
    skip_pod_level_resources=True,
    non_missing_container_requests={CPU: DEFAULT_MILLI_CPU_REQUEST, MEMORY: DEFAULT_MEMORY_REQUEST},
)

Column = NDArray[np.int64]


class Allocation(Struct, frozen=True):
    """One resource over some nodes; where it does not count, all three are 0."""

    weight: int
    requested: Column
    """By the node's pods and this one."""
    allocated: Column
    """By the node's pods."""
    capacity: Column


def requested_amounts(
    context: CycleContext, resources: Sequence[ResourceSpec], *, use_requested: bool
) -> tuple[int, ...]:
    """What the pod asks for, in the order of ``resources`` (calculatePodResourceRequestList).

    NodeResourcesFit does not hand its feature gates on to its scorer (NewFit), so its score sums up the containers and
    passes over the pod's own ``spec.resources``, on which its filter decides. Kept, for it changes which node wins.

    With ``use_requested`` what is asked for counts and no more: not the 100m and 200Mi of containers that ask for none.
    """
    options = scheduler_options(context.features) if use_requested else _FIT_OPTIONS
    requests = pod_requests(context.pod, options)
    amounts = (requests.get(spec.name, ZERO) for spec in resources)
    return tuple(
        amount.milli_value if spec.name == CPU else amount.value
        for spec, amount in zip(resources, amounts, strict=True)
    )


def allocations(
    context: CycleContext,
    resources: Sequence[ResourceSpec],
    amounts: Sequence[int],
    rows: NDArray[np.int32],
    *,
    use_requested: bool,
) -> tuple[Allocation, ...]:
    """Each resource on the given rows (calculateNodeAllocatableRequest)."""
    capacities = context.table.nodes.derived(allocatable)
    accounts = context.table.pods.derived(Accounting(context.features))
    used = accounts.requested if use_requested else accounts.nonzero
    found: list[Allocation] = []
    for spec, amount in zip(resources, amounts, strict=True):
        capacity = capacities.of(spec.name)[rows]
        if spec.name == PODS or (amount == 0 and is_scalar_resource_name(spec.name)):
            capacity = np.zeros_like(capacity)
        counts = capacity != 0
        allocated = np.where(counts, used.of(spec.name)[rows], 0)
        found.append(Allocation(spec.weight, np.where(counts, allocated + amount, 0), allocated, capacity))
    return tuple(found)


def strategy_score(strategy: ScoringStrategy, found: Sequence[Allocation]) -> Column:
    """The score of each node by NodeResourcesFit's strategy."""
    ratio = strategy.requested_to_capacity_ratio
    total, weights = np.zeros_like(found[0].capacity), np.zeros_like(found[0].capacity)
    for entry in found:
        requested, capacity = entry.requested, entry.capacity
        counts = capacity != 0
        if ratio:
            score = shape_scores(ratio.shape, requested, capacity)
            counts &= score > 0
        elif strategy.type == MAX_ALLOCATED:
            score = _divided(np.minimum(requested, capacity) * MAX_NODE_SCORE, capacity)
        else:
            score = _divided((capacity - requested) * MAX_NODE_SCORE, capacity)
            score = np.where(requested > capacity, 0, score)
        total += np.where(counts, score * entry.weight, 0)
        weights += np.where(counts, entry.weight, 0)
    return rounded_mean(total, weights) if ratio else _divided(total, weights)


def balanced(found: Sequence[Allocation], *, compared: bool) -> Column:
    """The score of each node by NodeResourcesBalancedAllocation (balancedResourceScorer).

    Since 1.36 the balance without the pod counts, too (``compared``).
    """
    half = MAX_NODE_SCORE // 2
    capacities = [entry.capacity for entry in found]
    with_pod = _balance([entry.requested for entry in found], capacities)
    if not compared:
        return with_pod
    without_pod = _balance([entry.allocated for entry in found], capacities)
    return half + _divided(half + with_pod - without_pod, np.full_like(with_pod, 2))


def _balance(requested: Sequence[Column], capacities: Sequence[Column]) -> Column:
    """``(1 - deviation) * 100`` of the shares in use; one share or none has no deviation (balancedResourceScore)."""
    size = len(capacities[0])
    counted = [capacity != 0 for capacity in capacities]
    shares = [
        np.minimum(amount / np.where(counts, capacity, 1), 1.0)
        for amount, capacity, counts in zip(requested, capacities, counted, strict=True)
    ]
    number = np.sum(counted, axis=0)
    signed = np.zeros(size)
    for share, counts in zip(shares, counted, strict=True):
        # The difference of two shares: the first has a plus, the second a minus.
        signed = np.where(counts, share - signed, signed)
    deviation = np.where(number == 2, np.abs(signed / 2), 0)
    if len(shares) > 2:
        total, squares = np.zeros(size), np.zeros(size)
        for share, counts in zip(shares, counted, strict=True):
            total += np.where(counts, share, 0)
        mean = total / np.maximum(number, 1)
        for share, counts in zip(shares, counted, strict=True):
            squares += np.where(counts, (share - mean) * (share - mean), 0)
        deviation = np.where(number > 2, np.sqrt(squares / np.maximum(number, 1)), deviation)
    return ((1 - deviation) * MAX_NODE_SCORE).astype(np.int64)


def _divided(left: Column, right: Column) -> Column:
    """Whole division; by 0: 0. Where it counts nothing is below zero, so that it rounds down as Go's does."""
    return np.where(right == 0, 0, left // np.where(right == 0, 1, right))


class NodeResourcesBalancedAllocation:
    """Ranks by whether the pod evens out the shares of a node's resources that are in use.

    Requests count as they are: a container that asks for nothing adds nothing.
    """

    name: Final = "NodeResourcesBalancedAllocation"
    args_type = NodeResourcesBalancedAllocationArgs
    without_pre_score = WithoutState.COMPUTED

    def pre_score(self, context: CycleContext, feasible: NDArray[np.int32]) -> PreScoreResult:  # noqa: ARG002 - Protocol
        """What the pod adds to each scored resource; Skip when that is nothing."""
        amounts = requested_amounts(context, self._resources(context), use_requested=True)
        return PreScoreResult(state=amounts) if any(amounts) else PreScoreResult(SKIP)

    def score(self, context: CycleContext, state: tuple[int, ...], feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        """How each feasible node's balance changes."""
        found = allocations(context, self._resources(context), state, feasible, use_requested=True)
        return balanced(found, compared=context.features.balance_compared)

    def _resources(self, context: CycleContext) -> tuple[ResourceSpec, ...]:
        args: NodeResourcesBalancedAllocationArgs = context.args.get(self.name) or NodeResourcesBalancedAllocationArgs()
        return weighted(args.resources)
