"""What preemption would do for a pod that fits nowhere, and for one that is nominated.

Source: pkg/scheduler/framework/preemption and plugins/defaultpreemption at v1.36.3; KEP-4832 for the asynchronous part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodReference, on_its_node, reference
from podrules.api.model.policy import PodDisruptionBudget
from podrules.ending.deleted_pod import pod_ending
from podrules.ending.stuck import unseen
from podrules.node.reachability import node_reach
from podrules.pod.platform import Platform, node_platform
from podrules.pod.priority import is_mirror_pod
from podrules.pod.qos import get_pod_qos
from podrules.scheduling.placement.binding import devices_freed
from podrules.scheduling.placement.preemption_victims import (
    CrossNode,
    GoingVictim,
    LeftAlone,
    NominatedNode,
    NoRoom,
    PreemptionPreview,
    Preemptor,
    VictimPod,
)
from podrules.scheduling.placement.scheduler_condition import found_no_victims
from podrules.scheduling.placement.situation import BUDGETS, NODES, Situation, known_part, missing_of
from podrules.scheduling.scheduler.cycle import FilterResult, pre_enqueue
from podrules.scheduling.scheduler.plugins.default_preemption import (
    is_preemption_allowed,
    is_terminating_by_preemption,
    priority_of,
)
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.filtering import FilterState
from podrules.scheduling.scheduler.preemption import Candidate, Preemption, preempt
from podrules.scheduling.scheduler.preemption.cross_node import cross_node_help
from podrules.scheduling.scheduler.preemption.post_filter import potential_rows
from podrules.scheduling.scheduler.preemption.victims import Trials, select_candidate, select_victims_on_node

_MAX_RIVALS = 5
_FEW_NODES: Final = 32
_AFFINITY: Final = "InterPodAffinity"
_LONG_AGO: Final = datetime.fromtimestamp(0, UTC)
"""For a rule that needs the present time only with a Lease."""


def preview(filtered: FilterResult, budgets: Sequence[PodDisruptionBudget]) -> PreemptionPreview | None:
    """The result of PostFilter for a pod that fits nowhere; None: the profile has no DefaultPreemption."""
    found = preempt(filtered, budgets)
    preemption = found.preemption
    if preemption is None:
        return None
    best = found.best[0] if found.best else None
    victims: list[VictimPod] = []
    for victim in () if best is None else best.victims:
        pod, grace = victim.pod, victim.pod.spec.termination_grace_period_seconds
        victims.append(
            VictimPod(
                pod=reference(pod),
                priority=priority_of(pod),
                qos_class=get_pod_qos(pod, features=filtered.context.features).value,
                grace_seconds=30 if grace is None else grace,
                violates=tuple(budget.metadata.name for budget in victim.violates),
                is_static=is_mirror_pod(pod),
            )
        )
    help_elsewhere = None if preemption.not_eligible else cross_node_help(filtered, preemption, budgets)
    return PreemptionPreview(
        not_eligible=preemption.not_eligible,
        potential=len(preemption.potential_nodes),
        candidates=len(preemption.candidates),
        nodes=tuple(candidate.node for candidate in found.best),
        decided_by=str(preemption.choice.decided_by or ""),
        victims=tuple(victims),
        grace_seconds=0 if best is None else best.grace_seconds,
        sampled=preemption.num_candidates if preemption.samples else None,
        elsewhere=None
        if help_elsewhere is None
        else CrossNode(
            help_elsewhere.node,
            tuple(map(on_its_node, help_elsewhere.elsewhere)),
            tuple(map(reference, help_elsewhere.on_node)),
        ),
        left_alone=() if best is None else tuple(_left_alone(filtered, preemption, best)),
        no_room=tuple(_no_room(filtered, preemption)),
        message=found.message,
    )


def preemptor(situation: Situation, bound: Pod) -> Preemptor | None:
    """How the pending pod of a situation would preempt a bound one; None: it would not."""
    missing = missing_of(situation)
    known = known_part(situation, missing)
    pod, snapshot, name, own = known.pod, known.snapshot, bound.spec.node_name, bound.metadata.uid
    budgets, pods, row = snapshot.pod_disruption_budgets, known.table.pods, known.table.index.get(name)
    if row is None or not pre_enqueue(pod, snapshot, known.framework, features=known.features).ok:
        return None
    filtered = known.filtered()
    rows = [] if len(filtered.feasible) or filtered.error else potential_rows(filtered)
    if row not in rows:
        return None
    trials = Trials(filtered)

    def candidate(row: int, pods: Sequence[Pod]) -> Candidate | None:
        found = select_victims_on_node(trials.of(row, pods), known.table.names[row], pods, pod, budgets)
        return found if isinstance(found, Candidate) else None

    # Pods that are as important as it may be put back before it or after it.
    others = [other for other in pods.on(row) if other.metadata.uid != own]
    here, first = candidate(row, (*others, bound)), candidate(row, (bound, *others))
    victims = {} if here is None else {victim.pod.metadata.uid: victim for victim in here.victims}
    if here is None or own not in victims:
        return None
    # A better node among a few makes checking all of them unnecessary.
    few = (candidate(other, pods.on(other)) for other in rows[:: 1 + len(rows) // _FEW_NODES])
    if any(one is not None and name not in select_candidate((here, one)).best for one in few):
        return None
    found = preempt(filtered, budgets)
    if found.preemption is None or all(one.node != name for one in found.best):
        return None
    twins = [one.pod for one in (() if first is None else first.victims) if one.pod.metadata.uid not in victims]
    waits = pod.status.condition("PodScheduled")
    return Preemptor(
        pod=reference(pod),
        priority=priority_of(pod),
        seen=unseen(pod) is None,
        denied=waits is not None and waits.status == "False" and found_no_victims(waits.message),
        node=name,
        victims=len(victims),
        violates=tuple(budget.metadata.name for budget in victims[own].violates),
        nodes=len(found.best),
        twin=reference(twins[0]) if twins else None,
        sampled=found.preemption.num_candidates if found.preemption.samples else None,
        assumed=tuple(one for one in missing.unread if one.resource in {BUDGETS, NODES} or missing.decides_fit(one)),
    )


def nominated_node(situation: Situation) -> NominatedNode | None:
    """The node that is reserved for a pod, and the pods still on it; None: there is no nomination."""
    pod = situation.pod
    name = pod.status.nominated_node_name
    row = situation.table.index.get(name)
    if not name:
        return None
    leaving = [] if row is None else [p for p in situation.table.pods.on(row) if p.metadata.deletion_timestamp]
    going = [other for other in leaving if is_preemption_allowed(other, pod) and is_terminating_by_preemption(other)]
    rivals = [
        other
        for other in situation.snapshot.pods
        if not other.spec.node_name and priority_of(other) > priority_of(pod) and not other.spec.scheduling_gates
    ]
    found = NominatedNode(node=name, victims=(), rivals=tuple(map(reference, rivals[:_MAX_RIVALS])))
    if row is None and situation.may_lack_nodes:
        return found
    if row is None:
        # evaluateNominatedNode in schedule_one.go: its error is logged, and every node is examined.
        return replace(found, exists=False)
    if not going:
        return found
    node = situation.table.nodes[row]
    found = replace(found, victims=tuple(_going(other, node) for other in going))
    reach = node_reach(name, node, renewed=None, now=situation.now or _LONG_AGO)
    rejected = _rejected_without(situation, row, going)
    if not rejected or len(leaving) == len(going):
        return replace(found, rejected=rejected, reach=reach)
    others = tuple(_going(other, node) for other in leaving if other not in going)
    rejected = _rejected_without(situation, row, leaving)
    return replace(found, others=() if rejected else others, rejected=rejected, reach=reach)


def _going(pod: Pod, node: Node) -> GoingVictim:
    # When a provider behind a virtual kubelet stops what it runs is not known.
    due = None if node_platform(node) is Platform.VIRTUAL_KUBELET else pod_ending(pod).ends_by
    return GoingVictim(reference(pod), due.isoformat().replace("+00:00", "Z") if due is not None else None)


def _rejected_without(situation: Situation, row: int, gone: Sequence[Pod]) -> tuple[str, ...]:
    """Why a row's node does not take the pod once some pods are gone; empty: it does."""
    left = replace(situation, snapshot=devices_freed(situation.snapshot, gone)).without_pods(gone)
    return left.filtered().reasons(row)


