"""The budgets that would stop a drain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from podrules.api.model.base import Condition
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.workload.budget_risk import BudgetRisk, budgets_at_stake
from podrules.workload.disruption import Evictions
from tests.objects import make_pod, raw_owner
from tests.table import table


def budget(name: str = "web", status: Mapping[str, int] | None = None, *, app: str = "web") -> PodDisruptionBudget:
    raw: dict[str, Any] = {
        "metadata": {"name": name, "namespace": "default", "generation": 2},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"observedGeneration": 2, **(status or {})},
    }
    return from_object(raw, PodDisruptionBudget)


def pods(count: int, app: str = "web") -> list[Pod]:
    made = [
        make_pod(
            f"{app}-{number}",
            labels={"app": app},
            metadata={"ownerReferences": [raw_owner("ReplicaSet", app)]},
            status={"phase": "Running"},
        )
        for number in range(count)
    ]
    ready = (Condition("Ready", "True"),)
    return [replace(pod, status=replace(pod.status, conditions=ready)) for pod in made]


@table(
    "status, risk",
    {
        "room": ({"currentHealthy": 3, "desiredHealthy": 2, "disruptionsAllowed": 1}, BudgetRisk.ALLOWS),
        "one is not healthy": ({"currentHealthy": 2, "desiredHealthy": 2}, BudgetRisk.BLOCKS_NOW),
        "all are needed": ({"currentHealthy": 3, "desiredHealthy": 3}, BudgetRisk.BLOCKS_ALWAYS),
        "not observed yet": ({"observedGeneration": 1, "disruptionsAllowed": 1}, BudgetRisk.NOT_OBSERVED),
    },
)
def test_risk(status: dict[str, int], risk: BudgetRisk) -> None:
    given = budget("web", status)
    (standing,) = budgets_at_stake([given], pods(3)).standings
    assert (standing.risk, standing.pods) == (risk, 3)
    # The rule of evictions agrees.
    refused = Evictions([given]).refused(pods(1)[0])
    assert (refused is None) is (risk is BudgetRisk.ALLOWS)


def test_two_budgets_of_a_pod_are_worse_than_any_of_them() -> None:
    both = [budget("one", {"disruptionsAllowed": 1}), budget("two", {"disruptionsAllowed": 1})]
    found = budgets_at_stake(both, pods(2))
    assert [one.risk for one in found.standings] == [BudgetRisk.OVERLAPS, BudgetRisk.OVERLAPS]


def test_budget_without_pods() -> None:
    found = budgets_at_stake([budget("other", {"disruptionsAllowed": 1}, app="other")], pods(2))
    assert found.standings[0].risk is BudgetRisk.SELECTS_NOTHING
    assert [(one.name, one.pods) for one in found.unprotected] == [("web", 2)]


def test_worst_budget_comes_first_and_single_pods_need_none() -> None:
    given = [
        budget("fine", {"disruptionsAllowed": 1, "desiredHealthy": 1}, app="a"),
        budget("stuck", {"desiredHealthy": 2}, app="b"),
    ]
    found = budgets_at_stake(given, [*pods(2, "a"), *pods(2, "b"), *pods(1, "c")])
    assert [one.name for one in found.standings] == ["stuck", "fine"]
    assert found.unprotected == ()
