"""A pod's explanation in words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kubectl_plugin.render.command import Command, kubectl, qos
from kubectl_plugin.render.page import Page, Row, Section
from kubectl_plugin.reports.node_facts import NodeFacts
from kubectl_plugin.reports.pod import ContainerCgroup, PodReport
from kubectl_plugin.views.claim_words import claim_command
from kubectl_plugin.views.ending import stop_lines
from kubectl_plugin.views.health_commands import health_commands
from kubectl_plugin.views.moving import moving_section
from kubectl_plugin.views.oom import oom_section
from kubectl_plugin.views.placement import placement_parts
from kubectl_plugin.views.platform_words import PROVIDER, pod_platform_section
from kubectl_plugin.views.pod_pressure import pressure_section
from kubectl_plugin.views.preemption import disabled_words
from kubectl_plugin.views.qos import qos_section
from kubectl_plugin.views.quiet import force_lines, quiet_node
from kubectl_plugin.views.safety_words import forcing_words, guard_words, owner_risk, until_words
from kubectl_plugin.views.unread import unread_words
from kubectl_plugin.views.verdict import verdict
from kubectl_plugin.views.words import amount, is_plain_name, listed, memory, quoted
from podrules.cgroup import ResourceConfig
from podrules.cluster.source import Unread
from podrules.placement.outcome import Outcome
from podrules.platform import Platform
from podrules.priority import PREEMPT_NEVER, SYSTEM_CRITICAL_PRIORITY, PrioritySource
from podrules.reachability import Reach
from podrules.resources import CPU, MEMORY
from podrules.termination import GraceSource

__all__ = ["pod_page", "unread_section"]


def pod_page(report: PodReport, *, now: datetime | None, wide: bool) -> Page:
    """Everything about one pod; ``wide`` adds every container's cgroup values."""
    told = verdict(report, now)
    finished = report.termination.grace.source is GraceSource.FINISHED
    running = []
    if not finished:
        running = [
            pod_platform_section(report.platform),
            oom_section(report),
            pressure_section(report, wide=wide),
            _requests_section(report),
            _cgroup_section(report, wide=wide),
        ]
    sections = [
        qos_section(report, wide=wide),
        *running,
        _priority_section(report, wide=wide),
        Section("Stops", tuple(stop_lines(report, now))),
        _force_section(report, now),
        _writers_section(report),
        moving_section(report.moving, now),
        _owner_section(report),
        unread_section(report.unread),
    ]
    namespace = f" in namespace {report.namespace}" if report.namespace else ""
    node = report.status.node if report.status else None
    placement = tuple(placement_parts(report, now=now, wide=wide))
    # Where it would go is the first question about a pod that waits, and the last about others.
    placed_first, placed_last = (placement, ()) if report.status and node is None else ((), placement)
    place = f", on {node.name}" if node else ""
    return Page(
        title=f"pod/{report.name}{namespace}{place}",
        verdict=told.sentences,
        severity=told.severity,
        parts=(*placed_first, *(section for section in sections if section.lines), *placed_last),
        next_commands=tuple(_next_commands(report, now, wide=wide)),
    )


def unread_section(unread: tuple[Unread, ...]) -> Section:
    """What the answer lacks, and why."""
    return Section(
        "Unknown",
        tuple(map(unread_words, unread)),
    )


def _requests_section(report: PodReport) -> Section:
    own = report.resources
    allocatable = own.node_allocatable or {}
    node = report.status.node if report.status else None
    asked = [
        f"{name} {amount(name, text)}" + (f" of {amount(name, allocatable[name])}" if name in allocatable else "")
        for name, text in own.requests.items()
    ]
    where = f" allocatable on {node.name}" if node and allocatable else ""
    lines = [f"{listed(asked)}{where}" if asked else "none: the scheduler counts nothing for it"]
    if own.allocated is not None:
        granted = listed([f"{name} {amount(name, text)}" for name, text in own.allocated.items()])
        linux = report.platform is Platform.LINUX
        lines.append(f"granted by the kubelet so far: {granted}{'; cgroups follow that' if linux else ''}")
        if linux:
            lines.append("oom_score_adj stays as it was when the container started, until it restarts")
    limits = listed([f"{name} {amount(name, text)}" for name, text in own.limits.items()])
    config = report.cgroup.config if report.cgroup is not None else None
    values = ((CPU, config.cpu_quota), (MEMORY, config.memory)) if config is not None else ()
    partly = [name for name, value in values if name in own.limits and not value]
    if not limits:
        lines.append("no limits")
    elif partly:
        lines.append(f"limits {limits}; {listed(partly)} not on every container, so the pod itself has no such limit")
    else:
        lines.append(f"limits {limits}")
    return Section("Requests", tuple(lines))


def _cgroup_section(report: PodReport, *, wide: bool) -> Section:
    own = report.cgroup
    if own is None:
        return Section("Cgroup", ())
    name = own.systemd.rpartition("/")[2] if own.systemd else f"pod<uid> in {own.parent}"
    lines: list[str | Row] = [name, _cgroup_values(own.config, own.cpu_weight)]
    if wide:
        if own.cgroupfs:
            lines.append(f"with the cgroupfs driver: {own.cgroupfs}")
        lines += [_container_cgroup(entry) for entry in own.containers]
    return Section("Cgroup", tuple(lines))


def _container_cgroup(entry: ContainerCgroup) -> Row:
    return Row((entry.container, _cgroup_values(entry.config, entry.cpu_weight)))


