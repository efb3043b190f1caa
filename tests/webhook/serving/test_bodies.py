"""How much of a body is read, and how much is kept, while others need memory or time."""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from werkzeug.exceptions import BadRequest

from tests.webhook.review_objects import create_review, delete_review, pod_object
from tests.webhook.serving.world import NoTls
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import EDGE_BYTES, MAX_REVIEW_BYTES, skim
from webhook.serving.app import create_app
from webhook.serving.bodies import LARGE_BYTES, Body, Unavailable, read_body
from webhook.serving.connections import Connection, Connections, Memory, NoMemory
from webhook.serving.connections.listener import Channel

PIECE = 16 << 10
TOO_LONG = MAX_REVIEW_BYTES + PIECE
CREATION, DELETION = create_review(pod_object(name="web")), delete_review(pod_object(name="web"))
NO_REVIEW = b"[" + b" " * 100
FOUR = [LARGE_BYTES] * 4


class Client:
    """A client, and the connection on which its body arrives."""

    def __init__(self, registry: Connections, sock: socket.socket, body: bytes, length: int) -> None:
        self._registry = registry
        # Blanks may follow the object, so that the options of a deletion are still the end.
        at = body.rfind(b', "options"')
        self._parts = [body] if at < 0 else [body[:at], body[at:]]
        self._blanks = length - len(body)
        self._length = length
        self.read_bytes = 0
        self.seen: Connection = registry.accept(sock, "10.0.0.1")
        registry.end_handshake(self.seen, certified=False)
        registry.receive(self.seen, 100)
        registry.begin_body(self.seen)
        self.channel = Channel(self.seen, NoTls(), registry)

    def read(self, size: int) -> bytes:
        """See ``wsgi.input``."""
        at = self.read_bytes
        self.read_bytes += size
        self._registry.receive(self.seen, size)
        text, *rest = self._parts
        whole = text[at : at + size].ljust(size)
        if rest and at + size == self._length:
            return whole[: -len(rest[0])] + rest[0]
        return whole

    def read_body(self, body: object = None) -> Body:
        """Let the server read it, or another body."""
        environ: dict[str, Any] = {
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": f"{self._length}",
            "gunicorn.socket": self.channel,
            "wsgi.input": body or self,
        }
        return read_body(environ)


@pytest.fixture
def sockets() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize(
    ("body", "length", "others", "kept"),
    [
        pytest.param(CREATION, MAX_REVIEW_BYTES, [], "all", id="of the maximum length"),
        pytest.param(CREATION, TOO_LONG, [], "beginning", id="too long"),
        pytest.param(DELETION, TOO_LONG, [], "edges", id="too long a deletion"),
        pytest.param(NO_REVIEW, TOO_LONG, [], "beginning", id="too long, and no review"),
        pytest.param(CREATION, LARGE_BYTES, FOUR[1:], "all", id="large beside three"),
        pytest.param(CREATION, LARGE_BYTES, FOUR, "beginning", id="large beside four"),
        pytest.param(DELETION, LARGE_BYTES, FOUR, "all", id="a large deletion beside four"),
        pytest.param(CREATION, LARGE_BYTES - PIECE, FOUR, "all", id="beside four, not large itself"),
        pytest.param(CREATION, 8 << 20, [20 << 20], "beginning", id="without memory"),
        pytest.param(DELETION, 8 << 20, [20 << 20], "edges", id="a deletion without memory"),
    ],
)
def test_large_body_is_read_and_kept_as_far_as_possible(
    sockets: ExitStack, body: bytes, length: int, others: list[int], kept: str
) -> None:
    registry = Connections(lambda _: None, Memory(MAX_REVIEW_BYTES + (8 << 20), 8 << 20))
    for size in others:
        other = Client(registry, sockets.enter_context(socket.socket()), CREATION, size)
        other.read(size)
        registry.begin_answer(other.seen)
    client = Client(registry, sockets.enter_context(socket.socket()), body, length)
    found = client.read_body()
    assert found.length == length
    assert found.is_whole == (kept == "all")
    assert client.channel.is_left == (kept == "beginning")
    if kept == "beginning":
        assert client.read_bytes < 2 * EDGE_BYTES if length > MAX_REVIEW_BYTES else client.read_bytes < length
        assert len(found.beginning) == EDGE_BYTES
        assert registry.count_larger(0) == len(others), "no memory is held for what is not read"
        assert client.seen.body.getvalue() == b""
    else:
        assert client.read_bytes == length
    if kept == "edges":
        assert len(found.beginning) < 2 * EDGE_BYTES
        assert len(found.end) == EDGE_BYTES
        assert skim(found.beginning, found.end).options is not None


class Broken:
    """The body of a client that sends no more, or with an error."""

    def __init__(self, error: type[OSError] | None) -> None:
        self._error = error

    def read(self, _size: int) -> bytes:
        """See ``wsgi.input``."""
        if self._error is not None:
            raise self._error
        return b""


@pytest.mark.parametrize(
    ("error", "is_ended", "expected"),
    [
        pytest.param(NoMemory, False, Unavailable, id="no memory: the API server retries"),
        pytest.param(ConnectionAbortedError, False, BadRequest, id="broken off"),
        pytest.param(None, False, BadRequest, id="too short"),
        pytest.param(ConnectionAbortedError, True, ConnectionResetError, id="ended, with an error"),
        pytest.param(None, True, ConnectionResetError, id="ended by the webhook"),
    ],
)
def test_body_that_does_not_arrive(
    sockets: ExitStack, error: type[OSError] | None, *, is_ended: bool, expected: type[Exception]
) -> None:
    registry = Connections(lambda _: None, Memory(MAX_REVIEW_BYTES, 8 << 20))
    client = Client(registry, sockets.enter_context(socket.socket()), CREATION, LARGE_BYTES)
    client.seen.ended = is_ended
    with pytest.raises(expected):
        client.read_body(Broken(error))


class LateBody(io.BytesIO):
    """A body that is complete after more than half of a timeout of a second."""

    def read(self, size: int | None = -1) -> bytes:
        """See ``wsgi.input``."""
        time.sleep(0.6)
        return super().read(size)


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        pytest.param("/validate", 200, "try again", id="judged by its edges"),
        pytest.param("/mutate", 503, "too many large reviews at once", id="retried by the API server"),
    ],
)
def test_late_large_review_is_not_read_whole(demo_cluster: Cluster, path: str, status: int, words: str) -> None:
    body = CREATION.ljust(LARGE_BYTES)
    answer = (
        create_app(demo_cluster, lambda: (), lambda: False)
        .test_client()
        .post(
            f"{path}?timeout=1s",
            input_stream=LateBody(body),
            content_length=len(body),
            content_type="application/json",
        )
    )
    assert answer.status_code == status
    assert words in answer.get_data(as_text=True)
