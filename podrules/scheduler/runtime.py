"""A profile's plugins, ready to run.

Most plugins leave something in PreFilter for their Filter, and in PreScore for their Score. A profile can disable the
one and keep the other; then a plugin

    needs nothing     Filter of NodeAffinity and NodeVolumeLimits, Score of VolumeBinding
    finds it out now  Filter of VolumeZone; Score of NodeAffinity, NodeResourcesFit, NodeResourcesBalancedAllocation
    fails             all others, and with them the cycle. DynamicResources has no PreScore: its Score needs PreFilter

VolumeRestrictions, where it fails, still rejects nodes with a conflicting disk; here it fails on every node.

Source: pkg/scheduler/framework/runtime/framework.go (frameworkImpl, NewFramework) and getPreFilterState,
getPreScoreState, getStateData of the plugins at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.features import Features
from podrules.scheduler.framework.interface import (
    CycleContext,
    FilterPlugin,
    PreEnqueuePlugin,
    PreFilterResult,
    PreScoreResult,
    ScorePlugin,
    Verdicts,
    all_fit,
)
from podrules.scheduler.framework.status import Code
from podrules.scheduler.plugin_set import IN_TREE_PLUGINS, ExtensionPoint, enabled_plugins
from podrules.scheduler.profile import DEFAULT_SCHEDULER_NAME, Profile
from podrules.scheduler.registry import FILTER_PLUGINS, PRE_ENQUEUE_PLUGINS, SCORE_PLUGINS

__all__ = ["DEFAULT_FRAMEWORK", "Framework", "ScoreError", "new_framework"]


class Framework(Struct, frozen=True):
    """The plugins of a profile in the order in which they run, and their arguments."""

    scheduler_name: str
    pre_enqueue: tuple[PreEnqueuePlugin, ...]
    pre_filter: tuple[FilterPlugin, ...]
    filter: tuple[FilterPlugin, ...]
    pre_score: tuple[ScorePlugin, ...]
    """With those of Score that have no PreScore upstream."""
    score: tuple[tuple[ScorePlugin, int], ...]
    """With their weights."""
    post_filter: tuple[str, ...]
    """Names of what runs when no node fits."""
    args: Mapping[str, Any]
    """By plugin name; a plugin without an entry has its defaults."""
    percentage_of_nodes_to_score: int
    unknown: tuple[str, ...]
    """Plugins that the profile enables and that are not kube-scheduler's own: they are not run here."""
    extenders: tuple[str, ...] = ()
    """URLs of the profile's extenders, which are not asked here."""
    preemption_disabled: str = ""
    """The field of the profile by which nobody is preempted; empty: DefaultPreemption runs."""


class ScoreError(Exception):
    """A plugin cannot score; the message is upstream's."""


_P: Final = ExtensionPoint
_Points = Mapping[ExtensionPoint, tuple[str, ...]]
_NOT_FOUND: Final = "not found"
_FILTER_FAILS: Final = {
    "NodePorts": 'reading "PreFilterNodePorts" from cycleState: not found',
    "NodeResourcesFit": 'error reading "PreFilterNodeResourcesFit" from cycleState: not found',
    "VolumeRestrictions": 'cannot read "PreFilterVolumeRestrictions" from cycleState',
    "VolumeBinding": _NOT_FOUND,
    "PodTopologySpread": 'reading "PreFilterPodTopologySpread" from cycleState: not found',
    "InterPodAffinity": 'error reading "PreFilterInterPodAffinity" from cycleState: not found',
    "DynamicResources": _NOT_FOUND,
    "NodeDeclaredFeatures": 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found',
}
"""Without PreFilter."""
_SCORE_FAILS: Final = {
    "TaintToleration": 'failed to read "PreScoreTaintToleration" from cycleState: not found',
    "PodTopologySpread": 'error reading "PreScorePodTopologySpread" from cycleState: not found',
    "InterPodAffinity": 'failed to read "PreScoreInterPodAffinity" from cycleState: not found',
}
"""Without PreScore."""
_FILTERS_ALONE: Final = "VolumeZone"
_SCORE_ALONE: Final = frozenset({"NodeAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation"})
_SCORES_BY_PRE_FILTER: Final = "DynamicResources"


