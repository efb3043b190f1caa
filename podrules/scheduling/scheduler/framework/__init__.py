"""The input and the answers of plugins, in the shape of upstream's framework.

    answers     codes and reasons, facts, candidate changes
    node_table  the nodes with their pods, in columns: a plugin judges all nodes at once
    pod_kinds   pods counted by namespace and labels
    interface   one Protocol for each extension point

Source: k8s.io/kube-scheduler/framework/interface.go at v0.36.3.
"""
