"""The requests on a node (Q4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

from msgspec import Struct

from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.node.node_use import NodeUse
from podrules.api.features import Features
from podrules.api.model.event import Event
from podrules.api.model.instant import instant
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.pod_reference import PodReference
from podrules.api.model.quantity import Quantity
from podrules.ending.died.cause import Clue, EvidenceSource, of_event
from podrules.ending.died.messages import PRESSURE_REASONS
from podrules.node.allocation import ResourceAllocation, node_allocation, percent_of
from podrules.node.eviction.thresholds import NodeCondition, pressures_of
from podrules.node.reachability import NodeReach
from podrules.pod.platform import Platform, node_platform
from podrules.pod.reading import UnreadInput
from podrules.pod.resources import pod_requests, scheduler_options
from podrules.pod.tolerations import Eviction, pod_eviction
from podrules.pod.versions import VersionNote, Versions, version_notes
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
        pressure_said=tuple(_pressure_clues(events, now)),
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


def _pressure_clues(events: Iterable[Event], now: datetime | None) -> Iterator[Clue]:
    pressure = sorted((one for one in events if one.reason in PRESSURE_REASONS), key=lambda one: one.last or "")
    last = {event.reason: event for event in pressure}
    for event in last.values():
        when = instant(event.last)
        if now is not None and when is not None and now - when <= _LATELY:
            yield of_event(event, EvidenceSource.NODE_EVENT)


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
