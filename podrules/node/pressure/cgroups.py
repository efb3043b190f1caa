"""The cgroups of a node's pods: kubepods, those of two QoS classes and one for each pod, with weights and limits.

    kubepods      capacity less kubeReserved and systemReserved, if enforceNodeAllocatable has "pods"
    burstable     cpu: the sum of its pods' requests; no limit
    besteffort    the minimum weight; no limit
    a pod         see `podrules.pod.cgroup`; a Guaranteed one is a child of kubepods, beside burstable and besteffort

With the feature gate QOSReserved (alpha, off) a class cannot use the memory that pods of better classes request.

Source: pkg/kubelet/cm/{node,qos}_container_manager_linux.go at v1.36.3 and v1.37.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.features import Features
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodQOSClass
from podrules.api.model.quantity import ZERO
from podrules.pod.cgroup import (
    CgroupName,
    ResourceConfig,
    cpu_weight,
    milli_cpu_to_shares,
    pod_cgroup_name,
    pod_resource_config,
    qos_cgroup_name,
    qos_resource_configs,
)
from podrules.pod.memory_qos import MemoryQoS, memory_by_class, memory_settings, pod_memory_qos, qos_memory
from podrules.pod.qos import get_pod_qos
from podrules.pod.resources import CPU, MEMORY, allocated_pod


class NodeCgroup(Struct, frozen=True, rename="camel"):
    """One cgroup, with the values that the kubelet writes there, and its path with either driver."""

    cgroupfs: str
    systemd: str
    namespace: str
    """The pod's namespace; empty: it is the cgroup of a class, or of all pods."""
    pod: str
    config: ResourceConfig
    cpu_weight: int | None
    """The weight for cgroup v2, by the kubelet's conversion; None: none is written."""
    memory_qos: MemoryQoS | None
    """The values for cgroup v2 with the feature gate MemoryQoS; None: the gate is off, or not known."""


def node_cgroups(
    node: Node, pods: Iterable[Pod], config: KubeletConfiguration | None, limit: int, *, features: Features
) -> tuple[NodeCgroup, ...]:
    """The cgroups, parents first; empty if the kubelet creates none for classes. Finished pods are left out.

    ``limit`` is the memory that all pods may use, in bytes. If ``config`` could not be read, the defaults apply.
    """
    known = config or KubeletConfiguration()
    if not known.cgroups_per_qos:
        return ()
    active = sorted((pod for pod in pods if not pod.finished), key=lambda pod: pod.metadata.place)
    settings = memory_settings(node, config, features)
    kept = {} if settings is None else qos_memory(active, settings, features=features)
    values = qos_resource_configs(active, features=features)
    values[PodQOSClass.GUARANTEED] = ResourceConfig(_kubepods_shares(node, config), memory=limit)
    percent = known.qos_reserved.get(MEMORY, "").removesuffix("%")[:3]
    if known.feature_gates.get("QOSReserved") and percent.isdecimal():
        left, requests = limit, memory_by_class(active, features)
        for better, worse in pairwise(PodQOSClass):
            left -= requests[better] * int(percent) // 100
            values[worse] = replace(values[worse], memory=left)
    root = known.root_parts

    def below(qos_class: PodQOSClass) -> Iterator[NodeCgroup]:
        yield _cgroup(qos_cgroup_name(qos_class, root), values[qos_class], kept.get(qos_class))
        for pod in active:
            if get_pod_qos(pod, features=features) is qos_class:
                granted = allocated_pod(pod, features=features)
                name = pod_cgroup_name(pod, root, features=features)
                memory = None if settings is None else pod_memory_qos(granted, settings, features=features)
                yield _cgroup(name, pod_resource_config(granted, features=features), memory, *pod.metadata.place)

    return tuple(one for qos_class in PodQOSClass for one in below(qos_class))


def _cgroup(
    name: CgroupName, config: ResourceConfig, kept: MemoryQoS | None, namespace: str = "", pod: str = ""
) -> NodeCgroup:
    weight = None if config.cpu_shares is None else cpu_weight(config.cpu_shares)
    return NodeCgroup(name.to_cgroupfs(), name.to_systemd(), namespace, pod, config, weight, kept)


def _kubepods_shares(node: Node, config: KubeletConfiguration | None) -> int | None:
    """The shares of all pods; None: the node does not report its cpu."""
    cpu = node.status.capacity.get(CPU) if config is not None else node.status.allocatable.get(CPU)
    if cpu is not None and config is not None and "pods" in config.enforce_node_allocatable:
        cpu = cpu - config.kube_reserved.get(CPU, ZERO) - config.system_reserved.get(CPU, ZERO)
    return None if cpu is None else milli_cpu_to_shares(max(cpu.milli_value, 0))
