"""The plugins that are restated here, loaded from their descriptors, and those of a profile, ready to run.

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

from collections.abc import Iterable, Iterator, Mapping
from pkgutil import resolve_name
from typing import Any, Final, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.features import REFERENCE, Features
from podrules.api.model.base import Model
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.answers import Code, ScoreError
from podrules.scheduling.scheduler.framework.interface import (
    ChangingPlugin,
    ConfiguredPlugin,
    CycleContext,
    ExplainedPlugin,
    FilterPlugin,
    NamedPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScoreByPreFilterPlugin,
    ScorePlugin,
    Verdicts,
    WithoutState,
    all_fit,
    is_off,
)
from podrules.scheduling.scheduler.in_tree import IN_TREE, ExtensionPoint
from podrules.scheduling.scheduler.plugin_set import enabled_plugins
from podrules.scheduling.scheduler.profile import Extender, Profile

PLUGINS: Final[Mapping[str, NamedPlugin]] = {
    plugin.name: resolve_name(f"podrules.scheduling.scheduler.plugins.{plugin.implementation}")()
    for plugin in IN_TREE.values()
    if plugin.implementation
}
"""By name, in the order of the descriptors."""
PLUGIN_ARGS: Final[Mapping[str, type[Model]]] = {
    name: plugin.args_type for name, plugin in PLUGINS.items() if isinstance(plugin, ConfiguredPlugin)
}
"""How each plugin's arguments are read."""
# To ask a plugin whether it has a protocol's members takes long, and they are asked about for each node.
EXPLAINED_PLUGINS: Final[Mapping[str, ExplainedPlugin]] = {
    name: plugin for name, plugin in PLUGINS.items() if isinstance(plugin, ExplainedPlugin)
}
"""Those that give the numbers behind their rejections."""
CHANGING_PLUGINS: Final[Mapping[str, ChangingPlugin]] = {
    name: plugin for name, plugin in PLUGINS.items() if isinstance(plugin, ChangingPlugin)
}
"""Those that propose changes against their rejections."""


class Framework(Struct, frozen=True):
    """The plugins of a profile in the order in which they run, and their arguments."""

    scheduler_name: str
    pre_enqueue: tuple[PreEnqueuePlugin, ...]
    pre_filter: tuple[PreFilterPlugin, ...]
    filter: tuple[FilterPlugin, ...]
    pre_score: tuple[PreScorePlugin, ...]
    score: tuple[tuple[ScorePlugin, int], ...]
    """With their weights."""
    post_filter: tuple[str, ...]
    """Names of what runs when no node fits."""
    args: Mapping[str, Any]
    """By plugin name; a plugin without an entry has its defaults."""
    percentage_of_nodes_to_score: int
    unknown: tuple[str, ...]
    """Plugins that the profile enables or configures and that are not kube-scheduler's own: they are not run here."""
    unasked: Mapping[str, ExtensionPoint] = {}
    """Those of them that run, and may reject nodes (Filter) or only score them (Score)."""
    extenders: tuple[Extender, ...] = ()
    """They are not asked here."""
    preemption_disabled: str = ""
    """The field of the profile that disables preemption; empty: DefaultPreemption runs."""
    features: Features = REFERENCE
    """The rules of the scheduler's version."""

    def extenders_of(self, pod: Pod) -> tuple[Extender, ...]:
        """Those that would be asked about a pod: they manage all pods, or a resource that it names (IsInterested)."""
        containers = (*pod.spec.containers, *pod.spec.init_containers)
        named = {name for one in containers for name in (*one.resources.requests, *one.resources.limits)}
        judging = [one for one in self.extenders if one.filter_verb or one.prioritize_verb]
        managed = [{resource.name for resource in one.managed_resources} for one in judging]
        return tuple(one for one, names in zip(judging, managed, strict=True) if not names or names & named)


_P: Final = ExtensionPoint
_DECIDING: Final = {_P.PRE_ENQUEUE, _P.PRE_FILTER, _P.FILTER, _P.RESERVE, _P.PERMIT, _P.PRE_BIND, _P.BIND}
_Points = Mapping[ExtensionPoint, tuple[str, ...]]


class _WithPreFilter(PreFilterPlugin, FilterPlugin, Protocol):
    pass


class _WithPreScore(PreScorePlugin, ScorePlugin, Protocol):
    pass


