"""How the API server validates a PriorityClass.

Source: pkg/apis/scheduling/validation/validation.go (ValidatePriorityClass) and pkg/apis/core/validation/validation.go
(ValidatePreemptionPolicy) at v1.37.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.admission.validation.errors import forbidden, required, unsupported
from podrules.admission.validation.formats import dns_subdomain
from podrules.admission.validation.metadata import validate_object_meta
from podrules.admission.validation.view import Rules, View
from podrules.api.model.field_error import FieldError
from podrules.pod.priority import (
    HIGHEST_USER_DEFINABLE_PRIORITY,
    PREEMPT_LOWER_PRIORITY,
    PREEMPT_NEVER,
    TOO_HIGH,
    is_reserved_class_name,
    reserved_name_problem,
)

_PREEMPTION_POLICIES: Final = (PREEMPT_LOWER_PRIORITY, PREEMPT_NEVER)


def validate_priority_class(new: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a PriorityClass against its rules."""
    meta = new.struct("metadata")
    yield from validate_object_meta(meta, rules, dns_subdomain, namespaced=False)
    name, value = meta.text("name"), new.number("value") or 0
    if is_reserved_class_name(name):
        problem = reserved_name_problem(name, value, global_default=bool(new.flag("globalDefault")))
        if problem:
            yield forbidden(meta.at("name"), problem)
    elif value > HIGHEST_USER_DEFINABLE_PRIORITY:
        yield forbidden(new.at("value"), TOO_HIGH)
    yield from validate_preemption_policy(new)


def validate_preemption_policy(struct: View) -> Iterator[FieldError]:
    """Hold ``preemptionPolicy`` against its rule; one that is absent breaks none."""
    policy, path = struct.pointer("preemptionPolicy"), struct.at("preemptionPolicy")
    if not policy and policy is not None:
        yield required(path)
    elif policy is not None and policy not in _PREEMPTION_POLICIES:
        yield unsupported(path, policy, _PREEMPTION_POLICIES)
