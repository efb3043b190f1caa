"""Remedies for a pending pod: which pods to move, which node to add, and resources that no node has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from kubectl_plugin.views.scheduling.changes import remedy_words
from podrules.scheduling.placement.outcome import Remedy
from podrules.scheduling.scheduler.framework.answers import CandidateChange, ChangeKind
from tests.kubectl_plugin.answers import said
from tests.kubectl_plugin.commands.test_place_drain import budget, node, pod
from tests.kubectl_plugin.running import write_cluster
from tests.objects import raw_object, raw_pod

STAY: Final = " (no pods found that could move)"
ZONE: Final = "topology.kubernetes.io/zone"


def pending(cpu: str = "3", **spec: Any) -> Any:
    found = pod("new-1", "", cpu, **spec)
    found["status"] = {"phase": "Pending"}
    return found


def explained(tmp_path: Path, *objects: Any, words: Sequence[str] = ()) -> str:
    file = write_cluster(tmp_path / "cluster.json", list(objects))
    return said("explain", "pod/new-1", "-n", "shop", "--snapshot", file, *words)


FULL: Final = (node("a"), node("b"), pod("keep-1", "a", "2"), pod("web-1", "b", "1"), pod("web-2", "b", "2"))


@pytest.mark.parametrize(
    ("objects", "way"),
    [
        # Node a has 2 cpu free, enough for the pod of 1 cpu.
        ([*FULL], "free 2 cpu on b by moving shop/web-2."),
        ([node("a", "2"), node("b"), pod("x-1", "b", "1"), pod("x-2", "b", "3")], f"free 3 cpu on b{STAY}."),
        (
            [node("a", "2"), node("b"), *(pod(f"x-{number}", "b", "1") for number in range(3))],
            "free 2 cpu on b by moving shop/x-0 and shop/x-1.",
        ),
        ([*FULL, budget("web", 0, 2)], f"free 1 cpu on a{STAY}."),
        ([*FULL, budget("web", 1, 2)], "free 2 cpu on b by moving shop/web-2."),
        ([*FULL[:-1], pod("web-2", "b", "2", kind="DaemonSet")], f"free 1 cpu on a{STAY}."),
        (
            [*FULL[:-1], raw_pod("web-2", "shop", nodeName="b", requests={"cpu": "2"}, uid="x")],
            f"free 1 cpu on a{STAY}.",
        ),
    ],
)
def test_pods_that_can_move_are_named(objects: list[Any], way: str, tmp_path: Path) -> None:
    assert f"Way out: {way}" in explained(tmp_path, *objects, pending())


@pytest.mark.parametrize(
    ("asks", "words"),
    [
        ({"cpu": 62_000}, "64 free CPU"),
        ({"cpu": 64_001}, "96 free CPU"),
        ({"cpu": 300}, "1 free CPU"),
        ({"cpu": 5_000, "memory": 7 * 2**30}, "8 free CPU and 8Gi free memory"),
        ({"memory": 70 * 2**30}, "96Gi free memory"),
        ({"memory": 24 * 2**30}, "32Gi free memory"),
        ({"nvidia.com/gpu": 3}, "3 free nvidia.com/gpu"),
        ({"pods": 1}, "room for 1 more pod"),
    ],
)
def test_node_sizes_are_commercial_sizes(asks: dict[str, int], words: str) -> None:
    larger = CandidateChange(ChangeKind.ENLARGE, node="a", amounts=dict.fromkeys(asks, 1), asks=asks, added=True)
    assert remedy_words(Remedy((larger,), "a", 1, 0), ()) == f"add a node with {words}"


def test_pod_that_is_too_large_for_every_node(tmp_path: Path) -> None:
    objects = [node("a"), node("b"), pending("62")]
    text = explained(tmp_path, *objects)
    assert "0 of 2 nodes fit. Way out: add a node with 64 free CPU." in text
    assert "2 [##] cpu a " in text
    text = explained(tmp_path, *objects, words=("-o", "wide"))
    assert "Of 2 nodes, 2 lack cpu. Way out: add a node with 64 free CPU." in text


@pytest.mark.parametrize("word", ["example.com/fpga", "nvidia.com/gpu"])
def test_resource_that_no_node_offers_is_named(word: str, tmp_path: Path) -> None:
    wants = pending("1")
    wants["spec"]["containers"][0]["resources"]["requests"][word] = "1"
    nodes = [node("a"), node("b")]
    assert f"No node offers {word}. Way out: add a node with 1 free {word}." in explained(tmp_path, *nodes, wants)
    nodes[0]["status"]["allocatable"][word] = "0"
    assert f"No node offers {word}." in explained(tmp_path, *nodes, wants)
    nodes[0]["status"]["allocatable"][word] = "1"
    taken = pod("old-1", "a")
    taken["spec"]["containers"][0]["resources"]["requests"][word] = "1"
    assert f"2 [##] {word} a " in explained(tmp_path, *nodes, taken, wants)
    assert f"2 lack {word}." in explained(tmp_path, *nodes, taken, wants, words=("-o", "wide"))


def volume(labels: Any = None, **more: Any) -> Any:
    claim = {"namespace": "shop", "name": "data", "uid": "c"}
    size = {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"], "claimRef": claim}
    source = {"csi": {"driver": "csi.example.com", "volumeHandle": "x"}}
    return raw_object("PersistentVolume", "disk-7", metadata={"labels": labels}, spec=size | source | more, **BOUND)


BOUND: Final[Any] = {"status": {"phase": "Bound"}}


def in_zone(zone: str) -> Any:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    return {"required": {"nodeSelectorTerms": [term]}}


@pytest.mark.parametrize(
    "more", [{"labels": {ZONE: "eu-9"}}, {"nodeAffinity": in_zone("eu-9")}], ids=["label", "affinity"]
)
def test_volume_in_a_zone_without_nodes_is_named(more: Any, tmp_path: Path) -> None:
    """Whether the volume has the zone as a label or in its node affinity."""
    meta = {"uid": "c", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    spec = {"volumeName": "disk-7", "storageClassName": "", "accessModes": ["ReadWriteOnce"]}
    claim = raw_object("PersistentVolumeClaim", "data", "shop", metadata=meta, spec=spec, **BOUND)
    nodes = [node("a"), node("b")]
    for one in nodes:
        one["metadata"]["labels"][ZONE] = "eu-1"
    waits = pending("1", volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}])
    text = explained(tmp_path, *nodes, volume(**more), claim, waits)
    assert 'Volume "disk-7" of claim "data" (5Gi, Bound, csi.example.com) can be used only in zone eu-9' in text
    assert "and no node is there. Way out: add a node in zone eu-9" in text
