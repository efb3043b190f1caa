"""A pod's default page: the deciding facts and the trouble, a line each; and the sections that ``-o wide`` extends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kubectl_plugin.render.command import Prose
from kubectl_plugin.render.page import Row, Section
from kubectl_plugin.reports.pod.pod_parts import PriorityReport
from kubectl_plugin.reports.pod.pod_report import MUTATING_WEBHOOKS, PodReport
from kubectl_plugin.views.caveats import unread_lines, versions_section
from kubectl_plugin.views.node.node_words import PROVIDER, pod_platform_section
from kubectl_plugin.views.node.silent_node import force_first, force_lines, quiet_node
from kubectl_plugin.views.pod.admission_words import dry_run_section, pod_security_section, webhook_lines
from kubectl_plugin.views.pod.ending import stop_lines
from kubectl_plugin.views.pod.qos import ASSUMED, distinct_places, memory_section, no_score, qos_section
from kubectl_plugin.views.pod.safety_words import (
    FORCE_LEADS,
    bound_words,
    collected_too_early,
    forcing_words,
    guard_words,
    no_process_words,
    owner_risk,
    owner_risk_briefly,
    reach_words,
    second_writers_section,
    two_writers,
    unfenced_from,
    until_words,
)
from kubectl_plugin.views.pod.volume_words import moving_section
from kubectl_plugin.views.scheduling.budget_words import budget_section
from kubectl_plugin.views.scheduling.preemption import disabled_words, preemptors_section
from kubectl_plugin.views.words import amount, counted, few, listed, ordinal, quoted
from podrules.ending.died.of_pod import EndOf
from podrules.node.eviction.thresholds import Signal
from podrules.node.pressure.node import OOMScope
from podrules.node.pressure.usage import UsageSource
from podrules.node.reachability import NodeReach, Reach
from podrules.pod.platform import Platform
from podrules.pod.priority import PREEMPT_NEVER, SYSTEM_CRITICAL_PRIORITY, PrioritySource
from podrules.pod.resources import CPU, MEMORY
from podrules.pod.termination import GraceSource
from podrules.scheduling.placement.outcome import PlacementOutcome
from podrules.silent_node.forcing import NO_PROCESS, has_another
from podrules.workload.safety import ForceSafety, Guarantee

_USAGE: Final = frozenset({"nodes/proxy", "nodes.metrics.k8s.io"})
"""The sources of a node's usage: the kubelet's summary, else the metrics API."""
_NAMED: Final = 3
"""Resources, and kinds that could not be read, that are named before they are counted."""


def brief_sections(report: PodReport, now: datetime | None) -> Iterator[Section]:
    """The sections of the page, without placement; some are empty."""
    running = report.termination.grace.source is not GraceSource.FINISHED
    yield memory_section(report, wide=False)
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
    # The volumes that nothing protects.
    reach = _reach(report).reach
    writers = [Row((one.volume, guard_words(one, reach))) for one in report.guards if unfenced_from(one, reach)]
    yield Section("Writers", tuple(writers))
    yield second_writers_section(report.second_writers, wide=False)
    yield moving_section(report.moving, now)
    # The topmost owner, unless what a force delete risks names it.
    for owner in report.owners[-1:]:
        name = f"{owner.kind} {owner.name}"
        named = any(name in line for line in forced.lines if isinstance(line, str))
        yield Section("Owner", () if named else (name,))
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
        idle = "; no process of it runs now: nothing to kill" if any(entry.idle for entry in places) else ""
        bound = report.status is not None and report.status.node is not None
        scores = []
        for one in report.oom:
            if one.containers:
                # ``937``, ``991 to 999 for 30 containers``.
                own = [score.value for score in one.containers]
                least, most = min(own), max(own)
                words = str(least) if least == most else f"{least} to {most} for {counted(len(own), 'container')}"
                on = f"{' on ' if len(report.oom) > 1 else ' as on '}{one.node}"
                scores.append(f"{words}{on if one.node and not bound else ''}")
        yield f"{listed(scores)}{idle}" if scores else "none: it has no containers"
    for entry in places:
        standing = entry.oom_of(OOMScope.GLOBAL)
        if standing is not None:
            # ``873-999 (exporter)``: from the lowest to that of the container that is killed first.
            place, least = standing.place, min(values, default=0)
            first = str(place.oom_score_adj)
            if values != {place.oom_score_adj}:
                first = f"{f'{least}-' if least < place.oom_score_adj else ''}{first} ({place.container})"
            rank = f"kill order {ordinal(place.rank)} of {counted(standing.of, 'container')}"
            evicted = next((one for one in entry.evictions if one.signal is Signal.MEMORY_AVAILABLE), None)
            if entry.critical:
                rank += ", never evicted"
            elif evicted is not None:
                rank += f", eviction {ordinal(evicted.place.rank)} of {counted(evicted.of, 'pod')}"
            unmeasured = "" if place.rss is not None else "; usage unknown"
            yield f"{first}; {ASSUMED[entry.assumption]}{rank}{unmeasured}"


def _requests(report: PodReport) -> Iterator[str]:
    own, partly = report.resources, limited_in_part(report)
    asked = []
    for name in dict.fromkeys((*own.requests, *own.limits)):
        request = amount(name, own.requests[name]) if name in own.requests else "none"
        limit = f"limit {amount(name, own.limits[name])}" if name in own.limits else "no limit"
        asked.append(f"{name} {request} ({limit}{' on some' if name in partly else ''})")
    option = " (-o wide)" if len(asked) > _NAMED else ""
    yield f"{few(asked, _NAMED)}{option}" if asked else "none: the scheduler counts nothing for it"
    if own.allocated is not None:
        yield granted_line(report)


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


def limited_in_part(report: PodReport) -> tuple[str, ...]:
    """Resources that some containers limit and others do not, so that the pod's own cgroup has no such limit."""
    config = report.cgroup.config if report.cgroup is not None else None
    values = ((CPU, config.cpu_quota), (MEMORY, config.memory)) if config is not None else ()
    return tuple(name for name, value in values if name in report.resources.limits and not value)


