"""How the API server validates what says where a pod goes: affinity, topology spread constraints and tolerations.

A Pod's selectors are validated after its matchLabelKeys and mismatchLabelKeys were merged into them, a template's as
they are written.

Source: pkg/apis/core/validation/validation.go (validateAffinity and what it calls, validateTopologySpreadConstraints,
ValidateTolerations) and pkg/registry/core/pod/strategy.go (mutatePodAffinity, mutateTopologySpreadConstraints) of
k8s.io/kubernetes at v1.37.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from podrules.admission.validation.errors import (
    TypedText,
    duplicate,
    forbidden,
    invalid,
    malformed,
    required,
    unsupported,
    validate_enum,
    validate_required,
    validate_word,
)
from podrules.admission.validation.formats import dns_label, dns_subdomain, label_value, qualified_name
from podrules.admission.validation.metadata import validate_label_selector, validate_requirement
from podrules.admission.validation.view import PodContext, Rules, View
from podrules.api.model.misfit import FieldError

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES: Final = ("Honor", "Ignore")
_NOT_POSITIVE: Final = "must be greater than zero"
TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS: Final = ("Equal", "Exists")
_COMPARISONS: Final = ("Lt", "Gt")
_COMPARISONS_SINCE: Final = 35
"""The first minor that knows the operators that compare numbers, and refuses them while their gate is off."""


def validate_affinity(pod: PodContext) -> Iterator[FieldError]:
    """Hold ``spec.affinity`` against its rules."""
    affinity = pod.spec.struct("affinity")
    own = affinity.struct("nodeAffinity")
    if own.has(_REQUIRED):
        yield from validate_node_selector(own.struct(_REQUIRED), pod.rules)
    for preferred in own.structs(_PREFERRED):
        yield from _weight(preferred)
        yield from _node_selector_term(preferred.struct("preference"), pod.rules, values=False)
    for kind in ("podAffinity", "podAntiAffinity"):
        own = affinity.struct(kind)
        for term in own.structs(_REQUIRED):
            yield from _pod_affinity_term(term, pod)
        for weighted in own.structs(_PREFERRED):
            yield from _weight(weighted)
            yield from _pod_affinity_term(weighted.struct("podAffinityTerm"), pod)


def _weight(weighted: View) -> Iterator[FieldError]:
    weight = weighted.number("weight") or 0
    if not 1 <= weight <= 100:
        yield invalid(weighted.at("weight"), weight, "must be in the range 1-100")


def validate_node_selector(selector: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a node selector against its rules: it needs a term."""
    terms = selector.structs("nodeSelectorTerms")
    if not terms:
        yield required(selector.at("nodeSelectorTerms"), "must have at least one node selector term")
    for term in terms:
        yield from _node_selector_term(term, rules, values=True)


def _node_selector_term(term: View, rules: Rules, *, values: bool) -> Iterator[FieldError]:
    for requirement in term.structs("matchExpressions"):
        yield from validate_requirement(requirement, rules, compares=True, values=values)
    for requirement in term.structs("matchFields"):
        operator, given = requirement.text("operator"), requirement.texts("values")
        if operator not in {"In", "NotIn"}:
            yield invalid(requirement.at("operator"), TypedText(operator), "not a valid selector operator")
        elif len(given) != 1:
            words = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            yield required(requirement.at("values"), words)
        key = requirement.text("key")
        if key != "metadata.name":
            yield invalid(requirement.at("key"), key, "not a valid field selector key")
            continue
        for index, value in enumerate(given):
            yield from malformed(requirement.at(f"values[{index}]"), value, dns_subdomain(value))


