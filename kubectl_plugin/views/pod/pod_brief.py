"""A pod's default page: the deciding facts and the trouble, a line each; ``-o wide`` has the rest."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kubectl_plugin.render.command import Prose
from kubectl_plugin.render.page import Row, Section
from kubectl_plugin.reports.pod.oom import OOMOnNode
from kubectl_plugin.reports.pod.pod_pressure import OOMStandingReport, PodPressureReport
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.views.node.node_words import pod_platform_section
from kubectl_plugin.views.pod.admission_words import dry_run_section, pod_security_section, webhook_lines
from kubectl_plugin.views.pod.ending import stop_lines
from kubectl_plugin.views.pod.last_end import last_end_section
from kubectl_plugin.views.pod.oom import no_score
from kubectl_plugin.views.pod.pod_pressure import ASSUMED, distinct_places, own_limit_lines
from kubectl_plugin.views.pod.pod_words import force_section, granted_line, limited_in_part, priority_section
from kubectl_plugin.views.pod.qos import qos_section
from kubectl_plugin.views.pod.safety_words import guard_words, second_writers_section, unfenced_from
from kubectl_plugin.views.pod.volume_words import moving_section
from kubectl_plugin.views.scheduling.budget_words import budget_section
from kubectl_plugin.views.scheduling.preemption import preemptors_section
from kubectl_plugin.views.unread import unread_lines
from kubectl_plugin.views.version_notes import versions_section
from kubectl_plugin.views.words import amount, counted, listed, ordinal
from podrules.node.eviction.thresholds import Signal
from podrules.node.pressure.node import OOMScope
from podrules.node.pressure.usage import UsageSource
from podrules.node.reachability import Reach
from podrules.pod.platform import Platform
from podrules.pod.termination import GraceSource

_USAGE: Final = frozenset({"nodes/proxy", "nodes.metrics.k8s.io"})
"""The sources of a node's usage: the kubelet's summary, else the metrics API."""
_NAMED: Final = 3
"""Resources, and kinds that could not be read, that are named before they are counted."""


def brief_sections(report: PodReport, now: datetime | None) -> Iterator[Section]:
    """The sections of the page, without placement; some are empty."""
    running = report.termination.grace.source is not GraceSource.FINISHED
    yield last_end_section(report, now)
    yield qos_section(report, wide=False)
    if running:
        yield pod_platform_section(report.platform)
        yield Section("OOM score", tuple(_oom(report)))
        yield Section("Requests", tuple(_requests(report)))
    yield priority_section(report, wide=False)
    yield preemptors_section(report.preemptors, wide=False)
    yield Section("Stops", tuple(stop_lines(report, now, wide=False)))
    # The line above says this for a static pod and for a pod without processes.
    said = not report.termination.processes or report.ending.static
    forced = Section("Force delete", ()) if said else force_section(report, now, wide=False)
    yield forced
    yield Section("Writers", tuple(_writers(report)))
    yield second_writers_section(report.second_writers, wide=False)
    yield moving_section(report.moving, now)
    yield _owner(report, forced)
    yield budget_section(report.budgets)
    yield pod_security_section(report.warning)
    yield Section("Webhook", tuple(webhook_lines(report.webhook)))
    yield dry_run_section(report.dry_run)
    yield versions_section(report.version_notes)
    yield Section("Unknown", tuple(_unknown(report)))


def _oom(report: PodReport) -> Iterator[str]:
    """The score of the container that is killed first, and its rank when the node runs short, by each assumption."""
    if report.platform is not Platform.LINUX:
        return
    if report.oom_unknown is not None:
        yield no_score(report, report.oom_unknown)
        return
    values = {score.value for entry in report.oom for score in entry.containers}
    places = distinct_places(report.pressure)
    if not any(entry.oom_of(OOMScope.GLOBAL) for entry in places):
        several = len(report.oom) > 1
        idle = "; no process of it runs now: nothing to kill" if any(entry.idle for entry in places) else ""
        bound = report.status is not None and report.status.node is not None
        on = " on " if several else " as on "
        scores = listed(
            [
                _scores(entry) + (f"{on}{entry.node}" if entry.node and not bound else "")
                for entry in report.oom
                if entry.containers
            ]
        )
        yield f"{scores}{idle}" if scores else "none: it has no containers"
    for entry in places:
        standing = entry.oom_of(OOMScope.GLOBAL)
        if standing is not None:
            yield f"{_first(standing, values)}; {ASSUMED[entry.assumption]}{_rank(entry, standing)}"
        yield from own_limit_lines(entry, wide=False)


def _first(standing: OOMStandingReport, values: set[int]) -> str:
    """``873-999 (exporter)``: from the lowest to that of the container that is killed first, by name if they differ."""
    place, least = standing.place, min(values, default=0)
    if values == {place.oom_score_adj}:
        return str(place.oom_score_adj)
    return f"{f'{least}-' if least < place.oom_score_adj else ''}{place.oom_score_adj} ({place.container})"


def _rank(entry: PodPressureReport, standing: OOMStandingReport) -> str:
    unmeasured = "" if standing.place.rss is not None else "; usage unknown"
    killed = f"kill order {ordinal(standing.place.rank)} of {counted(standing.of, 'container')}"
    return f"{killed}{_evicted(entry)}{unmeasured}"


def _scores(entry: OOMOnNode) -> str:
    """``937``, ``991 to 999 for 30 containers``."""
    values = [score.value for score in entry.containers]
    least, most = min(values), max(values)
    return str(least) if least == most else f"{least} to {most} for {counted(len(values), 'container')}"


def _evicted(entry: PodPressureReport) -> str:
    """The rank in the kubelet's order for memory."""
    if entry.critical:
        return ", never evicted"
    standing = next((one for one in entry.evictions if one.signal is Signal.MEMORY_AVAILABLE), None)
    return f", eviction {ordinal(standing.place.rank)} of {counted(standing.of, 'pod')}" if standing is not None else ""


