"""The results of the rules for one pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.end_report import EndReport
from kubectl_plugin.reports.pod.admission import DryRunReport, OwnWebhookReport
from kubectl_plugin.reports.pod.pod_parts import (
    CgroupReport,
    OOMOnNode,
    OOMUnknown,
    PriorityReport,
    QOSReport,
    ResourcesReport,
    admitted_priority,
    oom_of_pod,
    pod_cgroup,
    pod_qos,
    pod_resources,
    stored_priority,
)
from kubectl_plugin.reports.pod.pod_pressure import PodPressureReport
from kubectl_plugin.reports.pod.pod_status import PodStatusReport, pod_gates, pod_status
from podrules.admission.admitted_pod import AdmittedPod, PodRefusal, RejectedBy
from podrules.admission.resize_room import ResizeRoom
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodStatus
from podrules.api.model.policy import PriorityClass
from podrules.ending.attachment import VolumePosition
from podrules.ending.deleted_pod import Ending, JobTracking, StopPlan, pod_ending, stop_plan
from podrules.ending.stuck import AutoscalerWord, Stuck, UnprocessedPod, unseen
from podrules.ending.timeline.events import PodTimeline, Way
from podrules.ending.volumes import SecondWriters, WriterGuard, claimed_volumes
from podrules.node.reachability import NodeReach, Reach
from podrules.pod.memory_qos import memory_settings
from podrules.pod.oom import MemoryTooLow, memory_too_low
from podrules.pod.platform import Platform, node_platform, pod_platform
from podrules.pod.qos import with_class
from podrules.pod.reading import NOT_ALL_IN_FILE, POLICY_NOT_EVALUATED, WEBHOOK_NOT_ASKED, Owner, UnreadInput
from podrules.pod.resources import allocated_pod
from podrules.pod.termination import EvictionStop, ProbeStop, eviction_stop, probe_stops
from podrules.pod.versions import VersionNote, Versions, version_notes
from podrules.scheduling.placement.eligible import eligible_nodes
from podrules.scheduling.placement.outcome import Placement
from podrules.scheduling.placement.planned import Budgets, PlannedSpec, UnmovedPod
from podrules.scheduling.placement.preemption_victims import PreemptionRecord, Preemptors
from podrules.silent_node.forcing import force_safety_whatever_volumes, pod_force_safety
from podrules.upgrade.version_changes import AssumedGate, assumed_gates
from podrules.workload.safety import ForceSafety, OwnerGuarantee, owner_guarantee


class RefusedField(Struct, frozen=True, rename="camel"):
    """A field for which the API server refuses a manifest in any cluster."""

    rule: str
    """The rule of `kubectl qos lint` that finds it."""
    field: str
    """``spec.template.spec.tolerations[0].operator``; it may be absent."""
    message: str
    """The API server's message, with a full stop."""
    remedy: str
    """Empty: the message says so."""
    source: str
    """The source in Kubernetes: a path in k8s.io/kubernetes."""
    term: str
    """The term for ``kubectl qos why``; empty: none fits."""
    line: int | None
    """The line in its file, of the field or of the nearest field above it; None: unknown."""

    def __str__(self) -> str:
        return f"{self.field}: {self.message.removesuffix('.')}"


class ReviewedPod(NamedTuple):
    """A new pod after the API server's review: validation of its manifest, and admission."""

    admitted: AdmittedPod
    refusals: Sequence[RefusedField]
    """The refused fields of its manifest."""
    dry_run: DryRunReport | None = None
    """The result of the API server's own dry run; None: not requested."""
    refusal: PodRefusal | None = None
    """Why the API server refuses it by the rules of its namespace; None: it does not, or refuses it earlier."""
    warning: str = ""
    """The warning of Pod Security; empty: none."""
    webhook: OwnWebhookReport | None = None
    """What the webhook of kubectl qos does with it; None: the webhook is not called."""

    @property
    def stored(self) -> Pod | str:
        """The pod as the API server stores it, or why it refuses the pod."""
        if self.dry_run is not None and self.dry_run.refusal:
            return self.dry_run.refusal
        if self.refusal is not None and self.refusal.by is RejectedBy.NAMESPACE:
            return self.refusal.message
        if self.refusals:
            return f"the API server refuses {self.refusals[0]}"
        if self.admitted.rejected or self.refusal is None:
            return self.admitted.rejected or self.admitted.pod
        return self.refusal.message


