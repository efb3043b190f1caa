"""NodeResourcesFit's scores: upstream's cases.

From {least,most}_allocated_test.go, requested_to_capacity_ratio_test.go, resource_allocation_test.go and fit_test.go.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from podrules.api.model.decode import from_json
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.interface import CycleContext
from podrules.scheduling.scheduler.plugins.node_resources.fit import NodeResourcesFit
from podrules.scheduling.scheduler.plugins.node_resources.scoring import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    weighted,
)
from podrules.scheduling.scheduler.plugins.scores import UtilizationShapePoint, broken_linear
from tests.objects import make_pod
from tests.podrules.scheduling.scheduler.plugins.building_nodes import make_cycle, scores_of
from tests.podrules.scheduling.scheduler.plugins.building_resources import make_room, pod_asking, specs
from tests.table import row, table

PLUGIN = NodeResourcesFit()
MEBI = 1024 * 1024
FALLING = ((0, 10), (100, 0))
RISING = ((0, 0), (100, 10))
NO_PODS: tuple[Pod, ...] = ()
ASKING = pod_asking("cpu=1000 memory=2000", "cpu=2000 memory=3000")
TWO = pod_asking("cpu=1000 memory=2000")
LARGE = pod_asking("cpu=3000 memory=5000")
EMPTY = make_pod(containers=[])
ON_BOTH = (pod_asking("cpu=2000 memory=4000", on="node1"), pod_asking("cpu=1000 memory=2000", on="node2"))
HALF = [pod_asking("cpu=3000 memory=0", on="node1"), pod_asking("cpu=3000 memory=5000", on="node2")]
FOUR = (*(pod_asking("cpu=3000 memory=0", on=name) for name in ("node1", "node1", "node2")), HALF[1])
WITH_SIDECAR = (pod_asking("cpu=1000 memory=2000", sidecars=["cpu=1000 memory=2000"], on="node1"), ON_BOTH[1])
WITH_GPU = "cpu=1 memory=1 aaa=1"


def nodes(first: str, second: str) -> list[Node]:
    return [make_room("node1", first), make_room("node2", second)]


SMALL = nodes("cpu=4000 memory=10000", "cpu=4000 memory=10000")
SIZES = nodes("cpu=4000 memory=10000", "cpu=6000 memory=10000")
LARGER = nodes("cpu=10000 memory=20000", "cpu=10000 memory=20000")
ONE_HAS_GPU = nodes("cpu=6000 memory=10000", "cpu=6000 memory=10000 aaa=4")
GPUS = nodes("cpu=6000 memory=10000 aaa=4", "cpu=6000 memory=10000 aaa=10")


def make_context(
    pod: Pod,
    room: Sequence[Node],
    pods: Sequence[Pod],
    kind: str,
    *,
    resources: str = "",
    shape: Sequence[tuple[int, int]] = (),
) -> CycleContext:
    points = tuple(UtilizationShapePoint(utilization, score) for utilization, score in shape)
    ratio = RequestedToCapacityRatioParam(points) if points else None
    strategy = ScoringStrategy(kind, specs(resources), ratio)
    return make_cycle(pod, room, pods, args={PLUGIN.name: NodeResourcesFitArgs(scoring_strategy=strategy)})


@table(
    "pod, room, pods, resources, expected",
    {
        "nothing scheduled, nothing requested": row(EMPTY, SMALL, NO_PODS, "", [100, 100]),
        "nothing scheduled, resources requested, differently sized nodes": row(ASKING, SIZES, NO_PODS, "", [37, 50]),
        "no resources requested, pods scheduled": row(
            EMPTY,
            SMALL,
            [make_pod(containers=[], nodeName=name) for name in ("node1", "node1", "node2", "node2")],
            "",
            [100, 100],
        ),
        "no resources requested, pods scheduled with resources": row(EMPTY, LARGER, FOUR, "", [70, 57]),
        "resources requested, pods scheduled with resources": row(ASKING, LARGER, HALF, "", [57, 45]),
        "resources requested, pods scheduled with resources, differently sized nodes": row(
            ASKING, nodes("cpu=10000 memory=20000", "cpu=10000 memory=50000"), HALF, "", [57, 60]
        ),
        "requested resources exceed node capacity": row(pod_asking("cpu=3000 memory=0"), SMALL, HALF, "", [50, 25]),
        "zero node resources, pods scheduled with resources": row(EMPTY, nodes("", ""), HALF, "", [0, 0]),
        "nothing scheduled, resources requested with different weight, differently sized nodes": row(
            ASKING, SIZES, NO_PODS, "memory=2 cpu=1", [41, 50]
        ),
        "bypass extended resource if the pod does not request": row(ASKING, ONE_HAS_GPU, NO_PODS, WITH_GPU, [50, 50]),
        "honor extended resource if the pod requests": row(
            pod_asking("cpu=3000 memory=5000 aaa=2"), GPUS, NO_PODS, WITH_GPU, [50, 60]
        ),
        "if the node doesn't have a resource": row(
            pod_asking("cpu=3000 memory=4000"), ONE_HAS_GPU, NO_PODS, "aaa=2 cpu=1 memory=1", [55, 55]
        ),
        "test case for ScoringStrategy LeastAllocated": row(TWO, SIZES, ON_BOTH, "", [32, 63]),
        "test case for ScoringStrategy LeastAllocated with sidecar container": row(
            TWO, SMALL, WITH_SIDECAR, "", [32, 55]
        ),
    },
)
def test_least_allocated(
    pod: Pod, room: Sequence[Node], pods: Sequence[Pod], resources: str, expected: list[int]
) -> None:
    assert scores_of(PLUGIN, make_context(pod, room, pods, "LeastAllocated", resources=resources)) == expected


@table(
    "pod, room, pods, resources, expected",
    {
        "nothing scheduled, nothing requested": row(EMPTY, SMALL, NO_PODS, "", [0, 0]),
        "nothing scheduled, resources requested, differently sized nodes": row(ASKING, SIZES, NO_PODS, "", [62, 50]),
        "no resources requested, pods scheduled with resources": row(EMPTY, LARGER, FOUR, "", [30, 42]),
        "resources requested, pods scheduled with resources": row(ASKING, LARGER, HALF, "", [42, 55]),
        "resources requested equal node capacity": row(
            pod_asking("cpu=2000 memory=4000", "cpu=3000 memory=5000"),
            nodes("cpu=5000 memory=10000", "cpu=10000 memory=9000"),
            NO_PODS,
            "",
            [95, 75],
        ),
        "nothing scheduled, resources requested, differently sized nodes, by weight": row(
            ASKING, SIZES, NO_PODS, "memory=2 cpu=1", [58, 50]
        ),
        "no resources requested, pods scheduled, nonzero request for resource": row(
            pod_asking(""),
            nodes("cpu=250m memory=1000Mi", "cpu=250m memory=1000Mi"),
            [pod_asking("", on="node1"), pod_asking("", on="node1")],
            "",
            [80, 30],
        ),
        "bypass extended resource if the pod does not request": row(ASKING, ONE_HAS_GPU, NO_PODS, WITH_GPU, [50, 50]),
        "honor extended resource if the pod request": row(
            pod_asking("cpu=3000 memory=5000 aaa=2"), GPUS, NO_PODS, WITH_GPU, [50, 40]
        ),
        "if the node doesn't have a resource": row(
            pod_asking("cpu=3000 memory=4000"), ONE_HAS_GPU, NO_PODS, "aaa=2 cpu=1 memory=1", [45, 45]
        ),
        "test case for ScoringStrategy MostAllocated": row(TWO, SIZES, ON_BOTH, "", [67, 36]),
        "test case for ScoringStrategy MostAllocated with sidecar container": row(
            TWO, SMALL, WITH_SIDECAR, "", [67, 45]
        ),
    },
)
def test_most_allocated(
    pod: Pod, room: Sequence[Node], pods: Sequence[Pod], resources: str, expected: list[int]
) -> None:
    assert scores_of(PLUGIN, make_context(pod, room, pods, "MostAllocated", resources=resources)) == expected


FOO = "intel.com/foo=1"
FOO_BAR = "intel.com/foo=3 intel.com/bar=5"
MORE_FOO = nodes("cpu=4 intel.com/foo=8", "cpu=4 intel.com/foo=4")
CROSSED = nodes("intel.com/foo=8 intel.com/bar=4", "intel.com/foo=4 intel.com/bar=8")
TO_ONE = ((0, 0), (100, 1))


@table(
    "pod, room, pods, resources, shape, expected",
    {
        "nothing scheduled, nothing requested": row(EMPTY, SMALL, NO_PODS, "", FALLING, [100, 100]),
        "nothing scheduled, resources requested, differently sized nodes": row(
            ASKING, SIZES, NO_PODS, "", FALLING, [38, 50]
        ),
        "no resources requested, pods scheduled with resources": row(
            EMPTY,
            SIZES,
            [pod_asking("cpu=3000 memory=5000", on=name) for name in ("node1", "node2")],
            "",
            FALLING,
            [38, 50],
        ),
        "RequestedToCapacityRatio case1": row(LARGE, SIZES, ON_BOTH, "", FALLING, [10, 32]),
        "RequestedToCapacityRatio case2": row(LARGE, SIZES, ON_BOTH, "", RISING, [95, 68]),
        "one resource: nothing requested": row(EMPTY, MORE_FOO, NO_PODS, FOO, TO_ONE, [0, 0]),
        "one resource: less requested": row(pod_asking("intel.com/foo=2"), MORE_FOO, NO_PODS, FOO, TO_ONE, [2, 5]),
        "one resource: on node with existing pod running": row(
            pod_asking("intel.com/foo=2"), MORE_FOO, [pod_asking("intel.com/foo=2", on="node2")], FOO, TO_ONE, [2, 10]
        ),
        "one resource: more requested": row(pod_asking("intel.com/foo=4"), MORE_FOO, NO_PODS, FOO, TO_ONE, [5, 10]),
        "two resources: nothing requested": row(EMPTY, CROSSED, NO_PODS, FOO_BAR, TO_ONE, [0, 0]),
        "two resources: less requested": row(
            pod_asking("intel.com/foo=2 intel.com/bar=2"), CROSSED, NO_PODS, FOO_BAR, TO_ONE, [4, 3]
        ),
        "two resources: on node with existing pod running": row(
            pod_asking("intel.com/foo=2 intel.com/bar=2"),
            CROSSED,
            [pod_asking("intel.com/foo=2 intel.com/bar=2", on="node2")],
            FOO_BAR,
            TO_ONE,
            [4, 7],
        ),
        "two resources: more requested": row(
            pod_asking("intel.com/foo=4 intel.com/bar=2"), CROSSED, NO_PODS, FOO_BAR, TO_ONE, [5, 5]
        ),
        "more than there is is full": row(pod_asking("cpu=5000 memory=11000"), SIZES, NO_PODS, "", RISING, [100, 92]),
    },
)
def test_requested_to_capacity_ratio(
    pod: Pod,
    room: Sequence[Node],
    pods: Sequence[Pod],
    resources: str,
    shape: Sequence[tuple[int, int]],
    expected: list[int],
) -> None:
    context = make_context(pod, room, pods, "RequestedToCapacityRatio", resources=resources, shape=shape)
    assert scores_of(PLUGIN, context) == expected


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (
            [(10, 1), (90, 9)],
            {-10: 10, 0: 10, 9: 10, 10: 10, 15: 15, 19: 19, 20: 20, 89: 89, 90: 90, 99: 90, 100: 90, 110: 90},
        ),
        ([(0, 2), (40, 10), (100, 0)], {-10: 20, 0: 20, 20: 60, 30: 80, 40: 100, 41: 99, 70: 50, 100: 0, 110: 0}),
        ([(0, 2), (40, 2), (100, 2)], {-10: 20, 0: 20, 20: 20, 40: 20, 70: 20, 100: 20, 110: 20}),
    ],
)
def test_broken_linear_function(points: list[tuple[int, int]], expected: dict[int, int]) -> None:
    # Upstream's expectations times ten, the scale of a node's score; at 41 the fall of 1.67 is truncated towards zero.
    shape = [UtilizationShapePoint(utilization, score) for utilization, score in points]
    assert {level: broken_linear(shape, level) for level in expected} == expected


@table(
    "pod, cpu, memory",
    {
        "overhead only": row(pod_asking(overhead="cpu=1 memory=1Mi"), 1000, MEBI),
        "1x requestless container": row(pod_asking(""), 100, 200 * MEBI),
        "2x requestless container": row(pod_asking("", ""), 200, 400 * MEBI),
        "request container + requestless container": row(pod_asking("cpu=1 memory=1Mi", ""), 1100, 201 * MEBI),
        "container + requestless container + overhead": row(
            pod_asking("cpu=1 memory=1Mi", "", overhead="cpu=1 memory=1Mi"), 2100, 202 * MEBI
        ),
        "init container + container + requestless container + overhead": row(
            pod_asking("cpu=1 memory=1Mi", "", init=["cpu=3"], overhead="cpu=1 memory=1Mi"), 4000, 202 * MEBI
        ),
        "requestless init container + small init container + small container": row(
            pod_asking("cpu=3m memory=3", init=["", "cpu=1m memory=1"]), 100, 200 * MEBI
        ),
        "requestless init container + small init container + small container + requestless container": row(
            pod_asking("cpu=3m memory=3", "", init=["", "cpu=1m memory=1"]), 103, 200 * MEBI + 3
        ),
    },
)
def test_calculate_requests(pod: Pod, cpu: int, memory: int) -> None:
    context = make_cycle(pod, SMALL)
    assert PLUGIN.pre_score(context, np.arange(2, dtype=np.int32)).state == (cpu, memory)


def test_pod_level_requests_of_the_pod_do_not_count_in_the_score() -> None:
    # They decide the filter; upstream builds its scorer without the feature gate.
    context = make_cycle(pod_asking("cpu=1000 memory=2500", own="cpu=4000 memory=10000"), SMALL)
    assert scores_of(PLUGIN, context) == [75, 75]


def test_pod_level_requests_of_pods_on_the_node_count() -> None:
    context = make_cycle(EMPTY, SMALL, [pod_asking("cpu=1000 memory=2500", own="cpu=4000 memory=10000", on="node1")])
    assert scores_of(PLUGIN, context) == [0, 100]


def test_resources_that_are_no_scalars_do_not_count() -> None:
    context = make_context(TWO, SIZES, NO_PODS, "LeastAllocated", resources="pods=1 storage=1 cpu=1 whatever=1")
    assert scores_of(PLUGIN, context) == [75, 83]


def test_unknown_strategy() -> None:
    with pytest.raises(ValueError, match='Unsupported value: "Middling": write one of LeastAllocated,'):
        scores_of(PLUGIN, make_context(TWO, SIZES, NO_PODS, "Middling"))


def test_defaults_of_resources_and_weights() -> None:
    assert weighted(()) == (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))
    expected = (ResourceSpec("cpu", 1), ResourceSpec("memory", 3))
    assert weighted((ResourceSpec("cpu"), ResourceSpec("memory", 3))) == expected


def test_point_of_the_shape_without_a_score_scores_0() -> None:
    given = b'{"shape": [{"utilization": 0}, {"utilization": 100, "score": 10}]}'
    points = from_json(given, RequestedToCapacityRatioParam).shape
    assert [(point.utilization, point.score) for point in points] == list(RISING)
