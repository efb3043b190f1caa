"""A whole cluster as data: nodes, pods, zones, workloads and budgets; and the changes since an earlier report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Final, Literal, TypeVar

from msgspec import Struct

from cluster_io.origin import Origin
from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.end_report import EndedPod
from kubectl_plugin.reports.node.node_report import PartitionsReport
from kubectl_plugin.reports.pod.pod_risk import PodRisk
from kubectl_plugin.reports.pod.similar_pods import CountedResources
from kubectl_plugin.reports.verdict import Severity, VerdictCode
from kubectl_plugin.reports.workload import PodCounts, WorkloadPod, job_progress, pod_counts, pods_wanted, workload_code
from podrules import __version__
from podrules.api.model.pod import Pod, PodQOSClass
from podrules.api.model.policy import PriorityClass
from podrules.api.model.workload import Workload
from podrules.api.refusals import pods_short, said_by_server
from podrules.ending.died.memory import OomKill
from podrules.ending.pod_state import PodState
from podrules.ending.stuck import Stuck
from podrules.ending.volumes import SecondWriters
from podrules.node.eviction.thresholds import NodeCondition, Signal
from podrules.node.pressure.usage import Nearness, UsageSource, headroom_nearness
from podrules.pod.platform import Platform
from podrules.pod.reading import UnreadInput
from podrules.pod.versions import VersionNote
from podrules.scheduling.placement.outcome import ClaimProblem
from podrules.scheduling.skew import WorkloadSpread
from podrules.scheduling.spread import ZoneNodes
from podrules.workload.budget_risk import BudgetCoverage
from podrules.workload.evictors import Evictor
from podrules.workload.safety import owner_guarantee

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


WorkloadKey = tuple[str, str, str]
"""Namespace, kind and name."""
_FINE = frozenset({PodState.READY, PodState.SUCCEEDED, PodState.FAILED})
_PASSED = _FINE | {PodState.TERMINATING}
"""Pods that a workload has replaced or does not need: counted in addition to the wanted pods."""


class WorkloadEntry(Struct, frozen=True, rename="camel"):
    """One workload."""

    namespace: str
    kind: str
    name: str
    counts: PodCounts
    restarts: int
    severity: Severity
    """The severity, as in the explanation of its pods."""
    code: VerdictCode
    in_trouble: int
    """Wanted pods that are not in order, and missing pods."""
    worst: PodState | None
    """The worst state of its pods; None: it has none, or all are fine."""
    worst_pod: str
    worst_status: str
    """STATUS of that pod, as kubectl prints it."""
    short: int = 0
    """How many wanted pods do not exist, by its own status."""
    refused: str = ""
    """Why its controller cannot create them, in its words; empty: it does not say."""
    second_writers: SecondWriters | None = None
    """When two of its pods write to one unguarded volume; None: never, or its volumes were not read."""


def workload_entries(
    pods: Iterable[Pod],
    written: Mapping[WorkloadKey, Workload],
    owner: Callable[[str, str, str], tuple[str, str]],
    in_short: Callable[[Sequence[Pod]], tuple[WorkloadPod, ...]],
    refusals: Mapping[WorkloadKey, str],
) -> tuple[WorkloadEntry, ...]:
    """Every workload that has or wants pods, the worst first.

    Args:
        pods: The pods of all of them.
        written: The workloads that could be read.
        owner: Kind and name of a controller's owner.
        in_short: Summarises the pods of one workload.
        refusals: The newest event of each workload that could not create a pod.
    """
    own: dict[WorkloadKey, list[Pod]] = {key: [] for key in written}
    for pod in pods:
        controller = owner_guarantee(pod)
        if controller.name and controller.kind != "Node":
            namespace = pod.metadata.namespace
            kind, name = owner(namespace, controller.kind, controller.name)
            own.setdefault((namespace, kind, name), []).append(pod)
    entries = (_entry(key, in_short(found), written.get(key), refusals.get(key, "")) for key, found in own.items())
    shown = (one for one in entries if one.counts.wanted or one.counts.ready or one.counts.succeeded or one.in_trouble)

    def order(entry: WorkloadEntry) -> tuple[int, int, int, str, str, str]:
        worst = len(PodState) if entry.worst is None else entry.worst.worse
        return -entry.severity.urgency, worst, -entry.in_trouble, entry.namespace, entry.kind, entry.name

    return tuple(sorted(shown, key=order))


def _entry(key: WorkloadKey, found: Sequence[WorkloadPod], workload: Workload | None, event: str) -> WorkloadEntry:
    wanted = pods_wanted(key[1], workload) if workload is not None else None
    job = job_progress(workload) if workload is not None and key[1] == "Job" else None
    counts = pod_counts([pod.state for pod in found], wanted, key[1])
    code, severity = workload_code(job, counts, found)
    short = pods_short(key[1], workload, wanted) if workload is not None else 0
    condition = workload.status.condition("ReplicaFailure", "True") if workload is not None else None
    # The condition keeps the message of the first failure.
    refused = (event or (condition.message if condition is not None else "")) if short else ""
    if refused:
        code, severity = VerdictCode.PODS_REFUSED, Severity.TROUBLE
    passed = _FINE if counts.terminating_awaited else _PASSED
    ill = [pod for pod in found if pod.state not in passed]
    problems = sorted((pod for pod in found if pod.state not in _FINE), key=lambda pod: pod.state.worse)
    worst = problems[0] if problems and severity is not Severity.FINE else None
    return WorkloadEntry(
        *key,
        counts=counts,
        restarts=sum(pod.restarts for pod in found),
        severity=severity,
        code=code,
        in_trouble=len(ill) + counts.missing,
        worst=worst.state if worst is not None else None,
        worst_pod=worst.name if worst is not None else "",
        worst_status=worst.status if worst is not None else "",
        short=short,
        refused=said_by_server(refused),
    )


# Data of only one of two reports, such as usage that was not measured for the other, are not a change of the cluster.

K = TypeVar("K")
V = TypeVar("V")
_HEADROOM_STEP: Final = 5
"""Percentage points: smaller changes of usage are normal."""
_OF_SPEC: Final = frozenset({PodRisk.BEST_EFFORT, PodRisk.NO_GRACE_PERIOD})
"""Problems that a pod has from the start: earlier releases do not report them, and they are not news."""
OF_USAGE: Final = frozenset({PodRisk.NEAR_LIMIT, PodRisk.OVER_REQUEST})
"""Problems that only a report with the pod's usage can have."""
_RISKS: Final = tuple(PodRisk)


