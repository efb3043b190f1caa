"""A node under pressure: which container or pod ends first, by kernel or kubelet, and how near the node is to that.

    usage       what pods use, from the kubelet, a metrics API, or unknown
    oom_order   which process the kernel kills when the memory of the node, all pods, a pod or a container runs out
    node        both orders and the headroom to the first eviction, for one node
    position    one pod's place in both orders, also for a planned pod
    cgroups     the tree of cgroups of a node's pods, with weights and limits

The two orders have little in common: the kernel ranks by memory use and oom_score_adj, which the QoS class influences;
the kubelet ranks by requests and priority, never by the class.
"""
