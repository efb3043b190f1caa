"""What-if: places several specs one replica after the other; each sees the ones before.

    order       by priority, the highest first, then as given: as the scheduling queue has them (PrioritySort)
    a replica   one scheduling cycle; of the nodes with the highest score the first of the cluster is taken, where
                kube-scheduler takes any of them
    no node     preemption, where it is allowed: the victims are gone and the replica takes their place, as if they had
                ended at once; budgets allow less for each victim that was ready. Controllers make new pods for
                victims; those are not placed here
    the end     the first replica that fits nowhere ends its spec: the others are like it. So does a cycle that fails,
                and a pod that is held back is not placed at all
    nodeName    a pod that names its node itself is its kubelet's to take or refuse (`named`)
    claims      each replica has its own of templates and of ephemeral volumes; what was to be bound is bound once it is
                placed (`binding`), and devices are taken (`devices`)

Source: pkg/scheduler/framework/plugins/queuesort/priority_sort.go and pkg/scheduler/schedule_one.go at v1.36.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.model.pod import Pod
from podrules.model.pod_reference import reference
from podrules.model.policy import PodDisruptionBudget
from podrules.model.selectors import SelectorError
from podrules.model.snapshot import ClusterSnapshot
from podrules.model.storage import PersistentVolumeClaim
from podrules.placement.binding import volumes_bound
from podrules.placement.claims import with_claims, with_claims_of
from podrules.placement.device_claims import with_device_claims
from podrules.placement.devices import devices_freed, devices_taken
from podrules.placement.likely import likely_placement, named_placement
from podrules.placement.outcome import Placement
from podrules.placement.planned import AchievedSpread, AwaitedPod, Origin, PlannedSpec, PlannedVictim
from podrules.placement.replicas import new_numbers, replica
from podrules.placement.situation import Situation
from podrules.placement.spreading import SHOWN_LEFT_OUT
from podrules.reachability import NodeReach
from podrules.safety import Guarantee, owner_guarantee
from podrules.scheduler.cycle import Filtered, pre_enqueue, score_nodes
from podrules.scheduler.framework.interface import CycleContext
from podrules.scheduler.framework.node_table import NodeTable
from podrules.scheduler.framework.nominated import nominated_rows
from podrules.scheduler.framework.planned_pods import planned_uid
from podrules.scheduler.plugins.default_preemption import (
    Victim,
    is_terminating_by_preemption,
    priority_of,
    with_violations,
)
from podrules.scheduler.plugins.pod_topology_spread.args import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY
from podrules.scheduler.plugins.pod_topology_spread.common import constraints_in_force
from podrules.scheduler.plugins.pod_topology_spread.filtering import domains, left_out, spread_state
from podrules.scheduler.preemption import preempt

__all__ = ["Demand", "plan"]

ZONE: Final = "topology.kubernetes.io/zone"
MAX_REPLICAS: Final = 100_000
"""Of a spec of which as many are wanted as fit."""


class Demand(Struct, frozen=True):
    """Pods that are wanted."""

    name: str
    """``deployment/web``: what makes the pods, which labels each of them (`replicas`), and its name."""
    situation: Situation
    """Its next pod, as it will be stored, and the cluster as it is."""
    replicas: int | None
    """None: as many as fit."""
    first: int = 0
    """The number of the first: ``ordinals.start`` of a StatefulSet."""
    claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    """StatefulSets only."""
    reach: NodeReach | None = None
    """Whether the node answers that its pods name themselves; None: not known, or they name none."""
    there: int = 0
    """Pods that it has already."""
    suspended: bool = False
    """Whether its controller makes no pods for now."""
    awaited: AwaitedPod | None = None
    """Which pod its StatefulSet waits for."""
    origin: Origin = "manifest"
    """Why they are wanted."""


class _Placed(Struct, frozen=True):
    table: NodeTable
    snapshot: ClusterSnapshot
    budgets: Sequence[PodDisruptionBudget]
    rows: tuple[int, ...]
    victims: tuple[PlannedVictim, ...]
    stopped: Placement | None
    unaided: int
    """How many came before the first victim."""


def plan(demands: Sequence[Demand], *, preemption: bool) -> tuple[PlannedSpec, ...]:
    """Place all of them, in the order of the queue.

    Args:
        demands: All of one cluster: their tables are the same.
        preemption: Whether pods of lower priority may have to go.
    """
    found = _all_placed(demands, preemption=preemption)
    if any(spec.victims for spec in found[:-1]):
        # The victims of one leave room to the next, or the pods that they yield to take it.
        alone = _all_placed(demands, preemption=False)
        found = [
            replace(spec, without_preemption=other.placed, nodes_unaided=other.nodes)
            for spec, other in zip(found, alone, strict=True)
        ]
    return tuple(found)


def _all_placed(demands: Sequence[Demand], *, preemption: bool) -> list[PlannedSpec]:
    found: list[PlannedSpec] = []
    if not demands:
        return found
    table, snapshot = demands[0].situation.table, demands[0].situation.snapshot
    budgets: Sequence[PodDisruptionBudget] = snapshot.pod_disruption_budgets
    for demand in sorted(demands, key=lambda demand: -priority_of(demand.situation.pod)):
        # Specs may share a name: their place tells their pods apart.
        replicas = _Replicas(demand, len(found))
        before = replace(demand.situation, table=table, snapshot=snapshot)
        placed = _place(replicas, before, budgets, preemption=preemption)
        table, snapshot, budgets = placed.table, placed.snapshot, placed.budgets
        found.append(_planned(replicas, placed))
    return found


class _Replicas(Struct, frozen=True):
    """The pods of a demand."""

    demand: Demand
    place: int
    """The demand's index among all."""

    @property
    def kind(self) -> str:
        return self.demand.name.partition("/")[0]

    def numbers(self) -> Iterator[int]:
        demand = self.demand
        most = MAX_REPLICAS if demand.replicas is None else demand.replicas
        situation = demand.situation
        return islice(new_numbers(situation.pod, self.kind, demand.first, situation.snapshot.pods), most)

    def before(self, number: int, situation: Situation) -> Situation:
        """One of them with its claims before a cluster."""
        demand = self.demand
        made = replica(demand.situation.pod, self.kind, number, uid=planned_uid(self.place, number))
        named, claims = with_claims_of(made, demand.claim_templates)
        pod, snapshot = with_device_claims(named, with_claims(situation.snapshot, claims))
        return replace(situation, pod=pod, snapshot=snapshot)


