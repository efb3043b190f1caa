"""Runs several reads at the same time, so that nodes and budgets do not wait for a long list of pods."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

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
