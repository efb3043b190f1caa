"""The section of workloads: how many pods each wants, how many run, and its worst problem."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.html.markup import MAX_ROWS, Child, Markup, element, joined, severity_word, table
from kubectl_plugin.reports.cluster.cluster_entries import ClusterReport
from kubectl_plugin.reports.cluster.cluster_workloads import WorkloadEntry
from kubectl_plugin.reports.pod.pod_risk import PodRisk
from kubectl_plugin.reports.verdict import Severity, VerdictCode
from kubectl_plugin.views.pod.risk_words import RISK_WORDS
from kubectl_plugin.views.words import counted

_HEADINGS: Final = ("Workload", "Wanted", "Ready", "In trouble", "Restarts", "The worst")
_NUMBERS: Final = frozenset({1, 2, 3, 4})


def workloads(report: ClusterReport) -> Markup:
    """The workloads with problems; the others are folded."""
    ill = [one for one in report.workloads if one.severity is not Severity.FINE]
    well = [one for one in report.workloads if one.severity is Severity.FINE]
    rest = len(ill) + len(well) - len(ill[:MAX_ROWS]) - len(well[:MAX_ROWS])
    return element(
        "section",
        element("h2", "Workloads"),
        table("The worst first", _HEADINGS, map(_cells, ill[:MAX_ROWS]), numbers=_NUMBERS)
        if ill
        else element("p", "No workload here is known to be in trouble.", class_="note"),
        element(
            "details",
            element("summary", f"{counted(len(well), 'workload')} with all pods well"),
            table("By name", _HEADINGS, map(_cells, well[:MAX_ROWS]), numbers=_NUMBERS),
        )
        if well
        else None,
        element("p", f"and {counted(rest, 'more workload')}: kubectl qos report -o json", class_="note")
        if rest
        else None,
        id="workloads",
    )


def _cells(entry: WorkloadEntry) -> list[Child]:
    counts = entry.counts
    return [
        joined(element("span", f"{entry.namespace}/", class_="dim"), f"{entry.kind} ", element("strong", entry.name)),
        _wanted_words(entry),
        f"{counts.ready:,}",
        f"{entry.in_trouble:,}",
        f"{entry.restarts:,}",
        joined(severity_word(entry.severity), " ", _worst_words(entry)) if entry.severity is not Severity.FINE else "",
    ]


def _wanted_words(entry: WorkloadEntry) -> str:
    if entry.counts.wanted is not None:
        return f"{entry.counts.wanted:,}"
    return "by schedule" if entry.kind == "CronJob" else "unknown"


def _worst_words(entry: WorkloadEntry) -> str:
    missing = f"{counted(entry.counts.missing, 'pod')} missing" if entry.counts.missing else ""
    if entry.code is VerdictCode.NEAR_MEMORY_LIMIT:
        return RISK_WORDS[PodRisk.NEAR_LIMIT]
    if entry.refused:
        return ": ".join(filter(None, (missing, "pods refused")))
    if entry.worst is None:
        return missing or entry.code.value
    state = "" if entry.worst_status == entry.worst.value else f" ({entry.worst.value})"
    words = f"{entry.worst_pod}: {entry.worst_status}{state}"
    return f"{words}; {missing}" if missing else words
