"""Likely placement: a scheduling cycle's result as data that can be told to people.

outcome    the data; loads no arrays
facts      the numbers behind a node's rejection, plugin by plugin
changes    what would take a rejection away, tried on a copy of the cluster
remedies   the cheapest changes for each group of nodes, checked by another cycle
told       what kube-scheduler wrote into the PodScheduled condition, next to the answer of now
likely     all of it for one pod
"""
