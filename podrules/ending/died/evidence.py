"""What is known about an end: the objects, the remaining events, the difference between the clocks, the next pod.

    events         usually expire after an hour (--event-ttl), the oldest first, and a component may drop some:
                   after 25 about one object it sends one in five minutes (EventSourceObjectSpamFilter)
    complete       an event older than a moment exists, fewer than 25 came, none came late, and the last had time to
                   arrive: no later one can be missing. Only then a missing event proves that nothing happened
    of a run       its own start and the start of the next run have their events: a recorder drops an event after two
                   minutes without the API server
    clocks         the kubelet's events and container times use the node's clock; times of deletion use the API
                   server's. An event has both: its own time and metadata.creationTimestamp

Source: k8s.io/client-go/tools/record/events_cache.go at v0.36.3; --event-ttl of kube-apiserver.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from msgspec import Struct, field

from podrules.api.model.base import OwnerReference
from podrules.api.model.event import Event
from podrules.api.model.instant import instant, later
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.workload import Workload
from podrules.ending.deleted_pod import deleted_at
from podrules.ending.died.messages import BY_KUBELET, DISRUPTION, is_plain_stop, is_rejection
from podrules.pod.container_state import Termination, status_of
from podrules.pod.health import health

KUBELET: Final = "kubelet"
_ON_ITS_WAY: Final = timedelta(seconds=10)
"""How long an event of a kubelet may take to arrive: it sends 50 a second (eventRecordQPS)."""
_OF_CONTROLLERS: Final = timedelta(seconds=60)
"""How long an event of a controller may take: kube-controller-manager sends 20 a second (--kube-api-qps)."""
_SPAM_BURST: Final = 25
_HELD_UP: Final = timedelta(seconds=30)
"""An event that came so much later than others waited for the API server: earlier ones may have been dropped."""
_START: Final = "Started"
_STARTING: Final = timedelta(seconds=5)
"""Between the runtime's time of a start and the kubelet's event about it."""
_COMBINED: Final = "(combined from similar events)"
"""The message then contains only that of the last event."""
_UNKNOWN_MARGIN: Final = timedelta(seconds=60)
"""How far clocks may differ without a measurement: Kubernetes itself does not require less."""
_MEASURED_MARGIN: Final = timedelta(seconds=2)
_CONTAINER: Final = "{"
_OVER: Final = frozenset({"PodFailed", "PodCompleted"})
"""The reasons of condition Ready on a finished pod."""


class MissingEvidence(Enum):
    """Missing evidence that could have shown more."""

    POD_REMOVED = "PodGone"
    POD_UNREAD = "PodUnread"
    """A List does not contain the pod: it may still exist."""
    EVENTS_UNREAD = "EventsUnread"
    EVENTS_EXPIRED = "EventsExpired"
    """The events from before its end have expired, or so many came that some were dropped."""
    EVENTS_COMING = "EventsComing"
    """It ended so recently that more events may still arrive."""
    OWNER_EVENTS = "OwnerEvents"
    """The events of its controller could not be read, or have expired."""
    NODE_REMOVED = "NodeGone"
    NODE_UNREAD = "NodeUnread"
    KUBELET_UNREAD = "KubeletUnread"
    NEIGHBOURS_UNREAD = "NeighboursUnread"


class Clocks(Struct, frozen=True):
    """The difference between a node's clock and the API server's."""

    ahead: timedelta = timedelta()
    """Time by which it is ahead of the API server's; below 0: behind."""
    margin: timedelta = _UNKNOWN_MARGIN
    """The maximum error of the difference."""

    @property
    def are_apart(self) -> bool:
        """Whether the clocks differ by more than a late event explains."""
        return abs(self.ahead) >= _ON_ITS_WAY

    def server_time(self, of_node: datetime) -> datetime:
        """The API server's time for a time of the node's clock."""
        return later(of_node, -self.ahead.total_seconds())


class PodEvents(Struct, frozen=True):
    """The events about one pod, the oldest first."""

    events: tuple[Event, ...] = ()

    @staticmethod
    def of(events: Iterable[Event]) -> PodEvents:
        """Sort the events by time."""
        return PodEvents(tuple(sorted(events, key=lambda event: event.last or "")))

    def named(self, *reasons: str) -> tuple[Event, ...]:
        """The events with one of the reasons."""
        return tuple(event for event in self.events if event.reason in reasons)

    def kills(self, container: str) -> tuple[Event, ...]:
        """The events that the kubelet stops a container; an event that combines several names only the first."""
        return tuple(
            event
            for event in self.named("Killing")
            if container_of(event) == container and not event.message.startswith(_COMBINED)
        )

    def shows_start(self, container: str, moment: datetime) -> bool:
        """Whether the events include the start of a container at a moment of the node's clock."""
        for event in self.named(_START):
            first, last = instant(event.first), instant(event.last)
            if container_of(event) != container or first is None or last is None:
                continue
            if first - _STARTING <= moment <= last + _STARTING:
                return True
        return False

    def stops(self) -> tuple[Event, ...]:
        """The events that the kubelet stopped the whole pod, or its sandbox."""
        return tuple(event for event in self.named("Killing") if is_plain_stop(event.message))

    def complete_since(self, moment: datetime | None) -> bool:
        """Whether no event after a moment of the kubelet's clock can be missing."""
        if moment is None or sum(event.times for event in self.events) >= _SPAM_BURST:
            return False
        if any(event.message.startswith(_COMBINED) for event in self.events):
            return False
        # Some events of the kubelet came much later than others: the API server was away, or very slow.
        delays = [delay for event in self.events if event.times == 1 and (delay := _delay(event)) is not None]
        if delays and max(delays) - min(delays) > _HELD_UP:
            return False
        return any((when := instant(event.last)) is not None and when <= moment for event in self.events)


