"""How requests reach the API server, and the usual way: through the user's own kubectl.

The plugin has to authenticate exactly as kubectl does (exec plugins, OIDC, proxies, client certificates,
impersonation), and kubectl is always there beside a plugin: so it does the work. One ``kubectl proxy`` listens on a
socket in a folder that only the user can enter, takes nothing but GET, and goes when the answer is printed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from types import TracebackType
from typing import Final, Protocol, Self

from podrules.cluster.errors import Unreachable

__all__ = [
    "KubectlProxy",
    "Response",
    "Transport",
    "kubectl_namespace",
    "service_account_namespace",
]

_START_TIMEOUT: Final = 60.0
"""Seconds: an exec credential plugin may have to wait for its user."""
_NOISE: Final = re.compile(rb"^([EWIF][0-9]{4} |error: )")
_PR_SET_PDEATHSIG: Final = 1
_SOCKET_NAME: Final = "/s"
_MAX_SOCKET_PATH: Final = 103
"""Bytes: what every Unix takes."""
_ONLY_GET: Final = "--reject-methods=^(POST|PUT|PATCH|DELETE)$"
_NO_STREAMS: Final = "--reject-paths=^/api/.*/pods/.*/(exec|attach|portforward|proxy),^/api/.*/services/.*/proxy"

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


class KubectlProxy:
    """One ``kubectl proxy`` on a private socket. Started at once, awaited at the first request, stopped by `close`."""

    def __init__(self, flags: list[str], *, request_timeout: float) -> None:
        """Start the process.

        Args:
            flags: What the user gave: ``--context=…``, ``--as=…``.
            request_timeout: Seconds for one request.

        Raises:
            FileNotFoundError: there is no kubectl on PATH.
            Unreachable: it cannot be started.
        """
        self._timeout = request_timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._forwarder: threading.Thread | None = None
        self._serving = False
        self._said: list[bytes] = []
        # A signal may end us between any two steps: from here on something will tidy up.
        atexit.register(self.close)
        self._folder = _private_folder_name()
        self._socket = f"{self._folder}{_SOCKET_NAME}"
        _make_private(self._folder)
        command = ["kubectl", "proxy", f"--unix-socket={self._socket}", _ONLY_GET, _NO_STREAMS]
        try:
            self._process = subprocess.Popen(
                command + flags,
                stdin=None if sys.stdin is not None and sys.stdin.isatty() else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 - no threads yet
            )
        except OSError as error:
            self.close()
            if isinstance(error, FileNotFoundError):
                raise
            raise Unreachable(f"kubectl cannot be started: {error.strerror}") from error
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
        if not self._serving:
            self._await_start()
            self._serving = True
        try:
            return _get(self._socket, path, accept, self._timeout)
        except TimeoutError as error:
            raise Unreachable(
                f"no answer to {path} within {self._timeout:g} s; --request-timeout waits longer"
            ) from error
        except (OSError, ValueError) as error:
            raise Unreachable(self._explained(f"kubectl proxy broke off: {error}")) from error

    def close(self) -> None:
        """Stop the process and remove its folder. A second call does what an interrupted first one left undone."""
        process = self._process
        if process is not None:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(timeout=2)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            if self._forwarder is not None:
                self._forwarder.join(timeout=1)
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        self._remove_folder()
        atexit.unregister(self.close)

    def _remove_folder(self) -> None:
        for remove, path in ((os.unlink, self._socket), (os.rmdir, self._folder)):
            with contextlib.suppress(OSError):
                remove(path)

    def _await_start(self) -> None:
        """Wait for ``Starting to serve``, or say what kubectl said instead."""
        process = self._process
        if process is None or process.stdout is None:
            raise Unreachable("kubectl proxy has no output")
        stdout = process.stdout
        deadline = time.monotonic() + _START_TIMEOUT
        seen = b""
        while b"Starting to serve" not in seen:
            ready, _, _ = select.select([stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise Unreachable(self._explained(f"kubectl proxy did not start within {_START_TIMEOUT:g} s"))
            chunk = os.read(stdout.fileno(), 4096)
            if not chunk:
                process.wait()
                if self._forwarder is not None:
                    self._forwarder.join(timeout=1)
                raise Unreachable(self._explained(f"kubectl proxy ended with exit code {process.returncode}"))
            seen += chunk

    def _forward(self) -> None:
        """Pass on what a credential plugin asks its user; keep kubectl's own log for error messages."""
        stderr = self._process.stderr if self._process is not None else None
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


def _get(socket_path: str, path: str, accept: str, timeout: float) -> Response:
    """One GET over a local socket.

    HTTP/1.0 asks for the plainest answer there is, headers and then the body until the end: no library is needed to
    read that, and the standard one costs 40 ms of CPU to import, which is more than the request.

    Raises:
        OSError: the connection failed, or broke off before the body was whole.
        ValueError: the answer is not HTTP.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        connection.connect(socket_path)
        connection.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n".encode("ascii"))
        answer = bytearray()
        while chunk := connection.recv(1 << 20):
            answer += chunk
    head, _, body = bytes(answer).partition(b"\r\n\r\n")
    status, *headers = head.split(b"\r\n")
    _, code, *_ = status.split(b" ", 2)
    for header in headers:
        name, _, value = header.partition(b":")
        if name.lower() == b"content-length" and int(value) != len(body):
            raise ConnectionError(f"{len(body)} of {int(value)} bytes came")
    return int(code), body


def kubectl_namespace(flags: list[str]) -> subprocess.Popen[bytes]:
    """Ask kubectl for the namespace of the current context; runs beside the proxy's start.

    ``config view --minify`` fails where there is no context, as in a pod.
    """
    usable = [flag for flag in flags if not flag.startswith(("--as", "--request-timeout"))]
    return subprocess.Popen(
        ["kubectl", "config", "view", "--minify", "--output=jsonpath={..namespace}", *usable],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _private_folder_name() -> str:
    """Where the socket will be: the user's own run-time folder, unless a socket's path would be too long there."""
    bases = (os.environ.get("XDG_RUNTIME_DIR"), os.environ.get("TMPDIR"), "/tmp")  # noqa: S108 - mkdir fails on a trap
    names = [f"{base.rstrip('/')}/kubectl-qos-{os.urandom(8).hex()}" for base in bases if base]
    fitting = (name for name in names if len(os.fsencode(name + _SOCKET_NAME)) <= _MAX_SOCKET_PATH)
    return next(fitting, names[0])


def _make_private(folder: str) -> None:
    """Make a new folder that only this user can enter."""
    try:
        os.mkdir(folder, 0o700)  # noqa: PTH102 - pathlib costs start-up time
    except OSError as error:
        place = folder.rpartition("/")[0]
        raise Unreachable(
            f"cannot make a private folder in {place}: {error.strerror}; let XDG_RUNTIME_DIR name one of yours"
        ) from error


def service_account_namespace() -> str:
    """The namespace of the pod that this process runs in; empty outside one."""
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
