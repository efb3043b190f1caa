"""What the rules say of one pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.died.end_report import EndReport
from kubectl_plugin.reports.pod.dry_run import DryRunReport
from kubectl_plugin.reports.pod.oom import OOMOnNode, OOMUnknown, oom_of_pod
from kubectl_plugin.reports.pod.own_webhook import OwnWebhookReport
from kubectl_plugin.reports.pod.pod_cgroup import CgroupReport, pod_cgroup
from kubectl_plugin.reports.pod.pod_pressure import PodPressureReport
from kubectl_plugin.reports.pod.pod_priority import PriorityReport, admitted_priority, stored_priority
from kubectl_plugin.reports.pod.pod_qos import QOSReport, pod_qos
from kubectl_plugin.reports.pod.pod_resources import ResourcesReport, pod_resources
from kubectl_plugin.reports.pod.pod_status import PodStatusReport, pod_gates, pod_status
from podrules.admission.admitted_pod import AdmittedPod, PodRefusal
from podrules.admission.resize_room import ResizeRoom
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodStatus
from podrules.api.model.policy import PriorityClass
from podrules.ending.attachment import VolumePosition
from podrules.ending.deleted_pod import Ending, JobTracking, StopPlan, pod_ending, stop_plan
from podrules.ending.second_writers import SecondWriters
from podrules.ending.stuck import AutoscalerWord, Stuck, Unseen, unseen
from podrules.ending.timeline.events import PodTimeline, Way
from podrules.ending.volumes import WriterGuard, claimed_volumes
from podrules.node.reachability import NodeReach, Reach
from podrules.pod.memory_qos import memory_settings
from podrules.pod.oom import MemoryTooLow, memory_too_low
from podrules.pod.platform import Platform, node_platform, pod_platform
from podrules.pod.qos import with_class
from podrules.pod.reading import NOT_ALL_IN_FILE, POLICY_NOT_EVALUATED, WEBHOOK_NOT_ASKED, Owner, Unread
from podrules.pod.resources import allocated_pod
from podrules.pod.termination import EvictionStop, ProbeStop, eviction_stop, probe_stops
from podrules.pod.versions import VersionNote, Versions, version_notes
from podrules.scheduling.placement.eligible import eligible_nodes
from podrules.scheduling.placement.outcome import Placement
from podrules.scheduling.placement.planned import Budgets, PlannedSpec, Unmoved
from podrules.scheduling.placement.preemption_victims import Preempted, Preemptors
from podrules.silent_node.forcing import force_safety_whatever_volumes, pod_force_safety
from podrules.upgrade.version_changes import AssumedGate, assumed_gates
from podrules.workload.safety import ForceSafety, OwnerGuarantee, owner_guarantee

__all__ = [
    "ADMISSION",
    "LIMIT_RANGES",
    "PRIORITY_CLASSES",
    "RUNTIME_CLASSES",
    "LikelyNode",
    "PodFacts",
    "PodInCluster",
    "PodPosition",
    "PodReport",
    "RefusedField",
    "as_if_running",
    "pod_report",
]


class PodFacts(Struct, frozen=True, kw_only=True):
    """What is known of a pod and of the objects that it names."""

    pod: Pod
    """As the API server stores it, or would store it."""
    admitted: AdmittedPod | None = None
    """For a pod that does not exist yet, how it came to that; None for a pod of the cluster."""
    node: Node | None = None
    """The node to which it is bound."""
    reach: NodeReach | None = None
    """Whether that node answers; None: the pod is bound to none, or nobody asked."""
    nodes: Sequence[Node] | None = None
    """For a pod without a node: the nodes it may come to; None when they could not be read."""
    existing: Pod | None = None
    """For a manifest: the pod that already has its name."""
    classes: Mapping[str, PriorityClass] | None = None
    """For a pod of the cluster, its PriorityClass by name; None when it could not be read."""
    refusals: Sequence[RefusedField] = ()
    """The refused fields of a manifest."""
    dry_run: DryRunReport | None = None
    """What the API server's own dry run says of it; None: it was not asked for one."""
    refusal: PodRefusal | None = None
    """Why the API server refuses a pod to come for what holds in its namespace."""
    warning: str = ""
    """The warning of Pod Security when a pod to come is created."""
    webhook: OwnWebhookReport | None = None
    """What the webhook of kubectl qos does with a pod to come; None: it is not asked."""
    owners: tuple[Owner, ...] = ()
    """Nearest first."""
    source: str = ""
    versions: Versions = Versions()
    named: bool = False
    """Whether it was asked for by its name, and not as one of many."""
    preemption_disabled: str = ""
    """The field of its scheduler's profile by which that preempts nobody; empty: it does, or is not known."""
    guards: tuple[WriterGuard, ...] | None = None
    """Who keeps a second writer off its volumes; None: nobody asked."""

    @property
    def home(self) -> Node | None:
        """The node whose kubelet runs it: its own, else the only one to which it may come; None: nobody knows."""
        return self.nodes[0] if self.node is None and self.nodes and len(self.nodes) == 1 else self.node


