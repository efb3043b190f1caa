"""One scheduling cycle, up to the choice: every node's verdict, every plugin's score, the best nodes.

The plugins are those of a profile (`podrules.scheduling.scheduler.runtime`).

    PreEnqueue   a pod that is held back is not queued
    PreFilter    each plugin in order: Skip leaves its Filter out; UnschedulableAndUnresolvable ends the cycle for all
                 nodes; Unschedulable does so after the others have run; node names narrow the nodes
    Filter       each plugin in order; a node's first rejection counts. A node with nominated pods of the same or a
                 higher priority is judged with them and then without them: it has to pass both
    PreScore,    each plugin in order; Skip leaves its Score out; weighted scores add up; of the best nodes any may be
    Score        chosen, and any at all where no plugin scores. The pod's own nominated node is tried first, and taken
                 when it fits

kube-scheduler itself stops after enough feasible nodes on large clusters (`num_feasible_nodes_to_find`): it
chooses among those that it has examined. Here all nodes are judged.

Source, at v1.36.3: pkg/scheduler/schedule_one.go (findNodesThatFitPod, prioritizeNodes); FitError in
pkg/scheduler/framework/types.go; RunPreFilterPlugins, RunFilterPluginsWithNominatedPods, RunScorePlugins in
pkg/scheduler/framework/runtime/framework.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.features import REFERENCE, Features
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.answers import SUCCESS, Code, ScoreError, Status
from podrules.scheduling.scheduler.framework.interface import (
    CycleContext,
    PreFilterResult,
    Verdicts,
    is_off,
    nominated_rows,
)
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.runtime import Framework


class PreFilterOutcome(Struct, frozen=True):
    """What the PreFilter plugins found together."""

    status: Status
    node_names: frozenset[str] | None
    """The only nodes that can be; None: all."""
    narrowed_by: frozenset[str]
    """Plugins that named nodes."""
    skipped: frozenset[str]
    """Plugins that do not run Filter."""


class FilterResult:
    """Every node's verdict."""

    def __init__(
        self,
        framework: Framework,
        context: CycleContext,
        pre_filter: PreFilterOutcome,
        plugins: Sequence[str],
        verdicts: Sequence[Verdicts],
        *,
        crowded: Mapping[int, FilterResult] = MappingProxyType({}),
    ) -> None:
        """Combine the verdicts of the Filter plugins that ran, in order.

        ``crowded`` has the rows that are rejected because of the pods nominated to them: the verdicts with these pods.
        """
        self.framework = framework
        self.context = context
        self.pre_filter = pre_filter
        self.plugins = tuple(plugins)
        self._verdicts = tuple(verdicts)
        self._crowded = crowded

    @cached_property
    def _first(self) -> NDArray[np.int16]:
        """For each row the index of the first plugin that rejected it; -1: none."""
        first = np.full(len(self.context.table), -1, np.int16)
        for index in reversed(range(len(self._verdicts))):
            first[self._verdicts[index].codes != Code.SUCCESS] = index
        return first

    @cached_property
    def considered(self) -> NDArray[np.bool_]:
        """The rows that Filter examines: all but those that PreFilter left out."""
        names = self.pre_filter.node_names
        if names is None:
            return np.full(len(self.context.table), self.pre_filter.status.ok)
        return np.fromiter((name in names for name in self.context.table.names), np.bool_, len(self.context.table))

    @cached_property
    def codes(self) -> NDArray[np.int8]:
        """Each considered row's verdict as a `Code`; 0 also where PreFilter has left a row out."""
        codes = np.full(len(self.context.table), Code.SUCCESS, np.int8)
        for verdicts in reversed(self._verdicts):
            np.copyto(codes, verdicts.codes, where=verdicts.codes != Code.SUCCESS)
        for row, crowded in self._crowded.items():
            codes[row] = crowded.codes[row]
        return codes * self.considered

    @cached_property
    def feasible(self) -> NDArray[np.int32]:
        """Rows of the nodes that fit."""
        return np.flatnonzero(self.considered & (self.codes == Code.SUCCESS)).astype(np.int32)

    def overruled(self, crowded: Mapping[int, FilterResult]) -> FilterResult:
        """The same, where some rows are rejected because they would be with the pods that are nominated to them."""
        return FilterResult(
            self.framework, self.context, self.pre_filter, self.plugins, self._verdicts, crowded=crowded
        )

    def judged(self, row: int) -> FilterResult:
        """The verdicts that decided on a row: these, or those with its nominated pods."""
        return self._crowded.get(row, self)

    def status(self, row: int) -> Status:
        """A considered row's verdict, with the plugin that rejected it."""
        if row in self._crowded:
            return self._crowded[row].status(row)
        index = int(self._first[row])
        return SUCCESS if index < 0 else self.verdict(self.plugins[index], row)

    def verdict(self, plugin: str, row: int) -> Status:
        """The verdict of one Filter plugin on a row, independent of the others."""
        verdicts = self._verdicts[self.plugins.index(plugin)]
        code = Code(int(verdicts.codes[row]))
        if code is Code.SUCCESS:
            return SUCCESS
        reasons = verdicts.reasons(row)
        if code is Code.ERROR:
            reasons = tuple(f'running "{plugin}" filter plugin: {reason}' for reason in reasons)
        return Status(code, reasons, plugin)

    def rejects(self, plugin: str) -> NDArray[np.bool_]:
        """For each row, whether one Filter plugin rejects it, independent of the others."""
        rejected: NDArray[np.bool_] = self._verdicts[self.plugins.index(plugin)].codes != Code.SUCCESS
        return rejected

    def fits(self, row: int) -> bool:
        """Whether a row's node is feasible."""
        return bool(self.considered[row]) and self.status(row).ok

    def reasons(self, row: int) -> tuple[str, ...]:
        """Why a row's node rejects the pod, in upstream's words; empty: it fits."""
        if not self.pre_filter.status.ok:
            return self.pre_filter.status.reasons
        if self.considered[row]:
            return self.status(row).reasons
        found = self.nominated.get(self.context.table.names[row])
        return (self.left_out,) if found is None else found.reasons

    @property
    def left_out(self) -> str:
        """The reason for nodes that PreFilter left out.

        The plugin that rejects the pod's nominated node counts as one that left nodes out: that node is tried first,
        and upstream keeps both in one set (findNodesThatFitPod).
        """
        plugins = self.pre_filter.narrowed_by | {status.plugin for status in self._tried_first.values()}
        return f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}]"

    @property
    def nominated(self) -> Mapping[str, Status]:
        """The verdict on the pod's nominated node, by name, where PreFilter left it out and a plugin rejects it."""
        index = self.context.table.index
        return {name: status for name, status in self._tried_first.items() if not self.considered[index[name]]}

    @cached_property
    def _tried_first(self) -> Mapping[str, Status]:
        """The verdict on the pod's nominated node, by name, where PreFilter narrowed and a plugin rejects it."""
        row = self.context.table.index.get(self.context.pod.status.nominated_node_name)
        if row is None or self.pre_filter.node_names is None or not self.pre_filter.status.ok:
            return {}
        status = self.status(row)
        return {} if status.code in {Code.SUCCESS, Code.ERROR} else {self.context.table.names[row]: status}

    def rejecting(self, row: int) -> tuple[str, ...]:
        """All plugins that reject a considered row, in order; upstream stops at the first."""
        if row in self._crowded:
            return self._crowded[row].rejecting(row)
        found = zip(self.plugins, self._verdicts, strict=True)
        return tuple(plugin for plugin, verdicts in found if verdicts.codes[row] != Code.SUCCESS)

    @cached_property
    def rejected(self) -> Mapping[str, Status]:
        """Each considered node that does not fit, by name, with its verdict."""
        names = self.context.table.names
        return {names[row]: self.status(row) for row in np.flatnonzero(self.codes).tolist()}

    @property
    def error(self) -> str:
        """Why the cycle as a whole fails, though other nodes may fit; empty: it does not.

        Upstream gives the error of whichever node met one first; here it is the first node's.
        """
        rows = np.flatnonzero(self.codes == Code.ERROR)
        return " ".join(self.status(int(rows[0])).reasons) if len(rows) else ""

    @property
    def message(self) -> str:
        """The message of the PodScheduled condition if no node fits, without PostFilter's part (FitError.Error)."""
        table = self.context.table
        if not self.pre_filter.status.ok:
            return f"{_none_available(len(table))} {', '.join(self.pre_filter.status.reasons)}."
        counts: Counter[str] = Counter()
        judged = {**self.nominated, **self.rejected}
        for status in judged.values():
            counts.update(status.reasons)
        absent = len(table) - len(judged)
        if absent and self.pre_filter.node_names is not None:
            counts[self.left_out] += absent
        return fit_error(len(table), counts)


