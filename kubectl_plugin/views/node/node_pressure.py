"""The page of `kubectl qos node NAME`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from cluster_io.kinds import EVENTS
from kubectl_plugin.render.command import Command, kubectl, qos
from kubectl_plugin.render.page import Page, Row, Section, Table
from kubectl_plugin.reports.node.node_pressure import (
    NodePressureReport,
    node_use,
)
from kubectl_plugin.reports.node.node_use import NodeUse
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode, joined_verdict, lacking
from kubectl_plugin.views.node.node_findings import node_findings, shortage_verdict
from kubectl_plugin.views.node.node_page import full_section, pods_on, promise_parts
from kubectl_plugin.views.node.platform_words import node_platform_section, platform_name
from kubectl_plugin.views.node.pressure import candidate_name, own_words, unless_words
from kubectl_plugin.views.node.pressure_orders import (
    cgroup_parts,
    eviction_tables,
    near_own_limits,
    oom_tables,
    own_limits,
    threshold_tables,
)
from kubectl_plugin.views.node.reach_commands import reach_commands
from kubectl_plugin.views.scheduling.budget_words import drain_leads, hold_words
from kubectl_plugin.views.unread import assumed_words, unread_lines
from kubectl_plugin.views.version_notes import versions_section
from kubectl_plugin.views.words import listed, memory
from podrules.api.model.pod import PodQOSClass
from podrules.node.eviction.thresholds import Signal
from podrules.node.pressure.node import OOMScope
from podrules.node.pressure.usage import UsageSource
from podrules.pod.platform import Platform

_NODES_PROXY: Final = "nodes/proxy"


def node_pressure_page(report: NodePressureReport, *, now: datetime | None, wide: bool) -> Page:
    """The kill and eviction orders and the headroom; ``wide`` adds every place, every signal and all own limits."""
    summary = node_pressure_verdict(report, now)
    linux = report.platform is Platform.LINUX
    parts = [*_pressure_parts(report, wide=wide)] if linux else [node_platform_section(report.platform)]
    parts += [*promise_parts(report.promised, now, wide=wide), full_section(report.promised), _ended(report)]
    measured = () if report.usage_source is UsageSource.NONE else (report.name,)
    unknown = Section("Unknown", (*unread_lines(report.unread, measured=measured), *_permission(report)))
    parts += [versions_section(report.promised.version_notes), unknown]
    return Page(
        title=f"node/{report.name}",
        verdict=summary.sentences,
        severity=summary.severity,
        parts=tuple(parts),
        next_commands=tuple(_next_commands(report, wide=wide)),
    )


def _ended(report: NodePressureReport) -> Section:
    """What ended in the last hour, by cause."""
    if not report.ended:
        return Section("Ended", ())
    # Loaded only if something has ended.
    from kubectl_plugin.views.died.causes import by_cause

    rows = tuple(Row((str(count), cause, pods)) for count, cause, pods in by_cause(report.ended))
    return Section("Ended", ("in the last hour, by cause:", *rows))


def _pressure_parts(report: NodePressureReport, *, wide: bool) -> Iterator[Section | Table]:
    """What a Linux kubelet and its kernel do under pressure."""
    yield from oom_tables(report, wide=wide)
    yield from eviction_tables(report, wide=wide)
    yield from threshold_tables(report)
    if wide:
        yield from own_limits(report)
    else:
        yield near_own_limits(report)
    yield from _facts(report, wide=wide)
    if wide:
        yield from cgroup_parts(report)


def node_pressure_verdict(report: NodePressureReport, now: datetime | None) -> Verdict:
    """What is wrong with the node, what is killed or evicted first, and the headroom."""
    use = node_use(report)
    found = node_findings(report.promised, use, now)
    if report.promised.pods is None:
        unread = "The kill and eviction orders are unknown: its pods could not be read."
        said = [Verdict(VerdictCode.PODS_UNREAD, Severity.NOTICE, (unread,))]
    elif report.platform is not Platform.LINUX:
        unknown = f"Unknown what is killed or evicted first: it is a {platform_name(report.platform)} node."
        said = [Verdict(VerdictCode.READY, Severity.FINE, (unknown,))]
    else:
        said = [Verdict(VerdictCode.READY, Severity.FINE, tuple(_first_to_go(report, use)))]
        if report.usage_source is not UsageSource.NONE:
            said += [Verdict(VerdictCode.READY, Severity.FINE, (text,)) for text in _no_headroom(report)]
    if report.held:
        held = (*drain_leads(report.held, "A drain"), *hold_words(report.held))
        said.insert(0, Verdict(VerdictCode.CORDONED, Severity.NOTICE, held))
    short = () if report.shortage is None else (shortage_verdict(report.shortage, now),)
    assumed = assumed_words(one for one in report.lacks if one.resource == EVENTS.plural)
    return lacking(joined_verdict((*short, *found.now, *said, *found.ahead)), assumed)


def _no_headroom(report: NodePressureReport) -> Iterator[str]:
    """Why the verdict shows no memory headroom."""
    signals = report.signals
    if any(one.is_memory for one in signals):
        return
    if signals:
        names = [one.value for one in Signal if one in signals and not one.value.startswith("containerfs.")]
        known = "" if report.thresholds else " (not measured)"
        yield f"No eviction threshold is set for memory, only for {listed(names)}{known}."
    else:
        yield "No eviction threshold is set: the kubelet evicts no pod."


def _first_to_go(report: NodePressureReport, use: NodeUse) -> Iterator[str]:
    order = report.oom_of(OOMScope.GLOBAL)
    if order is None or not order.places:
        return
    first = order.places[0]
    killed = f"container {first.container} of {first.namespace}/{first.pod}" if first.pod else candidate_name(first)
    if report.usage_source is UsageSource.NONE:
        rule = "the kernel decides by usage and oom_score_adj"
        yield f"If memory runs out, {rule}; {killed} has the highest oom_score_adj."
        yield "Usage is unknown, so neither order is certain."
        return
    evicted = use.evicted_first
    sentence = f"If memory runs out now, the kernel kills {killed} first"
    if evicted is not None and use.met is None and any(one.is_memory for one in report.signals):
        same = (evicted.namespace, evicted.pod) == (first.namespace, first.pod)
        going = "that pod" if same else f"{evicted.namespace}/{evicted.pod}"
        sentence += f"; if usage grows slowly, the kubelet evicts {going} before that{unless_words(use)}"
    yield f"{sentence}."


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
        yield f"daemons use {uses}; {reserved} is reserved for them: the other {rest} is taken from the pods' room"
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
            yield "by the kubelet (stats/summary): resident memory (rss) and swap; a working set includes file cache"
            if wide:
                yield (
                    "the kernel counts single processes: a container that has several counts less than shown here; "
                    "mapped files and shared memory, not measured, count more"
                )
        case UsageSource.METRICS:
            yield (
                "by the metrics API: working sets, which include file cache; disks, processes and swap are not "
                "measured, and the kubelet may measure a pod that is not measured here"
            )
        case UsageSource.NONE:
            yield "nothing: no usage could be read"


def _kill(report: NodePressureReport, *, wide: bool) -> Iterator[str]:
    match report.oom_group:
        case True:
            yield "ends the whole container (memory.oom.group)"
        case False:
            yield "ends one process: if PID 1 survives and exits 0 later, the container still reports OOMKilled"
        case None:
            yield "ends the whole container on cgroup v2 (unless singleProcessOOMKill), one process on v1"
    if wide or _class_is_passed_over(report):
        yield "usage and adj decide together, not the QoS class"
    if wide:
        yield "a resize in place leaves adj as it was when the container started"
        yield "host processes outside pods can be killed too, usually with adj 0; they are not listed"
        yield "the kubelet writes its adj itself (its oomScoreAdj, by default -999)"
        order = report.oom_of(OOMScope.GLOBAL)
        writers: dict[str, list[str]] = {}
        for place in order.places if order is not None else ():
            if place.own is not None:
                adj = f"{place.oom_score_adj} over the kubelet's {place.own.kubelet_value}"
                writers.setdefault(f"{adj} ({own_words(place.own)})", []).append(f"{place.namespace}/{place.pod}")
        for adj, pods in writers.items():
            yield f"kube-proxy writes its adj itself: {adj}, in {listed(pods, most=3)}"
        yield "/proc/PID/oom_score is (1000 + 1000 x badness / total) x 2/3, before Linux 5.9 1000 x badness / total"


def _class_is_passed_over(report: NodePressureReport) -> bool:
    """True if a container of another QoS class comes before a BestEffort one, which readers do not expect."""
    order = report.oom_of(OOMScope.GLOBAL)
    classes = [place.qos_class for place in order.places if place.qos_class] if order is not None else []
    return PodQOSClass.BEST_EFFORT in classes[classes.count(PodQOSClass.BEST_EFFORT) :]


def _eviction(report: NodePressureReport, *, wide: bool) -> Iterator[str]:
    if report.usage_source is UsageSource.NONE:
        yield "the order is unknown without usage: pods above their requests are evicted first, then by priority"
    if report.threshold_problem:
        yield f"the kubelet's own thresholds cannot be read: {report.threshold_problem}"
    if wide:
        has_soft = any(not threshold.hard for threshold in report.thresholds)
        soft = f"; at a soft threshold at most {report.max_pod_grace_period_seconds} s" if has_soft else ""
        yield f"gives a container 2 s to stop{soft}; the kubelet checks every 10 s and evicts one pod at a time"
        yield "if memory grows faster than that, the kernel kills first"
        yield "if all processes of an evicted pod exit 0, it ends Succeeded, and its status shows no reason"


def _permission(report: NodePressureReport) -> Iterator[str]:
    if any(entry.resource == _NODES_PROXY and entry.reason == "forbidden" for entry in report.unread):
        yield (
            "with get nodes/proxy: resident memory, swap, disks, processes and the kubelet's own thresholds; it is a "
            "strong permission, because it includes the kubelet's exec"
        )


def _next_commands(report: NodePressureReport, *, wide: bool) -> Iterator[Command]:
    reach = report.promised.reach
    yield from reach_commands(reach)
    order = report.oom_of(OOMScope.GLOBAL)
    # For a silent node, what would be killed first is not the next question.
    silent = reach is not None and reach.reach.quiet
    first = order.places[0] if order is not None and order.places and not silent else None
    if first is not None and first.pod:
        yield qos("explain pod/{}", first.pod, namespace=first.namespace)
    yield pods_on(report.name)
    if not wide:
        yield qos("node {}", report.name, options="-o wide")
    about = "--field-selector involvedObject.kind=Node,involvedObject.name={}"
    yield kubectl("get events -A", report.name, options=about)
