"""The plugins by extension point, and how their arguments are read.

Which of them a profile runs, and in which order, is `podrules.scheduler.plugin_set`'s business.

Source: pkg/scheduler/framework/plugins/registry.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podrules.model.base import Model
from podrules.scheduler.framework.interface import FilterPlugin, PreEnqueuePlugin, ScorePlugin
from podrules.scheduler.plugins.default_preemption import DefaultPreemptionArgs
from podrules.scheduler.plugins.dynamic_resources import DynamicResources
from podrules.scheduler.plugins.image_locality import ImageLocality
from podrules.scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinity, InterPodAffinityArgs
from podrules.scheduler.plugins.node_affinity import NodeAffinity, NodeAffinityArgs
from podrules.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from podrules.scheduler.plugins.node_name import NodeName
from podrules.scheduler.plugins.node_ports import NodePorts
from podrules.scheduler.plugins.node_resources.args import NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs
from podrules.scheduler.plugins.node_resources.balanced_allocation import NodeResourcesBalancedAllocation
from podrules.scheduler.plugins.node_resources.fit import NodeResourcesFit
from podrules.scheduler.plugins.node_unschedulable import NodeUnschedulable
from podrules.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from podrules.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread
from podrules.scheduler.plugins.scheduling_gates import SchedulingGates
from podrules.scheduler.plugins.taint_toleration import TaintToleration
from podrules.scheduler.plugins.volume_binding import VolumeBinding
from podrules.scheduler.plugins.volume_restrictions import VolumeRestrictions
from podrules.scheduler.plugins.volume_zone import VolumeZone
from podrules.scheduler.profile import SPREAD_ARGS

__all__ = ["FILTER_PLUGINS", "PLUGIN_ARGS", "PRE_ENQUEUE_PLUGINS", "SCORE_PLUGINS"]

_TAINT_TOLERATION: Final = TaintToleration()
_NODE_AFFINITY: Final = NodeAffinity()
_NODE_RESOURCES_FIT: Final = NodeResourcesFit()
_POD_TOPOLOGY_SPREAD: Final = PodTopologySpread()
_INTER_POD_AFFINITY: Final = InterPodAffinity()
_VOLUME_BINDING: Final = VolumeBinding()

_DYNAMIC_RESOURCES: Final = DynamicResources()

PRE_ENQUEUE_PLUGINS: Final[tuple[PreEnqueuePlugin, ...]] = (SchedulingGates(), _DYNAMIC_RESOURCES)
FILTER_PLUGINS: Final[tuple[FilterPlugin, ...]] = (
    NodeUnschedulable(),
    NodeName(),
    _TAINT_TOLERATION,
    _NODE_AFFINITY,
    NodePorts(),
    _NODE_RESOURCES_FIT,
    VolumeRestrictions(),
    NodeVolumeLimits(),
    _VOLUME_BINDING,
    VolumeZone(),
    _POD_TOPOLOGY_SPREAD,
    _INTER_POD_AFFINITY,
    _DYNAMIC_RESOURCES,
    NodeDeclaredFeatures(),
)
"""With PreFilter or Filter."""
SCORE_PLUGINS: Final[tuple[ScorePlugin, ...]] = (
    _TAINT_TOLERATION,
    _NODE_AFFINITY,
    _NODE_RESOURCES_FIT,
    _VOLUME_BINDING,
    _POD_TOPOLOGY_SPREAD,
    _INTER_POD_AFFINITY,
    _DYNAMIC_RESOURCES,
    NodeResourcesBalancedAllocation(),
    ImageLocality(),
)
"""With PreScore or Score."""
PLUGIN_ARGS: Final[Mapping[str, type[Model]]] = {
    **SPREAD_ARGS,
    "DefaultPreemption": DefaultPreemptionArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
}
"""How each plugin's arguments are read."""
