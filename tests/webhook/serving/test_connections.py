"""The connections that are ended, and those that stay: rule by rule, with a test clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.webhook.serving.world import EDGES, HERE, KIB, MOST, SHARE, THERE, Client, World
from webhook.serving.connections import CHECK_SECONDS, HANDSHAKE_SECONDS, READ_SECONDS, REQUEST_SECONDS, NoMemory

FREE = 16 * KIB
"""The bytes of each request that do not count."""
SPARE = 32 * EDGES
"""Room for edges in addition to the kept bytes."""


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


def test_client_with_accepted_certificate_is_known_at_once(world: World) -> None:
    certified = world.connect().shake_hands(certified=True)
    for number in range(10):
        world.new(f"10.0.1.{number}")
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
