"""Clusters after hypothetical changes."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.pod import PodReference
from podrules.api.model.quantity import Quantity
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.placement.what_if import NodeSpecification, adding_nodes, excluding_nodes, without_pods
from tests.podrules.scheduling.placement.building import make_node, make_pod, make_taint


def cluster(*pods: Any, **lists: Any) -> ClusterSnapshot:
    nodes = [
        make_node("a", labels={"zone": "x", "kubernetes.io/hostname": "a"}, taints=[make_taint("dedicated")]),
        make_node("b"),
    ]
    return from_object({"nodes": nodes, "pods": list(pods), **lists}, ClusterSnapshot)


def names(snapshot: ClusterSnapshot) -> list[str]:
    return [pod.metadata.name for pod in snapshot.pods]


def test_excluded_node_is_removed_with_its_pods() -> None:
    found = excluding_nodes(cluster(make_pod("x", on="a"), make_pod("y", on="b"), make_pod("z")), ["a"])
    assert ([node.metadata.name for node in found.nodes], names(found)) == (["b"], ["y", "z"])


def test_node_copy_keeps_all_but_the_name() -> None:
    found = adding_nodes(cluster(), [NodeSpecification("new", {"zone": "y"}, like="a")]).nodes[-1]
    assert found.metadata.labels == {"zone": "y", "kubernetes.io/hostname": "new"}
    assert str(found.status.allocatable["cpu"]) == "4"
    assert [taint.key for taint in found.spec.taints] == ["dedicated"]


def test_new_node_has_the_given_fields() -> None:
    specification = NodeSpecification("new", allocatable={"cpu": Quantity.parse("8")})
    found = adding_nodes(cluster(), [specification]).nodes[-1]
    assert (str(found.status.allocatable["cpu"]), found.spec.taints) == ("8", ())


def test_without_a_pod() -> None:
    assert names(without_pods(cluster(make_pod("x", on="a"), make_pod("y")), [PodReference("default", "x")])) == ["y"]


@pytest.mark.parametrize(
    "change",
    [
        lambda: excluding_nodes(cluster(), ["missing"]),
        lambda: adding_nodes(cluster(), [NodeSpecification("new", like="missing")]),
        lambda: without_pods(cluster(), [PodReference("default", "missing")]),
    ],
)
def test_missing_objects_are_reported(change: Any) -> None:
    with pytest.raises(KeyError, match="missing"):
        change()


def test_taken_name_is_reported() -> None:
    with pytest.raises(ValueError, match="b"):
        adding_nodes(cluster(), [NodeSpecification("b")])


ZONE = "topology.kubernetes.io/zone"
DISK = "topology.disk.example.com/zone"


def zoned(name: str, zone: str, **labels: str) -> Any:
    own = {"kubernetes.io/hostname": name, ZONE: zone, "topology.kubernetes.io/region": "north"}
    return make_node(name, labels={**own, **labels})


def added_labels(nodes: list[Any], *, like: str = "n1", **lists: Any) -> dict[str, str]:
    snapshot = from_object({"nodes": nodes, **lists}, ClusterSnapshot)
    return dict(adding_nodes(snapshot, [NodeSpecification("new", {ZONE: "c"}, like=like)]).nodes[-1].metadata.labels)


def test_copy_in_other_zone_has_labels_of_that_zone() -> None:
    first = zoned("n1", "b", **{DISK: "b", "topology.rack.example.com/id": "r1", "disk": "ssd"})
    found = added_labels([first, zoned("n2", "a", **{DISK: "a", "topology.rack.example.com/id": "r2"})])
    assert found == {
        "kubernetes.io/hostname": "new",
        ZONE: "c",
        DISK: "c",
        "topology.kubernetes.io/region": "north",
        "disk": "ssd",
    }


def test_nodes_of_the_zone_decide_its_labels() -> None:
    first = zoned("n1", "b", **{DISK: "b", "topology.kubernetes.io/region": "south"})
    found = added_labels([first, zoned("n2", "c", **{DISK: "disk-c"}), zoned("n3", "c", **{DISK: "disk-c"})])
    assert (found[DISK], found["topology.kubernetes.io/region"]) == ("disk-c", "north")


def test_new_node_takes_zone_labels_from_other_nodes() -> None:
    found = added_labels([zoned("n1", "b", **{DISK: "b", "disk": "ssd"})], like="")
    assert found == {"kubernetes.io/hostname": "new", ZONE: "c", DISK: "c", "topology.kubernetes.io/region": "north"}


def test_node_copy_has_csi_drivers_with_own_labels() -> None:
    driver = {"name": "lvm.example.com", "nodeID": "n1", "topologyKeys": ["lvm.example.com/node", "lvm.example.com/az"]}
    csi_nodes = [{"metadata": {"name": "n1"}, "spec": {"drivers": [driver]}}]
    labels = {"lvm.example.com/node": "n1", "lvm.example.com/az": "az-2"}
    snapshot = from_object({"nodes": [zoned("n1", "b", **labels)], "csiNodes": csi_nodes}, ClusterSnapshot)
    same = adding_nodes(snapshot, [NodeSpecification("new", like="n1")])
    assert same.nodes[-1].metadata.labels["lvm.example.com/node"] == "new"
    assert same.csi_nodes[-1].metadata.name == "new"
    assert same.csi_nodes[-1].spec == same.csi_nodes[0].spec
    other = adding_nodes(snapshot, [NodeSpecification("new", {ZONE: "c"}, like="n1")]).nodes[-1].metadata.labels
    assert "lvm.example.com/az" not in other
