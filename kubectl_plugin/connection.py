"""The connection to the cluster: through kubectl's proxy, or the official client. Loads no rule."""

from __future__ import annotations

import subprocess
from typing import NamedTuple

from cluster_io.errors import Unreachable
from cluster_io.live.responses import MAX_ANSWER
from cluster_io.live.transport import KubectlProxy, LargeTransport, ProxySettings, kubectl_context
from kubectl_plugin.options import ClusterOptions


class ClusterConnection(NamedTuple):
    """A started transport, with the namespace and the context that a source needs."""

    transport: LargeTransport
    namespace: str | None
    asked_context: subprocess.Popen[bytes] | None

    def close(self) -> None:
        """Close the transport, and end a kubectl that still reads the context."""
        try:
            self.transport.close()
        finally:
            if self.asked_context is not None:
                with self.asked_context as asked:
                    asked.kill()


def connect(options: ClusterOptions) -> ClusterConnection:
    """Connect to the cluster through kubectl, or through the official client if kubectl is not installed.

    Raises:
        Unreachable: there is neither kubectl nor a configuration.
    """
    flags = options.kubectl_flags()
    try:
        proxy = KubectlProxy(flags, request_timeout=options.request_timeout)
    except FileNotFoundError:
        return _connect_without_kubectl(options)
    asked = kubectl_context(flags) if options.names_context or not options.namespace else None
    return ClusterConnection(proxy, options.namespace, asked)


def connect_for_changes(options: ClusterOptions, settings: ProxySettings) -> KubectlProxy:
    """Start a proxy that accepts only these changes.

    Raises:
        Unreachable: there is no kubectl.
    """
    try:
        return KubectlProxy(options.kubectl_flags(), request_timeout=options.request_timeout, settings=settings)
    except FileNotFoundError as error:
        raise Unreachable("changes are made through kubectl, which is not on PATH") from error


def _connect_without_kubectl(options: ClusterOptions) -> ClusterConnection:
    if options.as_user or options.as_groups or options.cluster or options.user:
        raise Unreachable("--as, --as-group, --cluster and --user need kubectl, which is not on PATH")
    from cluster_io.live.client import ClientTransport

    client = ClientTransport(
        context=options.context,
        kubeconfig=options.kubeconfig,
        request_timeout=options.request_timeout,
        longest=MAX_ANSWER,
    )
    return ClusterConnection(client, options.namespace or client.namespace, None)
