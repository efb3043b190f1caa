"""What ended a pod that no longer exists, by the remaining events.

    an event names it      proof if the kubelet stopped the pod right after, and not before; for a taint, only while the
                           node still has a taint that a client added
    its controller says    proof if the kubelet stopped the pod, and the pod had not ended before: StatefulSets and
                           DaemonSets also delete an ended pod, to create another
    node Ready since       its kubelet has not shut it down
    the kubelet stopped    and no event says why: every cause that writes no event about the pod. Until all events are
                           known to be present, also every cause that writes one
    a force deletion       the webhook says so right before it; or the kubelet of a silent node stopped nothing
    a program says so      an autoscaler or another evictor names the pod in an event, or is about to remove its node
    a static pod           its uid is a hash of its manifest: deleting an object does not stop it
    init containers alone  the kubelet stopped no app container: either none ran yet, or all had ended, so that it
                           stopped the sidecars
    its node is gone       the likely cause if a program removed the node, or if a StatefulSet deleted the pod and no
                           kubelet stopped it: pod garbage collection sets such a pod Failed, and a StatefulSet deletes
                           a Failed pod to create another
    nothing                its containers may have ended by themselves

Source: as for a deleted pod, and pkg/kubelet/eviction/eviction_manager.go (evictPod),
pkg/controller/podgc/gc_controller.go (gcOrphaned), pkg/controller/statefulset/stateful_set_control.go (processReplica)
at v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from podrules.api.model.event import Event
from podrules.api.model.instant import instant, later
from podrules.ending.died.cause import (
    NOTHING,
    Cause,
    Clue,
    EndVerdict,
    EvidenceSource,
    Family,
    Trace,
    Weight,
    causes_of,
    of_event,
    proven,
    weighed,
)
from podrules.ending.died.controllers import causes_from_controller, cleaned_up, excluded_controllers, scaling_clues
from podrules.ending.died.evidence import KUBELET, Evidence, ended_at, first_of, stopped_at
from podrules.ending.died.messages import (
    EVENT_CAUSES,
    FORCE_ALLOWED,
    TAINTED,
    UNHEALTHY,
    cause_of_eviction,
    is_rejection,
)
from podrules.node.reachability import OUT_OF_SERVICE
from podrules.pod.tolerations import NO_EXECUTE
from podrules.workload.evictors import Evictor, Where, going, pod_evictor, remover

_SILENT: Final = frozenset(cause for cause in Cause if cause.rule.trace is Trace.SILENT)
_WITH_EVENTS: Final = frozenset(cause for cause in Cause if cause.rule.trace is Trace.EVENT)
_OF_CONTAINERS: Final = frozenset(cause for cause in Cause if cause.rule.trace is Trace.CONTAINERS)
_CLEANED_UP: Final = frozenset(cause for cause in Cause if cause.rule.cleaned_up)
LOST_NODE: Final = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")
"""The taints of a node that does not answer, or is not Ready."""
NODE_LOST: Final = "NodeNotReady"
"""The reason of the node controller's event about a pod on such a node."""
_OF_DAEMON_SET: Final = "DaemonPod"
_OF_ACTIVE: Final = frozenset({"ReplicaSet", "ReplicationController"})
"""Kinds with pods that always restart; their controllers delete no pod that has ended."""
_STATEFUL: Final = frozenset({"StatefulSet"})
_MAKES_ANOTHER: Final = _STATEFUL | {"DaemonSet"}
"""Kinds with controllers that delete an ended pod, to create another with its name or on its node."""
DELETERS: Final = causes_of(Family.DELETION)
_STARTED: Final = "Started"
_APP: Final = "spec.containers{"
_MARKING: Final = "Marking for deletion"
_PREEMPTED: Final = "Preempted"
_IN_MEMORY: Final = "in kube-scheduler memory"
LONG: Final = timedelta(minutes=10)
"""An event this long before the kubelet stopped the pod had another subject."""
_SECOND: Final = timedelta(seconds=1)
_SOURCES: Final = {
    Where.POD_EVENT: EvidenceSource.EVENT,
    Where.POD_ANNOTATION: EvidenceSource.POD,
    Where.NODE_EVENT: EvidenceSource.NODE_EVENT,
}
_STATIC_UID: Final = "[0-9a-f]{32}"
"""A kubelet's hash of a manifest; the API server's uids have dashes."""
_EVICT: Final = "evict"
_MAX_READ: Final = 1000
"""The number of characters of a message that are read."""
_SOON: Final = timedelta(seconds=10)
"""A responding kubelet begins to stop a pod within this time."""


