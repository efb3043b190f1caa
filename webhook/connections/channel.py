"""The socket that the server reads and writes: it counts bytes as they arrive."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any, Self

from webhook.connections.connection import Connection
from webhook.connections.registry import Connections

__all__ = ["Channel"]


class Channel:
    """A connection's socket.

    Head and body of an answer go out at once: each alone would be a TLS record, and wake the client.
    """

    __slots__ = ("_connections", "_held", "_pause", "_sock", "connection")

    def __init__(
        self, sock: ssl.SSLSocket, connection: Connection, connections: Connections, pause: Callable[[], object]
    ) -> None:
        """Take a socket after its handshake.

        Args:
            sock: The socket.
            connection: What is known of it.
            connections: They note what this one is doing.
            pause: Lets those end that had to go for bytes of this one.
        """
        self._sock = sock
        self._connections = connections
        self._pause = pause
        self._held: list[bytes] | None = None
        """Pieces of the current answer; None: there is no answer under way."""
        self.connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def recv(self, size: int) -> bytes:
        """See `socket.socket.recv`.

        Raises:
            NoMemory: There is no memory for what came.
        """
        data = self._sock.recv(size)
        if data and self._connections.receive(self.connection, len(data)):
            self._pause()
        return data

    def pass_over(self) -> None:
        """Keep only the beginning of the body."""
        self._connections.pass_over(self.connection)

    def begin_answer(self) -> None:
        """The body of the request has arrived."""
        self._connections.begin_answer(self.connection)

    def hold(self) -> None:
        """Collect what is sent until `flush`."""
        self._held = []

    def sendall(self, data: bytes) -> None:
        """See `socket.socket.sendall`."""
        if self._held is None:
            self._sock.sendall(data)
        else:
            self._held.append(data)

    def flush(self) -> None:
        """Send what was collected."""
        held, self._held = self._held, None
        if held:
            self._sock.sendall(b"".join(held))

    def close(self) -> None:
        """Drop what was collected."""
        self._held = None
        self._sock.close()
