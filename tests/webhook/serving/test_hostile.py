"""Hostile clients of the running server: each gets a clear answer or none, and all other clients are served.

No answer is a 500, no line of the log is a traceback, and the memory stays within the chart's limit.
"""

from __future__ import annotations

import http.client
import re
import shutil
import socket
import ssl
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from cluster_io.demo import demo_objects
from tests.required import without
from tests.waiting import answer_in_the_end, wait_for
from tests.webhook.demo_server import UNVERIFIED, DemoServer, running_demo
from tests.webhook.faults.silence import HEAD, open_tls
from tests.webhook.memory import MEMORY_LIMIT, peak
from tests.webhook.review_objects import create_review, delete_review, pod_object
from webhook.reviews.admission_review import MAX_REVIEW_BYTES
from webhook.reviews.partial_objects import MAX_VALUES
from webhook.serving.connections import MAX_CONNECTIONS, READ_SECONDS
from webhook.serving.server import ScrapeServer

GOOD = create_review(pod_object(name="web"))
DB_0 = next(entry for entry in demo_objects() if entry["kind"] == "Pod" and entry["metadata"]["name"] == "db-0")
"""KiB: the limit of the chart."""
LONG_UID = GOOD.replace(b"705ab4f5-6393-11e8-b7cc-42010a800002", b"u" * 250_000)
"""An answer repeats it, and the client may not read the answer."""
PADDED = b" " * 64
SPEC = b'"spec": {'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    with running_demo(tmp_path_factory.mktemp("hostile")) as running:
        worker = running.worker
        yield running
        assert running.worker == worker, "the worker died"
        assert not [line for line in running.log().splitlines() if line.startswith("Traceback ")]
        assert 'code="500"' not in running.metrics()


def is_served(server: DemoServer) -> bool:
    """Whether another client gets the usual answer."""
    answer = server.ask("POST", "/validate", delete_review(DB_0))
    return answer.status == 200 and b"at most one" in answer.body


def is_answered(connection: http.client.HTTPSConnection) -> bool:
    """Whether a review is answered on a connection, which stays open."""
    connection.auto_open = 0 if connection.sock else 1
    connection.request("POST", "/mutate", GOOD, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status == 200 and b"uid" in answer.read()


def read_some(connection: ssl.SSLSocket) -> bytes:
    """The first bytes; empty for a connection that was ended."""
    with suppress(ssl.SSLError, ConnectionError):
        return connection.recv(1 << 16)
    return b""


def read_all(connection: ssl.SSLSocket) -> bytes:
    """All bytes until the connection ends in any way."""
    parts = []
    with suppress(ssl.SSLError, ConnectionError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def exchanged(server: DemoServer, *parts: bytes) -> bytes:
    """The answer to bytes on a connection, until the server ends it."""
    with open_tls(server.port) as connection:
        for part in parts:
            connection.sendall(part)
        return read_all(connection)


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "words"),
    [
        pytest.param("POST", "/mutate", b"{}", {"Content-Type": "text/plain"}, 415, "Content-Type", id="wrong type"),
        pytest.param("POST", "/mutate", b'{"kind": NaN}', {}, 400, "not valid JSON", id="NaN"),
        pytest.param("POST", "/mutate", b'{"kind": "\x01"}', {}, 400, "not valid JSON", id="control character"),
        pytest.param("POST", "/mutate", b'{"apiVersion": "\\ud800"}', {}, 400, "kind is missing", id="half a pair"),
        pytest.param("POST", "/mutate", b"\xff", {}, 400, "not valid JSON", id="no UTF-8"),
        pytest.param("POST", "/mutate", b"[" * 100_000, {}, 400, "nested too deeply", id="deep"),
        pytest.param(
            "POST", "/mutate", GOOD.replace(b"admission.k8s.io/v1", b"admission.k8s.io/v9"), {}, 400, "v9", id="version"
        ),
        pytest.param(
            "POST", "/mutate", GOOD.replace(b"AdmissionReview", b"PodList"), {}, 400, "PodList is not", id="wrong kind"
        ),
        pytest.param("POST", "/mutate", b"[" + b"0," * 200_000 + b"0]", {}, 400, "Expected `object`", id="many values"),
        pytest.param("POST", "/mutate", None, {"Content-Type": "application/json"}, 400, "not valid JSON", id="empty"),
        pytest.param("POST", "/mutate", LONG_UID, {}, 400, "request.uid has 250000 characters", id="a long uid"),
        pytest.param("GET", "/mutate", None, {}, 405, "method", id="GET of a review"),
        pytest.param("POST", "/", GOOD, {}, 404, "not found", id="unknown path"),
        pytest.param("POST", "/mutate/../../etc/passwd", GOOD, {}, 404, "not found", id="path upwards"),
        pytest.param("DELETE", "/healthz", None, {}, 405, "method", id="DELETE of a probe"),
        pytest.param("GET", "/readyz?" + "a" * 9000, None, {}, 414, "", id="a long address"),
        pytest.param("GET", "/readyz", None, {"X-A": "a" * 9000}, 431, "", id="a long header"),
        pytest.param("GET", "/readyz", None, {f"X-{n}": "a" for n in range(200)}, 431, "", id="many headers"),
        pytest.param("GET", "/readyz", None, {"Expect": "wonders"}, 417, "", id="expectations"),
    ],
)
def test_answered_with_an_error(
    server: DemoServer, method: str, path: str, body: bytes | None, headers: dict[str, str], status: int, words: str
) -> None:
    answer = server.ask(method, path, body, headers)
    assert answer.status == status
    assert words in answer.body.decode()
    assert answer.headers["Connection"] == "close"


