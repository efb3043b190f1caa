"""A whole cluster as data: every node and pod in numbers, and what stands out among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.alike import Alike, Asked
from kubectl_plugin.reports.cluster_changes import ClusterChanges
from kubectl_plugin.reports.cluster_workloads import WorkloadEntry, WorkloadKey, workload_entries
from kubectl_plugin.reports.partitions import PartitionsReport
from kubectl_plugin.reports.pod_risk import PodRisk, pod_risk
from kubectl_plugin.reports.workload_pods import WorkloadPod, workload_pods
from podrules import __version__
from podrules.budget_risk import Budgets, budgets_at_stake
from podrules.cluster.node_usage import ReadUsage
from podrules.cluster.origin import UNKNOWN_ORIGIN, Origin
from podrules.cluster.source import Unread
from podrules.eviction.signals import NodeCondition, Signal, pressures_of
from podrules.eviction.usage import stats_by_uid
from podrules.features import REFERENCE_VERSION, Features
from podrules.kubectl_status import kubectl_restarts, kubectl_status, last_restart
from podrules.model.kubelet import CPUStats
from podrules.model.node import Node
from podrules.model.pod import Pod, PodQOSClass
from podrules.model.policy import PodDisruptionBudget, PriorityClass
from podrules.model.quantity import ZERO
from podrules.model.workload import Workload
from podrules.placement.outcome import Outcome
from podrules.platform import Platform, node_platform
from podrules.pressure.nearness import is_near_limit
from podrules.pressure.node import Headroom, MemoryOrders, OOMScope, memory_orders, node_pressure
from podrules.pressure.usage import NO_USAGE, NodeUsage, UsageSource
from podrules.reachability import NodeReach
from podrules.resources import CPU, MEMORY
from podrules.safety import owner_guarantee
from podrules.skew import WorkloadSpread
from podrules.spread import ZoneNodes, workload_spreads, zone_nodes, zone_of
from podrules.taint_eviction import pod_eviction

__all__ = [
    "ClusterFacts",
    "ClusterReport",
    "Level",
    "NodeEntry",
    "PodEntry",
    "PodKey",
    "Promised",
    "cluster_report",
    "pod_key",
]

PodKey = tuple[str, str]
"""Namespace and name."""
WHOLE_PRESSURE_NODES: Final = 60
"""Up to so many nodes every threshold of each is judged; beyond, the orders of memory alone."""


class Promised(Struct, frozen=True, rename="camel"):
    """One resource of a node, or of several: thousandths of a cpu, or bytes."""

    allocatable: int
    requested: dict[PodQOSClass, int]
    limited: int
    """The sum of the limits of pods that have one."""
    without_limit: int
    """Pods without one."""
    used: int | None
    """None: not measured."""

    @classmethod
    def together(cls, parts: Sequence[Promised]) -> Promised:
        """The sum; of usage as far as it is measured."""
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
        """All that is requested."""
        return sum(self.requested.values())


class Level(Struct, frozen=True, rename="camel"):
    """The eviction threshold of a node that is nearest."""

    signal: Signal
    left: int
    """What can still be used before it is met; negative: it is."""
    percent: int
    """Of the capacity, rounded down."""
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
    pods: int
    max_pods: int
    pods_by_class: dict[PodQOSClass, int]
    cpu: Promised
    memory: Promised
    usage_source: UsageSource
    nearest: Level | None
    """None: not measured."""
    near_limit: int
    """Containers near their own memory limit; 0 also where nothing is measured."""
    first_killed: PodKey | None
    """By the kernel, if the machine runs out of memory."""
    first_evicted: PodKey | None
    """By the kubelet, at its memory threshold; None also without usage."""


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
    """When a container had ended that was started anew; None: none was, or nobody told."""
    cpu_used: int | None
    """Thousandths of a cpu; None: not measured."""
    used: int | None
    """Bytes of memory in its working set; None: not measured."""
    oom_score_adj: int | None
    """Of the container that the kernel would kill first; None: it runs on no node."""
    oom_points: int | None
    oom_rank: int | None
    """Of that container on the pod's node, from 1."""
    eviction_rank: int | None
    """On the pod's node, from 1; None: never, or not measured."""
    risk: PodRisk | None
    """The worst."""

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
    """Whose pods are listed: empty for all, a namespace, or the objects that were named."""
    rules_version: str = REFERENCE_VERSION
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
    preemption_disabled: bool = False
    """Whether no profile of the scheduler preempts."""
    changes: ClusterChanges | None = None
    """Since an earlier report; None: it is compared with none."""
    unread: tuple[Unread, ...]


