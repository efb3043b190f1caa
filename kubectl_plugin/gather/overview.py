"""Reads a cluster once for its page: nodes, pods, their usage and protection; and an earlier report to compare with."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from cluster_io.errors import ManifestError, UsageError
from cluster_io.gather import Gatherer
from cluster_io.kinds import (
    DAEMON_SETS,
    DEPLOYMENTS,
    EVENTS,
    JOBS,
    NODES,
    PDBS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    Kind,
)
from cluster_io.manifests.text import read_text
from cluster_io.node_usage import read_usages
from cluster_io.origin import UNKNOWN_ORIGIN, Origin
from cluster_io.safety_facts import coming_writers, partition_facts
from cluster_io.source import RememberedSource, Source
from kubectl_plugin.gather.targets import ObjectQuery, check_namespace, find, source_pods, targets_of
from kubectl_plugin.options import NO_SELECTION, Selection
from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.cluster.cluster_entries import PodKey, WorkloadKey
from kubectl_plugin.reports.cluster.cluster_report import ClusterFacts, pod_key
from kubectl_plugin.reports.cluster.compare import EarlierReport
from kubectl_plugin.reports.end_report import EndedPod
from kubectl_plugin.reports.node.node_report import PartitionsReport, not_ready
from podrules.api.model.event import Event
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.workload import Workload
from podrules.api.refusals import newest_refusal
from podrules.ending.died.memory import node_shortages
from podrules.ending.stuck import Stuck, event_subjects, stuck_by, waits
from podrules.ending.volumes import SecondWriters
from podrules.pod.reading import UnreadInput, read_or_none
from podrules.silent_node.partitions import partitions
from podrules.workload.made_pod import template_pod

_BETWEEN: Final[tuple[Kind[Any], ...]] = (REPLICA_SETS, JOBS)
"""Controllers that usually have their own controller."""
_WORKLOADS: Final[tuple[Kind[Workload], ...]] = (DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, REPLICA_SETS, JOBS)


class Scope(NamedTuple):
    """The nodes, namespaces and pods that a report covers."""

    pods: frozenset[str]
    """Names in the source's namespace."""
    nodes: frozenset[str]
    everything: bool
    """All namespaces; if false and without names: the pods of the source's namespace."""
    selection: Selection = NO_SELECTION
    """The selection among those pods."""

    def listed_pods(self, namespace: str, pods: Iterable[Pod]) -> frozenset[PodKey] | None:
        """The pods in the report; None: all."""
        if self.everything:
            return None
        if not self.pods and not self.nodes:
            return frozenset(pod_key(pod) for pod in pods if pod.metadata.namespace == namespace)
        named = {(namespace, name) for name in self.pods}
        return frozenset(pod_key(pod) for pod in pods if pod_key(pod) in named or pod.spec.node_name in self.nodes)

    def listed_nodes(self, pods: Iterable[Pod], listed: frozenset[PodKey] | None) -> frozenset[str] | None:
        """The nodes in the report, by its pods; None: all."""
        if listed is None or not (self.pods or self.nodes or self.selection.flags):
            return None
        return self.nodes | {pod.spec.node_name for pod in pods if pod_key(pod) in listed}

    def words(self, namespace: str) -> str:
        """See `ClusterReport.scope`."""
        if self.selection.flags:
            which = ", ".join(filter(None, (self.selection.labels, self.selection.fields)))
            return f"pods with {which} in {'all namespaces' if self.everything else f'namespace {namespace}'}"
        if self.everything:
            return ""
        if not self.pods and not self.nodes:
            return f"namespace {namespace}"
        named = [*(f"node/{name}" for name in sorted(self.nodes)), *(f"pod/{name}" for name in sorted(self.pods))]
        return ", ".join(named)


class Overview(NamedTuple):
    """The facts that were read."""

    facts: ClusterFacts
    gatherer: Gatherer
    """Reads from a source that already has these nodes and pods."""
    source: Source
    pods: Sequence[Pod]
    """The pods in the report."""


