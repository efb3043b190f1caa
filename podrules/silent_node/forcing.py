"""Whether a pod can be force deleted: by its owner's guarantee, its node's state and its volumes.

    no process        it is not yet on a node, or has ended: safe
    idle              its kubelet responds and reports that none of its containers runs
    second writer     nothing prevents one, at once or as soon as the volume is detached

Every answer about a force deletion follows these rules: this is the only caller of `force_safety`.

Source: as in `podrules.workload.safety`, `podrules.ending.volumes` and `podrules.ending.attachment`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podrules.ending.attachment import detached_after
from podrules.ending.deleted_pod import StopPlan
from podrules.ending.volumes import WriterGuard, WriterLock
from podrules.node.reachability import NodeReach, Reach
from podrules.pod.termination import GraceSource
from podrules.workload.safety import ForceSafety, Guarantee, force_safety

NO_PROCESS: Final = frozenset({GraceSource.NOT_SCHEDULED, GraceSource.FINISHED})
"""The grace sources of pods without processes, even if their node does not respond."""


def pod_force_safety(
    guarantee: Guarantee, plan: StopPlan, node: NodeReach | None, guards: Iterable[WriterGuard]
) -> ForceSafety:
    """Whether a force deletion of a pod is safe.

    Args:
        guarantee: The guarantee of the pod's owner.
        plan: The effect of a DELETE, with any grace period.
        node: Whether its node responds; None: not known, or it has none.
        guards: The guards of its volumes.
    """
    reach = _reach(node)
    return _safety(guarantee, plan, node, unprotected=any(lets_second_writer(guard, reach) for guard in guards))


def force_safety_whatever_volumes(guarantee: Guarantee, plan: StopPlan, node: NodeReach | None) -> ForceSafety | None:
    """The same for a pod with volumes that were not read; None: they decide it."""
    found = {_safety(guarantee, plan, node, unprotected=unprotected) for unprotected in (False, True)}
    return found.pop() if len(found) == 1 else None


def _safety(guarantee: Guarantee, plan: StopPlan, node: NodeReach | None, *, unprotected: bool) -> ForceSafety:
    if plan.grace.source in NO_PROCESS:
        return ForceSafety.SAFE
    reach = _reach(node)
    known = reach.quiet or not (node is None or node.provider or reach is Reach.UNKNOWN)
    idle = not plan.static and not plan.containers
    return force_safety(guarantee, answers=not reach.quiet if known else None, idle=idle, unprotected=unprotected)


def has_another(guarantee: Guarantee, reach: Reach, *, deleted: bool) -> bool:
    """Whether the owner has already replaced a pod: it does not count pods that are being deleted.

    If the node responds, a rollout or a scale-down may have deleted it: then nothing replaces it.

    Args:
        guarantee: The guarantee of the pod's owner.
        reach: Whether the pod's node responds.
        deleted: Whether it was marked for deletion.

    Source: pkg/controller/controller_utils.go (FilterActivePods) at v1.36.3.
    """
    return deleted and reach.quiet and guarantee is Guarantee.AVAILABILITY_FIRST


def _reach(node: NodeReach | None) -> Reach:
    return Reach.UNKNOWN if node is None else node.reach


def lets_second_writer(guard: WriterGuard, reach: Reach) -> bool:
    """Whether nothing prevents a second writer to a volume, now or after its detach while the first may still run.

    Args:
        guard: The guard of the volume.
        reach: Whether the node of the pod that uses it responds.
    """
    if guard.lock.of_a_node:
        # Only the modes of a claim show that it is for one writer; on a node that does not respond no pod starts.
        return bool(guard.access_modes) and not reach.quiet
    return guard.lock is WriterLock.NONE or (guard.lock is WriterLock.CONTROLLER and detached_after(reach) is not None)
