"""``--watch`` against the real API server: changes, a restart of the API server, and a restored terminal."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.binaries import Binaries
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.plugin import Plugin, proxies_of
from tests.kubectl_plugin.terminals import resize
from tests.objects import unscheduled_pod

pytestmark = pytest.mark.controlplane

PATIENCE = 60.0
"""Seconds; generous, for other programs may need the machine."""
HOUR = "--watch-interval=1h"


class _Output:
    """The output of a running process so far."""

    def __init__(self, descriptor: int) -> None:
        self.text = ""
        self._descriptor = descriptor
        # A piece may end within a character.
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def wait_for(self, pattern: str, *, after: int = 0) -> int:
        """Wait for the text after a position; return its end."""
        deadline = time.monotonic() + PATIENCE
        while not (found := re.compile(pattern).search(self.text, after)):
            left = deadline - time.monotonic()
            assert left > 0, f"{pattern!r} never came: {self.text[after:]!r}"
            if select.select([self._descriptor], [], [], left)[0]:
                self._read()
        return found.end()

    def rest(self) -> str:
        with contextlib.suppress(OSError):
            while self._read():
                pass
        return self.text

    def _read(self) -> bytes:
        piece = os.read(self._descriptor, 65536)
        self.text += self._decoder.decode(piece)
        return piece


@contextlib.contextmanager
def _watching(kubectl_qos: Plugin, *words: str) -> Iterator[tuple[subprocess.Popen[bytes], _Output, _Output]]:
    """A run with pipes; it is ended by the test."""
    process = kubectl_qos.start(*words)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        yield process, _Output(process.stdout.fileno()), _Output(process.stderr.fileno())
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        process.wait(timeout=PATIENCE)
        process.stdout.close()
        process.stderr.close()
    assert not list(kubectl_qos.runtime.iterdir()), "a folder with a socket is left"
    assert not proxies_of(kubectl_qos.runtime), "a kubectl proxy is left"


@pytest.fixture
def pod(control_plane: ControlPlane, namespace: str, make_node: Callable[..., Object]) -> Object:
    """A pod on a node of its own."""
    stored = control_plane.apply([unscheduled_pod(namespace, "web", nodeName=make_node()["metadata"]["name"])])[0]
    return control_plane.set_pod_status(stored, {"phase": "Pending"})


def test_K_change_is_printed_with_its_time(
    control_plane: ControlPlane, kubectl_qos: Plugin, pod: Object, namespace: str
) -> None:
    with _watching(kubectl_qos, "pod/web", "-n", namespace, "--watch", HOUR) as (process, out, _):
        first = out.wait_for(r"(?m)^\d\d:\d\d:\d\d UTC  pod/web in namespace .*\n")
        first = out.wait_for(r"kubectl qos explain .*\n", after=first)
        control_plane.set_pod_status(pod, {"phase": "Failed", "reason": "Evicted", "message": "the node was low"})
        # Unchanged parts are not printed again.
        evicted = out.wait_for(r"Evicted", after=first)
        assert "pod/web in namespace" not in out.text[first:evicted]
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 130
        assert all(re.match(r"\d\d:\d\d:\d\d UTC", line) for line in out.rest().splitlines())


def test_K_data_are_printed_as_a_whole(
    control_plane: ControlPlane, kubectl_qos: Plugin, pod: Object, namespace: str
) -> None:
    with _watching(kubectl_qos, "pod/web", "-n", namespace, "-w", HOUR, "-o", "json") as (_, out, _):
        first = out.wait_for(r"\n}\n")
        control_plane.set_pod_status(pod, {"phase": "Running"})
        second = out.wait_for(r"\n}\n", after=first)
        phases = [json.loads(text)["status"]["phase"] for text in (out.text[:first], out.text[first:second])]
        assert phases == ["Pending", "Running"]


def test_K_unreachable_API_server_is_retried(control_plane_binaries: Binaries, runtime: Path) -> None:
    # A private API server: the shared one must not stop during other tests.
    with ControlPlane(control_plane_binaries, scheduler=False, controllers=False) as control_plane:
        control_plane.apply([unscheduled_pod("default")])
        kubectl_qos = Plugin(control_plane, runtime)
        template = "jsonpath={.status.phase};"
        with _watching(kubectl_qos, "pod/web", "-w", "--watch-interval=1s", "-o", template) as (process, out, err):
            first = out.wait_for("Pending;")
            with control_plane.apiserver_stopped():
                gone = err.wait_for(r"\d\d:\d\d:\d\d UTC  the API server does not answer, next try in 1 s: .*\n")
            err.wait_for(r"UTC  the API server answers again\n", after=gone)
            assert process.poll() is None
            # Not by the test's own client: its connection ended with the API server.
            patch = json.dumps({"status": {"phase": "Running"}})
            control_plane.kubectl("patch", "pod/web", "--subresource=status", "--type=merge", "--patch", patch)
            out.wait_for("Running;", after=first)


def test_K_missing_object_ends_the_watch(kubectl_qos: Plugin, namespace: str) -> None:
    ran = kubectl_qos("pod/missing", "-n", namespace, "--watch")
    which = f"To list them: kubectl qos explain pods -n {namespace}\n"
    assert ran == (3, "", f'error: no pod "missing" in {namespace}\n{which}')


@pytest.mark.parametrize("command", ["node", "partitions"])
def test_K_other_commands_watch_too(
    control_plane: ControlPlane, kubectl_qos: Plugin, make_node: Callable[..., Object], command: str
) -> None:
    node = make_node()
    words = [f"node/{node['metadata']['name']}"] if command == "node" else []
    plugin = Plugin(control_plane, kubectl_qos.runtime, command=command)
    condition = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    with _watching(plugin, *words, "-w", HOUR, "-o", "json") as (_, out, _):
        first = out.wait_for(r"\n}\n")
        control_plane.api.patch(node, {"status": {"conditions": [condition]}}, subresource="status")
        out.wait_for(r"\n}\n", after=first)


# On a terminal


@contextlib.contextmanager
def _terminal(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    master, slave = pty.openpty()
    resize(slave, rows=rows, columns=columns)
    try:
        yield master, slave
    finally:
        os.close(master)
        os.close(slave)


def _modes(descriptor: int) -> list[Any]:
    return termios.tcgetattr(descriptor)


def test_K_terminal_is_redrawn_and_restored(
    control_plane: ControlPlane, kubectl_qos: Plugin, pod: Object, namespace: str
) -> None:
    with _terminal(12, 60) as (master, slave):
        before = _modes(slave)
        words = ["pod/web", "-n", namespace, "-w", HOUR]
        process = kubectl_qos.start(*words, stdin=slave, stdout=slave)
        try:
            screen = _Output(master)
            drawn = screen.wait_for(r"\x1b\[\?1049h\x1b\[\?25l\x1b\[H")
            shown = screen.wait_for(r"as of \d\d:\d\d:\d\d UTC, \d+ more lines in a larger wi", after=drawn)
            assert screen.text[drawn:shown].count("\n") == 11
            lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.text[drawn:shown]).splitlines()
            assert max(map(len, lines)) <= 60
            control_plane.set_pod_status(pod, {"phase": "Failed", "reason": "Evicted"})
            changed = screen.wait_for(r"\x1b\[H(?s:.*?)Evicted", after=shown)
            resize(slave, rows=80, columns=100)
            # Kubectl has replaced itself by the plugin.
            os.kill(process.pid, signal.SIGWINCH)
            larger = screen.wait_for(
                r"\x1b\[H(?s:.*?)kubectl qos explain(?s:.*?)as of [\d:]+ UTC; Ctrl-C ends", after=changed
            )
            # Ctrl-Z. The kernel does not stop a process without a shell: it continues at once.
            os.kill(process.pid, signal.SIGTSTP)
            back = screen.wait_for(
                r"\x1b\[\?25h\x1b\[\?1049l\x1b\[\?1049h(?s:.*?)\x1b\[H(?s:.*?)Ctrl-C ends", after=larger
            )
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(timeout=PATIENCE) == 130
            screen.wait_for(r"\x1b\[\?25h\x1b\[\?1049l$", after=back)
            assert _modes(slave) == before
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            assert process.stderr is not None
            process.stderr.close()
