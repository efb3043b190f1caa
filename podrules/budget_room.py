"""How many pods a PodDisruptionBudget lets go at once, as the disruption controller will count them.

    maxUnavailable          of all that the pods' controllers want, rounded up; the rest have to be healthy
    minAvailable, percent   of all that the pods' controllers want, rounded up
    minAvailable, number    so many, with or without a controller
    no scale                a DaemonSet, a Job: what counts by controllers is not counted, and none goes

A pod without a controller adds nothing to what controllers want; where no pod has one, none goes.

Source: pkg/controller/disruption/disruption.go (getExpectedPodCount, getExpectedScale, updatePdbStatus) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from podrules.model.policy import PodDisruptionBudget
from podrules.scaled import scaled

__all__ = ["BudgetRoom", "CoveredPods", "budget_room"]

_UNSCALABLE: Final = {
    "DaemonSet": "daemonsets.apps does not implement the scale subresource",
    "Job": "jobs.batch does not implement the scale subresource",
    "CronJob": "jobs.batch does not implement the scale subresource",
}
_UNMANAGED: Final = "no controller makes them, and only pods of controllers are counted"


class CoveredPods(Struct, frozen=True):
    """Pods of one controller that a budget selects."""

    kind: str
    """Who makes them; a Deployment stands for its ReplicaSets, a CronJob for its Jobs. Empty: no controller."""
    pods: int
    """Finished ones and those that are being deleted count."""
    healthy: int
    """How many are Ready, and are not being deleted."""
    wanted: int
    """By the controller; without one it does not count."""


class BudgetRoom(Struct, frozen=True, rename="camel"):
    """What a budget lets go."""

    expected: int
    """How many pods the controller counts; 0 where it fails."""
    healthy: int
    desired_healthy: int
    allowed: int
    """How many may be evicted at once."""
    failure: str
    """Why the pods cannot be counted, in the disruption controller's words where it has some: then none goes. Empty:
    they can."""


def budget_room(budget: PodDisruptionBudget, covered: Sequence[CoveredPods]) -> BudgetRoom:
    """What a budget lets go of these pods, which are all that it selects."""
    least, most = budget.spec.min_available, budget.spec.max_unavailable
    healthy = sum(one.healthy for one in covered)
    if most is None and not isinstance(least, str):
        expected = sum(one.pods for one in covered) if least is not None else 0
        return _room(expected, healthy, least or 0)
    failure = next((_UNSCALABLE[one.kind] for one in covered if one.kind in _UNSCALABLE), "")
    if covered and not any(one.kind for one in covered):
        failure = _UNMANAGED
    if failure:
        return BudgetRoom(0, healthy, 0, 0, failure)
    expected = sum(one.wanted for one in covered if one.kind)
    if most is not None:
        return _room(expected, healthy, max(0, expected - (scaled(most, expected, up=True) or 0)))
    return _room(expected, healthy, scaled(least or 0, expected, up=True) or 0)


def _room(expected: int, healthy: int, desired: int) -> BudgetRoom:
    return BudgetRoom(expected, healthy, desired, max(0, healthy - desired) if expected else 0, "")