class ClusterFacts(Struct, frozen=True, kw_only=True):
    """What is read of a cluster."""

    source: str
    origin: Origin = UNKNOWN_ORIGIN
    scope: str = ""
    git_version: str | None
    at: datetime | None
    at_is_newest: bool = False
    """See `ClusterReport.at_is_newest`."""
    nodes: Sequence[Node]
    """All of the cluster; none where they could not be read."""
    pods: Sequence[Pod]
    """As many as could be read."""
    listed_nodes: frozenset[str] | None = None
    """Names of the nodes to tell of; None: all."""
    listed_pods: frozenset[PodKey] | None = None
    """The same for pods."""
    classes: Sequence[PriorityClass] | None
    budgets: Sequence[PodDisruptionBudget] | None
    owners: Mapping[tuple[str, str, str], tuple[str, str]] = {}
    """Kind and name of what a controller belongs to, by the controller's namespace, kind and name."""
    workloads: Mapping[WorkloadKey, Workload] | None = None
    """Those that have no controller of their own; None: workloads are not told of."""
    usages: Mapping[str, ReadUsage] = {}
    awaited: frozenset[PodKey] = frozenset()
    """Pending pods for which preemption is making room."""
    preemption_disabled: bool = False
    """Whether no profile of the scheduler preempts."""
    outcomes: Mapping[PodKey, Outcome] = {}
    """What the rules of the scheduler give now, of pods that wait for a node; others count by its last word."""
    partitions: PartitionsReport | None
    features: Features
    unread: tuple[Unread, ...]

    def owner(self, namespace: str, kind: str, name: str) -> tuple[str, str]:
        """Kind and name of what people know a controller by: a ReplicaSet's Deployment."""
        return self.owners.get((namespace, kind, name), (kind, name))


class _Place(Struct):
    """A pod's places on its node."""

    used: int | None = None
    cpu: int | None = None
    over_request: bool = False
    adj: int | None = None
    points: int | None = None
    oom_rank: int | None = None
    eviction_rank: int | None = None


def cluster_report(facts: ClusterFacts) -> ClusterReport:
    """Put together what is known of a cluster."""
    entries = _Entries(facts)
    nodes = entries.nodes()
    return ClusterReport(
        source=facts.source,
        origin=facts.origin,
        scope=facts.scope,
        server_version=facts.git_version,
        at=facts.at,
        at_is_newest=facts.at_is_newest,
        nodes=nodes,
        pods=entries.pods(),
        workloads=_workloads(facts, entries.reach),
        whole=Promised.together([node.memory for node in nodes]) if nodes else None,
        whole_cpu=Promised.together([node.cpu for node in nodes]) if nodes else None,
        zones=zone_nodes(entries.shown),
        spreads=tuple(
            replace(one, kind=kind, name=name)
            for one in workload_spreads(facts.nodes, _of_interest(facts), features=facts.features)
            for kind, name in [facts.owner(one.namespace, one.kind, one.name)]
        ),
        classes=None if facts.classes is None else tuple(sorted(facts.classes, key=_class_order)),
        budgets=None if facts.budgets is None else _budgets(facts, facts.budgets),
        partitions=facts.partitions,
        preemption_disabled=facts.preemption_disabled,
        unread=facts.unread,
    )


def _workloads(facts: ClusterFacts, reach: Callable[[str], NodeReach | None]) -> tuple[WorkloadEntry, ...]:
    if facts.workloads is None:
        return ()
    listed = facts.listed_pods
    pods = facts.pods if listed is None else [pod for pod in facts.pods if pod_key(pod) in listed]
    nodes = {node.metadata.name: node for node in facts.nodes}

    def in_short(own: Sequence[Pod]) -> tuple[WorkloadPod, ...]:
        return workload_pods(own, facts.features, reach, nodes.get)

    return workload_entries(pods, facts.workloads, facts.owner, in_short)


def _budgets(facts: ClusterFacts, budgets: Sequence[PodDisruptionBudget]) -> Budgets:
    found = budgets_at_stake(budgets, _of_interest(facts))
    unprotected = (
        replace(one, kind=kind, name=name)
        for one in found.unprotected
        for kind, name in [facts.owner(one.namespace, one.kind, one.name)]
    )
    return replace(found, unprotected=tuple(unprotected))


def _class_order(entry: PriorityClass) -> tuple[int, str]:
    return -entry.value, entry.metadata.name


