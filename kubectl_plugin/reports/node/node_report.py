"""Nodes as data: requests (Q4), usage, whether they answer (F5), and the verdict on each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

from msgspec import Struct

from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.verdict import Severity, VerdictCode
from podrules.api.features import Features
from podrules.api.model.event import Event
from podrules.api.model.instant import instant
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodReference
from podrules.api.model.quantity import Quantity
from podrules.ending.died.cause import Clue, EvidenceSource, of_event
from podrules.ending.died.messages import PRESSURE_REASONS
from podrules.node.allocation import ResourceAllocation, node_allocation, percent_of
from podrules.node.eviction.thresholds import NodeCondition, Signal, pressures_of
from podrules.node.pressure.node import Headroom, ThresholdSource
from podrules.node.pressure.usage import UsageSource
from podrules.node.reachability import NodeReach, Reach
from podrules.pod.platform import Platform, node_platform
from podrules.pod.reading import UnreadInput
from podrules.pod.resources import pod_requests, scheduler_options
from podrules.pod.tolerations import Eviction, bound_at, pod_eviction, taint_eviction
from podrules.pod.versions import VersionNote, Versions, version_notes
from podrules.silent_node.partitions import NodeDown
from podrules.workload.evictors import Evictor, going, held_back

_LATELY: Final = timedelta(minutes=5)


class NodeResourceReport(Struct, frozen=True, rename="camel"):
    """One resource: quantities, and integers for calculations (cpu in thousandths)."""

    name: str
    capacity: str
    reserved: str
    allocatable: str
    requested: str
    free: str
    limited: str
    without_limit: int
    requested_by_class: dict[str, str]
    requested_percent: int
    """Percent of allocatable, rounded down."""
    limited_percent: int
    """Percent of allocatable, rounded down: over 100 is overcommit."""
    full: bool
    """No pod that requests this resource fits; a pod without such a request may fit."""


class KeptRoom(Struct, frozen=True, rename="camel"):
    """Room that a node reserves for nominated pods. It does not count as requested."""

    pods: tuple[PodReference, ...]
    requests: dict[str, str]
    """The sum of their requests, by resource: quantities."""


class NodeReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="NodeExplanation"):
    """The report of one node."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    name: str
    source: str
    rules_version: str
    """The upstream version for which the rules were verified."""
    server_version: str | None
    ready: str | None
    ready_since: str | None
    unready_message: str = ""
    """Why it is not Ready, in its kubelet's words; empty: it is Ready, or does not answer."""
    reach: NodeReach | None
    """Whether it answers; if it does not, it is unknown when its pods end. None: not checked."""
    unschedulable: bool
    pressures: tuple[NodeCondition, ...]
    """The pressure conditions that it reports."""
    pressure_said: tuple[Clue, ...] = ()
    """Its kubelet's messages about pressure within the last 5 minutes."""
    platform: Platform
    """The platform of its pods, which determines the rules."""
    taints: tuple[str, ...]
    going: Evictor | None
    """The program that removes or restarts it; None: no sign of one."""
    held_back: Evictor | None
    """The program that tried to remove it within the last hour, and why it failed; None: no such event."""
    evictions: tuple[Eviction, ...]
    """The pods that its taints delete, one entry each; empty also if the node does not answer."""
    pods: int | None
    """None: the pods could not be read."""
    max_pods: int
    pods_full: bool
    """No further pod fits, whatever it requests; false if the pods could not be read."""
    pods_by_class: dict[str, int]
    """Empty if the pods could not be read, like the resources: none is known to be free."""
    resources: tuple[NodeResourceReport, ...]
    kept: KeptRoom | None
    """None: no pod is nominated to it."""
    usage: NodeUse | None
    """The result of its usage; None: not requested."""
    version_notes: tuple[VersionNote, ...] = ()
    """The versions for which the rules were not verified, including its kubelet's."""
    unread: tuple[UnreadInput, ...]

    @property
    def lacks(self) -> tuple[UnreadInput, ...]:
        """Unread resources that may change the headline: its pods."""
        return tuple(one for one in self.unread if self.pods is None and one.resource == "pods")

    @property
    def offered(self) -> tuple[NodeResourceReport, ...]:
        """The resources of the node that are not 0."""
        return tuple(entry for entry in self.resources if entry.allocatable != "0")