class PodFacts(Struct, frozen=True, kw_only=True):
    """The facts about a pod and the objects that it names."""

    pod: Pod
    """The pod as the API server stores it, or would store it."""
    reviewed: ReviewedPod | None = None
    """The review of a pod that does not exist yet; None for a pod of the cluster."""
    node: Node | None = None
    """The node to which it is bound."""
    reach: NodeReach | None = None
    """Whether that node answers; None: the pod is not bound, or not checked."""
    nodes: Sequence[Node] | None = None
    """For a pod without a node: the nodes where it may be placed; None: they could not be read."""
    existing: Pod | None = None
    """For a manifest: the pod that already has its name."""
    classes: Mapping[str, PriorityClass] | None = None
    """For a pod of the cluster, its PriorityClass by name; None: it could not be read."""
    owners: tuple[Owner, ...] = ()
    """Nearest first."""
    source: str = ""
    versions: Versions = Versions()
    named: bool = False
    """Whether it was requested by name, and not as one of many."""
    preemption_disabled: str = ""
    """The field of its scheduler's profile that disables preemption; empty: enabled, or unknown."""
    guards: tuple[WriterGuard, ...] | None = None
    """What keeps a second writer off its volumes; None: not checked."""

    @property
    def admitted(self) -> AdmittedPod | None:
        """The result of admission; None for a pod of the cluster."""
        return None if self.reviewed is None else self.reviewed.admitted

    @property
    def home(self) -> Node | None:
        """The node that runs it: its own, else the only one where it may be placed; None: unknown."""
        return self.nodes[0] if self.node is None and self.nodes and len(self.nodes) == 1 else self.node


class LikelyNode(Struct, frozen=True):
    """A pod's placement, and the resources that could not be read for it."""

    placement: Placement | None = None
    """None: not requested."""
    unread: tuple[UnreadInput, ...] = ()
    gates: tuple[AssumedGate, ...] = ()
    """The feature gates with defaults that decide about it, if requested."""
    daemon: PlannedSpec | None = None
    """For the pod of a DaemonSet, all its pods on their nodes; None: another owner."""


class PodPosition(Struct, frozen=True):
    """A pod's positions when its node runs short, and the resources that could not be read for them."""

    reports: tuple[PodPressureReport, ...] = ()
    """Empty: not requested, or there is no Linux node."""
    unread: tuple[UnreadInput, ...] = ()
    config: KubeletConfiguration | None = None
    """The configuration of its own node's kubelet; None: it was not read."""


NOT_PLACED: Final = LikelyNode()
NO_POSITION: Final = PodPosition()


class PodReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="PodExplanation"):
    """The report of one pod."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    name: str
    namespace: str
    source: str
    rules_version: str
    """The upstream version for which these rules were verified."""
    server_version: str | None
    """None: unknown."""
    version_notes: tuple[VersionNote, ...] = ()
    """The versions of this cluster for which the rules were not verified."""
    assumed_gates: tuple[AssumedGate, ...] = ()
    """Feature gates with defaults that decide about it; empty: none does, or it is one of many."""
    status: PodStatusReport | None
    """None for a pod that does not exist yet."""
    gates: tuple[str, ...]
    """The scheduling gates of a pod that does not exist yet; an existing pod has its gates in its status."""
    platform: Platform
    """The platform, which determines the rules. Without a Linux kubelet: no oom_score_adj, cgroup or eviction."""
    qos: QOSReport
    oom: tuple[OOMOnNode, ...]
    """One entry for a pod on a node; else the nodes with the least and the most memory where it may be placed."""
    oom_unknown: OOMUnknown | None
    """Why `oom` is empty; None: it is not empty."""
    memory_too_low: MemoryTooLow | None
    """The request at fault, if no value is in range."""
    resources: ResourcesReport
    cgroup: CgroupReport | None
    """None: no Linux kubelet runs it."""
    priority: PriorityReport
    termination: StopPlan
    """When it is deleted."""
    ending: Ending
    """How it ends: when it was deleted, by when its processes end, and what keeps its object."""
    tracking: JobTracking | None = None
    """The Job that must count it first, if only the Job keeps its object."""
    held: UnmovedPod | None = None
    """Why a drain of its cordoned node cannot evict it; None: it can, or not checked."""
    probe_stops: tuple[ProbeStop, ...] = ()
    """How long a container gets after a failed probe, unless the pod is being deleted: it is not probed then."""
    hard_eviction: EvictionStop | None
    """When a Linux kubelet evicts it at a hard threshold; None: it is critical, does not run, or is elsewhere."""
    soft_eviction: EvictionStop | None = None
    """The same at a soft threshold; also None: its kubelet's soft thresholds are unknown, or it has none."""
    owner: OwnerGuarantee
    owners: tuple[Owner, ...]
    unread: tuple[UnreadInput, ...]
    lacks: tuple[UnreadInput, ...]
    """Unread resources that may change the headline; empty: none."""
    preempted: PreemptionRecord | None
    """Its preemption by the scheduler, and the result; None: it was not preempted."""
    placement: Placement | None
    """Where the scheduler would place it; None: not requested, as for a pod that has a node."""
    daemon: PlannedSpec | None
    """The future pods of a DaemonSet on their nodes, as `kubectl qos place` shows them; None: another owner."""
    placement_unread: tuple[UnreadInput, ...]
    """Resources missing for the placement, which is then unknown."""
    pressure: tuple[PodPressureReport, ...]
    """Its positions when its node runs short; for a future pod, one for each assumed usage. Empty: not requested."""
    pressure_unread: tuple[UnreadInput, ...]
    """Resources missing for the positions."""
    timeline: PodTimeline | None
    """The timeline of every way in which it may end; None: not requested."""
    force_safety: ForceSafety | None
    """Whether it can be deleted without grace; None: it does not exist yet, or its volumes were not checked."""
    guards: tuple[WriterGuard, ...]
    """What keeps a second writer off each volume of a pod that has a node. Empty: no volumes, or not checked."""
    moving: tuple[VolumePosition, ...]
    """The locations of volumes that a pod waits for, or that leave with it. Other volumes are omitted."""
    refusals: Sequence[RefusedField]
    """The fields for which the API server refuses a manifest, without `priority.rejected`. Empty: none."""
    dry_run: DryRunReport | None
    """The result of the API server's own dry run, which then decides; None: not requested."""
    refusal: PodRefusal | None = None
    """Why the API server refuses it by the rules of its namespace. None: it does not, or refuses it earlier."""
    warning: str = ""
    """The warning of Pod Security when it is created; empty: none."""
    second_writers: SecondWriters | None = None
    """When two pods of its Deployment write to its volumes; None: it exists, has another owner, or not checked."""
    budgets: Budgets = Budgets()
    """How many pods of a manifest the PodDisruptionBudgets of the same files allow to be evicted, if all are Ready."""
    last_end: EndReport | None = None
    """The last end, as in `kubectl qos died`; None: nothing has ended, or the pod is one of many."""
    resize_room: ResizeRoom | None = None
    """What a deferred resize waits for; None: no shortage is known, or the pod is one of many."""
    stuck: Stuck | None = None
    """The repeating warning about the pod, its claims or its node while it does not start or end; None: none."""
    only_member: bool = False
    """Its StatefulSet has one replica; checked only if its node does not answer."""
    hint: Stuck | None = None
    """The warning that adds to the states of its containers: a failed probe, a missing pull secret."""
    unseen: UnprocessedPod | None = None
    """No scheduler has processed it; None: one has, or none is needed."""
    autoscaler: AutoscalerWord | None = None
    """The last message of an autoscaler about a pod that fits no node; None: none, or the pod is one of many."""
    preemptors: Preemptors = Preemptors()
    webhook: OwnWebhookReport | None = None
    """What the webhook of kubectl qos writes into a future pod; None: the webhook is not called for it."""

    @property
    def refused(self) -> bool:
        """Whether the API server would refuse it."""
        by_server = self.dry_run is not None and self.dry_run.refusal
        return bool(self.refusals or self.priority.rejected or self.refusal or by_server)


