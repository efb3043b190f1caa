"""The cluster with nodes drained as `kubectl drain` does: all are cordoned, then drained one after the other.

    rounds            a node's pods are evicted as far as budgets let them, the others once replacements are Ready
    next node         it comes when the pods of the one before are gone (`drain_rounds`)
    left alone        static pods, and pods of a DaemonSet that have not finished
    flags             kubectl evicts no pod before it has the flags that the node's pods need: --ignore-daemonsets,
                      --delete-emptydir-data for a pod that has not finished and has an emptyDir, --force for one that
                      has not finished and has no controller
    ended             finished pods are removed at once; a StatefulSet makes another of the name, others have already
    marked for deletion       the drain waits for them; their controllers have already replaced all but a StatefulSet's.
                      A pod that is a minute overdue keeps the drain from ending, and a StatefulSet from replacing it
    refused           a pod stays if its PodDisruptionBudget forbids the eviction (`podrules.workload.disruption`)
    node is silent    its processes are not stopped: an evicted pod stays Terminating, a drain waits for it without end,
                      and a StatefulSet makes no other before it is gone. On an out-of-service node, pod garbage
                      collection removes them

Source: k8s.io/kubectl/pkg/drain/{drain,filters}.go and pkg/cmd/drain/drain.go (RunDrain) at v0.36.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.instant import later
from podrules.api.model.node import Node, Taint
from podrules.api.model.pod import Pod, PodReference
from podrules.api.model.policy import PodDisruptionBudget
from podrules.ending.deleted_pod import PATIENCE, grace_of, holders, pod_ending, stop_plan
from podrules.node.reachability import NodeReach, Reach
from podrules.pod.priority import is_mirror_pod
from podrules.scheduling.placement.planned import DrainFlag, UnmovedPod
from podrules.workload.budget_risk import BudgetRisk, eviction_hold
from podrules.workload.disruption import Evictions, budgets_of
from podrules.workload.safety import Guarantee, owner_guarantee

CORDON: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_EPOCH: Final = "1970-01-01T00:00:00Z"
"""When a pod is marked for deletion does not matter: the scheduler asks whether it was."""
_LONG_GRACE: Final = 300
"""Grace in seconds up to which a drain's wait needs no explanation."""
_FLAGS: Final = ("--force", "--delete-emptydir-data", "--ignore-daemonsets")


