"""One scheduling cycle, up to the choice: every node's verdict, every plugin's score, the best nodes.

    PreEnqueue   a pod that is held back goes no further
    PreFilter    each plugin in order: Skip leaves its Filter out; UnschedulableAndUnresolvable ends the cycle for all
                 nodes; Unschedulable does so after the others have run; node names narrow the nodes
    Filter       each plugin in order; a node's first rejection counts. A node with nominated pods of the same or a
                 higher priority is judged with them and then without them: it has to pass both
    PreScore,    each plugin in order; Skip leaves its Score out; weighted scores add up; of the best nodes any may be
    Score        chosen. The pod's own nominated node is tried first, and taken when it fits

kube-scheduler itself stops after enough feasible nodes on large clusters (percentageOfNodesToScore): it chooses among
those that it has looked at. Here all nodes are judged.

Source, at v1.36.3: pkg/scheduler/schedule_one.go (findNodesThatFitPod, prioritizeNodes); FitError in
pkg/scheduler/framework/types.go; RunPreFilterPlugins, RunFilterPluginsWithNominatedPods, RunScorePlugins in
pkg/scheduler/framework/runtime/framework.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.features import Features
from podrules.model.pod import Pod
from podrules.model.snapshot import ClusterSnapshot
from podrules.scheduler.framework.interface import CycleContext, FilterPlugin, PreFilterResult, Verdicts
from podrules.scheduler.framework.node_table import NodeTable
from podrules.scheduler.framework.status import SUCCESS, Code, Status
from podrules.scheduler.registry import FILTER_PLUGINS, PRE_ENQUEUE_PLUGINS, SCORE_PLUGINS

__all__ = ["Filtered", "PreFiltered", "Scored", "filter_nodes", "pre_enqueue", "score_nodes"]


class PreFiltered(Struct, frozen=True):
    """What the PreFilter plugins found together."""

    status: Status
    node_names: frozenset[str] | None
    """The only nodes that can be; None: all."""
    narrowed_by: frozenset[str]
    """Plugins that named nodes."""
    skipped: frozenset[str]
    """Plugins whose Filter is left out."""


class Filtered:
    """Every node's verdict."""

    def __init__(
        self, context: CycleContext, pre_filter: PreFiltered, plugins: Sequence[str], verdicts: Sequence[Verdicts]
    ) -> None:
        """Put the verdicts of the Filter plugins together.

        Args:
            context: The cycle.
            pre_filter: What came before.
            plugins: Names of the Filter plugins that ran, in order.
            verdicts: Theirs, in the same order.
        """
        self.context = context
        self.pre_filter = pre_filter
        self._plugins = tuple(plugins)
        self._verdicts = tuple(verdicts)
        self._overruled: dict[int, Status] = {}

    @cached_property
    def _first(self) -> NDArray[np.int16]:
        """For each row the index of the first plugin that rejected it; -1: none."""
        first = np.full(len(self.context.table), -1, np.int16)
        for index in reversed(range(len(self._verdicts))):
            first[self._verdicts[index].codes != Code.SUCCESS] = index
        return first

    @cached_property
    def considered(self) -> NDArray[np.bool_]:
        """The rows that Filter looks at: all but those that PreFilter left out."""
        names = self.pre_filter.node_names
        if names is None:
            return np.full(len(self.context.table), self.pre_filter.status.ok)
        return np.fromiter((name in names for name in self.context.table.names), np.bool_, len(self.context.table))

    @property
    def feasible(self) -> NDArray[np.int32]:
        """Rows of the nodes that fit."""
        fits = self.considered & (self._first < 0)
        for row in self._overruled:
            fits[row] = False
        return np.flatnonzero(fits).astype(np.int32)

    def overrule(self, row: int, status: Status) -> None:
        """Reject a row for what would be on it if nominated pods were."""
        self._overruled[row] = status

    def status(self, row: int) -> Status:
        """A considered row's verdict, with the plugin that rejected it."""
        if row in self._overruled:
            return self._overruled[row]
        index = int(self._first[row])
        if index < 0:
            return SUCCESS
        verdicts, plugin = self._verdicts[index], self._plugins[index]
        code, reasons = Code(int(verdicts.codes[row])), verdicts.reasons(row)
        if code is Code.ERROR:
            reasons = tuple(f'running "{plugin}" filter plugin: {reason}' for reason in reasons)
        return Status(code, reasons, plugin)

    @cached_property
    def rejected(self) -> Mapping[str, Status]:
        """Each considered node that does not fit, by name, with its verdict."""
        fits = frozenset(self.feasible.tolist())
        rows = (int(row) for row in np.flatnonzero(self.considered) if int(row) not in fits)
        return {self.context.table.names[row]: self.status(row) for row in rows}

    @property
    def error(self) -> str:
        """Why the cycle as a whole fails, though other nodes may fit; empty: it does not.

        Upstream gives the error of whichever node met one first; here it is the first node's.
        """
        errors = (status for status in self.rejected.values() if status.code is Code.ERROR)
        return next((" ".join(status.reasons) for status in errors), "")

    @property
    def unschedulable_plugins(self) -> frozenset[str]:
        """Plugins whose rejection keeps the pod from every node (Diagnosis.UnschedulablePlugins)."""
        if not self.pre_filter.status.ok:
            plugin = self.pre_filter.status.plugin
            return self.pre_filter.narrowed_by | (frozenset((plugin,)) if plugin else frozenset())
        return self.pre_filter.narrowed_by | {status.plugin for status in self.rejected.values()}

    @property
    def message(self) -> str:
        """What the PodScheduled condition says when no node fits, without what PostFilter adds (FitError.Error)."""
        table = self.context.table
        text = f"0/{len(table)} nodes are available:"
        if not self.pre_filter.status.ok:
            return f"{text} {', '.join(self.pre_filter.status.reasons)}."
        counts: Counter[str] = Counter()
        for status in self.rejected.values():
            counts.update(status.reasons)
        absent = len(table) - len(self.rejected)
        if absent and self.pre_filter.node_names is not None:
            counts[f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(self.pre_filter.narrowed_by))}]"] += absent
        histogram = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
        return f"{text} {histogram}." if histogram else text


