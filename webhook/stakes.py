"""What is at stake when a pod is force deleted: its owner's promise, its node, its volumes."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from podrules.cluster.errors import ClusterError
from podrules.cluster.source import Source
from podrules.cluster.stakes import read_guards, read_reach
from podrules.model.pod import Pod
from podrules.reachability import NodeReach, Reach
from podrules.safety import OwnerGuarantee, owner_guarantee
from podrules.volumes import WriterGuard
from webhook.cluster import Cluster

__all__ = ["Stakes", "read_reach", "read_stakes"]


class Stakes(Struct, frozen=True):
    """The facts that a warning words."""

    owner: OwnerGuarantee
    node: NodeReach
    volumes: tuple[WriterGuard, ...]
    now: datetime
    """When they were so."""


def read_stakes(pod: Pod, cluster: Cluster, live: Source) -> Stakes:
    """Read what is not in the pod itself; what cannot be read in time is unknown."""
    volumes = read_guards(pod, live)
    now = cluster.now()
    try:
        node = read_reach(pod.spec.node_name, cluster.node(pod.spec.node_name, live), live, now)
    except ClusterError:
        node = NodeReach(pod.spec.node_name, Reach.UNKNOWN, "")
    return Stakes(owner_guarantee(pod), node, volumes, now)
