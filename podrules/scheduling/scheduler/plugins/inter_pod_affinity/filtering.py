"""InterPodAffinity's Filter: how many pods that matter each topology domain has, and what follows for each node.

Source: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.model.base import Model
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.answers import SUCCESS, Code, Status
from podrules.scheduling.scheduler.framework.interface import CycleContext, Verdicts
from podrules.scheduling.scheduler.framework.node_table import ABSENT, NodeTable
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.terms import (
    AffinityTerm,
    PodTerms,
    affinity_holders,
    count_selected,
    merge_namespaces,
    parse_terms,
)

REASON_AFFINITY: Final = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY: Final = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING_ANTI_AFFINITY: Final = "node(s) didn't satisfy existing pods anti-affinity rules"

Counts = Mapping[str, NDArray[np.int64]]
"""Topology key to, for each value of that label, a number of matches."""


class FilterState(Struct, frozen=True):
    """What PreFilter found."""

    affinity_keys: tuple[str, ...]
    """Topology keys of the pod's required affinity terms, in order."""
    affinity: Counts
    """Pods that all of the pod's required affinity terms select."""
    anti_affinity: Counts
    """Pods that the pod's required anti-affinity terms select, for each such term."""
    existing_anti_affinity: Counts
    """Required anti-affinity terms of bound pods that select the pod."""
    matches_itself: bool
    """Whether the pod's affinity terms select the pod itself."""
    near: tuple[AffinityTerm, ...] = ()
    """The pod's required affinity terms, namespaces merged."""
    away: tuple[AffinityTerm, ...] = ()
    """The pod's required anti-affinity terms, namespaces merged."""
    namespace_labels: Mapping[str, str] = {}
    """The labels of the pod's namespace."""

    @property
    def first_of_series(self) -> bool:
        """Whether the pod's terms require pods like itself, and no such pod exists yet."""
        return self.matches_itself and not any(counts.any() for counts in self.affinity.values())


class TopologyConflict(Model, frozen=True):
    """A domain, and how many pods (of existing pods: terms) speak for or against it."""

    topology_key: str
    topology_value: str
    count: int


class InterPodAffinityValues(Model, frozen=True):
    """Why a node is, or is not, ruled out."""

    missing_keys: tuple[str, ...]
    """Topology labels of affinity terms that the node lacks."""
    unmatched: tuple[TopologyConflict, ...]
    """Domains of the node in which no pod matches all affinity terms."""
    first_of_series: bool
    anti_affinity: tuple[TopologyConflict, ...]
    """Domains of the node with pods that the pod's anti-affinity keeps away from."""
    existing_anti_affinity: tuple[TopologyConflict, ...]
    """Domains of the node with pods that reject the pod by their anti-affinity."""


def namespace_labels(context: CycleContext) -> Mapping[str, str]:
    """Labels of the pod's namespace; none when the namespace is not known (GetNamespaceLabelsSnapshot)."""
    name = context.pod.metadata.namespace
    found = (entry.metadata.labels for entry in context.snapshot.namespaces if entry.metadata.name == name)
    return next(found, {})


def find_counts(context: CycleContext, terms: PodTerms) -> FilterState:
    """Count pods and terms by topology domain (PreFilter)."""
    table, metadata = context.table, context.pod.metadata
    near = merge_namespaces(terms.required_affinity, context.snapshot.namespaces)
    away = merge_namespaces(terms.required_anti_affinity, context.snapshot.namespaces)
    labels = namespace_labels(context)
    holders = affinity_holders(table.pods)
    # Holders by topology domain, over all terms with the same key; by key, for holders have no order.
    rows: dict[str, list[NDArray[np.int32]]] = {}
    for term, found in holders.matching("required_anti_affinity", metadata.namespace, metadata.labels, labels):
        rows.setdefault(term.topology_key, []).append(found)
    existing: dict[str, NDArray[np.int64]] = {}
    for key in sorted(rows):
        column = table.label(key)
        codes = column.codes[np.concatenate(rows[key])]
        existing[key] = np.bincount(codes[codes != ABSENT], minlength=len(column.values))
    matching_all = count_selected(table.pods, near) if near else None
    one_by_key = {term.topology_key: term for term in near}.values()
    return FilterState(
        affinity_keys=tuple(term.topology_key for term in near),
        affinity={} if matching_all is None else _by_domain(table, [(term, matching_all) for term in one_by_key]),
        anti_affinity=_by_domain(table, [(term, count_selected(table.pods, (term,))) for term in away]),
        existing_anti_affinity=existing,
        matches_itself=bool(near) and all(term.matches(metadata.namespace, metadata.labels, {}) for term in near),
        near=near,
        away=away,
        namespace_labels=labels,
    )


