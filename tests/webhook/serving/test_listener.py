"""How connections are accepted, and in which order handshakes and data have their turns."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from unittest.mock import Mock

import gevent
import gevent.socket
import pytest
from gevent.pool import Pool

from tests.webhook.serving.world import HERE, KIB, THERE, Clock, NoTls, World
from webhook.serving.connections import Connection, Connections
from webhook.serving.connections.listener import Channel, Listener, Turns, _has_record, give_way

RECORD = b"\x16\x03\x01\x00\x01\x00"
"""A TLS record of a handshake."""


class Listening:
    """A listener in this process, and its clients."""

    def __init__(self, stack: ExitStack, registry: Connections) -> None:
        self._stack = stack
        self.greenlets = Pool(1000)
        self.tls = NoTls()
        self._listener = Listener(
            Listener.get_listener(("127.0.0.1", 0), family=socket.AF_INET),
            lambda *_: None,
            self.greenlets,
            context=self.tls,
            connections=registry,
            failed=lambda _: None,
            accepts=lambda _: False,
        )
        self._listener.start()
        stack.callback(self._listener.close)
        self.accepted: list[Connection] = []
        accept = registry.accept

        def record(sock: socket.socket, address: str) -> Connection:
            self.accepted.append(connection := accept(sock, address))
            return connection

        registry.accept = record  # type: ignore[method-assign]

    def connect(self) -> socket.socket:
        """A new client."""
        return self._stack.enter_context(socket.create_connection(("127.0.0.1", self._listener.server_port)))

    def stop_turns(self) -> None:
        """Give no handshake another turn."""
        self._listener._turns._free_at = 1e9


@pytest.fixture
def listening(wide: World) -> Iterator[Listening]:
    with ExitStack() as stack:
        yield Listening(stack, wide.registry)


def serve_others() -> None:
    """Let the listener work."""
    for _ in range(10):
        give_way()


def test_few_connections_are_accepted_at_once(listening: Listening) -> None:
    """Each may end another one, which takes a millisecond."""
    for _ in range(60):
        listening.connect()
    while not listening.accepted:
        give_way()
    assert len(listening.accepted) <= 32
    serve_others()
    assert len(listening.accepted) == 60


def test_handshake_without_a_whole_record_takes_no_turn(listening: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor one of a client that has left; what has arrived wakes the process once."""
    look = Mock(wraps=_has_record)
    monkeypatch.setattr("webhook.serving.connections.listener._has_record", look)
    listening.connect()
    incomplete, gone = listening.connect(), listening.connect()
    incomplete.sendall(RECORD[:-1])
    gone.sendall(RECORD)
    gone.close()
    serve_others()
    assert len(listening.accepted) == 3
    assert listening.tls.count == 0
    serve_others()
    assert look.call_count <= 4
    incomplete.sendall(RECORD[-1:])
    serve_others()
    assert listening.tls.count == 1


@pytest.mark.parametrize("stage", ["silent", "waits", "in its handshake", "waits in its handshake"])
def test_connection_ended_before_its_handshake_is_closed(wide: World, listening: Listening, stage: str) -> None:
    """At once: an old one may never get a turn."""
    client = listening.connect()
    if stage == "waits":
        listening.stop_turns()
    elif stage != "silent":
        client.sendall(RECORD)
    serve_others()
    if stage == "waits in its handshake":
        listening.stop_turns()
        client.sendall(RECORD)
        serve_others()
    (connection,) = listening.accepted
    assert len(listening.greenlets) == ("in its handshake" in stage)
    listening.stop_turns()
    wide.registry.end(connection, "full")
    serve_others()
    assert connection.sock.fileno() == -1
    assert not listening.greenlets
    assert wide.ended == ["full"]