def pod_key(pod: Pod) -> PodKey:
    """Namespace and name."""
    return pod.metadata.namespace, pod.metadata.name


def _of_interest(facts: ClusterFacts) -> Sequence[Pod]:
    """The pods of the namespaces that are told of: workloads and budgets are judged by all of their pods."""
    if facts.listed_pods is None:
        return facts.pods
    namespaces = {namespace for namespace, _ in facts.listed_pods}
    return [pod for pod in facts.pods if pod.metadata.namespace in namespaces]


class _Entries:
    """Nodes first, then pods: a pod's places are found on its node."""

    def __init__(self, facts: ClusterFacts) -> None:
        self._facts = facts
        self._alike = Alike(facts.features)
        self._places: dict[PodKey, _Place] = {}
        down = facts.partitions.nodes if facts.partitions else ()
        self.reach = {node.reach.name: node.reach for node in down}.get
        """Of nodes that do not answer."""
        self._down = frozenset(node.reach.name for node in down if node.reach.reach.quiet)
        self._virtual = frozenset(
            node.metadata.name for node in facts.nodes if node_platform(node) is Platform.VIRTUAL_KUBELET
        )
        self._taints = {node.metadata.name: node.spec.taints for node in facts.nodes}
        listed = facts.listed_nodes
        self.shown = [node for node in facts.nodes if listed is None or node.metadata.name in listed]

    def nodes(self) -> tuple[NodeEntry, ...]:
        """Those that are told of."""
        by_node: dict[str, list[Pod]] = {node.metadata.name: [] for node in self.shown}
        for pod in self._facts.pods:
            if pod.spec.node_name in by_node and not pod.finished:
                by_node[pod.spec.node_name].append(pod)
        return tuple(self._node(node, by_node[node.metadata.name]) for node in self.shown)

    def pods(self) -> tuple[PodEntry, ...]:
        """Those that are told of."""
        listed = self._facts.listed_pods
        return tuple(self._pod(pod) for pod in self._facts.pods if listed is None or pod_key(pod) in listed)

    def _node(self, node: Node, pods: Sequence[Pod]) -> NodeEntry:
        name = node.metadata.name
        read = self._facts.usages.get(name)
        usage = read.usage if read is not None else NO_USAGE
        orders, nearest, near_limit = self._orders(node, pods, read)
        self._note(orders)
        self._note_cpu(pods, usage)
        asked = [self._alike.asked(pod) for pod in pods]
        allocatable = node.status.allocatable
        return NodeEntry(
            name=name,
            zone=zone_of(node),
            ready=node.ready.status if node.ready is not None else None,
            down=name in self._down,
            unschedulable=node.spec.unschedulable,
            pressures=pressures_of(node.status.conditions),
            platform=node_platform(node),
            taints=tuple(
                f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}" for taint in node.spec.taints
            ),
            pods=len(pods),
            max_pods=allocatable.get("pods", ZERO).value,
            pods_by_class={one: sum(pod.qos_class is one for pod in asked) for one in PodQOSClass},
            cpu=_promised(
                allocatable.get(CPU, ZERO).milli_value,
                [(one.qos_class, one.cpu, one.cpu_limit) for one in asked],
                _milli(usage.summary.node.cpu),
            ),
            memory=_promised(
                allocatable.get(MEMORY, ZERO).value,
                [(one.qos_class, one.memory, one.memory_limit) for one in asked],
                usage.summary.node.memory.working_set_bytes if usage.summary.node.memory else None,
            ),
            usage_source=usage.source,
            nearest=nearest,
            near_limit=near_limit,
            first_killed=_first_killed(orders),
            first_evicted=_first_evicted(orders),
        )

    def _orders(
        self, node: Node, pods: Sequence[Pod], read: ReadUsage | None
    ) -> tuple[MemoryOrders, Level | None, int]:
        usage, features = read.usage if read is not None else NO_USAGE, self._facts.features
        if len(self.shown) > WHOLE_PRESSURE_NODES:
            return memory_orders(node, pods, usage, self._alike.score, features=features), None, 0
        pressure = node_pressure(node, pods, usage, read.config if read is not None else None, features=features)
        oom = next((order for order in pressure.ooms if order.scope is OOMScope.GLOBAL), None)
        evictions = {order.signal: order.places for order in pressure.evictions}
        nearest = min(map(_level, pressure.headrooms), key=lambda level: level.percent, default=None)
        near_limit = sum(
            order.scope is OOMScope.CONTAINER and is_near_limit(order.working_set, order.memory)
            for order in pressure.ooms
        )
        return MemoryOrders(oom, evictions.get(Signal.MEMORY_AVAILABLE, ())), nearest, near_limit

    def _note(self, orders: MemoryOrders) -> None:
        """Keep the places of a node's pods."""
        for rank, place in enumerate(orders.oom.places if orders.oom else (), start=1):
            candidate = place.candidate
            own = self._places.setdefault((candidate.namespace, candidate.pod), _Place())
            if own.oom_rank is None:
                own.oom_rank, own.adj, own.points = rank, candidate.oom_score_adj, place.points
        evictable = 0
        for entry in orders.eviction:
            ranked = entry.ranked
            own = self._places.setdefault(pod_key(ranked.pod), _Place())
            if ranked.measured:
                own.used, own.over_request = ranked.usage, ranked.exceeds
            if not ranked.critical:
                evictable += 1
                own.eviction_rank = evictable

    def _note_cpu(self, pods: Sequence[Pod], usage: NodeUsage) -> None:
        """Keep what a node's pods use."""
        measured = stats_by_uid(usage.summary.pods)
        for pod in pods:
            found = measured(pod)
            if found is not None and found.cpu is not None:
                self._places.setdefault(pod_key(pod), _Place()).cpu = _milli(found.cpu)

    def _pod(self, pod: Pod) -> PodEntry:
        meta, status = pod.metadata, pod.status
        place = self._places.get(pod_key(pod), _Place())
        kind, owner = self._owner(pod)
        return PodEntry(
            namespace=meta.namespace,
            name=meta.name,
            node=pod.spec.node_name,
            asked=self._alike.asked(pod),
            phase="Terminating" if meta.deletion_timestamp else status.phase,
            status=kubectl_status(pod),
            created=meta.creation_timestamp,
            priority=pod.spec.priority or 0,
            priority_class=pod.spec.priority_class_name,
            owner_kind=kind,
            owner=owner,
            restarts=kubectl_restarts(pod),
            last_restart=last_restart(pod),
            cpu_used=place.cpu,
            used=place.used,
            oom_score_adj=place.adj,
            oom_points=place.points,
            oom_rank=place.oom_rank,
            eviction_rank=place.eviction_rank,
            risk=self._risk(pod, place),
        )

    def _risk(self, pod: Pod, place: _Place) -> PodRisk | None:
        return pod_risk(
            pod,
            over_request=place.over_request,
            down=pod.spec.node_name in self._down,
            provider=pod.spec.node_name in self._virtual,
            tainted=self._is_tainted(pod),
            awaited=pod_key(pod) in self._facts.awaited,
            outcome=self._facts.outcomes.get(pod_key(pod)),
            at=self._facts.at,
        )

    def _is_tainted(self, pod: Pod) -> bool:
        """Whether NoExecute taints of its node delete it."""
        return pod_eviction(pod, self._taints.get(pod.spec.node_name, ())) is not None

    def _owner(self, pod: Pod) -> tuple[str, str]:
        owner = owner_guarantee(pod)
        return self._facts.owner(pod.metadata.namespace, owner.kind, owner.name)


