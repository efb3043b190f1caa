"""Pods of other nodes that block a node. The scheduler never tries to remove them: it examines one node alone.

    anti-affinity   of the pod: each pod in the domain that a required term selects
                    of others: each pod with a required term that selects the pod and shares its domain with the node
    spread          as many counted pods of the domain as the skew is too large by, the least important first
    a claim for     each pod of the namespace that uses it (ReadWriteOncePod)
    one pod

All of them have to have a lower priority than the pod, and one at least has to be on another node. Whether their
removal helps is then asked by a cycle without them: the node has to fit, if need be with victims of its own. What is
said is therefore true, but not all that could be said: other nodes' pods may help in other ways, and only the smallest
few sets are tried.

Source: pkg/scheduler/framework/plugins/{interpodaffinity,podtopologyspread}/filtering.go,
volumerestrictions/volume_restrictions.go at v1.36.3; "cross-node preemption" in the Kubernetes documentation of
priority and preemption.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.scheduling.scheduler.cycle import FilterResult, filter_nodes
from podrules.scheduling.scheduler.framework.answers import Code
from podrules.scheduling.scheduler.framework.node_table import ABSENT
from podrules.scheduling.scheduler.plugins.default_preemption import Victim, by_importance, is_preemption_allowed
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.filtering import FilterState, selecting_terms
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.terms import AffinityTerm
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import Spread, SpreadState
from podrules.scheduling.scheduler.plugins.volume_restrictions import RestrictionState, claim_names
from podrules.scheduling.scheduler.preemption.post_filter import Preemption
from podrules.scheduling.scheduler.preemption.victims import Candidate, Trials, select_candidate, select_victims_on_node

_MAX_PODS: Final = 5
"""More are no longer few."""
_MAX_CYCLES: Final = 8

Places = frozenset[int]
"""Places of pods in the table."""


class CrossNodeHelp(Struct, frozen=True):
    """A node that the pod would fit, were it not for pods of other nodes."""

    node: str
    elsewhere: tuple[Pod, ...]
    """Pods of other nodes that would have to go, of lower priority; the most important first."""
    on_node: tuple[Pod, ...]
    """Pods of the node itself that would have to go as well."""


class _NotAllowedError(Exception):
    """A pod is in the way that is at least as important."""


def cross_node_help(
    filtered: FilterResult, preemption: Preemption, budgets: Sequence[PodDisruptionBudget]
) -> CrossNodeHelp | None:
    """The fewest pods that would have to go for the pod to fit a node; None: no such pods, or more than a few.

    If preemption found a candidate there is nothing to say. The budgets are those of all namespaces.
    """
    if preemption.candidates:
        return None
    table = filtered.context.table
    blockers = _Blockers(filtered)
    groups: dict[Places, list[int]] = {}
    for row in (table.index[name] for name in preemption.potential_nodes):
        try:
            places = blockers.of(row)
        except _NotAllowedError:
            continue
        if len(places) <= _MAX_PODS and any(table.pods.rows[place] != row for place in places):
            groups.setdefault(places, []).append(row)
    for places in sorted(groups, key=lambda places: (len(places), sorted(places)))[:_MAX_CYCLES]:
        found = _without(filtered, places, groups[places], budgets)
        if found is not None:
            return found
    return None


def _without(
    filtered: FilterResult, places: Places, rows: Sequence[int], budgets: Sequence[PodDisruptionBudget]
) -> CrossNodeHelp | None:
    """What a cycle without some pods says of some rows."""
    context, table = filtered.context, filtered.context.table
    gone = by_importance(table.pods[place] for place in sorted(places))
    less = filter_nodes(
        context.pod,
        table.without_pods(frozenset(pod.metadata.uid for pod in gone)),
        context.snapshot,
        features=context.features,
        framework=filtered.framework,
        now=context.now,
    )
    if less.error:
        return None
    victims: Mapping[str, Sequence[Victim]] = {table.names[row]: () for row in rows if less.fits(row)}
    if not victims:
        candidates, trials = [], Trials(less)
        for row in rows:
            if less.considered[row] and less.status(row).code is Code.UNSCHEDULABLE:
                name, pods = table.names[row], less.context.table.pods.on(row)
                found = select_victims_on_node(trials.of(row, pods), name, pods, context.pod, budgets)
                if isinstance(found, Candidate):
                    candidates.append(found)
        best = select_candidate(candidates).best
        victims = {candidate.node: candidate.victims for candidate in candidates if candidate.node in best}
    for node, own in victims.items():
        return CrossNodeHelp(
            node=node,
            elsewhere=tuple(pod for pod in gone if pod.spec.node_name != node),
            on_node=(*(pod for pod in gone if pod.spec.node_name == node), *(victim.pod for victim in own)),
        )
    return None


class _Blockers:
    """The pods that block nodes through a domain that spans other nodes; each domain is examined once."""

    def __init__(self, filtered: FilterResult) -> None:
        self._context = filtered.context
        self._pods = filtered.context.table.pods
        states = filtered.context.states
        affinity, spread = states.get("InterPodAffinity"), states.get("PodTopologySpread")
        self._affinity = affinity if isinstance(affinity, FilterState) else None
        self._spreads = spread.spreads if isinstance(spread, SpreadState) else ()
        pod, volumes = self._context.pod, states.get("VolumeRestrictions")
        claims = frozenset(volumes.claims if isinstance(volumes, RestrictionState) else ())
        self._users = [
            place
            for place, other in enumerate(self._pods if claims else ())
            if other.metadata.namespace == pod.metadata.namespace and not claims.isdisjoint(claim_names(other))
        ]
        """Pods that use a claim that only one pod may use."""
        self._holders = [
            (place, term.topology_key)
            for place, other in enumerate(self._pods if self._affinity is not None else ())
            for term in selecting_terms(other, pod, self._affinity.namespace_labels if self._affinity else {})
        ]
        """Pods with an anti-affinity that selects the pod, each with the topology key of a term."""
        self._known: dict[tuple[str, int, int], tuple[int, ...]] = {}
        """Pods of a domain: by kind of rule, its number, and the code of the domain."""

    def of(self, row: int) -> Places:
        """Those of a row's node.

        Raises:
            _NotAllowedError: one of them may not be preempted.
        """
        found = set(self._users)
        for place, key in self._holders:
            codes = self._context.table.label(key).codes
            if codes[row] != ABSENT and codes[row] == codes[self._pods.rows[place]]:
                found.add(place)
        for index, term in enumerate(self._affinity.away if self._affinity is not None else ()):
            found.update(self._selected(index, term, row))
        if not all(self._may_go(place) for place in found):
            raise _NotAllowedError
        for index, spread in enumerate(self._spreads):
            found.update(self._excess(index, spread, row, frozenset(found)))
        return frozenset(found)

    def _may_go(self, place: int) -> bool:
        return is_preemption_allowed(self._pods[place], self._context.pod)

    def _selected(self, index: int, term: AffinityTerm, row: int) -> tuple[int, ...]:
        """Pods of the node's domain that a term of the pod selects."""
        codes = self._context.table.label(term.topology_key).codes
        code = int(codes[row])
        if code == ABSENT:
            return ()
        if ("term", index, code) not in self._known:
            self._known["term", index, code] = tuple(
                place
                for place, pod in self._on(codes == code)
                if term.matches(pod.metadata.namespace, pod.metadata.labels, {})
            )
        return self._known["term", index, code]

    def _excess(self, index: int, spread: Spread, row: int, gone: Places) -> tuple[int, ...]:
        """What has to go of the domain's counted pods beside those that go anyway, the least important."""
        code = int(spread.labels.codes[row])
        if code == ABSENT:
            raise _NotAllowedError
        excess = int(spread.skews()[code]) - spread.constraint.max_skew
        if excess <= 0:
            return ()
        key, selector = ("spread", index, code), spread.constraint.selector
        if key not in self._known and (selector is None or selector.empty):
            self._known[key] = ()
        elif key not in self._known and selector is not None:
            nodes = spread.eligible & (spread.labels.codes == code)
            namespace = self._context.pod.metadata.namespace
            found = {
                place: pod
                for place, pod in self._on(nodes)
                if pod.metadata.namespace == namespace
                and pod.metadata.deletion_timestamp is None
                and selector.matches(pod.metadata.labels)
            }
            order = {id(pod): rank for rank, pod in enumerate(by_importance(found.values()))}
            self._known[key] = tuple(sorted(found, key=lambda place: order[id(found[place])], reverse=True))
        counted = self._known[key]
        excess -= len(gone.intersection(counted))
        rest = [place for place in counted if place not in gone and self._may_go(place)]
        if excess > len(rest):
            raise _NotAllowedError
        return tuple(rest[: max(excess, 0)])

    def _on(self, nodes: NDArray[np.bool_]) -> Iterator[tuple[int, Pod]]:
        """The pods on some nodes."""
        for place in np.flatnonzero(nodes[self._pods.rows]).tolist():
            yield place, self._pods[place]
