"""A flood of the webhook loses its own connections, not those in use: meanwhile pods are created on a real API server.

``make siege`` has 2,000 hostile connections of each kind at once, 1,000 pods under each, and the chart's own timeout.
The API server and the flood share one address, which is the worst case: only their data distinguishes them.
"""

from __future__ import annotations

import itertools
import os
import re
import ssl
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import Process, stop_all
from tests.objects import raw_priority_class
from tests.waiting import wait_for
from tests.webhook.asking import make_pod, make_service
from tests.webhook.demo_server import DemoServer, running_demo
from tests.webhook.faults.silence import HEAD, open_tls
from tests.webhook.installation import NO_AUDIT, ZONE, Installation, Replica, chart_values
from tests.webhook.memory import MEMORY_LIMIT, peak, worker_of
from tests.webhook.review_objects import create_review, pod_object
from tests.webhook.scraping import scraped
from tests.webhook.siege import flood
from webhook.reviews.admission_review import MAX_REVIEW_BYTES
from webhook.serving.connections import MAX_CONNECTIONS

NAME = "floods"
CONNECTIONS = 300
MANY_CONNECTIONS = 2000
PODS = 60
PODS_OF_A_ROUND = 200
PAIRS = 5
CLIENTS = 4
"""The number of clients that create pods at once."""
OF_WHICH_REFUSED = 10
"""Each pod with such a number is refused."""
MAX_SLOWER = 5.0
"""Factor: two cores are shared by the control plane, the webhook and the flood."""
MAX_SLOW = 2.0
"""Factor: the slowest of 100 creations beside one hostile connection, and without it."""
HOSTILE = dict.fromkeys([*flood.HEAVY_KINDS, *flood.METRICS_KINDS], 1) | {"silent": 8, "scrapes": 4}
"""Connections of each kind."""
MAX_DELAY_SECONDS = 1.0
"""A tenth of the shortest standstill that one connection caused without any limit."""
DIALS = 40
"""Connections that an API server opens at once."""
AT_ONCE = 60 if "SIEGE" in os.environ else 12
"""Large reviews."""
MANY = 4
"""So many large bodies are judged by their edges; all except one are there already."""
PIECE = 64 << 10
TEXT = {"text": "x" * 40_000}
REVIEW = create_review(pod_object(name="web", annotations=TEXT))


@dataclass(frozen=True, slots=True)
class Round:
    """The outcomes of some pods."""

    unpatched: int
    missed: int
    """The number of created pods with a class that is not allowed."""
    seconds: float
    """For one creation."""
    slow: float
    """The seconds in which 99 of 100 creations were answered."""


