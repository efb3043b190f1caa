"""Makes the report of a cluster from the facts that were read: counts, and the position of each pod on its node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from cluster_io.origin import UNKNOWN_ORIGIN, Origin
from kubectl_plugin.reports.cluster.cluster_entries import (
    ClusterReport,
    EvictionLevel,
    NodeEntry,
    PodEntry,
    PodKey,
    PromisedResource,
    WorkloadEntry,
    WorkloadKey,
    workload_entries,
)
from kubectl_plugin.reports.end_report import EndedPod
from kubectl_plugin.reports.node.node_report import NearLimit, PartitionsReport
from kubectl_plugin.reports.pod.pod_risk import pod_risk
from kubectl_plugin.reports.pod.similar_pods import SimilarPods
from kubectl_plugin.reports.workload import WorkloadPod, workload_pods
from podrules.api.model.event import Event
from podrules.api.model.kubelet import CPUStats
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodQOSClass
from podrules.api.model.policy import PodDisruptionBudget, PriorityClass
from podrules.api.model.quantity import ZERO
from podrules.api.model.workload import Workload
from podrules.ending.died.memory import OomKill
from podrules.ending.stuck import Stuck
from podrules.ending.volumes import SecondWriters
from podrules.node.eviction.ranking import stats_by_uid
from podrules.node.eviction.thresholds import Signal, pressures_of
from podrules.node.pressure.node import Headroom, MemoryOrders, OOMScope, memory_orders, node_pressure
from podrules.node.pressure.usage import NO_USAGE, ReadUsage, is_near_limit
from podrules.node.reachability import NodeReach
from podrules.pod.health import kubectl_restarts, kubectl_status, last_restart
from podrules.pod.platform import Platform, node_platform
from podrules.pod.reading import UnreadInput
from podrules.pod.resources import CPU, MEMORY
from podrules.pod.tolerations import pod_eviction
from podrules.pod.versions import Versions, version_notes
from podrules.scheduling.placement.outcome import ClaimProblem, PlacementOutcome
from podrules.scheduling.spread import workload_spreads, zone_nodes, zone_of
from podrules.workload.budget_risk import BudgetCoverage, as_wanted, budgets_at_stake
from podrules.workload.evictors import going
from podrules.workload.safety import owner_guarantee


class ClusterFacts(Struct, frozen=True, kw_only=True):
    """The data that were read from a cluster."""

    source: str
    origin: Origin = UNKNOWN_ORIGIN
    scope: str = ""
    at: datetime | None
    at_is_newest: bool = False
    """See `ClusterReport.at_is_newest`."""
    nodes: Sequence[Node]
    """All of the cluster; empty if they could not be read."""
    pods: Sequence[Pod]
    """All that could be read."""
    listed_nodes: frozenset[str] | None = None
    """Names of the nodes in the report; None: all."""
    listed_pods: frozenset[PodKey] | None = None
    """The same for pods."""
    classes: Sequence[PriorityClass] | None
    budgets: Sequence[PodDisruptionBudget] | None
    owners: Mapping[tuple[str, str, str], tuple[str, str]] = {}
    """Kind and name of a controller's owner, by the controller's namespace, kind and name."""
    workloads: Mapping[WorkloadKey, Workload] | None = None
    """Workloads without a controller of their own; None: the report has no workloads."""
    refusals: Mapping[WorkloadKey, str] = {}
    """The newest event of each workload that could not create a pod."""
    writers: Mapping[WorkloadKey, SecondWriters] = {}
    """The Deployments with a rollout that starts a second writer."""
    usages: Mapping[str, ReadUsage] = {}
    awaited: frozenset[PodKey] = frozenset()
    """Pending pods for which preemption is making room."""
    stuck: Mapping[PodKey, Stuck] = {}
    """The warnings that have repeated for long about pods that do not start or end."""
    preemption_disabled: bool = False
    """Whether no profile of the scheduler preempts."""
    outcomes: Mapping[PodKey, PlacementOutcome] = {}
    """The scheduler's current result, by the rules, for pods that wait for a node; others count by its last message."""
    claims: Mapping[PodKey, ClaimProblem] = {}
    """The claim that a pod waits for, although it has a node or one is chosen for it."""
    partitions: PartitionsReport | None
    shortages: Mapping[str, OomKill] = {}
    """See `NodeEntry.shortage`, by the node's name."""
    ended: tuple[EndedPod, ...] | None = None
    """See `ClusterReport.ended`."""
    node_events: Mapping[str, Sequence[Event]] = {}
    """By the node's name; empty if they could not be read."""
    versions: Versions
    unread: tuple[UnreadInput, ...]

    def owner(self, namespace: str, kind: str, name: str) -> tuple[str, str]:
        """Kind and name of the owner to show for a controller: for a ReplicaSet its Deployment."""
        return self.owners.get((namespace, kind, name), (kind, name))


