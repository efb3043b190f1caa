"""Parts of a pod's report: QoS class (Q1), oom_score_adj (Q2), resources (Q4), cgroups (Q5), priority (P1, P2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.admission.admitted_pod import AdmittedPod
from podrules.api.features import Features
from podrules.api.model.base import ResourceList
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodQOSClass
from podrules.api.model.policy import PriorityClass
from podrules.api.names import near_names
from podrules.pod import cgroup
from podrules.pod.defaults import DefaultedField
from podrules.pod.memory_qos import MemoryQoS, MemorySettings, container_memory_qos, pod_memory_qos
from podrules.pod.oom import OOMScoreAdj, pod_oom_score_adjs
from podrules.pod.platform import Platform, node_platform, pod_platform
from podrules.pod.priority import PrioritySource
from podrules.pod.qos import QOSExplanation, explain_qos, get_pod_qos, resize_rejection
from podrules.pod.resources import (
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
from podrules.pod.versions import Versions
from podrules.scheduling.placement.eligible import eligible_nodes


class ResizeReport(Struct, frozen=True, rename="camel"):
    """Whether the existing pod could become the one in the manifest by an in-place resize."""

    existing_class: PodQOSClass
    rejected: str | None
    """Upstream's message; None: the class would stay."""


class QOSReport(Struct, frozen=True, rename="camel"):
    """QoS class (Q1)."""

    qos_class: PodQOSClass
    computed_class: PodQOSClass
    """The class that the current resources give: differs from the class only if the status is wrong."""
    explanation: QOSExplanation
    manifest_class: PodQOSClass | None
    """For a manifest: the class of the resources as written, before the API server's defaults."""
    defaulted: tuple[DefaultedField, ...]
    resize: ResizeReport | None
    """None without a pod of that name, or if that pod itself is explained."""


def pod_qos(pod: Pod, admitted: AdmittedPod | None, existing: Pod | None, features: Features) -> QOSReport:
    """The class of a pod as the API server stores it.

    A pod of the cluster has no result of admission. ``existing`` already has the name of a manifest's pod.
    """
    explanation = explain_qos(pod, features=features)
    return QOSReport(
        qos_class=get_pod_qos(pod, features=features),
        computed_class=explanation.qos_class,
        explanation=explanation,
        manifest_class=None if admitted is None else explain_qos(admitted.written, features=features).qos_class,
        defaulted=() if admitted is None else admitted.changed,
        resize=None
        if existing is None
        else ResizeReport(get_pod_qos(existing, features=features), resize_rejection(existing, pod, features=features)),
    )


class ResourcesReport(Struct, frozen=True, rename="camel"):
    """The pod's requests and limits (Q4)."""

    requests: dict[str, str]
    limits: dict[str, str]
    scheduler: SchedulerRequest
    allocated: dict[str, str] | None
    """Requests that the kubelet has granted, if they differ: a resize is not finished."""
    node_allocatable: dict[str, str] | None


def pod_resources(pod: Pod, node: Node | None, versions: Versions) -> ResourcesReport:
    """The sums of a pod, and the allocatable resources of its node."""
    options = scheduler_options(versions.scheduler)
    plain = PodResourcesOptions(skip_pod_level_resources=options.skip_pod_level_resources)
    wanted = pod_requests(pod, plain)
    granted = pod_requests(allocated_pod(pod, features=versions.kubelet(node)), plain)
    return ResourcesReport(
        requests=_texts(pod_requests(pod, options)),
        limits=_texts(pod_limits(pod, options)),
        scheduler=scheduler_request(pod, versions.scheduler),
        allocated=None if granted == wanted else _texts(granted),
        node_allocatable=None if node is None else _texts(node.status.allocatable),
    )


def _texts(amounts: ResourceList) -> dict[str, str]:
    order = sorted(amounts, key=lambda name: (name != CPU, name != MEMORY, name))
    return {name: str(amounts[name]) for name in order}


