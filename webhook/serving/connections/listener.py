"""Accepts connections over TLS: turns for handshakes, the socket that the server reads, and the listener."""

from __future__ import annotations

import contextlib
import errno
import logging
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, Self

import gevent
from gevent.event import Event
from gevent.pool import Pool
from gevent.server import StreamServer
from gevent.socket import wait_read

from webhook.serving.connections.registry import Connection, Connections, keep_little_unread

# TLS handshakes take turns: together they use at most half of the CPU time, whatever their number.
#
# A handshake costs as much as a review, and costs a client that leaves nothing. Addresses take turns, each with its
# newest connection first, because an older one may have left. After each turn, handshakes pause for as long as it took.
# Every other turn is for addresses of known clients: a flood from thousands of addresses does not delay them.

_LOG: Final = logging.getLogger(__name__)
_TCP_INFO: Final[int | None] = getattr(socket, "TCP_INFO", None)
"""Only on Linux."""
_ESTABLISHED: Final = 1
"""The first byte of its answer while neither end has closed (include/net/tcp_states.h of Linux)."""


def give_way() -> None:
    """Let other connections be served, also those with a request that the process has not seen yet.

    ``sleep(0)`` would only run greenlets that are ready; a timer makes gevent poll all sockets first.
    """
    gevent.sleep(1e-9)


Go = Callable[[], bool]
"""The callback for a connection's turn: takes it or not; if it returns True, its caller enters `Turns.working`."""


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
        """Call ``go`` when it is the connection's turn."""
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
        while self._waiting:
            self._is_for_known = not self._is_for_known
            known = filter(self._knows, self._waiting) if self._is_for_known else ()
            address = next(iter(known), None) or next(iter(self._waiting))
            of_one = self._waiting.pop(address)
            connection, go = of_one.popitem()
            if of_one:
                self._waiting[address] = of_one
            try:
                if go():
                    return
            except Exception:  # noqa: BLE001 - every error is logged, and affects only this connection
                _LOG.exception("%s: the TLS handshake failed", connection.address)
        self._is_called = False


# The socket that the server reads and writes: TLS in small steps, so that one client cannot stop the others.
#
# OpenSSL continues to read while its socket has bytes, and gevent changes to another greenlet only when a socket has
# none. A client that sends without a pause would then be the only one that is served, and no deadline would end it.
# Therefore:
#
#     pieces    OpenSSL gets `_PIECE_BYTES` at a time, from memory
#     turns     after `_TURN_PIECES` of them other connections are served, and deadlines are checked
#     records   a client that sends more than `_FREE_RECORDS` records with less than `_LEAST_TEXT` bytes of text in each
#               is disconnected: records of one byte, key updates and padding cost much more CPU than they cost the
#               client

_PIECE_BYTES: Final = 8 << 10
_LEFT_BYTES: Final = 64 << 10
"""Bytes that are received at once from a body that is left unread."""
_TURN_PIECES: Final = 4
"""They take a few milliseconds at most."""
HEADER_BYTES: Final = 5
"""A TLS record begins with its type, its version, and in two bytes the length of the rest (RFC 8446, 5.1)."""
_FREE_RECORDS: Final = 32
_LEAST_TEXT: Final = 64
"""Bytes of text for each further record; Go's client puts 1 to 16 KiB or the rest of a request into one."""


