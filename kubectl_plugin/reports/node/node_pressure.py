"""A node under pressure, as data (Q3, Q6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from cluster_io.kinds import EVENTS
from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.end_report import EndedPod
from kubectl_plugin.reports.node.node_report import (
    EvictedPod,
    NearLimit,
    NodeReport,
    NodeUse,
    OverLimitReport,
    ThresholdReport,
    threshold_report,
)
from podrules.api.features import Features
from podrules.api.model.kubelet import PSIStats
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodQOSClass, PodReference, reference
from podrules.api.model.quantity import ZERO, Quantity
from podrules.ending.died.memory import OomKill
from podrules.node.eviction.ranking import Comparator, EvictionPlace
from podrules.node.eviction.thresholds import PODS_CGROUP, Signal
from podrules.node.pressure.cgroups import NodeCgroup
from podrules.node.pressure.node import NodePressure, OOMOrder, OOMScope, ThresholdSource
from podrules.node.pressure.oom_order import (
    PAGE_SIZE,
    OOMPlace,
    OOMSeparator,
    proc_oom_score,
    proc_oom_score_before_5_9,
)
from podrules.node.pressure.usage import NodeUsage, UsageSource, is_near_limit, limit_percent
from podrules.pod.oom import OwnScore
from podrules.pod.platform import Platform
from podrules.pod.qos import get_pod_qos
from podrules.pod.reading import UnreadInput
from podrules.pod.resources import MEMORY
from podrules.pod.versions import Versions
from podrules.scheduling.placement.planned import UnmovedPod


class OOMPlaceReport(Struct, frozen=True, rename="camel"):
    """One candidate of the kernel."""

    rank: int
    namespace: str
    """Empty for the system's processes."""
    pod: str
    container: str
    """For the system's processes, their cgroup: kubelet, runtime."""
    qos_class: PodQOSClass | None
    """None for the system's processes."""
    oom_score_adj: int
    rss: int | None
    """Bytes; of the working set if only that is known; None: not measured."""
    swap: int
    """Bytes."""
    usage_points: int
    """Thousandths of the total."""
    points: int
    """Thousandths of the total and oom_score_adj together."""
    badness_pages: int
    """The value that the kernel compares, in pages of 4 KiB."""
    decided_by: OOMSeparator | None
    """Why it comes before the next one; None: no reason, or it is the last."""
    proc_oom_score: int | None
    """Its /proc/PID/oom_score as one process; None if the order is not for the whole machine."""
    proc_oom_score_before_5_9: int | None = None
    """The same before Linux 5.9."""
    own: OwnScore | None = None
    """Why oomScoreAdj is not the kubelet's value; None: it is, or it belongs to the system."""


class OOMOrderReport(Struct, frozen=True, rename="camel"):
    """The kernel's order when the memory of one scope runs out."""

    scope: OOMScope
    namespace: str
    pod: str
    container: str
    memory: int
    """Bytes of the machine, or of the cgroup's limit."""
    memory_assumed: bool
    swap: int
    """Bytes of swap that it may use in addition."""
    working_set: int | None
    """Bytes in use; None: not measured."""
    places: tuple[OOMPlaceReport, ...]


class EvictionPlaceReport(Struct, frozen=True, rename="camel"):
    """One pod of the kubelet's order."""

    rank: int
    """From 1; critical pods are counted, although they are not evicted."""
    namespace: str
    pod: str
    qos_class: PodQOSClass
    """The QoS class, which does not affect this order."""
    priority: int
    measured: bool
    usage: int
    """Bytes, inodes or processes."""
    request: int
    """In the same unit. Inodes are compared with bytes of ephemeral-storage, as the kubelet does."""
    over_request: int
    exceeds_request: bool
    critical: bool
    """The kubelet skips it."""
    decided_by: Comparator | None
    """Why it comes before the next one that can be evicted; None: no reason, or it is the last or critical."""


class EvictionOrderReport(Struct, frozen=True, rename="camel"):
    """The kubelet's order for one signal."""

    signal: Signal
    places: tuple[EvictionPlaceReport, ...]
    unmeasured: tuple[PodReference, ...] = ()
    """Pods without data in the metrics API: their rank is unknown."""


class MemoryReport(Struct, frozen=True, rename="camel"):
    """Memory of the node; bytes, None: not measured."""

    capacity: int
    working_set: int | None
    pods_working_set: int | None
    pods_limit: int | None
    """The limit of the cgroup of all pods."""
    system_working_set: int | None
    """The usage outside of pods."""
    system_reserved: int | None
    """Capacity less the pods' limit: kubeReserved and systemReserved."""
    psi: PSIStats | None
    """Pressure stall information of the node; None: not served."""


class NodePressureReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="NodePressure"):
    """What is killed and evicted first on a node, and how close that is."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    name: str
    source: str
    rules_version: str
    server_version: str | None
    platform: Platform
    """Orders and thresholds are known only for Linux."""
    usage_source: UsageSource
    threshold_source: ThresholdSource
    threshold_problem: str
    """Why the kubelet's own thresholds cannot be used; empty: they can, or could not be read."""
    oom_group: bool | None
    """Whether the kernel kills a whole container with its process; None: only on cgroup v2."""
    image_fs: bool
    """Whether images seem to be on a separate disk."""
    max_pod_grace_period_seconds: int
    """The grace period at soft thresholds."""
    memory: MemoryReport
    oom: tuple[OOMOrderReport, ...]
    """The kill orders of the machine and of all pods, then those of pods and containers, the fullest first."""
    evictions: tuple[EvictionOrderReport, ...]
    """One for each measured signal; empty without usage."""
    thresholds: tuple[ThresholdReport, ...]
    """The measured thresholds."""
    unmeasured: tuple[Signal, ...] = ()
    """The signals with a threshold that are not measured."""
    over_limits: tuple[OverLimitReport, ...]
    """Pods that the kubelet evicts in its next pass."""
    promised: NodeReport
    held: tuple[UnmovedPod, ...] = ()
    """The pods that a drain cannot evict now, if the node is cordoned and was the only one requested."""
    ended: tuple[EndedPod, ...] | None = None
    """The ends on it in the hour before, the latest first; None: not requested, or events could not be read."""
    cgroups: tuple[NodeCgroup, ...] = ()
    """The cgroups of its pods, parents first; empty: not requested, no Linux kubelet, or cgroupsPerQOS is false."""
    cgroups_assumed: bool = False
    """Whether the kubelet's configuration was not read: enforceNodeAllocatable has "pods", and cgroupRoot is empty."""
    shortage: OomKill | None = None
    """The latest kill in the hour before because the node ran out of memory."""
    unread: tuple[UnreadInput, ...]

    @property
    def signals(self) -> frozenset[Signal]:
        """All signals with a threshold, measured or not."""
        return frozenset({*(one.signal for one in self.thresholds), *self.unmeasured})

    @property
    def lacks(self) -> tuple[UnreadInput, ...]:
        """See `NodeReport.lacks`; also events, which report OOM kills."""
        return (*self.promised.lacks, *(one for one in self.unread if one.resource == EVENTS.plural))

    def oom_of(self, scope: OOMScope) -> OOMOrderReport | None:
        """The first order of a scope."""
        return next((order for order in self.oom if order.scope is scope), None)

    def eviction_of(self, signal: Signal) -> EvictionOrderReport | None:
        """The order for a signal."""
        return next((order for order in self.evictions if order.signal is signal), None)


def node_pressure_report(
    node: Node,
    pods: Sequence[Pod],
    usage: NodeUsage,
    pressure: NodePressure,
    promised: NodeReport,
    *,
    versions: Versions,
    unread: tuple[UnreadInput, ...],
) -> NodePressureReport:
    """The report of one node. The usage is also added to the report of its requests."""
    classes = classes_of(pods, versions.api_server)
    report = NodePressureReport(
        name=node.metadata.name,
        source=promised.source,
        rules_version=promised.rules_version,
        server_version=promised.server_version,
        platform=pressure.platform,
        usage_source=pressure.usage_source,
        threshold_source=pressure.threshold_source,
        threshold_problem=pressure.threshold_problem,
        oom_group=pressure.oom_group,
        image_fs=pressure.disks.image_fs,
        max_pod_grace_period_seconds=pressure.max_pod_grace_period_seconds,
        memory=_memory(node, usage, pressure),
        oom=tuple(_oom(order, classes) for order in pressure.ooms),
        evictions=tuple(
            EvictionOrderReport(
                order.signal,
                tuple(eviction_place(rank, place, classes) for rank, place in enumerate(order.places, start=1)),
                tuple(map(reference, order.unmeasured)),
            )
            for order in pressure.evictions
        ),
        thresholds=tuple(map(threshold_report, pressure.headrooms)),
        unmeasured=pressure.unmeasured,
        over_limits=tuple(
            OverLimitReport(
                over.pod.metadata.namespace,
                over.pod.metadata.name,
                over.limit.field,
                over.limit.usage,
                over.limit.limit,
                over.limit.message,
            )
            for over in pressure.over_limits
        ),
        promised=promised,
        unread=unread,
    )
    return replace(report, promised=replace(promised, usage=node_use(report)))


