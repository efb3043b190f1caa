"""The PodDisruptionBudgets that would block a drain, and the workloads without a budget.

    Overlaps       another budget also selects one of its pods: the API server never evicts that pod
    BlocksAlways   it requires as many healthy pods as it selects, and as their controllers want (`as_wanted`): no
                   eviction is allowed, even if all are healthy
    Stale          the API server has granted evictions since the controller counted, and grants no more until then
    Uncounted      the controller cannot count its pods: no eviction is allowed
    Unhealthy      it currently allows no disruption, and pods that are not Ready also count
    BlocksNow      it currently allows no disruption
    NotObserved    the controller has not observed its newest spec: evictions are rejected until then
    SelectsNothing it selects no pod: it protects nothing
    Allows         it allows that many evictions

Source: pkg/registry/core/pod/storage/eviction.go (checkAndDecrement) and pkg/controller/disruption/disruption.go
(updatePdbStatus) at v1.36.3, as in `podrules.workload.disruption`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.base import ObjectMeta
from podrules.api.model.instant import instant
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.api.model.workload import ReplicationController, Workload
from podrules.workload.disruption import (
    MAX_DISRUPTED,
    SelectingBudgets,
    budget_way,
    budgets_of,
    counts_pods,
    failed_sync,
    lets_unhealthy_go,
)
from podrules.workload.safety import Guarantee, owner_guarantee

UNREADY_FIRST: Final = "pods that are not Ready first; then "
"""The beginning of a remedy if waiting may help: until all pods are Ready, or more exist."""
_KEPT_ALIKE: Final = frozenset({Guarantee.AVAILABILITY_FIRST, Guarantee.AT_MOST_ONE})


class BudgetRisk(Enum):
    """The effect of a budget on a drain, the worst first."""

    OVERLAPS = "Overlaps"
    BLOCKS_ALWAYS = "BlocksAlways"
    STALE = "Stale"
    UNCOUNTED = "Uncounted"
    UNHEALTHY = "Unhealthy"
    BLOCKS_NOW = "BlocksNow"
    NOT_OBSERVED = "NotObserved"
    SELECTS_NOTHING = "SelectsNothing"
    ALLOWS = "Allows"


_RISKS: Final = tuple(BudgetRisk)
_BLOCKS_NOW: Final = frozenset({BudgetRisk.UNHEALTHY, BudgetRisk.BLOCKS_NOW})


class BudgetStanding(Struct, frozen=True, rename="camel"):
    """One budget."""

    namespace: str
    name: str
    pods: int
    """The number of unfinished pods that it selects."""
    healthy: int
    desired: int
    allowed: int
    risk: BudgetRisk
    unready: int = 0
    """The number of those pods that run, are not Ready, and cannot be evicted either."""
    way: str = ""
    """The remedy if it requires all pods; the uncounted change if its status is stale."""
    missing: int = 0
    """The number of missing pods that its controllers want, if it counts pods."""


class UnprotectedWorkload(Struct, frozen=True, rename="camel"):
    """A workload with several pods that no budget selects: a drain may evict all pods on its node at once."""

    namespace: str
    kind: str
    name: str
    pods: int


class BudgetCoverage(Struct, frozen=True, rename="camel"):
    """All budgets, and the workloads without one."""

    standings: tuple[BudgetStanding, ...]
    """The budgets, the worst first, then by name."""
    unprotected: tuple[UnprotectedWorkload, ...]
    """The workloads, the ones with most pods first."""


def budgets_at_stake(budgets: Sequence[PodDisruptionBudget], pods: Iterable[Pod]) -> BudgetCoverage:
    """Evaluate every budget with the pods that it selects."""
    counts, going, unready = (dict.fromkeys(map(_key, budgets), 0) for _ in range(3))
    overlapping: set[tuple[str, str]] = set()
    alone: dict[tuple[str, str, str], int] = {}
    own_budgets = SelectingBudgets(budgets)
    for pod in pods:
        if pod.finished:
            continue
        own = tuple(map(_key, own_budgets.of(pod)))
        for key in own:
            counts[key] += 1
            going[key] += _goes(pod)
            unready[key] += _is_unready(pod)
        if len(own) > 1:
            overlapping.update(own)
        owner = owner_guarantee(pod)
        if not own and owner.guarantee in _KEPT_ALIKE:
            workload = pod.metadata.namespace, owner.kind, owner.name
            alone[workload] = alone.get(workload, 0) + 1
    standings = (
        _standing(budget, counts[key], going[key], unready[key], overlaps=key in overlapping)
        for budget in budgets
        for key in [_key(budget)]
    )
    unprotected = (UnprotectedWorkload(*workload, count) for workload, count in alone.items() if count > 1)
    return BudgetCoverage(
        tuple(sorted(standings, key=lambda one: (_RISKS.index(one.risk), one.namespace, one.name))),
        tuple(sorted(unprotected, key=lambda one: (-one.pods, one.namespace, one.name))),
    )


def needs_all_counted(budget: PodDisruptionBudget) -> bool:
    """Whether a budget requires all existing pods: it counts these, but its controllers may want more."""
    status, counts = budget.status, counts_pods(budget) and budget.spec.min_available is not None
    return counts and status.desired_healthy >= status.expected_pods > 0 and not status.disruptions_allowed


def without_going(budgets: Sequence[PodDisruptionBudget], pods: Iterable[Pod]) -> list[PodDisruptionBudget]:
    """The budgets without expected pods that never become Ready."""
    going, selecting = dict.fromkeys(map(_key, budgets), 0), SelectingBudgets(filter(counts_pods, budgets))
    for pod in filter(_goes, pods):
        for budget in selecting.of(pod):
            going[_key(budget)] += 1
    return [
        replace(one, status=replace(one.status, expected_pods=max(min(1, expected), expected - going[_key(one)])))
        for one in budgets
        for expected in [one.status.expected_pods]
    ]


def as_wanted(
    budgets: Sequence[PodDisruptionBudget],
    makers: Iterable[Workload | ReplicationController],
    pods: Iterable[Pod],
) -> tuple[PodDisruptionBudget, ...]:
    """The budgets that require all pods that can become Ready, with the pods that controllers want.

    Args:
        budgets: The budgets.
        makers: Workloads without their own controller.
        pods: The known existing pods.
    """
    remaining = without_going(budgets, pods)
    wanted: dict[tuple[str, str], int] = {}
    selecting = SelectingBudgets(filter(needs_all_counted, remaining))
    for maker in makers:
        if maker.spec.template is not None and maker.spec.replicas:
            labels = maker.spec.template.metadata.labels
            made = Pod(metadata=ObjectMeta(namespace=maker.metadata.namespace, labels=labels))
            for budget in selecting.of(made):
                wanted[_key(budget)] = wanted.get(_key(budget), 0) + maker.spec.replicas
    return tuple(
        # If more remain than are wanted, the controllers of some of them, and so their replacements, are not known.
        replace(one, status=replace(one.status, expected_pods=made)) if made >= less.status.expected_pods else one
        for one, less in zip(budgets, remaining, strict=True)
        for made in [wanted.get(_key(one), 0)]
    )


def eviction_hold(pod: Pod, budgets: Sequence[PodDisruptionBudget]) -> tuple[BudgetRisk, str]:
    """Why an eviction was rejected, and the remedy if its budget requires all pods.

    The status of its budgets is used.
    """
    own = budgets_of(pod, budgets)
    if len(own) != 1:
        return BudgetRisk.OVERLAPS, ""
    (budget,), status = own, own[0].status
    if status.observed_generation < budget.metadata.generation:
        return BudgetRisk.NOT_OBSERVED, ""
    if stale := _stale(budget):
        return BudgetRisk.STALE, stale
    if _is_unready(pod) and not lets_unhealthy_go(budget):
        return BudgetRisk.UNHEALTHY, ""
    if _is_uncounted(budget):
        return BudgetRisk.UNCOUNTED, ""
    if status.desired_healthy >= status.expected_pods > 0:
        return BudgetRisk.BLOCKS_ALWAYS, _way(budget)
    return BudgetRisk.BLOCKS_NOW, ""


def _way(budget: PodDisruptionBudget, pods: int | None = None) -> str:
    spec, status = budget.spec, budget.status
    way = budget_way(spec.min_available, spec.max_unavailable, status.expected_pods or pods or 0, pods)
    short = status.current_healthy < (status.expected_pods if pods is None else pods)
    return f"{UNREADY_FIRST}{way}" if short else way


def _stale(budget: PodDisruptionBudget) -> str:
    """The change that the disruption controller has not counted yet, so that it allows none; empty: it has counted."""
    status = budget.status
    if status.disruptions_allowed < 0:
        return f"disruptionsAllowed is {status.disruptions_allowed}"
    if len(status.disrupted_pods) > MAX_DISRUPTED:
        return f"{len(status.disrupted_pods)} evictions were granted"
    # It allows the number above the desired one, if it expects any pod.
    counted = status.disruptions_allowed or status.current_healthy <= status.desired_healthy
    if counted or not status.expected_pods or failed_sync(budget):
        return ""
    granted = max(filter(None, map(instant, status.disrupted_pods.values())), default=None)
    if granted is None:
        return f"{status.current_healthy} pods are healthy of {status.desired_healthy} needed"
    return f"an eviction was granted at {granted:%Y-%m-%d %H:%M:%S} UTC"


def _is_uncounted(budget: PodDisruptionBudget) -> bool:
    """Whether counting failed, or no pod has a controller: then it allows none, even with enough healthy pods."""
    status = budget.status
    return failed_sync(budget) or (status.disruptions_allowed == 0 and status.current_healthy > status.desired_healthy)


def _is_unready(pod: Pod) -> bool:
    return pod.status.phase == "Running" and not pod.is_ready and pod.metadata.deletion_timestamp is None


def _goes(pod: Pod) -> bool:
    return pod.finished or pod.metadata.deletion_timestamp is not None


def _standing(budget: PodDisruptionBudget, pods: int, going: int, unready: int, *, overlaps: bool) -> BudgetStanding:
    status, stale = budget.status, _stale(budget)
    # A controller may replace the leaving pods.
    lasting = max(pods - going, min(pods, status.expected_pods))
    unready = 0 if lets_unhealthy_go(budget) else unready
    if overlaps:
        risk = BudgetRisk.OVERLAPS
    elif not pods:
        risk = BudgetRisk.SELECTS_NOTHING
    elif status.observed_generation < budget.metadata.generation:
        risk = BudgetRisk.NOT_OBSERVED
    elif stale:
        risk = BudgetRisk.STALE
    elif status.disruptions_allowed > 0:
        risk = BudgetRisk.ALLOWS
    elif _is_uncounted(budget):
        risk = BudgetRisk.UNCOUNTED
    elif status.desired_healthy >= max(pods - going, status.expected_pods):
        risk = BudgetRisk.BLOCKS_ALWAYS
    else:
        risk = BudgetRisk.UNHEALTHY if unready else BudgetRisk.BLOCKS_NOW
    return BudgetStanding(
        budget.metadata.namespace,
        budget.metadata.name,
        pods,
        status.current_healthy,
        status.desired_healthy,
        status.disruptions_allowed,
        risk,
        unready,
        _way(budget, lasting) if risk is BudgetRisk.BLOCKS_ALWAYS else stale if risk is BudgetRisk.STALE else "",
        max(0, status.expected_pods - pods) if risk in _BLOCKS_NOW and counts_pods(budget) else 0,
    )


def _key(budget: PodDisruptionBudget) -> tuple[str, str]:
    return budget.metadata.namespace, budget.metadata.name
