"""How evenly pods are spread: domains of hard constraints, the scores of soft ones, and the skew of workloads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kubectl_plugin.render.page import Table
from kubectl_plugin.views.words import counted, listed
from podrules.scheduling.placement.outcome import ConstraintSpread, NodeScore, NormalizedScores
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import SpreadTerm
from podrules.scheduling.skew import ConstraintSkew, UncountedReason

_SHOWN_VALUES = 3


def conflict_words(constraints: Sequence[ConstraintSpread]) -> Iterator[str]:
    """Names the topology keys of constraints that exclude each other."""
    keys = listed([entry.topology_key for entry in constraints if entry.conflicts_with])
    if keys:
        yield f"Its spread constraints on {keys} conflict: each alone leaves nodes, together they leave none."


def spread_table(constraints: Sequence[ConstraintSpread]) -> Table:
    """The table of all domains of the DoNotSchedule constraints."""
    rows = tuple(row for entry in constraints for row in _constraint_rows(entry))
    return Table(
        "Topology spread: skew = pods with this one there - least",
        ("pods", "with it", "skew", "domain"),
        rows,
        right=frozenset({0, 1, 2}),
    )


def _constraint_rows(entry: ConstraintSpread) -> Iterator[tuple[str, ...]]:
    least = f"least {entry.minimum}"
    if len(entry.domains) < entry.min_domains:
        least = f"least 0, because of {counted(len(entry.domains), 'domain')} where minDomains is {entry.min_domains}"
    yield "", "", "", f"{entry.topology_key}, maxSkew {entry.max_skew}, {least} ({entry.field})"
    for domain in entry.domains:
        state = "fits"
        if not domain.fits:
            state = f"more than maxSkew {entry.max_skew}"
        elif domain.rejected_by:
            state = f"counts, but no node of it takes the pod ({listed(domain.rejected_by)})"
        yield str(domain.matching), str(domain.with_pod), str(domain.skew), f"{domain.value}: {state}"
    if entry.domains and all(domain.with_pod == domain.matching for domain in entry.domains):
        yield "", "", "", "the pod itself does not count: its labels do not match the selector"
    if entry.left_out:
        why = "node policies or missing keys leave out every node there"
        yield "", "", "", f"{left_out_words(entry.left_out, entry.left_out_count)}: not counted, because {why}"
    if others := entry.conflicts_with:
        yield "", "", "", f"conflicts with {listed(others)}: each alone leaves nodes, together they leave none"


def left_out_words(names: Sequence[str], count: int) -> str:
    """Some of the values that do not count as domains, and the number of the others."""
    rest = count - len(names)
    return listed([*names, f"{rest} more"] if rest else names)


def score_tables(scores: Sequence[NodeScore], normalized: Sequence[NormalizedScores]) -> Iterator[Table]:
    """The score of each node that fits by the ScheduleAnyway constraints, and the effect of NormalizeScore."""
    scored = [(entry.node, entry.soft_spread) for entry in scores if entry.soft_spread is not None]
    if scored:
        own = [one for one in normalized if one.plugin == "PodTopologySpread"]
        cut = "cut" if len(own) == 1 else "rounded"
        soft_rows = []
        # A row for each constraint, from the first node that has all topology keys.
        for term in next((soft.terms for _, soft in scored if soft.terms), ()):
            weight = f"weight {_ln(term)} = {term.weight:.3f} ({counted(term.domains, 'domain')} + 2)"
            adds = f"maxSkew {term.max_skew} adds {term.max_skew - 1}"
            soft_rows.append(("", "", "", "", f"{term.topology_key}: {weight}, {adds} ({term.field})"))
        for node, soft in scored:
            terms = "ignored: it lacks a topology key"
            if soft.terms:
                terms = f"{' + '.join(map(_part, soft.terms))} = {sum(term.score for term in soft.terms):.2f}"
            score, of_100 = str(soft.normalized * soft.weight), f"{soft.normalized} x {soft.weight}"
            soft_rows.append((score, of_100, str(soft.raw), node, terms))
        yield Table(
            f"Soft topology spread (ScheduleAnyway), the fewer pods the better; raw is {cut}",
            ("score", "of 100", "raw", "node", "terms"),
            tuple(soft_rows),
            right=frozenset({0, 1, 2}),
        )
    rows: list[tuple[str, ...]] = []
    for one in normalized:
        rows.append((f"before {one.before}: raw cut" if one.before else one.plugin, "", one.formula))
        formula = one.formula.replace("most", str(one.most)).replace("least", str(one.least))
        for value in one.values[:_SHOWN_VALUES]:
            name = value.node if value.nodes == 1 else f"{value.node} and {value.nodes - 1} more"
            rows.append(("", name, f"{formula.replace('raw', str(value.raw))} = {value.score}"))
    if rows:
        yield Table("NormalizeScore, cut to whole numbers", ("plugin", "node", "of 100"), tuple(rows))


def _part(term: SpreadTerm) -> str:
    """``3 x ln 4 (zone1)``."""
    if term.domain is None:
        return f"0 (no {term.topology_key})"
    more = f" + {term.max_skew - 1}" if term.max_skew > 1 else ""
    return f"{term.count} x {_ln(term)}{more} ({term.domain})"


def _ln(term: SpreadTerm) -> str:
    return f"ln {term.domains + 2}"


def skew_words(one: ConstraintSkew) -> str:
    """``skew 3 > maxSkew 1 now``, ``skew 1 within maxSkew 1 now``."""
    return f"skew {one.skew} {'>' if one.exceeded else 'within'} maxSkew {one.max_skew} now"


def domain_words(one: ConstraintSkew) -> str:
    """The domains and the constraint of the numbers."""
    kind = "DoNotSchedule" if one.hard else "ScheduleAnyway"
    least = f"least is {one.least} in {one.least_in}"
    if one.least_in is None:
        verb = "is" if one.domains == 1 else "are"
        least = f"least counts as 0, because {counted(one.domains, 'domain')} {verb} fewer than minDomains"
    words = f"{one.most_in} has {one.most}, {least} ({one.topology_key}, {kind})"
    for entry in one.uncounted if one.most > 1 else ():
        several = entry.nodes != 1
        who = f"{entry.nodes} nodes, such as {entry.node}, do" if several else f"{entry.node} does"
        why = _UNCOUNTED[entry.why][several].format(key=entry.key)
        words += f"; {who} not count: {'they' if several else 'it'} {why}"
    return words


_UNTOLERATED: Final = "a taint that the pod does not tolerate (nodeTaintsPolicy)"
_UNCOUNTED: Final = {
    UncountedReason.LACKS_KEY: ("lacks label {key}", "lack label {key}"),
    UncountedReason.NODE_AFFINITY: (
        "does not match its node affinity or selector",
        "do not match its node affinity or selector",
    ),
    UncountedReason.TAINT: (f"has {_UNTOLERATED}", f"have {_UNTOLERATED}"),
}
