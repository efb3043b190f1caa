"""The nodes that a pod's own spec allows, with or without room.

    spec.nodeName                   only that node, whatever else is set: the scheduler ignores the pod
    nodeSelector, node affinity     the node has the labels and fits the required terms (NodeAffinity)
    tolerations                     every NoSchedule and NoExecute taint of the node is tolerated (TaintToleration)

Room, ports, volumes and other pods are ignored: they change all the time. Loads no arrays.

Source: pkg/scheduler/framework/plugins/{nodeaffinity,tainttoleration} at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable

from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.pod.tolerations import DO_NOT_SCHEDULE, tolerations_tolerate_taint
from podrules.scheduling.scheduler.plugins.requirement import node_matches


def eligible_nodes(pod: Pod, nodes: Iterable[Node]) -> tuple[Node, ...]:
    """The nodes that the pod's node selector, node affinity, nodeName and tolerations allow, in their order."""
    if pod.spec.node_name:
        return tuple(node for node in nodes if node.metadata.name == pod.spec.node_name)
    tolerations = pod.spec.tolerations
    return tuple(
        node
        for node in nodes
        if node_matches(node, pod)
        and all(
            taint.effect not in DO_NOT_SCHEDULE or tolerations_tolerate_taint(tolerations, taint)
            for taint in node.spec.taints
        )
    )
