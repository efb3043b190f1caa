"""A server that answers as a kubelet does, for the API server's node proxy to reach.

There is no kubelet here: the test writes its answers, in the shape of real ones. The path is real: TLS, the node's
address and port, the proxy, permissions, failures. Other tests compare the arithmetic with the kernel and with
upstream's own code.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from types import TracebackType
from typing import Any, Self

from tests.controlplane.certificates import Authority


def own_address() -> str | None:
    """An IPv4 address of this machine that is not loopback: the API server proxies to no other. None: it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # This only looks up a route: nothing is sent.
            probe.connect(("198.51.100.1", 9))
        except OSError:
            return None
        address: str = probe.getsockname()[0]
    return None if address.startswith("127.") else address


class _Server(ThreadingHTTPServer):
    def server_bind(self) -> None:
        """Bind, and ask no name server for the address' name, as HTTPServer does: it may be slow to answer."""
        TCPServer.server_bind(self)


class KubeletAnswers:
    """Serves answers by path, and records the requests, for the duration of the block."""

    def __init__(self, address: str, folder: Path) -> None:
        """Listen; certificates are written into the folder."""
        self.answers: dict[str, Any] = {}
        self.asked: list[str] = []
        self._server = _Server((address, 0), self._handler())
        credential = Authority().server(())
        chain = folder / "kubelet.pem"
        chain.write_bytes(credential.certificate + credential.key)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(chain)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def status(self) -> Mapping[str, Any]:
        """Fields of its node's status by which the API server finds it."""
        address, port = self._server.server_address[:2]
        return {
            "addresses": [{"type": "InternalIP", "address": str(address)}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        kubelet = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                kubelet.asked.append(self.path)
                answer = kubelet.answers.get(self.path)
                body = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
                self.send_response(200 if answer is not None else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the library's name
                """Log nothing."""

        return Handler