class Channel:
    """One connection over TLS.

    Head and body of an answer are sent together: separately, each would be a TLS record and wake the client.
    """

    __slots__ = (
        "_connections",
        "_held",
        "_incoming",
        "_outgoing",
        "_pieces",
        "_records",
        "_rest",
        "_skip",
        "_text",
        "_tls",
        "connection",
        "is_left",
    )

    def __init__(self, connection: Connection, context: Any, connections: Connections) -> None:
        """Take a connection before its handshake.

        Args:
            connection: The accepted connection.
            context: An `ssl.SSLContext`, or an object with its ``wrap_bio``.
            connections: The registry, which limits the connection.
        """
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._connections = connections
        self._held: list[bytes] | None = None
        """Pieces of the current answer; None between answers."""
        self._pieces = 0
        self._records = 0
        """The records that have begun."""
        self._text = 0
        """The bytes of text in them."""
        self._rest = b""
        """The beginning of a record's header that has not arrived completely."""
        self._skip = 0
        """The bytes of the current record that have not arrived."""
        self.connection = connection
        self.is_left = False
        """Whether the rest of the body stays unread; the connection then ends with the answer."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection.sock, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def step(self) -> bool:
        """Read one piece of the handshake from a non-blocking socket; return whether the handshake is complete.

        Raises:
            OSError: The client broke off the handshake, or does not speak TLS.
        """
        self._take(self.connection.sock.recv(_PIECE_BYTES))
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        finally:
            # Also after a failed handshake: the client gets the alert.
            if answer := self._outgoing.read():
                self.connection.sock.send(answer)
        return True

    def getpeercert(self) -> Any:
        """See `ssl.SSLSocket.getpeercert`."""
        return self._tls.getpeercert()

    def recv(self, size: int) -> bytes:
        """See `socket.socket.recv`.

        Raises:
            NoMemory: The data does not fit into memory.
            ConnectionResetError: The webhook ended the connection.
        """
        while True:
            # Without this check OpenSSL would first raise an error for each request, which costs more.
            if not (self._incoming.pending or self._incoming.eof or self._tls.pending()):
                self._receive()
            try:
                data = self._tls.read(size)
            except ssl.SSLWantReadError:
                self._receive()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""
            else:
                break
        self._text += len(data)
        if data:
            self._connections.receive(self.connection, len(data))
        return data

    def pass_over(self) -> None:
        """Keep only the beginning of the body."""
        self._connections.pass_over(self.connection)

    def leave_rest(self) -> None:
        """Leave the rest of the body unread."""
        self.is_left = True
        self._connections.leave_rest(self.connection)

    def count_larger(self, size: int) -> int:
        """The number of requests on all connections with at least ``size`` bytes."""
        return self._connections.count_larger(size)

    def begin_answer(self) -> None:
        """Note that the body of the request has arrived."""
        self._connections.begin_answer(self.connection)

    def hold(self) -> None:
        """Buffer the data to send until `flush`."""
        self._held = []

    def send(self, data: bytes) -> int:
        """See `socket.socket.send`; sends all of it."""
        self._send(data)
        return len(data)

    def sendall(self, data: bytes) -> None:
        """See `socket.socket.sendall`."""
        if self._held is None:
            self._send(data)
        else:
            self._held.append(data)

    def flush(self) -> None:
        """Send the buffered data."""
        held, self._held = self._held, None
        if held:
            self._send(b"".join(held))

    def close(self) -> None:
        """Drop the buffered data.

        A client that still sends would lose the answer by a reset: its data is received, but not decrypted, until it
        has read the answer.
        """
        self._held = None
        with self.connection.sock as sock, contextlib.suppress(OSError):
            if self.is_left and not self.connection.ended:
                self._connections.begin_body(self.connection)
                while sock.recv(_LEFT_BYTES):
                    give_way()

    def _receive(self) -> None:
        """Wait for the next piece; at times let other connections go first, even if it has arrived already."""
        self._send_tls()
        self._pieces += 1
        if self._pieces % _TURN_PIECES == 0:
            give_way()
        self._take(self.connection.sock.recv(_PIECE_BYTES))

    def _take(self, piece: bytes) -> None:
        """Give a piece to OpenSSL unless it begins too many records.

        Raises:
            ConnectionResetError: The piece begins too many, so the connection was ended.
        """
        if not piece:
            self._incoming.write_eof()
            return
        headers, at = self._rest + piece, self._skip
        while at + HEADER_BYTES <= len(headers):
            self._records += 1
            at += HEADER_BYTES + int.from_bytes(headers[at + 3 : at + 5])
        self._rest, self._skip = headers[at:], max(0, at - len(headers))
        if self._records > _FREE_RECORDS + self._text // _LEAST_TEXT:
            self._connections.end(self.connection, "records")
            raise ConnectionResetError(errno.ECONNRESET, "too many TLS records with little text")
        self._incoming.write(piece)

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._tls.write(view) :]
        self._send_tls()

    def _send_tls(self) -> None:
        if self._outgoing.pending:
            sock, data = self.connection.sock, self._outgoing.read()
            # gevent's sendall first asks for the size of the buffer, and few answers do not fit.
            sent = sock.send(data)
            if sent < len(data):
                sock.sendall(data[sent:])


# Accepts connections: each waits, without a greenlet of its own, for the turn of its TLS handshake.
#
# It gets a turn when its first TLS record has arrived completely: a client that sends nothing or half a record gets
# none.

_READ: Final = 1
"""The event of a socket's watcher: the socket is readable."""
_HANDSHAKE: Final = b"\x16"
"""The first byte of a handshake record."""
_MAX_RECORD: Final = HEADER_BYTES + (16 << 10) + 256
"""The maximum number of bytes of a TLS record."""


