"""Reads the objects that the rules of force deletion need, one at a time; what cannot be read is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from cluster_io.errors import ClusterError, NotCaptured, NotFound, NotListed
from cluster_io.kinds import (
    CSI_DRIVERS,
    LEASES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    VOLUME_ATTACHMENTS,
)
from cluster_io.source import Source
from podrules.api.csi_translation import csi_source
from podrules.api.model.instant import instant
from podrules.api.model.node import Lease, Node
from podrules.api.model.pod import Pod
from podrules.api.model.storage import PersistentVolume
from podrules.ending.attachment import has_started, is_in_use, unique_volume_name
from podrules.ending.volumes import (
    ClaimedVolume,
    WriterGuard,
    WriterLock,
    attachment_name,
    claimed_volumes,
    inline_guards,
    writer_guard,
)
from podrules.node.reachability import LEASE_NAMESPACE, NodeReach, Reach, ReachableNode, node_reach
from podrules.pod.platform import Platform, node_platform

MOST_READ: Final = 50
"""Claims of one pod: each takes up to three requests, and a tenant may name thousands."""


def read_node_reach(name: str, source: Source, now: datetime, node: Node | None = None) -> NodeReach:
    """Whether a node answers; unknown where it may exist and cannot be read. A ``node`` that is given is not read."""
    try:
        node = source.get(NODES, name) if node is None else node
    except NotFound as error:
        if isinstance(error, NotListed):
            return NodeReach(name, Reach.UNKNOWN, "")
        node = None
    except ClusterError:
        return NodeReach(name, Reach.UNKNOWN, "")
    found = read_reach(name, node, source, now)
    # The platform may follow from a label, which only a whole Node has.
    virtual = node is not None and node_platform(node) is Platform.VIRTUAL_KUBELET
    return replace(found, provider=True) if virtual else found


def read_reach(name: str, node: ReachableNode | None, source: Source, now: datetime) -> NodeReach:
    """Whether a node that was read answers, by its conditions and its Lease: a lost node may be coming back."""
    known = node_reach(name, node, renewed=None, now=now)
    try:
        return node_reach(name, node, renewed=read_renewed(name, source), now=now)
    except NotCaptured:
        # The conditions are at most the grace period of the node monitor behind.
        return known
    except ClusterError:
        return known if known.reach.quiet else NodeReach(name, Reach.UNKNOWN, "")


def read_renewed(name: str, source: Source) -> datetime | None:
    """When the node's kubelet last renewed its Lease; None without one.

    Raises:
        ClusterError: it cannot be read.
    """
    try:
        text = source.get(LEASES, name, LEASE_NAMESPACE).spec.renew_time
    except NotFound:
        return None
    return instant(text)


def renewals(leases: Iterable[Lease]) -> dict[str, datetime]:
    """When each node's kubelet last renewed its Lease, by node."""
    return {lease.metadata.name: renewed for lease in leases if (renewed := instant(lease.spec.renew_time)) is not None}


def _guard(pod: Pod, claimed: ClaimedVolume, source: Source, node: Node | None) -> WriterGuard:
    """What keeps a second writer off one volume of a pod."""
    try:
        claim = source.get(PERSISTENT_VOLUME_CLAIMS, claimed.claim, pod.metadata.namespace)
        if not claim.spec.volume_name:
            return WriterGuard(claimed.name, WriterLock.UNKNOWN)
        volume = source.get(PERSISTENT_VOLUMES, claim.spec.volume_name)
    except ClusterError:
        return WriterGuard(claimed.name, WriterLock.UNKNOWN)
    try:
        attached = _attached(volume, pod, source)
    except ClusterError:
        attached = None
    if attached is None and node is not None:
        attached = unique_volume_name(volume) in {entry.name for entry in node.status.volumes_attached} or None
    if attached is None and volume.spec.csi is not None:
        # A driver that does not attach has no VolumeAttachments.
        with suppress(ClusterError):
            required = source.get(CSI_DRIVERS, volume.spec.csi.driver).spec.attach_required
            attached = False if required is False else None
    return replace(writer_guard(claimed, claim, volume, attached=attached), mounted=is_in_use(volume, node))


def _attached(volume: PersistentVolume, pod: Pod, source: Source) -> bool | None:
    """Whether a CSI volume is attached to the pod's node; None: another volume, or the pod may still wait for it."""
    node = pod.spec.node_name
    if (disk := csi_source(volume)) is None:
        return None
    try:
        return source.get(VOLUME_ATTACHMENTS, attachment_name(disk, node)).status.attached
    except NotFound:
        # A handwritten VolumeAttachment may have another name. On a live cluster, looking for it takes one more list.
        by_content = not source.side_by_side and any(
            entry.status.attached
            and entry.spec.node_name == node
            and entry.spec.source.persistent_volume_name == volume.metadata.name
            for entry in source.list(VOLUME_ATTACHMENTS)
        )
        return by_content if by_content or has_started(pod) else None


def read_guards(pod: Pod, source: Source, most: int = MOST_READ, node: Node | None = None) -> tuple[WriterGuard, ...]:
    """What keeps a second writer off each volume of a pod; of more than `most` claimed volumes it is unknown."""
    claimed = claimed_volumes(pod)
    read = (_guard(pod, each, source, node) for each in claimed[:most])
    return (*read, *(WriterGuard(each.name, WriterLock.UNKNOWN) for each in claimed[most:]), *inline_guards(pod))
