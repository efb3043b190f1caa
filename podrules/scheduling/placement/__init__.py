"""Likely placement: a scheduling cycle's result as data that can be presented to users.

outcome              the data; loads no arrays
facts                the numbers behind each plugin's rejection of a node
changes              changes that would remove a rejection, tried on a copy of the cluster
remedies             the cheapest changes for each group of nodes, checked by another cycle
scheduler_condition  kube-scheduler's message in the PodScheduled condition, compared with the current answer
likely               the complete answer for one pod
"""
