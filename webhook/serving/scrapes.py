"""Serves ``GET /metrics`` over plain HTTP, on a separate port that must not delay reviews.

A pod without credentials may reach this port, so its cost is limited: one connection each `_ACCEPT_SECONDS`, and one
request on it, in few reads. Other connections wait in the kernel and cost this process no CPU. Silent connections do
not block Prometheus: if there are too many, the oldest is ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import gevent
from gevent.server import StreamServer

from webhook.serving.connections.registry import keep_little_unread

_CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
SCRAPE_SECONDS: Final = 3.0
"""The time for one connection."""
_ACCEPT_SECONDS: Final = 0.05
"""The time between two connections: at most 20 pages a second, each of about a millisecond."""
_MAX_OPEN: Final = 8
_MAX_READS: Final = 16
_READ_BYTES: Final = 4096
_HEAD_END: Final = b"\r\n\r\n"


class ScrapeServer(StreamServer):
    """Serves the metrics of one process."""

    max_accept = 1

    def __init__(self, address: str, page: Callable[[], bytes]) -> None:
        """Describe the server; `start` begins to serve.

        Args:
            address: HOST:PORT.
            page: Returns the metrics in Prometheus' text format.
        """
        host, _, port = address.rpartition(":")
        super().__init__((host.strip("[]"), int(port)), handle=self._answer)
        self._page = page
        self._open: list[gevent.Greenlet[..., None]] = []

    def do_handle(self, *accepted: Any) -> None:
        """Serve one connection, and accept no other for a moment."""
        keep_little_unread(accepted[0])
        self._open = [each for each in self._open if not each.dead]
        if len(self._open) >= _MAX_OPEN:
            self._open.pop(0).kill(block=False)
        self._open.append(gevent.spawn(self._answer, *accepted))
        self.stop_accepting()
        gevent.spawn_later(_ACCEPT_SECONDS, self.start_accepting)

    def _answer(self, sock: Any, _address: object) -> None:
        with sock, gevent.Timeout(SCRAPE_SECONDS, False):  # type: ignore[arg-type]  # False: it raises nothing
            head = b""
            for _ in range(_MAX_READS):
                piece = sock.recv(_READ_BYTES)
                head += piece
                if _HEAD_END in head or not piece:
                    break
            if _HEAD_END in head:
                sock.sendall(self._response(head))

    def _response(self, head: bytes) -> bytes:
        method, path, *_ = [*head.split(b" ", 2), b""]
        if (method, path.partition(b"?")[0]) == (b"GET", b"/metrics"):
            status, kind, body = "200 OK", _CONTENT_TYPE, self._page()
        else:
            status, kind, body = "404 Not Found", "text/plain", b"GET /metrics is the only page\n"
        text = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        return text.encode() + body