def test_oversized(server: DemoServer) -> None:
    """Answered at once, without waiting for the body."""
    answer = exchanged(server, HEAD.format(length=10 << 30).encode())
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert f"at most {MAX_REVIEW_BYTES} are read".encode() in answer


@pytest.mark.parametrize("more", [1, MAX_REVIEW_BYTES])
def test_too_long_a_review_is_answered_by_its_beginning(server: DemoServer, more: int) -> None:
    """When the body has been sent: before that its sender might not read the answer."""
    body = GOOD + b" " * (MAX_REVIEW_BYTES + more - len(GOOD))
    answer = server.ask("POST", "/validate", body)
    assert answer.status == 200
    assert b"allowed without a check" in answer.body
    assert server.ask("POST", "/validate", b" " * len(body)).status == 413


def test_chunked(server: DemoServer) -> None:
    head = HEAD.replace("Content-Length: {length}", "Transfer-Encoding: chunked").encode()
    assert exchanged(server, head, b"2\r\n{}\r\n0\r\n\r\n").startswith(b"HTTP/1.1 411 ")


@pytest.mark.parametrize(
    "text", [b"\x00" * 100 + b"\r\n\r\n", b"GET\r\n\r\n", b"POST /mutate HTTP/9.9\r\n\r\n", b"\r\n" * 10_000]
)
def test_no_http(server: DemoServer, text: bytes) -> None:
    answer = exchanged(server, text)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert is_served(server)


def test_headers_of_proxies_do_not_count(server: DemoServer) -> None:
    """No proxy is trusted: a header cannot change the client's address, or the request."""
    headers = {"Script_Name": "/x", "X-Forwarded-Proto": "http", "X-Forwarded-For": "10.0.0.1"}
    assert server.ask("GET", "/healthz", None, headers).status == 200
    server.ask("POST", "/nowhere", GOOD, headers)
    assert "10.0.0.1" not in server.log()


def test_both_lengths(server: DemoServer) -> None:
    """A request that a proxy may read differently is refused."""
    head = HEAD.replace("\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n").format(length=2).encode()
    assert exchanged(server, head, b"0\r\n\r\n").startswith(b"HTTP/1.1 4")


def test_half_closed(server: DemoServer) -> None:
    """A client that has finished sending is answered."""
    with open_tls(server.port) as connection:
        connection.sendall(HEAD.format(length=len(GOOD)).encode() + GOOD)
        socket.socket.shutdown(connection, socket.SHUT_WR)
        assert read_all(connection).startswith(b"HTTP/1.1 200 ")


def test_answer_is_sent_at_once(server: DemoServer) -> None:
    """Head and body in one TLS record, which one read returns: each further record wakes the client once more."""
    with open_tls(server.port) as connection:
        connection.sendall(HEAD.format(length=len(GOOD)).encode() + GOOD)
        head, _, body = connection.recv(1 << 16).partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert body.endswith(b"}")


def test_body_that_ends_early(server: DemoServer) -> None:
    """It is counted; TLS allows no answer after such an end."""
    refused = 'qos_webhook_refused_requests_total{code="400"}'
    before = server.metric(refused)
    with open_tls(server.port) as connection:
        connection.sendall(HEAD.format(length=1000).encode() + b"{")
        socket.socket.shutdown(connection, socket.SHUT_WR)
        read_all(connection)
    wait_for(lambda: server.metric(refused) == before + 1, "it is counted")


