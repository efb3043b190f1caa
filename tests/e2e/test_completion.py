"""Completion as users have it: through the real kubectl, and in real shells with Tab."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from cluster_io.kinds import PODS
from cluster_io.live.client import ClientTransport
from cluster_io.live.live_source import LiveSource
from cluster_io.live.responses import Response
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.plugin import SCRIPTS, Plugin, processes, proxies_of, with_contexts
from tests.kubectl_plugin.terminals import resize
from tests.objects import unscheduled_pod
from tests.required import without

pytestmark = pytest.mark.controlplane

SHELLS = ("bash", "zsh", "fish")
BASH_COMPLETION = Path("/usr/share/bash-completion/bash_completion")
"""What kubectl's script for bash needs; Debian's and Fedora's place."""
PROMPT = "ready> "
PATIENCE = 60.0
"""Seconds; generous, for other programs may need the machine."""
PATIENT = {"KUBECTL_QOS_COMPLETION_SECONDS": "60"}
NO_FILES = ":4"
CONNECT_SECONDS = 10.0
"""Seconds until kubectl abandons a connection."""


@pytest.fixture(autouse=True)
def installed() -> None:
    assert (SCRIPTS / "kubectl_complete-qos").exists(), "make .venv again: the entry point is not installed"


@pytest.fixture
def pods(control_plane: ControlPlane, namespace: str) -> str:
    """A namespace with pods and a Deployment without replicas."""
    control_plane.apply([unscheduled_pod(namespace, name) for name in ("web-0", "web-1", "db-0")])
    return namespace


def _completed(kubectl_qos: Plugin, *words: str, kubeconfig: Path | None = None) -> list[str]:
    """The answer of kubectl to a shell: candidates without explanation; files are none of them."""
    environment = {**kubectl_qos.environment(kubeconfig), **PATIENT}
    kubectl = partial(kubectl_qos.control_plane.kubectl, kubeconfig=kubeconfig, env=environment)

    def asked() -> list[str]:
        done = kubectl("__complete", "qos", *words)
        *lines, directive = done.stdout.splitlines()
        assert not list(kubectl_qos.runtime.iterdir()), "a folder with a socket is left"
        assert not proxies_of(kubectl_qos.runtime), "a kubectl proxy is left"
        assert directive == NO_FILES
        return sorted(line.partition("\t")[0] for line in lines)

    # If kubectl cannot connect for 10 s, a shell gets no names and no error.
    began = time.monotonic()
    found = asked()
    return found if found or time.monotonic() - began < CONNECT_SECONDS else asked()


def test_K_live_names(kubectl_qos: Plugin, pods: str) -> None:
    assert _completed(kubectl_qos, "explain", "-n", pods, "pod/") == ["pod/db-0", "pod/web-0", "pod/web-1"]
    assert _completed(kubectl_qos, "delete", "-n", pods, "pod/w") == ["pod/web-0", "pod/web-1"]
    assert _completed(kubectl_qos, "explain", "pod", f"--namespace={pods}", "d") == ["db-0"]


def test_K_live_nodes_and_namespaces(kubectl_qos: Plugin, make_node: Callable[..., Object], namespace: str) -> None:
    name = make_node()["metadata"]["name"]
    assert _completed(kubectl_qos, "node", name) == [name]
    assert _completed(kubectl_qos, "fence", f"node/{name}") == [f"node/{name}"]
    assert _completed(kubectl_qos, "explain", "--on", name) == [name]
    assert _completed(kubectl_qos, "explain", "-n", namespace) == [namespace]


def test_K_contexts_and_their_namespace(
    control_plane: ControlPlane, kubectl_qos: Plugin, pods: str, tmp_path: Path
) -> None:
    contexts = {"here": {"namespace": pods}, "there": {}}
    kubeconfig = with_contexts(control_plane.admin_kubeconfig, tmp_path, contexts, "there")
    assert _completed(kubectl_qos, "explain", "--context", "", kubeconfig=kubeconfig) == ["here", "there"]
    named = _completed(kubectl_qos, "explain", "--context=here", "pod/db", kubeconfig=kubeconfig)
    assert named == ["pod/db-0"]


def test_K_missing_right_to_list_completes_nothing(control_plane: ControlPlane, kubectl_qos: Plugin, pods: str) -> None:
    kubeconfig = control_plane.kubeconfig_for_client_certificate("no-rights")
    assert _completed(kubectl_qos, "explain", "-n", pods, "pod/", kubeconfig=kubeconfig) == []


