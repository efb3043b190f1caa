"""A cluster's report on a terminal: what stands out, what changed, and what was written."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_plugin.render.page import Page, Section, Severity, Table
from kubectl_plugin.reports.cluster import ClusterReport
from kubectl_plugin.reports.verdict import Verdict, VerdictCode, most_urgent
from kubectl_plugin.views.report import asked_words, categories, findings, headline, measured_nodes
from kubectl_plugin.views.report_changes import changes_sentences, changes_tables
from kubectl_plugin.views.unread import unread_lines
from kubectl_plugin.views.words import clock, counted, memory

__all__ = ["report_verdict", "summary_page", "written_page"]


def summary_page(report: ClusterReport) -> Page:
    """The summary of the HTML page, and what changed."""
    found = findings(report)
    when = "" if report.at is None else f", {clock(report.at, None)}"
    rows = tuple((one.severity.value, one.fact, one.meaning) for one in found)
    counts = tuple((f"{one.pods:,}", one.severity.value, one.words) for one in categories(report))
    return Page(
        title=f"{report.scope or 'all namespaces'} of {asked_words(report)}{when}",
        verdict=(headline(report, found), *_changed(report)),
        severity=_worst(report),
        parts=(
            *(changes_tables(report.changes) if report.changes is not None else ()),
            *([Table("What stands out, the worst first", ("urgency", "fact", "what it means"), rows)] if rows else ()),
            *(
                [Table("Pods, each counted once", ("pods", "urgency", "what"), counts, frozenset({0}))]
                if counts
                else ()
            ),
            *_unknown(report),
        ),
    )


def report_verdict(report: ClusterReport) -> Verdict:
    """The headline, for a program too."""
    found = findings(report)
    code = VerdictCode.FINDINGS if found else VerdictCode.NOTHING_FOUND
    return Verdict(code, _worst(report), (headline(report, found), *_changed(report)))


def written_page(report: ClusterReport, path: str, size: int, explained: int) -> Page:
    """What is in the file."""
    told = "each with its explanation" if explained >= len(report.pods) else f"{explained} with their explanation"
    nodes, pods = counted(len(report.nodes), "node"), counted(len(report.pods), "pod")
    return Page(
        title=f"{path}, of {asked_words(report)}",
        verdict=(
            f"Written, {memory(size)}B: {nodes} and {pods}, {told}.",
            headline(report, findings(report)),
            *_changed(report),
            "Open it in a browser: it loads nothing from elsewhere.",
        ),
        severity=_worst(report),
        parts=tuple(_unknown(report)),
    )


def _changed(report: ClusterReport) -> tuple[str, ...]:
    return changes_sentences(report, report.changes) if report.changes is not None else ()


def _worst(report: ClusterReport) -> Severity:
    return most_urgent(one.severity for one in findings(report))


def _unknown(report: ClusterReport) -> Iterator[Section]:
    if report.unread:
        yield Section("Unknown", unread_lines(report.unread, measured=measured_nodes(report)))
