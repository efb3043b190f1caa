"""Cgroups of a pod: names under both drivers, and values for cgroup v1 and v2 at QoS, pod and container level.

    level       name (cgroupfs)                         cpu.shares                       quota, memory limit
    QoS         /kubepods, …/burstable, …/besteffort    besteffort 2; burstable: the     none
                                                        sum of its pods' cpu requests
    pod         …/pod<uid>                              effective cpu request            if every container is limited
    container   below the pod's, named by the runtime   its own cpu request              its own limits, else the pod's

On cgroup v2 shares become a weight, by two different formulas: the kubelet's is linear and applies to QoS and pod
level; libcontainer's is quadratic in log2(shares) and applies to containers. Guaranteed pods are directly in kubepods.
Kubelets since 1.35 do not start on cgroup v1 unless ``failCgroupV1: false``.

Source: pkg/kubelet/cm/{helpers_linux,cgroup_manager_linux,qos_container_manager_linux,pod_container_manager_linux}.go,
pkg/kubelet/kuberuntime/kuberuntime_container_linux.go at v1.36.3; github.com/opencontainers/cgroups/utils.go at v0.0.6.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from podrules.api.features import REFERENCE, Features
from podrules.api.model.pod import ContainerRef, Pod, PodQOSClass
from podrules.api.model.quantity import ZERO, Quantity, QuantityError
from podrules.pod.priority import static_pod_uid
from podrules.pod.qos import get_pod_qos
from podrules.pod.resources import (
    CPU,
    HUGEPAGES_PREFIX,
    MEMORY,
    PodResourcesOptions,
    container_limits,
    is_pod_level_resources_set,
    pod_limits,
    pod_requests,
)

MIN_SHARES: Final = 2
MAX_SHARES: Final = 262144
QUOTA_PERIOD: Final = 100_000
"""Microseconds: the default CFS period, which the kubelet's ``cpuCFSQuotaPeriod`` can change."""
MIN_QUOTA: Final = 1000
"""Microseconds: a limit below 10m is raised to this."""

_KUBEPODS: Final = "kubepods"


class ResourceConfig(Struct, frozen=True, rename="camel"):
    """Values of one cgroup; None: the kubelet writes nothing there."""

    cpu_shares: int | None = None
    cpu_quota: int | None = None
    """Microseconds per period; -1: no quota is enforced; 0: none is set."""
    cpu_period: int | None = None
    memory: int | None = None
    """Bytes; 0: no limit."""
    huge_page_limit: dict[int, int] = {}
    """Page size in bytes to limit in bytes."""


class CgroupName(Struct, frozen=True):
    """A cgroup by its parts, e.g. ``("kubepods", "burstable", "pod<uid>")`` (cm.CgroupName)."""

    parts: tuple[str, ...]

    def child(self, part: str) -> CgroupName:
        """The cgroup one level below."""
        return CgroupName((*self.parts, part))

    def to_cgroupfs(self) -> str:
        """``/kubepods/burstable/pod<uid>``."""
        return "/" + "/".join(self.parts)

    def to_systemd(self) -> str:
        """``/kubepods.slice/kubepods-burstable.slice/…``: each slice's name repeats its parents', dashes escaped."""
        escaped = "-".join(part.replace("-", "_") for part in self.parts).split("-")
        if escaped == [""]:
            return "/"
        return "".join("/" + "-".join(escaped[: end + 1]) + ".slice" for end in range(len(escaped)))


