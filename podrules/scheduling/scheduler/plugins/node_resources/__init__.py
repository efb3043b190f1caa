"""What nodes have, what pods on them asked for, and what is left."""

from podrules.scheduling.scheduler.plugins.node_resources.columns import InsufficientResource
from podrules.scheduling.scheduler.plugins.node_resources.fit import NodeResourcesFit
from podrules.scheduling.scheduler.plugins.node_resources.scoring import (
    NodeResourcesBalancedAllocation,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
)

__all__ = [
    "InsufficientResource",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesBalancedAllocationArgs",
    "NodeResourcesFit",
    "NodeResourcesFitArgs",
]
