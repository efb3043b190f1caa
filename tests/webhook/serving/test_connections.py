"""The connections that are ended, and those that stay: rule by rule, with a test clock."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise

import gevent
import gevent.socket
import pytest
from gevent.pool import Pool

from tests.webhook.serving.plain_channel import NoTls
from webhook.serving.connections import (
    CHECK_SECONDS,
    HANDSHAKE_SECONDS,
    READ_SECONDS,
    REQUEST_SECONDS,
    Connection,
    Connections,
    Memory,
    NoMemory,
)
from webhook.serving.connections.listener import Channel, Listener, Turns, give_way

KIB = 1 << 10
MOST = 100 * KIB
SHARE = 30 * KIB
FREE = 16 * KIB
"""The bytes of each request that do not count."""
EDGES = 4 * KIB
SPARE = 32 * EDGES
"""Room for edges in addition to the kept bytes."""
HERE = "10.0.0.1"
THERE = "10.0.0.2"
RECORD = b"\x16\x03\x01\x00\x01\x00"
"""A TLS record of a handshake."""


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


@pytest.fixture
def world() -> Iterator[World]:
    with ExitStack() as stack:
        yield World(stack)


@pytest.fixture
def wide() -> Iterator[World]:
    """A registry with enough places."""
    with ExitStack() as stack:
        yield World(stack, most=1000)


@pytest.mark.parametrize(
    ("begin", "seconds", "reason"),
    [
        pytest.param(lambda world: world.connect(), HANDSHAKE_SECONDS, "handshake", id="handshake"),
        pytest.param(lambda world: world.new().send(1), READ_SECONDS, "head", id="head"),
        pytest.param(lambda world: world.new().ask().send(1), READ_SECONDS, "head", id="head of a later request"),
        pytest.param(lambda world: world.new().send_head(), READ_SECONDS, "body", id="body"),
        pytest.param(lambda world: world.new().ask().send_head(), READ_SECONDS, "body", id="body of a later request"),
        pytest.param(lambda world: world.new().send_whole(), REQUEST_SECONDS, "request", id="answer"),
    ],
)
def test_each_stage_has_its_time(world: World, begin: Callable[[World], Client], seconds: float, reason: str) -> None:
    client = begin(world)
    world.wait(seconds - CHECK_SECONDS)
    assert client.is_open()
    world.wait(CHECK_SECONDS)
    assert not client.is_open()
    assert world.ended == [reason]
    assert not world.registry.forget(client.seen)
    assert sum(world.registry.counts().values()) == 0


@pytest.mark.parametrize("stage", ["head", "body"])
def test_a_byte_now_and_then_gains_no_time(world: World, stage: str) -> None:
    client = world.new().send(1) if stage == "head" else world.new().send_head()
    world.wait(READ_SECONDS - CHECK_SECONDS)
    client.send(1)
    world.wait(CHECK_SECONDS)
    assert world.ended == [stage]


def test_a_head_that_does_not_end(world: World) -> None:
    client = world.new()
    client.send(64 * KIB)
    assert client.is_open()
    client.send(1)
    assert not client.is_open()
    assert world.ended == ["head"]


def test_idle_ones_are_borne(world: World) -> None:
    new, used = world.new(), world.new().ask()
    world.wait(1000)
    assert world.registry.counts() == {"handshake": 0, "new": 1, "request": 0, "idle": 1}
    assert new.is_open()
    assert used.is_open()
    assert world.ended == []


def test_standstill_of_the_process_makes_no_connection_late(world: World) -> None:
    client = world.new().send_head()
    world.clock.now += 60
    world.registry.end_late()
    assert client.is_open()
    world.wait(READ_SECONDS)
    assert world.ended == ["body"]


def test_too_many_newcomers_end_the_oldest_in_any_stage(world: World) -> None:
    clients = {
        "head": world.new().send(1),
        "handshake": world.connect(),
        "body": world.new().send_head(),
        "new": world.new(),
    }
    left = []
    for _ in range(4):
        world.connect()
        left += [name for name, client in clients.items() if name not in left and not client.is_open()]
    assert left == ["head", "handshake", "body", "new"]
    assert world.ended == ["full"] * 4


def test_too_many_newcomers_end_the_busiest_address(world: World) -> None:
    oldest = world.connect(HERE)
    flood = [world.connect(THERE) for _ in range(3)]
    world.connect(THERE)
    assert oldest.is_open()
    assert [client.is_open() for client in flood] == [False, True, True]


def test_too_many_handshakes_end_oldest_of_busiest_address(wide: World) -> None:
    """There are enough places: the memory for TLS is limited."""
    alone, done, *flood = (wide.connect(HERE), *(wide.connect(THERE) for _ in range(5)))
    for client in (alone, done, *flood):
        wide.registry.begin_handshake(client.seen)
        if client is done:
            client.shake_hands()
    assert [client.is_open() for client in (alone, done, *flood)] == [True, True, False, True, True, True]
    wide.registry.begin_handshake(wide.connect(THERE).seen)
    assert [client.is_open() for client in flood] == [False, False, True, True]
    assert wide.ended == ["full"] * 2


def test_address_with_most_connections_is_not_a_flood(wide: World) -> None:
    """The flood has many addresses; the API server opens several connections at once, after all of the flood's."""
    flood = [wide.connect(f"10.0.1.{number}") for number in range(2)]
    ours = [wide.connect(HERE) for _ in range(2)]
    for client in (*flood, *ours, wide.connect("10.0.1.9")):
        wide.registry.begin_handshake(client.seen)
    assert [client.is_open() for client in (*flood, *ours)] == [False, True, True, True]


