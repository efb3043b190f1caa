"""A clock for durations, which does not follow changes of the time of day."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class MonotonicClock(Protocol):
    """A clock that only goes forward and can wait."""

    def now(self) -> float:
        """Seconds since a fixed, unspecified moment."""
        ...

    def wait(self, event: threading.Event, seconds: float) -> None:
        """Wait until the event is set, for at most this many seconds."""
        ...


class RealTime:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """See `MonotonicClock.now`."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> None:
        """See `MonotonicClock.wait`."""
        event.wait(seconds)