class LikelyNode(Struct, frozen=True):
    """A pod's placement, and what could not be read for it."""

    placement: Placement | None = None
    """None: it was not asked for."""
    unread: tuple[Unread, ...] = ()
    gates: tuple[AssumedGate, ...] = ()
    """The feature gates whose defaults decide about it, if that was asked for."""
    daemon: PlannedSpec | None = None
    """For the pod of a DaemonSet, all of them on their nodes; None: it is another's."""


class PodPosition(Struct, frozen=True):
    """A pod's positions when its node runs short, and what could not be read for them."""

    reports: tuple[PodPressureReport, ...] = ()
    """Empty: they were not asked for, or there is no Linux node."""
    unread: tuple[Unread, ...] = ()
    config: KubeletConfiguration | None = None
    """What the kubelet of its own node goes by; None: it was not read."""


class PodInCluster(Struct, frozen=True, kw_only=True):
    """What the rest of the cluster means for a pod, as far as it was asked for."""

    preempted: Preempted | None = None
    """For a pod that the scheduler preempted."""
    moving: tuple[VolumePosition, ...] = ()
    """Volumes that are not where they belong."""
    likely: LikelyNode = LikelyNode()
    position: PodPosition = PodPosition()
    timeline: PodTimeline | None = None
    """None: it was not asked for."""
    config: KubeletConfiguration | None = None
    """What the kubelet of its node goes by; None: it was not read."""
    resize_room: ResizeRoom | None = None
    """For a deferred resize; None: it has none, there is room, or it is one of many."""
    last_end: EndReport | None = None
    """What ended it, or a container of it, last; None: nothing has ended, or it is one of many."""
    autoscaler: AutoscalerWord | None = None
    """For a pod that no node takes and that was named."""
    events_decide: bool = False
    """Whether events may show that it is stuck."""
    stuck: Stuck | None = None
    hint: Stuck | None = None
    """The warning that adds to the states of its containers, where it was asked for by name."""
    preemptors: Preemptors = Preemptors()
    only_member: bool = False


class RefusedField(Struct, frozen=True, rename="camel"):
    """A field for which the API server refuses a manifest, whatever the cluster is like."""

    rule: str
    """By which `kubectl qos lint` finds it."""
    field: str
    """``spec.template.spec.tolerations[0].operator``; it may be absent."""
    message: str
    """The API server's words, with a full stop."""
    remedy: str
    """Empty: the words say it."""
    source: str
    """Where Kubernetes says so: a path in k8s.io/kubernetes."""
    term: str
    """What ``kubectl qos why`` explains; empty: nothing fits."""
    line: int | None
    """In its file, of the field or of what is nearest above it; None: it is not known."""

    def __str__(self) -> str:
        return f"{self.field}: {self.message.removesuffix('.')}"


class PodReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="PodExplanation"):
    """Everything about one pod."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    name: str
    namespace: str
    source: str
    rules_version: str
    """The upstream version whose code these rules were held against."""
    server_version: str | None
    """None: it is not known."""
    version_notes: tuple[VersionNote, ...] = ()
    """The versions of this cluster that the rules were not held against."""
    assumed_gates: tuple[AssumedGate, ...] = ()
    """Feature gates whose defaults decide about it; empty: none does, or it is one of many."""
    status: PodStatusReport | None
    """None for a pod that does not exist yet."""
    gates: tuple[str, ...]
    """The scheduling gates of a pod that does not exist yet; an existing pod has its gates in its status."""
    platform: Platform
    """The platform whose rules hold. Without a Linux kubelet there is no oom_score_adj, cgroup or eviction."""
    qos: QOSReport
    oom: tuple[OOMOnNode, ...]
    """One entry for a pod on a node; else the nodes with the least and the most memory of those that it may come to."""
    oom_unknown: OOMUnknown | None
    """Why `oom` is empty; None: it is not."""
    memory_too_low: MemoryTooLow | None
    """Where no value is in range, the request that is at fault."""
    resources: ResourcesReport
    cgroup: CgroupReport | None
    """None where no Linux kubelet runs it."""
    priority: PriorityReport
    termination: StopPlan
    """When it is deleted."""
    ending: Ending
    """How it ends: when it was deleted, by when its processes are gone, and what keeps its object."""
    tracking: JobTracking | None = None
    """The Job that has to count it first, where only that keeps its object."""
    held: Unmoved | None = None
    """Why a drain of its cordoned node cannot evict it; None: it can, or nobody asked."""
    probe_stops: tuple[ProbeStop, ...] = ()
    """What its probes give its containers, unless it is being deleted: it is not probed then."""
    hard_eviction: EvictionStop | None
    """When a Linux kubelet evicts it at a hard threshold; None: it is critical, or does not run, or not there."""
    soft_eviction: EvictionStop | None = None
    """The same at a soft threshold; None, too: its kubelet's are not known, or it has none."""
    owner: OwnerGuarantee
    owners: tuple[Owner, ...]
    unread: tuple[Unread, ...]
    lacks: tuple[Unread, ...]
    """What could not be read and may change the headline; empty: nothing."""
    preempted: Preempted | None
    """By whom the scheduler preempted it, and what came of it; None: it did not."""
    placement: Placement | None
    """Where the scheduler would put it; None: it was not asked for, as for a pod that has a node."""
    daemon: PlannedSpec | None
    """The pods of a DaemonSet to come on their nodes, as `kubectl qos place` has them; None: it is another's."""
    placement_unread: tuple[Unread, ...]
    """What the placement lacks, which is then unknown."""
    pressure: tuple[PodPressureReport, ...]
    """Its places when its node runs short; of a pod to come one for each assumed usage. Empty: not asked for."""
    pressure_unread: tuple[Unread, ...]
    """What those lack."""
    timeline: PodTimeline | None
    """What happens when, in every way in which it may end; None: it was not asked for."""
    force_safety: ForceSafety | None
    """Whether it can be deleted without grace; None: it does not exist yet, or nobody asked about its volumes."""
    guards: tuple[WriterGuard, ...]
    """Who keeps a second writer off each volume of a pod that has a node. Empty: it has none, or nobody asked."""
    moving: tuple[VolumePosition, ...]
    """Where the volumes are that a pod waits for, or that leave with it. Other volumes are left out."""
    refusals: Sequence[RefusedField]
    """The fields for which the API server refuses a manifest, without `priority.rejected`. Empty: none."""
    dry_run: DryRunReport | None
    """What the API server's own dry run says, which then decides; None: it was not asked for one."""
    refusal: PodRefusal | None = None
    """Why the API server refuses it for what holds in its namespace. None: it does not, or refuses it before."""
    warning: str = ""
    """The warning of Pod Security when it is created; empty: none."""
    second_writers: SecondWriters | None = None
    """When two pods of its Deployment write to its volumes; None: it exists, or is another's, or nobody asked."""
    budgets: Budgets = Budgets()
    """What the PodDisruptionBudgets of the same files let go of all pods of a manifest, if each is Ready."""
    last_end: EndReport | None = None
    """As `kubectl qos died` tells it; None: nothing has ended, or the pod is one of many."""
    resize_room: ResizeRoom | None = None
    """What a deferred resize waits for; None: nothing is known to lack, or the pod is one of many."""
    stuck: Stuck | None = None
    """The warning that repeats while it does not start or end, about it, its claims or its node; None: none does."""
    only_member: bool = False
    """Its StatefulSet has one replica; asked only if its node does not answer."""
    hint: Stuck | None = None
    """The warning that adds to the states of its containers: a failed probe, a pull secret that is missing."""
    unseen: Unseen | None = None
    """That no scheduler has looked at it; None: one has, or none need."""
    autoscaler: AutoscalerWord | None = None
    """What an autoscaler said last about a pod that no node takes; None: none did, or the pod is one of many."""
    preemptors: Preemptors = Preemptors()
    webhook: OwnWebhookReport | None = None
    """What the webhook of kubectl qos writes into a pod to come; None: the webhook is not asked about it."""

    @property
    def refused(self) -> bool:
        """Whether the API server would not make it."""
        by_server = self.dry_run is not None and self.dry_run.refusal
        return bool(self.refusals or self.priority.rejected or self.refusal or by_server)


