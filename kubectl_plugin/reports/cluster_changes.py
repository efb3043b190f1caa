"""What changed between two reports of a cluster: pods and nodes that came, went or are otherwise, and counts.

Of the earlier one only what is compared is read, and a field that is added later may be missing: reports of every
release with this API version can be compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from kubectl_plugin.reports.pod_risk import PodRisk

if TYPE_CHECKING:
    from kubectl_plugin.reports.cluster import ClusterReport, Level, NodeEntry, PodEntry, Promised

__all__ = [
    "ClusterChanges",
    "EarlierLevel",
    "EarlierNode",
    "EarlierPod",
    "EarlierPromised",
    "EarlierReport",
    "NodeChange",
    "NodeStanding",
    "PodChange",
    "PodStanding",
    "Tally",
    "cluster_changes",
]

K = TypeVar("K")


class EarlierPromised(Struct, frozen=True, rename="camel"):
    """Of `cluster.Promised` what is compared."""

    allocatable: int = 0
    requested: dict[str, int] = {}


class EarlierLevel(Struct, frozen=True, rename="camel"):
    """Of `cluster.Level`."""

    percent: int


class EarlierNode(Struct, frozen=True, rename="camel"):
    """Of `cluster.NodeEntry`."""

    name: str
    ready: str | None = None
    down: bool = False
    unschedulable: bool = False
    cpu: EarlierPromised = EarlierPromised()
    memory: EarlierPromised = EarlierPromised()
    nearest: EarlierLevel | None = None
    pressures: tuple[str, ...] = ()


class EarlierPod(Struct, frozen=True, rename="camel"):
    """Of `cluster.PodEntry`."""

    namespace: str
    name: str
    node: str = ""
    status: str = ""
    created: str | None = None
    restarts: int = 0
    risk: str | None = None


class EarlierOrigin(Struct, frozen=True, rename="camel"):
    """Of `podrules.cluster.origin.Origin`."""

    context: str | None = None
    server: str | None = None


class EarlierReport(Struct, frozen=True, rename="camel"):
    """Of `cluster.ClusterReport`."""

    source: str
    scope: str
    nodes: tuple[EarlierNode, ...]
    pods: tuple[EarlierPod, ...]
    at: datetime | None = None
    origin: EarlierOrigin = EarlierOrigin()


class PodStanding(Struct, frozen=True, rename="camel"):
    """How a pod was."""

    node: str
    status: str
    restarts: int
    created: str | None
    risk: PodRisk | None
    """The worst that was wrong with it; None also: something that this release does not know."""


class PodChange(Struct, frozen=True, rename="camel"):
    """A pod that came, went, was made anew, or is otherwise."""

    namespace: str
    name: str
    before: PodStanding | None
    """None: it was not there."""
    after: PodStanding | None
    """None: it is gone."""

    @property
    def made_anew(self) -> bool:
        """Whether another pod has its name now."""
        return self.before is not None and self.after is not None and self.before.created != self.after.created

    @property
    def new_restarts(self) -> int:
        """How often its containers were started anew since; a new pod begins at 0."""
        if self.after is None:
            return 0
        earlier = 0 if self.before is None or self.made_anew else self.before.restarts
        return max(0, self.after.restarts - earlier)


class NodeStanding(Struct, frozen=True, rename="camel"):
    """How a node was."""

    ready: str | None
    down: bool
    unschedulable: bool
    cpu_requested: int
    """Percent of what is allocatable, rounded down."""
    memory_requested: int
    headroom: int | None
    """Percent of the capacity until the nearest eviction threshold; None: not measured."""
    pressures: tuple[str, ...] = ()
    """Conditions such as MemoryPressure that are True."""


class NodeChange(Struct, frozen=True, rename="camel"):
    """A node that came, went or is otherwise."""

    name: str
    before: NodeStanding | None
    after: NodeStanding | None


class Tally(Struct, frozen=True, rename="camel"):
    """How many there were."""

    nodes: int
    nodes_ready: int
    pods: int
    pods_by_risk: dict[str, int]
    """Each pod once, by the worst that was wrong with it; pods that nothing was wrong with are in none."""
    restarts: int


class ClusterChanges(Struct, frozen=True, rename="camel", kw_only=True):
    """Everything that changed since an earlier report."""

    since: datetime | None
    """When the earlier one was so."""
    earlier_source: str
    earlier_context: str | None
    earlier_server: str | None
    before: Tally
    after: Tally
    nodes: tuple[NodeChange, ...]
    """By name."""
    pods: tuple[PodChange, ...]
    """By namespace and name."""


def cluster_changes(earlier: EarlierReport, report: ClusterReport) -> ClusterChanges:
    """Compare two reports of the same scope."""
    return ClusterChanges(
        since=earlier.at,
        earlier_source=earlier.source,
        earlier_context=earlier.origin.context,
        earlier_server=earlier.origin.server,
        before=_tally(earlier.nodes, earlier.pods),
        after=_tally(report.nodes, report.pods),
        nodes=tuple(
            NodeChange(name, before, after)
            for name, before, after in _differing(
                {node.name: _node_standing(node) for node in earlier.nodes},
                {node.name: _node_standing(node) for node in report.nodes},
            )
        ),
        pods=tuple(
            PodChange(*key, before, after)
            for key, before, after in _differing(
                {(pod.namespace, pod.name): _pod_standing(pod) for pod in earlier.pods},
                {pod.key: _pod_standing(pod) for pod in report.pods},
            )
        ),
    )


V = TypeVar("V")


def _differing(before: Mapping[K, V], after: Mapping[K, V]) -> Iterator[tuple[K, V | None, V | None]]:
    keys: list[K] = sorted({*before, *after}, key=repr)
    for key in keys:
        if before.get(key) != after.get(key):
            yield key, before.get(key), after.get(key)


def _tally(nodes: Sequence[EarlierNode | NodeEntry], pods: Sequence[EarlierPod | PodEntry]) -> Tally:
    risks = Counter(pod.risk.value if isinstance(pod.risk, PodRisk) else pod.risk for pod in pods if pod.risk)
    return Tally(
        nodes=len(nodes),
        nodes_ready=sum(node.ready == "True" and not node.down for node in nodes),
        pods=len(pods),
        pods_by_risk=dict(sorted(risks.items())),
        restarts=sum(pod.restarts for pod in pods),
    )


def _pod_standing(pod: EarlierPod | PodEntry) -> PodStanding:
    risk = pod.risk if isinstance(pod.risk, PodRisk) else next((one for one in PodRisk if one.value == pod.risk), None)
    return PodStanding(pod.node, pod.status, pod.restarts, pod.created, risk)


def _node_standing(node: EarlierNode | NodeEntry) -> NodeStanding:
    return NodeStanding(
        ready=node.ready,
        down=node.down,
        unschedulable=node.unschedulable,
        cpu_requested=_percent(node.cpu),
        memory_requested=_percent(node.memory),
        headroom=None if node.nearest is None else _left(node.nearest),
        pressures=tuple(one if isinstance(one, str) else one.value for one in node.pressures),
    )


def _left(level: EarlierLevel | Level) -> int:
    return level.percent


def _percent(promised: EarlierPromised | Promised) -> int:
    return 100 * sum(promised.requested.values()) // promised.allocatable if promised.allocatable > 0 else 0
