"""What the API server does to a changed pod, and to a PriorityClass that comes or changes.

Source: plugin/pkg/admission/priority/admission.go and pkg/apis/scheduling/validation at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import to_builtins

from podrules.admission.validation import policies
from podrules.admission.validation.view import Rules, View
from podrules.api.features import REFERENCE
from podrules.api.model.misfit import FieldError
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PriorityClass
from podrules.pod.priority import PREEMPT_LOWER_PRIORITY, default_priority_class


def admit_pod_update(pod: Pod, old: Pod) -> tuple[int | None, str | None]:
    """Priority and preemptionPolicy after an update: the old ones unless the update repeats or changes them."""
    priority = old.spec.priority if pod.spec.priority is None else pod.spec.priority
    policy = old.spec.preemption_policy if pod.spec.preemption_policy is None else pod.spec.preemption_policy
    return priority, policy


def admit_priority_class(new: PriorityClass, classes: Iterable[PriorityClass], *, is_update: bool) -> str | None:
    """Upstream's refusal of a second global default, else None (Plugin.validatePriorityClass)."""
    default = default_priority_class(classes) if new.global_default else None
    if default is None or (is_update and default.metadata.name == new.metadata.name):
        return None
    return (
        f'priorityclasses.scheduling.k8s.io "{new.metadata.name}" is forbidden: '
        f"PriorityClass {default.metadata.name} is already marked as default. Only one default can exist"
    )


def validate_priority_class(new: PriorityClass) -> tuple[FieldError, ...]:
    """Upstream's field errors for a new class, by the rules that hold for manifests."""
    return tuple(policies.validate_priority_class(View(to_builtins(new), ""), Rules(REFERENCE.minor)))


def validate_priority_class_update(new: PriorityClass, old: PriorityClass) -> tuple[FieldError, ...]:
    """Upstream's field errors for a changed class: value and policy are immutable."""
    errors: list[FieldError] = []
    if new.value != old.value:
        errors.append(FieldError("value", "Forbidden: may not be changed in an update."))
    if _policy(new) != _policy(old):
        errors.append(FieldError("preemptionPolicy", f'Invalid value: "{_policy(new)}": field is immutable'))
    return tuple(errors)


def _policy(found: PriorityClass) -> str:
    return found.preemption_policy or PREEMPT_LOWER_PRIORITY
