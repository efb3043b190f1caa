"""gunicorn around the application, with what a webhook needs.

``gevent``: threads and processes of the other workers starve behind TLS connections that the API server opens ahead and
leaves idle. Keep-alive outlasts the API server's 90 s, so that no request meets a closing connection. One worker: a
cluster scales by replicas. The control socket is off: it would need a writable home.
"""

from __future__ import annotations

import logging
import os
import ssl
import sys
from typing import Any, Final, cast

import gevent
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.workers.ggevent import GeventWorker

from podrules.cluster.errors import ClusterError
from webhook.settings import Settings

__all__ = ["Server"]

_KEEP_ALIVE_SECONDS: Final = 95
_FINISH_SECONDS: Final = 20
"""After the end of listening: for requests under way, and for clients to leave their idle connections."""


class _Worker(GeventWorker):
    """Serves connections in turn, and goes on listening for a while when it is told to end."""

    def run(self) -> None:
        """Serve; a client that breaks off its handshake is no error of ours, and no traceback in the log."""
        hub = gevent.get_hub()
        hub.NOT_ERROR = (*hub.NOT_ERROR, ssl.SSLError, ConnectionError)
        super().run()

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> Any:
        """Serve one request, then let the other connections have theirs.

        A connection whose next request is there already would otherwise be served again and again before all others.
        """
        done = super().handle_request(listener_name, req, sock, addr)
        gevent.sleep(0)
        return done

    def handle_exit(self, sig: Any, frame: Any) -> None:
        """End after the drain time: until then the Service may still send connections here."""
        server = cast("Server", self.app)
        server.draining = True
        gevent.spawn_later(server.settings.drain, super().handle_exit, sig, frame)


class Server(BaseApplication):
    """The webhook on one address, over TLS."""

    def __init__(self, settings: Settings) -> None:
        """Take the settings."""
        self.settings = settings
        self.draining = False
        """In the worker: whether it was told to end."""
        super().__init__()

    def load_config(self) -> None:
        """Hand our settings to gunicorn."""
        options = {
            "bind": [self.settings.address],
            "worker_class": _Worker,
            "workers": 1,
            "keepalive": _KEEP_ALIVE_SECONDS,
            "graceful_timeout": int(self.settings.drain) + _FINISH_SECONDS,
            "control_socket_disable": True,
            "proc_name": "qos-webhook",
            # gunicorn serves TLS when it is given a file; the context below then never reads it.
            "certfile": os.devnull,
            "ssl_context": lambda _config, _default: self._serving.context,
        }
        for name, value in options.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """Make the application, in the worker: caches and certificates live there."""
        logging.basicConfig(
            stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
        )
        from webhook.app import create_app
        from webhook.backend import start_backend

        try:
            backend = start_backend(self.settings)
        except (ClusterError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(Arbiter.WORKER_BOOT_ERROR)
        self._serving = backend.serving
        return create_app(backend.cluster, backend.waiting_for, lambda: self.draining)
