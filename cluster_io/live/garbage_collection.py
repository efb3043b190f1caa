"""Garbage collection while many objects are read: each run of it would walk through all of them.

The switch belongs to the process, so it is kept in one place: the last reader that is done sets it back.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final


class _Collection:
    """Garbage collection, which several threads may switch off at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks = 0
        self._was_enabled = True

    @contextmanager
    def off(self) -> Iterator[None]:
        with self._lock:
            if not self._blocks:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._blocks += 1
        try:
            yield
        finally:
            with self._lock:
                self._blocks -= 1
                gc.freeze()
                if self._was_enabled and not self._blocks:
                    gc.enable()


_COLLECTION: Final = _Collection()


def without_collection() -> AbstractContextManager[None]:
    """Without garbage collection: the objects of a cluster hold no cycles, and they stay."""
    return _COLLECTION.off()