class Target:
    """A replica of the chart, which the API server calls directly."""

    def __init__(self, control_plane: ControlPlane, replica: Replica, namespace: str) -> None:
        self._api = control_plane.api
        self._numbers = itertools.count()
        self._namespace = namespace
        self.replica = replica

    @property
    def peak(self) -> int:
        """The peak memory of its worker, KiB."""
        return peak(worker_of(self.replica.process.pid))

    def is_called(self) -> bool:
        """Whether a pod is patched, and another one refused."""
        found = self.create(2 * CLIENTS)
        return found.unpatched == 0 and found.missed == 0

    def is_calm(self) -> bool:
        """Whether the flood has ended: the API server keeps some connections, and opens a few ahead."""
        return self._sum("connections") < CONNECTIONS / 3

    @property
    def seen(self) -> float:
        """The number of connections that are open, or that it ended or that broke off their handshakes."""
        return self._sum("connections") + self._sum("closed_connections_total")

    def _sum(self, name: str) -> float:
        counts = re.findall(rf"^qos_webhook_{name}\{{.*\}} (\S+)$", scraped(self.replica.metrics_port), re.MULTILINE)
        return sum(map(float, counts))

    def create(self, pods: int) -> Round:
        """Create pods of 40 KB, some with a class that is not allowed."""
        began = time.monotonic()
        with ThreadPoolExecutor(CLIENTS) as pool:
            parts = list(pool.map(self._create_some, [pods // CLIENTS] * CLIENTS))
        found = [outcome for part in parts for outcome, _ in part]
        seconds = sorted(each for part in parts for _, each in part)
        return Round(
            found.count("unpatched"),
            found.count("missed"),
            (time.monotonic() - began) / len(found),
            seconds[len(seconds) * 99 // 100],
        )

    def _create_some(self, pods: int) -> list[tuple[str, float]]:
        found = []
        try:
            for number in range(pods):
                began = time.monotonic()
                found.append((self._create(refused=number % OF_WHICH_REFUSED == 0), time.monotonic() - began))
        finally:
            self._api.close()
        return found

    def _create(self, *, refused: bool) -> str:
        pod = make_pod(self._namespace, f"web-{next(self._numbers)}")
        pod["metadata"]["annotations"] = TEXT
        if refused:
            pod["spec"]["priorityClassName"] = "floods-high"
        try:
            stored = self._api.create(pod)
        except ApiError as error:
            if refused and "not allowed in namespace" in error.message:
                return "refused"
            raise
        if refused:
            return "missed"
        return "patched" if stored["spec"].get("topologySpreadConstraints") else "unpatched"

    def create_at_once(self, pods: int, grow: Callable[[Object], object]) -> list[str]:
        """The refusals of large pods with a class that is not allowed, created at once; an empty one: it was stored."""

        def create(number: int) -> str:
            pod = make_pod(self._namespace, f"large-{number}")
            pod["spec"]["priorityClassName"] = "floods-high"
            grow(pod)
            try:
                self._api.create(pod)
            except ApiError as error:
                return error.message
            finally:
                self._api.close()
            return ""

        with ThreadPoolExecutor(pods) as pool:
            return list(pool.map(create, range(pods)))

    def leave(self) -> None:
        """Delete all pods: etcd cannot store gigabytes."""
        self._api.request("DELETE", self._api.path("v1", "Pod", self._namespace), query={"gracePeriodSeconds": "0"})


@pytest.fixture(scope="module")
def target(control_plane: ControlPlane, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    system, namespace = f"{NAME}-system", f"{NAME}-shop"
    control_plane.create_namespace(system)
    control_plane.create_namespace(namespace, {"asked": NAME})
    control_plane.apply([make_service(namespace)])
    installation = Installation(control_plane, helm, tmp_path_factory.mktemp(NAME), namespace=system, release=NAME)
    values = chart_values(1, ZONE, priorityClasses={"allowed": {namespace: ["floods-low"]}})
    expression = {"key": "asked", "operator": "In", "values": [NAME]}
    values["webhook"] |= {"namespaceMatchExpressions": [expression]}
    with control_plane.holding([raw_priority_class("floods-low", 10), raw_priority_class("floods-high", 1000)]):
        installation.install(values)
        replica = installation.start_replica(config=NO_AUDIT)
        values["webhook"]["url"] = f"https://127.0.0.1:{replica.port}"
        installation.upgrade(values)
        try:
            found = Target(control_plane, replica, namespace)
            wait_for(found.is_called, "the webhook is called")
            yield found
        finally:
            installation.uninstall()
            stop_all([replica.process], timeout=2)


@contextmanager
def flooded(port: int, kind: str, connections: int, folder: Path, *, address: str = "127.0.0.1") -> Iterator[None]:
    """Hostile connections of a kind to a port, from the time when all have been connected to the end of the block."""
    log = folder / "flood.log"
    hostile = Process([sys.executable, flood.__file__, str(port), kind, str(connections), address], log=log)
    try:
        hostile.wait_until(lambda: flood.CONNECTED in log.read_text(), timeout=300)
        yield
        assert hostile.running, hostile.log_tail()
    finally:
        stop_all([hostile], timeout=0)


@pytest.mark.controlplane
@pytest.mark.parametrize("kind", flood.KINDS)
def test_creation_works_under_a_flood(target: Target, kind: str, tmp_path: Path) -> None:
    before = target.seen
    with flooded(target.replica.port, kind, CONNECTIONS, tmp_path):
        found = target.create(PODS)
        assert target.seen - before > CONNECTIONS / 3, "they came"
    wait_for(target.is_calm, "the flood is over")
    assert (found.unpatched, found.missed) == (0, 0)
    assert target.peak < MEMORY_LIMIT


@pytest.mark.long("test_creation_works_under_a_flood")
@pytest.mark.controlplane
@pytest.mark.parametrize("kind", flood.KINDS)
def test_creation_is_no_much_slower_under_a_large_flood(target: Target, kind: str, tmp_path: Path) -> None:
    ratios = []
    under = Round(0, 0, 0, 0)
    for _ in range(PAIRS):
        alone = target.create(PODS_OF_A_ROUND)
        with flooded(target.replica.port, kind, MANY_CONNECTIONS, tmp_path):
            found = target.create(PODS_OF_A_ROUND)
        wait_for(target.is_calm, "the flood is over")
        under = Round(under.unpatched + found.unpatched, under.missed + found.missed, found.seconds, found.slow)
        ratios.append(found.seconds / alone.seconds)
        target.leave()
    ratio = statistics.median(ratios)
    times = ", ".join(f"{each:.2f}" for each in sorted(ratios))
    print(
        f"{kind}: {under.unpatched} unpatched, {under.missed} missed, {ratio:.2f}x ({times}), {target.peak >> 10} MiB"
    )
    assert (under.unpatched, under.missed) == (0, 0)
    assert ratio < MAX_SLOWER
    assert target.peak < MEMORY_LIMIT


@pytest.mark.long("test_one_hostile_connection_delays_no_review")
@pytest.mark.controlplane
@pytest.mark.parametrize("kind", [*flood.HEAVY_KINDS, *flood.METRICS_KINDS])
def test_one_hostile_connection_delays_no_creation(target: Target, kind: str, tmp_path: Path) -> None:
    port = target.replica.metrics_port if kind in flood.METRICS_KINDS else target.replica.port
    ratios, unpatched, missed = [], 0, 0
    for _ in range(PAIRS):
        alone = target.create(PODS_OF_A_ROUND)
        with flooded(port, kind, HOSTILE[kind], tmp_path):
            found = target.create(PODS_OF_A_ROUND)
        unpatched, missed = unpatched + found.unpatched, missed + found.missed
        ratios.append(found.slow / alone.slow)
        target.leave()
    ratio = statistics.median(ratios)
    each = ", ".join(f"{each:.2f}" for each in sorted(ratios))
    print(f"{kind}: {unpatched} unpatched, {missed} missed, p99 {ratio:.2f}x ({each}), {target.peak >> 10} MiB")
    assert (unpatched, missed) == (0, 0)
    assert ratio < MAX_SLOW
    assert target.peak < MEMORY_LIMIT


LARGE = {
    "text": lambda pod: pod["spec"]["containers"][0].update(args=["x" * 1_300_000]),
    "escaped text": lambda pod: pod["spec"]["containers"][0].update(args=["<" * 1_300_000]),
    "many values": lambda pod: pod["spec"].update(
        tolerations=[{"key": f"k{number}", "operator": "Exists"} for number in range(40_000)]
    ),
}
LARGE_AT_ONCE = {"text": 60, "escaped text": 20, "many values": 60}
"""The API server must write and send them within its 2 s, on two cores: 60 escaped texts are 460 MiB of reviews."""


@pytest.mark.long("test_large_reviews_at_once_are_judged_by_their_edges")
@pytest.mark.controlplane
@pytest.mark.parametrize("shape", LARGE)
def test_tenant_floods_itself_past_no_refusal(target: Target, shape: str) -> None:
    """The API server waits 2 s, and failurePolicy Ignore stores a pod without an answer."""
    said = target.create_at_once(LARGE_AT_ONCE[shape], LARGE[shape])
    by_edges = sum("try again" in text for text in said)
    target.leave()
    print(f"{shape}: {said.count('')} of {len(said)} stored, {by_edges} refused by their edges")
    assert [text for text in said if "allow" not in text] == []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    with running_demo(tmp_path_factory.mktemp("server"), priorityClasses={"allowed": {"shop": ["low"]}}) as running:
        yield running


@pytest.mark.parametrize("shape", LARGE)
def test_large_reviews_at_once_are_judged_by_their_edges(server: DemoServer, shape: str) -> None:
    """If all were read completely, the last would be answered after the API server's timeout."""
    pod = pod_object(name="web", namespace="shop", priorityClassName="high")
    LARGE[shape](pod)
    body = create_review(pod).replace(b"<", rb"\u003c")
    request = HEAD.replace("/mutate", "/validate?timeout=2s").format(length=len(body)).encode() + body
    with ExitStack() as stack:
        *held, first = [stack.enter_context(open_tls(server.port)) for _ in range(MANY)]
        connections = [first, *(stack.enter_context(open_tls(server.port)) for _ in range(AT_ONCE))]
        for connection in held:
            connection.sendall(request[:-1])
        began = time.monotonic()

        def ask(connection: ssl.SSLSocket) -> tuple[str, float]:
            # Like Go's client, which stops sending once it has the answer.
            answer = b""
            for at in range(0, len(request), PIECE):
                connection.sendall(request[at : at + PIECE])
                connection.settimeout(0)
                with suppress(ssl.SSLWantReadError):
                    answer = connection.recv(1 << 16)
                connection.settimeout(30)
                if answer:
                    break
            return (answer or connection.recv(1 << 16)).decode(), time.monotonic() - began

        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = list(pool.map(ask, connections))
    last = max(seconds for _, seconds in answers)
    by_edges = sum("try again" in text for text, _ in answers)
    print(f"{shape}: {by_edges} of {len(answers)} judged by their edges, the last after {last:.2f} s")
    assert [text for text, _ in answers if '"allowed":false' not in text] == []
    assert by_edges > 0


@pytest.mark.parametrize("kind", flood.KINDS)
def test_a_new_connection_from_elsewhere_gets_in(server: DemoServer, kind: str, tmp_path: Path) -> None:
    """Like a connection of an API server that has just started, beside a flood that fills all places."""
    with flooded(server.port, kind, MAX_CONNECTIONS + 100, tmp_path, address="127.0.0.2"):
        # Each on a new connection; if that is ended, the request fails.
        statuses = [server.ask("POST", "/mutate", REVIEW).status for _ in range(20)]
    assert statuses == [200] * 20


@pytest.mark.long("test_known_connections_of_a_flood_never_end_one_in_use")
def test_known_connections_of_a_flood_end_none_in_use(server: DemoServer) -> None:
    """All places are taken by clients that each sent one long review; ten more arrive each second."""
    long = create_review(pod_object(name="web", annotations={"text": "x" * 200_000}))

    def known(stack: ExitStack) -> None:
        connection = stack.enter_context(open_tls(server.port, "127.0.0.2"))
        connection.sendall(HEAD.format(length=len(long)).encode() + long)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")

    with ExitStack() as stack, open_tls(server.port) as ours:
        for _ in range(MAX_CONNECTIONS):
            known(stack)
        for number in range(100):
            if number % 5 == 0:
                known(stack)
            time.sleep(0.02)
            ours.sendall(HEAD.format(length=len(REVIEW)).encode() + REVIEW)
            assert ours.recv(1 << 16).startswith(b"HTTP/1.1 200"), number


def test_new_connections_of_an_api_server_get_in(server: DemoServer, tmp_path: Path) -> None:
    """It opens several at once beside a known one; the flood has as many addresses as connections."""
    with open_tls(server.port) as known, ThreadPoolExecutor(DIALS) as pool:
        known.sendall(HEAD.format(length=len(REVIEW)).encode() + REVIEW)
        assert known.recv(1 << 16).startswith(b"HTTP/1.1 200")
        with flooded(server.port, "handshakes begun", MAX_CONNECTIONS + 100, tmp_path, address=flood.EVERYWHERE):
            answers = pool.map(lambda _: server.ask("POST", "/mutate", REVIEW), range(2 * DIALS))
            assert [answer.status for answer in answers] == [200] * 2 * DIALS


@pytest.mark.parametrize("kind", ["records of a byte", "key updates", "pipelined scrapes", "silent"])
def test_one_hostile_connection_delays_no_review(server: DemoServer, kind: str, tmp_path: Path) -> None:
    port = server.metrics_port if kind in flood.METRICS_KINDS else server.port
    with flooded(port, kind, HOSTILE[kind], tmp_path):
        began = time.monotonic()
        slowest = 0.0
        while time.monotonic() < began + MAX_DELAY_SECONDS:
            asked = time.monotonic()
            assert server.ask("POST", "/mutate", REVIEW).status == 200
            server.metrics()
            slowest = max(slowest, time.monotonic() - asked)
    assert slowest < MAX_DELAY_SECONDS


def test_silent_bodies_keep_no_review_out(server: DemoServer) -> None:
    """Three announce more than the limit, and send nothing."""
    with ExitStack() as stack:
        for length in (MAX_REVIEW_BYTES, MAX_REVIEW_BYTES, 2 << 20):
            connection = stack.enter_context(open_tls(server.port))
            connection.sendall(HEAD.format(length=length).encode())
        requests = 'qos_webhook_connections{state="request"}'
        wait_for(lambda: server.metric(requests) >= 3, "their heads are there")
        assert [server.ask("POST", "/mutate", REVIEW).status for _ in range(20)] == [200] * 20