class Evidence(Struct, frozen=True, kw_only=True):
    """What is known about a pod's end."""

    name: str
    namespace: str
    now: datetime | None = None
    pod: Pod | None = None
    """None: it is gone, or not known."""
    pod_unread: bool = False
    """Whether the pod may still exist: a List does not contain it."""
    events: PodEvents | None = None
    """The events about the pod; None: they could not be read."""
    pod_limit: int | None = None
    """The memory limit of its cgroup, in bytes; None: it has none."""
    owner: Workload | None = None
    """The controller; None: the pod has none, or it is not known."""
    controller: OwnerReference | None = None
    """The controller that its object, its name or an event names; None: none is known."""
    owner_missing: bool = False
    """Whether the controller that the pod names does not exist or is being deleted."""
    owner_events: PodEvents | None = None
    """The events about the controller; None: they could not be read, or the pod has none."""
    scalings: Sequence[Event] = ()
    """The events of Deployments and autoscalers of the namespace about new sizes."""
    node_name: str = ""
    """The node of the pod, by its spec, its events or those of its controller; empty: not known."""
    node: Node | None = None
    node_missing: bool = False
    """Whether the Node that the pod names does not exist."""
    config: KubeletConfiguration | None = None
    """The configuration of the node's kubelet; None: it was not read."""
    neighbours: Sequence[Pod] | None = None
    """The other pods on its node; None: they could not be read."""
    node_events: PodEvents | None = None
    """The events about its node; None: they could not be read."""
    clocks: Clocks = field(default_factory=Clocks)

    @property
    def known_events(self) -> PodEvents:
        """The events about the pod; empty if they could not be read."""
        return self.events if self.events is not None else PodEvents()

    @property
    def known_owner_events(self) -> PodEvents:
        """The events about its controller; empty if they could not be read."""
        return self.owner_events if self.owner_events is not None else PodEvents()

    @property
    def known_node_events(self) -> PodEvents:
        """The events about its node; empty if they could not be read."""
        return self.node_events if self.node_events is not None else PodEvents()

    def has_all_events(self, container: str, end: Termination) -> bool:
        """Whether no event of the kubelet about a run of a container can be missing or still be on its way."""
        began, ended = instant(end.started_at), instant(end.finished_at)
        if self.events is None or began is None or ended is None or not self.events.complete_since(began):
            return False
        status = None if self.pod is None else status_of(self.pod, container)
        rerun = None if status is None else status.runs_since
        starts = [began] if rerun is None else [began, rerun]
        return all(self.events.shows_start(container, moment) for moment in starts) and self.has_come(end)

    def has_come(self, end: Termination) -> bool:
        """Whether the kubelet's events about a container's end must have arrived."""
        ended = instant(end.finished_at)
        return ended is not None and self.is_heard(self.clocks.server_time(ended))

    def is_heard(self, moment: datetime) -> bool:
        """Whether the kubelet's events about a moment of the API server's clock must have arrived."""
        return self.now is not None and self.now - moment >= _ON_ITS_WAY

    def is_settled(self, moment: datetime) -> bool:
        """Whether the controllers' events about a moment of the API server's clock must have arrived."""
        return self.now is not None and self.now - moment >= _OF_CONTROLLERS


class KnownEnd(Struct, frozen=True):
    """What was read about a pod's end."""

    evidence: Evidence
    replacement: Replacement | None = None
    """The pod that its controller created in its place; None: none is known."""
    sought: bool = False
    """Whether the pods of its controller were read to find the replacement."""
    younger: Replacement | None = None
    """The youngest pod of its controller that may be the replacement: when this pod ended is not known."""


