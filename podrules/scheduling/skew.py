"""How evenly the pods of a workload are spread. Only data, without arrays: `podrules.scheduling.spread` computes it."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

__all__ = ["ConstraintSkew", "Uncounted", "UncountedNodes", "WorkloadSpread"]


class Uncounted(Enum):
    """Why a node is in no domain of a constraint."""

    LACKS_KEY = "LacksKey"
    """It lacks a topology key of one of the pod's constraints."""
    NODE_AFFINITY = "NodeAffinity"
    """It does not match the pod's node selector or affinity (nodeAffinityPolicy Honor)."""
    TAINT = "Taint"
    """It has a taint that the pod does not tolerate (nodeTaintsPolicy Honor)."""


class UncountedNodes(Struct, frozen=True, rename="camel"):
    """Nodes that do not count for one reason."""

    why: Uncounted
    nodes: int
    node: str
    """The first of them."""
    key: str = ""
    """The label that they lack."""


class ConstraintSkew(Struct, frozen=True, rename="camel"):
    """One topologySpreadConstraint of a workload's pods, and its current skew."""

    field: str
    topology_key: str
    hard: bool
    """DoNotSchedule; else ScheduleAnyway."""
    domains: int
    most: int
    least: int
    """The global minimum, 0 where there are too few domains."""
    max_skew: int
    most_in: str = ""
    """The domain that has the most, the first of several."""
    least_in: str | None = None
    """The domain that has the least, the first of several; None: there are fewer domains than minDomains."""
    uncounted: tuple[UncountedNodes, ...] = ()
    """Where one domain alone counts: the nodes that do not."""

    @property
    def skew(self) -> int:
        """What maxSkew limits for a pod to come."""
        return self.most - self.least

    @property
    def exceeded(self) -> bool:
        """Whether the pods are spread less evenly than new ones would be."""
        return self.skew > self.max_skew


class WorkloadSpread(Struct, frozen=True, rename="camel"):
    """Where the pods of one workload are."""

    namespace: str
    kind: str
    name: str
    zones: dict[str, int]
    """Pods by zone, of zones that have any."""
    constraints: tuple[ConstraintSkew, ...]

    @property
    def pods(self) -> int:
        """How many are counted."""
        return sum(self.zones.values())

    @property
    def exceeded(self) -> ConstraintSkew | None:
        """The constraint whose maxSkew is exceeded most, hard ones first."""
        over = [constraint for constraint in self.constraints if constraint.exceeded]
        return max(over, key=lambda one: (one.hard, one.skew - one.max_skew), default=None)

    @property
    def in_one_zone(self) -> bool:
        """Whether several pods would all be lost with one zone."""
        return self.pods > 1 and len(self.zones) == 1
