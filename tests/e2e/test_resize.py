"""The API server accepts or rejects an in-place resize as the rules predict, in the same words."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.pod.qos import resize_rejection
from tests.controlplane.client import ApiError, Object
from tests.e2e.plugin import Qos
from tests.e2e.space import Space
from tests.objects import raw_container, unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

Amounts = Mapping[str, str]
Resources = Mapping[str, Amounts]

STRATEGIC = "application/strategic-merge-patch+json"
SMALL = {"cpu": "100m", "memory": "128Mi"}
LARGE = {"cpu": "500m", "memory": "1Gi"}

Resize = tuple[Resources, Resources, bool]
"""The resources of a container before, what the patch sets, and whether the class changes."""
RESIZES: Mapping[str, Resize] = {
    "Guaranteed to Burstable": ({"requests": LARGE, "limits": LARGE}, {"requests": SMALL}, True),
    "Guaranteed stays": ({"requests": LARGE, "limits": LARGE}, {"requests": SMALL, "limits": SMALL}, False),
    "Burstable to Guaranteed": ({"requests": SMALL, "limits": LARGE}, {"requests": LARGE}, True),
    "Burstable stays": ({"requests": SMALL, "limits": LARGE}, {"requests": {"cpu": "200m"}}, False),
    "Burstable without limits stays": ({"requests": SMALL}, {"requests": LARGE}, False),
    "Burstable with a limit added": ({"requests": SMALL}, {"limits": {"cpu": "1"}}, False),
    "Burstable with all limits added": ({"requests": SMALL}, {"limits": SMALL}, True),
    "BestEffort to Burstable": ({}, {"requests": {"cpu": "1m"}}, True),
    "BestEffort to Guaranteed": ({}, {"requests": SMALL, "limits": SMALL}, True),
    "BestEffort with zero stays": ({}, {"requests": {"cpu": "0"}}, False),
}


@pytest.fixture
def node(make_node: Callable[..., Object]) -> Object:
    """A node with a kubelet that can resize pods as a whole."""
    return make_node(status={"declaredFeatures": ["InPlacePodLevelResourcesVerticalScaling"]})


@pytest.mark.parametrize("case", RESIZES.values(), ids=RESIZES)
def test_Q1_resize_of_a_container(space: Space, node: Object, case: Resize) -> None:
    before, patch, changes = case
    manifest = unscheduled_pod(
        space.name, nodeName=node["metadata"]["name"], requests=before.get("requests"), limits=before.get("limits")
    )
    pod = space.plane.api.create(manifest)

    resized = copy.deepcopy(pod)
    merge(resized["spec"]["containers"][0]["resources"], patch)
    assert_resize(space.qos, pod, resized, {"containers": [{"name": "app", "resources": patch}]}, changes=changes)


@pytest.mark.parametrize(
    ("patch", "changes"),
    [
        pytest.param({"requests": SMALL}, True, id="Guaranteed to Burstable"),
        pytest.param({"requests": SMALL, "limits": SMALL}, False, id="Guaranteed stays"),
    ],
)
def test_Q1_resize_of_the_pod_itself(space: Space, node: Object, patch: Resources, changes: bool) -> None:
    own = {"requests": LARGE, "limits": LARGE}
    pod = space.pod(nodeName=node["metadata"]["name"], resources=own)

    resized = copy.deepcopy(pod)
    merge(resized["spec"]["resources"], patch)
    assert_resize(space.qos, pod, resized, {"resources": patch}, changes=changes)


def test_Q1_resize_of_a_sidecar_counts_too(space: Space, node: Object) -> None:
    sidecar = raw_container("proxy", SMALL, SMALL, restartPolicy="Always")
    manifest = unscheduled_pod(
        space.name, requests=LARGE, limits=LARGE, initContainers=[sidecar], nodeName=node["metadata"]["name"]
    )
    pod = space.plane.api.create(manifest)
    patch = {"limits": LARGE}

    resized = copy.deepcopy(pod)
    merge(resized["spec"]["initContainers"][0]["resources"], patch)
    spec = {"initContainers": [{"name": "proxy", "resources": patch}]}
    assert_resize(space.qos, pod, resized, spec, changes=True)


def merge(resources: Object, patch: Resources) -> None:
    for side, amounts in patch.items():
        resources.setdefault(side, {}).update(amounts)


def assert_resize(qos: Qos, pod: Object, resized: Object, spec: Object, *, changes: bool) -> None:
    """The patch is rejected in the predicted words, or resizes the pod and keeps its class."""
    namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    predicted = resize_rejection(from_object(pod, Pod), from_object(resized, Pod))
    assert (predicted is not None) == changes
    manifest = {**resized, "status": {}}
    answer = qos.json("-f", "-", stdin=json.dumps(manifest))["qos"]["resize"]
    assert answer == {"existingClass": pod["status"]["qosClass"], "rejected": predicted}

    api = qos.control_plane.api

    def refusal(**query: str) -> str | None:
        """The API server's error for the patch of the resize subresource; None: it accepts it."""
        path = api.path("v1", "Pod", namespace, name, "resize")
        try:
            api.request("PATCH", path, {"spec": spec}, content_type=STRATEGIC, query=query)
        except ApiError as error:
            return f"{error.reason}: {error.message}"
        return None

    def knows_node() -> bool:
        """Whether admission has seen the pod's node, and its kubelet's features."""
        return not (refusal(dryRun="All") or "").startswith("Forbidden")

    wait_for(knows_node, "admission knows the node")
    said = refusal()

    stored = api.get("v1", "Pod", name, namespace)
    assert stored["status"]["qosClass"] == pod["status"]["qosClass"]
    assert said == (predicted and f'Invalid: Pod "{name}" is invalid: {predicted}')
    assert stored["spec"] == (resized if predicted is None else pod)["spec"]
