"""How requests reach the API server; the usual way is the user's own kubectl.

The plugin has to authenticate exactly as kubectl does (exec plugins, OIDC, proxies, client certificates,
impersonation), and kubectl is always there beside a plugin: so it does the work. One ``kubectl proxy`` listens on a
socket in a folder that only the user can enter, takes nothing but GET, and goes when the answer is printed. A command
that changes something has a second one for that, which takes the few paths and methods that it needs (`ProxySettings`).
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

from podrules.cluster.errors import ASK_ANOTHER, Unreachable
from podrules.cluster.live.responses import MAX_ERROR, Answer, Response, Streamed, StreamRefused, lines_of, warning_text

__all__ = [
    "KubectlProxy",
    "LargeTransport",
    "ProxySettings",
    "Transport",
    "kubectl_context",
]

_START_TIMEOUT: Final = 60.0
"""Seconds: an exec credential plugin may have to wait for its user."""
_NOISE: Final = re.compile(rb"^([EWIF][0-9]{4} |error: |[0-9]{4}/[0-9]{2}/[0-9]{2} )", re.MULTILINE)
"""Lines of klog, of kubectl's errors, and of Go's own log, where its proxy tells of an answer that broke off."""
_PR_SET_PDEATHSIG: Final = 1
_SOCKET_NAME: Final = "/s"
_MAX_SOCKET_PATH: Final = 103
"""Bytes: what every Unix takes."""
_PIECE: Final = 1 << 20
"""Bytes read at once, at most."""
_CONTEXT: Final = r'--output=jsonpath={..namespace}{"\n"}{.clusters[*].cluster.server}{"\n"}{.current-context}'
"""What `kubectl config view --minify` is to print; the name last, for it may hold anything."""
_METHODS: Final = ("POST", "PUT", "PATCH", "DELETE")
_NO_STREAMS: Final = (
    "--reject-paths=^/api/.*/pods/.*/(exec|attach|portforward|proxy),^/api/.*/services/.*/proxy,"
    # Of kubelets what they say is read, and nothing else.
    "^/api/.*/nodes/.*/proxy/(exec|attach|portForward|run|cri)"
)


class ProxySettings(NamedTuple):
    """What a proxy lets through; kubectl itself keeps the rest out."""

    methods: tuple[str, ...] = ()
    """Beside GET."""
    paths: tuple[str, ...] = ()
    """These alone, each as it is; none: all of them."""

    def flags(self) -> list[str]:
        """As kubectl's flags."""
        rejected = "|".join(method for method in _METHODS if method not in self.methods)
        flags = [f"--reject-methods=^({rejected})$", _NO_STREAMS]
        return flags + [f"--accept-paths={','.join(f'^{re.escape(path)}$' for path in self.paths)}"] * bool(self.paths)


_READING: Final = ProxySettings()


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


class LargeTransport(Transport, Protocol):
    """That also gives answers while they come."""

    def stream(self, path: str, accept: str) -> AbstractContextManager[Streamed]:
        """Ask for a path whose answer may be too large to hold; compressed where the API server does that.

        Raises:
            Unreachable: there was no answer.
        """
        ...

    def lines(self, path: str, *, idle_timeout: float) -> Iterator[bytes]:
        """The lines of an answer that goes on, as watches are, until the API server ends it.

        Args:
            path: Path with query.
            idle_timeout: Seconds without a byte after which the connection counts as dead.

        Raises:
            StreamRefused: the answer is an error .
            Unreachable: there was no answer, or the connection broke off.
        """
        ...


