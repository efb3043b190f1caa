"""A node under pressure in words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kubectl_plugin.render.command import Command, kubectl, qos
from kubectl_plugin.render.page import Page, Row, Section, Table
from kubectl_plugin.reports.node_pressure import (
    EvictionOrderReport,
    NodePressureReport,
    OOMOrderReport,
    node_use,
)
from kubectl_plugin.reports.node_use import NodeUse
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode, joined_verdict
from kubectl_plugin.views.node import full_section, pods_on, promise_parts
from kubectl_plugin.views.node_findings import node_findings, signal_amount, time_words
from kubectl_plugin.views.platform_words import node_platform_section, platform_name
from kubectl_plugin.views.pressure import (
    LISTED_LIMIT_PERCENT,
    SIGNAL_NAMES,
    candidate_name,
    eviction_separator,
    oom_separator,
    oom_terms,
    over_words,
)
from kubectl_plugin.views.reach_commands import reach_commands
from kubectl_plugin.views.unread import unread_lines
from kubectl_plugin.views.words import is_plain_name, memory
from podrules.eviction.signals import INODES, PIDS, Signal
from podrules.model.pod import PodQOSClass
from podrules.platform import Platform
from podrules.pressure.nearness import limit_percent
from podrules.pressure.node import OOMScope
from podrules.pressure.usage import UsageSource

__all__ = ["node_pressure_page", "node_pressure_verdict"]

_SHOWN: Final = 8
"""Places of an order, unless all are asked for."""
_NEAR_SHOWN: Final = 3
_AT_A_LIMIT: Final = (
    "at its own limit the kernel drops a container's file cache first, and kills it if that is not enough, "
    "whatever the node has left"
)
_NODES_PROXY: Final = "nodes/proxy"


def node_pressure_page(report: NodePressureReport, *, now: datetime | None, wide: bool) -> Page:
    """Who goes first, and how far it is; ``wide`` adds every place, every signal and limits of their own."""
    told = node_pressure_verdict(report, now)
    linux = report.platform is Platform.LINUX
    parts = [*_pressure_parts(report, wide=wide)] if linux else [node_platform_section(report.platform)]
    parts += [*promise_parts(report.promised, wide=wide), full_section(report.promised)]
    if report.unread:
        measured = () if report.usage_source is UsageSource.NONE else (report.name,)
        parts.append(Section("Unknown", (*unread_lines(report.unread, measured=measured), *_permission(report))))
    return Page(
        title=f"node/{report.name}",
        verdict=told.sentences,
        severity=told.severity,
        parts=tuple(part for part in parts if isinstance(part, Table) or part.lines),
        next_commands=tuple(_next_commands(report, wide=wide)),
    )


def _pressure_parts(report: NodePressureReport, *, wide: bool) -> Iterator[Section | Table]:
    """What a Linux kubelet and its kernel do."""
    yield from _oom_tables(report, wide=wide)
    yield from _eviction_tables(report, wide=wide)
    yield from _threshold_tables(report)
    if wide:
        yield from _own_limits(report)
    else:
        yield _near_own_limits(report)
    yield from _facts(report, wide=wide)


def node_pressure_verdict(report: NodePressureReport, now: datetime | None) -> Verdict:
    """What is wrong with it, who goes first, and how far it is."""
    use = node_use(report)
    found = node_findings(report.promised, use, now)
    if report.promised.pods is None:
        unread = "Who goes first is unknown: its pods could not be read."
        said = [Verdict(VerdictCode.PODS_UNREAD, Severity.NOTICE, (unread,))]
    elif report.platform is not Platform.LINUX:
        unknown = f"Who goes first is not known: it is a {platform_name(report.platform)} node."
        said = [Verdict(VerdictCode.READY, Severity.FINE, (unknown,))]
    else:
        said = [Verdict(VerdictCode.READY, Severity.FINE, tuple(_first_to_go(report, use)))]
        if not report.thresholds and report.usage_source is not UsageSource.NONE:
            none = "No eviction threshold is set: the kubelet evicts nobody."
            said.append(Verdict(VerdictCode.READY, Severity.FINE, (none,)))
    return joined_verdict((*found.now, *said, *found.ahead))


def _first_to_go(report: NodePressureReport, use: NodeUse) -> Iterator[str]:
    order = report.oom_of(OOMScope.GLOBAL)
    if order is None or not order.places:
        return
    first = order.places[0]
    killed = f"container {first.container} of {first.namespace}/{first.pod}" if first.pod else candidate_name(first)
    if report.usage_source is UsageSource.NONE:
        yield f"If memory runs out, the kernel goes by usage and oom_score_adj; {killed} has the highest oom_score_adj."
        yield "Usage is not known, so neither order is certain."
        return
    evicted = use.evicted_first
    sentence = f"If memory runs out now, the kernel kills {killed} first"
    if evicted is not None and use.met is None:
        same = (evicted.namespace, evicted.pod) == (first.namespace, first.pod)
        going = "that pod" if same else f"{evicted.namespace}/{evicted.pod}"
        sentence += f"; if usage grows slowly, the kubelet evicts {going} before that"
    yield f"{sentence}."


def _oom_tables(report: NodePressureReport, *, wide: bool) -> Iterator[Table]:
    for scope in (OOMScope.GLOBAL, OOMScope.KUBEPODS) if wide else (OOMScope.GLOBAL,):
        order = report.oom_of(scope)
        if order is not None and order.places:
            yield _oom_table(report, order, wide=wide)


def _oom_table(report: NodePressureReport, order: OOMOrderReport, *, wide: bool) -> Table:
    total = memory(order.memory + order.swap)
    assumed = ", which is assumed" if order.memory_assumed else ""
    what = f"the node's {total}" if order.scope is OOMScope.GLOBAL else f"the {total} of all pods{assumed}"
    unmeasured = report.usage_source is UsageSource.NONE
    title = f"Kernel OOM order: points = 1000 x usage / {what} + oom_score_adj (adj); the highest is killed first"
    if unmeasured:
        title = "Kernel OOM order by oom_score_adj alone: usage is not known"
    shown = order.places if wide else order.places[:_SHOWN]
    last = len(order.places)
    rows = [
        (
            str(place.rank),
            oom_terms(place),
            *(() if unmeasured else ("-" if place.rss is None else memory(place.rss + place.swap),)),
            *((_proc(place.proc_oom_score),) if wide and order.scope is OOMScope.GLOBAL else ()),
            candidate_name(place)
            + (f", {place.qos_class.value}" if place.qos_class else "")
            + (f": {oom_separator(place)}" if place.rank != last else ""),
        )
        for place in shown
    ]
    headings = (
        "",
        "adj" if unmeasured else "points = usage + adj",
        *(() if unmeasured else (_measure(report, order),)),
        *(("/proc",) if wide and order.scope is OOMScope.GLOBAL else ()),
        "container, class: why ahead of the next",
    )
    return Table(
        title,
        headings,
        (*rows, *_rest(last - len(shown), len(headings))),
        right=frozenset({0} if unmeasured else {0, 2}),
    )


def _measure(report: NodePressureReport, order: OOMOrderReport) -> str:
    """What stands for usage: other than the kernel's count, a working set holds file cache too."""
    if report.usage_source is UsageSource.METRICS:
        return "working set"
    return "rss + swap" if any(place.swap for place in order.places) else "rss"