def gone_verdict(evidence: Evidence) -> EndVerdict:
    """What ended a pod that no longer exists."""
    named, stops, began = cause_from_event(evidence), evidence.known_events.stops(), stopped_at(evidence)
    when = instant(named[1].first) if named is not None else None
    early = when is not None and began is not None and began - when > LONG
    late = False
    if named is not None and named[0] is Cause.FORCE_DELETED and when is not None and began is not None:
        # The kubelet had begun to stop the pod for another reason before the force deletion.
        late = later(began, evidence.clocks.margin.total_seconds()) + _SECOND < when
    if named is not None and not early and not late:
        cause, event = named
        clues = [of_event(event)]
        if cause is Cause.TAINT_EVICTION:
            clues += map(of_event, evidence.known_events.named(NODE_LOST)[-1:])
        at_once = when is not None and began is not None and when - _SECOND <= began <= when + _SOON
        # The webhook reports a force deletion before it happens: another webhook may still reject it.
        if (
            at_once
            and cause is not Cause.FORCE_DELETED
            and (cause is not Cause.TAINT_EVICTION or _is_tainted(evidence))
        ):
            return proven(cause, *clues)
        weights = {Cause.DELETED: Weight.POSSIBLE}
        if cause is Cause.FORCE_DELETED and (before := cause_from_event(evidence, forced=False)) is not None:
            weights[before[0]] = Weight.SOME
        return weighed({**weights, cause: Weight.MUCH}, {cause: clues})
    uids = {event.involved_object.uid for event in evidence.known_events.events} - {""}
    if began is not None and uids and all(re.fullmatch(_STATIC_UID, uid) for uid in uids):
        # Static pods are critical: the kubelet does not evict them.
        kept = (one for one in _ends_by_kubelet(evidence, stops) if one.rule.family is not Family.EVICTION)
        others = dict.fromkeys(kept, Weight.POSSIBLE)
        if evidence.pod_unread:
            # Its mirror pod may exist with the same uid.
            others[Cause.SANDBOX_CHANGED] = Weight.POSSIBLE
        return weighed({**others, Cause.STATIC_MANIFEST: Weight.MUCH}, {Cause.STATIC_MANIFEST: [of_event(stops[-1])]})
    cleanup = cleaned_up(evidence, _made(evidence))
    if cleanup is not None:
        ends = dict.fromkeys((*_ends_by_kubelet(evidence, stops), *_CLEANED_UP), Weight.SOME)
        if cleanup.where.endswith(_OF_DAEMON_SET):
            # The DaemonSet controller handles only nodes that exist.
            del ends[Cause.NODE_REMOVED]
        elif evidence.node_missing and evidence.events is not None and not stops:
            ends[Cause.NODE_REMOVED] = Weight.MUCH
        return weighed(ends, {cause: [cleanup] for cause in ends})
    by_controller = causes_from_owner(evidence)
    if by_controller:
        return _by_controller(evidence, stops, by_controller)
    if began is not None:
        return _without_reason(evidence, stops, began)
    by = remover(evidence.known_node_events.events) if evidence.node_missing else None
    if by is None:
        return _never_stopped(evidence)
    lost = [evictor_clue(by), *map(of_event, evidence.known_events.named(NODE_LOST)[-1:])]
    weights = dict.fromkeys((*_SILENT, Cause.TAINT_EVICTION), Weight.POSSIBLE)
    return weighed({**weights, Cause.NODE_REMOVED: Weight.MUCH}, {Cause.NODE_REMOVED: lost})


