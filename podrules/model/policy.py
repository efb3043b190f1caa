"""The models of a cluster's policies for pods: PriorityClass, LimitRange, RuntimeClass, PodDisruptionBudget.

Source: k8s.io/api/{scheduling,core,node,policy}/v1/types.go at v0.36.3.
"""

from __future__ import annotations

from msgspec import field

from podrules.model.base import Condition, KubeObject, Model, ResourceList
from podrules.model.selectors import LabelSelector

__all__ = [
    "LimitRange",
    "LimitRangeItem",
    "PodDisruptionBudget",
    "PodDisruptionBudgetSpec",
    "PodDisruptionBudgetStatus",
    "PriorityClass",
    "RuntimeClass",
]


class PriorityClass(KubeObject, frozen=True):
    """A PriorityClass; the API server always sets ``preemption_policy``."""

    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None
    description: str = ""


class LimitRangeItem(Model, frozen=True):
    """``spec.limits[]``; the API server fills in missing defaults from each other and from max."""

    type: str = ""
    default: ResourceList = {}
    default_request: ResourceList = {}


class LimitRangeSpec(Model, frozen=True):
    """``spec``."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(KubeObject, frozen=True):
    """A LimitRange, with the fields that fill in a pod's missing requests and limits."""

    spec: LimitRangeSpec = field(default_factory=LimitRangeSpec)


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
    conditions: tuple[Condition, ...] = ()
    disrupted_pods: dict[str, str] = {}
    """Pods whose eviction was granted and that still exist: the time by the pod's name."""


class PodDisruptionBudget(KubeObject, frozen=True):
    """A PodDisruptionBudget, with the fields that decide which pods may be disrupted now."""

    spec: PodDisruptionBudgetSpec = field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = field(default_factory=PodDisruptionBudgetStatus)
