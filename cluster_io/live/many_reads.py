"""Runs several reads at the same time, so that nodes and budgets do not wait for a long list of pods.

Each run of the garbage collection would walk through all objects that were read, so it is off meanwhile. The switch
belongs to the process, so it is kept in one place: the last reader that is done sets it back.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final, TypeVar

T = TypeVar("T")


def together(reads: Sequence[Callable[[], T]]) -> list[T]:
    """Run all reads at the same time; returns their results in order.

    Raises:
        BaseException: the error of the first failed read in that order, after all reads ended.
    """
    found: dict[int, T] = {}
    raised: dict[int, BaseException] = {}

    def run(place: int, read: Callable[[], T]) -> None:
        try:
            found[place] = read()
        except BaseException as error:  # noqa: BLE001 - it is raised where it was asked for
            raised[place] = error

    if len(reads) == 1:
        return [reads[0]()]
    # Daemon threads do not delay the program's end; their connections end with it.
    threads = [threading.Thread(target=run, args=entry, daemon=True) for entry in enumerate(reads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[min(raised)]
    return [found[place] for place in range(len(reads))]


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
