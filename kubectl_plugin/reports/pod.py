"""What the rules say of one pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.node_facts import NodeFacts, node_facts
from kubectl_plugin.reports.oom import OOMOnNode, OOMUnknown, oom_of_pod
from kubectl_plugin.reports.pending_resize import pending_resize, resize_message
from kubectl_plugin.reports.pod_pressure import PodPressureReport
from podrules import cgroup
from podrules.attachment import VolumePosition
from podrules.cluster.gather import Owner
from podrules.cluster.source import Unread
from podrules.defaults import (
    DefaultedField,
    apply_limit_ranges,
    apply_runtime_class,
    default_pod,
    defaulted_fields,
)
from podrules.ending import Ending, StopPlan, pod_ending, stop_plan
from podrules.features import REFERENCE, REFERENCE_VERSION, Features
from podrules.forcing import force_safety_whatever_volumes, pod_force_safety
from podrules.health import Health, health
from podrules.model.base import ResourceList
from podrules.model.node import Node
from podrules.model.pod import Pod, PodQOSClass, PodStatus
from podrules.model.policy import LimitRange, PriorityClass, RuntimeClass
from podrules.oom import MemoryTooLow, memory_too_low
from podrules.placement.outcome import Placement
from podrules.placement.preemption_victims import Preempted
from podrules.platform import Platform, pod_platform
from podrules.priority import SYSTEM_PRIORITY_CLASSES, PrioritySource, admit_pod_create, is_reserved_class_name
from podrules.qos import QOSExplanation, explain_qos, get_pod_qos, resize_rejection
from podrules.reachability import NodeReach
from podrules.resources import (
    CPU,
    MEMORY,
    PodResourcesOptions,
    SchedulerRequest,
    allocated_pod,
    pod_limits,
    pod_requests,
    scheduler_options,
    scheduler_request,
)
from podrules.safety import ForceSafety, OwnerGuarantee, owner_guarantee
from podrules.termination import EvictionStop, eviction_stop
from podrules.timeline.events import PodTimeline
from podrules.volumes import WriterGuard

__all__ = [
    "CgroupReport",
    "ContainerCgroup",
    "PodFacts",
    "PodReport",
    "PodStatusReport",
    "PriorityReport",
    "QOSReport",
    "RefusedField",
    "ResizeReport",
    "ResourcesReport",
    "as_if_running",
    "pod_report",
    "stored_pod",
]


class PodFacts(Struct, frozen=True, kw_only=True):
    """All that a report is made from."""

    pod: Pod
    from_manifest: bool
    """The pod is as its author wrote it; else as the API server keeps it."""
    node: Node | None = None
    """The node to which it is bound."""
    reach: NodeReach | None = None
    """Whether that answers; None: it is bound to none, or nobody asked."""
    nodes: Sequence[Node] | None = None
    """For a pod without a node: the nodes it may come to; None when they could not be read."""
    limit_ranges: Sequence[LimitRange] | None = None
    """For a pod that is not made yet: those of its namespace; None when they could not be read."""
    runtime_class: RuntimeClass | None = None
    """The one that such a pod names."""
    existing: Pod | None = None
    """For a manifest: the pod that already has its name."""
    classes: Mapping[str, PriorityClass] | None = None
    """By name; None when they could not be read."""
    refusals: tuple[RefusedField, ...] = ()
    """Of a manifest."""
    owners: tuple[Owner, ...] = ()
    """Nearest first."""
    source: str = ""
    git_version: str | None = None
    features: Features = REFERENCE
    unread: tuple[Unread, ...] = ()
    preempted: Preempted | None = None
    """For a pod that the scheduler preempted."""
    preemption_disabled: str = ""
    """The field of its scheduler's profile by which that preempts nobody; empty: it does, or is not known."""
    placement: Placement | None = None
    """None: it was not asked for."""
    placement_unread: tuple[Unread, ...] = ()
    pressure: tuple[PodPressureReport, ...] = ()
    """Its places when its node runs short, where they were asked for."""
    pressure_unread: tuple[Unread, ...] = ()
    timeline: PodTimeline | None = None
    """None: it was not asked for."""
    moving: tuple[VolumePosition, ...] = ()
    """Volumes that are not where they belong."""
    guards: tuple[WriterGuard, ...] | None = None
    """Who keeps a second writer off its volumes; None: nobody asked."""


