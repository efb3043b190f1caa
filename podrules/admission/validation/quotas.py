"""How the API server validates a ResourceQuota.

Source: pkg/apis/core/validation/validation.go (ValidateResourceQuota) and pkg/apis/core/helper/helpers.go
(IsResourceQuotaScopeValidForResource) at v1.37.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from podrules.admission.validation.errors import TypedText, invalid, required
from podrules.admission.validation.formats import dns_subdomain
from podrules.admission.validation.metadata import validate_object_meta
from podrules.admission.validation.resources import (
    is_standard_quota_resource_name,
    stored_amounts,
    validate_quota_resource_name,
    validate_resource_value,
)
from podrules.admission.validation.view import Rules, View
from podrules.api.model.field_error import FieldError

_PODS: Final = frozenset({"pods"})
_OF_PODS: Final = _PODS | {f"{prefix}{name}" for prefix in ("", "limits.", "requests.") for name in ("cpu", "memory")}
_RESOURCES: Final[Mapping[str, Collection[str]]] = {
    "Terminating": _OF_PODS,
    "NotTerminating": _OF_PODS,
    "BestEffort": _PODS,
    "NotBestEffort": _OF_PODS,
    "PriorityClass": _OF_PODS,
    "CrossNamespacePodAffinity": _OF_PODS,
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
"""The scopes, and the standard resources that a quota of each scope may limit."""
_ONLY_EXISTS: Final = frozenset(
    {"BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"}
)
_CONFLICTS: Final = (frozenset({"BestEffort", "NotBestEffort"}), frozenset({"Terminating", "NotTerminating"}))


def validate_resource_quota(quota: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a ResourceQuota against its rules."""
    yield from validate_object_meta(quota.struct("metadata"), rules, dns_subdomain)
    spec = quota.struct("spec")
    hard = stored_amounts(spec, "hard")
    for name, amount in hard.items():
        path = spec.at(f"hard[{name}]")
        yield from validate_quota_resource_name(name, path, rules)
        yield from validate_resource_value(name, amount, path, rules)
    yield from _scopes(spec, hard)
    if spec.has("scopeSelector"):
        yield from _selector(spec, hard)


def _scopes(spec: View, hard: Collection[str]) -> Iterator[FieldError]:
    scopes, path = spec.texts("scopes"), spec.at("scopes")
    for scope in scopes:
        if scope not in _RESOURCES:
            yield invalid(path, scopes, "unsupported scope")
        if _beyond(scope, hard):
            yield invalid(path, scopes, "unsupported scope applied to resource")
    yield from _conflicts(scopes, path, scopes)


def _beyond(scope: str, hard: Collection[str]) -> bool:
    """Whether a quota limits standard resources that a scope does not have."""
    known = _RESOURCES.get(scope)
    return known is not None and any(is_standard_quota_resource_name(name) and name not in known for name in hard)


def _conflicts(scopes: Collection[str], path: str, shown: Collection[str] | None) -> Iterator[FieldError]:
    for pair in _CONFLICTS:
        if pair <= set(scopes):
            yield invalid(path, shown, "conflicting scopes")


def _selector(spec: View, hard: Collection[str]) -> Iterator[FieldError]:
    selector = spec.struct("scopeSelector")
    expressions, path = selector.structs("matchExpressions"), selector.at("matchExpressions")
    for expression in expressions:
        scope = expression.text("scopeName")
        if scope not in _RESOURCES:
            yield invalid(f"{path}.scopeName", TypedText(scope), "unsupported scope")
        if _beyond(scope, hard):
            yield invalid(path, _shown(selector), "unsupported scope applied to resource")
        yield from _operator(expression, path)
    scopes = [expression.text("scopeName") for expression in expressions]
    yield from _conflicts(scopes, path, spec.texts("scopes") if spec.has("scopes") else None)


def _operator(expression: View, path: str) -> Iterator[FieldError]:
    operator, values = expression.text("operator"), expression.texts("values")
    if expression.text("scopeName") in _ONLY_EXISTS and operator != "Exists":
        words = (
            "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
            "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
            "ResourceQuotaScopeCrossNamespacePodAffinity"
        )
        yield invalid(f"{path}.operator", TypedText(operator), words)
    match operator:
        case "In" | "NotIn":
            if not values:
                words = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                yield required(f"{path}.values", words)
        case "Exists" | "DoesNotExist":
            if values:
                words = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                yield invalid(f"{path}.values", values, words)
        case _:
            yield invalid(f"{path}.operator", TypedText(operator), "not a valid selector operator")


def _shown(selector: View) -> Mapping[str, Any]:
    """The selector as Go writes its internal type as JSON."""
    return {"MatchExpressions": [_shown_expression(one) for one in selector.structs("matchExpressions")]}


def _shown_expression(expression: View) -> Mapping[str, Any]:
    return {
        "ScopeName": expression.text("scopeName"),
        "Operator": expression.text("operator"),
        "Values": expression.texts("values") if expression.has("values") else None,
    }