def judge(table: NodeTable, state: FilterState) -> Verdicts:
    """Filter: affinity first, then the pod's anti-affinity, then that of others."""
    reason = np.zeros(len(table), np.int8)
    reason[_has_any(table, state.existing_anti_affinity)] = 3
    reason[_has_any(table, state.anti_affinity)] = 2
    # satisfyPodAffinity: all topology labels, and a match in each domain unless the pod is the first of a series.
    satisfied = np.ones(len(table), np.bool_)
    for key, numbers in state.affinity.items():
        satisfied &= table.label(key).codes != ABSENT
        if not state.first_of_series:
            satisfied &= _at_nodes(table, key, numbers) > 0
    reason[~satisfied] = 1
    return Verdicts(_CODES[reason], lambda row: _REASONS[reason[row]])


_CODES: Final = np.array(
    [Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.UNSCHEDULABLE, Code.UNSCHEDULABLE], np.int8
)
_REASONS: Final[tuple[tuple[str, ...], ...]] = (
    (),
    (REASON_AFFINITY,),
    (REASON_ANTI_AFFINITY,),
    (REASON_EXISTING_ANTI_AFFINITY,),
)


def explain(table: NodeTable, state: FilterState, row: int) -> InterPodAffinityValues:
    """The numbers behind a node's verdict."""
    missing = [key for key in dict.fromkeys(state.affinity_keys) if table.label(key).codes[row] == ABSENT]
    return InterPodAffinityValues(
        missing_keys=tuple(missing),
        unmatched=tuple(entry for entry in _domains(table, state.affinity, row) if not entry.count),
        first_of_series=state.first_of_series,
        anti_affinity=tuple(entry for entry in _domains(table, state.anti_affinity, row) if entry.count),
        existing_anti_affinity=tuple(
            entry for entry in _domains(table, state.existing_anti_affinity, row) if entry.count
        ),
    )


def _by_domain(table: NodeTable, counted: Iterable[tuple[AffinityTerm, NDArray[np.int64]]]) -> Counts:
    """Pods of each row by topology domain, over all terms with the same topology key."""
    by_row: dict[str, NDArray[np.int64]] = {}
    for term, found in counted:
        by_row[term.topology_key] = by_row[term.topology_key] + found if term.topology_key in by_row else found
    return {key: table.nodes.sums_by_value(key, found) for key, found in by_row.items()}


