"""How the API server validates a HorizontalPodAutoscaler of autoscaling/v2 and of autoscaling/v1.

One of v1 is converted first: its target for the CPU is a metric, and annotations have the metrics and the behavior that
v1 has no fields for. An annotation that cannot be read is left alone.

Source: pkg/apis/autoscaling/validation/validation.go (ValidateHorizontalPodAutoscaler),
pkg/apis/autoscaling/v2/{defaults,zz_generated.validations}.go, pkg/apis/autoscaling/v1/conversion.go and
pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go at v1.37.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from msgspec import Struct

from podrules.admission.validation.errors import (
    TypedText,
    forbidden,
    invalid,
    required,
    validate_enum,
    validate_format,
    validate_required,
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


class _Source(NamedTuple):
    """The rules of a metric's source for its target."""

    kind: str
    """The type of metric that has the source."""
    either: tuple[str, ...]
    """The fields of the target; one of them is set."""
    missing: str
    """The field that is missing where none is set."""
    none_set: str
    excess: str = ""
    """The field that is too many where all are set; empty: all may be."""
    all_set: str = ""


_EITHER_VALUE: Final = "must set either a target value for metric or a per-pod target"
_BOTH_VALUES: Final = "may not set both a target value for metric and a per-pod target"
_EITHER_RAW: Final = "must set either a target raw value or a target utilization"
_BOTH_RAW: Final = "may not set both a target raw value and a target utilization"
_VALUES: Final = ("value", "averageValue")
_USAGE: Final = ("averageUtilization", "averageValue")
_SOURCES: Final = {
    "object": _Source("Object", _VALUES, "averageValue", "must set either a target value or averageValue"),
    "external": _Source("External", _VALUES, "averageValue", _EITHER_VALUE, "value", _BOTH_VALUES),
    "pods": _Source("Pods", _VALUES[1:], "averageValue", "must specify a positive target averageValue"),
    "resource": _Source("Resource", _USAGE, "averageUtilization", _EITHER_RAW, "averageValue", _BOTH_RAW),
    "containerResource": _Source(
        "ContainerResource", _USAGE, "averageUtilization", _EITHER_RAW, "averageValue", _BOTH_RAW
    ),
}
"""The sources of metrics, in upstream's order."""
_FIELDS: Final = {source.kind: name for name, source in _SOURCES.items()}


