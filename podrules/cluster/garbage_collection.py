"""What many objects at a time cost beside their bytes."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

__all__ = ["without_collection"]


class _Collection:
    """Python's looks for cycles, which several threads may want to be without."""

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
    """Without looks for cycles: objects of a cluster have none and stay, and each look would go through all of them."""
    return _COLLECTION.off()