def _never_stopped(evidence: Evidence) -> EndVerdict:
    """The verdict on a pod that ran and always restarts, on a node that does not respond: its kubelet stopped nothing.

    Without its kubelet, only a force deletion removes the object of such a pod. Pod garbage collection also forces:
    if the Node is gone, and on an out-of-service node after a client deleted the pod.
    """
    node, owner, events = evidence.node, evidence.controller, evidence.known_events
    started = [one for one in events.named(_STARTED) if one.component == KUBELET and _is_of_app(one)]
    always = owner is not None and owner.kind in _OF_ACTIVE | _MAKES_ANOTHER
    silent = node is not None and node.ready is not None and node.ready.status == "Unknown"
    complete = started and always and events.complete_since(first_of(events.events))
    if node is None or not silent or not complete or evidence.pod_unread:
        return NOTHING
    weights = {Cause.FORCE_DELETED: Weight.MUCH, Cause.DELETED: Weight.POSSIBLE}
    if any(one.key == OUT_OF_SERVICE for one in node.spec.taints):
        weights[Cause.DELETED] = Weight.MUCH
    if not _is_its_node(evidence):
        weights[Cause.NODE_REMOVED] = Weight.SOME
    return weighed(weights, {Cause.FORCE_DELETED: [Clue(EvidenceSource.NODE, "Ready", "Unknown")]})


def _by_controller(evidence: Evidence, stops: Sequence[Event], named: Mapping[Cause, list[Clue]]) -> EndVerdict:
    """The verdict if the controller says that it deleted the pod: for a reason of its own, or because the pod ended."""
    weights: dict[Cause, Weight] = {}
    if not stops and not deletes_active(evidence):
        # No event shows that the kubelet stopped the containers.
        weights = dict.fromkeys(_OF_CONTAINERS, Weight.POSSIBLE)
    # Whether the kubelet had stopped the pod before its controller deleted it.
    last = instant(stops[-1].last) if stops else None
    asked = [when for clues in named.values() if (when := instant(clues[0].at)) is not None]
    clocks = evidence.clocks
    before = last is not None and asked and clocks.server_time(last) + clocks.margin + _SECOND < min(asked)
    unseen = evidence.events is not None and evidence.node_name and not stops
    if unseen and _has_events_of(evidence, _STATEFUL) and not _is_its_node(evidence):
        # Pods of a StatefulSet always restart: a container that ends by itself does not make the pod Failed.
        lost = {Cause.NODE_REMOVED: Weight.MUCH if evidence.node_missing else Weight.SOME}
        weights = {**dict.fromkeys(named, Weight.SOME), **lost, Cause.NODE_SHUTDOWN: Weight.POSSIBLE}
        return weighed(weights, {**named, Cause.NODE_REMOVED: next(iter(named.values()))})
    if _has_events_of(evidence, _MAKES_ANOTHER):
        weights |= dict.fromkeys(_ends_by_kubelet(evidence, stops), Weight.SOME if before else Weight.POSSIBLE)
    return weighed({**weights, **dict.fromkeys(named, Weight.SOME if before else Weight.MUCH)}, named)


def deletes_active(evidence: Evidence) -> bool:
    """Whether the controller that deletes a pod deletes only pods that have not ended and always restart."""
    return _has_events_of(evidence, _OF_ACTIVE)


def _has_events_of(evidence: Evidence, controllers: frozenset[str]) -> bool:
    return any(event.involved_object.kind in controllers for event in evidence.known_owner_events.events)


