"""NodeResourcesBalancedAllocation: upstream's cases of balanced_allocation_test.go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.answers import Code
from podrules.scheduling.scheduler.plugins.node_resources import (
    NodeResourcesBalancedAllocation,
    NodeResourcesBalancedAllocationArgs,
)
from tests.objects import make_pod
from tests.podrules.scheduling.scheduler.plugins.building_nodes import make_cycle, scores_of
from tests.podrules.scheduling.scheduler.plugins.building_resources import make_room, pod_asking, specs
from tests.table import row, table

PLUGIN = NodeResourcesBalancedAllocation()
ASKING = pod_asking("cpu=1000m memory=2000", "cpu=2000m memory=3000")
WITH_GPU = "cpu=1 memory=1 nvidia.com/gpu=1"


def nodes(first: str, second: str) -> list[Node]:
    return [make_room("node1", first), make_room("node2", second)]


def cpu_only(on: str) -> Pod:
    return pod_asking("cpu=1000m", "cpu=2000m", on=on)


def both(on: str) -> Pod:
    return pod_asking("cpu=1000m memory=2000", "cpu=2000m memory=3000", on=on)


@table(
    "pod, room, pods, resources, expected",
    {
        "nothing scheduled, resources requested, differently sized nodes": row(
            ASKING, nodes("cpu=4 memory=10000", "cpu=6 memory=10000"), [], "", [68, 75]
        ),
        "resources requested, pods scheduled with resources": row(
            ASKING,
            nodes("cpu=10 memory=20000", "cpu=10 memory=20000"),
            [cpu_only("node1"), both("node2")],
            "",
            [73, 74],
        ),
        "resources requested, pods scheduled with resources, differently sized nodes": row(
            ASKING,
            nodes("cpu=10 memory=20000", "cpu=10 memory=50000"),
            [cpu_only("node1"), both("node2")],
            "",
            [73, 70],
        ),
        "resources requested, pods scheduled with resources, nodes to reach min/max score": row(
            pod_asking("memory=2000", "memory=3000"),
            nodes("cpu=3 memory=5000", "cpu=3 memory=5000"),
            [cpu_only("node1")],
            "",
            [100, 50],
        ),
        "requested resources at node capacity": row(
            pod_asking("cpu=1000m", "cpu=2000m"),
            nodes("cpu=6 memory=10000", "cpu=6 memory=10000"),
            [cpu_only("node1"), both("node2")],
            "",
            [62, 62],
        ),
        "scalar resource is included in the score computation if pod requests the scalar resource": row(
            pod_asking("cpu=0 memory=0 nvidia.com/gpu=1"),
            nodes("cpu=3500m memory=40000 nvidia.com/gpu=8", "cpu=3500m memory=40000 nvidia.com/gpu=8"),
            [pod_asking("cpu=1000m memory=2000", "cpu=2000m memory=3000 nvidia.com/gpu=3", on="node1"), both("node2")],
            WITH_GPU,
            [75, 76],
        ),
        "scalar resource is not included in the score computation if pod doesn't request the scalar resource": row(
            ASKING, nodes("cpu=3500m memory=40000 nvidia.com/gpu=8", "cpu=3500m memory=40000"), [], WITH_GPU, [56, 56]
        ),
        "one resource or none is in balance": row(ASKING, nodes("cpu=4", ""), [], "", [75, 75]),
    },
)
def test_node_resources_balanced_allocation(
    pod: Pod, room: Sequence[Node], pods: Sequence[Pod], resources: str, expected: list[int]
) -> None:
    args = {PLUGIN.name: NodeResourcesBalancedAllocationArgs(specs(resources))}
    assert scores_of(PLUGIN, make_cycle(pod, room, pods, args=args)) == expected


def test_nothing_scheduled_nothing_requested_skip_in_pre_score() -> None:
    context = make_cycle(make_pod(), nodes("cpu=4 memory=10000", "cpu=4 memory=10000"))
    assert PLUGIN.pre_score(context, np.arange(2, dtype=np.int32)).status.code is Code.SKIP


def test_pod_level_requests_count() -> None:
    context = make_cycle(pod_asking("", own="cpu=2 memory=10000"), nodes("cpu=4 memory=10000", "cpu=2 memory=10000"))
    assert scores_of(PLUGIN, context) == [62, 75]
