"""A pod's priority: the resolved value, and the current value of its class (P1, P2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from podrules.admission.admitted_pod import AdmittedPod
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PriorityClass
from podrules.api.similar_names import near_names
from podrules.pod.priority import PrioritySource

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

    Args:
        pod: The pod.
        classes: By name, at least the class that it names; None: they could not be read.
        preemption_disabled: See `PriorityReport`.
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
    """The priority that admission gives a new pod, or why it refuses the pod.

    Args:
        admitted: The pod.
        preemption_disabled: See `PriorityReport`.
    """
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
