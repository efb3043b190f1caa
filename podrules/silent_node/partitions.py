"""The pods of nodes that do not respond: since when they are lost, what each of them blocks, and which are worst.

While the object of such a pod exists

    a StatefulSet   does not recreate its ordinal; with OrderedReady it neither scales nor rolls out (`made_pod`)
    a Namespace     that is being deleted stays
    its volumes     stay attached to the node, and pods elsewhere that need them wait

`podrules.node.lost_node` has the rules for what happens by itself, and when. A node is also down if pods name it but
its Node object does not exist; only the pods show that.

Source: pkg/controller/namespace/deletion, pkg/controller/volume/attachdetach/reconciler/reconciler.go at v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.csi_translation import csi_source
from podrules.api.model.instant import instant, later
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.api.model.storage import CSIDriver, PersistentVolume, PersistentVolumeClaim, VolumeAttachment
from podrules.api.model.workload import Workload
from podrules.ending.attachment import (
    attached_volumes,
    forced_by,
    has_started,
    is_in_use,
    is_pod_terminated,
    unique_volume_name,
)
from podrules.ending.deleted_pod import pod_ending, stop_plan
from podrules.ending.volumes import (
    ClaimedVolume,
    WriterGuard,
    WriterLock,
    attached_guard,
    claimed_volumes,
    inline_guards,
    is_multi_attach_allowed,
    is_of_node,
    writer_guard,
)
from podrules.node.lost_node import (
    UNREACHABLE,
    MonitorGrace,
    ZoneHealth,
    ZoneState,
    eviction,
    goes,
    taint_added,
    unknown_at,
    zone_health,
    zone_key,
)
from podrules.node.reachability import OUT_OF_SERVICE, NodeReach, Reach, node_reach
from podrules.pod.tolerations import Eviction, bound_at
from podrules.silent_node.forcing import lets_second_writer, pod_force_safety
from podrules.workload.disruption import budgets_of
from podrules.workload.made_pod import is_ordered
from podrules.workload.safety import OF_ONE_NODE, ForceSafety, Guarantee, OwnerGuarantee, owner_guarantee

_NO_ZONE: Final = ZoneHealth("", 0, 0, ZoneState.NORMAL, 0.0, cluster_down=False)


class Risk(Enum):
    """The worst risk of a pod; the enum's order is from worst to least."""

    TWO_WRITERS = "TwoWriters"
    """Its owner creates a second writer, or one waits elsewhere, and nothing prevents it, now or after the detach."""
    NO_REPLACEMENT = "NoReplacement"
    """Its owner starts no other while it exists, or its volume prevents a start elsewhere."""
    VOLUME_AWAITED = "VolumeAwaited"
    """Another pod waits for its volume."""
    NAMESPACE_HELD = "NamespaceHeld"
    NOT_REPLACED = "NobodyReplaces"
    REPLACED = "Replaced"
    """Another pod may run elsewhere once it is deleted."""
    NODES_OWN = "NodesOwn"
    """The pod belongs only to its node."""


_RISKS: Final = tuple(Risk)


class BlockKind(Enum):
    """The kind of an object that is blocked while a pod exists."""

    STATEFUL_SET = "StatefulSet"
    NAMESPACE = "Namespace"
    VOLUME = "VolumeAttachment"


class Block(Struct, frozen=True, rename="camel"):
    """An object that is blocked while a pod exists."""

    kind: BlockKind
    name: str
    """The name of the StatefulSet, the Namespace or the PersistentVolume."""
    ordinal: int | None = None
    """The ordinal of the StatefulSet's pod, which is not recreated."""
    ordered: bool = False
    """Whether the StatefulSet is OrderedReady: it then neither scales nor rolls out."""
    claim: str = ""
    """The claim of the PersistentVolume."""
    waiting: tuple[str, ...] = ()
    """Pods in the same namespace that wait for the volume."""
    since: datetime | None = None
    """When the deletion of the namespace began."""


