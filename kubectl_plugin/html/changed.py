"""The section of the page that shows what changed since an earlier report."""

from __future__ import annotations

from kubectl_plugin.html.markup import Child, Markup, element, severity_word, table
from kubectl_plugin.reports.cluster.cluster_entries import ClusterReport
from kubectl_plugin.views.cluster.report_changes import MAX_SHOWN, changes_sentences, count_rows, news
from kubectl_plugin.views.words import counted


def changed(report: ClusterReport) -> Markup | None:
    """The changes, the worst first, and the counts before and after; None: there is no earlier report."""
    if report.changes is None:
        return None
    found = news(report.changes)
    rows: list[list[Child]] = [[one.what, severity_word(one.severity), one.words] for one in found[:MAX_SHOWN]]
    rest = len(found) - len(rows)
    counts: list[list[Child]] = [list(row) for row in count_rows(report.changes)]
    return element(
        "section",
        element("h2", "What changed"),
        [element("p", sentence) for sentence in changes_sentences(report, report.changes)],
        table("Changes, the worst first", ("Object", "Now", "What changed"), rows) if rows else None,
        element("p", f"and {counted(rest, 'more change')}: kubectl qos report -o json", class_="note")
        if rest
        else None,
        table("Counts", ("Count", "Before", "After"), counts, numbers={1, 2}),
        id="changed",
    )
