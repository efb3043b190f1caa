"""The socket that the server reads and writes: TLS in small steps, so that one client cannot stop the others.

OpenSSL continues to read while its socket has bytes, and gevent changes to another greenlet only when a socket has
none. A client that sends without a pause would then be the only one that is served, and no deadline would end it.
Therefore:

    pieces    OpenSSL gets `_PIECE_BYTES` at a time, from memory
    turns     after `_TURN_PIECES` of them other connections are served, and deadlines are checked
    records   a client that sends more than `_FREE_RECORDS` records with less than `_LEAST_TEXT` bytes of text in each
              is disconnected: records of one byte, key updates and padding cost much more CPU than they cost the client
"""

from __future__ import annotations

import contextlib
import errno
import ssl
from typing import Any, Final, Self

import gevent

from webhook.serving.connections.registry import Connection, Connections
from webhook.serving.connections.turns import give_way

_PAUSE_SECONDS: Final = 0.001
"""The time in which connections that were ended to free memory for this one close their sockets."""
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
            OSError: The client broke off the handshake, does not speak TLS, or does not read the answer.
        """
        self._take(self.connection.sock.recv(_PIECE_BYTES))
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        finally:
            # Also after a failed handshake: the client gets the alert.
            answer = self._outgoing.read()
            if answer and self.connection.sock.send(answer) < len(answer):
                raise ConnectionAbortedError("the client reads nothing")
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
        if data and self._connections.receive(self.connection, len(data)):
            gevent.sleep(_PAUSE_SECONDS)
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
        piece = self.connection.sock.recv(_PIECE_BYTES)
        self.connection.check()
        self._take(piece)

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
