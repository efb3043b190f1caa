"""Clusters as they would be."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.model.decode import from_object
from podrules.model.pod_reference import PodReference
from podrules.model.quantity import Quantity
from podrules.model.snapshot import ClusterSnapshot
from podrules.placement.what_if import NodeSpecification, adding_nodes, excluding_nodes, without_pods
from tests.podrules.placement.building import make_node, make_pod, make_taint


def cluster(*pods: Any, **lists: Any) -> ClusterSnapshot:
    nodes = [
        make_node("a", labels={"zone": "x", "kubernetes.io/hostname": "a"}, taints=[make_taint("dedicated")]),
        make_node("b"),
    ]
    return from_object({"nodes": nodes, "pods": list(pods), **lists}, ClusterSnapshot)


def names(snapshot: ClusterSnapshot) -> list[str]:
    return [pod.metadata.name for pod in snapshot.pods]


def test_an_excluded_node_goes_with_its_pods() -> None:
    found = excluding_nodes(cluster(make_pod("x", on="a"), make_pod("y", on="b"), make_pod("z")), ["a"])
    assert ([node.metadata.name for node in found.nodes], names(found)) == (["b"], ["y", "z"])


def test_a_node_like_another_has_its_room_labels_and_taints_but_its_own_name() -> None:
    found = adding_nodes(cluster(), [NodeSpecification("new", {"zone": "y"}, like="a")]).nodes[-1]
    assert found.metadata.labels == {"zone": "y", "kubernetes.io/hostname": "new"}
    assert str(found.status.allocatable["cpu"]) == "4"
    assert [taint.key for taint in found.spec.taints] == ["dedicated"]


def test_a_new_node_has_what_is_given() -> None:
    specification = NodeSpecification("new", allocatable={"cpu": Quantity.parse("8")})
    found = adding_nodes(cluster(), [specification]).nodes[-1]
    assert (str(found.status.allocatable["cpu"]), found.spec.taints) == ("8", ())


def test_without_a_pod() -> None:
    assert names(without_pods(cluster(make_pod("x", on="a"), make_pod("y")), [PodReference("default", "x")])) == ["y"]


@pytest.mark.parametrize(
    "change",
    [
        lambda: excluding_nodes(cluster(), ["nobody"]),
        lambda: adding_nodes(cluster(), [NodeSpecification("new", like="nobody")]),
        lambda: without_pods(cluster(), [PodReference("default", "nobody")]),
    ],
)
def test_what_is_not_there_is_told(change: Any) -> None:
    with pytest.raises(KeyError, match="nobody"):
        change()


def test_a_name_that_is_taken_is_told() -> None:
    with pytest.raises(ValueError, match="b"):
        adding_nodes(cluster(), [NodeSpecification("b")])
