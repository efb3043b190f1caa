"""The result of a what-if placement of several pods. Only data: it loads no arrays."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from podrules.admission.admitted_pod import QuotaRoom
from podrules.api.model.pod import PodReference
from podrules.pod.reading import UnreadInput
from podrules.scheduling.placement.outcome import Placement, RejectedGroup
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import SpreadDomain
from podrules.workload.budget_risk import BudgetRisk
from podrules.workload.disruption import BudgetRoom

Origin = Literal["manifest", "more", "pending", "drain", "autoscaler"]
"""Why pods are placed: a file asks for them; they are more of what the cluster has; they wait for a node already, and
go first; the drain of their node recreates them; or an autoscaler of a file may ask for them, and they go last."""


class PlannedVictim(Struct, frozen=True, rename="camel"):
    """A pod that has to be removed: it would be preempted, or is being deleted already."""

    pod: PodReference
    node: str
    priority: int
    violates: tuple[str, ...]
    """PodDisruptionBudgets that its removal violates, by ``namespace/name``; none if it is removed anyway."""
    leaving: bool
    """It is being deleted already: it need not be preempted."""
    replaced: bool
    """Whether its controller makes another; else it is lost."""
    preempted_for: tuple[PodReference, ...]
    """Pods that are nominated to the node and come first, if it was preempted before; else none."""
    stateful: bool = False
    """A StatefulSet makes it: it has a name, and often data, of its own."""


class AchievedSpread(Struct, frozen=True, rename="camel"):
    """A topology spread constraint of a spec at the end; hard and soft ones."""

    field: str
    topology_key: str
    when_unsatisfiable: str
    max_skew: int
    minimum: int
    """The least of all domains; 0 when there are fewer than minDomains."""
    skew: int
    """The most matching pods of a domain minus the minimum."""
    domains: tuple[SpreadDomain, ...]
    left_out: tuple[str, ...]
    """Some values that no counted node has: they are no domains."""
    left_out_count: int
    """The number of domains."""


class AwaitedPod(Struct, frozen=True, rename="camel"):
    """A pod that a StatefulSet waits for before it makes any other."""

    name: str
    deleted: bool
    """It is being deleted, and another of its name has to be Ready; else it is not Ready itself."""
    silent_node: str
    """Its node, where that does not answer; else empty."""


class Autoscaler(Struct, frozen=True, rename="camel"):
    """The HorizontalPodAutoscaler of a workload."""

    name: str
    min_replicas: int
    max_replicas: int


class JobSize(Struct, frozen=True, rename="camel"):
    """How many pods a Job makes."""

    at_once: int
    """At a time, as long as none has succeeded: parallelism, or completions if these are fewer."""
    completions: int | None
    """How many have to succeed; None: any one of them."""
    succeeded: int
    indexed: bool
    """Whether there is one for each index from 0 on."""
    schedule: str
    """When a CronJob makes Jobs; else empty."""

    @property
    def now(self) -> int:
        """How many it has at a time from now on (manageJob)."""
        return (
            self.at_once if self.completions is None else max(0, min(self.at_once, self.completions - self.succeeded))
        )


class DaemonNodes(Struct, frozen=True, rename="camel"):
    """The nodes of a DaemonSet, by its controller."""

    eligible: int
    """How many nodes get a pod, with or without room; nodes that have one count."""
    kept: tuple[str, ...]
    """The nodes that have its pod and keep it."""
    removed: tuple[str, ...]
    """The nodes from which it deletes its pod, because it no longer chooses them."""
    without: tuple[RejectedGroup, ...]
    """The nodes on which it makes no pod, by the scheduler plugin with the same rule. Largest group first."""


class PlannedSpec(Struct, frozen=True, rename="camel", kw_only=True):
    """One spec's replicas."""

    name: str
    """``deployment/web``, ``pod/db-0``."""
    namespace: str
    priority: int
    wanted: int | None
    """None: as many as fit."""
    placed: int
    without_preemption: int
    """How many are placed without preemption, for this spec or for those before it."""
    nodes: dict[str, int]
    """Replicas by node, those with most first."""
    nodes_unaided: dict[str, int]
    """The same, for those that are placed without preemption."""
    zones: dict[str, int]
    """Replicas by topology.kubernetes.io/zone; empty for nodes without one."""
    spread: tuple[AchievedSpread, ...]
    victims: tuple[PlannedVictim, ...]
    stopped: Placement | None
    """Why the first unplaced replica fits nowhere; for a DaemonSet, why each unplaced pod does not fit its own node.
    None: all wanted ones fit."""
    limit: int | None
    """The number after which the search stopped; None: it did not stop."""
    there: int
    """Pods that it has already, besides which these come."""
    suspended: bool
    """Its controller makes no pod before it is resumed."""
    awaited: AwaitedPod | None
    """Its StatefulSet makes no pod before; None: nothing keeps it, or another controller makes them."""
    daemon: DaemonNodes | None = None
    """The nodes of a DaemonSet; None: it is none."""
    holds_back: str = ""
    """The pod of a StatefulSet that fits nowhere: none after it is made before it is Ready (OrderedReady). Empty: the
    StatefulSet makes all at once (Parallel), or it is none."""
    job: JobSize | None = None
    """How many pods a Job or CronJob makes; None: it is neither."""
    autoscaler: Autoscaler | None = None
    """The autoscaler in a file that decides its replicas; None: there is none."""
    origin: Origin
    """Why it is placed."""
    quota: QuotaRoom | None = None
    """The quota that allows fewer than are wanted; the others are not made. None: no quota does."""
    assumed: tuple[UnreadInput, ...] = ()
    """What could not be read and may change how many are placed, or where: it counts as not there."""
    proven: bool = True
    """Whether the answer to "do all wanted and allowed pods fit" is certain in spite of that."""

    scheduler_message: str = ""
    """What kube-scheduler said of a pending pod when it found no node; empty: nothing."""
    leaves: tuple[str, ...] = ()
    """The drained nodes that a pod leaves; several where one that it moved to is drained later."""
    waits: bool = False
    """Whether its eviction waits until replacements of pods that left before are Ready."""
    until_back: str = ""
    """The drained node that has to be back before it has a place; empty: none has to."""

    @property
    def is_short(self) -> bool:
        """Whether some that are wanted have no place, or none before a drained node is back."""
        return bool(self.until_back) or (self.wanted is not None and self.placed < self.wanted)

    @property
    def kept_out(self) -> bool:
        """Whether a quota allows fewer than are wanted."""
        return self.quota is not None and self.wanted is not None and self.quota.pods < self.wanted

    @property
    def preempted(self) -> tuple[PlannedVictim, ...]:
        """The victims that still have to be preempted."""
        return tuple(victim for victim in self.victims if not victim.leaving)

    @property
    def leaving(self) -> tuple[PlannedVictim, ...]:
        """The victims that are being deleted already."""
        return tuple(victim for victim in self.victims if victim.leaving)


