"""Which plugins a profile runs: at which extension points, in which order, with which weights.

    defaults   all of them at MultiPoint: each runs at every point that it has
    merging    what the profile disables by name, or with ``*``, leaves the defaults; a default that it enables keeps
               its place and takes the profile's weight; what else it enables comes after them
    expansion  at each point: first what both the point and MultiPoint enable, in the point's order; then MultiPoint's
               others that the point does not disable (with ``*`` none of them); then the point's others
    weight     that of Score's entry, else MultiPoint's; absent and 0 are 1

A plugin that is not kube-scheduler's own is unknown: it runs where a point names it; if MultiPoint names it, its
extension points are unknown here.

Source: at v1.36.3, pkg/scheduler/apis/config/v1/default_plugins.go (getDefaultPlugins, mergePluginSet),
pkg/scheduler/framework/runtime/framework.go (NewFramework, expandMultiPointPlugins, getValidScoreWeights),
pkg/scheduler/apis/config/validation/validation.go; KEP-2891.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import accumulate
from typing import Final

from msgspec import Struct

from podrules.api.features import REFERENCE, Features
from podrules.api.model.base import Model
from podrules.api.model.misfit import shown
from podrules.scheduling.scheduler.in_tree import IN_TREE, ExtensionPoint, default_plugins, no_such_plugin

ALL: Final = "*"
"""Among disabled plugins: every one."""


class Plugin(Model, frozen=True):
    """``enabled[]`` or ``disabled[]``."""

    name: str = ""
    weight: int = 0
    """Counts for Score; 0: 1."""


class PluginSet(Model, frozen=True):
    """A profile's changes at one point."""

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


_UNCHANGED: Final = PluginSet()


class Plugins(Model, frozen=True):
    """``profiles[].plugins``: a profile's changes."""

    multi_point: PluginSet = _UNCHANGED
    pre_enqueue: PluginSet = _UNCHANGED
    queue_sort: PluginSet = _UNCHANGED
    pre_filter: PluginSet = _UNCHANGED
    filter: PluginSet = _UNCHANGED
    post_filter: PluginSet = _UNCHANGED
    pre_score: PluginSet = _UNCHANGED
    score: PluginSet = _UNCHANGED
    reserve: PluginSet = _UNCHANGED
    permit: PluginSet = _UNCHANGED
    pre_bind: PluginSet = _UNCHANGED
    bind: PluginSet = _UNCHANGED
    post_bind: PluginSet = _UNCHANGED
    placement_generate: PluginSet = _UNCHANGED
    placement_score: PluginSet = _UNCHANGED

    def at(self, point: ExtensionPoint) -> PluginSet:
        """The profile's own changes at a point."""
        found: PluginSet = getattr(self, point.name.lower())
        return found


class EnabledPlugins(Struct, frozen=True):
    """The plugins that run."""

    at: Mapping[ExtensionPoint, tuple[str, ...]]
    """The plugins of every point, in order; unknown ones where the point itself names them."""
    score_weights: Mapping[str, int]
    """Of Score's plugins."""
    unknown: tuple[str, ...]
    """Plugins that are not kube-scheduler's own, in the order of the configuration."""


def default_multi_point(features: Features) -> PluginSet:
    """The default plugins; the defaults enable nothing at single points."""
    return PluginSet(enabled=tuple(Plugin(plugin.name, plugin.weight) for plugin in default_plugins(features)))


_MULTI_POINT: Final = "multiPoint"
_MAX_KEPT: Final = 32
"""Profiles that keep their plugins: every pod asks for those of its own profile."""
_NEEDED: Final = {ExtensionPoint.QUEUE_SORT: "PrioritySort", ExtensionPoint.BIND: "DefaultBinder"}
_SINGLE: Final = (ExtensionPoint.QUEUE_SORT, ExtensionPoint.PLACEMENT_GENERATE)


def merge_plugin_set(default: PluginSet, custom: PluginSet) -> PluginSet:
    """Defaults as a profile changes them, at one point."""
    disabled = (*custom.disabled, *default.disabled)
    names = _names(disabled)
    # If a name is written twice, the last takes the default's place; the other is then one too many.
    written = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    kept = () if ALL in names else tuple(plugin for plugin in default.enabled if plugin.name not in names)
    replacing = {written[plugin.name] for plugin in kept if plugin.name in written}
    merged = [custom.enabled[written[plugin.name]] if plugin.name in written else plugin for plugin in kept]
    merged += [plugin for index, plugin in enumerate(custom.enabled) if index not in replacing]
    return PluginSet(tuple(merged), disabled)


@lru_cache(maxsize=_MAX_KEPT)
def enabled_plugins(plugins: Plugins, features: Features = REFERENCE) -> EnabledPlugins:
    """What a profile runs in a version, with changes in which `plugin_problems` found nothing."""
    multi_point = merge_plugin_set(default_multi_point(features), plugins.multi_point)
    at = {point: _expand(point, multi_point, plugins.at(point), features) for point in ExtensionPoint}
    weights = {plugin.name: plugin.weight or 1 for plugin in (*multi_point.enabled, *plugins.score.enabled)}
    sets = (plugins.multi_point, *map(plugins.at, ExtensionPoint))
    everywhere = (plugin.name for own in sets for plugin in own.enabled)
    return EnabledPlugins(
        at=at,
        score_weights={name: weights[name] for name in at[ExtensionPoint.SCORE]},
        unknown=tuple(dict.fromkeys(name for name in everywhere if name not in IN_TREE)),
    )


