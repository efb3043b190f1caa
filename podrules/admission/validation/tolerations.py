"""How the API server validates a pod's tolerations.

Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (ValidateTolerations).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.admission.validation.errors import TypedText, invalid, unsupported
from podrules.admission.validation.formats import label_value, qualified_name
from podrules.admission.validation.view import Rules, View
from podrules.api.model.field_error import FieldError

TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS: Final = ("Equal", "Exists")
_COMPARISONS: Final = ("Lt", "Gt")
_COMPARISONS_SINCE: Final = 35
"""The first minor that knows the operators that compare numbers, and refuses them while their gate is off."""


def validate_tolerations(spec: View, rules: Rules) -> Iterator[FieldError]:
    """Hold each toleration against the rules of its key, operator, value and effect."""
    for toleration in spec.structs("tolerations"):
        yield from _toleration(toleration, rules)


def _toleration(toleration: View, rules: Rules) -> Iterator[FieldError]:
    key, operator, effect = toleration.text("key"), toleration.text("operator"), toleration.text("effect")
    for problem in qualified_name(key, rules) if key else ():
        yield invalid(toleration.at("key"), key, problem)
    if not key and operator != "Exists":
        words = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(toleration.at("operator"), TypedText(operator), words)
    if toleration.has("tolerationSeconds") and effect != "NoExecute":
        yield invalid(
            toleration.at("effect"), TypedText(effect), "effect must be 'NoExecute' when `tolerationSeconds` is set"
        )
    yield from _value(toleration, operator, rules)
    if effect and effect not in TAINT_EFFECTS:
        yield unsupported(toleration.at("effect"), effect, TAINT_EFFECTS)


def _value(toleration: View, operator: str, rules: Rules) -> Iterator[FieldError]:
    place, value = toleration.at("operator"), toleration.text("value")
    if operator in {"Equal", ""}:
        problems = label_value(value, rules)
        if problems:
            yield invalid(place, value, ";".join(problems))
    elif operator == "Exists":
        if value:
            yield invalid(place, value, "value must be empty when `operator` is 'Exists'")
    else:
        compares = operator in _COMPARISONS and rules.minor >= _COMPARISONS_SINCE
        yield unsupported(place, operator, (*_OPERATORS, *_COMPARISONS) if compares else _OPERATORS)
