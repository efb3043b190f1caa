"""A node to its report: its usage is read, and the rules are asked."""

from __future__ import annotations

from kubectl_plugin.reports.node import node_report
from kubectl_plugin.reports.node_pressure import NodePressureReport, node_pressure_report
from podrules.cluster.gather import Gatherer
from podrules.cluster.node_usage import ReadUsage, read_usage
from podrules.model.node import Node
from podrules.pressure.node import node_pressure

__all__ = ["pressure_report"]


def pressure_report(
    gatherer: Gatherer, node: Node, *, of_many: bool = False, read: ReadUsage | None = None
) -> NodePressureReport:
    """Who goes first on a node, how far it is, and what it has promised.

    Args:
        gatherer: Of the source.
        node: The node.
        of_many: It is one of many that are asked for: all Leases are read at once.
        read: Its usage; None: it is read here.

    Raises:
        Unreachable: the cluster does not answer.
    """
    source, name, features = gatherer.source, node.metadata.name, gatherer.features
    pods = gatherer.pods_on(name)
    if read is None:
        read = read_usage(gatherer, node, pods or ())
    promised = node_report(
        node,
        pods,
        reach=gatherer.reach(name, of_many=of_many),
        source=source.description,
        git_version=source.git_version,
        features=features,
        unread=gatherer.unread,
    )
    pressure = node_pressure(node, pods or (), read.usage, read.config, features=features)
    unread = (*gatherer.unread, *read.unread)
    return node_pressure_report(node, pods or (), read.usage, pressure, promised, features=features, unread=unread)