def _ends_by_kubelet(evidence: Evidence, stops: Sequence[Event]) -> Iterator[Cause]:
    """The causes by which a kubelet ends a pod as Failed, without those that the evidence excludes."""
    if not _is_ready_since(evidence, stops):
        yield Cause.NODE_SHUTDOWN
    began, events = stopped_at(evidence), evidence.events
    if began is None or events is None or not (events.complete_since(began - _SECOND) and evidence.is_heard(began)):
        yield from _WITH_EVENTS - DELETERS


def _is_ready_since(evidence: Evidence, stops: Sequence[Event]) -> bool:
    """Whether the node has been Ready since before the pod was stopped: both times are from the node's clock."""
    ready = evidence.node.ready if evidence.node is not None else None
    since = instant(ready.last_transition_time) if ready is not None and ready.status == "True" else None
    began = first_of(stops)
    return since is not None and began is not None and since < began


def _is_tainted(evidence: Evidence) -> bool:
    """Whether the node has a taint that a client added, other than those of a node that stopped responding.

    The kubelet of a silent node receives earlier requests later, and then stops the pod for them.
    """
    taints = evidence.node.spec.taints if evidence.node is not None else ()
    return any(one.effect == NO_EXECUTE and not one.key.startswith(LOST_NODE) for one in taints)


def cause_from_event(evidence: Evidence, *, forced: bool = True) -> tuple[Cause, Event] | None:
    """The last event that names what ended the whole pod, with or without events about a force deletion."""
    for event in reversed(evidence.known_events.events):
        if event.reason == FORCE_ALLOWED and not forced:
            continue
        cause = cause_of_eviction(event.message) if event.reason == "Evicted" else EVENT_CAUSES.get(event.reason)
        if is_rejection(event.reason):
            cause = Cause.REJECTED
        if cause is None and (by := pod_evictor(event)) is not None:
            return Cause.DELETED if by.deletes else Cause.API_EVICTION, event
        if event.reason in TAINTED and not event.message.startswith(_MARKING):
            # Such an event cancels a deletion that was planned for later: the pod ended for another cause.
            continue
        if event.reason == _PREEMPTED and (_IN_MEMORY in event.message or not event.message.startswith(_PREEMPTED)):
            # Such a victim was not running yet: it waits for a node again.
            continue
        if cause is not None:
            return cause, event
    return None


def causes_from_owner(evidence: Evidence) -> dict[Cause, list[Clue]]:
    """The causes for which the controller says that it deleted a pod that is gone; empty: it does not say so."""
    return causes_from_controller(evidence, _made(evidence))


def asked_at(evidence: Evidence) -> datetime | None:
    """When a pod that no longer exists was first asked to end, by the API server's clock; None: no event shows it."""
    began, named = ended_at(evidence), cause_from_event(evidence)
    times = [began]
    when = instant(named[1].first) if named is not None else None
    if named is not None and when is not None and not (began is not None and began - when > LONG):
        clocks = evidence.clocks
        by_node = later(clocks.server_time(when), -clocks.margin.total_seconds())
        times.append(by_node if named[1].component == KUBELET else when)
    times += [instant(clues[0].at) for clues in causes_from_owner(evidence).values()]
    return min((time for time in times if time is not None), default=None)