def pod_report(
    facts: PodFacts,
    likely: LikelyNode = NOT_PLACED,
    position: PodPosition = NO_POSITION,
    config: KubeletConfiguration | None = None,
) -> PodReport:
    """Apply every rule to one pod. What events and its neighbours show is added later, and then `with_unread`.

    The configuration is that of its node's kubelet; None: it was not read.
    """
    versions, pod, admitted, reviewed = facts.versions, facts.pod, facts.admitted, facts.reviewed
    kubelet = versions.kubelet(facts.home)
    qos = pod_qos(pod, admitted, facts.existing, versions.api_server)
    # The API server stores the class, and the kubelet uses it.
    granted = allocated_pod(with_class(pod, qos.qos_class), features=kubelet)
    platform = pod_platform(pod, facts.node)
    oom = oom_of_pod(granted, facts.node, facts.nodes, versions)
    ends = pod if admitted is None else as_if_running(pod)
    silent = facts.reach is not None and facts.reach.reach.quiet
    quiet = silent or platform is Platform.VIRTUAL_KUBELET
    plan = stop_plan(ends, quiet=quiet)
    disabled, evictable = facts.preemption_disabled, not pod.finished and platform is Platform.LINUX
    nodes: Sequence[Node] = ()
    if facts.home is None:
        # The Linux nodes among which the scheduler chooses, else all where the pod may be placed.
        possible = [node for node in facts.nodes or () if node_platform(node) is Platform.LINUX]
        best = () if likely.placement is None else likely.placement.best
        nodes = [node for node in possible if node.metadata.name in best] or eligible_nodes(pod, possible)
    probed = (ref for ref in ends.containers() if ref.is_sidecar or not ref.is_init)
    stops = (stop for ref in probed for stop, _ in probe_stops(ends, ref))
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
        cgroup=_cgroup(granted, facts, config, nodes) if platform is Platform.LINUX else None,
        priority=(
            stored_priority(pod, facts.classes, preemption_disabled=disabled)
            if admitted is None
            else admitted_priority(admitted, preemption_disabled=disabled)
        ),
        termination=plan,
        ending=pod_ending(ends, quiet=quiet, node=facts.node),
        probe_stops=() if ends.metadata.deletion_timestamp is not None else tuple(stops),
        hard_eviction=eviction_stop(pod) if evictable else None,
        soft_eviction=(
            eviction_stop(pod, max_pod_grace_period_seconds=config.eviction_max_pod_grace_period)
            if evictable and config is not None and config.eviction_soft
            else None
        ),
        owner=owner_guarantee(pod),
        owners=facts.owners,
        assumed_gates=(
            (
                *assumed_gates(pod, facts.home, versions, config, admitted=admitted),
                *likely.gates,
            )
            if facts.named
            else ()
        ),
        version_notes=version_notes(versions, (facts.home,) if facts.home else nodes if facts.named else ()),
        unread=(),
        lacks=(),
        preempted=None,
        placement=likely.placement,
        daemon=likely.daemon,
        placement_unread=likely.unread,
        pressure=position.reports,
        pressure_unread=position.unread,
        timeline=None,
        force_safety=_force_safety(facts, platform, plan) if admitted is None else None,
        guards=facts.guards or (),
        moving=(),
        refusals=reviewed.refusals if reviewed else (),
        dry_run=reviewed.dry_run if reviewed else None,
        refusal=reviewed.refusal if reviewed else None,
        warning=reviewed.warning if reviewed else "",
        unseen=unseen(pod) if admitted is None else None,
        webhook=reviewed.webhook if reviewed else None,
    )


def with_unread(
    report: PodReport, facts: PodFacts, unread: tuple[UnreadInput, ...], *, events_decide: bool = False
) -> PodReport:
    """A finished report with the resources that could not be read; events may show that the pod is stuck."""
    lacks = _lacks(report, facts, unread, events_decide=events_decide)
    return replace(report, unread=unread, lacks=tuple(dict.fromkeys(lacks)))


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
"""Kinds of objects by which the API server changes or refuses a new pod."""
_VOLUMES: Final = frozenset(
    {
        "persistentvolumeclaims",
        "persistentvolumes",
        "storageclasses.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
        "csidrivers.storage.k8s.io",
    }
)


