"""The cgroups of a node's pods: kubepods, those of two QoS classes and one for each pod, with weights and limits.

    kubepods      cpu and memory: capacity less kubeReserved and systemReserved, where enforceNodeAllocatable holds
                  "pods"; `podrules.pressure.node` finds the limit of memory
    burstable     cpu: what its pods request; no limit
    besteffort    the least weight; no limit
    a pod         see `podrules.cgroup`

A Guaranteed pod is a child of kubepods, beside burstable and besteffort: weights share cpu among siblings alone. With
the feature gate QOSReserved (alpha, off) a share of the requests of better classes is taken from the memory of a class.

Source: pkg/kubelet/cm/{node,qos}_container_manager_linux.go at v1.36.3 and v1.37.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.cgroup import (
    CgroupName,
    ResourceConfig,
    cpu_weight,
    milli_cpu_to_shares,
    pod_cgroup_name,
    pod_resource_config,
    qos_cgroup_name,
    qos_resource_configs,
)
from podrules.features import Features
from podrules.memory_qos import MemoryQoS, memory_settings, pod_memory_qos, qos_memory
from podrules.model.kubelet import KubeletConfiguration
from podrules.model.node import Node
from podrules.model.pod import Pod, PodQOSClass
from podrules.model.quantity import ZERO, Quantity
from podrules.qos import get_pod_qos
from podrules.resources import CPU, MEMORY, allocated_pod, pod_requests

__all__ = ["NodeCgroup", "node_cgroups"]

_PODS: Final = "pods"
_PERCENT: Final = re.compile(r"([0-9]{1,3})%")


class NodeCgroup(Struct, frozen=True, rename="camel"):
    """One cgroup, with what the kubelet writes there."""

    cgroupfs: str
    """Its path with the cgroupfs driver."""
    systemd: str
    """Its path with the systemd driver."""
    namespace: str
    """The pod's; empty: it is the cgroup of a class, or of all pods."""
    pod: str
    config: ResourceConfig
    cpu_weight: int | None
    """cgroup v2, the kubelet's conversion; None: nothing is written."""
    memory_qos: MemoryQoS | None
    """cgroup v2, with the feature gate MemoryQoS; None: it is off, or nothing is known."""


def node_cgroups(
    node: Node, pods: Iterable[Pod], config: KubeletConfiguration | None, limit: int, *, features: Features
) -> tuple[NodeCgroup, ...]:
    """The cgroups, parents first; none if the kubelet makes none for classes.

    Args:
        node: The node.
        pods: Those bound to it; finished ones are left out.
        config: The kubelet's configuration; None: it could not be read, so its defaults count.
        limit: Bytes that all pods may use.
        features: Gates of the kubelet's version.
    """
    if config is not None and not config.cgroups_per_qos:
        return ()
    active = sorted((pod for pod in pods if not pod.finished), key=lambda pod: pod.metadata.place)
    settings = memory_settings(node, config, features)
    kept = {} if settings is None else qos_memory(active, settings, features=features)
    values = qos_resource_configs(active, features=features)
    cpu = _left_to_pods(node, config, CPU)
    shares = None if cpu is None else milli_cpu_to_shares(max(cpu.milli_value, 0))
    values[PodQOSClass.GUARANTEED] = ResourceConfig(shares, memory=limit)
    for qos_class, left in _reserved(node, active, config, features):
        values[qos_class] = replace(values[qos_class], memory=left)
    root = () if config is None else config.root_parts

    def below(qos_class: PodQOSClass) -> Iterator[NodeCgroup]:
        yield _cgroup(qos_cgroup_name(qos_class, root), values[qos_class], kept.get(qos_class))
        for pod in active:
            if get_pod_qos(pod, features=features) is qos_class:
                granted = allocated_pod(pod, features=features)
                name = pod_cgroup_name(pod, root, features=features)
                memory = None if settings is None else pod_memory_qos(granted, settings, features=features)
                yield _cgroup(name, pod_resource_config(granted, features=features), memory, pod)

    return tuple(one for qos_class in PodQOSClass for one in below(qos_class))


def _cgroup(name: CgroupName, config: ResourceConfig, kept: MemoryQoS | None, pod: Pod | None = None) -> NodeCgroup:
    namespace, own = ("", "") if pod is None else pod.metadata.place
    weight = None if config.cpu_shares is None else cpu_weight(config.cpu_shares)
    return NodeCgroup(name.to_cgroupfs(), name.to_systemd(), namespace, own, config, weight, kept)


def _left_to_pods(
    node: Node, config: KubeletConfiguration | None, resource: str, *, enforced: bool = True
) -> Quantity | None:
    """What the system does not keep of a resource; None: the node does not say how much it has.

    Without the kubelet's configuration it is what is allocatable, of which only evictions keep a part.
    """
    status = node.status
    if config is None:
        return status.allocatable.get(resource)
    whole = status.capacity.get(resource)
    if whole is None or (enforced and _PODS not in config.enforce_node_allocatable):
        return whole
    return whole - config.kube_reserved.get(resource, ZERO) - config.system_reserved.get(resource, ZERO)


def _reserved(
    node: Node, pods: Sequence[Pod], config: KubeletConfiguration | None, features: Features
) -> Iterator[tuple[PodQOSClass, int]]:
    """The limits of classes in bytes by QOSReserved (setMemoryReserve)."""
    percent = None if config is None else _PERCENT.fullmatch(config.qos_reserved.get(MEMORY, ""))
    whole = _left_to_pods(node, config, MEMORY, enforced=False)
    if config is None or percent is None or whole is None or not config.feature_gates.get("QOSReserved"):
        return
    left, better = max(whole.value, 0), PodQOSClass.GUARANTEED
    for worse in (PodQOSClass.BURSTABLE, PodQOSClass.BEST_EFFORT):
        asked = (pod_requests(pod).get(MEMORY, ZERO) for pod in pods if get_pod_qos(pod, features=features) is better)
        left -= sum(amount.value for amount in asked) * int(percent[1]) // 100
        yield worse, left
        better = worse
