"""The page about what a node has promised to its pods, and the findings about a node.

Every page and list about nodes uses the findings, in this order: state, evictions, missing room, containers near their
own limits. If several are equally urgent, the first one gives the verdict its code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kubectl_plugin.render.command import Command, qos
from kubectl_plugin.render.page import Page, Section, Table
from kubectl_plugin.reports.node.node_report import NodeReport, NodeUse, ThresholdReport, node_standing
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode, joined_verdict
from kubectl_plugin.views.caveats import unread_lines, versions_section
from kubectl_plugin.views.evictor_words import going_verdict, held_words
from kubectl_plugin.views.node.node_words import count_words, node_platform_section, reach_commands
from kubectl_plugin.views.node.pressure import (
    EVICTING,
    SIGNAL_NAMES,
    eviction_amount,
    near_limit_words,
    pressure_names,
    unless_words,
)
from kubectl_plugin.views.pod.safety_words import off_sentences, reach_words
from kubectl_plugin.views.scheduling.scheduler_plugins import nominated_pods_words
from kubectl_plugin.views.words import amount, amounts, clock, counted, cut, lasting, listed, memory, when_words
from kubectl_plugin.views.workload_words import NODE_DOWN, node_word
from podrules.api.model.instant import instant
from podrules.api.model.quantity import Quantity
from podrules.ending.died.memory import OomKill
from podrules.node.eviction.thresholds import Signal
from podrules.node.pressure.node import ThresholdSource
from podrules.node.pressure.usage import Nearness, UsageSource, headroom_nearness
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
        next_commands=(*reach_commands(report.reach), qos("node {}", report.name), pods_on(report.name)),
    )


def promise_parts(report: NodeReport, now: datetime | None, *, wide: bool) -> list[Section | Table]:
    """The sections on promises, taints and held-back removals; ``wide`` as in `node_page`."""
    parts: list[Section | Table] = []
    if report.pods is not None:
        counts = listed([f"{count} {qos_class}" for qos_class, count in report.pods_by_class.items()])
        rows: list[tuple[str, ...]] = []
        for entry in report.offered:
            texts = (entry.allocatable, entry.requested, entry.free, entry.limited)
            allocatable, requested, free, limited = amounts(entry.name, texts)
            shares = f"{entry.requested_percent}%", f"{entry.limited_percent}%"
            unlimited = counted(entry.without_limit, "pod")
            rows.append((entry.name, allocatable, requested, shares[0], free, limited, shares[1], unlimited))
        parts.append(Table("", _HEADINGS, tuple(rows), right=frozenset(range(1, len(_HEADINGS)))))
        if wide:
            by_class: list[tuple[str, ...]] = []
            for entry in report.offered:
                by_each = (*entry.requested_by_class.values(), entry.reserved, entry.capacity)
                *classes, reserved, capacity = amounts(entry.name, by_each)
                by_class.append((entry.name, *classes, f"{reserved} of {capacity}"))
            parts.append(Table("", _BY_CLASS, tuple(by_class), right=frozenset(range(1, len(_BY_CLASS)))))
        kept = report.kept
        if kept is not None:
            # No pod on the node requests this room.
            room = listed([f"{amount(name, text)} {name}" for name, text in kept.requests.items()]) or "a place"
            words = f"{room} kept for {nominated_pods_words(kept.pods)}, besides what is requested"
            parts.append(Section("Nominated", (words,)))
        parts.append(Section("Pods", (f"{report.pods} of {report.max_pods}: {counts}",)))
    parts.append(Section("Taints", report.taints))
    if report.held_back is not None:
        parts.append(Section("Held back", (held_words(report.held_back, now),)))
    return parts


def pods_on(name: str) -> Command:
    """The command that lists the pods of a node."""
    return qos("explain pods -A", name, options="--field-selector spec.nodeName={}")


def node_verdict(report: NodeReport, now: datetime | None) -> Verdict:
    """What is wrong with the node and what it has promised."""
    found = node_findings(report, report.usage, now)
    wrong = [one for one in (*found.now, *found.ahead) if one.severity is not Severity.FINE]
    if report.pods is None:
        unread = "What it has promised is unknown: its pods could not be read."
        return joined_verdict((*wrong, Verdict(VerdictCode.PODS_UNREAD, Severity.NOTICE, (unread,))))
    # How far limits exceed what is allocatable.
    said = []
    over = [f"{entry.name} {entry.limited_percent}%" for entry in report.offered if entry.limited_percent > 100]
    unlimited = next((entry.without_limit for entry in report.offered if entry.name == "memory"), 0)
    if over:
        said.append(f"Overcommitted: limits add up to {listed(over)} of allocatable.")
    if unlimited:
        may = "has no memory limit: it may" if unlimited == 1 else "have no memory limit: they may"
        pods = "pod" if report.pods == 1 else "pods"
        said.append(f"{unlimited} of {report.pods} {pods} {may} use all memory.")
    if not said and not report.pods_full and not any(entry.full for entry in report.offered):
        said.append("Every pod's memory is limited, and limits stay within allocatable.")
    # Why the page shows nothing about evictions.
    if report.platform is Platform.LINUX and report.usage is None:
        said.append("Its usage was not read: use kubectl qos node.")
    elif report.platform is Platform.LINUX and report.usage and report.usage.usage_source is UsageSource.NONE:
        said.append("Its usage is unknown, and so is the headroom before an eviction.")
    return joined_verdict((*wrong, Verdict(VerdictCode.READY, Severity.FINE, tuple(said))))


def node_condition(report: NodeReport) -> str:
    """The state of the node: ``Ready``, ``NotReady``, ``Cordoned``, ``NodeDown``, ``Out of service`` or ``Gone``."""
    if report.reach is not None and report.reach.reach.quiet:
        word = node_word(report.reach)
        return NODE_DOWN if word == "silent" else word.capitalize()
    if report.ready != "True":
        return "NotReady"
    return "Cordoned" if report.unschedulable else "Ready"


_STATE_TAINTS: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")


class NodeFindings(NamedTuple):
    """The findings that a verdict joins, in this order; a page may put the kill and eviction order between the two."""

    now: tuple[Verdict, ...]
    """Its state, and evictions in progress."""
    ahead: tuple[Verdict, ...]
    """The headroom before the next eviction, even if large; missing room; containers near their own limits."""


def node_findings(report: NodeReport, use: NodeUse | None, now: datetime | None) -> NodeFindings:
    """All findings about a node; ``use``: its usage, None if it was not read."""
    found: list[Verdict] = []
    quiet = report.reach is not None and report.reach.reach.quiet
    if report.pressures and not quiet:
        pressed = f"It has {pressure_names(report.pressures)}: {EVICTING}."
        also = [f"{one.where} {when_words(one.at, now)}: {cut(one.says).rstrip('.')}." for one in report.pressure_said]
        found.append(Verdict(VerdictCode.NODE_PRESSURE, Severity.TROUBLE, (pressed, *also)))
    goes = () if report.going is None else (going_verdict(report.going, now),)
    found += sorted((*goes, *_standing(report, now)), key=lambda one: -one.severity.urgency)
    if report.evictions:
        found.append(Verdict(VerdictCode.NODE_TAINT_EVICTS, Severity.TROUBLE, (count_words(report.evictions, now),)))
    state, room = tuple(found), tuple(_room(report))
    # Without its pods or a Linux kubelet, it is unknown which pods would be killed or evicted.
    if use is None or report.pods is None or report.platform is not Platform.LINUX:
        return NodeFindings(state, room)
    ahead = [*_headroom(use), *room]
    if use.near_limits:
        first, *more = use.near_limits
        words = [near_limit_words(f"{first.namespace}/{first.pod} {first.container}", first.working_set, first.limit)]
        if more:
            are = "is near its" if len(more) == 1 else "are near their"
            words.append(f"{counted(len(more), 'more container')} {are} limit.")
        ahead.append(Verdict(VerdictCode.NEAR_MEMORY_LIMIT, Severity.NOTICE, tuple(words)))
    return NodeFindings((*state, *_evicting(use)), tuple(ahead))


def shortage_verdict(kill: OomKill, now: datetime | None) -> Verdict:
    """Says that a node ran out of memory within the last hour."""
    when = when_words(kill.at, now)
    process = f' process "{kill.process}"' if kill.process else " a process"
    often = f", {counted(kill.times, 'time')}" if kill.times > 1 else ""
    text = f"It ran out of memory: the kernel killed{process}{f' {when}' if when else ''} ({kill.reason}{often})."
    return Verdict(VerdictCode.NODE_OOM_KILL, Severity.TROUBLE, (text,))


def _standing(report: NodeReport, now: datetime | None) -> Iterator[Verdict]:
    """Says if it does not answer, is not Ready, or takes no pods."""
    reach = report.reach.reach if report.reach is not None else None
    standing = node_standing(reach, report.ready, unschedulable=report.unschedulable)
    if standing is None:
        return
    code, severity = standing
    known = reach_words(report.reach, None, now) if report.reach is not None else ""
    match code:
        case VerdictCode.NODE_BACK:
            text = f"{known}: its pods are kept away (kubectl qos unfence)."
        case VerdictCode.NODE_RETURNING:
            text = f"{known}: the scheduler places no pod here until then."
        case VerdictCode.NODE_NOT_READY:
            since = instant(report.ready_since)
            state = "No Ready condition (its kubelet has not reported)"
            if report.ready is not None:
                state = f"Not ready{f' since {clock(since, now)}' if since else ''}"
            # The taint keeps pods away; the scheduler does not read the condition.
            kept_away = report.unschedulable or any(taint.startswith(_STATE_TAINTS) for taint in report.taints)
            untainted = "no taint is set yet, and the scheduler still places pods here"
            text = f"{state}: {'the scheduler places no pod here' if kept_away else untainted}."
        case VerdictCode.CORDONED:
            text = "Cordoned: its pods keep running, new pods are not placed here (spec.unschedulable)."
        case _:
            text = f"{known}: its pods may or may not run, and nothing stops them until it answers."
    why = (f"Its kubelet says: {cut(report.unready_message).rstrip('.')}.",) if report.unready_message else ()
    yield Verdict(code, severity, (text, *(why if code is VerdictCode.NODE_NOT_READY else off_sentences(report.reach))))


def _evicting(use: NodeUse) -> Iterator[Verdict]:
    met, first = use.met, use.evicted_first
    if met is not None:
        when = "now" if met.hard else f"once this has lasted {time_words(met.grace_period_seconds)}"
        evicts = "no evictable pod is known"
        if first is not None:
            evicts = f"the kubelet evicts {first.namespace}/{first.pod} {when}{unless_words(use)}"
        available, below = signal_amount(met.available, met.signal), signal_amount(met.quantity, met.signal)
        text = f"Under pressure: {met.signal.value} is {available}, below {below}: {evicts}."
        yield Verdict(VerdictCode.EVICTING, Severity.TROUBLE, (text,))
    for over in use.over_limits:
        used, limit = memory(over.usage), memory(over.limit)
        text = f"{over.namespace}/{over.pod} is evicted now: {used} of local storage, limit {limit} ({over.field})."
        yield Verdict(VerdictCode.EVICTING, Severity.TROUBLE, (text,))


def _headroom(use: NodeUse) -> Iterator[Verdict]:
    """The headroom before the first eviction for memory, and before any other that is near."""
    met, ahead = use.met, use.memory_ahead
    until = "the first eviction" if met is None else "the first eviction for memory"
    if met is not None and met.signal.is_memory:
        # The threshold that is met causes the first eviction.
        until, ahead = (
            "the kubelet evicts at once",
            ahead if ahead is not None and ahead.hard and not met.hard else None,
        )
    if ahead is not None:
        source = {
            ThresholdSource.KUBELET: "the kubelet's own configuration",
            ThresholdSource.FILE: "from --kubelet-config",
            ThresholdSource.DEFAULTS: "Kubernetes' default, the kubelet's own was not read",
        }[use.threshold_source]
        yield _left(ahead, f"{{left}} until {until}", f": {source}")
    other = use.other_ahead
    if other is not None and headroom_nearness(other.headroom_percent, met=False) is not Nearness.FAR:
        yield _left(other, f"{{left}} until an eviction for {SIGNAL_NAMES[other.signal]}", "")


def _left(threshold: ThresholdReport, lead: str, source: str) -> Verdict:
    """``Headroom: 3.6Gi (16%) until the first eviction (memory.available < 100Mi: …).``."""
    soft = "" if threshold.hard else f" for {time_words(threshold.grace_period_seconds)}"
    left = f"{signal_amount(threshold.headroom, threshold.signal)} ({threshold.headroom_percent}%)"
    below = signal_amount(threshold.quantity, threshold.signal)
    text = f"{lead.format(left=left)} ({threshold.signal.value} < {below}{soft}{source})."
    match headroom_nearness(threshold.headroom_percent, met=threshold.met):
        case Nearness.FAR:
            return Verdict(VerdictCode.READY, Severity.FINE, (f"Headroom: {text}",))
        case Nearness.NEAR:
            return Verdict(VerdictCode.NEAR_EVICTION, Severity.NOTICE, (f"Near an eviction: {text}",))
    return Verdict(VerdictCode.NEAR_EVICTION, Severity.TROUBLE, (f"Near an eviction: {text}",))


def _room(report: NodeReport) -> Iterator[Verdict]:
    """Says if no more pods fit, or no more pods that request a certain resource."""
    if report.pods is None:
        return
    if report.pods_full:
        text = f"It has {report.pods} of {counted(report.max_pods, 'pod')}: no other fits here."
        yield Verdict(VerdictCode.NODE_FULL, Severity.NOTICE, (text,))
    full = [entry for entry in report.offered if entry.full]
    if full:
        amounts = listed([f"{entry.name} {entry.requested_percent}%" for entry in full])
        text = f"Requests add up to {amounts} of allocatable: {full_words([entry.name for entry in full])}."
        over = any(entry.requested_percent > 100 for entry in full)
        code = VerdictCode.REQUESTS_OVER_ALLOCATABLE if over else VerdictCode.NODE_FULL
        yield Verdict(code, Severity.NOTICE, (text,))


def full_words(names: Sequence[str]) -> str:
    """Which pods do not fit once all that is allocatable of these resources is requested."""
    several = f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]
    return f"no pod that requests {several} fits here"


_IN_ITS_ROW: Final = {
    VerdictCode.CORDONED: "",
    VerdictCode.NODE_SILENT: "its pods may still run",
    VerdictCode.NEAR_EVICTION: "near an eviction",
}
"""What a row adds for findings that its columns show: state and headroom."""


def finding_words(said: Verdict) -> str:
    """The decisive finding and the number of others, for a row with state and headroom; empty if all is fine."""
    if said.severity is Severity.FINE:
        return ""
    more = counted(said.more, "more finding") if said.more else ""
    return "; ".join(filter(None, (_IN_ITS_ROW.get(said.code, said.sentences[0].rstrip(".")), more)))


def signal_amount(text: str, signal: Signal) -> str:
    """A quantity as bytes, inodes or processes, readable for people."""
    return eviction_amount(Quantity.parse(text).value, signal)


def time_words(seconds: float) -> str:
    """A grace period as text."""
    return lasting(timedelta(seconds=seconds))
