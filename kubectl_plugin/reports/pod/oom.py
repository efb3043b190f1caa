"""The oom_score_adj of a pod's containers: on its node or nominated node, else on the nodes where it may be placed."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from msgspec import Struct

from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.pod.oom import OOMScoreAdj, pod_oom_score_adjs
from podrules.pod.platform import Platform, node_platform, pod_platform
from podrules.pod.resources import MEMORY
from podrules.pod.versions import Versions
from podrules.scheduling.placement.eligible import eligible_nodes


class OOMUnknown(Enum):
    """Why there is no oom_score_adj."""

    NODE_NOT_KNOWN = "NodeNotKnown"
    """The value depends on the node's memory, and no node could be read."""
    NO_ELIGIBLE_NODE = "NoEligibleNode"
    """It depends on the node's memory, and the pod's own fields allow none of the existing nodes."""
    NOT_LINUX = "NotLinux"
    """Only a Linux kubelet sets it, and the pod is on another platform, or may only be placed on one."""
    NOT_IN_RANGE = "NotInRange"
    """A memory request gives a value that the kernel does not accept; `MemoryTooLow` has the request."""


class OOMOnNode(Struct, frozen=True, rename="camel"):
    """oom_score_adj of every container on one node (Q2)."""

    node: str | None
    """None: the values are the same on any node."""
    memory_capacity: int | None
    containers: tuple[OOMScoreAdj, ...]


def oom_of_pod(
    pod: Pod, node: Node | None, nodes: Sequence[Node] | None, versions: Versions
) -> tuple[OOMOnNode, ...] | OOMUnknown:
    """The values on the node of a pod, else on its nominated node, else on the smallest and the largest node.

    The pod has the resources that the kubelet allocated to it. For an unbound pod, ``nodes`` are all nodes; None if
    they could not be read.
    """
    if pod_platform(pod, node) is not Platform.LINUX:
        return OOMUnknown.NOT_LINUX
    anywhere = pod_oom_score_adjs(pod, None, features=versions.kubelet(node))
    if anywhere is not None:
        return (OOMOnNode(None, None, anywhere),)
    if node is not None:
        candidates = [node]
    elif not nodes:
        return OOMUnknown.NODE_NOT_KNOWN
    else:
        eligible = eligible_nodes(pod, nodes)
        candidates = sorted((one for one in eligible if node_platform(one) is Platform.LINUX), key=_memory)
        # A nominated node is tried first.
        kept = [one for one in candidates if one.metadata.name == pod.status.nominated_node_name]
        candidates = kept or candidates
        if not candidates:
            return OOMUnknown.NOT_LINUX if eligible else OOMUnknown.NO_ELIGIBLE_NODE
    found = tuple(
        OOMOnNode(candidate.metadata.name, _memory(candidate), scores)
        for candidate in _ends(candidates)
        if (scores := pod_oom_score_adjs(pod, _memory(candidate), features=versions.kubelet(candidate))) is not None
    )
    if any(not score.in_range for entry in found for score in entry.containers):
        return OOMUnknown.NOT_IN_RANGE
    return found or OOMUnknown.NODE_NOT_KNOWN


def _ends(candidates: Sequence[Node]) -> Sequence[Node]:
    """The smallest and the largest node; one node if they are equal."""
    if _memory(candidates[0]) == _memory(candidates[-1]):
        return candidates[:1]
    return (candidates[0], candidates[-1])


def _memory(node: Node) -> int:
    amount = node.status.capacity.get(MEMORY)
    return amount.value if amount is not None else 0