class PodDown(Struct, frozen=True, rename="camel"):
    """A pod on a node that does not respond; its status may be old."""

    namespace: str
    name: str
    uid: str
    owner: OwnerGuarantee
    priority: int
    deleted: datetime | None
    """When it was marked for deletion; None: it was not."""
    finalizers: tuple[str, ...]
    """The finalizers that keep its object, even once its node responds or is removed."""
    collected_by: datetime | None
    """When pod garbage collection should have removed its object at the latest; None: it does not, or unknown."""
    stays: bool
    """A fence does not delete it, although it does not belong to the node: it tolerates all taints without a limit."""
    eviction: Eviction
    volumes: tuple[WriterGuard, ...]
    blocks: tuple[Block, ...]
    risk: Risk
    force_safety: ForceSafety
    """Whether its object can be deleted without grace period."""


class HeldAttachment(Struct, frozen=True, rename="camel"):
    """A volume attached to a node that does not respond."""

    name: str
    """The name of the VolumeAttachment; empty: it has none, as for iSCSI and FC."""
    persistent_volume: str
    """Its name; if that is not known, the volume's name in status.volumesAttached of the Node."""
    used_by: str
    """``namespace/pod`` on that node; empty: no pod object uses it any longer, and it is about to be detached."""
    mounted: bool = True
    """Whether status.volumesInUse of the Node lists it: its kubelet first unmounts it, or the detach needs force."""
    claim: str = ""
    waiting: tuple[str, ...] = ()
    """``namespace/pod`` of the pods elsewhere that wait for a volume that no pod object uses here."""
    detaching: datetime | None = None
    """When the deletion of its VolumeAttachment began: its driver has to detach it, and a fence does not help."""
    error: str = ""
    """The driver's last error about the detach."""
    forced_by: datetime | None = None
    """The latest time of its forced detach; None: not known."""
    writer: WriterGuard | None = None
    """The guard against a second writer; None: a pod here uses the volume, or its PersistentVolume is not known."""


class PendingHere(Struct, frozen=True, rename="camel"):
    """A pod without a node that can only start on a silent node, which has its volume."""

    pod: str
    """``namespace/pod``."""
    claim: str


class PartitionBudget(Struct, frozen=True, rename="camel"):
    """A PodDisruptionBudget that counts pods on a lost node, and its healthy pods on other nodes."""

    namespace: str
    name: str
    pods: int
    """The number of lost pods that it counts."""
    healthy: int
    """The number of its healthy pods on other nodes."""
    needed: int
    """The number of healthy pods below which it allows no eviction."""


class NodeDown(Struct, frozen=True, rename="camel"):
    """A node that does not respond, and the consequences."""

    reach: NodeReach
    ready: str | None
    """The status of its Ready condition."""
    renewed: datetime | None
    """Its last heartbeat."""
    unknown_at: datetime | None
    """When Ready became Unknown, or will; None: not known, or it responds."""
    grace_assumed: bool
    """Whether that is a prediction with --node-monitor-grace-period of a control plane with an unknown version."""
    tainted_at: datetime | None
    """When it got the unreachable taint; None: it has none."""
    out_of_service_at: datetime | None
    """When it was declared out of service; None: it is not, or the time is not recorded."""
    taints: tuple[str, ...]
    """``key=value:effect``."""
    zone: ZoneHealth
    pods: tuple[PodDown, ...]
    """Its pods, the worst first; finished pods are left out unless they are being deleted."""
    budgets: tuple[PartitionBudget, ...]
    """The budgets of those pods, the smallest margin first. They block neither fencing nor the taint manager."""
    attachments: tuple[HeldAttachment, ...]
    pending: tuple[PendingHere, ...] = ()

    @property
    def waiting(self) -> tuple[str, ...]:
        """``namespace/pod`` of the pods elsewhere that wait for volumes that no pod object uses here."""
        return tuple(dict.fromkeys(pod for held in self.attachments for pod in held.waiting))

    @property
    def kept_waiting(self) -> tuple[str, ...]:
        """`waiting`, and pods that wait for volumes of its pods; empty if it is declared out of service."""
        used = (f"{pod.namespace}/{name}" for pod in self.pods for block in pod.blocks for name in block.waiting)
        return (*self.waiting, *used) if self.reach.reach.quiet and not self.reach.reach.declared else ()


