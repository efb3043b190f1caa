"""A client that floods a port of this machine: ``python -m tests.webhook.siege.flood PORT KIND COUNT FROM``.

It has COUNT connections at once, from an address; each that ends is followed by another one at once. It says so on
standard output when each has been connected, and is killed in the end. It leaves the processor to others, as a client
elsewhere would.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import struct
import sys
from collections.abc import Callable, Mapping
from itertools import count
from typing import Final

import gevent
from gevent import monkey

__all__ = ["CONNECTED", "KINDS"]

CONNECTED: Final = "all have been connected"
_SECONDS: Final = 30
_LOWEST_PRIORITY: Final = 19
_HEAD: Final = (
    b"POST /mutate HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\nContent-Length: 7000000\r\n\r\n"
)
_HALF: Final = _HEAD[:40]
_RESET: Final = struct.pack("ii", 1, 0)


class _Hostile:
    """What each connection does, after it has been made."""

    def __init__(self) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE
        sent = ssl.MemoryBIO()
        with contextlib.suppress(ssl.SSLWantReadError):
            self._context.wrap_bio(ssl.MemoryBIO(), sent).do_handshake()
        self._hello = sent.read()
        self._numbers = count()

    def idle(self, connection: socket.socket) -> None:
        """Nothing, over TLS."""
        with self._context.wrap_socket(connection) as channel:
            channel.recv(1)

    def half_head(self, connection: socket.socket) -> None:
        """Half a head."""
        with self._context.wrap_socket(connection) as channel:
            channel.sendall(_HALF)
            channel.recv(1)

    def announced(self, connection: socket.socket) -> None:
        """A head that announces a body."""
        with self._context.wrap_socket(connection) as channel:
            channel.sendall(_HEAD)
            channel.recv(1)

    def byte_by_byte(self, connection: socket.socket) -> None:
        """A byte a second: of the handshake, the head or the body."""
        part = next(self._numbers) % 3
        if part == 0:
            _trickle(connection, self._hello)
        else:
            with self._context.wrap_socket(connection) as channel:
                if part == 1:
                    channel.sendall(_HEAD)
                _trickle(channel, _HEAD)

    def reset(self, connection: socket.socket) -> None:
        """A byte of the handshake or of the head, then a reset."""
        if next(self._numbers) % 2:
            connection.sendall(self._hello[:1])
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        else:
            with self._context.wrap_socket(connection) as channel:
                channel.sendall(_HEAD[:1])
                channel.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)

    def begun(self, connection: socket.socket) -> None:
        """The beginning of a handshake; every other one leaves at once."""
        connection.sendall(self._hello)
        if next(self._numbers) % 2:
            while connection.recv(1 << 12):
                pass


KINDS: Final[Mapping[str, Callable[[_Hostile, socket.socket], None]]] = {
    "idle": _Hostile.idle,
    "half a head": _Hostile.half_head,
    "announced bodies": _Hostile.announced,
    "a byte a second": _Hostile.byte_by_byte,
    "reset after a byte": _Hostile.reset,
    "handshakes begun": _Hostile.begun,
}


def _trickle(connection: socket.socket, text: bytes) -> None:
    for byte in text:
        connection.sendall(bytes((byte,)))
        gevent.sleep(1)


def _main(port: int, kind: str, connections: int, address: str) -> None:
    os.nice(_LOWEST_PRIORITY)
    hostile = _Hostile()
    to_come = connections

    def again_and_again() -> None:
        nonlocal to_come
        first = True
        while True:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", port), _SECONDS, (address, 0)) as connection,
            ):
                if first:
                    first = False
                    to_come -= 1
                    if not to_come:
                        print(CONNECTED, flush=True)
                KINDS[kind](hostile, connection)
            gevent.sleep(0)

    gevent.joinall([gevent.spawn(again_and_again) for _ in range(connections)])


if __name__ == "__main__":
    monkey.patch_all()
    _main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
