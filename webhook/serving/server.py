"""gunicorn around the application, configured for a webhook, and the metrics on a separate port.

``gevent``: the API server opens TLS connections ahead and leaves them idle, which starves the threads and processes
of the other worker types. Keep-alive outlasts the API server's 90 s, so that no request meets a closing connection.
One worker: a cluster scales by replicas. The control socket is off: it would need a writable home directory.

Modules that import ``ssl``, sockets or threads are imported in the worker, after gevent has replaced these.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import gevent
from gevent.server import StreamServer
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.workers.ggevent import GeventWorker

from cluster_io.errors import ClusterError
from podrules.api.escape import escape
from webhook.serving.connections import (
    CHECK_SECONDS,
    Connections,
    Memory,
    give_way,
    return_freed_memory,
)
from webhook.serving.connections.registry import keep_little_unread
from webhook.serving.logs import set_up_logs
from webhook.settings import Settings

if TYPE_CHECKING:
    from webhook.certificates.serving import Certificate

_KEEP_ALIVE_SECONDS: Final = 95
_LOG: Final = logging.getLogger(__name__)
_FINISH_SECONDS: Final = 20
"""The time after listening ends in which requests are answered and clients leave their idle connections."""
_FILES: Final = 2400
"""Room for `MAX_CONNECTIONS`, for those that have been ended and are not closed yet, for reads and for scrapes."""
_MEMORY: Final = 8 << 20
"""Bytes for requests in addition to the longest one; known clients and newcomers each have as many reserved."""


class _Log(Logger):
    """gunicorn's log lines, in the same form as all others."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


class _Worker(GeventWorker):
    """Serves connections in turn, and continues to listen for a while after the signal to stop."""

    def run(self) -> None:
        """Serve, and end late connections."""
        cache_settings(self.cfg)
        gevent.spawn(self._end_late)
        super().run()

    def server_class(  # type: ignore[override]  # called as the class would be
        self, listener: Any, *, spawn: Any, **_: Any
    ) -> Any:
        """Make the server that gunicorn uses for a listening socket."""
        return cast("Server", self.app).make_listener(listener, partial(self.handle, listener), spawn)

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        """Serve one connection to its end."""
        try:
            super().handle(listener, client, addr)
        finally:
            self._connections.forget(client.connection)

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> Any:
        """Serve one request, then let other connections go first.

        Otherwise a connection with its next request already waiting would always be served before all others.
        """
        self._connections.begin_body(sock.connection)
        sock.hold()
        try:
            done = super().handle_request(listener_name, req, sock, addr)
        finally:
            sock.flush()
        # After an error the connection ends, and this line is not reached.
        self._connections.end_request(sock.connection, review=req.method == "POST")
        give_way()
        return done

    def handle_exit(self, sig: Any, frame: Any) -> None:
        """End after the drain time: until then the Service may still send connections here."""
        server = cast("Server", self.app)
        server.draining = True
        gevent.spawn_later(server.settings.drain_seconds, super().handle_exit, sig, frame)

    @property
    def _connections(self) -> Connections:
        return cast("Server", self.app).connections

    def _end_late(self) -> None:
        while True:
            gevent.sleep(CHECK_SECONDS)
            self._connections.end_late()


def cache_settings(config: Config) -> None:
    """Make gunicorn's settings plain attributes: it reads a dozen of them per request, each by two calls.

    This writes into the instance's dictionary, because `Config` has no other way to store a value. Only the worker,
    which serves, calls this; no setting changes once it runs.
    """
    vars(config).update({name: setting.get() for name, setting in config.settings.items()})


