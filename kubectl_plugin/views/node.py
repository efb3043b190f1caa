"""A node's promises in words."""

from __future__ import annotations

from datetime import datetime

from kubectl_plugin.render.page import Page, Section, Severity, Table
from kubectl_plugin.reports.node import NodeReport, NodeResourceReport
from kubectl_plugin.views.pod import unread_section
from kubectl_plugin.views.words import amount, clock, instant, listed

__all__ = ["node_page"]

_HEADINGS = ("resource", "allocatable", "requested", "", "free", "limits", "", "unlimited")
_WIDE_HEADINGS = ("Guaranteed", "Burstable", "BestEffort", "reserved")


def node_page(report: NodeReport, *, now: datetime | None, wide: bool) -> Page:
    """What the node has promised; ``wide`` adds requests by QoS class and what the system keeps."""
    sentences, severity = _verdict(report, now)
    parts: list[Section | Table] = []
    if report.pods is not None:
        parts += [_table(report, wide=wide), _pods(report)]
    if report.taints:
        parts.append(Section("Taints", report.taints))
    if report.unread:
        parts.append(unread_section(report.unread))
    return Page(
        title=f"node/{report.name}",
        verdict=sentences,
        severity=severity,
        parts=tuple(parts),
        next_commands=(f"kubectl get pods -A --field-selector spec.nodeName={report.name}",),
    )


def _verdict(report: NodeReport, now: datetime | None) -> tuple[tuple[str, ...], Severity]:
    sentences: list[str] = []
    severity = Severity.FINE
    since = instant(report.ready_since)
    when = f" since {clock(since, now)}" if since else ""
    if report.ready == "Unknown":
        sentences.append(f"Silent{when}: the kubelet does not answer, so its pods may or may not run.")
        severity = Severity.TROUBLE
    elif report.ready != "True":
        sentences.append(f"Not ready{when}: the scheduler puts nothing here.")
        severity = Severity.TROUBLE
    elif report.unschedulable:
        sentences.append("Cordoned: its pods go on, new ones do not come (spec.unschedulable).")
        severity = Severity.NOTICE
    if report.pods is None:
        return (*sentences, "What it has promised is unknown: its pods could not be read."), severity
    over = [entry for entry in report.resources if entry.limited_percent > 100]
    unlimited = max((entry.without_limit for entry in report.resources if entry.name == "memory"), default=0)
    if over:
        excess = listed([f"{entry.name} {entry.limited_percent}%" for entry in over])
        sentences.append(f"Overcommitted: limits add up to {excess} of allocatable.")
        severity = Severity.NOTICE if severity is Severity.FINE else severity
    else:
        sentences.append("Limits stay within allocatable.")
    if unlimited:
        sentences.append(f"{unlimited} of {report.pods} pods have no memory limit: they may take all there is.")
    return tuple(sentences), severity


def _table(report: NodeReport, *, wide: bool) -> Table:
    headings = _HEADINGS + (_WIDE_HEADINGS if wide else ())
    return Table(
        title="",
        headings=headings,
        rows=tuple(_row(entry, wide=wide) for entry in report.resources),
        right=frozenset(range(1, len(headings))),
    )


def _row(entry: NodeResourceReport, *, wide: bool) -> tuple[str, ...]:
    row = (
        entry.name,
        amount(entry.name, entry.allocatable),
        amount(entry.name, entry.requested),
        f"{entry.requested_percent}%",
        amount(entry.name, entry.free),
        amount(entry.name, entry.limited),
        f"{entry.limited_percent}%",
        f"{entry.without_limit} pods",
    )
    if not wide:
        return row
    by_class = entry.requested_by_class
    return (
        *row,
        amount(entry.name, by_class["Guaranteed"]),
        amount(entry.name, by_class["Burstable"]),
        amount(entry.name, by_class["BestEffort"]),
        amount(entry.name, entry.reserved),
    )


def _pods(report: NodeReport) -> Section:
    counts = listed([f"{count} {qos_class}" for qos_class, count in report.pods_by_class.items()])
    return Section("Pods", (f"{report.pods} of {report.max_pods}: {counts}",))