def _place(
    replicas: _Replicas, situation: Situation, budgets: Sequence[PodDisruptionBudget], *, preemption: bool
) -> _Placed:
    rows: list[int] = []
    victims: list[PlannedVictim] = []
    unaided: int | None = None
    stopped = None
    first = replicas.before(replicas.demand.first, situation)
    if first.pod.spec.node_name:
        return _place_named(replicas, situation, budgets)
    if not pre_enqueue(first.pod, first.snapshot, first.framework, features=first.features).ok:
        return _Placed(first.table, first.snapshot, budgets, (), (), likely_placement(first), 0)
    for number in replicas.numbers():
        situation = replicas.before(number, situation)
        filtered = situation.filtered()
        row = _best(filtered)
        if row is None:
            room = _make_room(situation, filtered, budgets) if preemption else None
            if room is None:
                stopped = likely_placement(situation)
                break
            row, situation, budgets = room.row, room.situation, room.budgets
            victims += room.victims
            unaided = len(rows) if unaided is None else unaided
        rows.append(row)
        situation = _with_pod(situation, filtered, row)
    alone = len(rows) if unaided is None else unaided
    return _Placed(situation.table, situation.snapshot, budgets, tuple(rows), tuple(victims), stopped, alone)


def _place_named(replicas: _Replicas, situation: Situation, budgets: Sequence[PodDisruptionBudget]) -> _Placed:
    """Pods that name their node themselves: its kubelet takes one after the other."""
    rows: list[int] = []
    for number in replicas.numbers():
        situation = replicas.before(number, situation)
        found = named_placement(situation, replicas.demand.reach)
        if not found.best:
            return _Placed(situation.table, situation.snapshot, budgets, tuple(rows), (), found, len(rows))
        rows.append(situation.table.index[found.best[0]])
        situation = replace(situation, table=situation.table.with_pods([(situation.pod, found.best[0])]))
    return _Placed(situation.table, situation.snapshot, budgets, tuple(rows), (), None, len(rows))


def _with_pod(situation: Situation, filtered: Filtered, row: int) -> Situation:
    """The same with its pod on a node."""
    snapshot = devices_taken(volumes_bound(situation.snapshot, filtered, row), filtered, row)
    table = situation.table.with_pods([(situation.pod, situation.table.names[row])])
    return replace(situation, table=table, snapshot=snapshot)


def _best(filtered: Filtered) -> int | None:
    """The row that is taken; None: no node fits, or the cycle fails."""
    if not len(filtered.feasible) or filtered.error:
        return None
    best = score_nodes(filtered).best
    return int(best[0]) if len(best) else None


