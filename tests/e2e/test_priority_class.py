"""The API server rejects priorities as the rules predict, in the same words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.misfit import FieldError
from podrules.api.model.policy import PriorityClass
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.space import Space
from tests.objects import raw_priority_class, unscheduled_pod
from tests.restated.priority import validate_priority_class, validate_priority_class_update

pytestmark = pytest.mark.controlplane

NEW_CLASSES = {
    "highest of a user": raw_priority_class("highest", 1_000_000_000),
    "one more": raw_priority_class("over", 1_000_000_001),
    "lowest": raw_priority_class("lowest", -(2**31)),
    "name with capitals": raw_priority_class("High", 1),
    "name with underscore": raw_priority_class("very_high", 1),
    "name ends with a dash": raw_priority_class("high-", 1),
    "name with dots": raw_priority_class("shop.high", 1),
    "empty label in the name": raw_priority_class("shop..high", 1),
    "longest name": raw_priority_class("a" * 253, 1),
    "name too long": raw_priority_class("a" * 254, 1),
    "line break at the end of the name": raw_priority_class("shop\n", 1),
    "unknown system class": raw_priority_class("system-mine", 1),
    "unknown system class of a high value": raw_priority_class("system-mine", 2_000_000_000),
    "unknown policy": raw_priority_class("odd", 1, preemptionPolicy="Sometimes"),
    "Never": raw_priority_class("meek", 1, preemptionPolicy="Never"),
    "everything wrong": raw_priority_class("system-Odd_", 1_000_000_001, preemptionPolicy="never"),
    "value and policy wrong": raw_priority_class("odd", 1_000_000_001, preemptionPolicy=""),
}
UPDATES = {
    "value": {"value": 6},
    "policy": {"preemptionPolicy": "Never"},
    "value and policy": {"value": 6, "preemptionPolicy": "Never"},
    "policy as it was by default": {"preemptionPolicy": "PreemptLowerPriority"},
    "description": {"description": "new words"},
}


@pytest.mark.parametrize("new", NEW_CLASSES.values(), ids=NEW_CLASSES)
def test_P1_new_class(control_plane: ControlPlane, new: Object) -> None:
    api = control_plane.api
    path = api.path("scheduling.k8s.io/v1", "PriorityClass")

    said = refusal(lambda: api.request("POST", path, new, query={"dryRun": "All"}))

    assert said == as_the_server_says(new, validate_priority_class(from_object(new, PriorityClass)))


@pytest.mark.parametrize("change", UPDATES.values(), ids=UPDATES)
def test_P1_changed_class(control_plane: ControlPlane, namespace: str, change: dict[str, Any]) -> None:
    api = control_plane.api
    stored = api.create(raw_priority_class(f"{namespace}-class", 5))

    said = refusal(lambda: api.patch(stored, change))

    api.delete(stored)
    old, new = from_object(stored, PriorityClass), from_object({**stored, **change}, PriorityClass)
    assert said == as_the_server_says(stored, validate_priority_class_update(new, old))


REFUSED_PODS = {
    "unknown class": {"priorityClassName": "nope"},
    "own priority without class": {"priority": 5},
    "priority of another class": {"priorityClassName": "system-node-critical", "priority": 5},
    "own policy": {"preemptionPolicy": "Never"},
    "own policy beside a class": {"priorityClassName": "system-cluster-critical", "preemptionPolicy": "Never"},
}


@pytest.mark.parametrize("spec", REFUSED_PODS.values(), ids=REFUSED_PODS)
def test_P1_refused_pod(space: Space, spec: dict[str, Any]) -> None:
    manifest = json.dumps(unscheduled_pod(space.name, **spec))

    answer = space.qos.json("-f", "-", stdin=manifest, code=6)["priority"]
    refused = space.plane.kubectl("create", "-f", "-", input=manifest, check=False)

    lead = 'Error from server (Forbidden): error when creating "STDIN": '
    assert refused.returncode == 1
    assert refused.stderr == f"{lead}{answer['rejected']}\n"
    assert answer["priority"] is None


def test_P1_refused_pod_with_a_generated_name(space: Space) -> None:
    pod = unscheduled_pod(space.name, priorityClassName="nope")
    pod["metadata"] = {"generateName": "web-", "namespace": space.name}

    answer = space.qos.json("-f", "-", stdin=json.dumps(pod), code=6)["priority"]
    refused = space.plane.kubectl("create", "-f", "-", input=json.dumps(pod), check=False)

    assert refused.stderr == f'Error from server (Forbidden): error when creating "STDIN": {answer["rejected"]}\n'


def test_P1_refusal_comes_first(space: Space) -> None:
    manifest = json.dumps(unscheduled_pod(space.name, priorityClassName="nope"))

    text = space.qos.text("-f", "-", stdin=manifest, code=6)

    words = 'pods "web" is forbidden: no PriorityClass with name nope was found'
    assert text.startswith(f"Pod web in namespace {space.name} (from standard input) x Refused: {words}")
    assert f"Priority rejected: {words}" in text


def refusal(request: Any) -> str | None:
    """The API server's message; None if it accepts the object."""
    try:
        request()
    except ApiError as error:
        if error.reason != "Invalid":
            raise
        return error.message
    return None


def as_the_server_says(obj: Object, problems: tuple[FieldError, ...]) -> str | None:
    """Field errors as a Status has them (errors.NewInvalid)."""
    if not problems:
        return None
    listed = str(problems[0]) if len(problems) == 1 else f"[{', '.join(map(str, problems))}]"
    return f"PriorityClass.scheduling.k8s.io {json.dumps(obj['metadata']['name'])} is invalid: {listed}"
