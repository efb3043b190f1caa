"""Preemption as data: pods that would have to go, pods that are going, pods that went. It loads no arrays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.api.model.event import Event
from podrules.api.model.pod import Pod, PodOnNode, PodReference, reference
from podrules.node.reachability import NodeReach
from podrules.pod.reading import UnreadInput


class VictimPod(Struct, frozen=True, rename="camel"):
    """A pod that would be preempted."""

    pod: PodReference
    priority: int
    qos_class: str
    grace_seconds: int
    violates: tuple[str, ...]
    """PodDisruptionBudgets that its removal violates, by name."""
    is_static: bool = False
    """Whether only its mirror would be deleted: its kubelet keeps it running."""


class CrossNode(Struct, frozen=True, rename="camel"):
    """Pods of other nodes that block a node; the scheduler never tries to remove them."""

    node: str
    elsewhere: tuple[PodOnNode, ...]
    on_node: tuple[PodReference, ...]
    """Pods of the node itself that would have to be removed too."""


class LeftAlone(Struct, frozen=True, rename="camel"):
    """Pods of lower priority than a victim, on nodes that are not chosen."""

    why: str
    """The criterion that the node loses by, or why it is no candidate, in upstream's words."""
    nodes: int
    pods: int
    lowest: PodReference
    lowest_priority: int


class NoRoom(Struct, frozen=True, rename="camel"):
    """Nodes that do not take a pod even without all of their pods of lower priority, for the same reasons."""

    plugin: str
    """That rejects them then; empty: none was asked."""
    reasons: tuple[str, ...]
    """In upstream's words."""
    nodes: int
    node: str
    """The first of them."""
    lower: int
    """Pods of lower priority on all of them."""
    needs: tuple[PodReference, ...]
    """Those of the first node that the pod's affinity needs: without them it does not fit."""


class PreemptionPreview(Struct, frozen=True, rename="camel"):
    """What preemption would do for a pod that fits nowhere."""

    not_eligible: str
    """Why the pod may not preempt, in upstream's words; empty: it may."""
    potential: int
    """Nodes that were examined: removing pods cannot help on the others."""
    candidates: int
    """Nodes that would have room without some of their pods."""
    nodes: tuple[str, ...]
    """Nodes from which one is nominated; empty: none."""
    decided_by: str
    """The criterion that left these; empty with one candidate or none."""
    victims: tuple[VictimPod, ...]
    """On the first of these nodes, the most important first."""
    grace_seconds: int
    """How long they may take to go; the pod is not placed before."""
    sampled: int | None
    """kube-scheduler examines only so many candidates, from a random node on; None: all of them."""
    elsewhere: CrossNode | None
    left_alone: tuple[LeftAlone, ...]
    no_room: tuple[NoRoom, ...]
    """Why examined nodes are no candidates; the most nodes first."""
    message: str
    """All that the PodScheduled condition says then."""


class Preemptor(Struct, frozen=True, rename="camel"):
    """A pending pod for which the scheduler would preempt a bound one, if it tried it now."""

    pod: PodReference
    priority: int
    seen: bool
    """Whether a scheduler has tried it before."""
    denied: bool
    """Whether that found no victims for it."""
    node: str
    victims: int
    """How many pods would go, this one among them."""
    violates: tuple[str, ...]
    """PodDisruptionBudgets that the going of this one violates, by name."""
    nodes: int
    """How many nodes are as good, this one among them: any may be taken."""
    twin: PodReference | None
    """A pod of its node that is as important, so that either of them goes."""
    sampled: int | None
    """kube-scheduler examines only so many candidates, from a random node on; None: all of them."""
    assumed: tuple[UnreadInput, ...]
    """What could not be read, and may decide: it counts as not there."""


class Preemptors(Struct, frozen=True, rename="camel"):
    """The pending pods that would preempt a bound one. Each is judged alone, by the cluster as it is now."""

    found: tuple[Preemptor, ...] = ()
    """In the order of the queue."""
    judged: int | None = None
    """How many of higher priority. None: it has no node, is one of many, or the pods were not read."""
    left_out: int = 0
    """Pods behind them in the queue."""
    not_modelled: int = 0
    """Pods of other schedulers or of groups: they may preempt, too."""


class GoingVictim(Struct, frozen=True, rename="camel"):
    """A pod that is on its way out for the nominated one."""

    pod: PodReference
    gone_by: str | None
    """When its processes are to have ended; None: not known."""


class NominatedNode(Struct, frozen=True, rename="camel"):
    """The node of status.nominatedNodeName: a reservation, no promise."""

    node: str
    victims: tuple[GoingVictim, ...]
    """Those that are not gone yet."""
    rivals: tuple[PodReference, ...]
    """Pending pods of higher priority, which may take the place."""
    others: tuple[GoingVictim, ...] = ()
    """Other pods on their way out of the node: it does not take the pod before these are gone as well."""
    rejected: tuple[str, ...] = ()
    """Why the node does not take the pod even without all pods that leave it, in upstream's words; empty: it does."""
    reach: NodeReach | None = None
    """Whether the node answers: no pod ends on a silent node. None: not checked, because no pod leaves the node."""
    exists: bool = True
    """False: no Node has its name. The scheduler fails to look it up, and goes on to all nodes."""
    made_room: bool = True
    """False: the scheduler had chosen it without a preemption, or another component named it."""

    @property
    def going(self) -> tuple[GoingVictim, ...]:
        """All that have to be gone, the last to end at the end."""
        return tuple(sorted((*self.victims, *self.others), key=lambda entry: entry.gone_by or ""))

    @property
    def silent(self) -> bool:
        """Whether it is unknown if any pod ends on the node."""
        return self.reach is not None and self.reach.reach.quiet

    @property
    def under_way(self) -> bool:
        """Whether the pod only has to wait: its victims end, and the node takes it then."""
        return bool(self.victims) and not self.rejected and not self.silent


