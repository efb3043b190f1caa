"""Reads the evidence for the end of pods: for a single pod all related objects; for many, the pod and its events.

always        the events about it, by name: a StatefulSet's next pod has the same one
alone         its node; its controller and the events about that, for one that was deleted; the other pods of the
              node and its kubelet's configuration, where a memory limit may have been it
a name        without a pod: events, and the controllers that its name may come from
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from cluster_io.gather import Gatherer
from cluster_io.kinds import (
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    EVENTS,
    JOBS,
    NODES,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
    Kind,
)
from podrules.api.model.base import KubeObject, OwnerReference
from podrules.api.model.event import Event
from podrules.api.model.instant import instant, later
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Selector, SelectorError
from podrules.api.model.workload import Workload, selector_of
from podrules.ending.died.cause import Cause
from podrules.ending.died.controllers import RESCALED, SCALED, node_cleaned_up
from podrules.ending.died.evidence import (
    KUBELET,
    Clocks,
    Evidence,
    KnownEnd,
    PodEvents,
    clocks_of,
    ended_at,
    first_of,
    replacement_of,
    stem,
    successors,
)
from podrules.ending.died.gone import asked_at, causes_from_owner
from podrules.ending.died.memory import SIGKILL_CODE, start_ran_out
from podrules.ending.died.messages import EVICTED, cause_of_status, deleted_name
from podrules.pod.container_state import OOM_KILLED
from podrules.pod.priority import static_pod_uid
from podrules.pod.reading import UnreadInput, read_or_none

_OWNERS: Final[Mapping[str, Kind[Any]]] = {
    one.kind: one for one in (REPLICA_SETS, STATEFUL_SETS, DAEMON_SETS, JOBS, REPLICATION_CONTROLLERS)
}
"""Controllers of pods."""
_SUFFIX: Final = re.compile("[bcdfghjklmnpqrstvwxz2456789]{5}")
"""What a controller puts at the end of a pod's name (k8s.io/apimachinery/pkg/util/rand)."""
_HASH: Final = re.compile("[bcdfghjklmnpqrstvwxz2456789]{1,10}")
"""What a Deployment puts at the end of a ReplicaSet's name."""
_ASSIGNED: Final = " to "
_FORBIDDEN: Final = "forbidden"
_SEEN_LATE: Final = timedelta(seconds=10)
"""A controller replaces a pod when its deletion begins; the event of a busy kubelet may come seconds later."""
_SECOND: Final = timedelta(seconds=1)
_SCHEDULED: Final = "Scheduled"
_DELETE: Final = "SuccessfulDelete"
_REMOVED: Final = ("RemovingNode", "DeletingNode")
"""The reasons of events of the control plane about a node that is deleted."""


