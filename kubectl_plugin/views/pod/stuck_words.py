"""A stuck pod in words: the repeated warning, what `kubectl qos why` says about it, and what still runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kubectl_plugin.reports.pod.health_verdict import health_verdict
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.views.pod.health_words import lead_words
from kubectl_plugin.views.words import clock, counted, cut, lasting, listed, quoted, when_words
from podrules.api.model.instant import instant
from podrules.api.model.pod import DEFAULT_SCHEDULER_NAME
from podrules.ending.stuck import Stuck, UnprocessedPod
from podrules.pod.container_state import StateKind
from podrules.pod.health import Health

_MAX_READ: Final = 1024
"""The most characters of a message that are looked up: events have no more (NoteLengthLimit)."""
_NAMED: Final = 2
"""The most containers and messages that are named; the others are counted."""


def starting_verdict(stuck: Stuck, health: Health, now: datetime | None) -> Verdict:
    """The verdict on a pod that has a node and does not start."""
    lead, (first, *more) = lead_words(health, now), repeated_sentences(stuck, now)
    code, severity = (VerdictCode.STUCK, Severity.TROUBLE) if stuck.long else health_verdict(health, now)
    return Verdict(code, severity, (f"{lead}: {first}", *more), lead=lead)


def ending_verdict(stuck: Stuck, report: PodReport, lead: str, now: datetime | None) -> Verdict:
    """The verdict on a pod that was deleted and still exists."""
    ending, (first, *more) = report.ending, repeated_sentences(stuck, now)
    if not ending.processes:
        still = "Its processes have ended; its kubelet has not cleaned up."
    else:
        over = f"Overdue since {clock(ending.ends_by, now)}" if ending.ends_by is not None else "Overdue"
        runs = running_names(report)
        still = f"{over}: {runs} by its status." if runs else f"{over}."
    return Verdict(VerdictCode.STUCK, Severity.TROUBLE, (f"{lead}: {first}", still, *more))


def running_names(report: PodReport) -> str:
    """``container "app" still runs``; empty if none is known to run."""
    health = report.status.health if report.status is not None else None
    running = [one.name for one in health.containers if one.state is StateKind.RUNNING] if health is not None else []
    if not running:
        return ""
    names = listed([quoted(name) for name in running], most=_NAMED)
    return f"container {names} still runs" if len(running) == 1 else f"containers {names} still run"


def repeated_sentences(stuck: Stuck, now: datetime | None, *, helps: bool = True) -> Iterator[str]:
    """``FailedMount 30 times in 57 min, last 2 min ago: …``, and, with ``helps``, what helps."""
    first, last = instant(stuck.first), instant(stuck.last)
    span = f" in {lasting(last - first)}" if first is not None and last is not None and last > first else ""
    times = f" {counted(stuck.times, 'time')}{span}" if stuck.times > 1 else ""
    when = when_words(stuck.last, now)
    about = f" ({stuck.about})" if stuck.about else ""
    facts = (
        f"{stuck.reason}{about}{times}{f', last {when}' if when and stuck.times > 1 else f' {when}' if when else ''}"
    )
    said = cut(stuck.message).rstrip(". ")
    yield f"{facts}{f': {said}' if said else ''}."
    # Loaded on demand: few pods are stuck.
    from kubectl_plugin.glossary.lookup import find

    message = stuck.message[:_MAX_READ]
    found = find(message) or find(stuck.reason)
    if helps and found and found[0].entry.do:
        yield found[0].entry.do[0]
    for message in stuck.also[:_NAMED]:
        yield f"Also: {cut(message).rstrip('. ')}."
    if len(stuck.also) > _NAMED:
        yield f"The same step fails for {counted(len(stuck.also) - _NAMED, 'more volume')}."


def autoscaler_words(report: PodReport, now: datetime | None) -> Iterator[str]:
    """``cluster-autoscaler, 2 min ago: pod didn't trigger scale-up: …``."""
    event = report.autoscaler
    if event is not None:
        when = when_words(event.at, now)
        yield f"{event.component}{f', {when}' if when else ''}: {cut(event.message).rstrip('. ') or event.reason}."


def unseen_words(unseen: UnprocessedPod) -> Iterator[str]:
    """``no scheduler has seen it (spec.schedulerName "x", no PodScheduled condition).``, then what helps."""
    yield f"no scheduler has seen it (spec.schedulerName {quoted(unseen.scheduler)}, no PodScheduled condition)."
    if unseen.scheduler == DEFAULT_SCHEDULER_NAME:
        yield "Check that kube-scheduler runs."
    else:
        yield f"Check that a scheduler of that name runs; the default is {quoted(DEFAULT_SCHEDULER_NAME)}."
