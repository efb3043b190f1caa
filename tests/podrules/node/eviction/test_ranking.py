"""The order in which pods are evicted. Case names are those of upstream's helpers_test.go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import pytest

from podrules.api.model.kubelet import PodStats
from podrules.api.model.pod import Pod
from podrules.node.eviction.ranking import Comparator, Disks, EvictionPlace, rank, stats_by_uid
from podrules.node.eviction.thresholds import Signal
from tests.objects import raw_container
from tests.podrules.node.eviction.building import amount, pod, stats
from tests.table import table

MEMORY, PIDS = Signal.MEMORY_AVAILABLE, Signal.PID_AVAILABLE
NODE_FS, NODE_INODES = Signal.NODE_FS_AVAILABLE, Signal.NODE_FS_INODES_FREE
IMAGE_FS, CONTAINER_FS = Signal.IMAGE_FS_AVAILABLE, Signal.CONTAINER_FS_AVAILABLE
IMAGE_INODES, CONTAINER_INODES = Signal.IMAGE_FS_INODES_FREE, Signal.CONTAINER_FS_INODES_FREE
SPLIT = Disks(image_fs=True, container_fs=True)
LOW, HIGH = -1, 1


def _rank(
    pods: Sequence[Pod], used: Sequence[PodStats], signal: Signal = MEMORY, disks: Disks | None = None
) -> tuple[EvictionPlace, ...]:
    return rank(pods, stats_by_uid(used), signal, disks or Disks())


def _names(places: Sequence[EvictionPlace]) -> list[str]:
    return [place.ranked.pod.metadata.name for place in places]


def test_Q6_ordered_by_priority_memory() -> None:
    rows = [
        ("above-requests-low-priority-high-usage", LOW, "", "500Mi", Comparator.USAGE_OVER_REQUEST),
        ("above-requests-low-priority-low-usage", LOW, "", "50Mi", Comparator.PRIORITY),
        ("above-requests-high-priority-high-usage", HIGH, "100Mi", "600Mi", Comparator.USAGE_OVER_REQUEST),
        ("above-requests-high-priority-low-usage", HIGH, "100Mi", "150Mi", Comparator.EXCEEDS_REQUEST),
        ("below-requests-low-priority-high-usage", LOW, "1Gi", "800Mi", Comparator.USAGE_OVER_REQUEST),
        ("below-requests-low-priority-low-usage", LOW, "1Gi", "200Mi", Comparator.PRIORITY),
        ("below-requests-high-priority-high-usage", HIGH, "1Gi", "800Mi", Comparator.USAGE_OVER_REQUEST),
        ("below-requests-high-priority-low-usage", HIGH, "1Gi", "200Mi", None),
    ]
    pods = [pod(name, priority, request) for name, priority, request, _, _ in rows]
    places = _rank(pods[::-1], [stats(name, used) for name, _, _, used, _ in rows])
    assert [(place.ranked.pod.metadata.name, place.decided_by) for place in places] == [
        (name, decided) for name, _, _, _, decided in rows
    ]


def test_Q6_ordered_by_exceeds_request_memory() -> None:
    pods = [pod("below-requests", LOW, "200Mi"), pod("exceeds-requests", HIGH, "100Mi")]
    places = _rank(pods, [stats("below-requests", "199Mi"), stats("exceeds-requests", "101Mi")])
    assert _names(places) == ["exceeds-requests", "below-requests"]
    assert (places[0].ranked.over_request, places[1].ranked.over_request) == (amount("1Mi"), -amount("1Mi"))


def test_Q6_usage_equal_to_request_does_not_exceed() -> None:
    (place,) = _rank([pod("exactly", None, "100Mi")], [stats("exactly", "100Mi")])
    assert not place.ranked.exceeds


def test_Q6_two_pods_without_stats_tie_whatever_they_request() -> None:
    """cmpBool(!p1Found, !p2Found) of memory(): the request is not subtracted from anything."""
    pods = [pod("asks-much", None, "2Gi"), pod("asks-little", None, "1Mi")]
    places = _rank(pods, [])
    assert (_names(places), places[0].decided_by) == (["asks-much", "asks-little"], None)


def test_Q6_pod_without_stats_ranks_first() -> None:
    pods = [pod("measured", -1000), pod("unknown", 1000, "10Gi")]
    places = _rank(pods, [stats("measured", "5Gi")])
    assert (_names(places), places[0].decided_by) == (["unknown", "measured"], Comparator.NO_STATS)
    by_pids = _rank(pods, [stats("measured", process_stats={"process_count": 9})], PIDS)
    assert (_names(by_pids), by_pids[0].decided_by) == (["measured", "unknown"], Comparator.PRIORITY)


@pytest.mark.parametrize("signal", [Signal.MEMORY_AVAILABLE, Signal.NODE_FS_AVAILABLE, PIDS])
def test_Q6_priority_alone_ranks_unmeasured_pods(signal: Signal) -> None:
    pods = [pod("large", 3, "9Gi"), pod("small", 3, "1Mi"), pod("low", 2, "5Gi")]
    places = _rank(pods, [], signal)
    assert _names(places) == ["low", "large", "small"]
    assert [place.decided_by for place in places] == [Comparator.PRIORITY, None, None]


def test_Q6_ordered_by_priority_process() -> None:
    rows = [
        ("low-priority-high-usage", LOW, 1000, Comparator.PROCESSES),
        ("low-priority-low-usage", LOW, 50, Comparator.PRIORITY),
        ("high-priority-high-usage", HIGH, 2000, Comparator.PROCESSES),
        ("high-priority-low-usage", HIGH, 10, None),
    ]
    used = [stats(name, process_stats={"process_count": count}) for name, _, count, _ in rows]
    places = _rank([pod(name, priority) for name, priority, _, _ in reversed(rows)], used, PIDS)
    assert [(place.ranked.pod.metadata.name, place.ranked.usage, place.decided_by) for place in places] == [
        (name, count, decided) for name, _, count, decided in rows
    ]


_LAYER, _LOGS, _VOLUME = 1000, 100, 10


def _on_disk(name: str, **sizes: int) -> PodStats:
    container = {
        "name": "app",
        "rootfs": {"usedBytes": sizes.get("layer", 0), "inodesUsed": sizes.get("inodes", 0)},
        "logs": {"usedBytes": sizes.get("logs", 0)},
    }
    return stats(name, containers=[container], volume=[{"name": "scratch", "usedBytes": sizes.get("volume", 0)}])


_ALL = _LAYER + _LOGS + _VOLUME
# Usage on the node's file system, on the image file system and on the container file system.
_COUNTED = {
    "one disk": (Disks(), (_ALL, _ALL, _ALL)),
    "imagefs apart": (Disks(image_fs=True), (_LOGS + _VOLUME, _LAYER, _LAYER)),
    "layers with the node": (SPLIT, (_ALL, 0, _ALL)),
}


def _grid(node: Signal, image: Signal, container: Signal) -> pytest.MarkDecorator:
    """Every disk layout, with a signal for each file system; bytes and inodes count alike."""
    cases = [
        pytest.param(disks, signal, counted, id=f"{layout}, {signal.value}")
        for layout, (disks, amounts) in _COUNTED.items()
        for signal, counted in zip((node, image, container), amounts, strict=True)
    ]
    return pytest.mark.parametrize(("disks", "signal", "counted"), cases)


@_grid(NODE_FS, IMAGE_FS, CONTAINER_FS)
def test_Q6_usage_that_counts_on_a_disk(disks: Disks, signal: Signal, counted: int) -> None:
    used = _on_disk("one", layer=_LAYER, logs=_LOGS, volume=_VOLUME)
    (place,) = _rank([pod("one", volumes=[{"name": "scratch", "emptyDir": {}}])], [used], signal, disks)
    assert place.ranked.usage == counted


@_grid(NODE_INODES, IMAGE_INODES, CONTAINER_INODES)
def test_Q6_inodes_that_count_on_a_disk(disks: Disks, signal: Signal, counted: int) -> None:
    container = {"name": "app", "rootfs": {"inodesUsed": _LAYER}, "logs": {"inodesUsed": _LOGS}}
    used = stats("one", containers=[container], volume=[{"name": "scratch", "inodesUsed": _VOLUME}])
    (place,) = _rank([pod("one", volumes=[{"name": "scratch", "emptyDir": {}}])], [used], signal, disks)
    assert place.ranked.usage == counted


@table(
    "source, local",
    {
        "emptyDir": ({"emptyDir": {}}, True),
        "emptyDir in memory": ({"emptyDir": {"medium": "Memory"}}, False),
        "hostPath": ({"hostPath": {"path": "/x"}}, True),
        "configMap": ({"configMap": {"name": "x"}}, True),
        "gitRepo": ({"gitRepo": {"repository": "x"}}, True),
        "secret": ({"secret": {"secretName": "x"}}, False),
        "claim": ({"persistentVolumeClaim": {"claimName": "x"}}, False),
    },
)
def test_Q6_volumes_on_the_nodes_disk(source: Mapping[str, Any], local: bool) -> None:
    places = _rank([pod("one", volumes=[{"name": "scratch", **source}])], [_on_disk("one", volume=7)], NODE_FS)
    assert places[0].ranked.usage == (7 if local else 0)


def test_Q6_ordered_by_priority_disk() -> None:
    def asking(name: str, priority: int, request: str) -> Pod:
        return pod(name, priority, containers=[raw_container(requests={"ephemeral-storage": request})])

    rows = [
        ("above-requests-low-priority", LOW, "0", 500),
        ("above-requests-high-priority-high-usage", HIGH, "100", 600),
        ("above-requests-high-priority-low-usage", HIGH, "100", 150),
        ("below-requests-low-priority", LOW, "1k", 100),
        ("below-requests-high-priority", HIGH, "1k", 900),
    ]
    used = [_on_disk(name, layer=size) for name, _, _, size in rows]
    places = _rank([asking(*row[:3]) for row in reversed(rows)], used, NODE_FS)
    assert _names(places) == [name for name, *_ in rows]


def test_Q6_inodes_are_ranked_less_the_request_of_bytes() -> None:
    # Upstream subtracts the request of ephemeral-storage, in bytes, from a number of inodes.
    asking = pod("asking", containers=[raw_container(requests={"ephemeral-storage": "1Gi"})])
    used = [_on_disk("asking", inodes=90_000), _on_disk("plain", inodes=10)]
    places = _rank([asking, pod("plain")], used, NODE_INODES)
    assert [(place.ranked.pod.metadata.name, place.ranked.exceeds) for place in places] == [
        ("plain", True),
        ("asking", True),
    ]
    assert places[1].ranked.over_request == 90_000 - (1 << 30)


@table(
    "fields, request_bytes",
    {
        "container": ({"containers": [raw_container(requests={"memory": "100"})]}, 100),
        "with overhead": (
            {"containers": [raw_container(requests={"memory": "100"})], "overhead": {"memory": "7"}},
            107,
        ),
        "overhead alone does not count": ({"overhead": {"memory": "7"}}, 0),
        "the pod's own request decides alone": (
            {"containers": [raw_container(requests={"memory": "100"})], "resources": {"requests": {"memory": "40"}}},
            40,
        ),
        "and hides container requests that it lacks": (
            {"containers": [raw_container(requests={"memory": "100"})], "resources": {"limits": {"cpu": "1"}}},
            0,
        ),
        "init container": (
            {
                "containers": [raw_container(requests={"memory": "100"})],
                "initContainers": [raw_container("init", requests={"memory": "300"})],
            },
            300,
        ),
    },
)
def test_Q6_request_that_usage_is_compared_to(fields: Mapping[str, Any], request_bytes: int) -> None:
    (place,) = _rank([pod("one", **fields)], [stats("one", "1")])
    assert place.ranked.request == request_bytes


def test_Q6_mirror_pod_is_measured_under_its_static_pods_uid() -> None:
    mirror = pod("etcd", metadata={"annotations": {"kubernetes.io/config.mirror": "abc"}})
    (place,) = _rank([mirror], [stats("abc", "5Mi")])
    assert (place.ranked.usage, place.ranked.critical) == (amount("5Mi"), True)


def test_Q6_qos_class_does_not_decide() -> None:
    # A Guaranteed pod over its request (possible with shared memory) ranks before a BestEffort one of higher priority.
    limits = {"cpu": "1", "memory": "100Mi"}
    guaranteed = pod("guaranteed", 0, containers=[raw_container(requests=limits, limits=limits)])
    places = _rank([pod("best-effort", 10), guaranteed], [stats("guaranteed", "101Mi"), stats("best-effort", "2Gi")])
    assert _names(places) == ["guaranteed", "best-effort"]


def test_Q6_equal_pods_keep_their_order_and_nothing_decides() -> None:
    names = ("a", "b", "c")
    used = [stats(name, "5Mi") for name in names]
    for order in permutations(names):
        places = _rank([pod(name) for name in order], used)
        assert _names(places) == list(order)
        assert {place.decided_by for place in places} == {None}


def test_Q6_order_that_a_real_kubelet_took_under_memory_pressure() -> None:
    # Priority -10 first, then the largest excess over its request, then BestEffort, then priority 1000; two pods
    # below their requests stayed.
    rows = [
        ("low-priority", -10, "50Mi", "150Mi"),
        ("largest-over-request", 0, "50Mi", "400Mi"),
        ("best-effort", 0, "", "200Mi"),
        ("high-priority", 1000, "50Mi", "500Mi"),
        ("under-a", 0, "300Mi", "200Mi"),
        ("under-b", 1000, "500Mi", "300Mi"),
    ]
    for order in permutations(rows, len(rows)):
        pods = [pod(name, priority, request) for name, priority, request, _ in order]
        places = _rank(pods, [stats(name, used) for name, _, _, used in rows])
        assert _names(places) == [name for name, *_ in rows]


def test_Q6_reasons_compare_with_next_evictable_pod() -> None:
    critical = 2_000_000_000
    rows = [
        ("static", critical, "", "900Mi", None),
        ("over", 7, "100Mi", "150Mi", Comparator.EXCEEDS_REQUEST),
        ("proxy", critical + 1, "", "70Mi", None),
        ("dns", critical, "", "30Mi", None),
        ("cache", 3, "2Gi", "1Gi", Comparator.USAGE_OVER_REQUEST),
        ("queue", 3, "2Gi", "512Mi", None),
        ("agent", critical, "1Gi", "1Mi", None),
    ]
    pods = [pod(name, priority, request) for name, priority, request, _, _ in rows]
    places = _rank(pods, [stats(name, used) for name, _, _, used, _ in rows])
    assert {place.ranked.pod.metadata.name: place.decided_by for place in places} == {
        name: decided for name, *_, decided in rows
    }
