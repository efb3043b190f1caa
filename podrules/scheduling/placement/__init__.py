"""Likely placement: a scheduling cycle's result as data that can be presented to users.

outcome              the data; loads no arrays
situation            a pod on a cluster, and the kinds that could not be read
scheduler_condition  kube-scheduler's message in the PodScheduled condition, and what a binding waits for
remedies             the facts behind each rejection of a node, and the cheapest changes that would remove it
likely               the complete answer for one pod
binding              the best of the feasible nodes, and the snapshot with a pod on it
drain_rounds         the pods of a request, after those of drained nodes if any are drained
plan                 the answer for the pods of several specs, each on the cluster that the earlier ones leave
"""
