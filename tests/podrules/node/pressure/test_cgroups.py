"""The cgroups of a node's pods: names, weights and limits, with and without the kubelet's configuration.

For 400 random nodes the values of classes matched upstream's own functions at v1.36.3: setCPUCgroupConfig,
setMemoryQoS, setMemoryReserve, getCgroupConfigInternal and getCPUWeight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from podrules.api.features import Features
from podrules.api.model.pod import Pod
from podrules.node.pressure.cgroups import NodeCgroup, node_cgroups
from podrules.pod.memory_qos import MemoryQoS
from tests.objects import make_node, make_pod, raw_container
from tests.podrules.node.eviction.building import configuration

MI, GI = 1 << 20, 1 << 30
SIZE = {"cpu": "8", "memory": "32Gi"}
NODE = make_node("n", capacity=SIZE, allocatable={"cpu": "7500m", "memory": "30Gi"})
EVEN = {"cpu": "2", "memory": "4Gi"}
RESERVING = {"kubeReserved": {"cpu": "500m", "memory": "1Gi"}, "systemReserved": {"cpu": "250m", "memory": "512Mi"}}


def _pod(name: str, requests: dict[str, str] | None = None, limits: dict[str, str] | None = None, **more: Any) -> Pod:
    container = raw_container(requests=requests, limits=limits)
    return make_pod(name, namespace="shop", uid=f"{name}-1", containers=[container], nodeName="n", **more)


PODS = (
    _pod("db", EVEN, EVEN),
    _pod("web", {"cpu": "300m", "memory": "1Gi"}, {"memory": "2Gi"}),
    _pod("api", {"cpu": "1200m", "memory": "3Gi"}),
    _pod("log"),
)


def _tree(
    config: dict[str, Any] | None, pods: Sequence[Pod] = PODS, *, limit: int = 30 * GI, minor: int = 37
) -> dict[str, NodeCgroup]:
    known = None if config is None else configuration(**config)
    return {one.cgroupfs: one for one in node_cgroups(NODE, pods, known, limit, features=Features.of_minor(minor))}


def _values(tree: dict[str, NodeCgroup]) -> dict[str, tuple[int | None, int | None, int | None]]:
    return {path: (one.config.cpu_shares, one.cpu_weight, one.config.memory) for path, one in tree.items()}


def test_Q5_cgroup_tree_without_kubelet_configuration() -> None:
    assert _values(_tree(None)) == {
        "/kubepods": (7680, 293, 30 * GI),
        "/kubepods/poddb-1": (2048, 79, 4 * GI),
        "/kubepods/burstable": (1536, 59, None),
        "/kubepods/burstable/podapi-1": (1228, 47, None),
        "/kubepods/burstable/podweb-1": (307, 12, 2 * GI),
        "/kubepods/besteffort": (2, 1, None),
        "/kubepods/besteffort/podlog-1": (2, 1, None),
    }


@pytest.mark.parametrize(
    ("config", "shares"),
    [
        ({}, 8192),
        (RESERVING, 7424),
        ({**RESERVING, "enforceNodeAllocatable": ["none"]}, 8192),
        ({"kubeReserved": {"cpu": "9"}}, 2),
    ],
)
def test_Q5_kubepods_cpu_excludes_enforced_reserve(config: dict[str, Any], shares: int) -> None:
    assert _tree(config)["/kubepods"].config.cpu_shares == shares


def test_Q5_root_and_names_of_both_drivers() -> None:
    tree = _tree({"cgroupRoot": "/k8s-x/"})
    assert tree["/k8s-x/kubepods"].systemd == "/k8s_x.slice/k8s_x-kubepods.slice"
    assert tree["/k8s-x/kubepods/burstable/podapi-1"].systemd.endswith("/k8s_x-kubepods-burstable-podapi_1.slice")
    assert _tree({"cgroupsPerQOS": False}) == {}


def test_Q5_cgroup_of_mirror_pod_and_finished_pod() -> None:
    mirror = _pod("etcd", {"cpu": "100m"}, metadata={"annotations": {"kubernetes.io/config.mirror": "5e1b"}})
    assert list(_tree(None, [mirror, _pod("done", EVEN, status={"phase": "Succeeded"})])) == [
        "/kubepods",
        "/kubepods/burstable",
        "/kubepods/burstable/pod5e1b",
        "/kubepods/besteffort",
    ]


TIERED = {"memoryReservationPolicy": "TieredReservation"}


@pytest.mark.parametrize(
    ("minor", "config", "whole", "burstable"),
    [
        (37, TIERED, MemoryQoS(low=4 * GI, min=8 * GI), MemoryQoS(low=4 * GI)),
        (36, {**TIERED, "featureGates": {"MemoryQoS": True}}, MemoryQoS(min=8 * GI), MemoryQoS(low=4 * GI)),
        (35, {"featureGates": {"MemoryQoS": True}}, MemoryQoS(min=8 * GI), MemoryQoS(min=4 * GI)),
        (37, {"memoryReservationPolicy": "None"}, None, None),
        (36, TIERED, None, None),
    ],
)
def test_Q5_classes_protect_the_memory_that_their_pods_request(
    minor: int, config: dict[str, Any], whole: MemoryQoS | None, burstable: MemoryQoS | None
) -> None:
    features = Features.of_minor(minor, {"memory_qos": True} if "featureGates" in config else {})
    tree = {one.cgroupfs: one for one in node_cgroups(NODE, PODS, configuration(**config), 30 * GI, features=features)}
    found = [tree[path].memory_qos for path in ("/kubepods", "/kubepods/burstable", "/kubepods/besteffort")]
    assert found == [whole, burstable, None]


@pytest.mark.parametrize(("percent", "on"), [("50%", True), ("100%", True), ("50%", False), ("half", True)])
def test_Q5_qos_reserved_limits_the_memory_of_lower_classes(percent: str, on: bool) -> None:
    config = {**RESERVING, "qosReserved": {"memory": percent}, "featureGates": {"QOSReserved": on}}
    whole, share = 32 * GI - GI - 512 * MI, int(percent.removesuffix("%")) if percent != "half" else 0
    tree = _tree(config, limit=whole)
    limits = [whole - 4 * GI * share // 100, whole - 8 * GI * share // 100] if on and share else [None, None]
    assert [tree[f"/kubepods/{name}"].config.memory for name in ("burstable", "besteffort")] == limits
