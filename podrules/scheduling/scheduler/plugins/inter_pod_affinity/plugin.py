"""InterPodAffinity: pods near to, or away from, other pods, within topology domains.

    Filter, in this order:
    affinity       the node has the topology labels of all required terms, and each of those domains holds a pod that
                   all the terms select; where no pod in the cluster does and the pod's terms select the pod itself, it
                   may be the first of its series. Else UnschedulableAndUnresolvable
    anti-affinity  no domain of the node holds a pod that a required anti-affinity term selects. Else Unschedulable
    existing pods  no domain of the node has a pod with required anti-affinity that selects the pod. Else Unschedulable

    PreFilter skips Filter when the pod has no required terms and no bound pod's anti-affinity selects it.
    Score          weights of terms; skipped when no preference matches, and with ignorePreferredTermsOfExistingPods for
                   pods without preferred terms

matchLabelKeys and mismatchLabelKeys are not read: the API server merges them into the labelSelector of stored pods.

Source: pkg/scheduler/framework/plugins/interpodaffinity/{plugin,filtering,scoring}.go at v1.36.3.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final, Literal

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.model.base import Model
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Affinity
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
from podrules.scheduling.scheduler.framework.node_table import ABSENT, NodeTable
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.filtering import (
    AffinityOnNode,
    FilterState,
    InterPodAffinityValues,
    affinity_on_node,
    explain,
    find_counts,
    judge,
    namespace_labels,
    selecting_terms,
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

_BEFORE_DROP: Final = -25


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
        for rule, domains in (
            ("affinity", () if found.first_of_series else found.unmatched),
            ("antiAffinity", found.anti_affinity),
            ("existingAntiAffinity", found.existing_anti_affinity),
        ):
            for entry in domains:
                yield PodAffinityConflict(rule, entry.topology_key, entry.topology_value, entry.count)

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
        state = _find_weights(context, terms, args.hard_pod_affinity_weight)
        return PreScoreResult(SKIP) if state is None else PreScoreResult(state=state)

    def raw_scores(self, context: CycleContext, state: ScoreState, feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        """For each feasible node the sum over its domains."""
        total = np.zeros(len(feasible), np.int64)
        for key, weights in state.weights.items():
            total += np.append(weights, 0)[context.table.label(key).codes[feasible]]
        return total

    def score(self, context: CycleContext, state: ScoreState, feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        """0 for the least sum, 100 for the most (NormalizeScore)."""
        scores = self.raw_scores(context, state, feasible)
        spread = int(scores.max() - scores.min()) if len(scores) else 0
        if not spread:
            return np.zeros(len(scores), np.int64)
        shares: NDArray[np.int64] = (MAX_NODE_SCORE * ((scores - scores.min()) / spread)).astype(np.int64)
        return shares

    def changes(self, situation: S, context: CycleContext, state: FilterState, row: int) -> Iterator[AppliedChange[S]]:
        """Remove the pods in the way, while they are few; drop the rule; add a node."""
        found = [fact for fact in self.facts(context, state, row) if isinstance(fact, PodAffinityConflict)]
        rules, table = {fact.rule for fact in found}, context.table
        bound = list(zip(table.pods, table.pod_rows, strict=True))
        if "affinity" in rules:
            yield _dropped(situation, "podAffinity", "pod_affinity")
        elif "antiAffinity" in rules:
            labels = {space.metadata.name: space.metadata.labels for space in context.snapshot.namespaces}
            terms = _terms(context).required_anti_affinity
            kept_away_from = [
                other
                for other, there in bound
                for meta in (other.metadata,)
                if any(
                    _same_domain(table, term.topology_key, row, int(there))
                    and term.matches(meta.namespace, meta.labels, labels.get(meta.namespace, {}))
                    for term in terms
                )
            ]
            yield from pods_removed(situation, row, kept_away_from)
            yield _dropped(situation, "podAntiAffinity", "pod_anti_affinity")
        else:
            own_labels = namespace_labels(context)
            keeping_away = [
                other
                for other, there in bound
                if any(
                    _same_domain(table, term.topology_key, row, int(there))
                    for term in selecting_terms(other, context.pod, own_labels)
                )
            ]
            yield from pods_removed(situation, row, keeping_away)
        # A new node is a domain of its own for each of the rules.
        if "affinity" not in rules and all(fact.topology_key == HOSTNAME for fact in found):
            change = CandidateChange(ChangeKind.ADD_NODE, node=table.names[row])
            # To drop its own rule leaves those of the other pods.
            extra_cost = _BEFORE_DROP if "existingAntiAffinity" in rules else 0
            empty = situation.without_pods([pod for pod, its in bound if its == row])
            yield AppliedChange(change, empty.with_another_node(change.node, lambda node: node), extra_cost)


def _terms(context: CycleContext) -> PodTerms:
    return parse_terms(context.pod.spec.affinity, context.pod.metadata.namespace)


def _worded(problems: tuple[str, ...]) -> str:
    """Several errors in brackets, as upstream's Aggregate prints them."""
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"


