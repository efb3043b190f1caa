"""Whether the API server would evict a pod: its PodDisruptionBudgets, for one pod after the other.

    skipped        budgets do not apply to a pod that is Pending, has finished or is being deleted
    several        a pod that two budgets select is never evicted
    drain          kubectl retries only after status 429; else it fails, and continues with the next node
    unhealthy      a pod that is not Ready is always evicted with policy AlwaysAllow, or while the desired number of
                   pods is healthy
    healthy        uses one of disruptionsAllowed, or the eviction is rejected

Source: pkg/registry/core/pod/storage/eviction.go (Create, checkAndDecrement) at v1.36.3;
k8s.io/kubectl/pkg/drain/drain.go (evictPods) and pkg/cmd/drain/drain.go (RunDrain) at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.controllers import percentage, scaled
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.api.model.selectors import Selector, SelectorError

SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_NEGATIVE = "pdb disruptions allowed is negative"
MAX_DISRUPTED = 2000
_TOO_MANY = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
_SYNC_FAILED = "SyncFailed"


class Evictions:
    """A sequence of eviction requests before any controller reacts."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        """Start with the disruptions that the budgets currently allow."""
        self._budgets = tuple(budgets)
        self._allowed = {_key(budget): budget.status.disruptions_allowed for budget in self._budgets}

    def refused(self, pod: Pod) -> str | None:
        """Why a pod is not evicted, in the API server's words; None: it is, and its budget allows one less."""
        if pod.finished or pod.status.phase == "Pending" or pod.metadata.deletion_timestamp is not None:
            return None
        own = budgets_of(pod, self._budgets)
        if len(own) > 1:
            return SEVERAL
        budget = next((one for one in own if pod.is_ready or not lets_unhealthy_go(one)), None)
        if budget is None:
            return None
        # As checkAndDecrement uses one disruption, or says why none is allowed.
        name, status, left = budget.metadata.name, budget.status, self._allowed[_key(budget)]
        if status.observed_generation < budget.metadata.generation:
            return f"The disruption budget {name} is still being processed by the server."
        if left < 0:
            return _NEGATIVE
        if len(status.disrupted_pods) > MAX_DISRUPTED:
            return _TOO_MANY
        if left == 0:
            return _why_none(budget)
        self._allowed[_key(budget)] = left - 1
        return None


def fails_drain(refused: str) -> bool:
    """Whether kubectl drain does not retry after a rejection with these words, and fails."""
    return refused in {SEVERAL, _NEGATIVE, _TOO_MANY}


class SelectingBudgets:
    """The budgets that select a pod, computed once for pods with the same labels.

    A budget with an invalid selector selects none (getPodDisruptionBudgets).
    """

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        """Read the selectors."""
        self._by_namespace: dict[str, list[tuple[PodDisruptionBudget, Selector]]] = {}
        self._known: dict[tuple[str, frozenset[tuple[str, str]]], tuple[PodDisruptionBudget, ...]] = {}
        for budget in budgets:
            if budget.spec.selector is not None:
                with suppress(SelectorError):
                    selector = Selector.from_label_selector(budget.spec.selector)
                    self._by_namespace.setdefault(budget.metadata.namespace, []).append((budget, selector))

    def of(self, pod: Pod) -> tuple[PodDisruptionBudget, ...]:
        """The budgets that select a pod, in their order."""
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        near = self._by_namespace.get(namespace)
        if near is None:
            return ()
        key = namespace, frozenset(labels.items())
        if key not in self._known:
            self._known[key] = tuple(budget for budget, selector in near if selector.matches(labels))
        return self._known[key]


def budgets_of(pod: Pod, budgets: Iterable[PodDisruptionBudget]) -> Sequence[PodDisruptionBudget]:
    """The budgets that select a pod, in their order."""
    return SelectingBudgets(budget for budget in budgets if budget.metadata.namespace == pod.metadata.namespace).of(pod)


def recounted(
    budgets: Sequence[PodDisruptionBudget], *, gone: Iterable[Pod] = (), came: Iterable[Pod] = ()
) -> tuple[PodDisruptionBudget, ...]:
    """The budgets after the disruption controller has counted again: some pods are gone and others are Ready.

    Pods without a controller are not replaced: a budget that counts pods then expects fewer.
    """
    selecting, changes = SelectingBudgets(budgets), dict.fromkeys(map(_key, budgets), 0)
    lost = dict(changes)
    for pods, by in ((gone, -1), (came, 1)):
        for pod in pods:
            for budget in selecting.of(pod):
                changes[_key(budget)] += by if pod.is_ready else 0
                expects_pods = budget.spec.min_available is not None and counts_pods(budget)
                lost[_key(budget)] += by < 0 and pod.metadata.controller is None and expects_pods
    counted: list[PodDisruptionBudget] = []
    for budget in budgets:
        status, more = budget.status, changes[_key(budget)]
        expected = max(status.expected_pods - lost[_key(budget)], 0)
        healthy, allowed = status.current_healthy + more, max(status.disruptions_allowed + more, 0)
        if more > 0 and expected:
            # The number may be below the desired one, for example after a preemption that violates the budget.
            allowed = min(allowed, max(healthy - status.desired_healthy, 0))
        now = replace(status, current_healthy=max(healthy, 0), disruptions_allowed=allowed, expected_pods=expected)
        counted.append(replace(budget, status=now))
    return tuple(counted)


def lets_unhealthy_go(budget: PodDisruptionBudget) -> bool:
    """Whether a pod that is not Ready can be evicted without counting (unhealthyPodEvictionPolicy)."""
    status = budget.status
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    return status.current_healthy >= status.desired_healthy > 0