def pod_report(facts: PodFacts, cluster: PodInCluster, unread: tuple[Unread, ...] = ()) -> PodReport:
    """Ask every rule about one pod, and say what could not be read for the answer."""
    versions, pod, admitted = facts.versions, facts.pod, facts.admitted
    kubelet = versions.kubelet(facts.home)
    qos = pod_qos(pod, admitted, facts.existing, versions.api_server)
    # The API server stores the class, and the kubelet goes by it.
    granted = allocated_pod(with_class(pod, qos.qos_class), features=kubelet)
    platform = pod_platform(pod, facts.node)
    oom = oom_of_pod(granted, facts.node, facts.nodes, versions)
    ends = pod if admitted is None else as_if_running(pod)
    silent = facts.reach is not None and facts.reach.reach.quiet
    quiet = silent or platform is Platform.VIRTUAL_KUBELET
    plan = stop_plan(ends, quiet=quiet)
    disabled, evictable = facts.preemption_disabled, not pod.finished and platform is Platform.LINUX
    likely = [] if facts.home is not None else _likely_nodes(facts, cluster.likely.placement)
    return PodReport(
        name=pod.metadata.name or pod.metadata.generate_name,
        namespace=pod.metadata.namespace,
        source=facts.source,
        rules_version=versions.rules_version,
        server_version=versions.server_version,
        status=pod_status(pod, facts.node, facts.reach) if admitted is None else None,
        gates=() if admitted is None else pod_gates(pod),
        platform=platform,
        qos=qos,
        oom=() if isinstance(oom, OOMUnknown) else oom,
        oom_unknown=oom if isinstance(oom, OOMUnknown) else None,
        memory_too_low=memory_too_low(granted, features=kubelet) if oom is OOMUnknown.NOT_IN_RANGE else None,
        resources=pod_resources(pod, facts.node, versions),
        cgroup=_cgroup(granted, facts, cluster, likely) if platform is Platform.LINUX else None,
        priority=(
            stored_priority(pod, facts.classes, preemption_disabled=disabled)
            if admitted is None
            else admitted_priority(admitted, preemption_disabled=disabled)
        ),
        termination=plan,
        ending=pod_ending(ends, quiet=quiet, node=facts.node),
        probe_stops=() if ends.metadata.deletion_timestamp is not None else tuple(_probe_stops(ends)),
        hard_eviction=eviction_stop(pod) if evictable else None,
        soft_eviction=(
            eviction_stop(pod, max_pod_grace_period_seconds=cluster.config.eviction_max_pod_grace_period)
            if evictable and cluster.config is not None and cluster.config.eviction_soft
            else None
        ),
        owner=owner_guarantee(pod),
        owners=facts.owners,
        assumed_gates=(
            (
                *assumed_gates(pod, facts.home, versions, cluster.config, admitted=admitted),
                *cluster.likely.gates,
            )
            if facts.named
            else ()
        ),
        version_notes=version_notes(versions, (facts.home,) if facts.home else likely if facts.named else ()),
        unread=unread,
        lacks=tuple(dict.fromkeys(_lacks(facts, cluster, unread))),
        preempted=cluster.preempted,
        placement=cluster.likely.placement,
        daemon=cluster.likely.daemon,
        placement_unread=(
            *cluster.likely.unread,
            *(one for preemptor in cluster.preemptors.found for one in preemptor.assumed),
        ),
        pressure=cluster.position.reports,
        pressure_unread=cluster.position.unread,
        timeline=cluster.timeline,
        force_safety=_force_safety(facts, platform, plan) if admitted is None else None,
        guards=facts.guards or (),
        moving=cluster.moving,
        refusals=facts.refusals,
        dry_run=facts.dry_run,
        refusal=facts.refusal,
        warning=facts.warning,
        last_end=cluster.last_end,
        resize_room=cluster.resize_room,
        stuck=cluster.stuck,
        hint=cluster.hint,
        only_member=cluster.only_member,
        autoscaler=cluster.autoscaler,
        preemptors=cluster.preemptors,
        unseen=unseen(pod) if admitted is None else None,
        webhook=facts.webhook,
    )


LIMIT_RANGES: Final = "limitranges"
PRIORITY_CLASSES: Final = "priorityclasses.scheduling.k8s.io"
RUNTIME_CLASSES: Final = "runtimeclasses.node.k8s.io"
MUTATING_WEBHOOKS: Final = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
ADMISSION: Final = frozenset(
    {
        *(PRIORITY_CLASSES, LIMIT_RANGES, "resourcequotas", "namespaces", RUNTIME_CLASSES),
        *(MUTATING_WEBHOOKS, WEBHOOK_NOT_ASKED.resource, POLICY_NOT_EVALUATED.resource),
    }
)
"""Kinds by which the API server changes or refuses a new pod."""
_VOLUMES: Final = frozenset(
    {
        "persistentvolumeclaims",
        "persistentvolumes",
        "storageclasses.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
        "csidrivers.storage.k8s.io",
    }
)


