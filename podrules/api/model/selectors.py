"""Parses, matches and prints label selectors as upstream does.

A pod's affinity and tolerations are modelled here too, with the node selectors that volumes and resource slices use.

Source: k8s.io/apimachinery/pkg/labels/selector.go and pkg/apis/meta/v1/helpers.go, k8s.io/api/core/v1/types.go, at
v0.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from podrules.api.model.base import Model

_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_TERM: Final = r"""(?x)\s*(?P<no>!\s*)?(?P<key>[^\s=!,()<>]+)
    (?:\s*(?P<equals>==|=|!=)\s*(?P<value>[^\s=!,()<>]*)|\s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\))?
    \s*(?P<end>,|$)"""
"""One term of a typed selector."""
_OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_API_OPERATORS: Final = {"=": "In"} | {text: name for name, text in _OPERATORS.items()}


class SelectorError(ValueError):
    """The API server would reject the selector; the message names the part and the value."""


class LabelSelectorRequirement(Model, frozen=True):
    """``matchExpressions[]``."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Model, frozen=True):
    """``selector`` of a workload."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class Requirement(Struct, frozen=True):
    """One term of a selector: a key, an operator (``=``, ``in``, ``notin``, ``exists``, ``!``) and values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether a set of labels satisfies this term; an absent key satisfies ``notin``."""
        value = labels.get(self.key)
        match self.operator:
            case "=" | "in":
                return value is not None and value in self.values
            case "notin":
                return value is None or value not in self.values
            case "exists":
                return value is not None
            case _:
                return value is None

    def __str__(self) -> str:
        match self.operator:
            case "=":
                return f"{self.key}={self.values[0]}"
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case _:
                return f"{self.key} {self.operator} ({','.join(sorted(self.values))})"


class Selector(Struct, frozen=True):
    """Requirements, sorted by key, that must all hold; an empty selector matches everything (labels.Everything)."""

    requirements: tuple[Requirement, ...] = ()

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> Selector:
        """A selector that requires every given label (labels.SelectorFromSet)."""
        return cls(tuple(Requirement(key, "=", (labels[key],)) for key in sorted(labels)))

    @classmethod
    def from_label_selector(cls, selector: LabelSelector) -> Selector:
        """The selector of a workload (metav1.LabelSelectorAsSelector).

        Raises:
            SelectorError: a key, an operator or a number of values is not valid.
        """
        terms = [_requirement(key, "=", (value,)) for key, value in selector.match_labels.items()]
        for expression in selector.match_expressions:
            operator = _OPERATORS.get(expression.operator)
            if operator is None:
                raise SelectorError(f'"{expression.operator}" is not a valid label selector operator')
            terms.append(_requirement(expression.key, operator, expression.values))
        return cls().add(*terms)

    @classmethod
    def from_text(cls, text: str) -> Selector:
        """Parse the argument of kubectl's ``-l`` (labels.Parse), except for ``>`` and ``<``.

        Raises:
            SelectorError: the text cannot be parsed; the message names the part.
        """
        terms: list[Requirement] = []
        position, more = 0, bool(text.strip())
        while more:
            found = re.compile(_TERM).match(text, position)
            if found is None or (found["no"] and (found["equals"] or found["set"])):
                raise SelectorError(f'"{text[position:].strip() or text}" is no term of a label selector')
            terms.append(_typed_term(found))
            position, more = found.end(), bool(found["end"])
        return cls().add(*terms)

    def add(self, *requirements: Requirement) -> Selector:
        """A selector with more terms; terms with equal keys keep their order."""
        return Selector(tuple(sorted((*self.requirements, *requirements), key=lambda term: term.key)))

    def to_label_selector(self) -> LabelSelector:
        """The selector in an API object's form: ``=`` in matchLabels, other operators in matchExpressions."""
        labels: dict[str, str] = {}
        expressions: list[LabelSelectorRequirement] = []
        for term in self.requirements:
            if term.operator == "=" and labels.setdefault(term.key, term.values[0]) == term.values[0]:
                continue
            expressions.append(LabelSelectorRequirement(term.key, _API_OPERATORS[term.operator], term.values))
        return LabelSelector(labels, tuple(expressions))

    @property
    def empty(self) -> bool:
        """Whether it has no terms and so matches everything."""
        return not self.requirements

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether a set of labels satisfies every term."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def is_label_key(key: str) -> bool:
    """Whether a label may have this key (validation.IsQualifiedName)."""
    return not _key_problem(key)


def _key_problem(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not _SUBDOMAIN.fullmatch(prefix)):
        return "its prefix is not a DNS subdomain"
    if len(name) > 63 or not _NAME.fullmatch(name):
        return "not a label name"
    return ""


def _typed_term(found: re.Match[str]) -> Requirement:
    key = found["key"]
    if found["set"]:
        return _requirement(key, found["set"], tuple(value.strip() for value in found["values"].split(",")))
    match found["equals"]:
        case None:
            return _requirement(key, "!" if found["no"] else "exists", ())
        case "!=":
            return _requirement(key, "notin", (found["value"],))
    return _requirement(key, "=", (found["value"],))


def _requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    """A checked term (labels.NewRequirement)."""
    problem = _key_problem(key)
    if problem:
        raise SelectorError(f'key: Invalid value: "{key}": {problem}')
    if operator in {"in", "notin"} and not values:
        raise SelectorError(f"values of {key}: for 'in', 'notin' operators, values set can't be empty")
    if operator in {"exists", "!"} and values:
        raise SelectorError(f"values of {key}: values set must be empty for exists and does not exist")
    for value in values:
        if value and (len(value) > 63 or not _NAME.fullmatch(value)):
            raise SelectorError(f'values of {key}: Invalid value: "{value}": not a label value')
    return Requirement(key, operator, values)


class NodeSelectorRequirement(Model, frozen=True):
    """``matchExpressions[]`` and ``matchFields[]``: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Model, frozen=True):
    """Requirements that must all hold; a term without requirements matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Model, frozen=True):
    """Terms; at least one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Model, frozen=True):
    """A preferred node term with its weight."""

    weight: int = 0
    preference: NodeSelectorTerm = field(default_factory=NodeSelectorTerm)


class NodeAffinity(Model, frozen=True):
    """``affinity.nodeAffinity``."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinityTerm(Model, frozen=True):
    """Selects the pods that a pod wants, or does not want, in its topology domain."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Model, frozen=True):
    """A preferred pod term with its weight."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = field(default_factory=PodAffinityTerm)


class PodAffinity(Model, frozen=True):
    """``affinity.podAffinity`` and ``affinity.podAntiAffinity``."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(Model, frozen=True):
    """``spec.affinity``."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Model, frozen=True):
    """``spec.tolerations[]``; an empty key with Exists tolerates everything, an empty effect every effect."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None
