"""The connections of one worker: none is held for ever by a client that is slow, and none keeps others out.

    handshake    ends in time, or the connection does
    request      its body is there and its answer taken in time, or the connection ends
    idle         is the server's keep-alive
    too many     the newcomer is let in; of those that never asked anything the oldest goes, else the one idle longest

The API server dials ahead and leaves connections idle: so idle ones are borne, and those that it used are kept longest.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Mapping
from typing import Final

__all__ = ["HANDSHAKE_SECONDS", "MOST_CONNECTIONS", "REQUEST_SECONDS", "SCRAPE_SECONDS", "Connections"]

MOST_CONNECTIONS: Final = 1000
"""An API server keeps 25 idle ones, and has as many more as it has requests at once."""
HANDSHAKE_SECONDS: Final = 10.0
REQUEST_SECONDS: Final = 15.0
"""From the end of its head to the last byte of the answer; the API server gives up after 2 s, or 30 s at most."""
SCRAPE_SECONDS: Final = 10.0
"""For a connection of Prometheus, which has a port of its own."""


class Connections:
    """Who is connected, by what they are at. Each socket is in one state at a time."""

    def __init__(
        self,
        ended: Callable[[str], None],
        *,
        most: int = MOST_CONNECTIONS,
        handshake_seconds: float = HANDSHAKE_SECONDS,
        request_seconds: float = REQUEST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nobody is connected yet.

        Args:
            ended: Told why, for each connection that is ended here: ``handshake``, ``request`` or ``full``.
            most: How many there may be.
            handshake_seconds: For a handshake.
            request_seconds: For a request.
            clock: Seconds that only grow.
        """
        self._ended = ended
        self._most = most
        self._handshake_seconds = handshake_seconds
        self._request_seconds = request_seconds
        self._clock = clock
        # In each, whoever came to it first stands first.
        self._handshakes: dict[socket.socket, float] = {}
        self._new: dict[socket.socket, None] = {}
        self._busy: dict[socket.socket, float] = {}
        self._idle: dict[socket.socket, None] = {}

    def counts(self) -> Mapping[str, int]:
        """How many are in each state."""
        return {
            "handshake": len(self._handshakes),
            "new": len(self._new),
            "request": len(self._busy),
            "idle": len(self._idle),
        }

    def begin_handshake(self, sock: socket.socket) -> None:
        """Somebody has connected; when there are too many, somebody else has to go."""
        if sum(self.counts().values()) >= self._most:
            self._make_room()
        self._handshakes[sock] = self._clock() + self._handshake_seconds

    def end_handshake(self, sock: socket.socket) -> None:
        """It may ask."""
        self._handshakes.pop(sock, None)
        self._new[sock] = None

    def begin_request(self, sock: socket.socket) -> None:
        """It asks."""
        self._new.pop(sock, None)
        self._idle.pop(sock, None)
        self._busy[sock] = self._clock() + self._request_seconds

    def end_request(self, sock: socket.socket) -> None:
        """It has been answered."""
        if self._busy.pop(sock, None) is not None:
            self._idle[sock] = None

    def forget(self, sock: socket.socket) -> bool:
        """It is gone; returns whether nobody had ended it here."""
        states: tuple[dict[socket.socket, float] | dict[socket.socket, None], ...]
        states = (self._handshakes, self._new, self._busy, self._idle)
        known = [state for state in states if sock in state]
        for state in known:
            del state[sock]
        return bool(known)

    def end_late(self) -> None:
        """End those whose time is over; to be called every now and then."""
        now = self._clock()
        for reason, state in (("handshake", self._handshakes), ("request", self._busy)):
            for sock in [sock for sock, deadline in state.items() if deadline <= now]:
                self._end(sock, reason)

    def _make_room(self) -> None:
        for state in (self._handshakes, self._new, self._idle):
            oldest = next(iter(state), None)
            if oldest is not None:
                self._end(oldest, "full")
                return

    def _end(self, sock: socket.socket, reason: str) -> None:
        """Whoever reads from it or writes to it then finds its end, and closes it."""
        self.forget(sock)
        self._ended(reason)
        # By a second descriptor of the same connection: whoever waits on the first then reads an end, and no error.
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(sock.fileno())) as connection:
            connection.shutdown(socket.SHUT_RDWR)
