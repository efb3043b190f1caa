"""The page of `kubectl qos node NAME`: the orders of kills and evictions, thresholds, and limits of pods."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from cluster_io.kinds import EVENTS
from kubectl_plugin.render.command import kubectl, qos
from kubectl_plugin.render.page import Page, Row, Section, Table
from kubectl_plugin.reports.node.node_pressure import NodePressureReport, node_use
from kubectl_plugin.reports.node.node_report import NodeUse
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode, joined_verdict, lacking
from kubectl_plugin.views.caveats import assumed_words, unread_lines, versions_section
from kubectl_plugin.views.node.node_page import (
    node_findings,
    pods_on,
    promise_parts,
    shortage_verdict,
    signal_amount,
    time_words,
)
from kubectl_plugin.views.node.node_words import node_platform_section, platform_name, reach_commands
from kubectl_plugin.views.node.pressure import (
    LISTED_LIMIT_PERCENT,
    SIGNAL_NAMES,
    candidate_name,
    eviction_separator,
    oom_separator,
    oom_terms,
    over_words,
    own_words,
    share_words,
    unless_words,
)
from kubectl_plugin.views.scheduling.budget_words import drain_leads, hold_words
from kubectl_plugin.views.words import bar, listed, memory, memory_qos_values
from podrules.node.eviction.thresholds import INODES, PIDS, Signal
from podrules.node.pressure.node import OOMScope
from podrules.node.pressure.usage import UsageSource, limit_percent
from podrules.pod.platform import Platform

_NODES_PROXY: Final = "nodes/proxy"


def node_pressure_page(report: NodePressureReport, *, now: datetime | None, wide: bool) -> Page:
    """The kill and eviction orders and the headroom; ``wide`` adds every place, every signal and all own limits."""
    summary = node_pressure_verdict(report, now)
    linux = report.platform is Platform.LINUX
    parts = [*_pressure_parts(report, wide=wide)] if linux else [node_platform_section(report.platform)]
    parts += promise_parts(report.promised, now, wide=wide)
    if report.ended:
        # Loaded only if something has ended.
        from kubectl_plugin.views.died.causes import by_cause

        rows = tuple(Row((str(count), cause, pods)) for count, cause, pods in by_cause(report.ended))
        parts.append(Section("Ended", ("in the last hour, by cause:", *rows)))
    measured = () if report.usage_source is UsageSource.NONE else (report.name,)
    unknown = [*unread_lines(report.unread, measured=measured)]
    if any(entry.resource == _NODES_PROXY and entry.reason == "forbidden" for entry in report.unread):
        unknown.append(
            "with get nodes/proxy: resident memory, swap, disks, processes and the kubelet's own thresholds; it is a "
            "strong permission, because it includes the kubelet's exec"
        )
    parts += [versions_section(report.promised.version_notes), Section("Unknown", tuple(unknown))]
    reach = report.promised.reach
    next_commands = [*reach_commands(reach)]
    order = report.oom_of(OOMScope.GLOBAL)
    # For a silent node, what would be killed first is not the next question.
    silent = reach is not None and reach.reach.quiet
    first = order.places[0] if order is not None and order.places and not silent else None
    if first is not None and first.pod:
        next_commands.append(qos("explain pod/{}", first.pod, namespace=first.namespace))
    next_commands.append(pods_on(report.name))
    if not wide:
        next_commands.append(qos("node {}", report.name, options="-o wide"))
    about = "--field-selector involvedObject.kind=Node,involvedObject.name={}"
    next_commands.append(kubectl("get events -A", report.name, options=about))
    return Page(
        title=f"node/{report.name}",
        verdict=summary.sentences,
        severity=summary.severity,
        parts=tuple(parts),
        next_commands=tuple(next_commands),
    )


def _pressure_parts(report: NodePressureReport, *, wide: bool) -> Iterator[Section | Table]:
    """What a Linux kubelet and its kernel do under pressure."""
    yield from oom_tables(report, wide=wide)
    yield from eviction_tables(report, wide=wide)
    yield from threshold_tables(report)
    if wide:
        yield from own_limits(report)
    else:
        yield near_own_limits(report)
    own, psi = report.memory, report.memory.psi
    if own.system_working_set is not None and own.system_reserved is not None:
        uses, reserved = memory(own.system_working_set), memory(own.system_reserved)
        over = own.system_working_set - own.system_reserved
        system = f"daemons use {uses} of the {reserved} that is reserved for them"
        if over > 0:
            system = f"daemons use {uses}; {reserved} is reserved for them: the other {memory(over)} "
            system += "is taken from the pods' room"
        yield Section("System", (system,))
    if psi is not None:
        some = psi.some
        waited = f"10 s {some.avg10:.1f}%, 1 min {some.avg60:.1f}%, 5 min {some.avg300:.1f}%"
        yield Section("Stalls", (f"{waited} of the time tasks waited for memory (PSI)",))
    if wide or report.usage_source is UsageSource.METRICS:
        yield Section("Measured", tuple(_measured(report, wide=wide)))
    if wide:
        yield Section("A kill", tuple(_kill(report)))
    eviction = []
    if wide and report.usage_source is UsageSource.NONE:
        eviction.append(
            "the order is unknown without usage: pods above their requests are evicted first, then by priority"
        )
    if report.threshold_problem:
        eviction.append(f"the kubelet's own thresholds cannot be read: {report.threshold_problem}")
    if wide:
        has_soft = any(not threshold.hard for threshold in report.thresholds)
        soft = f"; at a soft threshold at most {report.max_pod_grace_period_seconds} s" if has_soft else ""
        eviction.append(
            f"gives a container 2 s to stop{soft}; the kubelet checks every 10 s and evicts one pod at a time"
        )
        eviction.append("if memory grows faster than that, the kernel kills first")
        eviction.append("if all processes of an evicted pod exit 0, it ends Succeeded, and its status shows no reason")
    yield Section("An eviction", tuple(eviction))
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
        signals = report.signals
        if report.usage_source is not UsageSource.NONE and not any(one.is_memory for one in signals):
            # Why the verdict shows no memory headroom.
            text = "No eviction threshold is set: the kubelet evicts no pod."
            if signals:
                names = [one.value for one in Signal if one in signals and not one.value.startswith("containerfs.")]
                known = "" if report.thresholds else " (not measured)"
                text = f"No eviction threshold is set for memory, only for {listed(names)}{known}."
            said.append(Verdict(VerdictCode.READY, Severity.FINE, (text,)))
    if report.held:
        held = (*drain_leads(report.held, "A drain"), *hold_words(report.held))
        said.insert(0, Verdict(VerdictCode.CORDONED, Severity.NOTICE, held))
    short = () if report.shortage is None else (shortage_verdict(report.shortage, now),)
    assumed = assumed_words(one for one in report.lacks if one.resource == EVENTS.plural)
    return lacking(joined_verdict((*short, *found.now, *said, *found.ahead)), assumed)


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


def _kill(report: NodePressureReport) -> Iterator[str]:
    match report.oom_group:
        case True:
            yield "ends the whole container (memory.oom.group)"
        case False:
            yield "ends one process: if PID 1 survives and exits 0 later, the container still reports OOMKilled"
        case None:
            yield "ends the whole container on cgroup v2 (unless singleProcessOOMKill), one process on v1"
    order = report.oom_of(OOMScope.GLOBAL)
    places = order.places if order is not None else ()
    yield "usage and adj decide together, not the QoS class"
    yield "a resize in place leaves adj as it was when the container started"
    yield "host processes outside pods can be killed too, usually with adj 0; they are not listed"
    yield "the kubelet writes its adj itself (its oomScoreAdj, by default -999)"
    writers: dict[str, list[str]] = {}
    for place in places:
        if place.own is not None:
            adj = f"{place.oom_score_adj} over the kubelet's {place.own.kubelet_value}"
            writers.setdefault(f"{adj} ({own_words(place.own)})", []).append(f"{place.namespace}/{place.pod}")
    for adj, pods in writers.items():
        yield f"kube-proxy writes its adj itself: {adj}, in {listed(pods, most=3)}"
    yield "/proc/PID/oom_score is (1000 + 1000 x badness / total) x 2/3, before Linux 5.9 1000 x badness / total"


_SHOWN: Final = 5
"""The places of an order that are shown, unless all are requested."""
_NEAR_SHOWN: Final = 3
_AT_A_LIMIT: Final = (
    "at its own limit the kernel drops a container's file cache first, and kills it if that is not enough, "
    "even if the node has memory left"
)


def oom_tables(report: NodePressureReport, *, wide: bool) -> Iterator[Table]:
    """The order in which the kernel kills when the machine runs out; ``wide`` adds the order for all pods."""
    unmeasured = report.usage_source is UsageSource.NONE
    for scope in (OOMScope.GLOBAL, OOMScope.KUBEPODS) if wide else (OOMScope.GLOBAL,):
        order = report.oom_of(scope)
        if order is None or not order.places:
            continue
        of_node, total = scope is OOMScope.GLOBAL, memory(order.memory + order.swap)
        assumed = ", which is assumed" if order.memory_assumed else ""
        what = f"the node's {total}" if of_node else f"the {total} of all pods{assumed}"
        title = f"Kernel OOM order: points = 1000 x usage / {what} + oom_score_adj"
        # Unlike the kernel's count, a working set includes file cache.
        usage = "rss + swap" if any(place.swap for place in order.places) else "rss"
        if report.usage_source is UsageSource.METRICS:
            usage = "working set"
        if unmeasured:
            title = "Kernel OOM order by oom_score_adj only: usage is unknown"
        shown = order.places if wide else order.places[:_SHOWN]
        last, sizes = len(order.places), [(place.rss or 0) + place.swap for place in order.places]
        rows = []
        for place in shown:
            row = [str(place.rank)]
            row += [oom_terms(place)] if wide or unmeasured else [str(place.points), str(place.oom_score_adj)]
            if not unmeasured:
                size = 0 if place.rss is None else place.rss + place.swap
                row += [bar(size, max(sizes), width=10), "-" if place.rss is None else memory(size)]
            if wide and of_node:
                row.append("" if place.proc_oom_score is None else str(place.proc_oom_score))
            name = candidate_name(place)
            name += f", {place.qos_class.value}" if place.qos_class and (wide or unmeasured) else ""
            name += ", writes its adj itself" if place.own else ""
            name += f": {oom_separator(place)}" if wide and place.rank != last else ""
            rows.append((*row, name))
        points = ("points = usage + adj",) if wide else ("points", "adj")
        headings: tuple[str, ...] = ("", "adj") if unmeasured else ("", *points, "", usage)
        headings += ("/proc",) if wide and of_node else ()
        headings += ("container, class: why ahead of the next" if wide else "container",)
        rows += _rest(last - len(shown), len(headings))
        yield Table(
            title,
            headings,
            tuple(rows),
            right=frozenset({0} if unmeasured else {0, 3} if wide else {0, 1, 2, 4}),
            one_line=not wide,
        )


def eviction_tables(report: NodePressureReport, *, wide: bool) -> Iterator[Table]:
    """The eviction order for memory; ``wide`` adds each other resource that has a threshold."""
    with_threshold = {threshold.signal for threshold in report.thresholds}
    for order in report.evictions:
        signal = order.signal
        if signal is not Signal.MEMORY_AVAILABLE and not (wide and signal in with_threshold):
            continue
        by = "priority, processes" if signal.resource == PIDS else "over request, priority, how much over"
        if signal.is_memory:
            by = f"working set {by}"
        candidates = [place for place in order.places if not place.critical]
        shown = candidates if wide else candidates[:_SHOWN]
        rows: list[tuple[str, ...]] = [
            (
                str(number),
                over_words(place, signal),
                str(place.priority),
                f"{place.namespace}/{place.pod}, {place.qos_class.value}"
                + (f": {eviction_separator(place, signal)}" if wide and number != len(candidates) else ""),
            )
            for number, place in enumerate(shown, start=1)
        ]
        rows += _rest(len(candidates) - len(shown), 4)
        if spared := len(order.places) - len(candidates):
            rows.append(("", "", "", f"{spared} critical: never evicted"))
        if gaps := [f"{pod.namespace}/{pod.name}" for pod in order.unmeasured]:
            rows.append(("", "not measured", "", f"{listed(gaps, most=None if wide else 3)}: place unknown"))
        used = "uses" if signal.resource in {INODES, PIDS} else "uses, over request"
        headings = ("", used, "priority", f"pod, class{': why ahead of the next' if wide else ''}")
        title = f"Eviction order for {SIGNAL_NAMES[signal]} ({by})"
        yield Table(title, headings, tuple(rows), right=frozenset({0, 2}), one_line=not wide)


def _rest(count: int, columns: int) -> Iterator[tuple[str, ...]]:
    if count > 0:
        yield (*[""] * (columns - 1), f"and {count} more (-o wide)")


def threshold_tables(report: NodePressureReport) -> Iterator[Table]:
    """The eviction thresholds and their headroom."""
    if not report.thresholds:
        return
    rows = [
        (
            threshold.signal.value,
            bar(100 - threshold.headroom_percent, 100),
            signal_amount(threshold.available, threshold.signal),
            signal_amount(threshold.quantity, threshold.signal),
            signal_amount(threshold.headroom, threshold.signal),
            f"{threshold.headroom_percent}%",
            "at once" if threshold.hard else f"after {time_words(threshold.grace_period_seconds)}",
        )
        for threshold in report.thresholds
        # If images share the node's disk, these rows add nothing.
        if report.image_fs or not threshold.signal.value.startswith(("imagefs.", "containerfs."))
    ]
    # No kubelet configuration has this signal name.
    of_pods = Signal.ALLOCATABLE_MEMORY_AVAILABLE
    explained = any(threshold.signal is of_pods for threshold in report.thresholds)
    yield Table(
        f"Eviction thresholds{f' ({of_pods.value}: memory.available for pods)' if explained else ''}",
        ("signal", "until the eviction", "left", "evicts below", "headroom", "", "evicts"),
        tuple(rows),
        right=frozenset({2, 3, 4, 5}),
        one_line=True,
        dispensable=("until the eviction",),
    )


def own_limits(report: NodePressureReport) -> Iterator[Table]:
    """Every pod and container with a memory limit of its own, and how near it is to it."""
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
            + (f": {order.places[0].container} ({oom_terms(order.places[0])})" if (len(order.places) > 1) else ""),
        )
        for order in orders
        if not (order.scope is OOMScope.POD and (order.namespace, order.pod) in single)
    ]
    if rows:
        yield Table(
            f"Limits of their own: {_AT_A_LIMIT}",
            ("", "working set", "limit", "container, or pod: what is killed first in it"),
            tuple(rows),
            right=frozenset({0, 1, 2}),
        )


def near_own_limits(report: NodePressureReport) -> Section:
    """Containers that reach their own limit before the node runs out, the nearest first."""
    near = sorted(
        (
            (limit_percent(order.working_set, order.memory), order)
            for order in report.oom
            if order.scope is OOMScope.CONTAINER and order.working_set is not None
        ),
        key=lambda found: -found[0],
    )
    lines = [
        Row(
            (
                bar(order.working_set or 0, order.memory, width=10),
                *share_words(order.working_set or 0, order.memory),
                f"{order.namespace}/{order.pod} {order.container}",
            )
        )
        for percent, order in near
        if percent >= LISTED_LIMIT_PERCENT
    ]
    if not lines:
        return Section("Own limits", ())
    shown = lines[:_NEAR_SHOWN]
    more = [f"and {len(lines) - len(shown)} more (-o wide)"] if len(lines) > len(shown) else []
    return Section("Own limits", (*shown, *more))


def cgroup_parts(report: NodePressureReport) -> Iterator[Table | Section]:
    """The cgroup tree of the pods with weights and limits, and what is assumed about it."""
    if not report.cgroups:
        return
    title = "Cgroups of pods: weights share cpu among siblings if it is short, memory.max is a limit"
    top = report.cgroups[0].cgroupfs
    rows = []
    for one in report.cgroups:
        config, depth, name = (
            one.config,
            min(one.cgroupfs.count("/") - top.count("/"), 2),
            one.systemd.rpartition("/")[2],
        )
        if one.pod:
            name = f"{one.cgroupfs.rpartition('/')[2]} {one.namespace}/{one.pod}"
        quota = config.cpu_quota or 0
        other = [f"cpu.max {quota} {config.cpu_period}"] if quota > 0 else []
        other += memory_qos_values(one.memory_qos)
        weight = "-" if one.cpu_weight is None else str(one.cpu_weight)
        shares = "-" if config.cpu_shares is None else str(config.cpu_shares)
        limit = memory(config.memory) if config.memory else "max"
        rows.append((weight, shares, limit, f"{'  ' * depth}{name}{': ' if other else ''}{', '.join(other)}"))
    headings = ("cpu.weight", "v1 shares", "memory.max", "cgroup")
    yield Table(title, headings, tuple(rows), right=frozenset({0, 1, 2}))
    order = report.oom_of(OOMScope.KUBEPODS)
    enough = ", memory.max of all pods is allocatable and 100Mi" if order is not None and order.memory_assumed else ""
    assumed = f'assumed: enforceNodeAllocatable has "pods", cgroupRoot is empty{enough}'
    names = (
        "systemd driver: a pod's slice has the name of its parent, then -pod and its uid with _ for -",
        f"cgroupfs driver: {top}/burstable/pod<uid>; the driver of the node is unknown",
    )
    yield Section("Cgroups", (*names, assumed) if report.cgroups_assumed else names)
