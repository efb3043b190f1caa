"""The cluster as it would be: without some nodes, with new nodes, without some pods.

excluded   the node is not there, nor are the pods on it
added      a node of given labels, room and taints; or one like another node, under a name of its own
           in a zone, its topology labels are those of the zone: what its nodes agree in, else the zone's name where
           another label has that, too; what is not known is left out. With the CSI drivers of the node it is like
without    some pods are gone, and with them the devices that they alone held
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.base import ObjectMeta, ResourceList
from podrules.api.model.node import CSINode, Node, NodeSpec, NodeStatus, Taint
from podrules.api.model.pod import Pod, PodReference
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.placement.binding import devices_freed
from podrules.scheduling.placement.drain import CORDON, cordoned_node

HOSTNAME: Final = "kubernetes.io/hostname"
_ZONE: Final = "topology.kubernetes.io/zone"
_OLD_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"


class NodeSpecification(Struct, frozen=True):
    """A node that does not exist yet."""

    name: str
    labels: Mapping[str, str] = {}
    allocatable: ResourceList = {}
    taints: tuple[Taint, ...] = ()
    like: str = ""
    """A node from which it takes labels, room, taints, images and CSI drivers, unless they are set here."""


def excluding_nodes(snapshot: ClusterSnapshot, names: Iterable[str]) -> ClusterSnapshot:
    """The cluster without these nodes and the pods on them.

    Raises:
        KeyError: a node is not there.
    """
    gone = frozenset(names)
    _check_present(snapshot, gone)
    left = replace(snapshot, nodes=tuple(node for node in snapshot.nodes if node.metadata.name not in gone))
    return _without(left, lambda pod: pod.spec.node_name in gone)


def cordoning_nodes(snapshot: ClusterSnapshot, names: Collection[str]) -> ClusterSnapshot:
    """The cluster with these nodes cordoned.

    Raises:
        KeyError: a node is not there.
    """
    _check_present(snapshot, names)
    nodes = (cordoned_node(node) if node.metadata.name in names else node for node in snapshot.nodes)
    return replace(snapshot, nodes=tuple(nodes))


def adding_nodes(snapshot: ClusterSnapshot, specifications: Iterable[NodeSpecification]) -> ClusterSnapshot:
    """The cluster with additional, empty nodes.

    Raises:
        KeyError: a node that another one is to be like is not there.
        ValueError: a node of that name is there.
    """
    known = {node.metadata.name: node for node in snapshot.nodes}
    drivers = {entry.metadata.name: entry for entry in snapshot.csi_nodes}
    for entry in specifications:
        if entry.name in known:
            raise ValueError(entry.name)
        like = known[entry.like] if entry.like else Node()
        there = drivers.get(entry.like)
        allocatable = {**like.status.allocatable, **entry.allocatable}
        taints = tuple(taint for taint in like.spec.taints if taint != CORDON)
        known[entry.name] = Node(
            metadata=ObjectMeta(name=entry.name, labels=_labels(entry, like, snapshot, there)),
            spec=NodeSpec(taints=entry.taints or taints),
            status=NodeStatus(capacity=allocatable, allocatable=allocatable, images=like.status.images),
        )
        if there is not None:
            drivers[entry.name] = replace(there, metadata=ObjectMeta(name=entry.name))
    return replace(snapshot, nodes=tuple(known.values()), csi_nodes=tuple(drivers.values()))


def without_pods(snapshot: ClusterSnapshot, pods: Iterable[PodReference]) -> ClusterSnapshot:
    """The cluster without some pods.

    Raises:
        KeyError: a pod is not there.
    """
    gone = {(pod.namespace, pod.name) for pod in pods}
    missing = gone - {(pod.metadata.namespace, pod.metadata.name) for pod in snapshot.pods}
    if missing:
        raise KeyError("/".join(min(missing)))
    return _without(snapshot, lambda pod: (pod.metadata.namespace, pod.metadata.name) in gone)


def _without(snapshot: ClusterSnapshot, goes: Callable[[Pod], bool]) -> ClusterSnapshot:
    gone = [pod for pod in snapshot.pods if goes(pod)]
    return devices_freed(replace(snapshot, pods=tuple(pod for pod in snapshot.pods if not goes(pod))), gone)


def _check_present(snapshot: ClusterSnapshot, names: Iterable[str]) -> None:
    known = {node.metadata.name for node in snapshot.nodes}
    for name in names:
        if name not in known:
            raise KeyError(name)


def _labels(entry: NodeSpecification, like: Node, snapshot: ClusterSnapshot, drivers: CSINode | None) -> dict[str, str]:
    """Those of a node like another, then those of its zone, then its own; what names the other names the new one."""
    names = {like.metadata.name, like.metadata.labels.get(HOSTNAME)} if entry.like else set()
    labels = {key: entry.name if value in names else value for key, value in like.metadata.labels.items()}
    zone = entry.labels.get(_ZONE)
    if zone is not None and zone != labels.get(_ZONE):
        of_drivers = (
            frozenset(key for driver in drivers.spec.drivers for key in driver.topology_keys) if drivers else ()
        )
        zoned = [node.metadata.labels for node in snapshot.nodes if _ZONE in node.metadata.labels]
        # Without a node that it is like, any shows which labels zones have.
        pattern = dict(labels) if entry.like else next(iter(sorted(zoned, key=lambda one: one[_ZONE] != zone)), {})
        for key, value in pattern.items():
            in_zone = key.startswith("topology.") or key in {_OLD_ZONE, *of_drivers} or value == pattern.get(_ZONE)
            if in_zone and value != entry.name:
                labels.pop(key, None)
                known = _in_zone(key, zone, pattern, zoned)
                labels |= {} if known is None else {key: known}
    return {**labels, HOSTNAME: entry.name, **entry.labels}


def _in_zone(key: str, zone: str, pattern: Mapping[str, str], zoned: Iterable[Mapping[str, str]]) -> str | None:
    """The value of a topology label in a zone, by a node of another zone; None: it is not known."""
    value, its_zone = pattern[key], pattern.get(_ZONE)
    there = {labels[key] for labels in zoned if labels[_ZONE] == zone and key in labels}
    if there:
        return there.pop() if len(there) == 1 else None
    if value == its_zone:
        return zone
    wider = key.endswith("region") or any(labels.get(key) == value for labels in zoned if labels[_ZONE] != its_zone)
    return value if wider else None