class PartitionFacts(Struct, frozen=True, kw_only=True):
    """The objects that are read from a cluster."""

    nodes: Sequence[Node]
    all_nodes: bool = True
    """Whether these are all nodes of the cluster: another node that a pod names is then gone."""
    renewed: Mapping[str, datetime]
    """``spec.renewTime`` of the nodes' Leases."""
    grace: MonitorGrace = MonitorGrace()
    pods: Sequence[Pod]
    """The pods of the nodes that are down, and all pods in the namespaces of their claims."""
    stateful_sets: Mapping[tuple[str, str], Workload] = {}
    """By namespace and name."""
    namespaces_being_deleted: Mapping[str, datetime] = {}
    claims: Mapping[tuple[str, str], PersistentVolumeClaim] = {}
    """By namespace and name."""
    volumes: Mapping[str, PersistentVolume] = {}
    attachments: Sequence[VolumeAttachment] = ()
    all_attachments: bool = True
    """Whether these are all VolumeAttachments of the cluster."""
    drivers: Mapping[str, CSIDriver] = {}
    """The known CSIDrivers of volumes without a VolumeAttachment."""
    budgets: Sequence[PodDisruptionBudget] = ()
    pending: Sequence[Pod] = ()
    """Pods without a node."""
    all_volumes: Sequence[PersistentVolume] = ()
    """All PersistentVolumes, if any of those pods has a claim."""

    def volume_of(self, pod: Pod, claimed: ClaimedVolume) -> PersistentVolume | None:
        """The PersistentVolume of a pod's claim; None: it was not read."""
        claim = self.claims.get((pod.metadata.namespace, claimed.claim))
        return self.volumes.get(claim.spec.volume_name) if claim is not None else None


def nodes_down(nodes: Iterable[Node], renewed: Mapping[str, datetime], now: datetime) -> tuple[NodeReach, ...]:
    """The nodes that do not respond, that are returning, or that were declared out of service."""
    reaches = (node_reach(node.metadata.name, node, renewed=renewed.get(node.metadata.name), now=now) for node in nodes)
    return tuple(reach for reach in reaches if reach.reach.quiet or reach.reach.back or reach.reach is Reach.RETURNING)


def missing_nodes(
    nodes: Iterable[Node], pods: Iterable[Pod], attachments: Iterable[VolumeAttachment], renewed: Mapping[str, datetime]
) -> tuple[NodeReach, ...]:
    """Nodes without a Node object that pods or VolumeAttachments name; empty if no node is known."""
    known, attached = {node.metadata.name for node in nodes}, {entry.spec.node_name for entry in attachments}
    named = attached | {pod.spec.node_name for pod in pods if hangs_on_its_node(pod)}
    missing = sorted(named - known - {""}) if known else ()
    return tuple(NodeReach(name, Reach.GONE, "metadata.name", renewed.get(name)) for name in missing)


def partitions(facts: PartitionFacts, now: datetime) -> tuple[NodeDown, ...]:
    """Every node that does not respond, first the one with the worst pod, then the one that is silent for longest."""
    by_name = {node.metadata.name: node for node in facts.nodes}
    zones = zone_health(facts.nodes)
    found = (
        _node_down(reach, by_name[reach.name], zones[zone_key(by_name[reach.name])], facts)
        for reach in nodes_down(facts.nodes, facts.renewed, now)
    )
    missing = (
        _node_down(reach, None, _NO_ZONE, facts)
        for reach in missing_nodes(facts.nodes, facts.pods, facts.attachments, facts.renewed)
        if facts.all_nodes
    )
    latest = later(now, 86_400)
    return tuple(
        sorted((*found, *missing), key=lambda entry: (_worst(entry), entry.renewed or latest, entry.reach.name))
    )