def validate_horizontal_pod_autoscaler(autoscaler: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a HorizontalPodAutoscaler of autoscaling/v2 against its rules."""
    yield from validate_object_meta(autoscaler.struct("metadata"), rules, dns_subdomain)
    spec = autoscaler.struct("spec")
    written, most = spec.number("minReplicas"), spec.number("maxReplicas") or 0
    least = 1 if written is None else written
    bounds = tuple(_bounds(spec, least, most, rules))
    if rules.minor < _DECLARED_SINCE:
        yield from bounds
    if most < least:
        yield invalid(spec.at("maxReplicas"), most, "must be greater than or equal to `minReplicas`")
    target = spec.struct("scaleTargetRef")
    yield from _reference(target, empty_group=target.text("kind") == "ReplicationController")
    metrics = spec.structs("metrics")
    for metric in metrics:
        yield from _metric(metric, rules)
    if least == 0 and not any(metric.text("type") in {"Object", "External"} for metric in metrics):
        words = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden(spec.at("metrics"), words)
    behavior = spec.struct("behavior")
    for name in filter(behavior.has, ("scaleUp", "scaleDown")):
        yield from _scaling(behavior.struct(name), rules)
    if rules.minor >= _DECLARED_SINCE:
        yield from bounds


def _bounds(spec: View, least: int, most: int, rules: Rules) -> Iterator[FieldError]:
    lowest, path = 0 if rules.on("HPAScaleToZero") else 1, spec.at("maxReplicas")
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


def _reference(reference: View, *, empty_group: bool) -> Iterator[FieldError]:
    for name in ("kind", "name"):
        yield from validate_required(reference, name)
        yield from validate_format(reference, name, path_segment_name)
    version = reference.text("apiVersion")
    group, _, rest = version.partition("/")
    if "/" in rest:
        yield invalid(reference.at("apiVersion"), version, f"unexpected GroupVersion string: {version}")
    elif not empty_group and ("/" not in version or not group):
        yield invalid(reference.at("apiVersion"), version, "apiVersion must specify API group")


def _metric(metric: View, rules: Rules) -> Iterator[FieldError]:
    kind = metric.text("type")
    yield from validate_required(metric, "type", detail="must specify a metric source type")
    yield from validate_enum(metric, "type", sorted(_FIELDS))
    present = list(filter(metric.has, _SOURCES))
    if present:
        yield from _source(present[0], metric.struct(present[0]), rules)
    expected = _FIELDS.get(kind, "")
    if expected and expected not in present:
        yield required(metric.at(expected), "must populate information for the given metric source")
    if len(present) > 1:
        for name in present:
            if name != expected:
                yield forbidden(metric.at(name), "must populate the given metric source only")


def _source(name: str, source: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a source against its rules: what it measures, and the target."""
    if name == "object":
        yield from _reference(source.struct("describedObject"), empty_group=True)
    if name in {"resource", "containerResource"}:
        yield from validate_required(source, "name", detail="must specify a resource name")
    else:
        metric = source.struct("metric")
        yield from validate_required(metric, "name", detail="must specify a metric name")
        yield from validate_format(metric, "name", path_segment_name)
    if name == "containerResource":
        if source.text("name"):
            yield from validate_container_resource_name(source.text("name"), source.at("name"), rules)
        yield from validate_required(source, "container", detail="must specify a container")
        yield from validate_format(source, "container", dns_label)
    target = source.struct("target")
    kind = target.text("type")
    yield from validate_required(target, "type", detail="must specify a metric target type")
    if kind not in _TARGET_TYPES:
        yield invalid(target.at("type"), TypedText(kind), "must be either Utilization, Value, or AverageValue")
    for field in _VALUES:
        amount = target.quantity(field)
        if amount is not None and amount.sign != 1:
            yield invalid(target.at(field), amount, "must be positive")
    utilization = target.number("averageUtilization")
    if utilization is not None and utilization < 1:
        yield invalid(target.at("averageUtilization"), utilization, "must be greater than 0")
    rule = _SOURCES[name]
    given = list(filter(target.has, rule.either))
    if not given:
        yield required(target.at(rule.missing), rule.none_set)
    elif rule.excess and len(given) == len(rule.either):
        yield forbidden(target.at(rule.excess), rule.all_set)


def _scaling(scaling: View, rules: Rules) -> Iterator[FieldError]:
    window, path = scaling.number("stabilizationWindowSeconds"), scaling.at("stabilizationWindowSeconds")
    if window is not None and window < 0:
        yield invalid(path, window, "must be greater than or equal to zero")
    if window is not None and window > _MAX_WINDOW:
        yield invalid(path, window, f"must be less than or equal to {_MAX_WINDOW}")
    yield from validate_word(scaling, "selectPolicy", _SELECT_POLICIES)
    if scaling.has("policies"):
        yield from validate_required(scaling, "policies", detail="must specify at least one Policy")
    for policy in scaling.structs("policies"):
        yield from validate_enum(policy, "type", _POLICY_TYPES)
        for name in ("value", "periodSeconds"):
            number = policy.number(name) or 0
            if number <= 0:
                yield invalid(policy.at(name), number, "must be greater than zero")
        period = policy.number("periodSeconds") or 0
        if period > _MAX_PERIOD:
            yield invalid(policy.at("periodSeconds"), period, f"must be less than or equal to {_MAX_PERIOD}")
    tolerance = scaling.quantity("tolerance") if rules.on("HPAConfigurableTolerance") else None
    if tolerance is not None:
        yield from validate_nonnegative_quantity(tolerance, scaling.at("tolerance"))


_ZERO_DROPPED_SINCE: Final = 36
"""The minor since which an object's average in v1 makes its value of 0 an absent one."""
_METRICS_ANNOTATION: Final = "autoscaling.alpha.kubernetes.io/metrics"
_BEHAVIOR_ANNOTATION: Final = "autoscaling.alpha.kubernetes.io/behavior"


def validate_horizontal_pod_autoscaler_v1(autoscaler: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a HorizontalPodAutoscaler of autoscaling/v1 against the rules for v2."""
    spec = dict(autoscaler.struct("spec").content)
    annotations = autoscaler.struct("metadata").texts_by_key("annotations")
    found = _fitting(annotations.get(_METRICS_ANNOTATION, ""), list[_MetricV1 | None]) or ()
    spec["metrics"] = [
        {"type": metric.get("type")}
        | {name: _source_of_v1(name, metric[name], rules) for name in _SOURCES if metric.get(name) is not None}
        for metric in (one or {} for one in found)
    ]
    utilization = spec.get("targetCPUUtilizationPercentage")
    if utilization is not None:
        target = {"type": "Utilization", "averageUtilization": utilization}
        spec["metrics"].append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    spec["behavior"] = _fitting(annotations.get(_BEHAVIOR_ANNOTATION, ""), _Behavior) or {}
    for scaling in spec["behavior"].values():
        if isinstance(scaling, dict):
            scaling["policies"] = scaling.get("policies") or []
    return validate_horizontal_pod_autoscaler(View({**autoscaler.content, "spec": spec}, autoscaler.path), rules)


class _SourceV1(Struct, rename="camel"):
    """The fields of all of v1's sources of metrics. What they have is only read to see whether it fits."""

    target: dict[str, Any] | None = None
    metric_name: str = ""
    name: str = ""
    container: str = ""
    target_value: Quantity | None = None
    average_value: Quantity | None = None
    target_average_value: Quantity | None = None
    target_average_utilization: int | None = None


class _MetricV1(Struct, rename="camel"):
    type: str = ""
    object: _SourceV1 | None = None
    external: _SourceV1 | None = None
    pods: _SourceV1 | None = None
    resource: _SourceV1 | None = None
    container_resource: _SourceV1 | None = None


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


def _fitting(annotation: str, kind: Any) -> Any:
    """What an annotation has as JSON; None where it is none of the kind."""
    try:
        found = _camel(json.loads(annotation))
        from_object(found, kind)
    except (ValueError, DecodeError, RecursionError):
        return None
    return found


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


_NAMES: Final = {
    name.lower(): name
    for kind in (_SourceV1, _MetricV1, _Policy, _Scaling, _Behavior)
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
