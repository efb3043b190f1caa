"""Memory that the kernel throttles or protects on cgroup v2: the feature gate MemoryQoS.

    file          for a container                             for its pod
    memory.high   request + factor * (limit - request), in    the same of the pod's request and limit, if spec.resources
                  whole pages; without a limit the node's     is set and memory is limited
                  allocatable memory stands in for it
    memory.min    its request, in a Guaranteed pod            the pod's request, in a Guaranteed pod
    memory.low    its request, in another pod                 the pod's request, in another pod

Above memory.high the kernel slows a process down and reclaims its memory, but kills no process. It reclaims nothing
below memory.min, and below memory.low only if no other memory is left.

The factor is the kubelet's ``memoryThrottlingFactor``. It has no default since 1.37: the gate is on, but memory.high
is written only if a node's configuration sets a factor. memory.high is not written if request and limit are equal, or
if it would not be above the request. For a container without its own limit only the pod has it, if the pod has a limit.
Until 1.36 the factor is 0.9, and containers without request and limit have no memory.high, nor do pods.

memory.min and memory.low are written if ``memoryReservationPolicy`` is TieredReservation; by default it is None. Until
1.35 there is no policy, and every request is written to memory.min.

Allocatable memory here is the capacity without kubeReserved and systemReserved. The node's status also subtracts the
hard eviction threshold, so it cannot be used.

The cgroups above have the sums of their pods: burstable memory.low, kubepods memory.min of Guaranteed and Burstable
pods and, since 1.37, memory.low of the latter. Until 1.35 both have memory.min.

Source: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go (generateLinuxContainerResources),
pkg/kubelet/cm/helpers_linux.go (ApplyPodLevelMemoryHigh, ResourceConfigForPod), qos_container_manager_linux.go
(setMemoryQoS), node_container_manager_linux.go
(GetNodeAllocatableAbsolute) and pkg/kubelet/apis/config/v1beta1/defaults.go at v1.34.4, v1.35.4, v1.36.3 and v1.37.1;
KEP-2570.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from podrules.api.features import REFERENCE, Features
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.node import Node
from podrules.api.model.pod import ContainerRef, Pod, PodQOSClass
from podrules.api.model.quantity import ZERO
from podrules.pod.qos import get_pod_qos
from podrules.pod.resources import MEMORY, PodResourcesOptions, is_pod_level_resources_set, pod_limits, pod_requests

PAGE_SIZE: Final = 4096
"""Bytes: a page of memory, except on some kernels for arm64 and ppc64le."""

_DEFAULT_FACTOR: Final = 0.9
"""``memoryThrottlingFactor`` until 1.36."""
_TIERED: Final = "TieredReservation"
_TOO_LARGE: Final = 1 << 63
"""Go's int64 overflows here, and the kubelet writes nothing."""


class MemorySettings(Struct, frozen=True):
    """The settings of a node that decide together with the pod."""

    factor: float | None = None
    """``memoryThrottlingFactor``; None: memory.high is not written."""
    tiered: bool = False
    """Whether ``memoryReservationPolicy`` is TieredReservation."""
    allocatable: int | None = None
    """Bytes of memory without the reservations; 0: the kubelet knows none. None: not known here."""
    page_size: int = PAGE_SIZE
    """Bytes."""


class MemoryQoS(Struct, frozen=True, rename="camel"):
    """Values of one cgroup in bytes; None: the kubelet writes nothing there."""

    high: int | None = None
    low: int | None = None
    min: int | None = None


def memory_settings(
    node: Node | None, config: KubeletConfiguration | None, features: Features
) -> MemorySettings | None:
    """The settings of a kubelet; None: the gate is off, the node is not known, or it may run on cgroup v1.

    If its configuration was not read, the defaults of its version apply.
    """
    set_there = None if config is None else config.fail_cgroup_v1
    fails_on_v1 = features.fail_cgroup_v1 if set_there is None else set_there
    if node is None or not features.memory_qos or not fails_on_v1:
        return None
    default = None if features.memory_high_by_factor else _DEFAULT_FACTOR
    if config is None:
        return MemorySettings(default)
    capacity = node.status.capacity.get(MEMORY)
    reserved = config.system_reserved.get(MEMORY, ZERO) + config.kube_reserved.get(MEMORY, ZERO)
    return MemorySettings(
        factor=default if config.memory_throttling_factor is None else config.memory_throttling_factor,
        tiered=config.memory_reservation_policy == _TIERED,
        allocatable=None if capacity is None else max((capacity - reserved).value, 0),
    )


