"""What changed between two reports of a cluster: pods and nodes that came, went or are otherwise, and counts.

What only one of them knows, such as usage that nobody measured for the other, is no change of the cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct

from kubectl_plugin.reports.pod_risk import PodRisk
from kubectl_plugin.reports.previous_report import EarlierLevel, EarlierNode, EarlierPod, EarlierPromised, EarlierReport
from podrules.pressure.nearness import Nearness, headroom_nearness
from podrules.pressure.usage import UsageSource

if TYPE_CHECKING:
    from kubectl_plugin.reports.cluster import ClusterReport, Level, NodeEntry, PodEntry, Promised

__all__ = [
    "OF_USAGE",
    "ClusterChanges",
    "NodeChange",
    "NodeStanding",
    "OtherCluster",
    "PodChange",
    "PodStanding",
    "Tally",
    "cluster_changes",
]

K = TypeVar("K")
V = TypeVar("V")
_HEADROOM_STEP: Final = 5
"""Percentage points: usage moves by less all the time."""
_OF_SPEC: Final = frozenset({PodRisk.BEST_EFFORT, PodRisk.NO_GRACE_PERIOD})
"""What a pod is from the start: reports of earlier releases do not tell it, and it is no news."""
OF_USAGE: Final = frozenset({PodRisk.NEAR_LIMIT, PodRisk.OVER_REQUEST})
"""What only a report tells that knows the pod's usage."""
_RISKS: Final = tuple(PodRisk)


