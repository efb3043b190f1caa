"""How long something lasts, whatever the time of day is set to meanwhile."""

from __future__ import annotations

import threading
import time
from typing import Protocol

__all__ = ["Elapsed", "RealTime"]


class Elapsed(Protocol):
    """A clock that only goes forward, and that people wait by."""

    def now(self) -> float:
        """Seconds since some moment that stays the same."""
        ...

    def wait(self, event: threading.Event, seconds: float) -> None:
        """Wait until the event is set, so many seconds at most."""
        ...


class RealTime:
    """The machine's own."""

    def now(self) -> float:
        """See `Elapsed.now`."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> None:
        """See `Elapsed.wait`."""
        event.wait(seconds)