class PodStanding(Struct, frozen=True, rename="camel"):
    """A pod in one of the two reports."""

    node: str
    status: str
    restarts: int
    created: str | None
    risk: PodRisk | None
    """The worst problem of the pod; None also for a problem that this release does not know."""
    usage_known: bool
    """Whether it is known if the pod uses more than it requests; also true for a pod without a node."""


class PodChange(Struct, frozen=True, rename="camel"):
    """A pod that is new, removed, replaced or different."""

    namespace: str
    name: str
    before: PodStanding | None
    """None: it did not exist."""
    after: PodStanding | None
    """None: it no longer exists."""

    @property
    def recreated(self) -> bool:
        """Whether another pod now has its name."""
        return self.before is not None and self.after is not None and self.before.created != self.after.created

    @property
    def new_restarts(self) -> int:
        """How often its containers restarted since then; a new pod starts at 0."""
        if self.after is None:
            return 0
        earlier = 0 if self.before is None or self.recreated else self.before.restarts
        return max(0, self.after.restarts - earlier)

    @property
    def risks(self) -> tuple[PodRisk | None, PodRisk | None]:
        """Its earlier and current problem, as far as both reports know; without risks of its spec.

        A pod near its limit, or over its request, hides less urgent problems, and only a report with its usage has
        this. If only one report has the usage, and the STATUS is the same, the two are taken to agree.
        """
        before, after = (None if one is None or one.risk in _OF_SPEC else one.risk for one in (self.before, self.after))
        if self.before is None or self.after is None or self.before.status != self.after.status:
            return before, after
        if self.before.usage_known == self.after.usage_known:
            return before, after
        of_usage, other = (before, after) if self.before.usage_known else (after, before)
        if of_usage in OF_USAGE and (other is None or _RISKS.index(other) > _RISKS.index(of_usage)):
            return other, other
        return before, after

    @property
    def differs(self) -> bool:
        """Whether the cluster changed, and not only the data about it."""
        if self.before is None or self.after is None:
            return True
        before, after = self.risks
        return (
            self.recreated
            or self.new_restarts > 0
            or (self.before.node, self.before.status, before) != (self.after.node, self.after.status, after)
        )


