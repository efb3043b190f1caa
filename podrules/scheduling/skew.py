"""The spread of a workload's pods. Only data, without arrays: `podrules.scheduling.spread` computes it."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class UncountedReason(Enum):
    """Why a node does not belong to a domain of a constraint."""

    LACKS_KEY = "LacksKey"
    """It lacks a topology key of one of the pod's constraints."""
    NODE_AFFINITY = "NodeAffinity"
    """It does not match the pod's node selector or affinity (nodeAffinityPolicy Honor)."""
    TAINT = "Taint"
    """It has a taint that the pod does not tolerate (nodeTaintsPolicy Honor)."""


class UncountedNodes(Struct, frozen=True, rename="camel"):
    """The nodes that do not count, for one reason."""

    why: UncountedReason
    nodes: int
    node: str
    """The first of them."""
    key: str = ""
    """The missing label."""


class ConstraintSkew(Struct, frozen=True, rename="camel"):
    """One topologySpreadConstraint of a workload's pods, and its current skew."""

    field: str
    topology_key: str
    hard: bool
    """DoNotSchedule; else ScheduleAnyway."""
    domains: int
    most: int
    least: int
    """The global minimum; 0 if there are too few domains."""
    max_skew: int
    most_in: str = ""
    """The domain with the most pods, the first of several."""
    least_in: str | None = None
    """The domain with the fewest pods, the first of several; None: there are fewer domains than minDomains."""
    uncounted: tuple[UncountedNodes, ...] = ()
    """The nodes that do not count, if only one domain counts."""

    @property
    def skew(self) -> int:
        """The skew that maxSkew limits for a new pod."""
        return self.most - self.least

    @property
    def exceeded(self) -> bool:
        """Whether the pods are spread less evenly than new ones would be."""
        return self.skew > self.max_skew


class WorkloadSpread(Struct, frozen=True, rename="camel"):
    """The places of one workload's pods."""

    namespace: str
    kind: str
    name: str
    zones: dict[str, int]
    """The number of pods by zone, for zones with pods."""
    constraints: tuple[ConstraintSkew, ...]

    @property
    def pods(self) -> int:
        """The number of counted pods."""
        return sum(self.zones.values())

    @property
    def exceeded(self) -> ConstraintSkew | None:
        """The constraint with the largest excess over maxSkew, hard ones first."""
        over = [constraint for constraint in self.constraints if constraint.exceeded]
        return max(over, key=lambda one: (one.hard, one.skew - one.max_skew), default=None)

    @property
    def in_one_zone(self) -> bool:
        """Whether one zone has all of several pods."""
        return self.pods > 1 and len(self.zones) == 1
