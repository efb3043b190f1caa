"""Priority: how the admission plugin resolves a class name to a number, and what it rejects.

    class named            its value and preemptionPolicy; unknown name: rejected
    none named             the globalDefault class (of several, the one with the lowest value), else 0,
                           PreemptLowerPriority
    also a priority or     rejected unless equal to the resolved value
      policy
    update                 priority and policy do not change: a later change of a class changes no pod

Source: plugin/pkg/admission/priority/admission.go, pkg/apis/scheduling/{types.go,validation,v1/helpers.go} at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.api.model.base import ObjectMeta
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PriorityClass

HIGHEST_USER_DEFINABLE_PRIORITY: Final = 1_000_000_000
SYSTEM_CRITICAL_PRIORITY: Final = 2 * HIGHEST_USER_DEFINABLE_PRIORITY
SYSTEM_NODE_CRITICAL: Final = "system-node-critical"
SYSTEM_CLUSTER_CRITICAL: Final = "system-cluster-critical"
PREEMPT_LOWER_PRIORITY: Final = "PreemptLowerPriority"
PREEMPT_NEVER: Final = "Never"
TOO_HIGH: Final = f"maximum allowed value of a user defined priority is {HIGHEST_USER_DEFINABLE_PRIORITY}"
"""Upstream's message for a higher value."""

_SYSTEM_PREFIX: Final = "system-"
_SYSTEM_VALUES: Final = {
    SYSTEM_NODE_CRITICAL: SYSTEM_CRITICAL_PRIORITY + 1000,
    SYSTEM_CLUSTER_CRITICAL: SYSTEM_CRITICAL_PRIORITY,
}
SYSTEM_PRIORITY_CLASSES: Final = {
    name: PriorityClass(metadata=ObjectMeta(name=name), value=value, preemption_policy=PREEMPT_LOWER_PRIORITY)
    for name, value in _SYSTEM_VALUES.items()
}
"""The classes of every cluster: the API server creates them, and rejects others with these names."""
CONFIG_SOURCE: Final = "kubernetes.io/config.source"
CONFIG_MIRROR: Final = "kubernetes.io/config.mirror"


class PrioritySource(Enum):
    """The source of a priority."""

    CLASS = "PriorityClass"
    GLOBAL_DEFAULT = "GlobalDefault"
    NONE = "None"


class ResolvedPriority(Struct, frozen=True, rename="camel"):
    """The values that the Priority admission plugin writes into a pod."""

    priority_class_name: str
    priority: int
    preemption_policy: str
    source: PrioritySource


class UnknownPriorityClass(Struct, frozen=True):
    """The named class does not exist; the API server rejects the pod."""

    name: str

    def __str__(self) -> str:
        return f"no PriorityClass with name {self.name} was found"


class PriorityMismatch(Struct, frozen=True):
    """A pod sets a priority or a preemption policy that differs from its class; the API server rejects it."""

    field: str
    """``priority`` or ``preemptionPolicy``, below ``spec``."""
    given: int | str
    computed: int | str
    """The value of the class."""

    def __str__(self) -> str:
        kind, name = ("integer", "priority") if isinstance(self.given, int) else ("string", "PreemptionPolicy")
        return (
            f"the {kind} value of {name} ({self.given}) must not be provided in pod spec; "
            f"priority admission controller computed {self.computed} from the given PriorityClass name"
        )


def is_static_pod(pod: Pod) -> bool:
    """Whether the kubelet read it from a file or URL (kubetypes.IsStaticPod)."""
    return pod.metadata.annotations.get(CONFIG_SOURCE, "api") != "api"


def is_mirror_pod(pod: Pod) -> bool:
    """Whether it is the API's mirror of a static pod (kubetypes.IsMirrorPod)."""
    return CONFIG_MIRROR in pod.metadata.annotations


