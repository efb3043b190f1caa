"""What ``place -f`` and ``explain -f`` say of the PodDisruptionBudgets beside a manifest."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.kubectl_plugin.running import run
from tests.objects import raw_pod, raw_workload


def workload(kind: str = "Deployment", *, cpu: str = "100m", app: str = "render", **spec: Any) -> dict[str, Any]:
    made = raw_workload(kind, "render", "shop", pod_spec=raw_pod(requests={"cpu": cpu})["spec"], **spec)
    if kind == "Job":
        made["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    made["spec"]["template"]["metadata"]["labels"] = {"app": app}
    if "selector" in made["spec"]:
        made["spec"]["selector"] = {"matchLabels": {"app": app}}
    return made


def budget(name: str = "render", *others: str, **spec: int | str) -> dict[str, Any]:
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["render", *others]}]}
    metadata = {"name": name, "namespace": "shop"}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata,
        "spec": {**spec, "selector": selector},
    }


def said(command: str, *objects: dict[str, Any], code: int = 0) -> str:
    ran = run(command, "--demo", "-f", "-", stdin=yaml.safe_dump_all(objects))
    assert ran.code == code, ran.err
    return " ".join(ran.out.split())


def budgets(*objects: dict[str, Any]) -> list[dict[str, Any]]:
    ran = run("place", "--demo", "-f", "-", "-o", "json", stdin=yaml.safe_dump_all(objects))
    found: list[dict[str, Any]] = json.loads(ran.out)["budgets"]
    return found


RENDER = "No pod of deployment/render can be evicted: PodDisruptionBudget"
TWO = "all and render select the same pods, and the API server evicts no pod of two budgets"
NO_SCALE = "does not implement the scale subresource"
CASES = {
    "some may go": (
        [workload(replicas=3), budget(minAvailable=2)],
        "1 of 3 render minAvailable 2 of deployment/render",
        "Budget render (minAvailable 2) lets 1 of 3 pods go at once, if all are Ready",
    ),
    "none may go": (
        [workload(replicas=3), budget(maxUnavailable="0%")],
        f"{RENDER} render (maxUnavailable 0%) needs 3 healthy pods of 3. A drain of its node waits for ever.",
        "Budget render (maxUnavailable 0%) needs 3 healthy pods of 3: none can be evicted, and a drain waits for ever",
    ),
    "the only pod": (
        [workload(), budget(minAvailable=1)],
        f"{RENDER} render (minAvailable 1) needs its only pod. A drain of its node waits for ever.",
        "Budget render (minAvailable 1) needs its only pod: none can be evicted, and a drain waits for ever",
    ),
    "two budgets": (
        [workload(replicas=3), budget(minAvailable=2), budget("all", minAvailable=1)],
        f"{RENDER}s {TWO}. A drain of its node waits for ever.",
        f"Budget {TWO}: none can be evicted, and a drain waits for ever",
    ),
    "a share of a Job": (
        [workload("Job"), budget(maxUnavailable=1)],
        f"cannot count them, for jobs.batch {NO_SCALE}. A drain of its node waits until the pod ends.",
        f"cannot count them, for jobs.batch {NO_SCALE}: none can be evicted, and a drain waits until the pod ends",
    ),
    "a share of a DaemonSet": (
        [workload("DaemonSet"), budget(maxUnavailable=1)],
        f"none render maxUnavailable 1 of daemonset/render; daemonsets.apps {NO_SCALE}",
        f"Budget render (maxUnavailable 1) cannot count them, for daemonsets.apps {NO_SCALE}: none can be evicted",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_budget_lets_go(name: str) -> None:
    objects, of_place, of_explain = CASES[name]
    assert of_place in said("place", *objects)
    assert of_explain in said("explain", *objects)


def test_a_drain_passes_over_a_daemon_set() -> None:
    objects = workload("DaemonSet"), budget(maxUnavailable=1)
    assert "can be evicted" not in said("place", *objects)
    assert "a drain" not in said("explain", *objects)


def test_pods_without_a_place_are_not_ready() -> None:
    objects = workload(replicas=3, cpu="100"), budget(minAvailable=2)
    words = said("place", *objects, code=7)
    assert "none of 3 render minAvailable 2 of deployment/render; 0 of 3 pods are Ready then" in words
    assert "can be evicted" not in words


def test_other_pods_of_the_cluster_count_as_they_are() -> None:
    (by_number,) = budgets(workload(replicas=2), budget("cart", "cart", minAvailable=3))
    assert (by_number["others"], by_number["room"]["expected"]) == (4, 6)
    (by_share,) = budgets(workload(replicas=2), budget("cart", "cart", minAvailable="50%"))
    assert by_share["room"] is None
    words = said("place", workload(replicas=2), budget("cart", "cart", minAvailable="50%"))
    assert (
        "not known cart minAvailable 50% of deployment/render and 4 other pods of the cluster; how many may go" in words
    )


def test_a_budget_of_a_file_replaces_that_of_the_cluster() -> None:
    assert [one["minAvailable"] for one in budgets(workload(app="checkout"))] == [5]
    changed = budgets(workload(app="checkout"), budget("checkout", "checkout", maxUnavailable=1))
    assert [(one["minAvailable"], one["maxUnavailable"]) for one in changed] == [(None, 1)]


def test_nothing_is_said_where_no_pods_are_made() -> None:
    assert budgets(workload(replicas=0), budget(minAvailable=1)) == []
    assert "Budget" not in said("explain", workload(replicas=0), budget(minAvailable=1))
