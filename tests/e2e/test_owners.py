"""The owners of a pod, and their consequences, with pods that the real controllers made."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.plugin import Qos
from tests.objects import NOWHERE, on, raw_container, raw_workload, unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

SPEC = {"schedulerName": NOWHERE, "containers": [raw_container(requests={"cpu": "100m", "memory": "64Mi"})]}


@pytest.fixture
def pod_of(control_plane: ControlPlane, namespace: str, make_node: Callable[..., Object]) -> Callable[..., str]:
    """Creates a workload, waits for its one pod, binds that to a node or to a new one, and returns its name."""

    def create(*objects: Object, node: Object | None = None) -> str:
        control_plane.apply(objects)

        def made() -> Object | None:
            pods = control_plane.api.list_items("v1", "Pod", namespace, labelSelector="app=web")
            return pods[0] if pods else None

        pod = wait_for(made, "the controllers made a pod")
        if not pod["spec"].get("nodeName"):
            control_plane.bind(pod, (node or make_node())["metadata"]["name"])
        name: str = pod["metadata"]["name"]
        return name

    return create


def test_F3_deployment(qos: Qos, namespace: str, pod_of: Callable[..., str]) -> None:
    name = pod_of(raw_workload("Deployment", "web", namespace, pod_spec=SPEC))

    brief = qos.text(f"pod/{name}", "-n", namespace)
    text = qos.text(f"pod/{name}", "-n", namespace, "-o", "wide")

    replica_set = name.rpartition("-")[0]
    assert "Force delete no promise is broken: two may run (Deployment web)" in brief
    assert f"Owner ReplicaSet {replica_set} < Deployment web" in text
    risk = f"ReplicaSet {replica_set} may start a replacement while it still runs"
    assert f"Force delete no promise is broken: {risk}" in text
    assert all(f"kubectl qos explain deployment/web -n {namespace}" in page for page in (brief, text))


def test_F3_stateful_set(qos: Qos, namespace: str, pod_of: Callable[..., str]) -> None:
    assert pod_of(raw_workload("StatefulSet", "web", namespace, pod_spec=SPEC, serviceName="web")) == "web-0"

    brief = qos.text("pod/web-0", "-n", namespace)
    text = qos.text("pod/web-0", "-n", namespace, "-o", "wide")

    assert "Force delete not safe: two may run; StatefulSet web promises one" in brief
    assert "Owner StatefulSet web Next" in text
    assert "StatefulSet web promises at most one, but a second may start while it still runs" in text


def test_F3_daemon_set(qos: Qos, namespace: str, pod_of: Callable[..., str], make_node: Callable[..., Object]) -> None:
    node = make_node()
    # On another node its controller would delete it.
    name = pod_of(raw_workload("DaemonSet", "web", namespace, pod_spec={**SPEC, "nodeSelector": on(node)}), node=node)

    brief = qos.text(f"pod/{name}", "-n", namespace)
    text = qos.text(f"pod/{name}", "-n", namespace, "-o", "wide")

    assert "Force delete no promise is broken: two may run here (DaemonSet web)" in brief
    assert "Owner DaemonSet web Next" in text
    assert "DaemonSet web may start the next copy while it still runs" in text


def test_F3_cron_job(control_plane: ControlPlane, qos: Qos, namespace: str, pod_of: Callable[..., str]) -> None:
    spec = {**SPEC, "restartPolicy": "Never"}
    [cron_job] = control_plane.apply([make_cron_job(namespace, spec)])
    job = raw_workload("Job", "nightly-1", namespace, pod_spec=spec)
    job["spec"]["template"]["metadata"]["labels"] = {"app": "web"}
    # The Job that the CronJob's controller creates on schedule.
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": cron_job["metadata"]["uid"]}
    job["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    name = pod_of(job)

    brief = qos.text(f"pod/{name}", "-n", namespace)
    text = qos.text(f"pod/{name}", "-n", namespace, "-o", "wide")

    assert "Force delete no promise is broken: work may be done twice (CronJob nightly)" in brief
    assert "Owner Job nightly-1 < CronJob nightly" in text
    assert "Job nightly-1 may start the work again while it still runs" in text


def test_F3_bare_pod(control_plane: ControlPlane, qos: Qos, namespace: str, pod_of: Callable[..., str]) -> None:
    name = pod_of(unscheduled_pod(namespace))

    line = "Force delete no promise is broken: its processes may run on, and no controller replaces it"
    assert line in qos.text(f"pod/{name}", "-n", namespace)
    assert qos.json(f"pod/{name}", "-n", namespace)["owners"] == []


def test_deleted_owner(control_plane: ControlPlane, qos: Qos, namespace: str, pod_of: Callable[..., str]) -> None:
    name = pod_of(raw_workload("Deployment", "web", namespace, pod_spec=SPEC))
    control_plane.kubectl("delete", "deployment", "web", "-n", namespace, "--cascade=orphan")
    control_plane.kubectl("delete", "replicaset", "-l", "app=web", "-n", namespace, "--cascade=orphan")

    def alone() -> str | None:
        # The brief page has no line for an owner that "Force delete" names.
        text = qos.text(f"pod/{name}", "-n", namespace, "-o", "wide")
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
def test_workload_with_its_pods(
    control_plane: ControlPlane, qos: Qos, namespace: str, kind: str, more: dict[str, Any]
) -> None:
    spec = {**SPEC, "restartPolicy": "Never"} if kind == "Job" else SPEC
    control_plane.apply([raw_workload(kind, "web", namespace, pod_spec=spec, **more)])

    def made() -> list[str] | None:
        pods = control_plane.api.list_items("v1", "Pod", namespace)
        return sorted(pod["metadata"]["name"] for pod in pods) if len(pods) == 2 else None

    names = wait_for(made, "there are two pods")
    answer = qos.json(f"{kind.lower()}/web", "-n", namespace)
    text = qos.text(f"{kind.lower()}/web", "-n", namespace)
    wide = qos.text(f"{kind.lower()}/web", "-n", namespace, "-o", "wide")

    assert [answer["workloadKind"], answer["name"]] == [kind, "web"]
    assert [pod["name"] for pod in answer["pods"]] == names
    assert {pod["qosClass"] for pod in answer["pods"]} == {"Burstable"} == {answer["template"]["qos"]["qosClass"]}
    assert text.startswith(f"{kind.lower()}/web in namespace {namespace}")
    assert f" 0 of 2 {'succeeded' if kind == 'Job' else 'run'}, 2 pending for up to " in text
    assert f" s, such as {names[0]}: it has no node yet. Each new pod: Burstable: " in text
    assert "2 pods now pod restarts age status" in text
    assert all(re.search(rf" {name} 0 \d+s Pending (?!on )", text) for name in names)
    assert "2 pods now pod qos priority restarts age status" in wide
    assert all(re.search(rf" {name} Burstable 0 0 \d+s Pending (?!on )", wide) for name in names)


def test_F3_next_pod_has_the_promise_of_its_owner(qos: Qos, namespace: str) -> None:
    kinds = {
        "Deployment": "AvailabilityFirst",
        "ReplicaSet": "AvailabilityFirst",
        "StatefulSet": "AtMostOne",
        "DaemonSet": "OnePerNode",
        "Job": "RunsToCompletion",
    }
    workloads = [raw_workload(kind, kind.lower(), namespace, pod_spec=SPEC) for kind in kinds]
    manifest = {"apiVersion": "v1", "kind": "List", "items": workloads}

    answer = qos.json("-f", "-", stdin=json.dumps(manifest))

    promises = {item["name"]: item["owner"]["guarantee"] for item in answer["items"]}
    assert promises == {kind.lower(): promise for kind, promise in kinds.items()}


def test_replicas_wanted(control_plane: ControlPlane, qos: Qos, namespace: str) -> None:
    control_plane.apply([raw_workload("Deployment", "web", namespace, pod_spec=SPEC, replicas=3)])

    assert qos.json("deployment/web", "-n", namespace)["replicas"] == 3
    text = qos.text("deployments.apps/web", "-n", namespace)
    assert text.startswith(f"deployment/web in namespace {namespace}, 3 replicas wanted 0 of 3 run, ")


def test_job_does_not_count_replicas(control_plane: ControlPlane, qos: Qos, namespace: str) -> None:
    control_plane.apply([raw_workload("Job", "web", namespace, pod_spec={**SPEC, "restartPolicy": "Never"})])

    assert "replicas wanted" not in qos.text("job/web", "-n", namespace)


def test_cron_job_without_pods(control_plane: ControlPlane, qos: Qos, namespace: str) -> None:
    control_plane.apply([make_cron_job(namespace, {**SPEC, "restartPolicy": "Never"})])

    answer = qos.json("cj/nightly", "-n", namespace)

    assert answer["template"]["qos"]["qosClass"] == "Burstable"
    assert answer["pods"] is None
    assert qos.text("cronjob/nightly", "-n", namespace).startswith(
        f"cronjob/nightly in namespace {namespace} Suspended: it makes no Jobs; it has made no Job yet, no Job runs. "
        "Each new pod: Burstable: "
    )


def test_workload_of_an_unknown_class(control_plane: ControlPlane, qos: Qos, namespace: str) -> None:
    """The API server accepts the Deployment and rejects its pods, one by one."""
    control_plane.apply([raw_workload("Deployment", "web", namespace, pod_spec={**SPEC, "priorityClassName": "nope"})])

    text = qos.text("deployment/web", "-n", namespace)

    assert "0 of 1 run, 1 not made yet" in text
    assert (
        'The API server will refuse each new pod: pods "web" is forbidden: no PriorityClass with name nope was found'
    ) in text


def make_cron_job(namespace: str, pod_spec: Object) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": namespace},
        "spec": {
            "schedule": "0 3 * * *",
            "suspend": True,
            "jobTemplate": {
                "spec": {"template": {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec}},
            },
        },
    }