def _level(headroom: Headroom) -> Level:
    capacity, left = headroom.capacity.value, headroom.left.value
    return Level(headroom.threshold.signal, left, 100 * left // capacity if capacity else 0, headroom.met)


def _promised(allocatable: int, asked: Iterable[tuple[PodQOSClass, int, int]], used: int | None = None) -> Promised:
    requested, limited, without = dict.fromkeys(PodQOSClass, 0), 0, 0
    for qos_class, request, limit in asked:
        requested[qos_class] += request
        limited += limit
        without += not limit
    return Promised(allocatable, requested, limited, without, used)


def _milli(stats: CPUStats | None) -> int | None:
    """Thousandths of a cpu, rounded up; None: not measured."""
    if stats is None or stats.usage_nano_cores is None:
        return None
    return -(-stats.usage_nano_cores // 1_000_000)


def _first_killed(orders: MemoryOrders) -> PodKey | None:
    places = orders.oom.places if orders.oom else ()
    return next(((one.candidate.namespace, one.candidate.pod) for one in places if one.candidate.pod), None)


def _first_evicted(orders: MemoryOrders) -> PodKey | None:
    able = (place.ranked.pod.metadata for place in orders.eviction if not place.ranked.critical)
    return next(((meta.namespace, meta.name) for meta in able), None)
