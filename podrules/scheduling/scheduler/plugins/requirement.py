"""Whether one requirement of a node selector holds for one node: what `node_selector` asks of a whole table at once.

    In, NotIn       the value is (not) among ``values``; a node without the label satisfies NotIn
    Exists          the node has the label; DoesNotExist: it has not
    Gt, Lt          both the label and the one value are whole numbers of 64 bits, and label > value, label < value

Loads no arrays.

Source: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go and
k8s.io/apimachinery/pkg/labels/selector.go at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Callable

from podrules.api.model.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.plugins.node_selector_problems import NAME_FIELD, int64_of, term_problems


def required_node_selector(pod: Pod) -> NodeSelector | None:
    """``affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution``."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return None
    return affinity.node_affinity.required_during_scheduling_ignored_during_execution


def node_matches(node: Node, pod: Pod) -> bool:
    """Whether a node has the labels of nodeSelector and fits the required affinity (RequiredNodeAffinity.Match)."""
    labels, required = node.metadata.labels, required_node_selector(pod)
    return all(labels.get(key) == value for key, value in pod.spec.node_selector.items()) and (
        required is None or any(_term_matches(node, term) for term in required.node_selector_terms)
    )


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


def _term_matches(node: Node, term: NodeSelectorTerm) -> bool:
    """Whether all requirements of a term hold; one without any, or with one that is not valid, matches no node."""
    if not (term.match_expressions or term.match_fields) or term_problems(term, ""):
        return False
    return all(_label_holds(node, entry) for entry in term.match_expressions) and all(
        _field_holds(node, entry) for entry in term.match_fields
    )


def _label_holds(node: Node, requirement: NodeSelectorRequirement) -> bool:
    value = node.metadata.labels.get(requirement.key)
    return holds_without_label(requirement) if value is None else holds_for_value(requirement)(value)


def _field_holds(node: Node, requirement: NodeSelectorRequirement) -> bool:
    """Every field but the name reads as empty; a node without a name is not asked (nodeSelectorTerm.match)."""
    name = node.metadata.name
    actual = name if requirement.key == NAME_FIELD else ""
    return not name or (actual == requirement.values[0]) == (requirement.operator == "In")
