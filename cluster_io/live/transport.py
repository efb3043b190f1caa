"""Sends requests to the API server through the user's own kubectl.

The plugin has to authenticate exactly as kubectl does (exec plugins, OIDC, proxies, client certificates,
impersonation). A plugin's user always has kubectl, so kubectl sends the requests. One ``kubectl proxy`` listens on a
socket in a folder that only the user can enter, accepts only GET, and ends when the answer is printed. A command that
changes something starts a second proxy, which accepts only the paths and methods that it needs (`ProxySettings`).
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
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self

from cluster_io.errors import ASK_ANOTHER, TooLong, Unreachable
from cluster_io.live.responses import (
    MAX_ANSWER,
    MAX_ERROR,
    ChangeAnswer,
    Response,
    StreamedAnswer,
    StreamRefused,
    lines_of,
    warning_text,
)

_START_TIMEOUT: Final = 60.0
"""Seconds until kubectl serves; a credential plugin runs later, with the first request."""
_START_LINE: Final = re.compile(rb"^([EWIF][0-9]{4} |error: |Error in configuration: )", re.MULTILINE)
"""Lines of klog and of kubectl's errors, until it serves."""
_LOG_LINE: Final = re.compile(
    rb"^([EWIF][0-9]{4} [^\n]* proxy_server\.go:|[0-9/]{10} [0-9:]{8} http(util)?: )", re.MULTILINE
)
"""Lines of a serving proxy in klog and in Go's own log; those of a credential plugin may look like them."""
_PR_SET_PDEATHSIG: Final = 1
_SOCKET_NAME: Final = "/s"
_MAX_SOCKET_PATH: Final = 103
"""Bytes that every Unix accepts."""
_PIECE: Final = 1 << 20
"""The most bytes that are read at once."""
_CONTEXT: Final = r'--output=jsonpath={..namespace}{"\n"}{.clusters[*].cluster.server}{"\n"}{.current-context}'
"""What `kubectl config view --minify` prints; the name is last, for it may contain any character."""
_METHODS: Final = ("POST", "PUT", "PATCH", "DELETE")
_NO_STREAMS: Final = (
    "--reject-paths=^/api/.*/pods/.*/(exec|attach|portforward|proxy),^/api/.*/services/.*/proxy,"
    # Requests to kubelets may only read.
    "^/api/.*/nodes/.*/proxy/(exec|attach|portForward|run|cri)"
)


class ProxySettings(NamedTuple):
    """The methods and paths that a proxy accepts; kubectl rejects all others."""

    methods: tuple[str, ...] = ()
    """Methods in addition to GET."""
    paths: tuple[str, ...] = ()
    """The exact paths that it accepts; empty: all paths."""

    def flags(self) -> list[str]:
        """The settings as flags of ``kubectl proxy``."""
        rejected = "|".join(method for method in _METHODS if method not in self.methods)
        flags = [f"--reject-methods=^({rejected})$", _NO_STREAMS]
        return flags + [f"--accept-paths={','.join(f'^{re.escape(path)}$' for path in self.paths)}"] * bool(self.paths)


_READING: Final = ProxySettings()


class Transport(Protocol):
    """Sends GET requests to one API server."""

    def get(self, path: str, accept: str = "application/json") -> Response:
        """Request a path with its query.

        Raises:
            TooLong: the answer is longer than `MAX_ANSWER`.
            Unreachable: there was no whole answer in time.
        """
        ...

    def close(self) -> None:
        """Close the connection and end its process."""
        ...


class LargeTransport(Transport, Protocol):
    """A transport that can also read answers while they arrive."""

    def stream(self, path: str, accept: str) -> AbstractContextManager[StreamedAnswer]:
        """Request a path with an answer that may be too large for memory; the API server may compress it.

        Raises:
            Unreachable: there was no answer.
        """
        ...

    def lines(self, path: str, *, idle_timeout: float) -> Iterator[bytes]:
        """The lines of an open answer, such as a watch, until the API server ends it.

        Args:
            path: Path with query.
            idle_timeout: Seconds without a byte after which the connection counts as dead.

        Raises:
            StreamRefused: the answer is an error.
            Unreachable: there was no answer, or the connection broke off.
        """
        ...