def pod_key(pod: Pod) -> PodKey:
    """Namespace and name."""
    return pod.metadata.namespace, pod.metadata.name


WHOLE_PRESSURE_NODES: Final = 60
"""Up to this many nodes, every threshold of each is judged; for more, only the orders for memory."""


class _Place(Struct):
    """The positions of a pod on its node."""

    used: int | None = None
    cpu: int | None = None
    near_limit: NearLimit | None = None
    """The container that is nearest to its own limit, if it is near."""
    over_request: bool = False
    adj: int | None = None
    points: int | None = None
    oom_rank: int | None = None
    eviction_rank: int | None = None


def cluster_report(facts: ClusterFacts) -> ClusterReport:
    """Make the report of a cluster."""
    entries = _Entries(facts)
    nodes = entries.nodes()
    return ClusterReport(
        source=facts.source,
        origin=facts.origin,
        scope=facts.scope,
        rules_version=facts.versions.rules_version,
        server_version=facts.versions.server_version,
        at=facts.at,
        at_is_newest=facts.at_is_newest,
        nodes=nodes,
        pods=entries.pods(),
        workloads=_workloads(facts, entries.reach, entries.near_limit),
        whole=PromisedResource.together([node.memory for node in nodes]) if nodes else None,
        whole_cpu=PromisedResource.together([node.cpu for node in nodes]) if nodes else None,
        zones=zone_nodes(entries.shown),
        spreads=tuple(
            replace(one, kind=kind, name=name)
            for one in workload_spreads(facts.nodes, _of_interest(facts), features=facts.versions.scheduler)
            for kind, name in [facts.owner(one.namespace, one.kind, one.name)]
        ),
        classes=None
        if facts.classes is None
        else tuple(sorted(facts.classes, key=lambda one: (-one.value, one.metadata.name))),
        budgets=None if facts.budgets is None else _budgets(facts, facts.budgets),
        partitions=facts.partitions,
        ended=facts.ended,
        preemption_disabled=facts.preemption_disabled,
        version_notes=version_notes(facts.versions, entries.shown),
        unread=facts.unread,
    )


def _workloads(
    facts: ClusterFacts,
    reach: Callable[[str], NodeReach | None],
    near_limit: Callable[[Pod], NearLimit | None],
) -> tuple[WorkloadEntry, ...]:
    if facts.workloads is None:
        return ()
    listed = facts.listed_pods
    pods = facts.pods if listed is None else [pod for pod in facts.pods if pod_key(pod) in listed]
    nodes = {node.metadata.name: node for node in facts.nodes}

    def in_short(own: Sequence[Pod]) -> tuple[WorkloadPod, ...]:
        found = workload_pods(own, facts.versions.api_server, reach, nodes.get, near_limit)
        namespace = own[0].metadata.namespace if own else ""
        return tuple(replace(one, stuck=facts.stuck.get((namespace, one.name))) for one in found)

    entries = workload_entries(pods, facts.workloads, facts.owner, in_short, facts.refusals)
    return tuple(replace(one, second_writers=facts.writers.get((one.namespace, one.kind, one.name))) for one in entries)


def _budgets(facts: ClusterFacts, budgets: Sequence[PodDisruptionBudget]) -> BudgetCoverage:
    pods = _of_interest(facts)
    found = budgets_at_stake(as_wanted(budgets, (facts.workloads or {}).values(), pods), pods)
    unprotected = (
        replace(one, kind=kind, name=name)
        for one in found.unprotected
        for kind, name in [facts.owner(one.namespace, one.kind, one.name)]
    )
    return replace(found, unprotected=tuple(unprotected))


