"""Reads a node's usage: from its kubelet, else from a metrics API.

A metrics API cannot list one node's pods. For one node, each of its pods is read by name, to avoid a list of the whole
cluster. For many nodes the metrics API's lists are read, and kubelets are asked only where there are few nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from cluster_io.gather import Gatherer
from cluster_io.kinds import NODE_METRICS, NODE_PROXIES, POD_METRICS
from cluster_io.kubelet import STATS_SUMMARY
from podrules.api.model.node import Node, PodMetrics
from podrules.api.model.pod import Pod
from podrules.node.pressure.usage import NO_USAGE, NodeUsage, ReadUsage, usage_from_metrics, usage_from_summary
from podrules.pod.reading import UnreadInput

MAX_KUBELETS: Final = 60
"""Up to so many kubelets are asked one by one; for more nodes the metrics API has to be enough."""

_NOT_READY: Final = "the node is not ready, so its kubelet was not asked"
_TOO_MANY: Final = f"of more than {MAX_KUBELETS} nodes the kubelets are not asked one by one"


def read_usage(gatherer: Gatherer, node: Node, pods: Sequence[Pod]) -> ReadUsage:
    """Read a node's usage. A kubelet that is not ready is not asked, for that would wait until the timeout."""
    stated = gatherer.source.stated.kubelet
    if not _answers(node):
        return ReadUsage(NO_USAGE, stated, (_skipped(node, _NOT_READY),))
    said = _from_kubelet(gatherer, node)
    if isinstance(said, UnreadInput):
        usage, unread = _from_metrics(gatherer, node, [pod for pod in pods if not pod.finished])
        return ReadUsage(usage, stated, (said, *unread))
    return said


def unread_usage(gatherer: Gatherer, node: Node, unread: Sequence[UnreadInput]) -> ReadUsage:
    """Why `read_usages` has no usage of a node, by what it could not read."""
    stated = gatherer.source.stated.kubelet
    if not _answers(node):
        return ReadUsage(NO_USAGE, stated, (_skipped(node, _NOT_READY),))
    mine = tuple(entry for entry in unread if entry.node == node.metadata.name)
    return ReadUsage(NO_USAGE, stated, mine or (_skipped(node, _TOO_MANY),))


def _skipped(node: Node, reason: str) -> UnreadInput:
    return UnreadInput("get", NODE_PROXIES.rbac_name, None, reason, node.metadata.name, STATS_SUMMARY.path)


def _answers(node: Node) -> bool:
    return node.ready is None or node.ready.status == "True"


def _from_kubelet(gatherer: Gatherer, node: Node) -> ReadUsage | UnreadInput:
    """The usage that a kubelet reports, or why it could not be read."""
    name = node.metadata.name
    summary = gatherer.kubelet(name, STATS_SUMMARY)
    if isinstance(summary, UnreadInput):
        return summary
    config = gatherer.kubelet_config(name)
    if isinstance(config, UnreadInput):
        return ReadUsage(usage_from_summary(summary), None, (config,))
    return ReadUsage(usage_from_summary(summary), config, ())


def _from_metrics(gatherer: Gatherer, node: Node, pods: Sequence[Pod]) -> tuple[NodeUsage, tuple[UnreadInput, ...]]:
    of_node = gatherer.node_metrics(node.metadata.name)
    if isinstance(of_node, UnreadInput):
        return NO_USAGE, (of_node,)
    found: list[PodMetrics] = []
    for pod in pods:
        metrics = gatherer.pod_metrics(pod)
        if isinstance(metrics, UnreadInput):
            return NO_USAGE, (metrics,)
        if metrics is not None:
            found.append(metrics)
    return usage_from_metrics(node, of_node, pods, found), ()


def read_usages(
    gatherer: Gatherer, nodes: Sequence[Node], pods_on: Mapping[str, Sequence[Pod]]
) -> tuple[Mapping[str, ReadUsage], tuple[UnreadInput, ...]]:
    """The usage of many nodes with the pods bound to each, by name, and what could not be read of it."""
    answering = [node for node in nodes if _answers(node)]
    found: dict[str, ReadUsage] = {}
    unread: dict[UnreadInput, None] = {}
    for node in answering if len(answering) <= MAX_KUBELETS else ():
        said = _from_kubelet(gatherer, node)
        if isinstance(said, ReadUsage):
            found[node.metadata.name] = said
            unread.update(dict.fromkeys(said.unread))
            continue
        unread[said] = None
        if said.reason == "forbidden":
            # The user may not ask the other kubelets either.
            unread.update(dict.fromkeys(replace(said, node=node.metadata.name) for node in answering))
            break
    missing = [node for node in answering if node.metadata.name not in found]
    return {**found, **(_listed(gatherer, missing, pods_on) if missing else {})}, tuple(unread)


def _listed(gatherer: Gatherer, nodes: Sequence[Node], pods_on: Mapping[str, Sequence[Pod]]) -> dict[str, ReadUsage]:
    """The usage of many nodes from the metrics API's lists."""
    of_nodes, of_pods = gatherer.noted(gatherer.list(NODE_METRICS)), gatherer.noted(gatherer.list(POD_METRICS))
    if of_nodes is None or of_pods is None:
        return {}
    measured = {entry.metadata.name: entry for entry in of_nodes}
    by_pod = {(entry.metadata.namespace, entry.metadata.name): entry for entry in of_pods}
    found: dict[str, ReadUsage] = {}
    for node in nodes:
        name = node.metadata.name
        if name in measured:
            own = [pod for pod in pods_on.get(name, ()) if not pod.finished]
            keys = ((pod.metadata.namespace, pod.metadata.name) for pod in own)
            metrics = [by_pod[key] for key in keys if key in by_pod]
            usage = usage_from_metrics(node, measured[name], own, metrics)
            found[name] = ReadUsage(usage, gatherer.source.stated.kubelet, ())
    return found
