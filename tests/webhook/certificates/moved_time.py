"""A clock that tests set forward, for threads of the test and for replicas in separate processes.

By itself it runs so slowly that nothing expires while a machine is busy or paused for a while, but retries after a
failure still happen.
"""

from __future__ import annotations

import mmap
import struct
import threading
import time
from pathlib import Path

from tests.waiting import wait_for

SLOWNESS = 5
"""Real seconds per second of this clock: a Lease of 15 s lasts for 75 s unless the clock is set forward."""
_FORMAT = struct.Struct("d")
_CHECK_SECONDS = 0.02


class MovedTime:
    """A `webhook.certificates.election.MonotonicClock`."""

    def __init__(self, file: Path | None = None) -> None:
        """Begin at the time in the file.

        Args:
            file: Shares the clock between processes; when not given, it belongs to this process.
        """
        if file is None:
            self._shared = mmap.mmap(-1, _FORMAT.size)
        else:
            if not file.exists():
                file.write_bytes(_FORMAT.pack(0.0))
            with file.open("r+b") as opened:
                self._shared = mmap.mmap(opened.fileno(), _FORMAT.size)
        self._waiting: dict[threading.Thread, float] = {}
        """The latest time until which each thread of this process waits; 0 for one that has waited and is working."""

    def now(self) -> float:
        """See `MonotonicClock.now`."""
        (ahead,) = _FORMAT.unpack_from(self._shared)
        return time.monotonic() / SLOWNESS + float(ahead)

    def wait(self, event: threading.Event, seconds: float) -> None:
        """See `MonotonicClock.wait`."""
        until = self.now() + seconds
        self._waiting[threading.current_thread()] = until
        while not event.wait(_CHECK_SECONDS) and self.now() < until:
            pass
        self._waiting[threading.current_thread()] = 0.0

    def set_forward(self, seconds: float) -> None:
        """Set it forward by this time; return at once."""
        (ahead,) = _FORMAT.unpack_from(self._shared)
        _FORMAT.pack_into(self._shared, 0, ahead + seconds)

    def let_pass(self, seconds: float) -> None:
        """Set it forward, and wait until each thread of this process that uses it has done its due work."""
        self.set_forward(seconds)
        for thread in list(self._waiting):
            self.let_do(thread)

    def let_do(self, thread: threading.Thread) -> None:
        """Wait until a thread that uses this clock has done its due work."""
        wait_for(
            lambda: not thread.is_alive() or self._waiting.get(thread, 0.0) > self.now(),
            f"{thread.name} has done what is due",
        )
