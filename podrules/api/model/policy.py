"""The models of a cluster's policies for pods: PriorityClass, LimitRange, ResourceQuota, RuntimeClass, budgets.

Source: k8s.io/api/{scheduling,core,node,policy}/v1/types.go at v0.36.3.
"""

from __future__ import annotations

from msgspec import field

from podrules.api.model.base import Condition, KubeObject, Model, ResourceList
from podrules.api.model.selectors import LabelSelector


class PriorityClass(KubeObject, frozen=True):
    """A PriorityClass; the API server always sets ``preemption_policy``."""

    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None
    description: str = ""


class LimitRangeItem(Model, frozen=True):
    """``spec.limits[]``; the API server fills in missing defaults from each other and from max."""

    type: str = ""
    """Container, Pod or PersistentVolumeClaim."""
    max: ResourceList = {}
    min: ResourceList = {}
    default: ResourceList = {}
    default_request: ResourceList = {}
    max_limit_request_ratio: ResourceList = {}


class LimitRangeSpec(Model, frozen=True):
    """``spec``."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(KubeObject, frozen=True):
    """A LimitRange: fills in a pod's missing requests and limits, and bounds them."""

    spec: LimitRangeSpec = field(default_factory=LimitRangeSpec)


class ScopedResourceSelectorRequirement(Model, frozen=True):
    """``scopeSelector.matchExpressions[]``: In, NotIn, Exists, DoesNotExist; only PriorityClass has values."""

    scope_name: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class ScopeSelector(Model, frozen=True):
    """``scopeSelector``: requirements that must all hold."""

    match_expressions: tuple[ScopedResourceSelectorRequirement, ...] = ()


class ResourceQuotaSpec(Model, frozen=True):
    """``spec``."""

    hard: ResourceList = {}
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(Model, frozen=True):
    """``status``, which the quota controller writes; admission uses it, not the spec's ``hard``."""

    hard: ResourceList = {}
    used: ResourceList = {}


class ResourceQuota(KubeObject, frozen=True):
    """A ResourceQuota: how much of each resource the pods of a namespace may ask for together."""

    spec: ResourceQuotaSpec = field(default_factory=ResourceQuotaSpec)
    status: ResourceQuotaStatus = field(default_factory=ResourceQuotaStatus)


class Overhead(Model, frozen=True):
    """``overhead`` of a RuntimeClass."""

    pod_fixed: ResourceList = {}


class RuntimeClass(KubeObject, frozen=True):
    """A RuntimeClass, with the overhead that it adds to a pod's requests."""

    overhead: Overhead = field(default_factory=Overhead)


class PodDisruptionBudgetSpec(Model, frozen=True):
    """``spec``."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    """A number of pods or a percentage; never set together with `max_unavailable`."""
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Model, frozen=True):
    """``status``."""

    observed_generation: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    disruptions_allowed: int = 0
    expected_pods: int = 0
    """How many pods the controller counts; 0 also where it has not counted."""
    conditions: tuple[Condition, ...] = ()
    disrupted_pods: dict[str, str] = {}
    """Pods that exist and have a granted eviction: the time by the pod's name."""


class PodDisruptionBudget(KubeObject, frozen=True):
    """A PodDisruptionBudget, with the fields that decide which pods may be disrupted now."""

    spec: PodDisruptionBudgetSpec = field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = field(default_factory=PodDisruptionBudgetStatus)
