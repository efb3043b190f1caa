"""A timeline drawn in plain characters: a lane for each container, the object, the next pod and each volume.

It shows the slowest case: hooks and processes take all the time they get.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubectl_plugin.render.escape import escape
from kubectl_plugin.render.page import Table
from podrules.ending.timeline.events import EventKind, TimelineEvent, WayTimeline

_WIDTH: Final = 60
_LABEL: Final = 18
_HOOK, _WAITS, _RUNS, _STOPPING, _KILL, _OPEN = "p", "w", "=", "-", "K", ">"
_LEGEND: Final = {
    _HOOK: "p preStop",
    _WAITS: "w waits",
    _RUNS: "= there",
    _STOPPING: "- after SIGTERM",
    _KILL: "K SIGKILL",
    _OPEN: "> no end",
}


def bar_table(entry: WayTimeline, *, overdue: bool) -> Table | None:
    """The drawing; None when everything is at once or never.

    Args:
        entry: The way that is drawn.
        overdue: Whether the object should be gone and still exists.
    """
    end = max((event.latest or event.earliest or 0 for event in entry.events), default=0)
    if end <= 0:
        return None
    lanes = [(label, text.rstrip()) for label, text in _lanes(entry, end, overdue=overdue) if text.strip()]
    scale = f"0{f'{end} s':>{_WIDTH - 1}}"
    used = {sign for _, text in lanes for sign in text}
    legend = ", ".join(words for sign, words in _LEGEND.items() if sign in used)
    rows = (*((_fit(label), text) for label, text in lanes), ("", legend))
    return Table("", ("", scale), rows, drawing=True)


def _lanes(entry: WayTimeline, end: int, *, overdue: bool) -> Iterator[tuple[str, str]]:
    containers = dict.fromkeys(event.subject for event in entry.events if event.what is EventKind.SIGKILL)
    for name in containers:
        yield name, _container([event for event in entry.events if event.subject == name], end)
    gone = next((event for event in entry.events if event.what is EventKind.OBJECT_REMOVED), None)
    if gone is not None:
        yield "object", _until(gone, end, overdue=overdue)
    for event in entry.events:
        if event.what is EventKind.REPLACED and event.earliest is not None:
            start = event.latest if event.latest is not None else event.earliest
            yield "another pod", _drawn([(start, end, _RUNS)], end)
        elif event.what is EventKind.VOLUME_FREE and event.earliest != 0:
            yield f"{event.subject} held", _until(event, end)


def _container(events: list[TimelineEvent], end: int) -> str:
    """The lane of one container: running, preStop hook, SIGTERM, SIGKILL."""
    by_what = {event.what: event for event in events}
    killed = by_what[EventKind.SIGKILL]
    hook, found = by_what.get(EventKind.PRE_STOP), by_what.get(EventKind.PROBE_FAILED)
    signalled = by_what[EventKind.SIGTERM].latest or 0
    kill = end if killed.latest is None else killed.latest
    begins = (found.latest if found is not None else hook.latest if hook is not None else None) or 0
    hooked = begins
    if hook is not None:
        # A hook of unknown length takes all the time until SIGTERM.
        hooked = signalled if hook.seconds is None else min(begins + hook.seconds, signalled)
    spans = [(0, begins, _RUNS), (begins, hooked, _HOOK), (hooked, signalled, _WAITS), (signalled, kill, _STOPPING)]
    drawn = list(_drawn(spans, end))
    drawn[_column(kill, end)] = _KILL
    return "".join(drawn)


def _until(event: TimelineEvent, end: int, *, overdue: bool = False) -> str:
    """The lane of something that exists until the event, or forever."""
    if event.latest is not None and not overdue:
        return _drawn([(0, event.latest, _RUNS)], end)
    return _drawn([(0, end, _RUNS)], end)[:-1] + _OPEN


def _drawn(spans: list[tuple[int, int, str]], end: int) -> str:
    line = [" "] * _WIDTH
    for start, stop, sign in spans:
        first, last = _column(start, end), _column(stop, end)
        if stop > start:
            line[first : last + 1] = sign * (last + 1 - first)
    return "".join(line)


def _column(second: int, end: int) -> int:
    return min(second * (_WIDTH - 1) // end, _WIDTH - 1)


def _fit(label: str) -> str:
    text = escape(label)
    return text if len(text) <= _LABEL else f"{text[: _LABEL - 2]}.."
