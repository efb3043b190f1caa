"""The platform rules of a pod: by its node, else by its own fields."""

from __future__ import annotations

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.node import Node
from podrules.pod.platform import NotModelled, Platform, node_platform, not_modelled, pod_platform
from tests.controlplane.client import Object
from tests.objects import make_pod, raw_node
from tests.table import table

LINUX, WINDOWS, VIRTUAL = Platform.LINUX, Platform.WINDOWS, Platform.VIRTUAL_KUBELET
OS = "kubernetes.io/os"
TAINT = {"key": "virtual-kubelet.io/provider", "value": "azure", "effect": "NoSchedule"}
NODES = {
    "plain": raw_node("plain"),
    "linux": raw_node("linux", {OS: "linux"}, status={"nodeInfo": {"operatingSystem": "linux"}}),
    "label": raw_node("label", {OS: "windows"}),
    "old label": raw_node("old", {"beta.kubernetes.io/os": "windows"}),
    "node info": raw_node("info", status={"nodeInfo": {"operatingSystem": "windows"}}),
    "virtual": raw_node("virtual", {OS: "linux", "type": "virtual-kubelet"}),
    "virtual, tainted": raw_node("tainted", {OS: "windows"}, taints=[TAINT]),
}


def _affinity(*terms: list[Object]) -> Object:
    named = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": named}}


ON_WINDOWS = {"key": OS, "operator": "In", "values": ["windows"]}
ON_BOTH = {"key": OS, "operator": "In", "values": ["linux", "windows"]}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("plain", LINUX),
        ("linux", LINUX),
        ("label", WINDOWS),
        ("old label", WINDOWS),
        ("node info", WINDOWS),
        ("virtual", VIRTUAL),
        ("virtual, tainted", VIRTUAL),
    ],
)
def test_Q2_platform_of_a_node(node: str, expected: Platform) -> None:
    assert node_platform(from_object(NODES[node], Node)) is expected
    # A bound pod without an OS field has the platform of its node.
    assert pod_platform(make_pod(), from_object(NODES[node], Node)) is expected


@table(
    "spec, expected",
    {
        "nothing said": ({}, LINUX),
        "spec.os": ({"os": {"name": "windows"}}, WINDOWS),
        "spec.os decides": ({"os": {"name": "linux"}, "nodeSelector": {OS: "windows"}}, LINUX),
        "nodeSelector": ({"nodeSelector": {OS: "windows"}}, WINDOWS),
        "nodeSelector, old label": ({"nodeSelector": {"beta.kubernetes.io/os": "windows"}}, WINDOWS),
        "nodeSelector, virtual kubelet": ({"nodeSelector": {"type": "virtual-kubelet"}}, VIRTUAL),
        "affinity": ({"affinity": _affinity([ON_WINDOWS])}, WINDOWS),
        "affinity, of one term of two": ({"affinity": _affinity([ON_WINDOWS], [])}, LINUX),
        "affinity to either": ({"affinity": _affinity([ON_BOTH])}, LINUX),
    },
)
def test_Q2_platform_of_a_pod_without_a_node(spec: Object, expected: Platform) -> None:
    assert pod_platform(make_pod(**spec), None) is expected


def test_Q2_virtual_kubelet_has_own_rules_for_windows() -> None:
    pod = make_pod(os={"name": "windows"})
    assert pod_platform(pod, from_object(NODES["virtual"], Node)) is VIRTUAL


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, None),
        ({"schedulerName": "default-scheduler"}, None),
        ({"schedulerName": "volcano"}, NotModelled.OTHER_SCHEDULER),
        ({"schedulingGroup": {"podGroupName": "gang"}}, NotModelled.POD_GROUP),
        ({"workloadRef": {"name": "train"}}, NotModelled.POD_GROUP),
    ],
)
def test_S2_unmodelled_platforms(spec: Object, expected: NotModelled | None) -> None:
    assert not_modelled(make_pod(**spec), {"default-scheduler"}) is expected
