"""A node's promises in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from kubectl_plugin.render.command import Command, qos
from kubectl_plugin.render.page import Page, Section, Table
from kubectl_plugin.reports.node import NodeReport, NodeResourceReport
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode, joined_verdict
from kubectl_plugin.views.platform_words import node_platform_section
from kubectl_plugin.views.pod import unread_section
from kubectl_plugin.views.pressure_words import EVICTING, pressure_names
from kubectl_plugin.views.quiet import QUIET_CODES
from kubectl_plugin.views.safety_words import reach_words
from kubectl_plugin.views.taint_words import count_words
from kubectl_plugin.views.words import amount, clock, counted, is_plain_name, listed
from podrules.model.instant import instant
from podrules.reachability import Reach

__all__ = [
    "full_section",
    "full_words",
    "node_page",
    "node_verdict",
    "pods_on",
    "promise_parts",
    "room_verdicts",
    "state_verdicts",
]

_HEADINGS = ("resource", "allocatable", "requested", "", "free", "limits", "", "unlimited")
_BY_CLASS = ("requested by", "Guaranteed", "Burstable", "BestEffort", "kept for the system")


def node_page(report: NodeReport, *, now: datetime | None, wide: bool) -> Page:
    """What the node has promised; ``wide`` adds requests by QoS class and what the system keeps."""
    told = node_verdict(report, now)
    platform = node_platform_section(report.platform)
    parts = [*promise_parts(report, wide=wide), *([platform] if platform.lines else [])]
    if report.unread:
        parts.append(unread_section(report.unread))
    return Page(
        title=f"node/{report.name}",
        verdict=told.sentences,
        severity=told.severity,
        parts=tuple(parts),
        next_commands=tuple(_next_commands(report)),
    )


def promise_parts(report: NodeReport, *, wide: bool) -> list[Section | Table]:
    """What the node has promised, and which pods stay away; ``wide`` as for the page."""
    parts: list[Section | Table] = []
    if report.pods is not None:
        parts += [_table(report), *([_by_class(report)] if wide else []), _pods(report)]
    if report.taints:
        parts.append(Section("Taints", report.taints))
    return parts


def full_section(report: NodeReport) -> Section:
    """What the node has no room for; without lines where it has."""
    lines = [f"{report.pods} of {counted(report.max_pods, 'pod')}: no other fits"] if report.pods_full else []
    if names := _full(report):
        lines.append(full_words(names))
    return Section("No room", tuple(lines))


def full_words(names: Sequence[str]) -> str:
    """Which pods do not fit a node whose requests reach what is allocatable of some resources."""
    none = "none" if len(names) == 1 else "neither" if len(names) == 2 else "none of them"
    several = f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]
    return f"a pod that requests {several} does not fit here, one that requests {none} may"


def _full(report: NodeReport) -> list[str]:
    return [] if report.pods is None else [entry.name for entry in _offered(report) if entry.full]


def pods_on(name: str) -> Command:
    """What lists the pods of a node."""
    return qos("explain", "pods", "-A", options=("--field-selector", f"spec.nodeName={name}"))


def _next_commands(report: NodeReport) -> Iterator[Command]:
    if is_plain_name(report.name):
        yield qos("node", report.name)
        yield pods_on(report.name)


def node_verdict(report: NodeReport, now: datetime | None) -> Verdict:
    """What is wrong with the node, and what it has promised."""
    promises = Verdict(VerdictCode.READY, Severity.FINE, tuple(_limits(report)))
    if report.pods is None:
        unread = "What it has promised is unknown: its pods could not be read."
        promises = Verdict(VerdictCode.PODS_UNREAD, Severity.NOTICE, (unread,))
    return joined_verdict((*state_verdicts(report, now), *room_verdicts(report), promises))


def state_verdicts(report: NodeReport, now: datetime | None) -> tuple[Verdict, ...]:
    """What is wrong with the node itself; none when nothing is."""
    told: list[Verdict] = []
    quiet = report.reach is not None and report.reach.reach.quiet
    if report.pressures and not quiet:
        pressed = f"It has {pressure_names(report.pressures)}: {EVICTING}."
        told.append(Verdict(VerdictCode.NODE_PRESSURE, Severity.TROUBLE, (pressed,)))
    told += _standing(report, now)
    if report.evictions:
        told.append(Verdict(VerdictCode.NODE_TAINT_EVICTS, Severity.TROUBLE, (count_words(report.evictions, now),)))
    return tuple(told)


def _standing(report: NodeReport, now: datetime | None) -> Iterator[Verdict]:
    """Whether it answers, is Ready and takes pods."""
    since = instant(report.ready_since)
    when = f" since {clock(since, now)}" if since else ""
    if report.reach is not None and report.reach.reach.quiet:
        known = reach_words(report.reach, None, now)
        text = f"{known}: its pods may or may not run, and nothing stops them until it answers."
        yield Verdict(QUIET_CODES[report.reach.reach], Severity.TROUBLE, (text,))
    elif report.reach is not None and report.reach.reach.back:
        text = f"{reach_words(report.reach, None, now)}: its pods are kept away (kubectl qos unfence)."
        yield Verdict(VerdictCode.NODE_BACK, Severity.TROUBLE, (text,))
    elif report.reach is not None and report.reach.reach is Reach.RETURNING:
        text = f"{reach_words(report.reach, None, now)}: the scheduler puts nothing here until then."
        yield Verdict(VerdictCode.NODE_RETURNING, Severity.NOTICE, (text,))
    elif report.ready != "True":
        text = f"Not ready{when}: the scheduler puts nothing here."
        yield Verdict(VerdictCode.NODE_NOT_READY, Severity.TROUBLE, (text,))
    elif report.unschedulable:
        text = "Cordoned: its pods go on, new ones do not come (spec.unschedulable)."
        yield Verdict(VerdictCode.CORDONED, Severity.NOTICE, (text,))


def room_verdicts(report: NodeReport) -> Iterator[Verdict]:
    """What there is no room for: other pods at all, or those that request more of a resource."""
    if report.pods is None:
        return
    if report.pods_full:
        text = f"It has {report.pods} of {counted(report.max_pods, 'pod')}: no other fits here."
        yield Verdict(VerdictCode.NODE_FULL, Severity.NOTICE, (text,))
    full = [entry for entry in _offered(report) if entry.full]
    if full:
        amounts = listed([f"{entry.name} {entry.requested_percent}%" for entry in full])
        text = f"Requests add up to {amounts} of allocatable: {full_words(_full(report))}."
        over = any(entry.requested_percent > 100 for entry in full)
        code = VerdictCode.REQUESTS_OVER_ALLOCATABLE if over else VerdictCode.NODE_FULL
        yield Verdict(code, Severity.NOTICE, (text,))


def _limits(report: NodeReport) -> tuple[str, ...]:
    """How far limits go beyond what there is."""
    offered = _offered(report)
    said = []
    over = [f"{entry.name} {entry.limited_percent}%" for entry in offered if entry.limited_percent > 100]
    unlimited = next((entry.without_limit for entry in offered if entry.name == "memory"), 0)
    if over:
        said.append(f"Overcommitted: limits add up to {listed(over)} of allocatable.")
    if unlimited:
        may = "has no memory limit: it may" if unlimited == 1 else "have no memory limit: they may"
        pods = "pod" if report.pods == 1 else "pods"
        said.append(f"{unlimited} of {report.pods} {pods} {may} take all there is.")
    if said or any(room_verdicts(report)):
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
        for entry in _offered(report)
    ]
    return Table("", _HEADINGS, tuple(rows), right=frozenset(range(1, len(_HEADINGS))))


def _by_class(report: NodeReport) -> Table:
    rows = [
        (
            entry.name,
            *(amount(entry.name, text) for text in entry.requested_by_class.values()),
            f"{amount(entry.name, entry.reserved)} of {amount(entry.name, entry.capacity)}",
        )
        for entry in _offered(report)
    ]
    return Table("", _BY_CLASS, tuple(rows), right=frozenset(range(1, len(_BY_CLASS))))


def _offered(report: NodeReport) -> list[NodeResourceReport]:
    """Resources that the node has any of."""
    return [entry for entry in report.resources if entry.allocatable != "0"]


def _pods(report: NodeReport) -> Section:
    counts = listed([f"{count} {qos_class}" for qos_class, count in report.pods_by_class.items()])
    return Section("Pods", (f"{report.pods} of {report.max_pods}: {counts}",))
