"""PodTopologySpread's filter, and what it shares with the score: constraints in force, nodes and pods that count.

    constraints    the pod's own, else the defaults (`build_default_constraints`); those of one whenUnsatisfiable
    selector       labelSelector and, for each of matchLabelKeys that the pod has, key = the pod's value; without
                   labelSelector it matches nothing, whatever the keys
    minDomains 1, nodeAffinityPolicy Honor, nodeTaintsPolicy Ignore where nothing is said
    a node counts  Honor of affinity: it fits nodeSelector and required node affinity;
                   Honor of taints: the pod tolerates its NoSchedule and NoExecute taints
    a pod matches  it is of the pod's namespace, is not being deleted, and the selector matches; an empty selector,
                   which matches everything, counts nothing

Source: pkg/scheduler/framework/plugins/podtopologyspread/{common,filtering}.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Selector
from podrules.scheduling.scheduler.framework.answers import FAR, SUCCESS, Code, Fact, Status
from podrules.scheduling.scheduler.framework.interface import CycleContext
from podrules.scheduling.scheduler.framework.node_table import ABSENT, LabelColumn, Nodes, NodeTable
from podrules.scheduling.scheduler.framework.pod_kinds import CountPods, PodKinds
from podrules.scheduling.scheduler.plugins.node_selector import pod_matches_node_affinity
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import (
    PodTopologySpreadArgs,
    SnapshotSiblings,
    SpreadDomain,
    build_default_constraints,
)
from podrules.scheduling.scheduler.plugins.taint_toleration import untolerated_taint_codes

NAME: Final = "PodTopologySpread"
HONOR: Final = "Honor"
HOSTNAME: Final = "kubernetes.io/hostname"
_IGNORE: Final = "Ignore"

Mask = NDArray[np.bool_]


class SpreadConstraint(Struct, frozen=True):
    """A constraint with its defaults filled in and its selector read."""

    max_skew: int
    topology_key: str
    selector: Selector | None
    """None matches nothing."""
    min_domains: int
    node_affinity_policy: str
    node_taints_policy: str
    field: str
    """Where it stands: ``spec.topologySpreadConstraints[0]``, ``defaultConstraints[1]``."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the selector matches a pod with these labels."""
        return self.selector is not None and self.selector.matches(labels)


def spread_args(context: CycleContext) -> PodTopologySpreadArgs:
    """The plugin's arguments."""
    found: PodTopologySpreadArgs = context.args.get(NAME) or PodTopologySpreadArgs()
    return found


def constraints_in_force(context: CycleContext, action: str) -> tuple[SpreadConstraint, ...]:
    """The constraints with this whenUnsatisfiable that the pod is scheduled by (filterTopologySpreadConstraints).

    Raises:
        SelectorError: a labelSelector cannot be read.
    """
    pod = context.pod
    given, place = pod.spec.topology_spread_constraints, "spec.topologySpreadConstraints"
    if not given:
        defaults = spread_args(context).constraints
        given = build_default_constraints(pod, defaults, SnapshotSiblings(context.snapshot))
        place = "defaultConstraints"
    found, labels = [], pod.metadata.labels
    for index, entry in enumerate(given):
        if entry.when_unsatisfiable != action:
            continue
        selector = None
        if entry.label_selector is not None:
            merged = Selector.from_labels({key: labels[key] for key in entry.match_label_keys if key in labels})
            selector = merged.add(*Selector.from_label_selector(entry.label_selector).requirements)
        found.append(
            SpreadConstraint(
                entry.max_skew,
                entry.topology_key,
                selector,
                1 if entry.min_domains is None else entry.min_domains,
                entry.node_affinity_policy or HONOR,
                entry.node_taints_policy or _IGNORE,
                f"{place}[{index}]",
            )
        )
    return tuple(found)


def nodes_with_all_keys(nodes: Nodes, constraints: Sequence[SpreadConstraint]) -> Mask:
    """For each node whether it has every topology key (nodeLabelsMatchSpreadConstraints)."""
    found = np.ones(len(nodes), np.bool_)
    for constraint in constraints:
        found &= nodes.label(constraint.topology_key).codes != ABSENT
    return found


