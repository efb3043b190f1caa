"""A pod's node, as far as it matters to the pod."""

from __future__ import annotations

from msgspec import Struct

from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.node.eviction.thresholds import NodeCondition, pressures_of
from podrules.node.reachability import NodeReach
from podrules.pod.tolerations import Eviction, bound_at, taint_eviction


class NodeFacts(Struct, frozen=True, rename="camel"):
    """The pod's node, as far as it matters to the pod."""

    name: str
    ready: str | None
    """Status of the Ready condition; Unknown: the kubelet is silent; None: not known."""
    since: str | None
    """When that status began."""
    last_heartbeat: str | None
    reach: NodeReach | None = None
    """Whether it answers; if it does not, it is unknown when its pods end. None: not checked."""
    eviction: Eviction | None = None
    """When its NoExecute taints delete the pod; None: it has none."""
    pressures: tuple[NodeCondition, ...] = ()
    """The pressure conditions that it reports."""


def node_facts(pod: Pod, node: Node | None, reach: NodeReach | None) -> NodeFacts | None:
    """The facts about the node of a pod; None: the pod has no node.

    Args:
        pod: The pod.
        node: The Node; None: it does not exist, or could not be read.
        reach: Whether the node answers.
    """
    name = pod.spec.node_name
    if not name:
        return None
    if node is None:
        return NodeFacts(name, None, None, None, reach)
    ready = node.ready
    return NodeFacts(
        name,
        ready.status if ready is not None else None,
        ready.last_transition_time if ready is not None else None,
        ready.last_heartbeat_time if ready is not None else None,
        reach,
        taint_eviction(pod.spec.tolerations, node.spec.taints, bound=bound_at(pod)),
        pressures_of(node.status.conditions),
    )