class OOMUnknown(Enum):
    """Why there is no oom_score_adj."""

    NODE_NOT_KNOWN = "NodeNotKnown"
    """The value depends on the node's memory, and no node could be read."""
    NO_ELIGIBLE_NODE = "NoEligibleNode"
    """It depends on the node's memory, and the pod's own fields allow none of the existing nodes."""
    NOT_LINUX = "NotLinux"
    """Only a Linux kubelet sets it, and the pod is on another platform, or may only be placed on one."""
    NOT_IN_RANGE = "NotInRange"
    """A memory request gives a value that the kernel does not accept; `MemoryTooLow` has the request."""


class OOMOnNode(Struct, frozen=True, rename="camel"):
    """oom_score_adj of every container on one node (Q2)."""

    node: str | None
    """None: the values are the same on any node."""
    memory_capacity: int | None
    containers: tuple[OOMScoreAdj, ...]


def oom_of_pod(
    pod: Pod, node: Node | None, nodes: Sequence[Node] | None, versions: Versions
) -> tuple[OOMOnNode, ...] | OOMUnknown:
    """The values on the node of a pod, else on its nominated node, else on the smallest and the largest node.

    The pod has the resources that the kubelet allocated to it. For an unbound pod, ``nodes`` are all nodes; None if
    they could not be read.
    """
    if pod_platform(pod, node) is not Platform.LINUX:
        return OOMUnknown.NOT_LINUX
    anywhere = pod_oom_score_adjs(pod, None, features=versions.kubelet(node))
    if anywhere is not None:
        return (OOMOnNode(None, None, anywhere),)
    if node is not None:
        candidates = [node]
    elif not nodes:
        return OOMUnknown.NODE_NOT_KNOWN
    else:
        eligible = eligible_nodes(pod, nodes)
        candidates = sorted((one for one in eligible if node_platform(one) is Platform.LINUX), key=_memory)
        # A nominated node is tried first.
        kept = [one for one in candidates if one.metadata.name == pod.status.nominated_node_name]
        candidates = kept or candidates
        if not candidates:
            return OOMUnknown.NOT_LINUX if eligible else OOMUnknown.NO_ELIGIBLE_NODE
    # The smallest and the largest node; one node if they are equal.
    equal = _memory(candidates[0]) == _memory(candidates[-1])
    ends = candidates[:1] if equal else (candidates[0], candidates[-1])
    found = tuple(
        OOMOnNode(candidate.metadata.name, _memory(candidate), scores)
        for candidate in ends
        if (scores := pod_oom_score_adjs(pod, _memory(candidate), features=versions.kubelet(candidate))) is not None
    )
    if any(not score.in_range for entry in found for score in entry.containers):
        return OOMUnknown.NOT_IN_RANGE
    return found or OOMUnknown.NODE_NOT_KNOWN


def _memory(node: Node) -> int:
    amount = node.status.capacity.get(MEMORY)
    return amount.value if amount is not None else 0


class ContainerCgroup(Struct, frozen=True, rename="camel"):
    """Values that the kubelet sends to the runtime for one container."""

    container: str
    config: cgroup.ResourceConfig
    cpu_weight: int | None
    """cgroup v2, libcontainer's conversion."""
    memory_qos: MemoryQoS | None
    """cgroup v2, with the feature gate MemoryQoS; None: it is off, or unknown."""


class CgroupReport(Struct, frozen=True, rename="camel"):
    """The pod's cgroups (Q5)."""

    cgroupfs: str | None
    """None for a pod that does not exist yet: the name contains the uid."""
    systemd: str | None
    parent: str
    config: cgroup.ResourceConfig
    cpu_weight: int | None
    """cgroup v2, the kubelet's conversion."""
    memory_qos: MemoryQoS | None
    """As for a container."""
    containers: tuple[ContainerCgroup, ...]
    as_on: str = ""
    """The node of the kubelet that would write these; empty: it has a node, or its kubelets have the same rules."""