def _requests(report: PodReport) -> Iterator[str]:
    own, partly = report.resources, limited_in_part(report)
    asked = []
    for name in dict.fromkeys((*own.requests, *own.limits)):
        request = amount(name, own.requests[name]) if name in own.requests else "none"
        limit = f"limit {amount(name, own.limits[name])}" if name in own.limits else "no limit"
        asked.append(f"{name} {request} ({limit}{' on some' if name in partly else ''})")
    more = f" and {len(asked) - _NAMED} more (-o wide)" if len(asked) > _NAMED else ""
    yield f"{', '.join(asked[:_NAMED])}{more}" if asked else "none: the scheduler counts nothing for it"
    if own.allocated is not None:
        yield granted_line(report)


def _writers(report: PodReport) -> Iterator[Row]:
    """The volumes that nothing protects."""
    node = report.status.node if report.status is not None else None
    reach = node.reach.reach if node is not None and node.reach is not None else Reach.UNKNOWN
    for guard in report.guards:
        if unfenced_from(guard, reach):
            yield Row((guard.volume, guard_words(guard, reach)))


def _owner(report: PodReport, forced: Section) -> Section:
    """The topmost owner, unless what a force delete risks names it."""
    if not report.owners:
        return Section("Owner", ())
    name = f"{report.owners[-1].kind} {report.owners[-1].name}"
    named = any(name in line for line in forced.lines if isinstance(line, str))
    return Section("Owner", () if named else (name,))


def _unknown(report: PodReport) -> Iterator[str | Prose]:
    of_usage = [entry for entry in report.pressure_unread if entry.resource in _USAGE]
    measured = {one.node for one in report.pressure if one.usage_source is not UsageSource.NONE}
    named = not measured and any(entry.node for entry in of_usage)
    if named:
        [line] = unread_lines(of_usage[:1])
        yield f"{line} (-o wide)" if isinstance(line, str) and len(of_usage) > 1 else line
    found = dict.fromkeys((*report.unread, *report.placement_unread, *report.pressure_unread))
    unread = [entry for entry in found if not (named and entry in of_usage)]
    if len(unread) != 1:
        # What decides, and what a List lacks, is named with its remedy.
        named_here = [entry for entry in unread if entry.is_not_listed or entry in report.lacks]
        yield from unread_lines(named_here, measured=measured)
        unread = [entry for entry in unread if entry not in named_here]
    if len(unread) == 1:
        yield from unread_lines(unread, measured=measured)
    elif unread:
        kinds = list(dict.fromkeys(entry.resource for entry in unread))
        yield f"{listed(kinds, most=_NAMED)} not read (why: -o wide)"
