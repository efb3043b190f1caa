"""The kubelet's way back from cgroup values and names, and the values of the QoS cgroups.

Source: pkg/kubelet/cm at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable

from podrules.cgroup import MAX_SHARES, MIN_SHARES, CgroupName, ResourceConfig, milli_cpu_to_shares
from podrules.features import REFERENCE, Features
from podrules.model.pod import Pod, PodQOSClass
from podrules.model.quantity import ZERO
from podrules.qos import get_pod_qos
from podrules.resources import (
    CPU,
    PodResourcesOptions,
    pod_requests,
)

__all__ = ["cpu_weight_to_shares", "parse_systemd", "qos_resource_configs"]


def cpu_weight_to_shares(weight: int) -> int:
    """The kubelet's way back, which loses up to a weight's step."""
    return (weight - 1) * (MAX_SHARES - MIN_SHARES) // 9999 + MIN_SHARES


def qos_resource_configs(pods: Iterable[Pod], *, features: Features = REFERENCE) -> dict[PodQOSClass, ResourceConfig]:
    """Values of the QoS cgroups of a node that runs these pods (qosContainerManagerImpl.setCPUCgroupConfig)."""
    options = PodResourcesOptions(skip_pod_level_resources=not features.pod_level_resources)
    milli_cpu = sum(
        pod_requests(pod, options).get(CPU, ZERO).milli_value
        for pod in pods
        if get_pod_qos(pod, features=features) is PodQOSClass.BURSTABLE
    )
    return {
        PodQOSClass.GUARANTEED: ResourceConfig(),
        PodQOSClass.BURSTABLE: ResourceConfig(cpu_shares=milli_cpu_to_shares(milli_cpu)),
        PodQOSClass.BEST_EFFORT: ResourceConfig(cpu_shares=MIN_SHARES),
    }


def parse_systemd(path: str) -> CgroupName:
    """The parts of a slice's path (cm.ParseSystemdToCgroupName)."""
    leaf = path.rstrip("/").rpartition("/")[2].removesuffix(".slice")
    return CgroupName(tuple(part.replace("_", "-") for part in leaf.split("-")))
