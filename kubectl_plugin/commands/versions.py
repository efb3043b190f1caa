"""``kubectl qos versions``: the running versions, and the changes with another version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from msgspec.structs import replace

from cluster_io.gather import Gatherer
from cluster_io.kinds import NODES, PODS
from cluster_io.node_usage import read_usages
from cluster_io.source import Source, remembered
from kubectl_plugin.exit_codes import certainty
from kubectl_plugin.gather.likely_node import Schedulers
from kubectl_plugin.gather.targets import check_namespace
from kubectl_plugin.options import Streams
from kubectl_plugin.options.cluster_commands import VersionsOptions
from kubectl_plugin.printing import Printer
from kubectl_plugin.reports.pod.similar_pods import PodNumbers
from kubectl_plugin.reports.verdict import Verdict
from kubectl_plugin.reports.versions import (
    MAX_PLACED,
    ChangedOrder,
    ChangedPlacement,
    ChangedPods,
    ChangedRule,
    Choice,
    RunningVersion,
    UncomparedPods,
    VersionsReport,
)
from podrules.api.features import Features, minor_of
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodStatus
from podrules.node.pressure.node import MemoryOrders, memory_orders
from podrules.node.pressure.usage import NO_USAGE, NodeUsage
from podrules.pod.oom import container_oom_score_adjs
from podrules.pod.platform import pod_platform
from podrules.pod.qos import compute_pod_qos, with_class
from podrules.pod.resources import MEMORY
from podrules.pod.versions import Component, Versions, version_notes
from podrules.scheduling.placement.outcome import PlacementOutcome
from podrules.upgrade.version_changes import VersionChange, changed_rules, pod_changes

_ON_THEIR_NODE: Final = frozenset({"DaemonSet", "Node"})
"""Controllers of pods for which no scheduler chooses a node."""
_PLACED: Final = frozenset({PlacementOutcome.FITS, PlacementOutcome.UNSCHEDULABLE})
"""Outcomes with a known node, or without any node that fits."""


def run(options: VersionsOptions, source: Source, streams: Streams) -> int:
    """Print the versions, or the changes.

    Raises:
        ClusterError: the cluster cannot be read.
    """
    from kubectl_plugin.views.versions import versions_page, versions_verdict

    source = remembered(source)
    report = _Comparison(options, source).report()
    target = options.cluster.target(options.scheduler_config)
    printer = Printer(options.output, streams, colour=options.colour, target=target, source=source)
    verdict: Verdict = versions_verdict(report)
    printer.add(report, (), lambda: (versions_page(report, wide=options.output.wide),), verdict)
    printer.finish()
    return certainty([report])


class _Comparison:
    """Reads the cluster, and applies the rules of both versions."""

    def __init__(self, options: VersionsOptions, source: Source) -> None:
        self._options, self._source = options, source
        self._gatherer = Gatherer(source)
        self._gatherer.ask_schedulers()
        self._schedulers = Schedulers(source, options.scheduler_config)
        self._namespace = options.cluster.namespace

    def report(self) -> VersionsReport:
        """The requested report."""
        gatherer = self._gatherer
        nodes = self._source.list(NODES)
        listed = self._source.list(PODS, self._namespace) if self._options.to else ()
        if self._namespace and not listed:
            check_namespace(self._source)
        pods = [pod for pod in listed if not pod.finished]
        report = VersionsReport(
            source=self._source.description,
            scope=self._namespace or "",
            server_version=gatherer.versions.server_version,
            running=tuple(_running(gatherer.versions, nodes)),
            to=self._options.to,
            pods=len(pods),
        )
        if self._options.to is None:
            return replace(report, version_notes=version_notes(gatherer.versions, nodes))
        return self._compared(report, self._options.to, nodes, pods)

    def _compared(self, report: VersionsReport, to: str, nodes: Sequence[Node], pods: Sequence[Pod]) -> VersionsReport:
        after = self._gatherer.versions.upgraded(to)
        compared = self._placements(pods, after)
        # More precise after the pods of all namespaces were read: the scheduler's may be among them.
        before = self._gatherer.versions
        by_name = {node.metadata.name: node for node in nodes}
        # Without a kubelet's status, no resize is in progress.
        without_status = (replace(pod, status=PodStatus()) for pod in pods)
        changes = _changes(without_status, by_name, before, after)
        touched = {pod.spec.node_name for pod, _ in changes}
        orders = self._orders([node for node in nodes if node.metadata.name in touched], before, after)
        rules = {
            Component.API_SERVER: {before.api_server},
            Component.SCHEDULER: {before.scheduler},
            Component.KUBELET: set(map(before.kubelet, nodes)),
        }
        return replace(
            report,
            running=tuple(_running(before, nodes)),
            rules=tuple(
                ChangedRule(f"1.{one.since}", one.rule, one.effect, one.gate)
                for one in changed_rules(rules, after.api_server)
            ),
            changed=tuple(_grouped(changes)),
            orders=tuple(orders),
            placed=compared.placed,
            not_placed=compared.left,
            not_compared=compared.unknown,
            placements=compared.differ,
            version_notes=(
                *version_notes(before, nodes),
                *(replace(note, version=f"{note.version} (--to)") for note in version_notes(after)),
            ),
            unread=self._gatherer.unread,
        )

    def _placements(self, pods: Sequence[Pod], after: Versions) -> _Placements:
        """Where both versions place pods."""
        # Loaded only for a comparison.
        from podrules.scheduling.placement.likely import likely_placement
        from podrules.scheduling.placement.situation import Situation
        from podrules.scheduling.scheduler.framework.node_table import NodeTable

        at_first = self._gatherer.versions.scheduler
        frameworks = [(pod, self._schedulers.framework(pod, at_first)) for pod in _to_place(pods)]
        standing = [(pod, framework) for pod, framework in frameworks if not isinstance(framework, str)]
        unknown = Counter(framework for _, framework in frameworks if isinstance(framework, str))
        chosen, found, placed = standing[:MAX_PLACED], [], 0
        # One set of arguments is enough: they only decide whether the default constraints of services are needed.
        args = chosen[0][1].args if chosen else {}
        # In one call: all of them need the same data.
        cluster = self._gatherer.snapshot([pod for pod, _ in chosen], args, budgets=True, others=(after.scheduler,))
        if cluster.error is not None or not cluster.snapshot.nodes:
            for unread in cluster.unread:
                self._gatherer.noted(unread)
            return _Placements((), 0, len(standing), _not_compared(unknown))
        table = NodeTable(cluster.snapshot.nodes, cluster.snapshot.pods)
        now = self._gatherer.versions.scheduler
        for pod, framework in chosen:
            choices, reason, proven = [], "", True
            own = self._gatherer.snapshot([pod], args, budgets=True, others=(after.scheduler,))
            for features in (now, after.scheduler):
                situation = Situation(
                    pod=pod,
                    table=table,
                    snapshot=cluster.snapshot,
                    framework=self._schedulers.in_version(framework, features),
                    now=self._source.now,
                    unread=own.unread,
                    is_list=self._source.is_plain_list,
                )
                likely = likely_placement(situation, ways_out=False)
                choices.append(Choice(likely.outcome, tuple(sorted(likely.best)), likely.feasible, likely.message))
                reason = reason or likely.reason
                if not likely.proven:
                    proven, reason = False, reason or f"no {likely.assumed[0].resource} could be read"
                    for missing in likely.assumed:
                        self._gatherer.noted(missing)
            if not proven or all(choice.outcome not in _PLACED for choice in choices):
                unknown[reason] += 1
                continue
            placed += 1
            if choices[0].differs_from(choices[1]):
                waits = bool(pod.metadata.uid)
                found.append(ChangedPlacement(pod.metadata.namespace, pod.metadata.name, waits, *choices))
        return _Placements(tuple(found), placed, len(standing) - len(chosen), _not_compared(unknown))

    def _orders(self, nodes: Sequence[Node], before: Versions, after: Versions) -> Iterator[ChangedOrder]:
        """The nodes on which other pods are killed or evicted first when memory runs short."""
        pods_on = {
            node.metadata.name: self._gatherer.noted(self._gatherer.pods_on(node.metadata.name)) for node in nodes
        }
        read, unread = read_usages(self._gatherer, nodes, {name: pods or () for name, pods in pods_on.items()})
        for one in unread:
            self._gatherer.noted(one)
        for node in nodes:
            name = node.metadata.name
            usage = read[name].usage if name in read else NO_USAGE
            config = read[name].config if name in read else None
            sides = [
                _orders_of(node, pods_on[name] or (), usage, versions, versions.kubelet(node, config))
                for versions in (before, after)
            ]
            for order in ("OOM", "Eviction"):
                if sides[0][order] != sides[1][order]:
                    yield ChangedOrder(name, order, sides[0][order], sides[1][order])


class _Placements(NamedTuple):
    """Where two versions place pods."""

    differ: tuple[ChangedPlacement, ...]
    placed: int
    """Pods that both schedulers placed."""
    left: int
    """Pods beyond `MAX_PLACED`, or all if some data could not be read."""
    unknown: tuple[UncomparedPods, ...]


def _not_compared(reasons: Counter[str]) -> tuple[UncomparedPods, ...]:
    return tuple(UncomparedPods(reason, pods) for reason, pods in reasons.most_common())


def _orders_of(
    node: Node, pods: Iterable[Pod], usage: NodeUsage, versions: Versions, kubelet: Features
) -> Mapping[str, tuple[str, ...]]:
    """The first in each order, if this version had created each pod."""
    made = [with_class(pod, compute_pod_qos(pod, features=versions.api_server)) for pod in pods]
    scores = partial(container_oom_score_adjs, features=kubelet)
    orders: MemoryOrders = memory_orders(node, made, usage, scores, features=kubelet)
    killed = () if orders.oom is None else orders.oom.places
    return {
        "OOM": tuple(
            f"{one.candidate.namespace}/{one.candidate.pod}/{one.candidate.container}"
            for one in killed
            if one.candidate.pod
        ),
        "Eviction": tuple(
            f"{one.ranked.pod.metadata.namespace}/{one.ranked.pod.metadata.name}" for one in orders.eviction
        ),
    }


def _running(versions: Versions, nodes: Sequence[Node]) -> Iterator[RunningVersion]:
    """Each running version; kubelets with the newest first."""
    server, scheduler = versions.api_server, versions.scheduler
    name = versions.server_version or ""
    yield RunningVersion(Component.API_SERVER, name, _emulates(server), 0, versions.rules_version)
    name = versions.scheduler_version or versions.stated.version or " or ".join(versions.schedulers)
    yield RunningVersion(Component.SCHEDULER, name, _emulates(scheduler), 0, scheduler.nearest_verified)
    rules = {node.status.node_info.kubelet_version: versions.kubelet(node) for node in nodes}
    counted = Counter(node.status.node_info.kubelet_version for node in nodes)
    for version in sorted(counted, key=lambda one: (minor_of(one) or 0, one), reverse=True):
        yield RunningVersion(Component.KUBELET, version, "", counted[version], rules[version].nearest_verified)


def _emulates(features: Features) -> str:
    return "" if features.emulated is None else f"1.{features.emulated}"


def _changes(
    pods: Iterable[Pod], nodes: Mapping[str, Node], before: Versions, after: Versions
) -> list[tuple[Pod, tuple[VersionChange, ...]]]:
    """The pods with changed values. Similar pods are computed once."""
    kinds, known, found = PodNumbers(), {}, []
    for pod in pods:
        node = nodes.get(pod.spec.node_name)
        capacity = None if node is None else str(node.status.capacity.get(MEMORY))
        key = kinds.of(pod), capacity, before.kubelet(node).minor, pod_platform(pod, node)
        if key not in known:
            known[key] = pod_changes(pod, node, before, after)
        if known[key]:
            found.append((pod, known[key]))
    return found


def _grouped(changes: Iterable[tuple[Pod, tuple[VersionChange, ...]]]) -> Iterator[ChangedPods]:
    """The changes by the owner of the pods."""
    groups: dict[tuple[str, str, str, tuple[VersionChange, ...]], list[str]] = {}
    for pod, changed in changes:
        owner = pod.metadata.controller
        kind, name = ("Pod", pod.metadata.name) if owner is None else (owner.kind, owner.name)
        groups.setdefault((pod.metadata.namespace, kind, name, changed), []).append(pod.metadata.name)
    for (namespace, kind, name, changed), names in groups.items():
        yield ChangedPods(namespace, kind, name, len(names), names[0], changed)


def _to_place(pods: Sequence[Pod]) -> list[Pod]:
    """The pods that wait for a node, and the next pod of each controller of the others."""
    there = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
    waiting = [pod for pod in there if not pod.spec.node_name]
    one_of_each = {
        (pod.metadata.namespace, owner.uid): pod
        for pod in there
        if pod.spec.node_name and (owner := pod.metadata.controller) is not None and owner.kind not in _ON_THEIR_NODE
    }
    following = (
        replace(
            pod,
            metadata=replace(pod.metadata, name=f"{pod.metadata.name}-copy", uid=""),
            spec=replace(pod.spec, node_name=""),
            status=PodStatus(),
        )
        for pod in one_of_each.values()
    )
    return [*waiting, *following]