class EndReader:
    """Reads evidence. The gatherer reads each thing once."""

    def __init__(self, gatherer: Gatherer) -> None:
        """Read nothing yet."""
        self._gatherer = gatherer

    def of_pod(self, pod: Pod, *, alone: bool = True, events: Sequence[Event] | None = None) -> KnownEnd:
        """The evidence of a pod that is there; events about its name may have been read with others.

        What hangs on it is read, too, unless it is one of many.
        """
        meta = pod.metadata
        found = self._events_about("Pod", meta.name, meta.namespace) if events is None else events
        own = None if found is None else [one for one in found if _is_about(one, pod)]
        return self._known(pod, own, alone=alone)

    def of_name(
        self,
        name: str,
        namespace: str,
        events: Sequence[Event] | None = None,
        present: Pod | None = None,
        *,
        alone: bool = True,
    ) -> KnownEnd:
        """The evidence of a pod that is gone, as `of_pod`; ``present`` is the other pod that has its name now."""
        found = self._events_about("Pod", name, namespace) if events is None else events
        earlier = None if found is None else events_of_earlier(found, present)
        controller = self._controller_by_name(name, namespace) if alone else None
        owner, owner_missing = self._owner(controller, namespace)
        owner_events = self._owner_events(controller, namespace)
        node_name = node_of(earlier or ()) or (node_cleaned_up(owner_events, name) if owner_events else "")
        node_events = self._node_events(node_name) if alone else None
        node, node_missing = self._node(node_name, node_events) if alone else (None, False)
        evidence = Evidence(
            name=name,
            namespace=namespace,
            now=self._gatherer.source.now,
            events=None if earlier is None else PodEvents.of(earlier),
            controller=controller,
            owner=owner if isinstance(owner, Workload) else None,
            owner_missing=owner_missing,
            owner_events=owner_events,
            scalings=self._scalings(namespace) if alone else (),
            node_name=node_name,
            node=node,
            node_missing=node_missing,
            node_events=node_events,
            config=self._gatherer.source.stated.kubelet,
            pod_unread=present is None and self._gatherer.source.is_plain_list,
            clocks=clocks_of(earlier or ()),
        )
        return self._with_replacement(evidence, owner)

    def _known(self, pod: Pod, events: Sequence[Event] | None, *, alone: bool) -> KnownEnd:
        meta, node_name = pod.metadata, pod.spec.node_name
        ended = alone and (pod.finished or meta.deletion_timestamp is not None)
        controller = meta.controller
        owner, owner_missing = self._owner(controller if ended else None, meta.namespace)
        may_be_memory = alone and _may_be_memory(pod)
        asked = alone and any(one.latest_end is not None for one in pod.status.of_containers)
        node_events = self._node_events(node_name) if asked or ended else None
        node, node_missing = self._node(node_name, node_events) if alone else (None, False)
        asks_memory = may_be_memory and node is not None
        evicted = pod.status.reason == EVICTED and node is not None
        rejected = alone and pod.finished and cause_of_status(pod.status.reason, pod.status.message) is Cause.REJECTED
        evidence = Evidence(
            name=meta.name,
            namespace=meta.namespace,
            now=self._gatherer.source.now,
            pod=pod,
            events=None if events is None else PodEvents.of(events),
            controller=controller,
            owner=owner if isinstance(owner, Workload) else None,
            owner_missing=owner_missing,
            owner_events=self._owner_events(controller, meta.namespace) if ended else None,
            scalings=self._scalings(meta.namespace) if ended and controller is not None else (),
            node_name=node_name,
            node=node,
            node_missing=node_missing,
            config=self._config(node_name) if asks_memory or evicted else self._gatherer.source.stated.kubelet,
            neighbours=self._neighbours(pod) if asks_memory or rejected else None,
            node_events=node_events,
            clocks=clocks_of(events) if events else Clocks(),
        )
        return self._with_replacement(evidence, owner) if ended else KnownEnd(evidence)

    def _events_about(self, kind: str, name: str, namespace: str) -> Sequence[Event] | None:
        return self._gatherer.noted(self._gatherer.events_of(kind, name, namespace))

    def _owner(self, controller: OwnerReference | None, namespace: str) -> tuple[KubeObject | None, bool]:
        """A pod's controller, and whether that is known to be gone or to go."""
        kind = None if controller is None else _OWNERS.get(controller.kind)
        if controller is None or kind is None:
            return None, False
        found = self._gatherer.get(kind, controller.name, namespace)
        if isinstance(found, UnreadInput):
            self._gatherer.noted(found)
            return None, False
        if found is None or (controller.uid and found.metadata.uid != controller.uid):
            return None, True
        return found, found.metadata.deletion_timestamp is not None

    def _neighbours(self, pod: Pod) -> Sequence[Pod] | None:
        found = read_or_none(self._gatherer.pods_on(pod.spec.node_name))
        return None if found is None else [one for one in found if one.metadata.uid != pod.metadata.uid]

    def _owner_events(self, controller: OwnerReference | None, namespace: str) -> PodEvents | None:
        if controller is None:
            return None
        found = self._events_about(controller.kind, controller.name, namespace)
        return None if found is None else PodEvents.of(found)

    def _scalings(self, namespace: str) -> Sequence[Event]:
        reads = (self._gatherer.list(EVENTS, namespace, field_selector=f"reason={one}") for one in (SCALED, RESCALED))
        return [event for found in reads for event in read_or_none(found) or ()]

    def _node_events(self, node: str) -> PodEvents | None:
        found = read_or_none(self._gatherer.node_events(node)) if node else None
        return None if found is None else PodEvents.of(found)

    def _controller_by_name(self, name: str, namespace: str) -> OwnerReference | None:
        """The controller of a pod that is gone: its event says that it deleted it, or the names match but for the end.

        ``web-7d9f-x2x7p``, ``db-0``; of a Job with indexes ``import-0-k6dnc``.
        """
        deletions = read_or_none(self._gatherer.list(EVENTS, namespace, field_selector=f"reason={_DELETE}")) or ()
        by = next((one.involved_object for one in deletions if deleted_name(one.message) == name), None)
        kind = None if by is None else _OWNERS.get(by.kind)
        if by is not None and kind is not None:
            return _controller(kind, by.name, by.uid)
        for kind, own in controller_names(name):
            found = read_or_none(self._gatherer.get(kind, own, namespace))
            if found is not None:
                return _controller(kind, own, found.metadata.uid)
        kinds = {kind.kind for kind, _ in controller_names(name)}
        pods = read_or_none(self._gatherer.list(PODS, namespace)) or () if kinds else ()
        own_of = (pod.metadata.controller for pod in pods if stem(pod.metadata.name) == stem(name))
        return next((one for one in own_of if one is not None and one.kind in kinds), None)

    def _node(self, name: str, events: PodEvents | None) -> tuple[Node | None, bool]:
        """A node, and whether it is gone: it does not exist, or the last event about it says so."""
        found = self._gatherer.get(NODES, name) if name else None
        named = events.named(*_REMOVED, "RegisteredNode") if events is not None else ()
        if isinstance(found, UnreadInput) and named and named[-1].reason in _REMOVED:
            return None, True
        return self._gatherer.noted(found), bool(name) and found is None

    def _config(self, node: str) -> KubeletConfiguration | None:
        if self._gatherer.source.stated.kubelet is None and self._gatherer.reach(node).reach.quiet:
            return None
        said = self._gatherer.kubelet_config(node)
        if isinstance(said, UnreadInput):
            # An administrator can grant a missing permission, but cannot make a kubelet answer.
            return None if said.reason != _FORBIDDEN else self._gatherer.noted(said)
        return said

    def _with_replacement(self, evidence: Evidence, owner: KubeObject | None) -> KnownEnd:
        """The evidence, with the pod that the controller made, or may have made, in place of one that ended."""
        controller, pod = evidence.controller, evidence.pod
        if controller is None or evidence.owner_missing:
            return KnownEnd(evidence)
        pods = read_or_none(self._gatherer.list(PODS, evidence.namespace, selector=_selector(owner)))
        if pods is None:
            return KnownEnd(evidence)
        uid = pod.metadata.uid if pod is not None else ""
        found = successors(evidence.name, uid, controller, evidence.node_name, pods)
        since = ended_at(evidence) if pod is not None else asked_at(evidence)
        new = replacement_of(found, since) if since is not None else None
        if new is None and since is not None and pod is None:
            new = replacement_of(found, since - _SEEN_LATE)
        if new is not None or (since is not None and (pod is not None or causes_from_owner(evidence))):
            return KnownEnd(evidence, new, sought=True)
        # Its kubelet may have heard late of a deletion, or never.
        first = instant(pod.metadata.creation_timestamp) if pod is not None else first_of(evidence.known_events.events)
        after = replacement_of(reversed(found), later(first, 1)) if first is not None else None
        if after is not None and after.name == evidence.name:
            return KnownEnd(evidence, after, sought=True)
        return KnownEnd(evidence, sought=True, younger=after)