def container_memory_qos(
    pod: Pod, ref: ContainerRef, settings: MemorySettings, *, features: Features = REFERENCE
) -> MemoryQoS | None:
    """The values that the kubelet requests from the runtime for one container (generateLinuxContainerResources).

    None if they depend on the node's allocatable memory, and that is not known.
    """
    own = ref.container.resources
    request, limit = own.requests.get(MEMORY, ZERO).value, own.limits.get(MEMORY, ZERO).value
    kept = _protection(pod, request, settings, features)
    if features.memory_reserved_by_policy and kept == MemoryQoS():
        kept = MemoryQoS(low=0, min=0)
    if settings.factor is None or not _throttles(pod, request, limit, features):
        return kept
    ceiling = limit or settings.allocatable
    if ceiling is None:
        return None
    return MemoryQoS(_high(request, ceiling, settings.factor, settings.page_size), kept.low, kept.min)


def pod_memory_qos(pod: Pod, settings: MemorySettings, *, features: Features = REFERENCE) -> MemoryQoS:
    """The kubelet's values for the cgroup of an allocated pod (ResourceConfigForPod, ApplyPodLevelMemoryHigh)."""
    options = PodResourcesOptions(skip_pod_level_resources=not features.pod_level_resources)
    request = pod_requests(pod, options).get(MEMORY, ZERO).value
    kept = _protection(pod, request, settings, features)
    if settings.factor is None or not features.memory_high_by_factor or not _limited(pod, features):
        return kept
    limit = pod_limits(pod, options).get(MEMORY, ZERO).value
    if request == limit:
        return kept
    return MemoryQoS(_high(request, limit, settings.factor, settings.page_size), kept.low, kept.min)


def memory_by_class(pods: Iterable[Pod], features: Features) -> dict[PodQOSClass, int]:
    """Bytes that the pods of each class request (getQoSMemoryRequests)."""
    found = dict.fromkeys(PodQOSClass, 0)
    for pod in pods:
        found[get_pod_qos(pod, features=features)] += pod_requests(pod).get(MEMORY, ZERO).value
    return found


def qos_memory(
    pods: Iterable[Pod], settings: MemorySettings, *, features: Features = REFERENCE
) -> dict[PodQOSClass, MemoryQoS]:
    """The values that the kubelet writes for the QoS cgroups (setMemoryQoS); Guaranteed means kubepods, the parent."""
    requests = memory_by_class(pods, features)
    burstable = requests[PodQOSClass.BURSTABLE] or None
    whole = requests[PodQOSClass.GUARANTEED] + requests[PodQOSClass.BURSTABLE] or None
    if not features.memory_reserved_by_policy:
        return {PodQOSClass.GUARANTEED: MemoryQoS(min=whole), PodQOSClass.BURSTABLE: MemoryQoS(min=burstable)}
    if not settings.tiered:
        return {}
    # memory.low of kubepods came with the factor: without it memory.low of the children has no effect.
    low = burstable if features.memory_high_by_factor else None
    return {PodQOSClass.GUARANTEED: MemoryQoS(low=low, min=whole), PodQOSClass.BURSTABLE: MemoryQoS(low=burstable)}


def _protection(pod: Pod, request: int, settings: MemorySettings, features: Features) -> MemoryQoS:
    """The part of a request in bytes that the kernel protects."""
    if not features.memory_reserved_by_policy:
        return MemoryQoS(min=request or None)
    if not settings.tiered or not request:
        return MemoryQoS()
    guaranteed = get_pod_qos(pod, features=features) is PodQOSClass.GUARANTEED
    return MemoryQoS(min=request) if guaranteed else MemoryQoS(low=request)


def _throttles(pod: Pod, request: int, limit: int, features: Features) -> bool:
    """Whether a container with this request and limit in bytes has its own memory.high."""
    if not features.memory_high_by_factor:
        return request != limit
    own = pod.spec.resources if features.pod_level_resources else None
    if not limit and own is not None and not own.limits.get(MEMORY, ZERO).is_zero:
        return False
    return request != limit or not request


def _limited(pod: Pod, features: Features) -> bool:
    """Whether the pod sets spec.resources, and limits memory there or in every container."""
    own = pod.spec.resources
    if own is None or not features.pod_level_resources or not is_pod_level_resources_set(pod):
        return False
    every = all(not ref.container.resources.limits.get(MEMORY, ZERO).is_zero for ref in pod.containers())
    return every or not own.limits.get(MEMORY, ZERO).is_zero


def _high(request: int, ceiling: int, factor: float, page_size: int) -> int | None:
    """memory.high in bytes; None: it would not be above the request.

    Upstream computes in float64, and rounds down to a byte before it rounds down to a page.
    """
    size = math.floor(float(request) + (float(ceiling) - float(request)) * factor)
    high = int(size / page_size) * page_size
    return high if request < high < _TOO_LARGE else None
