"""TaintToleration and NodeUnschedulable: nodes with untolerated taints are out, or come last.

    Filter   a taint of effect NoSchedule or NoExecute that no toleration tolerates
    Score    the number of PreferNoSchedule taints that no toleration with that effect, or none, tolerates;
             normalised: 100 - 100 * number / highest number, and 100 if no node has any

What tolerates what is the rule of `podrules.pod.tolerations`.

Source: k8s.io/component-helpers/scheduling/corev1/helpers.go (FindMatchingUntoleratedTaint) at v0.36.3;
pkg/scheduler/framework/plugins/{tainttoleration,nodeunschedulable,helper} at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.model.node import Node, Taint
from podrules.api.model.pod import Pod, reference
from podrules.api.model.selectors import Toleration
from podrules.api.well_known import KnownTaint, Meaning, known_taint, uses_hardware
from podrules.pod.platform import Platform, pod_platform
from podrules.pod.resources import pod_requests
from podrules.pod.tolerations import DO_NOT_SCHEDULE, NO_SCHEDULE, tolerations_tolerate_taint
from podrules.scheduling.scheduler.framework.answers import CandidateChange, ChangeKind, Code, Fact
from podrules.scheduling.scheduler.framework.interface import (
    AppliedChange,
    CycleContext,
    PreScoreResult,
    S,
    Verdicts,
    all_fit,
)
from podrules.scheduling.scheduler.framework.node_table import ABSENT, Nodes, frozen
from podrules.scheduling.scheduler.plugins.scores import default_normalize_score
from podrules.workload.safety import Guarantee, owner_guarantee

PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"


class TaintColumns(Struct, frozen=True):
    """All taints of all nodes, one entry a taint, in the order of the nodes and of each node's taints."""

    rows: NDArray[np.int32]
    positions: NDArray[np.int32]
    """Index in the node's ``spec.taints``."""
    codes: NDArray[np.int32]
    """Index in ``distinct``."""
    distinct: tuple[Taint, ...]
    """Distinct by key, value and effect."""


def untolerated_taint_codes(
    nodes: Nodes, tolerations: Sequence[Toleration], effects: Collection[str] = DO_NOT_SCHEDULE
) -> NDArray[np.int32]:
    """For each node the index in its ``spec.taints`` of the first untolerated taint; `ABSENT` where all are tolerated.

    Only taints of the effects count.
    """
    return nodes.derived(_FirstUntolerated(tuple(tolerations), frozenset(effects)))


class _FirstUntolerated(Struct, frozen=True):
    """A pod's tolerations: several plugins ask, and replicas ask for the same."""

    tolerations: tuple[Toleration, ...]
    effects: frozenset[str]

    def __call__(self, nodes: Nodes) -> NDArray[np.int32]:
        columns = nodes.derived(taint_columns)
        untolerated = _untolerated(columns, self.tolerations, self.effects)
        first = np.full(len(nodes), ABSENT, np.int32)
        # The last assignment to a row stays: from back to front, that of its first taint.
        first[columns.rows[untolerated][::-1]] = columns.positions[untolerated][::-1]
        return frozen(first)


def count_untolerated_taints(
    nodes: Nodes, tolerations: Sequence[Toleration], effects: Collection[str]
) -> NDArray[np.int64]:
    """For each node how many of its taints of these effects are untolerated."""
    columns = nodes.derived(taint_columns)
    untolerated = _untolerated(columns, tolerations, effects)
    return np.bincount(columns.rows[untolerated], minlength=len(nodes)).astype(np.int64)


def taint_columns(nodes: Nodes) -> TaintColumns:
    """The taints of nodes: a column (`Nodes.derived`)."""
    known: dict[tuple[str, str, str], int] = {}
    distinct: list[Taint] = []
    entries: list[tuple[int, int, int]] = []
    for row, node in enumerate(nodes):
        for position, taint in enumerate(node.spec.taints):
            key = (taint.key, taint.value, taint.effect)
            if key not in known:
                known[key] = len(distinct)
                distinct.append(taint)
            entries.append((row, position, known[key]))
    rows, positions, codes = np.array(entries, np.int32).reshape(-1, 3).T
    return TaintColumns(rows, positions, codes, tuple(distinct))


