"""The outcome of a preemption: which pod preempted this one, and whether that pod got the room.

kube-scheduler marks a victim with the condition DisruptionTarget, reason PreemptionByScheduler, and writes an event
about it: "Preempted by pod <uid> on node <node>". The pod with that uid is found among the pods. A group of pods
preempts as "podgroup <uid>", and the event is related to its PodGroup. Older schedulers wrote "<namespace>/<name>",
then "a pod".

Source: pkg/scheduler/framework/preemption/executor.go at v1.36.3; "troubleshooting" in the Kubernetes documentation of
priority and preemption.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from podrules.api.model.event import Event
from podrules.api.model.pod import Pod
from podrules.api.model.pod_reference import PodReference
from podrules.scheduling.placement.preemption_victims import PreemptedFor, PreemptionRecord

PREEMPTED: Final = "Preempted"
_MESSAGE: Final = re.compile(r"Preempted by (?:a pod|(?P<kind>\w+) (?P<uid>\S+)|[\w.-]+/[\w.-]+) on node (?P<node>\S+)")
_MAX_NAMED: Final = 3


def is_preempted(pod: Pod) -> bool:
    """Whether the scheduler preempted the pod."""
    condition = pod.status.condition("DisruptionTarget")
    return condition is not None and condition.status == "True" and condition.reason == "PreemptionByScheduler"


def preemption_event(events: Iterable[Event]) -> Event | None:
    """The latest event that reports a preemption."""
    found = [event for event in events if event.reason == PREEMPTED and _preemptor_uid(event)]
    return max(found, key=lambda event: event.time or "", default=None)


def preempted(
    victim: Pod | None, event: Event | None, pods: Sequence[Pod] | None, *, is_list: bool = False
) -> PreemptionRecord:
    """Which pod preempted a pod, and the outcome.

    Args:
        victim: The pod that has to go; None: it is gone, and the event is there.
        event: The event that reports it, if it still exists.
        pods: All of the cluster; None: they cannot be read.
        is_list: Whether they are of a plain List, which may lack the preemptor.
    """
    said = None if event is None else _MESSAGE.match(event.message)
    node = victim.spec.node_name if victim is not None else said["node"] if said is not None else ""
    condition = victim.status.condition("DisruptionTarget") if victim is not None else None
    uid = "" if event is None else _preemptor_uid(event)
    if group := said is not None and (said["kind"] or "pod").lower() != "pod":
        pods = None
    preemptor = next((pod for pod in pods or () if pod.metadata.uid == uid), None) if uid else None
    is_known = bool(uid) and pods is not None and not (is_list and preemptor is None)
    if not uid and victim is not None:
        nominated = [pod for pod in pods or () if pod.status.nominated_node_name == node and _waits_above(pod, victim)]
        preemptor = nominated[0] if len(nominated) == 1 else None
    named = preemptor.metadata if preemptor is not None else event.related if event is not None else None
    return PreemptionRecord(
        by=None if named is None or not named.name else PodReference(named.namespace, named.name),
        uid=uid,
        at=event.time if event is not None else condition.last_transition_time if condition is not None else None,
        node=node,
        became=became_of(preemptor, node) if is_known else PreemptedFor.UNKNOWN,
        preemptor_node="" if preemptor is None else preemptor.spec.node_name or preemptor.status.nominated_node_name,
        higher_than=() if victim is None else tuple(_left_alone(victim, pods or ())),
        group=group,
    )


def _waits_above(pod: Pod, victim: Pod) -> bool:
    """Whether it may have been nominated by a preemption: others never were Unschedulable."""
    scheduled = pod.status.condition("PodScheduled")
    if scheduled is None or scheduled.reason != "Unschedulable":
        return False
    return not pod.spec.node_name and not pod.finished and (pod.spec.priority or 0) > (victim.spec.priority or 0)


def _preemptor_uid(event: Event) -> str:
    """The UID of the preemptor; upstream names it in the message, and relates the event to it where it can."""
    found = _MESSAGE.match(event.message)
    named = found["uid"] if found else None
    return named or (event.related.uid if event.related is not None else "")


def _left_alone(victim: Pod, pods: Sequence[Pod]) -> Iterator[PodReference]:
    """Some pods of lower priority on other nodes, the lowest first."""
    priority = victim.spec.priority or 0
    lower = [
        pod
        for pod in pods
        if pod.spec.node_name not in {"", victim.spec.node_name} and (pod.spec.priority or 0) < priority
    ]
    for pod in sorted(lower, key=lambda pod: pod.spec.priority or 0)[:_MAX_NAMED]:
        yield PodReference(pod.metadata.namespace, pod.metadata.name)


def became_of(preemptor: Pod | None, node: str) -> PreemptedFor:
    """What became of a preemptor that wanted a node."""
    if preemptor is None:
        return PreemptedFor.GONE
    if preemptor.spec.node_name:
        return PreemptedFor.TOOK_THE_PLACE if preemptor.spec.node_name == node else PreemptedFor.RUNS_ELSEWHERE
    if preemptor.status.nominated_node_name == node:
        return PreemptedFor.STILL_WAITS
    return PreemptedFor.WAITS_ELSEWHERE