def included_nodes(context: CycleContext, constraints: Sequence[SpreadConstraint]) -> tuple[Mask, ...]:
    """For each constraint the nodes that its node policies let count (matchNodeInclusionPolicies)."""
    everything = np.ones(len(context.table), np.bool_)
    affine = tolerated = everything
    if any(constraint.node_affinity_policy == HONOR for constraint in constraints):
        affine = pod_matches_node_affinity(context.table.nodes, context.pod)
    if any(constraint.node_taints_policy == HONOR for constraint in constraints):
        tolerated = untolerated_taint_codes(context.table.nodes, context.pod.spec.tolerations) == ABSENT
    return tuple(
        (affine if constraint.node_affinity_policy == HONOR else everything)
        & (tolerated if constraint.node_taints_policy == HONOR else everything)
        for constraint in constraints
    )


def matching_pods(context: CycleContext, constraints: Sequence[SpreadConstraint]) -> tuple[NDArray[np.int64], ...]:
    """For each constraint how many pods of each node match (countPodsMatchSelector)."""
    pods, namespace = context.table.pods, context.pod.metadata.namespace
    return tuple(
        np.zeros(pods.node_count, np.int64)
        if constraint.selector is None or constraint.selector.empty
        else pods.derived(CountPods(_Matching(namespace, constraint.selector))).counts
        for constraint in constraints
    )


class _Matching(Struct, frozen=True):
    namespace: str
    selector: Selector

    def among(self, kinds: PodKinds) -> Mask:
        return kinds.in_namespaces(self.namespace.__eq__) & kinds.matching(self.selector) & ~kinds.deleted


# The filter: DoNotSchedule.
#
#     domain     the value of topologyKey; those of nodes that count and have the keys of all constraints
#     matchNum   matching pods on the domain's nodes that count; 0 for a domain that has none
#     minMatch   the least matchNum of all domains; 0 when there are fewer of them than minDomains
#     selfMatch  1 when the pod matches its own selector
#     rejects    the node lacks the key                                 UnschedulableAndUnresolvable
#                skew = matchNum + selfMatch - minMatch > maxSkew       Unschedulable
#     the first constraint that rejects decides

ERR_REASON_CONSTRAINTS_NOT_MATCH: Final = "node(s) didn't match pod topology spread constraints"
ERR_REASON_NODE_LABEL_NOT_MATCH: Final = f"{ERR_REASON_CONSTRAINTS_NOT_MATCH} (missing required label)"
_NO_DOMAIN: Final = 2**31 - 1
"""The minimum over no domains; it is seen only where minDomains is 0, which pods cannot have."""

Column = NDArray[np.int64]


class Spread(Struct, frozen=True):
    """How the matching pods of one constraint are spread."""

    constraint: SpreadConstraint
    self_match: int
    labels: LabelColumn
    eligible: Mask
    """For each node whether it counts."""
    known: Mask
    """For each value of ``labels`` whether it is a domain."""
    match_num: Column
    """For each value of ``labels``."""

    @property
    def domains_num(self) -> int:
        """How many domains there are."""
        return int(np.count_nonzero(self.known))

    @property
    def min_match_num(self) -> int:
        """The global minimum (preFilterState.minMatchNum)."""
        counts = self.match_num[self.known]
        if len(counts) < self.constraint.min_domains:
            return 0
        return int(counts.min()) if len(counts) else _NO_DOMAIN

    def skews(self) -> Column:
        """For each value of ``labels`` the skew with the pod there."""
        return self.match_num + (self.self_match - self.min_match_num)


class SpreadState(Struct, frozen=True):
    """All DoNotSchedule constraints (preFilterState)."""

    spreads: tuple[Spread, ...]


class TopologySkew(Fact, frozen=True):
    """PodTopologySpread: a constraint that the node would break, in numbers."""

    field: str
    topology_key: str
    domain: str | None
    """None: the node lacks the key, and the numbers do not apply."""
    matching: int
    """Matching pods in the node's domain."""
    self_match: int
    """1 when the pod itself counts."""
    minimum: int
    """The least of all domains; 0 when there are fewer than minDomains."""
    skew: int
    """What is compared with maxSkew."""
    max_skew: int
    domains: int
    min_domains: int

    @property
    def rejects(self) -> bool:
        """Whether the constraint keeps the pod from the node."""
        return self.domain is None or self.skew > self.max_skew

    @property
    def distance(self) -> float:
        """By how much the skew is too large."""
        return FAR if self.domain is None else float(self.skew - self.max_skew)


