"""How the API server validates node selectors, and node and pod affinity.

A Pod's selectors are validated after its matchLabelKeys and mismatchLabelKeys were merged into them, a template's as
they are written.

Source: pkg/apis/core/validation/validation.go (validateAffinity and what it calls) and
pkg/registry/core/pod/strategy.go (mutatePodAffinity) of k8s.io/kubernetes at v1.37.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from podrules.admission.validation.errors import (
    TypedText,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
    validate_word,
)
from podrules.admission.validation.formats import dns_label, dns_subdomain, label_value, qualified_name
from podrules.admission.validation.metadata import validate_label_selector
from podrules.admission.validation.view import PodContext, Rules, View
from podrules.api.model.misfit import FieldError

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def validate_affinity(pod: PodContext) -> Iterator[FieldError]:
    """Hold ``spec.affinity`` against its rules."""
    affinity = pod.spec.struct("affinity")
    if affinity.has("nodeAffinity"):
        yield from _node_affinity(affinity.struct("nodeAffinity"), pod.rules)
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


def _node_affinity(affinity: View, rules: Rules) -> Iterator[FieldError]:
    if affinity.has(_REQUIRED):
        yield from validate_node_selector(affinity.struct(_REQUIRED), rules)
    for preferred in affinity.structs(_PREFERRED):
        yield from _weight(preferred)
        yield from _node_selector_term(preferred.struct("preference"), rules, values=False)


def validate_node_selector(selector: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a node selector against its rules: it needs a term."""
    terms = selector.structs("nodeSelectorTerms")
    if not terms:
        yield required(selector.at("nodeSelectorTerms"), "must have at least one node selector term")
    for term in terms:
        yield from _node_selector_term(term, rules, values=True)


def _node_selector_term(term: View, rules: Rules, *, values: bool) -> Iterator[FieldError]:
    for requirement in term.structs("matchExpressions"):
        yield from _match_expression(requirement, rules, values=values)
    for requirement in term.structs("matchFields"):
        yield from _match_field(requirement)


def _match_expression(requirement: View, rules: Rules, *, values: bool) -> Iterator[FieldError]:
    operator, given, place = requirement.text("operator"), requirement.texts("values"), requirement.at("values")
    if operator in {"In", "NotIn"}:
        if not given:
            yield required(place, "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in {"Exists", "DoesNotExist"}:
        if given:
            yield forbidden(place, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in {"Gt", "Lt"}:
        if len(given) != 1:
            yield required(place, "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield invalid(requirement.at("operator"), TypedText(operator), "not a valid selector operator")
    key = requirement.text("key")
    for problem in qualified_name(key, rules):
        yield invalid(requirement.at("key"), key, problem)
    for index, value in enumerate(given if values else ()):
        for problem in label_value(value, rules):
            yield invalid(f"{place}[{index}]", value, problem)


def _match_field(requirement: View) -> Iterator[FieldError]:
    operator, given = requirement.text("operator"), requirement.texts("values")
    if operator not in {"In", "NotIn"}:
        yield invalid(requirement.at("operator"), TypedText(operator), "not a valid selector operator")
    elif len(given) != 1:
        words = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(requirement.at("values"), words)
    key = requirement.text("key")
    if key != "metadata.name":
        yield invalid(requirement.at("key"), key, "not a valid field selector key")
        return
    for index, value in enumerate(given):
        for problem in dns_subdomain(value):
            yield invalid(requirement.at(f"values[{index}]"), value, problem)


def _pod_affinity_term(term: View, pod: PodContext) -> Iterator[FieldError]:
    matched, mismatched = term.texts("matchLabelKeys"), term.texts("mismatchLabelKeys")
    selector = merged_selector(term, pod, {"In": matched, "NotIn": mismatched})
    yield from validate_label_selector(selector, pod.rules)
    yield from validate_label_selector(term.struct("namespaceSelector"), pod.rules)
    for namespace in term.texts("namespaces"):
        for problem in dns_label(namespace):
            yield invalid(term.at("namespace"), namespace, problem)
    yield from validate_label_keys(term, selector, pod.rules)
    key = term.text("topologyKey")
    if not key:
        yield required(term.at("topologyKey"), "can not be empty")
    for problem in qualified_name(key, pod.rules):
        yield invalid(term.at("topologyKey"), key, problem)


def merged_selector(term: View, pod: PodContext, keys: dict[str, Sequence[str]]) -> View:
    """The label selector of an affinity term or a spread constraint as it is stored.

    Args:
        term: The term, with its ``labelSelector``.
        pod: The pod that has the labels with the values.
        keys: The keys that are merged, by the operator that they get.
    """
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
    """Hold matchLabelKeys and mismatchLabelKeys against the selector.

    Args:
        term: The affinity term or spread constraint.
        selector: Its label selector as it is stored.
        rules: The API server's version.
    """
    matched, mismatched = term.texts("matchLabelKeys"), term.texts("mismatchLabelKeys")
    if not matched and not mismatched:
        return
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and not term.has("labelSelector"):
            yield forbidden(term.at(name), "must not be specified when labelSelector is not set")
            continue
        for index, key in enumerate(keys):
            for problem in qualified_name(key, rules):
                yield invalid(term.at(f"{name}[{index}]"), key, problem)
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


# How the API server validates topology spread constraints.
#
# Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (validateTopologySpreadConstraints);
# pkg/registry/core/pod/strategy.go (mutateTopologySpreadConstraints).

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


# How the API server validates a pod's tolerations.
#
# Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (ValidateTolerations).

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