def _controller(kind: Kind[Any], name: str, uid: str) -> OwnerReference:
    return OwnerReference(kind.api_version, kind.kind, name, uid, controller=True)


def _is_about(event: Event, pod: Pod) -> bool:
    """Whether an event is about this pod, and not about an earlier one of its name.

    Those of the taint manager name no uid, and times are in whole seconds. An event of the second in which the pod was
    made is about the earlier one: that had to go first.
    """
    uid = event.involved_object.uid
    if not uid:
        return not _is_before(event, pod.metadata.creation_timestamp, _SECOND)
    return uid in {pod.metadata.uid, static_pod_uid(pod)}


def _is_before(event: Event, made: str | None, more: timedelta = timedelta()) -> bool:
    when, since = instant(event.last), instant(made)
    return when is not None and since is not None and when < since + more


def events_of_earlier(events: Sequence[Event], present: Pod | None) -> list[Event]:
    """The events about the last pod of a name that is not the present one."""
    # The kubelet knows a static pod by what its mirror has as an annotation.
    uids = {"", present.metadata.uid, static_pod_uid(present)} if present is not None else {""}
    made = present.metadata.creation_timestamp if present is not None else None
    others = [one for one in events if one.involved_object.uid not in uids]
    last = max(others, key=lambda event: event.last or "", default=None)
    known = "" if last is None else last.involved_object.uid
    own = [one for one in others if one.involved_object.uid == known]
    since = min((one.first for one in own if one.first), default=None)
    without = (one for one in events if not one.involved_object.uid and not _is_before(one, since))
    return [*own, *(one for one in without if present is None or _is_before(one, made, _SECOND))]


