"""The answers of ``kubectl qos place`` about pods that claim devices, compared with the real control plane.

No driver is needed: slices are written here, and the allocated devices are never prepared.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
import yaml

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.scheduling import await_node
from tests.e2e.space import Space
from tests.objects import raw_container, raw_object, raw_workload
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

API = "resource.k8s.io/v1"
DEVICES = (3, 1, 2)
"""Of each node."""
REPLICAS = 8


def _slice(name: str, driver: str, node: str, count: int) -> Object:
    devices = [{"name": f"gpu-{number}"} for number in range(count)]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "pool": pool, "nodeName": node, "devices": devices}
    return raw_object("ResourceSlice", name, spec=spec, apiVersion=API)


def _class(name: str, driver: str, **spec: Any) -> Object:
    selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
    return raw_object("DeviceClass", name, spec={"selectors": [selector], **spec})


def _template(namespace: str) -> Object:
    request = {"name": "gpu", "exactly": {"deviceClassName": namespace}}
    spec = {"spec": {"devices": {"requests": [request]}}}
    return raw_object("ResourceClaimTemplate", "gpus", namespace, spec=spec, apiVersion=API)


@pytest.fixture
def nodes(control_plane: ControlPlane, namespace: str, make_node: Callable[..., Object]) -> Iterator[Sequence[str]]:
    """Nodes with devices of a private driver; its class also provides an extended resource."""
    driver = f"{namespace}.example.com"
    made_nodes = [make_node() for _ in DEVICES]
    await_node(control_plane, made_nodes[-1], namespace)
    names = [node["metadata"]["name"] for node in made_nodes]
    made = [
        _class(namespace, driver, extendedResourceName=f"{driver}/gpu"),
        *(_slice(name, driver, name, count) for name, count in zip(names, DEVICES, strict=True)),
    ]
    with control_plane.holding(made):
        yield names


@pytest.mark.parametrize("way", ["template", "resource"])
def test_devices_are_taken(space: Space, nodes: Sequence[str], way: str) -> None:
    spec: Mapping[str, Any] = {
        "template": {
            "containers": [raw_container(requests={"cpu": "10m"})],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpus"}],
        },
        "resource": {
            "containers": [raw_container(requests={"cpu": "10m"}, limits={f"{space.name}.example.com/gpu": "1"})],
        },
    }[way]
    template = _template(space.name)
    workload = raw_workload("Deployment", "trainer", space.name, pod_spec=spec, replicas=REPLICAS)
    place = space.qos.also("place")
    ran = place("-f", "-", "-o", "json", stdin=yaml.safe_dump_all([template, workload]))
    assert (ran.code, ran.err) == (7, ""), ran
    (said,) = json.loads(ran.out)["specs"]
    assert said["nodes"] == dict(zip(nodes, DEVICES, strict=True))
    assert "cannot allocate all claims" in said["stopped"]["message"]

    for entry in (template, workload):
        space.plane.api.create(entry)

    def settled() -> Counter[str] | None:
        pods = space.plane.api.list_items("v1", "Pod", space.name)
        there = [pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")]
        refused = [
            entry
            for pod in pods
            for entry in pod["status"].get("conditions", ())
            if entry.get("reason") == "Unschedulable" and entry["message"].startswith(said["stopped"]["message"])
        ]
        return Counter(there) if len(there) + len(refused) == REPLICAS and len(there) >= said["placed"] else None

    there = wait_for(settled, "all pods are placed, or have a reason")
    assert there == said["nodes"]
