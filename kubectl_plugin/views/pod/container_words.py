"""The state of one container in words: why it waits, how often it restarted, and how it ended."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from kubectl_plugin.views.words import amount, counted, cut, for_words, lasting, when_words
from podrules.ending.died.windows_exits import windows_exit
from podrules.pod.container_state import (
    OOM_KILLED,
    STATUS_UNKNOWN,
    ContainerKind,
    ObservedContainer,
    StateKind,
    Termination,
)
from podrules.pod.resources import MEMORY

_MOST: Final = 200
"""The most characters of a message: it may be the end of a log."""
_BACK_OFF: Final = "back-off "
_FATAL: Final = r"\b(panic|fatal|FATAL|Exception in thread|Caused by|level=(fatal|error)|[Ee]rror:)"
_ERROR: Final = "Error"
"""The kubelet's word for any end with an exit code other than 0."""
_NAMES: Final = "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM"
_SIGNALS: Final = dict(enumerate(_NAMES.split(), start=1)) | {24: "XCPU", 25: "XFSZ", 31: "SYS"}
"""The names of Linux on most machines: signal(7)."""


def container_words(
    one: ObservedContainer, now: datetime | None, *, since: datetime | None = None, whole: bool = False
) -> str:
    """``CrashLoopBackOff, 12 restarts in 39 h, last exit 1 (Error) 3 min ago: back-off …``.

    ``since``: when its pod started (status.startTime); ``whole``: with the kubelet's whole message, and also for a
    ready container that it runs.
    """
    if one.end is not None:
        facts, message = [f"ended with {end_words(one.end, one, now)}"], one.end.message
    elif one.state is StateKind.RUNNING:
        facts, message = [], ""
        if not one.ready or whole:
            lasts = for_words(one.started_at, now)
            facts.append(f"runs{f' {lasts}' if lasts else ''}")
            if one.kind is not ContainerKind.INIT:
                ready = "ready" if one.ready else "not ready"
                facts.append(ready if one.started is not False else "not started yet (startupProbe or postStart)")
    else:
        facts, message = [one.reason or "waits"], one.message
        # How long the kubelet waits says less than why the container ended.
        if one.last is not None and one.last.message and message.startswith(_BACK_OFF):
            message = one.last.message
    if one.restarts:
        span = f" in {lasting(now - since)}" if one.restarts > 1 and now is not None and since is not None else ""
        facts.append(f"{counted(one.restarts, 'restart')}{span}")
    if one.end is None and one.last is not None:
        facts.append(f"last {end_words(one.last, one, now)}")
    said = message if whole else decisive(message.partition(" pod=")[0])
    return f"{', '.join(facts)}{f': {said}' if said else ''}"


def end_words(end: Termination, one: ObservedContainer, now: datetime | None) -> str:
    """``exit 1 (Error) 3 min ago``, ``exit 137 (signal 9, SIGKILL)``, ``exit 137 (OOMKilled, memory limit 128Mi)``."""
    named = windows_exit(end.exit_code)
    facts = [end.reason] if end.reason and not (end.reason == _ERROR and (end.signal or named)) else []
    facts += [named.name] if named is not None else []
    if end.reason == OOM_KILLED:
        limit = amount(MEMORY, one.memory_limit) if one.memory_limit is not None else ""
        facts.append(f"memory limit {limit}" if limit else "no memory limit")
    elif end.signal:
        facts.append(f"signal {end.signal}")
        facts += [signal_name(end.signal)] if end.signal in _SIGNALS else []
    how, when = ", ".join(facts), when_words(end.finished_at, now)
    code = "an unknown exit code" if end.reason == STATUS_UNKNOWN else f"exit {end.exit_code}"
    return f"{code}{f' ({how})' if how else ''}{f' {when}' if when else ''}"


def signal_name(number: int | None) -> str:
    """``SIGKILL``; ``signal 40`` for a signal without a name; empty if there is none."""
    if not number:
        return ""
    return f"SIG{_SIGNALS[number]}" if number in _SIGNALS else f"signal {number}"


def decisive(message: str) -> str:
    """The decisive line of a message, cut: the first that names a panic or another fatal error, else the last."""
    lines = [line for line in message.strip().splitlines() if line.strip()]
    named = (line for line in lines if re.search(_FATAL, line[:_MOST]))
    return cut(next(named, lines[-1] if lines else ""), _MOST).rstrip(". ")