def new_framework(profile: Profile) -> Framework:
    """What a profile runs of the plugins that are restated here."""
    enabled = enabled_plugins(profile.plugins)
    at = enabled.at
    queueing = {plugin.name: plugin for plugin in PRE_ENQUEUE_PLUGINS}
    filtering = {plugin.name: plugin for plugin in FILTER_PLUGINS}
    scoring = {plugin.name: plugin for plugin in SCORE_PLUGINS}
    preparing = [name for name in at[_P.SCORE] if name in scoring and _P.PRE_SCORE not in IN_TREE_PLUGINS[name]]
    return Framework(
        scheduler_name=profile.scheduler_name,
        pre_enqueue=tuple(queueing[name] for name in at[_P.PRE_ENQUEUE] if name in queueing),
        pre_filter=tuple(filtering[name] for name in at[_P.PRE_FILTER] if name in filtering),
        filter=tuple(_filter(filtering[name], at) for name in at[_P.FILTER] if name in filtering),
        pre_score=tuple(scoring[name] for name in (*at[_P.PRE_SCORE], *preparing) if name in scoring),
        score=tuple(
            (_scorer(scoring[name], at), enabled.score_weights[name]) for name in at[_P.SCORE] if name in scoring
        ),
        post_filter=tuple(name for name in at[_P.POST_FILTER] if name in IN_TREE_PLUGINS),
        args=profile.args,
        percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score,
        unknown=enabled.unknown,
        extenders=profile.extenders,
        preemption_disabled=profile.preemption_disabled,
    )


def _filter(plugin: FilterPlugin, at: _Points) -> FilterPlugin:
    if plugin.name in at[_P.PRE_FILTER]:
        return plugin
    if plugin.name == _FILTERS_ALONE:
        return _FilterAlone(plugin)
    return _FilterFails(plugin, _FILTER_FAILS[plugin.name]) if plugin.name in _FILTER_FAILS else plugin


def _scorer(plugin: ScorePlugin, at: _Points) -> ScorePlugin:
    if plugin.name == _SCORES_BY_PRE_FILTER:
        return plugin if plugin.name in at[_P.PRE_FILTER] else _ScoreFails(plugin, _NOT_FOUND)
    if plugin.name in at[_P.PRE_SCORE]:
        return plugin
    if plugin.name in _SCORE_ALONE:
        return _ScoreAlone(plugin)
    return _ScoreFails(plugin, _SCORE_FAILS[plugin.name]) if plugin.name in _SCORE_FAILS else plugin


class _FilterFails:
    """A plugin that Filter cannot do without PreFilter."""

    def __init__(self, plugin: FilterPlugin, problem: str) -> None:
        self.name = plugin.name
        self._plugin = plugin
        self._problem = problem

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        return self._plugin.pre_filter(context)

    def filter(self, context: CycleContext, state: Any) -> Verdicts:
        del state
        if _is_off(self.name, context.features):
            return all_fit(context.table)
        return Verdicts(np.full(len(context.table), Code.ERROR, np.int8), lambda _: (self._problem,))


def _is_off(name: str, features: Features) -> bool:
    """Whether a gate keeps a plugin from doing anything."""
    off = {
        "DynamicResources": not features.dynamic_resource_allocation,
        "NodeDeclaredFeatures": not features.node_declared_features,
    }
    return off.get(name, False)


class _FilterAlone:
    """A plugin that does in Filter what its PreFilter did not: what that says of the pod goes for each node."""

    def __init__(self, plugin: FilterPlugin) -> None:
        self.name = plugin.name
        self._plugin = plugin

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        return self._plugin.pre_filter(context)

    def filter(self, context: CycleContext, state: Any) -> Verdicts:
        del state
        found = self._plugin.pre_filter(context)
        if found.status.code is Code.SKIP:
            return all_fit(context.table)
        if not found.status.ok:
            codes = np.full(len(context.table), found.status.code, np.int8)
            return Verdicts(codes, lambda _: found.status.reasons)
        context.states[self.name] = found.state
        return self._plugin.filter(context, found.state)


class _ScoreFails:
    """A plugin that cannot score without what comes before."""

    def __init__(self, plugin: ScorePlugin, problem: str) -> None:
        self.name = plugin.name
        self._plugin = plugin
        self._problem = problem

    def pre_score(self, context: CycleContext, feasible: NDArray[np.int32]) -> PreScoreResult:
        return self._plugin.pre_score(context, feasible)

    def score(self, context: CycleContext, state: Any, feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        del context, state, feasible
        raise ScoreError(self._problem)


class _ScoreAlone:
    """A plugin that does in Score what its PreScore did not; where that would skip, nodes score 0."""

    def __init__(self, plugin: ScorePlugin) -> None:
        self.name = plugin.name
        self._plugin = plugin

    def pre_score(self, context: CycleContext, feasible: NDArray[np.int32]) -> PreScoreResult:
        return self._plugin.pre_score(context, feasible)

    def score(self, context: CycleContext, state: Any, feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        del state
        found = self._plugin.pre_score(context, feasible)
        if found.status.code is Code.SKIP:
            return np.zeros(len(feasible), np.int64)
        if not found.status.ok:
            raise ScoreError(" ".join(found.status.reasons))
        return self._plugin.score(context, found.state, feasible)


DEFAULT_FRAMEWORK: Final = new_framework(Profile(DEFAULT_SCHEDULER_NAME))
"""The default profile's."""
