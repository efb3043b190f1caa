"""How topology spread is told: what runs now, the domains' numbers, the terms of soft constraints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from kubectl_plugin.views.report import spread_words
from kubectl_plugin.views.skew_words import domain_words
from podrules.skew import ConstraintSkew, WorkloadSpread
from tests.kubectl_plugin.running import run

SEEDS: Final = Path(__file__).parents[1] / "testdata/cases/seeds"
FIELD: Final = "spec.topologySpreadConstraints[0]"


def told(*arguments: str) -> str:
    """What is printed, as one line: where lines are broken does not matter here."""
    return " ".join(run(*arguments).out.split())


def of_json(*arguments: str) -> Any:
    return json.loads(run(*arguments, "-o", "json").out)


def snapshot(name: str) -> tuple[str, str]:
    return "--snapshot", str(SEEDS / name)


def test_a_workload_tells_how_its_pods_stand_now() -> None:
    assert (
        "Spread now skew 3 > maxSkew 1 now; nothing moves running pods: zoneA has 3, least is 0 in zoneB "
        "(topology.kubernetes.io/zone, DoNotSchedule)"
    ) in told("explain", "deployment/web", *snapshot("s1dep.json"))


def test_a_replica_set_tells_the_same_and_json_has_its_numbers() -> None:
    (by_deployment,) = of_json("explain", "deployment/web", *snapshot("s1dep.json"))["spread"]
    (by_replica_set,) = of_json("explain", "replicaset/web-h1", *snapshot("s1dep.json"))["spread"]
    assert by_deployment == by_replica_set
    (constraint,) = by_deployment["constraints"]
    assert (constraint["most"], constraint["mostIn"], constraint["least"], constraint["leastIn"]) == (
        3,
        "zoneA",
        0,
        "zoneB",
    )


def test_the_report_says_it_in_the_same_words() -> None:
    over = ConstraintSkew(FIELD, "zone", True, 2, 3, 0, 1, "a", "b")
    assert spread_words(WorkloadSpread("shop", "Deployment", "web", {"a": 3}, (over,)))[1] == (
        "skew 3 > maxSkew 1 now: a has 3, least is 0 in b (zone, DoNotSchedule)"
    )
    even = ConstraintSkew(FIELD, "zone", False, 2, 2, 1, 1, "a", "b")
    assert spread_words(WorkloadSpread("shop", "Deployment", "web", {"a": 2, "b": 1}, (even,)))[1] == (
        "skew 1 within maxSkew 1 now: a has 2, least is 1 in b (zone, ScheduleAnyway)"
    )


def test_too_few_domains_are_said() -> None:
    few = ConstraintSkew(FIELD, "zone", True, 2, 2, 0, 1, "a", None)
    assert domain_words(few) == (
        "a has 2, least counts as 0, for 2 domains are fewer than minDomains (zone, DoNotSchedule)"
    )
