"""The largest and strangest objects that a real API server accepts: they disable no refusal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_container, raw_priority_class
from tests.webhook.asking import make_workload, template_of
from tests.webhook.forcing import ADMIN, Cluster, make_pod, serving

pytestmark = pytest.mark.controlplane

LIMITED = "large-limited"
CLASSES = (raw_priority_class("large-low", 10), raw_priority_class("large-high", 1000))
NOT_ALLOWED = f"PriorityClass large-high is not allowed in namespace {LIMITED}"
ONLY = f"namespace {LIMITED} allows only these PriorityClasses: large-low"
DENIED = f"namespace {LIMITED} forbids force deletions"
ODD_TEXT = '{"f:a\\ud800": {}}'
"""Half a surrogate pair, which Go passes on unchanged in fields with JSON."""
DEEP = '{"f:a":' * 5000 + "{}" + "}" * 5000


def _with_commas(pod: Object) -> Object:
    pod["metadata"]["annotations"] = {"example.com/list": "," * 100_001}
    return pod


def _with_escaped_text(pod: Object) -> Object:
    """Nearly etcd's limit; each byte becomes six in JSON."""
    pod["spec"]["containers"] = [raw_container(args=["<" * 1_500_000])]
    return pod


def _with_many_values(pod: Object) -> Object:
    pod["spec"]["tolerations"] = [{"key": f"k{number}", "operator": "Exists"} for number in range(20_000)]
    return pod


SHAPES = [
    pytest.param(_with_commas, id="commas in an annotation"),
    pytest.param(_with_escaped_text, id="text that is escaped"),
    pytest.param(_with_many_values, id="many values"),
]


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The chart with every refusal for one namespace."""
    with control_plane.holding(CLASSES):
        control_plane.create_namespace(LIMITED)
        with serving(
            control_plane,
            helm,
            tmp_path_factory.mktemp("helm"),
            namespace="qos-large",
            force_deletion={"namespaces": {LIMITED: "deny"}, "exemptUsers": [ADMIN]},
            priorityClasses={"allowed": {LIMITED: ["large-low"]}, "templates": "deny"},
        ) as running:
            yield running
        control_plane.leave_namespace(LIMITED)


@pytest.mark.parametrize("grown", SHAPES)
def test_large_pod_of_a_class_that_is_not_allowed_is_refused(
    cluster: Cluster, grown: Callable[[Object], Object]
) -> None:
    pod = grown(make_pod("web", LIMITED, "", priorityClassName="large-high"))
    with pytest.raises(ApiError, match=NOT_ALLOWED):
        cluster.control_plane.api.create(pod)
    # The class is the reason, not the size.
    pod["spec"]["priorityClassName"] = "large-low"
    cluster.control_plane.api.create(pod)
    cluster.control_plane.api.delete(pod)


@pytest.mark.parametrize("path", ["delete", "eviction"])
@pytest.mark.parametrize("grown", SHAPES)
def test_force_deletion_of_a_large_pod_is_refused(
    cluster: Cluster, make_node: Callable[..., Object], grown: Callable[[Object], Object], path: str
) -> None:
    node = make_node(unschedulable=True)["metadata"]["name"]
    pod = cluster.control_plane.api.create(grown(make_pod("db", LIMITED, node)))
    done = cluster.force(path, pod)
    assert done.returncode != 0
    assert DENIED in done.stderr
    assert cluster.pod(pod) is not None
    # Only force is forbidden.
    assert cluster.kubectl("delete", "pod", "db", "-n", LIMITED, "--wait=false").returncode == 0
    cluster.control_plane.api.delete(pod, grace_period_seconds=0)


def test_change_of_a_large_template_is_refused(cluster: Cluster) -> None:
    """Its review contains it twice: 18 MB."""
    api = cluster.control_plane.api
    workload = make_workload("Deployment", LIMITED, priorityClassName="large-low")
    template_of(workload)["spec"]["containers"] = [raw_container(args=["<" * 1_500_000])]
    stored = api.create(workload)
    with pytest.raises(ApiError, match=NOT_ALLOWED):
        api.patch(stored, {"spec": {"template": {"spec": {"priorityClassName": "large-high"}}}})
    api.delete(stored)


@pytest.mark.parametrize("text", [pytest.param(ODD_TEXT, id="half a pair"), pytest.param(DEEP, id="deep")])
def test_class_of_a_template_with_odd_json_is_refused(cluster: Cluster, text: str) -> None:
    workload = make_workload("Deployment", LIMITED, priorityClassName="large-high")
    entry = {"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": "HERE"}
    template_of(workload)["metadata"]["managedFields"] = [entry]
    body = json.dumps(workload).replace('"HERE"', text).encode()
    path = cluster.control_plane.api.path("apps/v1", "Deployment", LIMITED)
    with pytest.raises(ApiError, match=NOT_ALLOWED):
        cluster.control_plane.api.request("POST", path, body)


def test_large_pods_at_once_are_all_refused(cluster: Cluster) -> None:
    """As many as a tenant can send: memory does not suffice for all, and some are refused without their objects.

    With failurePolicy Ignore, the API server stores pods without an answer, so no connection may be ended for memory.
    """
    api = cluster.control_plane.api

    def refused(number: int) -> str:
        pod = _with_escaped_text(make_pod(f"flood-{number}", LIMITED, "", priorityClassName="large-high"))
        try:
            api.create(pod)
        except ApiError as error:
            return error.message
        finally:
            api.close()
        return ""

    with ThreadPoolExecutor(16) as pool:
        said = list(pool.map(refused, range(24)))
    assert [text for text in said if NOT_ALLOWED not in text and ONLY not in text] == []
