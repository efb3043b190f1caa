"""Likely nodes of pods: reads the data for scheduling, once for all pods of a run, and applies the rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from cluster_io.gather import Gatherer
from cluster_io.kinds import (
    DAEMON_SETS,
    DEPLOYMENTS,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    STORAGE_CLASSES,
)
from cluster_io.source import Source
from kubectl_plugin.gather.controllers import Controllers
from kubectl_plugin.gather.manifest_objects import ManifestObjects, with_manifest_objects
from kubectl_plugin.gather.manifest_pods import PodManifest
from kubectl_plugin.reports.pod.pod_report import LikelyNode
from podrules.api.features import Features
from podrules.api.model.pod import DEFAULT_SCHEDULER_NAME, Pod
from podrules.ending.volumes import claimed_volumes
from podrules.node.reachability import Reach
from podrules.pod.platform import NotModelled, not_modelled, scheduling_group
from podrules.pod.priority import is_mirror_pod
from podrules.pod.reading import UnreadInput, read_or_none
from podrules.scheduling.placement.outcome import NamedFate, NamedNode, Placement, PlacementOutcome
from podrules.scheduling.placement.preemption_victims import Preemptor, Preemptors
from podrules.scheduling.scheduler.framework.answers import ChangeKind
from podrules.scheduling.scheduler.queue import queued_above
from podrules.upgrade.version_changes import AssumedGate

if TYPE_CHECKING:
    from podrules.api.model.snapshot import ClusterSnapshot
    from podrules.scheduling.placement.situation import Situation
    from podrules.scheduling.scheduler.framework.node_table import NodeTable
    from podrules.scheduling.scheduler.profile import Profile
    from podrules.scheduling.scheduler.runtime import Framework

    _Before = Callable[[ClusterSnapshot], tuple[Pod, ClusterSnapshot]]


_MOST_PREEMPTORS: Final = 50
"""How many pending pods are judged for the page of a running pod: each needs a scheduling cycle."""
_MOST_TRIED: Final = 10_000
"""Up to this many nodes: all are tried for each pod that would preempt it."""


class Schedulers:
    """The profiles of the scheduler's configuration, read once."""

    def __init__(self, source: Source, where: str | None) -> None:
        """Read nothing yet.

        Args:
            source: The source of the configuration, if it is a ConfigMap.
            where: File or ``configmap/NAMESPACE/NAME``; None: kube-scheduler's defaults.
        """
        self._source = source
        self._where = where
        self._profiles: Mapping[str, Profile] | None = None
        self._outlines: Mapping[str, Profile] | None = None
        self._frameworks: dict[tuple[str, Features], Framework] = {}

    def preemption_disabled(self, pod: Pod) -> str:
        """The field that disables preemption in a pod's profile; empty: enabled, or unknown. Loads no arrays.

        Raises:
            ClusterError: the configuration cannot be read.
        """
        profile = self._profiles_without_arguments().get(pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME)
        return "" if profile is None else profile.preemption_disabled

    def preemption_disabled_everywhere(self) -> str:
        """The field that disables preemption, if every profile does; else empty.

        Raises:
            ClusterError: the configuration cannot be read.
        """
        fields = [profile.preemption_disabled for profile in self._profiles_without_arguments().values()]
        return fields[0] if fields and all(fields) else ""

    def _profiles_without_arguments(self) -> Mapping[str, Profile]:
        """The profiles without arguments. None without a configuration, because the defaults preempt."""
        if self._outlines is None and self._where:
            from cluster_io.scheduler_config import read_scheduler_configuration

            self._outlines = read_scheduler_configuration(self._source, self._where, arguments=False)
        return self._outlines or {}

    def framework(self, pod: Pod, features: Features) -> Framework | str:
        """The plugins that a pod's scheduler runs in a version, or why its placement is not modelled.

        Raises:
            ClusterError: the configuration cannot be read.
        """
        unmodelled = self.not_modelled(pod)
        if unmodelled is NotModelled.POD_GROUP:
            field, name = scheduling_group(pod) or ("", "")
            chosen = pod.status.nominated_node_name
            waits = f"; it has chosen {chosen} for this one, and may wait for the others (Permit)" if chosen else ""
            return f'{field} "{name}": the scheduler places the pods of a group together{waits}'
        name = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
        if unmodelled is NotModelled.OTHER_SCHEDULER:
            where = self._where or "kube-scheduler's defaults; name its configuration with --scheduler-config"
            return f'spec.schedulerName "{name}" has no profile in {where}'
        return self._made(name, features)

    def in_version(self, framework: Framework, features: Features) -> Framework:
        """The plugins of the same profile in a scheduler of another version."""
        return self._made(framework.scheduler_name, features)

    def _made(self, name: str, features: Features) -> Framework:
        """The framework of a profile, created once: most pods of a run have the same scheduler."""
        from podrules.scheduling.scheduler.runtime import new_framework

        key = name, features
        if key not in self._frameworks:
            self._frameworks[key] = new_framework(self._read()[name], features)
        return self._frameworks[key]

    def not_modelled(self, pod: Pod) -> NotModelled | None:
        """Why a pod's placement is not modelled; None: it is modelled.

        Raises:
            ClusterError: the configuration cannot be read.
        """
        return not_modelled(pod, self._read() if self._where else {DEFAULT_SCHEDULER_NAME})

    def _read(self) -> Mapping[str, Profile]:
        if self._profiles is None:
            from podrules.scheduling.scheduler.profile import Profile

            if self._where:
                from cluster_io.scheduler_config import read_scheduler_configuration

                self._profiles = read_scheduler_configuration(self._source, self._where)
            else:
                self._profiles = {DEFAULT_SCHEDULER_NAME: Profile(DEFAULT_SCHEDULER_NAME)}
        return self._profiles