def new_framework(profile: Profile, features: Features = REFERENCE) -> Framework:
    """What a profile runs, in a version, of the plugins that are restated here."""
    enabled = enabled_plugins(profile.plugins, features)
    at = enabled.at
    everywhere = {plugin.name for plugin in profile.plugins.multi_point.enabled}
    unasked: dict[str, ExtensionPoint] = {}
    for name in enabled.unknown:
        points = {point for point, names in at.items() if name in names}
        if name in everywhere or points & _DECIDING:
            unasked[name] = _P.FILTER
        elif points & {_P.PRE_SCORE, _P.SCORE}:
            unasked[name] = _P.SCORE
    return Framework(
        scheduler_name=profile.scheduler_name,
        pre_enqueue=tuple(plugin for plugin in _restated(at[_P.PRE_ENQUEUE]) if isinstance(plugin, PreEnqueuePlugin)),
        pre_filter=tuple(plugin for plugin in _restated(at[_P.PRE_FILTER]) if isinstance(plugin, PreFilterPlugin)),
        filter=tuple(_filter(plugin, at) for plugin in _restated(at[_P.FILTER]) if isinstance(plugin, FilterPlugin)),
        pre_score=tuple(plugin for plugin in _restated(at[_P.PRE_SCORE]) if isinstance(plugin, PreScorePlugin)),
        score=tuple(
            (_scorer(plugin, at), enabled.score_weights[plugin.name])
            for plugin in _restated(at[_P.SCORE])
            if isinstance(plugin, ScorePlugin)
        ),
        post_filter=tuple(name for name in at[_P.POST_FILTER] if name in IN_TREE),
        args=profile.args,
        percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score,
        unknown=(*enabled.unknown, *profile.misnamed),
        unasked=unasked,
        extenders=profile.extenders,
        preemption_disabled=profile.preemption_disabled,
        features=features,
    )


def _restated(names: Iterable[str]) -> Iterator[NamedPlugin]:
    return (PLUGINS[name] for name in names if name in PLUGINS)


def _filter(plugin: FilterPlugin, at: _Points) -> FilterPlugin:
    if plugin.name in at[_P.PRE_FILTER] or not isinstance(plugin, PreFilterPlugin):
        return plugin
    if isinstance(plugin.without_pre_filter, str):
        return _FilterFails(plugin, plugin.without_pre_filter)
    return _FilterAlone(plugin) if plugin.without_pre_filter is WithoutState.COMPUTED else plugin


def _scorer(plugin: ScorePlugin, at: _Points) -> ScorePlugin:
    if isinstance(plugin, ScoreByPreFilterPlugin):
        return plugin if plugin.name in at[_P.PRE_FILTER] else _ScoreFails(plugin.name, plugin.score_without_pre_filter)
    if plugin.name in at[_P.PRE_SCORE] or not isinstance(plugin, PreScorePlugin):
        return plugin
    if isinstance(plugin.without_pre_score, str):
        return _ScoreFails(plugin.name, plugin.without_pre_score)
    return _ScoreAlone(plugin) if plugin.without_pre_score is WithoutState.COMPUTED else plugin


class _FilterFails:
    """A plugin that needs PreFilter for Filter, in a profile without its PreFilter."""

    def __init__(self, plugin: FilterPlugin, problem: str) -> None:
        self.name = plugin.name
        self._plugin = plugin
        self._problem = problem

    def filter(self, context: CycleContext, state: Any) -> Verdicts:
        del state
        if is_off(self._plugin, context.features):
            return all_fit(context.table)
        return Verdicts(np.full(len(context.table), Code.ERROR, np.int8), lambda _: (self._problem,))


class _FilterAlone:
    """A plugin that does in Filter what its PreFilter did not: what that says of the pod goes for each node."""

    def __init__(self, plugin: _WithPreFilter) -> None:
        self.name = plugin.name
        self._plugin = plugin

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

    def __init__(self, name: str, problem: str) -> None:
        self.name = name
        self._problem = problem

    def score(self, context: CycleContext, state: Any, feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        del context, state, feasible
        raise ScoreError(self._problem)


class _ScoreAlone:
    """A plugin that does in Score what its PreScore did not; where that would skip, nodes score 0."""

    def __init__(self, plugin: _WithPreScore) -> None:
        self.name = plugin.name
        self._plugin = plugin

    def score(self, context: CycleContext, state: Any, feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        del state
        found = self._plugin.pre_score(context, feasible)
        if found.status.code is Code.SKIP:
            return np.zeros(len(feasible), np.int64)
        if not found.status.ok:
            raise ScoreError(" ".join(found.status.reasons))
        return self._plugin.score(context, found.state, feasible)