class ContainerEnd(Struct, frozen=True, rename="camel"):
    """How a container ended last."""

    container: str
    reason: str
    exit_code: int
    finished_at: str | None
    restarts: int


class PodStatusReport(Struct, frozen=True, rename="camel"):
    """What is the case now."""

    phase: str
    reason: str
    message: str
    node: NodeFacts | None
    created: str | None
    not_ready_since: str | None
    """When its Ready condition became False; None: it is not."""
    unschedulable: str | None
    """kube-scheduler's own words from the PodScheduled condition."""
    gates: tuple[str, ...]
    deletion_timestamp: str | None
    """The instant by which the pod should be gone; it was deleted `deletion_grace_period_seconds` before."""
    deletion_grace_period_seconds: int | None
    finalizers: tuple[str, ...]
    """What keeps the object after its processes ended."""
    disruption: str | None
    """Message of the DisruptionTarget condition."""
    resize: str | None
    """``Deferred``, ``Infeasible`` or ``InProgress`` while a resize is not done."""
    resize_message: str
    """What the kubelet says of it, with ``Error`` where it tried and failed; empty: nothing."""
    ends: tuple[ContainerEnd, ...]
    health: Health
    """What is wrong with which container."""


class ResizeReport(Struct, frozen=True, rename="camel"):
    """Whether the pod that exists could become the one in the manifest by a resize in place."""

    existing_class: PodQOSClass
    rejected: str | None
    """Upstream's words; None: the class would stay."""


class QOSReport(Struct, frozen=True, rename="camel"):
    """QoS class (Q1)."""

    qos_class: PodQOSClass
    computed_class: PodQOSClass
    """What the resources give now: differs from the class only where something is wrong with the status."""
    explanation: QOSExplanation
    manifest_class: PodQOSClass | None
    """For a manifest: the class of the resources as written, before the API server's defaults."""
    defaulted: tuple[DefaultedField, ...]
    resize: ResizeReport | None
    """None without a pod of that name, or for one that is explained itself."""


class ResourcesReport(Struct, frozen=True, rename="camel"):
    """What the pod asks for (Q4)."""

    requests: dict[str, str]
    limits: dict[str, str]
    scheduler: SchedulerRequest
    allocated: dict[str, str] | None
    """Requests that the kubelet has granted, where they differ: a resize is not done."""
    node_allocatable: dict[str, str] | None


class ContainerCgroup(Struct, frozen=True, rename="camel"):
    """Values that the kubelet asks of the runtime for one container."""

    container: str
    config: cgroup.ResourceConfig
    cpu_weight: int | None
    """cgroup v2, libcontainer's conversion."""


class CgroupReport(Struct, frozen=True, rename="camel"):
    """The pod's cgroups (Q5)."""

    cgroupfs: str | None
    """None for a pod that does not exist yet: its name holds the uid."""
    systemd: str | None
    parent: str
    config: cgroup.ResourceConfig
    cpu_weight: int | None
    """cgroup v2, the kubelet's conversion."""
    containers: tuple[ContainerCgroup, ...]


class PriorityReport(Struct, frozen=True, rename="camel"):
    """Priority (P1, P2)."""

    priority: int | None
    class_name: str
    preemption_policy: str | None
    source: PrioritySource | None
    class_value_now: int | None
    """The class's value today; None when it does not exist or is not known."""
    class_exists: bool | None
    rejected: str | None
    """Why the API server would refuse the pod."""
    preemption_disabled: str = ""
    """The field of its scheduler's profile by which that preempts nobody; empty: it does, or is not known."""