def _without_reason(evidence: Evidence, stops: Sequence[Event], began: datetime) -> EndVerdict:
    """The verdict on a pod that the kubelet stopped, if no event says why."""
    excluded = set(excluded_controllers(evidence, _first(evidence), began))
    if _is_ready_since(evidence, stops):
        excluded.add(Cause.NODE_SHUTDOWN)
    if _is_its_node(evidence):
        excluded.add(Cause.NODE_REMOVED)
    weights = dict.fromkeys(_SILENT - excluded, Weight.SOME)
    events = evidence.events
    if events is None or not (events.complete_since(began - _SECOND) and evidence.is_settled(began)):
        weights |= dict.fromkeys(_WITH_EVENTS, Weight.SOME)
    for event in evidence.known_events.named("Unhealthy"):
        # If a pod must not restart, the kubelet stops all of its containers for a failed probe.
        weights |= {cause: Weight.SOME for cause, words in UNHEALTHY.items() if words in event.message}
    if not any(_is_of_app(stop) for stop in stops):
        ran = any(map(_is_of_app, evidence.known_events.named(_STARTED)))
        weights[Cause.SIDECAR_STOPPED] = Weight.MUCH if ran else Weight.SOME
    clues = {cause: [of_event(stops[-1])] for cause in weights}
    scaled = scaling_clues(evidence.scalings, evidence.name, began) if Cause.OWNER in weights else []
    if scaled:
        weights[Cause.OWNER] = Weight.MUCH
        clues[Cause.OWNER] += scaled
    for event in announced(evidence, began):
        for cause in (Cause.API_EVICTION, Cause.DELETED):
            clues.setdefault(cause, []).append(of_event(event))
    clues.setdefault(Cause.FORCE_DELETED, []).extend(map(of_event, evidence.known_events.named(FORCE_ALLOWED)))
    node, by = evidence.node, node_evictor(evidence)
    drained = (
        [Clue(EvidenceSource.NODE, "spec.unschedulable", "true")]
        if node is not None and node.spec.unschedulable
        else []
    )
    if by is not None and by.evicts:
        drained.append(evictor_clue(by))
    if drained:
        weights[Cause.API_EVICTION] = Weight.MUCH
        clues[Cause.API_EVICTION] += drained
    return weighed(weights, clues)


def announced(evidence: Evidence, began: datetime | None) -> list[Event]:
    """Events of other programs that mention an eviction right before a pod was stopped: they decide nothing."""
    return [
        event
        for event in evidence.known_events.events
        if event.component not in {"", KUBELET}
        and _EVICT in f"{event.reason} {event.message[:_MAX_READ]}".lower()
        and (when := instant(event.last)) is not None
        and began is not None
        and abs(began - when) <= _SOON
    ]


def node_evictor(evidence: Evidence) -> Evictor | None:
    """The program that removes, restarts or removed the pod's node; None: none that began before the pod's end."""
    events = evidence.node_events.events if evidence.node_events is not None else ()
    if evidence.node is not None:
        by = going(evidence.node, events, evidence.now)
    else:
        by = remover(events) if evidence.node_missing else None
    at, end = None if by is None else instant(by.at), stopped_at(evidence) or ended_at(evidence)
    # The Node object is deleted after its pods.
    most = evidence.clocks.margin + (LONG if evidence.node_missing else _SOON)
    return None if at is not None and end is not None and at - end > most else by


def evictor_clue(by: Evictor) -> Clue:
    """The sign of a program as a piece of evidence."""
    return Clue(_SOURCES.get(by.where, EvidenceSource.NODE), by.key, by.says, by.at)


def _is_of_app(event: Event) -> bool:
    return event.involved_object.field_path.startswith(_APP)


def _is_its_node(evidence: Evidence) -> bool:
    """Whether the Node object on which the pod ran exists, and was not created since."""
    first, node = _first(evidence), evidence.node
    made = instant(node.metadata.creation_timestamp) if node is not None else None
    return made is not None and first is not None and made <= first


def _first(evidence: Evidence) -> datetime | None:
    """The earliest known event of the pod."""
    return first_of(evidence.known_events.events)


def _made(evidence: Evidence) -> datetime | None:
    """The first moment at which the pod surely existed, from its events; None: any deletion of that name was its own.

    Only the pods of a StatefulSet reuse names. Any other name is used once, so that a deletion before the first
    remaining event is its own: the earlier events have expired. If the kubelet's stop is the first
    event, the pod existed a moment earlier: a deletion came before the stop.
    """
    if not evidence.name.rpartition("-")[2].isdecimal():
        return None
    first, stopped = _first(evidence), first_of(evidence.known_events.stops())
    return first if first is None or stopped is None or first < stopped else stopped - _SOON
