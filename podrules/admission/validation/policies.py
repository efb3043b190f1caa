"""How the API server validates a ResourceQuota, a LimitRange, a PodDisruptionBudget and a PriorityClass.

Source: pkg/apis/core/validation/validation.go (ValidateResourceQuota, ValidateLimitRange, ValidatePreemptionPolicy),
pkg/apis/core/helper/helpers.go (IsResourceQuotaScopeValidForResource), pkg/apis/core/v1/defaults.go
(SetDefaults_LimitRangeItem), pkg/apis/policy/validation/validation.go (ValidatePodDisruptionBudget),
pkg/registry/policy/poddisruptionbudget (dropDisabledFields), pkg/apis/policy/helper.go and
pkg/apis/scheduling/validation/validation.go (ValidatePriorityClass) at v1.37.1.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from podrules.admission.validation.errors import (
    TypedText,
    duplicate,
    forbidden,
    invalid,
    malformed,
    required,
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
_ONLY_EXISTS_WORDS: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_CONFLICTS: Final = (frozenset({"BestEffort", "NotBestEffort"}), frozenset({"Terminating", "NotTerminating"}))
_CONTAINER: Final = "Container"
_POD: Final = "Pod"
_CLAIM: Final = "PersistentVolumeClaim"
_TYPES: Final = frozenset({_POD, _CONTAINER, _CLAIM})
_ONE: Final = Quantity(1)
_MILLI_MAX: Final = (2**63 - 1) // 1000
"""Amounts that are larger have no int64 in thousandths."""
_UNHEALTHY_POD_EVICTION_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_EMPTY_SELECTOR_KEY: Final = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
"""With it the API server keeps the selector of a budget of v1beta1 that selects no pod; users' ones are dropped."""
_PREEMPTION_POLICIES: Final = (PREEMPT_LOWER_PRIORITY, PREEMPT_NEVER)