def node_report(
    node: Node,
    pods: Sequence[Pod] | None,
    *,
    nominated: Sequence[Pod],
    reach: NodeReach | None = None,
    source: str,
    versions: Versions,
    events: Iterable[Event] = (),
    now: datetime | None = None,
    unread: tuple[UnreadInput, ...],
) -> NodeReport:
    """The report of one node, without usage, which `node_pressure_report` adds."""
    allocation = node_allocation(node, pods or (), features=versions.scheduler)
    ready, quiet = node.ready, reach is not None and reach.reach.quiet
    pressure = sorted((one for one in events if one.reason in PRESSURE_REASONS), key=lambda one: one.last or "")
    clues = (
        of_event(one, EvidenceSource.NODE_EVENT)
        for one in {event.reason: event for event in pressure}.values()
        if now is not None and (when := instant(one.last)) is not None and now - when <= _LATELY
    )
    return NodeReport(
        name=node.metadata.name,
        source=source,
        rules_version=versions.rules_version,
        server_version=versions.server_version,
        ready=ready.status if ready else None,
        ready_since=ready.last_transition_time if ready else None,
        unready_message=node.unready_message,
        reach=reach,
        unschedulable=node.spec.unschedulable,
        pressures=pressures_of(node.status.conditions),
        pressure_said=tuple(clues),
        platform=node_platform(node),
        taints=tuple(taint.text for taint in node.spec.taints),
        going=going(node, events, now),
        held_back=held_back(node, events, now),
        evictions=() if quiet else tuple(filter(None, (pod_eviction(pod, node.spec.taints) for pod in pods or ()))),
        pods=None if pods is None else allocation.pods,
        max_pods=allocation.max_pods,
        pods_full=pods is not None and allocation.pods_full,
        pods_by_class={}
        if pods is None
        else {qos_class.value: count for qos_class, count in allocation.pods_by_class.items()},
        resources=() if pods is None else tuple(map(_resource, allocation.resources)),
        kept=_kept_room(nominated, versions.scheduler) if nominated else None,
        usage=None,
        version_notes=version_notes(versions, (node,)),
        unread=unread,
    )


def _kept_room(nominated: Sequence[Pod], features: Features) -> KeptRoom:
    requests: dict[str, Quantity] = {}
    for pod in nominated:
        for name, amount in pod_requests(pod, scheduler_options(features)).items():
            requests[name] = requests[name] + amount if name in requests else amount
    return KeptRoom(
        tuple(PodReference(pod.metadata.namespace, pod.metadata.name) for pod in nominated),
        {name: str(requests[name]) for name in sorted(requests)},
    )


def _resource(entry: ResourceAllocation) -> NodeResourceReport:
    allocatable = entry.allocatable.milli_value
    return NodeResourceReport(
        name=entry.name,
        capacity=str(entry.capacity),
        reserved=str(entry.reserved),
        allocatable=str(entry.allocatable),
        requested=str(entry.requested),
        free=str(entry.free),
        limited=str(entry.limited),
        without_limit=entry.without_limit,
        requested_by_class={qos_class.value: str(amount) for qos_class, amount in entry.requested_by_class.items()},
        requested_percent=percent_of(entry.requested.milli_value, allocatable),
        limited_percent=percent_of(entry.limited.milli_value, allocatable),
        full=entry.full,
    )


class ThresholdReport(Struct, frozen=True, rename="camel"):
    """An eviction threshold and the amount that is left."""

    signal: Signal
    hard: bool
    grace_period_seconds: float
    """For how long it must be met; 0 for hard ones."""
    quantity: str
    """The threshold is met if less than this is left."""
    available: str
    headroom: str
    """The amount above the threshold; negative if it is met."""
    headroom_percent: int
    """Percent of the capacity, rounded down."""
    met: bool


class OverLimitReport(Struct, frozen=True, rename="camel"):
    """A pod above a storage limit of its own."""

    namespace: str
    pod: str
    field: str
    """The limit's."""
    usage: int
    """Bytes."""
    limit: int
    """Bytes, as usage."""
    message: str


class EvictedPod(Struct, frozen=True):
    """A pod that the kubelet may evict."""

    namespace: str
    pod: str


class NearLimit(Struct, frozen=True, rename="camel"):
    """A container near its own memory limit."""

    namespace: str
    pod: str
    container: str
    working_set: int
    """Bytes."""
    limit: int
    """Bytes."""


class NodeUse(Struct, frozen=True, rename="camel"):
    """How close a node is to an eviction, and which pod or container its kubelet and kernel select next."""

    usage_source: UsageSource
    threshold_source: ThresholdSource
    met: ThresholdReport | None
    """The threshold that is met: of several, one of memory, then a hard one; None: none, or usage is unknown."""
    evicted_first: EvictedPod | None
    """For the threshold that is met, else for memory if it has one, else for `other_ahead`; None: none, or unknown."""
    unmeasured: int
    """Pods without data in the metrics API: each may be evicted before `evicted_first`."""
    memory_ahead: ThresholdReport | None
    """The nearest threshold of memory that is not met; None: none, or the amount left is unknown."""
    other_ahead: ThresholdReport | None
    """The same for disks, inodes and process ids."""
    over_limits: tuple[OverLimitReport, ...]
    """Pods that the kubelet evicts in its next pass."""
    near_limits: tuple[NearLimit, ...]
    """The nearest first."""


