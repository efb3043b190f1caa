"""``qos-webhook`` with live reads that may take the API server's whole timeout, and with a long Lease.

A machine that is paused for some seconds then makes no read late, and no replica lose its Lease. Other tests check the
limit of reads and the loss of a Lease, with their own clocks and sources.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from webhook.main import parse_settings
from webhook.serving.server import Server

_SECONDS = 30.0
_LEASE_SECONDS = 90


class _PatientServer(Server):
    """The program, except for its patience."""

    def load(self) -> Any:
        # In the worker, at the same place as in the program: gevent comes first.
        from webhook.certificates import keeper
        from webhook.cluster import view as cluster
        from webhook.serving import backend

        cluster._LIVE_SHARE = 1.0  # type: ignore[misc]  # this process is only for tests
        _client()._CONNECT_SECONDS = _SECONDS
        backend._LEASE_SECONDS = _LEASE_SECONDS  # type: ignore[misc]
        keeper._MAX_LEASE_SECONDS = _LEASE_SECONDS  # type: ignore[misc]
        return super().load()


def _client() -> Any:
    """The module of the API server's client; the previous release has it in another place."""
    try:
        return import_module("cluster_io.live.client")
    except ModuleNotFoundError:
        return import_module("cluster_io.client")


if __name__ == "__main__":
    _PatientServer(parse_settings(sys.argv[1:])).run()
