"""Reads the objects that the rules of partitions and of moving volumes need; the gatherer notes what cannot be read.

It reads only the pods on nodes that are down, those on no node, and the pods in namespaces with claims that the lost
pods use. A large cluster has too many pods to read them all during one command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from cluster_io.force_delete_objects import MOST_READ
from cluster_io.force_delete_objects import renewals as renewals_of
from cluster_io.kinds import (
    CSI_DRIVERS,
    LEASES,
    NAMESPACES,
    NODES,
    PDBS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    STATEFUL_SETS,
    VOLUME_ATTACHMENTS,
    Kind,
)
from podrules.api.csi_translation import csi_source
from podrules.api.model.base import KubeObject
from podrules.api.model.instant import instant
from podrules.api.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from podrules.api.model.workload import Workload
from podrules.ending.attachment import VolumeFacts, attached_volumes, unique_volume_name
from podrules.ending.deleted_pod import pod_ending
from podrules.ending.volumes import (
    ClaimedVolume,
    SecondWriters,
    claimed_volumes,
    coming_guards,
    second_writers,
    volume_of,
)
from podrules.node.lost_node import MonitorGrace
from podrules.node.reachability import LEASE_NAMESPACE, NodeReach
from podrules.pod.reading import NOT_ALL_IN_FILE, UnreadInput, read_or_none
from podrules.silent_node.partitions import PartitionFacts, missing_nodes, nodes_down
from podrules.workload.safety import Guarantee, owner_guarantee

if TYPE_CHECKING:
    from cluster_io.gather import Gatherer
    from podrules.api.model.node import Node
    from podrules.api.model.pod import Pod
    from podrules.api.model.storage import VolumeAttachment


def renewals(gatherer: Gatherer) -> dict[str, datetime]:
    """When each node's kubelet last renewed its Lease, by node; empty when Leases cannot be read."""
    return renewals_of(gatherer.noted(gatherer.list(LEASES, LEASE_NAMESPACE)) or ())


def partition_facts(
    gatherer: Gatherer, nodes: Sequence[Node], now: datetime, pods: Sequence[Pod] = ()
) -> PartitionFacts:
    """Read everything about the nodes that are down.

    ``nodes`` are all nodes of the cluster: the state of a zone depends on all its nodes. ``pods`` are all pods, if
    already read: only they show nodes without a Node object.
    """
    renewed = renewals(gatherer)
    # A List may lack a Node that exists.
    all_nodes = not gatherer.source.is_plain_list
    # A live cluster may have too many attachments to read them for nodes that are gone.
    of_all = () if gatherer.source.side_by_side else read_or_none(gatherer.list(VOLUME_ATTACHMENTS)) or ()
    missing = missing_nodes(nodes, pods, of_all, renewed)
    if missing and not all_nodes:
        gatherer.noted(UnreadInput("get", NODES.rbac_name, None, NOT_ALL_IN_FILE))
        missing = ()
    reaches = (*nodes_down(nodes, renewed, now), *missing)
    down = [reach.name for reach in reaches]
    lost = [pod for name in down for pod in gatherer.noted(gatherer.pods_on(name)) or ()]
    if not down:
        return PartitionFacts(nodes=nodes, all_nodes=all_nodes, renewed=renewed, pods=())
    attachments = gatherer.noted(gatherer.list(VOLUME_ATTACHMENTS))
    claims: dict[tuple[str, str], PersistentVolumeClaim] = {}
    volumes: dict[str, PersistentVolume] = {}
    for pod in lost:
        for claimed in claimed_volumes(pod):
            claim, volume = _claim_and_volume(gatherer, pod, claimed)
            if claim is not None:
                claims[pod.metadata.namespace, claimed.claim] = claim
            if volume is not None:
                volumes[volume.metadata.name] = volume
    by_name = {node.metadata.name: node for node in nodes}
    _read_attached(gatherer, {name: by_name.get(name) for name in down}, attachments or (), lost, volumes)
    pending = gatherer.noted(gatherer.waiting()) or ()
    claiming = any(map(claimed_volumes, pending))
    awaited = {bound.namespace for volume in volumes.values() if (bound := volume.spec.claim_ref) is not None}
    return PartitionFacts(
        nodes=nodes,
        all_nodes=all_nodes,
        renewed=renewed,
        grace=MonitorGrace.of(gatherer.versions),
        pods=(*lost, *_others(gatherer, lost, awaited | {namespace for namespace, _ in claims})),
        stateful_sets={
            (pod.metadata.namespace, owner.name): found
            for pod in lost
            if (owner := owner_guarantee(pod)).guarantee is Guarantee.AT_MOST_ONE
            and (found := gatherer.noted(gatherer.get(STATEFUL_SETS, owner.name, pod.metadata.namespace))) is not None
        },
        namespaces_being_deleted={
            entry.metadata.name: since
            for entry in gatherer.noted(gatherer.list(NAMESPACES)) or ()
            if (since := instant(entry.metadata.deletion_timestamp)) is not None
        },
        claims=claims,
        volumes=volumes,
        attachments=attachments or (),
        all_attachments=attachments is not None,
        drivers={
            driver.metadata.name: driver
            for volume in volumes.values()
            if (csi := volume.spec.csi) and (driver := read_or_none(gatherer.get(CSI_DRIVERS, csi.driver)))
        },
        budgets=gatherer.in_reach(PDBS) or (),
        pending=pending,
        all_volumes=(gatherer.noted(gatherer.list(PERSISTENT_VOLUMES)) or ()) if claiming else (),
    )


