"""Memory for requests that are under way: bytes count when they are there, not when they are announced.

Where it is short, the slowest request that is not whole has to go, not the newest. Connections that have sent whole
reviews before and newcomers each have a share that the others cannot take.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Final

from webhook.serving.connections.connection import Connection, Stage

__all__ = ["Memory", "NoMemory", "return_freed_memory"]

_FREE_BYTES: Final = 16 << 10
"""The bytes of each request that do not count: a small request is never refused because of memory."""
_EDGES: Final = 144 << 10
"""The beginning and the end of a body, and the piece that is being read."""
_MOST_EDGES: Final = 32
"""Bodies whose edges have room beside all that is kept; an API server has seldom more large reviews at once."""
_YOUNG_SECONDS: Final = 0.25
"""A request that is younger is not slow yet, however little of it is there."""


_MMAP_THRESHOLD: Final = -3
_TRIM_THRESHOLD: Final = -1
"""Options of mallopt (malloc/malloc.h of glibc 2.36)."""
_LARGE_BYTES: Final = 128 << 10


def return_freed_memory() -> None:
    """Make glibc return the memory of finished bodies to the system at once, in the whole process.

    By default glibc keeps ever larger pieces once it has seen one: 1,000 bodies that broke off left holes of 100 MiB.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)
        mallopt(_TRIM_THRESHOLD, _LARGE_BYTES)


class NoMemory(ConnectionResetError):
    """There is no memory for the rest of a request."""


class Memory:
    """The memory that requests hold."""

    def __init__(self, most: int, share: int, edges: int = _EDGES) -> None:
        """Nothing is held yet.

        Args:
            most: Bytes that are kept; the edges of some bodies come on top.
            share: Bytes of it that only known connections may hold, and as many that only newcomers may.
            edges: Bytes that a body holds at most of which no more is kept than its edges.
        """
        self._edges = edges
        self._spare = _MOST_EDGES * edges
        self._most = most
        self._share = share
        self._held: dict[Connection, None] = {}
        self._known = 0
        self._newcomers = 0

    def hold(self, connection: Connection) -> None:
        """Count what has come on a connection, and is kept."""
        wanted = max(connection.received - _FREE_BYTES, 0)
        if not connection.is_kept:
            wanted = min(wanted, self._edges)
        if more := wanted - connection.held:
            connection.held = wanted
            self._held[connection] = None
            self._add(connection, more)

    def count_larger(self, size: int) -> int:
        """The number of current requests of which so many bytes or more have arrived."""
        return sum(each.received >= size for each in self._held)

    def free(self, connection: Connection) -> None:
        """Count it no longer."""
        if connection.held:
            del self._held[connection]
            self._add(connection, -connection.held)
            connection.held = 0

    def slowest(self, asking: Connection, now: float) -> Connection | None:
        """Who has to go before one more byte is taken; the one that asks for room where nobody else can; None: nobody.

        Who is kept goes first: the webhook reads the rest of its body, and answers. The API server does not get that
        answer if the webhook ends the connection instead, and by failurePolicy Ignore it then stores the object.

        Args:
            asking: On which bytes came last.
            now: The time.
        """
        return self._slowest(asking, now, 0, is_kept=True) or self._slowest(asking, now, self._spare, is_kept=False)

    def _slowest(self, asking: Connection, now: float, spare: int, *, is_kept: bool) -> Connection | None:
        """The slowest of those that are kept, or are no longer, if all hold more than their share and so much."""
        most, total = self._most - self._share + spare, self._known + self._newcomers
        itself = asking if asking.is_kept is is_kept else None
        if self._newcomers > most or (self._newcomers > self._share + spare and total > self._most + spare):
            of_known = self._slowest_of(True, now, is_kept=is_kept) if asking.known else None
            return self._slowest_of(False, now, is_kept=is_kept) or of_known or itself
        if self._known > most:
            return self._slowest_of(True, now, is_kept=is_kept) or itself
        return None

    def _slowest_of(self, known: bool, now: float, *, is_kept: bool) -> Connection | None:
        unfinished: Iterable[Connection] = (
            held
            for held in self._held
            if held.known is known and held.stage is not Stage.ANSWER and held.is_kept is is_kept
        )
        return min(unfinished, key=lambda held: (held.rank, *_speed(held, now)), default=None)

    def _add(self, connection: Connection, count: int) -> None:
        if connection.known:
            self._known += count
        else:
            self._newcomers += count


def _speed(connection: Connection, now: float) -> tuple[bool, float]:
    """Slow ones first, by bytes a second; then those that are too young to tell, by what they hold."""
    age = now - connection.begun
    if age < _YOUNG_SECONDS:
        return True, -connection.held
    return False, connection.received / age
