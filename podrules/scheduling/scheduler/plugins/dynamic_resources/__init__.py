"""DynamicResources: devices for a pod's resource claims.

    plugin       the extension points
    claims       a pod's claims; what all claims hold; extended resources that devices provide
    pools        the slices of devices that a node can reach, and the devices in them
    requests     what claims ask for, and which devices a request selects
    allocator    the search
    constraints  attributes that devices share, or do not; shared capacity and counters
    selectors    CEL, with selector_tokens

Source: pkg/scheduler/framework/plugins/dynamicresources at v1.36.3; k8s.io/dynamic-resource-allocation at v0.36.3.
"""

from podrules.scheduling.scheduler.plugins.dynamic_resources.plugin import (
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
