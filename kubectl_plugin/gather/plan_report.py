"""The report of ``place``: the cluster is read, changed as requested, and the pods are placed on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from cluster_io.errors import NotFound, UsageError
from cluster_io.gather import Gatherer
from cluster_io.kinds import NODES, PDBS, PODS, Kind, find_kind
from kubectl_plugin.gather.likely_node import Schedulers, with_writer_of
from kubectl_plugin.gather.manifest_objects import ManifestObjects, applied, with_manifest_objects
from kubectl_plugin.gather.manifest_pods import PodManifest
from kubectl_plugin.gather.node_spec import read_node_specification
from kubectl_plugin.gather.pods_to_place import PlacementRequests, WorkloadOrPod, waiting_pods
from kubectl_plugin.options.pod_commands import PlaceOptions
from kubectl_plugin.reports.plan import PlanReport, RefusedSpec, WhatIf
from podrules.api.model.pod import Pod, PodReference, reference
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.names import near_names
from podrules.ending.deleted_pod import holders
from podrules.pod.reading import read_or_none
from podrules.pod.versions import version_notes
from podrules.scheduling.placement.controllers import with_controllers
from podrules.scheduling.placement.drain import Drain, drain_plan
from podrules.scheduling.placement.drain_rounds import place_all
from podrules.scheduling.placement.plan import PlacementRequest, PlanCluster
from podrules.scheduling.placement.planned import AwaitedPod, Budgets, DrainFlag, PlannedSpec
from podrules.scheduling.placement.planned_budgets import PodGroup, cluster_groups, planned_budgets, spec_groups
from podrules.scheduling.placement.what_if import adding_nodes, cordoning_nodes, excluding_nodes, without_pods
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.workload.made_pod import awaited_pod

T = TypeVar("T")


class FilesToPlace(Struct, frozen=True):
    """The manifests of files, and the other objects in them."""

    manifests: tuple[PodManifest, ...]
    objects: ManifestObjects
    incomplete: bool
    """Whether a part of them cannot be read."""


class _PlanInput(Struct, frozen=True):
    """The pods to place, on the cluster as it was read."""

    entries: Sequence[PlacementRequest | RefusedSpec]
    """In the order of placement."""
    read: ClusterSnapshot
    waiting: Sequence[Pod]
    """Pods of the cluster that already wait, and are among the requested ones."""
    drain: Drain
    flags: tuple[DrainFlag, ...]
    """The flags without which kubectl drain evicts no pod."""


class Planner:
    """Reads the cluster, changes it as requested, and places the pods."""

    def __init__(self, options: PlaceOptions, gatherer: Gatherer) -> None:
        """Read nothing yet."""
        self._options = options
        self._source = gatherer.source
        self._gatherer = gatherer
        self._schedulers = Schedulers(self._source, options.scheduler_config)
        self._requests_of = PlacementRequests(self._gatherer, self._schedulers, options)
        self._added = tuple(node for text in options.add_nodes for node in read_node_specification(text))

    def report(self, files: FilesToPlace, more: Sequence[WorkloadOrPod]) -> PlanReport:
        """The report on all requested pods."""
        request = self._request(files, more)
        drain, changed = request.drain, self._changed_cluster(request, files)
        snapshot = without_pods(changed, map(reference, request.waiting))
        if drain.nodes:
            # Notes in `unread` if the source lacks budgets: without any, nothing would block the drain.
            self._gatherer.noted(self._gatherer.list(PDBS))
            listed = self._gatherer.noted(self._gatherer.list(PODS))
            if listed is None and self._source.side_by_side:
                # For a user of one namespace, pods of other namespaces decide whether the drain ends.
                self._source.list(PODS)
            leaving = [pod for pod in snapshot.pods if pod.spec.node_name in drain.names]
            budgets = self._gatherer.as_wanted(snapshot.pod_disruption_budgets, leaving, listed or snapshot.pods)
            snapshot = replace(snapshot, pod_disruption_budgets=budgets)
        entries = request.entries
        table = NodeTable(snapshot.nodes, snapshot.pods)
        # In the order of their specs.
        requests = sorted(_placeable(entries), key=lambda entry: entry.queue_key)
        events = self._gatherer.cordon_events(snapshot.nodes) if requests else {}
        requests = [self._in_cluster(entry, changed.pods) for entry in requests]
        cluster = PlanCluster(table, snapshot, self._source.now, self._source.is_plain_list, events)
        result = place_all(requests, drain, cluster, preemption=self._options.preemption)
        requests = [requests[index] for index in result.specs]
        specs = tuple(
            # Fields in a manifest were not written by admission.
            spec
            if spec.stopped is None or spec.origin == "manifest"
            else replace(spec, stopped=with_writer_of(spec.stopped, entry.pod, self._gatherer))
            for spec, entry in zip(result.specs.values(), requests, strict=True)
        )
        counted = _budgets(requests, specs, files.objects, result.snapshot if drain.nodes else changed)
        versions, added = self._gatherer.versions, tuple(node.name for node in self._added)
        chosen = dict.fromkeys(name for spec in specs for name in spec.nodes)
        # Added nodes always answer.
        reached = [(name, self._gatherer.reach(name, of_many=True)) for name in chosen if name not in added]
        judged = {*drain.names, *chosen}
        return PlanReport(
            source=self._source.description,
            rules_version=versions.scheduler.nearest_verified,
            server_version=versions.server_version,
            verified=versions.scheduler.verified,
            version_notes=version_notes(versions, [one for one in request.read.nodes if one.metadata.name in judged]),
            what_if=WhatIf(
                excluded_nodes=self._options.exclude_nodes,
                added_nodes=added,
                without_pods=self._options.without,
                drained=",".join(drain.names),
                drained_nodes=drain.names,
                one_by_one=self._options.one_by_one,
            ),
            nodes=len(table),
            preemption=self._options.preemption,
            specs=specs,
            refused=tuple(entry for entry in entries if isinstance(entry, RefusedSpec)),
            budgets=counted,
            unmoved=result.unmoved,
            stuck=sum(result.stuck.values()),
            stuck_on=tuple(result.stuck),
            kept=result.kept,
            slow=result.slow,
            silent=tuple(name for name, reach in reached if reach.reach.quiet),
            flags=request.flags,
            unread=self._gatherer.unread,
            webhook=tuple(self._requests_of.webhooks),
        )

    def _request(self, files: FilesToPlace, more: Sequence[WorkloadOrPod]) -> _PlanInput:
        """The pods to place: requested pods, pods that already wait, and pods that leave a drained node."""
        objects = files.objects
        entries = [self._requests_of.of_manifest(manifest, objects) for manifest in files.manifests]
        entries += (self._requests_of.more(entry, objects) for entry in more)
        entries += filter(None, [self._requests_of.scaled_up(entry) for entry in _placeable(entries)])
        read = self._read(entries)
        excluded = {(pod.namespace, pod.name) for pod in self._excluded_pods()}
        pods = [pod for pod in read.pods if pod.metadata.place not in excluded]
        nodes = tuple(map(self._gatherer.reach, self._options.drain))
        drain = Drain(nodes, self._options.one_by_one, self._source.now)
        flags: Counter[str] = Counter()
        leaving: list[Pod] = []
        for node in nodes:
            # Without budgets: the pods that may leave.
            step = drain_plan(pods, (), node.name, node, drain.at)
            leaving += step.moved
            flags.update({entry.flag: entry.pods for entry in step.flags})
        waiting = waiting_pods(_placeable(entries), pods)
        if waiting or leaving:
            entries = [
                *(self._requests_of.without_node(pod, "pending") for pod in waiting),
                *entries,
                *(self._requests_of.without_node(pod, "drain") for pod in leaving),
            ]
            # The data that these pods need must be read too.
            read = self._read(entries)
        return _PlanInput(entries, read, waiting, drain, tuple(starmap(DrainFlag, flags.items())))

    def _read(self, entries: Sequence[PlacementRequest | RefusedSpec]) -> ClusterSnapshot:
        """The current cluster, with all data for the scheduling of these specs.

        Raises:
            ClusterError: some data cannot be read.
        """
        wanted = _placeable(entries)
        args = wanted[0].framework.args if wanted else {}
        refused = [entry.namespace for entry in entries if isinstance(entry, RefusedSpec)]
        found = self._gatherer.snapshot([entry.first_pod for entry in wanted], args, budgets=True, beside=refused)
        if found.error is not None:
            raise found.error
        pods, drained = list(found.snapshot.pods), self._options.drain
        # Finished pods that finalizers keep: scheduling does not need them, but a drain waits.
        listed = read_or_none(self._gatherer.list(PODS)) if drained else None
        left = (pod for pod in listed or () if pod.finished and pod.spec.node_name in drained)
        pods += (pod for pod in left if holders(pod.metadata.finalizers))
        for at, pod in enumerate(pods):
            if not pod.metadata.uid:
                # A list that was written by hand may lack uids, which distinguish pods.
                pods[at] = replace(pod, metadata=replace(pod.metadata, uid="/".join(pod.metadata.place)))
        return replace(found.snapshot, pods=tuple(pods))

    def _changed_cluster(self, request: _PlanInput, files: FilesToPlace) -> ClusterSnapshot:
        """The changed cluster: with the objects of files, other nodes, fewer pods, and cordoned nodes.

        Raises:
            ClusterError: a node or pod of an option does not exist.
        """
        controlled = (entry.controlled for entry in _placeable(request.entries))
        snapshot = with_controllers(with_manifest_objects(request.read, files.objects), controlled)
        snapshot = self._changed(lambda: excluding_nodes(snapshot, self._options.exclude_nodes), NODES)
        try:
            snapshot = self._changed(lambda: adding_nodes(snapshot, self._added), NODES)
        except ValueError as error:
            problem = f"--add-node: node {error.args[0]} already exists"
            raise UsageError(problem, advice="Give the new one another name: name=NAME") from error
        snapshot = self._changed(lambda: without_pods(snapshot, self._excluded_pods()), PODS)
        cluster = self._changed(lambda: cordoning_nodes(snapshot, request.drain.names), NODES)
        return snapshot if self._options.one_by_one else cluster

    def _changed(self, change: Callable[[], T], kind: Kind[Any]) -> T:
        try:
            return change()
        except KeyError as error:
            namespace, _, name = str(error.args[0]).rpartition("/")
            other = find_kind(namespace) if namespace else None
            if other is not None and f"{namespace}/{name}" in self._options.without:
                problem = f"--without {namespace}/{name}: this is for a pod, and {namespace} is a type"
                raise UsageError(problem, advice="Write pod/NAME or NAMESPACE/NAME") from error
            there = self._gatherer.noted(self._gatherer.list(kind, namespace or None)) or ()
            near = near_names(name, [entry.metadata.name for entry in there])
            raise NotFound(kind, name, namespace or None, near) from error

    def _excluded_pods(self) -> Iterator[PodReference]:
        """The pods of --without."""
        for text in self._options.without:
            place, _, name = text.partition("/")
            yield PodReference(self._source.namespace if place == "pod" else place, name)

    def _in_cluster(self, request: PlacementRequest, pods: Sequence[Pod]) -> PlacementRequest:
        """The request with all that the cluster decides, such as the existing pods of its workload."""
        gatherer, own, node = self._gatherer, request.own, request.pod.spec.node_name
        found = replace(
            request,
            framework=self._schedulers.in_version(request.framework, gatherer.versions.scheduler),
            unread=gatherer.snapshot([request.first_pod], request.framework.args, budgets=True).unread,
            reach=gatherer.reach(node) if node else None,
            there=0 if own is None else len(own.staying(pods)),
            daemons=tuple(own.unfinished(pods)) if own is not None and request.existing is not None else (),
        )
        # It blocks a StatefulSet of the cluster from creating more.
        blocking = awaited_pod(request.stateful_set, pods) if request.stateful_set is not None else None
        if blocking is None:
            return found
        on, deleted = blocking.spec.node_name, blocking.metadata.deletion_timestamp is not None
        silent = on if on and gatherer.reach(on, of_many=True).reach.quiet else ""
        return replace(found, awaited=AwaitedPod(blocking.metadata.name, deleted, silent))


def _placeable(entries: Sequence[PlacementRequest | RefusedSpec]) -> list[PlacementRequest]:
    return [entry for entry in entries if isinstance(entry, PlacementRequest)]


def _budgets(
    entries: Sequence[PlacementRequest], specs: Sequence[PlannedSpec], files: ManifestObjects, cluster: ClusterSnapshot
) -> Budgets:
    """How many future pods the budgets of the cluster and of the files allow to be evicted."""
    budgets = applied(cluster.pod_disruption_budgets, files.budgets)
    if not budgets:
        return Budgets()
    groups: list[PodGroup] = []
    # Victims and pods of a spec are removed, and waiting or moving pods are among the specs.
    gone = {(victim.pod.namespace, victim.pod.name) for spec in specs for victim in spec.victims}
    pairs = list(zip(entries, specs, strict=True))
    of_manifests = [
        entry.own.every(cluster.pods) if entry.own is not None and spec.origin == "manifest" else []
        for entry, spec in pairs
    ]
    gone.update(pod.metadata.place for own in of_manifests for pod in own)
    for (entry, spec), own in zip(pairs, of_manifests, strict=True):
        waits = spec.origin in {"pending", "drain"}
        if not waits or entry.pod.metadata.place not in gone:
            groups += spec_groups(spec, entry.pod, own, entry.first)
        if waits:
            gone.add(entry.pod.metadata.place)
    others = cluster_groups(pod for pod in cluster.pods if pod.metadata.place not in gone)
    coming = [group for group in groups if group.name]
    return planned_budgets(coming, [*(group for group in groups if not group.name), *others], budgets)
