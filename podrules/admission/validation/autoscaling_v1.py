"""How the API server validates a HorizontalPodAutoscaler of autoscaling/v1.

It is converted first: its target for the CPU is a metric, and annotations have the metrics and the behavior that v1 has
no fields for. An annotation that cannot be read is left alone.

Source: pkg/apis/autoscaling/v1/conversion.go at v1.37.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from podrules.admission.validation.autoscaling import SOURCES, validate_horizontal_pod_autoscaler
from podrules.admission.validation.view import Rules, View
from podrules.api.model.decode import DecodeError, from_object
from podrules.api.model.field_error import FieldError
from podrules.api.model.quantity import Quantity

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
