"""What PodDisruptionBudgets let go of pods to come, once all that are placed are Ready.

    a manifest's pods   as many as it asks for; those that the workload has already are gone by then
    other pods          of the cluster, which a budget selects beside them: by number they count as they are; what their
                        controllers want is not known here

Left out: what an autoscaler may add, workloads that make no pods for now, and more pods of what the cluster has.

Source: as of `podrules.budget_room`; pkg/registry/core/pod/storage/eviction.go (Create) for pods of two budgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from podrules.budget_room import BudgetRoom, CoveredPods, budget_room
from podrules.disruption import budgets_of
from podrules.model.pod import Pod
from podrules.model.policy import PodDisruptionBudget
from podrules.placement.planned import PlannedBudget, PlannedSpec

__all__ = ["BudgetedPods", "budgeted", "budgeted_spec", "planned_budgets"]

_KINDS: Final = {
    "pod": "",
    "deployment": "Deployment",
    "replicaset": "ReplicaSet",
    "statefulset": "StatefulSet",
    "replicationcontroller": "ReplicationController",
    "daemonset": "DaemonSet",
    "job": "Job",
    "cronjob": "CronJob",
}


class BudgetedPods(Struct, frozen=True):
    """Pods to come, with what tells which budgets select them."""

    name: str
    """``deployment/web``."""
    pod: Pod
    """One of them."""
    covered: CoveredPods
    """All of them, as far as they have a place; of a DaemonSet with those that stay."""
    there: Sequence[Pod] = ()
    """Those that the workload has now."""


def planned_budgets(
    coming: Sequence[BudgetedPods], budgets: Sequence[PodDisruptionBudget], pods: Sequence[Pod]
) -> tuple[PlannedBudget, ...]:
    """The budgets that select some of the pods to come.

    Args:
        coming: The pods to come.
        budgets: Of the cluster, as the files change them.
        pods: Of the cluster.
    """
    of_each = [budgets_of(one.pod, budgets) for one in coming]
    chosen = [budget for budget in budgets if any(budget in own for own in of_each)]
    return tuple(
        _planned(budget, [one for one, own in zip(coming, of_each, strict=True) if budget in own], of_each, pods)
        for budget in chosen
    )


def budgeted(name: str, pod: Pod, wanted: int) -> BudgetedPods:
    """Pods of which nobody asks where they go: all become Ready."""
    return BudgetedPods(name, pod, CoveredPods(_kind(name), wanted, wanted, wanted))


def budgeted_spec(planned: PlannedSpec, pod: Pod, there: Sequence[Pod]) -> BudgetedPods | None:
    """The pods of a manifest's spec; None: for now none are made, or the spec only adds to pods that are there.

    Args:
        planned: As it is placed.
        pod: Its next pod.
        there: Those that it has now.
    """
    if planned.origin != "manifest" or planned.suspended or planned.wanted == 0:
        return None
    return BudgetedPods(planned.name, pod, _covered(planned, there), there)


def _planned(
    budget: PodDisruptionBudget,
    coming: Sequence[BudgetedPods],
    of_each: Iterable[Sequence[PodDisruptionBudget]],
    pods: Sequence[Pod],
) -> PlannedBudget:
    own = {pod.metadata.place for one in coming for pod in one.there}
    others = [pod for pod in pods if pod.metadata.place not in own and budgets_of(pod, (budget,))]
    covered = [one.covered for one in coming] + [_as_they_are(pod) for pod in others]
    counts_pods = isinstance(budget.spec.min_available, int) and budget.spec.max_unavailable is None
    room: BudgetRoom | None = budget_room(budget, covered)
    if others and not counts_pods and not (room and room.failure):
        room = None
    beside = {other.metadata.name for chosen in of_each if budget in chosen for other in chosen if other is not budget}
    return PlannedBudget(
        namespace=budget.metadata.namespace,
        name=budget.metadata.name,
        min_available=budget.spec.min_available,
        max_unavailable=budget.spec.max_unavailable,
        specs=tuple(one.name for one in coming),
        others=len(others),
        room=room,
        beside=tuple(sorted(beside)),
    )


def _covered(planned: PlannedSpec, there: Sequence[Pod]) -> CoveredPods:
    """The pods of a spec, once those that are placed are Ready."""
    kind = _kind(planned.name)
    if planned.daemon is not None:
        kept = [pod for pod in there if pod.spec.node_name in planned.daemon.kept and pod.is_ready]
        return CoveredPods(kind, planned.daemon.eligible, planned.placed + len(kept), planned.daemon.eligible)
    wanted = planned.placed if planned.wanted is None else planned.wanted
    made = wanted if planned.quota is None else min(wanted, planned.quota.pods)
    if planned.holds_back:
        made = planned.placed + 1
    return CoveredPods(kind, made, planned.placed, wanted)


def _kind(name: str) -> str:
    return _KINDS[name.partition("/")[0]]


def _as_they_are(pod: Pod) -> CoveredPods:
    """A pod of the cluster; what its controller wants is not known."""
    owner = pod.metadata.controller
    healthy = pod.is_ready and pod.metadata.deletion_timestamp is None
    return CoveredPods(owner.kind if owner else "", 1, int(healthy), 0)