def scope_of(targets: Sequence[str], *, everything: bool, selection: Selection = NO_SELECTION) -> Scope:
    """``pod/NAME`` and ``node/NAME``, or the selected pods.

    Raises:
        UsageError: another target was typed, or names together with a selection.
    """
    names: dict[Kind[Any], set[str]] = {PODS: set(), NODES: set()}
    for asked in targets_of(targets, selection, verb="reported") if targets else ():
        if asked.kind not in names or not asked.name:
            raise UsageError(f'"{targets[0]}": neither a pod nor a node', advice="Write pod/NAME or node/NAME")
        names[asked.kind].add(asked.name)
    return Scope(frozenset(names[PODS]), frozenset(names[NODES]), everything, selection)


def overview(scope: Scope, source: Source, *, live: bool = False) -> Overview:
    """Read the data of the page; ``live``: an API server answers.

    Raises:
        UsageError: the selection cannot be read.
        ClusterError: the pods cannot be read, or one that was named is not there.
    """
    origin, source = _origin(source), RememberedSource(source)
    chosen = None
    if scope.selection.flags:
        selection = scope.selection.replace(everywhere=scope.everything)
        chosen = frozenset(map(pod_key, source_pods(selection, source, live=live)))
    for one in (*(ObjectQuery(NODES, name) for name in scope.nodes), *(ObjectQuery(PODS, name) for name in scope.pods)):
        find(one, NO_SELECTION, source, live=live, command="report")
    gatherer = Gatherer(source)
    nodes, pods, lacks = _known_objects(scope, source, gatherer)
    listed_pods = scope.listed_pods(source.namespace, pods) if chosen is None else chosen
    # A namespace without pods may not exist.
    if not listed_pods and not scope.nodes and not scope.everything:
        check_namespace(source)
    listed_nodes = scope.listed_nodes(pods, listed_pods)
    shown = [node for node in nodes if listed_nodes is None or node.metadata.name in listed_nodes]
    by_node: dict[str, list[Pod]] = {}
    for pod in pods:
        by_node.setdefault(pod.spec.node_name, []).append(pod)
    usages, unread = read_usages(gatherer, shown, by_node)
    at = source.now
    namespace = None if scope.everything or scope.nodes else source.namespace
    node_events = gatherer.noted(gatherer.list(EVENTS) if namespace is None else gatherer.node_events()) or ()
    classes, budgets = gatherer.noted(gatherer.classes()), gatherer.noted(gatherer.list(PDBS, namespace))
    owners: dict[WorkloadKey, tuple[str, str]] = {}
    for kind in _BETWEEN:
        for entry in gatherer.noted(gatherer.list(kind, namespace)) or ():
            owner = entry.metadata.controller
            if owner is not None:
                owners[entry.metadata.namespace, kind.kind, entry.metadata.name] = owner.kind, owner.name
    events_of_node: dict[str, list[Event]] = {}
    for event in node_events:
        if event.involved_object.kind == NODES.kind:
            events_of_node.setdefault(event.involved_object.name, []).append(event)
    facts = ClusterFacts(
        source=source.description,
        origin=origin,
        scope=scope.words(source.namespace),
        at=at,
        at_is_newest=source.is_plain_list,
        nodes=nodes,
        pods=pods,
        listed_nodes=listed_nodes,
        listed_pods=listed_pods,
        classes=None if classes is None else tuple(classes.values()),
        budgets=budgets,
        owners=owners,
        workloads=(workloads := _workloads(gatherer, scope, namespace)),
        refusals=_refusals(gatherer, namespace, owners) if workloads else {},
        writers=_writers(gatherer, namespace, workloads or {}),
        usages=usages,
        partitions=None if at is None else _partitions(gatherer, listed_nodes, nodes, at),
        shortages=node_shortages(node_events, at),
        node_events=events_of_node,
        ended=None if at is None else _ended(gatherer, namespace, listed_pods, at),
        versions=gatherer.versions,
        unread=(),
    )
    if at is not None:
        silent = {one.reach.name for one in facts.partitions.nodes} if facts.partitions is not None else set()
        facts = replace(facts, stuck=_stuck(gatherer, namespace, pods, silent, at))
    facts = replace(facts, unread=tuple(dict.fromkeys((*lacks, *gatherer.unread, *unread))))
    shown_pods = [pod for pod in pods if listed_pods is None or pod_key(pod) in listed_pods]
    return Overview(facts, gatherer, source, shown_pods)


