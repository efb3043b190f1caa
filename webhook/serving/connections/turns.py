"""TLS handshakes take turns: together they use at most half of the CPU time, whatever their number.

A handshake costs as much as a review, and costs a client that leaves nothing. Addresses take turns, each with its
newest connection first, because an older one may have left. After each turn, handshakes pause for as long as it took.
Every other turn is for addresses of known clients: a flood from thousands of addresses does not delay them.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import gevent

from webhook.serving.connections.registry import Connection

_LOG: Final = logging.getLogger(__name__)
_MAX_DROPPED: Final = 50
"""The number of closed connections that are dropped at once."""
_TCP_INFO: Final[int | None] = getattr(socket, "TCP_INFO", None)
"""Only on Linux."""
_ESTABLISHED: Final = 1
"""The first byte of its answer while neither end has closed (include/net/tcp_states.h of Linux)."""


def give_way() -> None:
    """Let other connections be served, also those with a request that the process has not seen yet.

    ``sleep(0)`` would only run greenlets that are ready; a timer makes gevent poll all sockets first.
    """
    gevent.sleep(1e-9)


class Go(Protocol):
    """The callback for a connection's turn."""

    def __call__(self, *, has_left: bool) -> bool:
        """Take the turn or not; return whether it is taken: the caller then enters `working`.

        ``has_left`` is true if the client has closed the connection.
        """


class Turns:
    """Decides which handshake works next: one at a time, with a pause as long as the work."""

    def __init__(
        self,
        later: Callable[[float, Callable[[], object]], object],
        knows: Callable[[str], bool],
        clock: Callable[[], float] = time.monotonic,
        work: Callable[[], float] = time.thread_time,
    ) -> None:
        """Begin with an empty queue.

        Args:
            later: Calls a function after so many seconds.
            knows: Whether an address has a known client.
            clock: A monotonic clock, in seconds.
            work: The seconds of CPU time that this thread has used.
        """
        self._later = later
        self._knows = knows
        self._clock = clock
        self._work = work
        self._free_at = clock()
        self._is_called = False
        self._waiting: dict[str, dict[Connection, Go]] = {}
        """By address, in the order of their turns; within an address, the newest last."""
        self._is_for_known = False
        """Whether the next turn is for addresses of known clients."""

    def ask(self, connection: Connection, go: Go) -> None:
        """Call ``go`` when it is the connection's turn, which may be now."""
        if not (self._waiting or self._is_called) and self._clock() >= self._free_at:
            if not self._is_taken(connection, go):
                self._is_called = False
            return
        self._waiting.setdefault(connection.address, {})[connection] = go
        self._call_next()

    def leave(self, connection: Connection) -> None:
        """Remove a connection from the queue."""
        of_one = self._waiting[connection.address]
        del of_one[connection]
        if not of_one:
            del self._waiting[connection.address]

    @contextmanager
    def working(self) -> Iterator[None]:
        """Measure one turn of work, which must not wait for anything."""
        began = self._work()
        try:
            yield
        finally:
            self._free_at = self._clock() + self._work() - began
            self._is_called = False
            self._call_next()

    def _call_next(self) -> None:
        if self._waiting and not self._is_called:
            self._is_called = True
            self._later(max(0.0, self._free_at - self._clock()), self._next)

    def _next(self) -> None:
        for _ in range(_MAX_DROPPED):
            if not self._waiting:
                break
            self._is_for_known = not self._is_for_known
            known = filter(self._knows, self._waiting) if self._is_for_known else ()
            address = next(iter(known), None) or next(iter(self._waiting))
            of_one = self._waiting[address]
            connection, go = of_one.popitem()
            del self._waiting[address]
            if of_one:
                self._waiting[address] = of_one
            if self._is_taken(connection, go):
                return
        self._is_called = False
        self._call_next()

    def _is_taken(self, connection: Connection, go: Go) -> bool:
        """Offer a turn; an error affects only this connection, not the turns of others."""
        self._is_called = True
        try:
            return go(has_left=_has_left(connection.sock))
        except Exception:  # noqa: BLE001 - every error is logged
            _LOG.exception("%s: the TLS handshake failed", connection.address)
            return False


def _has_left(sock: socket.socket) -> bool:
    """Whether the client has closed its end, after all its data."""
    try:
        return _TCP_INFO is not None and sock.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, 1)[0] != _ESTABLISHED
    except OSError:
        return True