class Scored(Struct, frozen=True):
    """What the feasible nodes are worth."""

    feasible: NDArray[np.int32]
    by_plugin: Mapping[str, NDArray[np.int64]]
    """Weighted scores of the feasible rows, in their order; plugins that skipped are left out."""
    skipped: frozenset[str]
    totals: NDArray[np.int64]

    @property
    def best(self) -> NDArray[np.int32]:
        """Rows of the nodes with the highest total."""
        rows: NDArray[np.int32] = self.feasible[self.totals == self.totals.max()]
        return rows


def pre_enqueue(pod: Pod, snapshot: ClusterSnapshot) -> Status:
    """Success, or why the pod is not even queued."""
    for plugin in PRE_ENQUEUE_PLUGINS:
        status = plugin.pre_enqueue(pod, snapshot)
        if not status.ok:
            return replace(status, plugin=plugin.name)
    return SUCCESS


def filter_nodes(
    pod: Pod,
    table: NodeTable,
    snapshot: ClusterSnapshot,
    *,
    features: Features,
    args: Mapping[str, Any],
    now: datetime | None = None,
) -> Filtered:
    """Judge every node for a pod.

    Args:
        pod: As it is stored.
        table: Nodes with their pods.
        snapshot: The rest of the cluster; its pods without a node may be nominated.
        features: The gates.
        args: Plugin arguments by plugin name.
        now: The present, for what runs out; None when it is not known.
    """
    context = CycleContext(pod, table, snapshot, features, args, {}, now)
    pre_filter = _run_pre_filter(context)
    if not pre_filter.status.ok:
        return Filtered(context, pre_filter, (), ())
    filtered = _run_filter(context, pre_filter)
    for row, nominated in _nominated_rows(context):
        status = _with_nominated(context, pre_filter, row, nominated)
        if not status.ok:
            filtered.overrule(row, status)
    return filtered