def with_writer_of(placed: Placement, pod: Pod, gatherer: Gatherer) -> Placement:
    """A placement with the writer of each field that a way out drops, and whether the required rollout is paused."""
    from podrules.scheduling.placement.remedies import (
        changes_of,
        deployment_of,
        drops_selector,
        with_paused_rollout,
        with_writer,
    )

    if (
        any(change.kind is ChangeKind.ROLL_OUT for change in changes_of(placed))
        and (name := deployment_of(pod)) is not None
    ):
        found = gatherer.noted(gatherer.named(DEPLOYMENTS, name[1], name[0]))
        placed = with_paused_rollout(placed) if found is not None and found.spec.paused else placed
    if not any(map(drops_selector, changes_of(placed))):
        return placed
    # Without its Namespace, the writer is unknown.
    space = gatherer.named(NAMESPACES, pod.metadata.namespace)
    return placed if isinstance(space, UnreadInput) else with_writer(placed, space)


class LikelyNodes:
    """Finds where the scheduler would put pods."""

    def __init__(self, source: Source, gatherer: Gatherer, schedulers: Schedulers, *, every_node: bool) -> None:
        """Read nothing yet."""
        self._source = source
        self._gatherer = gatherer
        self._schedulers = schedulers
        self._controllers = Controllers(gatherer)
        self._every_node = every_node
        self._table: NodeTable | None = None
        self._tabled: ClusterSnapshot | None = None

    def place(self, pod: Pod, *, gates: bool) -> LikelyNode:
        """Where a pod of the cluster would be placed if it were created now.

        Args:
            pod: The pod.
            gates: Whether to include the feature gates that decide about it.

        Raises:
            ClusterError: the scheduler's configuration cannot be read.
        """
        framework = self._schedulers.framework(pod, self._gatherer.versions.scheduler)
        if isinstance(framework, str):
            return LikelyNode(self._not_modelled(pod, framework))
        return self._placed(pod, framework, None, gates=gates)

    def waiting(self, pod: Pod) -> LikelyNode:
        """The outcome of a pod on a kubelet that waits for claims that no controller binds; empty: it does not wait."""
        if not pod.spec.node_name or pod.status.phase != "Pending" or pod.metadata.deletion_timestamp:
            return LikelyNode()
        if any(one.state.waiting is None for one in pod.status.of_containers):
            return LikelyNode()
        gatherer, namespace = self._gatherer, pod.metadata.namespace
        read = [gatherer.get(PERSISTENT_VOLUME_CLAIMS, one.claim, namespace) for one in claimed_volumes(pod)]
        claims = [claim for claim in read if claim is not None and not isinstance(claim, UnreadInput)]
        if len(claims) == len(read) and all(claim.spec.volume_name for claim in claims):
            return LikelyNode()
        from podrules.api.model.snapshot import ClusterSnapshot
        from podrules.scheduling.placement.claims import claims_never_bound

        volumes, classes = gatherer.list(PERSISTENT_VOLUMES), gatherer.list(STORAGE_CLASSES)
        node, pods = gatherer.node(pod.spec.node_name), gatherer.list(PODS, namespace)
        snapshot = ClusterSnapshot(
            nodes=() if isinstance(node, UnreadInput) else (node,),
            pods=tuple(read_or_none(pods) or ()),
            persistent_volume_claims=tuple(claims),
            persistent_volumes=tuple(read_or_none(volumes) or ()),
            storage_classes=tuple(read_or_none(classes) or ()),
        )
        unread = [one for one in (*read, volumes, classes) if isinstance(one, UnreadInput)]
        problems, lacks = claims_never_bound(pod, snapshot, unread)
        for one in lacks:
            gatherer.noted(one)
        placement = Placement(
            outcome=PlacementOutcome.NAMED,
            scheduler_name=pod.spec.scheduler_name,
            named=NamedNode(pod.spec.node_name, NamedFate.WAITS),
            claims=problems,
            assumed=lacks,
            proven=not lacks,
        )
        return LikelyNode(placement if problems else None, lacks)

    def preemptors(self, bound: Pod) -> Preemptors:
        """The pending pods for which the scheduler would preempt a bound one.

        Raises:
            ClusterError: the scheduler's configuration cannot be read.
        """
        if is_mirror_pod(bound):
            # The kubelet keeps it running, even if its object is deleted.
            return Preemptors()
        waiting = read_or_none(self._gatherer.waiting())
        higher = queued_above(bound, waiting or ())
        modelled = [pod for pod in higher if not self.not_modelled(pod)]
        found: list[Preemptor] = []
        judged = tried = 0
        while judged < min(len(modelled), _MOST_PREEMPTORS) and tried < _MOST_TRIED:
            # Loaded on demand: it needs numpy.
            from podrules.scheduling.placement.preview import preemptor

            pod = modelled[judged]
            judged += 1
            framework = self._schedulers.framework(pod, self._gatherer.versions.scheduler)
            if isinstance(framework, str):
                continue
            situation = self._situation(pod, framework)
            one = None if isinstance(situation, LikelyNode) else preemptor(situation, bound)
            if one is not None:
                found.append(one)
                tried += len(self._table or ())
        left = len(modelled) - judged
        return Preemptors(tuple(found), None if waiting is None else judged, left, len(higher) - len(modelled))

    def place_coming(self, pod: Pod, maker: PodManifest, objects: ManifestObjects, pods: Sequence[Pod]) -> LikelyNode:
        """Where a future pod would be placed.

        Args:
            pod: The pod as it will be stored, with the name of its maker.
            maker: The object that creates it.
            objects: The other objects of its file.
            pods: The existing pods of a StatefulSet.

        Raises:
            ClusterError: the scheduler's configuration cannot be read.
        """
        from podrules.scheduling.placement.claims import with_claims, with_claims_of
        from podrules.scheduling.placement.controllers import with_controllers
        from podrules.scheduling.placement.device_claims import with_device_claims
        from podrules.workload.made_pod import new_numbers, replica

        framework = self._schedulers.framework(pod, self._gatherer.versions.scheduler)
        if isinstance(framework, str):
            return LikelyNode(self._not_modelled(pod, framework))
        if maker.kind is DAEMON_SETS:
            return self._of_daemon_set(pod, maker, framework, objects)
        controlled = self._controllers.of(pod, maker, framework.args)
        kind = maker.kind.singular
        number = next(new_numbers(pod, kind, maker.first_ordinal, pods))
        named, claims = with_claims_of(replica(controlled.pod, kind, number, uid=""), maker.claim_templates)

        def before(snapshot: ClusterSnapshot) -> tuple[Pod, ClusterSnapshot]:
            snapshot = with_controllers(with_manifest_objects(snapshot, objects), [controlled])
            if named.spec.node_name:
                # Claims are bound for pods that the scheduler places.
                others = (one.pod for one in objects.manifests if not one.pod.spec.node_name)
                snapshot = replace(snapshot, pods=(*snapshot.pods, *others))
            return with_device_claims(named, with_claims(snapshot, claims))

        return self._placed(named, framework, before, coming=True, gates=True)

    def _of_daemon_set(
        self, pod: Pod, maker: PodManifest, framework: Framework, objects: ManifestObjects
    ) -> LikelyNode:
        """The nodes that a DaemonSet's controller chooses, one pod on each."""
        from podrules.scheduling.placement.controllers import ControlledPod, OwnPods
        from podrules.scheduling.placement.daemon_sets import existing_pods
        from podrules.scheduling.placement.plan import PlacementRequest, PlanCluster, plan

        situation = self._situation(pod, framework, lambda snapshot: (pod, with_manifest_objects(snapshot, objects)))
        if isinstance(situation, LikelyNode):
            return situation
        situation = replace(situation, node_events=self._gatherer.cordon_events(situation.snapshot.nodes))
        node, there = pod.spec.node_name, maker.written is None
        request = PlacementRequest(
            f"{maker.kind.singular}/{pod.metadata.name}",
            ControlledPod(pod),
            situation.framework,
            None,
            origin="more" if there else "manifest",
            existing=existing_pods(maker.entry.spec.update_strategy, more=there),
            unread=situation.unread,
            reach=self._gatherer.reach(node) if node else None,
            daemons=tuple(OwnPods("daemonset", pod.metadata).unfinished(situation.snapshot.pods)),
        )
        return LikelyNode(daemon=plan([request], PlanCluster.of(situation), preemption=True)[0])

    def _situation(
        self, pod: Pod, framework: Framework, before: _Before | None = None, others: tuple[Features, ...] = ()
    ) -> Situation | LikelyNode:
        """A pod on the cluster, after `before` has prepared both; or why its place is unknown.

        Args:
            pod: The pod, which decides what is read.
            framework: Its scheduler's profile.
            before: Returns the pod and the cluster as they are placed; None: as they are.
            others: Other settings of gates, which may need more data.
        """
        from podrules.scheduling.placement.claims import missing_claims
        from podrules.scheduling.placement.situation import Situation
        from podrules.scheduling.scheduler.framework.node_table import NodeTable

        cluster = self._gatherer.snapshot((pod,), framework.args, budgets=True, others=others)
        if cluster.error is not None:
            missing = ", ".join(dict.fromkeys(entry.resource for entry in cluster.unread))
            placement = self._unknown(pod, f"{missing} could not be read")
            if pod.metadata.uid and (gone := missing_claims(pod, cluster.snapshot, framework, cluster.unread)):
                said = f'persistentvolumeclaim "{gone[0].claim}" not found'
                no = PlacementOutcome.UNSCHEDULABLE
                return LikelyNode(replace(placement, outcome=no, claims=gone, message=said, reason=""))
            return LikelyNode(placement, cluster.unread)
        pod, snapshot = (pod, cluster.snapshot) if before is None else before(cluster.snapshot)
        known = self._tabled
        # The table is rebuilt only for other nodes or pods.
        if self._table is None or known is None or known.nodes is not snapshot.nodes or known.pods is not snapshot.pods:
            self._table, self._tabled = NodeTable(snapshot.nodes, snapshot.pods), snapshot
        return Situation(
            pod=pod,
            table=self._table,
            snapshot=snapshot,
            framework=self._schedulers.in_version(framework, self._gatherer.versions.scheduler),
            now=self._source.now,
            unread=cluster.unread,
            is_list=self._source.is_plain_list,
        )

    def _placed(
        self,
        pod: Pod,
        framework: Framework,
        before: _Before | None,
        *,
        coming: bool = False,
        gates: bool,
    ) -> LikelyNode:
        """The placement of a pod, after `before` has prepared the pod and the cluster."""
        from podrules.scheduling.placement.likely import gates_of_placement, likely_placement, named_placement

        others: tuple[Features, ...] = ()
        if gates := gates and self._every_node:
            from podrules.scheduling.placement.likely import every_gate

            # The other setting of a gate may need more data.
            others = (every_gate(framework.features),)
        situation = self._situation(pod, framework, before, others)
        if isinstance(situation, LikelyNode):
            return situation
        situation = replace(situation, node_events=self._gatherer.cordon_events(situation.snapshot.nodes))
        if coming and situation.pod.spec.node_name:
            named = named_placement(situation, self._gatherer.reach(situation.pod.spec.node_name))
            return LikelyNode(named, named.assumed)
        placed = likely_placement(situation, every_node=self._every_node)
        # The missing data would also decide.
        found: tuple[AssumedGate, ...] = ()
        if gates and not placed.assumed:
            # Each gate needs a scheduling cycle.
            stated = {field for field, _ in self._gatherer.versions.stated.gates}
            in_rules = partial(self._schedulers.in_version, situation.framework)
            found = tuple(gates_of_placement(situation, placed, stated, in_rules))
        # A future pod has not passed admission.
        written = placed if coming else with_writer_of(placed, pod, self._gatherer)
        return LikelyNode(self._with_reach(written), placed.assumed, gates=found)

    def not_modelled(self, pod: Pod) -> bool:
        """Whether a pod's placement is not modelled because of its group or scheduler; raises as `place` does."""
        return self._schedulers.not_modelled(pod) is not None

    def _with_reach(self, placement: Placement) -> Placement:
        """The placement with the reach of the best nodes, and of the nominated node if pods have to leave it."""
        quiet = (name for name in placement.best if self._gatherer.reach(name, of_many=True).reach.quiet)
        placement, nominated = replace(placement, silent=tuple(quiet)), placement.nominated
        if nominated is None or nominated.reach is None:
            return placement
        reach = self._gatherer.reach(nominated.node)
        # Without the Lease, the conditions of the Node decide.
        if reach.reach is Reach.UNKNOWN:
            return placement
        return replace(placement, nominated=replace(nominated, reach=reach))

    def _not_modelled(self, pod: Pod, reason: str) -> Placement:
        return replace(self._unknown(pod, reason), outcome=PlacementOutcome.NOT_MODELLED)

    def _unknown(self, pod: Pod, reason: str) -> Placement:
        return Placement(
            outcome=PlacementOutcome.UNKNOWN,
            scheduler_name=pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME,
            reason=reason,
            verified=self._gatherer.versions.scheduler.verified,
        )
