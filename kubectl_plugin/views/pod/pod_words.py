"""Sections of a pod's page that are shorter by default than under ``-o wide``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kubectl_plugin.render.page import Section
from kubectl_plugin.reports.pod.pod_priority import PriorityReport
from kubectl_plugin.reports.pod.pod_report import MUTATING_WEBHOOKS, PodReport
from kubectl_plugin.views.node.node_words import PROVIDER
from kubectl_plugin.views.node.silent_node import force_first, force_lines, quiet_node
from kubectl_plugin.views.pod.safety_words import (
    FORCE_LEADS,
    bound_words,
    collected_too_early,
    forcing_words,
    no_process_words,
    owner_risk,
    owner_risk_briefly,
    reach_words,
    two_writers,
    until_words,
)
from kubectl_plugin.views.scheduling.preemption import disabled_words
from kubectl_plugin.views.words import amount, listed, quoted
from podrules.node.reachability import NodeReach, Reach
from podrules.pod.platform import Platform
from podrules.pod.priority import PREEMPT_NEVER, SYSTEM_CRITICAL_PRIORITY, PrioritySource
from podrules.pod.resources import CPU, MEMORY
from podrules.scheduling.placement.outcome import PlacementOutcome
from podrules.silent_node.forcing import NO_PROCESS, has_another
from podrules.workload.safety import ForceSafety, Guarantee


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
    given = ", if the webhook gives it no class" if _may_get_class(report) else ""
    line = f"{own.priority} ({_source(own, wide=wide)}){given}: {_manner(report, own, wide=wide)}"
    return Section("Priority", (line, *_priority_notes(report, own, own.priority)) if wide else (line,))


def _may_get_class(report: PodReport) -> bool:
    """Whether a webhook that could not be read may give a new pod a class."""
    if report.status is not None or report.priority.source is PrioritySource.CLASS:
        return False
    unread = any(one.resource == MUTATING_WEBHOOKS for one in report.unread)
    return unread or (report.webhook is not None and report.webhook.class_unknown)


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


def _manner(report: PodReport, own: PriorityReport, *, wide: bool) -> str:
    if report.placement is not None and report.placement.outcome is PlacementOutcome.NOT_MODELLED:
        return "which pods it preempts is not modelled"
    ahead = "queues ahead of lower pods, " if wide else ""
    if own.preemption_policy == PREEMPT_NEVER:
        return f"{ahead}preempts none (preemptionPolicy Never)"
    if own.preemption_disabled:
        return f"{ahead}preempts none: {disabled_words(own.preemption_disabled)}"
    return f"preempts lower pods{' when it fits nowhere else' if wide else ''}"


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
    risk = _owner_risk(report, idle=safety is ForceSafety.SAFE, wide=wide)
    if safety is ForceSafety.NOT_SAFE_YET and quiet is not None:
        yield f"{lead}{force_first(quiet, now)}"
        may_remove = report.owner.guarantee is Guarantee.AT_MOST_ONE and not report.only_member
        if may_remove and not _reach(report).reach.declared:
            yield "or remove it in the application first, if its other members are a majority"
        yield risk
    elif safety is ForceSafety.UNKNOWN:
        yield f"{lead}{_why_unknown(report, now)}"
        yield risk
    else:
        yield f"{lead}{risk}"
    if safety is ForceSafety.NOT_SAFE and report.owner.guarantee not in {Guarantee.AT_MOST_ONE, Guarantee.UNKNOWN}:
        yield two_writers(report.guards, _reach(report).reach)
    if report.ending.deleted_at is None and _reach(report).reach is Reach.BACK_NOT_READY:
        yield collected_too_early(_reach(report))
    yield from _already_forced(report, now) if quiet is None else force_lines(report, quiet, now)


def _owner_risk(report: PodReport, *, idle: bool, wide: bool) -> str:
    owner = report.owner
    if owner.kind and (bound := bound_words(report.guards, _reach(report), pending=True)):
        return bound
    if wide or idle:
        deleted = report.ending.deleted_at is not None
        replaced = has_another(owner.guarantee, _reach(report).reach, deleted=deleted)
        return owner_risk(owner, idle=idle, replaced=replaced)
    top = f"{report.owners[-1].kind} {report.owners[-1].name}" if report.owners else f"{owner.kind} {owner.name}"
    return owner_risk_briefly(owner.guarantee, top)


def _why_unknown(report: PodReport, now: datetime | None) -> str:
    """Why it cannot be known whether its processes end."""
    if report.platform is Platform.VIRTUAL_KUBELET:
        return PROVIDER
    return reach_words(_reach(report), None, now)


def _reach(report: PodReport) -> NodeReach:
    node = report.status.node if report.status is not None else None
    if node is None or node.reach is None:
        return NodeReach("" if node is None else node.name, Reach.UNKNOWN, "")
    return node.reach


def _already_forced(report: PodReport, now: datetime | None) -> Iterator[str]:
    """The effect of forcing a pod that is being deleted, on a node that answers."""
    if report.ending.deleted_at is None or report.ending.static:
        return
    forcing = f"already being deleted: {forcing_words(report.ending.holders)}"
    if report.termination.processes and report.platform is not Platform.VIRTUAL_KUBELET:
        yield f"{forcing}; processes {until_words(report.ending.ends_by, now)}"
    else:
        yield forcing
