"""A terminal line that counts objects while a large list is read. A pipe gets no such line."""

from __future__ import annotations

import time
from threading import Lock
from typing import IO, Any, Final

from cluster_io.kinds import Kind
from kubectl_plugin.render.width import text_columns

_INTERVAL: Final = 0.2
"""Seconds between two updates of the line."""
_CLEAR: Final = "\r\x1b[K"


class ProgressLine:
    """One line, overwritten, and cleared at the end. Several threads may call it."""

    def __init__(self, terminal: IO[str]) -> None:
        """Write nothing yet."""
        self._terminal = terminal
        self._counts: dict[str, int] = {}
        self._written = 0.0
        self._lock = Lock()

    def read(self, kind: Kind[Any], count: int) -> None:
        """Count objects; see `cluster_io.live.large_lists.Progress`."""
        with self._lock:
            self._counts[kind.plural] = count
            now = time.monotonic()
            if now - self._written >= _INTERVAL:
                self._written = now
                read = ", ".join(f"{number:,} {plural}" for plural, number in self._counts.items())
                # The first part of a wrapped line would not be cleared.
                self._terminal.write(f"{_CLEAR}{f'reading {read}'[: text_columns(self._terminal) - 1]}")
                self._terminal.flush()

    def done(self, kind: Kind[Any]) -> None:
        """Clear the line, unless other lists are still being read."""
        with self._lock:
            self._counts.pop(kind.plural, None)
            if self._written and not self._counts:
                self._terminal.write(_CLEAR)
                self._terminal.flush()
                self._written = 0.0
