"""Reports of node pressure: reads the usage of a node, and applies the rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from cluster_io.gather import Gatherer
from cluster_io.node_usage import read_usage, read_usages, unread_usage
from kubectl_plugin.reports.node.node_pressure import NodePressureReport, node_pressure_report
from kubectl_plugin.reports.node.node_report import node_report
from podrules.api.model.node import Node
from podrules.node.pressure.cgroups import node_cgroups
from podrules.node.pressure.node import node_pressure
from podrules.node.pressure.usage import ReadUsage
from podrules.pod.reading import read_or_none


def pressure_report(
    gatherer: Gatherer, node: Node, *, of_many: bool = False, read: ReadUsage | None = None, cgroups: bool = False
) -> NodePressureReport:
    """The report of one node: what is killed and evicted first, how close that is, and what is requested.

    With many nodes, all Leases are read at once. The usage is read here unless it is given; cgroups are optional.

    Raises:
        Unreachable: the cluster does not answer.
    """
    source, name, versions = gatherer.source, node.metadata.name, gatherer.versions
    pods = gatherer.noted(gatherer.pods_on(name))
    if read is None:
        read = read_usage(gatherer, node, pods or ())
    promised = node_report(
        node,
        pods,
        nominated=gatherer.nominated_to(name),
        reach=gatherer.reach(name, of_many=of_many),
        source=source.description,
        versions=versions,
        events=() if of_many else read_or_none(gatherer.node_events(name)) or (),
        now=source.now,
        unread=gatherer.unread,
    )
    features = versions.kubelet(node, read.config)
    pressure = node_pressure(node, pods or (), read.usage, read.config, features=features)
    unread = (*gatherer.unread, *read.unread)
    report = node_pressure_report(node, pods or (), read.usage, pressure, promised, versions=versions, unread=unread)
    limit = report.memory.pods_limit
    if not cgroups or limit is None or pods is None:
        return report
    tree = node_cgroups(node, pods, read.config, limit, features=features)
    return replace(report, cgroups=tree, cgroups_assumed=read.config is None)


def pressure_reports(
    gatherer: Gatherer, nodes: Sequence[Node], *, cgroups: bool = False
) -> Iterator[NodePressureReport]:
    """The reports of many nodes; shared data are read once.

    Raises:
        Unreachable: the cluster does not answer.
    """
    if len(nodes) == 1:
        yield pressure_report(gatherer, nodes[0], cgroups=cgroups)
        return
    pods_on = {node.metadata.name: gatherer.noted(gatherer.pods_on(node.metadata.name)) or () for node in nodes}
    usages, unread = read_usages(gatherer, nodes, pods_on)
    for node in nodes:
        read = usages.get(node.metadata.name) or unread_usage(gatherer, node, unread)
        yield pressure_report(gatherer, node, of_many=True, read=read, cgroups=cgroups)