def _lacks(
    report: PodReport, facts: PodFacts, unread: Sequence[UnreadInput], *, events_decide: bool
) -> Iterator[UnreadInput]:
    """Unread resources that may change the headline."""
    pod, placement = facts.pod, report.placement
    by_kind = [one for one in unread if one.may_exist]
    refusal, admitted = report.refusal, facts.admitted
    if report.refusals or (admitted is not None and admitted.rejected):
        return
    if refusal is not None:
        # With the defaults of a LimitRange, a pod may have the values that a quota requires.
        yield from (one for one in by_kind if one.resource == LIMIT_RANGES and refusal.may_be_defaulted)
        # The class of the webhook decides which quotas count it.
        yield from (one for one in by_kind if one.resource == MUTATING_WEBHOOKS)
        yield from () if report.webhook is None else report.webhook.lacks
        return
    if admitted is not None:
        # The class that is missing in the file may be that of another pod.
        known = admitted.priority_classes is not None
        others = known and UnreadInput("get", PRIORITY_CLASSES, None, NOT_ALL_IN_FILE)
        yield from (one for one in by_kind if one.resource in ADMISSION and one != others)
        yield from () if report.webhook is None else report.webhook.lacks
    if pod.finished and pod.metadata.deletion_timestamp is None:
        return
    if events_decide and report.stuck is None:
        yield from (one for one in by_kind if one.resource == "events")
    yield from (one for preemptor in report.preemptors.found for one in preemptor.assumed)
    timeline = report.timeline
    if (
        timeline is not None
        and not timeline.budgets_known
        and any(way.way is Way.DRAIN and way.events for way in timeline.ways[:1])
    ):
        yield from (one for one in by_kind if one.resource == "poddisruptionbudgets.policy")
    yield from () if placement is None else placement.assumed
    if not pod.spec.node_name:
        yield from report.placement_unread
        yield from () if report.daemon is None else report.daemon.assumed
    elif (facts.node is None and facts.admitted is None) or any(
        entry.reach is Reach.UNKNOWN and entry.node != pod.spec.node_name for entry in report.moving
    ):
        yield from (one for one in by_kind if one.resource == "nodes")
    waits = pod.status.phase == "Pending" and pod.metadata.deletion_timestamp is None
    if pod.spec.node_name and waits and claimed_volumes(pod):
        yield from (one for one in by_kind if one.resource in _VOLUMES)


def _cgroup(
    granted: Pod, facts: PodFacts, config: KubeletConfiguration | None, likely: Sequence[Node]
) -> CgroupReport | None:
    """The cgroups by the rules of its kubelet; for a pod that may be placed on several nodes, of the likely one."""
    home = facts.home
    if config is not None and not config.cgroups_per_qos:
        return None
    features = facts.versions.kubelet(home, config)
    settings = memory_settings(home, config, features)
    if not likely:
        return pod_cgroup(granted, features, settings, root=() if config is None else config.root_parts)
    kubelets = [facts.versions.kubelet(node) for node in likely]
    as_on = likely[0].metadata.name if len(set(kubelets)) > 1 else ""
    return pod_cgroup(granted, kubelets[0], settings, as_on)


def _force_safety(facts: PodFacts, platform: Platform, plan: StopPlan) -> ForceSafety | None:
    reach = facts.reach
    if reach is not None and platform is Platform.VIRTUAL_KUBELET:
        reach = replace(reach, provider=True)
    guarantee = owner_guarantee(facts.pod).guarantee
    if facts.guards is None:
        return force_safety_whatever_volumes(guarantee, plan, reach)
    return pod_force_safety(guarantee, plan, reach, facts.guards)


def as_if_running(pod: Pod) -> Pod:
    """A pod that does not exist yet, as if it ran: bound, and without the status that its manifest may have."""
    return replace(pod, spec=replace(pod.spec, node_name=pod.spec.node_name or "a-node"), status=PodStatus())
