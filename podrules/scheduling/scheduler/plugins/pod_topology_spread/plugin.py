"""PodTopologySpread: keeps matching pods spread over domains such as zones and nodes.

DoNotSchedule constraints filter (`filtering`), ScheduleAnyway constraints score. A pod without constraints of its own
has the defaults of the arguments, when it belongs to a Service or a controller that counts (`default_selector`).

Source: pkg/scheduler/framework/plugins/podtopologyspread/{plugin,scoring}.go at v1.36.3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.model.pod import Pod
from podrules.api.model.selectors import SelectorError
from podrules.api.names import meant_label
from podrules.scheduling.scheduler.framework.answers import SKIP, CandidateChange, ChangeKind, Code, Fact, Status
from podrules.scheduling.scheduler.framework.interface import (
    MAX_NODE_SCORE,
    MEANT,
    AppliedChange,
    CycleContext,
    PreFilterResult,
    PreScoreResult,
    S,
    Verdicts,
)
from podrules.scheduling.scheduler.framework.node_table import ABSENT
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    SYSTEM_DEFAULTING,
    PodTopologySpreadArgs,
    SpreadTerm,
)
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import (
    ERR_REASON_CONSTRAINTS_NOT_MATCH,
    ERR_REASON_NODE_LABEL_NOT_MATCH,
    HOSTNAME,
    NAME,
    Relaxation,
    SpreadConstraint,
    SpreadOnNode,
    SpreadState,
    TopologySkew,
    constraints_in_force,
    explain,
    included_nodes,
    judge,
    matching_pods,
    nodes_with_all_keys,
    relaxations,
    spread_args,
    spread_state,
)

# The score: ScheduleAnyway.
#
#     ignored    feasible nodes that lack a key of some constraint; with the System defaults none are, and a node
#                without the key is of the domain ""
#     domain     the value of topologyKey on the feasible nodes that are not ignored
#     count      matching pods on the domain's nodes that count, feasible or not; for kubernetes.io/hostname
#                those of the node itself
#     weight     log(domains + 2); for kubernetes.io/hostname every node that is not ignored is a domain
#     raw        round(sum(count * weight + (maxSkew - 1))) over the constraints that have their key on the node
#     score      100 * (max + min - raw) / max of the nodes that are not ignored; 100 when max is 0; 0 when ignored

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

    def parts(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        """The constraint's part of each row's raw score (scoreForCount); 0 where the key is absent."""
        parts = self.counts[rows] * self.weight + (self.constraint.max_skew - 1)
        return np.where(self.present[rows], parts, 0.0)


class SpreadScoreState(Struct, frozen=True):
    """All ScheduleAnyway constraints (preScoreState)."""

    spreads: tuple[SoftSpread, ...]
    ignored: Mask
    """For each node whether it lacks a key that it needs."""
    rounds: bool
    """Whether sums are rounded, not cut."""


class PodTopologySpread:
    """Judges and ranks by how matching pods are spread."""

    name = NAME
    formula = "100 x (most + least - raw) / most"
    fact_types = (TopologySkew,)
    args_type = PodTopologySpreadArgs
    without_pre_filter = 'reading "PreFilterPodTopologySpread" from cycleState: not found'
    without_pre_score = 'error reading "PreScorePodTopologySpread" from cycleState: not found'

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        """Count domains and matching pods; Skip without DoNotSchedule constraints."""
        try:
            constraints = constraints_in_force(context, DO_NOT_SCHEDULE)
        except SelectorError as error:
            return PreFilterResult(Status(Code.ERROR, (str(error),)))
        if not constraints:
            return PreFilterResult(SKIP)
        return PreFilterResult(state=spread_state(context, constraints))

    def filter(self, context: CycleContext, state: SpreadState) -> Verdicts:
        """Whether the skew on each node stays within every constraint."""
        codes = judge(context.table, state)
        return Verdicts(codes, lambda row: _REASONS[Code(codes[row])])

    def explain(self, context: CycleContext, state: SpreadState, row: int) -> tuple[TopologySkew, ...]:  # noqa: ARG002 - as all
        """Every constraint's numbers on a node; the first that rejects gave the reason."""
        return explain(state, row)

    def facts(self, context: CycleContext, state: SpreadState, row: int) -> Iterator[Fact]:
        """The constraints that the node would break."""
        return (skew for skew in self.explain(context, state, row) if skew.rejects)

    def on_node(
        self,
        context: CycleContext,
        state: SpreadState,
        row: int,
        pods: Sequence[Pod],  # noqa: ARG002 - they are counted
    ) -> SpreadOnNode:
        """The constraints on a row's node."""
        return SpreadOnNode(state, context.pod, row)

    def relaxations(self, context: CycleContext, state: SpreadState) -> tuple[Relaxation, ...]:
        """Changes to one constraint that would free nodes."""
        return relaxations(context, [spread.constraint for spread in state.spreads])

    def pre_score(self, context: CycleContext, feasible: NDArray[np.int32]) -> PreScoreResult:
        """Count domains and matching pods (initPreScoreState); Skip without ScheduleAnyway constraints."""
        try:
            constraints = constraints_in_force(context, SCHEDULE_ANYWAY)
        except SelectorError as error:
            return PreScoreResult(Status(Code.ERROR, (str(error),)))
        if not constraints:
            return PreScoreResult(SKIP)
        table, ignored = context.table, np.zeros(len(context.table), np.bool_)
        own = bool(context.pod.spec.topology_spread_constraints)
        if own or spread_args(context).defaulting_type != SYSTEM_DEFAULTING:
            ignored = ~nodes_with_all_keys(table.nodes, constraints)
        scored = feasible[~ignored[feasible]]
        spreads = []
        matching, masks = matching_pods(context, constraints), included_nodes(context, constraints)
        for constraint, counts, included in zip(constraints, matching, masks, strict=True):
            labels = table.label(constraint.topology_key)
            present = labels.codes != ABSENT
            domains_num = len(scored)
            if constraint.topology_key != HOSTNAME:
                # Upstream reads an absent label as "", which a label that is there may be too.
                nothing = labels.values.index("") if "" in labels.values else len(labels.values)
                codes = np.where(present, labels.codes, nothing)
                domains_num = len(np.unique(codes[scored]))
                totals = np.zeros(len(labels.values) + 1, np.int64)
                eligible = ~ignored & included
                np.add.at(totals, codes[eligible], counts[eligible])
                counts = totals[codes]  # noqa: PLW2901 - of domains now
            spreads.append(SoftSpread(constraint, present, counts, domains_num, math.log(domains_num + 2)))
        return PreScoreResult(state=SpreadScoreState(tuple(spreads), ignored, context.features.spread_rounded))

    def raw_scores(self, context: CycleContext, state: SpreadScoreState, feasible: NDArray[np.int32]) -> Column:
        """What the constraints add up to."""
        del context
        return raw_scores(state, feasible)

    def score(self, context: CycleContext, state: SpreadScoreState, feasible: NDArray[np.int32]) -> Column:
        """The fewer matching pods a node's domains have, the higher."""
        return normalized(state, feasible, self.raw_scores(context, state, feasible))

    def changes(self, situation: S, context: CycleContext, state: SpreadState, row: int) -> Iterator[AppliedChange[S]]:
        """Each relaxation that frees the row's node, applied to the pod's own constraints."""
        name = situation.table.names[row]
        own = situation.pod.spec.topology_spread_constraints
        for relaxation in self.relaxations(context, state):
            index = re.fullmatch(r"spec\.topologySpreadConstraints\[(\d+)\]\.(\w+)", relaxation.field)
            if index is None:
                continue  # A default of the scheduler's: no field of the pod.
            place, (part, extra_cost) = int(index[1]), _PARTS[index[2]]
            key = own[place].topology_key
            meant = part == "topology_key" and not any(key in node.metadata.labels for node in situation.table.nodes)
            # The key in use today has the name of the old one.
            meant = meant and relaxation.value in {meant_label(key), f"topology.kubernetes.io/{key.rpartition('/')[2]}"}
            if name not in relaxation.nodes and not meant:
                continue
            changed = replace(own[place], **{part: relaxation.value})
            then = situation.with_spec(topology_spread_constraints=(*own[:place], changed, *own[place + 1 :]))
            change = CandidateChange(ChangeKind.SPREAD, field=relaxation.field, value=str(relaxation.value))
            yield AppliedChange(change, then, MEANT if meant else extra_cost)


