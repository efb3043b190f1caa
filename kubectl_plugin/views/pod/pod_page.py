"""A pod's explanation in words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kubectl_plugin.render.command import Command, kubectl, qos, why
from kubectl_plugin.render.page import Page, Row, Section
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.reports.verdict import VerdictCode
from kubectl_plugin.views.caveats import unread_lines, versions_section
from kubectl_plugin.views.node.node_words import pod_platform_section, reach_commands
from kubectl_plugin.views.node.silent_node import quiet_node
from kubectl_plugin.views.pod.admission_words import dry_run_section, pod_security_section, refusal_term, webhook_lines
from kubectl_plugin.views.pod.container_words import container_words
from kubectl_plugin.views.pod.ending import stop_lines, tracking_commands
from kubectl_plugin.views.pod.health_words import health_commands
from kubectl_plugin.views.pod.pod_brief import (
    brief_sections,
    force_section,
    granted_line,
    last_end_section,
    limited_in_part,
    priority_section,
)
from kubectl_plugin.views.pod.qos import memory_section, oom_section, pressure_section, qos_section
from kubectl_plugin.views.pod.safety_words import guard_words, second_writers_section
from kubectl_plugin.views.pod.verdict import refused_words, verdict
from kubectl_plugin.views.pod.volume_words import claim_command, moving_section, volume_command
from kubectl_plugin.views.scheduling.budget_words import budget_section
from kubectl_plugin.views.scheduling.placement import placement_parts, without_counts
from kubectl_plugin.views.scheduling.preemption import preemptors_section
from kubectl_plugin.views.words import amount, amounts, listed, memory, memory_qos_values
from podrules.api.model.pod import DEFAULT_SCHEDULER_NAME, PodQOSClass
from podrules.ending.attachment import WaitsFor
from podrules.ending.died.of_pod import EndOf
from podrules.node.reachability import NodeReach, Reach
from podrules.pod.cgroup import ResourceConfig
from podrules.pod.container_state import OOM_KILLED, ContainerKind
from podrules.pod.memory_qos import MemoryQoS
from podrules.pod.platform import Platform
from podrules.pod.reading import UnreadInput
from podrules.pod.termination import GraceSource

_IF_ACCEPTED: Final = "If it were accepted:"
_KINDS: Final = {
    ContainerKind.APP: "",
    ContainerKind.INIT: " (init)",
    ContainerKind.SIDECAR: " (sidecar)",
    ContainerKind.EPHEMERAL: " (ephemeral)",
}


def pod_page(report: PodReport, *, now: datetime | None, wide: bool) -> Page:
    """The page of a pod: the verdict, the trouble and the deciding facts; ``wide`` adds everything else."""
    judged = verdict(report, now)
    sections = _all_sections(report, now) if wide else brief_sections(report, now)
    namespace = f" in namespace {report.namespace}" if report.namespace else ""
    node = report.status.node if report.status else None
    if report.daemon is not None:
        # Loaded on demand.
        from kubectl_plugin.views.scheduling.daemon_words import daemon_parts

        placement = tuple(daemon_parts(report.daemon, wide=wide))
    else:
        placement = tuple(placement_parts(report, now=now, wide=wide))
    # Its placement is the first question about a pod that waits, and the last about other pods.
    placed_first, placed_last = (placement, ()) if report.status and node is None else ((), placement)
    place = f", on {node.name}" if node else ""
    next_commands = [*_all_commands(report, now)]
    if not wide and report.status is not None:
        # A pod that runs as it should needs no commands but the one that shows the rest.
        health, answers = report.status.health, node is not None and node.reach and not node.reach.reach.quiet
        well = answers and health.ready is True and not health.troubles and not report.status.deletion_timestamp
        if well and not report.preemptors.found:
            next_commands = []
        if judged.code is VerdictCode.NEAR_MEMORY_LIMIT:
            next_commands.insert(0, why(OOM_KILLED, comment="what helps before the limit is reached"))
        next_commands.append(qos("explain pod/{}", report.name, namespace=report.namespace, options="-o wide"))
    said = judged.sentences if wide else tuple(without_counts(judged.sentences, report.placement))
    return Page(
        title=f"pod/{report.name}{namespace}{place}",
        verdict=(*said, *((_IF_ACCEPTED,) if report.refused else ())),
        severity=judged.severity,
        parts=(*placed_first, *sections, *placed_last),
        next_commands=tuple(next_commands),
    )


def _all_sections(report: PodReport, now: datetime | None) -> Iterator[Section]:
    # Every rejected field, if there are several.
    several = len(report.refusals) > 1
    yield Section("Refused", tuple(refused_words(one) for one in report.refusals) if several else ())
    health = report.status.health if report.status is not None else None
    containers = (*health.containers, *health.ephemeral) if health is not None else ()
    states = (Row((f"{one.name}{_KINDS[one.kind]}", container_words(one, now, whole=True))) for one in containers)
    yield Section("Containers", tuple(states))
    yield memory_section(report, wide=True)
    yield last_end_section(report, now)
    yield qos_section(report, wide=True)
    if report.termination.grace.source is not GraceSource.FINISHED:
        yield pod_platform_section(report.platform)
        yield oom_section(report)
        yield pressure_section(report, wide=True)
        yield _requests_section(report)
        yield _cgroup_section(report)
    yield priority_section(report, wide=True)
    yield preemptors_section(report.preemptors, wide=True)
    yield Section("Stops", tuple(stop_lines(report, now, wide=True)))
    yield force_section(report, now, wide=True)
    # What keeps a second writer off each volume, and until when.
    known = report.status.node.reach if report.status is not None and report.status.node is not None else None
    reach = known.reach if known is not None else Reach.UNKNOWN
    yield Section("Writers", tuple(Row((guard.volume, guard_words(guard, reach))) for guard in report.guards))
    yield second_writers_section(report.second_writers, wide=True)
    yield moving_section(report.moving, now)
    chain = " < ".join(f"{owner.kind} {owner.name}" for owner in report.owners)
    yield Section("Owner", (chain,) if chain else ())
    yield budget_section(report.budgets)
    yield pod_security_section(report.warning)
    yield Section("Webhook", tuple(webhook_lines(report.webhook)))
    yield dry_run_section(report.dry_run)
    yield versions_section(report.version_notes, report.assumed_gates)
    yield unread_section((*report.unread, *report.placement_unread))


def unread_section(unread: tuple[UnreadInput, ...]) -> Section:
    """What could not be read, and why."""
    return Section("Unknown", unread_lines(unread))


def _requests_section(report: PodReport) -> Section:
    own = report.resources
    allocatable = own.node_allocatable or {}
    node = report.status.node if report.status else None
    asked = [
        f"{name} {' of '.join(amounts(name, [text, *([allocatable[name]] if name in allocatable else [])]))}"
        for name, text in own.requests.items()
    ]
    where = f" allocatable on {node.name}" if node and allocatable else ""
    lines = [f"{listed(asked)}{where}" if asked else "none: the scheduler counts nothing for it"]
    if own.allocated is not None:
        lines.append(granted_line(report))
        if report.platform is Platform.LINUX:
            lines.append("oom_score_adj stays as it was when the container started, until it restarts")
    limits = listed([f"{name} {amount(name, text)}" for name, text in own.limits.items()])
    partly, why_none = limited_in_part(report), ""
    if partly:
        # Why the pod's own cgroup has no limit for resources that containers limit.
        none = "the pod itself has no such limit"
        why_none = f"; {listed(partly)} not on every container, so {none}"
        if report.qos.qos_class is PodQOSClass.BEST_EFFORT:
            why_none = f"; {none}, because its class is BestEffort"
        elif report.qos.explanation.decided_by == "spec.resources":
            why_none = f"; {none}: its kubelet ignores spec.resources"
    lines.append(f"limits {limits}{why_none}" if limits else "no limits")
    return Section("Requests", tuple(lines))


def _cgroup_section(report: PodReport) -> Section:
    own = report.cgroup
    if own is None:
        return Section("Cgroup", ())
    name = own.systemd.rpartition("/")[2] if own.systemd else f"pod<uid> in {own.parent}"
    place = f", as on {own.as_on}: kubelets of other nodes have other rules" if own.as_on else ""
    lines: list[str | Row] = [f"{name}{place}", _cgroup_values(own.config, own.cpu_weight, own.memory_qos)]
    if own.cgroupfs:
        lines.append(f"with the cgroupfs driver: {own.cgroupfs}")
    lines += [
        Row((entry.container, _cgroup_values(entry.config, entry.cpu_weight, entry.memory_qos)))
        for entry in own.containers
    ]
    return Section("Cgroup", tuple(lines))


def _cgroup_values(config: ResourceConfig, weight: int | None, kept: MemoryQoS | None) -> str:
    quota = f"{config.cpu_quota} {config.cpu_period}" if config.cpu_quota and config.cpu_quota > 0 else "max"
    limit = memory(config.memory) if config.memory else "max"
    cpu = f"cpu.weight {weight} (v1: cpu.shares {config.cpu_shares}), cpu.max {quota}"
    return ", ".join((cpu, *memory_qos_values(kept), f"memory.max {limit}"))


def _all_commands(report: PodReport, now: datetime | None) -> Iterator[Command]:
    status = report.status
    if report.placement is not None:
        bound = report.placement.binding
        yield from claim_command(report.placement.claims or (() if bound is None else bound.claims))
        near = [node.node for group in report.placement.rejected for node in group.nodes]
        volumes = report.placement.volumes if status is not None else ()
        yield from volume_command(volumes, report.name, report.namespace, next(iter(near), ""))
    if report.refused:
        terms = [entry.term for entry in report.refusals if entry.term]
        terms += ["PriorityClass"] if report.priority.rejected and not terms else []
        terms += [refusal_term(report.refusal)] if report.refusal is not None else []
        yield from map(why, dict.fromkeys(terms))
    if status is None:
        return
    if quiet_node(report) is None and not status.deletion_timestamp:
        yield from health_commands(status.health, report.name, report.namespace, now)
    yield from tracking_commands(report, now)
    if report.stuck is not None:
        yield why(report.stuck.reason)
    elif report.unseen is not None and report.unseen.is_long(now) and report.unseen.scheduler == DEFAULT_SCHEDULER_NAME:
        yield kubectl("get lease kube-scheduler", namespace="kube-system")
    reach = status.node.reach if status.node is not None else None
    # No command for a node helps if the driver does not detach the volume.
    held = [NodeReach(one.node, one.reach, "") for one in report.moving if one.waits_for is not WaitsFor.DRIVER]
    yield from dict.fromkeys(command for entry in (reach, *held) for command in reach_commands(entry))
    # On a node that answers, the pod that keeps the volume decides.
    holders = [name for entry in report.moving if not entry.reach.quiet for name in entry.held_by]
    yield from (qos("explain pod/{}", name, namespace=report.namespace) for name in holders[:1] if name != report.name)
    if report.last_end is not None and report.last_end.end.of is not EndOf.NOTHING:
        yield qos("died pod/{}", report.name, namespace=report.namespace, comment="what ended it, and the proof")
    for one in report.preemptors.found[:1]:
        yield qos("explain pod/{}", one.pod.name, namespace=one.pod.namespace, comment="why it fits nowhere")
    if status.node is not None:
        # Only an existing Node can be named.
        exists = status.node.ready is not None or bool(report.resources.node_allocatable)
        if exists and quiet_node(report) is None:
            yield qos("explain node/{}", status.node.name)
    elif status.unschedulable:
        yield kubectl("describe pod {}", report.name, namespace=report.namespace)
    top = report.owners[-1] if report.owners else None
    if top is not None and top.kind in {"Deployment", "StatefulSet", "DaemonSet"}:
        yield qos("explain {}/{}", top.kind.lower(), top.name, namespace=report.namespace)
