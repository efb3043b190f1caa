"""The timeline of a pod's end: when it is signalled, killed, removed and replaced, and its volumes are free (T5).

One timeline for each way to end (`Way`). Seconds count from the way's own start: the DELETE, the kubelet's choice, the
probe's first failure, the shutdown, the node's last heartbeat. An event has an earliest and a latest second: the first
when processes obey SIGTERM at once and hooks return at once, the last when they use all the time there is. What never
happens by itself says so.

    events         what an event is, and which rule decided it
    stopping       containers told to stop within a grace period
    aftermath      the object, the owner's replacement, the volumes
    api_deletion   delete, drain, preemption: the API server is asked, the kubelet stops
    kubelet_kill   node-pressure eviction, failed probes, node shutdown: the kubelet decides alone
    lost           a node that stopped answering
    of_pod         all ways of one pod, the one that matters now first
"""
