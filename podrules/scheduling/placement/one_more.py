"""One pod more on a cluster, as a what-if has it: bound where it fits, or where pods that are preempted leave it room.

Victims are gone at once, as if they had ended, and budgets allow less for each victim that was ready.

Source: pkg/scheduler/schedule_one.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.pod_reference import reference
from podrules.api.model.policy import PodDisruptionBudget
from podrules.scheduling.placement.binding import volumes_bound
from podrules.scheduling.placement.devices import devices_freed, devices_taken
from podrules.scheduling.placement.planned import PlannedVictim
from podrules.scheduling.placement.situation import Situation
from podrules.scheduling.scheduler.cycle import FilterResult, score_nodes
from podrules.scheduling.scheduler.framework.interface import nominated_rows
from podrules.scheduling.scheduler.plugins.default_preemption import (
    Victim,
    is_terminating_by_preemption,
    priority_of,
)
from podrules.scheduling.scheduler.preemption import preempt
from podrules.workload.disruption import recounted
from podrules.workload.safety import Guarantee, owner_guarantee


def with_pod(situation: Situation, filtered: FilterResult, row: int) -> Situation:
    """The same with its pod on a node."""
    snapshot = devices_taken(volumes_bound(situation.snapshot, filtered, row), filtered, row)
    table = situation.table.with_pods([(situation.pod, situation.table.names[row])])
    return replace(situation, table=table, snapshot=snapshot)


def best_row(filtered: FilterResult) -> int | None:
    """The row that is taken; None: no node fits, or the cycle fails."""
    if not len(filtered.feasible) or filtered.error:
        return None
    best = score_nodes(filtered).best
    return int(best[0]) if len(best) else None


class Room(Struct, frozen=True):
    """A node that preemption frees."""

    row: int
    situation: Situation
    """Without the victims."""
    budgets: Sequence[PodDisruptionBudget]
    """What they allow afterwards."""
    victims: Sequence[PlannedVictim]


def make_room(situation: Situation, filtered: FilterResult, budgets: Sequence[PodDisruptionBudget]) -> Room | None:
    """None: preemption frees no node, or the cycle fails and preempts no pod."""
    if len(filtered.feasible) or filtered.error:
        return None
    found = preempt(filtered, budgets)
    if not found.status.ok or not found.best:
        return None
    candidate = found.best[0]
    gone = [victim.pod for victim in candidate.victims]
    return Room(
        row=situation.table.index[candidate.node],
        situation=replace(situation.without_pods(gone), snapshot=devices_freed(situation.snapshot, gone)),
        budgets=recounted(budgets, gone=gone),
        victims=[_victim(victim, candidate.node, filtered) for victim in candidate.victims],
    )


def _victim(victim: Victim, node: str, filtered: FilterResult) -> PlannedVictim:
    pod = victim.pod
    leaving = pod.metadata.deletion_timestamp is not None
    owner = owner_guarantee(pod).guarantee
    nominated = nominated_rows(filtered.context).get(filtered.context.table.index[node], ())
    return PlannedVictim(
        reference(pod),
        node,
        priority_of(pod),
        () if leaving else tuple(f"{budget.metadata.namespace}/{budget.metadata.name}" for budget in victim.violates),
        leaving,
        owner is not Guarantee.NOT_REPLACED,
        tuple(map(reference, nominated)) if is_terminating_by_preemption(pod) else (),
        owner is Guarantee.AT_MOST_ONE,
    )
