"""The number of evictions that a PodDisruptionBudget allows at once."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.policy import PodDisruptionBudget
from podrules.workload.disruption import BudgetRoom, CoveredPods, budget_room


def make_budget(**spec: int | str) -> PodDisruptionBudget:
    return from_object({"metadata": {"name": "web"}, "spec": spec}, PodDisruptionBudget)


def of(kind: str, wanted: int, *, healthy: int | None = None) -> CoveredPods:
    return CoveredPods(kind, kind, wanted, wanted if healthy is None else healthy, wanted)


ROOMS: dict[str, tuple[dict[str, Any], list[CoveredPods], BudgetRoom]] = {
    "a number of pods": ({"minAvailable": 2}, [of("Deployment", 3)], BudgetRoom(3, 3, 2, 1, "")),
    "a number of pods of a DaemonSet": ({"minAvailable": 2}, [of("DaemonSet", 3)], BudgetRoom(3, 3, 2, 1, "")),
    "a number of uncontrolled pods": ({"minAvailable": 1}, [of("", 2)], BudgetRoom(2, 2, 1, 1, "")),
    "a share is rounded up": ({"minAvailable": "34%"}, [of("StatefulSet", 3)], BudgetRoom(3, 3, 2, 1, "")),
    "what may be away is rounded up, too": (
        {"maxUnavailable": "34%"},
        [of("Deployment", 3)],
        BudgetRoom(3, 3, 1, 2, ""),
    ),
    "of two controllers together": (
        {"maxUnavailable": 1},
        [of("Deployment", 3), of("StatefulSet", 2)],
        BudgetRoom(5, 5, 4, 1, ""),
    ),
    "pods that are not Ready": ({"minAvailable": 2}, [of("Deployment", 3, healthy=2)], BudgetRoom(3, 2, 2, 0, "")),
    "more than there are": ({"maxUnavailable": 5}, [of("Deployment", 3)], BudgetRoom(3, 3, 0, 3, "")),
    "no pods": ({"minAvailable": 0}, [], BudgetRoom(0, 0, 0, 0, "")),
    "no setting": ({}, [of("Deployment", 3)], BudgetRoom(0, 3, 0, 0, "")),
    "a share of a DaemonSet": (
        {"minAvailable": "50%"},
        [of("Deployment", 2), of("DaemonSet", 3)],
        BudgetRoom(0, 5, 0, 0, "daemonsets.apps does not implement the scale subresource"),
    ),
    "a share of the Jobs of a CronJob": (
        {"maxUnavailable": 1},
        [of("CronJob", 3)],
        BudgetRoom(0, 3, 0, 0, "jobs.batch does not implement the scale subresource"),
    ),
    "a percentage of uncontrolled pods": (
        {"maxUnavailable": 1},
        [of("", 1)],
        BudgetRoom(0, 1, 0, 0, "no controller makes them, and only pods of controllers are counted"),
    ),
    "uncontrolled pods with others": (
        {"maxUnavailable": 1},
        [of("Deployment", 2), of("", 1)],
        BudgetRoom(2, 3, 1, 2, ""),
    ),
}


@pytest.mark.parametrize("name", ROOMS)
def test_allowed_evictions_of_a_budget(name: str) -> None:
    spec, covered, room = ROOMS[name]
    assert budget_room(make_budget(**spec), covered) == room
