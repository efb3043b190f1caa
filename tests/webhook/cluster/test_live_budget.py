"""The live reads of one review together, with an API server that accepts connections and answers nothing."""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from flask.testing import FlaskClient

from cluster_io.demo import demo_objects
from cluster_io.live.client import ClientTransport
from tests.objects import raw_node, raw_object
from tests.webhook.clusters import make_cluster
from tests.webhook.installation import ZONE, chart_values
from tests.webhook.review_objects import (
    controlled_by,
    create_review,
    delete_review,
    eviction_review,
    node_deletion_review,
    pod_object,
    workload_object,
)
from webhook.cluster.view import Cluster, live_sources
from webhook.serving.app import create_app

DB_0 = next(entry for entry in demo_objects() if entry["kind"] == "Pod" and entry["metadata"]["name"] == "db-0")
OWNER = controlled_by(raw_object("ReplicaSet", "web-1", metadata={"uid": "77"}))
UNRESOLVED: dict[str, Any] = {"priority": None, "preemptionPolicy": None, "priorityClassName": "high"}
OWNED = create_review(pod_object(owner=OWNER, **UNRESOLVED))
EVICTION = eviction_review("db-0", "shop", {"gracePeriodSeconds": 0})
TIMEOUT_SECONDS = 4
"""The API server's timeout: a quarter of it is for live reads."""
BUDGET_SECONDS = 1.0


class Silent:
    """A server that accepts connections, and never sends a byte."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.port: int = listener.getsockname()[1]

    def asked(self) -> list[bytes]:
        """The first bytes on each connection since the last call."""
        found: list[bytes] = []
        self._listener.setblocking(False)
        while True:
            try:
                connection, _ = self._listener.accept()
            except BlockingIOError:
                return found
            with connection:
                found.append(connection.recv(4))

    @contextmanager
    def dripping(self) -> Iterator[None]:
        """Answer each request with a body that arrives byte by byte, until the block ends."""
        is_over = threading.Event()

        def drip(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                connection.recv(1 << 12)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n")
                while not is_over.wait(0.05):
                    connection.sendall(b" ")

        def accept() -> None:
            self._listener.settimeout(0.05)
            while not is_over.is_set():
                with suppress(TimeoutError):
                    drips.append(pool.submit(drip, self._listener.accept()[0]))

        drips: list[Future[None]] = []
        with ThreadPoolExecutor() as pool:
            pool.submit(accept)
            try:
                yield
            finally:
                is_over.set()
        assert drips


@pytest.fixture
def silent() -> Iterator[Silent]:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield Silent(listener)


@pytest.fixture
def client(silent: Silent, tmp_path: Path) -> Iterator[FlaskClient]:
    """The webhook with empty caches, so that everything must be read live."""
    context = {"name": "x", "context": {"cluster": "x", "user": "x"}}
    server = {"name": "x", "cluster": {"server": f"http://127.0.0.1:{silent.port}"}}
    users = [{"name": "x", "user": {}}]
    kubeconfig = {"current-context": "x", "contexts": [context], "clusters": [server], "users": users}
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **kubeconfig}))
    transport = ClientTransport(kubeconfig=str(file), request_timeout=60)
    configuration = chart_values(1, ZONE)["clusterDefaultConstraints"]["schedulerConfiguration"]
    empty = make_cluster(scheduler_config=yaml.safe_dump(configuration))
    cluster = Cluster(empty._caches, live_sources(transport), empty._spread_defaults, empty.now)
    yield create_app(cluster, lambda: (), lambda: False).test_client()
    transport.close()


def ask(client: FlaskClient, path: str, review: bytes) -> float:
    """The seconds that an answer took."""
    began = time.monotonic()
    url = f"{path}?timeout={TIMEOUT_SECONDS}s"
    answer = client.post(url, data=review, content_type="application/json")
    assert answer.get_json()["response"]["allowed"] is True
    return time.monotonic() - began


@pytest.mark.parametrize(
    ("path", "review"),
    [
        pytest.param("/mutate", OWNED, id="a new pod: its namespace, its class, its owner"),
        pytest.param("/validate", create_review(pod_object(**UNRESOLVED)), id="a new pod of an unknown class"),
        pytest.param("/validate", delete_review(DB_0), id="a deletion: namespace, volumes, node, Lease"),
        pytest.param("/validate", EVICTION, id="an eviction"),
        pytest.param("/validate", node_deletion_review(raw_node("node-1")), id="a Node"),
        pytest.param("/validate", create_review(workload_object("Deployment", "high")), id="a class of a template"),
        pytest.param("/validate", create_review(workload_object("Deployment", None)), id="a template without class"),
    ],
)
def test_all_live_reads_of_a_review_share_one_budget(
    client: FlaskClient, silent: Silent, path: str, review: bytes
) -> None:
    seconds = ask(client, path, review)
    assert set(silent.asked()) == {b"GET "}
    # Twice as long for a busy machine; two budgets would take longer.
    assert BUDGET_SECONDS <= seconds < 2 * BUDGET_SECONDS


def test_answers_that_come_byte_by_byte_gain_no_time(client: FlaskClient, silent: Silent) -> None:
    """Like the answers of an API server that is busy with many large objects."""
    with silent.dripping():
        for review in (EVICTION, delete_review(DB_0)):
            assert BUDGET_SECONDS / 2 <= ask(client, "/validate", review) < 2 * BUDGET_SECONDS


class _LateBody(io.BytesIO):
    """A body that is complete when the time for live reads is over."""

    def read(self, size: int | None = -1) -> bytes:
        time.sleep(1.1 * BUDGET_SECONDS)
        return super().read(size)


def test_budget_starts_with_the_review_not_its_first_read(client: FlaskClient, silent: Silent) -> None:
    url, body = f"/mutate?timeout={TIMEOUT_SECONDS}s", _LateBody(OWNED)
    answer = client.post(url, input_stream=body, content_length=len(OWNED), content_type="application/json")
    assert answer.get_json()["response"]["allowed"] is True
    assert silent.asked() == []