def granted_line(report: PodReport) -> str:
    """What the kubelet has granted of an incomplete resize."""
    allocated = report.resources.allocated or {}
    granted = listed([f"{name} {amount(name, text)}" for name, text in allocated.items()])
    follow = "; cgroups follow that" if report.platform is Platform.LINUX else ""
    return f"granted by the kubelet so far: {granted}{follow}"


def priority_section(report: PodReport, *, wide: bool) -> Section:
    """Its priority, the source of it, and whether it preempts."""
    own = report.priority
    if own.rejected:
        return Section("Priority", (f"rejected: {own.rejected}",))
    if own.priority is None or own.source is None:
        named = f"that of class {quoted(own.class_name)}" if own.class_name else "that of the cluster's default class"
        given = "" if own.priority is None else f"; rejected if it is not {own.priority} (spec.priority)"
        return Section("Priority", (f"{named}: unknown without the cluster's PriorityClasses{given}",))
    # A webhook that could not be read may give a new pod a class.
    unread = any(one.resource == MUTATING_WEBHOOKS for one in report.unread)
    may_get_class = unread or (report.webhook is not None and report.webhook.class_unknown)
    may_get_class = may_get_class and report.status is None and own.source is not PrioritySource.CLASS
    given = ", if the webhook gives it no class" if may_get_class else ""
    if report.placement is not None and report.placement.outcome is PlacementOutcome.NOT_MODELLED:
        manner = "which pods it preempts is not modelled"
    else:
        ahead = "queues ahead of lower pods, " if wide else ""
        if own.preemption_policy == PREEMPT_NEVER:
            manner = f"{ahead}preempts none (preemptionPolicy Never)"
        elif own.preemption_disabled:
            manner = f"{ahead}preempts none: {disabled_words(own.preemption_disabled)}"
        else:
            manner = f"preempts lower pods{' when it fits nowhere else' if wide else ''}"
    line = f"{own.priority} ({_source(own, wide=wide)}){given}: {manner}"
    return Section("Priority", (line, *_priority_notes(report, own, own.priority)) if wide else (line,))


def _source(own: PriorityReport, *, wide: bool) -> str:
    match own.source:
        case PrioritySource.CLASS:
            source = f"class {quoted(own.class_name)}"
        case PrioritySource.GLOBAL_DEFAULT:
            default = "cluster's default" if wide else "default"
            source = f"class {quoted(own.class_name)}, the {default}"
        case _:
            return "no PriorityClass"
    if wide:
        return source
    if own.class_exists is False:
        return f"{source}, deleted: new pods are rejected"
    moved = own.class_value_now is not None and own.class_value_now != own.priority
    return f"{source}, now {own.class_value_now}" if moved else source


