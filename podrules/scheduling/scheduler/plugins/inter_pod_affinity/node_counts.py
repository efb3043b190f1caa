"""InterPodAffinity on one node, while pods come and go there: only the domains of that node change.

Source: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go (updateWithPod, Filter) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.interface import CycleContext
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.framework.nodes import ABSENT
from podrules.scheduling.scheduler.framework.status import SUCCESS, Code, Status
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.filtering import (
    REASON_AFFINITY,
    REASON_ANTI_AFFINITY,
    REASON_EXISTING_ANTI_AFFINITY,
    Counts,
    FilterState,
)
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.terms import AffinityTerm, parse_terms

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
        if not self._satisfies_affinity():
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON_AFFINITY,))
        if any(count > 0 for count in self.anti_affinity.values()):
            return Status(Code.UNSCHEDULABLE, (REASON_ANTI_AFFINITY,))
        if any(count > 0 for count in self.existing_anti_affinity.values()):
            return Status(Code.UNSCHEDULABLE, (REASON_EXISTING_ANTI_AFFINITY,))
        return SUCCESS

    def _satisfies_affinity(self) -> bool:
        if any(term.topology_key not in self.of.keys for term in self.of.near):
            return False
        if all(count > 0 for count in self.affinity.values()):
            return True
        return self.of.may_be_first and not any(self.affinity.values())


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
    """Required anti-affinity terms of a pod that select another one.

    Args:
        holder: Whose terms they are.
        pod: Whom they may select.
        namespace_labels: Of the latter's namespace.
    """
    affinity, metadata = holder.spec.affinity, pod.metadata
    if affinity is None or affinity.pod_anti_affinity is None:
        return ()
    terms = parse_terms(affinity, holder.metadata.namespace).required_anti_affinity
    return tuple(term for term in terms if term.matches(metadata.namespace, metadata.labels, namespace_labels))


def _of_node(table: NodeTable, counts: Counts, row: int) -> NodeCounts:
    codes = {key: int(table.label(key).codes[row]) for key in counts}
    return {key: int(counts[key][code]) for key, code in codes.items() if code != ABSENT}
