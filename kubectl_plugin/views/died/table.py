"""The page of several ends: those of one cause in one row, or a row for each end, the latest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kubectl_plugin.render.command import qos
from kubectl_plugin.render.page import Page, Section, Table
from kubectl_plugin.reports.end_report import EndReport
from kubectl_plugin.reports.verdict import Severity, most_urgent
from kubectl_plugin.views.caveats import VersionNotes, assumed_words, unread_lines
from kubectl_plugin.views.died.causes import causes_words, may_run_on
from kubectl_plugin.views.died.page import end_verdict
from kubectl_plugin.views.words import counted, few, lasting, listed, when_words
from podrules.api.model.pod import Pod
from podrules.ending.died.cause import Cause, Family, Grade, causes_of
from podrules.ending.died.of_pod import EndOf
from podrules.pod.reading import UnreadInput

_MOST: Final = 500
_NAMED: Final = 3
_NAMED_IN_ROW: Final = 8
_OF_NODE: Final = causes_of(Family.NODE) | causes_of(Family.EVICTION) | {Cause.TAINT_EVICTION}
"""Causes that several pods of a node share."""
_GRADES: Final = {
    Grade.CERTAIN: "certain",
    Grade.LIKELY: "likely",
    Grade.SEVERAL: "A or B",
    Grade.NOTHING: "unknown",
}


class _End(NamedTuple):
    report: EndReport
    severity: Severity
    cause: str
    """``own memory limit or node out of memory``; ``completed``."""

    @property
    def group(self) -> tuple[Severity, str]:
        """Ends with the same value share a row: their cause, with the node if pods of a node share it."""
        report, verdict, words = self.report, self.report.end.verdict, self.cause
        if self.severity is not Severity.FINE and verdict.grade is Grade.LIKELY:
            words = f"likely {words}"
        if report.node and ((report.silent and report.end.of is EndOf.POD) or verdict.cause in _OF_NODE):
            words = f"{report.node}{' silent' if report.silent else ''}, {words}"
        return self.severity, words


class _Group(NamedTuple):
    severity: Severity
    words: str
    ends: Sequence[_End]


def ends_page(
    reports: Sequence[EndReport],
    now: datetime | None,
    *,
    since: timedelta | None,
    lacks: Sequence[UnreadInput] = (),
    gone_nodes: Mapping[str, Sequence[Pod]] = {},
    every: bool = True,
) -> Page:
    """The page of several ends, the latest first, within ``since``; None: at any time.

    ``lacks`` could not be read, so that more may have ended. ``gone_nodes`` are the requested nodes that have no Node
    object, with the pods that name them. ``every``: each end has its row, else those of one cause share one.
    """
    within = f" in the last {lasting(since)}" if since is not None else ""
    ends = [_judged(one, now) for one in reports]
    ended = [one for one in ends if not one.report.end.never_began]
    waiting = [one for one in ends if one.report.end.never_began]
    groups, of_waiting = _groups(ended), _groups(waiting)
    sentences = tuple(_sentences(groups, within, len(ended[_MOST:]) if every else 0))
    if not ended:
        lead = "The data that was read shows nothing that" if lacks else "Nothing has"
        sentences = (f"{lead} ended{within}{'' if lacks else ', according to pods and events'}.",)
    if waiting:
        sentences += (f"Not counted: {_pods(waiting)} with a container that never began.",)
    notes = VersionNotes()
    for report in reports:
        notes.add(report.version_notes)
    several = len({one.namespace for one in reports}) > 1
    tables = [
        _table(title, own, now, several=several) if every else _grouped(title, alike, now, several=several)
        for title, own, alike in (("", ended, groups), ("Never began", waiting, of_waiting))
    ]
    worst = [group.ends[0].report for group in (*groups, *of_waiting)]
    silent = [qos("partitions")] if worst and worst[0].silent else []
    named = dict.fromkeys((one.namespace, one.name) for one in worst)
    next_commands = [*silent, *(qos("died pod/{}", name, namespace=namespace) for namespace, name in named)]
    return Page(
        "",
        (*(_deleted_node_words(name, pods) for name, pods in gone_nodes.items()), *sentences, *assumed_words(lacks)),
        most_urgent(
            (
                Severity.TROUBLE if gone_nodes else Severity.NOTICE if lacks else Severity.FINE,
                *(one.severity for one in ended),
            )
        ),
        (*tables, notes.section(), Section("Unknown", unread_lines(lacks))),
        tuple(next_commands[:2]),
    )


def _deleted_node_words(name: str, pods: Sequence[Pod]) -> str:
    """A warning: deleting a Node object does not stop its machine."""
    lead = f"{name} has no Node object any more, and its processes may still run unless its machine is off"
    named = listed([f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods], most=_NAMED)
    still = f": {counted(len(pods), 'pod')} still name{'s' if len(pods) == 1 else ''} it, {named}" if pods else ""
    return f"{lead}{still}."


def _pods(ends: Sequence[_End]) -> str:
    return counted(len({(one.report.namespace, one.report.name, one.report.earlier) for one in ends}), "pod")


def _judged(report: EndReport, now: datetime | None) -> _End:
    severity = end_verdict(report, now).severity
    if severity is Severity.FINE:
        return _End(report, severity, "not ended" if report.end.of is EndOf.NOTHING else "completed")
    suspects = (one.cause for one in report.end.verdict.suspects)
    return _End(report, severity, causes_words(suspects, report.end.evictor))


def _groups(ends: Sequence[_End]) -> Sequence[_Group]:
    """The most urgent first, of equals the largest."""
    found: dict[tuple[Severity, str], list[_End]] = {}
    for one in ends:
        found.setdefault(one.group, []).append(one)
    groups = [_Group(severity, words, alike) for (severity, words), alike in found.items()]
    return sorted(groups, key=lambda group: (-group.severity.urgency, -len(group.ends)))


def _table(title: str, ends: Sequence[_End], now: datetime | None, *, several: bool) -> Table:
    headings = ("NAMESPACE",) if several else ()
    rows = tuple(
        (
            when_words(one.report.end.at, now) or "-",
            _GRADES[one.report.end.verdict.grade],
            one.cause,
            *((one.report.namespace,) if several else ()),
            _name(one.report),
        )
        for one in ends[:_MOST]
    )
    marks = tuple(one.severity for one in ends[:_MOST])
    return Table(title, ("WHEN", "GRADE", "CAUSE", *headings, "POD/CONTAINER"), rows, one_line=True, marks=marks)


def _grouped(title: str, groups: Sequence[_Group], now: datetime | None, *, several: bool) -> Table:
    """A row for each group, with the names of its first pods."""
    rows = []
    for _, words, ends in groups:
        last, first = (when_words(one.report.end.at, now) or "-" for one in (ends[0], ends[-1]))
        when = last if last == first else f"{last.removesuffix(' ago')} to {first}"
        reports = [one.report for one in ends]
        names = [f"{one.namespace}/{_name(one)}" if several else _name(one) for one in reports]
        option = " (--all)" if len(names) > _NAMED_IN_ROW else ""
        rows.append((str(len(ends)), words, when, f"{few(names, _NAMED_IN_ROW)}{option}"))
    marks = tuple(group.severity for group in groups)
    return Table(title, ("", "", "", ""), tuple(rows), right=frozenset({0}), one_line=True, marks=marks)


def _name(report: EndReport) -> str:
    return f"{report.name}{f'/{report.end.container}' if report.end.container else ''}"


def _sentences(groups: Sequence[_Group], within: str, more: int) -> Iterator[str]:
    if not groups:
        return
    ends = [one for group in groups for one in group.ends]
    some = f", {len(groups[0].ends)} of them" if len(groups) > 1 else ""
    were = "was" if len(ends) == 1 else "were"
    yield f"{_pods(ends)} ended or {were} deleted{within}{some}: {groups[0].words}."
    reports = [one.report for one in ends]
    unseen = [one for one in reports if one.node and (may_run_on(one) or (one.silent and _is_unknown(one)))]
    if unseen:
        names = [f"{one.name} on {one.node}{', which is silent' if one.silent else ''}" for one in unseen]
        they = "it" if len(unseen) == 1 else "they"
        yield f"No event shows that the kubelet stopped {listed(names, most=_NAMED)}: {they} may still run."
    elif all(map(_is_unknown, reports)):
        yield "No remaining evidence shows the cause."
    if more:
        yield f"{more} more are not shown; -o json has all."


def _is_unknown(report: EndReport) -> bool:
    return report.end.verdict.grade is Grade.NOTHING