class RefusedField(Struct, frozen=True, rename="camel"):
    """A field for which the API server refuses a manifest, whatever the cluster is like."""

    rule: str
    """By which `kubectl qos lint` finds it."""
    field: str
    """``spec.template.spec.tolerations[0].operator``; it may be absent."""
    message: str
    remedy: str
    source: str
    """Where Kubernetes says so: a path in k8s.io/kubernetes."""
    term: str
    """What ``kubectl qos why`` explains; empty: nothing fits."""

    def __str__(self) -> str:
        return f"{self.field}: {self.message.removesuffix('.')}"


class PodReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="PodExplanation"):
    """Everything about one pod."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    name: str
    namespace: str
    source: str
    rules_version: str = REFERENCE_VERSION
    server_version: str | None
    status: PodStatusReport | None
    """None for a pod that does not exist yet."""
    gates: tuple[str, ...]
    """Of a pod that does not exist yet, its scheduling gates; those of one that does stand in its status."""
    platform: Platform
    """Whose rules hold: without a Linux kubelet there is neither oom_score_adj nor cgroup nor its eviction."""
    qos: QOSReport
    oom: tuple[OOMOnNode, ...]
    """One entry for a pod on a node; else the nodes with the least and the most memory of those that it may come to."""
    oom_unknown: OOMUnknown | None
    memory_too_low: MemoryTooLow | None
    """Where no value is in range, the request that is at fault."""
    """Why `oom` is empty; None: it is not."""
    resources: ResourcesReport
    cgroup: CgroupReport | None
    """None where no Linux kubelet runs it."""
    priority: PriorityReport
    termination: StopPlan
    """When it is deleted."""
    ending: Ending
    """How it ends: told when, by when its processes are gone, and what keeps its object."""
    hard_eviction: EvictionStop | None
    """When a Linux kubelet evicts it at a hard threshold; None: it is critical, or does not run, or not there."""
    owner: OwnerGuarantee
    owners: tuple[Owner, ...]
    unread: tuple[Unread, ...]
    preempted: Preempted | None
    """By whom the scheduler preempted it, and what came of it; None: it did not."""
    placement: Placement | None
    """Where the scheduler would put it; None: it was not asked for, as for a pod that has a node."""
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
    """Of a pod that waits for a volume, or has to leave with one: where each is on its way. Only those."""
    refusals: tuple[RefusedField, ...]
    """For what the API server refuses a manifest; `priority.rejected` is told there. Empty: it takes it."""

    @property
    def refused(self) -> bool:
        """Whether the API server would not make it."""
        return bool(self.refusals or self.priority.rejected)


def stored_pod(facts: PodFacts) -> Pod | str:
    """The pod as the API server keeps it, a manifest's with defaults and admission; or why it would be refused."""
    if not facts.from_manifest:
        return facts.pod
    for refusal in facts.refusals:
        return f"the API server refuses {refusal}"
    pod, priority = _admitted(facts, default_pod(facts.pod, features=facts.features))
    return priority.rejected or pod


def pod_report(facts: PodFacts) -> PodReport:
    """Ask every rule about one pod."""
    features = facts.features
    defaulted = default_pod(facts.pod, features=features) if facts.from_manifest else facts.pod
    pod, priority = _admitted(facts, defaulted) if facts.from_manifest else (facts.pod, _stored_priority(facts))
    granted = allocated_pod(pod, features=features)
    platform = pod_platform(pod, facts.node)
    oom = oom_of_pod(granted, facts.node, facts.nodes, features)
    ends = as_if_running(pod) if facts.from_manifest else pod
    silent = facts.reach is not None and facts.reach.reach.quiet
    quiet = silent or platform is Platform.VIRTUAL_KUBELET
    plan = stop_plan(ends, quiet=quiet)
    return PodReport(
        name=pod.metadata.name or pod.metadata.generate_name,
        namespace=pod.metadata.namespace,
        source=facts.source,
        server_version=facts.git_version,
        status=None if facts.from_manifest else _status(pod, facts),
        gates=_gates(pod) if facts.from_manifest else (),
        platform=platform,
        qos=_qos(facts, defaulted, pod),
        oom=() if isinstance(oom, OOMUnknown) else oom,
        oom_unknown=oom if isinstance(oom, OOMUnknown) else None,
        memory_too_low=memory_too_low(granted, features=features) if oom is OOMUnknown.NOT_IN_RANGE else None,
        resources=_resources(facts, pod),
        cgroup=_cgroup(facts, granted) if platform is Platform.LINUX else None,
        priority=replace(priority, preemption_disabled=facts.preemption_disabled),
        termination=plan,
        ending=pod_ending(ends, quiet=quiet, node=facts.node),
        hard_eviction=None if pod.finished or platform is not Platform.LINUX else eviction_stop(pod),
        owner=owner_guarantee(pod),
        owners=facts.owners,
        unread=facts.unread,
        preempted=facts.preempted,
        placement=facts.placement,
        placement_unread=facts.placement_unread,
        pressure=facts.pressure,
        pressure_unread=facts.pressure_unread,
        timeline=facts.timeline,
        force_safety=None if facts.from_manifest else _force_safety(facts, platform, plan),
        guards=facts.guards or (),
        moving=facts.moving,
        refusals=facts.refusals,
    )


