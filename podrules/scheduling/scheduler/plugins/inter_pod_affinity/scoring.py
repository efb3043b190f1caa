"""InterPodAffinity's Score: weights by topology domain, spread over 0 to 100.

    + weight  for each bound pod that a preferred affinity term of the pod selects; - weight for anti-affinity
    + weight  for each preferred affinity term of a bound pod that selects the pod; - weight for anti-affinity
    + hardPodAffinityWeight  for each required affinity term of a bound pod that selects the pod

A node has the sum over its domains. Normalised: 100 * (sum - least) / (most - least), cut; 0 when all are equal.

Source: pkg/scheduler/framework/plugins/interpodaffinity/scoring.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.scheduling.scheduler.framework.interface import MAX_NODE_SCORE, CycleContext
from podrules.scheduling.scheduler.framework.node_table import ABSENT, LabelColumn, NodeTable
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.filtering import namespace_labels
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.terms import (
    PodTerms,
    TermList,
    affinity_holders,
    count_selected,
    merge_namespaces,
)

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
