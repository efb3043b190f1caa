"""The cluster report on a terminal: the findings, the changes, and the written file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kubectl_plugin.render.command import Command, qos
from kubectl_plugin.render.page import Page, Section, Table
from kubectl_plugin.reports.cluster.cluster_entries import ClusterReport
from kubectl_plugin.reports.pod.pod_risk import PodRisk
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode, most_urgent
from kubectl_plugin.views.caveats import assumed_words, unread_lines, versions_section
from kubectl_plugin.views.cluster.cluster_page import (
    SummaryFinding,
    asked_words,
    categories,
    findings,
    headline,
    measured_nodes,
)
from kubectl_plugin.views.cluster.report_changes import changes_sentences, changes_tables, news
from kubectl_plugin.views.node.node_flags import NodeMark, node_flags
from kubectl_plugin.views.words import clock, counted, listed, memory

_MAX_NAMED: Final = 3
_MARKS: Final = {mark: place for place, mark in enumerate(NodeMark)}
_RISKS: Final = {risk: place for place, risk in enumerate(PodRisk)}


def summary_page(report: ClusterReport) -> Page:
    """The summary of the HTML page, and what changed."""
    found = findings(report)
    # If nothing changed, the earlier report has shown the findings, and the counts below are enough.
    with_findings = report.changes is None or bool(news(report.changes))
    when = "" if report.at is None else f", {clock(report.at, None)}"
    rows = tuple((one.severity.value, one.fact, f"{_named(report, one)}{one.meaning}") for one in found)
    counts = tuple((f"{one.pods:,}", one.severity.value, one.words) for one in categories(report))
    return Page(
        title=f"{report.scope or 'all namespaces'} of {asked_words(report)}{when}",
        verdict=_sentences(report, found),
        severity=_worst(report),
        parts=(
            *(changes_tables(report.changes) if report.changes is not None else ()),
            *(
                [Table("What stands out, the worst first", ("urgency", "fact", "what it means"), rows)]
                if rows and with_findings
                else ()
            ),
            *(
                [Table("Pods, each counted once", ("pods", "urgency", "what"), counts, frozenset({0}))]
                if counts and with_findings
                else ()
            ),
            *_unknown(report),
        ),
        next_commands=tuple(_next_commands(report)),
    )


def _named(report: ClusterReport, finding: SummaryFinding) -> str:
    """The pods of a finding, if the page has no list of them."""
    names = [
        f"{pod.namespace}/{pod.name}"
        + (
            f" ({pod.stuck.reason}{f' {pod.stuck.times} times' if pod.stuck.times > 1 else ''})"
            if pod.stuck and pod.risk is PodRisk.STUCK
            else ""
        )
        for pod in report.pods
        if pod.risk is finding.risk is not None
    ]
    return f"{listed(names, most=_MAX_NAMED)}. " if names else ""


def _next_commands(report: ClusterReport) -> Iterator[Command]:
    """Commands for the worst node, then the worst pod; pods on silent nodes are covered by their node."""
    flagged = [(_MARKS[flags[0].mark], node.name) for node in report.nodes if (flags := node_flags(node))]
    if flagged:
        mark, name = min(flagged)
        yield qos("partitions") if mark == _MARKS[NodeMark.SILENT] else qos("node {}", name)
    risky = [(_RISKS[pod.risk], *pod.key) for pod in report.pods if pod.risk not in {None, PodRisk.NODE_DOWN}]
    if risky:
        _, namespace, name = min(risky)
        yield qos("explain pod/{}", name, namespace=namespace)
    refused = next((one for one in report.workloads if one.refused), None)
    if refused is not None:
        yield qos("explain {}/{}", refused.kind.lower(), refused.name, namespace=refused.namespace)


def report_verdict(report: ClusterReport) -> Verdict:
    """The verdict of the report."""
    found = findings(report)
    code = VerdictCode.FINDINGS if found else VerdictCode.NOTHING_FOUND
    return Verdict(code, _worst(report), _sentences(report, found))


def written_page(report: ClusterReport, path: str, size: int, explained: int) -> Page:
    """What is in the file."""
    details = "each with its explanation" if explained >= len(report.pods) else f"{explained} with their explanation"
    nodes, pods = counted(len(report.nodes), "node"), counted(len(report.pods), "pod")
    return Page(
        title=f"{path}, of {asked_words(report)}",
        verdict=(
            f"Written, {memory(size)}B: {nodes} and {pods}, {details}.",
            headline(report, findings(report)),
            *assumed_words(report.lacks),
            *_changed(report),
            "Open it in a browser: it loads nothing from elsewhere.",
        ),
        severity=_worst(report),
        parts=tuple(_unknown(report)),
    )


def _sentences(report: ClusterReport, found: Sequence[SummaryFinding]) -> tuple[str, ...]:
    """The requested changes, then how many things stand out."""
    return *_changed(report), headline(report, found), *assumed_words(report.lacks)


def _changed(report: ClusterReport) -> tuple[str, ...]:
    return changes_sentences(report, report.changes) if report.changes is not None else ()


def _worst(report: ClusterReport) -> Severity:
    return most_urgent(one.severity for one in findings(report))


def _unknown(report: ClusterReport) -> Iterator[Section]:
    yield versions_section(report.version_notes)
    yield Section("Unknown", unread_lines(report.unread, measured=measured_nodes(report)))