def hangs_on_its_node(pod: Pod) -> bool:
    """Whether a pod depends on its node: not if it has finished, unless it is being deleted."""
    return not pod.finished or pod.metadata.deletion_timestamp is not None


def ordinal_of(pod: Pod) -> int | None:
    """The ordinal at the end of the name of a StatefulSet's pod (getParentNameAndOrdinal)."""
    found = re.fullmatch(r".*-([0-9]+)", pod.metadata.name)
    return int(found[1]) if found else None


def _worst(entry: NodeDown) -> int:
    found = [pod.risk for pod in entry.pods]
    found += [Risk.NO_REPLACEMENT] * bool(entry.pending)
    for held in entry.attachments:
        if held.waiting:
            unfenced = held.writer is not None and lets_second_writer(held.writer, entry.reach.reach)
            found.append(Risk.TWO_WRITERS if unfenced else Risk.VOLUME_AWAITED)
    return min(map(_RISKS.index, found), default=len(_RISKS))


def _node_down(reach: NodeReach, node: Node | None, zone: ZoneHealth, facts: PartitionFacts) -> NodeDown:
    """A node and what depends on it; without a Node object not a taint but garbage collection deletes its pods."""
    renewed = facts.renewed.get(reach.name)
    ready = node.ready.status if node is not None and node.ready is not None else None
    # If the node responds, the heartbeat is not the last one, and Ready does not become Unknown.
    lost = reach.reach.quiet or ready == "Unknown"
    unknown = unknown_at(node, renewed, facts.grace) if node is not None and lost else None

    def evicted(pod: Pod) -> Eviction:
        if node is None:
            return Eviction(None, None)
        return eviction(pod.spec.tolerations, node, unknown, zone, bound=bound_at(pod))

    pods = [pod for pod in facts.pods if pod.spec.node_name == reach.name and hangs_on_its_node(pod)]
    attached = attached_volumes(reach.name, node, facts.attachments, facts.volumes.values())
    down = (_pod_down(pod, (reach, node), evicted(pod), attached, facts) for pod in pods)
    return NodeDown(
        reach=reach,
        ready=ready,
        renewed=renewed,
        unknown_at=unknown,
        grace_assumed=unknown is not None and ready != "Unknown" and not facts.grace.known,
        tainted_at=taint_added(node, UNREACHABLE),
        out_of_service_at=taint_added(node, OUT_OF_SERVICE),
        taints=tuple(taint.text for taint in node.spec.taints) if node is not None else (),
        zone=zone,
        pods=tuple(sorted(down, key=lambda pod: tuple(compare(pod) for compare in RANKING))),
        budgets=tuple(sorted(_standings(pods, facts.budgets), key=lambda entry: entry.healthy - entry.needed)),
        attachments=tuple(_held_attachments(reach, node, pods, attached, facts)),
        pending=tuple(_pending(node, facts)) if node is not None else (),
    )


def _pending(node: Node, facts: PartitionFacts) -> Iterator[PendingHere]:
    bound = [volume for volume in facts.all_volumes if volume.status.phase == "Bound" and is_of_node(volume, node)]
    here = {(claim.namespace, claim.name) for volume in bound if (claim := volume.spec.claim_ref) is not None}
    for pod in facts.pending if here else ():
        namespace, name = pod.metadata.place
        used = next((use.claim for use in claimed_volumes(pod) if (namespace, use.claim) in here), "")
        if used and pod.metadata.deletion_timestamp is None:
            yield PendingHere(f"{namespace}/{name}", used)


RANKING: Final[tuple[Callable[[PodDown], object], ...]] = (
    lambda pod: _RISKS.index(pod.risk),
    lambda pod: -pod.priority,
    lambda pod: (pod.namespace, pod.name),
)
"""The worst risk first, then the highest priority, then by name."""


