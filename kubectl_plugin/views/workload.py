"""The page of a workload: how many pods run, the worst first, and the pod that it would create next."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from kubectl_plugin.render.command import qos
from kubectl_plugin.render.page import Page, Section, Table
from kubectl_plugin.reports.verdict import Severity, Verdict, joined_verdict, lacking
from kubectl_plugin.reports.workload import WorkloadPod, WorkloadReport
from kubectl_plugin.views.caveats import assumed_words
from kubectl_plugin.views.pod.admission_words import creation_commands
from kubectl_plugin.views.pod.pod_page import pod_page, unread_section
from kubectl_plugin.views.pod.verdict import verdict
from kubectl_plugin.views.scheduling.spread_words import domain_words, skew_words
from kubectl_plugin.views.words import ago, counted
from kubectl_plugin.views.workload_words import by_trouble, new_pods_refused, place_words, refusal_of, standing
from podrules.api.refusals import refuser
from podrules.ending.pod_state import PodState

_HEADINGS: Final = ("pod", "restarts", "age", "status")
_WIDE_HEADINGS: Final = ("pod", "qos", "priority", "restarts", "age", "status")
_MAX_PODS: Final = 10
"""The most rows of the table without -o wide."""
_MAX_NEXT: Final = 2
_WELL: Final = frozenset({PodState.READY, PodState.SUCCEEDED})


def workload_page(report: WorkloadReport, *, now: datetime | None, wide: bool) -> Page:
    """The state of its pods, one line each, and the template's page under the workload's name."""
    template = pod_page(report.template, now=now, wide=wide)
    summary = workload_verdict(report, now)
    parts: list[Section | Table] = []
    if report.pods:
        # Those in trouble come first; with QoS and priority if any pod differs from the template.
        own = (report.template.qos.qos_class, report.template.priority.priority)
        with_class = wide or any((pod.qos_class, pod.priority) != own for pod in report.pods)
        shown = by_trouble(report.pods) if wide else by_trouble(report.pods)[:_MAX_PODS]
        rows: list[tuple[str, ...]] = [_row(pod, now, with_class=with_class) for pod in shown]
        if len(report.pods) > len(shown):
            rows.append((f"and {len(report.pods) - len(shown)} more (-o wide)",))
        right = {2, 3} if with_class else {1}
        title = f"{counted(len(report.pods), 'pod')} now"
        parts.append(Table(title, _WIDE_HEADINGS if with_class else _HEADINGS, tuple(rows), right=frozenset(right)))
    elif report.pods is not None:
        parts.append(Section("Pods", ("none now",)))
    lines = [
        f"{skew_words(one)}{'; nothing moves running pods' if one.exceeded else ''}: {domain_words(one)}"
        for spread in report.spread
        for one in spread.constraints
    ]
    parts += [Section("Spread now", tuple(dict.fromkeys(lines))), *template.parts]
    # The template's page already shows the rest.
    parts.append(unread_section(tuple(one for one in report.unread if one not in report.template.unread)))
    # A command for one pod of each bad state, the worst first; for a healthy pod if none is in trouble.
    refused = refusal_of(report)
    next_commands = [] if refused is None else [*creation_commands(refused.message, report.namespace)]
    pods = by_trouble(report.pods or ())
    troubled = {pod.state: pod for pod in reversed(pods) if pod.state not in _WELL}
    asked = [pod for pod in pods if pod is troubled.get(pod.state)] or pods[:1]
    next_commands += [qos("explain pod/{}", pod.name, namespace=report.namespace) for pod in asked[:_MAX_NEXT]]
    exists = report.pods is not None or report.schedule is not None
    return Page(
        title=_workload_title(report) if exists else next_pod_title(report),
        verdict=summary.sentences,
        severity=summary.severity,
        parts=tuple(parts),
        next_commands=tuple(next_commands),
    )


def workload_verdict(report: WorkloadReport, now: datetime | None) -> Verdict:
    """The state of the pods, and what the next one would be."""
    lacks = (one for one in report.lacks if one not in report.template.lacks)
    template, stand = verdict(report.template, now), standing(report, now)
    joined = template if stand is None else stand
    # A Job that has ended creates no more pods.
    if stand is not None and not (report.job is not None and report.job.ended):
        said, severity = _of_template(report, template.sentences), template.severity
        refusal, missing = report.template.refusal, report.counts is not None and report.counts.missing
        if refusal is not None and refusal.resources and not missing:
            # A quota has no room for one more pod, but no pod is missing.
            severity = Severity.NOTICE
        joined = joined_verdict((stand, Verdict(template.code, severity, said)))
    return lacking(joined, assumed_words(lacks))


def _of_template(report: WorkloadReport, sentences: tuple[str, ...]) -> tuple[str, ...]:
    """The sentences about the next pod, which follow those about the existing ones."""
    if refused := new_pods_refused(report):
        now, new = refusal_of(report), report.template.refusal
        same = now is not None and new is not None and refuser(now.message) == refuser(new.message) is not None
        return (*(() if same else (refused,)), *assumed_words(report.template.lacks))
    first, *rest = sentences
    return f"Each new pod: {first}", *rest


def _row(pod: WorkloadPod, now: datetime | None, *, with_class: bool) -> tuple[str, ...]:
    more = (pod.qos_class.value, "" if pod.priority is None else str(pod.priority)) if with_class else ()
    return pod.name, *more, str(pod.restarts), ago(pod.created, now) or "", place_words(pod, now)


def _workload_title(report: WorkloadReport) -> str:
    """``deployment/web in namespace shop, 3 replicas wanted``."""
    namespace = f" in namespace {report.namespace}" if report.namespace else ""
    number, what = report.replicas, "replica"
    if number is None and report.job is None and report.counts is not None:
        number, what = report.counts.wanted, "pod"
    wanted = "" if number is None else f", {counted(number, what)} wanted"
    return f"{report.workload_kind.lower()}/{report.name}{namespace}{wanted}"


def next_pod_title(report: WorkloadReport) -> str:
    """``deployment/web in namespace shop, 3 replicas wanted: its next pod``."""
    return f"{_workload_title(report)}: its next pod"
