"""What a list costs grows with its pods, not with their product with the nodes.

Work is counted in calls, which no busy machine changes; how long it takes is measured by `make scale`.
"""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from kubectl_plugin.commands import explain
from kubectl_plugin.options import Run, Streams
from kubectl_plugin.parsing import parse
from podrules.cluster.in_memory import MemorySource
from tests.scale import cluster
from tests.scale.cluster import Size

PODS_PER_NODE = 2


@pytest.mark.parametrize("output", ["table", "json", "wide"])
def test_the_work_for_a_list_grows_with_its_pods(output: str) -> None:
    words = ["explain", "pods", "-A", "--snapshot=large.json", "-o", output]
    _calls(words, 10)  # What is loaded, and kept by value, is there from here on.
    few, some, many = (_calls(words, pods) for pods in (40, 80, 160))

    assert many - some == pytest.approx(2 * (some - few), rel=0.03)


def _calls(words: list[str], pods: int) -> int:
    """Calls of functions until the answer about so many pods is there."""
    source = _source(Size(pods // PODS_PER_NODE, pods))
    out = io.StringIO()
    run: Run = explain.run
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
    assert code == 0
    assert out.getvalue().count(cluster.pod_name(pods - 1)) >= 1
    return count


def _source(size: Size) -> MemorySource:
    nodes = [cluster.node(number) | {"status": cluster.node_status(number)} for number in range(size.nodes)]
    pods = [cluster.pod(number, size) | {"status": cluster.pod_status(number, size)} for number in range(size.pods)]
    objects: list[dict[str, Any]] = [*cluster.priority_classes(), *cluster.deployments(size), *nodes, *pods]
    return MemorySource(objects, description="a large cluster")