def fit_error(nodes: int, reasons: Mapping[str, int]) -> str:
    """No node fits, and how many there are for each reason (FitError.Error)."""
    histogram = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"{_none_available(nodes)} {histogram}." if histogram else _none_available(nodes)


def _none_available(nodes: int) -> str:
    return f"0/{nodes} nodes are available:"


class ScoreResult(Struct, frozen=True):
    """The scores of the feasible nodes."""

    feasible: NDArray[np.int32]
    by_plugin: Mapping[str, NDArray[np.int64]]
    """Weighted scores of the feasible rows, in their order; plugins that skipped are left out."""
    skipped: frozenset[str]
    totals: NDArray[np.int64]
    states: Mapping[str, Any] = {}
    """What PreScore of each plugin computed; by it a plugin can explain its score."""
    error: str = ""
    """Why they cannot be scored; empty: they are."""

    @property
    def fails(self) -> bool:
        """Whether the cycle as a whole fails: a node that fits alone is taken without a score (schedulePod)."""
        return bool(self.error) and len(self.feasible) > 1

    @property
    def best(self) -> NDArray[np.int32]:
        """Rows of the nodes with the highest total; none when the cycle fails."""
        if self.error:
            return self.feasible[:0] if self.fails else self.feasible
        rows: NDArray[np.int32] = self.feasible[self.totals == self.totals.max()]
        return rows


