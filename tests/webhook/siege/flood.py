"""A client that floods a port of this machine: ``python -m tests.webhook.siege.flood PORT KIND COUNT FROM``.

It has COUNT connections at once, from one address, or each from its own with `EVERYWHERE`; each ended connection is
replaced at once. It reports on standard output when all have been connected, and runs until it is killed. It leaves the
CPU to others, like a client elsewhere.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import os
import socket
import ssl
import struct
import sys
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from typing import Final, Self

import gevent
from gevent import monkey

CONNECTED: Final = "all have been connected"
EVERYWHERE: Final = "everywhere"
_SECONDS: Final = 30
_LOWEST_PRIORITY: Final = 19
_HEAD: Final = (
    b"POST /mutate HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\nContent-Length: 7000000\r\n\r\n"
)
_HALF: Final = _HEAD[:40]
_RESET: Final = struct.pack("ii", 1, 0)
_LONG_HEAD: Final = _HEAD.replace(b"7000000", b"%d" % (24 << 20))
_SCRAPE: Final = b"GET /metrics HTTP/1.1\r\nHost: webhook\r\n\r\n"
_MANY: Final = 1_000_000


class _Hostile:
    """The behaviour of each established connection."""

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
        """A byte per second: of the handshake, the head or the body."""
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
        """The start of a handshake; every second one leaves at once."""
        connection.sendall(self._hello)
        if next(self._numbers) % 2:
            while connection.recv(1 << 12):
                pass

    def small_records(self, connection: socket.socket, size: int) -> None:
        """A body in TLS records of so many bytes."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        with self._context.wrap_socket(connection) as channel:
            channel.sendall(_LONG_HEAD)
            for _ in range(_MANY):
                channel.sendall(b" " * size)

    def long_bodies(self, connection: socket.socket) -> None:
        """Bodies of maximum length, one after the other, as fast as they are received."""
        with self._context.wrap_socket(connection) as channel:
            while True:
                channel.sendall(_LONG_HEAD)
                for _ in range(24):
                    channel.sendall(b" " * (1 << 20))

    def pipelined_reviews(self, connection: socket.socket) -> None:
        """Requests that get an error or an empty answer, without a pause; their answers are not read."""
        with self._context.wrap_socket(connection) as channel:
            while True:
                channel.sendall(b"GET /healthz HTTP/1.1\r\nHost: webhook\r\n\r\n" * 200)

    def key_updates(self, connection: socket.socket, padding: int = 0) -> None:
        """Key updates of TLS 1.3, which Python's module cannot send; padded to so many bytes."""
        with _OpenSSL(connection, padding) as tls:
            for number in range(_MANY):
                tls.update_key(answered=number % 2 == 0)

    def handshake_in_pieces(self, connection: socket.socket) -> None:
        """A long ClientHello in TLS records of one byte."""
        hello = b"\x01" + (131_000).to_bytes(3) + self._hello[9:] + b"\x00" * 131_000
        connection.sendall(b"".join(b"\x16\x03\x01\x00\x01%c" % byte for byte in hello))
        connection.recv(1)

    def pipelined_scrapes(self, connection: socket.socket) -> None:
        """Scrapes without a pause; their answers are read."""
        reader = gevent.spawn(self.silent, connection)
        while not reader.dead:
            connection.sendall(_SCRAPE * 20)

    def scrape(self, connection: socket.socket) -> None:
        """One scrape."""
        connection.sendall(_SCRAPE)
        self.silent(connection)

    def trickled_scrape(self, connection: socket.socket) -> None:
        """A scrape byte by byte, as fast as it is received."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            connection.sendall(b"G")

    def silent(self, connection: socket.socket) -> None:
        """Nothing; answers are read."""
        with contextlib.suppress(OSError):
            while connection.recv(1 << 20):
                pass


class _OpenSSL:
    """A TLS 1.3 client of OpenSSL on a connection."""

    def __init__(self, connection: socket.socket, padding: int) -> None:
        library = ctypes.CDLL(ctypes.util.find_library("ssl"))
        for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new"):
            getattr(library, name).restype = ctypes.c_void_p
        os.set_blocking(connection.fileno(), True)
        self._library = library
        self._context = ctypes.c_void_p(library.SSL_CTX_new(ctypes.c_void_p(library.TLS_client_method())))
        if padding:
            library.SSL_CTX_set_block_padding(self._context, ctypes.c_size_t(padding))
        self._tls = ctypes.c_void_p(library.SSL_new(self._context))
        library.SSL_set_fd(self._tls, connection.fileno())

    def __enter__(self) -> Self:
        self._check(self._library.SSL_connect(self._tls))
        return self

    def __exit__(self, *error: object) -> None:
        self._library.SSL_free(self._tls)
        self._library.SSL_CTX_free(self._context)

    def update_key(self, *, answered: bool) -> None:
        """Update the key for sending, with a request for an answer: the server must update its own, too."""
        self._check(self._library.SSL_key_update(self._tls, int(answered)))
        self._check(self._library.SSL_do_handshake(self._tls))

    def _check(self, result: int) -> None:
        if result != 1:
            raise ConnectionError("the server ended the connection")


KINDS: Final[Mapping[str, Callable[[_Hostile, socket.socket], None]]] = {
    "idle": _Hostile.idle,
    "half a head": _Hostile.half_head,
    "announced bodies": _Hostile.announced,
    "a byte a second": _Hostile.byte_by_byte,
    "reset after a byte": _Hostile.reset,
    "handshakes begun": _Hostile.begun,
}
HEAVY_KINDS: Final[Mapping[str, Callable[[_Hostile, socket.socket], None]]] = {
    "records of a byte": partial(_Hostile.small_records, size=1),
    "records of 64 bytes": partial(_Hostile.small_records, size=64),
    "long bodies": _Hostile.long_bodies,
    "pipelined": _Hostile.pipelined_reviews,
    "key updates": _Hostile.key_updates,
    "padded key updates": partial(_Hostile.key_updates, padding=512),
    "handshake in pieces": _Hostile.handshake_in_pieces,
}
"""One connection of each keeps a server busy that does not defend itself."""
METRICS_KINDS: Final[Mapping[str, Callable[[_Hostile, socket.socket], None]]] = {
    "pipelined scrapes": _Hostile.pipelined_scrapes,
    "scrapes": _Hostile.scrape,
    "trickled scrapes": _Hostile.trickled_scrape,
    "silent": _Hostile.silent,
}
"""The same on the port of the metrics."""
_ALL: Final = {**KINDS, **HEAVY_KINDS, **METRICS_KINDS}


def _trickle(connection: socket.socket, text: bytes) -> None:
    for byte in text:
        connection.sendall(bytes((byte,)))
        gevent.sleep(1)


def _main(port: int, kind: str, connections: int, address: str) -> None:
    os.nice(_LOWEST_PRIORITY)
    hostile = _Hostile()
    to_come = connections

    def repeatedly(number: int) -> None:
        nonlocal to_come
        first = True
        own = f"127.1.{number >> 8}.{number & 255}" if address == EVERYWHERE else address
        while True:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", port), _SECONDS, (own, 0)) as connection,
            ):
                if first:
                    first = False
                    to_come -= 1
                    if not to_come:
                        print(CONNECTED, flush=True)
                _ALL[kind](hostile, connection)
            gevent.sleep(0)

    gevent.joinall([gevent.spawn(repeatedly, number) for number in range(connections)])


if __name__ == "__main__":
    monkey.patch_all()
    _main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
