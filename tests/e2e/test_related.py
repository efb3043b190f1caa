"""The answers of `explain` about a claim, a budget, a quota and a priority class agree with a real control plane."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.controlplane.client import ApiError, Object
from tests.e2e.space import Space
from tests.e2e.storage import late_class, raw_claim
from tests.objects import on, raw_container, raw_object, raw_priority_class, raw_workload, unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

READY: Object = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def refused(call: Callable[[], object]) -> str:
    """The API server's error; empty: it does what was requested."""
    try:
        call()
    except ApiError as error:
        return error.message
    return ""


def test_budget_quota_and_class_of_a_deployment(space: Space) -> None:
    api, node, gold = space.plane.api, space.node(), f"gold-{space.name}"
    hard = {"requests.cpu": "2", "pods": "9"}
    quota = raw_object("ResourceQuota", "q", space.name, spec={"hard": hard})
    space.plane.apply([raw_priority_class(gold, 7), quota])
    wait_for(
        lambda: "used" in api.get("v1", "ResourceQuota", "q", space.name).get("status", {}), "the quota is counted"
    )
    own = unscheduled_pod(space.name, containers=[raw_container(requests={"cpu": "1"})], priorityClassName=gold)["spec"]
    selector = {"matchLabels": {"app": "web"}}
    budget = raw_object("PodDisruptionBudget", "b", space.name, spec={"selector": selector, "minAvailable": 2})
    space.plane.apply([budget, raw_workload("Deployment", "web", space.name, pod_spec=own, replicas=3)])
    wait_for(lambda: len(api.list_items("v1", "Pod", space.name)) == 2, "two pods are made")
    pods = api.list_items("v1", "Pod", space.name)
    for pod in pods:
        space.plane.bind(pod, node)
        space.plane.set_pod_status(pod, READY)

    def counted() -> bool:
        found = api.get("policy/v1", "PodDisruptionBudget", "b", space.name).get("status", {})
        return bool(found.get("currentHealthy") == 2)

    wait_for(counted, "the budget has counted")
    wait_for(lambda: "Refuses 1 of 3 pods" in space.qos("quota/q", "-n", space.name).out, "the quota refuses a pod")
    said = space.text("quota/q")
    assert "deployment/web: requests.cpu is 2 of 2. Way out: raise requests.cpu to 3 for all pods of" in said
    assert "exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=2, limited: requests.cpu=2" in said
    said = space.text("deployment/web")
    assert "the next pod is admitted" not in said
    assert "Request less, delete what else quota q" in said

    page = space.json("pdb/b")
    (says,) = {pod["refused"] for pod in page["pods"]}
    with pytest.raises(ApiError) as error:
        api.evict(pods[0])
    assert says in [cause["message"] for cause in error.value.details["causes"]]
    # Its Deployment wants a third pod, which the quota rejects.
    assert page["verdict"]["text"].startswith("1 of 3 pods is not made yet. Lets no pod be evicted now: 2 healthy")

    said = space.qos.text(f"pc/{gold}")
    assert "Gives priority 7 to 2 pods; 1 workload names it." in said
    assert f"the API server refuses new pods of {space.name}/deployment/web: no such class" in said
    api.delete(raw_priority_class(gold, 7))
    another = unscheduled_pod(space.name, "another", priorityClassName=gold)
    create = api.path("v1", "Pod", space.name)
    wait_for(
        lambda: (
            f"no PriorityClass with name {gold}"
            in refused(lambda: api.request("POST", create, another, query={"dryRun": "All"}))
        ),
        "the class is unknown",
    )
    assert {pod["spec"]["priority"] for pod in api.list_items("v1", "Pod", space.name)} == {7}


def test_default_limit_below_the_request_of_a_deployment(space: Space) -> None:
    limits = {"limits": [{"type": "Container", "max": {"memory": "32Mi"}}]}
    bounds = raw_object("LimitRange", "small", space.name, spec=limits)
    own = unscheduled_pod(space.name, containers=[raw_container(requests={"memory": "64Mi"})])["spec"]
    space.plane.apply([bounds, raw_workload("Deployment", "web", space.name, pod_spec=own)])
    wait_for(lambda: "1 not made yet" in space.qos("deployment/web", "-n", space.name).out, "the pod is refused")
    said = space.text("deployment/web")
    assert "must be less than or equal to memory limit of 32Mi" in said
    assert "LimitRange small gives a container without a memory limit 32Mi." in said
    assert "request no more in the template, or have its max and default raised to 64Mi." in said


def test_budget_of_a_pod_without_a_controller_lets_none_go(space: Space) -> None:
    api, pod, node = space.plane.api, unscheduled_pod(space.name), space.node()
    spec = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 1}
    space.plane.apply([pod])
    space.plane.bind(pod, node)
    space.plane.set_pod_status(pod, READY)
    space.plane.apply([raw_object("PodDisruptionBudget", "b", space.name, spec=spec)])
    wait_for(lambda: "1 healthy" in space.text("pdb/b"), "the budget has counted")
    page = space.json("pdb/b")
    assert (page["verdict"]["code"], page["standing"]["risk"]) == ("BudgetBlocksAlways", "Uncounted")
    assert "disruption budget" in refused(lambda: api.evict(pod))


def test_claim_that_waits_for_a_pod_then_for_its_provisioner(space: Space) -> None:
    api, node, late = space.plane.api, space.make_node(), late_class(f"late-{space.name}", "gone.example.com")
    space.plane.apply([late, raw_claim("data", space.name, f"late-{space.name}")])
    assert "(WaitForFirstConsumer), and no pod uses it." in space.qos.text("pvc", "data", "-n", space.name)

    mounted = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    space.plane.apply(
        [unscheduled_pod(space.name, schedulerName="default-scheduler", nodeSelector=on(node), volumes=mounted)]
    )
    name = node["metadata"]["name"]
    chosen = f'gone.example.com has not created a volume of class "late-{space.name}" yet for node {name}.'
    wait_for(lambda: chosen in space.text("pvc/data"), "a node is chosen")
    assert "It keeps pod web waiting." in space.text("pvc/data")
    api.delete(late)