def _end_at_once(_arbiter: object, _worker: object) -> None:
    """Let a signal end the worker while it boots: it would only queue it, with the handler of its parent.

    gunicorn gives the worker its own handlers after gevent is loaded, half a second later.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


class Server(BaseApplication):
    """The webhook on one address, over TLS."""

    def __init__(self, settings: Settings) -> None:
        """Take the settings; the process does not change before `run`."""
        self.settings = settings
        self.draining = False
        """In the worker: whether the server got the signal to stop."""
        self.certificate: Certificate | None = None
        """In the worker: the certificate that is kept; None: a temporary one is served."""
        super().__init__()

    def run(self) -> None:
        """Serve until stopped. This changes the whole process: all its log lines get one format."""
        set_up_logs(self.settings.log_format, self.settings.log_level)
        # Raise the limit of open files to the number of connections: the default of many systems is 1,024.
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        if wanted < _FILES:
            _LOG.warning("at most %d files may be open: a flood of connections may stop the server", wanted)
        super().run()

    def load_config(self) -> None:
        """Pass our settings to gunicorn."""
        options = {
            "bind": [self.settings.address],
            "worker_class": _Worker,
            "workers": 1,
            # `Connections` has the limit, and ends others for a new one.
            "worker_connections": _FILES,
            "logger_class": _Log,
            "loglevel": self.settings.log_level.value,
            # No trusted proxy is between the API server and this program.
            "forwarded_allow_ips": "",
            "keepalive": _KEEP_ALIVE_SECONDS,
            "graceful_timeout": int(self.settings.drain_seconds) + _FINISH_SECONDS,
            "control_socket_disable": True,
            "proc_name": "qos-webhook",
            # gunicorn treats connections as TLS if it is given a file; `Listener` never reads it.
            "certfile": os.devnull,
            "ssl_context": lambda _config, _default: None,
            "post_fork": _end_at_once,
            "worker_exit": lambda _arbiter, _worker: self._give_up(),
        }
        for name, value in options.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """Make the application, in the worker: caches and certificates live there."""
        from prometheus_client import disable_created_metrics

        from webhook.reviews.admission_review import MAX_REVIEW_BYTES
        from webhook.serving.app import REVIEW_PATHS, create_app, is_accepted
        from webhook.serving.backend import start_backend
        from webhook.serving.connections.listener import Listener
        from webhook.serving.metrics import Metrics, MetricSources

        return_freed_memory()
        # The start time of each counter would be a second series, which Prometheus' text format does not need.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library gives it no types
        metrics = Metrics(REVIEW_PATHS)
        self.connections = Connections(metrics.count_closed, Memory(MAX_REVIEW_BYTES + _MEMORY, _MEMORY))
        try:
            backend = start_backend(self.settings, metrics)
            if self.settings.metrics_address is not None:
                address = self.settings.metrics_address
                try:
                    ScrapeServer(address, metrics.render).start()
                except OSError as error:
                    raise OSError(f"the metrics address {address}: {error.strerror}") from error
        except (ClusterError, OSError) as error:
            print(f"error: {escape(str(error))}", file=sys.stderr)
            sys.exit(Arbiter.WORKER_BOOT_ERROR)
        self.certificate = certificate = backend.certificate
        names = self.settings.clients.names if self.settings.clients.ca_file is not None else None
        self.make_listener = partial(
            Listener,
            context=backend.serving.context,
            connections=self.connections,
            failed=metrics.count_closed,
            accepts=lambda channel: names is not None and is_accepted(channel.getpeercert(), names),
        )
        metrics.watch(
            MetricSources(
                caches=backend.caches,
                ready=lambda: not backend.waiting_for(),
                certificate=certificate.status if certificate is not None else lambda: None,
                connections=self.connections.counts,
            )
        )
        app = create_app(
            backend.cluster,
            backend.waiting_for,
            lambda: self.draining,
            metrics=metrics,
            client_names=names,
            report_forced=backend.events.enqueue if backend.events is not None else None,
        )

        # After an error or an early answer the rest of the body is not read, so the connection has to end. The client
        # retries on a new one, which may reach another replica.
        def closing(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            def start(status: str, headers: Any, exc_info: Any = None) -> Any:
                if status >= "4" or environ["gunicorn.socket"].is_left:
                    start_response.__self__.force_close()
                return start_response(status, headers, exc_info)

            return app(environ, start)

        return closing

    def _give_up(self) -> None:
        """Release the Lease when the worker ends: otherwise other replicas would wait for it."""
        if self.certificate is not None:
            self.certificate.stop()


# Serves ``GET /metrics`` over plain HTTP, on a separate port that must not delay reviews.
#
# A pod without credentials may reach this port, so its cost is limited: one connection each `_ACCEPT_SECONDS`, and one
# request on it, in few reads and a few seconds. Other connections wait in the kernel and cost this process no CPU.

_CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
SCRAPE_SECONDS: Final = 3.0
"""The time for one connection."""
_ACCEPT_SECONDS: Final = 0.05
"""The time between two connections: at most 20 pages a second, each of about a millisecond."""
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

    def do_handle(self, *accepted: Any) -> None:
        """Serve one connection, and accept no other for a moment."""
        keep_little_unread(accepted[0])
        gevent.spawn(self._answer, *accepted)
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