class KubectlProxy:
    """One ``kubectl proxy`` on a private socket. Started at once, awaited at the first request, stopped by `close`."""

    def __init__(self, flags: list[str], *, request_timeout: float, settings: ProxySettings = _READING) -> None:
        """Start the process.

        Args:
            flags: What the user gave: ``--context=…``, ``--as=…``.
            request_timeout: Seconds for one request.
            settings: The methods and paths that it lets through.

        Raises:
            FileNotFoundError: there is no kubectl on PATH.
            Unreachable: it cannot be started.
        """
        self._timeout = request_timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._forwarder: threading.Thread | None = None
        self._serving = False
        self._starting = threading.Lock()
        self._said: list[bytes] = []
        self._folder = _private_folder_name()
        self._socket = f"{self._folder}{_SOCKET_NAME}"
        # A signal may end us between any two steps: from here on something will tidy up.
        atexit.register(self.close)
        _make_private(self._folder)
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

    def send(self, method: str, path: str, body: bytes, content_type: str = "application/json") -> Answer:
        """Ask for a change.

        Raises:
            Unreachable: there was no answer; whether the change was made is not known.
        """
        headers = {"Accept": "application/json", "Content-Type": content_type, "Content-Length": str(len(body))}
        status, lines, answer = self._exchange(method, path, headers, body)
        return Answer(status, answer, tuple(filter(None, map(warning_text, lines))))

    @contextlib.contextmanager
    def stream(self, path: str, accept: str) -> Iterator[Streamed]:
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
    def _streamed(self, path: str, headers: dict[str, str], idle_timeout: float) -> Iterator[Streamed]:
        self._await_serving()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            with self._explaining(path):
                connection.settimeout(idle_timeout)
                connection.connect(self._socket)
                _ask(connection, f"GET {path}", headers, b"")
                status, given, first = _head(connection)
            named = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in given)}
            yield Streamed(
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
        # Several lists may be asked for at once.
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
                f"no answer to {path} within {self._timeout:g} s; --request-timeout waits longer"
            ) from error
        except (OSError, ValueError) as error:
            raise Unreachable(
                self._explained(f"kubectl proxy broke off: {getattr(error, 'strerror', None) or error}")
            ) from error

    def close(self) -> None:
        """Stop the process and remove its folder. A second call does what an interrupted first one left undone."""
        try:
            self._end()
        finally:
            # Whatever became of the process: what an exit leaves undone nobody does afterwards.
            self._remove_folder()
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
        # Who reads the other stream closes it, and later where what a credential plugin started outlives kubectl. One
        # that a signal kept from starting cannot be joined.
        if self._forwarder is not None and self._forwarder.is_alive():
            self._forwarder.join(timeout=1)
        elif process.stderr is not None:
            process.stderr.close()

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
                ended = self._explained(f"kubectl proxy ended with exit code {process.returncode}")
                raise Unreachable(ended, advice=ASK_ANOTHER)
            seen += chunk

    def _forward(self) -> None:
        """Pass on what a credential plugin asks its user; keep kubectl's own log for error messages."""
        if self._process is None or self._process.stderr is None:
            return
        with self._process.stderr as stderr:
            while chunk := os.read(stderr.fileno(), 4096):
                self._pass_on(chunk)

    def _pass_on(self, chunk: bytes) -> None:
        # What was said before kubectl's own words may come in one piece with them.
        noise = _NOISE.search(chunk)
        end = noise.start() if noise else len(chunk)
        self._said.append(chunk[end:])
        if end:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.buffer.write(chunk[:end])
                sys.stderr.buffer.flush()

    def _explained(self, problem: str) -> str:
        """Kubectl's own first error line where it gave one, else our description."""
        for line in b"".join(self._said).decode(errors="replace").splitlines():
            if line.startswith("error: "):
                return line.removeprefix("error: ")
        return problem


def _exchange(
    socket_path: str, target: str, headers: dict[str, str], body: bytes, timeout: float
) -> tuple[int, list[bytes], bytes]:
    """One request over a local socket.

    HTTP/1.0 asks for the plainest answer there is, headers and then the body until the end: no library is needed to
    read that, and the standard one costs 40 ms of CPU to import, which is more than the request.

    Raises:
        OSError: the connection failed, or broke off before the body was whole.
        ValueError: the answer is not HTTP.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        connection.connect(socket_path)
        _ask(connection, target, headers, body)
        status, given, first = _head(connection)
        answer = bytearray(first)
        while chunk := connection.recv(_PIECE):
            answer += chunk
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
    """Status, header lines, and what of the body came with them."""
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
    """Ask kubectl for the current context: its namespace, server and name, a line each; runs beside the proxy's start.

    ``config view --minify`` fails where there is no context, as in a pod.
    """
    usable = [flag for flag in flags if not flag.startswith(("--as", "--request-timeout"))]
    return subprocess.Popen(
        ["kubectl", "config", "view", "--minify", _CONTEXT, *usable],
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


def _dying_with_parent() -> Callable[[], None]:
    """What asks the kernel to end kubectl when we are killed: its socket speaks with the user's rights."""
    # Loaded here, for what loads in a fork copies our memory, page by page.
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