def _read_attached(
    gatherer: Gatherer,
    down: Mapping[str, Node | None],
    attachments: Sequence[VolumeAttachment],
    lost: Sequence[Pod],
    volumes: dict[str, PersistentVolume],
) -> None:
    """Add the attached volumes that no pod object uses any more to those that are known."""
    for entry in attachments:
        name = entry.spec.source.persistent_volume_name
        if entry.spec.node_name in down and name and name not in volumes:
            found = gatherer.noted(gatherer.get(PERSISTENT_VOLUMES, name))
            volumes |= {name: found} if found is not None else {}
    held = (attached_volumes(name, node, attachments, volumes.values()) for name, node in down.items())
    unknown = {volume for one in held for volume, attachment in one.items() if not attachment} - volumes.keys()
    unknown -= {unique_volume_name(volume) for pod in lost for volume in pod.spec.volumes}
    # A node's status names them by what only their specs have.
    every = gatherer.noted(gatherer.list(PERSISTENT_VOLUMES)) if unknown else ()
    volumes |= {found.metadata.name: found for found in every or () if unique_volume_name(found) in unknown}


def coming_writers(
    gatherer: Gatherer,
    pod: Pod,
    deployment: Workload,
    written: Sequence[KubeObject] = (),
    get: Callable[[Kind[Any], str, str | None], Any] | None = None,
) -> SecondWriters | None:
    """When two pods of a Deployment write to its volumes, by the claims of the cluster, else by those of files."""
    read_at_most = {claimed.claim for claimed in claimed_volumes(pod)[:MOST_READ]}
    claims = {one.metadata.place: one for one in written if isinstance(one, PersistentVolumeClaim)}
    volumes = {one.metadata.name: one for one in written if isinstance(one, PersistentVolume)}
    classes = {one.metadata.name: one for one in written if isinstance(one, StorageClass)}

    def read(kind: Kind[Any], name: str, own: Any = None) -> Any:
        if kind.namespaced and name not in read_at_most:
            return own
        found: Any = (get or gatherer.get)(kind, name, pod.metadata.namespace if kind.namespaced else None)
        return read_or_none(found) or own or gatherer.noted(found)

    def its_volume(claim: PersistentVolumeClaim) -> Any:
        own, name = volume_of(claim, volumes), claim.spec.volume_name
        return read(PERSISTENT_VOLUMES, name, own) if name else own

    guards = coming_guards(
        pod,
        lambda name: read(PERSISTENT_VOLUME_CLAIMS, name, claims.get((pod.metadata.namespace, name))),
        its_volume,
        lambda name: read(CSI_DRIVERS, name),
        classes,
    )
    return second_writers(deployment, pod, guards)