def static_pod_uid(pod: Pod) -> str:
    """For a mirror pod the static pod's UID, which its kubelet uses (ConfigMirrorAnnotationKey); else empty."""
    return pod.metadata.annotations.get(CONFIG_MIRROR, "")


def is_reserved_class_name(name: str) -> bool:
    """Whether only Kubernetes' own classes may have the name: these are known without a cluster."""
    return name.startswith(_SYSTEM_PREFIX)


def is_critical_pod(pod: Pod) -> bool:
    """Whether the kubelet does not evict it: static, mirror, or priority >= 2000000000."""
    priority = pod.spec.priority
    return is_static_pod(pod) or is_mirror_pod(pod) or (priority is not None and priority >= SYSTEM_CRITICAL_PRIORITY)


def is_node_critical_pod(pod: Pod) -> bool:
    """Whether it is critical with class system-node-critical: only such pods get the lowest OOM score."""
    return is_critical_pod(pod) and pod.spec.priority_class_name == SYSTEM_NODE_CRITICAL


def resolve_priority(class_name: str, classes: Mapping[str, PriorityClass]) -> ResolvedPriority | UnknownPriorityClass:
    """The current priority of a class name, or without one (Plugin.establishPriority)."""
    if class_name:
        named = classes.get(class_name)
        if named is None:
            return UnknownPriorityClass(class_name)
        return _resolved(named, PrioritySource.CLASS)
    default = default_priority_class(classes.values())
    if default is None:
        return ResolvedPriority("", 0, PREEMPT_LOWER_PRIORITY, PrioritySource.NONE)
    return _resolved(default, PrioritySource.GLOBAL_DEFAULT)


def default_priority_class(classes: Iterable[PriorityClass]) -> PriorityClass | None:
    """The class for pods without one: of several global defaults the one with the lowest value."""
    return min((entry for entry in classes if entry.global_default), key=lambda entry: entry.value, default=None)


def admit_pod_create(pod: Pod, classes: Mapping[str, PriorityClass]) -> ResolvedPriority | str:
    """The values for a new pod, or upstream's rejection (Plugin.admitPod)."""
    resolved = resolve_priority(pod.spec.priority_class_name, classes)
    name = pod.metadata.name or pod.metadata.generate_name
    if isinstance(resolved, UnknownPriorityClass):
        return _forbidden(name, str(resolved))
    mismatch = priority_mismatch(pod, resolved)
    return resolved if mismatch is None else _forbidden(name, str(mismatch))


def priority_mismatch(pod: Pod, resolved: ResolvedPriority) -> PriorityMismatch | None:
    """The first field of a new pod that differs from its class; None: none differs."""
    if pod.spec.priority is not None and pod.spec.priority != resolved.priority:
        return PriorityMismatch("priority", pod.spec.priority, resolved.priority)
    policy = pod.spec.preemption_policy
    if policy is not None and policy != resolved.preemption_policy:
        return PriorityMismatch("preemptionPolicy", policy, resolved.preemption_policy)
    return None


def reserved_name_problem(name: str, value: int, *, global_default: bool) -> str:
    """Why a class may not have a reserved name, in upstream's words; empty: it is Kubernetes' own class."""
    wanted = _SYSTEM_VALUES.get(name)
    if wanted is None:
        problem = f"{name} is not a known system priority class"
    elif value != wanted:
        problem = f"value of {name} PriorityClass must be {wanted}"
    elif global_default:
        problem = f"globalDefault of {name} PriorityClass must be false"
    else:
        return ""
    return f"priority class names with '{_SYSTEM_PREFIX}' prefix are reserved for system use only. error: {problem}"


def _resolved(found: PriorityClass, source: PrioritySource) -> ResolvedPriority:
    return ResolvedPriority(found.metadata.name, found.value, found.preemption_policy or PREEMPT_LOWER_PRIORITY, source)


def _forbidden(name: str, problem: str) -> str:
    return f'pods "{name}" is forbidden: {problem}'