class Listener(StreamServer):
    """A listening socket; the handshakes of its connections take turns."""

    max_accept = 16
    """Connections that are accepted at once; then all others have their turn."""

    def __init__(
        self,
        listener: Any,
        handle: Callable[[Channel, Any], object],
        spawn: Pool,
        *,
        context: Any,
        connections: Connections,
        failed: Callable[[str], None],
        accepts: Callable[[Channel], bool],
    ) -> None:
        """Set up the listener.

        Args:
            listener: The socket.
            handle: Serves one connection, given with its address, to its end.
            spawn: The greenlets of connections.
            context: An `ssl.SSLContext`, or an object with its ``wrap_bio``.
            connections: The registry of connections.
            failed: Called with ``tls`` for each handshake that the client broke off or that failed.
            accepts: Whether a client has shown an accepted certificate.
        """
        # Each connection inherits the options of the listening socket.
        keep_little_unread(listener)
        super().__init__(listener, handle=self._let_in, spawn=spawn)
        self._greenlets = spawn
        self._handle_one = handle
        self._context = context
        self._connections = connections
        self._failed = failed
        self._accepts = accepts
        self._turns = Turns(gevent.spawn_later, connections.knows)

    def do_handle(self, sock: Any, address: Any) -> None:
        """Register an accepted connection; it gets a greenlet later."""
        self._let_in(sock, address)

    def _let_in(self, sock: Any, address: Any) -> None:
        sock.settimeout(0)
        self._ask_for_turn(self._connections.accept(sock, address[0]), address)

    def _ask_for_turn(self, connection: Connection, address: Any) -> None:
        connection.wake = partial(self._turn_away, connection)
        self._turns.ask(connection, partial(self._begin, connection, address))

    def _turn_away(self, connection: Connection) -> None:
        self._turns.leave(connection)
        connection.sock.close()

    def _begin(self, connection: Connection, address: Any) -> bool:
        """Offer the connection its turn; return whether it takes it."""
        connection.wake = None
        if _has_left(connection.sock):
            self._break_off(connection)
            return False
        if not _has_record(connection.sock):
            watcher = gevent.get_hub().loop.io(connection.sock.fileno(), _READ)

            def stop(go_on: Callable[[], object]) -> None:
                watcher.stop()
                watcher.close()
                go_on()

            connection.wake = partial(stop, connection.sock.close)
            watcher.start(stop, partial(self._ask_for_turn, connection, address))
            return False
        self._greenlets.spawn(self._serve, connection, address)
        return True

    def _break_off(self, connection: Connection) -> None:
        connection.sock.close()
        if self._connections.forget(connection):
            self._failed("tls")

    def _serve(self, connection: Connection, address: Any) -> None:
        try:
            channel = self._shake_hands(connection)
        except OSError as error:
            # A client that only checks whether the port is open sends nothing, and is not logged.
            if isinstance(error, ssl.SSLError) and error.reason and not isinstance(error, ssl.SSLEOFError):
                # A client's certificate may have expired, be not yet valid, or have another authority.
                reason = getattr(error, "verify_message", error.reason)
                _LOG.warning("%s: the TLS handshake failed: %s", connection.address, reason)
            self._break_off(connection)
            return
        self._connections.end_handshake(connection, certified=self._accepts(channel))
        with channel:
            self._handle_one(channel, address)

    def _shake_hands(self, connection: Connection) -> Channel:
        channel: Channel | None = None
        while True:
            # The turn is taken already: any failure in it must release it.
            with self._turns.working():
                if channel is None:
                    self._connections.begin_handshake(connection)
                    channel = Channel(connection, self._context, self._connections)
                if channel.step():
                    connection.sock.settimeout(None)
                    return channel
            wait_read(connection.sock.fileno())
            connection.check()
            self._wait_for_turn(connection)

    def _wait_for_turn(self, connection: Connection) -> None:
        """Wait in the greenlet of a connection.

        Raises:
            ConnectionResetError: The connection was ended meanwhile.
        """
        event = Event()
        is_ours = False

        def go() -> bool:
            nonlocal is_ours
            is_ours = True
            connection.wake = None
            event.set()
            return True

        def leave() -> None:
            self._turns.leave(connection)
            event.set()

        connection.wake = leave
        self._turns.ask(connection, go)
        event.wait()
        if not is_ours:
            raise ConnectionResetError("ended")


def _has_record(sock: socket.socket) -> bool:
    """Whether a whole TLS record, or the end, can be read; if not, make the socket readable only once it can.

    Uses the length in the record's header (RFC 8446, 5.1) and SO_RCVLOWAT, the number of bytes that make a socket
    readable.
    """
    try:
        there = sock.recv(_MAX_RECORD, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
    length = HEADER_BYTES
    if len(there) >= HEADER_BYTES:
        length += int.from_bytes(there[3:HEADER_BYTES])
    # Data that is not TLS is not waited for.
    has_all = there[:1] != _HANDSHAKE or length <= len(there)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1 if has_all else length)
    return has_all


def _has_left(sock: socket.socket) -> bool:
    """Whether the client has closed its end, after all its data."""
    try:
        return _TCP_INFO is not None and sock.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, 1)[0] != _ESTABLISHED
    except OSError:
        return True
