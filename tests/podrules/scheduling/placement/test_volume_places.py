"""The nodes that can use the volumes of a pod that fits nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pytest

from kubectl_plugin.views.pod.volume_words import volume_sentences
from podrules.scheduling.placement.outcome import VolumePlace
from tests.podrules.scheduling.building import HOST, REQUIRED, ZONE, Json, node_affinity
from tests.podrules.scheduling.placement.building import make_node
from tests.podrules.scheduling.placement.test_claim_problems import BOUND, claim, placed, storage_class, using, volume

DISK: Final = "topology.disk.example.com/zone"
LATER: Final = "WaitForFirstConsumer"


def wants(key: str, value: str) -> Json:
    """A volume's ``nodeAffinity``."""
    return {"required": node_affinity(key, "In", value)["nodeAffinity"][REQUIRED]}


def bound(name: str) -> Json:
    return claim(name, phase="Bound", meta=BOUND, volumeName=f"pv-{name}")


def host(name: str, zone: str, **node: Any) -> Json:
    return make_node(name, labels={HOST: f"{name}.example.com", ZONE: zone, DISK: zone}, **node)


TWO = [host("n1", "a"), host("n2", "b")]


def places(
    nodes: Sequence[Json], claims: Sequence[Json], volumes: Sequence[Json] = (), classes: Sequence[Json] = ()
) -> tuple[VolumePlace, ...]:
    """The places of the volumes of a pod with these claims."""
    pod = using(*(claim["metadata"]["name"] for claim in claims))
    return placed(pod, claims, volumes, classes, nodes).volumes


def said(*found: VolumePlace) -> str:
    return " ".join(volume_sentences(found))


def of(name: str, size: str = "10Gi", **spec: Any) -> Json:
    return volume(f"pv-{name}", size, of=name, **spec)


def test_zone_without_a_node() -> None:
    disk = of("data", csi={"driver": "disk.example.com"}, nodeAffinity=wants(DISK, "c"))
    (found,) = places(TWO, [bound("data")], [disk])
    assert (found.labels, found.nodes, found.count) == ({DISK: ("c",)}, (), 0)
    assert said(found) == (
        'Volume "pv-data" of claim "data" (10Gi, Bound, disk.example.com) can be used only in zone c '
        f"({DISK}), and no node is there. "
        "Way out: add a node in zone c, or restore a copy of the volume where nodes are."
    )


@pytest.mark.parametrize(
    ("key", "way"),
    [
        (DISK, "check that the node plugin of disk.example.com runs on n3: it sets that label"),
        ("failure-domain.beta.kubernetes.io/zone", "label n3 failure-domain.beta.kubernetes.io/zone=c"),
    ],
)
def test_node_of_the_zone_lacks_the_label_of_the_driver(key: str, way: str) -> None:
    disk = of("data", csi={"driver": "disk.example.com"}, nodeAffinity=wants(key, "c"))
    (found,) = places([host("n1", "a"), make_node("n3", labels={HOST: "n3", ZONE: "c"})], [bound("data")], [disk])
    assert found.lacking == ("n3",)
    assert said(found).endswith(f"zone c ({key}): n3 exists but lacks that label. Way out: {way}.")


@pytest.mark.parametrize(
    ("written", "where", "way"),
    [
        (
            "n2",
            "on host n2 (kubernetes.io/hostname), and no node has that label: it is n2.example.com on node n2.",
            'recreate PersistentVolume "pv-data" with spec.nodeAffinity for host n2.example.com',
        ),
        (
            "n9.example.com",
            "on host n9.example.com (kubernetes.io/hostname), and no node is there.",
            "bring the node back, or recreate the claim and restore its data",
        ),
    ],
)
def test_hostname_without_a_node(written: str, where: str, way: str) -> None:
    disk = of("data", "7Gi", local={"path": "/d"}, nodeAffinity=wants(HOST, written))
    found = places(TWO, [bound("data")], [disk])
    lead = 'Volume "pv-data" of claim "data" (7Gi, Bound, local) can be used only'
    assert said(*found) == f"{lead} {where} Way out: {way}."


def test_node_that_rejects_the_pod_for_another_reason() -> None:
    disk = of("data", nodeAffinity=wants(ZONE, "a"))
    (found,) = places([host("n1", "a", unschedulable=True), host("n2", "b")], [bound("data")], [disk])
    assert (found.nodes, found.count, found.apart) == (("n1",), 1, "")
    assert said(found).endswith("on n1, which rejects the pod: node(s) were unschedulable.")


def test_two_volumes_in_two_zones() -> None:
    disks = [of("x", nodeAffinity=wants(ZONE, "a")), of("y", nodeAffinity=wants(ZONE, "b"))]
    found = places(TWO, [bound("x"), bound("y")], disks)
    assert [(one.volume, one.nodes, one.apart) for one in found] == [
        ("pv-x", ("n1",), "pv-y"),
        ("pv-y", ("n2",), "pv-x"),
    ]
    assert 'on n1, and volume "pv-y" on none of these.' in said(*found)
    assert said(*found).endswith('Way out: recreate claim "x" where volume "pv-y" is, from a snapshot or backup.')


def test_class_that_makes_volumes_in_one_zone() -> None:
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["c"]}]}]
    (found,) = places(
        [host("n1", "a")],
        [claim(storageClassName="late")],
        classes=[{**storage_class("late", LATER), "allowedTopologies": topologies}],
    )
    assert said(found) == (
        f'The volume that claim "data" is to get (10Gi, Pending, disk.example.com) can be used only in zone c '
        f"({ZONE}), and no node is there. Way out: add a node in zone c, or recreate the claim with a "
        "StorageClass that allows other places."
    )


def test_volumes_that_a_claim_may_be_bound_to() -> None:
    free = volume("free", "20Gi", storageClassName="late", local={}, nodeAffinity=wants(HOST, "n1.example.com"))
    (found,) = places(
        [host("n1", "a", unschedulable=True), host("n2", "a")],
        [claim(storageClassName="late")],
        [free],
        [storage_class("late", LATER, makes=False)],
    )
    assert said(found) == (
        f'Volume "free" of claim "data" (20Gi, Available, local) can be used only on host n1.example.com ({HOST}): '
        "on n1, which rejects the pod: node(s) were unschedulable."
    )


def test_volume_that_every_node_can_use_is_left_out() -> None:
    nodes = [host("n1", "a", unschedulable=True)]
    assert places(nodes, [bound("data")], [of("data")]) == ()


def test_claim_may_take_one_of_two_volumes() -> None:
    disks = [
        volume(f"free-{name}", storageClassName="late", nodeAffinity=wants(HOST, f"{name}.example.com"))
        for name in ("n0", "n1", "n2")
    ]
    found = places(
        [host("n1", "a", unschedulable=True), host("n2", "a", unschedulable=True), host("n3", "a")],
        [claim(storageClassName="late")],
        disks,
        [storage_class("late", LATER, makes=False)],
    )
    assert [(one.volume, one.nodes, one.apart) for one in found] == [("free-n1", ("n1",), ""), ("free-n2", ("n2",), "")]
    assert "Way out" not in said(*found)
