"""The cheapest changes that would let a pod onto a rejected node, each checked by running the cycle again.

A node may be rejected for several reasons in a row: changes are chained until it fits. Those nodes of a group are tried
that the fewest plugins reject; several when their reasons differ in kind, as taints do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from podrules.api.controllers import HASH_LABEL
from podrules.api.model.base import KubeObject
from podrules.api.model.pod import Pod
from podrules.api.well_known import SELECTOR_ANNOTATIONS, Meaning, known_taint
from podrules.node.reachability import node_reach
from podrules.scheduling.placement.binding import best_row, with_pod
from podrules.scheduling.placement.outcome import (
    ConstraintSpread,
    NormalizedScores,
    NormalizedValue,
    Placement,
    RejectedGroup,
    Remedy,
    SoftSpreadScore,
)
from podrules.scheduling.placement.situation import Situation
from podrules.scheduling.scheduler.cycle import FilterResult, ScoreResult, score_nodes
from podrules.scheduling.scheduler.framework.answers import CandidateChange, ChangeKind, Fact
from podrules.scheduling.scheduler.framework.interface import (
    MEANT,
    AppliedChange,
    NormalizingPlugin,
    planned_uid,
    pods_removed,
)
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.plugin import PodAffinityConflict
from podrules.scheduling.scheduler.plugins.node_affinity import named_nodes
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import SpreadDomain
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import (
    MOST_COMPARED,
    Mask,
    Spread,
    SpreadState,
    TopologySkew,
    domains,
    left_out,
    lets_through,
)
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import NAME as SPREAD
from podrules.scheduling.scheduler.plugins.pod_topology_spread.plugin import (
    SpreadScoreState,
    explain_score,
    normalized,
    raw_scores,
)
from podrules.scheduling.scheduler.plugins.requirement import required_node_selector
from podrules.scheduling.scheduler.plugins.taint_toleration import NodeUnschedulable, TaintEffect, uncordoned
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import claim_reference
from podrules.scheduling.scheduler.runtime import CHANGING_PLUGINS, EXPLAINED_PLUGINS
from podrules.workload.disruption import Evictions
from podrules.workload.evictors import Purpose
from podrules.workload.safety import OF_ONE_NODE, Guarantee, owner_guarantee

ROUNDED_SINCE: Final = "1.24"
"""PodTopologySpread cut its raw scores before (kubernetes/kubernetes#107384)."""
SHOWN_LEFT_OUT: Final = 3
"""Names of what is no domain: of a key like kubernetes.io/hostname there may be thousands."""
_MAX_CHANGES: Final = 4
_ANOTHER: Final = 100
_TRIED_NODES: Final = 4
_MAX_COUNTED: Final = 30
_COUNTED: Final = -1
"""The place of no spec."""
_LATER: Final = "9"
"""After all times, as texts are compared."""
_ROOM: Final = "NodeResourcesFit"
_COMES_ANYWAY: Final = -200
_ROLLOUT: Final = -65
"""Pods that a rollout would stop are preferred to manual changes."""
_NEVER: Final = datetime.fromtimestamp(0, UTC)
_NOT_RECREATED: Final = frozenset({Guarantee.AVAILABILITY_FIRST, Guarantee.NOT_REPLACED})
_LEAVES: Final = frozenset({ChangeKind.AWAIT_PODS, ChangeKind.ROLL_OUT})
_DIFFERING_IN_KIND: Final = frozenset({"TaintToleration", "NodeAffinity"})


class _Chain(Struct, frozen=True):
    changes: tuple[CandidateChange, ...]
    cost: int
    row: int
    filtered: FilterResult
    then: Situation

    @property
    def replaces_node(self) -> bool:
        return any(change.kind in {ChangeKind.ENLARGE, ChangeKind.ADD_NODE} for change in self.changes)

    @property
    def frees_somehow(self) -> bool:
        """Whether room is to be made and no pods are known that would make it."""
        return any(change.kind is ChangeKind.FREE and not change.pods for change in self.changes)


def by_nearness(filtered: FilterResult, plugin: str, rows: Sequence[int]) -> list[int]:
    """A group's rows, those first that need the least: fewest rejecting plugins, then the smallest shortage."""

    def distance(row: int) -> tuple[float, ...]:
        others = filtered.rejecting(row)
        lacks = sum(fact.distance for fact in facts(filtered, plugin, row))
        return (sum(other not in CHANGING_PLUGINS for other in others), len(others), lacks)

    return sorted(rows, key=distance)


def cheapest_remedy(
    situation: Situation, filtered: FilterResult, plugin: str, nearest: Sequence[int]
) -> tuple[int, Remedy] | None:
    """The row of these that costs least to open, and the changes that let the pod onto it.

    The plugin rejects the rows, which are of one group, from `by_nearness`.
    """
    chains: list[_Chain] = []
    table, pod = situation.table, situation.pod
    # A few rows with pods that leave anyway, or that a rollout may stop.
    emptied = {
        int(row)
        for other, row in zip(table.pods, table.pod_rows, strict=True)
        if plugin == _ROOM and (_ends_for_good(other) or (not situation.is_extra and _is_older(other, pod)))
    }
    for row in [row for row in nearest if row in emptied][:_TRIED_NODES]:
        found = _chain(situation, filtered, row)
        if found is not None and any(change.kind in _LEAVES for change in found.changes):
            return found.row, _remedy(found)
    for row in _to_try(situation, filtered, plugin, nearest):
        chain = _chain(situation, filtered, row)
        if chain is not None:
            chains.append(chain)
            # Of nodes that lack room the nearest is taken from which pods can move, else on which room can be made.
            if plugin == _ROOM and not chain.replaces_node and not chain.frees_somehow:
                break
    if not chains:
        return None
    cheapest = min(chains, key=lambda chain: chain.cost)
    return cheapest.row, _remedy(cheapest)


def softened_spread(situation: Situation, filtered: FilterResult, nearest: Sequence[int]) -> Remedy | None:
    """One of several constraints in conflict made ScheduleAnyway, where that lets the pod onto a nearest row."""
    own = situation.pod.spec.topology_spread_constraints
    if len(own) < 2 or not any(entry.conflicts_with for entry in constraint_spreads(filtered)):
        return None
    for row in nearest[:_TRIED_NODES]:
        for applied in _candidates(situation, filtered, SPREAD, row):
            after = applied.then.filtered()
            if applied.change.field.endswith(".whenUnsatisfiable") and after.fits(row):
                return _remedy(_Chain((applied.change,), applied.cost + _ANOTHER, row, after, applied.then))
    return None


def _to_try(situation: Situation, filtered: FilterResult, plugin: str, nearest: Sequence[int]) -> Sequence[int]:
    """A few rows of a group: the nearest one, or several where one may be opened and another not."""
    if plugin == _ROOM:
        return nearest[:_TRIED_NODES]
    tried: dict[object, int] = {}
    for row in nearest:
        alike = facts(filtered, plugin, row) if plugin in _DIFFERING_IN_KIND else None
        tried.setdefault((alike, plugin == NodeUnschedulable.name and situation.going(row) is None), row)
        if len(tried) == _TRIED_NODES:
            break
    return tuple(tried.values())


def _chain(situation: Situation, filtered: FilterResult, row: int) -> _Chain | None:
    """Changes until a row fits; None when one of its rejections has no change that helps."""
    changes: tuple[CandidateChange, ...] = ()
    cost = 0
    leaves = _leaving(situation, filtered, row)
    if leaves is not None:
        if _lasting(situation, leaves, row) is None:
            return None
        situation, changes, cost = leaves.then, (leaves.change,), leaves.cost + _ANOTHER
        filtered = situation.filtered()
        if filtered.fits(row):
            return _Chain(changes, cost, row, filtered, situation)
    while len(changes) < _MAX_CHANGES:
        step = _step(situation, filtered, row)
        if step is None:
            return None
        applied, filtered = step
        situation, changes = applied.then, (*changes, applied.change)
        # Each change more is dearer than any kind.
        cost += applied.cost + _ANOTHER
        # What changes the pod may open another node.
        if filtered.fits(row) or (not applied.change.node and len(filtered.feasible)):
            return _Chain(changes, cost, row, filtered, situation)
    return None


def _step(
    situation: Situation, filtered: FilterResult, row: int
) -> tuple[AppliedChange[Situation], FilterResult] | None:
    """The first candidate that brings a row further, with the verdicts after it."""
    plugin = filtered.status(row).plugin
    before = facts(filtered, plugin, row)
    for candidate in _candidates(situation, filtered, plugin, row):
        applied = _lasting(situation, candidate, row)
        if applied is None:
            continue
        after = applied.then.filtered()
        if after.fits(row) or (applied.extra_cost == MEANT and len(after.feasible)):
            return applied, after
        status = after.status(row)
        if status.plugin and (status.plugin != plugin or facts(after, plugin, row) != before):
            return applied, after
    return None


def _leaving(situation: Situation, filtered: FilterResult, row: int) -> AppliedChange[Situation] | None:
    """Another node in place of one that a program is about to remove; None: no program does, or its taint shows it."""
    name, by = situation.table.names[row], situation.going(row)
    if by is None or by.purpose is Purpose.RESTARTS_NODE:
        return None
    for taint in facts(filtered, "TaintToleration", row):
        known = known_taint(taint.key, taint.value) if isinstance(taint, TaintEffect) else None
        if known is not None and known.meaning is Meaning.LEAVING:
            return None
    change = CandidateChange(ChangeKind.ADD_NODE, node=name, going=by)
    return AppliedChange(change, uncordoned(situation, row).then.with_another_node(name, lambda node: node))


def _lasting(situation: Situation, applied: AppliedChange[Situation], row: int) -> AppliedChange[Situation] | None:
    """A change that lasts: pods that are stopped come back, which does not help where they fit on no other node.

    A rollout that may stop an old pod first makes none in its place. A pod that names its nodes does not use another.
    """
    if applied.change.kind is ChangeKind.ADD_NODE:
        required = required_node_selector(situation.pod)
        return applied if required is None or named_nodes(required.node_selector_terms) is None else None
    if applied.change.kind is ChangeKind.ENLARGE:
        apart = applied.then.with_another_node(applied.change.node, lambda node: node).filtered()
        added = apart.rejecting(row) == applied.then.filtered().rejecting(row)
        return replace(applied, change=replace(applied.change, added=added))
    if applied.change.kind is ChangeKind.FREE and applied.change.pods:
        return _moved(situation, applied, row)
    if applied.change.kind is not ChangeKind.REMOVE_PODS:
        return applied
    names = {(pod.namespace, pod.name) for pod in applied.change.pods}
    stopped = [pod for pod in situation.table.pods if (pod.metadata.namespace, pod.metadata.name) in names]
    if stopped and all(map(_ends_for_good, stopped)):
        silent = any(_is_silent(situation, situation.table.index[pod.spec.node_name]) for pod in stopped)
        waits = replace(applied.change, kind=ChangeKind.AWAIT_PODS, silent=silent)
        return replace(applied, change=waits, extra_cost=_COMES_ANYWAY)
    if not situation.is_extra and all(_is_older(pod, situation.pod) for pod in stopped):
        return replace(applied, change=replace(applied.change, kind=ChangeKind.ROLL_OUT))
    then = replace(applied.then, table=applied.then.table.with_pods([(situation.pod, situation.table.names[row])]))
    for pod in stopped:
        guarantee = owner_guarantee(pod).guarantee
        again = replace(pod, spec=replace(pod.spec, node_name=""))
        elsewhere = guarantee not in OF_ONE_NODE and len(replace(then, pod=again).filtered().feasible)
        if guarantee is not Guarantee.NOT_REPLACED and not elsewhere:
            return None
    return applied


def _moved(situation: Situation, applied: AppliedChange[Situation], row: int) -> AppliedChange[Situation] | None:
    """The change with its pods on other nodes; None: not all can be evicted, or one of them fits nowhere else."""
    names = {(pod.namespace, pod.name) for pod in applied.change.pods}
    pods = [pod for pod in situation.table.pods.on(row) if pod.metadata.place in names]
    evictions, table = Evictions(situation.snapshot.pod_disruption_budgets), applied.then.table
    then = replace(applied.then, table=table.with_pods([(situation.pod, table.names[row])]))
    for pod in pods:
        if owner_guarantee(pod).guarantee is Guarantee.NOT_REPLACED or evictions.refused(pod) is not None:
            return None
        again = replace(then, pod=replace(pod, spec=replace(pod.spec, node_name="")))
        filtered = again.filtered()
        to = best_row(filtered)
        if to is None or to == row:
            return None
        table = table.with_pods([(again.pod, table.names[to])])
        then = with_pod(again, filtered, to)
    return replace(applied, then=replace(applied.then, table=table))


def _ends_for_good(pod: Pod) -> bool:
    """Whether a pod is being deleted and no other comes for it: a ReplicaSet has made another already."""
    return pod.metadata.deletion_timestamp is not None and owner_guarantee(pod).guarantee in _NOT_RECREATED


def _is_silent(situation: Situation, row: int) -> bool:
    node = situation.table.nodes[row]
    return node_reach(node.metadata.name, node, renewed=None, now=_NEVER).reach.quiet


def _room_of_pods(situation: Situation, row: int) -> Iterator[AppliedChange[Situation]]:
    """The pods that leave a node anyway, or that a rollout may stop: the fewest that make room."""
    there = sorted(situation.table.pods.on(row), key=lambda pod: pod.metadata.name)
    # Pods on a silent node do not end before the node answers.
    ending = [pod for pod in there if _ends_for_good(pod) and not _is_silent(situation, row)]
    old = [pod for pod in there if not situation.is_extra and _is_older(pod, situation.pod)]
    for found, cost in ((ending, _COMES_ANYWAY), (old, _ROLLOUT)):
        for count in range(1, min(len(found), _MAX_CHANGES) + 1):
            for applied in pods_removed(situation, row, found[:count]):
                if _ROOM not in applied.then.filtered().rejecting(row):
                    yield replace(applied, extra_cost=cost)
                    return


def _is_older(pod: Pod, new: Pod) -> bool:
    """Whether a pod is of the same Deployment as a new one, and of an earlier revision."""
    earlier = (pod.metadata.creation_timestamp or "") <= (new.metadata.creation_timestamp or _LATER)
    hashes = {entry.metadata.labels.get(HASH_LABEL) for entry in (pod, new)}
    return earlier and len(hashes) > 1 and None is not deployment_of(pod) == deployment_of(new)


def deployment_of(pod: Pod) -> tuple[str, str] | None:
    """Namespace and name of a pod's Deployment; None: it has none."""
    owner, word = pod.metadata.controller, pod.metadata.labels.get(HASH_LABEL)
    if owner is None or owner.kind != "ReplicaSet" or not word:
        return None
    return pod.metadata.namespace, owner.name.removesuffix(f"-{word}")


def _candidates(situation: Situation, filtered: FilterResult, name: str, row: int) -> list[AppliedChange[Situation]]:
    """A plugin's own changes against its rejection of a row, cheapest first."""
    plugin, context = CHANGING_PLUGINS.get(name), filtered.judged(row).context
    found = () if plugin is None else plugin.changes(situation, context, context.states[name], row)
    if name == _ROOM:
        found = chain(_room_of_pods(situation, row), found)
    by = situation.going(row)
    if by is not None and by.purpose is Purpose.RESTARTS_NODE:
        waits = CandidateChange(ChangeKind.REMOVE_TAINT, node=situation.table.names[row], going=by)
        found = (replace(one, change=waits) if one.change.kind is ChangeKind.UNCORDON else one for one in found)
    return sorted(found, key=lambda applied: applied.cost)


def _remedy(found: _Chain) -> Remedy:
    """The changes, with the best node after them, and how many of the replicas that wait have a node then."""
    filtered, situation, pod = found.filtered, found.then, found.then.pod
    bound_to_node = any(change.node for change in found.changes)
    best = found.row if bound_to_node else int(score_nodes(filtered).best[0])
    node, feasible = filtered.context.table.names[best], len(filtered.feasible)
    own_objects = any(claim_reference(pod, volume) for volume in pod.spec.volumes) or pod.spec.resource_claims
    helped: int | None = None
    # Each replica has claims of its own, which are not made here.
    if 1 < situation.waiting <= _MAX_COUNTED and not own_objects:
        helped = 0
        row: int | None = best
        while row is not None:
            helped += 1
            if helped == situation.waiting:
                break
            situation = with_pod(situation, filtered, row)
            metadata = replace(pod.metadata, uid=planned_uid(_COUNTED, helped))
            situation = replace(situation, pod=replace(situation.pod, metadata=metadata))
            filtered = situation.filtered()
            row = best_row(filtered)
    return Remedy(found.changes, node, feasible, found.cost, helped, found.then.waiting)


def drops_selector(change: CandidateChange) -> bool:
    """Whether labels of the pod's nodeSelector are dropped, which admission may have written."""
    return change.kind is ChangeKind.DROP and change.field == "spec.nodeSelector"


def changes_of(placement: Placement) -> Iterator[CandidateChange]:
    """The changes of all ways out."""
    return (change for group in placement.rejected if group.remedy for change in group.remedy.changes)


def with_paused_rollout(placement: Placement) -> Placement:
    """The placement with the rollout that would stop old pods paused."""
    return _changed(placement, lambda change: (replace(change, paused=change.kind is ChangeKind.ROLL_OUT),))


def with_writer(placement: Placement, namespace: KubeObject) -> Placement:
    """The placement with the annotations of the pod's namespace that write labels which would be dropped."""
    writers = {
        pair.strip(): annotation
        for annotation in SELECTOR_ANNOTATIONS
        for pair in namespace.metadata.annotations.get(annotation, "").split(",")
    }

    def split(change: CandidateChange) -> Iterator[CandidateChange]:
        by_writer: dict[str, list[str]] = {}
        for pair in change.value.split(", "):
            by_writer.setdefault(writers.get(pair, ""), []).append(pair)
        for writer, pairs in by_writer.items():
            yield replace(change, value=", ".join(pairs), writer=writer)

    return _changed(placement, lambda change: split(change) if drops_selector(change) else (change,))


def _changed(placement: Placement, parts: Callable[[CandidateChange], Iterable[CandidateChange]]) -> Placement:
    def of(group: RejectedGroup) -> RejectedGroup:
        if group.remedy is None:
            return group
        changes = tuple(chain.from_iterable(map(parts, group.remedy.changes)))
        return replace(group, remedy=replace(group.remedy, changes=changes))

    return replace(placement, rejected=tuple(map(of, placement.rejected)))


def facts(filtered: FilterResult, plugin: str, row: int) -> tuple[Fact, ...]:
    """The facts behind a plugin's rejection of a row in a cycle; none for plugins with a complete reason."""
    context, explained = filtered.judged(row).context, EXPLAINED_PLUGINS.get(plugin)
    if explained is None or plugin not in context.states:
        return ()
    return tuple(explained.facts(context, context.states[plugin], row))


def shared_keys(nodes: Iterable[Iterable[Fact]]) -> tuple[str, ...]:
    """The topology keys that each of these nodes lacks, or the keys of taints that each has, by its facts."""
    common: tuple[str, ...] | None = None
    for found in nodes:
        keys = dict.fromkeys(
            fact.key if isinstance(fact, TaintEffect) else fact.topology_key
            for fact in found
            if isinstance(fact, TaintEffect)
            or (isinstance(fact, TopologySkew | PodAffinityConflict) and fact.domain is None)
        )
        common = tuple(key for key in keys if common is None or key in common)
        if not common:
            break
    return common or ()


def constraint_spreads(filtered: FilterResult) -> tuple[ConstraintSpread, ...]:
    """The pod's DoNotSchedule constraints, with what each leaves."""
    state = filtered.context.states.get(SPREAD)
    if not isinstance(state, SpreadState):
        return ()
    spreads: list[ConstraintSpread] = []
    masks = [lets_through(spread) for spread in state.spreads]
    compared = masks if len(masks) <= MOST_COMPARED else ()
    # Any two may leave nodes where all of them leave none.
    together = len(compared) > 2 and not np.logical_and.reduce(compared).any() and all(mask.any() for mask in compared)
    for spread, mask in zip(state.spreads, masks, strict=True):
        others = [
            other.constraint.field
            for other, theirs in zip(state.spreads, compared, strict=False)
            if mask.any() and theirs.any() and not (mask & theirs).any()
        ] or [other.constraint.field for other in state.spreads if together and other is not spread]
        uncounted = left_out(spread)
        spreads.append(
            ConstraintSpread(
                field=spread.constraint.field,
                topology_key=spread.constraint.topology_key,
                max_skew=spread.constraint.max_skew,
                minimum=spread.min_match_num,
                domains=tuple(_with_rejections(filtered, spread)),
                leaves=int(np.count_nonzero(mask)),
                min_domains=spread.constraint.min_domains,
                left_out=uncounted[:SHOWN_LEFT_OUT],
                left_out_count=len(uncounted),
                conflicts_with=tuple(others),
            )
        )
    return tuple(spreads)


def _with_rejections(filtered: FilterResult, spread: Spread) -> Iterator[SpreadDomain]:
    """The domains, each with what rejects every node of it, besides the constraints."""
    found = domains(spread)
    if not filtered.pre_filter.status.ok:
        yield from found  # No plugin has examined any node.
        return
    rejecting = {plugin: filtered.rejects(plugin) for plugin in filtered.plugins if plugin != SPREAD}
    for plugin in filtered.pre_filter.narrowed_by:
        rejecting[plugin] = rejecting.get(plugin, False) | ~filtered.considered
    taken = ~np.logical_or.reduce([*rejecting.values(), np.zeros(len(filtered.context.table), np.bool_)])
    open_domains = _having(spread, taken)
    rejecting_in = {plugin: _having(spread, rejected) for plugin, rejected in rejecting.items()}
    places = {value: code for code, value in enumerate(spread.labels.values)}
    for domain in found:
        code = places[domain.value]
        plugins = () if open_domains[code] else (plugin for plugin, there in rejecting_in.items() if there[code])
        yield replace(domain, rejected_by=tuple(plugins))


def _having(spread: Spread, rows: Mask) -> Mask:
    """For each value of the key whether some of these rows have it; the last is of rows without the key."""
    found = np.zeros(len(spread.labels.values) + 1, np.bool_)
    found[spread.labels.codes[rows]] = True
    return found


class SoftSpreads:
    """The scores of ScheduleAnyway constraints on the nodes that fit."""

    def __init__(self, filtered: FilterResult, scored: ScoreResult) -> None:
        """Score once for all nodes."""
        state = scored.states.get(SPREAD)
        self._state = state if isinstance(state, SpreadScoreState) and SPREAD in scored.by_plugin else None
        self._context = filtered.context
        self._rows = scored.feasible
        self._weight = next((weight for plugin, weight in filtered.framework.score if plugin.name == SPREAD), 0)
        if self._state is not None:
            self._raw = raw_scores(self._state, self._rows)
            self._normalized = normalized(self._state, self._rows, self._raw)

    def at(self, place: int) -> SoftSpreadScore | None:
        """Of one of the feasible rows, by its place among them; None: the pod has no such constraints."""
        if self._state is None:
            return None
        terms = explain_score(self._context, self._state, int(self._rows[place]))
        return SoftSpreadScore(terms, int(self._raw[place]), int(self._normalized[place]), self._weight)


def normalized_scores(filtered: FilterResult, scored: ScoreResult) -> Iterator[NormalizedScores]:
    """How plugins bring their scores to 0 to 100, where nodes differ; for soft spread also in old versions."""
    context, rows = filtered.context, scored.feasible
    for plugin, weight in filtered.framework.score:
        if plugin.name not in scored.by_plugin or not isinstance(plugin, NormalizingPlugin):
            continue
        state, scores = scored.states.get(plugin.name), scored.by_plugin[plugin.name] // weight
        counted, found = np.full(len(rows), True), [("", plugin.raw_scores(context, state, rows), scores)]
        if isinstance(state, SpreadScoreState):
            counted = ~state.ignored[rows]
        if isinstance(state, SpreadScoreState) and state.rounds:
            cut = raw_scores(replace(state, rounds=False), rows)
            found.append((ROUNDED_SINCE, cut, normalized(state, rows, cut)))
        if len(np.unique(scores[counted])) < 2:
            continue
        for before, raw, made in found:
            each, first, count = np.unique(raw[counted], return_index=True, return_counts=True)
            values = [
                NormalizedValue(
                    int(one), int(made[counted][place]), context.table.names[rows[counted][place]], int(many)
                )
                for one, place, many in zip(each, first, count, strict=True)
            ]
            values.sort(key=lambda value: -value.score)
            yield NormalizedScores(plugin.name, plugin.formula, int(each[-1]), int(each[0]), tuple(values), before)
