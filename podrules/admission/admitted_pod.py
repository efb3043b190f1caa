"""Admission: what the API server changes in a new pod before it stores the pod, or why it rejects the pod.

    API defaults    requests from limits, pod-level resources, rounded amounts, the grace period
                    (`podrules.pod.defaults`)
    LimitRanger     container limits and requests that are still missing
    RuntimeClass    the overhead of the class
    Priority        priority, class and preemption policy; the only step here that can reject
    last            since 1.37 the pod-level resources, which until 1.36 are among the defaults

The room of quotas and the LimitRange that limits a pod are here for reports, which need not load their rules.

Source: the plugins in plugin/pkg/admission, on by default in pkg/kubeapiserver/options/plugins.go, at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.features import REFERENCE, Features
from podrules.api.model.pod import Pod, PodStatus
from podrules.api.model.policy import LimitRange, PriorityClass, RuntimeClass
from podrules.pod.defaults import (
    DefaultedField,
    apply_limit_ranges,
    apply_runtime_class,
    default_pod,
    default_pod_level_resources,
    defaulted_fields,
)
from podrules.pod.priority import (
    PREEMPT_LOWER_PRIORITY,
    SYSTEM_PRIORITY_CLASSES,
    PrioritySource,
    ResolvedPriority,
    admit_pod_create,
    is_reserved_class_name,
)


class QuotaShare(Struct, frozen=True, rename="camel"):
    """The used and the hard amount of a resource in a quota."""

    resource: str
    used: str
    hard: str


class QuotaRoom(Struct, frozen=True, kw_only=True, rename="camel"):
    """How many more pods the quotas of a namespace accept."""

    pods: int
    quota: str
    """The quota that rejects the next pod."""
    resources: tuple[str, ...]
    """The resources that are then short; empty: it rejects for another reason."""
    refusal: str
    """Upstream's message for the next pod."""
    shares: tuple[QuotaShare, ...] = ()
    """The usage of these resources at the time of the next pod."""


class LimitRangeBound(Struct, frozen=True, rename="camel"):
    """The LimitRange that rejects a pod, or sets a container's limit below its request."""

    name: str
    resource: str = ""
    """The resource with the limit below the request; empty: it sets no such limit."""
    request: str = ""
    limit: str = ""
    capped: bool = False
    """Whether a limit equal to the request would be above the maximum of this LimitRange."""


def forbidden(pod: Pod, problem: str) -> str:
    """Admission's rejection of a pod (NewForbidden); a name that is not yet generated appears as its prefix."""
    return f'pods "{pod.metadata.name or pod.metadata.generate_name}" is forbidden: {problem}'


class RejectedBy(StrEnum):
    """What rejects a pod after all these steps (`podrules.admission.pod_review`)."""

    NAMESPACE = "NamespaceLifecycle"
    """The first of all plugins: the namespace does not exist, or is being deleted."""
    VALIDATION = "validation"
    LIMIT_RANGER = "LimitRanger"
    POD_SECURITY = "PodSecurity"
    RESOURCE_QUOTA = "ResourceQuota"
    WEBHOOK = "Webhook"
    """The webhook of kubectl qos."""


class PodRefusal(Struct, frozen=True, rename="camel"):
    """Why the API server rejects a pod because of the rules of its namespace."""

    by: RejectedBy
    message: str
    """The API server's words."""
    quota: str = ""
    """The name of the rejecting quota; empty: none."""
    resources: tuple[str, ...] = ()
    """The resources that are short in that quota; empty: it rejects for another reason."""
    limit_range: LimitRangeBound | None = None

    @property
    def may_be_defaulted(self) -> bool:
        """Whether a LimitRange's defaults may set the values that a quota requires."""
        return bool(self.quota) and not self.resources