def milli_cpu_to_shares(milli_cpu: int) -> int:
    """``cpu.shares``: 1024 for a whole cpu, from 2 to 262144."""
    return min(max(milli_cpu * 1024 // 1000, MIN_SHARES), MAX_SHARES)


def milli_cpu_to_quota(milli_cpu: int, period: int = QUOTA_PERIOD) -> int:
    """``cpu.cfs_quota_us`` per period, at least 1000; 0 without a limit."""
    return max(milli_cpu * period // 1000, MIN_QUOTA) if milli_cpu else 0


def cpu_weight(shares: int) -> int:
    """Cgroup v2 ``cpu.weight`` as the kubelet converts it, for QoS and pod level: linear, 1024 shares are 39."""
    if shares >= MAX_SHARES:
        return 10000
    return 1 + (shares - MIN_SHARES) * 9999 // (MAX_SHARES - MIN_SHARES)


def cpu_weight_libcontainer(shares: int) -> int:
    """Cgroup v2 ``cpu.weight`` as runtimes convert it, for containers: 1024 shares are 100 (runc >= 1.3.2)."""
    if shares <= MIN_SHARES:
        return 1 if shares else 0
    if shares >= MAX_SHARES:
        return 10000
    log = math.log2(shares)
    return math.ceil(10 ** ((log * log + 125 * log) / 612.0 - 7.0 / 34.0))


def qos_cgroup_name(qos_class: PodQOSClass, root: tuple[str, ...] = ()) -> CgroupName:
    """The cgroup of all pods of a class, below ``cgroupRoot``; Guaranteed pods are directly in kubepods."""
    kubepods = CgroupName((*root, _KUBEPODS))
    return kubepods if qos_class is PodQOSClass.GUARANTEED else kubepods.child(qos_class.value.lower())


def pod_cgroup_name(pod: Pod, root: tuple[str, ...] = (), *, features: Features = REFERENCE) -> CgroupName:
    """The pod's cgroup (GetPodContainerName); a mirror pod's has the UID of its static pod."""
    uid = static_pod_uid(pod) or pod.metadata.uid
    return qos_cgroup_name(get_pod_qos(pod, features=features), root).child(f"pod{uid}")


def qos_resource_configs(pods: Iterable[Pod], *, features: Features = REFERENCE) -> dict[PodQOSClass, ResourceConfig]:
    """Values of the QoS cgroups of a node with these pods, except kubepods (setCPUCgroupConfig).

    They use the pods' requests, even if a resize is not allocated yet.
    """
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


def pod_resource_config(
    pod: Pod,
    *,
    enforce_cpu_limits: bool = True,
    cpu_period: int = QUOTA_PERIOD,
    features: Features = REFERENCE,
) -> ResourceConfig:
    """Values of the pod's cgroup (ResourceConfigForPod); `podrules.pod.memory_qos` adds those of MemoryQoS.

    Args:
        pod: The pod with its allocated resources.
        enforce_cpu_limits: The kubelet's ``cpuCFSQuota``.
        cpu_period: Its ``cpuCFSQuotaPeriod`` in microseconds; a kubelet without the gate CPUCFSQuotaPeriod starts only
            with the default, and would compute quotas with the default.
        features: Gates of the cluster's version.
    """
    options = PodResourcesOptions(skip_pod_level_resources=not features.pod_level_resources)
    requests, limits = pod_requests(pod, options), pod_limits(pod, options)
    shares = milli_cpu_to_shares(requests.get(CPU, ZERO).milli_value)
    milli_cpu = limits.get(CPU, ZERO).milli_value
    quota = milli_cpu_to_quota(milli_cpu, quota_period(cpu_period, features)) if enforce_cpu_limits else -1
    memory = limits.get(MEMORY, ZERO).value
    pages = _huge_page_limits(requests)
    match get_pod_qos(pod, features=features):
        case PodQOSClass.GUARANTEED:
            return ResourceConfig(shares, quota, cpu_period, memory, pages)
        case PodQOSClass.BURSTABLE:
            cpu_limited, memory_limited = _all_limited(pod, CPU, features), _all_limited(pod, MEMORY, features)
            return ResourceConfig(
                shares,
                quota if cpu_limited else None,
                cpu_period if cpu_limited else None,
                memory if memory_limited else None,
                pages,
            )
        case _:
            return ResourceConfig(cpu_shares=MIN_SHARES, huge_page_limit=pages)


def container_resource_config(
    pod: Pod,
    ref: ContainerRef,
    *,
    enforce_cpu_limits: bool = True,
    cpu_period: int = QUOTA_PERIOD,
    features: Features = REFERENCE,
) -> ResourceConfig:
    """The values that the kubelet requests from the runtime for one container (generateLinuxContainerResources)."""
    own = ref.container.resources
    cpu_limit = _container_limit(pod, own.limits.get(CPU, ZERO), CPU, features)
    memory_limit = _container_limit(pod, own.limits.get(MEMORY, ZERO), MEMORY, features)
    shares = milli_cpu_to_shares(own.requests.get(CPU, cpu_limit).milli_value)
    memory = memory_limit.value
    if not enforce_cpu_limits:
        return ResourceConfig(cpu_shares=shares, memory=memory)
    period = quota_period(cpu_period, features)
    return ResourceConfig(shares, milli_cpu_to_quota(cpu_limit.milli_value, period), period, memory)


def quota_period(cpu_period: int, features: Features) -> int:
    """The period of quotas in µs: the kubelet's own only with the gate CPUCFSQuotaPeriod."""
    return cpu_period if features.cpu_cfs_quota_period else QUOTA_PERIOD


def _container_limit(pod: Pod, own: Quantity, name: str, features: Features) -> Quantity:
    """The limit of a container; without its own it gets the pod's (getCPULimit, getMemoryLimit)."""
    if own.is_zero and features.pod_level_resources and pod.spec.resources is not None:
        return pod.spec.resources.limits.get(name, ZERO)
    return own


def _all_limited(pod: Pod, name: str, features: Features) -> bool:
    """Whether every container has a limit (until 1.36 in its phase), or the pod itself has one."""
    own = pod.spec.resources if features.pod_level_resources and is_pod_level_resources_set(pod) else None
    if own is not None and not own.limits.get(name, ZERO).is_zero:
        return True
    if features.limits_per_container:
        return all(not ref.container.resources.limits.get(name, ZERO).is_zero for ref in pod.containers())
    return all(not limits.get(name, ZERO).is_zero for limits in container_limits(pod))


def _page_size(name: str) -> int:
    """Bytes in the name of a huge page resource; 0 if it has none, as in upstream, which drops the error."""
    try:
        return Quantity.parse(name.removeprefix(HUGEPAGES_PREFIX)).value
    except QuantityError:
        return 0


def _huge_page_limits(requests: dict[str, Quantity]) -> dict[int, int]:
    limits: dict[int, int] = {}
    for name, amount in requests.items():
        if name.startswith(HUGEPAGES_PREFIX):
            page = _page_size(name)
            limits[page] = limits.get(page, 0) + amount.value
    return limits
