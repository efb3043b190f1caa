"""Node-pressure eviction: which pod the kubelet evicts when a node is short of a resource, and when.

    signals         the observed signals, with their resource and the node's condition
    thresholds      the kubelet's configuration as thresholds
    observations    measurements as signals; which thresholds are met
    usage           a pod's usage and request of a scarce resource
    ranking         the order in which pods are evicted, by named comparators
    local_storage   pods above their own storage limit are evicted even without pressure

The QoS class decides nothing here. Source: pkg/kubelet/eviction at v1.36.3.
"""