def ended_at(evidence: Evidence) -> datetime | None:
    """The earliest time at which a pod was asked to end, or ended, by the API server's clock; None: not known."""
    pod, clocks = evidence.pod, evidence.clocks
    if pod is not None and (deleted := deleted_at(pod)) is not None:
        return deleted
    if pod is None:
        times = [instant(stop.first) for stop in evidence.known_events.stops()]
    else:
        ends = (status.state.terminated for status in pod.status.container_statuses)
        times = [instant(end.finished_at) for end in ends if end is not None]
    known = [when for when in times if when is not None]
    if not known and pod is not None and (failed := instant(failed_at(pod))) is not None:
        made = instant(pod.metadata.creation_timestamp)
        # Pods created in the same second do not replace it.
        since = later(clocks.server_time(failed), -clocks.margin.total_seconds())
        return since if made is None else max(since, later(made, 1))
    return later(clocks.server_time(max(known)), -clocks.margin.total_seconds()) if known else None


def failed_at(pod: Pod) -> str | None:
    """When a kubelet ended a pod without container times, by the node's clock; None: not known."""
    status = pod.status
    if not pod.finished:
        return None
    target, ready = status.condition(DISRUPTION), status.condition("Ready")
    if target is not None and target.reason == BY_KUBELET:
        return target.last_transition_time
    if ready is not None and ready.reason in _OVER:
        return ready.last_transition_time
    # A pod that a kubelet rejects fails as soon as it arrives.
    rejected = is_rejection(status.reason, status.message) and not status.container_statuses
    return status.start_time or pod.metadata.creation_timestamp if rejected else None


def first_of(events: Iterable[Event]) -> datetime | None:
    """The time of the first event; None: no event has a time."""
    return min((when for event in events if (when := instant(event.first)) is not None), default=None)


def stopped_at(evidence: Evidence) -> datetime | None:
    """When the kubelet began to stop the whole pod, by the API server's clock; None: no event shows it."""
    began = first_of(evidence.known_events.stops())
    return None if began is None else evidence.clocks.server_time(began)


def container_of(event: Event) -> str:
    """The container that an event is about; empty: the pod."""
    return event.involved_object.field_path.partition(_CONTAINER)[2].rstrip("}")


def clocks_of(events: Iterable[Event]) -> Clocks:
    """The difference between a kubelet's clock and the API server's, from the events that it sent.

    An event is created after what it reports: the smallest difference is the most accurate.
    """
    apart = [delay for event in events if (delay := _delay(event)) is not None]
    return Clocks(-min(apart), _MEASURED_MARGIN) if apart else Clocks()


def _delay(event: Event) -> timedelta | None:
    """How much later than its own time an event of a kubelet was created, by two clocks."""
    made, first = instant(event.metadata.creation_timestamp), instant(event.first)
    if event.component != KUBELET or made is None or first is None:
        return None
    return made - first


class Replacement(Struct, frozen=True, rename="camel"):
    """A pod of the same controller that was created later."""

    name: str
    node: str
    created: str | None
    phase: str
    ready: bool
    status: str = ""
    """What `kubectl get pods` prints under STATUS."""

    @staticmethod
    def of(pod: Pod) -> Replacement:
        """The fields of a pod that are shown."""
        meta = pod.metadata
        node, phase, status = pod.spec.node_name, pod.status.phase, health(pod).kubectl_status
        return Replacement(meta.name, node, meta.creation_timestamp, phase, pod.is_ready, status)


def successors(name: str, uid: str, controller: OwnerReference, node: str, pods: Iterable[Pod]) -> list[Pod]:
    """The pods of a controller that have not ended and can replace one that ended, the oldest first.

    A StatefulSet reuses the name, an Indexed Job the index, and a DaemonSet the node. The name, the uid and the node
    are those of the pod that ended; empty: it no longer exists, or the node is not known. A controller
    without a uid is compared by kind and name.
    """
    found = []
    for pod in pods:
        owner, meta = pod.metadata.controller, pod.metadata
        if owner is None or meta.uid == uid or pod.finished or meta.deletion_timestamp is not None:
            continue
        by_name = (owner.kind, owner.name) == (controller.kind, controller.name)
        own = owner.uid == controller.uid if controller.uid else by_name
        same = name == meta.name if owner.kind == "StatefulSet" else stem(name) == stem(meta.name)
        if own and same and (owner.kind != "DaemonSet" or not node or node in _nodes(pod)):
            found.append(pod)
    return sorted(found, key=lambda one: one.metadata.creation_timestamp or "")


def stem(name: str) -> str:
    """The common prefix of the names of one controller's pods, or of the pods of one index of a Job."""
    return name.rpartition("-")[0]


def _nodes(pod: Pod) -> set[str]:
    """The node of a pod; an unscheduled pod names it in its affinity."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    terms = required.node_selector_terms if required is not None and not pod.spec.node_name else ()
    return {pod.spec.node_name, *(value for term in terms for field in term.match_fields for value in field.values)}


def replacement_of(found: Iterable[Pod], since: datetime) -> Replacement | None:
    """The first of a pod's `successors` that was created after its end; None: none exists."""
    made = (one for one in found if (when := instant(one.metadata.creation_timestamp)) is not None and when >= since)
    return next(map(Replacement.of, made), None)
