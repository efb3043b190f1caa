"""Sends requests with the official client's configuration and connection pool, for a pod or CI without kubectl.

Only the client's credentials, TLS settings and pool are used, never its models: version 37 rejects objects that the API
server accepts.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from cluster_io.errors import ASK_ANOTHER, TooLong, Unreachable
from cluster_io.live.responses import (
    MAX_ERROR,
    ChangeAnswer,
    Response,
    StreamedAnswer,
    StreamRefused,
    lines_of,
    service_account_namespace,
    warning_text,
)
from podrules import __version__

_CONNECT_SECONDS: Final = 5.0
_USER_AGENT: Final = f"kubectl-qos/{__version__}"
_PIECE: Final = 1 << 18
"""The most bytes of a large answer that are read at once."""


class ClientTransport:
    """Sends requests to one API server as the official client does; connections stay open and are shared."""

    def __init__(
        self,
        *,
        context: str | None = None,
        kubeconfig: str | None = None,
        request_timeout: float,
        connections: int = 4,
        longest: int = sys.maxsize,
        most: int = sys.maxsize,
    ) -> None:
        """Load the configuration: a kubeconfig, else the pod's service account.

        Args:
            context: The context in the kubeconfig; None: the current context.
            kubeconfig: The path of the kubeconfig; None: KUBECONFIG, else ``~/.kube/config``.
            request_timeout: Seconds for one request.
            connections: How many stay open; requests at the same time may open more.
            longest: The most bytes of an answer to `get`, and of a line of `lines`.
            most: The most bytes of all answers to `get` that are being read at a time.

        Raises:
            Unreachable: the package ``kubernetes`` is not installed, or there is no configuration.
        """
        try:
            from kubernetes import client, config
            from kubernetes.client.rest import RESTClientObject
        except ImportError as error:
            raise Unreachable(
                "kubectl is not on PATH, and the package 'kubernetes' that would replace it is not installed; "
                "put kubectl on PATH, or install kubectl-qos[incluster]"
            ) from error
        try:
            if kubeconfig or context or os.environ.get("KUBECONFIG") or Path("~/.kube/config").expanduser().is_file():
                config.load_kube_config(  # type: ignore[no-untyped-call]  # the client has no types here
                    context=context, config_file=kubeconfig
                )
            else:
                config.load_incluster_config()  # type: ignore[no-untyped-call]  # nor here
        except (config.ConfigException, OSError) as error:
            raise Unreachable(f"no configuration for a cluster: {error}", advice=ASK_ANOTHER) from error
        self._configuration: Any = client.Configuration.get_default_copy()
        self._configuration.connection_pool_maxsize = connections
        address = urlsplit(self._configuration.host)
        self._prefix = address.path.rstrip("/")
        self._address = address.geturl()
        self._pools: Any = RESTClientObject(self._configuration).pool_manager
        # The pool of the one server: the pool manager would parse the address again for each request.
        self._pool: Any = self._pools.connection_from_url(self._address)
        self._timeout = request_timeout
        self._longest = longest
        self._most = most
        self._held = 0
        """The bytes of answers that are being read."""
        self.namespace = service_account_namespace() or "default"

    def get(self, path: str, accept: str = "application/json", *, timeout: float | None = None) -> Response:
        """See `Transport.get`; ``timeout`` in seconds replaces the default.

        Raises:
            TooLong: the answer is longer than the limit.
            Unreachable: there was no answer.
        """
        ends = time.monotonic() + (self._timeout if timeout is None else timeout)
        answer = self._answer("GET", path, {"Accept": accept}, None, timeout, preload_content=False)
        return answer.status, self._limited(answer, ends)

    def send(self, method: str, path: str, body: bytes, content_type: str = "application/json") -> ChangeAnswer:
        """Create, replace or patch an object.

        Raises:
            Unreachable: there was no answer; whether the write happened is not known.
        """
        headers = {"Accept": "application/json", "Content-Type": content_type}
        answer = self._answer(method, path, headers, body, None)
        # The client decodes headers as latin-1; this restores the bytes.
        lines = (f"Warning: {value}".encode("latin-1") for value in answer.headers.getlist("Warning"))
        return ChangeAnswer(answer.status, answer.data, tuple(filter(None, map(warning_text, lines))))

    def lines(self, path: str, *, idle_timeout: float) -> Iterator[bytes]:
        """See `LargeTransport.lines`."""
        import urllib3

        timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=idle_timeout)
        try:
            answer = self._request("GET", path, {"Accept": "application/json"}, None, timeout, preload_content=False)
            try:
                if answer.status != 200:
                    raise StreamRefused(answer.status, answer.read(MAX_ERROR))
                yield from lines_of(answer.stream(1 << 16), self._longest)
            finally:
                # A watch is not read to its end, so its connection cannot be reused.
                answer.close()
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"{self._configuration.host} broke off: {error}") from error

    @contextmanager
    def stream(self, path: str, accept: str) -> Iterator[StreamedAnswer]:
        """See `LargeTransport.stream`."""
        import urllib3

        timeout = urllib3.Timeout(connect=min(_CONNECT_SECONDS, self._timeout), read=self._timeout)
        headers = {"Accept": accept, "Accept-Encoding": "gzip"}
        with self._reaching():
            answer = self._request("GET", path, headers, None, timeout, preload_content=False)
        try:
            yield StreamedAnswer(
                status=answer.status,
                content_type=answer.headers.get("Content-Type", ""),
                gzipped=answer.headers.get("Content-Encoding") == "gzip",
                pieces=self._pieces(answer),
            )
        finally:
            # A connection cannot be reused unless its answer was read to the end.
            answer.close()

    def _limited(self, answer: Any, ends: float) -> bytes:
        """Read the whole body of an answer, so that the next request can reuse the connection.

        The client's timeout is for each piece that arrives, so a slow body would have no end.
        """
        longest, body = self._longest, bytearray()
        try:
            with self._reaching():
                while piece := answer.read1(_PIECE, decode_content=False):
                    body += piece
                    self._held += len(piece)
                    if len(body) > longest:
                        beginning = bytes(body[:MAX_ERROR])
                        raise TooLong(f"{self._configuration.host} sends more than {longest} bytes", beginning)
                    left = ends - time.monotonic()
                    if left <= 0 or self._held > self._most:
                        problem = "in time" if left <= 0 else "that fits into the memory beside others"
                        raise Unreachable(
                            f"no whole answer from {self._configuration.host} {problem}", advice=ASK_ANOTHER
                        )
                    # Without one the API server has closed it, and the rest is here.
                    if (connected := getattr(answer.connection, "sock", None)) is not None:
                        connected.settimeout(left)
        except Unreachable:
            answer.close()
            raise
        finally:
            self._held -= len(body)
        return bytes(body)

    def _pieces(self, answer: Any) -> Iterator[bytes]:
        with self._reaching():
            yield from answer.stream(_PIECE, decode_content=False)

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        import urllib3

        try:
            yield
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"no answer from {self._configuration.host}: {error}", advice=ASK_ANOTHER) from error

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _answer(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None, timeout: float | None, **how: Any
    ) -> Any:
        import urllib3

        seconds = self._timeout if timeout is None else timeout
        # The timeout is a total: the time to connect counts.
        limit = urllib3.Timeout(total=seconds, connect=min(_CONNECT_SECONDS, seconds))
        try:
            with self._reaching():
                return self._request(method, path, headers, body, limit, **how)
        except Unreachable:
            # Idle connections are likely broken too, so the next request opens a new one.
            self._pools.clear()
            self._pool = self._pools.connection_from_url(self._address)
            raise

    def _request(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None, timeout: Any, **how: Any
    ) -> Any:
        """Send one request with fresh credentials: the kubelet renews a service account's token."""
        headers["User-Agent"] = _USER_AGENT
        for setting in self._configuration.auth_settings().values():
            if setting["in"] == "header" and setting["value"]:
                headers[setting["key"]] = setting["value"]
        return self._pool.urlopen(
            method, self._prefix + path, body, headers, timeout=timeout, retries=False, redirect=False, **how
        )
