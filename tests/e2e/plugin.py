"""Runs ``kubectl qos`` against a control plane, in two ways; tests choose one by its fixture.

``kubectl_qos`` is what users have: the real kubectl finds the plugin on PATH and starts it. ``qos`` passes the same
arguments to the same entry point in this process, which costs a tenth of that; requests still go through a real
``kubectl proxy``. Tests of starts, credentials, signals, terminals or time use the first.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
import yaml

from cluster_io.kinds import Kind
from cluster_io.live.live_source import LiveSource
from cluster_io.live.transport import KubectlProxy
from kubectl_plugin import connection as connecting
from kubectl_plugin.connection import ClusterConnection
from kubectl_plugin.options import ClusterOptions
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import again_if_not_connected
from tests.kubectl_plugin.asked import rights_of
from tests.kubectl_plugin.running import Ran, run

SCRIPTS = Path(sys.executable).parent
"""Holds the console script ``kubectl-qos``."""


class Qos(ABC):
    """``kubectl qos COMMAND …`` against one control plane; no run may leave anything behind."""

    def __init__(self, control_plane: ControlPlane, runtime: Path, *, command: str = "explain") -> None:
        """Use a private folder for the plugin's sockets, to find remains of runs."""
        self.control_plane = control_plane
        self.runtime = runtime
        self.command = command

    def environment(self, kubeconfig: Path | None = None) -> dict[str, str]:
        """Finds the real kubectl and the plugin; ignores the developer's own terminal."""
        env = self.control_plane.kubectl_environment(kubeconfig)
        own = {"PATH": f"{SCRIPTS}{os.pathsep}{env['PATH']}", "XDG_RUNTIME_DIR": str(self.runtime)}
        kept = {key: value for key, value in env.items() if key not in {"NO_COLOR", "COLUMNS"}}
        return {**kept, **own, "TERM": "xterm-256color"}

    def __call__(
        self,
        *arguments: str | Path,
        stdin: str | None = None,
        kubeconfig: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Ran:
        """``kubectl qos COMMAND ARGUMENTS``."""
        environment = {**self.environment(kubeconfig), **(env or {})}
        typed = tuple(map(str, arguments))
        ran = again_if_not_connected(
            lambda: self._run(typed, stdin or "", environment), lambda ran: flat(f"{ran.out} {ran.err}")
        )
        assert not list(self.runtime.iterdir()), "a folder with a socket is left"
        assert not proxies_of(self.runtime), "a kubectl proxy is left"
        return ran

    def json(
        self, *arguments: str | Path, stdin: str | None = None, kubeconfig: Path | None = None, code: int = 0
    ) -> Any:
        """The output of ``-o json``; every target has to be explained, and the exit code has to match."""
        ran = self(*arguments, "-o", "json", stdin=stdin, kubeconfig=kubeconfig)
        assert (ran.code, ran.err) == (code, ""), ran
        return json.loads(ran.out)

    def text(
        self, *arguments: str | Path, stdin: str | None = None, kubeconfig: Path | None = None, code: int = 0
    ) -> str:
        """The table's words without line breaks; every target has to be explained, and the exit code has to match."""
        ran = self(*arguments, stdin=stdin, kubeconfig=kubeconfig)
        assert (ran.code, ran.err) == (code, ""), ran
        return flat(ran.out)

    @abstractmethod
    def _run(self, arguments: tuple[str, ...], stdin: str, environment: Mapping[str, str]) -> Ran:
        """One run with this whole environment."""


class Plugin(Qos):
    """Started by the real kubectl."""

    def _run(self, arguments: tuple[str, ...], stdin: str, environment: Mapping[str, str]) -> Ran:
        done = subprocess.run(
            self._typed(arguments, environment),
            input=stdin,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            # It limits the time of a failure. Some runs wait for garbage collection, which runs every 20 s.
            timeout=300,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def start(
        self,
        *arguments: str | Path,
        kubeconfig: Path | None = None,
        env: Mapping[str, str] | None = None,
        **how: Any,
    ) -> subprocess.Popen[bytes]:
        """Starts a run that the test ends; a process group of its own, as a shell gives it."""
        environment = {**self.environment(kubeconfig), **(env or {})}
        return subprocess.Popen(
            self._typed(tuple(map(str, arguments)), environment),
            env=environment,
            stderr=subprocess.PIPE,
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "start_new_session": True, **how},
        )

    def _typed(self, arguments: tuple[str, ...], environment: Mapping[str, str]) -> list[str]:
        kubectl = shutil.which("kubectl", path=environment["PATH"])
        assert kubectl
        return [kubectl, "qos", self.command, *arguments]


class InProcess(Qos):
    """The same entry point in this process. The administrator's requests use a shared connection."""

    def __init__(
        self, control_plane: ControlPlane, runtime: Path, kept: KeptConnection, *, command: str = "explain"
    ) -> None:
        """Share a connection to this control plane with others."""
        super().__init__(control_plane, runtime, command=command)
        self._kept = kept

    def also(self, command: str) -> InProcess:
        """Another command."""
        return InProcess(self.control_plane, self.runtime, self._kept, command=command)

    def _run(self, arguments: tuple[str, ...], stdin: str, environment: Mapping[str, str]) -> Ran:
        asked: list[subprocess.Popen[bytes]] = []
        own = connecting.connect
        as_usual = environment == self.environment()

        def connect(cluster: ClusterOptions) -> ClusterConnection:
            if as_usual and self._kept.serves(cluster):
                return ClusterConnection(self._kept.proxy(), cluster.namespace, None)
            connection = own(cluster)
            if connection.asked_context is not None:
                asked.append(connection.asked_context)
            return connection

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(connecting, "connect", connect)
            requested = _requested(patch)
            ran = run(self.command, *arguments, stdin=stdin, env=environment)
        lacks = requested - rights_of(self.command)
        assert not lacks, f"tests/kubectl_plugin/asked.py has no question of {self.command} that reads {lacks}"
        for process in asked:
            # An unneeded answer: the end of the plugin's process would be the end of this one, too.
            with process:
                pass
        return ran


def _requested(patch: pytest.MonkeyPatch) -> set[str]:
    """Collects the resources that a run requests from a live cluster."""
    found: set[str] = set()

    def noting(method: Callable[..., Any]) -> Callable[..., Any]:
        def ask(source: LiveSource, kind: Kind[Any], *given: Any, **named: Any) -> Any:
            found.add(kind.rbac_name)
            return method(source, kind, *given, **named)

        return ask

    for method in (LiveSource.get, LiveSource.list, LiveSource.names):
        patch.setattr(LiveSource, method.__name__, noting(method))
    return found


class KeptConnection:
    """One ``kubectl proxy`` for all runs in this process that ask as the administrator; started by the first."""

    def __init__(self, runtime: Path) -> None:
        """Take a folder for its socket that is not checked for remains of runs."""
        self._runtime = runtime
        self._proxy: _KeptProxy | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._proxy is not None:
            self._proxy.end()

    @staticmethod
    def serves(cluster: ClusterOptions) -> bool:
        """Whether nothing was typed that makes a connection another one."""
        return cluster == ClusterOptions(
            namespace=cluster.namespace, is_optional=cluster.is_optional, typed=cluster.typed
        )

    def proxy(self) -> KubectlProxy:
        """It; the environment is that of a run."""
        if self._proxy is None:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("XDG_RUNTIME_DIR", str(self._runtime))
                self._proxy = _KeptProxy([], request_timeout=ClusterOptions().request_timeout)
        return self._proxy


class _KeptProxy(KubectlProxy):
    """A proxy that runs leave open for the next one."""

    def close(self) -> None:
        """Do nothing: see `end`."""

    def end(self) -> None:
        """Close the proxy."""
        super().close()


def flat(text: str) -> str:
    """A text without its line breaks and columns."""
    return " ".join(text.split())


def proxies_of(runtime: Path) -> list[int]:
    """Process ids of each ``kubectl proxy`` with its socket in this folder."""
    return [
        pid for pid, words in processes() if b"proxy" in words and any(os.fsencode(runtime) in word for word in words)
    ]


def processes() -> list[tuple[int, list[bytes]]]:
    """Process ids and words of all command lines; Linux only, elsewhere none is found."""
    found = []
    for entry in Path("/proc").iterdir() if sys.platform == "linux" else ():
        if entry.name.isdecimal():
            # It may have ended meanwhile.
            with contextlib.suppress(OSError):
                found.append((int(entry.name), (entry / "cmdline").read_bytes().split(b"\0")))
    return found


def with_contexts(kubeconfig: Path, folder: Path, contexts: Mapping[str, Mapping[str, Any]], current: str) -> Path:
    """A copy of a kubeconfig of one user with these contexts; ``user`` in one may be another kubeconfig's user."""
    config = yaml.safe_load(kubeconfig.read_text())
    config["contexts"] = []
    for name, fields in contexts.items():
        other = fields.get("kubeconfig")
        user = "test"
        if other is not None:
            user = f"user-of-{name}"
            config["users"].append({"name": user, "user": yaml.safe_load(other.read_text())["users"][0]["user"]})
        place = {"namespace": fields["namespace"]} if "namespace" in fields else {}
        config["contexts"].append({"name": name, "context": {"cluster": "test", "user": user, **place}})
    config["current-context"] = current
    file = folder / "contexts.kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file
