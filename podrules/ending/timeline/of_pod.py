"""Every way in which one pod may end, in its current state; the currently relevant way comes first.

its node does not answer            node-lost
being deleted                       delete, by any client
a taint of its node deletes it      delete
its node has pressure               evict-hard
its node is cordoned                drain
else                                delete
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.instant import later
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.api.model.selectors import Toleration
from podrules.ending.deleted_pod import deleted_at, holders
from podrules.ending.timeline.aftermath import Ownership
from podrules.ending.timeline.api_deletion import delete, drain, preempt, second_delete
from podrules.ending.timeline.events import AT_ONCE, PodTimeline, Span, Standing, TimelineEvent, Way, WayTimeline
from podrules.ending.timeline.kubelet_kill import evict, probe_failure, shutdown
from podrules.ending.timeline.lost import NOTHING_NOTED, SilentNodeRecord, node_lost, node_missing
from podrules.ending.volumes import WriterGuard
from podrules.node.eviction.thresholds import pressures_of
from podrules.node.lost_node import UNREACHABLE, MonitorGrace, taint_added, unknown_at
from podrules.node.reachability import OUT_OF_SERVICE, NodeReach, Reach
from podrules.pod.platform import Platform, pod_platform
from podrules.pod.tolerations import pod_eviction


class TimelineFacts(Struct, frozen=True, kw_only=True):
    """The input of the rules."""

    pod: Pod
    """The stored pod; a planned pod counts as running."""
    owner: Ownership
    tolerations: tuple[Toleration, ...]
    """The pod's tolerations, with those that will be added to a planned pod."""
    node: Node | None = None
    reach: NodeReach | None = None
    """Whether its node responds; None: it has no node, or that is not known."""
    renewed: datetime | None = None
    """The last heartbeat of its node."""
    grace: MonitorGrace = MonitorGrace()
    """The time after which its silent node becomes Unknown."""
    kubelet: KubeletConfiguration | None = None
    guards: tuple[WriterGuard, ...] = ()
    """The guard that keeps a second writer out of each volume."""
    budgets: Sequence[PodDisruptionBudget] | None = None
    """The PodDisruptionBudgets of its namespace; None: not known."""
    asked_seconds: int | None = None
    """The grace period that a DELETE or an eviction through the API requests; None: the pod's own."""
    at: datetime | None = None
    """The current time, at which a second DELETE would come; None: not known."""
    preemption_disabled: bool = False
    """Whether all profiles of the scheduler disable preemption."""


def pod_timeline(facts: TimelineFacts) -> PodTimeline:
    """All ways of a pod."""
    silent = facts.reach is not None and facts.reach.reach.quiet
    first = _first(facts, silent=silent)
    order = [first, *(way for way in Way if way is not first)]
    gone = facts.reach is not None and facts.reach.reach is Reach.GONE

    def place(event: TimelineEvent) -> tuple[bool, bool, int]:
        # Events without a latest second, and those that never happen, are last.
        return event.earliest is None, event.latest is None, event.latest or 0

    ways = []
    for way in order:
        timeline, began = _way(way, facts, silent=silent), deleted_at(facts.pod) if way is Way.DELETE else None
        if way is Way.NODE_LOST and silent and not gone and not facts.pod.finished:
            began = _last_heartbeat(facts)
        ways.append(replace(timeline, events=tuple(sorted(timeline.events, key=place)), began=began))
    return PodTimeline(tuple(ways), ways[0].began, silent, facts.budgets is not None)


def _with_second_delete(facts: TimelineFacts, timeline: WayTimeline) -> WayTimeline:
    """Add a second DELETE now, if it requests grace period 0 for a pod with a longer one."""
    first, metadata = deleted_at(facts.pod), facts.pod.metadata
    if facts.asked_seconds != 0 or first is None or not metadata.deletion_grace_period_seconds:
        return timeline
    seconds = max(0, ceil(((facts.at or first) - first).total_seconds()))
    return second_delete(timeline, Span(seconds, seconds), kept=bool(holders(metadata.finalizers)))


