"""Timelines of a pod, and their events by name: ``SIGTERM``, or ``SIGTERM app`` for one container."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Toleration
from podrules.ending.timeline.aftermath import Ownership
from podrules.ending.timeline.events import EventKind, PodTimeline, Reminder, TimelineEvent, TimeRule, Way, WayTimeline
from podrules.ending.timeline.of_pod import TimelineFacts, pod_timeline
from podrules.node.reachability import NodeReach, Reach
from podrules.workload.safety import owner_guarantee
from tests.controlplane.client import Object
from tests.objects import make_pod, raw_owner

Events = Mapping[str, tuple[Any, ...]]
"""By name: the earliest and the latest second, then a rule or a field if they matter."""

NEVER = (None, None)
UNREACHABLE = "node.kubernetes.io/unreachable"
MIRROR = {"annotations": {"kubernetes.io/config.mirror": "0"}}
KEPT = {"finalizers": ["example.com/keep"]}
OWNERS = {
    "ReplicaSet": raw_owner("ReplicaSet"),
    "StatefulSet": raw_owner("StatefulSet"),
    "DaemonSet": raw_owner("DaemonSet"),
    "Job": raw_owner("Job", apiVersion="batch/v1"),
    "Rollout": raw_owner("Rollout", apiVersion="example.com/v1"),
}


def pod_of(
    grace: int | None = 30,
    *,
    owner: str = "",
    metadata: Object | None = None,
    status: Object | None = None,
    **spec: Any,
) -> Pod:
    """A running pod with the toleration that the API server adds to every pod."""
    added = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    return make_pod(
        metadata={"ownerReferences": [OWNERS[owner]] if owner else [], **(metadata or {})},
        status={"phase": "Running", **(status or {})},
        terminationGracePeriodSeconds=grace,
        tolerations=[added],
        **{"nodeName": "node-1", **spec},
    )


def deleted(at: str = "03:00:30", seconds: int = 30) -> Object:
    """Metadata of a pod that was deleted."""
    return {"deletionTimestamp": f"2026-11-21T{at}Z", "deletionGracePeriodSeconds": seconds}


def toleration(seconds: int | None) -> Toleration:
    """One of the taint of a node that does not answer."""
    return Toleration(key=UNREACHABLE, operator="Exists", effect="NoExecute", toleration_seconds=seconds)


def timeline_of(pod: Pod, *, reach: NodeReach | Reach | None = Reach.ANSWERS, **facts: Any) -> PodTimeline:
    """All ways of a pod; ``facts`` as those of `TimelineFacts`, with ``workload`` for its owner."""
    owner = Ownership(owner_guarantee(pod), facts.pop("workload", None))
    reached = NodeReach("node-1", reach, "") if isinstance(reach, Reach) else reach
    known = {"owner": owner, "tolerations": pod.spec.tolerations, "budgets": (), "reach": reached}
    return pod_timeline(TimelineFacts(pod=pod, **{**known, **facts}))


def way_of(way: Way, pod: Pod, **facts: Any) -> WayTimeline:
    """One way of a pod."""
    return next(entry for entry in timeline_of(pod, **facts).ways if entry.way is way)


def event(timeline: WayTimeline, name: str) -> TimelineEvent:
    """The only event of this name."""
    kind, _, subject = name.partition(" ")
    [found] = [one for one in timeline.events if one.what is EventKind(kind) and subject in {"", one.subject}]
    return found


def like(timeline: WayTimeline, expected: Events) -> Events:
    """The events of these names, with a rule and a field where the expected ones have them."""
    found = {}
    for name, (_, _, *parts) in expected.items():
        one = event(timeline, name)
        found[name] = (one.earliest, one.latest, *(one.rule if isinstance(p, TimeRule) else one.field for p in parts))
    return found


def has(timeline: WayTimeline, reminder: Reminder) -> bool:
    """Whether it is among the notes."""
    return any(note.reminder is reminder for note in timeline.notes)
