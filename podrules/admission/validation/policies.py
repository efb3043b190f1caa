"""How the API server validates a ResourceQuota.

Source: pkg/apis/core/validation/validation.go (ValidateResourceQuota) and pkg/apis/core/helper/helpers.go
(IsResourceQuotaScopeValidForResource) at v1.37.1.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from msgspec import Struct

from podrules.admission.validation.errors import (
    TypedText,
    duplicate,
    forbidden,
    invalid,
    malformed,
    required,
    unsupported,
    validate_not_more_than_all,
    validate_positive_int_or_percent,
    validate_word,
)
from podrules.admission.validation.formats import dns_subdomain, path_segment_name, qualified_name
from podrules.admission.validation.metadata import (
    shown_selector,
    validate_generic_meta,
    validate_label_selector,
    validate_object_meta,
)
from podrules.admission.validation.resources import (
    is_standard_quota_resource_name,
    stored_amounts,
    validate_limit_range_resource_name,
    validate_quota_resource_name,
    validate_resource_value,
)
from podrules.admission.validation.view import Rules, View
from podrules.api.model.misfit import FieldError
from podrules.api.model.policy import LimitRangeItem
from podrules.api.model.quantity import Quantity
from podrules.pod.defaults import default_limit_range_item
from podrules.pod.priority import (
    HIGHEST_USER_DEFINABLE_PRIORITY,
    PREEMPT_LOWER_PRIORITY,
    PREEMPT_NEVER,
    TOO_HIGH,
    is_reserved_class_name,
    reserved_name_problem,
)
from podrules.pod.resources import is_overcommit_allowed

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
            yield invalid(
                path,
                {
                    "MatchExpressions": [
                        {
                            "ScopeName": one.text("scopeName"),
                            "Operator": one.text("operator"),
                            "Values": one.texts("values") if one.has("values") else None,
                        }
                        for one in selector.structs("matchExpressions")
                    ]
                },
                "unsupported scope applied to resource",
            )
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
    scopes = [expression.text("scopeName") for expression in expressions]
    yield from _conflicts(scopes, path, spec.texts("scopes") if spec.has("scopes") else None)


# How the API server validates a LimitRange, after it has filled in the containers' defaults.
#
# Source: pkg/apis/core/validation/validation.go (ValidateLimitRange) and pkg/apis/core/v1/defaults.go
# (SetDefaults_LimitRangeItem) at v1.37.1.

Amounts = Mapping[str, Quantity]

_CONTAINER: Final = "Container"
_POD: Final = "Pod"
_CLAIM: Final = "PersistentVolumeClaim"
_TYPES: Final = frozenset({_POD, _CONTAINER, _CLAIM})
_ONE: Final = Quantity(1)
_MILLI_MAX: Final = (2**63 - 1) // 1000
"""Amounts that are larger have no int64 in thousandths."""


class _Item(Struct, frozen=True):
    """One limit, with its defaults."""

    at: View
    kind: str
    largest: Amounts
    least: Amounts
    default: Amounts
    default_request: Amounts
    ratio: Amounts


def validate_limit_range(limit_range: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a LimitRange against its rules. One without a name is given one."""
    meta = limit_range.struct("metadata")
    named = meta if meta.text("name") else View({**meta.content, "name": "drawn"}, meta.path)
    yield from validate_object_meta(named, rules, dns_subdomain)
    seen: set[str] = set()
    for limit in limit_range.struct("spec").structs("limits"):
        stored = default_limit_range_item(
            LimitRangeItem(
                type=limit.text("type"),
                max=stored_amounts(limit, "max"),
                min=stored_amounts(limit, "min"),
                default=stored_amounts(limit, "default"),
                default_request=stored_amounts(limit, "defaultRequest"),
                max_limit_request_ratio=stored_amounts(limit, "maxLimitRequestRatio"),
            )
        )
        item = _Item(
            limit,
            stored.type,
            stored.max,
            stored.min,
            stored.default,
            stored.default_request,
            stored.max_limit_request_ratio,
        )
        problems = qualified_name(item.kind, rules)
        yield from malformed(item.at.at("type"), TypedText(item.kind), problems)
        if not problems and "/" not in item.kind and item.kind not in _TYPES:
            yield invalid(item.at.at("type"), TypedText(item.kind), "must be a standard limit type or fully qualified")
        if item.kind in seen:
            yield duplicate(limit.at("type"), TypedText(item.kind))
        seen.add(item.kind)
        yield from _names(item, rules)
        for name in _all_names(item):
            least, largest = item.least.get(name), item.largest.get(name)
            if least is not None and largest is not None and least > largest:
                yield invalid(
                    item.at.at(f"min[{name}]"), least, f"min value {least} is greater than max value {largest}"
                )
            if item.kind != _POD:
                yield from _request(item, name)
                yield from _default(item, name)
            yield from _ratio(item, name)
            if item.kind != _POD:
                yield from _equal(item, name)