def _no_room(filtered: FilterResult, preemption: Preemption) -> Iterator[NoRoom]:
    """Potential nodes that are no candidates, by what rejects the pod there and whether its affinity is why."""
    table, pod, state = filtered.context.table, filtered.context.pod, filtered.context.states.get(_AFFINITY)
    groups: dict[tuple[str, tuple[str, ...], bool], list[tuple[str, tuple[PodReference, ...], int]]] = {}
    for node, status in preemption.no_candidate.items():
        lower = [other for other in table.pods.on(table.index[node]) if is_preemption_allowed(other, pod)]
        needs: tuple[PodReference, ...] = ()
        by_affinity = status.plugin == _AFFINITY and _AFFINITY not in filtered.rejecting(table.index[node])
        if by_affinity and isinstance(state, FilterState) and state.near:
            # The pod's affinity selects them, and holds as long as they are there.
            needs = tuple(
                reference(other)
                for other in lower
                if all(term.matches(other.metadata.namespace, other.metadata.labels, {}) for term in state.near)
            )
        groups.setdefault((status.plugin, status.reasons, bool(needs)), []).append((node, needs, len(lower)))
    for (plugin, reasons, _), found in sorted(groups.items(), key=lambda item: -len(item[1])):
        node, needs, _ = found[0]
        yield NoRoom(plugin, reasons, len(found), node, sum(lower for _, _, lower in found), needs)


def _left_alone(filtered: FilterResult, preemption: Preemption, best: Candidate) -> Iterator[LeftAlone]:
    """Why pods of lower priority than the most important victim stay, by reason."""
    by_reason: dict[str, list[str]] = {}
    pods, index = filtered.context.table.pods, filtered.context.table.index
    for candidate in preemption.candidates:
        if candidate.node != best.node:
            decided = select_candidate((best, candidate)).decided_by
            by_reason.setdefault(str(decided or ""), []).append(candidate.node)
    for node, status in preemption.no_candidate.items():
        by_reason.setdefault(", ".join(status.reasons), []).append(node)
    for why, nodes in by_reason.items():
        there = (pod for node in nodes for pod in pods.on(index[node]))
        lower = [pod for pod in there if priority_of(pod) < best.highest_priority]
        if lower:
            lowest = min(lower, key=priority_of)
            count = len({pod.spec.node_name for pod in lower})
            yield LeftAlone(why, count, len(lower), reference(lowest), priority_of(lowest))