def test_newcomers_from_addresses_of_known_clients_stay(wide: World) -> None:
    """Also if theirs are older, and as long as there are others."""
    known = wide.new(HERE).ask()
    ours = [wide.connect(HERE) for _ in range(3)]
    flood = [wide.connect(f"10.0.1.{number}") for number in range(2)]
    for client in (*ours, *flood):
        wide.registry.begin_handshake(client.seen)
    assert [client.is_open() for client in (*ours, *flood)] == [True, True, True, False, True]
    wide.registry.forget(known.seen)
    wide.registry.begin_handshake(wide.connect("10.0.1.9").seen)
    assert [client.is_open() for client in (*ours, *flood)] == [False, True, True, False, True]


def test_newcomers_cannot_take_the_places_of_the_known(world: World) -> None:
    known = [world.new().ask() for _ in range(2)]
    for _ in range(10):
        world.new().send_head()
    assert all(client.is_open() for client in known)
    assert world.registry.counts() == {"handshake": 0, "new": 0, "request": 2, "idle": 2}


def test_the_known_cannot_take_the_places_of_newcomers(world: World) -> None:
    for _ in range(4):
        world.new().ask()
    newcomers = [world.new() for _ in range(2)]
    assert all(client.is_open() for client in newcomers)
    assert world.registry.counts() == {"handshake": 0, "new": 2, "request": 0, "idle": 2}


@pytest.mark.parametrize(
    ("addresses", "ended"),
    [
        pytest.param("abcd", "a", id="the longest idle"),
        pytest.param("abbb", "b", id="first of an address with more than half"),
        pytest.param("aabb", "a", id="half is not more than half"),
    ],
)
def test_too_many_known_end_longest_idle_of_busiest_address(world: World, addresses: str, ended: str) -> None:
    idle, *others = [world.new(address).ask() for address in addresses]
    first = idle if addresses[0] == ended else others.pop(0)
    others[-1].ask()
    world.connect()
    assert not first.is_open()
    assert idle is first or idle.is_open()
    assert all(client.is_open() for client in others)


def test_answered_connection_is_no_longer_the_longest_idle(world: World) -> None:
    clients = [world.new(address).ask() for address in "abcd"]
    clients[0].ask()
    world.connect()
    assert [client.is_open() for client in clients] == [True, False, True, True]


@pytest.mark.parametrize("addresses", [1, 3])
def test_known_connections_of_a_flood_never_end_one_in_use(world: World, addresses: int) -> None:
    """They sent much once; the API server's starts again each time it is ended."""
    flood = [world.new(f"10.0.1.{number % addresses}").ask(60 * KIB) for number in range(3)]
    world.wait(10)
    ours = world.new(HERE).ask(500)
    for number in range(20):
        world.wait(1)
        ours.ask(500)
        world.new(f"10.0.1.{number % addresses}").ask(60 * KIB)
    assert ours.is_open()
    assert not any(client.is_open() for client in flood)


