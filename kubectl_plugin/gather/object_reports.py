"""Reports of objects: reads the data about each object, and applies the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from cluster_io.gather import Gatherer
from cluster_io.in_memory import NothingSource
from cluster_io.kinds import DEPLOYMENTS, JOBS, NODES, PDBS, PODS, RELATED, REPLICA_SETS, STATEFUL_SETS, Kind
from cluster_io.safety_facts import coming_writers, volumes_on_their_way
from kubectl_plugin.gather.admission import Admission
from kubectl_plugin.gather.likely_node import LikelyNodes, Schedulers
from kubectl_plugin.gather.manifest_objects import NO_OBJECTS, ManifestObjects, applied
from kubectl_plugin.gather.manifest_pods import PodManifest, made_pods
from kubectl_plugin.gather.targets import pod_selector
from kubectl_plugin.options.pod_commands import ExplainOptions
from kubectl_plugin.reports.node.node_report import NearLimit, NodeReport, node_report
from kubectl_plugin.reports.pod.pod_pressure import near_limits
from kubectl_plugin.reports.pod.pod_report import (
    LikelyNode,
    PodFacts,
    PodPosition,
    PodReport,
    pod_report,
    with_unread,
)
from kubectl_plugin.reports.pod.pod_status import pending_resize, resize_message
from kubectl_plugin.reports.related import RelatedReport
from kubectl_plugin.reports.workload import (
    ReportedReason,
    WorkloadPod,
    WorkloadReport,
    job_progress,
    missing_pods,
    pod_counts,
    pods_wanted,
    rollout,
    said,
    schedule,
    workload_pods,
)
from podrules.admission.resize_room import ResizeRoom, resize_room
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodReference
from podrules.api.model.workload import CronJob, Workload
from podrules.api.refusals import newest_refusal, pods_short, said_by_server
from podrules.ending.attachment import VolumePosition, volume_position
from podrules.ending.deleted_pod import JobTracking, tracking_job
from podrules.ending.died.of_pod import has_ended
from podrules.ending.stuck import (
    AutoscalerWord,
    Stuck,
    Wait,
    autoscaler_word,
    event_subjects,
    hinted_by,
    hints,
    may_be_stuck,
    stuck_by,
    waits,
)
from podrules.ending.volumes import claimed_volumes
from podrules.pod.platform import Platform, node_platform
from podrules.pod.reading import NOT_FOUND, USAGE_NOT_ASKED, UnreadInput, read_or_none
from podrules.scheduling.placement.outcome import Placement, PlacementOutcome
from podrules.scheduling.placement.planned import Budgets, UnmovedPod
from podrules.scheduling.placement.preemption_victims import (
    Preemptors,
    is_preempted,
    preempted,
    preemption_event,
)
from podrules.scheduling.skew import WorkloadSpread
from podrules.workload.budget_risk import eviction_hold
from podrules.workload.disruption import Evictions
from podrules.workload.safety import Guarantee, owner_guarantee

if TYPE_CHECKING:
    from kubectl_plugin.gather.pressure import Pressures
    from kubectl_plugin.gather.timeline import Timelines


Report = PodReport | NodeReport | WorkloadReport | RelatedReport


class ReportBuilder:
    """Makes reports. Data that several reports need are read once."""

    def __init__(self, gatherer: Gatherer, options: ExplainOptions) -> None:
        """Read nothing yet; the gatherer may already have read data."""
        self._gatherer, self._source = gatherer, gatherer.source
        self._wants_placement = options.placement
        self._kept_positions: Pressures | None = None
        self._placed: dict[tuple[tuple[str, str], bool], LikelyNode] = {}
        self._timeline_way = options.timeline
        self._grace_period = options.grace_period
        self._on = options.on
        self._placement_typed = options.placement is True
        # For an existing object, one answer needs no request about the limits of its namespace.
        self._admission = Admission(gatherer, asks=not self._source.side_by_side)
        self._schedulers = Schedulers(self._source, options.scheduler_config)
        self._whole = options.output.whole
        self._likely_nodes = LikelyNodes(self._source, gatherer, self._schedulers, every_node=self._whole)

    def report(self, entry: Any, kind: Kind[Any], *, named: bool, in_line: bool = False) -> Report:
        """The report of an object of the cluster.

        Args:
            entry: The object.
            kind: Its kind.
            named: Whether it was requested by name: then its position on its node is read from a live cluster.
            in_line: Whether it gets only a line: data that only a page shows are not read.
        """
        if isinstance(entry, Pod):
            return self._pod(entry, named=named, in_line=in_line)
        if isinstance(entry, Node):
            return self._node(entry, named=named, in_line=in_line)
        if kind in RELATED:
            # Loaded on demand.
            from kubectl_plugin.gather.related import RelatedReports

            return RelatedReports(self._gatherer, self._admission, self._refused, self.placement).report(
                entry, named=named and not in_line
            )
        pods = self._pods_of(entry, entry.metadata.namespace)
        maker, writers = PodManifest.of_workload(entry, kind), None
        if kind is DEPLOYMENTS and (named or not self._source.side_by_side):
            writers = coming_writers(self._gatherer, maker.pod, entry)
        refused = self._refused(entry, kind) if named or not self._source.side_by_side else None
        if refused is None and isinstance(entry, Workload):
            refused = said(entry.status.condition("ReplicaFailure", "True"))
        place, why = bool(self._wants_placement), "" if refused is None else refused.message
        template = self._to_come(maker, NO_OBJECTS, place=place, pods=pods or (), refused=why)
        template = replace(template, second_writers=writers)
        return self._workload(entry, kind, template, pods, refused, named=named)

    def manifest(self, manifest: PodManifest, objects: ManifestObjects) -> PodReport:
        """The report of a manifest's pod, or of its workload's next pod, with the other objects of its file."""
        place = self._timeline_way is None if self._wants_placement is None else self._wants_placement
        kind, entry, pod = manifest.kind, manifest.entry, manifest.pod
        numbered = place and kind is STATEFUL_SETS and not isinstance(self._source, NothingSource)
        pods = self._pods_of(entry, pod.metadata.namespace) if numbered else None
        own = (*objects.claims, *(one for _, one in objects.others))
        writers = coming_writers(self._gatherer, pod, entry, own) if kind is DEPLOYMENTS else None
        report = self._to_come(manifest, objects, place=place, pods=pods or ())
        if report.refused:
            return report
        return replace(report, budgets=_budgets(manifest, report, objects), second_writers=writers)

    def not_modelled(self, pod: Pod) -> bool:
        """Whether a pod's placement is not modelled because of its group or scheduler.

        Raises:
            ClusterError: the scheduler's configuration cannot be read.
        """
        return self._likely_nodes.not_modelled(pod)

    def preemption_disabled(self) -> bool:
        """Whether no profile of the scheduler preempts.

        Raises:
            ClusterError: the scheduler's configuration cannot be read.
        """
        return bool(self._schedulers.preemption_disabled_everywhere())

    def preemption_under_way(self, pod: Pod) -> bool:
        """Whether a pending pod only waits until its victims end.

        Raises:
            ClusterError: the scheduler's configuration cannot be read.
        """
        if not pod.status.nominated_node_name or pod.spec.node_name or pod.metadata.deletion_timestamp or pod.finished:
            return False
        placement = self._place(pod).placement
        return placement is not None and placement.nominated is not None and placement.nominated.under_way

    def placement(self, pod: Pod) -> LikelyNode:
        """Where the scheduler would put a pod that waits for a node.

        Raises:
            ClusterError: the scheduler's configuration cannot be read.
        """
        return self._place(pod)

    def waiting(self, pod: Pod) -> LikelyNode:
        """The outcome of a pod on a kubelet that waits for claims that no controller binds; empty: it does not wait."""
        return self._likely_nodes.waiting(pod)

    def _place(self, pod: Pod, *, gates: bool = False) -> LikelyNode:
        """Where a pod of the cluster would be placed, and which gates decide about it; computed once for each pod."""
        key = pod.metadata.place, gates and self._whole
        if key not in self._placed:
            self._placed[key] = self._likely_nodes.place(pod, gates=gates)
        return self._placed[key]

    def _pod(self, pod: Pod, *, named: bool, in_line: bool) -> PodReport:
        gatherer, bound = self._gatherer, pod.spec.node_name
        # Claims need requests; other volumes are known from the pod itself.
        asks_volumes = bound and not in_line and not pod.finished and (named or not claimed_volumes(pod))
        facts = PodFacts(
            pod=pod,
            node=gatherer.noted(gatherer.get(NODES, bound)) if bound else None,
            reach=gatherer.reach(bound, of_many=in_line or not named) if bound else None,
            nodes=None if bound else self._possible_nodes(),
            classes=gatherer.noted(gatherer.class_named(pod.spec.priority_class_name)),
            owners=gatherer.owners(pod),
            source=self._source.description,
            versions=gatherer.versions,
            named=named and not in_line,
            preemption_disabled=self._schedulers.preemption_disabled(pod),
            guards=gatherer.guards(pod) if asks_volumes else None,
        )
        return self._in_cluster(facts, named=named)

    def _drain_block(self, pod: Pod, node: Node | None) -> UnmovedPod | None:
        """Why a drain cannot evict a pod on a cordoned node. A live cluster is not asked for other pods' budgets."""
        if node is None or not node.spec.unschedulable:
            return None
        budgets = read_or_none(self._gatherer.list(PDBS, pod.metadata.namespace)) or ()
        refused = Evictions(budgets).refused(pod)
        if refused is None or owner_guarantee(pod).guarantee in {Guarantee.KUBELET_OWNED, Guarantee.ONE_PER_NODE}:
            return None
        reference = PodReference(pod.metadata.namespace, pod.metadata.name)
        known = read_or_none(self._gatherer.list(PODS, pod.metadata.namespace)) or ()
        hold, way = eviction_hold(pod, self._gatherer.as_wanted(budgets, [pod], known))
        return UnmovedPod(reference, PDBS.kind, refused, hold, way=way)

    def _tracking(self, pod: Pod) -> JobTracking | None:
        """The Job that must count a pod that is kept for it."""
        owner = tracking_job(pod)
        if owner is None:
            return None
        found = self._gatherer.named(JOBS, owner.name, pod.metadata.namespace) if owner.name else None
        if isinstance(found, UnreadInput):
            return JobTracking(owner.name, exists=False if found.reason == NOT_FOUND else None)
        return JobTracking(owner.name, exists=found is not None and found.metadata.uid == owner.uid)

    def _in_cluster(self, facts: PodFacts, *, named: bool) -> PodReport:
        """The report of a pod of the cluster, with the effects of the rest of the cluster on it."""
        gatherer, pod, bound = self._gatherer, facts.pod, facts.pod.spec.node_name
        tracking = self._tracking(pod)
        quiet, leaving = (
            facts.reach is not None and facts.reach.reach.quiet,
            pod.metadata.deletion_timestamp is not None,
        )
        event = None
        if is_preempted(pod):
            # The event shows what preempted it, while the event exists.
            record = preemption_event(gatherer.noted(gatherer.events_about(pod)) or ())
            among, in_part = gatherer.preemptor_among(record)
            event = preempted(pod, record, among, is_list=in_part)
        moving: list[VolumePosition] = []
        # A pod that does not run normally may wait for volumes, or keep others waiting.
        if bound and not pod.finished and (leaving or quiet or pod.status.phase == "Pending"):
            volumes, reach = volumes_on_their_way(gatherer, pod)
            moving += filter(None, (volume_position(pod, volume, reach) for volume in volumes))
        wanted = not bound and self._timeline_way is None if self._wants_placement is None else self._wants_placement
        # kube-scheduler skips pods that are being deleted.
        running = not pod.finished and not leaving
        placeable = wanted and running
        likely = self._place(pod, gates=facts.named) if placeable else LikelyNode()
        if not placeable and facts.named:
            likely = self.waiting(pod)
        events_decide = False
        if self._timeline_way is not None:
            timeline = self._timelines(self._timeline_way).of_stored(pod)
            report = replace(pod_report(facts, likely, config=self._config(facts)), timeline=timeline)
        else:
            position = PodPosition() if pod.finished else self._position(facts, likely.placement, named=named)
            config = position.config if self._on is None else self._config(facts)
            last_end, at = None, self._source.now
            if facts.named and has_ended(pod):
                # Loaded on demand.
                from kubectl_plugin.gather.ends import Ends

                last_end = Ends(gatherer).of_pod(pod)
            wait = waits(pod, at, quiet=quiet) if facts.named or not self._source.side_by_side else None
            events_decide = wait is not None and may_be_stuck(pod, at, quiet=quiet)
            room = self._resize_room(facts)
            preemptors = self._likely_nodes.preemptors(pod) if bound and facts.named and running else Preemptors()
            assumed = (one for preemptor in preemptors.found for one in preemptor.assumed)
            report = replace(
                pod_report(facts, likely, position, config),
                placement_unread=(*likely.unread, *assumed),
                last_end=last_end,
                resize_room=room,
                preemptors=preemptors,
                autoscaler=self._autoscaler(pod, likely) if facts.named else None,
                stuck=None if wait is None else self._stuck(pod, wait),
                hint=self._hint(pod) if facts.named and not quiet else None,
                only_member=facts.named and quiet and self._is_only_member(pod),
            )
        held = self._drain_block(pod, facts.node) if named else None
        report = replace(report, preempted=event, moving=tuple(moving), tracking=tracking, held=held)
        # All data are read before `unread` is used.
        return with_unread(report, facts, gatherer.unread, events_decide=events_decide)

    def _is_only_member(self, pod: Pod) -> bool:
        owner = owner_guarantee(pod)
        if owner.guarantee is not Guarantee.AT_MOST_ONE:
            return False
        found = read_or_none(self._gatherer.get(STATEFUL_SETS, owner.name, pod.metadata.namespace))
        return found is not None and found.spec.replicas in {None, 1}

    def _hint(self, pod: Pod) -> Stuck | None:
        """The warning that adds to the states of its containers, if any."""
        at = self._source.now
        if at is None or not (reasons := hints(pod, at)):
            return None
        events = read_or_none(self._gatherer.events_of(PODS.kind, pod.metadata.name, pod.metadata.namespace))
        return hinted_by(pod, reasons, events or (), at)

    def _autoscaler(self, pod: Pod, likely: LikelyNode) -> AutoscalerWord | None:
        placement, at = likely.placement, self._source.now
        if at is None or placement is None or placement.outcome is not PlacementOutcome.UNSCHEDULABLE:
            return None
        events = read_or_none(self._gatherer.events_of("Pod", pod.metadata.name, pod.metadata.namespace))
        return autoscaler_word(pod, events or (), at)

    def _stuck(self, pod: Pod, wait: Wait) -> Stuck | None:
        """The warning that shows why a pod waits: about the pod, else about its claims, else about its node."""
        for kind, name in event_subjects(pod):
            about = (
                self._gatherer.node_events(name)
                if kind == "Node"
                else self._gatherer.events_of(kind, name, pod.metadata.namespace)
            )
            events, at = self._gatherer.noted(about), self._source.now
            found = None if events is None or at is None else stuck_by(pod, wait, events, at)
            if found is not None or events is None:
                return found
        return None

    def _resize_room(self, facts: PodFacts) -> ResizeRoom | None:
        pod, node = facts.pod, facts.node
        if not facts.named or node is None or pending_resize(pod) != "Deferred":
            return None
        pods = read_or_none(self._gatherer.pods_on(node.metadata.name))
        if pods is None:
            return None
        features, complete = self._gatherer.versions.kubelet(node), not self._source.is_plain_list
        return resize_room(pod, node, pods, resize_message(pod), features=features, complete=complete)

    def _config(self, facts: PodFacts) -> KubeletConfiguration | None:
        """The configuration of the kubelet of a pod's node, which is read unless the node is silent."""
        node, quiet = facts.node, facts.reach is not None and facts.reach.reach.quiet
        if node is None or quiet or facts.pod.finished or node_platform(node) is not Platform.LINUX:
            return None
        return read_or_none(self._gatherer.kubelet_config(node.metadata.name))

    def _pressures(self) -> Pressures:
        # Loaded on demand.
        from kubectl_plugin.gather.pressure import Pressures

        if self._kept_positions is None:
            self._kept_positions = Pressures(self._gatherer)
        return self._kept_positions

    def _position(self, facts: PodFacts, placement: Placement | None, *, named: bool) -> PodPosition:
        """The position of a pod of the cluster: on the named node, else on its own.

        For many pods, only a source with all data is read: a live cluster needs requests for each node.
        """
        pod, node = facts.pod, facts.node
        if self._on is None and not named and self._source.side_by_side:
            return PodPosition() if node is None else PodPosition(unread=(USAGE_NOT_ASKED,))
        if self._on is None and node is not None:
            return self._pressures().of_bound(pod, node)
        return self._coming_position(pod, self._node_of_option(), placement)

    def _node_of_option(self) -> Node | None:
        """The node of --on; None: not given, or a timeline is requested.

        Raises:
            ClusterError: it does not exist.
        """
        return None if self._on is None or self._timeline_way is not None else self._source.get(NODES, self._on)

    def _possible_nodes(self) -> Sequence[Node] | None:
        """The nodes on which a pod may be placed: that of --on, else all."""
        node = self._node_of_option()
        return self._gatherer.noted(self._gatherer.list(NODES)) if node is None else (node,)

    def _coming_position(self, pod: Pod, node: Node | None, placement: Placement | None) -> PodPosition:
        """The position of a pod on the node of --on, else on the one where it would be placed."""
        if node is None and self._placement_typed and placement is not None and placement.best:
            node = self._gatherer.noted(self._gatherer.node(placement.best[0]))
        return PodPosition() if node is None else self._pressures().of_coming(pod, node)

    def _timelines(self, way: str) -> Timelines:
        # Loaded on demand.
        from kubectl_plugin.gather.timeline import Timelines

        grace, disabled = self._grace_period, self.preemption_disabled()
        return Timelines(self._gatherer, way, grace_period=grace, preemption_disabled=disabled)

    def _to_come(
        self, maker: PodManifest, objects: ManifestObjects, *, place: bool, pods: Sequence[Pod], refused: str = ""
    ) -> PodReport:
        """The report of a pod that does not exist yet: of a manifest, or the next one of a workload."""
        gatherer, kind, pod = self._gatherer, maker.kind, maker.pod
        existing = None
        if kind is PODS and pod.metadata.name:
            existing = read_or_none(gatherer.get(PODS, pod.metadata.name, pod.metadata.namespace))
        reviewed = self._admission.review(maker, objects, exists=existing is not None, refused=refused)
        facts = PodFacts(
            pod=reviewed.admitted.pod,
            reviewed=reviewed,
            nodes=self._possible_nodes(),
            existing=existing,
            source=self._source.description,
            versions=gatherer.versions,
            named=True,
            preemption_disabled=self._schedulers.preemption_disabled(pod),
        )
        stored, node = reviewed.stored, self._node_of_option()
        likely, position, config, timeline = LikelyNode(), PodPosition(), None, None
        # A refused pod never runs.
        if isinstance(stored, Pod):
            # Without a cluster, no nodes are known.
            if place and not isinstance(self._source, NothingSource):
                likely = self._likely_nodes.place_coming(stored, maker, objects, pods)
            if self._timeline_way is not None:
                timeline = self._timelines(self._timeline_way).of_coming(stored, kind, maker.entry)
            else:
                position = self._coming_position(stored, node, likely.placement)
                config = self._source.stated.kubelet
        report = replace(pod_report(facts, likely, position, config), timeline=timeline)
        return with_unread(report, facts, gatherer.unread)

    def _node(self, node: Node, *, named: bool, in_line: bool) -> NodeReport:
        """The report of a node. The usage is included unless it needs a request for each of many nodes."""
        of_many = in_line or not named
        if named or not self._source.side_by_side:
            # Loaded on demand.
            from kubectl_plugin.gather.pressure import pressure_report

            looked = pressure_report(self._gatherer, node, of_many=of_many)
            return replace(looked.promised, unread=looked.unread)
        return node_report(
            node,
            self._gatherer.noted(self._gatherer.pods_on(node.metadata.name)),
            nominated=self._gatherer.nominated_to(node.metadata.name),
            reach=self._gatherer.reach(node.metadata.name, of_many=of_many),
            source=self._source.description,
            versions=self._gatherer.versions,
            unread=self._gatherer.unread,
        )

    def _pods_of(self, entry: Any, namespace: str) -> Sequence[Pod] | None:
        """A workload's pods; None: it has no selector, or they cannot be read."""
        chosen = pod_selector(entry)
        return None if chosen is None else self._gatherer.noted(self._gatherer.list(PODS, namespace, selector=chosen))

    def _spread(self, own: Sequence[Pod], namespace: str) -> tuple[WorkloadSpread, ...]:
        """How the pods of a workload are spread, by their own constraints."""
        if not any(pod.spec.topology_spread_constraints for pod in own):
            return ()
        # Loaded on demand: it needs numpy.
        from podrules.scheduling.spread import spreads_of

        nodes = self._gatherer.noted(self._gatherer.list(NODES))
        pods = self._gatherer.noted(self._gatherer.list(PODS, namespace))
        if nodes is None or pods is None:
            return ()
        return spreads_of(own, nodes, pods, features=self._gatherer.versions.scheduler)

    def _near_limit(self, pod: Pod) -> NearLimit | None:
        """The container of a pod that is near its own limit; not read from a live cluster for many pods."""
        node = self._gatherer.noted(self._gatherer.node(pod.spec.node_name)) if pod.spec.node_name else None
        if node is None or pod.finished or self._source.side_by_side:
            return None
        return next(near_limits(self._pressures().of_bound(pod, node).reports), None)

    def _with_stuck(self, pods: Sequence[Pod], found: Sequence[WorkloadPod], *, named: bool) -> tuple[WorkloadPod, ...]:
        """Pods with the warnings that show why they wait; on a live cluster, only the worst of a named one."""
        at, left = self._source.now, len(found)
        if self._source.side_by_side:
            left = 1 if named else 0
        by_name = {pod.metadata.name: pod for pod in pods}
        warnings: dict[str, Stuck | None] = {}
        for one in sorted(found, key=lambda one: one.state.worse):
            wait = waits(by_name[one.name], at, quiet=one.reach is not None)
            if wait is not None and len(warnings) < left:
                warnings[one.name] = self._stuck(by_name[one.name], wait)
        return tuple(replace(one, stuck=warnings.get(one.name)) for one in found)

    def _refused(self, entry: Any, kind: Kind[Any]) -> ReportedReason | None:
        """Why a workload's missing pods cannot be created, by events about it or a Deployment's ReplicaSets."""
        if not isinstance(entry, Workload) or not pods_short(kind.kind, entry, pods_wanted(kind.kind, entry)):
            return None
        makers: Sequence[Workload] = (entry,)
        if kind is DEPLOYMENTS:
            listed = self._gatherer.noted(self._gatherer.list(REPLICA_SETS, entry.metadata.namespace)) or ()
            makers = [
                one
                for one in listed
                if (owner := one.metadata.controller) is not None
                and owner.uid == entry.metadata.uid
                and pods_short(REPLICA_SETS.kind, one, one.spec.replicas)
            ]
        events = [event for one in makers for event in self._gatherer.noted(self._gatherer.events_about(one)) or ()]
        event = newest_refusal(events, self._source.now)
        if event is not None:
            return ReportedReason(event.reason, said_by_server(event.message), event.last)
        conditions = (said(one.status.condition("ReplicaFailure", "True")) for one in makers)
        return next(filter(None, conditions), None)

    def _workload(
        self,
        entry: Any,
        kind: Kind[Any],
        template: PodReport,
        pods: Sequence[Pod] | None,
        refused: ReportedReason | None,
        *,
        named: bool,
    ) -> WorkloadReport:
        found = counts = None
        if pods is not None:
            gatherer = self._gatherer
            found = workload_pods(
                pods,
                gatherer.versions.api_server,
                lambda name: gatherer.reach(name, of_many=True),
                lambda name: read_or_none(gatherer.node(name, of_many=True)),
                self._near_limit,
            )
            counts = pod_counts([pod.state for pod in found], pods_wanted(kind.kind, entry), kind.kind)
            found = self._with_stuck(pods, found, named=named)
        return WorkloadReport(
            workload_kind=kind.kind,
            name=entry.metadata.name,
            namespace=entry.metadata.namespace,
            source=self._source.description,
            rules_version=template.rules_version,
            server_version=template.server_version,
            replicas=None if isinstance(entry, CronJob) else entry.spec.replicas,
            template=template,
            pods=found,
            counts=counts,
            job=job_progress(entry, refused) if kind is JOBS else None,
            rollout=rollout(kind.kind, entry, terminating=0 if counts is None else counts.terminating, refused=refused),
            schedule=schedule(entry),
            missing=missing_pods(kind.kind, entry, found) if found is not None else None,
            spread=self._spread(pods or (), entry.metadata.namespace),
            unread=self._gatherer.unread,
        )


def _budgets(manifest: PodManifest, report: PodReport, objects: ManifestObjects) -> Budgets:
    """How many of its pods the budgets of the files allow to be evicted: budgets of the cluster need a request."""
    if not objects.budgets:
        return Budgets()
    name, namespace = manifest.spec_name, manifest.pod.metadata.namespace
    # Loaded on demand.
    from podrules.scheduling.placement.planned_budgets import planned_budgets, spec_groups

    groups = list(made_pods(objects.manifests))
    if report.daemon is not None:
        groups = [one for one in groups if (one.name, one.pod.metadata.namespace) != (name, namespace)]
        groups += spec_groups(report.daemon, manifest.pod, (), 0)
    found = planned_budgets(groups, (), applied((), objects.budgets))
    return Budgets(
        tuple(one for one in found.budgets if name in one.specs and one.namespace == namespace),
        tuple(one for one in found.held if (one.name, one.namespace) == (name, namespace)),
    )
