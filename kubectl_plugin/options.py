"""What was typed, as values, and the connection that it asks for. Loads no rule: kubectl can start meanwhile."""

from __future__ import annotations

import subprocess
from typing import IO, NamedTuple

from podrules.cluster.errors import Unreachable
from podrules.cluster.transport import KubectlProxy, Transport, kubectl_namespace

__all__ = ["ClusterOptions", "Connection", "ExplainOptions", "Streams", "connect"]


class Streams(NamedTuple):
    """Where a command reads and writes."""

    stdin: IO[str]
    out: IO[str]
    err: IO[str]


class ClusterOptions(NamedTuple):
    """Which cluster, as whom, in which namespace: kubectl's own flags, and the sources that need no cluster."""

    namespace: str | None = None
    context: str | None = None
    kubeconfig: str | None = None
    cluster: str | None = None
    user: str | None = None
    as_user: str | None = None
    as_groups: tuple[str, ...] = ()
    request_timeout: float = 30.0
    """Seconds."""
    demo: bool = False
    snapshot: str | None = None
    offline: bool = False

    @property
    def live(self) -> bool:
        """Whether a cluster has to be asked."""
        return not (self.demo or self.snapshot or self.offline)

    def kubectl_flags(self) -> list[str]:
        """The same for kubectl."""
        given = {
            "--context": self.context,
            "--kubeconfig": self.kubeconfig,
            "--cluster": self.cluster,
            "--user": self.user,
            "--as": self.as_user,
        }
        flags = [f"{name}={value}" for name, value in given.items() if value]
        return flags + [f"--as-group={group}" for group in self.as_groups]


class ExplainOptions(NamedTuple):
    """``kubectl qos explain``."""

    targets: tuple[str, ...]
    files: tuple[str, ...]
    output: str
    colour: bool
    cluster: ClusterOptions


class Connection(NamedTuple):
    """A transport that has been started, and what else its source needs to know."""

    transport: Transport
    namespace: str | None
    asked_namespace: subprocess.Popen[bytes] | None


def connect(options: ClusterOptions) -> Connection:
    """Start reaching the cluster: kubectl where it is, else the official client's configuration.

    Raises:
        Unreachable: neither is there.
    """
    flags = options.kubectl_flags()
    try:
        proxy = KubectlProxy(flags, request_timeout=options.request_timeout)
    except FileNotFoundError:
        return _connect_without_kubectl(options)
    asked = None if options.namespace else kubectl_namespace(flags)
    return Connection(proxy, options.namespace, asked)


def _connect_without_kubectl(options: ClusterOptions) -> Connection:
    if options.as_user or options.as_groups or options.cluster or options.user:
        raise Unreachable("--as, --as-group, --cluster and --user need kubectl, which is not on PATH")
    from podrules.cluster.client import ClientTransport

    client = ClientTransport(
        context=options.context, kubeconfig=options.kubeconfig, request_timeout=options.request_timeout
    )
    return Connection(client, options.namespace or client.namespace, None)
