"""How the API server validates a PodDisruptionBudget.

Its metadata is validated only if the spec is valid, and its name may be any that a URL can have.

Source: pkg/apis/policy/validation/validation.go (ValidatePodDisruptionBudget), pkg/registry/policy/poddisruptionbudget
(dropDisabledFields) and pkg/apis/policy/helper.go at v1.37.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from podrules.admission.validation.errors import (
    invalid,
    validate_not_more_than_all,
    validate_positive_int_or_percent,
    validate_word,
)
from podrules.admission.validation.formats import path_segment_name
from podrules.admission.validation.metadata import shown_selector, validate_generic_meta, validate_label_selector
from podrules.admission.validation.view import Rules, View
from podrules.api.model.field_error import FieldError

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
        yield invalid(spec.path, _shown_budget(spec, selector), "minAvailable and maxUnavailable cannot be both set")
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


def _shown_budget(spec: View, selector: View) -> Mapping[str, Any]:
    """The spec as Go writes its internal type as JSON."""
    return {
        "MinAvailable": spec.port("minAvailable"),
        "Selector": shown_selector(selector) if spec.has("selector") else None,
        "MaxUnavailable": spec.port("maxUnavailable"),
        "UnhealthyPodEvictionPolicy": spec.pointer("unhealthyPodEvictionPolicy"),
    }
