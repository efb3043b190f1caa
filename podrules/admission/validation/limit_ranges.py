"""How the API server validates a LimitRange, after it has filled in the containers' defaults.

Source: pkg/apis/core/validation/validation.go (ValidateLimitRange) and pkg/apis/core/v1/defaults.go
(SetDefaults_LimitRangeItem) at v1.37.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from podrules.admission.validation.errors import TypedText, duplicate, forbidden, invalid, required
from podrules.admission.validation.formats import dns_subdomain, qualified_name
from podrules.admission.validation.metadata import validate_object_meta
from podrules.admission.validation.resources import stored_amounts, validate_limit_range_resource_name
from podrules.admission.validation.view import Rules, View
from podrules.api.model.field_error import FieldError
from podrules.api.model.policy import LimitRangeItem
from podrules.api.model.quantity import Quantity
from podrules.pod.defaults import default_limit_range_item
from podrules.pod.resources import is_overcommit_allowed

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
        item = _item(limit)
        yield from _type(item, rules)
        if item.kind in seen:
            yield duplicate(limit.at("type"), TypedText(item.kind))
        seen.add(item.kind)
        yield from _names(item, rules)
        for name in _all_names(item):
            yield from _amounts(item, name)


def _item(limit: View) -> _Item:
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
    return _Item(
        limit,
        stored.type,
        stored.max,
        stored.min,
        stored.default,
        stored.default_request,
        stored.max_limit_request_ratio,
    )


def _type(item: _Item, rules: Rules) -> Iterator[FieldError]:
    problems = qualified_name(item.kind, rules)
    for problem in problems:
        yield invalid(item.at.at("type"), TypedText(item.kind), problem)
    if not problems and "/" not in item.kind and item.kind not in _TYPES:
        yield invalid(item.at.at("type"), TypedText(item.kind), "must be a standard limit type or fully qualified")


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


def _amounts(item: _Item, name: str) -> Iterator[FieldError]:
    least, largest = item.least.get(name), item.largest.get(name)
    if least is not None and largest is not None and least > largest:
        yield invalid(item.at.at(f"min[{name}]"), least, f"min value {least} is greater than max value {largest}")
    if item.kind != _POD:
        yield from _request(item, name)
        yield from _default(item, name)
    yield from _ratio(item, name)
    if item.kind != _POD:
        yield from _equal(item, name)


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