class PreemptedFor(Enum):
    """What became of the pod for which another one was preempted."""

    TOOK_THE_PLACE = "TookThePlace"
    RUNS_ELSEWHERE = "RunsElsewhere"
    """Preempted for nothing."""
    STILL_WAITS = "StillWaits"
    WAITS_ELSEWHERE = "WaitsElsewhere"
    """It waits, and not for this node: preempted for nothing."""
    GONE = "Gone"
    UNKNOWN = "Unknown"


class PreemptionRecord(Struct, frozen=True, rename="camel"):
    """Which pod preempted a pod, and for what."""

    by: PodReference | None
    """None: it is gone, or cannot be read, or nothing names it."""
    uid: str
    """The preemptor's; empty: the event that names it is gone, and `by` is the only pod that waits for the room."""
    at: str | None
    node: str
    """Where the victim ran."""
    became: PreemptedFor
    preemptor_node: str
    """Where the preemptor is, or is nominated to."""
    higher_than: tuple[PodReference, ...]
    """Pods of lower priority on other nodes that were left alone, some of them."""
    group: bool = False
    """Whether a group of pods preempted it: `by` is its PodGroup."""


PREEMPTED: Final = "Preempted"
_MESSAGE: Final = r"Preempted by (?:a pod|(?P<kind>\w+) (?P<uid>\S+)|[\w.-]+/[\w.-]+) on node (?P<node>\S+)"
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
    """Which pod preempted a pod, and whether that pod got the room.

    kube-scheduler marks a victim with the condition DisruptionTarget, reason PreemptionByScheduler, and writes an event
    about it: "Preempted by pod <uid> on node <node>". The pod with that uid is found among the pods. A group of pods
    preempts as "podgroup <uid>", and the event is related to its PodGroup. Older schedulers wrote "<namespace>/<name>",
    then "a pod".

    Source: pkg/scheduler/framework/preemption/executor.go at v1.36.3; "troubleshooting" in the Kubernetes documentation
    of priority and preemption.

    Args:
        victim: The pod that has to go; None: it is gone, and the event is there.
        event: The event that reports it, if it still exists.
        pods: All of the cluster; None: they cannot be read.
        is_list: Whether they are of a plain List, which may lack the preemptor.
    """
    said = None if event is None else re.match(_MESSAGE, event.message)
    node = victim.spec.node_name if victim is not None else said["node"] if said is not None else ""
    condition = victim.status.condition("DisruptionTarget") if victim is not None else None
    uid = "" if event is None else _preemptor_uid(event)
    if group := said is not None and (said["kind"] or "pod").lower() != "pod":
        pods = None
    preemptor = next((pod for pod in pods or () if pod.metadata.uid == uid), None) if uid else None
    is_known = bool(uid) and pods is not None and not (is_list and preemptor is None)
    if not uid and victim is not None:
        # It may have been nominated by a preemption: others never were Unschedulable.
        nominated = [
            pod
            for pod in pods or ()
            if pod.status.nominated_node_name == node
            and (scheduled := pod.status.condition("PodScheduled")) is not None
            and scheduled.reason == "Unschedulable"
            and not (pod.spec.node_name or pod.finished)
            and (pod.spec.priority or 0) > (victim.spec.priority or 0)
        ]
        preemptor = nominated[0] if len(nominated) == 1 else None
    alone: list[Pod] = []
    if victim is not None:
        # Some pods of lower priority on other nodes, the lowest first.
        elsewhere = [pod for pod in pods or () if pod.spec.node_name not in {"", victim.spec.node_name}]
        lower = [pod for pod in elsewhere if (pod.spec.priority or 0) < (victim.spec.priority or 0)]
        alone = sorted(lower, key=lambda pod: pod.spec.priority or 0)[:_MAX_NAMED]
    named = preemptor.metadata if preemptor is not None else event.related if event is not None else None
    return PreemptionRecord(
        by=None if named is None or not named.name else PodReference(named.namespace, named.name),
        uid=uid,
        at=event.time if event is not None else condition.last_transition_time if condition is not None else None,
        node=node,
        became=became_of(preemptor, node) if is_known else PreemptedFor.UNKNOWN,
        preemptor_node="" if preemptor is None else preemptor.spec.node_name or preemptor.status.nominated_node_name,
        higher_than=tuple(map(reference, alone)),
        group=group,
    )


def _preemptor_uid(event: Event) -> str:
    """The UID of the preemptor; upstream names it in the message, and relates the event to it where it can."""
    found = re.match(_MESSAGE, event.message)
    named = found["uid"] if found else None
    return named or (event.related.uid if event.related is not None else "")


def became_of(preemptor: Pod | None, node: str) -> PreemptedFor:
    """What became of a preemptor that wanted a node."""
    if preemptor is None:
        return PreemptedFor.GONE
    if preemptor.spec.node_name:
        return PreemptedFor.TOOK_THE_PLACE if preemptor.spec.node_name == node else PreemptedFor.RUNS_ELSEWHERE
    if preemptor.status.nominated_node_name == node:
        return PreemptedFor.STILL_WAITS
    return PreemptedFor.WAITS_ELSEWHERE