def _pod_down(
    pod: Pod, at: tuple[NodeReach, Node | None], to_go: Eviction, attached: Mapping[str, str], facts: PartitionFacts
) -> PodDown:
    reach, node = at
    owner, ending = owner_guarantee(pod), pod_ending(pod, node=node)
    guards = (*(_guard(pod, use, attached, facts) for use in claimed_volumes(pod)), *inline_guards(pod))
    replaced = owner.guarantee is not Guarantee.NOT_REPLACED
    shared = guards if replaced else _written_elsewhere(pod, guards, facts)
    unfenced = any(lets_second_writer(guard, reach.reach) for guard in shared)
    blocks = tuple(_blocks(pod, owner, attached, facts))
    return PodDown(
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        owner=owner,
        priority=pod.spec.priority or 0,
        deleted=ending.deleted_at,
        finalizers=ending.holders,
        collected_by=ending.collected_by,
        stays=node is not None and owner.guarantee not in OF_ONE_NODE and not goes(pod, node.spec.taints),
        eviction=to_go,
        volumes=guards,
        blocks=blocks,
        risk=_risk(owner.guarantee, guards, blocks, unfenced=unfenced),
        force_safety=pod_force_safety(owner.guarantee, stop_plan(pod, 0, quiet=reach.ends_unknown), reach, guards),
    )


def _risk(guarantee: Guarantee, guards: Sequence[WriterGuard], blocks: Sequence[Block], *, unfenced: bool) -> Risk:
    if guarantee in OF_ONE_NODE:
        return Risk.NODES_OWN
    replaced = guarantee is not Guarantee.NOT_REPLACED
    if unfenced:
        return Risk.TWO_WRITERS
    if guarantee is Guarantee.AT_MOST_ONE or (replaced and any(guard.lock is WriterLock.NODE for guard in guards)):
        return Risk.NO_REPLACEMENT
    kinds = {block.kind for block in blocks}
    if any(block.kind is BlockKind.VOLUME and block.waiting for block in blocks):
        return Risk.VOLUME_AWAITED
    if BlockKind.NAMESPACE in kinds:
        return Risk.NAMESPACE_HELD
    return Risk.REPLACED if replaced else Risk.NOT_REPLACED


def _guard(pod: Pod, claimed: ClaimedVolume, attached: Mapping[str, str], facts: PartitionFacts) -> WriterGuard:
    claim = facts.claims.get((pod.metadata.namespace, claimed.claim))
    volume = facts.volume_of(pod, claimed)
    if claim is None or volume is None:
        return WriterGuard(claimed.name, WriterLock.UNKNOWN)
    name, csi = volume.metadata.name, volume.spec.csi
    there = [entry.status.attached for entry in facts.attachments if entry.metadata.name == attached.get(name)]
    # A pod that has not started may still wait for its volume. A driver without attachment has no VolumeAttachments.
    driver = facts.drivers.get(csi.driver) if csi is not None else None
    known = (facts.all_attachments and has_started(pod)) or (driver and driver.spec.attach_required is False)
    held = any(there) or attached.get(name) == ""
    guard = writer_guard(claimed, claim, volume, attached=held if held or there or known else None)
    node = next((node for node in facts.nodes if node.metadata.name == pod.spec.node_name), None)
    return replace(guard, mounted=is_in_use(volume, node))


def _blocks(pod: Pod, owner: OwnerGuarantee, attached: Mapping[str, str], facts: PartitionFacts) -> Iterator[Block]:
    namespace = pod.metadata.namespace
    if owner.guarantee is Guarantee.AT_MOST_ONE:
        owning = facts.stateful_sets.get((namespace, owner.name))
        ordered = owning is not None and is_ordered(owning)
        yield Block(BlockKind.STATEFUL_SET, owner.name, ordinal_of(pod), ordered)
    since = facts.namespaces_being_deleted.get(namespace)
    if since is not None:
        yield Block(BlockKind.NAMESPACE, namespace, since=since)
    for claimed in claimed_volumes(pod):
        volume = facts.volume_of(pod, claimed)
        # iSCSI and FC have no VolumeAttachment; they are attached while the pod exists.
        in_tree = volume is not None and csi_source(volume) is None and unique_volume_name(volume)
        if volume is not None and (in_tree or volume.metadata.name in attached):
            waiting = _waiting(volume, namespace, claimed.claim, pod.spec.node_name, facts)
            names = tuple(other.metadata.name for other in waiting)
            yield Block(BlockKind.VOLUME, volume.metadata.name, claim=claimed.claim, waiting=names)