def _priority_notes(report: PodReport, own: PriorityReport, priority: int) -> Iterator[str]:
    if own.class_exists is False:
        yield f"class {quoted(own.class_name)} no longer exists: this pod keeps {priority}, new ones are rejected"
    elif own.class_value_now is not None and own.class_value_now != priority:
        yield f"class {quoted(own.class_name)} is {own.class_value_now} now: pods keep the value they were made with"
    if priority >= SYSTEM_CRITICAL_PRIORITY:
        yield f"critical: {SYSTEM_CRITICAL_PRIORITY} or more"
    if report.preempted is not None and report.preempted.higher_than:
        lower = listed([f"{pod.namespace}/{pod.name}" for pod in report.preempted.higher_than], most=3)
        yield f"lower pods such as {lower} were not preempted: removing them makes no room, or would violate a budget"
    yield (
        "preemption depends on priority only, not on QoS class; the kubelet first evicts pods above their "
        "requests, and only then by priority"
    )


def force_section(report: PodReport, now: datetime | None, *, wide: bool) -> Section:
    """Whether a force delete is safe, and what it risks."""
    return Section("Force delete", tuple(_force_lines(report, now, wide=wide)) if report.status is not None else ())


def _force_lines(report: PodReport, now: datetime | None, *, wide: bool) -> Iterator[str]:
    safety, quiet = report.force_safety, quiet_node(report)
    lead = "" if safety is None else f"{FORCE_LEADS[safety][:1].lower()}{FORCE_LEADS[safety][1:]}: "
    if report.termination.grace.source in NO_PROCESS:
        yield f"{lead}{no_process_words(report.termination)}"
        return
    idle = safety is ForceSafety.SAFE
    owner = report.owner
    if owner.kind and (bound := bound_words(report.guards, _reach(report), pending=True)):
        risk = bound
    elif wide or idle:
        deleted = report.ending.deleted_at is not None
        replaced = has_another(owner.guarantee, _reach(report).reach, deleted=deleted)
        risk = owner_risk(owner, idle=idle, replaced=replaced)
    else:
        top = f"{report.owners[-1].kind} {report.owners[-1].name}" if report.owners else f"{owner.kind} {owner.name}"
        risk = owner_risk_briefly(owner.guarantee, top)
    if safety is ForceSafety.NOT_SAFE_YET and quiet is not None:
        yield f"{lead}{force_first(quiet)}"
        may_remove = report.owner.guarantee is Guarantee.AT_MOST_ONE and not report.only_member
        if may_remove and not _reach(report).reach.declared:
            yield "or remove it in the application first, if its other members are a majority"
        yield risk
    elif safety is ForceSafety.UNKNOWN:
        provider = report.platform is Platform.VIRTUAL_KUBELET
        yield f"{lead}{PROVIDER if provider else reach_words(_reach(report), None, now)}"
        yield risk
    else:
        yield f"{lead}{risk}"
    if safety is ForceSafety.NOT_SAFE and report.owner.guarantee not in {Guarantee.AT_MOST_ONE, Guarantee.UNKNOWN}:
        yield two_writers(report.guards, _reach(report).reach)
    if report.ending.deleted_at is None and _reach(report).reach is Reach.BACK_NOT_READY:
        yield collected_too_early(_reach(report))
    if quiet is not None:
        yield from force_lines(report, quiet, now)
    elif report.ending.deleted_at is not None and not report.ending.static:
        runs = report.termination.processes and report.platform is not Platform.VIRTUAL_KUBELET
        processes = f"; processes {until_words(report.ending.ends_by, now)}" if runs else ""
        yield f"already being deleted: {forcing_words(report.ending.holders)}{processes}"


def _reach(report: PodReport) -> NodeReach:
    node = report.status.node if report.status is not None else None
    if node is None or node.reach is None:
        return NodeReach("" if node is None else node.name, Reach.UNKNOWN, "")
    return node.reach


def last_end_section(report: PodReport, now: datetime | None) -> Section:
    """The verdict; empty if nothing has ended."""
    last = report.last_end
    if last is None or last.end.of is EndOf.NOTHING:
        return Section("Last end", ())
    # Loaded only if something has ended.
    from kubectl_plugin.views.died.page import last_end_lines

    return Section("Last end", last_end_lines(last, now))
