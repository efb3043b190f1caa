"""Topology spread constraints: refused ones, and those that do not do what they seem to.

    invalid-spread          refused: maxSkew below 1, minDomains with ScheduleAnyway, a key both in labelSelector and
                            in matchLabelKeys, two constraints of one topologyKey and whenUnsatisfiable, and the like
    spread-misses-own-pod   the selector does not match the pod itself: it is not counted, copies of it may all go to
                            one place. matchLabelKeys do not matter, for they take the pod's own values; of a template,
                            nor do labels that controllers add
    spread-counts-old-pods  of a Deployment, without pod-template-hash in matchLabelKeys: while it rolls out, pods of
                            both revisions count, so that the new ones alone may be uneven in the end
    spread-is-redundant     required anti-affinity by the same key and selector: at most one pod for each domain, so no
                            domain is ever more than 1 over the least, which every maxSkew allows

Source: pkg/scheduler/framework/plugins/podtopologyspread/{common,filtering}.go (selfMatch) and
pkg/apis/core/validation/validation.go (validateTopologySpreadConstraints) at v1.36.3; KEP-3243.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.checks.finding import Finding
from podrules.checks.objects import ADDED_LABELS, PodCase
from podrules.model.affinity import PodAffinityTerm
from podrules.model.pod import Pod, TopologySpreadConstraint
from podrules.model.selectors import LabelSelector, Selector, SelectorError
from podrules.model.workload import Workload
from podrules.scheduler.plugins.pod_topology_spread.args import DO_NOT_SCHEDULE, constraint_errors

__all__ = ["Miss", "SelectorMiss", "check_spread", "selector_misses"]

_TEMPLATE_HASH: Final = "pod-template-hash"


class Miss(Enum):
    """Why a constraint does not count the pod that has it."""

    NO_SELECTOR = "NoSelector"
    EMPTY_SELECTOR = "EmptySelector"
    NOT_MATCHED = "NotMatched"


class SelectorMiss(Struct, frozen=True):
    """A constraint that does not count the pod that has it."""

    why: Miss
    term: str = ""
    """The first of the selector's terms that the pod does not satisfy."""


def selector_misses(
    constraint: TopologySpreadConstraint, labels: Mapping[str, str], added: Collection[str]
) -> SelectorMiss | None:
    """Whether a constraint leaves its own pod out; None also where the API server refuses the selector.

    Args:
        constraint: The pod's.
        labels: The pod's.
        added: Keys of labels that controllers add to those of a template.
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
    """All that is told of a pod's constraints."""
    added = ADDED_LABELS if case.templated else frozenset()
    for field, problem in _errors(case.pod, templated=case.templated):
        yield case.finding("invalid-spread", field, problem=problem)
    for index, constraint in enumerate(case.pod.spec.topology_spread_constraints):
        path = f"spec.topologySpreadConstraints[{index}]"
        missed = selector_misses(constraint, case.pod.metadata.labels, added)
        if missed is not None:
            field = path if missed.why is Miss.NO_SELECTOR else f"{path}.labelSelector"
            yield case.finding("spread-misses-own-pod", field, why=missed.why.value, term=missed.term)
        elif constraint.when_unsatisfiable == DO_NOT_SCHEDULE:
            yield from _hard(case, constraint, path)


def _errors(pod: Pod, *, templated: bool) -> Iterator[tuple[str, str]]:
    """For what the API server refuses a pod's constraints: each field, and what is wrong with it.

    Args:
        pod: As its author wrote it.
        templated: Whether a controller makes it, and adds labels.
    """
    labels = {*pod.metadata.labels, *(ADDED_LABELS if templated else ())}
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(pod.spec.topology_spread_constraints):
        path = f"spec.topologySpreadConstraints[{index}]"
        kind = constraint.topology_key, constraint.when_unsatisfiable
        if kind in seen:
            yield path, f"another constraint has topologyKey {kind[0]} and whenUnsatisfiable {kind[1]} too"
        seen.add(kind)
        for field, problem in _problems(constraint, labels):
            yield f"{path}{field}", problem


def _problems(constraint: TopologySpreadConstraint, labels: Collection[str]) -> Iterator[tuple[str, str]]:
    for text in constraint_errors(constraint, ""):
        field, _, problem = text.partition(": ")
        yield field, problem
    selector = constraint.label_selector
    if selector is None:
        if constraint.match_label_keys:
            yield ".matchLabelKeys", "must not be specified when labelSelector is not set"
        return
    try:
        Selector.from_label_selector(selector)
    except SelectorError as error:
        yield ".labelSelector", str(error)
    keys = {*selector.match_labels, *(term.key for term in selector.match_expressions)}
    for index, key in enumerate(constraint.match_label_keys):
        # The API server makes a term of the keys that are labels of the pod, and refuses two terms of one key.
        if key in keys and key in labels:
            yield f".matchLabelKeys[{index}]", f"{key} exists in both matchLabelKeys and labelSelector"


def _hard(case: PodCase, constraint: TopologySpreadConstraint, path: str) -> Iterator[Finding]:
    selector = constraint.label_selector or LabelSelector()
    keys = {*constraint.match_label_keys, *(term.key for term in selector.match_expressions), *selector.match_labels}
    if _rolls(case) and _TEMPLATE_HASH not in keys:
        yield case.finding("spread-counts-old-pods", path, key=constraint.topology_key)
    for index, term in enumerate(_anti_affinity(case)):
        if term.topology_key == constraint.topology_key and _selects_the_same(term, constraint):
            yield case.finding("spread-is-redundant", path, key=constraint.topology_key, index=index)


def _rolls(case: PodCase) -> bool:
    """Whether pods of two revisions live beside each other for a while."""
    content = case.owner.content
    return (
        case.owner.kind == "Deployment" and isinstance(content, Workload) and content.spec.strategy.type != "Recreate"
    )


def _anti_affinity(case: PodCase) -> tuple[PodAffinityTerm, ...]:
    affinity = case.pod.spec.affinity
    if affinity is None or affinity.pod_anti_affinity is None:
        return ()
    return affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution


def _selects_the_same(term: PodAffinityTerm, constraint: TopologySpreadConstraint) -> bool:
    """Whether both count the same pods: those of the pod's own namespace that one selector matches."""
    narrowed = term.namespaces or term.namespace_selector is not None or term.mismatch_label_keys
    same_keys = set(term.match_label_keys) == set(constraint.match_label_keys)
    return not narrowed and same_keys and term.label_selector == constraint.label_selector