def _pod_affinity_term(term: View, pod: PodContext) -> Iterator[FieldError]:
    matched, mismatched = term.texts("matchLabelKeys"), term.texts("mismatchLabelKeys")
    selector = merged_selector(term, pod, {"In": matched, "NotIn": mismatched})
    yield from validate_label_selector(selector, pod.rules)
    yield from validate_label_selector(term.struct("namespaceSelector"), pod.rules)
    for namespace in term.texts("namespaces"):
        yield from malformed(term.at("namespace"), namespace, dns_label(namespace))
    yield from validate_label_keys(term, selector, pod.rules)
    key = term.text("topologyKey")
    yield from validate_required(term, "topologyKey", detail="can not be empty")
    yield from malformed(term.at("topologyKey"), key, qualified_name(key, pod.rules))


def merged_selector(term: View, pod: PodContext, keys: dict[str, Sequence[str]]) -> View:
    """The label selector of a term or constraint as it is stored: with keys merged, by the operator that they get."""
    written = term.struct("labelSelector")
    if not pod.is_pod or not term.has("labelSelector") or not any(keys.values()):
        return written
    labels = pod.meta.texts_by_key("labels")
    merged = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for operator, names in keys.items()
        for key in names
        if key in labels
    ]
    expressions = [*(written.content.get("matchExpressions") or ()), *merged]
    return View({**written.content, "matchExpressions": expressions}, written.path)


def validate_label_keys(term: View, selector: View, rules: Rules) -> Iterator[FieldError]:
    """Hold the keys of an affinity term or a spread constraint against its label selector as it is stored."""
    matched, mismatched = term.texts("matchLabelKeys"), term.texts("mismatchLabelKeys")
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and not term.has("labelSelector"):
            yield forbidden(term.at(name), "must not be specified when labelSelector is not set")
            continue
        for index, key in enumerate(keys):
            yield from malformed(term.at(f"{name}[{index}]"), key, qualified_name(key, rules))
    places = {key: index for index, key in enumerate(matched)}
    seen = set(selector.texts_by_key("matchLabels"))
    for expression in selector.structs("matchExpressions"):
        key = expression.text("key")
        if key in places and key in seen:
            yield invalid(f"{term.path}[{places[key]}]", key, "exists in both matchLabelKeys and labelSelector")
        seen.add(key)
    for index, key in enumerate(matched):
        if key in mismatched:
            place = term.at(f"matchLabelKeys[{index}]")
            yield invalid(place, key, "exists in both matchLabelKeys and mismatchLabelKeys")


def validate_topology_spread_constraints(pod: PodContext) -> Iterator[FieldError]:
    """Hold each constraint against its rules, and against those that follow it."""
    constraints = pod.spec.structs("topologySpreadConstraints")
    for index, constraint in enumerate(constraints):
        others = constraints[index + 1 :]
        skew = constraint.number("maxSkew") or 0
        if skew <= 0:
            yield invalid(constraint.at("maxSkew"), skew, _NOT_POSITIVE)
        key, action = constraint.text("topologyKey"), constraint.text("whenUnsatisfiable")
        yield from validate_required(constraint, "topologyKey", detail="can not be empty")
        yield from validate_enum(constraint, "whenUnsatisfiable", _ACTIONS)
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
        selector = merged_selector(constraint, pod, {"In": constraint.texts("matchLabelKeys")})
        yield from validate_label_keys(constraint, selector, pod.rules)
        yield from validate_label_selector(selector, pod.rules)


def validate_tolerations(spec: View, rules: Rules) -> Iterator[FieldError]:
    """Hold each toleration against the rules of its key, operator, value and effect."""
    for toleration in spec.structs("tolerations"):
        key, operator, effect = toleration.text("key"), toleration.text("operator"), toleration.text("effect")
        yield from malformed(toleration.at("key"), key, qualified_name(key, rules) if key else ())
        if not key and operator != "Exists":
            words = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield invalid(toleration.at("operator"), TypedText(operator), words)
        if toleration.has("tolerationSeconds") and effect != "NoExecute":
            yield invalid(
                toleration.at("effect"), TypedText(effect), "effect must be 'NoExecute' when `tolerationSeconds` is set"
            )
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
        if effect and effect not in TAINT_EFFECTS:
            yield unsupported(toleration.at("effect"), effect, TAINT_EFFECTS)
