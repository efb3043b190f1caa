"""The cost of an answer grows with its pods and with the parts of each pod, not with their product.

The cost is the number of calls, which does not depend on the load of the machine; `make scale` measures the time.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import pytest

from cluster_io.in_memory import MemorySource
from kubectl_plugin.commands import explain
from kubectl_plugin.exit_codes import NOT_CERTAIN
from kubectl_plugin.options import CommandFunction, Streams
from kubectl_plugin.parsing import parse
from tests.objects import raw_container, raw_pod
from tests.scale import cluster
from tests.scale.cluster import Size

PODS_PER_NODE = 2


@pytest.mark.parametrize("output", ["table", "json", "wide"])
def test_work_for_a_list_grows_with_its_pods(output: str) -> None:
    words = ["explain", "pods", "-A", "--snapshot=large.json", "-o", output]

    def calls(pods: int) -> int:
        count, text = _calls(words, _source(Size(pods // PODS_PER_NODE, pods)))
        assert text.count(cluster.pod_name(pods - 1)) >= 1
        return count

    calls(10)  # Imports and caches are loaded from here on.
    few, some, many = map(calls, (40, 80, 160))

    assert many - some == pytest.approx(2 * (some - few), rel=0.03)


def _containers(count: int) -> dict[str, Any]:
    own = {"requests": {"cpu": "1m", "memory": "1Mi"}}
    return {"containers": [raw_container(f"c-{number}", resources=own) for number in range(count)]}


PARTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "containers": lambda count: {**_containers(count), "resources": {"requests": {"memory": "1Gi"}}},
    "sidecars": lambda count: {
        "initContainers": [{**one, "restartPolicy": "Always"} for one in _containers(count)["containers"]]
    },
    "topology spread constraints": lambda count: {
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": f"key-{number}", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
            for number in range(count)
        ]
    },
}
"""Parts that a pod may have by the thousand: the API server sets no limit."""


@pytest.mark.parametrize("part", PARTS)
def test_work_for_a_pod_grows_with_its_parts(part: str) -> None:
    words = ["explain", "pod/many", "--snapshot=many.json"]
    node = "" if part == "topology spread constraints" else cluster.node(0)["metadata"]["name"]

    def calls(count: int) -> int:
        source = _source(Size(4, 8), raw_pod("many", "default", nodeName=node, **PARTS[part](count)))
        return _calls(words, source)[0]

    calls(50)
    few, some, many = map(calls, (50, 100, 200))

    assert many - some == pytest.approx(2 * (some - few), rel=0.1)


def _calls(words: list[str], source: MemorySource) -> tuple[int, str]:
    """The number of function calls until the answer is complete, and the answer."""
    out = io.StringIO()
    run: CommandFunction = explain.run
    options = parse(words).options
    count = 0

    def counted(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        code = run(options, source, Streams(io.StringIO(), out, io.StringIO()))
    finally:
        sys.setprofile(before)
    assert code in {0, NOT_CERTAIN}
    return count, out.getvalue()


def _source(size: Size, *more: dict[str, Any]) -> MemorySource:
    nodes = [cluster.node(number) | {"status": cluster.node_status(number)} for number in range(size.nodes)]
    pods = [cluster.pod(number, size) | {"status": cluster.pod_status(number, size)} for number in range(size.pods)]
    objects: list[dict[str, Any]] = [*cluster.priority_classes(), *cluster.deployments(size), *nodes, *pods, *more]
    return MemorySource(objects, description="a large cluster")
