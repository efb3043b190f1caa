"""InterPodAffinity: pods near to, or away from, other pods, within topology domains.

    Filter, in this order:
    affinity       the node has the topology labels of all required terms, and each of those domains holds a pod that
                   all the terms select; where no pod in the cluster does and the pod's terms select the pod itself, it
                   may be the first of its series. Else UnschedulableAndUnresolvable
    anti-affinity  no domain of the node holds a pod that a required anti-affinity term selects. Else Unschedulable
    existing pods  no domain of the node has a pod with required anti-affinity that selects the pod. Else Unschedulable

    PreFilter skips Filter when the pod has no required terms and no bound pod's anti-affinity selects it.
    Score          see `scoring`; skipped when no preference matches, and with ignorePreferredTermsOfExistingPods for
                   pods without preferred terms

matchLabelKeys and mismatchLabelKeys are not read: the API server merges them into the labelSelector of stored pods.

Source: pkg/scheduler/framework/plugins/interpodaffinity/{plugin,filtering,scoring}.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Annotated, Final, NamedTuple

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.model.affinity import Affinity, PodAffinity
from podrules.api.model.base import Model
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.answers import SKIP, CandidateChange, ChangeKind, Code, Fact, Status
from podrules.scheduling.scheduler.framework.interface import (
    MAX_NODE_SCORE,
    AppliedChange,
    CycleContext,
    PreFilterResult,
    PreScoreResult,
    S,
    Verdicts,
    pods_removed,
)
from podrules.scheduling.scheduler.framework.node_table import ABSENT, LabelColumn, NodeTable
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.filtering import (
    AffinityOnNode,
    FilterState,
    InterPodAffinityValues,
    TopologyConflict,
    affinity_on_node,
    explain,
    find_counts,
    judge,
    namespace_labels,
)
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.terms import (
    PodTerms,
    TermList,
    affinity_holders,
    count_selected,
    merge_namespaces,
    parse_terms,
)
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import HOSTNAME


class InterPodAffinityArgs(Model, frozen=True):
    """``pluginConfig[].args`` of InterPodAffinity."""

    hard_pod_affinity_weight: Annotated[int, Meta(ge=0, le=100)] = 1
    """What a required affinity term of a bound pod that selects the pod is worth; 0 to 100."""
    ignore_preferred_terms_of_existing_pods: bool = False


class PodAffinityConflict(Fact, frozen=True):
    """InterPodAffinity: a topology domain that rules the node out."""

    rule: str
    """``affinity``, ``antiAffinity``, ``existingAntiAffinity``."""
    topology_key: str
    domain: str | None
    """None: the node lacks the key."""
    count: int
    """Pods in the domain that matter (of existing pods: their terms)."""


class InterPodAffinity:
    """The plugin."""

    name = "InterPodAffinity"
    formula = "100 x ((raw - least) / (most - least))"
    fact_types = (PodAffinityConflict,)
    args_type = InterPodAffinityArgs
    without_pre_filter = 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
    without_pre_score = 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        """Count pods by topology domain."""
        terms = _terms(context)
        if terms.problems:
            text = f"parsing pod: {_worded(terms.problems)}"
            return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,)))
        state = find_counts(context, terms)
        affected = any(counts.any() for counts in state.existing_anti_affinity.values())
        if not (affected or terms.required_affinity or terms.required_anti_affinity):
            return PreFilterResult(SKIP)
        return PreFilterResult(state=state)

    def filter(self, context: CycleContext, state: FilterState) -> Verdicts:
        """Judge every node."""
        return judge(context.table, state)

    def explain(self, context: CycleContext, state: FilterState, row: int) -> InterPodAffinityValues:
        """The domains behind a node's verdict."""
        return explain(context.table, state, row)

    def facts(self, context: CycleContext, state: FilterState, row: int) -> Iterator[Fact]:
        """The domains that rule the node out."""
        found = self.explain(context, state, row)
        for key in found.missing_keys:
            yield PodAffinityConflict("affinity", key, None, 0)
        if not found.first_of_series:
            yield from _conflicts("affinity", found.unmatched)
        yield from _conflicts("antiAffinity", found.anti_affinity)
        yield from _conflicts("existingAntiAffinity", found.existing_anti_affinity)

    def on_node(
        self,
        context: CycleContext,
        state: FilterState,
        row: int,
        pods: Sequence[Pod],  # noqa: ARG002 - they are counted
    ) -> AffinityOnNode:
        """The domains of a row's node."""
        return affinity_on_node(context, state, row)

    def pre_score(self, context: CycleContext, feasible: NDArray[np.int32]) -> PreScoreResult:
        """Sum weights by topology domain, over all nodes."""
        del feasible
        args: InterPodAffinityArgs = context.args.get(self.name) or InterPodAffinityArgs()
        terms = _terms(context)
        if terms.problems:
            return PreScoreResult(Status(Code.ERROR, (f"failed to parse pod: {_worded(terms.problems)}",)))
        preferred = terms.preferred_affinity or terms.preferred_anti_affinity
        if args.ignore_preferred_terms_of_existing_pods and not preferred:
            return PreScoreResult(SKIP)
        state = find_weights(context, terms, args.hard_pod_affinity_weight)
        return PreScoreResult(SKIP) if state is None else PreScoreResult(state=state)

    def raw_scores(self, context: CycleContext, state: ScoreState, feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        """Sums of the feasible nodes."""
        return sums(context.table, state, feasible)

    def score(self, context: CycleContext, state: ScoreState, feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        """The same, spread over 0 to 100."""
        return normalised(self.raw_scores(context, state, feasible))

    def changes(self, situation: S, context: CycleContext, state: FilterState, row: int) -> Iterator[AppliedChange[S]]:
        """Remove the pods in the way, while they are few; drop the rule; add a node."""
        found = [fact for fact in self.facts(context, state, row) if isinstance(fact, PodAffinityConflict)]
        own_domain = all(fact.topology_key == HOSTNAME for fact in found)
        return parted(situation, context, {fact.rule for fact in found}, row, own_domain=own_domain)


def _conflicts(rule: str, found: Sequence[TopologyConflict]) -> Iterator[Fact]:
    for entry in found:
        yield PodAffinityConflict(rule, entry.topology_key, entry.topology_value, entry.count)


def _terms(context: CycleContext) -> PodTerms:
    return parse_terms(context.pod.spec.affinity, context.pod.metadata.namespace)


def _worded(problems: tuple[str, ...]) -> str:
    """Several errors in brackets, as upstream's Aggregate prints them."""
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"


# InterPodAffinity's Score: weights by topology domain, spread over 0 to 100.
#
#     + weight  for each bound pod that a preferred affinity term of the pod selects; - weight for anti-affinity
#     + weight  for each preferred affinity term of a bound pod that selects the pod; - weight for anti-affinity
#     + hardPodAffinityWeight  for each required affinity term of a bound pod that selects the pod
#
# A node has the sum over its domains. Normalised: 100 * (sum - least) / (most - least), cut; 0 when all are equal.
#
# Source: pkg/scheduler/framework/plugins/interpodaffinity/scoring.go at v1.36.3.

Rows = NDArray[np.integer]


class ScoreState(Struct, frozen=True):
    """What PreScore found."""

    weights: Mapping[str, NDArray[np.int64]]
    """Topology key to, for each value of that label, the sum of weights."""


class _Weighted(NamedTuple):
    """What a term is worth at some rows."""

    topology_key: str
    rows: Rows
    weights: NDArray[np.float64]
    """For each of the rows. Sums stay far below 2**53, so floats are exact."""


def find_weights(context: CycleContext, terms: PodTerms, hard_weight: int) -> ScoreState | None:
    """Sum weights by topology domain; None when nothing matches anywhere."""
    found: dict[str, list[_Weighted]] = {}
    for entry in (*_of_the_pod(context, terms), *_of_others(context, hard_weight)):
        found.setdefault(entry.topology_key, []).append(entry)
    sums = {key: _sum_by_domain(context.table.label(key), entries) for key, entries in found.items()}
    kept = {key: weights for key, weights in sums.items() if weights is not None}
    return ScoreState(kept) if kept else None


def sums(table: NodeTable, state: ScoreState, rows: NDArray[np.int32]) -> NDArray[np.int64]:
    """For each of the rows the sum over its domains (Score)."""
    total = np.zeros(len(rows), np.int64)
    for key, weights in state.weights.items():
        total += np.append(weights, 0)[table.label(key).codes[rows]]
    return total


def normalised(scores: NDArray[np.int64]) -> NDArray[np.int64]:
    """0 for the least, 100 for the most (NormalizeScore)."""
    spread = int(scores.max() - scores.min()) if len(scores) else 0
    if not spread:
        return np.zeros(len(scores), np.int64)
    shares: NDArray[np.int64] = (MAX_NODE_SCORE * ((scores - scores.min()) / spread)).astype(np.int64)
    return shares


def _of_the_pod(context: CycleContext, terms: PodTerms) -> Iterable[_Weighted]:
    for sign, preferred in ((1, terms.preferred_affinity), (-1, terms.preferred_anti_affinity)):
        for term in merge_namespaces(preferred, context.snapshot.namespaces):
            counts = count_selected(context.table.pods, (term,))
            rows = np.flatnonzero(counts)
            yield _Weighted(term.topology_key, rows, sign * term.weight * counts[rows].astype(np.float64))


def _of_others(context: CycleContext, hard_weight: int) -> Iterable[_Weighted]:
    metadata, labels = context.pod.metadata, namespace_labels(context)
    holders = affinity_holders(context.table.pods)
    if hard_weight > 0:
        for term, rows in holders.matching("required_affinity", metadata.namespace, metadata.labels, labels):
            yield _Weighted(term.topology_key, rows, np.full(len(rows), float(hard_weight)))
    for sign, terms in _PREFERRED:
        for term, rows in holders.matching(terms, metadata.namespace, metadata.labels, labels):
            yield _Weighted(term.topology_key, rows, np.full(len(rows), float(sign * term.weight)))


_PREFERRED: Final[tuple[tuple[int, TermList], ...]] = ((1, "preferred_affinity"), (-1, "preferred_anti_affinity"))


def _sum_by_domain(column: LabelColumn, entries: Sequence[_Weighted]) -> NDArray[np.int64] | None:
    """Weights by value of a label; None when no row has the label."""
    codes = column.codes[np.concatenate([entry.rows for entry in entries])]
    each = np.concatenate([entry.weights for entry in entries])
    labelled = codes != ABSENT
    if not labelled.any():
        return None
    return np.bincount(codes[labelled], each[labelled], minlength=len(column.values)).astype(np.int64)


# What would take a pod affinity rule's rejection away: pods in the way removed, the rule dropped, a node added.

_BEFORE_DROP: Final = -25


def parted(
    situation: S, context: CycleContext, rules: AbstractSet[str], row: int, *, own_domain: bool
) -> Iterator[AppliedChange[S]]:
    """Changes against the rules that keep the pod from a row's node.

    Args:
        situation: The pod and the cluster as they are.
        context: The cycle.
        rules: ``affinity``, ``antiAffinity``, ``existingAntiAffinity``.
        row: Of the table.
        own_domain: Whether a new node is a domain of its own for each of them.
    """
    affinity = situation.pod.spec.affinity or Affinity()
    if "affinity" in rules:
        near = _without_required(affinity.pod_affinity)
        yield _dropped(situation, "podAffinity", replace(affinity, pod_affinity=near))
    elif "antiAffinity" in rules:
        yield from pods_removed(situation, row, _kept_away_from(context, row))
        away = _without_required(affinity.pod_anti_affinity)
        yield _dropped(situation, "podAntiAffinity", replace(affinity, pod_anti_affinity=away))
    else:
        yield from pods_removed(situation, row, _keeping_away(context, row))
    if own_domain and "affinity" not in rules:
        there = [pod for pod, its in zip(context.table.pods, context.table.pod_rows, strict=True) if its == row]
        change = CandidateChange(ChangeKind.ADD_NODE, node=context.table.names[row])
        # To drop its own rule leaves those of the other pods.
        extra_cost = _BEFORE_DROP if "existingAntiAffinity" in rules else 0
        alone = situation.without_pods(there).with_another_node(change.node, lambda node: node)
        yield AppliedChange(change, alone, extra_cost)


def _dropped(situation: S, name: str, affinity: Affinity) -> AppliedChange[S]:
    field = f"spec.affinity.{name}.requiredDuringSchedulingIgnoredDuringExecution"
    return AppliedChange(CandidateChange(ChangeKind.DROP, field=field), situation.with_spec(affinity=affinity))


def _without_required(affinity: PodAffinity | None) -> PodAffinity | None:
    return None if affinity is None else replace(affinity, required_during_scheduling_ignored_during_execution=())


def _kept_away_from(context: CycleContext, row: int) -> list[Pod]:
    """Pods in the row's domains that the pod's own anti-affinity selects."""
    pod = context.pod
    labels = {space.metadata.name: space.metadata.labels for space in context.snapshot.namespaces}
    terms = parse_terms(pod.spec.affinity, pod.metadata.namespace).required_anti_affinity
    return [
        other
        for other, there in zip(context.table.pods, context.table.pod_rows, strict=True)
        if any(
            _same_domain(context.table, term.topology_key, row, int(there))
            and term.matches(other.metadata.namespace, other.metadata.labels, labels.get(other.metadata.namespace, {}))
            for term in terms
        )
    ]


def _keeping_away(context: CycleContext, row: int) -> list[Pod]:
    """Pods in the row's domains with an anti-affinity that selects the pod."""
    meta = context.pod.metadata
    labels = {space.metadata.name: space.metadata.labels for space in context.snapshot.namespaces}
    found: list[Pod] = []
    for other, there in zip(context.table.pods, context.table.pod_rows, strict=True):
        if other.spec.affinity is None or other.spec.affinity.pod_anti_affinity is None:
            continue
        terms = parse_terms(other.spec.affinity, other.metadata.namespace).required_anti_affinity
        if any(
            _same_domain(context.table, term.topology_key, row, int(there))
            and term.matches(meta.namespace, meta.labels, labels.get(meta.namespace, {}))
            for term in terms
        ):
            found.append(other)
    return found


def _same_domain(table: NodeTable, key: str, row: int, other: int) -> bool:
    codes = table.label(key).codes
    return bool(codes[row] >= 0 and codes[row] == codes[other])
