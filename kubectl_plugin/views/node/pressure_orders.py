"""The tables of a node under pressure: kill order, eviction order, thresholds, limits of pods and containers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubectl_plugin.render.page import Section, Table
from kubectl_plugin.reports.node.node_pressure import EvictionOrderReport, NodePressureReport, OOMOrderReport
from kubectl_plugin.views.node.node_findings import signal_amount, time_words
from kubectl_plugin.views.node.pressure import (
    LISTED_LIMIT_PERCENT,
    SIGNAL_NAMES,
    candidate_name,
    eviction_separator,
    oom_separator,
    oom_terms,
    over_words,
)
from kubectl_plugin.views.words import listed, memory, memory_qos_values
from podrules.node.eviction.thresholds import INODES, PIDS, Signal
from podrules.node.pressure.cgroups import NodeCgroup
from podrules.node.pressure.node import OOMScope
from podrules.node.pressure.usage import UsageSource, limit_percent

_SHOWN: Final = 8
"""The places of an order that are shown, unless all are requested."""
_NEAR_SHOWN: Final = 3
_AT_A_LIMIT: Final = (
    "at its own limit the kernel drops a container's file cache first, and kills it if that is not enough, "
    "even if the node has memory left"
)


def oom_tables(report: NodePressureReport, *, wide: bool) -> Iterator[Table]:
    """The order in which the kernel kills when the machine runs out; ``wide`` adds the order for all pods."""
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
        title = "Kernel OOM order by oom_score_adj only: usage is unknown"
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
            + (", writes its adj itself" if place.own else "")
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
    """The heading of the usage column; unlike the kernel's count, a working set includes file cache."""
    if report.usage_source is UsageSource.METRICS:
        return "working set"
    return "rss + swap" if any(place.swap for place in order.places) else "rss"


def _proc(score: int | None) -> str:
    return "" if score is None else str(score)


def eviction_tables(report: NodePressureReport, *, wide: bool) -> Iterator[Table]:
    """The eviction order for memory; ``wide`` adds each other resource that has a threshold."""
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
    if gaps := [f"{pod.namespace}/{pod.name}" for pod in order.unmeasured]:
        rest.append(("", "not measured", "", f"{listed(gaps, most=None if wide else 3)}: place unknown"))
    used = "uses" if signal.resource in {INODES, PIDS} else "uses, over request"
    headings = ("", used, "priority", "pod, class: why ahead of the next")
    title = f"Eviction order for {SIGNAL_NAMES[signal]} ({by})"
    return Table(title, headings, (*rows, *rest), right=frozenset({0, 2}))


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
        ("signal", "left", "evicts below", "headroom", "", "evicts"),
        tuple(rows),
        right=frozenset({1, 2, 3, 4}),
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
            + _first_of(order, several=len(order.places) > 1),
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


def cgroup_parts(report: NodePressureReport) -> Iterator[Table | Section]:
    """The cgroup tree of the pods with weights and limits, and what is assumed about it."""
    if not report.cgroups:
        return
    title = "Cgroups of pods: weights share cpu among siblings if it is short, memory.max is a limit"
    top = report.cgroups[0].cgroupfs
    rows = [_cgroup_row(one, min(one.cgroupfs.count("/") - top.count("/"), 2)) for one in report.cgroups]
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


def _cgroup_row(one: NodeCgroup, depth: int) -> tuple[str, ...]:
    config = one.config
    name = one.systemd.rpartition("/")[2]
    if one.pod:
        name = f"{one.cgroupfs.rpartition('/')[2]} {one.namespace}/{one.pod}"
    quota = config.cpu_quota or 0
    other = [f"cpu.max {quota} {config.cpu_period}"] if quota > 0 else []
    other += memory_qos_values(one.memory_qos)
    return (
        "-" if one.cpu_weight is None else str(one.cpu_weight),
        "-" if config.cpu_shares is None else str(config.cpu_shares),
        memory(config.memory) if config.memory else "max",
        f"{'  ' * depth}{name}{': ' if other else ''}{', '.join(other)}",
    )


def _first_of(order: OOMOrderReport, *, several: bool) -> str:
    return f": {order.places[0].container} ({oom_terms(order.places[0])})" if several else ""
