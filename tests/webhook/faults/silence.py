"""Useless clients: they connect and are silent, or send as little as possible."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tests.waiting import again_if_late
from webhook.serving.connections import HANDSHAKE_SECONDS

HEAD = "POST /mutate HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
_STEP_SECONDS = 0.5
# Shared: loading the machine's authorities for each connection would take longer than its handshake.
_ANYBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_ANYBODY.check_hostname = False
_ANYBODY.verify_mode = ssl.CERT_NONE


def open_tls(port: int, address: str = "127.0.0.1", *, timeout: float = 30) -> ssl.SSLSocket:
    """A TLS connection, without verification; another one if the machine was paused during its handshake."""

    def opened() -> ssl.SSLSocket:
        plain = socket.create_connection(("127.0.0.1", port), timeout, (address, 0))
        try:
            return _ANYBODY.wrap_socket(plain)
        except OSError:
            plain.close()
            raise

    return again_if_late(opened, HANDSHAKE_SECONDS)


@contextmanager
def idle_connections(ports: Sequence[int], count: int) -> Iterator[list[ssl.SSLSocket]]:
    """So many TLS connections to each port that never send a request, until the block ends."""
    with ExitStack() as stack:
        yield [stack.enter_context(open_tls(port)) for port in ports for _ in range(count)]


@contextmanager
def slow_clients(ports: Sequence[int], count: int) -> Iterator[None]:
    """So many clients of each kind per port: without TLS, with a head byte by byte, and with a body byte by byte."""
    stopped = threading.Event()
    head = HEAD.format(length=1 << 20).encode()
    with ExitStack() as stack:
        for port in ports:
            for _ in range(count):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
        heads = [stack.enter_context(open_tls(port)) for port in ports for _ in range(count)]
        bodies = [stack.enter_context(open_tls(port)) for port in ports for _ in range(count)]
        for connection in bodies:
            connection.sendall(head)
        thread = threading.Thread(target=_trickle, args=(heads, bodies, head, stopped))
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()


def _trickle(
    heads: Sequence[ssl.SSLSocket], bodies: Sequence[ssl.SSLSocket], head: bytes, stopped: threading.Event
) -> None:
    sent = 0
    while not stopped.wait(_STEP_SECONDS):
        for connections, byte in ((heads, head[sent : sent + 1] or b"x"), (bodies, b" ")):
            for connection in connections:
                # Ended clients do not reconnect.
                with contextlib.suppress(OSError):
                    connection.sendall(byte)
        sent += 1