def score_nodes(filtered: Filtered) -> Scored:
    """Score the nodes that fit; at least one must."""
    context, feasible = filtered.context, filtered.feasible
    by_plugin: dict[str, NDArray[np.int64]] = {}
    skipped: set[str] = set()
    totals = np.zeros(len(feasible), np.int64)
    for plugin, weight in SCORE_PLUGINS:
        found = plugin.pre_score(context, feasible)
        if found.status.code is Code.SKIP:
            skipped.add(plugin.name)
            continue
        by_plugin[plugin.name] = weight * plugin.score(context, found.state, feasible)
        totals += by_plugin[plugin.name]
    return Scored(feasible, by_plugin, frozenset(skipped), totals)


def _run_pre_filter(context: CycleContext) -> PreFiltered:
    skipped: set[str] = set()
    narrowed_by: set[str] = set()
    names: frozenset[str] | None = None
    failed = SUCCESS
    for plugin in FILTER_PLUGINS:
        found: PreFilterResult = plugin.pre_filter(context)
        context.states[plugin.name] = found.state
        status = replace(found.status, plugin=plugin.name) if not found.status.ok else found.status
        if status.code is Code.SKIP:
            skipped.add(plugin.name)
        elif status.code is Code.UNSCHEDULABLE:
            failed = status
        elif not status.ok:
            return PreFiltered(status, None, frozenset(), frozenset(skipped))
        elif found.node_names is not None:
            narrowed_by.add(plugin.name)
            names = found.node_names if names is None else names & found.node_names
            if not names:
                status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (_nothing_left(narrowed_by),))
                return PreFiltered(status, names, frozenset(narrowed_by), frozenset(skipped))
    return PreFiltered(failed, names, frozenset(narrowed_by), frozenset(skipped))


def _nothing_left(plugins: set[str]) -> str:
    if len(plugins) == 1:
        return f"node(s) didn't satisfy plugin {next(iter(plugins))}"
    return f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}] simultaneously"


def _run_filter(context: CycleContext, pre_filter: PreFiltered) -> Filtered:
    plugins: list[FilterPlugin] = [plugin for plugin in FILTER_PLUGINS if plugin.name not in pre_filter.skipped]
    verdicts = [plugin.filter(context, context.states[plugin.name]) for plugin in plugins]
    return Filtered(context, pre_filter, [plugin.name for plugin in plugins], verdicts)


def _nominated_rows(context: CycleContext) -> Sequence[tuple[int, tuple[Pod, ...]]]:
    """Rows with pods that were nominated to them and that this pod must yield to."""
    own = context.pod
    by_row: dict[int, list[Pod]] = {}
    for pod in context.snapshot.pods:
        row = context.table.index.get(pod.status.nominated_node_name)
        if row is None or pod.spec.node_name or pod.metadata.uid == own.metadata.uid:
            continue
        if (pod.spec.priority or 0) >= (own.spec.priority or 0):
            by_row.setdefault(row, []).append(pod)
    return [(row, tuple(pods)) for row, pods in by_row.items()]


def _with_nominated(context: CycleContext, pre_filter: PreFiltered, row: int, nominated: Sequence[Pod]) -> Status:
    """The row's verdict if the pods that were nominated to it were there."""
    name = context.table.names[row]
    table = context.table.with_pods((pod, name) for pod in nominated)
    crowded = replace(context, table=table, states={})
    for plugin in FILTER_PLUGINS:
        crowded.states[plugin.name] = plugin.pre_filter(crowded).state
    return _run_filter(crowded, pre_filter).status(row)