def _force_safety(facts: PodFacts, platform: Platform, plan: StopPlan) -> ForceSafety | None:
    reach = facts.reach
    if reach is not None and platform is Platform.VIRTUAL_KUBELET:
        reach = replace(reach, provider=True)
    guarantee = owner_guarantee(facts.pod).guarantee
    if facts.guards is None:
        return force_safety_whatever_volumes(guarantee, plan, reach)
    return pod_force_safety(guarantee, plan, reach, facts.guards)


def _gates(pod: Pod) -> tuple[str, ...]:
    return tuple(gate.name for gate in pod.spec.scheduling_gates)


def _status(pod: Pod, facts: PodFacts) -> PodStatusReport:
    scheduled = pod.status.condition("PodScheduled")
    disruption, ready = pod.status.condition("DisruptionTarget"), pod.status.condition("Ready")
    ends = [
        ContainerEnd(entry.name, end.reason, end.exit_code, end.finished_at, entry.restart_count)
        for entry in (*pod.status.container_statuses, *pod.status.init_container_statuses)
        if (end := entry.state.terminated or entry.last_state.terminated) is not None
    ]
    return PodStatusReport(
        phase=pod.status.phase,
        reason=pod.status.reason,
        message=pod.status.message,
        node=node_facts(pod, facts.node, facts.reach),
        created=pod.metadata.creation_timestamp,
        not_ready_since=ready.last_transition_time if ready is not None and ready.status == "False" else None,
        unschedulable=scheduled.message if scheduled is not None and scheduled.status == "False" else None,
        gates=_gates(pod),
        deletion_timestamp=pod.metadata.deletion_timestamp,
        deletion_grace_period_seconds=pod.metadata.deletion_grace_period_seconds,
        finalizers=pod.metadata.finalizers,
        disruption=disruption.message if disruption is not None and disruption.status == "True" else None,
        resize=pending_resize(pod),
        resize_message=resize_message(pod),
        ends=tuple(ends),
        health=health(pod, facts.node),
    )


def _qos(facts: PodFacts, defaulted: Pod, pod: Pod) -> QOSReport:
    explanation = explain_qos(pod, features=facts.features)
    given = explain_qos(facts.pod, features=facts.features).qos_class if facts.from_manifest else None
    return QOSReport(
        qos_class=get_pod_qos(pod, features=facts.features),
        computed_class=explanation.qos_class,
        explanation=explanation,
        manifest_class=given,
        defaulted=(
            *defaulted_fields(facts.pod, defaulted),
            *defaulted_fields(defaulted, pod, "LimitRange"),
        ),
        resize=_resize_report(facts, pod),
    )


def _resize_report(facts: PodFacts, pod: Pod) -> ResizeReport | None:
    if facts.existing is None:
        return None
    existing = get_pod_qos(facts.existing, features=facts.features)
    return ResizeReport(existing, resize_rejection(facts.existing, pod, features=facts.features))


