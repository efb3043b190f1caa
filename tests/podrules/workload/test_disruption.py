"""Evictions that the API server allows or refuses, in order."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.workload.disruption import SEVERAL, Evictions, recounted
from tests.objects import make_pod, raw_condition
from tests.table import table


def make_budget(name: str = "web", allowed: int = 0, **more: Any) -> PodDisruptionBudget:
    status = {"disruptionsAllowed": allowed, "currentHealthy": 3, "desiredHealthy": 3, **more.pop("status", {})}
    return from_object(
        {
            "metadata": {"name": name, "namespace": "shop", **more.pop("metadata", {})},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, **more},
            "status": status,
        },
        PodDisruptionBudget,
    )


def web(name: str = "web-0", namespace: str = "shop", ready: bool = True, phase: str = "Running", **more: Any) -> Pod:
    status = {"phase": phase, "conditions": [raw_condition("Ready", str(ready))]}
    return make_pod(name, namespace, labels={"app": "web"}, status=status, **more)


NEEDS = "The disruption budget web needs 3 healthy pods and has 3 currently"


def test_each_eviction_takes_one_of_what_is_allowed() -> None:
    evictions = Evictions([make_budget(allowed=2)])
    assert [evictions.refused(web(f"web-{number}")) for number in range(3)] == [None, None, NEEDS]


@table(
    "pod",
    {
        "pending": web(phase="Pending"),
        "finished": web(phase="Failed"),
        "being deleted": web(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        "of another namespace": web(namespace="other"),
    },
)
def test_pods_that_budgets_do_not_limit(pod: Pod) -> None:
    assert Evictions([make_budget()]).refused(pod) is None


def test_pod_of_two_budgets_is_never_evicted() -> None:
    assert Evictions([make_budget(allowed=5), make_budget("other", 5)]).refused(web()) == SEVERAL


@pytest.mark.parametrize(
    ("policy", "healthy", "goes"),
    [
        ("AlwaysAllow", 1, True),
        ("IfHealthyBudget", 3, True),
        ("IfHealthyBudget", 2, False),
        (None, 3, True),
        (None, 2, False),
    ],
)
def test_unhealthy_pod_follows_the_policy(policy: str | None, healthy: int, goes: bool) -> None:
    budget = make_budget(unhealthyPodEvictionPolicy=policy, status={"currentHealthy": healthy})
    assert (Evictions([budget]).refused(web(ready=False)) is None) is goes


def test_budget_with_zero_desired_pods_is_not_healthy() -> None:
    budget = make_budget(status={"currentHealthy": 0, "desiredHealthy": 0})
    refused = Evictions([budget]).refused(web(ready=False))
    assert refused == "The disruption budget web needs 0 healthy pods and has 0 currently"


@pytest.mark.parametrize(("unconfirmed", "goes"), [(2000, True), (2001, False)])
def test_budget_allows_2000_unconfirmed_evictions(unconfirmed: int, goes: bool) -> None:
    disrupted = {f"web-{number}": "2026-01-01T00:00:00Z" for number in range(1, unconfirmed + 1)}
    refused = Evictions([make_budget(allowed=1, status={"disruptedPods": disrupted})]).refused(web())
    too_many = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
    assert refused == (None if goes else too_many)


def test_unhealthy_pod_takes_nothing_from_the_budget() -> None:
    evictions = Evictions([make_budget(allowed=1, unhealthyPodEvictionPolicy="AlwaysAllow")])
    assert evictions.refused(web(ready=False)) is None
    assert evictions.refused(web("web-1")) is None
    assert evictions.refused(web("web-2")) == NEEDS


def test_unobserved_budget_allows_no_eviction() -> None:
    refused = Evictions([make_budget(allowed=3, metadata={"generation": 2})]).refused(web())
    assert refused == "The disruption budget web is still being processed by the server."


@pytest.mark.parametrize(
    ("reason", "message", "words"),
    [
        ("SyncFailed", "no scale", " because it failed sync: no scale"),
        ("InsufficientPods", "wait", " (InsufficientPods): wait"),
    ],
)
def test_reason_of_the_budget_is_quoted(reason: str, message: str, words: str) -> None:
    condition = raw_condition("DisruptionAllowed", "False", reason=reason, message=message)
    refused = Evictions([make_budget(status={"currentHealthy": 4, "conditions": [condition]})]).refused(web())
    assert refused == f"The disruption budget web does not allow evicting pods currently{words}"


def test_budget_is_recounted_when_pods_change() -> None:
    budget = make_budget(allowed=1, status={"desiredHealthy": 2, "expectedPods": 3})
    ready, unready = web(), web(ready=False)

    def counted(budgets: tuple[PodDisruptionBudget, ...]) -> tuple[int, int]:
        return budgets[0].status.current_healthy, budgets[0].status.disruptions_allowed

    one = recounted((budget,), gone=[ready, unready])
    assert counted(one) == (2, 0)
    assert counted(recounted(one, came=[ready])) == (3, 1)
    # A preemption may exceed the budget: the first returning pods make up for that.
    two = recounted(one, gone=[ready])
    assert counted(two) == (1, 0)
    assert counted(recounted(two, came=[ready])) == (2, 0)
