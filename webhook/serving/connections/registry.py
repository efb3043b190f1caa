"""The open connections of one worker, the memory of their requests, and which of them are ended first."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import io
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Final

_BEGINNING: Final = 64 << 10
"""Bytes that are kept from a body that is too long: they identify the request."""
_SEND_BYTES: Final = 16 << 10
"""The kernel buffers twice as many unread bytes, in the pod's memory; without a limit 4 MiB."""
_USER_TIMEOUT: Final[int | None] = getattr(socket, "TCP_USER_TIMEOUT", None)
"""Only on Linux."""
_UNREAD_MILLISECONDS: Final = 10_000
"""After this time the kernel drops data that the client has not acknowledged, also after the webhook has closed."""


def keep_little_unread(sock: socket.socket) -> None:
    """Limit the kernel's buffer of unread answers; accepted sockets inherit this from a listening socket."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
    if _USER_TIMEOUT is not None:
        sock.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, _UNREAD_MILLISECONDS)


class Stage(Enum):
    """The stage of a connection."""

    HANDSHAKE = "handshake"
    NEW = "new"
    """No request has begun."""
    HEAD = "head"
    """The first byte of a request has arrived."""
    BODY = "body"
    """The head has arrived."""
    ANSWER = "answer"
    """The body has arrived."""
    IDLE = "idle"
    """The request has been answered."""


class Connection:
    """The state of one connection; the registry keeps it up to date."""

    __slots__ = (
        "address",
        "begun",
        "body",
        "deadline",
        "ended",
        "held",
        "is_kept",
        "known",
        "received",
        "sock",
        "stage",
        "wake",
    )

    def __init__(self, sock: socket.socket, address: str, deadline: float) -> None:
        """Take a connection that has just been accepted.

        Args:
            sock: Its socket; TLS later wraps the same descriptor in another object.
            address: The address of the client.
            deadline: The deadline of its handshake.
        """
        self.sock = sock
        self.address = address
        self.stage = Stage.HANDSHAKE
        self.deadline: float | None = deadline
        """The deadline of the stage; None: no deadline."""
        self.begun = 0.0
        """When the current request began, or the last one ended."""
        self.received = 0
        """Bytes of the current request."""
        self.held = 0
        """The bytes of the current request that are held in memory."""
        self.is_kept = True
        """Whether further bytes are held too, or only read and dropped."""
        self.body = io.BytesIO()
        """The kept part of a large body."""
        self.known = False
        """Whether the client has sent a whole review or shown an accepted certificate; otherwise it is a newcomer."""
        self.ended = False
        """Whether the webhook has ended the connection."""
        self.wake: Callable[[], object] | None = None
        """What to call at its end, if no greenlet waits for its socket."""

    def check(self) -> None:
        """Check that the connection has not been ended.

        Raises:
            ConnectionResetError: It has been ended.
        """
        if self.ended:
            raise ConnectionResetError(errno.ECONNRESET, "ended")

    def pass_over(self) -> None:
        """Keep only the beginning of the body; its reader continues, and may still answer."""
        self.is_kept = False
        if self.body.tell() > _BEGINNING:
            self.body.truncate(_BEGINNING)

    def end(self) -> None:
        """End the connection: the greenlet that waits for it, reads or writes then sees its end and closes it."""
        self.ended = True
        if self.wake is not None:
            self.wake()
            return
        # Through a second descriptor of the connection: a greenlet that waits on the first reads an end, not an error.
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self.sock.fileno())) as connection:
            connection.shutdown(socket.SHUT_RDWR)


# Memory for requests that are under way: bytes count when they arrive, not when they are announced.
#
# When memory is short, the slowest incomplete request is dropped, not the newest. Connections that have sent whole
# reviews before and newcomers each have a share that the others cannot take.

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
            return self._slowest_of(False, now, is_kept=is_kept) or itself
        if self._known > most:
            return self._slowest_of(True, now, is_kept=is_kept) or itself
        return None

    def _slowest_of(self, known: bool, now: float, *, is_kept: bool) -> Connection | None:
        unfinished: Iterable[Connection] = (
            held
            for held in self._held
            if held.known is known and held.stage is not Stage.ANSWER and held.is_kept is is_kept
        )
        return min(unfinished, key=lambda held: _speed(held, now), default=None)

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


# The open connections, and the order in which they are ended: a flood ends its own connections, not those in use.
#
# handshake    10 s from its arrival
# new          no limit: the API server opens connections ahead
# head, body   3 s each, from the first byte and from the end of the head
# answer       15 s from the end of the body
# idle         the server's keep-alive
#
# **Too many connections.** Newcomers, which have sent no whole review yet, have 300 places that others cannot take; all
# others have 700. The oldest newcomer is ended first: a client with a request sends it at once and is no longer a
# newcomer. Newcomers from addresses of known clients stay while there are others. Among known clients, the one that was
# idle longest is ended first. If one address has more than half of the newcomers, or of the known clients, its oldest
# is ended first. No address has a limit: the API server may share one with others. TLS handshakes may be under way on
# 250 of all places; the same rule selects the newcomer to end.
#
# **Too little memory.** See `Memory`.

MAX_CONNECTIONS: Final = 1000
"""An API server keeps 25 idle connections, and one more per simultaneous request."""
_NEWCOMERS: Final = 300
"""The number of connections that are reserved for newcomers."""
_HANDSHAKES: Final = 250
"""TLS handshakes that may be under way at once: each takes 50 KiB until it ends."""
HANDSHAKE_SECONDS: Final = 10.0
READ_SECONDS: Final = 3.0
"""The time for a head, and for a body; the API server sends both at once."""
REQUEST_SECONDS: Final = 15.0
"""The time from the whole body to the last byte of the answer; the API server waits 2 s, or 30 s at most."""
CHECK_SECONDS: Final = 0.5
"""The time between two searches for late connections."""
_MAX_HEAD: Final = 64 << 10
"""Bytes; the API server's head has some hundred."""
_REASONS: Final = {Stage.ANSWER: "request"}
"""The reason for ending a late connection, if it is not the name of its stage."""
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
            ended: Called with the reason for each connection that is ended here: the stage that took too long
                (``handshake``, ``head``, ``body``, ``request``), ``full``, ``memory`` or ``records``.
            memory: The memory of their requests.
            most: The maximum number of connections.
            newcomers: The number of them that are reserved for newcomers.
            handshakes: The maximum number of simultaneous TLS handshakes.
            clock: A monotonic clock, in seconds.
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
        """Connections with a TLS handshake under way, the oldest first."""
        self._known: dict[Connection, None] = {}
        """Sorted by the time of the last answer, the oldest first."""
        self._known_at: Counter[str] = Counter()
        """The number of them per address."""
        self._checked = clock()
        self._stood_still = 0.0
        """Seconds in which the process did not run: they make no connection late."""

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
            ConnectionResetError: The connection was ended meanwhile: nothing would remove it from the handshakes.
        """
        connection.check()
        if len(self._handshakes) >= self._most_handshakes and (oldest := self._oldest(self._handshakes)) is not None:
            self.end(oldest, "full")
        self._handshakes[connection] = None

    def end_handshake(self, connection: Connection, *, certified: bool) -> None:
        """End its TLS handshake; the client may now send requests.

        Args:
            connection: The connection.
            certified: Whether its client has shown an accepted certificate.
        """
        self._handshakes.pop(connection, None)
        if certified:
            self._leave(connection)
            self._know(connection)
        connection.stage = Stage.NEW
        connection.deadline = None

    def receive(self, connection: Connection, count: int) -> None:
        """Count arrived bytes; if memory is short, drop bodies or end connections.

        Raises:
            NoMemory: This connection must be ended itself.
            ConnectionResetError: The webhook has ended the connection: its earlier data is useless.
        """
        connection.check()
        if connection.stage is Stage.NEW or connection.stage is Stage.IDLE:
            connection.begun = self._now()
            self._enter(connection, Stage.HEAD, READ_SECONDS)
        connection.received += count
        if connection.stage is Stage.HEAD and connection.received > _MAX_HEAD:
            self.end(connection, "head")
            return
        self._memory.hold(connection)
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

    def begin_body(self, connection: Connection) -> None:
        """Note that the head of a request has arrived."""
        self._enter(connection, Stage.BODY, READ_SECONDS)

    def pass_over(self, connection: Connection) -> None:
        """Keep only the beginning of the body, which identifies the request.

        Raises:
            ConnectionResetError: The connection was ended meanwhile: nothing would free its memory.
        """
        connection.check()
        connection.pass_over()
        self._memory.hold(connection)

    def leave_rest(self, connection: Connection) -> None:
        """Keep nothing from a body that is not read to its end."""
        self._memory.free(connection)
        connection.body = io.BytesIO()

    def count_larger(self, size: int) -> int:
        """The number of current requests with at least ``size`` arrived bytes."""
        return self._memory.count_larger(size)

    def begin_answer(self, connection: Connection) -> None:
        """Note that the body has arrived."""
        self._enter(connection, Stage.ANSWER, REQUEST_SECONDS)

    def end_request(self, connection: Connection, *, review: bool) -> None:
        """Note that the request has been answered.

        Args:
            connection: The connection.
            review: Whether it was a whole review that was answered without an error.
        """
        self._memory.free(connection)
        if review:
            self._leave(connection)
            self._know(connection)
        connection.received = 0
        connection.is_kept = True
        if connection.body.tell():
            connection.body = io.BytesIO()
        connection.stage = Stage.IDLE
        connection.begun = self._now()
        connection.deadline = None

    def forget(self, connection: Connection) -> bool:
        """Remove a closed connection; return whether its client closed it, rather than the webhook."""
        if connection.ended:
            return False
        self._remove(connection)
        connection.ended = True
        return True

    def end_late(self) -> None:
        """End the connections that are past their deadline. The server calls this each `CHECK_SECONDS`."""
        late = self._clock() - self._checked - 2 * CHECK_SECONDS
        if late > 0:
            self._stood_still += late
        self._checked = self._clock()
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

    def _make_room(self) -> None:
        newcomers_first = len(self._newcomers) >= self._least_newcomers
        first, second = (self._newcomers, self._known) if newcomers_first else (self._known, self._newcomers)
        if (found := self._oldest(first) or self._oldest(second)) is not None:
            self.end(found, "full")

    def _oldest(self, connections: Mapping[Connection, None]) -> Connection | None:
        """The connection that is ended first, of newcomers or of known ones, the oldest first.

        The API server opens several at once, and each stays a newcomer for some milliseconds only. So its address must
        not be taken for the flood's because the flood has many addresses.

        Returns:
            None if all requests are complete: they are answered soon.
        """
        candidates = [each for each in connections if each.stage is not Stage.ANSWER]
        strangers = [each for each in candidates if not self.knows(each.address)]
        candidates = strangers or candidates
        by_address = Counter(each.address for each in candidates)
        for address, count in by_address.most_common(1):
            if count > len(candidates) / 2:
                return next(each for each in candidates if each.address == address)
        return next(iter(candidates), None)

    def _enter(self, connection: Connection, stage: Stage, seconds: float) -> None:
        connection.stage = stage
        connection.deadline = self._now() + seconds

    def _remove(self, connection: Connection) -> None:
        # In place: an exception may keep the reader, and so the body, alive until garbage collection.
        connection.body.truncate(0)
        self._handshakes.pop(connection, None)
        self._memory.free(connection)
        self._leave(connection)

    def _know(self, connection: Connection) -> None:
        connection.known = True
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
        """The clock without the time in which the process did not run."""
        return self._clock() - self._stood_still
