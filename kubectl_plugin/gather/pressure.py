"""Reads the usage of nodes, and reports their pressure and the positions of pods when a node runs short."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from cluster_io.gather import Gatherer
from cluster_io.node_usage import read_usage, read_usages, unread_usage
from kubectl_plugin.reports.node.node_pressure import Classes, NodePressureReport, classes_of, node_pressure_report
from kubectl_plugin.reports.node.node_report import node_report
from kubectl_plugin.reports.pod.pod_pressure import Assumption, pod_pressure_report
from kubectl_plugin.reports.pod.pod_report import PodPosition
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodStatus
from podrules.node.pressure.cgroups import node_cgroups
from podrules.node.pressure.node import (
    PodPlaces,
    limited_usage,
    node_pressure,
    requested_usage,
    standings,
    with_pod_using,
)
from podrules.node.pressure.usage import ReadUsage, UsageSource
from podrules.pod.platform import Platform, node_platform
from podrules.pod.qos import compute_pod_qos, with_class
from podrules.pod.reading import UnreadInput, read_or_none


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


_TO_COME: Final = "to-come"
"""Not a UID of the API server."""
_NOWHERE: Final = PodPlaces()


class _Known(NamedTuple):
    """The results for a node that are valid for all pods on it."""

    usage_source: UsageSource
    standings: Mapping[tuple[str, str], PodPlaces]
    classes: Classes
    unread: tuple[UnreadInput, ...]
    config: KubeletConfiguration | None


class Pressures:
    """Finds the positions of pods. The data of each node are read once."""

    def __init__(self, gatherer: Gatherer) -> None:
        """Read nothing yet."""
        self._gatherer = gatherer
        self._known: dict[str, _Known] = {}

    def of_bound(self, pod: Pod, node: Node) -> PodPosition:
        """The position of a pod on its own node."""
        if node_platform(node) is not Platform.LINUX:
            return PodPosition(())
        pods = self._gatherer.pods_on(node.metadata.name)
        if isinstance(pods, UnreadInput):
            return PodPosition((), (pods,))
        name, versions = node.metadata.name, self._gatherer.versions
        if name not in self._known:
            read = read_usage(self._gatherer, node, pods)
            pressure = node_pressure(node, pods, read.usage, read.config, features=versions.kubelet(node, read.config))
            self._known[name] = _Known(
                pressure.usage_source,
                standings(pressure),
                classes_of(pods, versions.api_server),
                read.unread,
                read.config,
            )
        known = self._known[name]
        standing = known.standings.get(pod.metadata.place, _NOWHERE)
        report = pod_pressure_report(known.usage_source, standing, pod, known.classes, Assumption.MEASURED)
        return PodPosition((report,), known.unread, known.config)

    def of_coming(self, pod: Pod, node: Node) -> PodPosition:
        """The positions of a future pod: one if it uses its requests, and one if it uses its limits.

        Args:
            pod: The pod as the API server will store it; it replaces an existing pod of its name.
            node: The node where it would be placed.
        """
        if node_platform(node) is not Platform.LINUX:
            return PodPosition(())
        found = self._gatherer.pods_on(node.metadata.name)
        if isinstance(found, UnreadInput):
            return PodPosition((), (found,))
        meta = replace(pod.metadata, uid=_TO_COME)
        spec = replace(pod.spec, node_name=node.metadata.name)
        # A manifest may contain the status of the pod from which it was copied.
        qos_class = compute_pod_qos(pod, features=self._gatherer.versions.api_server)
        coming = with_class(replace(pod, metadata=meta, spec=spec, status=PodStatus()), qos_class)
        others = [one for one in found if _name(one) != _name(coming)]
        versions = self._gatherer.versions
        read = read_usage(self._gatherer, node, others)
        kubelet = versions.kubelet(node, read.config)
        ends = [(Assumption.REQUESTS, requested_usage(coming)), (Assumption.LIMITS, limited_usage(coming, kubelet))]
        pods: Sequence[Pod] = (*others, coming)
        reports, classes = [], classes_of(pods, versions.api_server)
        for assumption, memory in ends:
            if memory is None:
                continue
            usage = with_pod_using(read.usage, coming, memory)
            pressure = node_pressure(node, pods, usage, read.config, features=kubelet)
            standing = standings(pressure).get(coming.metadata.place, _NOWHERE)
            reports.append(pod_pressure_report(pressure.usage_source, standing, coming, classes, assumption))
        return PodPosition(tuple(reports), read.unread)


def _name(pod: Pod) -> tuple[str, str]:
    return pod.metadata.namespace, pod.metadata.name
