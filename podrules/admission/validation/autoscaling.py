"""How the API server validates a HorizontalPodAutoscaler of autoscaling/v2.

Source: pkg/apis/autoscaling/validation/validation.go (ValidateHorizontalPodAutoscaler),
pkg/apis/autoscaling/v2/{defaults,zz_generated.validations}.go and
pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go at v1.37.1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from podrules.admission.validation.errors import (
    TypedText,
    forbidden,
    invalid,
    required,
    unsupported,
    validate_format,
    validate_word,
)
from podrules.admission.validation.formats import dns_label, dns_subdomain, path_segment_name
from podrules.admission.validation.metadata import validate_object_meta
from podrules.admission.validation.resources import validate_container_resource_name, validate_nonnegative_quantity
from podrules.admission.validation.view import Rules, View
from podrules.api.model.decode import DecodeError, from_object
from podrules.api.model.misfit import FieldError
from podrules.api.model.quantity import Quantity

_DECLARED_SINCE: Final = 37
"""The minor since which the bounds of the replicas are declared, and come last."""
_REQUIRED_SINCE: Final = 36
"""The minor since which ``maxReplicas: 0`` is a value that is missing."""
_MAX_PERIOD: Final = 1800
_MAX_WINDOW: Final = 3600
_SELECT_POLICIES: Final = ("Disabled", "Max", "Min")
_POLICY_TYPES: Final = ("Percent", "Pods")
_TARGET_TYPES: Final = frozenset({"Utilization", "Value", "AverageValue"})
SOURCES: Final = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
"""The types of metrics, and the field of each, in upstream's order."""