def _cgroup_values(config: ResourceConfig, weight: int | None) -> str:
    quota = f"{config.cpu_quota} {config.cpu_period}" if config.cpu_quota and config.cpu_quota > 0 else "max"
    limit = memory(config.memory) if config.memory else "max"
    return f"cpu.weight {weight} (v1: cpu.shares {config.cpu_shares}), cpu.max {quota}, memory.max {limit}"


def _priority_section(report: PodReport, *, wide: bool) -> Section:
    own = report.priority
    if own.rejected:
        return Section("Priority", (f"rejected: {own.rejected}",))
    if own.priority is None:
        named = f"that of class {quoted(own.class_name)}" if own.class_name else "that of the cluster's default class"
        return Section("Priority", (f"{named}: unknown without the cluster's PriorityClasses",))
    whence = {
        PrioritySource.CLASS: f"class {quoted(own.class_name)}",
        PrioritySource.GLOBAL_DEFAULT: f"class {quoted(own.class_name)}, the cluster's default",
    }.get(own.source or PrioritySource.NONE, "no PriorityClass")
    if report.placement is not None and report.placement.outcome is Outcome.NOT_MODELLED:
        manner = "whom it preempts is not modelled"
    elif own.preemption_policy == PREEMPT_NEVER:
        manner = "queues ahead of lower pods, preempts none (preemptionPolicy Never)"
    elif own.preemption_disabled:
        manner = f"queues ahead of lower pods, preempts none: {disabled_words(own.preemption_disabled)}"
    else:
        manner = "preempts lower pods when it fits nowhere else"
    lines = [f"{own.priority} ({whence}): {manner}"]
    if own.class_exists is False:
        lines.append(
            f"class {quoted(own.class_name)} no longer exists: this pod keeps {own.priority}, new ones are refused"
        )
    elif own.class_value_now is not None and own.class_value_now != own.priority:
        lines.append(
            f"class {quoted(own.class_name)} is {own.class_value_now} now: pods keep the value they were made with"
        )
    if own.priority >= SYSTEM_CRITICAL_PRIORITY:
        lines.append(f"critical: {SYSTEM_CRITICAL_PRIORITY} or more")
    if report.preempted is not None and report.preempted.higher_than:
        lower = listed([f"{pod.namespace}/{pod.name}" for pod in report.preempted.higher_than], most=3)
        lines.append(f"lower pods such as {lower} were left alone: without them no room, or a budget violated")
    if wide:
        lines.append(
            "preemption goes by priority alone, whatever the QoS class; the kubelet evicts first what uses more than "
            "it requests, and only then by priority"
        )
    return Section("Priority", tuple(lines))


def _force_section(report: PodReport, now: datetime | None) -> Section:
    label, owner = "Force delete", report.owner
    status = report.status
    if status is None:
        return Section(label, ())
    if not report.termination.processes:
        return Section(label, ("nothing to lose: no process of it runs",))
    quiet = quiet_node(report)
    told = quiet is None and report.platform is not Platform.VIRTUAL_KUBELET and not report.ending.static
    lines = [owner_risk(owner, report.name, idle=told and not report.termination.containers)]
    if quiet is not None:
        return Section(label, (*lines, *force_lines(report, quiet, now)))
    if report.ending.deleted_at is not None and report.platform is Platform.VIRTUAL_KUBELET:
        lines.append(f"already being deleted: {forcing_words(report.ending.holders)}; {PROVIDER}")
    elif report.ending.deleted_at is not None and not report.ending.static:
        lines.append(
            f"already being deleted: {forcing_words(report.ending.holders)}; "
            f"processes {until_words(report.ending.ends_by, now)}"
        )
    return Section(label, tuple(lines))


def _writers_section(report: PodReport) -> Section:
    """What keeps a second writer off each volume, and until when."""
    known = report.status.node.reach if report.status is not None and report.status.node is not None else None
    reach = known.reach if known is not None else Reach.UNKNOWN
    return Section("Writers", tuple(Row((guard.volume, guard_words(guard, reach))) for guard in report.guards))


def _owner_section(report: PodReport) -> Section:
    chain = " < ".join(f"{owner.kind} {owner.name}" for owner in report.owners)
    return Section("Owner", (chain,) if chain else ())


def _next_commands(report: PodReport, now: datetime | None, *, wide: bool) -> Iterator[Command]:
    status = report.status
    names = (report.name, report.namespace, *(owner.name for owner in report.owners))
    if not all(map(is_plain_name, names)):
        return  # A hostile snapshot must not put words into a command that people paste.
    if report.placement is not None:
        yield from claim_command(report.placement.claims)
    if status is None:
        return
    if quiet_node(report) is None and not status.deletion_timestamp:
        yield from health_commands(status.health, report.name, report.namespace, now)
    reach = status.node.reach if status.node is not None else None
    if reach is not None and reach.reach is Reach.GONE:
        yield qos("partitions")
    elif status.node is not None:
        if _is_there(report, status.node):
            yield qos("explain", f"node/{status.node.name}")
    elif status.unschedulable:
        yield kubectl("describe", "pod", report.name, namespace=report.namespace)
    top = report.owners[-1] if report.owners else None
    if top is not None and top.kind in {"Deployment", "StatefulSet", "DaemonSet"}:
        yield qos("explain", f"{top.kind.lower()}/{top.name}", namespace=report.namespace)
    if not wide:
        yield qos("explain", f"pod/{report.name}", namespace=report.namespace, options=("-o", "wide"))


def _is_there(report: PodReport, node: NodeFacts) -> bool:
    """Whether the pod's Node could be read: of one that is gone there is nothing to ask."""
    return node.ready is not None or bool(report.resources.node_allocatable)