class Drain(Struct, frozen=True):
    """Nodes that are drained one after the other."""

    nodes: tuple[NodeReach, ...]
    one_by_one: bool = False
    """Whether each is back before the next one is cordoned, as in an upgrade; else all are cordoned first."""
    at: datetime | None = None
    """The present."""

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes."""
        return tuple(node.name for node in self.nodes)


class DrainPlan(Struct, frozen=True):
    """What a drain does with the pods of a node."""

    node: str
    moved: tuple[Pod, ...]
    """Pods that a controller replaces."""
    unmoved: tuple[UnmovedPod, ...]
    left: dict[str, Pod | None]
    """By UID, the pods that are marked for deletion, in the state in which they stay; None: the pod is removed."""
    flags: tuple[DrainFlag, ...]
    """The flags without which kubectl evicts no pod."""
    kept: dict[str, tuple[str, ...]]
    """Pods that are evicted, as ``namespace/name``, and the finalizers that keep their objects: the drain waits."""
    slow: dict[str, int]
    """Pods that are evicted and may take minutes to stop, as ``namespace/name``, and their grace in seconds."""

    @property
    def stuck(self) -> int:
        """How many pods stay Terminating, because their node does not answer: the drain does not end."""
        return sum(pod is not None for pod in self.left.values())


def drain_plan(
    pods: Iterable[Pod],
    budgets: Sequence[PodDisruptionBudget],
    name: str,
    reach: NodeReach,
    at: datetime | None = None,
) -> DrainPlan:
    """Plan the drain of a node of the cluster; `reach`: whether it answers; `at`: the present."""
    pods = tuple(pods)
    own = [pod for pod in pods if pod.spec.node_name == name]
    silent = is_silent(reach)
    evictions = Evictions(budgets)
    moved: list[Pod] = []
    unmoved: list[UnmovedPod] = []
    left: dict[str, Pod | None] = {}
    kept: dict[str, tuple[str, ...]] = {}
    slow: dict[str, int] = {}
    needs: Counter[str] = Counter()
    for pod in own:
        meta, ending, over = pod.metadata, pod_ending(pod), None
        if at is not None and ending.deleted_at is not None and not reach.reach.quiet:
            # A pod that was deleted more than a minute ago should have been gone.
            due = ending.ends_by or later(ending.deleted_at, ending.grace.longest)
            over = due if at > later(due, PATIENCE.total_seconds()) else None
        reason, detail = _why_it_stays(pod, evictions, over, name, silent=silent)
        if reason:
            hold, way = eviction_hold(pod, budgets) if reason == HELD else (None, "")
            reference = PodReference(pod.metadata.namespace, pod.metadata.name)
            lacks, unready = _waited_for(pod, pods, budgets) if hold is BudgetRisk.BLOCKS_NOW else (None, None)
            late_since = over if reason == _OVERDUE else None
            unmoved.append(UnmovedPod(reference, reason, detail, hold, lacks, late_since, name, way, unready))
        else:
            moved.append(pod)
        if reason not in _STAYING:
            terminating = replace(pod, metadata=replace(meta, deletion_timestamp=meta.deletion_timestamp or _EPOCH))
            left[meta.uid] = terminating if silent and not _goes_at_once(pod) else None
            if not silent and (finalizers := holders(pod.metadata.finalizers)):
                kept[f"{pod.metadata.namespace}/{pod.metadata.name}"] = finalizers
            grace = grace_of(pod).longest
            if grace > _LONG_GRACE and not (silent or pod.metadata.deletion_timestamp or _goes_at_once(pod)):
                slow[f"{pod.metadata.namespace}/{pod.metadata.name}"] = grace
        # kubectl's later filters ignore static pods and pods of a DaemonSet.
        if not (pod.finished or is_mirror_pod(pod)):
            of_daemon = meta.controller is not None and meta.controller.kind == "DaemonSet"
            needs["--ignore-daemonsets"] += of_daemon
            needs["--delete-emptydir-data"] += not of_daemon and any(
                one.empty_dir is not None for one in pod.spec.volumes
            )
            needs["--force"] += meta.controller is None
    flags = tuple(DrainFlag(flag, needs[flag]) for flag in _FLAGS if needs[flag])
    return DrainPlan(name, tuple(moved), tuple(unmoved), left, flags, kept, slow)


def is_silent(node: NodeReach) -> bool:
    """Whether evicted pods stay Terminating, because their node does not answer."""
    return node.reach in {Reach.SILENT, Reach.MISSED_HEARTBEATS}


HELD: Final = "PodDisruptionBudget"
"""The reason for a pod that stays because a budget does not allow its eviction."""
_OVERDUE: Final = "Overdue"
_STAYING: Final = frozenset({"DaemonSet", "StaticPod", HELD, _OVERDUE})


def _waited_for(
    pod: Pod, pods: Iterable[Pod], budgets: Sequence[PodDisruptionBudget]
) -> tuple[PodReference | None, tuple[PodReference, ...] | None]:
    """A pod of the same budget for which the scheduler finds no node, and those that are not Ready and may get so.

    The latter is None if those that are not Ready are being deleted.
    """
    own, space = budgets_of(pod, budgets), pod.metadata.namespace
    same = [one for one in pods if one.metadata.namespace == space and budgets_of(one, own)]
    unplaced: PodReference | None = None
    for one in same:
        scheduled = one.status.condition("PodScheduled")
        if scheduled is not None and (scheduled.status, scheduled.reason) == ("False", "Unschedulable"):
            unplaced = PodReference(space, one.metadata.name)
            break
    unready = [one.metadata for one in same if not (one.is_ready or one.finished)]
    stay = tuple(PodReference(space, one.name) for one in unready if one.deletion_timestamp is None)
    return unplaced, stay if stay or not unready else None


def _why_it_stays(pod: Pod, evictions: Evictions, over: datetime | None, node: str, *, silent: bool) -> tuple[str, str]:
    """Why a pod is not evicted, or not recreated elsewhere; an empty reason: its controller recreates it.

    An overdue pod should have been gone at `over`; its node may be `silent`.
    """
    controller = pod.metadata.controller
    if is_mirror_pod(pod):
        return "StaticPod", "the kubelet runs it from a file"
    if controller is not None and controller.kind == "DaemonSet" and not pod.finished:
        return "DaemonSet", controller.name
    if (refused := evictions.refused(pod)) is not None:
        return HELD, refused
    if over is not None:
        return _OVERDUE, ", ".join(pod.metadata.finalizers)
    at_most_one = owner_guarantee(pod).guarantee is Guarantee.AT_MOST_ONE
    if at_most_one and silent and not _goes_at_once(pod):
        return "NodeSilent", f"its StatefulSet makes no other before {node} answers, or is fenced"
    if at_most_one:
        return "", ""
    if pod.finished:
        return "Finished", "a drain removes it"
    if controller is None:
        return "NoController", "no controller recreates it; kubectl drain asks for --force"
    if pod.metadata.deletion_timestamp is not None:
        return "Terminating", "its controller did not wait to make another"
    return "", ""


def _goes_at_once(pod: Pod) -> bool:
    """Whether the eviction deletes the object at once, even if its node does not answer."""
    return stop_plan(pod).object_removed_at_once


def cordoned_node(node: Node) -> Node:
    """The node, unschedulable and with the cordon's taint."""
    taints = tuple(taint for taint in node.spec.taints if taint.key != CORDON.key)
    return replace(node, spec=replace(node.spec, unschedulable=True, taints=(*taints, CORDON)))
