"""gunicorn around the application, with what a webhook needs.

``gevent``: threads and processes of the other workers starve behind TLS connections that the API server opens ahead and
leaves idle. Keep-alive outlasts the API server's 90 s, so that no request meets a closing connection. One worker: a
cluster scales by replicas. The control socket is off: it would need a writable home.
"""

from __future__ import annotations

from typing import Any, Final

from gunicorn.app.base import BaseApplication

__all__ = ["Server"]

_KEEP_ALIVE_SECONDS: Final = 95
_GRACEFUL_SECONDS: Final = 30


class Server(BaseApplication):
    """The webhook on one address, over TLS."""

    def __init__(self, address: str, certificate: str, key: str) -> None:
        """Take the address as ``host:port`` and the paths of the PEM files."""
        self._options: dict[str, Any] = {
            "bind": [address],
            "certfile": certificate,
            "keyfile": key,
            "worker_class": "gevent",
            "workers": 1,
            "keepalive": _KEEP_ALIVE_SECONDS,
            "graceful_timeout": _GRACEFUL_SECONDS,
            "control_socket_disable": True,
            "proc_name": "qos-webhook",
        }
        super().__init__()

    def load_config(self) -> None:
        """Hand our settings to gunicorn."""
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """Make the application in the worker."""
        from webhook.app import create_app

        return create_app()