def test_pipelined(server: DemoServer) -> None:
    """All are answered in their order, and others in between."""
    count = 200
    one = HEAD.format(length=len(GOOD)).encode() + GOOD
    last = one.replace(b"POST /mutate", b"POST /nowhere")
    answer = exchanged(server, one * count + last)
    assert answer.count(b"HTTP/1.1 200 ") == count
    assert answer.count(b"HTTP/1.1 404 ") == 1
    assert is_served(server)


def test_others_are_served_between_pipelined_requests(server: DemoServer) -> None:
    """All of them are in one TLS record, so that the server has to wait for none."""

    def refused(name: str) -> bytes:
        body = create_review(pod_object(name=name, priorityClassName="none"))
        return HEAD.replace("/mutate", "/validate").format(length=len(body)).encode() + body

    many = refused("many")
    many *= (16 << 10) // len(many)

    def is_between() -> bool:
        """A pause of the machine may delay the other request."""
        logged = len(server.log())
        with open_tls(server.port) as pipelined, open_tls(server.port) as other:
            pipelined.sendall(many)
            other.sendall(refused("other"))
            assert other.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
            socket.socket.shutdown(pipelined, socket.SHUT_WR)
            read_all(pipelined)
        names = re.findall("outcome=denied .* object=pods/[^/]+/(many|other)", server.log()[logged:])
        return "other" in names[1:-1]

    wait_for(is_between, "another request is answered in between")


def test_plain_http_on_the_tls_port(server: DemoServer) -> None:
    before = server.metric('qos_webhook_closed_connections_total{reason="tls"}')
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: webhook\r\n\r\n")
        with suppress(ConnectionError):
            assert connection.recv(1 << 16) == b""
    wait_for(lambda: server.metric('qos_webhook_closed_connections_total{reason="tls"}') > before, "it is counted")
    assert "127.0.0.1: the TLS handshake failed: HTTP_REQUEST" in server.log()


def test_old_tls(server: DemoServer) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname = False
    old.verify_mode = ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        server.ask("GET", "/healthz", context=old)


def test_renegotiation(server: DemoServer) -> None:
    """Each would cost the server much more than the client: the connection ends."""
    openssl = shutil.which("openssl")
    if openssl is None:
        without("there is no openssl, the only client here that renegotiates: make ci-tools installs it")
    line = [openssl, "s_client", "-connect", f"127.0.0.1:{server.port}", "-tls1_2"]
    typed = "R\nGET /healthz HTTP/1.1\r\nHost: webhook\r\n\r\n"

    def asked() -> subprocess.CompletedProcess[str]:
        return subprocess.run(line, input=typed, capture_output=True, text=True, check=False, timeout=60)

    # A connection with a late handshake was never registered.
    done = answer_in_the_end(asked, lambda ended: "RENEGOTIATING" in ended.stdout + ended.stderr)
    assert "RENEGOTIATING" in done.stdout + done.stderr
    assert "no renegotiation" in done.stderr
    assert "200 OK" not in done.stdout


def test_more_connections_than_there_may_be(server: DemoServer) -> None:
    """All newcomers are admitted; silent ones are ended, and clients with an answered review stay."""
    with ExitStack() as stack:
        used = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=UNVERIFIED)
        stack.callback(used.close)
        assert is_answered(used)
        probe = stack.enter_context(open_tls(server.port, timeout=60))
        probe.sendall(b"GET /healthz HTTP/1.1\r\nHost: webhook\r\n\r\n")
        assert b"200 OK" in read_some(probe)

        def full() -> float:
            return server.metric('qos_webhook_closed_connections_total{reason="full"}')

        def some_go() -> bool:
            """A pause of the machine ends a crowd by its handshake deadlines: then another one follows."""
            with ExitStack() as crowd:
                for _ in range(MAX_CONNECTIONS + 100):
                    crowd.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
                assert is_served(server)
                assert is_answered(used)
                return answer_in_the_end(full, lambda count: count > 0, timeout=15) > 0

        wait_for(some_go, "some go")
        assert is_answered(used)
        assert read_some(probe) == b"", "only reviews make a client known"