# InterPodAffinity's Score.
#
#     + weight  for each bound pod that a preferred affinity term of the pod selects; - weight for anti-affinity
#     + weight  for each preferred affinity term of a bound pod that selects the pod; - weight for anti-affinity
#     + hardPodAffinityWeight  for each required affinity term of a bound pod that selects the pod
#
# A node has the sum over its domains. Normalised: 100 * (sum - least) / (most - least), cut; 0 when all are equal.


class ScoreState(Struct, frozen=True):
    """What PreScore found."""

    weights: Mapping[str, NDArray[np.int64]]
    """Topology key to, for each value of that label, the sum of weights."""


_PREFERRED: Final[tuple[tuple[int, TermList], ...]] = ((1, "preferred_affinity"), (-1, "preferred_anti_affinity"))


def _find_weights(context: CycleContext, terms: PodTerms, hard_weight: int) -> ScoreState | None:
    """Sum weights by topology domain; None when nothing matches anywhere."""
    pods, metadata = context.table.pods, context.pod.metadata
    # By topology key: rows, and what a term is worth at each. Sums stay far below 2**53, so floats are exact.
    found: dict[str, list[tuple[NDArray[np.integer], NDArray[np.float64]]]] = defaultdict(list)
    for sign, name in _PREFERRED:
        for term in merge_namespaces(getattr(terms, name), context.snapshot.namespaces):
            counts = count_selected(pods, (term,))
            rows = np.flatnonzero(counts)
            found[term.topology_key].append((rows, sign * term.weight * counts[rows].astype(np.float64)))
    labels, holders = namespace_labels(context), affinity_holders(pods)
    if hard_weight > 0:
        for term, own in holders.matching("required_affinity", metadata.namespace, metadata.labels, labels):
            found[term.topology_key].append((own, np.full(len(own), float(hard_weight))))
    for sign, name in _PREFERRED:
        for term, own in holders.matching(name, metadata.namespace, metadata.labels, labels):
            found[term.topology_key].append((own, np.full(len(own), float(sign * term.weight))))
    weights: dict[str, NDArray[np.int64]] = {}
    for key, entries in found.items():
        column = context.table.label(key)
        codes = column.codes[np.concatenate([rows for rows, _ in entries])]
        each = np.concatenate([worth for _, worth in entries])
        labelled = codes != ABSENT
        if labelled.any():
            weights[key] = np.bincount(codes[labelled], each[labelled], minlength=len(column.values)).astype(np.int64)
    return ScoreState(weights) if weights else None


def _dropped(situation: S, name: str, field: Literal["pod_affinity", "pod_anti_affinity"]) -> AppliedChange[S]:
    """The pod without the required terms of one rule."""
    affinity = situation.pod.spec.affinity or Affinity()
    rule = getattr(affinity, field)
    preferred = None if rule is None else replace(rule, required_during_scheduling_ignored_during_execution=())
    written = f"spec.affinity.{name}.requiredDuringSchedulingIgnoredDuringExecution"
    then = situation.with_spec(affinity=replace(affinity, **{field: preferred}))
    return AppliedChange(CandidateChange(ChangeKind.DROP, field=written), then)


def _same_domain(table: NodeTable, key: str, row: int, other: int) -> bool:
    codes = table.label(key).codes
    return bool(codes[row] >= 0 and codes[row] == codes[other])