def _at_nodes(table: NodeTable, key: str, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each node the number of its domain; 0 without the label."""
    return np.append(counts, 0)[table.label(key).codes]


def _has_any(table: NodeTable, counts: Counts) -> NDArray[np.bool_]:
    """For each node whether one of its domains has a match."""
    found = np.zeros(len(table), np.bool_)
    for key, numbers in counts.items():
        found |= _at_nodes(table, key, numbers) > 0
    return found


def _domains(table: NodeTable, counts: Counts, row: int) -> Iterable[TopologyConflict]:
    for key, numbers in counts.items():
        column = table.label(key)
        code = int(column.codes[row])
        if code != ABSENT:
            yield TopologyConflict(key, column.values[code], int(numbers[code]))


# On one node, while pods come and go there, only the domains of that node change (updateWithPod).

NodeCounts = Mapping[str, int]
"""Topology key to the number of the node's domain; keys that the node lacks are left out."""


class _Pod(Struct, frozen=True):
    """The pod to place, and what of the cluster stays as it is."""

    pod: Pod
    namespace_labels: Mapping[str, str]
    near: tuple[AffinityTerm, ...]
    away: tuple[AffinityTerm, ...]
    keys: frozenset[str]
    """Topology keys that the node has."""
    may_be_first: bool
    """The pod's affinity terms select the pod itself, and no pod in the domains of other nodes."""


class AffinityOnNode(Struct, frozen=True):
    """The counts of the node's domains (preFilterState)."""

    of: _Pod
    affinity: NodeCounts
    anti_affinity: NodeCounts
    existing_anti_affinity: NodeCounts

    def add_pod(self, pod: Pod) -> AffinityOnNode:
        """With one pod more."""
        return self._changed(pod, 1)

    def remove_pod(self, pod: Pod) -> AffinityOnNode:
        """With one pod less."""
        return self._changed(pod, -1)

    def _changed(self, pod: Pod, sign: int) -> AffinityOnNode:
        of, metadata = self.of, pod.metadata
        matched = bool(of.near) and all(term.matches(metadata.namespace, metadata.labels, {}) for term in of.near)
        away = [term for term in of.away if term.matches(metadata.namespace, metadata.labels, {})]
        existing = selecting_terms(pod, of.pod, of.namespace_labels)
        if not (matched or away or existing):
            return self
        return replace(
            self,
            affinity={key: count + sign for key, count in self.affinity.items()} if matched else self.affinity,
            anti_affinity=self._summed(self.anti_affinity, away, sign),
            existing_anti_affinity=self._summed(self.existing_anti_affinity, existing, sign),
        )

    def _summed(self, counts: NodeCounts, terms: Iterable[AffinityTerm], sign: int) -> NodeCounts:
        found = dict(counts)
        for term in terms:
            if term.topology_key in self.of.keys:
                found[term.topology_key] = found.get(term.topology_key, 0) + sign
        return found

    def status(self) -> Status:
        """Affinity first, then the pod's anti-affinity, then that of others."""
        of = self.of
        satisfied = all(term.topology_key in of.keys for term in of.near) and (
            all(count > 0 for count in self.affinity.values()) or (of.may_be_first and not any(self.affinity.values()))
        )
        if not satisfied:
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON_AFFINITY,))
        if any(count > 0 for count in self.anti_affinity.values()):
            return Status(Code.UNSCHEDULABLE, (REASON_ANTI_AFFINITY,))
        if any(count > 0 for count in self.existing_anti_affinity.values()):
            return Status(Code.UNSCHEDULABLE, (REASON_EXISTING_ANTI_AFFINITY,))
        return SUCCESS


def affinity_on_node(context: CycleContext, state: FilterState, row: int) -> AffinityOnNode:
    """A row's node as it is."""
    table = context.table
    affinity = _of_node(table, state.affinity, row)
    everywhere = sum(int((numbers != 0).sum()) for numbers in state.affinity.values())
    elsewhere = everywhere - sum(count != 0 for count in affinity.values())
    of = _Pod(
        pod=context.pod,
        namespace_labels=state.namespace_labels,
        near=state.near,
        away=state.away,
        keys=frozenset(table.nodes[row].metadata.labels),
        may_be_first=state.matches_itself and not elsewhere,
    )
    return AffinityOnNode(
        of, affinity, _of_node(table, state.anti_affinity, row), _of_node(table, state.existing_anti_affinity, row)
    )


def selecting_terms(holder: Pod, pod: Pod, namespace_labels: Mapping[str, str]) -> Sequence[AffinityTerm]:
    """Required anti-affinity terms of the holder that select the pod, with the labels of the pod's namespace."""
    affinity, metadata = holder.spec.affinity, pod.metadata
    if affinity is None or affinity.pod_anti_affinity is None:
        return ()
    terms = parse_terms(affinity, holder.metadata.namespace).required_anti_affinity
    return tuple(term for term in terms if term.matches(metadata.namespace, metadata.labels, namespace_labels))


def _of_node(table: NodeTable, counts: Counts, row: int) -> NodeCounts:
    codes = {key: int(table.label(key).codes[row]) for key in counts}
    return {key: int(counts[key][code]) for key, code in codes.items() if code != ABSENT}