def _lacks(facts: PodFacts, cluster: PodInCluster, unread: Sequence[Unread]) -> Iterator[Unread]:
    """What was not read and may change the headline."""
    pod, placement = facts.pod, cluster.likely.placement
    by_kind = [one for one in unread if one.may_exist]
    refusal, admitted = facts.refusal, facts.admitted
    if facts.refusals or (admitted is not None and admitted.rejected):
        return
    if refusal is not None:
        # With the defaults of a LimitRange a pod may have what a quota asks for.
        yield from (one for one in by_kind if one.resource == LIMIT_RANGES and refusal.may_be_defaulted)
        # The class of the webhook decides which quotas count it.
        yield from (one for one in by_kind if one.resource == MUTATING_WEBHOOKS)
        yield from () if facts.webhook is None else facts.webhook.lacks
        return
    if admitted is not None:
        # The class that is not in the file may be that of another pod.
        known = admitted.priority_classes is not None
        others = known and Unread("get", PRIORITY_CLASSES, None, NOT_ALL_IN_FILE)
        yield from (one for one in by_kind if one.resource in ADMISSION and one != others)
        yield from () if facts.webhook is None else facts.webhook.lacks
    if pod.finished and pod.metadata.deletion_timestamp is None:
        return
    if cluster.events_decide and cluster.stuck is None:
        yield from (one for one in by_kind if one.resource == "events")
    yield from (one for preemptor in cluster.preemptors.found for one in preemptor.assumed)
    timeline = cluster.timeline
    if (
        timeline is not None
        and not timeline.budgets_known
        and any(way.way is Way.DRAIN and way.events for way in timeline.ways[:1])
    ):
        yield from (one for one in by_kind if one.resource == "poddisruptionbudgets.policy")
    yield from () if placement is None else placement.assumed
    if not pod.spec.node_name:
        yield from cluster.likely.unread
        yield from () if cluster.likely.daemon is None else cluster.likely.daemon.assumed
    elif (facts.node is None and facts.admitted is None) or any(
        entry.reach is Reach.UNKNOWN and entry.node != pod.spec.node_name for entry in cluster.moving
    ):
        yield from (one for one in by_kind if one.resource == "nodes")
    waits = pod.status.phase == "Pending" and pod.metadata.deletion_timestamp is None
    if pod.spec.node_name and waits and claimed_volumes(pod):
        yield from (one for one in by_kind if one.resource in _VOLUMES)


def _probe_stops(pod: Pod) -> Iterator[ProbeStop]:
    for ref in pod.containers():
        if ref.is_sidecar or not ref.is_init:
            yield from (stop for stop, _ in probe_stops(pod, ref))


def _cgroup(granted: Pod, facts: PodFacts, cluster: PodInCluster, likely: Sequence[Node]) -> CgroupReport | None:
    """The cgroups by the rules of its kubelet; of a pod that may come to several, by those of the likely one."""
    home, config = facts.home, cluster.config
    if config is not None and not config.cgroups_per_qos:
        return None
    features = facts.versions.kubelet(home, config)
    settings = memory_settings(home, config, features)
    if not likely:
        return pod_cgroup(granted, features, settings, root=() if config is None else config.root_parts)
    kubelets = [facts.versions.kubelet(node) for node in likely]
    as_on = likely[0].metadata.name if len(set(kubelets)) > 1 else ""
    return pod_cgroup(granted, kubelets[0], settings, as_on)


def _likely_nodes(facts: PodFacts, placement: Placement | None) -> Sequence[Node]:
    """The Linux nodes of which the scheduler takes one, else all to which the pod may come."""
    nodes = [node for node in facts.nodes or () if node_platform(node) is Platform.LINUX]
    best = () if placement is None else placement.best
    return [node for node in nodes if node.metadata.name in best] or eligible_nodes(facts.pod, nodes)


def _force_safety(facts: PodFacts, platform: Platform, plan: StopPlan) -> ForceSafety | None:
    reach = facts.reach
    if reach is not None and platform is Platform.VIRTUAL_KUBELET:
        reach = replace(reach, provider=True)
    guarantee = owner_guarantee(facts.pod).guarantee
    if facts.guards is None:
        return force_safety_whatever_volumes(guarantee, plan, reach)
    return pod_force_safety(guarantee, plan, reach, facts.guards)


def as_if_running(pod: Pod) -> Pod:
    """A pod that does not exist yet as if it ran: bound, and without the status that its manifest may have."""
    return replace(pod, spec=replace(pod.spec, node_name=pod.spec.node_name or "a-node"), status=PodStatus())
