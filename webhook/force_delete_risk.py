"""The risk of a force deletion of a pod: its owner's promise, its node and its volumes."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from podrules.cluster.errors import ClusterError
from podrules.cluster.force_delete_objects import read_guards, read_reach
from podrules.model.pod import Pod
from podrules.reachability import NodeReach, Reach
from podrules.safety import Guarantee, OwnerGuarantee, owner_guarantee
from podrules.volumes import WriterGuard, WriterLock
from webhook.cluster import Cluster

__all__ = ["ForceDeleteRisk", "as_far_as_read", "read_force_delete_risk", "read_reach", "without_names"]


class ForceDeleteRisk(Struct, frozen=True):
    """The facts behind a warning."""

    owner: OwnerGuarantee
    node: NodeReach
    volumes: tuple[WriterGuard, ...]
    now: datetime
    """The time of the facts."""
    withheld: bool = False
    """Whether names are kept back: the owner's is empty, and the node has none of its own."""


def read_force_delete_risk(pod: Pod, cluster: Cluster) -> ForceDeleteRisk:
    """Read the facts that the pod itself does not hold; those that cannot be read in time are unknown."""
    live = cluster.live()
    volumes = read_guards(pod, live)
    now = cluster.now()
    try:
        node = read_reach(pod.spec.node_name, cluster.node(pod.spec.node_name), live, now)
    except ClusterError:
        node = NodeReach(pod.spec.node_name, Reach.UNKNOWN, "")
    return ForceDeleteRisk(owner_guarantee(pod), node, volumes, now)


def as_far_as_read(stakes: ForceDeleteRisk, left_out: Collection[str]) -> ForceDeleteRisk:
    """The risk of a pod whose lists were left out (`webhook.partial_objects`): what they hold is unknown."""
    if "metadata.ownerReferences" in left_out:
        stakes = replace(stakes, owner=OwnerGuarantee(Guarantee.UNKNOWN, "", "", "metadata.ownerReferences"))
    if "spec.volumes" in left_out:
        stakes = replace(stakes, volumes=(WriterGuard("(too many to read)", WriterLock.UNKNOWN),))
    return stakes


def without_names(stakes: ForceDeleteRisk) -> ForceDeleteRisk:
    """The same for somebody who may not be allowed to read the pod."""
    owner, node = replace(stakes.owner, kind="", name=""), replace(stakes.node, name="its node")
    return replace(stakes, owner=owner, node=node, withheld=True)
