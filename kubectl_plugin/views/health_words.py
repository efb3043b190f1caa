"""What keeps a pod from running as it should, in words, with how urgent that is."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from kubectl_plugin.reports.pod import ContainerEnd, PodStatusReport
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.views.words import clock, counted, duration, instant, listed, quoted
from podrules.health import Trouble, TroubleKind

__all__ = ["ended_words", "health_words"]

_LONG: Final = timedelta(minutes=10)
"""A pod that has not started for so long does not start by itself."""
_LATELY: Final = timedelta(hours=1)
"""A restart before that is no news of a pod that runs."""
_OOM_KILLED: Final = "OOMKilled"


def health_words(status: PodStatusReport, now: datetime | None) -> Verdict | None:
    """What is wrong with a pod whose node answers, the worst in one sentence; None: it runs as it should."""
    health = status.health
    if held_up := health.of_kind(TroubleKind.HELD_UP):
        return _said(
            VerdictCode.CONTAINER_WAITING, Severity.TROUBLE, _with_others(held_up, "does not run", "do not run")
        )
    if ended := health.of_kind(TroubleKind.ENDED):
        return _said(VerdictCode.CONTAINER_ENDED, Severity.TROUBLE, _with_others(ended, "has ended", "have ended"))
    if status.phase == "Pending":
        return _starting(status, now)
    if status.phase == "Unknown":
        text = "Its phase is Unknown: its state could not be read."
        return _said(VerdictCode.PHASE_UNKNOWN, Severity.NOTICE, text)
    if health.ready is False:
        return _said(VerdictCode.NOT_READY, Severity.NOTICE, _not_ready(status, now))
    restarted = [one for one in health.of_kind(TroubleKind.RESTARTED) if one.end_reason != _OOM_KILLED]
    lately = next((one for one in restarted if _is_lately(one, now)), None)
    if lately is None:
        return None
    when = instant(lately.ended_at)
    at = f" at {clock(when, now)}" if when is not None else ""
    times, last = counted(lately.restarts, "time"), _exit(lately.exit_code, lately.end_reason)
    text = f"Container {quoted(lately.container)} was restarted {times}, last after {last}{at}."
    return _said(VerdictCode.RESTARTED, Severity.NOTICE, text)


def _said(code: VerdictCode, severity: Severity, text: str) -> Verdict:
    return Verdict(code, severity, (text,))


def ended_words(ends: tuple[ContainerEnd, ...]) -> str:
    """How the containers of a pod that failed ended, the first with an error."""
    failed = next((end for end in ends if end.exit_code), None)
    if failed is None:
        return "a container ended with an error."
    restarts = f", {counted(failed.restarts, 'restart')}" if failed.restarts else ""
    return f"container {quoted(failed.container)} ended with {_exit(failed.exit_code, failed.reason)}{restarts}."


def _with_others(troubles: tuple[Trouble, ...], one: str, many: str) -> str:
    """``Container "app" does not run (CrashLoopBackOff, last exit code 1 (Error), 12 restarts): back-off …``."""
    first = troubles[0]
    more = f" and {len(troubles) - 1} more" if len(troubles) > 1 else ""
    facts = [first.reason] if first.kind is TroubleKind.HELD_UP else []
    if first.exit_code is not None:
        last = "last " if first.kind is TroubleKind.HELD_UP else ""
        facts.append(f"{last}{_exit(first.exit_code, first.end_reason)}")
    if first.restarts:
        facts.append(counted(first.restarts, "restart"))
    # What follows names the pod anew, by its uid too.
    message = first.message.partition(" pod=")[0].rstrip(".")
    what = "Init container" if first.init and not more else "Container"
    said = f": {message}" if message else ""
    return f"{what} {quoted(first.container)}{more} {many if more else one} ({', '.join(facts)}){said}."


def _exit(code: int | None, reason: str) -> str:
    return f"exit code {code}{f' ({reason})' if reason else ''}"


def _starting(status: PodStatusReport, now: datetime | None) -> Verdict:
    health = status.health
    if health.initializing:
        begun = instant(health.initializing_since)
        lasting = f" for {duration(now - begun)}" if now is not None and begun is not None else ""
        who = quoted(health.initializing)
        text = f"Its init container {who} runs{lasting}: the containers after it wait for its end."
        return _said(VerdictCode.INITIALIZING, Severity.NOTICE, text)
    starting = health.of_kind(TroubleKind.STARTING)
    reasons = list(dict.fromkeys(trouble.reason for trouble in starting if trouble.reason))
    if health.no_sandbox:
        reasons.append("its sandbox and network are not there, PodReadyToStartContainers False")
    why = f" ({listed(reasons)})" if reasons else ""
    since = instant(health.started)
    if now is not None and since is not None and now - since > _LONG:
        text = f"It has not started for {duration(now - since)}{why}."
        return _said(VerdictCode.STARTING, Severity.TROUBLE, text)
    return _said(VerdictCode.STARTING, Severity.NOTICE, f"It has not started yet{why}.")


def _not_ready(status: PodStatusReport, now: datetime | None) -> str:
    since = instant(status.not_ready_since)
    when = f" since {clock(since, now)}" if since is not None else ""
    names = [quoted(trouble.container) for trouble in status.health.of_kind(TroubleKind.NOT_READY)]
    who = f"Container {names[0]} runs" if len(names) == 1 else f"Containers {listed(names)} run" if names else "It runs"
    verb = "are" if len(names) > 1 else "is"
    why = f" ({status.health.unready})" if status.health.unready and not names else ""
    return f"{who} and {verb} not Ready{when}{why}: Services that want Ready pods send it nothing."


def _is_lately(trouble: Trouble, now: datetime | None) -> bool:
    when = instant(trouble.ended_at)
    return now is None or when is None or now - when < _LATELY
