"""kube-scheduler's own plugins, one descriptor each; it loads no arrays.

This table is the registration of a plugin. The default profile, what a configuration may name, which plugins run at a
point and how arguments are read all follow from it (`plugin_set`, `registry`, `runtime`).

Source: at v1.36.3, pkg/scheduler/framework/plugins/registry.go and
pkg/scheduler/apis/config/v1/default_plugins.go (getDefaultPlugins).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

__all__ = ["IN_TREE", "ExtensionPoint", "InTreePlugin"]


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
    """The extension points that it has upstream."""
    implementation: str = ""
    """``module:class`` below `podrules.scheduler.plugins`, loaded with the first cycle; empty: it is not restated."""
    weight: int = 0
    """The weight of its score in the default profile; 0: it has no weight of its own."""
    default: bool = True
    """Whether the default profile enables it."""


_P: Final = ExtensionPoint
_FILTER: Final = frozenset({_P.PRE_FILTER, _P.FILTER})
_SCORE: Final = frozenset({_P.PRE_SCORE, _P.SCORE})
_BOUND: Final = frozenset({_P.RESERVE, _P.PRE_BIND})

IN_TREE: Final[dict[str, InTreePlugin]] = {
    plugin.name: plugin
    for plugin in (
        InTreePlugin("SchedulingGates", frozenset({_P.PRE_ENQUEUE}), "scheduling_gates:SchedulingGates"),
        InTreePlugin("PrioritySort", frozenset({_P.QUEUE_SORT})),
        InTreePlugin("NodeUnschedulable", frozenset({_P.FILTER}), "node_unschedulable:NodeUnschedulable"),
        InTreePlugin("NodeName", frozenset({_P.FILTER}), "node_name:NodeName"),
        InTreePlugin("TaintToleration", _SCORE | {_P.FILTER}, "taint_toleration:TaintToleration", 3),
        InTreePlugin("NodeAffinity", _FILTER | _SCORE, "node_affinity:NodeAffinity", 2),
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
        ),
        InTreePlugin(
            "DefaultPreemption", frozenset({_P.PRE_ENQUEUE, _P.POST_FILTER}), "default_preemption:DefaultPreemption"
        ),
        InTreePlugin("NodeResourcesBalancedAllocation", _SCORE, "node_resources:NodeResourcesBalancedAllocation", 1),
        InTreePlugin("ImageLocality", frozenset({_P.SCORE}), "image_locality:ImageLocality", 1),
        InTreePlugin("DefaultBinder", frozenset({_P.BIND})),
        InTreePlugin("NodeDeclaredFeatures", _FILTER, "node_declared_features:NodeDeclaredFeatures"),
        InTreePlugin("GangScheduling", frozenset({_P.PRE_ENQUEUE, _P.PERMIT}), default=False),
        InTreePlugin("PodGroupPodsCount", frozenset({_P.PLACEMENT_SCORE}), default=False),
        InTreePlugin("TopologyPlacementGenerator", frozenset({_P.PLACEMENT_GENERATE}), default=False),
    )
}
"""By name, in the order of the default profile with the gates that 1.36 has by default; the others come last."""
