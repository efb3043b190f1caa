"""kube-scheduler's own plugins, one descriptor each; it loads no arrays.

This table is the registration of a plugin. The default profile, what a configuration may name, which plugins run at a
point and how arguments are read all follow from it (`plugin_set`, `runtime`).

Source: at v1.34.4 to v1.37.1, pkg/scheduler/framework/plugins/registry.go and
pkg/scheduler/apis/config/v1/default_plugins.go (getDefaultPlugins). Of REMOVED_PLUGINS: validation.go at v1.22.17
(removedPluginsByVersion), and kubernetes.io/docs/reference/scheduling/config ("Scheduler configuration migrations").
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from podrules.api.features import Features
from podrules.api.names import nearest_word


class ExtensionPoint(StrEnum):
    """Where plugins run, under the names of ``profiles[].plugins``."""

    PRE_ENQUEUE = "preEnqueue"
    QUEUE_SORT = "queueSort"
    PRE_FILTER = "preFilter"
    FILTER = "filter"
    POST_FILTER = "postFilter"
    PRE_SCORE = "preScore"
    SCORE = "score"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "preBind"
    BIND = "bind"
    POST_BIND = "postBind"
    PLACEMENT_GENERATE = "placementGenerate"
    PLACEMENT_SCORE = "placementScore"


class InTreePlugin(Struct, frozen=True):
    """A plugin as upstream registers it."""

    name: str
    points: frozenset[ExtensionPoint]
    """The extension points that it has upstream, in the newest version."""
    implementation: str = ""
    """``module:class`` below `podrules.scheduling.scheduler.plugins`, loaded with the first cycle; empty: none."""
    weight: int = 0
    """The weight of its score in the default profile; 0: it has no weight of its own."""
    default: bool = True
    """Whether the default profile enables it."""
    gate: str = ""
    """The field of `Features` without which the default profile does not enable it; empty: none."""
    newer_points: Mapping[ExtensionPoint, str] = {}
    """Points that it has in newer versions alone, each with the field of `Features` that brings it."""

    def points_in(self, features: Features) -> frozenset[ExtensionPoint]:
        """The points that it has in a version."""
        if not self.newer_points:
            return self.points
        return self.points - {point for point, field in self.newer_points.items() if not getattr(features, field)}


_P: Final = ExtensionPoint
_FILTER: Final = frozenset({_P.PRE_FILTER, _P.FILTER})
_SCORE: Final = frozenset({_P.PRE_SCORE, _P.SCORE})
_BOUND: Final = frozenset({_P.RESERVE, _P.PRE_BIND})
_PRE_FILTER_SINCE_37: Final = {_P.PRE_FILTER: "node_name_first"}

IN_TREE: Final[dict[str, InTreePlugin]] = {
    plugin.name: plugin
    for plugin in (
        InTreePlugin("SchedulingGates", frozenset({_P.PRE_ENQUEUE}), "one_field:SchedulingGates"),
        InTreePlugin("PrioritySort", frozenset({_P.QUEUE_SORT})),
        InTreePlugin("NodeName", _FILTER, "one_field:NodeName", newer_points=_PRE_FILTER_SINCE_37),
        InTreePlugin(
            "NodeUnschedulable", _FILTER, "taint_toleration:NodeUnschedulable", newer_points=_PRE_FILTER_SINCE_37
        ),
        InTreePlugin(
            "TaintToleration",
            _FILTER | _SCORE,
            "taint_toleration:TaintToleration",
            3,
            newer_points=_PRE_FILTER_SINCE_37,
        ),
        InTreePlugin("NodeAffinity", _FILTER | _SCORE, "node_affinity:NodeAffinityPlugin", 2),
        InTreePlugin("NodePorts", _FILTER, "node_ports:NodePorts"),
        InTreePlugin("NodeResourcesFit", _FILTER | _SCORE | {_P.PLACEMENT_SCORE}, "node_resources:NodeResourcesFit", 1),
        InTreePlugin("VolumeRestrictions", _FILTER, "volume_restrictions:VolumeRestrictions"),
        InTreePlugin("NodeVolumeLimits", _FILTER, "node_volume_limits:NodeVolumeLimits"),
        InTreePlugin("VolumeBinding", _FILTER | _BOUND | _SCORE, "volume_binding:VolumeBinding"),
        InTreePlugin("VolumeZone", _FILTER, "volume_zone:VolumeZone"),
        InTreePlugin("PodTopologySpread", _FILTER | _SCORE, "pod_topology_spread.plugin:PodTopologySpread", 2),
        InTreePlugin("InterPodAffinity", _FILTER | _SCORE, "inter_pod_affinity:InterPodAffinity", 2),
        InTreePlugin(
            "DynamicResources",
            _FILTER | _BOUND | {_P.PRE_ENQUEUE, _P.POST_FILTER, _P.SCORE},
            "dynamic_resources:DynamicResources",
            2,
            newer_points={_P.SCORE: "dra_scoring"},
        ),
        InTreePlugin(
            "DefaultPreemption", frozenset({_P.PRE_ENQUEUE, _P.POST_FILTER}), "default_preemption:DefaultPreemption"
        ),
        InTreePlugin("NodeResourcesBalancedAllocation", _SCORE, "node_resources:NodeResourcesBalancedAllocation", 1),
        InTreePlugin("ImageLocality", frozenset({_P.SCORE}), "image_locality:ImageLocality", 1),
        InTreePlugin("DefaultBinder", frozenset({_P.BIND})),
        InTreePlugin(
            "NodeDeclaredFeatures",
            _FILTER,
            "one_field:NodeDeclaredFeatures",
            gate="node_declared_features",
        ),
        InTreePlugin("GangScheduling", frozenset({_P.PRE_ENQUEUE, _P.PERMIT}), default=False),
        InTreePlugin("PodGroupPodsCount", frozenset({_P.PLACEMENT_SCORE}), default=False),
        InTreePlugin("TopologyPlacementGenerator", frozenset({_P.PLACEMENT_GENERATE}), default=False),
    )
}
"""By name, in the order of the newest default profile with the gates that it has by default; the others come last."""

_STRATEGY: Final = "write NodeResourcesFit, args.scoringStrategy.type"
_BY_ITSELF: Final = "{} does its work by default"
REMOVED_PLUGINS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"), "NodeVolumeLimits does its work"),
    "DefaultPodTopologySpread": _BY_ITSELF.format("PodTopologySpread"),
    "NodeLabel": "write NodeAffinity, args.addedAffinity",
    "NodePreferAvoidPods": "taints of nodes do its work",
    "NodeResourcesLeastAllocated": f"{_STRATEGY} LeastAllocated",
    "NodeResourcesMostAllocated": f"{_STRATEGY} MostAllocated",
    "RequestedToCapacityRatio": f"{_STRATEGY} RequestedToCapacityRatio",
    "SelectorSpread": _BY_ITSELF.format("PodTopologySpread"),
    "ServiceAffinity": "podAffinity of pods does its work (InterPodAffinity)",
}
"""The replacements of the plugins of older versions."""
_MISSPELT: Final = 0.9
"""The likeness from which a name stands for one of these; that of another project's plugin may contain one."""


def no_such_plugin(name: str) -> str:
    """The correction of a name that kube-scheduler does not know; empty: it is known, or may be another project's."""
    if name in REMOVED_PLUGINS:
        return f"there is no such plugin any more; {REMOVED_PLUGINS[name]}"
    if name in IN_TREE:
        return ""
    own, given = {known.lower(): known for known in IN_TREE}, name.lower()
    near = nearest_word(given, own, closeness=_MISSPELT)
    if not near or (near in given and near != given):
        return ""
    return f"kube-scheduler has no such plugin; did you mean {own[near]}?"


def default_plugins(features: Features) -> tuple[InTreePlugin, ...]:
    """Those of the default profile of a version, in its order."""
    found = [
        plugin for plugin in IN_TREE.values() if plugin.default and (not plugin.gate or getattr(features, plugin.gate))
    ]
    if not features.node_name_first:
        names = [plugin.name for plugin in found]
        first, second = names.index("NodeName"), names.index("NodeUnschedulable")
        found[first], found[second] = found[second], found[first]
    return tuple(found)
