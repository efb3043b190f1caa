"""A pod's place when its node runs short, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kubectl_plugin.render.command import Prose
from kubectl_plugin.render.page import Section
from kubectl_plugin.reports.pod.pod_pressure import (
    Assumption,
    EvictionStandingReport,
    OOMStandingReport,
    PodPressureReport,
)
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.views.caveats import unread_lines
from kubectl_plugin.views.node.pressure import (
    LISTED_LIMIT_PERCENT,
    SIGNAL_NAMES,
    candidate_name,
    eviction_separator,
    oom_separator,
    oom_terms,
    over_words,
)
from kubectl_plugin.views.words import listed, memory, place_words
from podrules.node.eviction.thresholds import Signal
from podrules.node.pressure.node import OOMScope
from podrules.node.pressure.usage import UsageSource, is_near_limit, limit_percent

ASSUMED: Final = {
    Assumption.REQUESTS: "using what it requests: ",
    Assumption.LIMITS: "using all that it may: ",
    Assumption.MEASURED: "",
}
"""The beginning of a place, by the assumed usage of the pod."""
_IDLE: Final = 8
"""The most containers without a process that are named; the other sections name all."""


def pressure_section(report: PodReport, *, wide: bool) -> Section:
    """Its place in both orders; ``wide`` adds the orders for the cgroup of all pods, disks and process ids."""
    lines: list[str | Prose] = [line for entry in distinct_places(report.pressure) for line in _lines(entry, wide=wide)]
    if [entry.assumption for entry in report.pressure] == [Assumption.REQUESTS]:
        lines.append("a container has no memory limit: it may become the first by using more")
    if report.pressure and report.pressure[0].usage_source is UsageSource.METRICS:
        lines.append("by working sets of the metrics API, which include file cache")
    measured = [entry.node for entry in report.pressure if entry.usage_source is not UsageSource.NONE]
    lines += unread_lines(report.pressure_unread, measured=measured)
    return Section("Pressure", tuple(lines))


def distinct_places(entries: Sequence[PodPressureReport]) -> list[PodPressureReport]:
    """The distinct results: assumptions with the same result appear once."""
    first = entries[:1]
    return [
        *first,
        *(entry for entry in entries[1:] if (entry.oom, entry.evictions) != (first[0].oom, first[0].evictions)),
    ]


def _lines(entry: PodPressureReport, *, wide: bool) -> Iterator[str]:
    lead = ASSUMED[entry.assumption]
    for scope in (OOMScope.GLOBAL, OOMScope.KUBEPODS) if wide else (OOMScope.GLOBAL,):
        standing = entry.oom_of(scope)
        if standing is not None:
            yield lead + _oom(entry, standing)
            lead = ""
    if entry.idle:
        have = "container has" if len(entry.idle) == 1 else "containers have"
        yield f"{have} no process now, so nothing for the kernel to kill: {listed(entry.idle, most=_IDLE)}"
    yield from own_limit_lines(entry, wide=True)
    yield from _evictions(entry, wide=wide)


def _oom(entry: PodPressureReport, standing: OOMStandingReport) -> str:
    place = standing.place
    what = f"{entry.node} runs out" if standing.scope is OOMScope.GLOBAL else "pods' share of it runs out"
    known = "" if place.rss is not None else " (by oom_score_adj only, because usage is unknown)"
    text = (
        f"{place_words(place.rank, standing.of, 'container')} that the kernel kills if {what}{known}: "
        f"{place.container}, {oom_terms(place)}"
    )
    if standing.before is not None:
        before = standing.before
        text += f"; after {candidate_name(before)} ({oom_terms(before)}: {oom_separator(before)})"
    return text


def own_limit_lines(entry: PodPressureReport, *, wide: bool) -> Iterator[str]:
    """The containers that are near their own limit; by default those that the verdict does not name."""
    lead, own = ("container ", "own ") if wide else ("", "")
    for standing in entry.oom if entry.assumption is Assumption.MEASURED else ():
        if not wide and is_near_limit(standing.working_set, standing.memory):
            continue
        percent = limit_percent(standing.working_set or 0, standing.memory)
        if percent >= LISTED_LIMIT_PERCENT and standing.scope is OOMScope.CONTAINER:
            used, limit = memory(standing.working_set or 0), memory(standing.memory)
            yield f"{lead}{standing.container} uses {percent}% of its {own}limit {limit} (working set {used})"


def _evictions(entry: PodPressureReport, *, wide: bool) -> Iterator[str]:
    if entry.critical:
        yield "the kubelet never evicts it: it is critical"
        return
    for standing in entry.evictions:
        if wide or standing.signal is Signal.MEMORY_AVAILABLE:
            yield _eviction(standing)


def _eviction(standing: EvictionStandingReport) -> str:
    place, signal = standing.place, standing.signal
    text = (
        f"{place_words(place.rank, standing.of, 'pod')} that the kubelet evicts for {SIGNAL_NAMES[signal]}: "
        f"{over_words(place, signal)}, priority {place.priority}"
    )
    if standing.before is not None:
        before = standing.before
        text += f"; after {before.namespace}/{before.pod} ({eviction_separator(before, signal)})"
    return text