class _Room(Struct, frozen=True):
    """A node that preemption frees."""

    row: int
    situation: Situation
    """Without the victims."""
    budgets: Sequence[PodDisruptionBudget]
    """What they allow afterwards."""
    victims: Sequence[PlannedVictim]


def _make_room(situation: Situation, filtered: Filtered, budgets: Sequence[PodDisruptionBudget]) -> _Room | None:
    """None: preemption frees none, or the cycle fails, which preempts nobody."""
    if len(filtered.feasible) or filtered.error:
        return None
    found = preempt(filtered, budgets)
    if not found.status.ok or not found.best:
        return None
    candidate = found.best[0]
    gone = [victim.pod for victim in candidate.victims]
    return _Room(
        row=situation.table.index[candidate.node],
        situation=replace(situation.without_pods(gone), snapshot=devices_freed(situation.snapshot, gone)),
        budgets=[_after(budget, gone) for budget in budgets],
        victims=[_victim(victim, candidate.node, filtered) for victim in candidate.victims],
    )


def _victim(victim: Victim, node: str, filtered: Filtered) -> PlannedVictim:
    pod = victim.pod
    leaving = pod.metadata.deletion_timestamp is not None
    nominated = nominated_rows(filtered.context).get(filtered.context.table.index[node], ())
    return PlannedVictim(
        reference(pod),
        node,
        priority_of(pod),
        () if leaving else tuple(f"{budget.metadata.namespace}/{budget.metadata.name}" for budget in victim.violates),
        leaving,
        owner_guarantee(pod).guarantee is not Guarantee.NOT_REPLACED,
        tuple(map(reference, nominated)) if is_terminating_by_preemption(pod) else (),
    )


def _after(budget: PodDisruptionBudget, gone: Sequence[Pod]) -> PodDisruptionBudget:
    """A budget as the disruption controller has it when pods are gone: each that was ready takes one from it."""
    exhausted = replace(budget, status=replace(budget.status, disruptions_allowed=0))
    taken = sum(
        bool(victim.violates) for victim in with_violations((pod for pod in gone if pod.is_ready), (exhausted,))
    )
    if not taken:
        return budget
    left = max(budget.status.disruptions_allowed - taken, 0)
    return replace(budget, status=replace(budget.status, disruptions_allowed=left))


def _planned(replicas: _Replicas, placed: _Placed) -> PlannedSpec:
    demand = replicas.demand
    names, zones = placed.table.names, placed.table.label(ZONE)
    by_zone = Counter(zones.values[code] if (code := zones.codes[row]) >= 0 else "" for row in placed.rows)
    pod = demand.situation.pod
    full = demand.replicas is None and len(placed.rows) == MAX_REPLICAS
    return PlannedSpec(
        name=demand.name,
        namespace=pod.metadata.namespace,
        priority=priority_of(pod),
        wanted=demand.replicas,
        placed=len(placed.rows),
        without_preemption=placed.unaided,
        nodes=dict(Counter(names[row] for row in placed.rows).most_common()),
        nodes_unaided=dict(Counter(names[row] for row in placed.rows[: placed.unaided]).most_common()),
        zones=dict(sorted(by_zone.items())),
        spread=tuple(_achieved(replicas.before(demand.first, replace(demand.situation, table=placed.table)))),
        victims=placed.victims,
        stopped=placed.stopped,
        limit=MAX_REPLICAS if full else None,
        there=demand.there,
        suspended=demand.suspended,
        awaited=demand.awaited,
        origin=demand.origin,
    )


def _achieved(end: Situation) -> Iterator[AchievedSpread]:
    """How the pods that match a replica's constraints stand at the end."""
    context = CycleContext(end.pod, end.table, end.snapshot, end.features, end.framework.args, {}, end.now)
    for action in (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY):
        try:
            constraints = constraints_in_force(context, action)
        except SelectorError:
            return  # No replica was placed: the cycle's error says why.
        for constraint, spread in zip(constraints, spread_state(context, constraints).spreads, strict=True):
            found = domains(spread)
            minimum = spread.min_match_num if found else 0
            yield AchievedSpread(
                field=constraint.field,
                topology_key=constraint.topology_key,
                when_unsatisfiable=action,
                max_skew=constraint.max_skew,
                minimum=minimum,
                skew=max((domain.matching for domain in found), default=0) - minimum,
                domains=found,
                left_out=left_out(spread)[:SHOWN_LEFT_OUT],
                left_out_count=len(left_out(spread)),
            )
