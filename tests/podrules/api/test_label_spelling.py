"""Keys that probably mean a label of nodes."""

from __future__ import annotations

import pytest

from podrules.api.names import NODE_LABELS, meant_label


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("topology.kubernetes.io/hostname", "kubernetes.io/hostname"),
        ("kubernetes.io/zone", "topology.kubernetes.io/zone"),
        ("failure-domain.kubernetes.io/region", "topology.kubernetes.io/region"),
        ("topology.k8s.io/zone", "topology.kubernetes.io/zone"),
        ("topology.kubernetes.io/zones", "topology.kubernetes.io/zone"),
        ("topology.kubernetes.io/regoin", "topology.kubernetes.io/region"),
        ("kubernetes.io/hostame", "kubernetes.io/hostname"),
        ("topology.kuberntes.io/zone", "topology.kubernetes.io/zone"),
        ("node.kubernetes.io/arch", "kubernetes.io/arch"),
    ],
)
def test_key_that_resembles_a_label_of_nodes(key: str, meant: str) -> None:
    assert meant_label(key) == meant


@pytest.mark.parametrize(
    "key",
    [
        *NODE_LABELS,
        "zone",
        "hostname",
        "rack.example.com/zone",
        "topology.kubernetes.io/rack",
        "topology.gke.io/zone",
        "topology.ebs.csi.aws.com/zone",
        "topology.k8s.aws/zone-id",
        "cluster.x-k8s.io/zone",
        "topology.disk.csi.k8s.io/zone",
        "topology.kubernetes.azure.com/zone",
        "node-role.kubernetes.io/zone",
        "node-restriction.kubernetes.io/hostname",
        "feature.node.kubernetes.io/os",
        "kubernetes.io/role",
        "",
        "/",
        f"{'x' * 400}.kubernetes.io/zone",
    ],
)
def test_label_of_nodes_or_of_its_author_is_none_misspelt(key: str) -> None:
    assert meant_label(key) == ""
