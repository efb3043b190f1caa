"""The sentences about a workload's controller: what it could not do, and which pods have an old template."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.reports.workload.rollout import ReportedReason, Rollout, Schedule
from kubectl_plugin.views.words import ago, counted, cut, when_words

_MOST: Final = 400
"""The most characters of a message."""
_POD_SECURITY: Final = "violates PodSecurity"
_FIELDS: Final = re.compile(r" \([^()]{1,400}\)")
"""Matches the required value of each field of a violation; `lint` reports these for the template."""


def said_words(said: ReportedReason, now: datetime | None) -> str:
    """``FailedCreate 3 min ago: pods "web-1" is forbidden: exceeded quota``: the original words without full stop."""
    reason = " ".join(filter(None, (said.reason, when_words(said.at, now))))
    return ": ".join(filter(None, (reason, cut(without_fields(said.message), _MOST).rstrip("."))))


def without_fields(message: str) -> str:
    """A Pod Security violation without the required value of each field."""
    return _FIELDS.sub("", message) if _POD_SECURITY in message else message


def old_words(rollout: Rollout | None) -> Iterator[str]:
    """``1 of the old template (partition 2)``."""
    if rollout is None or not rollout.old:
        return
    held = {"": "", "paused": "", "OnDelete": " (OnDelete)", "partition": f" (partition {rollout.partition})"}
    yield f"{rollout.old} of the old template{held[rollout.held_by]}"


def rollout_verdicts(
    rollout: Rollout | None, lead: str, remedy: str, now: datetime | None, *, explained: bool
) -> Iterator[Verdict]:
    """A verdict for each thing that the controller reports, the worst first.

    Args:
        rollout: What the controller reports.
        lead: The sentence before, with the number of running pods and their template.
        remedy: What makes the API server admit pods; empty: unknown.
        now: The present.
        explained: True if ``lead`` already says why pods are refused.
    """
    if rollout is None:
        return
    trouble, notice = Severity.TROUBLE, Severity.NOTICE
    if rollout.refused is not None:
        sentence = f"The controller cannot make or delete pods: {said_words(rollout.refused, now)}."
        said = (*(() if explained else (sentence,)), *filter(None, (remedy,)))
        yield Verdict(VerdictCode.PODS_REFUSED, trouble, said, lead if explained else sentence)
    if rollout.stalled is not None:
        sentence = f"The rollout is stuck: {said_words(rollout.stalled, now)}."
        yield Verdict(VerdictCode.ROLLOUT_STUCK, trouble, (sentence,))
    if rollout.behind:
        seen = f"generation {rollout.observed} of {rollout.generation}" if rollout.observed else "no generation"
        sentence = f"The controller has not acted on the newest spec yet: it has seen {seen}."
        yield Verdict(VerdictCode.SPEC_NOT_OBSERVED, notice, (sentence,))
    if rollout.paused:
        sentence = "The rollout is paused: changes of the template are not rolled out."
        yield Verdict(VerdictCode.ROLLOUT_PAUSED, notice, (sentence,))
    elif rollout.old:
        yield Verdict(VerdictCode.ROLLOUT_PARTIAL, notice, (), lead)


def schedule_verdict(schedule: Schedule, now: datetime | None) -> Verdict:
    """``Scheduled */5 * * * *: the last Job was due 3m ago, 1 Job runs.``."""
    last = "it has made no Job yet"
    if schedule.last is not None:
        when = ago(schedule.last, now)
        last = f"the last Job was due {when} ago" if when is not None else f"the last Job was due at {schedule.last}"
    active = len(schedule.active)
    runs = f"{counted(active, 'Job')} {'runs' if active == 1 else 'run'}" if active else "no Job runs"
    if schedule.suspended:
        return Verdict(VerdictCode.SUSPENDED, Severity.NOTICE, (f"Suspended: it makes no Jobs; {last}, {runs}.",))
    return Verdict(VerdictCode.SCHEDULED, Severity.FINE, (f"Scheduled {schedule.schedule}: {last}, {runs}.",))
