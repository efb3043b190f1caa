"""The timeline of a pod's end: when it is signalled, killed, removed and replaced, and when its volumes are free (T5).

One timeline for each way to end (`Way`). Seconds count from the way's own start: the DELETE, the kubelet's choice, the
probe's first failure, the shutdown, the node's last heartbeat. An event has an earliest and a latest second: the
earliest if processes obey SIGTERM at once and hooks return at once, the latest if they use all the available time. An
event that never happens by itself is marked so.

    events         an event, and the rule that decided it
    aftermath      containers that stop within a grace period; then the object, the owner's replacement, the volumes
    api_deletion   delete, drain, preemption: a request to the API server, then the kubelet's stop
    kubelet_kill   node-pressure eviction, failed probes, node shutdown: the kubelet decides alone
    lost           a node that stopped answering
    of_pod         all ways of one pod, the currently relevant one first
"""