def validate_resource_quota(quota: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a ResourceQuota against its rules."""
    yield from validate_object_meta(quota.struct("metadata"), rules, dns_subdomain)
    spec = quota.struct("spec")
    hard = stored_amounts(spec, "hard")
    for name, amount in hard.items():
        path = spec.at(f"hard[{name}]")
        yield from validate_quota_resource_name(name, path, rules)
        yield from validate_resource_value(name, amount, path, rules)
    scopes, path = spec.texts("scopes"), spec.at("scopes")
    for scope in scopes:
        if scope not in _RESOURCES:
            yield invalid(path, scopes, "unsupported scope")
        if _beyond(scope, hard):
            yield invalid(path, scopes, "unsupported scope applied to resource")
    yield from _conflicts(scopes, path, scopes)
    yield from _scope_selector(spec, hard)


def _beyond(scope: str, hard: Collection[str]) -> bool:
    """Whether a quota limits standard resources that a scope does not have."""
    known = _RESOURCES.get(scope)
    return known is not None and any(is_standard_quota_resource_name(name) and name not in known for name in hard)


def _conflicts(scopes: Collection[str], path: str, shown: Collection[str] | None) -> Iterator[FieldError]:
    for pair in _CONFLICTS:
        if pair <= set(scopes):
            yield invalid(path, shown, "conflicting scopes")


def _scope_selector(spec: View, hard: Collection[str]) -> Iterator[FieldError]:
    selector = spec.struct("scopeSelector")
    expressions, path = selector.structs("matchExpressions"), selector.at("matchExpressions")
    shown = [
        {
            "ScopeName": one.text("scopeName"),
            "Operator": one.text("operator"),
            "Values": one.texts("values") if one.has("values") else None,
        }
        for one in expressions
    ]
    for expression in expressions:
        scope = expression.text("scopeName")
        if scope not in _RESOURCES:
            yield invalid(f"{path}.scopeName", TypedText(scope), "unsupported scope")
        if _beyond(scope, hard):
            yield invalid(path, {"MatchExpressions": shown}, "unsupported scope applied to resource")
        operator, values = expression.text("operator"), expression.texts("values")
        if scope in _ONLY_EXISTS and operator != "Exists":
            yield invalid(f"{path}.operator", TypedText(operator), _ONLY_EXISTS_WORDS)
        if operator in {"In", "NotIn"}:
            if not values:
                words = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                yield required(f"{path}.values", words)
        elif operator not in {"Exists", "DoesNotExist"}:
            yield invalid(f"{path}.operator", TypedText(operator), "not a valid selector operator")
        elif values:
            words = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            yield invalid(f"{path}.values", values, words)
    scopes = [expression.text("scopeName") for expression in expressions]
    yield from _conflicts(scopes, path, spec.texts("scopes") if spec.has("scopes") else None)


def validate_limit_range(limit_range: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a LimitRange against its rules, after its defaults are filled in. One without a name is given one."""
    meta = limit_range.struct("metadata")
    named = meta if meta.text("name") else View({**meta.content, "name": "drawn"}, meta.path)
    yield from validate_object_meta(named, rules, dns_subdomain)
    seen: set[str] = set()
    for limit in limit_range.struct("spec").structs("limits"):
        item = default_limit_range_item(
            LimitRangeItem(
                type=limit.text("type"),
                max=stored_amounts(limit, "max"),
                min=stored_amounts(limit, "min"),
                default=stored_amounts(limit, "default"),
                default_request=stored_amounts(limit, "defaultRequest"),
                max_limit_request_ratio=stored_amounts(limit, "maxLimitRequestRatio"),
            )
        )
        kind = TypedText(item.type)
        problems = qualified_name(kind, rules)
        yield from malformed(limit.at("type"), kind, problems)
        if not problems and "/" not in kind and kind not in _TYPES:
            yield invalid(limit.at("type"), kind, "must be a standard limit type or fully qualified")
        if kind in seen:
            yield duplicate(limit.at("type"), kind)
        seen.add(kind)
        yield from _resource_names(limit, item, rules)
        parts = (item.max, item.min, *(() if kind == _POD else (item.default, item.default_request)))
        for name in dict.fromkeys(name for part in (*parts, item.max_limit_request_ratio) for name in part):
            least, largest = item.min.get(name), item.max.get(name)
            if least is not None and largest is not None and least > largest:
                yield invalid(limit.at(f"min[{name}]"), least, f"min value {least} is greater than max value {largest}")
            if kind != _POD:
                yield from _defaults(limit, item, name)
            yield from _ratio(limit, item, name)
            default, request = item.default.get(name), item.default_request.get(name)
            fixed = kind != _POD and not is_overcommit_allowed(name)
            if fixed and default is not None and request is not None and default != request:
                words = f"default value {default} must equal to defaultRequest value {request} in {name}"
                yield invalid(limit.at(f"defaultRequest[{name}]"), request, words)


def _resource_names(limit: View, item: LimitRangeItem, rules: Rules) -> Iterator[FieldError]:
    """Hold the names of the resources against the rules of the limit's type."""
    is_pod = item.type == _POD
    for field, amounts in (
        ("max", item.max),
        ("min", item.min),
        ("default", item.default),
        ("defaultRequest", item.default_request),
        ("maxLimitRequestRatio", item.max_limit_request_ratio),
    ):
        if field == "maxLimitRequestRatio" and item.type == _CLAIM and "storage" not in {*item.min, *item.max}:
            words = "either minimum or maximum storage value is required, but neither was provided"
            yield required(limit.at("limits"), words)
        if field.startswith("default") and is_pod:
            if amounts:
                yield forbidden(limit.at(field), "may not be specified when `type` is 'Pod'")
            continue
        for name in amounts:
            yield from validate_limit_range_resource_name(item.type, name, limit.at(f"{field}[{name}]"), rules)


def _defaults(limit: View, item: LimitRangeItem, name: str) -> Iterator[FieldError]:
    """Hold the default request and the default limit of a resource against each other and against min and max."""
    least, largest = item.min.get(name), item.max.get(name)
    request, path = item.default_request.get(name), limit.at(f"defaultRequest[{name}]")
    default = item.default.get(name)
    if request is not None:
        if least is not None and least > request:
            yield invalid(path, request, f"min value {least} is greater than default request value {request}")
        for what, most in (("max", largest), ("default limit", default)):
            if most is not None and request > most:
                yield invalid(path, request, f"default request value {request} is greater than {what} value {most}")
    path = limit.at(f"default[{name}]")
    if default is not None and least is not None and least > default:
        yield invalid(path, least, f"min value {least} is greater than default value {default}")
    if default is not None and largest is not None and default > largest:
        yield invalid(path, largest, f"default value {default} is greater than max value {largest}")


def _ratio(limit: View, item: LimitRangeItem, name: str) -> Iterator[FieldError]:
    ratio, path = item.max_limit_request_ratio.get(name), limit.at(f"maxLimitRequestRatio[{name}]")
    if ratio is None:
        return
    if ratio < _ONE:
        yield invalid(path, ratio, f"ratio {ratio} is less than 1")
    least, largest = item.min.get(name), item.max.get(name)
    if least is None or largest is None:
        return
    allowed: float = ratio.value
    low, high = least.value, largest.value
    if max(ratio.value, low, high) < _MILLI_MAX:
        allowed = ratio.milli_value / 1000
        low, high = least.milli_value, largest.milli_value
    # A quotient of floats as Go has it, and as its %f prints it.
    most = float(high) / float(low) if low else math.copysign(math.inf, high) if high else math.nan
    shown = f"{most:f}" if math.isfinite(most) else f"{most:+f}".replace("inf", "Inf").replace("+nan", "NaN")
    if allowed > most:
        yield invalid(path, ratio, f"ratio {ratio} is greater than max/min = {shown}")


def validate_pod_disruption_budget(budget: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a PodDisruptionBudget against its rules.

    Its metadata is validated only if the spec is valid, and its name may be any that a URL can have.
    """
    problems = tuple(_budget_spec(budget.struct("spec"), rules))
    yield from problems
    if not problems:
        yield from validate_generic_meta(budget.struct("metadata"), rules, path_segment_name)


def _budget_spec(spec: View, rules: Rules) -> Iterator[FieldError]:
    selector = spec.struct("selector")
    expressions = selector.structs("matchExpressions")
    first = expressions[0] if len(expressions) == 1 and not selector.texts_by_key("matchLabels") else None
    selects_none = first is not None and first.text("operator") == "Exists" and not first.texts("values")
    if any(one.text("key") == _EMPTY_SELECTOR_KEY for one in expressions) and not selects_none:
        kept = [one.content for one in expressions if one.text("key") != _EMPTY_SELECTOR_KEY]
        selector = View({**selector.content, "matchExpressions": kept}, selector.path)
    numbers = {name: spec.port(name) for name in ("minAvailable", "maxUnavailable")}
    if None not in numbers.values():
        shown = {
            "MinAvailable": numbers["minAvailable"],
            "Selector": shown_selector(selector) if spec.has("selector") else None,
            "MaxUnavailable": numbers["maxUnavailable"],
            "UnhealthyPodEvictionPolicy": spec.pointer("unhealthyPodEvictionPolicy"),
        }
        yield invalid(spec.path, shown, "minAvailable and maxUnavailable cannot be both set")
    for name, value in numbers.items():
        if value is not None:
            yield from validate_positive_int_or_percent(value, spec.at(name))
            yield from validate_not_more_than_all(value, spec.at(name))
    yield from validate_label_selector(selector, rules)
    yield from validate_word(spec, "unhealthyPodEvictionPolicy", _UNHEALTHY_POD_EVICTION_POLICIES)


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
    if struct.pointer("preemptionPolicy") == "":
        yield required(struct.at("preemptionPolicy"))
    else:
        yield from validate_word(struct, "preemptionPolicy", _PREEMPTION_POLICIES)
