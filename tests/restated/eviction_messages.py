"""What the kubelet writes of an eviction: into the pod's status, and of the node when it refuses pods.

Source: pkg/kubelet/eviction/helpers.go (evictionMessage and the formats at its head) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from podrules.api.features import REFERENCE, Features
from podrules.api.model.kubelet import ContainerStats, PodStats
from podrules.api.model.pod import Pod
from podrules.api.model.quantity import Quantity, QuantityFormat
from podrules.node.eviction.ranking import pod_usage
from podrules.node.eviction.thresholds import NodeCondition, Observations, Threshold
from podrules.pod.resources import EPHEMERAL_STORAGE, MEMORY, is_pod_level_resources_set

REASON: Final = "Evicted"
"""``status.reason`` of an evicted pod."""
_NO_REQUEST: Final = Quantity(0)


def admission_message(conditions: Iterable[NodeCondition]) -> str:
    """Why a pod that came to the node was refused."""
    return f"The node had condition: [{' '.join(condition.value for condition in conditions)}]. "


def eviction_message(
    resource: str,
    pod: Pod,
    stats: PodStats | None,
    thresholds: Iterable[Threshold],
    observations: Observations,
    *,
    features: Features = REFERENCE,
) -> str:
    """Why a pod was evicted for a resource: ``memory``, ``ephemeral-storage``, ``inodes`` or ``pids``."""
    message = f"The node was low on resource: {resource}. "
    for threshold in thresholds:
        observed = observations.get(threshold.signal)
        if threshold.signal.resource == resource and observed is not None:
            wanted = threshold.value.of(observed.capacity.value)
            message += f"Threshold quantity: {wanted}, available: {observed.available}. "
            break
    if stats is None:
        return message
    return message + _pod(resource, pod, stats, features) + "".join(_containers(resource, pod, stats))


def _pod(resource: str, pod: Pod, stats: PodStats, features: Features) -> str:
    own = pod.spec.resources
    if resource != MEMORY or own is None or stats.memory is None or MEMORY not in own.requests:
        return ""
    if not features.pod_level_resources or not is_pod_level_resources_set(pod):
        return ""
    return _exceeds(f"Pod {pod.metadata.name}", pod_usage(pod, stats, MEMORY), own.requests[MEMORY], MEMORY)


def _containers(resource: str, pod: Pod, stats: PodStats) -> Iterator[str]:
    """A sentence for each container that uses more than it requests, ephemeral containers left out."""
    requests = {ref.container.name: ref.container.resources.requests for ref in reversed([*pod.containers()])}
    for measured in stats.containers:
        if measured.name not in requests:
            continue
        request, usage = requests[measured.name].get(resource, _NO_REQUEST), _usage(resource, measured)
        if usage is not None and Quantity(usage) > request:
            yield _exceeds(f"Container {measured.name}", usage, request, resource)


def _exceeds(what: str, usage: int, request: Quantity, resource: str) -> str:
    used = Quantity(usage, 0, QuantityFormat.BINARY_SI)
    return f"{what} was using {used}, request is {request}, has larger consumption of {resource}. "


def _usage(resource: str, stats: ContainerStats) -> int | None:
    """Bytes; None: not measured, or of a resource that containers have no usage of."""
    if resource == MEMORY:
        return stats.memory.working_set_bytes if stats.memory else None
    if resource == EPHEMERAL_STORAGE and stats.rootfs is not None and stats.logs is not None:
        layer, logs = stats.rootfs.used_bytes, stats.logs.used_bytes
        return layer + logs if layer is not None and logs is not None else None
    return None
