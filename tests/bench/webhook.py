"""What a review costs the webhook, beside a Go webhook on controller-runtime that does the same.

Both run over the same API server and are asked by the same load generator, in turns: TLS kept alive, HTTP/1.1, as the
API server asks webhooks behind a Service. CPU is user and system time of the server's processes, from /proc.
"""

from __future__ import annotations

import json
import os
import ssl
import statistics
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.controlplane.binaries import Unavailable, find_go, go_environment
from tests.controlplane.certificates import Authority
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import Process, free_port, start_on_free_port, stop_all

__all__ = ["measure_webhook"]

MODULE: Final = Path(__file__).parent / "webhook_peer"
DATA: Final = MODULE / "testdata"
REVIEWS: Final = 3000
WARM_UP: Final = 1000
ROUNDS: Final = 5
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_OWNER_UID: Final = "6df9ede6-3335-4cba-87fd-c761ebed650c"
"""Of the ReplicaSet in the recorded reviews; it gets another when it is made anew."""
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


class Measured(NamedTuple):
    """One run of the load generator against one server."""

    cpu: float
    """Microseconds a review."""
    p50: float
    p99: float
    rate: float
    """Reviews a second."""


class Case(NamedTuple):
    """What both are asked."""

    path: str
    body: Path
    want: str
    """What each answer must hold, in the load generator's words."""
    connections: int


class Server(NamedTuple):
    """A webhook that runs."""

    name: str
    process: Process
    port: int


def measure_webhook(control_plane: ControlPlane, folder: Path) -> bool:
    """Print the figures of both servers; False when the peer cannot be built."""
    go = find_go()
    if isinstance(go, Unavailable):
        print(go.reason, file=sys.stderr)
        return False
    command = [str(go), "build", "-trimpath", "-o", f"{folder}/", "./..."]
    subprocess.run(command, cwd=MODULE, env=go_environment(), check=True)
    bodies = _prepare(control_plane, folder)
    with _ours(control_plane, folder) as ours, _peer(control_plane, folder) as peer:
        for server in (ours, peer):
            print(f"  {server.name}: {_memory(server.process.pid):.0f} MiB resident at rest (PSS)")
        for path, want in (("mutate", "patch"), ("validate", "warnings")):
            for connections in (1, 8):
                _compare(folder, ours, peer, Case(path, bodies[path], want, connections))
        for server in (ours, peer):
            print(f"  {server.name}: {_memory(server.process.pid):.0f} MiB after {4 * ROUNDS * REVIEWS} reviews")
    return True


def _prepare(control_plane: ControlPlane, folder: Path) -> dict[str, Path]:
    """Make what the recorded reviews speak of, and the reviews as they would be here."""
    objects = json.loads((DATA / "objects.json").read_text())
    stored = control_plane.apply(objects)
    config: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"config.yaml": _CONFIG}}
    control_plane.apply([{**config, "metadata": {"name": "scheduler", "namespace": "kube-system"}}])
    owner = next(entry["metadata"]["uid"] for entry in stored if entry["kind"] == "ReplicaSet")
    bodies = {}
    for name in ("mutate", "validate"):
        bodies[name] = folder / f"{name}.json"
        bodies[name].write_text((DATA / f"{name}.json").read_text().replace(_OWNER_UID, owner))
    serving = Authority().server(["localhost"])
    (folder / "tls.crt").write_bytes(serving.certificate)
    (folder / "tls.key").write_bytes(serving.key)
    return bodies


@contextmanager
def _ours(control_plane: ControlPlane, folder: Path) -> Iterator[Server]:
    def arguments(port: int) -> list[str | Path]:
        program = Path(sys.executable).parent / "qos-webhook"
        certificate = ("--tls-cert", folder / "tls.crt", "--tls-key", folder / "tls.key")
        cluster = ("--kubeconfig", control_plane.admin_kubeconfig, "--scheduler-config", "kube-system/scheduler")
        return [program, "--address", f"127.0.0.1:{port}", "--drain", "0s", *certificate, *cluster]

    def ready(port: int) -> bool:
        return _answers(f"https://127.0.0.1:{port}/readyz")

    yield from _running("qos-webhook", arguments, ready, folder)