def _names(item: _Item, rules: Rules) -> Iterator[FieldError]:
    yield from _keys(item, "max", item.largest, rules)
    yield from _keys(item, "min", item.least, rules)
    for name, amounts in (("default", item.default), ("defaultRequest", item.default_request)):
        if item.kind != _POD:
            yield from _keys(item, name, amounts, rules)
        elif amounts:
            yield forbidden(item.at.at(name), "may not be specified when `type` is 'Pod'")
    if item.kind == _CLAIM and "storage" not in item.least and "storage" not in item.largest:
        words = "either minimum or maximum storage value is required, but neither was provided"
        yield required(item.at.at("limits"), words)
    yield from _keys(item, "maxLimitRequestRatio", item.ratio, rules)


def _keys(item: _Item, field: str, amounts: Amounts, rules: Rules) -> Iterator[FieldError]:
    for name in amounts:
        yield from validate_limit_range_resource_name(item.kind, name, item.at.at(f"{field}[{name}]"), rules)


def _all_names(item: _Item) -> Iterator[str]:
    defaults = () if item.kind == _POD else (item.default, item.default_request)
    yield from dict.fromkeys(name for part in (item.largest, item.least, *defaults, item.ratio) for name in part)


def _request(item: _Item, name: str) -> Iterator[FieldError]:
    request, path = item.default_request.get(name), item.at.at(f"defaultRequest[{name}]")
    if request is None:
        return
    least, largest, default = item.least.get(name), item.largest.get(name), item.default.get(name)
    if least is not None and least > request:
        yield invalid(path, request, f"min value {least} is greater than default request value {request}")
    if largest is not None and request > largest:
        yield invalid(path, request, f"default request value {request} is greater than max value {largest}")
    if default is not None and request > default:
        yield invalid(path, request, f"default request value {request} is greater than default limit value {default}")


def _default(item: _Item, name: str) -> Iterator[FieldError]:
    default, path = item.default.get(name), item.at.at(f"default[{name}]")
    if default is None:
        return
    least, largest = item.least.get(name), item.largest.get(name)
    if least is not None and least > default:
        yield invalid(path, least, f"min value {least} is greater than default value {default}")
    if largest is not None and default > largest:
        yield invalid(path, largest, f"default value {default} is greater than max value {largest}")


def _ratio(item: _Item, name: str) -> Iterator[FieldError]:
    ratio, path = item.ratio.get(name), item.at.at(f"maxLimitRequestRatio[{name}]")
    if ratio is None:
        return
    if ratio < _ONE:
        yield invalid(path, ratio, f"ratio {ratio} is less than 1")
    least, largest = item.least.get(name), item.largest.get(name)
    if least is None or largest is None:
        return
    allowed: float = ratio.value
    low, high = least.value, largest.value
    if max(ratio.value, low, high) < _MILLI_MAX:
        allowed = ratio.milli_value / 1000
        low, high = least.milli_value, largest.milli_value
    most = _quotient(high, low)
    if allowed > most:
        yield invalid(path, ratio, f"ratio {ratio} is greater than max/min = {_decimals(most)}")