def threshold_report(headroom: Headroom) -> ThresholdReport:
    """A threshold, with quantities as the API writes them."""
    threshold, capacity = headroom.threshold, headroom.capacity.value
    return ThresholdReport(
        signal=threshold.signal,
        hard=threshold.is_hard,
        grace_period_seconds=threshold.grace_period.total_seconds(),
        quantity=str(headroom.quantity),
        available=str(headroom.available),
        headroom=str(headroom.left),
        headroom_percent=100 * headroom.left.value // capacity if capacity else 0,
        met=headroom.met,
    )


class NodeFacts(Struct, frozen=True, rename="camel"):
    """The pod's node, as far as it matters to the pod."""

    name: str
    ready: str | None
    """Status of the Ready condition; Unknown: the kubelet is silent; None: not known."""
    since: str | None
    """When that status began."""
    last_heartbeat: str | None
    reach: NodeReach | None = None
    """Whether it answers; if it does not, it is unknown when its pods end. None: not checked."""
    eviction: Eviction | None = None
    """When its NoExecute taints delete the pod; None: it has none."""
    pressures: tuple[NodeCondition, ...] = ()
    """The pressure conditions that it reports."""


def node_facts(pod: Pod, node: Node | None, reach: NodeReach | None) -> NodeFacts | None:
    """The facts about the node of a pod; None: the pod has no node.

    Without a Node, the node does not exist, or could not be read.
    """
    name = pod.spec.node_name
    if not name:
        return None
    if node is None:
        return NodeFacts(name, None, None, None, reach)
    ready = node.ready
    return NodeFacts(
        name,
        ready.status if ready is not None else None,
        ready.last_transition_time if ready is not None else None,
        ready.last_heartbeat_time if ready is not None else None,
        reach,
        taint_eviction(pod.spec.tolerations, node.spec.taints, bound=bound_at(pod)),
        pressures_of(node.status.conditions),
    )


QUIET_CODES: Final = {
    Reach.SILENT: VerdictCode.NODE_SILENT,
    Reach.MISSED_HEARTBEATS: VerdictCode.NODE_SILENT,
    Reach.OUT_OF_SERVICE: VerdictCode.NODE_OUT_OF_SERVICE,
    Reach.GONE: VerdictCode.NODE_REMOVED,
}
"""The verdict on a node that does not answer."""
NOT_READY: Final = VerdictCode.NODE_NOT_READY, Severity.TROUBLE
"""The verdict on a node that answers but is not Ready."""


def node_standing(
    reach: Reach | None, ready: str | None, *, unschedulable: bool = False
) -> tuple[VerdictCode, Severity] | None:
    """Code and severity; None: it answers, is Ready and takes pods.

    Args:
        reach: Whether it answers; None: not checked.
        ready: Status of its Ready condition; None: it has none.
        unschedulable: Whether it is cordoned.
    """
    if reach is not None and reach.quiet:
        return QUIET_CODES[reach], Severity.TROUBLE
    if reach is not None and reach.back:
        return VerdictCode.NODE_BACK, Severity.TROUBLE
    if reach is Reach.RETURNING:
        return VerdictCode.NODE_RETURNING, Severity.NOTICE
    if ready != "True":
        return NOT_READY
    return (VerdictCode.CORDONED, Severity.NOTICE) if unschedulable else None


ON_NODES: Final = frozenset({"nodes", "pods", "volumeattachments.storage.k8s.io"})
"""The kinds of remaining objects that are counted on a node that is down."""


class PartitionsReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="Partitions"):
    """All nodes that do not answer."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    source: str
    rules_version: str
    server_version: str | None
    at: datetime
    """The time of the data."""
    nodes_total: int
    nodes: tuple[NodeDown, ...]
    not_ready: tuple[str, ...]
    """Nodes that answer and report that they are not Ready: not a partition, but their taints delete pods too."""
    version_notes: tuple[VersionNote, ...] = ()
    """The versions for which the rules were not verified; of kubelets, only those of these nodes."""
    unread: tuple[UnreadInput, ...]

    @property
    def lacks(self) -> tuple[UnreadInput, ...]:
        """Unread resources that may change the headline: nodes, and objects that depend on nodes that are down."""
        decides = ON_NODES if self.nodes else {"nodes", "pods"}
        return tuple(one for one in self.unread if one.may_exist and one.resource in decides)


def not_ready(nodes: Iterable[Node], down: Sequence[NodeDown]) -> tuple[str, ...]:
    """The names of nodes that answer but are not Ready."""
    known = {entry.reach.name for entry in down}
    unready = (node.metadata.name for node in nodes if node.ready is not None and node.ready.status == "False")
    return tuple(name for name in unready if name not in known)