class AdmissionObjects(Struct, frozen=True, kw_only=True):
    """The objects of the cluster that the admission plugins read for one pod."""

    limit_ranges: Sequence[LimitRange] | None = None
    """The LimitRanges of the pod's namespace; None: they could not be read, and nothing is set."""
    runtime_class: RuntimeClass | None = None
    """The class that the pod names."""
    priority_classes: Mapping[str, PriorityClass] | None = None
    """The classes by name; None: they could not be read. Kubernetes' own classes are still known."""


class AdmittedPod(Struct, frozen=True, kw_only=True):
    """A new pod after admission."""

    written: Pod
    """The pod as in its manifest."""
    pod: Pod
    """The pod as the API server stores it, without the priority if that is rejected or the classes are not known."""
    changed: tuple[DefaultedField, ...]
    """Resources that differ from the manifest, in the order of the steps."""
    priority: ResolvedPriority | None
    """The priority; None: rejected, or the classes are not known."""
    priority_classes: Mapping[str, PriorityClass] | None
    """The classes that decided; None: they are not known."""
    rejected: str | None
    """Upstream's rejection; None: the pod is accepted."""
    objects: AdmissionObjects
    """The objects that the admission plugins read."""

    def by(self, features: Features) -> Pod:
        """The pod as an API server with other rules would store it."""
        return admit_pod(self.written, self.objects, features=features).pod


def admit_pod(pod: Pod, objects: AdmissionObjects, *, features: Features = REFERENCE) -> AdmittedPod:
    """The pod of a manifest after every step."""
    defaulted = default_pod(pod, features=features)
    filled = apply_runtime_class(apply_limit_ranges(defaulted, objects.limit_ranges or ()), objects.runtime_class)
    stored = default_pod_level_resources(filled, features=features)
    classes = objects.priority_classes
    if classes is None and is_reserved_class_name(pod.spec.priority_class_name):
        classes = SYSTEM_PRIORITY_CLASSES
    resolved = None if classes is None else admit_pod_create(stored, classes)
    priority = resolved if isinstance(resolved, ResolvedPriority) else None
    return AdmittedPod(
        written=pod,
        pod=stored if priority is None else _with_priority(stored, priority),
        changed=(
            *defaulted_fields(pod, defaulted),
            *defaulted_fields(defaulted, filled, "LimitRange"),
            *defaulted_fields(filled, stored),
        ),
        priority=priority,
        priority_classes=classes,
        rejected=resolved if isinstance(resolved, str) else None,
        objects=objects,
    )


def admitted_by_server(pod: Pod, stored: Pod, objects: AdmissionObjects) -> AdmittedPod:
    """A pod as the API server's own dry run stores it, with its known name."""
    spec, own = stored.spec, pod.metadata
    # The name, the uid and the time are generated for the dry run.
    meta = replace(
        stored.metadata, name=own.name, uid="", creation_timestamp=None, owner_references=own.owner_references
    )
    made = replace(stored, metadata=meta, status=PodStatus())
    known = (objects.priority_classes or {}).get(spec.priority_class_name)
    # A webhook may have written a class that is not a default.
    named = bool(pod.spec.priority_class_name) or (known is not None and not known.global_default)
    source = PrioritySource.CLASS if named else PrioritySource.GLOBAL_DEFAULT
    if not spec.priority_class_name:
        source = PrioritySource.NONE
    policy = spec.preemption_policy or PREEMPT_LOWER_PRIORITY
    return AdmittedPod(
        written=pod,
        pod=made,
        changed=defaulted_fields(pod, made, "the API server"),
        priority=ResolvedPriority(spec.priority_class_name, spec.priority or 0, policy, source),
        priority_classes=objects.priority_classes,
        rejected=None,
        objects=objects,
    )


def _with_priority(pod: Pod, resolved: ResolvedPriority) -> Pod:
    spec = replace(
        pod.spec,
        priority=resolved.priority,
        priority_class_name=resolved.priority_class_name,
        preemption_policy=resolved.preemption_policy,
    )
    return replace(pod, spec=spec)
