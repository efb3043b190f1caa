"""What is at stake when a pod is force deleted: its owner's promise, its node, its volumes."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from podrules.cluster.errors import ClusterError, NotFound
from podrules.cluster.kinds import LEASES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS
from podrules.cluster.source import Source
from podrules.model.pod import Pod
from podrules.model.storage import PersistentVolume
from podrules.reachability import LEASE_NAMESPACE, NodeReach, Reach, node_reach
from podrules.safety import OwnerGuarantee, owner_guarantee
from podrules.volumes import (
    ClaimedVolume,
    WriterGuard,
    WriterLock,
    attachment_name,
    claimed_volumes,
    writer_guard,
)
from webhook.cluster import Cluster

__all__ = ["Stakes", "read_stakes"]


class Stakes(Struct, frozen=True):
    """The facts that a warning words."""

    owner: OwnerGuarantee
    node: NodeReach
    volumes: tuple[WriterGuard, ...]
    now: datetime
    """When they were so."""


def read_stakes(pod: Pod, cluster: Cluster) -> Stakes:
    """Read what is not in the pod itself; what cannot be read in time is unknown."""
    live = cluster.live()
    volumes = tuple(_guard(pod, claimed, live) for claimed in claimed_volumes(pod))
    now = cluster.now()
    return Stakes(owner_guarantee(pod), _node(pod.spec.node_name, cluster, live, now), volumes, now)


def _node(name: str, cluster: Cluster, live: Source, now: datetime) -> NodeReach:
    try:
        node = cluster.node(name, live)
        known = node_reach(name, node, renewed=None, now=now)
        if known.reach is not Reach.ANSWERS:
            return known
        return node_reach(name, node, renewed=_renewed(name, live), now=now)
    except ClusterError:
        return NodeReach(name, Reach.UNKNOWN, "")


def _renewed(name: str, live: Source) -> datetime | None:
    """When the node's kubelet last renewed its Lease; None without one."""
    try:
        text = live.get(LEASES, name, LEASE_NAMESPACE).spec.renew_time
    except NotFound:
        return None
    return datetime.fromisoformat(text) if text else None


def _guard(pod: Pod, claimed: ClaimedVolume, live: Source) -> WriterGuard:
    try:
        claim = live.get(PERSISTENT_VOLUME_CLAIMS, claimed.claim, pod.metadata.namespace)
        if not claim.spec.volume_name:
            return WriterGuard(claimed.name, WriterLock.UNKNOWN)
        volume = live.get(PERSISTENT_VOLUMES, claim.spec.volume_name)
        attached = _attached(volume, pod.spec.node_name, live)
    except ClusterError:
        return WriterGuard(claimed.name, WriterLock.UNKNOWN)
    return writer_guard(claimed, claim, volume, attached=attached)


def _attached(volume: PersistentVolume, node: str, live: Source) -> bool | None:
    """Whether a CSI volume is attached to the pod's node; None for other volumes."""
    if volume.spec.csi is None:
        return None
    try:
        return live.get(VOLUME_ATTACHMENTS, attachment_name(volume.spec.csi, node)).status.attached
    except NotFound:
        return False
