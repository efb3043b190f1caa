"""NodeAffinity: nodeSelector and node affinity of the pod, and affinity that the scheduler adds to every pod.

    PreFilter   Skip without any of them. When each required term names nodes (matchFields, metadata.name In), only
                those; requirements of one term that leave no name conflict, and so for all terms
    Filter      the added required affinity matches; the node has the labels of nodeSelector; a required term matches
    PreScore    Skip without preferred terms, the pod's or added ones; Error where one is not valid
    Score       the sum of the weights of preferred terms that match; normalised: 100 * sum / highest sum

Arguments: ``addedAffinity``.

Source: pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go at v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.model import selectors as api
from podrules.api.model.base import Model
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)
from podrules.api.names import meant_label, nearest_word
from podrules.api.well_known import is_of_the_machine, meant_value
from podrules.pod.platform import OS_LABELS
from podrules.scheduling.scheduler.framework.answers import SKIP, CandidateChange, ChangeKind, Code, Fact, Status
from podrules.scheduling.scheduler.framework.interface import (
    AppliedChange,
    CycleContext,
    PreFilterResult,
    PreScoreResult,
    S,
    Verdicts,
    WithoutState,
)
from podrules.scheduling.scheduler.framework.node_table import Nodes
from podrules.scheduling.scheduler.plugins.node_selector import (
    match_field,
    match_label,
    match_node_selector,
    match_node_selector_term,
    pod_matches_node_affinity,
)
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import HOSTNAME
from podrules.scheduling.scheduler.plugins.requirement import (
    NAME_FIELD,
    aggregate,
    preferred_problems,
    required_node_selector,
    term_problems,
)
from podrules.scheduling.scheduler.plugins.scores import default_normalize_score

ERR_REASON_POD: Final = "node(s) didn't match Pod's node affinity/selector"
ERR_REASON_ENFORCED: Final = "node(s) didn't match scheduler-enforced node affinity"
ERR_REASON_CONFLICT: Final = "pod affinity terms conflict"


REQUIRED_FIELD: Final = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"


class NodeAffinityArgs(Model, frozen=True):
    """The plugin's arguments."""

    added_affinity: api.NodeAffinity | None = None
    """Applied to all pods beside their own; both have to match."""


class UnmetRequirement(Struct, frozen=True):
    """A requirement that a node does not meet."""

    key: str
    operator: str
    values: tuple[str, ...]
    actual: str | None
    """The node's value; None without the label."""


class FailedTerm(Struct, frozen=True):
    """A required term that does not match a node."""

    index: int
    unmet: tuple[UnmetRequirement, ...]
    """Empty when the term has no requirements, which matches nothing."""
    problems: tuple[str, ...]
    """Why the term is not valid; then nothing was compared."""


class NodeAffinityMismatch(Struct, frozen=True):
    """Why a node does not match; all are empty where it does."""

    enforced: tuple[FailedTerm, ...]
    """Terms of the scheduler's added affinity, when none matches."""
    node_selector: tuple[UnmetRequirement, ...]
    """Labels of the pod's nodeSelector."""
    required: tuple[FailedTerm, ...]
    """Terms of the pod's required affinity, when none matches."""
    none_required: bool
    """The pod's required affinity has no terms at all, which matches nothing."""


class LabelMismatch(Fact, frozen=True):
    """NodeAffinity: a requirement that the node's labels do not meet."""

    field: str
    """``spec.nodeSelector`` or a term of the required affinity."""
    key: str
    operator: str
    values: tuple[str, ...]
    actual: str | None
    """The node's value; None without the label."""


_GIVEN_BY_THE_MACHINE: Final = re.compile(r"([a-z0-9.-]*\.)?(kubernetes|k8s)\.io/.*")
"""Labels that state what a node is and where; their values are not changed."""
_NODE_SELECTOR: Final = "spec.nodeSelector"
_BEFORE_DROP: Final = -25
_ALIKE: Final = 0.9
"""The ratio of difflib from which a key is another with a typing error."""