def test_too_many_known_in_use_end_the_busiest_address(world: World) -> None:
    ours = world.new(HERE).ask(500)
    flood = [world.new(THERE).ask(60 * KIB) for _ in range(3)]
    world.connect(THERE)
    assert ours.is_open()
    assert [client.is_open() for client in flood] == [False, True, True]


def test_client_with_accepted_certificate_is_known_at_once(world: World) -> None:
    certified = world.connect().shake_hands(certified=True)
    for _ in range(10):
        world.new(THERE)
    assert certified.is_open()
    assert world.registry.counts()["new"] == 4


def test_connection_with_complete_request_is_never_ended(world: World) -> None:
    clients = [world.new().send_whole() for _ in range(2)] + [world.new().ask().send_whole() for _ in range(2)]
    world.connect()
    assert all(client.is_open() for client in clients)
    assert world.ended == []


def test_announced_body_uses_no_memory(wide: World) -> None:
    """Only arrived bytes count: no connection is ended because silent ones announce bytes."""
    for _ in range(500):
        wide.new().send_head()
    wide.new().send_head().send(MOST - SHARE + FREE - 100)
    assert wide.ended == []


def test_short_memory_ends_the_slowest_not_the_newest(wide: World) -> None:
    fast = wide.new().send_head().send(60 * KIB)
    slow = wide.new().send_head().send(36 * KIB)
    wide.wait(1)
    newest = wide.new().send_head().send(36 * KIB)
    assert not slow.seen.is_kept
    assert fast.seen.is_kept
    assert newest.seen.is_kept
    assert wide.ended == ["memory"]
    assert all(client.is_open() for client in (slow, fast, newest)), "each is answered, the slow one by its beginning"


def test_a_young_request_is_not_slow_yet(wide: World) -> None:
    """Even if few of its bytes have arrived; among several, the largest is ended."""
    small = wide.new().send_head().send(FREE + KIB)
    large = wide.new().send_head().send(60 * KIB)
    wide.new().send_head().send(50 * KIB)
    assert small.seen.is_kept
    assert not large.seen.is_kept


def test_small_requests_are_never_refused(wide: World) -> None:
    wide.new().send_whole(MOST - SHARE + FREE - 100)
    wide.new().ask().send_whole(SHARE + FREE - 100)
    for _ in range(100):
        wide.new().send_whole(FREE - 100)
    assert wide.ended == []


def test_newcomers_cannot_take_the_memory_of_the_known(wide: World) -> None:
    for _ in range(10):
        wide.new().send_head().send(40 * KIB)
    known = wide.new().ask()
    wide.ended.clear()
    known.send_whole(SHARE + FREE - 100)
    assert known.is_open()
    assert wide.ended == []


def test_the_known_cannot_take_the_memory_of_newcomers(wide: World) -> None:
    wide.new().ask().send_whole(40 * KIB)
    wide.new().ask().send_whole(40 * KIB)
    assert not wide.new().ask().send_whole(40 * KIB).seen.is_kept
    newcomer = wide.new().send_whole(SHARE + FREE - 100)
    assert newcomer.is_open()


def test_if_all_others_are_complete_the_asking_one_is_ended(wide: World) -> None:
    wide.new().send_whole(80 * KIB)
    last = wide.new().send_head().send(40 * KIB)
    assert not last.seen.is_kept
    assert wide.ended == ["memory"]


def test_body_reduced_to_its_edges_uses_no_more_memory(wide: World) -> None:
    last = wide.new().send_head()
    last.seen.body.write(b"x" * 200 * KIB)
    wide.new().send_whole(80 * KIB)
    last.send(40 * KIB)
    assert len(last.seen.body.getvalue()) == 64 * KIB, "its beginning"
    wide.registry.begin_answer(last.seen)
    wide.registry.end_request(last.seen, review=True)
    assert last.seen.is_kept
    assert last.seen.body.getvalue() == b""


