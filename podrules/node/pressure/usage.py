"""The usage of a node and its pods, in the form of a kubelet's summary for every source.

stats/summary     the kubelet's measurements: resident memory, working sets, swap, disks, processes
metrics.k8s.io    cpu and working sets of containers and of the node; a pod's values are sums
none              no usage is known
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

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
from podrules.api.model.metrics import NodeMetrics, PodMetrics
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.quantity import ZERO
from podrules.pod.priority import static_pod_uid
from podrules.pod.reading import UnreadInput
from podrules.pod.resources import CPU, MEMORY


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
