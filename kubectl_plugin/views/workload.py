"""A workload in words: the pod that it would make next, and the pods that it has."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kubectl_plugin.render.command import Command, qos
from kubectl_plugin.render.page import Page, Section, Table
from kubectl_plugin.reports.workload import WorkloadReport
from kubectl_plugin.views.pod import pod_page, unread_section
from kubectl_plugin.views.skew_words import domain_words, skew_words
from kubectl_plugin.views.words import counted, is_plain_name
from podrules.skew import ConstraintSkew

__all__ = ["workload_page", "workload_title"]

_HEADINGS = ("pod", "status", "qos", "priority", "node")


def workload_page(report: WorkloadReport, *, now: datetime | None, wide: bool) -> Page:
    """The template's page under the workload's name, and a line for each pod."""
    template = pod_page(report.template, now=now, wide=wide)
    parts: list[Section | Table] = list(template.parts)
    parts += _spread_now(report)
    if report.pods:
        rows = tuple(
            (
                pod.name,
                "Terminating" if pod.terminating else pod.phase,
                pod.qos_class.value,
                "" if pod.priority is None else str(pod.priority),
                pod.node or "none yet",
            )
            for pod in report.pods
        )
        parts.append(Table(f"{counted(len(report.pods), 'pod')} now", _HEADINGS, rows, right=frozenset({3})))
    elif report.pods is not None:
        parts.append(Section("Pods", ("none now",)))
    if report.unread:
        parts.append(unread_section(report.unread))
    return Page(
        title=workload_title(report),
        verdict=template.verdict,
        severity=template.severity,
        parts=tuple(parts),
        next_commands=tuple(_next_commands(report)),
    )


def _spread_now(report: WorkloadReport) -> Iterator[Section]:
    lines = [_skew_line(one) for spread in report.spread for one in spread.constraints]
    if lines:
        yield Section("Spread now", tuple(dict.fromkeys(lines)))


def _skew_line(one: ConstraintSkew) -> str:
    stays = "; nothing moves running pods" if one.exceeded else ""
    return f"{skew_words(one)}{stays}: {domain_words(one)}"


def _next_commands(report: WorkloadReport) -> Iterator[Command]:
    first = next(iter(report.pods or ()), None)
    if first is not None and is_plain_name(first.name) and is_plain_name(report.namespace):
        yield qos("explain", f"pod/{first.name}", namespace=report.namespace)


def workload_title(report: WorkloadReport) -> str:
    """``deployment/web in namespace shop, 3 replicas wanted: its next pod``."""
    namespace = f" in namespace {report.namespace}" if report.namespace else ""
    wanted = "" if report.replicas is None else f", {counted(report.replicas, 'replica')} wanted"
    return f"{report.workload_kind.lower()}/{report.name}{namespace}{wanted}: its next pod"
