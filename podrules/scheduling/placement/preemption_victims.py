"""Preemption as data: pods that would have to go, pods that are going, pods that went. It loads no arrays."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from podrules.api.model.pod_reference import PodOnNode, PodReference
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
