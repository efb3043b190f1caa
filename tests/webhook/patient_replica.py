"""``qos-webhook`` with reads that may take the API server's whole timeout, and with a long Lease.

Reads are those of the cluster and of bodies. A machine that is paused for some seconds then makes no read late, and no
replica lose its Lease. Other tests check these limits and the loss of a Lease, with their own clocks and sources.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from webhook.main import parse_settings

_SECONDS = 30.0
_LEASE_SECONDS = 90


def _module(*names: str) -> Any:
    """The first of these modules that exists: the previous release has other names."""
    for name in names[:-1]:
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    return import_module(names[-1])


def main() -> None:
    """Run the program, except for its patience."""
    server = _module("webhook.serving.server", "webhook.server").Server
    load = server.load

    def load_patiently(self: Any) -> Any:
        # In the worker, at the same place as in the program: gevent comes first.
        _module("webhook.cluster.view", "webhook.cluster")._LIVE_SHARE = 1.0
        _module("cluster_io.live.client", "podrules.cluster.client")._CONNECT_SECONDS = _SECONDS
        _module("webhook.serving.backend", "webhook.backend")._LEASE_SECONDS = _LEASE_SECONDS
        _module("webhook.serving.connections.registry", "webhook.connections").READ_SECONDS = _SECONDS
        _module("webhook.certificates.keeper")._MAX_LEASE_SECONDS = _LEASE_SECONDS
        return load(self)

    server.load = load_patiently
    server(parse_settings(sys.argv[1:])).run()


if __name__ == "__main__":
    main()
