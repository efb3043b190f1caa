"""What a cluster's owner decided for pods: PriorityClasses, LimitRanges, RuntimeClasses.

Source: k8s.io/api/{scheduling,core,node}/v1/types.go at v0.36.3.
"""

from __future__ import annotations

from msgspec import field

from podrules.model.base import KubeObject, Model, ResourceList

__all__ = ["LimitRange", "LimitRangeItem", "PriorityClass", "RuntimeClass"]


class PriorityClass(KubeObject, frozen=True):
    """A PriorityClass; ``preemption_policy`` is always set in a stored one."""

    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None
    description: str = ""


class LimitRangeItem(Model, frozen=True):
    """``spec.limits[]``; in a stored one the defaults are filled in from each other and from max."""

    type: str = ""
    default: ResourceList = {}
    default_request: ResourceList = {}


class LimitRangeSpec(Model, frozen=True):
    """``spec``."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(KubeObject, frozen=True):
    """A LimitRange, as far as it fills in what a pod leaves out."""

    spec: LimitRangeSpec = field(default_factory=LimitRangeSpec)


class Overhead(Model, frozen=True):
    """``overhead`` of a RuntimeClass."""

    pod_fixed: ResourceList = {}


class RuntimeClass(KubeObject, frozen=True):
    """A RuntimeClass, as far as it adds to what a pod asks for."""

    overhead: Overhead = field(default_factory=Overhead)
