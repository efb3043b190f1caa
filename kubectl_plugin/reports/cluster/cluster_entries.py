"""A whole cluster as data: counts of nodes and pods, zones, workloads and budgets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct

from cluster_io.origin import Origin
from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.cluster.cluster_changes import ClusterChanges
from kubectl_plugin.reports.cluster.cluster_workloads import WorkloadEntry
from kubectl_plugin.reports.end_report import EndedPod
from kubectl_plugin.reports.node.node_report import PartitionsReport
from kubectl_plugin.reports.pod.pod_risk import PodRisk
from kubectl_plugin.reports.pod.similar_pods import CountedResources
from podrules import __version__
from podrules.api.model.pod import PodQOSClass
from podrules.api.model.policy import PriorityClass
from podrules.ending.died.memory import OomKill
from podrules.ending.stuck import Stuck
from podrules.node.eviction.thresholds import NodeCondition, Signal
from podrules.node.pressure.usage import UsageSource
from podrules.pod.platform import Platform
from podrules.pod.reading import UnreadInput
from podrules.pod.versions import VersionNote
from podrules.scheduling.placement.outcome import ClaimProblem
from podrules.scheduling.skew import WorkloadSpread
from podrules.scheduling.spread import ZoneNodes
from podrules.workload.budget_risk import BudgetCoverage
from podrules.workload.evictors import Evictor

PodKey = tuple[str, str]
"""Namespace and name."""


class PromisedResource(Struct, frozen=True, rename="camel"):
    """One resource of one or several nodes, in thousandths of a cpu or in bytes."""

    allocatable: int
    requested: dict[PodQOSClass, int]
    limited: int
    """The sum of the limits of containers and pods that have one."""
    without_limit: int
    """Pods with a container without a limit."""
    used: int | None
    """None: not measured."""

    @classmethod
    def together(cls, parts: Sequence[PromisedResource]) -> PromisedResource:
        """The sum, with the usage that is measured."""
        used = [part.used for part in parts if part.used is not None]
        return cls(
            sum(part.allocatable for part in parts),
            {qos_class: sum(part.requested[qos_class] for part in parts) for qos_class in PodQOSClass},
            sum(part.limited for part in parts),
            sum(part.without_limit for part in parts),
            sum(used) if used else None,
        )

    @property
    def total(self) -> int:
        """The sum of all requests."""
        return sum(self.requested.values())


class EvictionLevel(Struct, frozen=True, rename="camel"):
    """The nearest eviction threshold of a node."""

    signal: Signal
    left: int
    """The amount that can still be used before it is met; negative: it is met."""
    percent: int
    """Percent of the capacity, rounded down."""
    met: bool


class NodeEntry(Struct, frozen=True, rename="camel", kw_only=True):
    """One node."""

    name: str
    zone: str
    ready: str | None
    """Status of its Ready condition."""
    down: bool
    """The node does not answer."""
    unschedulable: bool
    pressures: tuple[NodeCondition, ...]
    """The pressure conditions that it reports."""
    platform: Platform
    taints: tuple[str, ...]
    going: Evictor | None
    """The program that removes or restarts it; None: no sign of one."""
    pods: int
    max_pods: int
    pods_by_class: dict[PodQOSClass, int]
    cpu: PromisedResource
    memory: PromisedResource
    usage_source: UsageSource
    nearest: EvictionLevel | None
    """None: not measured."""
    near_limit: int
    """Containers near their own memory limit; 0 also without measurements."""
    first_killed: PodKey | None
    """Killed first by the kernel, if the machine runs out of memory."""
    first_evicted: PodKey | None
    """Evicted first by the kubelet, at its memory threshold; None also without usage."""
    shortage: OomKill | None = None
    """See `NodePressureReport.shortage`."""
    unready_message: str = ""
    """See `NodeReport.unready_message`."""


class PodEntry(Struct, frozen=True, rename="camel", kw_only=True):
    """One pod."""

    namespace: str
    name: str
    node: str
    """Empty: none."""
    asked: CountedResources
    phase: str
    """``status.phase``, or ``Terminating``."""
    status: str
    """As `kubectl get pods` prints it."""
    created: str | None
    priority: int
    priority_class: str
    owner_kind: str
    owner: str
    """Its controller, or the owner of that; empty: none."""
    restarts: int
    last_restart: str | None
    """When a container last ended and restarted; None: none did, or unknown."""
    cpu_used: int | None
    """Thousandths of a cpu; None: not measured."""
    used: int | None
    """Bytes of memory in its working set; None: not measured."""
    oom_score_adj: int | None
    """The OOM score of the container that the kernel would kill first; None: the pod is on no node."""
    oom_points: int | None
    oom_rank: int | None
    """The rank of that container on the pod's node, from 1."""
    eviction_rank: int | None
    """The rank on the pod's node, from 1; None: never evicted, or not measured."""
    risk: PodRisk | None
    """The worst risk."""
    stuck: Stuck | None = None
    """The warning that has repeated for long while the pod does not start or end."""
    claim: ClaimProblem | None = None
    """The claim that the pod waits for, although it has a node or one is chosen for it."""

    @property
    def key(self) -> PodKey:
        """Namespace and name."""
        return self.namespace, self.name


class ClusterReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="ClusterReport"):
    """All data of the page."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    written_by: str = __version__
    """The version of kubectl-qos."""
    source: str
    origin: Origin
    """The cluster, if one was read."""
    scope: str
    """The scope of the report: empty for all, a namespace, or the named objects."""
    rules_version: str
    server_version: str | None
    at: datetime | None
    """The time of the data; None: the source has no time."""
    at_is_newest: bool
    """Whether the source has no capture time: `at` is the newest time in its objects."""
    nodes: tuple[NodeEntry, ...]
    pods: tuple[PodEntry, ...]
    workloads: tuple[WorkloadEntry, ...] = ()
    """The workload with the worst problem first."""
    whole: PromisedResource | None
    """Memory of all nodes."""
    whole_cpu: PromisedResource | None
    zones: tuple[ZoneNodes, ...]
    spreads: tuple[WorkloadSpread, ...]
    classes: tuple[PriorityClass, ...] | None
    budgets: BudgetCoverage | None
    """None: they could not be read."""
    partitions: PartitionsReport | None
    ended: tuple[EndedPod, ...] | None = None
    """The ends in the hour before, the latest first; None: events could not be read, or the time is unknown."""
    preemption_disabled: bool = False
    """Whether no profile of the scheduler preempts."""
    changes: ClusterChanges | None = None
    """The changes since an earlier report; None: not compared."""
    version_notes: tuple[VersionNote, ...] = ()
    """The versions of this cluster for which the rules were not verified."""
    lacks: tuple[UnreadInput, ...] = ()
    """What could not be read and may change the headline; empty: nothing."""
    unread: tuple[UnreadInput, ...]
