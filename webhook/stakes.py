"""What is at stake when a pod is force deleted: its owner's promise, its node, its volumes."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from podrules.cluster.errors import ClusterError
from podrules.cluster.stakes import read_guards, read_reach
from podrules.model.pod import Pod
from podrules.reachability import NodeReach, Reach
from podrules.safety import Guarantee, OwnerGuarantee, owner_guarantee
from podrules.volumes import WriterGuard, WriterLock
from webhook.cluster import Cluster

__all__ = ["Stakes", "as_far_as_read", "read_reach", "read_stakes", "without_names"]


class Stakes(Struct, frozen=True):
    """The facts that a warning words."""

    owner: OwnerGuarantee
    node: NodeReach
    volumes: tuple[WriterGuard, ...]
    now: datetime
    """When they were so."""
    withheld: bool = False
    """Whether names are kept back: the owner's is empty, and the node has none of its own."""


def read_stakes(pod: Pod, cluster: Cluster) -> Stakes:
    """Read what is not in the pod itself; what cannot be read in time is unknown."""
    live = cluster.live()
    volumes = read_guards(pod, live)
    now = cluster.now()
    try:
        node = read_reach(pod.spec.node_name, cluster.node(pod.spec.node_name), live, now)
    except ClusterError:
        node = NodeReach(pod.spec.node_name, Reach.UNKNOWN, "")
    return Stakes(owner_guarantee(pod), node, volumes, now)


def as_far_as_read(stakes: Stakes, left_out: Collection[str]) -> Stakes:
    """The same of a pod of which lists were left out (`webhook.pieces`): what they would have told is unknown."""
    if "metadata.ownerReferences" in left_out:
        stakes = replace(stakes, owner=OwnerGuarantee(Guarantee.UNKNOWN, "", "", "metadata.ownerReferences"))
    if "spec.volumes" in left_out:
        stakes = replace(stakes, volumes=(WriterGuard("(too many to read)", WriterLock.UNKNOWN),))
    return stakes


def without_names(stakes: Stakes) -> Stakes:
    """The same for somebody who may not be allowed to read the pod."""
    owner, node = replace(stakes.owner, kind="", name=""), replace(stakes.node, name="its node")
    return replace(stakes, owner=owner, node=node, withheld=True)
