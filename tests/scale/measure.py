"""The cost of a command with all its child processes: time, CPU, memory."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple

_INTERVAL: Final = 0.02
"""Seconds between two samples; the kernel keeps each process' highest memory, so only short lives are missed."""


class Cost(NamedTuple):
    """Of one run; seconds and bytes."""

    wall: float
    cpu: float
    memory: int
    """The sum of the most that each process held, at whatever time."""


def measured(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    output: IO[str] | None = None,
    codes: Sequence[int] = (0,),
) -> Cost:
    """Run a command to its end.

    Args:
        command: Program and arguments.
        environment: All of its variables.
        output: What its standard output goes to; nothing keeps it when not given.
        codes: Exit codes that are answers.

    Raises:
        SystemExit: it failed.
    """
    peaks: dict[int, int] = {}
    started = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdout=output or subprocess.DEVNULL) as process:
        while True:
            for pid in _tree(process.pid):
                peaks[pid] = max(peaks.get(pid, 0), _peak(pid))
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            time.sleep(_INTERVAL)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        raise SystemExit(f"{' '.join(command)} failed with exit code {process.returncode}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, sum(peaks.values()))


def _tree(pid: int) -> Iterator[int]:
    """A process and all below it."""
    yield pid
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _tree(int(child))
    except OSError:
        return  # It has just ended.


def _peak(pid: int) -> int:
    """The most memory that a process has held so far; 0 once it ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")), 0)
