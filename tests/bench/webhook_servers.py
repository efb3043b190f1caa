"""The webhook and its peer, a Go webhook on controller-runtime, as programs over one API server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.charts.chart import config_argument
from tests.controlplane.binaries import Unavailable, find_go, go_environment
from tests.controlplane.certificates import Authority
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import Process, free_port, probe, start_on_free_port, stop_all

_MODULE: Final = Path(__file__).parent / "webhook_peer"
_DATA: Final = _MODULE / "testdata"
_READY_SECONDS: Final = 60
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_OWNER_UID: Final = "6df9ede6-3335-4cba-87fd-c761ebed650c"
"""Of the ReplicaSet in the recorded reviews; it gets another when it is recreated."""
_CONFIG: Final = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
"""


class Server(NamedTuple):
    """A webhook that runs."""

    name: str
    process: Process
    port: int


def build_peer(folder: Path) -> bool:
    """Build the Go webhook and what asks it and creates pods into a folder; False when that cannot be done."""
    go = find_go()
    if isinstance(go, Unavailable):
        print(go.reason, file=sys.stderr)
        return False
    command = [str(go), "build", "-trimpath", "-o", f"{folder}/", "./..."]
    subprocess.run(command, cwd=_MODULE, env=go_environment(), check=True)
    return True


def prepare(control_plane: ControlPlane, folder: Path) -> dict[str, Path]:
    """Make what the recorded reviews speak of, and the reviews as they would be here."""
    objects = json.loads((_DATA / "objects.json").read_text())
    stored = control_plane.apply(objects)
    config: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"config.yaml": _CONFIG}}
    control_plane.apply([{**config, "metadata": {"name": "scheduler", "namespace": "kube-system"}}])
    owner = next(entry["metadata"]["uid"] for entry in stored if entry["kind"] == "ReplicaSet")
    bodies = {}
    for name in ("mutate", "validate"):
        bodies[name] = folder / f"{name}.json"
        bodies[name].write_text((_DATA / f"{name}.json").read_text().replace(_OWNER_UID, owner))
    authority = Authority()
    serving = authority.server(["localhost"])
    (folder / "authority.crt").write_bytes(authority.certificate)
    (folder / "tls.crt").write_bytes(serving.certificate)
    (folder / "tls.key").write_bytes(serving.key)
    return bodies


@contextmanager
def ours(control_plane: ControlPlane, folder: Path) -> Iterator[Server]:
    """Ours, ready."""

    def arguments(port: int) -> list[str | Path]:
        program = Path(sys.executable).parent / "qos-webhook"
        certificate = ("--tls-cert", folder / "tls.crt", "--tls-key", folder / "tls.key")
        config_map = {"namespace": "kube-system", "name": "scheduler"}
        config = config_argument({"clusterDefaultConstraints": {"configMap": config_map}}, folder / "config.yaml")
        own = (config, "--kubeconfig", control_plane.admin_kubeconfig)
        return [program, *own, "--address", f"127.0.0.1:{port}", "--drain", "0s", *certificate]

    yield from _running("qos-webhook", arguments, probe("/readyz"), folder)


@contextmanager
def peer(control_plane: ControlPlane, folder: Path) -> Iterator[Server]:
    """The Go webhook, ready."""
    health = free_port()

    def arguments(port: int) -> list[str | Path]:
        flags = (f"--port={port}", f"--health-port={health}", f"--cert-dir={folder}")
        return [folder / "peer", f"--kubeconfig={control_plane.admin_kubeconfig}", *flags]

    is_ready = probe("/readyz", tls=False)
    yield from _running("controller-runtime", arguments, lambda _: is_ready(health), folder)


def _running(name: str, arguments: Any, ready: Any, folder: Path) -> Iterator[Server]:
    process, port = start_on_free_port(arguments, ready, log=folder / f"{name}.log", timeout=_READY_SECONDS)
    try:
        yield Server(name, process, port)
    finally:
        stop_all([process], timeout=40)


def family(pid: int) -> list[int]:
    """A process and its children: gunicorn's master and its worker."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in family(int(child)))]


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its children."""
    total = 0
    for one in family(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def memory(pid: int) -> float:
    """Proportional set size in MiB: shared pages are counted once."""
    kilobytes = 0
    for one in family(pid):
        lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
        kilobytes += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kilobytes / 1024


def kept(name: str, value: float, bar: float, *, least: bool = False) -> bool:
    """Print whether a bar is kept: at most so much, or at least."""
    good = value >= bar if least else value <= bar
    print(
        f"    {name}: {value:.2f}, at {'least' if least else 'most'} {bar:g}: {'kept' if good else 'MISSED'}",
        flush=True,
    )
    return good