def _of_interest(facts: ClusterFacts) -> Sequence[Pod]:
    """The pods of the namespaces in the report: workloads and budgets are judged by all of their pods."""
    if facts.listed_pods is None:
        return facts.pods
    namespaces = {namespace for namespace, _ in facts.listed_pods}
    return [pod for pod in facts.pods if pod.metadata.namespace in namespaces]


class _Entries:
    """Makes the entries: first nodes, then pods, because the positions of pods are found on their node."""

    def __init__(self, facts: ClusterFacts) -> None:
        self._facts = facts
        self._alike = SimilarPods(facts.versions)
        self._places: dict[PodKey, _Place] = {}
        down = facts.partitions.nodes if facts.partitions else ()
        self.reach = {node.reach.name: node.reach for node in down}.get
        """The pods on nodes that do not answer."""
        self._down = frozenset(node.reach.name for node in down if node.reach.reach.quiet)
        self._held = {pod for node in down for pod in node.kept_waiting}
        self._virtual = frozenset(
            node.metadata.name for node in facts.nodes if node_platform(node) is Platform.VIRTUAL_KUBELET
        )
        self._taints = {node.metadata.name: node.spec.taints for node in facts.nodes}
        listed = facts.listed_nodes
        self.shown = [node for node in facts.nodes if listed is None or node.metadata.name in listed]

    def nodes(self) -> tuple[NodeEntry, ...]:
        """The entries of the report."""
        by_node: dict[str, list[Pod]] = {node.metadata.name: [] for node in self.shown}
        for pod in self._facts.pods:
            if pod.spec.node_name in by_node and not pod.finished:
                by_node[pod.spec.node_name].append(pod)
        return tuple(self._node(node, by_node[node.metadata.name]) for node in self.shown)

    def near_limit(self, pod: Pod) -> NearLimit | None:
        """The container that is nearest to its own limit, if it is near."""
        place = self._places.get(pod_key(pod))
        return place.near_limit if place is not None else None

    def pods(self) -> tuple[PodEntry, ...]:
        """The entries of the report."""
        listed = self._facts.listed_pods
        return tuple(self._pod(pod) for pod in self._facts.pods if listed is None or pod_key(pod) in listed)

    def _node(self, node: Node, pods: Sequence[Pod]) -> NodeEntry:
        name = node.metadata.name
        read = self._facts.usages.get(name)
        usage = read.usage if read is not None else NO_USAGE
        orders, nearest, near_limit = self._orders(node, pods, read)
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
                # A critical pod is never evicted, whatever it uses.
                own.used, own.over_request = ranked.usage, ranked.exceeds and not ranked.critical
            if not ranked.critical:
                evictable += 1
                own.eviction_rank = evictable
        measured = stats_by_uid(usage.summary.pods)
        for pod in pods:
            stats = measured(pod)
            if stats is not None and stats.cpu is not None:
                self._places.setdefault(pod_key(pod), _Place()).cpu = _milli(stats.cpu)
        asked = [self._alike.asked(pod) for pod in pods]
        limited = [self._alike.limited(pod) for pod in pods]
        allocatable = node.status.allocatable
        candidates = (place.candidate for place in (orders.oom.places if orders.oom else ()))
        killed = ((one.namespace, one.pod) for one in candidates if one.pod)
        evicted = (pod_key(place.ranked.pod) for place in orders.eviction if not place.ranked.critical)
        return NodeEntry(
            name=name,
            zone=zone_of(node),
            ready=node.ready.status if node.ready is not None else None,
            unready_message=node.unready_message,
            down=name in self._down,
            unschedulable=node.spec.unschedulable,
            pressures=pressures_of(node.status.conditions),
            platform=node_platform(node),
            taints=tuple(taint.text for taint in node.spec.taints),
            going=going(node, self._facts.node_events.get(name, ()), self._facts.at),
            pods=len(pods),
            max_pods=allocatable.get("pods", ZERO).value,
            pods_by_class={one: sum(pod.qos_class is one for pod in asked) for one in PodQOSClass},
            cpu=_promised(
                allocatable.get(CPU, ZERO).milli_value,
                [(one.qos_class, one.cpu, one.cpu_limit) for one in asked],
                sum(CPU not in names for names in limited),
                _milli(usage.summary.node.cpu),
            ),
            memory=_promised(
                allocatable.get(MEMORY, ZERO).value,
                [(one.qos_class, one.memory, one.memory_limit) for one in asked],
                sum(MEMORY not in names for names in limited),
                usage.summary.node.memory.working_set_bytes if usage.summary.node.memory else None,
            ),
            usage_source=usage.source,
            nearest=nearest,
            near_limit=near_limit,
            first_killed=next(killed, None),
            first_evicted=next(evicted, None),
            shortage=self._facts.shortages.get(name),
        )

    def _orders(
        self, node: Node, pods: Sequence[Pod], read: ReadUsage | None
    ) -> tuple[MemoryOrders, EvictionLevel | None, int]:
        usage, config = (NO_USAGE, None) if read is None else (read.usage, read.config)
        features = self._facts.versions.kubelet(node, config)
        if len(self.shown) > WHOLE_PRESSURE_NODES:
            scores = partial(self._alike.scores, features=features)
            return memory_orders(node, pods, usage, scores, features=features), None, 0
        pressure = node_pressure(node, pods, usage, config, features=features)
        oom = next((order for order in pressure.ooms if order.scope is OOMScope.GLOBAL), None)
        evictions = {order.signal: order.places for order in pressure.evictions}
        nearest = min(map(_level, pressure.headrooms), key=lambda level: level.percent, default=None)
        near = [
            order
            for order in pressure.ooms
            if order.scope is OOMScope.CONTAINER and is_near_limit(order.working_set, order.memory)
        ]
        for order in reversed(near):
            own = self._places.setdefault((order.namespace, order.pod), _Place())
            own.near_limit = NearLimit(
                order.namespace, order.pod, order.container, order.working_set or 0, order.memory
            )
        return MemoryOrders(oom, evictions.get(Signal.MEMORY_AVAILABLE, ())), nearest, len(near)

    def _pod(self, pod: Pod) -> PodEntry:
        meta, status = pod.metadata, pod.status
        place = self._places.get(pod_key(pod), _Place())
        controller = owner_guarantee(pod)
        kind, owner = self._facts.owner(meta.namespace, controller.kind, controller.name)
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
            risk=pod_risk(
                pod,
                near_limit=place.near_limit is not None,
                over_request=place.over_request,
                down=pod.spec.node_name in self._down,
                provider=pod.spec.node_name in self._virtual,
                tainted=pod_eviction(pod, self._taints.get(pod.spec.node_name, ())) is not None,
                awaited=pod_key(pod) in self._facts.awaited,
                held="/".join(pod_key(pod)) in self._held,
                stuck=pod_key(pod) in self._facts.stuck,
                outcome=self._facts.outcomes.get(pod_key(pod)),
                at=self._facts.at,
                features=self._facts.versions.api_server,
            ),
            stuck=self._facts.stuck.get(pod_key(pod)),
            claim=self._facts.claims.get(pod_key(pod)),
        )


def _level(headroom: Headroom) -> EvictionLevel:
    capacity, left = headroom.capacity.value, headroom.left.value
    return EvictionLevel(headroom.threshold.signal, left, 100 * left // capacity if capacity else 0, headroom.met)


def _promised(
    allocatable: int, asked: Iterable[tuple[PodQOSClass, int, int]], without: int, used: int | None
) -> PromisedResource:
    requested, limited = dict.fromkeys(PodQOSClass, 0), 0
    for qos_class, request, limit in asked:
        requested[qos_class] += request
        limited += limit
    return PromisedResource(allocatable, requested, limited, without, used)


def _milli(stats: CPUStats | None) -> int | None:
    """Thousandths of a cpu, rounded up; None: not measured."""
    if stats is None or stats.usage_nano_cores is None:
        return None
    return -(-stats.usage_nano_cores // 1_000_000)
