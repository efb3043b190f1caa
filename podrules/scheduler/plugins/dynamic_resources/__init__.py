"""DynamicResources: devices for a pod's resource claims.

    plugin              the extension points
    claims              a pod's claims; what all claims hold
    extended            extended resources that devices stand for
    pools               the devices that a node can reach
    allocator           the search
    constraints         attributes that devices share, or do not
    capacity            devices shared by capacity
    selectors           CEL, with selector_tokens and selector_functions

Source: pkg/scheduler/framework/plugins/dynamicresources at v1.36.3; k8s.io/dynamic-resource-allocation at v0.36.3.
"""

from podrules.scheduler.plugins.dynamic_resources.plugin import (
    UNKNOWN,
    DynamicResources,
    DynamicResourcesArgs,
    DynamicResourcesState,
    DynamicResourcesValues,
)

__all__ = [
    "UNKNOWN",
    "DynamicResources",
    "DynamicResourcesArgs",
    "DynamicResourcesState",
    "DynamicResourcesValues",
]