def validate_horizontal_pod_autoscaler(autoscaler: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a HorizontalPodAutoscaler of autoscaling/v2 against its rules."""
    yield from validate_object_meta(autoscaler.struct("metadata"), rules, dns_subdomain)
    spec = autoscaler.struct("spec")
    bounds = tuple(_bounds(spec, rules))
    if rules.minor < _DECLARED_SINCE:
        yield from bounds
    yield from _spec(spec, rules)
    if rules.minor >= _DECLARED_SINCE:
        yield from bounds


def _bounds(spec: View, rules: Rules) -> Iterator[FieldError]:
    least, most, path = _min_replicas(spec), spec.number("maxReplicas") or 0, spec.at("maxReplicas")
    lowest = 0 if rules.on("HPAScaleToZero") else 1
    if least < lowest:
        yield invalid(spec.at("minReplicas"), least, f"must be greater than or equal to {lowest}")
    if most > 0:
        return
    if rules.minor < _REQUIRED_SINCE:
        yield invalid(path, most, "must be greater than 0")
    elif most < 0:
        yield invalid(path, most, "must be greater than or equal to 1")
    else:
        yield required(path, "" if rules.minor >= _DECLARED_SINCE else "must be set and greater than 0")


def _min_replicas(spec: View) -> int:
    least = spec.number("minReplicas")
    return 1 if least is None else least


def _spec(spec: View, rules: Rules) -> Iterator[FieldError]:
    most = spec.number("maxReplicas") or 0
    if most < _min_replicas(spec):
        yield invalid(spec.at("maxReplicas"), most, "must be greater than or equal to `minReplicas`")
    target = spec.struct("scaleTargetRef")
    yield from _reference(target, empty_group=target.text("kind") == "ReplicationController")
    metrics = spec.structs("metrics")
    for metric in metrics:
        yield from _metric(metric, rules)
    if _min_replicas(spec) == 0 and not any(metric.text("type") in {"Object", "External"} for metric in metrics):
        words = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden(spec.at("metrics"), words)
    behavior = spec.struct("behavior")
    for name in ("scaleUp", "scaleDown"):
        if behavior.has(name):
            yield from _scaling_rules(behavior.struct(name), rules)


def _reference(reference: View, *, empty_group: bool) -> Iterator[FieldError]:
    for name in ("kind", "name"):
        value = reference.text(name)
        if not value:
            yield required(reference.at(name))
        for problem in path_segment_name(value):
            yield invalid(reference.at(name), value, problem)
    version = reference.text("apiVersion")
    group, _, rest = version.partition("/")
    if "/" in rest:
        yield invalid(reference.at("apiVersion"), version, f"unexpected GroupVersion string: {version}")
    elif not empty_group and ("/" not in version or not group):
        yield invalid(reference.at("apiVersion"), version, "apiVersion must specify API group")


def _metric(metric: View, rules: Rules) -> Iterator[FieldError]:
    kind, path = metric.text("type"), metric.at("type")
    if not kind:
        yield required(path, "must specify a metric source type")
    if kind not in SOURCES:
        yield unsupported(path, kind, sorted(SOURCES))
    present = [name for name in SOURCES.values() if metric.has(name)]
    if present:
        yield from _CHECKS[present[0]](metric.struct(present[0]), rules)
    expected = SOURCES.get(kind, "")
    if expected and expected not in present:
        yield required(metric.at(expected), "must populate information for the given metric source")
    if len(present) > 1:
        for name in present:
            if name != expected:
                yield forbidden(metric.at(name), "must populate the given metric source only")


def _object(source: View, _rules: Rules) -> Iterator[FieldError]:
    yield from _reference(source.struct("describedObject"), empty_group=True)
    yield from _identifier(source)
    yield from _target(source)
    target = source.struct("target")
    if not target.has("value") and not target.has("averageValue"):
        yield required(target.at("averageValue"), "must set either a target value or averageValue")


def _external(source: View, _rules: Rules) -> Iterator[FieldError]:
    yield from _identifier(source)
    yield from _target(source)
    target = source.struct("target")
    value, average = target.has("value"), target.has("averageValue")
    if not value and not average:
        yield required(target.at("averageValue"), "must set either a target value for metric or a per-pod target")
    if value and average:
        yield forbidden(target.at("value"), "may not set both a target value for metric and a per-pod target")


def _pods(source: View, _rules: Rules) -> Iterator[FieldError]:
    yield from _identifier(source)
    yield from _target(source)
    target = source.struct("target")
    if not target.has("averageValue"):
        yield required(target.at("averageValue"), "must specify a positive target averageValue")


def _resource(source: View, _rules: Rules) -> Iterator[FieldError]:
    if not source.text("name"):
        yield required(source.at("name"), "must specify a resource name")
    yield from _target(source)
    yield from _utilization(source.struct("target"))


def _container_resource(source: View, rules: Rules) -> Iterator[FieldError]:
    name = source.text("name")
    if name:
        yield from validate_container_resource_name(name, source.at("name"), rules)
    else:
        yield required(source.at("name"), "must specify a resource name")
    if not source.text("container"):
        yield required(source.at("container"), "must specify a container")
    yield from validate_format(source, "container", dns_label)
    yield from _target(source)
    yield from _utilization(source.struct("target"))


_CHECKS: Final[Mapping[str, Callable[[View, Rules], Iterator[FieldError]]]] = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}


def _identifier(source: View) -> Iterator[FieldError]:
    metric = source.struct("metric")
    name = metric.text("name")
    if not name:
        yield required(metric.at("name"), "must specify a metric name")
    for problem in path_segment_name(name):
        yield invalid(metric.at("name"), name, problem)


def _target(source: View) -> Iterator[FieldError]:
    target = source.struct("target")
    kind = target.text("type")
    if not kind:
        yield required(target.at("type"), "must specify a metric target type")
    if kind not in _TARGET_TYPES:
        yield invalid(target.at("type"), TypedText(kind), "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        amount = target.quantity(name)
        if amount is not None and amount.sign != 1:
            yield invalid(target.at(name), amount, "must be positive")
    utilization = target.number("averageUtilization")
    if utilization is not None and utilization < 1:
        yield invalid(target.at("averageUtilization"), utilization, "must be greater than 0")


def _utilization(target: View) -> Iterator[FieldError]:
    utilization, average = target.has("averageUtilization"), target.has("averageValue")
    if not utilization and not average:
        yield required(target.at("averageUtilization"), "must set either a target raw value or a target utilization")
    if utilization and average:
        yield forbidden(target.at("averageValue"), "may not set both a target raw value and a target utilization")


def _scaling_rules(scaling: View, rules: Rules) -> Iterator[FieldError]:
    window, path = scaling.number("stabilizationWindowSeconds"), scaling.at("stabilizationWindowSeconds")
    if window is not None and window < 0:
        yield invalid(path, window, "must be greater than or equal to zero")
    if window is not None and window > _MAX_WINDOW:
        yield invalid(path, window, f"must be less than or equal to {_MAX_WINDOW}")
    yield from validate_word(scaling, "selectPolicy", _SELECT_POLICIES)
    policies = scaling.structs("policies")
    if scaling.has("policies") and not policies:
        yield required(scaling.at("policies"), "must specify at least one Policy")
    for policy in policies:
        yield from _scaling_policy(policy)
    tolerance = scaling.quantity("tolerance") if rules.on("HPAConfigurableTolerance") else None
    if tolerance is not None:
        yield from validate_nonnegative_quantity(tolerance, scaling.at("tolerance"))


def _scaling_policy(policy: View) -> Iterator[FieldError]:
    kind = policy.text("type")
    if kind not in _POLICY_TYPES:
        yield unsupported(policy.at("type"), kind, _POLICY_TYPES)
    for name in ("value", "periodSeconds"):
        number = policy.number(name) or 0
        if number <= 0:
            yield invalid(policy.at(name), number, "must be greater than zero")
    period = policy.number("periodSeconds") or 0
    if period > _MAX_PERIOD:
        yield invalid(policy.at("periodSeconds"), period, f"must be less than or equal to {_MAX_PERIOD}")


# How the API server validates a HorizontalPodAutoscaler of autoscaling/v1.
#
# It is converted first: its target for the CPU is a metric, and annotations have the metrics and the behavior that v1 has
# no fields for. An annotation that cannot be read is left alone.
#
# Source: pkg/apis/autoscaling/v1/conversion.go at v1.37.1.

_ZERO_DROPPED_SINCE: Final = 36
"""The minor since which an object's average in v1 makes its value of 0 an absent one."""
_METRICS_ANNOTATION: Final = "autoscaling.alpha.kubernetes.io/metrics"
_BEHAVIOR_ANNOTATION: Final = "autoscaling.alpha.kubernetes.io/behavior"


def validate_horizontal_pod_autoscaler_v1(autoscaler: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a HorizontalPodAutoscaler of autoscaling/v1 against the rules for v2."""
    spec = dict(autoscaler.struct("spec").content)
    annotations = autoscaler.struct("metadata").texts_by_key("annotations")
    spec["metrics"] = _metrics_of_v1(annotations.get(_METRICS_ANNOTATION, ""), rules)
    utilization = spec.get("targetCPUUtilizationPercentage")
    if utilization is not None:
        target = {"type": "Utilization", "averageUtilization": utilization}
        spec["metrics"].append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    spec["behavior"] = _behavior_of_v1(annotations.get(_BEHAVIOR_ANNOTATION, ""))
    return validate_horizontal_pod_autoscaler(View({**autoscaler.content, "spec": spec}, autoscaler.path), rules)


class _Source(Struct, rename="camel"):
    """The fields of all of v1's sources of metrics. What they have is only read to see whether it fits."""

    target: dict[str, Any] | None = None
    metric_name: str = ""
    name: str = ""
    container: str = ""
    target_value: Quantity | None = None
    average_value: Quantity | None = None
    target_average_value: Quantity | None = None
    target_average_utilization: int | None = None


class _Metric(Struct, rename="camel"):
    type: str = ""
    object: _Source | None = None
    external: _Source | None = None
    pods: _Source | None = None
    resource: _Source | None = None
    container_resource: _Source | None = None


class _Policy(Struct, rename="camel"):
    type: str = ""
    value: int = 0
    period_seconds: int = 0


class _Scaling(Struct, rename="camel"):
    stabilization_window_seconds: int | None = None
    select_policy: str | None = None
    policies: list[_Policy | None] | None = None
    tolerance: Quantity | None = None


class _Behavior(Struct, rename="camel"):
    scale_up: _Scaling | None = None
    scale_down: _Scaling | None = None


def _metrics_of_v1(annotation: str, rules: Rules) -> list[dict[str, Any]]:
    found = _fitting(annotation, list[_Metric | None]) or ()
    return [_metric_of_v1(metric or {}, rules) for metric in found]


def _fitting(annotation: str, kind: Any) -> Any:
    """What an annotation has as JSON; None where it is none of the kind."""
    try:
        found = _camel(json.loads(annotation))
        from_object(found, kind)
    except (ValueError, DecodeError, RecursionError):
        return None
    return found


def _metric_of_v1(metric: Mapping[str, Any], rules: Rules) -> dict[str, Any]:
    sources = {name: metric[name] for name in SOURCES.values() if metric.get(name) is not None}
    return {"type": metric.get("type")} | {name: _source_of_v1(name, one, rules) for name, one in sources.items()}


def _source_of_v1(name: str, source: Mapping[str, Any], rules: Rules) -> dict[str, Any]:
    value, average = source.get("targetValue"), source.get("targetAverageValue")
    utilization = source.get("targetAverageUtilization")
    kind = "AverageValue"
    match name:
        case "object":
            value, average = value or "0", source.get("averageValue")
            kind = "Value" if average is None else kind
            if average is not None and rules.minor >= _ZERO_DROPPED_SINCE and Quantity.from_json(value).is_zero:
                value = None
        case "external":
            kind = kind if value is None else "Value"
        case "pods":
            value, average = None, average or "0"
        case _:
            value, kind = None, kind if utilization is None else "Utilization"
    target = {"type": kind, "value": value, "averageValue": average, "averageUtilization": utilization}
    metric = {"name": source.get("metricName")}
    return {**source, "describedObject": source.get("target"), "metric": metric, "target": target}


def _behavior_of_v1(annotation: str) -> Any:
    behavior = _fitting(annotation, _Behavior) or {}
    for scaling in behavior.values():
        if isinstance(scaling, dict):
            scaling["policies"] = scaling.get("policies") or []
    return behavior


_NAMES: Final = {
    name.lower(): name
    for kind in (_Source, _Metric, _Policy, _Scaling, _Behavior)
    for name in kind.__struct_encode_fields__
}


def _camel(value: Any) -> Any:
    """JSON with the names of its fields as they are spelt here: Go reads names of any case."""
    match value:
        case dict():
            return {_NAMES.get(key.lower(), key): _camel(entry) for key, entry in value.items()}
        case list():
            return [_camel(entry) for entry in value]
        case _:
            return value