def _resources(facts: PodFacts, pod: Pod) -> ResourcesReport:
    options = scheduler_options(facts.features)
    plain = PodResourcesOptions(skip_pod_level_resources=options.skip_pod_level_resources)
    wanted = pod_requests(pod, plain)
    granted = pod_requests(allocated_pod(pod, features=facts.features), plain)
    return ResourcesReport(
        requests=_texts(pod_requests(pod, options)),
        limits=_texts(pod_limits(pod, options)),
        scheduler=scheduler_request(pod, facts.features),
        allocated=None if granted == wanted else _texts(granted),
        node_allocatable=None if facts.node is None else _texts(facts.node.status.allocatable),
    )


def _texts(amounts: ResourceList) -> dict[str, str]:
    order = sorted(amounts, key=lambda name: (name != CPU, name != MEMORY, name))
    return {name: str(amounts[name]) for name in order}


def _cgroup(facts: PodFacts, pod: Pod) -> CgroupReport:
    config = cgroup.pod_resource_config(pod, features=facts.features)
    name = cgroup.pod_cgroup_name(pod, features=facts.features) if pod.metadata.uid else None
    containers = [
        (ref.container.name, cgroup.container_resource_config(pod, ref, features=facts.features))
        for ref in pod.containers()
    ]
    return CgroupReport(
        cgroupfs=name.to_cgroupfs() if name else None,
        systemd=name.to_systemd() if name else None,
        parent=cgroup.qos_cgroup_name(get_pod_qos(pod, features=facts.features)).to_cgroupfs(),
        config=config,
        cpu_weight=None if config.cpu_shares is None else cgroup.cpu_weight(config.cpu_shares),
        containers=tuple(
            ContainerCgroup(
                container,
                values,
                None if values.cpu_shares is None else cgroup.cpu_weight_libcontainer(values.cpu_shares),
            )
            for container, values in containers
        ),
    )


def _stored_priority(facts: PodFacts) -> PriorityReport:
    """What was resolved when the pod was made, beside what its class is now."""
    spec, classes = facts.pod.spec, facts.classes
    known = classes.get(spec.priority_class_name) if classes else None
    return PriorityReport(
        priority=spec.priority,
        class_name=spec.priority_class_name,
        preemption_policy=spec.preemption_policy,
        source=PrioritySource.CLASS if spec.priority_class_name else PrioritySource.NONE,
        class_value_now=known.value if known is not None else None,
        class_exists=None if classes is None or not spec.priority_class_name else known is not None,
        rejected=None,
    )


def _admitted(facts: PodFacts, pod: Pod) -> tuple[Pod, PriorityReport]:
    """A defaulted pod after the API server's admission: limits filled in, priority resolved or refused."""
    pod = apply_runtime_class(apply_limit_ranges(pod, facts.limit_ranges or ()), facts.runtime_class)
    spec = pod.spec
    name = spec.priority_class_name
    classes = facts.classes
    if classes is None and is_reserved_class_name(name):
        classes = SYSTEM_PRIORITY_CLASSES
    if classes is None:
        return pod, PriorityReport(spec.priority, name, spec.preemption_policy, None, None, None, None)
    known = classes.get(name) if name else None
    value_now, exists = (known.value, True) if known is not None else (None, False if name else None)
    admitted = admit_pod_create(pod, classes)
    if isinstance(admitted, str):
        return pod, PriorityReport(None, name, None, None, value_now, exists, admitted)
    report = PriorityReport(
        priority=admitted.priority,
        class_name=admitted.priority_class_name,
        preemption_policy=admitted.preemption_policy,
        source=admitted.source,
        class_value_now=value_now,
        class_exists=exists,
        rejected=None,
    )
    resolved = replace(
        spec,
        priority=admitted.priority,
        priority_class_name=admitted.priority_class_name,
        preemption_policy=admitted.preemption_policy,
    )
    return replace(pod, spec=resolved), report


def as_if_running(pod: Pod) -> Pod:
    """A pod that does not exist yet, as it will be deleted one day: bound and running, whatever its manifest says."""
    return replace(pod, spec=replace(pod.spec, node_name=pod.spec.node_name or "a-node"), status=PodStatus())
