"""A node that runs short: who goes first, by whom, and how far it is from there.

    usage       what pods use, from the kubelet, a metrics API, or unknown
    oom_order   whom the kernel kills when memory runs out: of the node, of all pods, of a pod, of a container
    node        both orders and the way to the first eviction, for one node
    position    one pod's place in both orders, also of a pod that does not exist yet
    cgroups     the tree of cgroups of a node's pods, with weights and limits

The two orders have little in common: the kernel goes by size and oom_score_adj, which the QoS class shapes; the kubelet
by requests and priority, and never by the class.
"""
