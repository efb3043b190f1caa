"""How requests reach the API server: through the user's own kubectl, or the official client's configuration.

The plugin has to authenticate exactly as kubectl does (exec plugins, OIDC, proxies, client certificates,
impersonation), and kubectl is always there beside a plugin: so it does the work. One ``kubectl proxy`` listens on a
socket in a folder that only the user can enter, takes nothing but GET, and goes when the answer is printed.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from types import TracebackType
from typing import Any, Final, Protocol, Self

from podrules.cluster.errors import Unreachable

__all__ = ["InClusterTransport", "KubectlProxy", "Response", "Transport", "kubectl_namespace"]

_START_TIMEOUT: Final = 60.0
"""Seconds: an exec credential plugin may have to wait for its user."""
MAX_RESPONSE: Final = 8 << 30
_NOISE: Final = re.compile(rb"^([EWIF][0-9]{4} |error: )")
_PR_SET_PDEATHSIG: Final = 1

Response = tuple[int, bytes]
"""HTTP status and body."""


class Transport(Protocol):
    """GET requests to one API server."""

    def get(self, path: str, accept: str = "application/json") -> Response:
        """Ask for a path with its query.

        Raises:
            Unreachable: there was no answer.
        """
        ...

    def close(self) -> None:
        """Give up the connection and what stands behind it."""
        ...


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a local socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class KubectlProxy:
    """One ``kubectl proxy`` on a private socket. Started at once, awaited at the first request, stopped by `close`."""

    def __init__(self, kubectl: str, flags: list[str], *, request_timeout: float) -> None:
        """Start the process.

        Args:
            kubectl: The program.
            flags: What the user gave: ``--context=…``, ``--as=…``.
            request_timeout: Seconds for one request.
        """
        self._timeout = request_timeout
        self._folder = tempfile.mkdtemp(prefix="kubectl-qos-", dir=os.environ.get("XDG_RUNTIME_DIR") or None)
        self._socket = os.path.join(self._folder, "s")  # noqa: PTH118 - pathlib costs start-up time
        self._connection: _UnixConnection | None = None
        self._said: list[bytes] = []
        command = [kubectl, "proxy", f"--unix-socket={self._socket}", "--reject-methods=^(POST|PUT|PATCH|DELETE)$"]
        try:
            self._process = subprocess.Popen(
                command + flags,
                stdin=None if sys.stdin is not None and sys.stdin.isatty() else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 - no threads yet
            )
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise Unreachable(f"{kubectl}: {error.strerror}") from error
        self._forwarder = threading.Thread(target=self._forward, daemon=True)
        self._forwarder.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def get(self, path: str, accept: str = "application/json") -> Response:
        """See `Transport.get`."""
        connection = self._connection or self._connect()
        try:
            connection.request("GET", path, headers={"Accept": accept})
            answer = connection.getresponse()
            body = answer.read(MAX_RESPONSE)
        except TimeoutError as error:
            raise Unreachable(
                f"no answer to {path} within {self._timeout:g} s; --request-timeout waits longer"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(self._explained(f"kubectl proxy broke off: {error}")) from error
        return answer.status, body

    def close(self) -> None:
        """Stop the process and remove its folder."""
        if self._connection is not None:
            self._connection.close()
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout=2)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._forwarder.join(timeout=1)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _connect(self) -> _UnixConnection:
        self._await_start()
        self._connection = _UnixConnection(self._socket, self._timeout)
        return self._connection

    def _await_start(self) -> None:
        """Wait for ``Starting to serve``, or say what kubectl said instead."""
        stdout = self._process.stdout
        if stdout is None:
            raise Unreachable("kubectl proxy has no output")
        deadline = time.monotonic() + _START_TIMEOUT
        seen = b""
        while b"Starting to serve" not in seen:
            ready, _, _ = select.select([stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise Unreachable(self._explained(f"kubectl proxy did not start within {_START_TIMEOUT:g} s"))
            chunk = os.read(stdout.fileno(), 4096)
            if not chunk:
                self._process.wait()
                self._forwarder.join(timeout=1)
                raise Unreachable(self._explained(f"kubectl proxy ended with exit code {self._process.returncode}"))
            seen += chunk

    def _forward(self) -> None:
        """Pass on what a credential plugin asks its user; keep kubectl's own log for error messages."""
        stderr = self._process.stderr
        while stderr is not None and (chunk := os.read(stderr.fileno(), 4096)):
            if _NOISE.match(chunk):
                self._said.append(chunk)
            else:
                with contextlib.suppress(OSError, ValueError):
                    sys.stderr.buffer.write(chunk)
                    sys.stderr.buffer.flush()

    def _explained(self, problem: str) -> str:
        """Kubectl's own first error line where it gave one, else our description."""
        for line in b"".join(self._said).decode(errors="replace").splitlines():
            if line.startswith("error: "):
                return line.removeprefix("error: ")
        return problem


class InClusterTransport:
    """The official client's configuration and connection pool: where there is no kubectl, as in a pod or in CI."""

    def __init__(self, *, context: str | None, kubeconfig: str | None, request_timeout: float) -> None:
        """Load the configuration: a kubeconfig, else the pod's service account.

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
            config.load_config(  # type: ignore[no-untyped-call]  # the client has no types here
                context=context, config_file=kubeconfig
            )
        except (config.ConfigException, OSError) as error:
            raise Unreachable(f"no configuration for a cluster: {error}") from error
        self._configuration: Any = client.Configuration.get_default_copy()
        self._pool: Any = RESTClientObject(self._configuration).pool_manager
        self._timeout = request_timeout
        self.namespace = _service_account_namespace() or "default"

    def get(self, path: str, accept: str = "application/json") -> Response:
        """See `Transport.get`."""
        import urllib3

        headers = {"Accept": accept}
        for setting in self._configuration.auth_settings().values():
            if setting["in"] == "header" and setting["value"]:
                headers[setting["key"]] = setting["value"]
        url = self._configuration.host.rstrip("/") + path
        try:
            answer = self._pool.request("GET", url, headers=headers, timeout=self._timeout, retries=False)
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"no answer from {self._configuration.host}: {error}") from error
        return answer.status, answer.data

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()


def kubectl_namespace(kubectl: str, flags: list[str]) -> subprocess.Popen[bytes]:
    """Ask kubectl for the namespace of the current context; runs beside the proxy's start.

    ``config view --minify`` fails where there is no context, as in a pod: kubectl then means ``default`` itself.
    """
    usable = [flag for flag in flags if not flag.startswith(("--as", "--request-timeout"))]
    return subprocess.Popen(
        [kubectl, "config", "view", "--minify", "--output=jsonpath={..namespace}", *usable],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _service_account_namespace() -> str:
    path = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs start-up time
            return file.read().strip()
    except OSError:
        return ""


def _die_with_parent() -> None:
    """Ask the kernel to end kubectl when we are killed: its socket speaks with the user's rights."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