def _known_objects(
    scope: Scope, source: RememberedSource, gatherer: Gatherer
) -> tuple[Sequence[Node], Sequence[Pod], Sequence[UnreadInput]]:
    """All nodes and pods, from which the source answers from now on, and those that could not be read.

    The page lacks the latter, and not each of its pods: the gatherer does not note them.
    """
    listed = gatherer.list(NODES)
    read_nodes = read_or_none(listed)
    # A report on everything needs the pods of all namespaces, any other report only those of its namespace.
    of_all = scope.everything or scope.nodes
    every = gatherer.list(PODS)
    read_pods, missing = gatherer.within_reach(PODS) if not of_all else (read_or_none(every), every)
    if read_pods is None and not source.is_plain_list:
        read_pods = source.list(PODS, None if of_all else source.namespace)
    lacks = [one for one in (listed, missing) if isinstance(one, UnreadInput)]
    source.know(read_nodes, read_pods, of=next((one.read_in for one in lacks[-1:] if one.read_in), None))
    return read_nodes or (), read_pods or (), lacks


def _origin(source: Source) -> Origin:
    """The server of the cluster; unknown for a snapshot."""
    from cluster_io.live.live_source import LiveSource

    return source.origin if isinstance(source, LiveSource) else UNKNOWN_ORIGIN


def _workloads(gatherer: Gatherer, scope: Scope, namespace: str | None) -> dict[tuple[str, str, str], Workload] | None:
    """The workloads without a controller of their own; None if only some pods are covered."""
    if scope.pods or scope.nodes or scope.selection.flags:
        return None
    return {
        (entry.metadata.namespace, kind.kind, entry.metadata.name): entry
        for kind in _WORKLOADS
        for entry in gatherer.noted(gatherer.list(kind, namespace)) or ()
        if entry.metadata.controller is None
    }


def _refusals(
    gatherer: Gatherer, namespace: str | None, owners: Mapping[WorkloadKey, tuple[str, str]]
) -> dict[WorkloadKey, str]:
    """The newest event of each workload that could not create a pod."""
    by_workload: dict[WorkloadKey, list[Event]] = {}
    for one in gatherer.noted(gatherer.list(EVENTS, namespace)) or ():
        about = one.involved_object
        key = about.namespace, about.kind, about.name
        by_workload.setdefault((about.namespace, *owners.get(key, key[1:])), []).append(one)
    newest = {key: newest_refusal(events, gatherer.source.now) for key, events in by_workload.items()}
    return {key: one.message for key, one in newest.items() if one is not None}


def _writers(
    gatherer: Gatherer, namespace: str | None, workloads: Mapping[WorkloadKey, Workload]
) -> dict[WorkloadKey, SecondWriters]:
    """The Deployments with a rollout that starts a second writer."""
    found = {
        key: coming_writers(gatherer, template_pod(one, DEPLOYMENTS.kind), one, get=partial(gatherer.one_of, namespace))
        for key, one in workloads.items()
        if key[1] == DEPLOYMENTS.kind and one.spec.strategy.type != "Recreate"
    }
    return {key: one for key, one in found.items() if one is not None and one.unguarded}


