"""The page about what a node has promised to its pods."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kubectl_plugin.render.command import Command, qos
from kubectl_plugin.render.page import Page, Section, Table
from kubectl_plugin.reports.node.node_report import NodeReport
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode, joined_verdict
from kubectl_plugin.views.evictor_words import held_words
from kubectl_plugin.views.node.node_findings import full_words, node_findings
from kubectl_plugin.views.node.node_words import node_platform_section, reach_commands
from kubectl_plugin.views.scheduling.scheduler_plugins import nominated_pods_words
from kubectl_plugin.views.unread import unread_lines
from kubectl_plugin.views.version_notes import versions_section
from kubectl_plugin.views.words import amount, counted, listed
from kubectl_plugin.views.workload_words import node_word
from podrules.node.pressure.usage import UsageSource
from podrules.pod.platform import Platform

_HEADINGS = ("resource", "allocatable", "requested", "", "free", "limits", "", "unlimited")
_BY_CLASS = ("requested by", "Guaranteed", "Burstable", "BestEffort", "kept for the system")


def node_page(report: NodeReport, *, now: datetime | None, wide: bool) -> Page:
    """What the node has promised; ``wide`` adds requests by QoS class and the system's reservation."""
    summary = node_verdict(report, now)
    measured = report.usage is not None and report.usage.usage_source is not UsageSource.NONE
    return Page(
        title=f"node/{report.name}",
        verdict=summary.sentences,
        severity=summary.severity,
        parts=(
            *promise_parts(report, now, wide=wide),
            node_platform_section(report.platform),
            versions_section(report.version_notes),
            Section("Unknown", unread_lines(report.unread, measured=(report.name,) if measured else ())),
        ),
        next_commands=tuple(_next_commands(report)),
    )


def promise_parts(report: NodeReport, now: datetime | None, *, wide: bool) -> list[Section | Table]:
    """The sections on promises, taints and held-back removals; ``wide`` as in `node_page`."""
    parts: list[Section | Table] = []
    if report.pods is not None:
        parts += [_table(report), *([_by_class(report)] if wide else []), *_kept_room(report), _pods(report)]
    parts.append(Section("Taints", report.taints))
    if report.held_back is not None:
        parts.append(Section("Held back", (held_words(report.held_back, now),)))
    return parts


def full_section(report: NodeReport) -> Section:
    """What the node has no room for; no lines if it has room."""
    lines = [f"{report.pods} of {counted(report.max_pods, 'pod')}: no other fits"] if report.pods_full else []
    full = [entry.name for entry in report.offered if entry.full]
    if full and report.pods is not None:
        lines.append(full_words(full))
    return Section("No room", tuple(lines))


def pods_on(name: str) -> Command:
    """The command that lists the pods of a node."""
    return qos("explain pods -A", name, options="--field-selector spec.nodeName={}")


def _next_commands(report: NodeReport) -> Iterator[Command]:
    yield from reach_commands(report.reach)
    yield qos("node {}", report.name)
    yield pods_on(report.name)


def node_verdict(report: NodeReport, now: datetime | None) -> Verdict:
    """What is wrong with the node and what it has promised."""
    found = node_findings(report, report.usage, now)
    wrong = [one for one in (*found.now, *found.ahead) if one.severity is not Severity.FINE]
    if report.pods is None:
        unread = "What it has promised is unknown: its pods could not be read."
        return joined_verdict((*wrong, Verdict(VerdictCode.PODS_UNREAD, Severity.NOTICE, (unread,))))
    promises = (*_limits(report), *_usage_unknown(report))
    return joined_verdict((*wrong, Verdict(VerdictCode.READY, Severity.FINE, promises)))


def node_condition(report: NodeReport) -> str:
    """The state of the node as one word: ``Ready``, ``NotReady``, ``Cordoned`` or ``Silent``."""
    if report.reach is not None and report.reach.reach.quiet:
        return node_word(report.reach).capitalize()
    if report.ready != "True":
        return "NotReady"
    return "Cordoned" if report.unschedulable else "Ready"


def _usage_unknown(report: NodeReport) -> Iterator[str]:
    """Why the page shows nothing about evictions, if it cannot."""
    if report.platform is not Platform.LINUX:
        return
    if report.usage is None:
        yield "Its usage was not read: use kubectl qos node."
    elif report.usage.usage_source is UsageSource.NONE:
        yield "Its usage is unknown, and so is the headroom before an eviction."


def _limits(report: NodeReport) -> tuple[str, ...]:
    """How far limits exceed what is allocatable."""
    said = []
    over = [f"{entry.name} {entry.limited_percent}%" for entry in report.offered if entry.limited_percent > 100]
    unlimited = next((entry.without_limit for entry in report.offered if entry.name == "memory"), 0)
    if over:
        said.append(f"Overcommitted: limits add up to {listed(over)} of allocatable.")
    if unlimited:
        may = "has no memory limit: it may" if unlimited == 1 else "have no memory limit: they may"
        pods = "pod" if report.pods == 1 else "pods"
        said.append(f"{unlimited} of {report.pods} {pods} {may} use all memory.")
    if said or report.pods_full or any(entry.full for entry in report.offered):
        return tuple(said)
    return ("Every pod's memory is limited, and limits stay within allocatable.",)


def _table(report: NodeReport) -> Table:
    rows = [
        (
            entry.name,
            amount(entry.name, entry.allocatable),
            amount(entry.name, entry.requested),
            f"{entry.requested_percent}%",
            amount(entry.name, entry.free),
            amount(entry.name, entry.limited),
            f"{entry.limited_percent}%",
            counted(entry.without_limit, "pod"),
        )
        for entry in report.offered
    ]
    return Table("", _HEADINGS, tuple(rows), right=frozenset(range(1, len(_HEADINGS))))


def _by_class(report: NodeReport) -> Table:
    rows = [
        (
            entry.name,
            *(amount(entry.name, text) for text in entry.requested_by_class.values()),
            f"{amount(entry.name, entry.reserved)} of {amount(entry.name, entry.capacity)}",
        )
        for entry in report.offered
    ]
    return Table("", _BY_CLASS, tuple(rows), right=frozenset(range(1, len(_BY_CLASS))))


def _kept_room(report: NodeReport) -> Iterator[Section]:
    """What is kept for nominated pods, although no pod on the node requests it."""
    kept = report.kept
    if kept is not None:
        amounts = listed([f"{amount(name, text)} {name}" for name, text in kept.requests.items()]) or "a place"
        yield Section(
            "Nominated", (f"{amounts} kept for {nominated_pods_words(kept.pods)}, besides what is requested",)
        )


def _pods(report: NodeReport) -> Section:
    counts = listed([f"{count} {qos_class}" for qos_class, count in report.pods_by_class.items()])
    return Section("Pods", (f"{report.pods} of {report.max_pods}: {counts}",))