class Relaxation(Struct, frozen=True, rename="camel"):
    """A change to one constraint, and what it would free."""

    field: str
    """``spec.topologySpreadConstraints[0].maxSkew``."""
    value: int | str
    nodes: tuple[str, ...]
    """Nodes that this plugin rejects now and then would not."""


def spread_state(context: CycleContext, constraints: Sequence[SpreadConstraint]) -> SpreadState:
    """Count domains and matching pods (calPreFilterState)."""
    table, pod = context.table, context.pod
    having_keys = nodes_with_all_keys(table.nodes, constraints)
    spreads: list[Spread] = []
    counts, masks = matching_pods(context, constraints), included_nodes(context, constraints)
    for constraint, matching, included in zip(constraints, counts, masks, strict=True):
        labels = table.label(constraint.topology_key)
        eligible = having_keys & included
        codes = labels.codes[eligible]
        match_num = np.zeros(len(labels.values), np.int64)
        np.add.at(match_num, codes, matching[eligible])
        known = np.zeros(len(labels.values), np.bool_)
        known[codes] = True
        self_match = int(constraint.matches(pod.metadata.labels))
        spreads.append(Spread(constraint, self_match, labels, eligible, known, match_num))
    return SpreadState(tuple(spreads))


def judge(table: NodeTable, state: SpreadState) -> NDArray[np.int8]:
    """A code for each node (Filter)."""
    codes = np.full(len(table), Code.SUCCESS, np.int8)
    for spread in state.spreads:
        undecided = codes == Code.SUCCESS
        absent = spread.labels.codes == ABSENT
        codes[undecided & absent] = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        codes[undecided & ~absent & ~lets_through(spread)] = Code.UNSCHEDULABLE
    return codes


def lets_through(spread: Spread) -> Mask:
    """The nodes that one constraint has nothing against."""
    fits = np.append(spread.skews() <= spread.constraint.max_skew, False)
    return fits[spread.labels.codes]


def explain(state: SpreadState, row: int) -> tuple[TopologySkew, ...]:
    """Every constraint on one node, in the order in which they are asked; the first that rejects gave the reason."""
    found = []
    for spread in state.spreads:
        code, constraint = int(spread.labels.codes[row]), spread.constraint
        matching, minimum = 0 if code == ABSENT else int(spread.match_num[code]), spread.min_match_num
        found.append(
            TopologySkew(
                field=constraint.field,
                topology_key=constraint.topology_key,
                domain=None if code == ABSENT else spread.labels.values[code],
                matching=matching,
                self_match=spread.self_match,
                minimum=minimum,
                skew=matching + spread.self_match - minimum,
                max_skew=constraint.max_skew,
                domains=spread.domains_num,
                min_domains=constraint.min_domains,
            )
        )
    return tuple(found)


def domains(spread: Spread) -> tuple[SpreadDomain, ...]:
    """The domains of a constraint, in the order in which nodes first have them."""
    entries = zip(spread.labels.values, spread.match_num, spread.skews(), spread.known, strict=True)
    limit = spread.constraint.max_skew
    return tuple(
        SpreadDomain(value, int(count), int(skew), bool(skew <= limit), int(count) + spread.self_match)
        for value, count, skew, known in entries
        if known
    )


def left_out(spread: Spread) -> tuple[str, ...]:
    """Values that nodes have and that are no domains: none of these nodes counts."""
    return tuple(value for value, known in zip(spread.labels.values, spread.known, strict=True) if not known)


