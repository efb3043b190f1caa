"""Clients of the registry of connections, without TLS and with a test clock."""

from __future__ import annotations

import socket
import ssl
from contextlib import ExitStack

from webhook.serving.connections import CHECK_SECONDS, Connection, Connections, Memory

KIB = 1 << 10
MOST = 100 * KIB
SHARE = 30 * KIB
EDGES = 4 * KIB
HERE = "10.0.0.1"
THERE = "10.0.0.2"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Client:
    """Both ends of one connection."""

    def __init__(self, registry: Connections, ours: socket.socket, theirs: socket.socket, address: str) -> None:
        self._registry = registry
        self._theirs = theirs
        self.seen: Connection = registry.accept(ours, address)

    def shake_hands(self, *, certified: bool = False) -> Client:
        self._registry.end_handshake(self.seen, certified=certified)
        return self

    def send_head(self, size: int = 100) -> Client:
        self._registry.receive(self.seen, size)
        self._registry.begin_body(self.seen)
        return self

    def send(self, size: int) -> Client:
        self._registry.receive(self.seen, size)
        return self

    def send_whole(self, size: int = 0) -> Client:
        """A request that waits for its answer."""
        self.send_head()
        if size:
            self.send(size)
        self._registry.begin_answer(self.seen)
        return self

    def ask(self, size: int = KIB) -> Client:
        """A whole review, and its answer."""
        self.send_whole(size)
        self._registry.end_request(self.seen, review=True)
        return self

    def is_open(self) -> bool:
        try:
            return self._theirs.recv(1) != b""
        except BlockingIOError:
            return True


class World:
    """A registry, and its clients."""

    def __init__(self, stack: ExitStack, *, most: int = 4, newcomers: int = 2) -> None:
        self._stack = stack
        self.clock = Clock()
        self.ended: list[str] = []
        self.registry = Connections(
            self.ended.append,
            Memory(MOST, SHARE, EDGES),
            most=most,
            newcomers=newcomers,
            handshakes=4,
            clock=self.clock,
        )

    def connect(self, address: str = HERE) -> Client:
        """A connection with a handshake under way."""
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        return Client(self.registry, self._stack.enter_context(ours), self._stack.enter_context(theirs), address)

    def new(self, address: str = HERE) -> Client:
        """One that has sent no request yet."""
        return self.connect(address).shake_hands()

    def wait(self, seconds: float) -> None:
        """Let time pass while the server searches for late connections."""
        for _ in range(round(seconds / CHECK_SECONDS)):
            self.clock.now += CHECK_SECONDS
            self.registry.end_late()


class NoTls:
    """TLS that changes nothing, with handshakes that never end."""

    count = 0
    """The handshakes that began."""

    def wrap_bio(self, incoming: ssl.MemoryBIO, _outgoing: ssl.MemoryBIO, *, server_side: bool) -> NoTls:
        """See `ssl.SSLContext.wrap_bio`."""
        assert server_side
        self._incoming = incoming
        self.count += 1
        return self

    def do_handshake(self) -> None:
        """See `ssl.SSLObject.do_handshake`: it always waits for more."""
        raise ssl.SSLWantReadError

    def pending(self) -> int:
        """See `ssl.SSLObject.pending`."""
        return 0

    def read(self, size: int) -> bytes:
        """See `ssl.SSLObject.read`."""
        if not (self._incoming.pending or self._incoming.eof):
            raise ssl.SSLWantReadError
        return self._incoming.read(size)
