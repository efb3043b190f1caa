"""The resources that a deferred resize waits for, and the pods that would free them."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.admission.resize_room import ResizeRoom, resize_room
from podrules.api.features import REFERENCE
from podrules.api.model.pod import Pod
from tests.objects import make_node, make_pod

NODE = make_node("n1", allocatable={"cpu": "4", "memory": "8Gi", "pods": "20"})
GI = 1024**3


def pod(name: str, cpu: str = "0", memory: str = "0", *, priority: int = 0, **metadata: Any) -> Pod:
    requests = {"cpu": cpu, "memory": memory}
    return make_pod(name, "batch", uid=name, metadata=metadata, requests=requests, nodeName="n1", priority=priority)


OWN = pod("own", "2", "2Gi", priority=5)
DAEMON = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}
STATIC = {"kubernetes.io/config.source": "file"}
DELETED = "2026-03-01T10:00:00Z"


def room(*others: Pod, message: str = "", complete: bool = True) -> ResizeRoom | None:
    return resize_room(OWN, NODE, (OWN, *others), message, features=REFERENCE, complete=complete)


def named(found: ResizeRoom | None) -> list[str]:
    assert found is not None
    return [one.name for one in found.pods]


def test_with_room_nothing_is_lacking() -> None:
    assert room(pod("a", "2", "6Gi")) is None
    assert room() is None


def test_one_pod_that_is_enough_is_named() -> None:
    found = room(pod("small", "500m"), pod("large", "2"), pod("medium", "1"))
    assert found is not None
    assert found.lacks == {"cpu": 1500}
    assert (named(found), found.enough) == (["large"], True)


def test_lowest_priority_is_named_first() -> None:
    assert named(room(pod("low", "2", priority=-1), pod("high", "1500m", priority=9))) == ["low"]


def test_fewest_needed_pods_are_named() -> None:
    found = room(pod("a", "1", priority=1), pod("b", "100m", priority=0), pod("c", "2"), pod("d", "800m", priority=2))
    assert found is not None
    assert found.lacks == {"cpu": 1900}
    assert named(found) == ["c"]
    found = room(
        pod("a", "1", priority=1), pod("b", "100m"), pod("c", "1100m", "1Gi"), pod("e", "0", "6Gi", priority=3)
    )
    assert found is not None
    assert found.lacks == {"cpu": 200, "memory": 1 * GI}
    assert named(found) == ["c"]


def test_two_resources_may_need_two_pods() -> None:
    found = room(pod("a", "3"), pod("b", "0", "7Gi"), pod("c", "10m"))
    assert found is not None
    assert found.lacks == {"cpu": 1010, "memory": 1 * GI}
    assert sorted(named(found)) == ["a", "b"]


def test_leaving_pods_count_first() -> None:
    found = room(pod("going", "2", deletionTimestamp=DELETED), pod("a", "2"))
    assert found is not None
    assert ([one.name for one in found.leaving], found.pods, found.enough) == (["going"], (), True)
    found = room(pod("going", "500m", deletionTimestamp=DELETED), pod("a", "3"))
    assert found is not None
    assert ([one.name for one in found.leaving], named(found)) == (["going"], ["a"])


@pytest.mark.parametrize("metadata", [{"ownerReferences": [DAEMON]}, {"annotations": STATIC}])
def test_recreated_pods_are_not_named(metadata: dict[str, Any]) -> None:
    found = room(pod("kept", "4", **metadata))
    assert found is not None
    assert (found.lacks, found.pods, found.enough) == ({"cpu": 2000}, (), False)


def test_incomplete_list_takes_the_numbers_of_the_kubelet() -> None:
    said = "Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000"
    assert room(pod("a", "1"), message=said) is None
    found = room(pod("a", "1"), message=said, complete=False)
    assert found is not None
    assert (found.lacks, named(found)) == ({"cpu": 1000}, ["a"])
    assert room(message="Node didn't have enough resource: cpu, requested: x", complete=False) is None
