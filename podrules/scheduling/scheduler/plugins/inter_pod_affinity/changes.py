"""What would take a pod affinity rule's rejection away: pods in the way removed, the rule dropped, a node added."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from msgspec.structs import replace

from podrules.api.model.affinity import Affinity, PodAffinity
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.answers import CandidateChange, ChangeKind
from podrules.scheduling.scheduler.framework.interface import AppliedChange, CycleContext, S, pods_removed
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.terms import parse_terms

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
