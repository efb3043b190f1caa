"""The page of several ends: the number for each cause, and a row for each end, the latest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from kubectl_plugin.render.command import qos
from kubectl_plugin.render.page import Page, Row, Section, Table
from kubectl_plugin.reports.end_report import EndReport
from kubectl_plugin.reports.verdict import Severity, most_urgent
from kubectl_plugin.views.caveats import VersionNotes, assumed_words, unread_lines
from kubectl_plugin.views.died.causes import causes_words, may_run_on
from kubectl_plugin.views.died.page import end_verdict
from kubectl_plugin.views.words import counted, lasting, listed, when_words
from podrules.api.model.pod import Pod
from podrules.ending.died.cause import Grade
from podrules.pod.reading import UnreadInput

_MOST: Final = 500
_NAMED: Final = 3
_GRADES: Final = {
    Grade.CERTAIN: "certain",
    Grade.LIKELY: "likely",
    Grade.SEVERAL: "A or B",
    Grade.NOTHING: "unknown",
}


def ends_page(
    reports: Sequence[EndReport],
    now: datetime | None,
    *,
    since: timedelta | None,
    lacks: Sequence[UnreadInput] = (),
    gone_nodes: Mapping[str, Sequence[Pod]] = {},
) -> Page:
    """The page of several ends, the latest first, within ``since``; None: at any time.

    ``lacks`` could not be read, so that more may have ended. ``gone_nodes`` are the requested nodes that have no Node
    object, with the pods that name them.
    """
    within = f" in the last {lasting(since)}" if since is not None else ""
    ended = [one for one in reports if not one.end.never_began]
    waiting = [one for one in reports if one.end.never_began]
    sentences = tuple(_sentences(ended, len(ended[_MOST:])))
    if not ended:
        lead = "The data that was read shows nothing that" if lacks else "Nothing has"
        sentences = (f"{lead} ended{within}{'' if lacks else ', according to pods and events'}.",)
    if waiting:
        sentences += (f"Not counted: {_pods(waiting)} with a container that never began.",)
    notes = VersionNotes()
    for one in reports:
        notes.add(one.version_notes)
    several = len({one.namespace for one in reports}) > 1
    named = dict.fromkeys((one.namespace, one.name) for one in (*ended, *waiting)[:2])
    return Page(
        f"What ended: {_pods(ended)}{within}" if ended else "What ended",
        (*(_deleted_node_words(name, pods) for name, pods in gone_nodes.items()), *sentences, *assumed_words(lacks)),
        most_urgent(
            (Severity.TROUBLE if gone_nodes else Severity.FINE, *(end_verdict(one, now).severity for one in reports))
        ),
        (
            _table("", ended, now, several=several),
            Section("By cause", tuple(Row((str(count), cause)) for cause, count in cause_counts(ended))),
            _table("Never began", waiting, now, several=several),
            notes.section(),
            Section("Unknown", unread_lines(lacks)),
        ),
        tuple(qos("died pod/{}", name, namespace=namespace) for namespace, name in named),
    )


def _deleted_node_words(name: str, pods: Sequence[Pod]) -> str:
    """A warning: deleting a Node object does not stop its machine."""
    lead = f"{name} has no Node object any more, and its processes may still run unless its machine is off"
    named = listed([f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods], most=_NAMED)
    still = f": {counted(len(pods), 'pod')} still name{'s' if len(pods) == 1 else ''} it, {named}" if pods else ""
    return f"{lead}{still}."


def _pods(reports: Sequence[EndReport]) -> str:
    return counted(len({(one.namespace, one.name, one.earlier) for one in reports}), "pod")


def _table(title: str, reports: Sequence[EndReport], now: datetime | None, *, several: bool) -> Table:
    headings = ("NAMESPACE",) if several else ()
    rows = tuple(
        (
            when_words(one.end.at, now) or "-",
            _GRADES[one.end.verdict.grade],
            short_verdict(one),
            *((one.namespace,) if several else ()),
            f"{one.name}{f'/{one.end.container}' if one.end.container else ''}",
        )
        for one in reports[:_MOST]
    )
    return Table(title, ("WHEN", "GRADE", "CAUSE", *headings, "POD/CONTAINER"), rows)


def _sentences(reports: Sequence[EndReport], more: int) -> Iterator[str]:
    counts = cause_counts(reports)
    if not counts:
        return
    unseen = [one for one in reports if one.node and (may_run_on(one) or (one.silent and _is_unknown(one)))]
    if unseen:
        names = [f"{one.name} on {one.node}{', which does not answer' if one.silent else ''}" for one in unseen]
        they = "it" if len(unseen) == 1 else "they"
        yield f"No event shows that the kubelet stopped {listed(names, most=_NAMED)}: {they} may still run."
    cause, count = counts[0]
    if len(counts) > 1:
        yield f"Most often: {cause} ({count} of {len(reports)})."
    elif not all(map(_is_unknown, reports)):
        yield f"All have the same cause: {cause}."
    elif not unseen:
        yield "No remaining evidence shows the cause."
    if more:
        yield f"{more} more are not shown; -o json has all."


def _is_unknown(report: EndReport) -> bool:
    return report.end.verdict.grade is Grade.NOTHING


def cause_counts(reports: Sequence[EndReport]) -> list[tuple[str, int]]:
    """The number of ends for each cause, the most frequent first."""
    return Counter(map(short_verdict, reports)).most_common()


def short_verdict(report: EndReport) -> str:
    """``own memory limit``; ``own memory limit or node out of memory``."""
    return causes_words((one.cause for one in report.end.verdict.suspects), report.end.evictor)
