"""Node-pressure eviction: which pod the kubelet ends when a node runs short, and when.

    signals         what is watched, the resource behind it and the node's condition
    thresholds      the kubelet's configuration as thresholds
    observations    measurements as signals; which thresholds are met
    usage           what a pod uses of a starved resource, and what it requested
    ranking         the order in which pods go, by named comparators
    local_storage   pods over a storage limit of their own go whatever the pressure

The QoS class decides nothing here. Source: pkg/kubelet/eviction at v1.36.3.
"""
