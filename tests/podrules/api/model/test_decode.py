"""Decoding of the API server's JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from podrules.api.model.base import KubeObject, OwnerReference
from podrules.api.model.decode import DecodeError, from_json, from_object
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.policy import LimitRange, RuntimeClass
from tests.objects import make_node, make_pod, raw_container, raw_owner, raw_sidecar
from tests.table import table

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "deletionGracePeriodSeconds": 30, "managedFields": [{"manager": "kubectl"}]},
    "spec": {
        "nodeName": "node-1",
        "containers": [
            {
                "name": "app",
                "resources": {"requests": {"cpu": "100m", "memory": 1024}},
                "lifecycle": {"preStop": {"sleep": {"seconds": 5}}, "stopSignal": "SIGUSR1"},
            }
        ],
        "initContainers": [{"name": "mesh", "restartPolicy": "Always"}],
        "priorityClassName": "high",
    },
    "status": {"phase": "Running", "qosClass": "Burstable"},
}


def test_pod_from_json() -> None:
    pod = from_json(json.dumps(POD), Pod)
    assert pod == from_json(json.dumps(POD).encode(), Pod) == from_object(POD, Pod)
    assert (pod.metadata.name, pod.metadata.deletion_grace_period_seconds) == ("web", 30)
    container = pod.spec.containers[0]
    assert {name: str(amount) for name, amount in container.resources.requests.items()} == {
        "cpu": "100m",
        "memory": "1024",
    }
    assert container.lifecycle is not None
    assert container.lifecycle.pre_stop is not None
    assert container.lifecycle.pre_stop.sleep is not None
    assert (container.lifecycle.pre_stop.sleep.seconds, container.lifecycle.stop_signal) == (5, "SIGUSR1")
    assert pod.spec.init_containers[0].restarts_always
    assert (pod.spec.priority_class_name, pod.status.phase, pod.status.qos_class) == ("high", "Running", "Burstable")


def test_absent_fields_have_the_zero_values_of_go() -> None:
    pod = from_json("{}", Pod)
    assert pod == Pod()
    assert (pod.spec.containers, pod.spec.node_name, pod.spec.priority, pod.spec.resources) == ((), "", None, None)


def test_set_but_empty_is_not_absent() -> None:
    assert from_json('{"spec": {"resources": {}}}', Pod).spec.resources is not None


NULLS = {
    "metadata": {"name": None, "labels": None, "ownerReferences": None},
    "spec": {"containers": [{"name": "app", "resources": None, "lifecycle": {"preStop": None}}], "overhead": None},
    "status": None,
}


def test_null_is_absent() -> None:
    pod = make_pod("", namespace="", containers=[raw_container(lifecycle={"stopSignal": ""})])
    for decoded in (from_json(json.dumps(NULLS), Pod), from_object(NULLS, Pod)):
        assert decoded.metadata == pod.metadata
        assert decoded.spec.containers[0].resources == pod.spec.containers[0].resources
        assert decoded.spec.containers[0].lifecycle is not None
        assert decoded.spec.containers[0].lifecycle.pre_stop is None
        assert decoded.status == pod.status


@table(
    "value, message",
    {
        "wrong type": ({"spec": {"priority": "high"}}, 'spec.priority: "high" is a string; write a whole number'),
        "in a list": (
            {"spec": {"containers": [{"name": "a"}, {"name": 5}]}},
            "spec.containers[1].name: 5 is a number; write a string, in quotation marks",
        ),
        "not an object": ([], "this is a list; write a mapping"),
        "a string": ("pod", '"pod" is a string; write a mapping'),
    },
)
def test_refusal_names_the_field_first(value: Any, message: str) -> None:
    with pytest.raises(DecodeError) as raised:
        from_object(value, Pod)
    assert str(raised.value) == message
    with pytest.raises(DecodeError) as raised:
        from_json(json.dumps(value), Pod)
    assert str(raised.value) == message


@pytest.mark.parametrize("amount", ["lots", True, []])
def test_refusal_of_a_quantity_names_its_place(amount: Any) -> None:
    value = {"spec": {"containers": [{"resources": {"limits": {"memory": amount}}}]}}
    with pytest.raises(DecodeError, match=r"^spec\.containers\[0\]\.resources\.limits\.memory: .* is not a quantity: "):
        from_object(value, Pod)


@table(
    "value, kind, place",
    {
        "label": ({"metadata": {"labels": {"a": "b", "c": 5}}}, Pod, "metadata.labels.c"),
        "limit beside a number": (
            {"spec": {"containers": [{"resources": {"limits": {"cpu": 1, "memory": "lots"}}}]}},
            Pod,
            "spec.containers[0].resources.limits.memory",
        ),
        "overhead": ({"spec": {"overhead": {"cpu": 1, "memory": "lots"}}}, Pod, "spec.overhead.memory"),
        "node": ({"status": {"allocatable": {"cpu": 1, "pods": "many"}}}, Node, "status.allocatable.pods"),
        "default of a LimitRange": (
            {"spec": {"limits": [{"default": {"cpu": 1, "memory": "lots"}}]}},
            LimitRange,
            "spec.limits[0].default.memory",
        ),
        "overhead of a RuntimeClass": (
            {"overhead": {"podFixed": {"cpu": 1, "memory": "lots"}}},
            RuntimeClass,
            "overhead.podFixed.memory",
        ),
    },
)
def test_refusal_names_the_key_of_a_map(value: dict[str, Any], kind: type[KubeObject], place: str) -> None:
    with pytest.raises(DecodeError) as raised:
        from_object(value, kind)
    assert str(raised.value).partition(": ")[0] == place


@table(
    "text",
    {
        "nothing": "",
        "cut off": '{"metadata":',
        "YAML": "pod: yaml",
        "not UTF-8": b"\xff\xfe",
        "nested too deeply": "[" * 100_000,
        "objects nested too deeply": '{"spec": ' * 100_000,
    },
)
def test_refusal_of_invalid_json(text: bytes | str) -> None:
    with pytest.raises(DecodeError):
        from_json(text, Pod)


def test_object_of_any_depth_is_read() -> None:
    value: dict[str, Any] = {}
    for _ in range(100_000):
        value = {"x": value}
    assert from_object({"metadata": {"name": "web"}, **value}, Pod).metadata.name == "web"


def test_containers_of_a_pod_with_their_places() -> None:
    pod = make_pod(
        containers=[raw_container("a"), raw_container("b", restartPolicy="Always")],
        initContainers=[raw_container("init"), raw_sidecar("mesh")],
        ephemeralContainers=[raw_container("debugger")],
    )
    assert [(ref.container.name, ref.field, ref.is_init, ref.is_sidecar) for ref in pod.containers()] == [
        ("a", "spec.containers[0]", False, False),
        ("b", "spec.containers[1]", False, False),
        ("init", "spec.initContainers[0]", True, False),
        ("mesh", "spec.initContainers[1]", True, True),
    ]


def test_controller_among_owners() -> None:
    follower, controller = (
        from_object(raw_owner("Widget", controller=False), OwnerReference),
        from_object(raw_owner("ReplicaSet"), OwnerReference),
    )
    assert make_pod(metadata={"ownerReferences": [follower, controller]}).metadata.controller == controller
    assert make_pod(metadata={"ownerReferences": [follower]}).metadata.controller is None


@pytest.mark.parametrize(
    ("api_version", "group"), [("apps/v1", "apps"), ("v1", ""), ("", ""), ("batch.volcano.sh/v1", "batch.volcano.sh")]
)
def test_group_of_an_owner(api_version: str, group: str) -> None:
    assert from_object(raw_owner("Job", apiVersion=api_version), OwnerReference).group == group


def test_condition_by_type() -> None:
    pod = make_pod(
        status={"conditions": [{"type": "Ready", "status": "False"}, {"type": "DisruptionTarget", "reason": "Evicted"}]}
    )
    found = pod.status.condition("DisruptionTarget")
    assert found is not None
    assert found.reason == "Evicted"
    assert pod.status.condition("PodResizePending") is None


def test_ready_condition_of_a_node() -> None:
    conditions = [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "Unknown"}]
    ready = from_object({"status": {"conditions": conditions}}, Node).ready
    assert ready is not None
    assert ready.status == "Unknown"
    assert make_node().ready is None


_FIRST_MEETINGS = """
import sys, threading
from podrules.api.model.base import Model
from podrules.api.model.decode import from_json

sys.setswitchinterval(1e-6)
SHAPES = "class Inner(Model, frozen=True): x: int = 0\\nclass Outer(Model, frozen=True): a: Inner = Inner()"
for _ in range(200):
    exec(SHAPES)
    begin = threading.Barrier(4)
    def meet():
        begin.wait()
        from_json(b'{"a":{"x":1}}', Outer)
    threads = [threading.Thread(target=meet) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


def test_threads_may_decode_a_kind_concurrently() -> None:
    """Otherwise msgspec crashes now and then, and Python with it."""
    done = subprocess.run([sys.executable, "-c", _FIRST_MEETINGS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