def _quotient(high: int, low: int) -> float:
    """A quotient of floats as Go has it."""
    if low:
        return float(high) / float(low)
    return math.copysign(math.inf, high) if high else math.nan


def _decimals(number: float) -> str:
    """A float as Go's ``%f`` prints it."""
    return f"{number:f}" if math.isfinite(number) else f"{number:+f}".replace("inf", "Inf").replace("+nan", "NaN")


def _equal(item: _Item, name: str) -> Iterator[FieldError]:
    default, request = item.default.get(name), item.default_request.get(name)
    if is_overcommit_allowed(name) or default is None or request is None or default == request:
        return
    words = f"default value {default} must equal to defaultRequest value {request} in {name}"
    yield invalid(item.at.at(f"defaultRequest[{name}]"), request, words)


# How the API server validates a PodDisruptionBudget.
#
# Its metadata is validated only if the spec is valid, and its name may be any that a URL can have.
#
# Source: pkg/apis/policy/validation/validation.go (ValidatePodDisruptionBudget), pkg/registry/policy/poddisruptionbudget
# (dropDisabledFields) and pkg/apis/policy/helper.go at v1.37.1.

_UNHEALTHY_POD_EVICTION_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_EMPTY_SELECTOR_KEY: Final = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
"""With it the API server keeps the selector of a budget of v1beta1 that selects no pod; users' ones are dropped."""


def validate_pod_disruption_budget(budget: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a PodDisruptionBudget against its rules."""
    problems = tuple(_spec(budget.struct("spec"), rules))
    yield from problems
    if not problems:
        yield from validate_generic_meta(budget.struct("metadata"), rules, path_segment_name)


def _spec(spec: View, rules: Rules) -> Iterator[FieldError]:
    selector = _budget_selector(spec)
    if spec.has("minAvailable") and spec.has("maxUnavailable"):
        yield invalid(
            spec.path,
            {
                "MinAvailable": spec.port("minAvailable"),
                "Selector": shown_selector(selector) if spec.has("selector") else None,
                "MaxUnavailable": spec.port("maxUnavailable"),
                "UnhealthyPodEvictionPolicy": spec.pointer("unhealthyPodEvictionPolicy"),
            },
            "minAvailable and maxUnavailable cannot be both set",
        )
    for name in ("minAvailable", "maxUnavailable"):
        value = spec.port(name)
        if value is not None:
            yield from validate_positive_int_or_percent(value, spec.at(name))
            yield from validate_not_more_than_all(value, spec.at(name))
    yield from validate_label_selector(selector, rules)
    yield from validate_word(spec, "unhealthyPodEvictionPolicy", _UNHEALTHY_POD_EVICTION_POLICIES)


def _budget_selector(spec: View) -> View:
    selector = spec.struct("selector")
    expressions = selector.content.get("matchExpressions") or ()
    kept = [one for one in expressions if (one or {}).get("key") != _EMPTY_SELECTOR_KEY]
    if len(kept) == len(expressions) or _selects_none(selector):
        return selector
    return View({**selector.content, "matchExpressions": kept}, selector.path)


def _selects_none(selector: View) -> bool:
    expressions = selector.structs("matchExpressions")
    if len(expressions) != 1 or selector.texts_by_key("matchLabels"):
        return False
    only = expressions[0]
    return only.text("operator") == "Exists" and not only.texts("values")


# How the API server validates a PriorityClass.
#
# Source: pkg/apis/scheduling/validation/validation.go (ValidatePriorityClass) and pkg/apis/core/validation/validation.go
# (ValidatePreemptionPolicy) at v1.37.1.

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
