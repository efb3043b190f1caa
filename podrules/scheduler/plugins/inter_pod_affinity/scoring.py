"""InterPodAffinity's Score: weights by topology domain, spread over 0 to 100.

    + weight  for each bound pod that a preferred affinity term of the pod selects; - weight for anti-affinity
    + weight  for each preferred affinity term of a bound pod that selects the pod; - weight for anti-affinity
    + hardPodAffinityWeight  for each required affinity term of a bound pod that selects the pod

A node has the sum over its domains. Normalised: 100 * (sum - least) / (most - least), cut; 0 when all are equal.

Source: pkg/scheduler/framework/plugins/interpodaffinity/scoring.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.scheduler.framework.interface import MAX_NODE_SCORE, CycleContext
from podrules.scheduler.framework.node_table import ABSENT, NodeTable
from podrules.scheduler.plugins.inter_pod_affinity.columns import Rows, affinity_holders, rows_matching
from podrules.scheduler.plugins.inter_pod_affinity.filtering import namespace_labels
from podrules.scheduler.plugins.inter_pod_affinity.terms import AffinityTerm, PodTerms, merge_namespaces

__all__ = ["ScoreState", "find_weights", "normalised", "sums"]


class ScoreState(Struct, frozen=True):
    """What PreScore found."""

    weights: Mapping[str, NDArray[np.int64]]
    """Topology key to, for each value of that label, the sum of weights."""


Weighted = tuple[AffinityTerm, Rows, int]


def find_weights(context: CycleContext, terms: PodTerms, hard_weight: int) -> ScoreState | None:
    """Sum weights by topology domain; None when nothing matches anywhere."""
    rows: dict[str, list[Rows]] = {}
    weights: dict[str, list[int]] = {}
    for term, found, weight in (*_of_the_pod(context, terms), *_of_others(context, hard_weight)):
        rows.setdefault(term.topology_key, []).append(found)
        weights.setdefault(term.topology_key, []).append(weight)
    table = context.table
    found_weights = {key: _sum_by_domain(table, key, rows[key], weights[key]) for key in rows}
    kept = {key: sums for key, sums in found_weights.items() if sums is not None}
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


def _of_the_pod(context: CycleContext, terms: PodTerms) -> Iterable[Weighted]:
    for sign, preferred in ((1, terms.preferred_affinity), (-1, terms.preferred_anti_affinity)):
        for term in merge_namespaces(preferred, context.snapshot.namespaces):
            yield term, rows_matching(context.table, (term,)), sign * term.weight


def _of_others(context: CycleContext, hard_weight: int) -> Iterable[Weighted]:
    metadata, labels = context.pod.metadata, namespace_labels(context)
    holders = context.table.derived(affinity_holders)
    if hard_weight > 0:
        for term, rows in holders.required_affinity.matching(metadata.namespace, metadata.labels, labels):
            yield term, rows, hard_weight
    for sign, index in ((1, holders.preferred_affinity), (-1, holders.preferred_anti_affinity)):
        for term, rows in index.matching(metadata.namespace, metadata.labels, labels):
            yield term, rows, sign * term.weight


def _sum_by_domain(table: NodeTable, key: str, rows: list[Rows], weights: list[int]) -> NDArray[np.int64] | None:
    """Weights by value of the label; None when no row has the label. Sums stay far below 2**53, so floats are exact."""
    column = table.label(key)
    codes = column.codes[np.concatenate(rows)]
    each = np.repeat(np.array(weights, np.float64), [len(entry) for entry in rows])
    labelled = codes != ABSENT
    if not labelled.any():
        return None
    return np.bincount(codes[labelled], each[labelled], minlength=len(column.values)).astype(np.int64)
