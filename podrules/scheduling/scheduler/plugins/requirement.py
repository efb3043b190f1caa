"""What is wrong with the terms of a node selector, and whether they match one node; it loads no arrays.

    matchExpressions   key: a label key; In and NotIn: one value or more; Exists and DoesNotExist: none; Gt and Lt: one
                       whole number of 64 bits; each value: a label value
    matchFields        In or NotIn, with one value

The API server refuses such pods, but for Gt and Lt of no number and, in preferred terms, values that no label has.
Filter takes such a term for one that matches no node; PreScore ends the cycle with the error.

Source: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go at v0.36.3 and, in k8s.io/apimachinery
at v0.36.3, pkg/labels/selector.go (NewRequirement), pkg/api/validate/content/kube.go and
pkg/util/validation/field/errors.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from math import inf
from typing import Final, NamedTuple

from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.quantity import whole_number
from podrules.api.model.selectors import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)

NAME_FIELD: Final = "metadata.name"
"""The only field that nodes have for matchFields."""
_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_WHOLE_NUMBER: Final = r"[+-]?[0-9]+"
_INT64: Final = range(-(2**63), 2**63)

_NAME_CHARACTERS: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_NAME_EXAMPLES: Final = ("MyName", "my.name", "123-abc")
_VALUE_CHARACTERS: Final = "a valid label must be an empty string or " + _NAME_CHARACTERS.removeprefix("must ")
_SUBDOMAIN_CHARACTERS: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)

_SOME_VALUES: Final = (1, inf, "for 'in', 'notin' operators, values set can't be empty")
_NO_VALUES: Final = (0, 0, "values set must be empty for exists and does not exist")
_ONE_VALUE: Final = (1, 1, "for 'Gt', 'Lt' operators, exactly one value is required")
_COUNTS: Final = {
    "In": _SOME_VALUES,
    "NotIn": _SOME_VALUES,
    "Exists": _NO_VALUES,
    "DoesNotExist": _NO_VALUES,
    "Gt": _ONE_VALUE,
    "Lt": _ONE_VALUE,
}
_ESCAPED_FOR_HTML: Final = str.maketrans({"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"})
_FIELD_OPERATORS: Final = ("In", "NotIn")


class ProblemKind(Enum):
    """What a problem is about, as far as the API server and the scheduler treat it differently."""

    NOT_AN_INTEGER = "NotAnInteger"
    """The value of Gt or Lt: the API server takes it."""
    NOT_A_LABEL_VALUE = "NotALabelValue"
    """The API server takes it in a preferred term."""
    OTHER = "Other"
    """The API server refuses it."""


class NodeSelectorProblem(NamedTuple):
    """One problem of a term."""

    field: str
    problem: str
    """``Invalid value: "x": …``."""
    kind: ProblemKind = ProblemKind.OTHER

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}"


def preferred_problems(terms: Iterable[PreferredSchedulingTerm]) -> tuple[NodeSelectorProblem, ...]:
    """What NewPreferredSchedulingTerms objects to; terms of weight 0 are left out."""
    return tuple(p for i, term in enumerate(terms) if term.weight for p in term_problems(term.preference, f"[{i}]"))


def term_problems(term: NodeSelectorTerm, path: str) -> tuple[NodeSelectorProblem, ...]:
    """What newNodeSelectorTerm objects to; the field of each problem begins with the term's path."""
    found: list[NodeSelectorProblem] = []
    for index, requirement in enumerate(term.match_expressions):
        # One requirement reports the same problem once. `aggregate` does the same over all requirements.
        found += dict.fromkeys(_label_problems(requirement, f"{path}.matchExpressions[{index}]"))
    for index, requirement in enumerate(term.match_fields):
        # One value, equal or not (nodeSelectorRequirementsAsFieldSelector).
        field = f"{path}.matchFields[{index}]"
        if requirement.operator not in _FIELD_OPERATORS:
            found.append(_not_supported(field, requirement.operator, _FIELD_OPERATORS))
        elif len(requirement.values) != 1:
            found.append(_invalid(f"{field}.values", requirement.values, "must have one element"))
    return tuple(found)


def aggregate(problems: Iterable[object]) -> str:
    """Problems as one text (utilerrors.Aggregate.Error)."""
    distinct = list(dict.fromkeys(map(str, problems)))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def int64_of(text: str) -> int | None:
    """strconv.ParseInt with base 10 and 64 bits; None where it fails."""
    if not re.fullmatch(_WHOLE_NUMBER, text):
        return None
    number = whole_number(text)
    return number if number in _INT64 else None


def _label_problems(requirement: NodeSelectorRequirement, path: str) -> Iterator[NodeSelectorProblem]:
    """labels.NewRequirement."""
    if requirement.operator not in _COUNTS:
        yield _not_supported(path, requirement.operator, _COUNTS)
        return
    problems = list(_key_problems(requirement.key))
    if problems:
        yield _invalid(f"{path}.key", requirement.key, "; ".join(problems))
    least, most, wanted = _COUNTS[requirement.operator]
    if not least <= len(requirement.values) <= most:
        yield _invalid(f"{path}.values", requirement.values, wanted)
    for index, value in enumerate(requirement.values):
        if requirement.operator in {"Gt", "Lt"} and int64_of(value) is None:
            problem = "for 'Gt', 'Lt' operators, the value must be an integer"
            yield _invalid(f"{path}.values[{index}]", value, problem, ProblemKind.NOT_AN_INTEGER)
    for index, value in enumerate(requirement.values):
        problems = list(_value_problems(value))
        if problems:
            field = f"{path}.values[{index}][{requirement.key}]"
            yield _invalid(field, value, "; ".join(problems), ProblemKind.NOT_A_LABEL_VALUE)