class NodeAffinityPlugin:
    """Filters and scores by labels and names of nodes."""

    name = "NodeAffinity"
    formula = "100 x raw / most"
    fact_types = (LabelMismatch,)
    args_type = NodeAffinityArgs
    without_pre_filter = WithoutState.NOT_NEEDED
    without_pre_score = WithoutState.COMPUTED

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        """Skip, a conflict, or the nodes that the terms name."""
        required = required_node_selector(context.pod)
        if required is None and not context.pod.spec.node_selector and self._added_selector(context) is None:
            return PreFilterResult(SKIP)
        names = named_nodes(required.node_selector_terms if required else ())
        if names is not None and not names:
            return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (ERR_REASON_CONFLICT,)))
        return PreFilterResult(node_names=names)

    def filter(self, context: CycleContext, state: Any) -> Verdicts:  # noqa: ARG002 - needs none
        """UnschedulableAndUnresolvable where the added affinity or the pod's own does not match."""
        matched = pod_matches_node_affinity(context.table.nodes, context.pod)
        added = self._added_selector(context)
        enforced = np.ones_like(matched) if added is None else match_node_selector(context.table.nodes, added)
        codes = np.where(matched & enforced, Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE).astype(np.int8)
        return Verdicts(codes, lambda row: (ERR_REASON_POD if enforced[row] else ERR_REASON_ENFORCED,))

    def explain(self, context: CycleContext, state: Any, row: int) -> NodeAffinityMismatch:  # noqa: ARG002 - needs none
        """What a row's node lacks."""
        nodes, labels = context.table.nodes, context.table.nodes[row].metadata.labels
        required = required_node_selector(context.pod)
        return NodeAffinityMismatch(
            enforced=_failed_terms(nodes, self._added_selector(context), row),
            node_selector=tuple(
                UnmetRequirement(key, "In", (value,), labels.get(key))
                for key, value in context.pod.spec.node_selector.items()
                if labels.get(key) != value
            ),
            required=_failed_terms(nodes, required, row),
            none_required=required is not None and not required.node_selector_terms,
        )

    def facts(self, context: CycleContext, state: Any, row: int) -> Iterator[Fact]:
        """The requirements that the node's labels do not meet."""
        found = self.explain(context, state, row)
        for unmet in found.node_selector:
            yield _label_mismatch(_NODE_SELECTOR, unmet)
        yield from _term_mismatches(f"{REQUIRED_FIELD}.nodeSelectorTerms", found.required)
        yield from _term_mismatches("addedAffinity of the scheduler's configuration, term ", found.enforced)

    def pre_score(self, context: CycleContext, feasible: NDArray[np.int32]) -> PreScoreResult:  # noqa: ARG002 - of all
        """Skip, an error, or the preferred terms, added ones first, with empty terms and terms of weight 0."""
        affinity = context.pod.spec.affinity
        rule = affinity.node_affinity if affinity is not None else None
        own = rule.preferred_during_scheduling_ignored_during_execution if rule is not None else ()
        added = self._added(context).preferred_during_scheduling_ignored_during_execution
        if not own and not added:
            return PreScoreResult(SKIP)
        problems = preferred_problems(own)
        if problems:
            return PreScoreResult(Status(Code.ERROR, (aggregate(problems),)))
        return PreScoreResult(state=(*added, *own))

    def raw_scores(
        self, context: CycleContext, state: tuple[PreferredSchedulingTerm, ...], feasible: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """The weights of the preferred terms that match."""
        sums = np.zeros(len(context.table), np.int64)
        for term in state:
            sums += term.weight * match_node_selector_term(context.table.nodes, term.preference)
        return sums[feasible]

    def score(
        self, context: CycleContext, state: tuple[PreferredSchedulingTerm, ...], feasible: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """The more, the better."""
        return default_normalize_score(self.raw_scores(context, state, feasible), reverse=False)

    def _added(self, context: CycleContext) -> api.NodeAffinity:
        args = context.args.get(self.name)
        added = args.added_affinity if isinstance(args, NodeAffinityArgs) else None
        return added or api.NodeAffinity()

    def _added_selector(self, context: CycleContext) -> NodeSelector | None:
        return self._added(context).required_during_scheduling_ignored_during_execution

    def changes(self, situation: S, context: CycleContext, state: Any, row: int) -> Iterator[AppliedChange[S]]:
        """Labels for the node; the requirement dropped."""
        found = [fact for fact in self.facts(context, state, row) if isinstance(fact, LabelMismatch)]
        name, spec = situation.table.names[row], situation.pod.spec
        labels = _wanted_labels(found)
        # Labels of nodes that a key without any node looks like.
        there = {label for node in situation.table.nodes for label in node.metadata.labels}
        unknown = (fact.key for fact in found if fact.key not in there)
        alike = (meant_label(key) or nearest_word(key, sorted(there), closeness=_ALIKE) for key in unknown)
        meant = tuple(filter(None, alike))
        text = ",".join(f"{key}={value}" for key, value in labels.items())
        cannot_be = any(starmap(meant_value, labels.items()))
        if not cannot_be and any(key in OS_LABELS or is_of_the_machine(key) for key in labels):
            # Cheaper than to drop what the pod asks of its machine.
            change = CandidateChange(ChangeKind.ADD_NODE, node=name, field=found[0].field, value=text)
            added = situation.with_another_node(name, lambda node: _labelled(node, labels))
            yield AppliedChange(change, added, _BEFORE_DROP)
        elif labels and not meant and not any(map(_GIVEN_BY_THE_MACHINE.fullmatch, labels)):
            node = situation.with_node(name, lambda node: _labelled(node, labels))
            other = ", ".join(f"{one.key}={one.actual}" for one in found if one.key in labels and one.actual)
            yield AppliedChange(CandidateChange(ChangeKind.LABEL_NODE, node=name, value=text, replaced=other), node)
        # A pod of another operating system does not run there, whatever its selector says.
        if any(fact.key in OS_LABELS and not meant_value(fact.key, ",".join(fact.values)) for fact in found):
            return
        keys = {fact.key for fact in found if fact.field == _NODE_SELECTOR}
        if keys:
            kept = {key: value for key, value in spec.node_selector.items() if key not in keys}
            dropped = ", ".join(f"{key}={spec.node_selector[key]}" for key in sorted(keys))
            change = CandidateChange(ChangeKind.DROP, field=_NODE_SELECTOR, value=dropped, meant=meant)
            yield AppliedChange(change, situation.with_spec(node_selector=kept))
        if spec.affinity is not None and any(".nodeAffinity." in fact.field for fact in found):
            change = CandidateChange(ChangeKind.DROP, field=REQUIRED_FIELD, meant=meant)
            rule = spec.affinity.node_affinity
            preferred = () if rule is None else rule.preferred_during_scheduling_ignored_during_execution
            left = api.NodeAffinity(preferred_during_scheduling_ignored_during_execution=preferred)
            then = situation.with_spec(affinity=replace(spec.affinity, node_affinity=left))
            yield AppliedChange(change, then)


def pinned_nowhere(pod: Pod, nodes: Sequence[Node]) -> tuple[str, ...]:
    """The names that pin a pod, as ``metadata.name=node-7``, if no node has one of them; empty: it is not so pinned."""
    there = {(NAME_FIELD, node.metadata.name) for node in nodes}
    there |= {(HOSTNAME, node.metadata.labels.get(HOSTNAME, "")) for node in nodes}
    required = required_node_selector(pod)
    terms = [
        {
            (entry.key, value)
            for entry in (*term.match_fields, *term.match_expressions)
            if entry.operator == "In" and entry.key in {NAME_FIELD, HOSTNAME}
            for value in entry.values
        }
        for term in (required.node_selector_terms if required else ())
    ]
    own = {(HOSTNAME, pod.spec.node_selector[HOSTNAME])} if HOSTNAME in pod.spec.node_selector else set()
    for pins in (own, set[tuple[str, str]]().union(*terms) if all(terms) else set()):
        if pins and not pins & there:
            return tuple(f"{key}={name}" for key, name in sorted(pins))
    return ()


def _wanted_labels(found: Sequence[LabelMismatch]) -> dict[str, str]:
    """Labels that would meet the nodeSelector and the first required term; empty when no label can."""
    terms = [fact.field for fact in found if fact.field != _NODE_SELECTOR]
    needed = [fact for fact in found if fact.field in {_NODE_SELECTOR, *terms[:1]}]
    if any(fact.operator not in {"In", "Exists"} or fact.key == NAME_FIELD for fact in needed):
        return {}
    return {fact.key: fact.values[0] if fact.values else "" for fact in needed}


def _labelled(node: Node, labels: Mapping[str, str]) -> Node:
    return replace(node, metadata=replace(node.metadata, labels={**node.metadata.labels, **labels}))


def _term_mismatches(field: str, terms: Sequence[FailedTerm]) -> Iterator[Fact]:
    for term in terms:
        for unmet in term.unmet:
            yield _label_mismatch(f"{field}[{term.index}]", unmet)


def _label_mismatch(field: str, unmet: UnmetRequirement) -> LabelMismatch:
    return LabelMismatch(field, unmet.key, unmet.operator, unmet.values, unmet.actual)


def named_nodes(terms: Iterable[NodeSelectorTerm]) -> frozenset[str] | None:
    """The nodes that terms name; None when there is no term, or one that names none."""
    named: frozenset[str] | None = None
    for term in terms:
        sets = [
            frozenset(field.values) for field in term.match_fields if field.key == NAME_FIELD and field.operator == "In"
        ]
        if not sets:
            return None
        named = (named or frozenset()) | sets[0].intersection(*sets[1:])
    return named


def _failed_terms(nodes: Nodes, selector: NodeSelector | None, row: int) -> tuple[FailedTerm, ...]:
    """Why no term of a selector matches a row's node; empty when one does."""
    if selector is None or match_node_selector(nodes, selector)[row]:
        return ()
    found, metadata = [], nodes[row].metadata
    for index, term in enumerate(selector.node_selector_terms):
        if problems := term_problems(term, f"nodeSelectorTerms[{index}]"):
            found.append(FailedTerm(index, (), tuple(map(str, problems))))
            continue
        unmet = [
            _unmet(expression, metadata.labels.get(expression.key))
            for expression in term.match_expressions
            if not match_label(nodes, expression)[row]
        ]
        unmet += [
            _unmet(field, metadata.name if field.key == NAME_FIELD else None)
            for field in term.match_fields
            if not match_field(nodes, field)[row]
        ]
        found.append(FailedTerm(index, tuple(unmet), ()))
    return tuple(found)


def _unmet(requirement: NodeSelectorRequirement, actual: str | None) -> UnmetRequirement:
    return UnmetRequirement(requirement.key, requirement.operator, requirement.values, actual)
