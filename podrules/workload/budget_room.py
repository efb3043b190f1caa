"""How many evictions a PodDisruptionBudget allows at once, as the disruption controller will count.

    maxUnavailable          of all that the pods' controllers want, rounded up; the rest must be healthy
    minAvailable, percent   of all that the pods' controllers want, rounded up
    minAvailable, number    that many of the pods, with or without a controller
    no scale                a DaemonSet, a Job: counting by controllers fails, and no eviction is allowed

A controller counts with all the pods that it wants, even if the budget selects only some of them. A pod without a
controller adds nothing to that; if no pod has one, no eviction is allowed.

Source: pkg/controller/disruption/disruption.go (getExpectedPodCount, getExpectedScale, updatePdbStatus) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from podrules.api.model.policy import PodDisruptionBudget
from podrules.api.scaled import percentage, scaled

_UNSCALABLE: Final = {
    "DaemonSet": "daemonsets.apps does not implement the scale subresource",
    "Job": "jobs.batch does not implement the scale subresource",
    "CronJob": "jobs.batch does not implement the scale subresource",
}
_UNMANAGED: Final = "no controller makes them, and only pods of controllers are counted"


class CoveredPods(Struct, frozen=True):
    """Pods of one controller that a budget selects."""

    kind: str
    """The controller's kind; a Deployment represents its ReplicaSets, a CronJob its Jobs. Empty: no controller."""
    controller: str
    """A unique name of the controller."""
    pods: int | None
    """The number of pods, including finished ones and those that are being deleted. None: not known."""
    healthy: int
    """The number of pods that are Ready and are not being deleted."""
    wanted: int | None
    """The total number of pods that the controller wants; None: not known."""


class BudgetRoom(Struct, frozen=True, rename="camel"):
    """The evictions that a budget allows."""

    expected: int
    """The number of pods that the controller counts; 0 if counting fails."""
    healthy: int
    desired_healthy: int
    allowed: int
    """``status.disruptionsAllowed``. A pod that several budgets select is not evicted, regardless of this number."""
    failure: str
    """Why the pods cannot be counted, in the disruption controller's words if it has some: it then allows no eviction.
    Empty: they can be counted."""


def counts_pods(budget: PodDisruptionBudget) -> bool:
    """Whether a budget counts the pods themselves, and not the number that their controllers want."""
    return budget.spec.max_unavailable is None and not isinstance(budget.spec.min_available, str)


def budget_room(budget: PodDisruptionBudget, covered: Sequence[CoveredPods]) -> BudgetRoom | None:
    """The evictions that a budget allows of these pods, which are all that it selects; None: a number is not known."""
    least, most = budget.spec.min_available, budget.spec.max_unavailable
    healthy = sum(one.healthy for one in covered)
    if counts_pods(budget):
        expected = _sum([one.pods for one in covered]) if least is not None else 0
        return None if expected is None else _room(expected, healthy, int(least or 0))
    failure = next((_UNSCALABLE[one.kind] for one in covered if one.kind in _UNSCALABLE), "")
    if covered and not any(one.kind for one in covered):
        failure = _UNMANAGED
    if failure:
        return BudgetRoom(0, healthy, 0, 0, failure)
    expected = _sum(list({one.controller: one.wanted for one in covered if one.kind}.values()))
    if expected is None:
        return None
    if most is not None:
        return _room(expected, healthy, max(0, expected - (scaled(most, expected, up=True) or 0)))
    return _room(expected, healthy, scaled(least or 0, expected, up=True) or 0)


def budget_way(least: int | str | None, most: int | str | None, expected: int, pods: int | None = None) -> str:
    """The remedy for a budget that requires all of its pods, once all are Ready; more pods only if these help.

    Args:
        least: Its minAvailable.
        most: Its maxUnavailable.
        expected: The number of pods that its controller counts.
        pods: The number of these that it selects; None: all.
    """
    pods = expected if pods is None else pods
    if most is None and isinstance(least, int):
        return f"minAvailable {max(0, min(least, pods) - 1)}, or {least + 1} pods (now {pods})"
    missing = f"maxUnavailable {max(0, expected - pods) + 1}"
    percent = percentage(least) if most is None and isinstance(least, str) else None
    if percent is None or not expected:
        return missing
    lower = f"minAvailable {max(0, pods - 1) * 100 // expected}%, or {missing} in its place"
    # Rounded up, a share below 100% excludes a pod only above some number of pods.
    more = -(-100 // (100 - percent)) if percent < 100 and pods == expected else 0
    return f"{lower}, or {more} pods (now {pods})" if more else lower


def _sum(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _room(expected: int, healthy: int, desired: int) -> BudgetRoom:
    return BudgetRoom(expected, healthy, desired, max(0, healthy - desired) if expected else 0, "")
