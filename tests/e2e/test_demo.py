"""The demo cluster is realistic: a real API server accepts its objects and stores its pods as the demo has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from cluster_io.demo import demo_objects
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PriorityClass
from podrules.pod.priority import admit_pod_create
from tests.controlplane.binaries import Binaries
from tests.controlplane.client import ApiClient, ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.demo import as_written
from tests.objects import raw_priority_class, raw_service_account, unscheduled_pod
from tests.restated.priority import admit_priority_class

pytestmark = pytest.mark.controlplane

BUILT_IN = {
    ("Namespace", "default"),
    ("Namespace", "kube-node-lease"),
    ("Namespace", "kube-public"),
    ("Namespace", "kube-system"),
    ("PriorityClass", "system-cluster-critical"),
    ("PriorityClass", "system-node-critical"),
}
ADMITTED = ("priority", "priorityClassName", "preemptionPolicy")


class Created(NamedTuple):
    """The demo's objects as a real API server stored them."""

    control_plane: ControlPlane
    pods: list[tuple[Object, Object]]
    """Each as the demo has it, and as it was stored."""
    refused: list[tuple[Object, ApiError]]
    total: int


@pytest.fixture(scope="module")
def created(control_plane_binaries: Binaries) -> Iterator[Created]:
    """An API server of its own: the demo's PriorityClass for all pods would count in other tests too."""
    with ControlPlane(control_plane_binaries, scheduler=False, controllers=False) as alone:
        # Pods are refused in a namespace without its service account, which no controller makes here.
        for namespace in ("kube-system", "kube-public", "kube-node-lease"):
            alone.apply([raw_service_account(namespace)])
        pods: list[tuple[Object, Object]] = []
        refused: list[tuple[Object, ApiError]] = []
        objects = demo_objects()
        for shown in objects:
            try:
                stored = _created(alone.api, as_written(shown))
            except ApiError as error:
                refused.append((shown, error))
                continue
            if shown["kind"] == "Namespace":
                alone.apply([raw_service_account(shown["metadata"]["name"])])
            if shown["kind"] == "PriorityClass":
                # That returns when admission has seen it.
                alone.apply([as_written(shown)])
            if shown["kind"] == "Pod":
                pods.append((shown, stored))
        yield Created(alone, pods, refused, len(objects))


def _created(api: ApiClient, obj: Object) -> Object:
    """As stored; `ApiClient.create` would take an object that was there for its own on a machine that stood still."""
    if (obj["kind"], obj["metadata"]["name"]) in BUILT_IN:
        return api.request("POST", api.path(obj["apiVersion"], obj["kind"]), obj)
    return api.create(obj)


def test_everything_else_is_accepted(created: Created) -> None:
    surprising = [
        (shown["kind"], shown["metadata"]["name"], str(error))
        for shown, error in created.refused
        if (shown["kind"], shown["metadata"]["name"]) not in BUILT_IN
        and not shown["metadata"]["name"].startswith("loyalty-")
    ]

    assert not surprising
    assert created.total > 250


def test_built_in_objects_exist_already(created: Created) -> None:
    existing = {(shown["kind"], shown["metadata"]["name"]) for shown, error in created.refused if error.code == 409}

    assert existing == BUILT_IN


def test_pods_of_the_deleted_class_are_refused_in_our_words(created: Created) -> None:
    refused = [(shown, error) for shown, error in created.refused if shown["kind"] == "Pod"]

    assert len(refused) == 2
    for shown, error in refused:
        assert shown["metadata"]["namespace"] == "shop"
        assert error.message == admit_pod_create(from_object(shown, Pod), {})


def test_P1_admission_gives_the_demo_priorities(created: Created) -> None:
    shown = {pod["metadata"]["name"]: [pod["spec"].get(field) for field in ADMITTED] for pod, _ in created.pods}
    admitted = {pod["metadata"]["name"]: [pod["spec"].get(field) for field in ADMITTED] for _, pod in created.pods}

    assert admitted == shown
    assert len(Counter(name for _, name, _ in shown.values())) == 6


def test_Q1_api_server_gives_the_demo_classes(created: Created) -> None:
    shown = {pod["metadata"]["name"]: pod["status"]["qosClass"] for pod, _ in created.pods}

    assert {pod["metadata"]["name"]: pod["status"]["qosClass"] for _, pod in created.pods} == shown
    assert set(shown.values()) == {"Guaranteed", "Burstable", "BestEffort"}


def test_P1_only_one_default_class(created: Created) -> None:
    second = raw_priority_class("second-default", 7, globalDefault=True)

    with pytest.raises(ApiError) as refused:
        created.control_plane.api.create(second)

    classes = created.control_plane.api.list_items("scheduling.k8s.io/v1", "PriorityClass")
    predicted = admit_priority_class(
        from_object(second, PriorityClass), [from_object(entry, PriorityClass) for entry in classes], is_update=False
    )
    assert refused.value.code == 403
    assert refused.value.message == predicted
    assert predicted is not None


def test_P1_pod_without_class_gets_the_default_one(created: Created) -> None:
    manifest = unscheduled_pod("shop", "nameless")

    stored = created.control_plane.api.create(manifest)

    classes = created.control_plane.api.list_items("scheduling.k8s.io/v1", "PriorityClass")
    by_name = {entry["metadata"]["name"]: from_object(entry, PriorityClass) for entry in classes}
    predicted = admit_pod_create(from_object(manifest, Pod), by_name)
    assert not isinstance(predicted, str)
    assert [stored["spec"][field] for field in ADMITTED] == [100, "shop-default", "PreemptLowerPriority"]
    assert [predicted.priority, predicted.priority_class_name, predicted.preemption_policy] == [
        stored["spec"][field] for field in ADMITTED
    ]