class KubectlProxy:
    """One ``kubectl proxy`` on a private socket. It starts at once; the first request waits for it; `close` ends it."""

    def __init__(self, flags: list[str], *, request_timeout: float, settings: ProxySettings = _READING) -> None:
        """Start the process.

        Args:
            flags: The user's flags: ``--context=…``, ``--as=…``.
            request_timeout: Seconds for one request.
            settings: The methods and paths that the proxy accepts.

        Raises:
            FileNotFoundError: kubectl is not on PATH.
            Unreachable: it cannot be started.
        """
        self._timeout = request_timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._forwarder: threading.Thread | None = None
        self._serving = False
        self._starting = threading.Lock()
        self._log: list[bytes] = []
        # The folder for the socket: in the user's run-time folder, unless the socket's path would be too long.
        bases = (os.environ.get("XDG_RUNTIME_DIR"), os.environ.get("TMPDIR"), "/tmp")  # noqa: S108 - mkdir fails on a trap
        names = [f"{base.rstrip('/')}/kubectl-qos-{os.urandom(8).hex()}" for base in bases if base]
        fitting = (name for name in names if len(os.fsencode(name + _SOCKET_NAME)) <= _MAX_SOCKET_PATH)
        self._folder = next(fitting, names[0])
        self._socket = f"{self._folder}{_SOCKET_NAME}"
        # A signal may end this process between any two steps: from here on, `close` runs at exit.
        atexit.register(self.close)
        try:
            # Only this user can enter the new folder.
            os.mkdir(self._folder, 0o700)  # noqa: PTH102 - pathlib costs start-up time
        except OSError as error:
            place = self._folder.rpartition("/")[0]
            raise Unreachable(
                f"cannot make a private folder in {place}: {error.strerror}; let XDG_RUNTIME_DIR name one of yours"
            ) from error
        command = ["kubectl", "proxy", f"--unix-socket={self._socket}", *settings.flags()]
        try:
            self._process = subprocess.Popen(
                command + flags,
                stdin=None if sys.stdin is not None and sys.stdin.isatty() else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                preexec_fn=_dying_with_parent() if sys.platform == "linux" else None,  # noqa: PLW1509 - no threads yet
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
        status, _, body = self._exchange("GET", path, {"Accept": accept})
        return status, body

    def send(self, method: str, path: str, body: bytes, content_type: str = "application/json") -> ChangeAnswer:
        """Send a change.

        Raises:
            Unreachable: there was no answer; whether the change was made is not known.
        """
        headers = {"Accept": "application/json", "Content-Type": content_type, "Content-Length": str(len(body))}
        status, lines, answer = self._exchange(method, path, headers, body)
        return ChangeAnswer(status, answer, tuple(filter(None, map(warning_text, lines))))

    @contextlib.contextmanager
    def stream(self, path: str, accept: str) -> Iterator[StreamedAnswer]:
        """See `LargeTransport.stream`."""
        with self._streamed(path, {"Accept": accept, "Accept-Encoding": "gzip"}, self._timeout) as answer:
            yield answer

    def lines(self, path: str, *, idle_timeout: float) -> Iterator[bytes]:
        """See `LargeTransport.lines`."""
        with self._streamed(path, {"Accept": "application/json"}, idle_timeout) as answer:
            if answer.status != 200:
                raise StreamRefused(answer.status, b"".join(answer.pieces)[:MAX_ERROR])
            yield from lines_of(answer.pieces)

    @contextlib.contextmanager
    def _streamed(self, path: str, headers: dict[str, str], idle_timeout: float) -> Iterator[StreamedAnswer]:
        self._await_serving()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            with self._explaining(path):
                connection.settimeout(idle_timeout)
                connection.connect(self._socket)
                _ask(connection, f"GET {path}", headers, b"")
                status, given, first = _head(connection)
            named = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in given)}
            yield StreamedAnswer(
                status=status,
                content_type=named.get(b"content-type", b"").decode(errors="replace"),
                gzipped=named.get(b"content-encoding") == b"gzip",
                pieces=self._pieces(path, connection, first),
            )

    def _pieces(self, path: str, connection: socket.socket, first: bytes) -> Iterator[bytes]:
        if first:
            yield first
        with self._explaining(path):
            while piece := connection.recv(_PIECE):
                yield piece

    def _exchange(
        self, method: str, path: str, headers: dict[str, str], body: bytes = b""
    ) -> tuple[int, list[bytes], bytes]:
        """One request: status, header lines and body."""
        self._await_serving()
        with self._explaining(path):
            return _exchange(self._socket, f"{method} {path}", headers, body, self._timeout)

    def _await_serving(self) -> None:
        # Several threads may send requests at once.
        with self._starting:
            if not self._serving:
                self._await_start()
                self._serving = True

    @contextlib.contextmanager
    def _explaining(self, path: str) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            raise Unreachable(
                f"no answer to {path} within {self._timeout:g} s, including the time of a credential plugin; "
                "--request-timeout waits longer"
            ) from error
        except (OSError, ValueError) as error:
            raise Unreachable(
                self._explained(f"kubectl proxy broke off: {getattr(error, 'strerror', None) or error}")
            ) from error

    def close(self) -> None:
        """End the process and remove its folder. A second call finishes an interrupted first one."""
        try:
            self._end()
        finally:
            # Even if that fails: nothing removes the folder after the program's exit.
            for remove, path in ((os.unlink, self._socket), (os.rmdir, self._folder)):
                with contextlib.suppress(OSError):
                    remove(path)
        atexit.unregister(self.close)

    def _end(self) -> None:
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=2)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stdout is not None:
            process.stdout.close()
        # The thread that reads stderr closes it. It may end later than kubectl: a child of a credential plugin may keep
        # stderr open. A thread that a signal kept from starting cannot be joined.
        if self._forwarder is not None and self._forwarder.is_alive():
            self._forwarder.join(timeout=1)
        elif process.stderr is not None:
            process.stderr.close()

    def _await_start(self) -> None:
        """Wait for ``Starting to serve``, or raise kubectl's error."""
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
                ended = self._explained(f"kubectl proxy ended with exit code {process.returncode}")
                raise Unreachable(ended, advice=ASK_ANOTHER)
            seen += chunk

    def _forward(self) -> None:
        """Print what a credential plugin asks its user; keep kubectl's own log for error messages."""
        if self._process is None or self._process.stderr is None:
            return
        with self._process.stderr as stderr:
            while chunk := os.read(stderr.fileno(), 4096):
                # A credential plugin's text may arrive in one piece with kubectl's log.
                log_start = (_LOG_LINE if self._serving else _START_LINE).search(chunk)
                end = log_start.start() if log_start else len(chunk)
                self._log.append(chunk[end:])
                if end:
                    with contextlib.suppress(OSError, ValueError):
                        sys.stderr.buffer.write(chunk[:end])
                        sys.stderr.buffer.flush()

    def _explained(self, problem: str) -> str:
        """The first error line of kubectl; without one, the given description."""
        for line in b"".join(self._log).decode(errors="replace").splitlines():
            if line.startswith(("error: ", "Error in configuration: ")):
                return line.partition(": ")[2]
        return problem