def _others(gatherer: Gatherer, lost: Sequence[Pod], namespaces: Iterable[str]) -> Iterator[Pod]:
    """Pods that may wait for a claim of a lost pod: the other pods of its namespace."""
    known = {pod.metadata.uid for pod in lost}
    for namespace in sorted(namespaces):
        yield from (
            pod for pod in gatherer.noted(gatherer.list(PODS, namespace)) or () if pod.metadata.uid not in known
        )


def _claim_and_volume(
    gatherer: Gatherer, pod: Pod, claimed: ClaimedVolume
) -> tuple[PersistentVolumeClaim | None, PersistentVolume | None]:
    claim = gatherer.noted(gatherer.get(PERSISTENT_VOLUME_CLAIMS, claimed.claim, pod.metadata.namespace))
    if claim is None or not claim.spec.volume_name:
        return claim, None
    return claim, gatherer.noted(gatherer.get(PERSISTENT_VOLUMES, claim.spec.volume_name))


def volumes_on_their_way(gatherer: Gatherer, pod: Pod) -> tuple[tuple[VolumeFacts, ...], tuple[NodeReach, ...]]:
    """The volumes of a bound pod, and whether the nodes that use them answer."""
    facts = tuple(_volume_facts(gatherer, pod))
    names = {pod.spec.node_name}
    for volume in facts:
        names |= (
            volume.attached_to
            | {user.spec.node_name for user in volume.users}
            | {entry.spec.node_name for entry in volume.attachments}
        )
    return facts, tuple(gatherer.reach(name) for name in sorted(names - {""}))


def _volume_facts(gatherer: Gatherer, pod: Pod) -> Iterator[VolumeFacts]:
    for claimed in claimed_volumes(pod):
        _, volume = _claim_and_volume(gatherer, pod, claimed)
        if volume is None:
            continue
        users = [
            other
            for other in gatherer.noted(gatherer.list(PODS, pod.metadata.namespace)) or ()
            if any(use.claim == claimed.claim for use in claimed_volumes(other))
        ]
        every = gatherer.noted(gatherer.list(VOLUME_ATTACHMENTS))
        attachments = [one for one in every or () if one.spec.source.persistent_volume_name == volume.metadata.name]
        known = every is not None and gatherer.source.side_by_side and csi_source(volume) is not None
        # Only the node's status shows iSCSI and FC volumes, and the CSI volumes that VolumeAttachments do not show.
        name = "" if known else unique_volume_name(volume)
        listed = (gatherer.noted(gatherer.list(NODES)) or ()) if name else ()
        attached = {node.metadata.name for node in listed if name in {one.name for one in node.status.volumes_attached}}
        nodes = attached | {entry.spec.node_name for entry in attachments}
        yield VolumeFacts(
            name=claimed.name,
            claim=claimed.claim,
            volume=volume,
            attachable=_is_attachable(gatherer, volume),
            attachments=attachments,
            attached_to=frozenset(attached),
            users=users,
            mounted_on=frozenset(name for name in nodes if _has_mounted(gatherer, name, volume)),
            collected_by={user.metadata.name: _collected_by(gatherer, user) for user in users},
        )


def _collected_by(gatherer: Gatherer, pod: Pod) -> datetime | None:
    if pod.metadata.deletion_timestamp is None or not pod.spec.node_name:
        return None
    return pod_ending(pod, node=read_or_none(gatherer.get(NODES, pod.spec.node_name))).collected_by


def _is_attachable(gatherer: Gatherer, volume: PersistentVolume) -> bool:
    if volume.spec.csi is None:
        return bool(unique_volume_name(volume))
    driver = gatherer.noted(gatherer.get(CSI_DRIVERS, volume.spec.csi.driver))
    return driver is None or driver.spec.attach_required is not False


def _has_mounted(gatherer: Gatherer, name: str, volume: PersistentVolume) -> bool:
    node = gatherer.noted(gatherer.get(NODES, name))
    return node is not None and unique_volume_name(volume) in node.status.volumes_in_use