def node_use(report: NodePressureReport) -> NodeUse:
    """The usage of a node, which determines its verdict."""
    ahead = [one for one in report.thresholds if not one.met]
    met = min(
        (one for one in report.thresholds if one.met),
        key=lambda one: (not one.signal.is_memory, not one.hard),
        default=None,
    )
    other = min((one for one in ahead if not one.signal.is_memory), key=lambda one: one.headroom_percent, default=None)
    memory = next((one for one in Signal if one.is_memory and one in report.signals), None)
    signal = met.signal if met is not None else memory or (other.signal if other is not None else None)
    order = None
    if signal is not None:
        order = report.eviction_of(Signal.MEMORY_AVAILABLE if signal.is_memory else signal)
    places = () if order is None else order.places
    evicted = (EvictedPod(place.namespace, place.pod) for place in places if not place.critical)
    near = [
        NearLimit(one.namespace, one.pod, one.container, one.working_set, one.memory)
        for one in report.oom
        if one.scope is OOMScope.CONTAINER
        and one.working_set is not None
        and is_near_limit(one.working_set, one.memory)
    ]
    return NodeUse(
        usage_source=report.usage_source,
        threshold_source=report.threshold_source,
        met=met,
        evicted_first=next(evicted, None),
        unmeasured=len(report.evictions[0].unmeasured) if report.evictions else 0,
        memory_ahead=min(
            (one for one in ahead if one.signal.is_memory),
            key=lambda one: Quantity.parse(one.headroom),
            default=None,
        ),
        other_ahead=other,
        over_limits=report.over_limits,
        near_limits=tuple(sorted(near, key=lambda one: -limit_percent(one.working_set, one.limit))),
    )


Classes = Mapping[tuple[str, str], PodQOSClass]
"""QoS classes by namespace and pod."""


def classes_of(pods: Sequence[Pod], features: Features) -> Classes:
    """The QoS classes of the pods of a node."""
    return {(pod.metadata.namespace, pod.metadata.name): get_pod_qos(pod, features=features) for pod in pods}


def _memory(node: Node, usage: NodeUsage, pressure: NodePressure) -> MemoryReport:
    measured = usage.summary.node
    whole, pods = measured.memory, measured.system_container(PODS_CGROUP)
    used = whole.working_set_bytes if whole else None
    by_pods = pods.memory.working_set_bytes if pods and pods.memory else None
    capacity = node.status.capacity.get(MEMORY, ZERO).value
    limit = next((order.memory for order in pressure.ooms if order.scope is OOMScope.KUBEPODS), None)
    return MemoryReport(
        capacity=capacity,
        working_set=used,
        pods_working_set=by_pods,
        pods_limit=limit,
        system_working_set=None if used is None or by_pods is None else used - by_pods,
        system_reserved=None if limit is None else capacity - limit,
        psi=pressure.memory_psi,
    )


def _oom(order: OOMOrder, classes: Classes) -> OOMOrderReport:
    total = (order.memory + order.swap) // PAGE_SIZE
    return OOMOrderReport(
        scope=order.scope,
        namespace=order.namespace,
        pod=order.pod,
        container=order.container,
        memory=order.memory,
        memory_assumed=order.memory_assumed,
        swap=order.swap,
        working_set=order.working_set,
        places=tuple(
            oom_place(rank, place, classes, total if order.scope is OOMScope.GLOBAL else None)
            for rank, place in enumerate(order.places, start=1)
        ),
    )


def oom_place(rank: int, place: OOMPlace, classes: Classes, total_pages: int | None) -> OOMPlaceReport:
    """One rank; ``total_pages`` of the whole machine, if the machine runs out."""
    candidate = place.candidate
    pages, adj = candidate.used // PAGE_SIZE, candidate.oom_score_adj
    return OOMPlaceReport(
        rank=rank,
        namespace=candidate.namespace,
        pod=candidate.pod,
        container=candidate.container,
        qos_class=classes.get((candidate.namespace, candidate.pod)),
        oom_score_adj=adj,
        rss=candidate.rss,
        swap=candidate.swap,
        usage_points=place.usage_points,
        points=place.points,
        badness_pages=place.badness,
        decided_by=place.decided_by,
        proc_oom_score=None if total_pages is None else proc_oom_score(pages, adj, total_pages),
        proc_oom_score_before_5_9=None if total_pages is None else proc_oom_score_before_5_9(pages, adj, total_pages),
        own=candidate.own,
    )


def eviction_place(rank: int, place: EvictionPlace, classes: Classes) -> EvictionPlaceReport:
    """One rank."""
    ranked = place.ranked
    meta = ranked.pod.metadata
    return EvictionPlaceReport(
        rank=rank,
        namespace=meta.namespace,
        pod=meta.name,
        qos_class=classes[meta.namespace, meta.name],
        priority=ranked.priority,
        measured=ranked.measured,
        usage=ranked.usage,
        request=ranked.request,
        over_request=ranked.over_request,
        exceeds_request=ranked.exceeds,
        critical=ranked.critical,
        decided_by=place.decided_by,
    )
