"""Arguments of NodeResourcesFit and NodeResourcesBalancedAllocation.

    scoringStrategy  absent: LeastAllocated; its resources, absent: cpu and memory; a weight of 0 counts as 1

Source: k8s.io/kube-scheduler/config/v1/types_pluginargs.go at v0.36.3,
pkg/scheduler/apis/config/v1/defaults.go at v1.36.3.
"""

from __future__ import annotations

from typing import Final

from podrules.model.base import Model
from podrules.resources import CPU, MEMORY
from podrules.scheduler.plugins.function_shape import UtilizationShapePoint

__all__ = [
    "LEAST_ALLOCATED",
    "MAX_ALLOCATED",
    "REQUESTED_TO_CAPACITY_RATIO",
    "NodeResourcesBalancedAllocationArgs",
    "NodeResourcesFitArgs",
    "RequestedToCapacityRatioParam",
    "ResourceSpec",
    "ScoringStrategy",
    "weighted",
]

LEAST_ALLOCATED: Final = "LeastAllocated"
MAX_ALLOCATED: Final = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"


class ResourceSpec(Model, frozen=True):
    """``resources[]``: a resource and how much it counts."""

    name: str = ""
    weight: int = 0


class RequestedToCapacityRatioParam(Model, frozen=True):
    """``requestedToCapacityRatio``."""

    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(Model, frozen=True):
    """``scoringStrategy``."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


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


def weighted(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    """The resources in force: the defaults when none are given, no weight below 1."""
    given = resources or (ResourceSpec(CPU), ResourceSpec(MEMORY))
    return tuple(ResourceSpec(spec.name, spec.weight or 1) for spec in given)