def relaxations(context: CycleContext, constraints: Sequence[SpreadConstraint]) -> tuple[Relaxation, ...]:
    """Changes to one constraint that let the pod onto nodes which the constraints reject together.

    For each constraint: as many minDomains as there are domains; the smallest larger maxSkew that frees a node; node
    policies that leave out nodes which the pod cannot go to; ScheduleAnyway; and the other keys that pods are usually
    spread by. Only those that free a node. Of more than `MOST_COMPARED` constraints none is tried.
    """
    if len(constraints) > MOST_COMPARED:
        return ()
    rejected = judge(context.table, spread_state(context, constraints)) != Code.SUCCESS
    found: list[Relaxation] = []

    def tried(index: int, part: str, value: int | str, instead: Sequence[SpreadConstraint]) -> None:
        changed = [*constraints[:index], *instead, *constraints[index + 1 :]]
        freed = rejected & (judge(context.table, spread_state(context, changed)) == Code.SUCCESS)
        names = tuple(context.table.names[row] for row in np.flatnonzero(freed))
        if names:
            found.append(Relaxation(f"{constraints[index].field}.{part}", value, names))

    for index, constraint in enumerate(constraints):
        there = spread_state(context, constraints).spreads[index].domains_num
        if 0 < there < constraint.min_domains:
            tried(index, "minDomains", there, [replace(constraint, min_domains=there)])
        wider = _wider_skew(context, constraints, index)
        if wider is not None:
            tried(index, "maxSkew", wider, [replace(constraint, max_skew=wider)])
        if constraint.node_taints_policy != HONOR:
            tried(index, "nodeTaintsPolicy", HONOR, [replace(constraint, node_taints_policy=HONOR)])
        if constraint.node_affinity_policy != HONOR:
            tried(index, "nodeAffinityPolicy", HONOR, [replace(constraint, node_affinity_policy=HONOR)])
        tried(index, "whenUnsatisfiable", "ScheduleAnyway", [])
        used = {entry.topology_key for entry in constraints}
        for key in (key for key in _USUAL_KEYS if key not in used):
            tried(index, "topologyKey", key, [replace(constraint, topology_key=key)])
    return tuple(found)


MOST_COMPARED: Final = 16
"""Constraints. A pod with more gets no changes and no conflicts: the time to find them grows with the square."""

_USUAL_KEYS: Final = ("kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def _wider_skew(context: CycleContext, constraints: Sequence[SpreadConstraint], index: int) -> int | None:
    """The smallest maxSkew of one constraint with which a node more passes all of them."""
    state = spread_state(context, constraints)
    others = nodes_with_all_keys(context.table.nodes, constraints)
    for place, spread in enumerate(state.spreads):
        if place != index:
            others &= lets_through(spread)
    spread = state.spreads[index]
    needed = spread.skews()[spread.labels.codes[others]]
    wider = needed[needed > spread.constraint.max_skew]
    return int(wider.min()) if len(wider) else None


def add_pod(state: SpreadState, preemptor: Pod, pod: Pod, row: int) -> SpreadState:
    """The state with one pod more on a node, as a nominated pod is counted (AddPod)."""
    return _changed(state, preemptor, pod, row, 1)


def remove_pod(state: SpreadState, preemptor: Pod, pod: Pod, row: int) -> SpreadState:
    """The state with one pod less on a node, as preemption tries it (RemovePod).

    As upstream this takes away pods that were never counted: those being deleted, and any under an empty selector.
    """
    return _changed(state, preemptor, pod, row, -1)


class SpreadOnNode(Struct, frozen=True):
    """The constraints on one node."""

    state: SpreadState
    preemptor: Pod
    row: int

    def add_pod(self, pod: Pod) -> SpreadOnNode:
        """With one pod more."""
        state = add_pod(self.state, self.preemptor, pod, self.row)
        return self if state is self.state else replace(self, state=state)

    def remove_pod(self, pod: Pod) -> SpreadOnNode:
        """With one pod less."""
        state = remove_pod(self.state, self.preemptor, pod, self.row)
        return self if state is self.state else replace(self, state=state)

    def status(self) -> Status:
        """Whether every constraint lets the pod onto the node."""
        for spread in self.state.spreads:
            code = spread.labels.codes[self.row]
            if code == ABSENT:
                return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (ERR_REASON_NODE_LABEL_NOT_MATCH,))
            skew = spread.match_num[code] + spread.self_match - spread.min_match_num
            if skew > spread.constraint.max_skew:
                return Status(Code.UNSCHEDULABLE, (ERR_REASON_CONSTRAINTS_NOT_MATCH,))
        return SUCCESS


def _changed(state: SpreadState, preemptor: Pod, pod: Pod, row: int, delta: int) -> SpreadState:
    if pod.metadata.namespace != preemptor.metadata.namespace:
        return state
    spreads = list(state.spreads)
    counted = False
    for index, spread in enumerate(state.spreads):
        if spread.eligible[row] and spread.constraint.matches(pod.metadata.labels):
            counted = True
            match_num = spread.match_num.copy()
            match_num[spread.labels.codes[row]] += delta
            spreads[index] = replace(spread, match_num=match_num)
    return SpreadState(tuple(spreads)) if counted else state
