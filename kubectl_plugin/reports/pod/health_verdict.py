"""The code and severity of a pod's health, for its explanation and for the list of all pods."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from kubectl_plugin.reports.verdict import Severity, VerdictCode
from podrules.api.model.instant import instant
from podrules.pod.container_state import ObservedContainer, StateKind
from podrules.pod.health import PASSES, Health, TroubleKind

_LONG: Final = timedelta(minutes=10)
"""A pod that has not started within this time does not start by itself."""
_LATELY: Final = timedelta(hours=1)
"""An earlier restart is not news for a running pod."""


def health_verdict(health: Health, now: datetime | None) -> tuple[VerdictCode, Severity]:
    """The code and severity of the worst problem. TROUBLE: a container does not run, and will not by itself.

    Args:
        health: The health of a pod that has finished or is on a node that answers.
        now: The present; None: unknown, and no problem counts as old.
    """
    if health.phase in {"Failed", "Succeeded"}:
        failed = health.phase == "Failed"
        return (VerdictCode.FAILED, Severity.TROUBLE) if failed else (VerdictCode.SUCCEEDED, Severity.FINE)
    if health.oom_killed:
        return VerdictCode.OOM_KILLED, Severity.TROUBLE
    if health.of_kind(TroubleKind.HELD_UP):
        return VerdictCode.CONTAINER_WAITING, Severity.TROUBLE
    if health.of_kind(TroubleKind.ENDED):
        return VerdictCode.CONTAINER_ENDED, Severity.TROUBLE
    if health.phase == "Pending" and health.initializing:
        return VerdictCode.INITIALIZING, Severity.NOTICE
    if health.phase == "Pending":
        begun = instant(health.started)
        lasts = begun is not None and now is not None and now - begun > _LONG
        return VerdictCode.STARTING, Severity.TROUBLE if lasts else Severity.NOTICE
    if health.phase != "Running":
        return VerdictCode.PHASE_UNKNOWN, Severity.NOTICE
    if not health.ready:
        return VerdictCode.NOT_READY, Severity.NOTICE
    if lately_ended(health, now):
        return VerdictCode.RESTARTED, Severity.NOTICE
    return VerdictCode.RUNNING, Severity.FINE


def lately_ended(health: Health, now: datetime | None) -> list[ObservedContainer]:
    """Containers that ran out of memory or restarted recently."""
    found = list(health.oom_killed)
    for trouble in health.of_kind(TroubleKind.RESTARTED):
        one, ended = health.container(trouble.container), instant(trouble.ended_at)
        if one not in found and (now is None or ended is None or now - ended < _LATELY):
            found.append(one)
    return found


def ephemeral_trouble(health: Health, now: datetime | None) -> list[ObservedContainer]:
    """Ephemeral containers that cannot start, and those that recently ended with an error."""
    return [one for one in health.ephemeral if _is_held_up(one) or _failed_lately(one, now)]


def _is_held_up(one: ObservedContainer) -> bool:
    return one.state is StateKind.WAITING and one.reason not in PASSES


def _failed_lately(one: ObservedContainer, now: datetime | None) -> bool:
    if one.end is None or not one.end.exit_code:
        return False
    ended = instant(one.end.finished_at)
    return now is None or ended is None or now - ended < _LATELY