def _proc(score: int | None) -> str:
    return "" if score is None else str(score)


def _eviction_tables(report: NodePressureReport, *, wide: bool) -> Iterator[Table]:
    with_threshold = {threshold.signal for threshold in report.thresholds}
    for order in report.evictions:
        if order.signal is Signal.MEMORY_AVAILABLE or (wide and order.signal in with_threshold):
            yield _eviction_table(order, wide=wide)


def _eviction_table(order: EvictionOrderReport, *, wide: bool) -> Table:
    signal = order.signal
    by = "priority, processes" if signal.resource == PIDS else "over request, priority, how much over"
    if signal.is_memory:
        by = f"working set {by}"
    candidates = [place for place in order.places if not place.critical]
    shown = candidates if wide else candidates[:_SHOWN]
    rows = [
        (
            str(number),
            over_words(place, signal),
            str(place.priority),
            f"{place.namespace}/{place.pod}, {place.qos_class.value}"
            + (f": {eviction_separator(place, signal)}" if number != len(candidates) else ""),
        )
        for number, place in enumerate(shown, start=1)
    ]
    spared = len(order.places) - len(candidates)
    rest = [*_rest(len(candidates) - len(shown), 4)]
    if spared:
        rest.append(("", "", "", f"{spared} critical: never evicted"))
    used = "uses" if signal.resource in {INODES, PIDS} else "uses, over request"
    headings = ("", used, "priority", "pod, class: why ahead of the next")
    title = f"Eviction order for {SIGNAL_NAMES[signal]} ({by})"
    return Table(title, headings, (*rows, *rest), right=frozenset({0, 2}))


