"""All processes of a run, including orphans, so that none is left and all can be stopped together."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.controlplane.processes import die_with

_BREAKS_OFF = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a run in order: Ctrl-C, its parent's, a lost connection."""
_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE = 60.0
"""Seconds after the last test within which all started processes have to end."""


class Left(NamedTuple):
    """A process that its test should have ended."""

    pid: int
    command: str


def under_a_reaper() -> int:
    """Continue in a child of this process, which from now on only reaps: the child and orphans.

    So all started processes stay in one tree, and ended ones are reaped at once, as under init. Linux only; elsewhere
    nothing happens.

    Returns:
        The process that waits, whoever is the parent later: init's descendants are all processes of the machine.
    """
    reaper = os.getpid()
    if sys.platform != "linux":
        return reaper
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    worker = os.fork()
    if worker == 0:
        # A terminal then interrupts only the reaper, which forwards the signal.
        os.setpgid(0, 0)
        for number in _BREAKS_OFF:
            signal.signal(number, lambda number, _frame: sys.exit(128 + number))
        # Clean up even if the reaper is killed.
        die_with(reaper, signal.SIGTERM)()
        return reaper
    for number in _BREAKS_OFF:
        signal.signal(number, lambda number, _frame: os.kill(worker, number))
    while True:
        ended, status = os.wait()
        if ended == worker:
            # No process may continue without the reaper.
            end(list(_under(reaper)))
            # Do not clean up twice.
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def left_over(reaper: int, *, patience: float = _PATIENCE) -> list[Left]:
    """The other processes that still run under the reaper after this many seconds."""
    deadline = time.monotonic() + patience
    while (found := [one for one in _under(reaper) if one.pid != os.getpid()]) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def end(processes: list[Left]) -> None:
    """Kill them."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def _under(reaper: int) -> Iterator[Left]:
    """All that descend from a process."""
    if sys.platform != "linux":
        return
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (parent := _parent(int(entry.name))) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    waiting = [reaper]
    while waiting:
        found = children.get(waiting.pop(), [])
        waiting += found
        yield from (Left(pid, _command(pid)) for pid in found)


def _parent(pid: int) -> int | None:
    """None: it has ended meanwhile."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name of the program is in parentheses and may contain any character.
    state, parent = stat.rpartition(")")[2].split()[:2]
    return None if state == "Z" else int(parent)


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return "?"
    return b" ".join(words).decode(errors="backslashreplace").strip()