def disabled_by(plugins: Plugins, name: str, point: ExtensionPoint) -> str:
    """The field by which a profile keeps one of the default plugins from its point; empty: the plugin runs there."""
    if name in enabled_plugins(plugins).at[point]:
        return ""
    own = _names(plugins.at(point).disabled)
    return f"plugins.{point if own & {name, ALL} else _MULTI_POINT}.disabled"


def _expand(point: ExtensionPoint, multi_point: PluginSet, own: PluginSet, features: Features) -> tuple[str, ...]:
    """The plugins of a point (expandMultiPointPlugins)."""
    named = [plugin.name for plugin in own.enabled]
    disabled = _names(own.disabled)
    if ALL in disabled:
        return tuple(named)
    # An unknown plugin that the point names has the point.
    everywhere = [
        plugin.name
        for plugin in multi_point.enabled
        if plugin.name not in disabled and (_has(plugin.name, point, features) or plugin.name in named)
    ]
    return (
        *(name for name in named if name in everywhere),
        *(name for name in everywhere if name not in named),
        *(name for name in named if name not in everywhere),
    )


def plugin_problems(plugins: Plugins, path: str) -> tuple[str, ...]:
    """Why kube-scheduler would reject a profile's plugins, each with the field's path below ``path``."""
    problems = list(_name_problems(plugins.multi_point, None, f"{path}.multiPoint"))
    for point in ExtensionPoint:
        problems += _name_problems(plugins.at(point), point, f"{path}.{point}")
    problems += _repeated_in_multi_point(plugins, f"{path}.multiPoint")
    return tuple(problems or (*_number_problems(plugins, path), *_weight_problems(plugins, path)))


def _name_problems(own: PluginSet, point: ExtensionPoint | None, path: str) -> Iterator[str]:
    """Plugins that cannot be enabled at a point; None: MultiPoint, which any plugin has."""
    seen: set[str] = set()
    for index, plugin in enumerate(own.enabled):
        name, place = plugin.name, f"{path}.enabled[{index}].name"
        if not name:
            yield f"{place}: Required value: name a plugin"
        elif name == ALL:
            yield f'{place}: Invalid value: "*": disables only; name each plugin that is to run'
        elif problem := no_such_plugin(name):
            yield f"{place}: Invalid value: {shown(name)}: {problem}"
        elif point and not (_has(name, point) or name not in IN_TREE):
            points = IN_TREE[name].points_in(REFERENCE)
            others = ", ".join(one for one in ExtensionPoint if one in points)
            yield f'{place}: Invalid value: "{name}": it has no {point}, only {others}'
        elif point and name in seen:
            yield f'{place}: Duplicate value: "{name}": enable it once'
        seen.add(name)


def _repeated_in_multi_point(plugins: Plugins, path: str) -> Iterator[str]:
    """Plugins that MultiPoint names twice, if a point would get them from it."""
    seen: set[str] = set()
    for index, plugin in enumerate(plugins.multi_point.enabled):
        name = plugin.name
        for point, own in ((point, plugins.at(point)) for point in ExtensionPoint if name in seen):
            # An unknown plugin has any point.
            closed = _names((*own.enabled, *own.disabled))
            if name not in closed and ALL not in _names(own.disabled) and (_has(name, point) or name not in IN_TREE):
                yield f'{path}.enabled[{index}].name: Duplicate value: "{name}": enable it once'
                break
        seen.add(plugin.name)


def _number_problems(plugins: Plugins, path: str) -> Iterator[str]:
    """Points that need a plugin, and points that take one at most."""
    found = enabled_plugins(plugins).at
    # The points of an unknown plugin of MultiPoint are not known.
    untold = any(plugin.name not in IN_TREE for plugin in plugins.multi_point.enabled)
    for point, usual in _NEEDED.items():
        if not found[point] and not untold:
            yield f"{path}.{point}: Required value: no plugin is left; enable {usual} or another one"
    for point in _SINGLE:
        if len(found[point]) > 1:
            names = ", ".join(found[point])
            yield f"{path}.{point}: Invalid value: {names}: only one can be enabled; disable the others"


def _weight_problems(plugins: Plugins, path: str) -> Iterator[str]:
    """Weights below 0, for which kube-scheduler reports that their sum could overflow.

    It does where such a sum is followed by another plugin's weight, that of a disabled one too (getValidScoreWeights).
    """
    multi_point = merge_plugin_set(default_multi_point(REFERENCE), plugins.multi_point)
    for point in (ExtensionPoint.SCORE, ExtensionPoint.PLACEMENT_SCORE):
        own = plugins.at(point).enabled
        weights = {plugin.name: plugin.weight or 1 for plugin in own}
        for plugin in multi_point.enabled:
            if _has(plugin.name, point):
                weights.setdefault(plugin.name, plugin.weight or 1)
        *sums, _ = accumulate(weights.values(), initial=0)
        if min(sums, default=0) < 0:
            negative = ", ".join(f"{weight} of {name}" for name, weight in weights.items() if weight < 0)
            yield f"{path}.{point}: Invalid value: {negative}: total score could overflow; give weights of 1 or more"


def _has(name: str, point: ExtensionPoint, features: Features = REFERENCE) -> bool:
    return name in IN_TREE and point in IN_TREE[name].points_in(features)


def _names(plugins: Iterable[Plugin]) -> frozenset[str]:
    return frozenset(plugin.name for plugin in plugins)
