"""Preemption: which pods are removed for a pod that fits nowhere, and from which node.

    victims      the dry run on a node, and the choice between candidates
    post_filter  all of it, and what the PodScheduled condition says
    cross_node   what removing pods of other nodes would have done, which the scheduler never tries

Source: pkg/scheduler/framework/preemption and plugins/defaultpreemption at v1.36.3.
"""

from podrules.scheduling.scheduler.preemption.cross_node import CrossNodeHelp, cross_node_help
from podrules.scheduling.scheduler.preemption.post_filter import PostFilter, Preemption, preempt
from podrules.scheduling.scheduler.preemption.victims import Candidate, Criterion, NodeChoice

__all__ = [
    "Candidate",
    "Criterion",
    "CrossNodeHelp",
    "NodeChoice",
    "PostFilter",
    "Preemption",
    "cross_node_help",
    "preempt",
]
