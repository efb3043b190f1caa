"""PodTopologySpread: keeps matching pods spread over domains such as zones and nodes.

DoNotSchedule constraints filter (`filtering`), ScheduleAnyway constraints score (`scoring`). A pod without constraints
of its own has the defaults of the arguments, when it belongs to a Service or a controller that counts
(`default_selector`).

Source: pkg/scheduler/framework/plugins/podtopologyspread/plugin.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from podrules.api.model.pod import Pod
from podrules.api.model.selectors import SelectorError
from podrules.scheduling.scheduler.framework.facts import Fact
from podrules.scheduling.scheduler.framework.interface import CycleContext, PreFilterResult, PreScoreResult, Verdicts
from podrules.scheduling.scheduler.framework.pod_on_cluster import AppliedChange, S
from podrules.scheduling.scheduler.framework.status import SKIP, Code, Status
from podrules.scheduling.scheduler.plugins.pod_topology_spread.changes import relaxed
from podrules.scheduling.scheduler.plugins.pod_topology_spread.common import NAME, constraints_in_force, spread_args
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    SYSTEM_DEFAULTING,
    PodTopologySpreadArgs,
)
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import (
    ERR_REASON_CONSTRAINTS_NOT_MATCH,
    ERR_REASON_NODE_LABEL_NOT_MATCH,
    Relaxation,
    SpreadOnNode,
    SpreadState,
    TopologySkew,
    explain,
    judge,
    relaxations,
    spread_state,
)
from podrules.scheduling.scheduler.plugins.pod_topology_spread.scoring import (
    Column,
    SpreadScoreState,
    normalized,
    raw_scores,
    score_state,
)


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

        def reasons(row: int) -> tuple[str, ...]:
            return _REASONS[Code(codes[row])]

        return Verdicts(codes, reasons)

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
        """Count domains and matching pods; Skip without ScheduleAnyway constraints."""
        try:
            constraints = constraints_in_force(context, SCHEDULE_ANYWAY)
        except SelectorError as error:
            return PreScoreResult(Status(Code.ERROR, (str(error),)))
        if not constraints:
            return PreScoreResult(SKIP)
        own = bool(context.pod.spec.topology_spread_constraints)
        require_all = own or spread_args(context).defaulting_type != SYSTEM_DEFAULTING
        return PreScoreResult(state=score_state(context, constraints, feasible, require_all_topologies=require_all))

    def raw_scores(self, context: CycleContext, state: SpreadScoreState, feasible: NDArray[np.int32]) -> Column:
        """What the constraints add up to."""
        del context
        return raw_scores(state, feasible)

    def score(self, context: CycleContext, state: SpreadScoreState, feasible: NDArray[np.int32]) -> Column:
        """The fewer matching pods a node's domains have, the higher."""
        return normalized(state, feasible, self.raw_scores(context, state, feasible))

    def changes(self, situation: S, context: CycleContext, state: SpreadState, row: int) -> Iterator[AppliedChange[S]]:
        """One constraint relaxed."""
        return relaxed(situation, self.relaxations(context, state), row)


_REASONS = {
    Code.SUCCESS: (),
    Code.UNSCHEDULABLE: (ERR_REASON_CONSTRAINTS_NOT_MATCH,),
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: (ERR_REASON_NODE_LABEL_NOT_MATCH,),
}
