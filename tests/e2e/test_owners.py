"""The owners of a pod, and their consequences, with pods that the real controllers made."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from tests.controlplane.client import Object
from tests.e2e.space import Space
from tests.objects import NOWHERE, on, raw_container, raw_object, raw_owner, raw_workload, unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

SPEC: Object = {"schedulerName": NOWHERE, "containers": [raw_container(requests={"cpu": "100m", "memory": "64Mi"})]}
FORCE = "Force delete no promise is broken:"


def workload(space: Space, kind: str, name: str = "web", pod_spec: Object = SPEC, **spec: Any) -> Object:
    """A workload of this namespace."""
    return raw_workload(kind, name, space.name, pod_spec=pod_spec, **spec)


def cron_job(space: Space) -> Object:
    """A CronJob that makes no Jobs by itself."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {**SPEC, "restartPolicy": "Never"}}
    spec = {"schedule": "0 3 * * *", "suspend": True, "jobTemplate": {"spec": {"template": template}}}
    return raw_object("CronJob", "nightly", space.name, spec=spec)


def scheduled_job(space: Space) -> Object:
    """The Job that the CronJob's controller creates on schedule."""
    [stored] = space.plane.apply([cron_job(space)])
    job = workload(space, "Job", "nightly-1")
    job["spec"]["template"]["metadata"]["labels"] = {"app": "web"}
    owner = raw_owner("CronJob", "nightly", apiVersion="batch/v1", uid=stored["metadata"]["uid"])
    job["metadata"]["ownerReferences"] = [owner]
    return job


def pod_of(space: Space, made: Object, node: Object) -> str:
    """Create a workload and bind its one pod to a node; returns the pod's name."""
    space.plane.apply([made])
    find = partial(space.plane.api.list_items, "v1", "Pod", space.name, labelSelector="app=web")
    pod = wait_for(find, "the controllers made a pod")[0]
    if not pod["spec"].get("nodeName"):
        space.plane.bind(pod, node["metadata"]["name"])
    name: str = pod["metadata"]["name"]
    return name


@pytest.mark.parametrize(
    ("kind", "brief", "wide"),
    [
        (
            "Deployment",
            f"{FORCE} two may run (Deployment web)",
            (
                "Owner ReplicaSet {made} < Deployment web",
                f"{FORCE} ReplicaSet {{made}} may start a replacement while it still runs",
                "kubectl qos explain deployment/web -n {namespace}",
            ),
        ),
        (
            "StatefulSet",
            "Force delete not safe: two may run; StatefulSet web promises one",
            (
                "Owner StatefulSet web Next",
                "StatefulSet web promises at most one, but a second may start while it still runs",
            ),
        ),
        (
            "DaemonSet",
            f"{FORCE} two may run here (DaemonSet web)",
            ("Owner DaemonSet web Next", "DaemonSet web may start the next copy while it still runs"),
        ),
        (
            "CronJob",
            f"{FORCE} work may be done twice (CronJob nightly)",
            (
                "Owner Job nightly-1 < CronJob nightly",
                "Job nightly-1 may start the work again while it still runs",
            ),
        ),
    ],
)
def test_F3_promise_of_an_owner(space: Space, kind: str, brief: str, wide: Sequence[str]) -> None:
    node = space.make_node()
    # On another node the DaemonSet's controller would delete the pod.
    spec = {**SPEC, "nodeSelector": on(node)} if kind == "DaemonSet" else SPEC
    more = {"serviceName": "web"} if kind == "StatefulSet" else {}
    made = scheduled_job(space) if kind == "CronJob" else workload(space, kind, pod_spec=spec, **more)

    name = pod_of(space, made, node)

    assert kind != "StatefulSet" or name == "web-0"
    text, page = space.text(f"pod/{name}"), space.page(f"pod/{name}")
    words = [part.format(made=name.rpartition("-")[0], namespace=space.name) for part in wide]
    assert brief in text
    assert [part for part in words if part not in page] == []
    assert kind != "Deployment" or words[-1] in text


def test_F3_bare_pod(space: Space) -> None:
    name = pod_of(space, unscheduled_pod(space.name), space.make_node())

    assert f"{FORCE} its processes may run on, and no controller replaces it" in space.text(f"pod/{name}")
    assert space.json(f"pod/{name}")["owners"] == []


