"""The cluster as it would be: without some nodes, with new nodes, without some pods.

excluded   the node is not there, nor are the pods on it
added      a node of given labels, room and taints; or one like another node, under a name of its own
without    some pods are gone, and with them the devices that they alone held
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.model.base import ObjectMeta, ResourceList
from podrules.model.node import Node, NodeSpec, NodeStatus, Taint
from podrules.model.pod import Pod
from podrules.model.pod_reference import PodReference
from podrules.model.snapshot import ClusterSnapshot
from podrules.placement.devices import devices_freed
from podrules.placement.drain import CORDON

__all__ = ["NodeSpecification", "adding_nodes", "excluding_nodes", "without_pods"]

HOSTNAME: Final = "kubernetes.io/hostname"


class NodeSpecification(Struct, frozen=True):
    """A node that is not there yet."""

    name: str
    labels: Mapping[str, str] = {}
    allocatable: ResourceList = {}
    taints: tuple[Taint, ...] = ()
    like: str = ""
    """A node whose labels, room, taints and images it shares, where nothing else is said."""


def excluding_nodes(snapshot: ClusterSnapshot, names: Iterable[str]) -> ClusterSnapshot:
    """The cluster without these nodes and the pods on them.

    Raises:
        KeyError: a node is not there.
    """
    gone = frozenset(names)
    _check_present(snapshot, gone)
    left = replace(snapshot, nodes=tuple(node for node in snapshot.nodes if node.metadata.name not in gone))
    return _without(left, lambda pod: pod.spec.node_name in gone)


def adding_nodes(snapshot: ClusterSnapshot, specifications: Iterable[NodeSpecification]) -> ClusterSnapshot:
    """The cluster with more nodes, on which nothing runs.

    Raises:
        KeyError: a node that another one is to be like is not there.
        ValueError: a node of that name is there.
    """
    known = {node.metadata.name: node for node in snapshot.nodes}
    for entry in specifications:
        if entry.name in known:
            raise ValueError(entry.name)
        known[entry.name] = _node(entry, known[entry.like] if entry.like else Node())
    return replace(snapshot, nodes=tuple(known.values()))


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


def _node(entry: NodeSpecification, like: Node) -> Node:
    labels = {**like.metadata.labels, HOSTNAME: entry.name, **entry.labels}
    allocatable = {**like.status.allocatable, **entry.allocatable}
    taints = tuple(taint for taint in like.spec.taints if taint != CORDON)
    return Node(
        metadata=ObjectMeta(name=entry.name, labels=labels),
        spec=NodeSpec(taints=entry.taints or taints),
        status=NodeStatus(capacity=allocatable, allocatable=allocatable, images=like.status.images),
    )
