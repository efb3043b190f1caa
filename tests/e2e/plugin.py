"""Runs ``kubectl qos`` as people do: the real kubectl finds the plugin on PATH and starts it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.controlplane.control_plane import ControlPlane

__all__ = ["Plugin", "Ran", "flat", "proxies_of", "with_contexts"]

SCRIPTS = Path(sys.executable).parent
"""Holds the console script ``kubectl-qos``."""


class Ran(NamedTuple):
    """What a person sees of one run."""

    code: int
    out: str
    err: str


class Plugin:
    """``kubectl qos COMMAND …`` against one control plane; after every run nothing of it may be left."""

    def __init__(self, control_plane: ControlPlane, runtime: Path, *, command: str = "explain") -> None:
        """Take a folder of our own for what runs leave: the plugin's sockets go there."""
        self.control_plane = control_plane
        self.runtime = runtime
        self.command = command

    def environment(self, kubeconfig: Path | None = None) -> dict[str, str]:
        """Finds the real kubectl and the plugin; nothing of the person's own terminal counts."""
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
        done = self.control_plane.kubectl(
            "qos",
            self.command,
            *arguments,
            input=stdin,
            kubeconfig=kubeconfig,
            check=False,
            env={**self.environment(kubeconfig), **(env or {})},
            # Some follow what garbage collection does every 20 s.
            timeout=120,
        )
        assert not list(self.runtime.iterdir()), "a folder with a socket is left"
        assert not proxies_of(self.runtime), "a kubectl proxy is left"
        return Ran(done.returncode, done.stdout, done.stderr)

    def json(self, *arguments: str | Path, stdin: str | None = None, kubeconfig: Path | None = None) -> Any:
        """What ``-o json`` prints; everything asked for has to be explained."""
        ran = self(*arguments, "-o", "json", stdin=stdin, kubeconfig=kubeconfig)
        assert (ran.code, ran.err) == (0, ""), ran
        return json.loads(ran.out)

    def text(self, *arguments: str | Path, stdin: str | None = None, kubeconfig: Path | None = None) -> str:
        """The words of the table, whatever their lines; everything asked for has to be explained."""
        ran = self(*arguments, stdin=stdin, kubeconfig=kubeconfig)
        assert (ran.code, ran.err) == (0, ""), ran
        return flat(ran.out)

    def start(
        self,
        *arguments: str | Path,
        kubeconfig: Path | None = None,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> subprocess.Popen[bytes]:
        """Starts a run that the test ends; a process group of its own, as a shell gives it."""
        whole = {**self.environment(kubeconfig), **(env or {})}
        kubectl = shutil.which("kubectl", path=whole["PATH"])
        assert kubectl
        return subprocess.Popen(
            [kubectl, "qos", self.command, *map(str, arguments)],
            env=whole,
            stderr=subprocess.PIPE,
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "start_new_session": True, **options},
        )


def flat(text: str) -> str:
    """A text without its line breaks and columns."""
    return " ".join(text.split())


def proxies_of(runtime: Path) -> list[int]:
    """Process ids of each ``kubectl proxy`` whose socket is in this folder; Linux only, elsewhere none is found."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue  # It has ended meanwhile.
        if b"proxy" in words and any(os.fsencode(runtime) in word for word in words):
            found.append(int(entry.parent.name))
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
