"""The usage of a node and its pods, in the form of a kubelet's summary, and how near it is to a limit.

stats/summary     the kubelet's measurements: resident memory, working sets, swap, disks, processes
metrics.k8s.io    cpu and working sets of containers and of the node; a pod's values are sums
none              no usage is known

A share of the capacity says how near a node is to an eviction, and a container to its own memory limit, in the same way
for every signal. The kubelet checks once in 10 s (monitoringInterval, pkg/kubelet/kubelet.go at v1.36.3), so the amount
above a threshold has to last at least that long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.api.model.base import ResourceList
from podrules.api.model.kubelet import (
    ContainerStats,
    CPUStats,
    KubeletConfiguration,
    MemoryStats,
    NodeStats,
    PodStats,
    StatsPodReference,
    Summary,
)
from podrules.api.model.node import Node, NodeMetrics, PodMetrics
from podrules.api.model.pod import Pod
from podrules.api.model.quantity import ZERO
from podrules.pod.priority import static_pod_uid
from podrules.pod.reading import UnreadInput
from podrules.pod.resources import CPU, MEMORY

NEAR_HEADROOM_PERCENT: Final = 10
"""Percent of the capacity: with less left, one growing pod causes the eviction."""
CLOSE_HEADROOM_PERCENT: Final = 3
"""Percent of the capacity: 2 GiB of 64 GiB, which a process can fill between two checks of the kubelet."""
NEAR_LIMIT_PERCENT: Final = 95
"""Percent of a container's own memory limit: from this value its verdict, and that of its node, mention it."""


class UsageSource(Enum):
    """The source of the usage."""

    SUMMARY = "stats/summary"
    METRICS = "metrics.k8s.io"
    NONE = "none"


class NodeUsage(Struct, frozen=True):
    """The known usage of a node."""

    source: UsageSource
    summary: Summary


NO_USAGE = NodeUsage(UsageSource.NONE, Summary())


class ReadUsage(Struct, frozen=True):
    """The usage and configuration that were read, and what could not be read."""

    usage: NodeUsage
    config: KubeletConfiguration | None
    unread: tuple[UnreadInput, ...]


def usage_from_summary(summary: Summary) -> NodeUsage:
    """The usage by the kubelet's own measurements."""
    return NodeUsage(UsageSource.SUMMARY, summary)


def usage_from_metrics(
    node: Node, node_metrics: NodeMetrics, pods: Iterable[Pod], pod_metrics: Iterable[PodMetrics]
) -> NodeUsage:
    """Working sets from a metrics API; pods that are missing there stay without measurements.

    Args:
        node: The node, for its capacity.
        node_metrics: The metrics of that node.
        pods: The pods on it.
        pod_metrics: The metrics of those pods; others are ignored.
    """
    by_name = {(entry.metadata.namespace, entry.metadata.name): entry for entry in pod_metrics}
    memory = None
    if MEMORY in node_metrics.usage and MEMORY in node.status.capacity:
        used = node_metrics.usage[MEMORY].value
        memory = MemoryStats(available_bytes=node.status.capacity[MEMORY].value - used, working_set_bytes=used)
    measured = tuple(
        _pod_stats(pod, by_name[pod.metadata.namespace, pod.metadata.name])
        for pod in pods
        if (pod.metadata.namespace, pod.metadata.name) in by_name
    )
    return NodeUsage(
        UsageSource.METRICS, Summary(NodeStats(cpu=_cpu_stats([node_metrics.usage]), memory=memory), measured)
    )


def _pod_stats(pod: Pod, metrics: PodMetrics) -> PodStats:
    containers = {entry.name: entry.usage.get(MEMORY, ZERO).value for entry in metrics.containers}
    meta = pod.metadata
    return PodStats(
        pod_ref=StatsPodReference(meta.name, meta.namespace, static_pod_uid(pod) or meta.uid),
        containers=tuple(
            ContainerStats(name, memory=MemoryStats(working_set_bytes=used)) for name, used in containers.items()
        ),
        cpu=_cpu_stats([entry.usage for entry in metrics.containers]),
        memory=MemoryStats(working_set_bytes=sum(containers.values())),
    )


def _cpu_stats(usages: Sequence[ResourceList]) -> CPUStats | None:
    """The sum of the usage, if all are measured; each in whole thousandths of a cpu."""
    measured = [usage[CPU] for usage in usages if CPU in usage]
    if not measured or len(measured) < len(usages):
        return None
    return CPUStats(usage_nano_cores=sum(one.milli_value for one in measured) * 1_000_000)


class Nearness(Enum):
    """How near a signal is to its threshold."""

    FAR = "Far"
    NEAR = "Near"
    CLOSE = "Close"
    MET = "Met"


def headroom_nearness(percent: int, *, met: bool) -> Nearness:
    """How near a threshold is.

    Args:
        percent: The percentage of the capacity that is left above it.
        met: Whether less is left than the threshold requires.
    """
    if met:
        return Nearness.MET
    if percent < CLOSE_HEADROOM_PERCENT:
        return Nearness.CLOSE
    return Nearness.NEAR if percent < NEAR_HEADROOM_PERCENT else Nearness.FAR


def limit_percent(used: int, limit: int) -> int:
    """The used percentage of a limit, rounded down; both in the same unit."""
    return 100 * used // limit if limit else 0


def is_near_limit(used: int | None, limit: int) -> bool:
    """Whether a container is near its limit; False if its usage is not measured."""
    return used is not None and limit_percent(used, limit) >= NEAR_LIMIT_PERCENT
