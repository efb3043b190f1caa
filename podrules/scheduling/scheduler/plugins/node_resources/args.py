"""Arguments of NodeResourcesFit and NodeResourcesBalancedAllocation.

    scoringStrategy  absent: LeastAllocated; its resources, absent: cpu and memory; a weight of 0 counts as 1

Source: k8s.io/kube-scheduler/config/v1/types_pluginargs.go at v0.36.3,
pkg/scheduler/apis/config/v1/defaults.go at v1.36.3.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from podrules.api.model.base import Model
from podrules.api.model.misfit import shown
from podrules.pod.resources import CPU, MEMORY
from podrules.scheduling.scheduler.plugins.scores import UtilizationShapePoint, check_shape

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
