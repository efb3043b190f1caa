"""How the API server validates topology spread constraints.

Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (validateTopologySpreadConstraints);
pkg/registry/core/pod/strategy.go (mutateTopologySpreadConstraints).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from podrules.admission.validation.affinity import merged_selector, validate_label_keys
from podrules.admission.validation.errors import duplicate, invalid, required, unsupported, validate_word
from podrules.admission.validation.metadata import validate_label_selector
from podrules.admission.validation.view import PodContext, View
from podrules.api.model.field_error import FieldError

_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES: Final = ("Honor", "Ignore")
_NOT_POSITIVE: Final = "must be greater than zero"


def validate_topology_spread_constraints(pod: PodContext) -> Iterator[FieldError]:
    """Hold each constraint against its rules, and against those that follow it."""
    constraints = pod.spec.structs("topologySpreadConstraints")
    for index, constraint in enumerate(constraints):
        yield from _constraint(constraint, constraints[index + 1 :])
        selector = merged_selector(constraint, pod, {"In": constraint.texts("matchLabelKeys")})
        yield from validate_label_keys(constraint, selector, pod.rules)
        yield from validate_label_selector(selector, pod.rules)


def _constraint(constraint: View, others: Sequence[View]) -> Iterator[FieldError]:
    skew = constraint.number("maxSkew") or 0
    if skew <= 0:
        yield invalid(constraint.at("maxSkew"), skew, _NOT_POSITIVE)
    key, action = constraint.text("topologyKey"), constraint.text("whenUnsatisfiable")
    if not key:
        yield required(constraint.at("topologyKey"), "can not be empty")
    if action not in _ACTIONS:
        yield unsupported(constraint.at("whenUnsatisfiable"), action, _ACTIONS)
    if any((other.text("topologyKey"), other.text("whenUnsatisfiable")) == (key, action) for other in others):
        yield duplicate(constraint.at("{topologyKey, whenUnsatisfiable}"), f"{{{key}, {action}}}")
    least = constraint.number("minDomains")
    if least is not None:
        if least <= 0:
            yield invalid(constraint.at("minDomains"), least, _NOT_POSITIVE)
        if action != "DoNotSchedule":
            words = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            yield invalid(constraint.at("minDomains"), least, words)
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        yield from validate_word(constraint, name, _POLICIES)
