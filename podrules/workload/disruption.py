"""Whether the API server would evict a pod: its PodDisruptionBudgets, asked one pod after the other.

    passed over    budgets do not hold a pod that is Pending, has finished or is being deleted
    several        a pod that two budgets select is never evicted
    drain          kubectl asks again only where the answer is 429; else it fails, and goes on with the next node
    unhealthy      a pod that is not Ready goes freely with policy AlwaysAllow, or while as many others are healthy as
                   are desired
    healthy        takes one of disruptionsAllowed, or is refused

Source: pkg/registry/core/pod/storage/eviction.go (Create, checkAndDecrement) at v1.36.3;
k8s.io/kubectl/pkg/drain/drain.go (evictPods) and pkg/cmd/drain/drain.go (RunDrain) at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.api.model.selectors import Selector, SelectorError
from podrules.workload.budget_room import counts_pods

__all__ = [
    "MAX_DISRUPTED",
    "Evictions",
    "SelectingBudgets",
    "budgets_of",
    "failed_sync",
    "fails_drain",
    "lets_unhealthy_go",
    "recounted",
]

SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_NEGATIVE = "pdb disruptions allowed is negative"
MAX_DISRUPTED = 2000
_TOO_MANY = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
_SYNC_FAILED = "SyncFailed"


class Evictions:
    """Evictions that are asked for one after the other, before any controller looks again."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        """Start with what the budgets allow now."""
        self._budgets = tuple(budgets)
        self._allowed = {_key(budget): budget.status.disruptions_allowed for budget in self._budgets}

    def refused(self, pod: Pod) -> str | None:
        """Why a pod is not evicted, in the API server's words; None: it is, and its budget has one less to give."""
        if pod.finished or pod.status.phase == "Pending" or pod.metadata.deletion_timestamp is not None:
            return None
        own = budgets_of(pod, self._budgets)
        if len(own) > 1:
            return SEVERAL
        for budget in own:
            if pod.is_ready or not lets_unhealthy_go(budget):
                return self._taken(budget)
        return None

    def _taken(self, budget: PodDisruptionBudget) -> str | None:
        """One disruption less, or why there is none (checkAndDecrement)."""
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
    """Whether kubectl drain does not ask again for a pod that was refused with these words, and fails."""
    return refused in {SEVERAL, _NEGATIVE, _TOO_MANY}


class SelectingBudgets:
    """Which budgets select a pod: asked once for pods of the same labels, as most of a large cluster are.

    A budget whose selector is not valid selects none (getPodDisruptionBudgets).
    """

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        """Read the selectors."""
        self._by_namespace: dict[str, list[tuple[PodDisruptionBudget, Selector]]] = {}
        self._known: dict[tuple[str, frozenset[tuple[str, str]]], tuple[PodDisruptionBudget, ...]] = {}
        for budget in budgets:
            selector = _selector(budget)
            if selector is not None:
                self._by_namespace.setdefault(budget.metadata.namespace, []).append((budget, selector))

    def of(self, pod: Pod) -> tuple[PodDisruptionBudget, ...]:
        """Those that select a pod, in their order."""
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
    """The budgets as the disruption controller has them once pods are gone and others are Ready.

    Of what is gone without a controller nobody makes another: a budget that counts pods expects less.
    """
    selecting, changes = SelectingBudgets(budgets), dict.fromkeys(map(_key, budgets), 0)
    lost = dict(changes)
    for pods, by in ((gone, -1), (came, 1)):
        for pod in pods:
            for budget in selecting.of(pod):
                changes[_key(budget)] += by if pod.is_ready else 0
                lost[_key(budget)] += by < 0 and pod.metadata.controller is None and _expects_pods(budget)
    return tuple(_with_healthy(one, changes[_key(one)], lost[_key(one)]) for one in budgets)


def _expects_pods(budget: PodDisruptionBudget) -> bool:
    return budget.spec.min_available is not None and counts_pods(budget)


def _with_healthy(budget: PodDisruptionBudget, more: int, lost: int) -> PodDisruptionBudget:
    status = budget.status
    expected = max(status.expected_pods - lost, 0)
    healthy, allowed = status.current_healthy + more, max(status.disruptions_allowed + more, 0)
    if more > 0 and expected:
        # It may have gone below what is desired, as by a preemption that violates it.
        allowed = min(allowed, max(healthy - status.desired_healthy, 0))
    now = replace(status, current_healthy=max(healthy, 0), disruptions_allowed=allowed, expected_pods=expected)
    return replace(budget, status=now)


def _selector(budget: PodDisruptionBudget) -> Selector | None:
    """What a budget selects; None: nothing, without a valid selector."""
    if budget.spec.selector is None:
        return None
    try:
        return Selector.from_label_selector(budget.spec.selector)
    except SelectorError:
        return None


def lets_unhealthy_go(budget: PodDisruptionBudget) -> bool:
    """Whether a pod that is not Ready may go without counting (unhealthyPodEvictionPolicy)."""
    status = budget.status
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    return status.current_healthy >= status.desired_healthy > 0


def failed_sync(budget: PodDisruptionBudget) -> bool:
    """Whether the controller cannot count the pods, so that none goes."""
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
