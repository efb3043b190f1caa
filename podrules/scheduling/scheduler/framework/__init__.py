"""The input and the answers of plugins, in the shape of upstream's framework.

    status      codes and reasons
    node_table  the nodes with their pods, in columns: a plugin judges all nodes at once
    nodes       the nodes alone
    bound_pods  the pods alone, and how derived data follows when pods come or go
    pod_kinds   pods counted by namespace and labels
    pod_list    long lists of pods that share their common part
    columns     derived data, kept next to its source
    interface   one Protocol for each extension point

Source: k8s.io/kube-scheduler/framework/interface.go at v0.36.3.
"""
