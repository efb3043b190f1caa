"""Requests with the official client's configuration and connection pool: for a pod or CI without kubectl.

Only its credentials, TLS settings and pool are used, never its models: version 37 refuses objects that the API server
accepts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from podrules import __version__
from podrules.cluster.errors import ASK_ANOTHER, TooLong, Unreachable
from podrules.cluster.live.responses import (
    MAX_ERROR,
    Answer,
    Response,
    Streamed,
    StreamRefused,
    lines_of,
    service_account_namespace,
    warning_text,
)

__all__ = ["ClientTransport"]

_CONNECT_SECONDS: Final = 5.0
_USER_AGENT: Final = f"kubectl-qos/{__version__}"
_PIECE: Final = 1 << 18
"""Bytes of a large answer read at once, at most."""


class ClientTransport:
    """Requests to one API server as the official client would send them; connections stay open and are shared."""

    def __init__(
        self,
        *,
        context: str | None = None,
        kubeconfig: str | None = None,
        request_timeout: float,
        connections: int = 4,
        longest: int | None = None,
    ) -> None:
        """Load the configuration: a kubeconfig, else the pod's service account.

        Args:
            context: Of the kubeconfig; its current one when not given.
            kubeconfig: Its path; KUBECONFIG, else ``~/.kube/config``, when not given.
            request_timeout: Seconds for one request.
            connections: How many are kept open; more are made when more are needed at once.
            longest: Bytes read of an answer to `get`, at most; any number when not given.

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
            if kubeconfig or context or _has_kubeconfig():
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
        # The pool of the one server: its manager would take each request's address apart anew.
        self._pool: Any = self._pools.connection_from_url(self._address)
        self._timeout = request_timeout
        self._longest = longest
        self.namespace = service_account_namespace() or "default"

    def get(self, path: str, accept: str = "application/json", *, timeout: float | None = None) -> Response:
        """See `Transport.get`; ``timeout`` in seconds replaces the usual one.

        Raises:
            TooLong: the answer is longer than what is read of one.
            Unreachable: there was no answer.
        """
        answer = self._answer("GET", path, {"Accept": accept}, None, timeout, preload_content=self._longest is None)
        return answer.status, answer.data if self._longest is None else self._limited(answer, self._longest)

    def send(self, method: str, path: str, body: bytes, content_type: str = "application/json") -> Answer:
        """Create, replace or patch an object.

        Raises:
            Unreachable: there was no answer; whether the write happened is not known.
        """
        headers = {"Accept": "application/json", "Content-Type": content_type}
        answer = self._answer(method, path, headers, body, None)
        # As they came: the client takes each byte for a character.
        lines = (f"Warning: {value}".encode("latin-1") for value in answer.headers.getlist("Warning"))
        return Answer(answer.status, answer.data, tuple(filter(None, map(warning_text, lines))))

    def lines(self, path: str, *, idle_timeout: float) -> Iterator[bytes]:
        """The lines of an answer that goes on, as watches are, until the API server ends it.

        Args:
            path: Path with query.
            idle_timeout: Seconds without a byte after which the connection counts as dead.

        Raises:
            StreamRefused: the answer is an error.
            Unreachable: there was no answer, or the connection broke off.
        """
        import urllib3

        timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=idle_timeout)
        try:
            answer = self._request("GET", path, {"Accept": "application/json"}, None, timeout, preload_content=False)
            try:
                if answer.status != 200:
                    raise StreamRefused(answer.status, answer.read(MAX_ERROR))
                yield from lines_of(answer.stream(1 << 16))
            finally:
                # A watch is never read to its end: its connection cannot be used again.
                answer.close()
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"{self._configuration.host} broke off: {error}") from error

    @contextmanager
    def stream(self, path: str, accept: str) -> Iterator[Streamed]:
        """See `LargeTransport.stream`."""
        import urllib3

        timeout = urllib3.Timeout(connect=min(_CONNECT_SECONDS, self._timeout), read=self._timeout)
        headers = {"Accept": accept, "Accept-Encoding": "gzip"}
        with self._reaching():
            answer = self._request("GET", path, headers, None, timeout, preload_content=False)
        try:
            yield Streamed(
                status=answer.status,
                content_type=answer.headers.get("Content-Type", ""),
                gzipped=answer.headers.get("Content-Encoding") == "gzip",
                pieces=self._pieces(answer),
            )
        finally:
            # What was not read to its end cannot be used again.
            answer.close()

    def _limited(self, answer: Any, longest: int) -> bytes:
        """The body of an answer, read to its end: its connection is then free for the next request."""
        with self._reaching():
            body: bytes = answer.read(longest + 1, decode_content=False)
        if len(body) > longest:
            answer.close()
            raise TooLong(f"{self._configuration.host} sends more than {longest} bytes")
        return body

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
        # In total: what it takes to connect is not there to read any more.
        limit = urllib3.Timeout(total=seconds, connect=min(_CONNECT_SECONDS, seconds))
        try:
            with self._reaching():
                return self._request(method, path, headers, body, limit, **how)
        except Unreachable:
            # Those that nobody uses now lead the same way: the next request goes over a new one.
            self._pools.clear()
            self._pool = self._pools.connection_from_url(self._address)
            raise

    def _request(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None, timeout: Any, **how: Any
    ) -> Any:
        """One request with fresh credentials: a service account's token is renewed while we run."""
        headers["User-Agent"] = _USER_AGENT
        for setting in self._configuration.auth_settings().values():
            if setting["in"] == "header" and setting["value"]:
                headers[setting["key"]] = setting["value"]
        return self._pool.urlopen(
            method, self._prefix + path, body, headers, timeout=timeout, retries=False, redirect=False, **how
        )


def _has_kubeconfig() -> bool:
    """Whether there is a kubeconfig in one of the usual places."""
    named = os.environ.get("KUBECONFIG")
    return bool(named) or Path("~/.kube/config").expanduser().is_file()