class PodStanding(Struct, frozen=True, rename="camel"):
    """How a pod was."""

    node: str
    status: str
    restarts: int
    created: str | None
    risk: PodRisk | None
    """The worst that was wrong with it; None also: something that this release does not know."""
    usage_known: bool
    """Whether it would have been told that it uses more than it requests; also of a pod without a node."""


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

    @property
    def risks(self) -> tuple[PodRisk | None, PodRisk | None]:
        """What was and is wrong with it, as far as both reports can tell; of its spec nothing.

        That it is near its limit, or over its request, hides what is less urgent, and a report tells it that knows its
        usage. Where one does and the other does not, and its STATUS is the same, the two are taken to agree.
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
        """Whether the cluster changed, and not only what is known of it."""
        if self.before is None or self.after is None:
            return True
        before, after = self.risks
        return (
            self.made_anew
            or self.new_restarts > 0
            or (self.before.node, self.before.status, before) != (self.after.node, self.after.status, after)
        )


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
    usage_known: bool
    pressures: tuple[str, ...] = ()
    """Conditions such as MemoryPressure that are True."""

    @property
    def is_ready(self) -> bool:
        """Whether it answers and is Ready."""
        return self.ready == "True" and not self.down

    @property
    def without_usage(self) -> tuple[object, ...]:
        """What is compared even where nobody measured its usage."""
        requested = self.cpu_requested, self.memory_requested
        return self.down, self.is_ready, self.unschedulable, *requested, frozenset(self.pressures)

    @property
    def nearness(self) -> Nearness | None:
        """How near it is to an eviction; None: not measured."""
        return None if self.headroom is None else headroom_nearness(self.headroom, met=self.headroom < 0)


class NodeChange(Struct, frozen=True, rename="camel"):
    """A node that came, went or is otherwise."""

    name: str
    before: NodeStanding | None
    after: NodeStanding | None

    @property
    def headroom_moved(self) -> bool:
        """Whether its headroom is otherwise by more than usage always moves, or nearer to an eviction or less near."""
        before, after = self.before, self.after
        if before is None or after is None or before.headroom is None or after.headroom is None:
            return False
        return abs(before.headroom - after.headroom) >= _HEADROOM_STEP or before.nearness is not after.nearness

    @property
    def differs(self) -> bool:
        """Whether the node changed, and not only what is known of it."""
        if self.before is None or self.after is None:
            return True
        return self.headroom_moved or self.before.without_usage != self.after.without_usage

    @property
    def usage_known(self) -> tuple[bool, bool] | None:
        """Whether its usage was known and is; None: it is not Ready in both, so nobody expects it."""
        before, after = self.before, self.after
        if before is None or after is None or not (before.is_ready and after.is_ready):
            return None
        return before.usage_known, after.usage_known


class Tally(Struct, frozen=True, rename="camel"):
    """How many there were."""

    nodes: int
    nodes_ready: int
    """They answer, are Ready and not cordoned."""
    nodes_cordoned: int
    """Cordoned ones that are Ready apart from that."""
    nodes_measured: int
    """Nodes whose usage was known."""
    pods: int
    pods_by_risk: dict[str, int]
    """Each pod once, by the worst that was wrong with it; pods that nothing was wrong with are in none."""
    restarts: int


class OtherCluster(Enum):
    """By what an earlier report seems to be of another cluster."""

    SERVER = "server"
    CONTEXT = "context"
    OBJECTS = "objects"
    """No node and no pod is in both."""


class ClusterChanges(Struct, frozen=True, rename="camel", kw_only=True):
    """Everything that changed since an earlier report."""

    since: datetime | None
    """When the earlier one was so."""
    earlier_source: str
    earlier_context: str | None
    earlier_server: str | None
    other_cluster: OtherCluster | None
    """None: nothing says that the earlier report is of another cluster."""
    usage_learned: tuple[str, ...]
    """Nodes that are Ready in both, whose usage is known now alone: what depends on it is not compared there."""
    usage_lost: tuple[str, ...]
    """The same, of usage that was known then alone."""
    before: Tally
    after: Tally
    nodes: tuple[NodeChange, ...]
    """By name; what moves all the time, and what is known of one report alone, is no change."""
    pods: tuple[PodChange, ...]
    """By namespace and name, likewise."""


class _Side(Struct):
    """One of the two reports, in the form in which they are compared."""

    nodes: dict[str, NodeStanding]
    pods: dict[tuple[str, str], PodStanding]
    tally: Tally


def cluster_changes(earlier: EarlierReport, report: ClusterReport) -> ClusterChanges:
    """Compare two reports of the same scope."""
    before, after = _side(earlier), _side(report)
    nodes = [NodeChange(*one) for one in _paired(before.nodes, after.nodes)]
    pods = [PodChange(*key, *standings) for key, *standings in _paired(before.pods, after.pods)]
    in_both = any(one.before and one.after for one in nodes) or any(
        one.before and one.after and not one.made_anew for one in pods
    )
    return ClusterChanges(
        since=earlier.at,
        earlier_source=earlier.source,
        earlier_context=earlier.origin.context,
        earlier_server=earlier.origin.server,
        other_cluster=_other_cluster(earlier, report, in_both=in_both),
        usage_learned=tuple(one.name for one in nodes if one.usage_known == (False, True)),
        usage_lost=tuple(one.name for one in nodes if one.usage_known == (True, False)),
        before=before.tally,
        after=after.tally,
        nodes=tuple(one for one in nodes if one.differs),
        pods=tuple(one for one in pods if one.differs),
    )


def _other_cluster(earlier: EarlierReport, report: ClusterReport, *, in_both: bool) -> OtherCluster | None:
    """By what they seem to be of different clusters; of files neither server nor context is known."""
    for which, before, now in (
        (OtherCluster.SERVER, earlier.origin.server, report.origin.server),
        (OtherCluster.CONTEXT, earlier.origin.context, report.origin.context),
    ):
        if before and now:
            return which if before != now else None
    return None if in_both else OtherCluster.OBJECTS


def _paired(before: Mapping[K, V], after: Mapping[K, V]) -> Iterator[tuple[K, V | None, V | None]]:
    """Each name with what it was and is."""
    keys: list[K] = sorted({*before, *after}, key=repr)
    for key in keys:
        yield key, before.get(key), after.get(key)


def _side(report: EarlierReport | ClusterReport) -> _Side:
    nodes = {node.name: _node_standing(node) for node in report.nodes}
    pods = {(pod.namespace, pod.name): _pod_standing(pod, nodes.get(pod.node)) for pod in report.pods}
    risks = Counter(pod.risk.value if isinstance(pod.risk, PodRisk) else pod.risk for pod in report.pods if pod.risk)
    tally = Tally(
        nodes=len(nodes),
        nodes_ready=sum(node.is_ready and not node.unschedulable for node in nodes.values()),
        nodes_cordoned=sum(node.is_ready and node.unschedulable for node in nodes.values()),
        nodes_measured=sum(node.usage_known for node in nodes.values()),
        pods=len(pods),
        pods_by_risk=dict(sorted(risks.items())),
        restarts=sum(pod.restarts for pod in pods.values()),
    )
    return _Side(nodes, pods, tally)


def _pod_standing(pod: EarlierPod | PodEntry, node: NodeStanding | None) -> PodStanding:
    risk = pod.risk if isinstance(pod.risk, PodRisk) else next((one for one in PodRisk if one.value == pod.risk), None)
    known = pod.used is not None or not pod.node or (node is not None and node.usage_known)
    return PodStanding(pod.node, pod.status, pod.restarts, pod.created, risk, known)


def _node_standing(node: EarlierNode | NodeEntry) -> NodeStanding:
    return NodeStanding(
        ready=node.ready,
        down=node.down,
        unschedulable=node.unschedulable,
        cpu_requested=_percent(node.cpu),
        memory_requested=_percent(node.memory),
        headroom=None if node.nearest is None else _left(node.nearest),
        usage_known=node.usage_source not in {UsageSource.NONE, UsageSource.NONE.value},
        pressures=tuple(one if isinstance(one, str) else one.value for one in node.pressures),
    )


def _left(level: EarlierLevel | Level) -> int:
    return level.percent


def _percent(promised: EarlierPromised | Promised) -> int:
    return 100 * sum(promised.requested.values()) // promised.allocatable if promised.allocatable > 0 else 0