def failed_sync(budget: PodDisruptionBudget) -> bool:
    """Whether the controller cannot count the pods, so that no eviction is allowed."""
    conditions = budget.status.conditions
    return any(one.type == "DisruptionAllowed" and one.reason == _SYNC_FAILED for one in conditions)


def _why_none(budget: PodDisruptionBudget) -> str:
    name, status = budget.metadata.name, budget.status
    conditions = (entry for entry in status.conditions if entry.type == "DisruptionAllowed")
    condition = next((entry for entry in conditions if entry.status == "False" and entry.message), None)
    refused = f"The disruption budget {name} does not allow evicting pods currently"
    if condition is not None and failed_sync(budget):
        return f"{refused} because it failed sync: {condition.message}"
    if status.current_healthy <= status.desired_healthy:
        needs = f"needs {status.desired_healthy} healthy pods and has {status.current_healthy} currently"
        return f"The disruption budget {name} {needs}"
    return f"{refused} ({condition.reason}): {condition.message}" if condition is not None else refused


def _key(budget: PodDisruptionBudget) -> tuple[str, str]:
    return budget.metadata.namespace, budget.metadata.name


_UNSCALABLE: Final = {
    "DaemonSet": "daemonsets.apps does not implement the scale subresource",
    "Job": "jobs.batch does not implement the scale subresource",
    "CronJob": "jobs.batch does not implement the scale subresource",
}
_UNMANAGED: Final = "no controller makes them, and only pods of controllers are counted"


class CoveredPods(Struct, frozen=True):
    """Pods of one controller that a budget selects."""

    kind: str
    """The controller's kind; a Deployment represents its ReplicaSets, a CronJob its Jobs. Empty: no controller."""
    controller: str
    """A unique name of the controller."""
    pods: int | None
    """The number of pods, including finished ones and those that are being deleted. None: not known."""
    healthy: int
    """The number of pods that are Ready and are not being deleted."""
    wanted: int | None
    """The total number of pods that the controller wants; None: not known."""


class BudgetRoom(Struct, frozen=True, rename="camel"):
    """The evictions that a budget allows."""

    expected: int
    """The number of pods that the controller counts; 0 if counting fails."""
    healthy: int
    desired_healthy: int
    allowed: int
    """``status.disruptionsAllowed``. A pod that several budgets select is not evicted, regardless of this number."""
    failure: str
    """Why the pods cannot be counted, in the disruption controller's words if it has some: it then allows no eviction.
    Empty: they can be counted."""


def counts_pods(budget: PodDisruptionBudget) -> bool:
    """Whether a budget counts the pods themselves, and not the number that their controllers want."""
    return budget.spec.max_unavailable is None and not isinstance(budget.spec.min_available, str)


def budget_room(budget: PodDisruptionBudget, covered: Sequence[CoveredPods]) -> BudgetRoom | None:
    """The evictions that a budget allows of these pods, which are all that it selects; None: a number is not known.

        maxUnavailable          of all that the pods' controllers want, rounded up; the rest must be healthy
        minAvailable, percent   of all that the pods' controllers want, rounded up
        minAvailable, number    that many of the pods, with or without a controller
        no scale                a DaemonSet, a Job: counting by controllers fails, and no eviction is allowed

    A controller counts with all the pods that it wants, even if the budget selects only some of them. A pod without a
    controller adds nothing to that; if no pod has one, no eviction is allowed.

    Source: pkg/controller/disruption/disruption.go (getExpectedPodCount, getExpectedScale, updatePdbStatus) at v1.36.3.
    """
    least, most = budget.spec.min_available, budget.spec.max_unavailable
    healthy = sum(one.healthy for one in covered)
    if counts_pods(budget):
        expected = _sum([one.pods for one in covered]) if least is not None else 0
        return None if expected is None else _room(expected, healthy, int(least or 0))
    failure = next((_UNSCALABLE[one.kind] for one in covered if one.kind in _UNSCALABLE), "")
    if covered and not any(one.kind for one in covered):
        failure = _UNMANAGED
    if failure:
        return BudgetRoom(0, healthy, 0, 0, failure)
    expected = _sum(list({one.controller: one.wanted for one in covered if one.kind}.values()))
    if expected is None:
        return None
    if most is not None:
        return _room(expected, healthy, max(0, expected - (scaled(most, expected, up=True) or 0)))
    return _room(expected, healthy, scaled(least or 0, expected, up=True) or 0)


def budget_way(least: int | str | None, most: int | str | None, expected: int, pods: int | None = None) -> str:
    """The remedy for a budget that requires all of its pods, once all are Ready; more pods only if these help.

    Args:
        least: Its minAvailable.
        most: Its maxUnavailable.
        expected: The number of pods that its controller counts.
        pods: The number of these that it selects; None: all.
    """
    pods = expected if pods is None else pods
    if most is None and isinstance(least, int):
        return f"minAvailable {max(0, min(least, pods) - 1)}, or {least + 1} pods (now {pods})"
    missing = f"maxUnavailable {max(0, expected - pods) + 1}"
    percent = percentage(least) if most is None and isinstance(least, str) else None
    if percent is None or not expected:
        return missing
    lower = f"minAvailable {max(0, pods - 1) * 100 // expected}%, or {missing} in its place"
    # Rounded up, a share below 100% excludes a pod only above some number of pods.
    more = -(-100 // (100 - percent)) if percent < 100 and pods == expected else 0
    return f"{lower}, or {more} pods (now {pods})" if more else lower


def _sum(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _room(expected: int, healthy: int, desired: int) -> BudgetRoom:
    return BudgetRoom(expected, healthy, desired, max(0, healthy - desired) if expected else 0, "")