def pod_cgroup(
    pod: Pod, features: Features, settings: MemorySettings | None, as_on: str = "", root: tuple[str, ...] = ()
) -> CgroupReport:
    """The cgroups of a pod with the requests that its kubelet has granted.

    ``settings`` are its node's settings of MemoryQoS; None: the gate is off, or unknown.
    """
    config = cgroup.pod_resource_config(pod, features=features)
    name = cgroup.pod_cgroup_name(pod, root, features=features) if pod.metadata.uid else None
    containers = []
    for ref in pod.containers():
        own = cgroup.container_resource_config(pod, ref, features=features)
        weight = None if own.cpu_shares is None else cgroup.cpu_weight_libcontainer(own.cpu_shares)
        qos = None if settings is None else container_memory_qos(pod, ref, settings, features=features)
        containers.append(ContainerCgroup(ref.container.name, own, weight, qos))
    return CgroupReport(
        cgroupfs=name.to_cgroupfs() if name else None,
        systemd=name.to_systemd() if name else None,
        parent=cgroup.qos_cgroup_name(get_pod_qos(pod, features=features), root).to_cgroupfs(),
        config=config,
        cpu_weight=None if config.cpu_shares is None else cgroup.cpu_weight(config.cpu_shares),
        memory_qos=None if settings is None else pod_memory_qos(pod, settings, features=features),
        containers=tuple(containers),
        as_on=as_on,
    )


_MAX_NAME: Final = 253
"""The longest name of an object."""


class PriorityReport(Struct, frozen=True, rename="camel"):
    """Priority (P1, P2)."""

    priority: int | None
    class_name: str
    preemption_policy: str | None
    source: PrioritySource | None
    class_value_now: int | None
    """The current value of the class; None: it does not exist, or is unknown."""
    class_exists: bool | None
    rejected: str | None
    """Why the API server would refuse the pod."""
    preemption_disabled: str = ""
    """The field of its scheduler's profile that disables preemption; empty: enabled, or unknown."""
    near: tuple[str, ...] = ()
    """Classes with names similar to one that does not exist."""


def stored_priority(
    pod: Pod, classes: Mapping[str, PriorityClass] | None, *, preemption_disabled: str
) -> PriorityReport:
    """The priority of a pod of the cluster, resolved when the pod was created.

    The classes have at least the one that it names; None: they could not be read.
    """
    name = pod.spec.priority_class_name
    value_now, exists = _class_now(name, classes)
    return PriorityReport(
        priority=pod.spec.priority,
        class_name=name,
        preemption_policy=pod.spec.preemption_policy,
        source=PrioritySource.CLASS if name else PrioritySource.NONE,
        class_value_now=value_now,
        class_exists=exists,
        rejected=None,
        preemption_disabled=preemption_disabled,
    )


def admitted_priority(admitted: AdmittedPod, *, preemption_disabled: str) -> PriorityReport:
    """The priority that admission gives a new pod, or why it refuses the pod."""
    # A refused pod has no priority; if the classes are unknown, the pod has the value that its author wrote.
    spec = admitted.pod.spec
    refused = admitted.rejected is not None
    name, classes = admitted.written.spec.priority_class_name, admitted.priority_classes
    value_now, exists = _class_now(name, classes)
    return PriorityReport(
        priority=None if refused else spec.priority,
        class_name=spec.priority_class_name,
        preemption_policy=None if refused else spec.preemption_policy,
        source=None if admitted.priority is None else admitted.priority.source,
        class_value_now=value_now,
        class_exists=exists,
        rejected=admitted.rejected,
        preemption_disabled=preemption_disabled,
        near=tuple(near_names(name, classes or ())) if exists is False and len(name) <= _MAX_NAME else (),
    )


def _class_now(name: str, classes: Mapping[str, PriorityClass] | None) -> tuple[int | None, bool | None]:
    """The current value of a class, and whether the class exists; None: unknown, or no class is named."""
    if classes is None or not name:
        return None, None
    named = classes.get(name)
    return (None, False) if named is None else (named.value, True)