def _key_problems(key: str) -> Iterator[str]:
    """content.IsLabelKey."""
    if key.count("/") > 1:
        shape = _expected(_NAME_CHARACTERS, _NAME, *_NAME_EXAMPLES)
        yield f"a valid label key {shape} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return
    prefix, slash, name = key.rpartition("/")
    if slash and not prefix:
        yield "prefix part must be non-empty"
    elif slash:
        if len(prefix.encode()) > 253:
            yield "prefix part must be no more than 253 bytes"
        if not re.fullmatch(_SUBDOMAIN, prefix):
            yield f"prefix part {_expected(_SUBDOMAIN_CHARACTERS, _SUBDOMAIN, 'example.com')}"
    if not name:
        yield "name part must be non-empty"
    elif len(name.encode()) > 63:
        yield "name part must be no more than 63 bytes"
    if not re.fullmatch(_NAME, name):
        yield f"name part {_expected(_NAME_CHARACTERS, _NAME, *_NAME_EXAMPLES)}"


def _value_problems(value: str) -> Iterator[str]:
    """content.IsLabelValue."""
    if len(value.encode()) > 63:
        yield "must be no more than 63 bytes"
    if not re.fullmatch(f"({_NAME})?", value):
        yield _expected(_VALUE_CHARACTERS, f"({_NAME})?", "MyValue", "my_value", "12345")


def _expected(characters: str, pattern: str, *examples: str) -> str:
    """content.RegexError."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{characters} (e.g. {shown}regex used for validation is '{pattern}')"


def _invalid(
    path: str, value: str | tuple[str, ...], problem: str, kind: ProblemKind = ProblemKind.OTHER
) -> NodeSelectorProblem:
    """field.Invalid: a text in quotes; a list as Go writes JSON, null when it is empty."""
    shown = json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value or value == "" else "null"
    if not isinstance(value, str):
        shown = shown.translate(_ESCAPED_FOR_HTML)
    return NodeSelectorProblem(path, f"Invalid value: {shown}: {problem}", kind)


def _not_supported(path: str, operator: str, operators: Iterable[str]) -> NodeSelectorProblem:
    """field.NotSupported."""
    names = ", ".join(f'"{name}"' for name in operators)
    return NodeSelectorProblem(f"{path}.operator", f'Unsupported value: "{operator}": supported values: {names}')


# Whether one requirement holds for one node: what `node_selector` asks of a whole table at once.
#
#     In, NotIn       the value is (not) among ``values``; a node without the label satisfies NotIn
#     Exists          the node has the label; DoesNotExist: it has not
#     Gt, Lt          both the label and the one value are whole numbers of 64 bits, and label > value, label < value


def required_node_selector(pod: Pod) -> NodeSelector | None:
    """``affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution``."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return None
    return affinity.node_affinity.required_during_scheduling_ignored_during_execution


def node_matches(node: Node, pod: Pod) -> bool:
    """Whether a node has the labels of nodeSelector and fits the required affinity (RequiredNodeAffinity.Match)."""
    labels, required = node.metadata.labels, required_node_selector(pod)
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    for term in required.node_selector_terms if required is not None else ():
        # A term without a requirement, or with one that is not valid, matches no node.
        if not (term.match_expressions or term.match_fields) or term_problems(term, ""):
            continue
        expressions = all(
            holds_for_value(entry)(labels[entry.key]) if entry.key in labels else holds_without_label(entry)
            for entry in term.match_expressions
        )
        # Every field but the name reads as empty; a node without a name is not asked (nodeSelectorTerm.match).
        name = node.metadata.name
        fields = not name or all(
            ((name if entry.key == NAME_FIELD else "") == entry.values[0]) == (entry.operator == "In")
            for entry in term.match_fields
        )
        if expressions and fields:
            return True
    return required is None


def holds_for_value(requirement: NodeSelectorRequirement) -> Callable[[str], bool]:
    """Whether a label value that is there satisfies a valid requirement."""
    values = frozenset(requirement.values)
    match requirement.operator:
        case "In":
            return values.__contains__
        case "NotIn":
            return lambda value: value not in values
        case "Gt" | "Lt":
            bound = int64_of(requirement.values[0]) or 0
            sign = 1 if requirement.operator == "Gt" else -1
            return lambda value: (number := int64_of(value)) is not None and sign * number > sign * bound
        case operator:
            return lambda _: operator == "Exists"


def holds_without_label(requirement: NodeSelectorRequirement) -> bool:
    """Whether a node without the label satisfies a valid requirement."""
    return requirement.operator in {"NotIn", "DoesNotExist"}
