"""Declaring a node out of service: when it is allowed, with which taint, and what remains to be removed.

    detect   Ready is Unknown, and the Lease has expired
    decide   a user has to know that the machine is off: the API does not distinguish it from one that is cut off
    fence    taint node.kubernetes.io/out-of-service=nodeshutdown:NoExecute. Pods that do not tolerate it are deleted,
             and removed by pod garbage collection while the node is not Ready; volumes are detached without waiting
    unfence  the taint is removed once the machine runs again without the old processes

Pods that tolerate all taints of the node without a limit stay; a pod that another taint deletes, such as unreachable
after its tolerationSeconds, is also removed by garbage collection. The recorded time of a taint does not matter.

A node that responds is never fenced: its pods would be deleted, without waiting for those that stop slowly.

Source: pkg/controller/podgc/gc_controller.go (gcTerminating), pkg/controller/tainteviction,
pkg/controller/volume/attachdetach/reconciler/reconciler.go at v1.36.3; kubernetes.io/docs "Non-graceful node shutdown";
KEP-2268.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.node import Node, Taint
from podrules.api.model.pod import Pod
from podrules.api.model.storage import PersistentVolume, VolumeAttachment
from podrules.ending.attachment import attached_volumes
from podrules.ending.deleted_pod import pod_ending
from podrules.node.lost_node import goes
from podrules.node.reachability import OUT_OF_SERVICE, Reach, node_reach
from podrules.silent_node.partitions import NodeDown, hangs_on_its_node


class FenceState(Enum):
    """Whether a node can be fenced."""

    POSSIBLE = "Possible"
    FENCED = "Fenced"
    """It has the taint and does not respond: only waiting remains."""
    ANSWERS = "Answers"
    TOO_EARLY = "TooEarly"
    """Heartbeats are missing, but Ready is not Unknown yet: garbage collection would not act."""
    BACK = "Back"
    """It has the taint but responds again."""


class FenceRemainder(Struct, frozen=True, rename="camel"):
    """The pods and volumes that remain to be removed from a fenced node, and those that stay."""

    pods: tuple[str, ...]
    """``namespace/name``."""
    attachments: tuple[str, ...]
    """The volumes, with names as in `HeldAttachment.persistent_volume`."""
    staying: tuple[str, ...]
    """Pods that tolerate the taint, and the node's others, without a limit: ``namespace/name``."""
    kept: tuple[str, ...]
    """Those of `pods` that finalizers keep after their end."""

    @property
    def nothing(self) -> bool:
        """Whether neither a pod nor a volume remains to be removed."""
        return not (self.pods or self.attachments)


def fence_state(node: Node, *, renewed: datetime | None, now: datetime) -> FenceState:
    """Whether a node can be declared out of service.

    Args:
        node: The node.
        renewed: ``spec.renewTime`` of its Lease, if it has one.
        now: The current time.
    """
    bare = replace(node, spec=replace(node.spec, taints=without_taint(node)))
    fenced = bare.spec.taints != node.spec.taints
    match node_reach(node.metadata.name, bare, renewed=renewed, now=now).reach:
        case Reach.ANSWERS | Reach.RETURNING:
            return FenceState.BACK if fenced else FenceState.ANSWERS
        case Reach.MISSED_HEARTBEATS if not fenced:
            return FenceState.TOO_EARLY
    return FenceState.FENCED if fenced else FenceState.POSSIBLE


def without_taint(node: Node) -> tuple[Taint, ...]:
    """The node's taints without those that declare it out of service."""
    return tuple(taint for taint in node.spec.taints if taint.key != OUT_OF_SERVICE)


def left_to_go(
    node: Node,
    pods: Iterable[Pod],
    attachments: Iterable[VolumeAttachment],
    kept: Collection[str],
    volumes: Iterable[PersistentVolume] = (),
) -> FenceRemainder:
    """The pods and volumes that remain to be removed from an out-of-service node.

    Args:
        node: The node, with or without the taint.
        pods: The pods on it.
        attachments: The VolumeAttachments of all nodes.
        kept: The volumes of the pods that stay.
        volumes: The known PersistentVolumes.
    """
    there = [(goes(pod, node.spec.taints), pod) for pod in pods if hangs_on_its_node(pod)]
    held = attached_volumes(node.metadata.name, node, attachments, volumes)
    return FenceRemainder(
        pods=tuple(sorted(_name(pod) for going, pod in there if going)),
        attachments=tuple(sorted(held.keys() - set(kept))),
        staying=tuple(sorted(_name(pod) for going, pod in there if not going)),
        kept=tuple(sorted(_name(pod) for going, pod in there if going and pod_ending(pod).holders)),
    )


def kept_volumes(down: NodeDown, node: Node, pods: Iterable[Pod]) -> frozenset[str]:
    """The volumes that stay attached because their pods stay."""
    staying = {_name(pod) for pod in pods if hangs_on_its_node(pod) and not goes(pod, node.spec.taints)}
    return frozenset(entry.persistent_volume for entry in down.attachments if entry.used_by in staying)


def _name(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
