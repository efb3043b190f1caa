"""The cheapest changes that would let a pod onto a rejected node, each checked by running the cycle again.

A node may be rejected for several reasons in a row: changes are chained until it fits. Those nodes of a group are tried
that the fewest plugins reject; several when their reasons differ in kind, as taints do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from podrules.placement.facts import facts
from podrules.placement.outcome import Remedy
from podrules.placement.situation import Situation
from podrules.placement.spreading import constraint_spreads
from podrules.scheduler.cycle import Filtered, score_nodes
from podrules.scheduler.framework.candidate_change import CandidateChange, ChangeKind
from podrules.scheduler.framework.pod_on_cluster import Applied
from podrules.scheduler.plugins.pod_topology_spread.common import NAME as SPREAD
from podrules.scheduler.registry import CHANGING_PLUGINS

__all__ = ["by_nearness", "cheapest_remedy", "softened_spread"]

_MAX_CHANGES: Final = 4
_ANOTHER: Final = 100
_TRIED_NODES: Final = 4
_ROOM: Final = "NodeResourcesFit"
_DIFFERING_IN_KIND: Final = frozenset({"TaintToleration", "NodeAffinity"})


class _Chain(Struct, frozen=True):
    changes: tuple[CandidateChange, ...]
    cost: int
    row: int
    filtered: Filtered

    @property
    def replaces_node(self) -> bool:
        return any(change.kind is ChangeKind.ENLARGE for change in self.changes)


def by_nearness(filtered: Filtered, plugin: str, rows: Sequence[int]) -> list[int]:
    """A group's rows, those first that need the least: fewest rejecting plugins, then the smallest shortage."""

    def distance(row: int) -> tuple[float, ...]:
        others = filtered.rejecting(row)
        lacks = sum(fact.distance for fact in facts(filtered, plugin, row))
        return (sum(other not in CHANGING_PLUGINS for other in others), len(others), lacks)

    return sorted(rows, key=distance)


def cheapest_remedy(
    situation: Situation, filtered: Filtered, plugin: str, nearest: Sequence[int]
) -> tuple[int, Remedy] | None:
    """The row of these that costs least to open, and the changes that let the pod onto it.

    Args:
        situation: As it is.
        filtered: Its verdicts.
        plugin: The one that rejects the rows.
        nearest: Rows of one group, from `by_nearness`.
    """
    chains: list[_Chain] = []
    for row in _to_try(filtered, plugin, nearest):
        chain = _chain(situation, filtered, row)
        if chain is not None:
            chains.append(chain)
            # Of nodes that lack room the nearest is taken on which it can be made.
            if plugin == _ROOM and not chain.replaces_node:
                break
    if not chains:
        return None
    cheapest = min(chains, key=lambda chain: chain.cost)
    return cheapest.row, _remedy(cheapest)


def softened_spread(situation: Situation, filtered: Filtered, nearest: Sequence[int]) -> Remedy | None:
    """One of several constraints in conflict made ScheduleAnyway, where that lets the pod onto a nearest row."""
    own = situation.pod.spec.topology_spread_constraints
    if len(own) < 2 or not any(entry.conflicts_with for entry in constraint_spreads(filtered)):
        return None
    for row in nearest[:_TRIED_NODES]:
        for applied in _candidates(situation, filtered, SPREAD, row):
            after = applied.then.filtered()
            if applied.change.field.endswith(".whenUnsatisfiable") and after.fits(row):
                return _remedy(_Chain((applied.change,), applied.cost + _ANOTHER, row, after))
    return None


def _to_try(filtered: Filtered, plugin: str, nearest: Sequence[int]) -> Sequence[int]:
    """A few rows of a group: the nearest one, or several where one may be opened and another not."""
    if plugin == _ROOM:
        return nearest[:_TRIED_NODES]
    tried: dict[object, int] = {}
    for row in nearest:
        tried.setdefault(facts(filtered, plugin, row) if plugin in _DIFFERING_IN_KIND else None, row)
        if len(tried) == _TRIED_NODES:
            break
    return tuple(tried.values())


def _chain(situation: Situation, filtered: Filtered, row: int) -> _Chain | None:
    """Changes until a row fits; None when one of its rejections has no change that helps."""
    changes: tuple[CandidateChange, ...] = ()
    cost = 0
    while len(changes) < _MAX_CHANGES:
        step = _step(situation, filtered, row)
        if step is None:
            return None
        applied, filtered = step
        situation, changes = applied.then, (*changes, applied.change)
        # Each change more is dearer than any kind.
        cost += applied.cost + _ANOTHER
        if filtered.fits(row):
            return _Chain(changes, cost, row, filtered)
    return None


def _step(situation: Situation, filtered: Filtered, row: int) -> tuple[Applied[Situation], Filtered] | None:
    """The first candidate that brings a row further, with the verdicts after it."""
    plugin = filtered.status(row).plugin
    before = facts(filtered, plugin, row)
    for applied in _candidates(situation, filtered, plugin, row):
        after = applied.then.filtered()
        if after.fits(row):
            return applied, after
        status = after.status(row)
        if status.plugin and (status.plugin != plugin or facts(after, plugin, row) != before):
            return applied, after
    return None


def _candidates(situation: Situation, filtered: Filtered, name: str, row: int) -> list[Applied[Situation]]:
    """A plugin's own changes against its rejection of a row, cheapest first."""
    plugin, context = CHANGING_PLUGINS.get(name), filtered.judged(row).context
    found = () if plugin is None else plugin.changes(situation, context, context.states[name], row)
    return sorted(found, key=lambda applied: applied.cost)


def _remedy(chain: _Chain) -> Remedy:
    names = chain.filtered.context.table.names
    bound_to_node = any(change.node for change in chain.changes)
    best = chain.row if bound_to_node else int(score_nodes(chain.filtered).best[0])
    return Remedy(chain.changes, names[best], len(chain.filtered.feasible), chain.cost)
