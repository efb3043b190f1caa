"""Accepts connections: each waits, without a greenlet of its own, for the turn of its TLS handshake.

It gets a turn when its first TLS record has arrived completely: a client that sends nothing or half a record gets none.
"""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import gevent
from gevent.event import Event
from gevent.pool import Pool
from gevent.server import StreamServer
from gevent.socket import wait_read

from webhook.serving.connections.channel import HEADER_BYTES, Channel
from webhook.serving.connections.registry import Connection, Connections, keep_little_unread
from webhook.serving.connections.turns import Turns

_LOG: Final = logging.getLogger(__name__)


_READ: Final = 1
"""The event of a socket's watcher: the socket is readable."""
_HANDSHAKE: Final = 22
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

    def _begin(self, connection: Connection, address: Any, *, has_left: bool) -> bool:
        """Offer the connection its turn; return whether it takes it."""
        connection.wake = None
        if has_left:
            self._break_off(connection)
            return False
        if not _has_record(connection.sock):
            self._await_record(connection, address)
            return False
        if self._greenlets.full():
            self._connections.end(connection, "full")
            return False
        self._greenlets.spawn(self._serve, connection, address)
        return True

    def _await_record(self, connection: Connection, address: Any) -> None:
        watcher = gevent.get_hub().loop.io(connection.sock.fileno(), _READ)

        def stop(go_on: Callable[[], object]) -> None:
            watcher.stop()
            watcher.close()
            go_on()

        connection.wake = partial(stop, connection.sock.close)
        watcher.start(stop, partial(self._ask_for_turn, connection, address))

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
                connection.check()
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

        def go(*, has_left: bool) -> bool:  # noqa: ARG001 - the next step detects it
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
    waited_for = sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT)
    try:
        there = sock.recv(_MAX_RECORD, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
    length = HEADER_BYTES
    if len(there) >= HEADER_BYTES:
        length += int.from_bytes(there[3:HEADER_BYTES])
    # Fewer bytes than were waited for are the end. Data that is not TLS is not waited for.
    is_over = len(there) < waited_for or there[0] != _HANDSHAKE or length > _MAX_RECORD
    has_all = is_over or length <= len(there)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1 if has_all else length)
    return has_all
