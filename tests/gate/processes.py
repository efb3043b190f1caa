"""All processes of a run, also those whose parent has ended, so that none is left and all can stand still together."""

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

__all__ = ["Left", "adopt_orphans", "end", "left_over"]

_PR_SET_CHILD_SUBREAPER = 36


class Left(NamedTuple):
    """A process that its test should have ended."""

    pid: int
    command: str


def adopt_orphans() -> None:
    """From now on, who loses its parent becomes a child of this process (Linux; elsewhere nothing happens)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def left_over(*, patience: float) -> list[Left]:
    """Descendants that still run after this many seconds; those that end meanwhile are awaited."""
    deadline = time.monotonic() + patience
    while True:
        _reap()
        found = list(_descendants())
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


def end(processes: list[Left]) -> None:
    """Kill them."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    left_over(patience=5)


def _reap() -> None:
    """Take note of children that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _descendants() -> Iterator[Left]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir() if sys.platform == "linux" else ():
        if entry.name.isdecimal() and (parent := _parent(int(entry.name))) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    waiting = children.get(os.getpid(), [])
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        yield Left(pid, _command(pid))


def _parent(pid: int) -> int | None:
    """None: it has ended meanwhile."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name of the program stands in parentheses and may hold anything.
    state, parent = stat.rpartition(")")[2].split()[:2]
    return None if state == "Z" else int(parent)


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return "?"
    return b" ".join(words).decode(errors="backslashreplace").strip()