def test_deleted_owner(space: Space) -> None:
    name = pod_of(space, workload(space, "Deployment"), space.make_node())
    for words in (("deployment", "web"), ("replicaset", "-l", "app=web")):
        space.plane.kubectl("delete", *words, "-n", space.name, "--cascade=orphan")

    def alone() -> str | None:
        # The brief page has no line for an owner that "Force delete" names.
        text = space.page(f"pod/{name}")
        return text if "Owner" not in text else None

    text = wait_for(alone, "the garbage collector has orphaned the pod")
    assert "no controller replaces it" in text


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("Deployment", {"replicas": 2}),
        ("ReplicaSet", {"replicas": 2}),
        ("StatefulSet", {"replicas": 2, "serviceName": "web", "podManagementPolicy": "Parallel"}),
        ("Job", {"completions": 2, "parallelism": 2}),
    ],
)
def test_workload_with_its_pods(space: Space, kind: str, more: dict[str, Any]) -> None:
    space.plane.apply([workload(space, kind, **more)])

    def made() -> list[str] | None:
        pods = space.plane.api.list_items("v1", "Pod", space.name)
        return sorted(pod["metadata"]["name"] for pod in pods) if len(pods) == 2 else None

    names, target = wait_for(made, "there are two pods"), f"{kind.lower()}/web"
    answer, text, wide = space.json(target), space.text(target), space.page(target)

    assert [answer["workloadKind"], answer["name"]] == [kind, "web"]
    assert [pod["name"] for pod in answer["pods"]] == names
    assert {pod["qosClass"] for pod in answer["pods"]} == {"Burstable"} == {answer["template"]["qos"]["qosClass"]}
    assert text.startswith(f"{target} in namespace {space.name}")
    assert f" 0 of 2 {'succeeded' if kind == 'Job' else 'run'}, 2 pending for up to " in text
    assert f" s, such as {names[0]}: it has no node yet. Each new pod: Burstable: " in text
    assert "2 pods now pod restarts age status" in text
    assert all(re.search(rf" {name} 0 \d+ s Pending (?!on )", text) for name in names)
    assert "2 pods now pod qos priority restarts age status" in wide
    assert all(re.search(rf" {name} Burstable 0 0 \d+ s Pending (?!on )", wide) for name in names)
    assert ("replicas wanted" in text) is (kind != "Job")


def test_F3_next_pod_has_the_promise_of_its_owner(space: Space) -> None:
    kinds = {
        "Deployment": "AvailabilityFirst",
        "ReplicaSet": "AvailabilityFirst",
        "StatefulSet": "AtMostOne",
        "DaemonSet": "OnePerNode",
        "Job": "RunsToCompletion",
    }
    items = [workload(space, kind, kind.lower()) for kind in kinds]

    answer = space.qos.json("-f", "-", stdin=json.dumps(raw_object("List", items=items)))

    promises = {item["name"]: item["owner"]["guarantee"] for item in answer["items"]}
    assert promises == {kind.lower(): promise for kind, promise in kinds.items()}


def test_replicas_wanted(space: Space) -> None:
    space.plane.apply([workload(space, "Deployment", replicas=3)])

    assert space.json("deployment/web")["replicas"] == 3
    title = f"deployment/web in namespace {space.name}, 3 replicas wanted "
    assert re.match(rf"{title}[x!] 0 of 3 run, ", space.text("deployments.apps/web"))


def test_cron_job_without_pods(space: Space) -> None:
    space.plane.apply([cron_job(space)])

    answer = space.json("cj/nightly")

    assert answer["template"]["qos"]["qosClass"] == "Burstable"
    assert answer["pods"] is None
    assert space.text("cronjob/nightly").startswith(
        f"cronjob/nightly in namespace {space.name} ! Suspended: it makes no Jobs; it has made no Job yet, "
        "no Job runs. Each new pod: Burstable: "
    )


def test_workload_of_an_unknown_class(space: Space) -> None:
    """The API server accepts the Deployment and rejects its pods, one by one."""
    space.plane.apply([workload(space, "Deployment", pod_spec={**SPEC, "priorityClassName": "nope"})])

    text = space.text("deployment/web")

    assert "0 of 1 run, 1 not made yet" in text
    refusal = 'pods "web" is forbidden: no PriorityClass with name nope was found'
    assert f"The API server will refuse each new pod: {refusal}" in text
