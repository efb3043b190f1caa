"""PodDisruptionBudgets in ``place -f`` and ``explain -f`` of a manifest."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.kubectl_plugin.answers import data
from tests.kubectl_plugin.running import run
from tests.objects import raw_object, raw_pod, raw_workload


def workload(
    kind: str = "Deployment", *, cpu: str = "100m", app: str = "render", name: str = "render", **spec: Any
) -> dict[str, Any]:
    pod = raw_pod(requests={"cpu": cpu}, restartPolicy="Never" if kind == "Job" else None)
    made = raw_workload(kind, name, "shop", pod_spec=pod["spec"], **spec)
    made["spec"]["template"]["metadata"]["labels"] = {"app": app}
    if "selector" in made["spec"]:
        made["spec"]["selector"] = {"matchLabels": {"app": app}}
    return made


def budget(name: str = "render", *others: str, space: str = "shop", **spec: Any) -> dict[str, Any]:
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["render", *others]}]}
    return raw_object("PodDisruptionBudget", name, space, spec={"selector": selector, **spec})


def said(command: str, *objects: dict[str, Any], code: int = 0) -> str:
    ran = run(command, "--demo", "-f", "-", stdin=yaml.safe_dump_all(objects))
    assert ran.code == code, ran.err
    return " ".join(ran.out.split())


def found(*objects: dict[str, Any], options: tuple[str, ...] = ()) -> dict[str, Any]:
    return dict(data("place", "--demo", *options, "-f", "-", stdin=yaml.safe_dump_all(objects))["budgets"])


def budgets(*objects: dict[str, Any], options: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    return list(found(*objects, options=options)["budgets"])


def rooms(*objects: dict[str, Any], options: tuple[str, ...] = ()) -> list[tuple[int, int, int]]:
    """For each budget: the pods it selects, the Ready ones, and the allowed evictions."""
    entries = budgets(*objects, options=options)
    return [(one["pods"], one["room"]["healthy"], one["room"]["allowed"]) for one in entries]


def scaler(least: int, most: int) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "render"}
    spec = {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": most}
    return raw_object("HorizontalPodAutoscaler", "render", "shop", spec=spec)


RENDER = "No pod of deployment/render can be evicted: PodDisruptionBudget"
TWO = "all and render select the same pods, and the API server evicts no pod that several select"
NO_SCALE = "does not implement the scale subresource"
FIRST = {"matchLabels": {"statefulset.kubernetes.io/pod-name": "render-0"}}
CASES = {
    "some may go": (
        [workload(replicas=3), budget(minAvailable=2)],
        "render 1 of 3 minAvailable 2 of deployment/render",
        "Budget render (minAvailable 2) lets 1 of 3 pods in these files be evicted at once, if all are Ready",
    ),
    "none may go": (
        [workload(replicas=3), budget(maxUnavailable="0%")],
        f"{RENDER} render (maxUnavailable 0%) needs 3 healthy pods of 3. A drain waits for ever.",
        "Budget render (maxUnavailable 0%) needs 3 healthy pods of 3 in these files, so none can be evicted",
    ),
    "the only pod": (
        [workload(), budget(minAvailable=1)],
        f"{RENDER} render (minAvailable 1) needs its only pod. A drain waits for ever.",
        "Budget render (minAvailable 1) needs its only pod in these files, so none can be evicted; a drain",
    ),
    "more than there are": (
        [workload(), budget(minAvailable=5)],
        f"{RENDER} render (minAvailable 5) needs 5 healthy pods of 1. A drain waits for ever.",
        "Budget render (minAvailable 5) needs 5 healthy pods of 1 in these files, so none can be evicted",
    ),
    "neither setting": (
        [workload(), budget()],
        f"{RENDER} render sets neither minAvailable nor maxUnavailable. A drain waits for ever.",
        "Budget render sets neither minAvailable nor maxUnavailable, so none can be evicted; a drain waits for ever",
    ),
    "two budgets": (
        [workload(replicas=3), budget(minAvailable=2), budget("all", minAvailable=1)],
        f"{RENDER}s {TWO}. A drain fails.",
        f"Budget {RENDER}s {TWO}; a drain fails",
    ),
    "a share of a Job": (
        [workload("Job"), budget(maxUnavailable=1)],
        f"cannot count them: jobs.batch {NO_SCALE}. A drain waits until they end.",
        f"cannot count them: jobs.batch {NO_SCALE}, so none can be evicted; a drain waits until they end",
    ),
    "a share of a DaemonSet": (
        [workload("DaemonSet"), budget(maxUnavailable=1)],
        f"render none maxUnavailable 1 of daemonset/render; daemonsets.apps {NO_SCALE}",
        f"Budget render (maxUnavailable 1) cannot count them: daemonsets.apps {NO_SCALE}, so none can be evicted Nodes",
    ),
    "one pod of a StatefulSet": (
        [workload("StatefulSet", replicas=3), budget(minAvailable=1, selector=FIRST)],
        "1 of 3 pods of statefulset/render cannot be evicted: PodDisruptionBudget render (minAvailable 1) needs its",
        "Budget render (minAvailable 1) needs its only pod in these files, so none can be evicted",
    ),
    "an autoscaler may help": (
        [workload(replicas=2), scaler(2, 6), budget(minAvailable=2)],
        f"{RENDER} render (minAvailable 2) needs 2 healthy pods of 2. A drain waits until there are more pods.",
        "needs 2 healthy pods of 2 in these files, so none can be evicted; a drain waits until there are more pods",
    ),
    "a name that the API server ends": (
        [workload(replicas=2), budget(minAvailable=2) | {"metadata": {"generateName": "b-", "namespace": "shop"}}],
        f"{RENDER} b-… (minAvailable 2) needs 2 healthy pods of 2. A drain waits for ever.",
        "Budget b-… (minAvailable 2) needs 2 healthy pods of 2",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_allowed_evictions_of_a_budget(name: str) -> None:
    objects, of_place, of_explain = CASES[name]
    assert of_place in said("place", *objects)
    assert of_explain in said("explain", *objects)


def test_drain_skips_daemon_sets() -> None:
    objects = workload("DaemonSet"), budget(maxUnavailable=1)
    assert "can be evicted:" not in said("place", *objects)
    assert "a drain" not in said("explain", *objects)


def test_daemon_set_counts_with_its_remaining_pods() -> None:
    """It has twelve pods, and one is not Ready; with six nodes it would create no more."""
    agent = workload("DaemonSet", app="log-agent")
    agent["metadata"] = {"name": "log-agent", "namespace": "monitoring"}
    own = budget("agent", "log-agent", space="monitoring", minAvailable=3)
    assert rooms(agent, own) == [(12, 11, 8)]
    words = said("place", agent, own)
    assert "runs on 6 of 12 nodes; it keeps 6 pods on other nodes until a rollout deletes them." in words
    assert "6 nodes get no new pod" in words


def test_workloads_under_one_budget_count_together() -> None:
    other = workload(name="other", replicas=2)
    assert rooms(workload(replicas=2), other, budget(minAvailable=3)) == [(4, 4, 1)]
    ran = run("explain", "--demo", "-f", "-", "-o", "wide", stdin=yaml.safe_dump_all([workload(), other, budget()]))
    assert " ".join(ran.out.split()).count("Budget render sets neither minAvailable nor maxUnavailable") == 2


def test_only_pods_of_two_budgets_are_blocked() -> None:
    other = workload(name="other", app="other", replicas=2)
    objects = workload(replicas=2), other, budget("both", "other", maxUnavailable=1), budget(maxUnavailable=1)
    words = said("place", *objects)
    assert "No pod of deployment/render can be evicted: PodDisruptionBudgets both and render select the same" in words
    assert "deployment/other can" not in words
    assert "both 1 of 4 maxUnavailable 1 of deployment/render and deployment/other; render selects 2 of them" in words
    held = found(*objects)["held"]
    assert [(one["name"], one["pods"], one["budgets"]) for one in held] == [
        ("deployment/render", 2, ["both", "render"])
    ]


def test_pods_without_a_place_are_not_ready() -> None:
    objects = workload(replicas=3, cpu="100"), budget(minAvailable=2)
    words = said("place", *objects, code=7)
    assert "render none of 3 minAvailable 2 of deployment/render; 0 of 3 pods are Ready then" in words
    assert "can be evicted" not in words
    # Even if no eviction is ever allowed: a Pending pod can always be evicted.
    assert "can be evicted" not in said("place", workload(replicas=3, cpu="100"), budget(maxUnavailable=0), code=7)


def test_waiting_stateful_set_counts_its_existing_pods() -> None:
    (one,) = budgets(workload("StatefulSet", replicas=6, cpu="100"), budget(minAvailable=2))
    assert (one["pods"], one["room"]["expected"]) == (6, 1)


def test_other_cluster_pods_count_with_their_readiness() -> None:
    (by_number,) = budgets(workload(replicas=2), budget("cart", "cart", minAvailable=3))
    assert (by_number["others"], by_number["room"]["expected"]) == (4, 6)
    by_share = workload(replicas=2), budget("cart", "cart", minAvailable="50%")
    assert [one["room"] for one in budgets(*by_share)] == [None]
    words = said("place", *by_share)
    assert "unknown minAvailable 50% of deployment/render and 4 other pods of the cluster; how many may be" in words
    # A pod without a controller does not add to the desired number of controllers.
    assert rooms(workload(replicas=2), budget("pf", "price-feed", minAvailable="50%")) == [(3, 3, 2)]


def test_workload_of_the_cluster_is_not_counted_twice() -> None:
    """The cluster has one running and one terminating pod of db, and one waiting pod of checkout."""
    for kind, name in (("StatefulSet", "db"), ("Deployment", "checkout")):
        manifest = workload(kind, app=name, name=name, replicas=3)
        assert rooms(manifest, budget(name, name, maxUnavailable=1)) == [(3, 3, 1)]


def test_pods_of_another_deployment_with_the_same_labels_stay() -> None:
    assert rooms(workload(app="cart", replicas=3), budget("cart", "cart", minAvailable=3)) == [(7, 7, 4)]


def test_victims_are_removed_and_moved_pods_are_placed() -> None:
    urgent = workload(cpu="3")
    urgent["spec"]["template"]["spec"]["priorityClassName"] = "system-cluster-critical"
    urgent["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"] = "12Gi"
    (one,) = budgets(urgent, budget("r", "recommend", minAvailable=1))
    assert (one["others"], one["room"]["healthy"]) == (1, 2)
    objects = workload(replicas=2), budget("r", "web", minAvailable=3)
    assert rooms(*objects) == rooms(*objects, options=("--drain", "node/node-a1"))


def test_budget_of_a_file_replaces_that_of_the_cluster() -> None:
    assert [one["minAvailable"] for one in budgets(workload(app="checkout"))] == [5]
    changed = budgets(workload(app="checkout"), budget("checkout", "checkout", maxUnavailable=1))
    assert [(one["minAvailable"], one["maxUnavailable"]) for one in changed] == [(None, 1)]
    twice = workload(replicas=2), budget(minAvailable=2), budget(minAvailable=1)
    assert rooms(*twice) == [(2, 2, 1)]
    assert "lets 1 of 2 pods" in said("explain", *twice)


def test_cluster_pods_under_second_budget_are_named() -> None:
    words = said("place", workload(replicas=2), budget(minAvailable=2, selector={}))
    assert (
        "4 other pods of the cluster cannot be evicted: PodDisruptionBudgets cart and render select the same" in words
    )


@pytest.mark.parametrize("made", [workload(replicas=0), workload("Job", suspend=True)], ids=["none", "suspended"])
def test_no_budget_text_without_new_pods(made: dict[str, Any]) -> None:
    assert budgets(made, budget(minAvailable=1)) == []
    assert "Budget" not in said("explain", made, budget(minAvailable=1))
