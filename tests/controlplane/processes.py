"""Processes that never outlive the test run."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import TypeVar

from tests.waiting import wait_for

_PR_SET_PDEATHSIG = 1
# Loaded before any fork: the child of a fork must not load libraries.
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
_ATTEMPTS = 5
T = TypeVar("T")

_PROBE_SECONDS = 20.0
"""A machine that stands still for a while answers then; a server that is not there refuses at once."""
_PORT_TAKEN = "address already in use"
"""As Go says it; Python begins it with a capital."""
NOT_CONNECTED = "net/http: TLS handshake timeout"
"""As Go says it of a connection that was not made within 10 s: nothing was asked through it."""
_HELD: list[socket.socket] = []
"""One for each port that was given away."""


class ProcessError(RuntimeError):
    """A process ended, or did not become ready, when it should serve."""


class _AgainError(ProcessError):
    """The server ended by chance: another program holds its port, or everything stood still while it connected."""


class Process:
    """A running program with its log file."""

    def __init__(self, arguments: Sequence[str | Path], *, log: Path) -> None:
        """Starts the program; call it from a thread that outlives it, the main one.

        Args:
            arguments: The program and its arguments.
            log: File that receives its output; what it held is dropped.
        """
        # A program of another minor has that behind its name.
        self.name = Path(arguments[0]).name.partition("@")[0]
        self.log = log
        with log.open("wb") as output:
            self._popen = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=log.parent,
                # Ctrl-C in a terminal must reach pytest alone, which then stops these in order.
                start_new_session=True,
                preexec_fn=die_with(os.getpid()),  # noqa: PLW1509  # the child only makes two system calls
            )

    @property
    def pid(self) -> int:
        """The process id, also after the end."""
        return self._popen.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._popen.poll() is None

    def log_tail(self, lines: int = 15) -> str:
        """The end of its log, for an error message."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def wait_until(self, ready: Callable[[], bool], *, timeout: float) -> None:
        """Waits until it is ready.

        Args:
            ready: Asked repeatedly; answers at once.
            timeout: Seconds to wait at most.

        Raises:
            ProcessError: It ended or the time is over; the message has the end of its log.
        """
        try:
            wait_for(lambda: self._is(ready), f"{self.name} is ready", timeout=timeout)
        except TimeoutError as error:
            raise ProcessError(f"{error}:\n{self.log_tail()}") from error

    def _is(self, ready: Callable[[], bool]) -> bool:
        if ready():
            return True
        if not self.running:
            raise ProcessError(f"{self.name} ended with {self._popen.returncode}:\n{self.log_tail()}")
        return False

    def terminate(self) -> None:
        """Asks it to end; returns at once."""
        if self.running:
            self._popen.terminate()

    def wait_ended(self, *, timeout: float) -> None:
        """Waits for its end, and kills it when the time is over."""
        try:
            self._popen.wait(max(timeout, 0))
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()


def stop_all(processes: Iterable[Process], *, timeout: float) -> None:
    """Stops the processes together: each is asked to end, and killed after ``timeout`` seconds."""
    asked = list(processes)
    for process in asked:
        process.terminate()
    deadline = time.monotonic() + timeout
    for process in asked:
        process.wait_ended(timeout=deadline - time.monotonic())


def run_client(
    arguments: Sequence[str | Path],
    *,
    env: Mapping[str, str],
    input: str | None = None,  # noqa: A002  # subprocess.run's own word
    timeout: float,
) -> subprocess.CompletedProcess[str]:
    """Runs kubectl or helm to its end; once more if everything stood still while it connected: it has done nothing.

    Args:
        arguments: The program and its arguments.
        env: All environment variables.
        input: Text for its standard input.
        timeout: Seconds it may run.
    """
    return again_if_not_connected(lambda: _run(arguments, env, input, timeout), lambda done: done.stderr)


def again_if_not_connected(run: Callable[[], T], said: Callable[[T], str]) -> T:
    """Runs a program, and once more if the machine stood still while it, or its server, connected.

    Args:
        run: Runs it to its end.
        said: What it said, with the words of a failed connection in one line.
    """
    done = run()
    return run() if NOT_CONNECTED in said(done) else done


def _run(
    arguments: Sequence[str | Path], env: Mapping[str, str], given: str | None, timeout: float
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments,
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )


def free_port() -> int:
    """A loopback port for one server, which may end and start again on it.

    On Linux it is reserved while this process lives, for servers as for outgoing connections.
    Until a server listens on it, connections are refused. Elsewhere it was free a moment ago.
    """
    holder = socket.socket()
    # A server that sets it too, as all here do, can listen on a port that is held so.
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    port: int = holder.getsockname()[1]
    if sys.platform == "linux":
        _HELD.append(holder)
    else:
        holder.close()
    return port


def probe(path: str, trusting: ssl.SSLContext | None = None, *, tls: bool = True) -> Callable[[int], bool]:
    """What a kubelet's probe does: whether a server on a loopback port answers 200 now.

    Args:
        path: What is asked for, such as ``/readyz``.
        trusting: Whom to believe, and who asks; any certificate will do when not given, as for a kubelet.
        tls: Whether the server has a certificate.
    """
    context = trusting or ssl._create_unverified_context()  # noqa: S323  # as the kubelet's probes

    def answers(port: int) -> bool:
        connection = (
            HTTPSConnection("127.0.0.1", port, context=context, timeout=_PROBE_SECONDS)
            if tls
            else HTTPConnection("127.0.0.1", port, timeout=_PROBE_SECONDS)
        )
        try:
            connection.request("GET", path)
            return connection.getresponse().status == HTTPStatus.OK
        except (HTTPException, OSError):
            return False
        finally:
            connection.close()

    return answers


def start_on_free_port(
    arguments: Callable[[int], Sequence[str | Path]], ready: Callable[[int], bool], *, log: Path, timeout: float
) -> tuple[Process, int]:
    """Starts a server on a loopback port and waits until it serves.

    Where a free port cannot be held, another program can take it between the look and the start: that is tried again.
    So is a start during which everything stood still, for a controller manager ends then.

    Args:
        arguments: The command line for a port.
        ready: Whether the server answers on the port.
        log: As for ``Process``.
        timeout: Seconds to wait at most, each time.
    """
    for _ in range(_ATTEMPTS - 1):
        with contextlib.suppress(_AgainError):
            return _start_on(free_port(), arguments, ready, log=log, timeout=timeout)
    return _start_on(free_port(), arguments, ready, log=log, timeout=timeout)


def _start_on(
    port: int,
    arguments: Callable[[int], Sequence[str | Path]],
    ready: Callable[[int], bool],
    *,
    log: Path,
    timeout: float,
) -> tuple[Process, int]:
    process = Process(arguments(port), log=log)
    try:
        process.wait_until(lambda: ready(port), timeout=timeout)
    except BaseException as error:
        process.wait_ended(timeout=0)
        end = process.log_tail(lines=40)
        if isinstance(error, ProcessError) and (_PORT_TAKEN in end.lower() or NOT_CONNECTED in end):
            raise _AgainError(str(error)) from error
        raise
    return process, port


def die_with(parent: int, number: signal.Signals = signal.SIGKILL) -> Callable[[], None]:
    """What a child does first, before it becomes another program: it asks the kernel for a signal when its parent dies.

    So nothing is left behind even when pytest itself is killed. The kernel watches the thread that started the child.
    """

    def in_child() -> None:
        if _LIBC is None:
            return
        _LIBC.prctl(_PR_SET_PDEATHSIG, number)
        # The parent may have died before the request.
        if os.getppid() != parent:
            os._exit(1)

    return in_child
