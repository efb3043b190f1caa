"""The risk of force deleting a pod: its owner's guarantee, its node and its volumes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from cluster_io.errors import ClusterError
from cluster_io.force_delete_objects import read_guards, read_reach
from podrules.api.model.pod import Pod
from podrules.api.plain_names import is_plain_name
from podrules.ending.volumes import WriterGuard, WriterLock, claimed_volumes
from podrules.node.reachability import NodeReach, Reach
from podrules.workload.safety import Guarantee, OwnerGuarantee, owner_guarantee
from webhook.cluster.view import Cluster

_ITS_NODE: Final = "its node"
_MOST_VOLUMES: Final = 16
"""The maximum number of a pod's claimed volumes that are read: each takes three requests."""


class ForceDeleteRisk(Struct, frozen=True):
    """The facts behind a warning about a force deletion."""

    owner: OwnerGuarantee
    node: NodeReach
    volumes: tuple[WriterGuard, ...]
    now: datetime
    """When the facts were read."""
    claims: Mapping[str, str] = {}
    """The names of the claims, by the volumes of the pod that use them."""
    withheld: bool = False
    """Whether names are omitted: the owner's is empty, and the node's is ``its node``."""


def read_force_delete_risk(pod: Pod, cluster: Cluster) -> ForceDeleteRisk:
    """Read the risk of force deleting a pod; facts that cannot be read in time are unknown."""
    live = cluster.live()
    volumes = read_guards(pod, live, _MOST_VOLUMES)
    now = cluster.now()
    try:
        node = read_reach(pod.spec.node_name, cluster.node(pod.spec.node_name), live, now)
    except ClusterError:
        node = NodeReach(pod.spec.node_name, Reach.UNKNOWN, "")
    owner = owner_guarantee(pod)
    # The API server does not validate these texts: a tenant's sentence in them would look like ours.
    if not (is_plain_name(owner.kind.lower()) and is_plain_name(owner.name)):
        owner = replace(owner, kind="", name="")
    if not is_plain_name(node.name):
        node = replace(node, name=_ITS_NODE)
    claims = {one.name: one.claim for one in claimed_volumes(pod) if is_plain_name(one.claim)}
    return ForceDeleteRisk(owner, node, volumes, now, claims)


def as_far_as_read(risk: ForceDeleteRisk, left_out: Collection[str]) -> ForceDeleteRisk:
    """The risk without the lists that were not read (`webhook.reviews.partial_objects`): their facts are unknown."""
    if "metadata.ownerReferences" in left_out:
        risk = replace(risk, owner=OwnerGuarantee(Guarantee.UNKNOWN, "", "", "metadata.ownerReferences"))
    if "spec.volumes" in left_out:
        risk = replace(risk, volumes=(WriterGuard("(too many to read)", WriterLock.UNKNOWN),))
    return risk


def without_names(risk: ForceDeleteRisk) -> ForceDeleteRisk:
    """The same risk without names, for a user who may not be allowed to read the pod."""
    owner, node = replace(risk.owner, kind="", name=""), replace(risk.node, name=_ITS_NODE)
    return replace(risk, owner=owner, node=node, withheld=True)
