"""Compares a report of a cluster with the compared fields of an earlier one, and makes `ClusterChanges`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TypeVar

from msgspec import Struct

from kubectl_plugin.reports.cluster.cluster_entries import (
    ClusterChanges,
    ClusterReport,
    NodeChange,
    NodeStanding,
    OtherCluster,
    PodChange,
    PodStanding,
    PromisedResource,
    Tally,
)
from kubectl_plugin.reports.pod.pod_risk import PodRisk
from podrules.node.allocation import percent_of
from podrules.node.pressure.usage import UsageSource

K = TypeVar("K")
V = TypeVar("V")


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
        one.before and one.after and not one.recreated for one in pods
    )
    other = None if in_both else OtherCluster.OBJECTS
    # For files, neither server nor context is known. A server decides before a context.
    for which, then, now in (
        (OtherCluster.CONTEXT, earlier.origin.context, report.origin.context),
        (OtherCluster.SERVER, earlier.origin.server, report.origin.server),
    ):
        if then and now:
            other = which if then != now else None
    return ClusterChanges(
        since=earlier.at,
        earlier_source=earlier.source,
        earlier_context=earlier.origin.context,
        earlier_server=earlier.origin.server,
        other_cluster=other,
        usage_learned=tuple(one.name for one in nodes if one.usage_known == (False, True)),
        usage_lost=tuple(one.name for one in nodes if one.usage_known == (True, False)),
        before=before.tally,
        after=after.tally,
        nodes=tuple(one for one in nodes if one.differs),
        pods=tuple(one for one in pods if one.differs),
    )


def _paired(before: Mapping[K, V], after: Mapping[K, V]) -> Iterator[tuple[K, V | None, V | None]]:
    """Each name with its entries in both reports."""
    keys: list[K] = sorted({*before, *after}, key=repr)
    for key in keys:
        yield key, before.get(key), after.get(key)


def _side(report: EarlierReport | ClusterReport) -> _Side:
    nodes = {
        node.name: NodeStanding(
            ready=node.ready,
            down=node.down,
            unschedulable=node.unschedulable,
            cpu_requested=_percent(node.cpu),
            memory_requested=_percent(node.memory),
            headroom=None if node.nearest is None else node.nearest.percent,
            usage_known=node.usage_source not in {UsageSource.NONE, UsageSource.NONE.value},
            pressures=tuple(one if isinstance(one, str) else one.value for one in node.pressures),
        )
        for node in report.nodes
    }
    by_value = {one.value: one for one in PodRisk}
    pods = {}
    for pod in report.pods:
        node, risk = nodes.get(pod.node), pod.risk
        # A later release may report a risk that this one does not know.
        known_risk = risk if risk is None or isinstance(risk, PodRisk) else by_value.get(risk)
        known = pod.used is not None or not pod.node or (node is not None and node.usage_known)
        standing = PodStanding(pod.node, pod.status, pod.restarts, pod.created, known_risk, known)
        pods[pod.namespace, pod.name] = standing
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


def _percent(promised: EarlierPromisedResource | PromisedResource) -> int:
    return percent_of(sum(promised.requested.values()), promised.allocatable)


# Only these fields of an earlier report are read, and a field of a later release may be missing: reports of every
# release with this API version can be compared.


class EarlierPromisedResource(Struct, frozen=True, rename="camel"):
    """The compared fields of `cluster.PromisedResource`."""

    allocatable: int = 0
    requested: dict[str, int] = {}


class EarlierLevel(Struct, frozen=True, rename="camel"):
    """The compared fields of `cluster.Level`."""

    percent: int


class EarlierNode(Struct, frozen=True, rename="camel"):
    """The compared fields of `cluster.NodeEntry`."""

    name: str
    ready: str | None = None
    down: bool = False
    unschedulable: bool = False
    cpu: EarlierPromisedResource = EarlierPromisedResource()
    memory: EarlierPromisedResource = EarlierPromisedResource()
    nearest: EarlierLevel | None = None
    pressures: tuple[str, ...] = ()
    usage_source: str = UsageSource.NONE.value


class EarlierPod(Struct, frozen=True, rename="camel"):
    """The compared fields of `cluster.PodEntry`."""

    namespace: str
    name: str
    node: str = ""
    status: str = ""
    created: str | None = None
    restarts: int = 0
    used: int | None = None
    risk: str | None = None


class EarlierOrigin(Struct, frozen=True, rename="camel"):
    """The compared fields of `cluster_io.origin.Origin`."""

    context: str | None = None
    server: str | None = None


class EarlierReport(Struct, frozen=True, rename="camel"):
    """The compared fields of `cluster.ClusterReport`."""

    source: str
    scope: str
    nodes: tuple[EarlierNode, ...]
    pods: tuple[EarlierPod, ...]
    at: datetime | None = None
    origin: EarlierOrigin = EarlierOrigin()
