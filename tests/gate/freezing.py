"""Freezes all processes of a run for seconds, as on a machine that is suspended or overloaded.

Clocks go on meanwhile. It needs root and the kernel's cgroup freezer, of version 1 or 2.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_GAP_SECONDS: Final = (20.0, 50.0)
"""The time between two freezes."""
_FREEZE_SECONDS: Final = (5.0, 10.0)
_ROOT: Final = Path("/sys/fs/cgroup")


class Freezer:
    """A cgroup for one run."""

    def __init__(self, folder: Path, file: str, *, frozen: str, thawed: str) -> None:
        """Make the cgroup.

        Args:
            folder: The cgroup.
            file: The file that freezes it.
            frozen: The text that freezes.
            thawed: The text that continues all processes.
        """
        folder.mkdir()
        self._folder = folder
        self._file = folder / file
        self._frozen = frozen
        self._thawed = thawed

    def enter(self) -> None:
        """Move the calling process here; its children follow."""
        (self._folder / "cgroup.procs").write_text(str(os.getpid()))

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Freeze all processes here for the block."""
        self._file.write_text(self._frozen)
        try:
            # The kernel stops one process after the other.
            while self._file.read_text().strip() != self._frozen:
                time.sleep(0.01)
            yield
        finally:
            self._file.write_text(self._thawed)

    def close(self) -> None:
        """Remove the cgroup and end its processes."""
        while found := (self._folder / "cgroup.procs").read_text().split():
            for pid in map(int, found):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        self._folder.rmdir()


def why_no_freezer() -> str:
    """What this machine or this user lacks for a freezer; empty: nothing."""
    if os.geteuid() != 0:
        return "processes can be frozen by root alone"
    if not (_ROOT / "freezer").is_dir() and not (_ROOT / "cgroup.procs").exists():
        return f"there is no cgroup freezer in {_ROOT}"
    return ""


@contextlib.contextmanager
def open_freezer() -> Iterator[Freezer]:
    """A freezer for the block.

    Raises:
        OSError: This machine has none, or the caller is not root.
    """
    name = f"kubectl-qos-{os.getpid()}"
    if (_ROOT / "freezer").is_dir():
        freezer = Freezer(_ROOT / "freezer" / name, "freezer.state", frozen="FROZEN", thawed="THAWED")
    else:
        freezer = Freezer(_ROOT / name, "cgroup.freeze", frozen="1", thawed="0")
    try:
        yield freezer
    finally:
        freezer.close()


@contextlib.contextmanager
def freezes(freezer: Freezer, chance: random.Random) -> Iterator[list[float]]:
    """Freeze at intervals for the block; yields the list of the freezes so far, in seconds."""
    over = threading.Event()
    done: list[float] = []

    def go_on() -> None:
        while not over.wait(chance.uniform(*_GAP_SECONDS)):
            seconds = chance.choice(_FREEZE_SECONDS)
            with freezer.frozen():
                time.sleep(seconds)
            done.append(seconds)

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield done
    finally:
        over.set()
        thread.join()