def test_edges_of_bodies_take_memory_too(wide: World) -> None:
    """Many connections that stall after they made room are ended."""
    clients = [wide.new().send_head().send(60 * KIB) for _ in range(80)]
    kept = sum(client.seen.held for client in clients if client.is_open())
    assert kept <= MOST - SHARE + SPARE
    assert not all(client.is_open() for client in clients)
    assert any(client.is_open() and not client.seen.is_kept for client in clients)


def test_no_connection_is_ended_while_another_can_give_way(wide: World) -> None:
    """The slowest has made room already: the next makes room, too, and both are answered."""
    slow = wide.new().send_head().send(40 * KIB)
    wide.wait(1)
    fast = wide.new().send_head().send(72 * KIB)
    assert not slow.seen.is_kept
    slow.send(100)
    fast.send(20 * KIB)
    assert not fast.seen.is_kept
    assert slow.is_open()
    assert fast.is_open()


def test_a_full_memory_leaves_room_for_edges(wide: World) -> None:
    """Complete requests fill it: a later one is answered by its edges."""
    wide.new().send_whole(MOST - SHARE + FREE - 100)
    clients = [wide.new().send_head().send(60 * KIB) for _ in range(30)]
    assert all(client.is_open() for client in clients)
    assert not any(client.seen.is_kept for client in clients)


def test_connections_in_their_head_are_ended(wide: World) -> None:
    """Their requests are not identified yet."""
    wide.new().send_whole(80 * KIB)
    with pytest.raises(NoMemory):
        wide.new().send(40 * KIB)


def test_memory_is_freed_after_an_answer_and_after_an_end(wide: World) -> None:
    for _ in range(10):
        wide.new().ask(80 * KIB)
        gone = wide.new().send_head().send(80 * KIB)
        assert wide.registry.forget(gone.seen)
    assert wide.ended == []


def test_data_after_the_end_of_a_connection_is_ignored(wide: World) -> None:
    client = wide.new().send_head()
    wide.wait(READ_SECONDS)
    with pytest.raises(ConnectionResetError):
        client.send(80 * KIB)
    wide.new().send_whole(80 * KIB)
    assert wide.ended == ["body"]


def test_connection_that_has_already_closed(world: World) -> None:
    client = world.connect()
    client.seen.sock.close()
    world.wait(HANDSHAKE_SECONDS)
    assert world.ended == ["handshake"]


def test_forgotten(world: World) -> None:
    client = world.connect()
    assert world.registry.forget(client.seen)
    world.wait(HANDSHAKE_SECONDS)
    assert world.ended == []


def test_connection_that_was_ended_begins_no_handshake(wide: World) -> None:
    """It may be ended before its greenlet runs. If counted, it would be the oldest of too many, and ended twice."""
    gone = wide.connect()
    wide.registry.end(gone.seen, "full")
    with pytest.raises(ConnectionResetError):
        wide.registry.begin_handshake(gone.seen)
    for client in [wide.connect(THERE) for _ in range(5)]:
        wide.registry.begin_handshake(client.seen)
    wide.registry.end(gone.seen, "full")
    assert wide.ended == ["full", "full"]


def test_connection_that_was_ended_holds_no_memory(wide: World) -> None:
    gone = wide.new().send_head().send(60 * KIB)
    gone.seen.body.write(b"x" * KIB)
    wide.registry.end(gone.seen, "body")
    assert gone.seen.body.getvalue() == b""
    with pytest.raises(ConnectionResetError):
        wide.registry.pass_over(gone.seen)
    wide.new().send_head().send(MOST - SHARE + FREE - 100)
    assert wide.ended == ["body"]


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
        registry.accept = lambda *given: self.accepted.append(made := accept(*given)) or made  # type: ignore[method-assign]

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


def test_handshake_without_a_whole_record_takes_no_turn(listening: Listening) -> None:
    """Nor one of a client that has left."""
    listening.connect()
    incomplete, gone = listening.connect(), listening.connect()
    incomplete.sendall(RECORD[:-1])
    gone.sendall(RECORD)
    gone.close()
    serve_others()
    assert len(listening.accepted) == 3
    assert listening.tls.count == 0
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
