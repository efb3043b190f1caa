"""Memory for requests that are under way: bytes count when they arrive, not when they are announced.

When memory is short, the slowest incomplete request is dropped, not the newest. Connections that have sent whole
reviews before and newcomers each have a share that the others cannot take.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Final

from webhook.serving.connections.connection import Connection, Stage

_FREE_BYTES: Final = 16 << 10
"""The bytes of each request that do not count: a small request is never refused because of memory."""
_EDGES: Final = 144 << 10
"""Bytes of the beginning and the end of a body, and of the piece that is being read."""
_MOST_EDGES: Final = 32
"""The number of bodies with extra room for their edges; an API server rarely has more large reviews at once."""
_YOUNG_SECONDS: Final = 0.25
"""A younger request is not slow yet, even if few of its bytes have arrived."""


_MMAP_THRESHOLD: Final = -3
_TRIM_THRESHOLD: Final = -1
"""Options of mallopt (malloc/malloc.h of glibc 2.36)."""
_LARGE_BYTES: Final = 128 << 10


def return_freed_memory() -> None:
    """Make glibc return the memory of finished bodies to the system at once, in the whole process.

    By default glibc keeps ever larger pieces once it has freed one: 1,000 bodies that broke off left 100 MiB of holes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)
        mallopt(_TRIM_THRESHOLD, _LARGE_BYTES)


class NoMemory(ConnectionResetError):
    """The rest of a request does not fit into memory."""


class Memory:
    """The memory that requests hold."""

    def __init__(self, most: int, share: int, edges: int = _EDGES) -> None:
        """Begin without requests.

        Args:
            most: The maximum number of bytes that are kept, in addition to the edges of some bodies.
            share: The part of these bytes that only known connections may hold; the same number is for newcomers only.
            edges: The maximum number of bytes that a body holds if only its edges are kept.
        """
        self._edges = edges
        self._spare = _MOST_EDGES * edges
        self._most = most
        self._share = share
        self._held: dict[Connection, None] = {}
        self._known = 0
        self._newcomers = 0

    def hold(self, connection: Connection) -> None:
        """Count the kept bytes that have arrived on a connection."""
        wanted = max(connection.received - _FREE_BYTES, 0)
        if not connection.is_kept:
            wanted = min(wanted, self._edges)
        if more := wanted - connection.held:
            connection.held = wanted
            self._held[connection] = None
            self._add(connection, more)

    def count_larger(self, size: int) -> int:
        """The number of current requests with at least ``size`` arrived bytes."""
        return sum(each.received >= size for each in self._held)

    def free(self, connection: Connection) -> None:
        """Stop counting the connection."""
        if connection.held:
            del self._held[connection]
            self._add(connection, -connection.held)
            connection.held = 0

    def slowest(self, asking: Connection, now: float) -> Connection | None:
        """The connection to free before one more byte is read: ``asking`` if no other qualifies; None: memory suffices.

        A connection with a kept body is chosen first: the webhook still reads the rest of its body, and answers. If the
        webhook ended the connection instead, the API server would get no answer, and failurePolicy Ignore would store
        the object.

        Args:
            asking: The connection on which bytes arrived last.
            now: The time.
        """
        return self._slowest(asking, now, 0, is_kept=True) or self._slowest(asking, now, self._spare, is_kept=False)

    def _slowest(self, asking: Connection, now: float, spare: int, *, is_kept: bool) -> Connection | None:
        """The slowest connection with this ``is_kept``, if together they hold more than their share and ``spare``."""
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
    """Sort slow connections first, by bytes per second; then those that are too young to judge, by held bytes."""
    age = now - connection.begun
    if age < _YOUNG_SECONDS:
        return True, -connection.held
    return False, connection.received / age
