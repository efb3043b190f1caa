"""A metrics API that is down, broken or hostile: the API server passes on what another server answers."""

from __future__ import annotations

import itertools
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import pytest

from cluster_io.live import transport
from tests.controlplane.certificates import Authority
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.plugin import InProcess
from tests.objects import raw_object
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

GROUP_VERSION: Final = "metrics.k8s.io/v1beta1"
DISCOVERY: Final = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": GROUP_VERSION,
    "resources": [
        {"name": name, "singularName": "", "namespaced": name == "pods", "kind": kind, "verbs": ["get", "list"]}
        for name, kind in (("nodes", "NodeMetrics"), ("pods", "PodMetrics"))
    ],
}
HOSTILE: Final = "\x1b[2J\x1b]0;owned\x07\u202e<script>"


class MetricsAPI(ThreadingHTTPServer):
    """Answers each request for metrics with pieces of a body."""

    daemon_threads = True
    status = 200
    content_type = "application/json"
    pieces: Callable[[], Iterator[bytes]] = staticmethod(lambda: iter(()))


class _Handler(BaseHTTPRequestHandler):
    server: MetricsAPI

    def do_GET(self) -> None:
        about_itself = self.path.partition("?")[0] == f"/apis/{GROUP_VERSION}"
        self.send_response(200 if about_itself else self.server.status)
        self.send_header("Content-Type", "application/json" if about_itself else self.server.content_type)
        self.end_headers()
        try:
            for piece in [json.dumps(DISCOVERY).encode()] if about_itself else self.server.pieces():
                self.wfile.write(piece)
        except OSError:
            # The API server has closed the connection.
            self.close_connection = True

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


@pytest.fixture(scope="module")
def metrics(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetricsAPI]:
    """An API server for metrics; the cluster's API server forwards requests to it."""
    chain = tmp_path_factory.mktemp("metrics") / "chain.pem"
    credential = Authority().server(())
    chain.write_bytes(credential.certificate + credential.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain)
    with MetricsAPI(("127.0.0.1", 0), _Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            # The API server removes its own APIService of a deleted CustomResourceDefinition a little later.
            wait_for(lambda: not _has_service(control_plane), "no other metrics API is there")
            with control_plane.holding(_objects(server.server_address[1])):
                wait_for(lambda: _is_served(control_plane), "the metrics API is served")
                yield server
        finally:
            server.shutdown()
            thread.join()


def _objects(port: int) -> list[Object]:
    local = {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]}
    spec = {
        "group": "metrics.k8s.io",
        "version": "v1beta1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "insecureSkipTLSVerify": True,
        "service": {"name": "metrics", "namespace": "default", "port": port},
    }
    return [
        raw_object("Service", "metrics", "default", spec=local),
        raw_object("APIService", "v1beta1.metrics.k8s.io", spec=spec, apiVersion="apiregistration.k8s.io/v1"),
    ]


def _has_service(control_plane: ControlPlane) -> bool:
    query = {"fieldSelector": "metadata.name=v1beta1.metrics.k8s.io"}
    return bool(control_plane.api.list_items("apiregistration.k8s.io/v1", "APIService", **query))


def _is_served(control_plane: ControlPlane) -> bool:
    try:
        return bool(control_plane.api.request("GET", f"/apis/{GROUP_VERSION}"))
    except ApiError:
        return False


def _list(*items: Object, **metadata: str) -> bytes:
    return json.dumps({"kind": "List", "apiVersion": GROUP_VERSION, "metadata": metadata, "items": items}).encode()


def _slowly() -> Iterator[bytes]:
    for _ in range(300):
        yield b" "
        time.sleep(0.1)


ANSWERS: Final[Mapping[str, tuple[dict[str, Any], str]]] = {
    "one byte at a time": ({"pieces": _slowly}, "within 1 s"),
    "without an end": ({"pieces": lambda: itertools.repeat(b'{"metadata":' * 8192, 1000)}, "is not a list"),
    "not JSON": ({"pieces": lambda: iter([HOSTILE.encode()]), "content_type": "text/html"}, "is not a list"),
    "an error": ({"pieces": lambda: iter([HOSTILE.encode()]), "status": 500}, "<script>"),
    "a long error": ({"pieces": lambda: iter([b'{"message":"', b"long " * 10**5, b'"}']), "status": 500}, "long long"),
    "unavailable": ({"status": 503}, "503"),
    "deep": ({"pieces": lambda: iter([b'{"items":', b"[" * 10**6, b"]" * 10**6, b"}"])}, "write a mapping"),
    "names and numbers": (
        {"pieces": lambda: iter([_list({"metadata": {"name": HOSTILE}, "usage": {"cpu": "9e999999999"}})])},
        "9e999999999",
    ),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_answer_goes_on_without_a_metrics_api(
    qos: InProcess,
    make_node: Callable[..., Object],
    metrics: MetricsAPI,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
) -> None:
    """The list of nodes shows why usage is unknown, within seconds and in printable text."""
    # Of a single node the details are shown, which are read by name.
    names = [make_node()["metadata"]["name"] for _ in range(2)]
    settings, reason = ANSWERS[answer]
    for field, value in settings.items():
        monkeypatch.setattr(metrics, field, value)
    # Less than what comes; each page that is too long is asked for again, with fewer objects.
    monkeypatch.setattr(transport, "MAX_ANSWER", 4 << 20)

    ran = qos.also("node")("-o", "wide", "--request-timeout=1s" if answer == "one byte at a time" else "--no-color")

    text = " ".join(ran.out.split())
    assert (ran.code, ran.err) == (0, "")
    assert all(name in text for name in names)
    assert "nodes.metrics.k8s.io" in text
    assert reason in text, text
    assert len(text) < 50_000
    assert not {"\x1b", "\x07", "\u202e"} & set(ran.out)


def test_pages_of_a_metrics_api_are_not_followed(
    qos: InProcess, make_node: Callable[..., Object], metrics: MetricsAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list has no pages: an answer that always names a next page would never end."""
    names = [make_node()["metadata"]["name"] for _ in range(2)]
    usage = [{"metadata": {"name": name}, "usage": {"cpu": "1", "memory": "3Gi"}} for name in names]
    monkeypatch.setattr(metrics, "pieces", lambda: iter([_list(*usage, **{"continue": "again"})]))

    ran = qos.also("node")("-o", "json")

    assert (ran.code, ran.err) == (0, "")
    assert '"usageSource": "metrics.k8s.io"' in ran.out