def _rest(count: int, columns: int) -> Iterator[tuple[str, ...]]:
    if count > 0:
        yield (*[""] * (columns - 1), f"and {count} more (-o wide)")


def _threshold_tables(report: NodePressureReport) -> Iterator[Table]:
    if not report.thresholds:
        return
    rows = [
        (
            threshold.signal.value,
            signal_amount(threshold.available, threshold.signal),
            signal_amount(threshold.quantity, threshold.signal),
            signal_amount(threshold.headroom, threshold.signal),
            f"{threshold.headroom_percent}%",
            "at once" if threshold.hard else f"after {time_words(threshold.grace_period_seconds)}",
        )
        for threshold in report.thresholds
        # Where images share the node's disk, these say nothing new.
        if report.image_fs or not threshold.signal.value.startswith(("imagefs.", "containerfs."))
    ]
    # The kubelet's own name for it stands in no configuration.
    of_pods = Signal.ALLOCATABLE_MEMORY_AVAILABLE
    explained = any(threshold.signal is of_pods for threshold in report.thresholds)
    yield Table(
        f"Eviction thresholds{f' ({of_pods.value}: memory.available for pods)' if explained else ''}",
        ("signal", "left", "evicts below", "headroom", "", "evicts"),
        tuple(rows),
        right=frozenset({1, 2, 3, 4}),
    )


def _own_limits(report: NodePressureReport) -> Iterator[Table]:
    orders = [
        order
        for order in report.oom
        if order.scope in {OOMScope.POD, OOMScope.CONTAINER} and order.working_set is not None
    ]
    # A pod of one container has the same limit twice.
    single = {
        (order.namespace, order.pod) for order in orders if order.scope is OOMScope.POD and len(order.places) == 1
    }
    rows = [
        (
            f"{limit_percent(order.working_set or 0, order.memory)}%",
            memory(order.working_set or 0),
            memory(order.memory),
            "/".join(filter(None, (order.namespace, order.pod, order.container)))
            + _first_of(order, several=len(order.places) > 1),
        )
        for order in orders
        if not (order.scope is OOMScope.POD and (order.namespace, order.pod) in single)
    ]
    if rows:
        yield Table(
            f"Limits of their own: {_AT_A_LIMIT}",
            ("", "working set", "limit", "container, or pod: who goes first in it"),
            tuple(rows),
            right=frozenset({0, 1, 2}),
        )


def _near_own_limits(report: NodePressureReport) -> Section:
    """Containers that meet a limit of their own before the node runs out, the nearest first."""
    near = sorted(
        (
            (limit_percent(order.working_set, order.memory), order)
            for order in report.oom
            if order.scope is OOMScope.CONTAINER and order.working_set is not None
        ),
        key=lambda found: -found[0],
    )
    lines = [
        f"{order.namespace}/{order.pod} {order.container}: working set {memory(order.working_set or 0)}, "
        f"{percent}% of {memory(order.memory)}"
        for percent, order in near
        if percent >= LISTED_LIMIT_PERCENT
    ]
    if not lines:
        return Section("Own limits", ())
    shown = lines[:_NEAR_SHOWN]
    more = [f"and {len(lines) - len(shown)} more (-o wide)"] if len(lines) > len(shown) else []
    return Section("Own limits", (*shown, *more, _AT_A_LIMIT))


def _first_of(order: OOMOrderReport, *, several: bool) -> str:
    return f": {order.places[0].container} ({oom_terms(order.places[0])})" if several else ""


def _facts(report: NodePressureReport, *, wide: bool) -> Iterator[Section]:
    yield Section("System", tuple(_system(report)))
    yield Section("Stalls", tuple(_stalls(report)))
    yield Section("Measured", tuple(_measured(report, wide=wide)))
    yield Section("A kill", tuple(_kill(report, wide=wide)))
    yield Section("An eviction", tuple(_eviction(report, wide=wide)))


def _system(report: NodePressureReport) -> Iterator[str]:
    own = report.memory
    if own.system_working_set is None or own.system_reserved is None:
        return
    uses, reserved = memory(own.system_working_set), memory(own.system_reserved)
    over = own.system_working_set - own.system_reserved
    if over > 0:
        rest = memory(over)
        yield f"daemons use {uses}; {reserved} is reserved for them: the other {rest} comes out of the pods' room"
    else:
        yield f"daemons use {uses} of the {reserved} that is reserved for them"