def node_of(events: Sequence[Event]) -> str:
    """The node on which a pod ran, by its events."""
    # The host of another component is where that runs.
    hosts = [event.source.host for event in events if event.source.host and event.component == KUBELET]
    assigned = [event.message.rpartition(_ASSIGNED)[2] for event in events if event.reason == _SCHEDULED]
    named = [event.related.name for event in events if event.related is not None and event.related.kind == NODES.kind]
    return next(iter((*hosts, *assigned, *named)), "")


def _may_be_memory(pod: Pod) -> bool:
    ends = (status.latest_end for status in pod.status.of_containers)
    return any(
        end is not None and (end.reason == OOM_KILLED or end.exit_code == SIGKILL_CODE or start_ran_out(end.message))
        for end in ends
    )


def _selector(owner: KubeObject | None) -> Selector | None:
    try:
        return selector_of(owner)
    except SelectorError:
        return None


def controller_names(pod: str) -> Iterator[tuple[Kind[Any], str]]:
    """The controllers that may have made a pod, by kind and name, derived from the pod's name.

    ``db-0`` of a StatefulSet, ``web-7d9f-x2x7p`` and its like of others, ``import-0-k6dnc`` of a Job with indexes.
    """
    stem, _, end = pod.rpartition("-")
    if not stem:
        return
    if end.isdecimal():
        yield STATEFUL_SETS, stem
    if not _SUFFIX.fullmatch(end):
        return
    yield from ((kind, stem) for kind in _OWNERS.values() if kind is not STATEFUL_SETS)
    job, _, index = stem.rpartition("-")
    if job and index.isdecimal():
        yield JOBS, job


def is_of_workload(pod: str, kind: Kind[Any], name: str) -> bool:
    """Whether a pod's name is one that a workload's pods have."""
    if any((kind.kind, name) == (one.kind, own) for one, own in controller_names(pod)):
        return True
    # Between a Deployment and its pods is a ReplicaSet, between a CronJob and its pods a Job.
    for one, own in controller_names(pod):
        stem, _, end = own.rpartition("-")
        made = (one is REPLICA_SETS and kind is DEPLOYMENTS and _HASH.fullmatch(end)) or (
            one is JOBS and kind is CRON_JOBS and end.isdecimal()
        )
        if made and stem == name:
            return True
    return False
