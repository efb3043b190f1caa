"""The table of taints and labels with owners: rows are found by the whole key, and name their owners."""

from __future__ import annotations

import pytest

from podrules.api.well_known import Meaning, is_of_the_machine, known_taint, uses_hardware
from podrules.workload.evictors import going
from tests.objects import make_node


@pytest.mark.parametrize(
    ("key", "value", "meaning", "owner"),
    [
        ("node.kubernetes.io/out-of-service", "nodeshutdown", Meaning.TROUBLE, "Kubernetes"),
        ("remediator.aks.microsoft.com/unschedulable", "", Meaning.LEAVING, "AKS"),
        ("node.cilium.io/agent-not-ready", "true", Meaning.STARTING, "Cilium's agent"),
        ("efs.csi.aws.com/agent-not-ready", "", Meaning.STARTING, "the agent of efs.csi.aws.com"),
        (
            "startup-taint.cluster-autoscaler.kubernetes.io/disk",
            "true",
            Meaning.STARTING,
            "the owner of its taint disk",
        ),
        ("node-role.kubernetes.io/infra", "", Meaning.RESERVED, "the role infra"),
        ("node-role.kubernetes.io/master", "", Meaning.RESERVED, "the control plane"),
        ("kubernetes.io/arch", "arm64", Meaning.RESERVED, "images built for arm64"),
    ],
)
def test_known(key: str, value: str, meaning: Meaning, owner: str) -> None:
    found = known_taint(key, value)
    assert found is not None
    assert (found.meaning, found.owner) == (meaning, owner)
    assert found.source


@pytest.mark.parametrize(
    "key",
    [
        "ToBeDeletedByClusterAutoscaler",
        "karpenter.sh/disrupted",
        "karpenter.sh/disruption",
        "aws-node-termination-handler/spot-itn",
        "cloud.google.com/impending-node-termination",
        "remediator.kubernetes.azure.com/unschedulable",
    ],
)
def test_leaving_taint_marks_node_about_to_be_removed(key: str) -> None:
    found = known_taint(key, "")
    assert found is not None
    assert found.meaning is Meaning.LEAVING
    node = make_node(taints=[{"key": key, "effect": "NoSchedule"}])
    assert going(node, (), None) is not None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dedicated", "gpu"),
        ("sku", "large"),
        ("os", "linux"),
        ("my.karpenter.sh/disrupted", ""),
        ("karpenter.sh/disrupted.not", ""),
        ("team", "ToBeDeletedByClusterAutoscaler"),
        ("x" * 253 + "/" + "y" * 63, "z" * 63),
    ],
)
def test_clusters_own(key: str, value: str) -> None:
    assert known_taint(key, value) is None


def test_hardware_is_used_by_a_request_of_the_same_vendor() -> None:
    nvidia, sku, fargate = (
        known_taint("nvidia.com/gpu", "present"),
        known_taint("sku", "gpu"),
        known_taint("eks.amazonaws.com/compute-type", "fargate"),
    )
    assert nvidia is not None
    assert sku is not None
    assert fargate is not None
    assert uses_hardware(nvidia, ["cpu", "nvidia.com/mig-1g.5gb"])
    assert uses_hardware(sku, ["amd.com/gpu"])
    assert not uses_hardware(nvidia, ["cpu", "amd.com/gpu"])
    assert not uses_hardware(fargate, ["cpu"])


@pytest.mark.parametrize(
    "label", ["nvidia.com/gpu.product", "feature.node.kubernetes.io/cpu-model.id", "topology.x.csi/node"]
)
def test_label_of_the_machine(label: str) -> None:
    assert is_of_the_machine(label)


@pytest.mark.parametrize("label", ["disktype", "topology.kubernetes.io/zone", "accelerator", "example.com/gpu.product"])
def test_label_that_people_write(label: str) -> None:
    assert not is_of_the_machine(label)


def test_hostile_name_takes_no_time() -> None:
    sku = known_taint("sku", "gpu")
    assert sku is not None
    assert not uses_hardware(sku, ["/" * 1_000_000])
    assert known_taint("/" * 1_000_000, "x" * 1_000_000) is None
    assert not is_of_the_machine("nvidia.com/" * 100_000)