def _stalls(report: NodePressureReport) -> Iterator[str]:
    psi = report.memory.psi
    if psi is not None:
        yield (
            f"tasks waited for memory {psi.some.avg10:g}% of the last 10 s, {psi.some.avg60:g}% of the last minute, "
            f"{psi.some.avg300:g}% of the last 5 (PSI)"
        )


def _measured(report: NodePressureReport, *, wide: bool) -> Iterator[str | Row]:
    match report.usage_source:
        case UsageSource.SUMMARY:
            yield "by the kubelet (stats/summary): resident memory (rss) and swap; a working set holds file cache too"
            if wide:
                yield (
                    "the kernel counts processes: a container of several is smaller than it looks here; mapped files "
                    "and shared memory, not measured, make it larger"
                )
        case UsageSource.METRICS:
            yield (
                "by the metrics API: working sets, which hold file cache too; disks, processes and swap are not "
                "measured"
            )
        case UsageSource.NONE:
            yield "nothing: no usage could be read"


def _kill(report: NodePressureReport, *, wide: bool) -> Iterator[str]:
    match report.oom_group:
        case True:
            yield "takes the whole container (memory.oom.group)"
        case False:
            yield "takes one process: if PID 1 lives on and exits 0 later, the container still says OOMKilled"
        case None:
            yield "takes the whole container on cgroup v2 (unless singleProcessOOMKill), one process on v1"
    if wide or _class_is_passed_over(report):
        yield "usage and adj decide together, not the class"
    if wide:
        yield "a resize in place leaves adj as it was when the container started"
        yield "processes of the host outside of pods are candidates too, usually with adj 0: they are not listed"
        yield "/proc/PID/oom_score is (1000 + 1000 x badness / total) x 2/3, before Linux 5.9 1000 x badness / total"


def _class_is_passed_over(report: NodePressureReport) -> bool:
    """Whether somebody goes before a BestEffort container, who would be the last to be expected."""
    order = report.oom_of(OOMScope.GLOBAL)
    classes = [place.qos_class for place in order.places if place.qos_class] if order is not None else []
    return PodQOSClass.BEST_EFFORT in classes[classes.count(PodQOSClass.BEST_EFFORT) :]


def _eviction(report: NodePressureReport, *, wide: bool) -> Iterator[str]:
    if report.usage_source is UsageSource.NONE:
        yield "the order is not known without usage: pods over their requests go first, then by priority"
    if report.threshold_problem:
        yield f"the kubelet's own thresholds cannot be read: {report.threshold_problem}"
    if wide:
        has_soft = any(not threshold.hard for threshold in report.thresholds)
        soft = f"; at a soft threshold at most {report.max_pod_grace_period_seconds} s" if has_soft else ""
        yield f"leaves a container 2 s to stop{soft}; one pod goes at a time, and the kubelet looks every 10 s"
        yield "what grows faster than that meets the kernel first"
        yield "a pod whose processes exit 0 when evicted ends Succeeded, and no reason is told"


def _permission(report: NodePressureReport) -> Iterator[str]:
    if any(entry.resource == _NODES_PROXY and entry.reason == "forbidden" for entry in report.unread):
        yield (
            "with get nodes/proxy: resident memory, swap, disks, processes and the kubelet's own thresholds; it is a "
            "strong permission, because it reaches the kubelet's exec as well"
        )


def _next_commands(report: NodePressureReport, *, wide: bool) -> Iterator[Command]:
    reach = report.promised.reach
    yield from reach_commands(reach)
    if not is_plain_name(report.name):
        return
    order = report.oom_of(OOMScope.GLOBAL)
    # Of one that does not answer, who would be killed first is not the next question.
    silent = reach is not None and reach.reach.quiet
    first = order.places[0] if order is not None and order.places and not silent else None
    if first is not None and first.pod and is_plain_name(first.pod) and is_plain_name(first.namespace):
        yield qos("explain", f"pod/{first.pod}", namespace=first.namespace)
    yield pods_on(report.name)
    if not wide:
        yield qos("node", report.name, options=("-o", "wide"))
    about = f"involvedObject.kind=Node,involvedObject.name={report.name}"
    yield kubectl("get", "events", "-A", options=("--field-selector", about))