@pytest.mark.parametrize("size", [190 << 10, 1 << 20])
def test_memory_of_bodies_that_stall(server: DemoServer, size: int) -> None:
    """As many as the limit of connections, each with a stalled body: most of them are ended."""
    part = HEAD.format(length=MAX_REVIEW_BYTES).encode() + b" " * size
    with ExitStack() as stack:
        for connection in [stack.enter_context(open_tls(server.port)) for _ in range(MAX_CONNECTIONS - 100)]:
            with suppress(ssl.SSLError, ConnectionError):
                connection.sendall(part)
        assert is_served(server)
    assert peak(server.worker) < MEMORY_LIMIT


def _unsent(port: int) -> list[int]:
    """The bytes that the kernel keeps for each connection of a server until its client reads them."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    mine = [line for line in lines if int(line[1].partition(":")[2], 16) == port and line[3] != "0A"]
    return [int(line[4].partition(":")[0], 16) for line in mine]


@pytest.mark.parametrize(
    ("scheme", "request_", "count"),
    [
        pytest.param("https", "GET /healthz", 4000, id="requests that are not read to their end"),
        pytest.param("https", "GET /healthz", 250, id="requests that are all read"),
        pytest.param("http", "GET /metrics", 1, id="a scrape"),
    ],
)
def test_unread_answers_take_little_memory_for_seconds(
    server: DemoServer, scheme: str, request_: str, count: int
) -> None:
    """The kernel counts them as memory of the pod, and keeps them when the webhook has closed the connection."""
    if not Path("/proc/net/tcp").exists():
        without("there is no /proc/net/tcp, where Linux shows what waits to be sent")
    port = server.port if scheme == "https" else server.metrics_port
    wait_for(lambda: not any(_unsent(port)), "nothing is left of other tests")
    found = [0]

    def some_wait() -> bool:
        now = _unsent(port)
        found.extend(now)
        return any(now)

    with ExitStack() as stack:
        connection = stack.enter_context(socket.socket())
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.settimeout(2)
        connection.connect(("127.0.0.1", port))
        if scheme == "https":
            connection = stack.enter_context(UNVERIFIED.wrap_socket(connection))
        with suppress(OSError):
            connection.sendall(f"{request_} HTTP/1.1\r\nHost: webhook\r\n\r\n".encode() * count)
        wait_for(lambda: some_wait() and max(found) > 4 << 10, "answers wait for their client")
        # Otherwise the kernel keeps them for one or two minutes.
        wait_for(lambda: not some_wait(), "they are dropped", timeout=40)
    assert max(found) <= 64 << 10


def _filled(before: bytes, piece: bytes, after: bytes) -> bytes:
    """A good review with as many values at one place as its bytes allow: they are omitted."""
    at = GOOD.index(SPEC)
    start, rest = GOOD[:at] + before, after + GOOD[at:]
    count = (MAX_REVIEW_BYTES - len(start) - len(rest) - len(piece)) // len(piece)
    return start + piece * count + piece.rstrip(b",") + rest


def _dense(before: bytes, piece: bytes, after: bytes) -> bytes:
    """As many values as are built, and blanks for the rest."""
    at = GOOD.index(SPEC)
    body = GOOD[:at] + before + piece * (MAX_VALUES - 100) + piece.rstrip(b",") + after + GOOD[at:]
    return body + b" " * (MAX_REVIEW_BYTES - len(body))


def _all_at_once(server: DemoServer, bodies: Sequence[bytes]) -> list[bytes]:
    """The start of the answer to each body, empty if there is none.

    Raises:
        ConnectionError: The last body has none: the others, which miss a byte for longer, must be ended for it.
    """
    # Also on a slow machine, it is evaluated completely.
    head = HEAD.replace("/mutate", "/mutate?timeout=30s")
    with ExitStack() as stack:
        connections = [stack.enter_context(open_tls(server.port, timeout=60)) for _ in bodies]
        # Connections without room are ended while they still send.
        for connection, body in zip(connections, bodies, strict=True):
            with suppress(ssl.SSLError, ConnectionError):
                connection.sendall(head.format(length=len(body)).encode() + body[:-1])
        for connection, body in zip(connections, bodies, strict=True):
            with suppress(ssl.SSLError, ConnectionError):
                connection.sendall(body[-1:])
        answers = [read_some(connection)[:12] for connection in connections]
    if not answers[-1]:
        raise ConnectionError("there is no answer to the last")
    return answers


def _several_at_once(server: DemoServer, bodies: Sequence[bytes]) -> list[bytes]:
    """Like `_all_at_once`; each half separately on a machine that is too slow for the server's deadlines."""
    began = time.monotonic()
    try:
        return _all_at_once(server, bodies)
    except OSError:
        if len(bodies) == 1 or time.monotonic() - began < READ_SECONDS:
            raise
    half = len(bodies) // 2
    return _several_at_once(server, bodies[:half]) + _several_at_once(server, bodies[half:])


