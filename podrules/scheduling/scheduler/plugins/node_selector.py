"""Which nodes a node selector matches, over a whole table.

    a selector      any of its terms matches
    a term          all requirements hold, on labels (matchExpressions) and on metadata.name (matchFields);
                    one without requirements matches no node, nor does one with a requirement that is not valid

What a requirement asks of a label is `requirement`'s rule.

A pod's own requirement is its ``nodeSelector``, with labels that a node must all have, and its required node affinity.

Source: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go and
k8s.io/apimachinery/pkg/labels/selector.go at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.model.pod import Pod
from podrules.api.model.selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from podrules.scheduling.scheduler.framework.node_table import Nodes, frozen
from podrules.scheduling.scheduler.plugins.requirement import (
    NAME_FIELD,
    holds_for_value,
    holds_without_label,
    required_node_selector,
    term_problems,
)

Mask = NDArray[np.bool_]


def match_node_selector(nodes: Nodes, selector: NodeSelector) -> Mask:
    """For each node whether one of the selector's terms matches it (LazyErrorNodeSelector.Match)."""
    matched = np.zeros(len(nodes), np.bool_)
    for term in selector.node_selector_terms:
        matched |= match_node_selector_term(nodes, term)
    return matched


def match_node_selector_term(nodes: Nodes, term: NodeSelectorTerm) -> Mask:
    """For each node whether all of the term's requirements hold (nodeSelectorTerm.match)."""
    if not (term.match_expressions or term.match_fields) or term_problems(term, ""):
        return np.zeros(len(nodes), np.bool_)
    matched = np.ones(len(nodes), np.bool_)
    for expression in term.match_expressions:
        matched &= match_label(nodes, expression)
    for field in term.match_fields:
        matched &= match_field(nodes, field)
    return matched


def pod_matches_node_affinity(nodes: Nodes, pod: Pod) -> Mask:
    """For each node whether it has the labels of nodeSelector and fits the required node affinity.

    (GetRequiredNodeAffinity and RequiredNodeAffinity.Match; errors in terms are passed over, as all callers do.)
    """
    return nodes.derived(_Required(tuple(pod.spec.node_selector.items()), required_node_selector(pod)))


class _Required(Struct, frozen=True):
    """What a pod requires of nodes: several plugins ask, and replicas ask for the same."""

    node_selector: tuple[tuple[str, str], ...]
    affinity: NodeSelector | None

    def __call__(self, nodes: Nodes) -> Mask:
        matched = match_labels(nodes, dict(self.node_selector))
        if self.affinity is not None:
            matched &= match_node_selector(nodes, self.affinity)
        return frozen(matched)


def match_labels(nodes: Nodes, labels: Mapping[str, str]) -> Mask:
    """For each node whether it has all these labels (labels.SelectorFromSet)."""
    matched = np.ones(len(nodes), np.bool_)
    for key, value in labels.items():
        matched &= _judge_values(nodes, key, value.__eq__, absent=False)
    return matched


def match_label(nodes: Nodes, requirement: NodeSelectorRequirement) -> Mask:
    """For each node whether a valid requirement on a label holds (Requirement.Matches)."""
    absent = holds_without_label(requirement)
    return _judge_values(nodes, requirement.key, holds_for_value(requirement), absent=absent)


def match_field(nodes: Nodes, requirement: NodeSelectorRequirement) -> Mask:
    """For each node whether a valid requirement on a field holds.

    Every field but the name reads as empty; a node without a name is not asked (nodeSelectorTerm.match).
    """
    names = nodes.derived(_names)
    value = requirement.values[0]
    equal = names == value if requirement.key == NAME_FIELD else np.full(len(nodes), not value)
    wanted = requirement.operator == "In"
    return np.asarray((equal == wanted) | (names == ""), np.bool_)


def _judge_values(nodes: Nodes, key: str, holds: Callable[[str], bool], *, absent: bool) -> Mask:
    """A predicate judged once for each distinct value; `ABSENT`, -1, takes the last entry."""
    column = nodes.label(key)
    answers = np.fromiter((*map(holds, column.values), absent), np.bool_, len(column.values) + 1)
    return answers[column.codes]


def _names(nodes: Nodes) -> NDArray[np.object_]:
    return np.array(nodes.names, np.object_)