def _exchange(
    socket_path: str, target: str, headers: dict[str, str], body: bytes, timeout: float
) -> tuple[int, list[bytes], bytes]:
    """Send one request over a local socket.

    HTTP/1.0 gives the simplest answer: headers, and then the body until the end. Reading it needs no library; the
    standard one takes 40 ms of CPU to import, more than the request.

    Raises:
        OSError: the connection failed, or broke off before the body was whole, or the body was not whole in time.
        ValueError: the answer is not HTTP.
        TooLong: the body is longer than `MAX_ANSWER`.
    """
    deadline = time.monotonic() + timeout
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        connection.connect(socket_path)
        _ask(connection, target, headers, body)
        status, given, first = _head(connection)
        answer = bytearray(first)
        while chunk := connection.recv(_PIECE):
            answer += chunk
            if len(answer) > MAX_ANSWER:
                raise TooLong(f"the answer to {target} has more than {MAX_ANSWER >> 20} MiB", bytes(answer[:MAX_ERROR]))
            # A kubelet or a metrics API may send a byte now and then for ever.
            if time.monotonic() > deadline:
                raise TimeoutError
    answered = bytes(answer)
    for header in given:
        name, _, value = header.partition(b":")
        if name.lower() == b"content-length" and int(value) != len(answered):
            raise ConnectionError(f"{len(answered)} of {int(value)} bytes came")
    return status, given, answered


def _ask(connection: socket.socket, target: str, headers: dict[str, str], body: bytes) -> None:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connection.sendall(f"{target} HTTP/1.0\r\nHost: localhost\r\n{lines}\r\n".encode("ascii") + body)


def _head(connection: socket.socket) -> tuple[int, list[bytes], bytes]:
    """Read status and header lines; returns them with the part of the body that arrived with them."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        if not (chunk := connection.recv(_PIECE)):
            raise ConnectionError("no answer")
        answer += chunk
    head, _, first = answer.partition(b"\r\n\r\n")
    status, *given = head.split(b"\r\n")
    _, code, *_ = status.split(b" ", 2)
    return int(code), given, first


def kubectl_context(flags: list[str]) -> subprocess.Popen[bytes]:
    """Ask kubectl for the current context: its namespace, server and name, a line each; runs while the proxy starts.

    ``config view --minify`` fails where there is no context, as in a pod.
    """
    usable = [flag for flag in flags if not flag.startswith(("--as", "--request-timeout"))]
    return subprocess.Popen(
        ["kubectl", "config", "view", "--minify", _CONTEXT, *usable],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _dying_with_parent() -> Callable[[], None]:
    """A function that makes the kernel end kubectl with this process: its socket has the user's rights."""
    # Loaded before the fork: a load in the child would copy this process's memory, page by page.
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