def _untolerated(
    columns: TaintColumns, tolerations: Sequence[Toleration], effects: Collection[str]
) -> NDArray[np.bool_]:
    """For each taint in the columns whether it counts and no toleration tolerates it."""
    answers = (
        taint.effect in effects and not tolerations_tolerate_taint(tolerations, taint) for taint in columns.distinct
    )
    return np.fromiter(answers, np.bool_, len(columns.distinct))[columns.codes]


ERR_REASON_UNSCHEDULABLE: Final = "node(s) were unschedulable"
TAINT_NODE_UNSCHEDULABLE: Final = Taint("node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


class NodeUnschedulable:
    """Filters by ``spec.unschedulable``: a cordoned node takes only pods that tolerate its taint."""

    name = "NodeUnschedulable"

    def filter(self, context: CycleContext, state: Any) -> Verdicts:  # noqa: ARG002 - has none
        """UnschedulableAndUnresolvable for each cordoned node, unless the pod tolerates that."""
        if tolerations_tolerate_taint(context.pod.spec.tolerations, TAINT_NODE_UNSCHEDULABLE):
            return all_fit(context.table)
        cordoned = context.table.nodes.derived(_unschedulable)
        codes = np.where(cordoned, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.SUCCESS).astype(np.int8)
        return Verdicts(codes, lambda _: (ERR_REASON_UNSCHEDULABLE,))

    def changes(self, situation: S, context: CycleContext, state: Any, row: int) -> Iterator[AppliedChange[S]]:
        """Uncordon the node."""
        del context, state
        yield uncordoned(situation, row)


def uncordoned(situation: S, row: int) -> AppliedChange[S]:
    """The node of a row uncordoned, without the taint that a cordon sets."""
    name = situation.table.names[row]

    def schedulable(node: Node) -> Node:
        taints = tuple(taint for taint in node.spec.taints if taint.key != TAINT_NODE_UNSCHEDULABLE.key)
        return replace(node, spec=replace(node.spec, unschedulable=False, taints=taints))

    return AppliedChange(CandidateChange(ChangeKind.UNCORDON, node=name), situation.with_node(name, schedulable))


def _unschedulable(nodes: Nodes) -> NDArray[np.bool_]:
    return np.fromiter((node.spec.unschedulable for node in nodes), np.bool_, len(nodes))


ERR_REASON: Final = "node(s) had untolerated taint(s)"


class UntoleratedTaints(Struct, frozen=True):
    """A node's taints that the pod does not tolerate."""

    rejecting: tuple[Taint, ...]
    """NoSchedule and NoExecute; upstream's log names the first."""
    deterring: tuple[Taint, ...]
    """PreferNoSchedule."""


class TaintEffect(Fact, frozen=True, tag="UntoleratedTaint"):
    """TaintToleration: a taint that the pod does not tolerate."""

    key: str
    value: str
    effect: str


_PASSES_BY_ITSELF: Final = -100
"""To wait for a node that starts is cheaper than any change."""
_NOT_READY: Final = "node.kubernetes.io/not-ready"
_KEPT_FREE: Final = 100
"""Nodes of the control plane, for example, are kept free on purpose."""


class TaintToleration:
    """Filters and scores by ``spec.taints`` of nodes and ``spec.tolerations`` of the pod."""

    name = "TaintToleration"
    formula = "100 - 100 x raw / most"
    fact_types = (TaintEffect,)
    without_pre_score = 'failed to read "PreScoreTaintToleration" from cycleState: not found'

    def filter(self, context: CycleContext, state: Any) -> Verdicts:  # noqa: ARG002 - has none
        """UnschedulableAndUnresolvable for each node with an untolerated NoSchedule or NoExecute taint."""
        found = untolerated_taint_codes(context.table.nodes, context.pod.spec.tolerations, DO_NOT_SCHEDULE)
        codes = np.where(found == ABSENT, Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE).astype(np.int8)
        return Verdicts(codes, lambda _: (ERR_REASON,))

    def explain(self, context: CycleContext, state: Any, row: int) -> UntoleratedTaints:  # noqa: ARG002 - has none
        """The taints of a row's node that count."""
        tolerations = context.pod.spec.tolerations
        prefer = _tolerations_prefer_no_schedule(tolerations)
        taints = context.table.nodes[row].spec.taints
        return UntoleratedTaints(
            rejecting=tuple(
                taint
                for taint in taints
                if taint.effect in DO_NOT_SCHEDULE and not tolerations_tolerate_taint(tolerations, taint)
            ),
            deterring=tuple(
                taint
                for taint in taints
                if taint.effect == PREFER_NO_SCHEDULE and not tolerations_tolerate_taint(prefer, taint)
            ),
        )

    def facts(self, context: CycleContext, state: Any, row: int) -> Iterator[Fact]:
        """The taints that reject."""
        for taint in self.explain(context, state, row).rejecting:
            yield TaintEffect(taint.key, taint.value, taint.effect)

    def pre_score(self, context: CycleContext, feasible: NDArray[np.int32]) -> PreScoreResult:  # noqa: ARG002 - of all
        """The tolerations that count."""
        return PreScoreResult(state=_tolerations_prefer_no_schedule(context.pod.spec.tolerations))

    def raw_scores(
        self, context: CycleContext, state: tuple[Toleration, ...], feasible: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """Untolerated PreferNoSchedule taints."""
        return count_untolerated_taints(context.table.nodes, state, (PREFER_NO_SCHEDULE,))[feasible]

    def score(
        self, context: CycleContext, state: tuple[Toleration, ...], feasible: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """Fewer of them are better."""
        return default_normalize_score(self.raw_scores(context, state, feasible), reverse=True)

    def changes(self, situation: S, context: CycleContext, state: Any, row: int) -> Iterator[AppliedChange[S]]:
        """A toleration; where the taint has a known owner, what that would do (`podrules.api.well_known`)."""
        name, pod = situation.table.names[row], situation.pod
        for taint in self.explain(context, state, row).rejecting[:1]:
            known = known_taint(taint.key, taint.value)
            bare = partial(_without_taint, key=taint.key)
            away = CandidateChange(ChangeKind.REMOVE_TAINT, node=name, value=taint.text)
            if taint.key == TAINT_NODE_UNSCHEDULABLE.key:
                yield uncordoned(situation, row)
            elif known is not None and known.meaning in {Meaning.TROUBLE, Meaning.STARTING}:
                gone = situation.with_node(name, bare)
                cost = _PASSES_BY_ITSELF if known.meaning is Meaning.STARTING else 0
                yield AppliedChange(_with_cause(away, situation, row), gone, cost)
            elif known is not None and _is_unfit(known, pod):
                yield AppliedChange(replace(away, kind=ChangeKind.ADD_NODE), situation.with_another_node(name, bare))
            else:
                added = Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
                tolerated = situation.with_spec(tolerations=(*pod.spec.tolerations, added))
                change = CandidateChange(ChangeKind.TOLERATE, field="spec.tolerations", value=taint.text)
                reserved = known is not None and known.meaning is Meaning.RESERVED
                yield AppliedChange(change, tolerated, _KEPT_FREE if reserved else 0)


def _with_cause(change: CandidateChange, situation: S, row: int) -> CandidateChange:
    """What keeps the owner of a taint from removing it, as far as the node and its pods show that."""
    there = situation.table.pods.on(row)
    agents = [
        pod
        for pod in there
        if owner_guarantee(pod).guarantee is Guarantee.ONE_PER_NODE
        and (not pod.is_ready or any(one.state.waiting is not None for one in pod.status.of_containers))
    ]
    ready = situation.table.nodes[row].ready
    says = ready.message if ready and ready.status == "False" and change.value.startswith(_NOT_READY) else ""
    return replace(change, says=says, unready=tuple(map(reference, agents[:2])))


def _is_unfit(known: KnownTaint, pod: Pod) -> bool:
    """Whether the node of a taint is no node for a pod, even if the pod tolerates it."""
    match known.meaning:
        case Meaning.LEAVING:
            return True
        case Meaning.OTHER_OS:
            return pod_platform(pod, None) is not Platform.WINDOWS
        case Meaning.HARDWARE:
            return not pod.spec.resource_claims and not uses_hardware(known, pod_requests(pod))
    return False


def _without_taint(node: Node, key: str) -> Node:
    taints: tuple[Taint, ...] = tuple(taint for taint in node.spec.taints if taint.key != key)
    return replace(node, spec=replace(node.spec, taints=taints))


def _tolerations_prefer_no_schedule(tolerations: tuple[Toleration, ...]) -> tuple[Toleration, ...]:
    """Those with that effect or none (getAllTolerationPreferNoSchedule)."""
    return tuple(toleration for toleration in tolerations if toleration.effect in {"", PREFER_NO_SCHEDULE})
