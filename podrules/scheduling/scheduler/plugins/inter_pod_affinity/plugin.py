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

from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from podrules.api.model.base import Model
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.answers import SKIP, Code, Fact, Status
from podrules.scheduling.scheduler.framework.interface import (
    AppliedChange,
    CycleContext,
    PreFilterResult,
    PreScoreResult,
    S,
    Verdicts,
)
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.changes import parted
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.filtering import (
    AffinityOnNode,
    FilterState,
    InterPodAffinityValues,
    TopologyConflict,
    affinity_on_node,
    explain,
    find_counts,
    judge,
)
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.scoring import ScoreState, find_weights, normalised, sums
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.terms import PodTerms, parse_terms
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