@contextmanager
def _peer(control_plane: ControlPlane, folder: Path) -> Iterator[Server]:
    health = free_port()

    def arguments(port: int) -> list[str | Path]:
        flags = (f"--port={port}", f"--health-port={health}", f"--cert-dir={folder}")
        return [folder / "peer", f"--kubeconfig={control_plane.admin_kubeconfig}", *flags]

    def ready(port: int) -> bool:
        del port
        return _answers(f"http://127.0.0.1:{health}/readyz")

    yield from _running("controller-runtime", arguments, ready, folder)


def _running(name: str, arguments: Any, ready: Any, folder: Path) -> Iterator[Server]:
    process, port = start_on_free_port(arguments, ready, log=folder / f"{name}.log", timeout=30)
    try:
        yield Server(name, process, port)
    finally:
        stop_all([process], timeout=40)


def _answers(url: str) -> bool:
    anybody = ssl._create_unverified_context()  # noqa: S323 - a benchmark's own server
    try:
        with urllib.request.urlopen(url, context=anybody, timeout=2) as answer:  # noqa: S310 - loopback
            return bool(answer.status == 200)
    except OSError:
        return False


def _compare(folder: Path, ours: Server, peer: Server, case: Case) -> None:
    """Ask both in turns and print medians, and the median of the pairs' ratios."""
    pairs = [tuple(_load(folder, server, case) for server in (ours, peer)) for _ in range(ROUNDS)]
    many = "s" if case.connections > 1 else ""
    print(f"  {case.path}, {case.connections} connection{many}, {ROUNDS} pairs of {REVIEWS} reviews")
    for index, server in enumerate((ours, peer)):
        runs = [pair[index] for pair in pairs]
        cpu, p50, p99, rate = (statistics.median(column) for column in zip(*runs, strict=True))
        print(
            f"    {server.name:<18} {cpu:5.0f} us CPU a review   p50 {p50 / 1000:6.2f} ms   p99 {p99 / 1000:6.2f} ms   "
            f"{rate:5.0f} a second"
        )
    cpu, p50, p99, rate = (
        statistics.median(mine / theirs for mine, theirs in zip(first, second, strict=True))
        for first, second in zip(*(zip(*runs, strict=True) for runs in zip(*pairs, strict=True)), strict=True)
    )
    print(
        f"    ours / peer        {cpu:5.2f}x CPU{'':11}   p50 {p50:5.2f}x     p99 {p99:5.2f}x     {rate:5.2f}x",
        flush=True,
    )


def _load(folder: Path, server: Server, case: Case) -> Measured:
    def run(requests: int) -> dict[str, Any]:
        url = f"--url=https://127.0.0.1:{server.port}/{case.path}"
        how = [f"--body={case.body}", f"--want={case.want}", f"--connections={case.connections}"]
        how.append(f"--requests={requests}")
        done = subprocess.run([folder / "load", url, *how], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{server.name}: {done.stderr}\n{server.process.log_tail()}")
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    run(WARM_UP)
    before = _cpu_seconds(server.process.pid)
    result = run(REVIEWS)
    used = _cpu_seconds(server.process.pid) - before
    latency = result["latency_us"]
    return Measured(used / REVIEWS * 1e6, latency["p50"], latency["p99"], result["rate"])


def _family(pid: int) -> list[int]:
    """A process and its children: gunicorn's master and its worker."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in _family(int(child)))]


def _cpu_seconds(pid: int) -> float:
    total = 0
    for one in _family(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def _memory(pid: int) -> float:
    """Proportional set size in MiB: shared pages are counted once."""
    kilobytes = 0
    for one in _family(pid):
        lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
        kilobytes += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kilobytes / 1024
