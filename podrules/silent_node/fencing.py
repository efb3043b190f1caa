"""Declaring a node out of service: when that may be done, with what taint, and what is left to go.

    detect   Ready is Unknown, and the Lease has run out
    decide   somebody has to know that the machine is off: nothing in the API can tell it from one that is cut off
    fence    taint node.kubernetes.io/out-of-service=nodeshutdown:NoExecute. Pods that do not tolerate it are deleted,
             and removed by pod garbage collection while the node is not Ready; volumes are detached without waiting
    unfence  the taint is removed, once the machine is up with nothing of the old processes on it

Pods that tolerate all taints of the node without end stay; one that another taint deletes, as unreachable after its
tolerationSeconds, is garbage collection's as well. Whether anybody noted when a taint was set is of no matter.

A node that answers is never fenced: its pods would be asked to leave, and those that stop slowly would not be waited
for.

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
from podrules.node.pod_gc import goes
from podrules.node.reachability import OUT_OF_SERVICE, Reach, node_reach
from podrules.silent_node.partitions import NodeDown, hangs_on_its_node

__all__ = ["FenceState", "Left", "fence_state", "kept_volumes", "left_to_go", "without_taint"]


class FenceState(Enum):
    """Whether a node may be fenced."""

    POSSIBLE = "Possible"
    FENCED = "Fenced"
    """It has the taint, and does not answer: what is left to do is to wait."""
    ANSWERS = "Answers"
    TOO_EARLY = "TooEarly"
    """Heartbeats are missing, but Ready is not Unknown yet: garbage collection would not act."""
    BACK = "Back"
    """It has the taint, and answers again."""


class Left(Struct, frozen=True, rename="camel"):
    """What has still to go from a fenced node, and what will stay."""

    pods: tuple[str, ...]
    """``namespace/name``."""
    attachments: tuple[str, ...]
    """Volumes, as `HeldAttachment.persistent_volume` names them."""
    staying: tuple[str, ...]
    """Pods that tolerate the taint, and the node's others, without end: ``namespace/name``."""
    kept: tuple[str, ...]
    """Those of `pods` whose objects finalizers keep after they ended."""

    @property
    def nothing(self) -> bool:
        """Whether neither a pod nor a volume has still to go."""
        return not (self.pods or self.attachments)


def fence_state(node: Node, *, renewed: datetime | None, now: datetime) -> FenceState:
    """Whether a node may be declared out of service.

    Args:
        node: The node.
        renewed: ``spec.renewTime`` of its Lease, if it has one.
        now: The present.
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
) -> Left:
    """What has still to go from a node that is declared out of service.

    Args:
        node: It, with the taint or without.
        pods: Those on it.
        attachments: Of all nodes.
        kept: Volumes of the pods that stay.
        volumes: The PersistentVolumes that are known.
    """
    there = [(goes(pod, node.spec.taints), pod) for pod in pods if hangs_on_its_node(pod)]
    held = attached_volumes(node.metadata.name, node, attachments, volumes)
    return Left(
        pods=tuple(sorted(_name(pod) for going, pod in there if going)),
        attachments=tuple(sorted(held.keys() - set(kept))),
        staying=tuple(sorted(_name(pod) for going, pod in there if not going)),
        kept=tuple(sorted(_name(pod) for going, pod in there if going and pod_ending(pod).holders)),
    )


def kept_volumes(down: NodeDown, node: Node, pods: Iterable[Pod]) -> frozenset[str]:
    """The volumes that stay attached, for their pods stay."""
    staying = {_name(pod) for pod in pods if hangs_on_its_node(pod) and not goes(pod, node.spec.taints)}
    return frozenset(entry.persistent_volume for entry in down.attachments if entry.used_by in staying)


def _name(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
