"""Who is connected, who has to go, and in which order: a flood ends the flood, not who asks.

handshake    10 s from its arrival, or it ends
new          may last: the API server dials ahead
head, body   3 s each, from the first byte and from the end of the head
answer       15 s from the end of the body
idle         the server's keep-alive

**Too many.** Newcomers, which have sent no whole review yet, have 300 places that others cannot take; all others have
700. The oldest newcomer goes: a client that has something to ask does so at once, and is a newcomer no longer.
Newcomers from addresses of known clients stay while there are others. If one address has more than half of them, its
oldest goes first. The known client that has sent the least goes, by bytes of whole reviews, then the one that was
idle longest. A client of an address that has more than half of them goes before all others. A client that was
answered within a second goes last: its next request may be on its way. A client with an accepted certificate stands
above all. No address has a limit: the API server may share one with others. TLS handshakes may be under way on 250 of
all places; the same rule says which newcomer goes.

**Too little memory.** See `Memory`.
"""

from __future__ import annotations

import errno
import io
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from webhook.serving.connections.connection import Connection, Stage
from webhook.serving.connections.memory import Memory, NoMemory

__all__ = [
    "HANDSHAKE_SECONDS",
    "LOOK_SECONDS",
    "MAX_CONNECTIONS",
    "READ_SECONDS",
    "REQUEST_SECONDS",
    "Connections",
]

MAX_CONNECTIONS: Final = 1000
"""An API server keeps 25 idle ones, and has as many more as it has requests at once."""
_NEWCOMERS: Final = 300
"""The connections that only newcomers may have."""
_HANDSHAKES: Final = 250
"""TLS handshakes that may be under way at once: each takes 50 KiB until it ends."""
HANDSHAKE_SECONDS: Final = 10.0
READ_SECONDS: Final = 3.0
"""The time for a head, and for a body; the API server sends both at once."""
REQUEST_SECONDS: Final = 15.0
"""The time from the whole body to the last byte of the answer; the API server waits 2 s, or 30 s at most."""
_IN_USE_SECONDS: Final = 1.0
"""After an answer: a client that ends these connections has to ask on a thousand of its own within this time."""
LOOK_SECONDS: Final = 0.5
"""Between two searches for late connections."""
_MAX_HEAD: Final = 64 << 10
"""Bytes; the API server's has some hundred."""
_REASONS: Final = {Stage.ANSWER: "request"}
"""Why one is ended in a stage that is over, where it is not the stage's name."""
_STATES: Final = {Stage.HEAD: "request", Stage.BODY: "request", Stage.ANSWER: "request"}
"""The states in the metrics."""


