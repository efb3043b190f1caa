"""A pod's spread constraints: the domains of hard ones with their pods, the score of soft ones in its terms.

Every number is the rule's own, from the state by which it judged and scored (`pod_topology_spread`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from msgspec.structs import replace

from podrules.scheduling.placement.outcome import ConstraintSpread, NormalizedScores, NormalizedValue, SoftSpreadScore
from podrules.scheduling.scheduler.cycle import FilterResult, ScoreResult
from podrules.scheduling.scheduler.framework.interface import NormalizingPlugin
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import SpreadDomain
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import (
    MOST_COMPARED,
    NAME,
    Mask,
    Spread,
    SpreadState,
    domains,
    left_out,
    lets_through,
)
from podrules.scheduling.scheduler.plugins.pod_topology_spread.plugin import (
    SpreadScoreState,
    explain_score,
    normalized,
    raw_scores,
)

ROUNDED_SINCE: Final = "1.24"
"""PodTopologySpread cut its raw scores before (kubernetes/kubernetes#107384)."""
SHOWN_LEFT_OUT: Final = 3
"""Names of what is no domain: of a key like kubernetes.io/hostname there may be thousands."""


def constraint_spreads(filtered: FilterResult) -> tuple[ConstraintSpread, ...]:
    """The pod's DoNotSchedule constraints, with what each leaves."""
    state = filtered.context.states.get(NAME)
    return tuple(_spreads(filtered, state)) if isinstance(state, SpreadState) else ()


def _spreads(filtered: FilterResult, state: SpreadState) -> Iterator[ConstraintSpread]:
    masks = [lets_through(spread) for spread in state.spreads]
    compared = masks if len(masks) <= MOST_COMPARED else ()
    # Any two may leave nodes where all of them leave none.
    together = len(compared) > 2 and not np.logical_and.reduce(compared).any() and all(mask.any() for mask in compared)
    for spread, mask in zip(state.spreads, masks, strict=True):
        others = [
            other.constraint.field
            for other, theirs in zip(state.spreads, compared, strict=False)
            if mask.any() and theirs.any() and not (mask & theirs).any()
        ] or [other.constraint.field for other in state.spreads if together and other is not spread]
        uncounted = left_out(spread)
        yield ConstraintSpread(
            field=spread.constraint.field,
            topology_key=spread.constraint.topology_key,
            max_skew=spread.constraint.max_skew,
            minimum=spread.min_match_num,
            domains=tuple(_with_rejections(filtered, spread)),
            leaves=int(np.count_nonzero(mask)),
            min_domains=spread.constraint.min_domains,
            left_out=uncounted[:SHOWN_LEFT_OUT],
            left_out_count=len(uncounted),
            conflicts_with=tuple(others),
        )


def _with_rejections(filtered: FilterResult, spread: Spread) -> Iterator[SpreadDomain]:
    """The domains, each with what rejects every node of it, besides the constraints."""
    found = domains(spread)
    if not filtered.pre_filter.status.ok:
        yield from found  # No plugin has examined any node.
        return
    rejecting = {plugin: filtered.rejects(plugin) for plugin in filtered.plugins if plugin != NAME}
    for plugin in filtered.pre_filter.narrowed_by:
        rejecting[plugin] = rejecting.get(plugin, False) | ~filtered.considered
    taken = ~np.logical_or.reduce([*rejecting.values(), np.zeros(len(filtered.context.table), np.bool_)])
    open_domains = _having(spread, taken)
    rejecting_in = {plugin: _having(spread, rejected) for plugin, rejected in rejecting.items()}
    places = {value: code for code, value in enumerate(spread.labels.values)}
    for domain in found:
        code = places[domain.value]
        plugins = () if open_domains[code] else (plugin for plugin, there in rejecting_in.items() if there[code])
        yield replace(domain, rejected_by=tuple(plugins))


def _having(spread: Spread, rows: Mask) -> Mask:
    """For each value of the key whether some of these rows have it; the last is of rows without the key."""
    found = np.zeros(len(spread.labels.values) + 1, np.bool_)
    found[spread.labels.codes[rows]] = True
    return found


class SoftSpreads:
    """The scores of ScheduleAnyway constraints on the nodes that fit."""

    def __init__(self, filtered: FilterResult, scored: ScoreResult) -> None:
        """Score once for all nodes."""
        state = scored.states.get(NAME)
        self._state = state if isinstance(state, SpreadScoreState) and NAME in scored.by_plugin else None
        self._context = filtered.context
        self._rows = scored.feasible
        self._weight = next((weight for plugin, weight in filtered.framework.score if plugin.name == NAME), 0)
        if self._state is not None:
            self._raw = raw_scores(self._state, self._rows)
            self._normalized = normalized(self._state, self._rows, self._raw)

    def at(self, place: int) -> SoftSpreadScore | None:
        """Of one of the feasible rows, by its place among them; None: the pod has no such constraints."""
        if self._state is None:
            return None
        terms = explain_score(self._context, self._state, int(self._rows[place]))
        return SoftSpreadScore(terms, int(self._raw[place]), int(self._normalized[place]), self._weight)


def normalized_scores(filtered: FilterResult, scored: ScoreResult) -> Iterator[NormalizedScores]:
    """How plugins bring their scores to 0 to 100, where nodes differ; for soft spread also in old versions."""
    context, rows = filtered.context, scored.feasible
    for plugin, weight in filtered.framework.score:
        if plugin.name not in scored.by_plugin or not isinstance(plugin, NormalizingPlugin):
            continue
        state, scores = scored.states.get(plugin.name), scored.by_plugin[plugin.name] // weight
        counted, found = np.full(len(rows), True), [("", plugin.raw_scores(context, state, rows), scores)]
        if isinstance(state, SpreadScoreState):
            counted = ~state.ignored[rows]
        if isinstance(state, SpreadScoreState) and state.rounds:
            cut = raw_scores(replace(state, rounds=False), rows)
            found.append((ROUNDED_SINCE, cut, normalized(state, rows, cut)))
        if len(np.unique(scores[counted])) < 2:
            continue
        for before, raw, made in found:
            each, first, count = np.unique(raw[counted], return_index=True, return_counts=True)
            values = [
                NormalizedValue(
                    int(one), int(made[counted][place]), context.table.names[rows[counted][place]], int(many)
                )
                for one, place, many in zip(each, first, count, strict=True)
            ]
            values.sort(key=lambda value: -value.score)
            yield NormalizedScores(plugin.name, plugin.formula, int(each[-1]), int(each[0]), tuple(values), before)