@pytest.mark.parametrize("fill", [_filled, _dense])
def test_memory(server: DemoServer, fill: Callable[[bytes, bytes, bytes], bytes]) -> None:
    """Bodies of maximum length, with many small values, several at once."""
    shapes: Sequence[tuple[bytes, bytes, bytes]] = (
        (b'"spec": {"containers": [', b"{},", b"]}, "),
        (b'"spec": {"containers": [', b"[],", b"]}, "),
        (b'"spec": {"topologySpreadConstraints": [', b"{},", b"]}, "),
        (b'"spec": {"tolerations": [', b"{},", b"]}, "),
        (b'"spec": {"volumes": [', b"{},", b"]}, "),
        (b'"status": {"conditions": [', b"{},", b"]}, "),
        (b'"status": {"phase": "\xf0\x9f\x98\x80', b"aaaaaaaa", b'"}, '),
        (b'"spec": {"containers": [{"image": "\xf0\x9f\x98\x80', b"aaaaaaaa", b'"}]}, '),
    )
    bodies = [fill(*shape) for shape in shapes]
    answers = _several_at_once(server, bodies)
    assert set(answers) <= {b"", b"HTTP/1.1 200", b"HTTP/1.1 400", b"HTTP/1.1 503"}
    if answers[-1] == b"HTTP/1.1 503":
        # The others were being answered, and used the memory for a moment. The API server retries.
        answers = _all_at_once(server, bodies[-1:])
    assert answers[-1] in {b"HTTP/1.1 200", b"HTTP/1.1 400"}
    assert is_served(server)
    assert peak(server.worker) < MEMORY_LIMIT


def test_scrapes_are_limited(server: DemoServer) -> None:
    """At most 20 connections a second: a page costs as much as a review."""
    began = time.monotonic()
    with ExitStack() as stack:
        address = ("127.0.0.1", server.metrics_port)
        scrapers = [stack.enter_context(socket.create_connection(address, timeout=60)) for _ in range(21)]
        for scraper in scrapers:
            scraper.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        for scraper in scrapers:
            assert scraper.recv(1 << 10).startswith(b"HTTP/1.1 200 ")
    assert time.monotonic() - began > 0.9


def test_silent_scraper_is_disconnected(server: DemoServer) -> None:
    with socket.create_connection(("127.0.0.1", server.metrics_port), timeout=60) as scraper:
        assert scraper.recv(1) == b""


def test_scrape_without_an_end_is_not_read_to_its_end() -> None:
    """A client that sends without a pause would keep the process from everything else."""
    client = MagicMock()
    client.recv.side_effect = [b"G"] * 100
    ScrapeServer("127.0.0.1:0", bytes)._answer(client, None)
    assert client.recv.call_count == 16
    client.sendall.assert_not_called()


def test_repeated_fault_is_logged_a_few_times(server: DemoServer) -> None:
    def logged() -> int:
        """Lines of this kind."""
        return server.log().count(" WARNING webhook.serving.app: 127.0.0.1 /mutate: 415: ")

    before, started = logged(), time.monotonic()
    for _ in range(50):
        server.ask("POST", "/mutate", b"{}", {"Content-Type": "text/plain"})
    # Ten times in ten seconds, which may begin and end anywhere.
    whiles = 2 + int((time.monotonic() - started) / 10)
    assert logged() - before <= 10 * whiles


def test_client_that_breaks_off_is_no_fault(server: DemoServer) -> None:
    # This answer comes after all lines that other tests have caused.
    assert is_served(server)
    before = faults(server)
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30):
            pass
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            # Closed by a reset, like some load balancers' checks: it may end before it is accepted.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with open_tls(server.port) as connection:
            connection.sendall(b"POST /mut")
    assert is_served(server)
    states = ("handshake", "new", "request", "idle")
    wait_for(
        lambda: not any(server.metric(f'qos_webhook_connections{{state="{state}"}}') for state in states),
        "the server has seen all of them end",
    )
    assert faults(server) == before


def faults(server: DemoServer) -> list[str]:
    """The log except lines of level INFO: warnings, errors, and tracebacks, which have no level."""
    return [line for line in server.log().splitlines() if not re.match(r"\S+Z INFO ", line)]
