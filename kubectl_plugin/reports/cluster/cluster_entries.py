"""A whole cluster as data: nodes and pods in numbers, zones, workloads and budgets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct

from cluster_io.origin import Origin
from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.cluster.cluster_changes import ClusterChanges
from kubectl_plugin.reports.cluster.cluster_workloads import WorkloadEntry
from kubectl_plugin.reports.died.ended import EndedPod
from kubectl_plugin.reports.node.partitions import PartitionsReport
from kubectl_plugin.reports.pod.pod_risk import PodRisk
from kubectl_plugin.reports.pod.similar_pods import Asked
from podrules import __version__
from podrules.api.model.pod import PodQOSClass
from podrules.api.model.policy import PriorityClass
from podrules.ending.died.oom_kills import OomKill
from podrules.ending.stuck import Stuck
from podrules.node.eviction.signals import NodeCondition, Signal
from podrules.node.pressure.usage import UsageSource
from podrules.pod.platform import Platform
from podrules.pod.reading import Unread
from podrules.pod.versions import VersionNote
from podrules.scheduling.placement.outcome import ClaimProblem
from podrules.scheduling.skew import WorkloadSpread
from podrules.scheduling.spread import ZoneNodes
from podrules.workload.budget_risk import Budgets
from podrules.workload.evictors import Evictor

__all__ = ["ClusterReport", "EvictionLevel", "NodeEntry", "PodEntry", "PodKey", "Promised"]

PodKey = tuple[str, str]
"""Namespace and name."""


class Promised(Struct, frozen=True, rename="camel"):
    """One resource of one or several nodes, in thousandths of a cpu or in bytes."""

    allocatable: int
    requested: dict[PodQOSClass, int]
    limited: int
    """The sum of the limits of containers and pods that have one."""
    without_limit: int
    """Pods with a container that nothing limits."""
    used: int | None
    """None: not measured."""

    @classmethod
    def together(cls, parts: Sequence[Promised]) -> Promised:
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
        """Everything that is requested."""
        return sum(self.requested.values())


class EvictionLevel(Struct, frozen=True, rename="camel"):
    """The eviction threshold that is nearest on a node."""

    signal: Signal
    left: int
    """What can still be used before it is met; negative: it is."""
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
    """It does not answer."""
    unschedulable: bool
    pressures: tuple[NodeCondition, ...]
    """What it says that it is short of."""
    platform: Platform
    taints: tuple[str, ...]
    going: Evictor | None
    """The program that removes or restarts it; None: nothing shows one."""
    pods: int
    max_pods: int
    pods_by_class: dict[PodQOSClass, int]
    cpu: Promised
    memory: Promised
    usage_source: UsageSource
    nearest: EvictionLevel | None
    """None: not measured."""
    near_limit: int
    """Containers near their own memory limit; 0 also where nothing is measured."""
    first_killed: PodKey | None
    """By the kernel, if the machine runs out of memory."""
    first_evicted: PodKey | None
    """By the kubelet, at its memory threshold; None also without usage."""
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
    asked: Asked
    phase: str
    """``status.phase``, or ``Terminating``."""
    status: str
    """As `kubectl get pods` has it."""
    created: str | None
    priority: int
    priority_class: str
    owner_kind: str
    owner: str
    """Its controller, or what that belongs to; empty: none."""
    restarts: int
    last_restart: str | None
    """When a container last ended and restarted; None: none did, or that is not known."""
    cpu_used: int | None
    """Thousandths of a cpu; None: not measured."""
    used: int | None
    """Bytes of memory in its working set; None: not measured."""
    oom_score_adj: int | None
    """The OOM score of the container that the kernel would kill first; None: it runs on no node."""
    oom_points: int | None
    oom_rank: int | None
    """Of that container on the pod's node, from 1."""
    eviction_rank: int | None
    """On the pod's node, from 1; None: never, or not measured."""
    risk: PodRisk | None
    """The worst."""
    stuck: Stuck | None = None
    """The warning that has repeated for long while it does not start or end."""
    claim: ClaimProblem | None = None
    """The claim that it waits for, although it has a node or one is chosen for it."""

    @property
    def key(self) -> PodKey:
        """Namespace and name."""
        return self.namespace, self.name


class ClusterReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="ClusterReport"):
    """Everything that the page shows."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    written_by: str = __version__
    """The version of kubectl-qos."""
    source: str
    origin: Origin
    """Which cluster that was, where one was asked."""
    scope: str
    """The scope of the report: empty for all, a namespace, or the objects that were named."""
    rules_version: str
    server_version: str | None
    at: datetime | None
    """When it was so; None: the source does not tell."""
    at_is_newest: bool
    """Whether the source did not tell it: it is the newest time in it."""
    nodes: tuple[NodeEntry, ...]
    pods: tuple[PodEntry, ...]
    workloads: tuple[WorkloadEntry, ...] = ()
    """The one in most trouble first."""
    whole: Promised | None
    """Memory of all nodes."""
    whole_cpu: Promised | None
    zones: tuple[ZoneNodes, ...]
    spreads: tuple[WorkloadSpread, ...]
    classes: tuple[PriorityClass, ...] | None
    budgets: Budgets | None
    """None: they could not be read."""
    partitions: PartitionsReport | None
    ended: tuple[EndedPod, ...] | None = None
    """What ended in the hour before, the latest first; None: events could not be read, or the time is not known."""
    preemption_disabled: bool = False
    """Whether no profile of the scheduler preempts."""
    changes: ClusterChanges | None = None
    """Since an earlier report; None: it is compared with none."""
    version_notes: tuple[VersionNote, ...] = ()
    """The versions of this cluster that the rules were not held against."""
    lacks: tuple[Unread, ...] = ()
    """What could not be read and may change the headline; empty: nothing."""
    unread: tuple[Unread, ...]
