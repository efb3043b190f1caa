"""What plugins are given and what they answer, in the shape of upstream's framework.

    status      codes and reasons
    node_table  the nodes with their pods, in columns: a plugin judges all nodes at once
    interface   one Protocol for each extension point

Source: k8s.io/kube-scheduler/framework/interface.go at v0.36.3.
"""
