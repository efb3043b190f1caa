"""Which connections end, and which stay."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from webhook.connections import Connections


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ended() -> list[str]:
    return []


@pytest.fixture
def connections(clock: Clock, ended: list[str]) -> Connections:
    return Connections(ended.append, most=3, handshake_seconds=10, request_seconds=15, clock=clock)


@pytest.fixture
def client() -> Iterator[Callable[[], tuple[socket.socket, socket.socket]]]:
    """Makes connections: the server's end and the client's."""
    with ExitStack() as stack:

        def connect() -> tuple[socket.socket, socket.socket]:
            ours, theirs = socket.socketpair()
            theirs.setblocking(False)
            return stack.enter_context(ours), stack.enter_context(theirs)

        yield connect


Connect = Callable[[], tuple[socket.socket, socket.socket]]


def is_open(end: socket.socket) -> bool:
    try:
        return end.recv(1) != b""
    except BlockingIOError:
        return True


def test_late_handshake(connections: Connections, clock: Clock, ended: list[str], client: Connect) -> None:
    ours, theirs = client()
    connections.begin_handshake(ours)
    clock.now += 9.9
    connections.end_late()
    assert is_open(theirs)
    clock.now += 0.1
    connections.end_late()
    assert not is_open(theirs)
    assert ended == ["handshake"]
    assert not connections.forget(ours)


def test_late_request(connections: Connections, clock: Clock, ended: list[str], client: Connect) -> None:
    ours, theirs = client()
    connections.begin_handshake(ours)
    connections.end_handshake(ours)
    connections.begin_request(ours)
    clock.now += 15
    connections.end_late()
    assert not is_open(theirs)
    assert ended == ["request"]
    connections.end_request(ours)
    assert sum(connections.counts().values()) == 0


def test_idle_ones_are_borne(connections: Connections, clock: Clock, ended: list[str], client: Connect) -> None:
    new, new_client = client()
    used, used_client = client()
    for ours in (new, used):
        connections.begin_handshake(ours)
        connections.end_handshake(ours)
    connections.begin_request(used)
    connections.end_request(used)
    clock.now += 1000
    connections.end_late()
    assert connections.counts() == {"handshake": 0, "new": 1, "request": 0, "idle": 1}
    assert is_open(new_client)
    assert is_open(used_client)
    assert ended == []


def test_too_many(connections: Connections, ended: list[str], client: Connect) -> None:
    """Who says nothing goes first, then who never asked, then who asked longest ago; who asks now never."""
    pairs = {name: client() for name in ("asks", "idle since later", "idle longest", "new", "handshake", "last")}

    def connect(name: str) -> None:
        connections.begin_handshake(pairs[name][0])

    def ask(name: str) -> None:
        connections.end_handshake(pairs[name][0])
        connections.begin_request(pairs[name][0])

    def left() -> set[str]:
        return {name for name, (_, theirs) in pairs.items() if not is_open(theirs)}

    for name in ("asks", "idle longest", "idle since later"):
        connect(name)
        ask(name)
    for name in ("idle longest", "idle since later"):
        connections.end_request(pairs[name][0])
    connect("new")
    assert left() == {"idle longest"}
    connections.end_handshake(pairs["new"][0])
    connect("handshake")
    assert left() == {"idle longest", "new"}
    connect("last")
    assert left() == {"idle longest", "new", "handshake"}
    assert connections.counts() == {"handshake": 1, "new": 0, "request": 1, "idle": 1}
    assert ended == ["full"] * 3


def test_all_ask(connections: Connections, ended: list[str], client: Connect) -> None:
    """Nobody is cut off in the middle: the server takes no more, until one is done."""
    for _ in range(4):
        ours, _ = client()
        connections.begin_handshake(ours)
        connections.end_handshake(ours)
        connections.begin_request(ours)
    assert connections.counts()["request"] == 4
    assert ended == []


def test_one_that_is_gone_already(connections: Connections, clock: Clock, ended: list[str], client: Connect) -> None:
    ours, _ = client()
    connections.begin_handshake(ours)
    ours.close()
    clock.now += 10
    connections.end_late()
    assert ended == ["handshake"]


def test_forgotten(connections: Connections, clock: Clock, ended: list[str], client: Connect) -> None:
    ours, _ = client()
    connections.begin_handshake(ours)
    assert connections.forget(ours)
    clock.now += 10
    connections.end_late()
    assert ended == []