def _waiting(volume: PersistentVolume, namespace: str, claim: str, node: str, facts: PartitionFacts) -> Iterator[Pod]:
    """Pods on other nodes that use the same claim and cannot start."""
    others = () if is_multi_attach_allowed(volume) else _elsewhere(namespace, claim, node, facts)
    return (other for other, _ in others if not has_started(other))


def _written_elsewhere(pod: Pod, guards: Iterable[WriterGuard], facts: PartitionFacts) -> Iterator[WriterGuard]:
    """The claimed volumes to which a pod elsewhere writes, or will write once it gets them."""
    for use, guard in zip(claimed_volumes(pod), guards, strict=False):
        others = _elsewhere(pod.metadata.namespace, use.claim, pod.spec.node_name, facts)
        if not guard.lock.of_a_node and any(writes for _, writes in others):
            yield guard


def _elsewhere(namespace: str, claim: str, node: str, facts: PartitionFacts) -> Iterator[tuple[Pod, bool]]:
    """Pods on other nodes that use the same claim, and whether they write to it."""
    for other in facts.pods:
        bound = other.metadata.namespace == namespace and other.spec.node_name not in {"", node}
        uses = [use for use in claimed_volumes(other) if use.claim == claim] if bound else []
        if uses and not is_pod_terminated(other):
            yield other, not all(use.read_only for use in uses)


def _standings(pods: Sequence[Pod], budgets: Iterable[PodDisruptionBudget]) -> Iterator[PartitionBudget]:
    for budget in budgets:
        lost = [pod for pod in pods if budgets_of(pod, (budget,))]
        if lost:
            # Until the node counts as lost, its pods are Ready and counted (disruption.countHealthyPods).
            still = sum(pod.is_ready and pod.metadata.deletion_timestamp is None for pod in lost)
            elsewhere = max(budget.status.current_healthy - still, 0)
            own = budget.metadata
            yield PartitionBudget(own.namespace, own.name, len(lost), elsewhere, budget.status.desired_healthy)


def _held_attachments(
    reach: NodeReach, node: Node | None, pods: Sequence[Pod], attached: Mapping[str, str], facts: PartitionFacts
) -> Iterator[HeldAttachment]:
    by_name = {entry.metadata.name: entry for entry in facts.attachments}
    users: dict[str, str] = {}
    for pod in pods:
        claimed = [found for use in claimed_volumes(pod) if (found := facts.volume_of(pod, use)) is not None]
        inline = map(unique_volume_name, pod.spec.volumes)
        uses = (*(volume.metadata.name for volume in claimed), *inline)
        users |= dict.fromkeys(uses, f"{pod.metadata.namespace}/{pod.metadata.name}")
    in_use = node.status.volumes_in_use if node is not None else ()
    for held, attachment in attached.items():
        volume, user = facts.volumes.get(held), users.get(held, "")
        claim = volume.spec.claim_ref if volume is not None else None
        waiting: Sequence[Pod] = ()
        if volume is not None and claim is not None and not user:
            waiting = tuple(_waiting(volume, claim.namespace, claim.name, reach.name, facts))
        forced = [by for pod in waiting if claim and (by := forced_by(pod, claim.name, reach)) is not None]
        entry = by_name.get(attachment)
        error = entry.status.detach_error if entry is not None else None
        detaching = instant(entry.metadata.deletion_timestamp) if entry is not None else None
        yield HeldAttachment(
            name=attachment,
            persistent_volume=held,
            used_by=user,
            mounted=is_in_use(volume, node) if volume is not None else bool(attachment) or held in in_use,
            claim=claim.name if claim is not None else "",
            waiting=tuple(f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in waiting),
            detaching=detaching,
            error=error.message if error is not None and detaching is not None else "",
            forced_by=max(forced, default=None),
            writer=attached_guard(volume) if volume is not None and not user else None,
        )