def pre_enqueue(pod: Pod, snapshot: ClusterSnapshot, framework: Framework, *, features: Features = REFERENCE) -> Status:
    """Success, or why the pod is not queued."""
    for plugin in framework.pre_enqueue:
        status = plugin.pre_enqueue(pod, snapshot, features)
        if not status.ok:
            return replace(status, plugin=plugin.name)
    return SUCCESS


def filter_nodes(
    pod: Pod,
    table: NodeTable,
    snapshot: ClusterSnapshot,
    *,
    features: Features,
    framework: Framework,
    now: datetime | None = None,
) -> FilterResult:
    """Judge every node for a pod with the plugins of its profile.

    Pods of the snapshot without a node may be nominated. ``now`` is for timeouts; None: not known.
    """
    context = CycleContext(pod, table, snapshot, features, framework.args, {}, now)
    pre_filter = _run_pre_filter(framework, context)
    if not pre_filter.status.ok:
        return FilterResult(framework, context, pre_filter, (), ())
    filtered = _run_filter(framework, context, pre_filter)
    overruled: dict[int, FilterResult] = {}
    for row, pods in nominated_rows(context).items():
        # The verdicts with the pods that are nominated to a row.
        crowded = replace(context, table=table.with_pods((one, table.names[row]) for one in pods), states={})
        for plugin in framework.pre_filter:
            crowded.states[plugin.name] = plugin.pre_filter(crowded).state
        found = _run_filter(framework, crowded, pre_filter)
        if not found.status(row).ok:
            overruled[row] = found
    return filtered.overruled(overruled)


