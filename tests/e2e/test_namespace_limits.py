"""Namespace limits for pods, compared with a real API server: its messages, and the requests that an answer takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from cluster_io.live.responses import Response
from cluster_io.live.transport import KubectlProxy
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.access import robot
from tests.e2e.plugin import InProcess, Plugin, flat
from tests.objects import raw_container, raw_object, raw_workload, unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

_BEFORE: Final = {"new pod": 13, "new pod without placement": 9, "pod that is there": 9, "deployment": 14}
"""Requests that ``explain -f`` takes without quotas; two are for our webhook and its policies, and one for the
namespace of new objects."""
_PODS: Final[Mapping[str, Mapping[str, Any]]] = {
    "fits": {"requests": {"cpu": "100m", "memory": "10Mi"}},
    "asks for more than its default limit": {"requests": {"cpu": "800m", "memory": "10Mi"}},
    "above the maximum": {"requests": {"cpu": "3", "memory": "10Mi"}, "limits": {"cpu": "3"}},
    "over the quota": {"requests": {"cpu": "100m", "memory": "2Gi"}, "limits": {"cpu": "1"}},
    "asks for what nothing is said of": {"limits": {"cpu": "1"}},
    "violates Pod Security": {"requests": {"cpu": "100m", "memory": "10Mi"}, "hostNetwork": True},
    "violates it, and is over the quota": {"requests": {"cpu": "100m", "memory": "2Gi"}, "hostPID": True},
}


@pytest.fixture
def bounded(control_plane: ControlPlane, namespace: str) -> str:
    """A namespace with a LimitRange, a quota that is counted, and a Pod Security level."""
    api = control_plane.api
    space = api.get("v1", "Namespace", namespace)
    api.patch(space, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}})
    hard = {"requests.memory": "1Gi", "pods": "5"}
    limits = {"type": "Container", "default": {"cpu": "500m"}, "max": {"cpu": "2"}}
    bounds = raw_object("LimitRange", "l", namespace, spec={"limits": [limits]})
    control_plane.apply([bounds, raw_object("ResourceQuota", "q", namespace, spec={"hard": hard})])
    wait_for(lambda: "hard" in api.get("v1", "ResourceQuota", "q", namespace).get("status", {}), "the quota is counted")
    over, insecure = (pod_of(namespace, _PODS[name]) for name in ("over the quota", "violates Pod Security"))
    # The API server does not count pods that it admits before it knows the quota.
    wait_for(lambda: "exceeded quota" in refused(control_plane, over), "the API server knows the quota")
    # A pod that really uses it: the controller overwrites values that are set by hand.
    control_plane.apply([unscheduled_pod(namespace, "other", containers=[raw_container(requests={"memory": "100Mi"})])])
    used = {"requests.memory": "100Mi", "pods": "1"}
    wait_for(lambda: api.get("v1", "ResourceQuota", "q", namespace)["status"]["used"] == used, "the pod is counted")
    wait_for(lambda: "used: requests.memory=100Mi" in refused(control_plane, over), "the quota counts")
    wait_for(lambda: "violates PodSecurity" in refused(control_plane, insecure), "the level counts")
    return namespace


def pod_of(namespace: str, case: Mapping[str, Any]) -> Object:
    """The pod of a case: its resources, and its other fields."""
    spec = {key: value for key, value in case.items() if key.startswith("host")}
    resources = {key: value for key, value in case.items() if key not in spec}
    return unscheduled_pod(
        namespace, containers=[raw_container(**resources)], schedulerName="default-scheduler", **spec
    )


def refused(control_plane: ControlPlane, pod: Object) -> str:
    """Why the API server rejects a pod; empty: it accepts the pod."""
    api = control_plane.api
    try:
        api.request("POST", api.path("v1", "Pod", pod["metadata"]["namespace"]), pod, query={"dryRun": "All"})
    except ApiError as error:
        return error.message
    return ""


@pytest.mark.parametrize("case", _PODS.values(), ids=_PODS)
def test_a_pod_is_refused_in_the_words_of_the_api_server(
    control_plane: ControlPlane, qos: InProcess, bounded: str, tmp_path: Path, case: Mapping[str, Any]
) -> None:
    pod = pod_of(bounded, case)
    file = tmp_path / "pod.yaml"
    file.write_text(yaml.safe_dump(pod))
    said = refused(control_plane, pod)

    planned = qos.also("place").json("-f", file, code=7)
    assert [entry["reason"] for entry in planned["refused"]] == ([said] if said else [])
    # A live `explain` does not read the labels of the namespace.
    if not any(key.startswith("host") for key in case):
        refusal = qos.json("-f", file, code=6 if said else 0)["refusal"]
        assert (refusal or {"message": ""})["message"] == said


def test_a_namespace_that_does_not_exist_refuses_all(
    control_plane: ControlPlane, qos: InProcess, tmp_path: Path
) -> None:
    pod, file = unscheduled_pod("no-such-shop", schedulerName="default-scheduler"), tmp_path / "pod.yaml"
    file.write_text(yaml.safe_dump(pod))
    said = refused(control_plane, pod)

    assert said == 'namespaces "no-such-shop" not found'
    assert qos.json("-f", file, code=6)["refusal"]["message"] == said
    assert [entry["reason"] for entry in qos.also("place").json("-f", file, code=6)["refused"]] == [said]


def test_an_answer_takes_no_more_requests(
    control_plane: ControlPlane, qos: InProcess, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    get = KubectlProxy.get

    def noted(self: KubectlProxy, path: str, *more: str) -> Response:
        asked.append(path)
        return get(self, path, *more)

    monkeypatch.setattr(KubectlProxy, "get", noted)
    pod = unscheduled_pod(namespace, schedulerName="default-scheduler")
    workload = raw_workload("Deployment", "new", namespace, pod_spec=pod["spec"])

    def requests(written: Object, *options: str) -> int:
        asked.clear()
        file = tmp_path / "written.yaml"
        file.write_text(yaml.safe_dump(written))
        assert qos("-f", file, *options).code == 0
        return len(asked)

    found = {"new pod": requests(pod), "new pod without placement": requests(pod, "--no-placement")}
    assert f"/api/v1/namespaces/{namespace}/resourcequotas?limit=500" in asked
    found["deployment"] = requests(workload)
    assert f"/api/v1/namespaces/{namespace}/resourcequotas?limit=500" in asked
    control_plane.apply([unscheduled_pod(namespace)])
    found["pod that is there"] = requests(pod)

    assert {name: count for name, count in found.items() if count > _BEFORE[name]} == {}
    assert found.keys() == _BEFORE.keys()


def test_without_the_right_to_read_quotas(
    control_plane: ControlPlane, kubectl_qos: Plugin, bounded: str, tmp_path: Path
) -> None:
    allowed = {"pods": ["get", "list"], "limitranges": ["list"]}
    kubeconfig = robot(control_plane, bounded, allowed)
    file = tmp_path / "pod.yaml"
    file.write_text(
        yaml.safe_dump(unscheduled_pod(bounded, "new", containers=[raw_container(requests={"memory": "2Gi"})]))
    )

    ran = kubectl_qos("-f", file, "-o", "wide", kubeconfig=kubeconfig)

    assert ran.code == 11
    ask = f"kubectl auth can-i list resourcequotas -n {bounded}"
    assert f"resourcequotas in {bounded}: you may not list them ({ask}" in flat(ran.out)
    assert kubectl_qos("-f", file).code == 6


def test_quota_rejects_pods_of_a_new_workload(qos: InProcess, bounded: str, tmp_path: Path) -> None:
    spec = unscheduled_pod(bounded, containers=[raw_container(requests={"memory": "2Gi"})])["spec"]
    file = tmp_path / "workload.yaml"
    file.write_text(yaml.safe_dump(raw_workload("Deployment", "web", bounded, pod_spec=spec)))

    exceeded = "exceeded quota: q, requested: requests.memory=2Gi, used: requests.memory=100Mi"
    assert exceeded in qos.json("-f", file, code=6)["refusal"]["message"]
    [refused] = qos.also("place").json("-f", file, code=7)["refused"]
    assert exceeded in refused["reason"]
