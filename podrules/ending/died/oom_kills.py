"""Events about a node that report OOM kills: the victim, and whether the whole node ran out of memory.

    SystemOOM     the kubelet's: "System OOM encountered, victim process: java, pid: 18421". It reports only victims
                  that it cannot attribute to a container's cgroup: those of a shortage of the node
    OOMKilling    node-problem-detector's copy of the kernel's line: "Out of memory: Killed process …" is the node's
                  shortage, "Memory cgroup out of memory: …" that of a cgroup. Without this prefix it may be either
    a container   an event is about its end if both came within seconds on the node's clock. It may be about another
                  process of these seconds. The counter behind OOMKilled counts both kinds of kill

Source: pkg/kubelet/oom/oom_watcher_linux.go at v1.36.3; config/kernel-monitor.json of kubernetes/node-problem-detector;
__oom_kill_process in mm/oom_kill.c of Linux 6.18.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Final

from msgspec import Struct

from podrules.api.model.event import Event
from podrules.api.model.instant import instant, later
from podrules.pod.container_state import Termination

_NODE_KIND: Final = "Node"
_SYSTEM: Final = "SystemOOM"
_KERNEL: Final = "OOMKilling"
_MAX_READ: Final = 1000
"""The number of characters of a message that are read."""
_VICTIM: Final = re.compile(
    r"victim process: ([^,\n]{1,40}), pid: (\d{1,10})|\bKill(?:ed)? process (\d{1,10}) \(([^)\n]{1,40})\)"
)
OF_CGROUP: Final = "Memory cgroup out of memory"
_OF_NODE: Final = "Out of memory: Kill"
_HOUR: Final = 3600
_NEAR: Final = 10
"""The seconds between the kernel's kill and the event, which may come before the runtime sees the end."""


class OomKill(Struct, frozen=True, rename="camel"):
    """One event about OOM kills."""

    reason: str
    """The reason of the event: ``SystemOOM``, ``OOMKilling``."""
    process: str
    """The kernel's name of the victim; empty: not named."""
    first: str | None
    at: str | None
    """The last time of the event."""
    times: int
    of_node: bool | None
    """Whether the whole node ran out of memory; False: a cgroup did. None: the message does not show which."""
    message: str


def oom_kills(events: Iterable[Event]) -> Iterator[OomKill]:
    """The kills that events about nodes report."""
    for event in events:
        if event.reason not in {_SYSTEM, _KERNEL}:
            continue
        text = event.message[:_MAX_READ]
        found = _VICTIM.search(text)
        process = (found[1] or found[4]) if found is not None else ""
        of_node = True if event.reason == _SYSTEM or _OF_NODE in text else None
        of_node = False if OF_CGROUP in text else of_node
        yield OomKill(event.reason, process, event.first, event.last, event.times, of_node, text)


def oom_kills_near(events: Iterable[Event], end: Termination) -> list[OomKill]:
    """The kills that may have ended a container: both times are from its node's clock."""
    return [one for one in oom_kills(events) if seconds_apart(one, end) <= _NEAR]


def seconds_apart(kill: OomKill, end: Termination) -> float:
    """The seconds between an end and the event about a kill; at most 10 if the event recurred around the end."""
    first, last, ended = instant(kill.first), instant(kill.at), instant(end.finished_at)
    if first is None or last is None or ended is None:
        return math.inf
    apart = min(abs((ended - first).total_seconds()), abs((ended - last).total_seconds()))
    return min(apart, _NEAR) if first <= ended <= last else apart


def of_both(kills: Collection[OomKill]) -> bool:
    """Whether some kills are of the whole node, and others of a cgroup."""
    return any(one.of_node for one in kills) and any(one.of_node is False for one in kills)


def node_shortages(events: Iterable[Event], now: datetime | None) -> dict[str, OomKill]:
    """The latest kill of the last hour in which a whole node ran out of memory, by the node's name."""
    found: dict[str, OomKill] = {}
    for event in sorted(events, key=lambda one: one.last or ""):
        when = instant(event.last)
        about_node = event.involved_object.kind == _NODE_KIND
        if not about_node or now is None or when is None or when < later(now, -_HOUR):
            continue
        for kill in oom_kills([event]):
            if kill.of_node:
                found[event.involved_object.name] = kill
    return found