def score_nodes(filtered: FilterResult) -> ScoreResult:
    """Score the nodes that fit; at least one must."""
    framework, context, feasible = filtered.framework, filtered.context, filtered.feasible
    states: dict[str, Any] = {}
    # A gate that is off leaves nothing to prepare and nothing to score.
    skipped = {plugin.name for plugin, _ in framework.score if is_off(plugin, context.features)}
    for preparing in framework.pre_score:
        found = preparing.pre_score(context, feasible)
        if found.status.code is Code.SKIP:
            skipped.add(preparing.name)
        elif not found.status.ok:
            return _unscored(feasible, f'running PreScore plugin "{preparing.name}": {" ".join(found.status.reasons)}')
        states[preparing.name] = found.state
    by_plugin: dict[str, NDArray[np.int64]] = {}
    totals = np.full(len(feasible), 0 if framework.score else 1, np.int64)
    for plugin, weight in framework.score:
        if plugin.name not in skipped:
            try:
                scores = plugin.score(context, states.get(plugin.name), feasible)
            except ScoreError as error:
                problem = f'running Score plugins: plugin "{plugin.name}" failed with: {error}'
                return _unscored(feasible, problem, frozenset(skipped))
            by_plugin[plugin.name] = weight * scores
            totals += by_plugin[plugin.name]
    return ScoreResult(feasible, by_plugin, frozenset(skipped), totals, states)


def _unscored(feasible: NDArray[np.int32], error: str, skipped: frozenset[str] = frozenset()) -> ScoreResult:
    return ScoreResult(feasible, {}, skipped, np.zeros(len(feasible), np.int64), error=error)


def _run_pre_filter(framework: Framework, context: CycleContext) -> PreFilterOutcome:
    skipped: set[str] = set()
    narrowed_by: set[str] = set()
    names: frozenset[str] | None = None
    failed = SUCCESS
    for plugin in framework.pre_filter:
        found: PreFilterResult = plugin.pre_filter(context)
        context.states[plugin.name] = found.state
        status = replace(found.status, plugin=plugin.name) if not found.status.ok else found.status
        if status.code is Code.SKIP:
            skipped.add(plugin.name)
        elif status.code is Code.UNSCHEDULABLE:
            failed = status
        elif not status.ok:
            return PreFilterOutcome(status, None, frozenset(), frozenset(skipped))
        elif found.node_names is not None:
            narrowed_by.add(plugin.name)
            names = found.node_names if names is None else names & found.node_names
            if not names:
                together = f"plugin(s) [{' '.join(sorted(narrowed_by))}] simultaneously"
                which = together if len(narrowed_by) > 1 else f"plugin {plugin.name}"
                status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (f"node(s) didn't satisfy {which}",))
                return PreFilterOutcome(status, names, frozenset(narrowed_by), frozenset(skipped))
    return PreFilterOutcome(failed, names, frozenset(narrowed_by), frozenset(skipped))


def _run_filter(framework: Framework, context: CycleContext, pre_filter: PreFilterOutcome) -> FilterResult:
    plugins = [plugin for plugin in framework.filter if plugin.name not in pre_filter.skipped]
    verdicts = [plugin.filter(context, context.states.setdefault(plugin.name)) for plugin in plugins]
    return FilterResult(framework, context, pre_filter, [plugin.name for plugin in plugins], verdicts)


MIN_FEASIBLE_NODES: Final = 100
MIN_FEASIBLE_PERCENTAGE: Final = 5


def num_feasible_nodes_to_find(percentage: int, nodes: int) -> int:
    """How many feasible nodes of so many kube-scheduler finds before it stops (numFeasibleNodesToFind).

    The percentage is ``percentageOfNodesToScore`` in force (`Profile.percentage_of_nodes_to_score`); 0: it shrinks with
    the cluster. Where no plugin scores, one node is enough; a pod's own nominated node is tried first and alone.
    """
    if nodes < MIN_FEASIBLE_NODES:
        return nodes
    percentage = percentage or max(50 - nodes // 125, MIN_FEASIBLE_PERCENTAGE)
    return max(nodes * percentage // 100, MIN_FEASIBLE_NODES)