class Connections:
    """All connections, by stage."""

    def __init__(
        self,
        ended: Callable[[str], None],
        memory: Memory,
        *,
        most: int = MAX_CONNECTIONS,
        newcomers: int = _NEWCOMERS,
        handshakes: int = _HANDSHAKES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without connections.

        Args:
            ended: Told why, for each connection that is ended here: the stage that took too long (``handshake``,
                ``head``, ``body``, ``request``), ``full``, ``memory`` or ``records``.
            memory: For their requests.
            most: How many there may be.
            newcomers: How many of them only newcomers may be.
            handshakes: How many of them may be in their TLS handshakes.
            clock: Seconds that only grow.
        """
        self._ended = ended
        self._memory = memory
        self._most = most
        self._least_newcomers = newcomers
        self._most_handshakes = handshakes
        self._clock = clock
        self._newcomers: dict[Connection, None] = {}
        """The oldest first."""
        self._handshakes: dict[Connection, None] = {}
        """Connections whose TLS handshake is under way, the oldest first."""
        self._known: dict[Connection, None] = {}
        """Those that were answered longest ago first."""
        self._known_at: Counter[str] = Counter()
        """How many of them each address has."""
        self._looked = clock()
        self._stood_still = 0.0
        """Seconds in which the process stood still: they make no connection late."""

    def counts(self) -> Mapping[str, int]:
        """The number of connections by the states of the metrics."""
        found = Counter(_STATES.get(each.stage, each.stage.value) for each in self._all())
        return {state: found[state] for state in ("handshake", "new", "request", "idle")}

    def knows(self, address: str) -> bool:
        """Whether an address has a connection of a known client."""
        return address in self._known_at

    def accept(self, sock: socket.socket, address: str) -> Connection:
        """Add a new connection; if there are too many, end another one."""
        if len(self._newcomers) + len(self._known) >= self._most:
            self._make_room()
        connection = Connection(sock, address, self._now() + HANDSHAKE_SECONDS)
        self._newcomers[connection] = None
        return connection

    def begin_handshake(self, connection: Connection) -> None:
        """Begin its TLS handshake; if too many are under way, end another one.

        Raises:
            ConnectionResetError: It has been ended meanwhile: nothing would remove it from the handshakes.
        """
        connection.check()
        if len(self._handshakes) >= self._most_handshakes and (oldest := self._oldest(self._handshakes)) is not None:
            self.end(oldest, "full")
        self._handshakes[connection] = None

    def end_handshake(self, connection: Connection, *, certified: bool) -> None:
        """It may ask.

        Args:
            connection: Whose TLS stands.
            certified: Whether its client has shown a certificate that is accepted.
        """
        if connection.ended:
            return
        self._handshakes.pop(connection, None)
        if certified:
            self._leave(connection)
            self._know(connection)
        connection.certified = certified
        connection.stage = Stage.NEW
        connection.deadline = None

    def receive(self, connection: Connection, count: int) -> bool:
        """So many bytes came on it; returns whether others have to go for them, which takes a moment.

        Raises:
            NoMemory: It has to go itself.
            ConnectionResetError: It has been ended here: what had come before is of no use to anybody.
        """
        connection.check()
        if connection.stage is Stage.NEW or connection.stage is Stage.IDLE:
            connection.begun = self._now()
            self._enter(connection, Stage.HEAD, READ_SECONDS)
        connection.received += count
        if connection.stage is Stage.HEAD and connection.received > _MAX_HEAD:
            self.end(connection, "head")
            return False
        return self._hold(connection)

    def begin_body(self, connection: Connection) -> None:
        """The head of a request has arrived."""
        if connection.stage is not Stage.HEAD:
            # The last bytes of the request before it brought it along.
            connection.begun = self._now()
        self._enter(connection, Stage.BODY, READ_SECONDS)

    def pass_over(self, connection: Connection) -> None:
        """Keep only the beginning of the body, which says who asks for what.

        Raises:
            ConnectionResetError: It has been ended meanwhile: nothing would free its memory.
        """
        connection.check()
        connection.pass_over()
        self._memory.hold(connection)

    def leave_rest(self, connection: Connection) -> None:
        """Keep nothing of a body that is not read to its end."""
        self._memory.free(connection)
        connection.received = 0
        connection.body = io.BytesIO()

    def count_larger(self, size: int) -> int:
        """The number of current requests of which so many bytes or more have arrived."""
        return self._memory.count_larger(size)

    def begin_answer(self, connection: Connection) -> None:
        """The body has arrived."""
        self._enter(connection, Stage.ANSWER, REQUEST_SECONDS)

    def end_request(self, connection: Connection, *, review: bool) -> None:
        """The request has been answered.

        Args:
            connection: Which.
            review: Whether that was a whole review, and no error is the answer.
        """
        if connection.ended:
            return
        self._memory.free(connection)
        if review:
            self._leave(connection)
            # Of pipelined requests all may have come with the first.
            connection.earned += max(connection.received, 1)
            self._know(connection)
        connection.received = 0
        connection.is_kept = True
        if connection.body.tell():
            connection.body = io.BytesIO()
        connection.stage = Stage.IDLE
        connection.begun = self._now()
        connection.deadline = None

    def forget(self, connection: Connection) -> bool:
        """Remove a closed connection; returns whether its client closed it, rather than the webhook."""
        if connection.ended:
            return False
        self._remove(connection)
        connection.ended = True
        return True

    def end_late(self) -> None:
        """End the connections whose deadline is over. The server calls this each `LOOK_SECONDS`."""
        late = self._clock() - self._looked - 2 * LOOK_SECONDS
        if late > 0:
            self._stood_still += late
        self._looked = self._clock()
        now = self._now()
        for each in [each for each in self._all() if each.deadline is not None and each.deadline <= now]:
            self.end(each, _REASONS.get(each.stage, each.stage.value))

    def end(self, connection: Connection, reason: str) -> None:
        """End a connection and count the reason, unless it has been ended already."""
        if connection.ended:
            return
        self._remove(connection)
        self._ended(reason)
        connection.end()

    def _hold(self, connection: Connection) -> bool:
        self._memory.hold(connection)
        others = False
        while connection.held and (slowest := self._memory.slowest(connection, self._now())) is not None:
            if slowest.stage is Stage.BODY and slowest.is_kept:
                self.pass_over(slowest)
                self._ended("memory")
            elif slowest is connection:
                self._memory.free(connection)
                self._ended("memory")
                raise NoMemory(errno.ECONNRESET, "no memory for the request")
            else:
                self.end(slowest, "memory")
                others = True
        return others

    def _make_room(self) -> None:
        newcomers_first = len(self._newcomers) >= self._least_newcomers
        candidates = (partial(self._oldest, self._newcomers), self._first_known)
        for candidate in candidates if newcomers_first else reversed(candidates):
            if (found := candidate()) is not None:
                self.end(found, "full")
                return

    def _oldest(self, connections: Mapping[Connection, None]) -> Connection | None:
        """The newcomer that has to go first, of some that are in the order of their ages.

        The API server opens several at once, and each is old for some milliseconds only. So its address must not be
        taken for the flood's because the flood has many addresses.

        Returns:
            None: the requests of all are whole, and are answered soon.
        """
        candidates = [each for each in connections if each.stage is not Stage.ANSWER]
        strangers = [each for each in candidates if not self.knows(each.address)]
        candidates = strangers or candidates
        by_address = Counter(each.address for each in candidates)
        for address, count in by_address.most_common(1):
            if count > len(candidates) / 2:
                return next(each for each in candidates if each.address == address)
        return next(iter(candidates), None)

    def _first_known(self) -> Connection | None:
        """The known connection that has to go first; None: all their requests are whole."""
        half, used = len(self._known) / 2, self._now() - _IN_USE_SECONDS

        def key(known: Connection) -> tuple[bool, bool, bool, float, int]:
            certified, rank = known.rank
            count = self._known_at[known.address]
            is_in_use = known.begun > used
            return certified, count <= half, is_in_use, known.begun if is_in_use else rank, -count

        return min((known for known in self._known if known.stage is not Stage.ANSWER), key=key, default=None)

    def _enter(self, connection: Connection, stage: Stage, seconds: float) -> None:
        connection.stage = stage
        connection.deadline = self._now() + seconds

    def _remove(self, connection: Connection) -> None:
        # In place: an exception may keep its reader, and so the body, alive until garbage collection.
        connection.body.truncate(0)
        self._handshakes.pop(connection, None)
        self._memory.free(connection)
        self._leave(connection)

    def _know(self, connection: Connection) -> None:
        self._known[connection] = None
        self._known_at[connection.address] += 1

    def _leave(self, connection: Connection) -> None:
        if not connection.known:
            del self._newcomers[connection]
            return
        del self._known[connection]
        self._known_at[connection.address] -= 1
        if not self._known_at[connection.address]:
            del self._known_at[connection.address]

    def _all(self) -> Iterator[Connection]:
        yield from self._newcomers
        yield from self._known

    def _now(self) -> float:
        """The clock without the time in which the process stood still."""
        return self._clock() - self._stood_still
