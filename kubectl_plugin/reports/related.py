"""Objects that pods depend on: claims, disruption budgets, quotas and priority classes, with the pods of each."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import Struct

from cluster_io.kinds import (
    EVENTS,
    LIMIT_RANGES,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    PODS,
    PRIORITY_CLASSES,
    WORKLOADS,
)
from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.workload import ReportedReason
from podrules.admission.admitted_pod import QuotaRoom, QuotaShare
from podrules.api.model.quantity import Quantity
from podrules.node.reachability import NodeReach
from podrules.pod.reading import UnreadInput
from podrules.pod.versions import VersionNote
from podrules.scheduling.placement.outcome import ClaimProblem, VolumePlace
from podrules.workload.budget_risk import BudgetStanding
from podrules.workload.disruption import BudgetRoom


class RelatedPod(Struct, frozen=True, kw_only=True, rename="camel"):
    """An unfinished pod that uses the object, or that the object selects."""

    name: str
    node: str
    status: str
    """STATUS as kubectl prints it."""
    ready: bool
    reach: NodeReach | None = None
    """Its node, if the node does not answer."""
    refused: str = ""
    """Why the API server would not evict it now, in its words; empty: it would, or the object is not a budget."""


class RelatedReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind"):
    """The common fields."""

    DECIDING: ClassVar[frozenset[str]] = frozenset()
    """Resources without which the headline is not certain."""
    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    name: str
    namespace: str
    source: str
    rules_version: str
    server_version: str | None
    version_notes: tuple[VersionNote, ...] = ()
    unread: tuple[UnreadInput, ...] = ()

    @property
    def lacks(self) -> tuple[UnreadInput, ...]:
        """Unread resources that may change the headline."""
        return tuple(one for one in self.unread if one.resource in self.DECIDING)


class ClaimReport(RelatedReport, frozen=True, kw_only=True, tag="ClaimExplanation"):
    """A PersistentVolumeClaim."""

    DECIDING = frozenset({"pods", "persistentvolumes", "storageclasses.storage.k8s.io", "nodes"})
    phase: str
    storage_class: str
    provisioner: str
    """Empty: its StorageClass has none, or is unknown."""
    waits_for_consumer: bool
    """Whether its StorageClass waits for a pod (WaitForFirstConsumer)."""
    created: str | None
    access_modes: tuple[str, ...]
    requested: str
    capacity: str
    resize: ReportedReason | None
    """Why a bound claim has less than it requests; None: it has enough."""
    deleted_at: str | None
    finalizers: tuple[str, ...]
    """Finalizers besides kubernetes.io/pvc-protection."""
    problem: ClaimProblem | None
    """Why it cannot be used; None: it can, or waits for a pod."""
    volume: VolumePlace | None
    """Its volume, with the nodes that can use it; None: it has none, or unknown."""
    volume_deleted_at: str | None
    """Since when its volume is being deleted: it is removed after the claim."""
    one_node: bool
    """Whether its volume is attached to one node at a time."""
    pods: tuple[RelatedPod, ...] | None
    """The pods that use it; None: they could not be read."""
    event: ReportedReason | None
    """The newest event about it, while it is not bound."""
    chosen: tuple[VolumePlace, ...] = ()
    """If the pod that waits for it fits no node: its volumes that must each be created for one node."""
    missing: str = ""
    """What the driver that creates its volume lacks, as in the `binding` of a pod's placement."""


class BudgetReport(RelatedReport, frozen=True, kw_only=True, tag="BudgetExplanation"):
    """A PodDisruptionBudget."""

    DECIDING = frozenset({"pods", "poddisruptionbudgets.policy", *(one.rbac_name for one in WORKLOADS)})
    min_available: int | str | None
    max_unavailable: int | str | None
    unhealthy_pod_eviction_policy: str
    standing: BudgetStanding | None
    """By its status; None: the pods could not be read."""
    counted: BudgetRoom | None
    """What its controller would count now; None: the size of a controller is unknown."""
    failure: str
    """Why its controller cannot count, in its words; empty: it can."""
    others: tuple[str, ...]
    """Other budgets that select some of its pods."""
    pods: tuple[RelatedPod, ...]
    workloads: dict[str, int | None] = {}
    """If it selects no pod: the workloads that create pods which it selects, ``deployment/web``, and how many each
    wants; None: unknown."""


class QuotaWorkload(Struct, frozen=True, kw_only=True, rename="camel"):
    """A workload of the namespace with pods that the quota counts."""

    name: str
    """``deployment/web``."""
    wanted: int | None
    missing: int
    """Wanted pods that do not exist."""
    room: QuotaRoom
    """How many more of its pods this quota admits."""
    refused: ReportedReason | None
    """The message of its newest event FailedCreate, or of its condition, about this quota."""
    needs: dict[str, str]
    """The hard amounts that would admit all missing pods."""
    other: QuotaRoom | None = None
    """The quota of the namespace that admits fewer of its pods; None: none does."""


class QuotaReport(RelatedReport, frozen=True, kw_only=True, tag="QuotaExplanation"):
    """A ResourceQuota."""

    DECIDING = frozenset(one.rbac_name for one in (*WORKLOADS, EVENTS, LIMIT_RANGES, PRIORITY_CLASSES))
    scopes: tuple[str, ...]
    resources: tuple[QuotaShare, ...]
    """The fullest first; ``used`` is empty if it is not counted yet."""
    behind: bool
    """Whether the quota controller has not counted the newest spec yet."""
    required: tuple[str, ...]
    """The values that each container must set; otherwise the API server refuses its pod."""
    defaults: tuple[str, ...]
    """LimitRanges of the namespace that set defaults."""
    workloads: tuple[QuotaWorkload, ...]

    @property
    def spent(self) -> tuple[QuotaShare, ...]:
        """The workloads without enough room."""
        counted = (one for one in self.resources if one.used)
        return tuple(one for one in counted if Quantity.parse(one.used) >= Quantity.parse(one.hard))


class ClassReport(RelatedReport, frozen=True, kw_only=True, tag="PriorityClassExplanation"):
    """A PriorityClass."""

    DECIDING = frozenset(one.rbac_name for one in (*WORKLOADS, MUTATING_WEBHOOKS, NAMESPACES, PODS, PRIORITY_CLASSES))
    value: int
    preemption_policy: str
    pods: dict[str, int] | None
    """How many pods have it, by namespace, without finished pods; None: they could not be read."""
    pending: int
    """How many of them have no node."""
    stale: int
    """How many of them have a priority that the class no longer gives."""
    earlier: tuple[int, ...] = ()
    """The priorities of these pods."""
    lower: int
    """How many pods on nodes have a lower priority."""
    above: dict[str, int]
    """Preempting classes of a higher value, with their values."""
    below: dict[str, int]
    defaults: tuple[str, ...]
    """The classes that are globalDefault, the one that counts first."""
    workloads: tuple[str, ...]
    """The workloads that name it: ``shop/deployment/web``."""
    given: tuple[str, ...] = ()
    """The workloads that name none and get it from the webhook of kubectl qos."""
    quotas: tuple[str, ...]
    """The quotas with a scope for it: ``shop/compute``."""