def test_K_only_names_are_sent(control_plane: ControlPlane, pods: str) -> None:
    class Recording(ClientTransport):
        """Keeps what comes."""

        body = b""

        def get(self, path: str, accept: str = "application/json", *, timeout: float | None = None) -> Response:
            status, self.body = super().get(path, accept, timeout=timeout)
            return status, self.body

    transport = Recording(kubeconfig=str(control_plane.admin_kubeconfig), request_timeout=30)
    try:
        assert sorted(LiveSource(transport, namespace=pods).names(PODS, pods)) == ["db-0", "web-0", "web-1"]
    finally:
        transport.close()
    assert b'"PartialObjectMetadataList"' in transport.body
    assert b'"spec"' not in transport.body


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("exp", ["explain"]),
        ("explain -n NAMESPACE pod/d", ["explain", "-n", "NAMESPACE", "pod/db-0"]),
        ("explain -n NAMESPACE pod/we", ["explain", "-n", "NAMESPACE", "pod/web-"]),
        ("explain --output=ya", ["explain", "--output=yaml"]),
        ("fence --confirm-p", ["fence", "--confirm-powered-off"]),
    ],
    ids=["command", "name", "what names share", "value", "flag"],
)
def test_K_tab_is_pressed(
    kubectl_qos: Plugin, pods: str, tmp_path: Path, shell: str, typed: str, completed: list[str]
) -> None:
    recorded = _make_recorder(tmp_path)
    words = _start_up(shell, tmp_path)
    environment = {**kubectl_qos.environment(), **PATIENT, "HOME": str(tmp_path), "ZDOTDIR": str(tmp_path)}
    environment["PATH"] = f"{tmp_path}{os.pathsep}{environment['PATH']}"
    # Shells then keep their files below HOME. fish leaves a pipe in the last one: it must not count as a remain of the
    # plugin.
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        environment.pop(name, None)
    master, slave = pty.openpty()
    resize(slave, rows=24, columns=200)
    process = subprocess.Popen(["setsid", "--ctty", *words], env=environment, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    try:
        _read_until(master, lambda text: PROMPT.encode() in text)
        line = f"kubectl qos {typed}".replace("NAMESPACE", pods)
        # Go to the line's start and insert another program, which then runs instead of kubectl.
        os.write(master, f"{line}\t\x01record \r".encode())
        _read_until(master, lambda _: recorded.exists())
    finally:
        process.kill()
        process.wait()
        os.close(master)
    assert not _makers_of_completions(tmp_path), "fish makes completions of all manual pages, and goes on for long"
    assert recorded.read_text().splitlines() == [
        "kubectl",
        "qos",
        *(word.replace("NAMESPACE", pods) for word in completed),
    ]


def _make_recorder(folder: Path) -> Path:
    """A program ``record`` that writes its words to a file, whole or not at all; returns the file."""
    recorded = folder / "recorded"
    program = folder / "record"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {recorded}.part && mv {recorded}.part {recorded}\n')
    program.chmod(0o755)
    return recorded


def _start_up(shell: str, folder: Path) -> list[str]:
    """The command of a shell that sets up completion as the documentation says, and then prompts."""
    program = shutil.which(shell)
    missing = shell if program is None else "the package bash-completion"
    if program is None or (shell == "bash" and not BASH_COMPLETION.exists()):
        without(f"{missing} is not installed")
    if shell == "fish":
        # Where this is missing, fish has a program make it from all manual pages of the machine, beside the shell.
        (folder / ".local/share/fish/generated_completions").mkdir(parents=True)
        prompt = f"function fish_prompt; echo '{PROMPT}'; end; function fish_greeting; end"
        return [program, "--init-command", f"kubectl completion fish | source; {prompt}"]
    before = {"bash": f"source {BASH_COMPLETION}", "zsh": "autoload -Uz compinit; compinit -u"}
    start = folder / ".zshrc"
    start.write_text(f"{before[shell]}\nsource <(kubectl completion {shell})\nPS1='{PROMPT}'\n")
    return [program, "--rcfile", str(start), "-i"] if shell == "bash" else [program, "-i"]


def _makers_of_completions(home: Path) -> list[int]:
    """Process ids of the completion generators that fish starts for this home."""
    found = []
    for pid, words in processes():
        if any(b"create_manpage_completions" in word for word in words):
            # It may have ended meanwhile.
            with contextlib.suppress(OSError):
                if b"HOME=" + os.fsencode(home) in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    found.append(pid)
    return found


def _read_until(master: int, done: Callable[[bytes], bool]) -> None:
    """Read a terminal, because a shell blocks without a reader."""
    text = b""
    deadline = time.monotonic() + PATIENCE
    while not done(text):
        assert time.monotonic() < deadline, text
        if select.select([master], [], [], 0.1)[0]:
            text += os.read(master, 1 << 16)
