"""Which candidate is taken: criteria in order, each keeps the best of what the one before has left.

    1. the fewest victims that violate a budget
    2. the lowest priority of the most important victim
    3. the smallest sum of priorities, 2^31 added to each
    4. the fewest victims
    5. the latest start of the most important victims: of each node the earliest among its victims with the highest
       priority; a pod that has not started starts now
    6. any of those that are left

Source: pickOneNodeForPreemption in pkg/scheduler/framework/preemption/preemption.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from podrules.scheduling.scheduler.preemption.victims import Candidate


class Criterion(StrEnum):
    """What decides between candidates."""

    FEWEST_PDB_VIOLATIONS = "fewestPDBViolations"
    LOWEST_TOP_PRIORITY = "lowestTopPriority"
    SMALLEST_PRIORITY_SUM = "smallestPrioritySum"
    FEWEST_VICTIMS = "fewestVictims"
    LATEST_START = "latestStart"
    FIRST = "first"
    """Nothing does: any of several may be taken."""


class NodeChoice(Struct, frozen=True):
    """What the criteria leave."""

    best: tuple[str, ...]
    """The nodes that tie at every criterion, in the order of the candidates; several: any of them may be taken."""
    decided_by: Criterion | None
    """The last criterion that was needed; None: there was at most one candidate."""


_NOW: Final = datetime.max.replace(tzinfo=UTC)
_COSTS: Final[Mapping[Criterion, Callable[[Candidate], Any]]] = {
    Criterion.FEWEST_PDB_VIOLATIONS: lambda candidate: candidate.num_pdb_violations,
    Criterion.LOWEST_TOP_PRIORITY: lambda candidate: candidate.highest_priority,
    Criterion.SMALLEST_PRIORITY_SUM: lambda candidate: candidate.sum_priorities,
    Criterion.FEWEST_VICTIMS: lambda candidate: len(candidate.victims),
    Criterion.LATEST_START: lambda candidate: _NOW - (candidate.earliest_start or _NOW),
}
"""In order; the least is the best."""


def select_candidate(candidates: Sequence[Candidate]) -> NodeChoice:
    """Apply the criteria until one candidate is left."""
    left = list(candidates)
    if len(left) <= 1:
        return NodeChoice(tuple(candidate.node for candidate in left), None)
    for criterion, cost in _COSTS.items():
        costs = [cost(candidate) for candidate in left]
        least = min(costs)
        left = [candidate for candidate, own in zip(left, costs, strict=True) if own == least]
        if len(left) == 1:
            return NodeChoice((left[0].node,), criterion)
    return NodeChoice(tuple(candidate.node for candidate in left), Criterion.FIRST)
