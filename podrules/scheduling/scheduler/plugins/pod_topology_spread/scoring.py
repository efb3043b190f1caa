"""PodTopologySpread's score: ScheduleAnyway.

    ignored    feasible nodes that lack a key of some constraint; with the System defaults none are, and a node without
               the key is of the domain ""
    domain     the value of topologyKey on the feasible nodes that are not ignored
    count      matching pods on the domain's nodes that count (`common`), feasible or not; for kubernetes.io/hostname
               those of the node itself
    weight     log(domains + 2); for kubernetes.io/hostname every node that is not ignored is a domain
    raw        round(sum(count * weight + (maxSkew - 1))) over the constraints that have their key on the node
    score      100 * (max + min - raw) / max of the nodes that are not ignored; 100 when max is 0; 0 when ignored

Source: pkg/scheduler/framework/plugins/podtopologyspread/scoring.go at v1.36.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.scheduling.scheduler.framework.interface import MAX_NODE_SCORE, CycleContext
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.framework.nodes import ABSENT
from podrules.scheduling.scheduler.plugins.pod_topology_spread.common import (
    HOSTNAME,
    SpreadConstraint,
    included_nodes,
    matching_pods,
    nodes_with_all_keys,
)
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import SpreadTerm

Column = NDArray[np.int64]
Mask = NDArray[np.bool_]


class SoftSpread(Struct, frozen=True):
    """How the matching pods of one constraint are spread."""

    constraint: SpreadConstraint
    present: Mask
    """For each node whether it has the key."""
    counts: Column
    """For each node the matching pods of its domain."""
    domains_num: int
    weight: float


class SpreadScoreState(Struct, frozen=True):
    """All ScheduleAnyway constraints (preScoreState)."""

    spreads: tuple[SoftSpread, ...]
    ignored: Mask
    """For each node whether it lacks a key that it needs."""
    rounds: bool
    """Whether sums are rounded, not cut."""


def score_state(
    context: CycleContext,
    constraints: Sequence[SpreadConstraint],
    feasible: NDArray[np.int32],
    *,
    require_all_topologies: bool,
) -> SpreadScoreState:
    """Count domains and matching pods (initPreScoreState, PreScore)."""
    size = len(context.table)
    ignored = np.zeros(size, np.bool_)
    if require_all_topologies:
        ignored = ~nodes_with_all_keys(context.table.nodes, constraints)
    scored = feasible[~ignored[feasible]]
    counts, masks = matching_pods(context, constraints), included_nodes(context, constraints)
    spreads = (
        _soft_spread(context.table, constraint, scored, ~ignored & included, matching)
        for constraint, matching, included in zip(constraints, counts, masks, strict=True)
    )
    return SpreadScoreState(tuple(spreads), ignored, context.features.spread_rounded)


def _soft_spread(
    table: NodeTable, constraint: SpreadConstraint, scored: NDArray[np.int32], eligible: Mask, counts: Column
) -> SoftSpread:
    labels = table.label(constraint.topology_key)
    present = labels.codes != ABSENT
    domains_num = len(scored)
    if constraint.topology_key != HOSTNAME:
        # Upstream reads an absent label as "", which a label that is there may be too.
        nothing = labels.values.index("") if "" in labels.values else len(labels.values)
        codes = np.where(present, labels.codes, nothing)
        domains_num = len(np.unique(codes[scored]))
        totals = np.zeros(len(labels.values) + 1, np.int64)
        np.add.at(totals, codes[eligible], counts[eligible])
        counts = totals[codes]
    return SoftSpread(constraint, present, counts, domains_num, math.log(domains_num + 2))


def raw_scores(state: SpreadScoreState, rows: NDArray[np.int32]) -> Column:
    """What the constraints add up to on each row; 0 where it is ignored (Score). Before 1.24 it was cut."""
    total = np.zeros(len(rows))
    for spread in state.spreads:
        total += _parts(spread, rows)
    # As math.Round: half away from zero; nothing here is below zero.
    whole = np.trunc(total)
    rounded = (whole + (state.rounds & (total - whole >= 0.5))).astype(np.int64)
    return np.where(state.ignored[rows], 0, rounded)


def _parts(spread: SoftSpread, rows: NDArray[np.int32]) -> NDArray[np.float64]:
    """A constraint's part of each row's raw score (scoreForCount); 0 where the key is absent."""
    parts = spread.counts[rows] * spread.weight + (spread.constraint.max_skew - 1)
    return np.where(spread.present[rows], parts, 0.0)


def normalized(state: SpreadScoreState, rows: NDArray[np.int32], raw: Column) -> Column:
    """The more pods, the lower (NormalizeScore)."""
    ignored = state.ignored[rows]
    kept = raw[~ignored]
    highest = int(kept.max(initial=0))
    if highest == 0:
        return np.where(ignored, 0, MAX_NODE_SCORE)
    return np.where(ignored, 0, MAX_NODE_SCORE * (highest + kept.min() - raw) // highest)


def explain_score(context: CycleContext, state: SpreadScoreState, row: int) -> tuple[SpreadTerm, ...]:
    """Each constraint's part of a node's raw score; nothing when the node is ignored."""
    return () if state.ignored[row] else tuple(_part(context, spread, row) for spread in state.spreads)


def _part(context: CycleContext, spread: SoftSpread, row: int) -> SpreadTerm:
    constraint, present = spread.constraint, bool(spread.present[row])
    labels = context.table.label(constraint.topology_key)
    return SpreadTerm(
        field=constraint.field,
        topology_key=constraint.topology_key,
        domain=labels.values[labels.codes[row]] if present else None,
        count=int(spread.counts[row]) if present else 0,
        domains=spread.domains_num,
        weight=spread.weight,
        max_skew=constraint.max_skew,
        score=float(_parts(spread, np.array([row], np.int32))[0]),
    )