class NodeStanding(Struct, frozen=True, rename="camel"):
    """A node in one of the two reports."""

    ready: str | None
    down: bool
    unschedulable: bool
    cpu_requested: int
    """Percent of allocatable, rounded down."""
    memory_requested: int
    headroom: int | None
    """Percent of the capacity until the nearest eviction threshold; None: not measured."""
    usage_known: bool
    pressures: tuple[str, ...] = ()
    """Conditions such as MemoryPressure that are True."""

    @property
    def is_ready(self) -> bool:
        """Whether it answers and is Ready."""
        return self.ready == "True" and not self.down

    @property
    def without_usage(self) -> tuple[object, ...]:
        """The fields that are compared even without measured usage."""
        requested = self.cpu_requested, self.memory_requested
        return self.down, self.is_ready, self.unschedulable, *requested, frozenset(self.pressures)

    @property
    def nearness(self) -> Nearness | None:
        """How close it is to an eviction; None: not measured."""
        return None if self.headroom is None else headroom_nearness(self.headroom, met=self.headroom < 0)


class NodeChange(Struct, frozen=True, rename="camel"):
    """A node that is new, removed or different."""

    name: str
    before: NodeStanding | None
    after: NodeStanding | None

    @property
    def headroom_moved(self) -> bool:
        """Whether its headroom changed by more than usual, or its nearness to an eviction changed."""
        before, after = self.before, self.after
        if before is None or after is None or before.headroom is None or after.headroom is None:
            return False
        return abs(before.headroom - after.headroom) >= _HEADROOM_STEP or before.nearness is not after.nearness

    @property
    def differs(self) -> bool:
        """Whether the node changed, and not only the data about it."""
        if self.before is None or self.after is None:
            return True
        return self.headroom_moved or self.before.without_usage != self.after.without_usage

    @property
    def usage_known(self) -> tuple[bool, bool] | None:
        """Whether its usage was known and is known; None: it is not Ready in both reports, so none is expected."""
        before, after = self.before, self.after
        if before is None or after is None or not (before.is_ready and after.is_ready):
            return None
        return before.usage_known, after.usage_known


class Tally(Struct, frozen=True, rename="camel"):
    """Counts of one report."""

    nodes: int
    nodes_ready: int
    """They answer, are Ready and not cordoned."""
    nodes_cordoned: int
    """Cordoned nodes that are otherwise Ready."""
    nodes_measured: int
    """Nodes with known usage."""
    pods: int
    pods_by_risk: dict[str, int]
    """Each pod once, by its worst problem; pods without a problem are not counted."""
    restarts: int


class OtherCluster(Enum):
    """Why an earlier report seems to be of another cluster."""

    SERVER = "server"
    CONTEXT = "context"
    OBJECTS = "objects"
    """No node and no pod is in both."""


class ClusterChanges(Struct, frozen=True, rename="camel", kw_only=True):
    """All changes since an earlier report."""

    since: datetime | None
    """The time of the earlier report."""
    earlier_source: str
    earlier_context: str | None
    earlier_server: str | None
    other_cluster: OtherCluster | None
    """None: no sign that the earlier report is of another cluster."""
    usage_learned: tuple[str, ...]
    """Nodes that are Ready in both, with known usage only now: values that depend on it are not compared."""
    usage_lost: tuple[str, ...]
    """The same for usage that was known only then."""
    before: Tally
    after: Tally
    nodes: tuple[NodeChange, ...]
    """By name; normal fluctuation, and data of only one report, are not a change."""
    pods: tuple[PodChange, ...]
    """By namespace and name, with the same exceptions."""