def _ended(
    gatherer: Gatherer, namespace: str | None, listed: frozenset[PodKey] | None, at: datetime
) -> tuple[EndedPod, ...] | None:
    """The ends within the last hour; with chosen pods, only theirs."""
    events = gatherer.noted(gatherer.list(EVENTS, namespace))
    pods = read_or_none(gatherer.list(PODS, namespace))
    if events is None or pods is None:
        return None
    # Loaded on demand.
    from kubectl_plugin.gather.ends import HOUR, Ends
    from kubectl_plugin.reports.end_report import ended_pods

    own = [pod for pod in pods if listed is None or pod_key(pod) in listed]
    about = [
        one for one in events if listed is None or (one.involved_object.namespace, one.involved_object.name) in listed
    ]
    return tuple(ended_pods(Ends(gatherer).among(own, about, at - HOUR)))


def _stuck(
    gatherer: Gatherer, namespace: str | None, pods: Iterable[Pod], silent: Container[str], at: datetime
) -> dict[PodKey, Stuck]:
    """The warnings that have repeated for long about waiting pods, from events that are read once."""
    waiting = [(pod, wait) for pod in pods if (wait := waits(pod, at, quiet=pod.spec.node_name in silent)) is not None]
    events = gatherer.noted(gatherer.list(EVENTS, namespace)) or () if waiting else ()
    about: dict[tuple[str, str], list[Event]] = {}
    for one in events:
        about.setdefault((one.involved_object.kind, one.involved_object.name), []).append(one)
    found: dict[PodKey, Stuck] = {}
    for pod, wait in waiting:
        stuck = stuck_by(pod, wait, [one for place in event_subjects(pod) for one in about.get(place, ())], at)
        if stuck is not None and stuck.long:
            found[pod_key(pod)] = stuck
    return found


def _partitions(
    gatherer: Gatherer, listed: frozenset[str] | None, nodes: Sequence[Node], at: datetime
) -> PartitionsReport:
    down = partitions(partition_facts(gatherer, nodes, at, read_or_none(gatherer.list(PODS)) or ()), at)
    return PartitionsReport(
        source=gatherer.source.description,
        rules_version=gatherer.versions.rules_version,
        server_version=gatherer.versions.server_version,
        at=at,
        nodes_total=len(nodes),
        nodes=tuple(node for node in down if listed is None or node.reach.name in listed),
        not_ready=tuple(name for name in not_ready(nodes, down) if listed is None or name in listed),
        unread=gatherer.unread,
    )


# The file of an earlier report is untrusted: its size is limited.

MAX_BYTES: Final = 256 << 20
"""A report of 150,000 pods needs a third of it."""
_KIND: Final = "ClusterReport"
_ADVICE: Final = "Make one with: kubectl qos report -o json > OLD.json"


class _Head(Struct, rename="camel"):
    """The fields that show whether a file is a report."""

    api_version: str = ""
    kind: str = ""


def read_previous_report(path: str) -> EarlierReport:
    """Read the compared fields of an earlier report.

    Raises:
        ManifestError: the file cannot be read, is not a report, or has another API version.
    """
    text = read_text(Path(path), MAX_BYTES)
    if text[:100].lstrip().lower().startswith(("<!doctype html", "<html")):
        raise _no_report(path, "it is HTML; only JSON reports can be compared")
    try:
        head = msgspec.json.decode(text, type=_Head)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _no_report(path, "it is not a JSON object") from error
    if head.kind != _KIND:
        raise _no_report(path, f"its kind is {head.kind!r}" if head.kind else "it has no kind")
    if head.api_version != API_VERSION:
        raise ManifestError(
            f"{path}: its API version is {head.api_version or 'missing'}, and this kubectl-qos compares {API_VERSION}",
            advice=_ADVICE,
        )
    try:
        return msgspec.json.decode(text, type=EarlierReport)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _no_report(path, str(error)) from error


def _no_report(path: str, why: str) -> ManifestError:
    return ManifestError(f"{path}: not a report that can be compared: {why}", advice=_ADVICE)