_REASONS = {
    Code.SUCCESS: (),
    Code.UNSCHEDULABLE: (ERR_REASON_CONSTRAINTS_NOT_MATCH,),
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: (ERR_REASON_NODE_LABEL_NOT_MATCH,),
}


def raw_scores(state: SpreadScoreState, rows: NDArray[np.int32]) -> Column:
    """What the constraints add up to on each row; 0 where it is ignored (Score). Before 1.24 it was cut."""
    total = np.zeros(len(rows))
    for spread in state.spreads:
        total += spread.parts(rows)
    # As math.Round: half away from zero; nothing here is below zero.
    whole = np.trunc(total)
    rounded = (whole + (state.rounds & (total - whole >= 0.5))).astype(np.int64)
    return np.where(state.ignored[rows], 0, rounded)


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
    if state.ignored[row]:
        return ()
    found = []
    for spread in state.spreads:
        constraint, present = spread.constraint, bool(spread.present[row])
        labels = context.table.label(constraint.topology_key)
        found.append(
            SpreadTerm(
                field=constraint.field,
                topology_key=constraint.topology_key,
                domain=labels.values[labels.codes[row]] if present else None,
                count=int(spread.counts[row]) if present else 0,
                domains=spread.domains_num,
                weight=spread.weight,
                max_skew=constraint.max_skew,
                score=float(spread.parts(np.array([row], np.int32))[0]),
            )
        )
    return tuple(found)


_PARTS: Final = {
    # The pods stay as even as they were to be, over the nodes that they can go to.
    "nodeTaintsPolicy": ("node_taints_policy", 0),
    "nodeAffinityPolicy": ("node_affinity_policy", 0),
    "minDomains": ("min_domains", 0),
    "maxSkew": ("max_skew", 1),
    "whenUnsatisfiable": ("when_unsatisfiable", 15),
    "topologyKey": ("topology_key", 35),
}
"""Parts of a constraint that may change: the pod's own field, and its extra cost."""