class Timeline:
    """Turns with counted pauses."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.worked = 0.0
        self.served: list[str] = []
        self._next: list[tuple[float, Callable[[], object]]] = []
        self.known: set[str] = set()
        self.turns = Turns(
            lambda seconds, go: self._next.append((self.clock.now + seconds, go)),
            self.known.__contains__,
            self.clock,
            lambda: self.worked,
        )

    def ask(self, world: World, name: str, address: str) -> Connection:
        """Let a connection request a turn, which takes a second."""
        client = world.connect(address)

        def go() -> bool:
            with self.turns.working():
                self.worked += 1
                self.clock.now += 1
                self.served.append(name)
            return True

        self.turns.ask(client.seen, go)
        return client.seen

    def run(self) -> None:
        """Run until no connection waits."""
        while self._next:
            at, go = self._next.pop(0)
            self.clock.now = max(self.clock.now, at)
            go()


@pytest.fixture
def timeline() -> Timeline:
    return Timeline()


def test_handshakes_take_half_of_the_time(wide: World, timeline: Timeline) -> None:
    began = timeline.clock.now
    for number in range(10):
        timeline.ask(wide, str(number), HERE)
    timeline.run()
    assert len(timeline.served) == 10
    assert timeline.clock.now - began == 19


def test_addresses_take_turns_with_newest_connections_first(wide: World, timeline: Timeline) -> None:
    for number in range(4):
        timeline.ask(wide, f"flood {number}", THERE)
    timeline.ask(wide, "asks", HERE)
    timeline.run()
    assert timeline.served == ["flood 3", "asks", "flood 2", "flood 1", "flood 0"]


def test_every_other_turn_is_for_addresses_of_known_clients(wide: World, timeline: Timeline) -> None:
    for number in range(4):
        timeline.ask(wide, f"flood {number}", f"10.0.1.{number}")
    timeline.known.add(HERE)
    for number in range(3):
        timeline.ask(wide, f"asks {number}", HERE)
    timeline.run()
    assert timeline.served == ["asks 2", "flood 0", "asks 1", "flood 1", "asks 0", "flood 2", "flood 3"]


def test_ended_connection_gets_no_turn_and_others_do(wide: World, timeline: Timeline) -> None:
    timeline.turns.leave(timeline.ask(wide, "ended", THERE))
    timeline.ask(wide, "stays", HERE)
    timeline.run()
    assert timeline.served == ["stays"]


def test_error_costs_no_other_connections_turn(wide: World, timeline: Timeline) -> None:
    def fail() -> bool:
        raise ValueError

    timeline.turns.ask(wide.connect(THERE).seen, fail)
    timeline.ask(wide, "last", HERE)
    timeline.run()
    assert timeline.served == ["last"]


class Incessant(socket.socket):
    """A socket of a client that sends a mebibyte without a pause, then closes."""

    received = 0

    def recv(self, size: int, _flags: int = 0) -> bytes:
        self.received += size
        return b" " * size if self.received <= 1 << 20 else b""


@pytest.mark.parametrize("is_left", [pytest.param(False, id="read"), pytest.param(True, id="left unread")])
def test_body_without_a_pause_lets_others_go_first(
    wide: World, monkeypatch: pytest.MonkeyPatch, *, is_left: bool
) -> None:
    client = wide.new().send_head()
    client.seen.sock = sock = Incessant()
    turns = [0]
    monkeypatch.setattr("webhook.serving.connections.listener.give_way", lambda: turns.append(sock.received))
    with Channel(client.seen, NoTls(), wide.registry) as channel:
        if is_left:
            channel.leave_rest()
        else:
            while channel.recv(64 * KIB):
                pass
    assert sock.received > 1 << 20
    assert max(after - before for before, after in pairwise(turns)) <= (64 if is_left else 32) * KIB
    assert sock.received - turns[-1] <= 64 * KIB


def test_giving_way_serves_what_has_just_arrived() -> None:
    """After `gevent.sleep(0)` it would wait for dozens of others."""
    near, far = gevent.socket.socketpair()
    with near, far:
        reader = gevent.spawn(near.recv, 1)
        gevent.sleep(0)
        far.send(b"x")
        for _ in range(5):
            give_way()
        assert reader.value == b"x"