class PlannedBudget(Struct, frozen=True, rename="camel"):
    """A PodDisruptionBudget that selects pods to come."""

    namespace: str
    name: str
    min_available: int | str | None
    max_unavailable: int | str | None
    specs: tuple[str, ...]
    """The specs with pods that it selects."""
    pods_of_specs: int
    """How many pods these make; it may select some of them."""
    placed: int
    """How many of the selected pods to come have a place."""
    others: int
    """How many pods of the cluster it selects beside them."""
    pods: int
    """How many it selects in all if those to come are made; what is not known is left out."""
    held: int
    """How many of all these pods another budget selects, too: those are never evicted."""
    may_grow: bool
    """Whether an autoscaler may make more of the pods to come."""
    room: BudgetRoom | None
    """The evictions it allows once all placed pods are Ready. None: it counts by controllers, and what those of the
    other pods want is not known; or it is not known on how many nodes a DaemonSet runs."""


class HeldPods(Struct, frozen=True, rename="camel"):
    """Pods that several PodDisruptionBudgets select: the API server evicts none of them."""

    namespace: str
    name: str
    """``deployment/web``; empty: they are other pods of the cluster."""
    pods: int
    of: int
    """How many pods the spec makes."""
    budgets: tuple[str, ...]


class Budgets(Struct, frozen=True, rename="camel"):
    """How many of the pods to come PodDisruptionBudgets allow to be evicted."""

    budgets: tuple[PlannedBudget, ...] = ()
    held: tuple[HeldPods, ...] = ()


class UnmovedPod(Struct, frozen=True, rename="camel"):
    """A pod of a drained node that would not be evicted, or not be recreated."""

    pod: PodReference
    reason: str
    """``DaemonSet``, ``StaticPod``, ``NoController``, ``PodDisruptionBudget``, ``Finished``, ``Terminating``,
    ``NodeSilent``, ``Overdue``."""
    detail: str
    """The budget and what it allows; the controller; why it is not replaced; the finalizers of an overdue pod."""
    hold: BudgetRisk | None = None
    """Why a PodDisruptionBudget protects it; None: no budget does."""
    lacks: PodReference | None = None
    """A pod of the same budget that fits on no node: the budget waits for it to be Ready."""
    over: datetime | None = None
    """When a pod that is overdue should have been gone."""
    node: str = ""
    """The drained node that it is on."""
    way: str = ""
    """The change that makes a budget allow an eviction, if it requires all pods."""
    unready: tuple[PodReference, ...] | None = None
    """The pods that are not Ready, of a budget that waits for more Ready pods; None: not checked."""


class DrainFlag(Struct, frozen=True, rename="camel"):
    """A flag that kubectl drain needs before it evicts any pod."""

    flag: str
    pods: int
    """How many pods of the node need the flag."""
