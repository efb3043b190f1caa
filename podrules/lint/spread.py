"""Topology spread constraints that do not work as they seem to.

Source: pkg/scheduler/framework/plugins/podtopologyspread/{common,filtering}.go (selfMatch) at v1.36.3; KEP-3243.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.api.controllers import ADDED_LABELS, HASH_LABEL
from podrules.api.model.pod import TopologySpreadConstraint
from podrules.api.model.selectors import LabelSelector, Selector, SelectorError
from podrules.api.model.workload import Workload
from podrules.lint.finding import SPREAD, Finding, Level, LintRule
from podrules.lint.objects import PodCase
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import DO_NOT_SCHEDULE


class Miss(Enum):
    """Why a constraint does not count its own pod."""

    NO_SELECTOR = "NoSelector"
    EMPTY_SELECTOR = "EmptySelector"
    NOT_MATCHED = "NotMatched"


_MISSES: Final = {
    Miss.NO_SELECTOR: "without labelSelector it counts no pods, so it spreads nothing",
    Miss.EMPTY_SELECTOR: "an empty one counts no pods, so it spreads nothing",
    Miss.NOT_MATCHED: "{term} does not match the pod's own labels: "
    "it is not counted, and copies of it may all go to one place",
}


class SelectorMiss(Struct, frozen=True):
    """A constraint that does not count its own pod."""

    why: Miss
    term: str = ""
    """The selector's first term that the pod does not match."""

    @property
    def field(self) -> str:
        """The wrong field, below the constraint; empty: the field is missing."""
        return "" if self.why is Miss.NO_SELECTOR else ".labelSelector"

    def __str__(self) -> str:
        """A clause without a full stop, for `lint`, the webhook and the chart's policies."""
        return _MISSES[self.why].format(term=self.term)


def selector_misses(
    constraint: TopologySpreadConstraint, labels: Mapping[str, str], added: Collection[str]
) -> SelectorMiss | None:
    """Why a constraint does not count its own pod; None: it does, or the API server rejects the selector.

    matchLabelKeys do not matter, because they take the pod's own values. Terms with keys that controllers add to the
    labels of a template are ignored.
    """
    if constraint.label_selector is None:
        return SelectorMiss(Miss.NO_SELECTOR)
    try:
        terms = Selector.from_label_selector(constraint.label_selector).requirements
    except SelectorError:
        return None
    if not terms and not constraint.match_label_keys:
        return SelectorMiss(Miss.EMPTY_SELECTOR)
    failed = next((term for term in terms if term.key not in added and not term.matches(labels)), None)
    return None if failed is None else SelectorMiss(Miss.NOT_MATCHED, str(failed))


def check_spread(case: PodCase) -> Iterator[Finding]:
    """Every finding in a pod's constraints."""
    added = ADDED_LABELS if case.templated else frozenset()
    labels = case.pod.metadata.labels
    content, affinity = case.owner.content, case.pod.spec.affinity
    # Pods of two revisions exist at the same time during a rollout.
    rolls = (
        isinstance(content, Workload) and content.spec.strategy.type != "Recreate" and case.owner.kind == "Deployment"
    )
    apart = affinity.pod_anti_affinity if affinity is not None else None
    terms = () if apart is None else apart.required_during_scheduling_ignored_during_execution
    for index, constraint in enumerate(case.pod.spec.topology_spread_constraints):
        path = f"spec.topologySpreadConstraints[{index}]"
        miss = selector_misses(constraint, labels, added)
        if miss is not None:
            yield SpreadMissesOwnPod(*case.at(path + miss.field), miss)
        elif constraint.when_unsatisfiable == DO_NOT_SCHEDULE:
            selector = constraint.label_selector or LabelSelector()
            keys = {
                *constraint.match_label_keys,
                *(term.key for term in selector.match_expressions),
                *selector.match_labels,
            }
            if rolls and HASH_LABEL not in keys:
                yield SpreadCountsOldPods(*case.at(path), constraint.topology_key)
            for term in terms:
                # It selects the same pods, and only in the pod's own namespace.
                narrowed = term.namespaces or term.namespace_selector is not None or term.mismatch_label_keys
                same_keys = set(term.match_label_keys) == set(constraint.match_label_keys)
                same = not narrowed and same_keys and term.label_selector == constraint.label_selector
                if same and term.topology_key == constraint.topology_key:
                    yield SpreadIsRedundant(*case.at(path), constraint.topology_key)


class SpreadMissesOwnPod(Finding, frozen=True):
    """The selector does not match the pod itself, so its replicas may all run in one place."""

    rule = LintRule(
        name="spread-misses-own-pod",
        level=Level.WARNING,
        about="A spread constraint does not count its own pod.",
        remedy="Select the pod's own labels.",
        source=f"{SPREAD}/filtering.go (selfMatch)",
        term="topologySpreadConstraints",
        check_pod=check_spread,
    )
    miss: SelectorMiss

    def __str__(self) -> str:
        clause = str(self.miss)
        # A term keeps the case of the selector.
        return f"{clause}." if self.miss.term else f"{clause[0].upper()}{clause[1:]}."


class SpreadCountsOldPods(Finding, frozen=True):
    """Without pod-template-hash in matchLabelKeys, pods of both revisions count during a rollout."""

    rule = LintRule(
        name="spread-counts-old-pods",
        level=Level.NOTICE,
        about="A DoNotSchedule constraint of a Deployment counts pods of the old revision.",
        remedy="Add matchLabelKeys: [pod-template-hash].",
        source=f"{SPREAD}/common.go; KEP-3243",
        term="matchLabelKeys",
        check_pod=check_spread,
    )
    key: str
    """The topologyKey."""

    def __str__(self) -> str:
        return f"During a rollout, old pods by {self.key} also count: the new ones may be spread unevenly, or wait."


class SpreadIsRedundant(Finding, frozen=True):
    """Anti-affinity allows one pod per domain, so the skew is never above 1."""

    rule = LintRule(
        name="spread-is-redundant",
        level=Level.NOTICE,
        about="Required anti-affinity by the same key and selector makes a spread constraint redundant.",
        remedy="Keep one of the two; only the constraint also excludes nodes without the label.",
        source=f"{SPREAD}/filtering.go; plugins/interpodaffinity/filtering.go",
        term="topologySpreadConstraints",
        check_pod=check_spread,
    )
    key: str
    """The topologyKey."""

    def __str__(self) -> str:
        return f"Required anti-affinity by {self.key} already allows one pod for each value: no skew is ever above 1."