def _way(way: Way, facts: TimelineFacts, *, silent: bool) -> WayTimeline:
    pod, owner, guards = facts.pod, facts.owner, facts.guards
    unknown = _unknown_there(way, facts)
    if unknown is not None:
        return WayTimeline(way=way, standing=unknown)
    reach = facts.reach.reach if facts.reach is not None else Reach.UNKNOWN
    match way:
        case Way.DELETE:
            fenced = _collected_from(facts, reach)
            timeline = delete(pod, owner, guards, reach=reach, fenced=fenced, asked=facts.asked_seconds)
            return _with_second_delete(facts, timeline)
        case Way.DRAIN:
            return drain(pod, owner, guards, facts.budgets or (), reach=reach, asked=facts.asked_seconds)
        case Way.PREEMPT:
            return preempt(pod, owner, guards, reach=reach, disabled=facts.preemption_disabled)
        case Way.NODE_LOST:
            if not pod.spec.node_name:
                return WayTimeline(way=way, standing=Standing.NOT_RUNNING)
            if reach is Reach.GONE:
                return node_missing(pod, owner, guards)
            return node_lost(
                pod,
                owner,
                guards,
                facts.tolerations,
                facts.grace,
                noted=_noted(facts) if silent else NOTHING_NOTED,
                deleted_after=_deleted_after(facts, silent=silent),
                fenced=_fenced(facts) if reach is Reach.OUT_OF_SERVICE else None,
            )
    barred = _kubelet_barred(pod, silent=silent)
    if barred is not None:
        return WayTimeline(way=way, standing=barred)
    match way:
        case Way.PROBE:
            return probe_failure(pod)
        case Way.SHUTDOWN:
            return shutdown(pod, owner, guards, facts.kubelet)
        case _:
            return evict(way, pod, owner, guards, facts.kubelet)


def _unknown_there(way: Way, facts: TimelineFacts) -> Standing | None:
    """Why a way is not known, if no Linux kubelet runs the pod."""
    pod = facts.pod
    if not pod.spec.node_name or pod.finished:
        return None
    match pod_platform(pod, facts.node):
        case Platform.VIRTUAL_KUBELET:
            return Standing.PROVIDER
        case Platform.WINDOWS if way in {Way.EVICT_HARD, Way.EVICT_SOFT}:
            return Standing.NOT_MODELLED
    return None


def _kubelet_barred(pod: Pod, *, silent: bool) -> Standing | None:
    """Why the kubelet does not stop a pod by itself."""
    if not pod.spec.node_name:
        return Standing.NOT_RUNNING
    if pod.finished:
        return Standing.FINISHED
    if silent:
        return Standing.SILENT
    return Standing.STOPPING if pod.metadata.deletion_timestamp is not None else None


def _deleted_after(facts: TimelineFacts, *, silent: bool) -> int | None:
    """Seconds from its node's last heartbeat to the pod's deletion; 0 if the node responds."""
    deleted = deleted_at(facts.pod)
    if deleted is None:
        return None
    heartbeat = _last_heartbeat(facts) if silent else None
    return 0 if heartbeat is None else ceil((deleted - heartbeat).total_seconds())


def _noted(facts: TimelineFacts) -> SilentNodeRecord:
    """What the Node object records about its silence: when Ready became Unknown, and when it was tainted."""
    heartbeat = _last_heartbeat(facts)
    if heartbeat is None or facts.node is None:
        return NOTHING_NOTED

    def seconds(moment: datetime | None) -> int | None:
        return None if moment is None else ceil((moment - heartbeat).total_seconds())

    # Without the Lease, the rule returns only a change of the condition that has happened, and no predicted one.
    return SilentNodeRecord(
        seconds(unknown_at(facts.node, None, facts.grace)), seconds(taint_added(facts.node, UNREACHABLE))
    )


def _fenced(facts: TimelineFacts) -> Span:
    """When its node was declared out of service, in seconds from the last heartbeat."""
    heartbeat = _last_heartbeat(facts)
    added = taint_added(facts.node, OUT_OF_SERVICE)
    if heartbeat is None or added is None:
        return Span(0, None)
    seconds = ceil((added - heartbeat).total_seconds())
    return Span(seconds, seconds)


def _collected_from(facts: TimelineFacts, reach: Reach) -> Span:
    """When garbage collection can remove its object, in seconds from the DELETE."""
    deleted = deleted_at(facts.pod)
    if reach is Reach.GONE and deleted is not None:
        return Span(0, None)
    if reach not in {Reach.OUT_OF_SERVICE, Reach.BACK_NOT_READY} or deleted is None:
        return AT_ONCE
    added = taint_added(facts.node, OUT_OF_SERVICE)
    if added is None:
        return Span(0, None)
    seconds = ceil((added - deleted).total_seconds())
    return Span(seconds, seconds)


def _first(facts: TimelineFacts, *, silent: bool) -> Way:
    pod, node = facts.pod, facts.node
    if silent and not pod.finished:
        return Way.NODE_LOST
    if pod.metadata.deletion_timestamp is not None or node is None:
        return Way.DELETE
    if pod_eviction(pod, node.spec.taints) is not None:
        return Way.DELETE
    if pressures_of(node.status.conditions):
        return Way.EVICT_HARD
    return Way.DRAIN if node.spec.unschedulable else Way.DELETE


def _last_heartbeat(facts: TimelineFacts) -> datetime | None:
    """The last heartbeat of a silent node: from its Lease, else the monitor's grace before Ready became Unknown."""
    if facts.renewed is not None:
        return facts.renewed
    since = facts.reach.since if facts.reach is not None else None
    return later(since, -facts.grace.seconds) if since is not None else None
