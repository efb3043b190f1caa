"""``make bench``: the cost of the plugin and the webhook, as ratios to a named peer in the same run.

Machines are noisy, so each pair of commands runs in turn (A B A B …) and the median of the pairs' ratios counts.
Absolute figures are printed for orientation. Exits 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.place import measure_place
from tests.bench.placement import measure_placement
from tests.bench.webhook import measure_webhook
from tests.bench.webhook_caches import measure_caches
from tests.bench.webhook_pods import measure_creation
from tests.controlplane.binaries import CONTROL_PLANE, Binaries, Unavailable, find_binaries
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_container, raw_pod

ROOT: Final = Path(__file__).resolve().parents[2]
RUNS: Final = 21
HELP_BAR: Final = 8.0
"""CPU time of ``kubectl-qos --help`` over that of ``python3 -c pass``."""
EXPLAIN_BAR: Final = 4.0
"""Wall time of ``kubectl qos explain pod/x`` over that of ``kubectl get pod x -o yaml``."""
COMPLETION_BAR: Final = 3.5
"""Wall time of a pod's name completed behind ``kubectl qos explain`` over that behind ``kubectl get``."""
NAMESPACE: Final = "bench"


class Cost(NamedTuple):
    """The time of one run with its children, in seconds."""

    wall: float
    cpu: float


def main() -> int:
    """Run the requested measurements and print them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", nargs="?", choices=("plugin", "webhook"), help="one of the two; both")
    part = parser.parse_args().part
    found = find_binaries(CONTROL_PLANE)
    if isinstance(found, Unavailable):
        print(found.reason, file=sys.stderr)
        return 1
    ok = True
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        if part != "webhook":
            ok &= _plugin(found, Path(folder))
        if part != "plugin":
            ok &= _webhook(found, Path(folder))
    return 0 if ok else 1


def _plugin(binaries: Binaries, folder: Path) -> bool:
    ok = True
    with ControlPlane(binaries) as control_plane:
        _fill(control_plane)
        installed = _installed(folder)
        development = Path(sys.executable).parent
        for title, scripts in (("as installed from the wheel", installed), ("development tree", development)):
            print(f"\n{title}")
            environment = control_plane.kubectl_environment()
            environment["PATH"] = f"{scripts}:{environment['PATH']}"
            ok &= _start(scripts, environment)
            ok &= _answer(environment)
            ok &= _completion(environment)
        print("\ntransports: the four requests of an explained pod, from the start of Python")
        _transports(development, control_plane)
        print("\nplacement of a pod on large clusters")
        measure_placement()
        print("\nreplicas placed one after the other")
        ok &= measure_place(binaries, installed)
    return ok


def _webhook(binaries: Binaries, folder: Path) -> bool:
    print("\nthe webhook beside a Go webhook on controller-runtime")
    with ControlPlane(binaries) as control_plane:
        ok = measure_webhook(control_plane, folder)
    print("\npods created with the webhook, with the Go webhook, and without a webhook")
    ok &= measure_creation(binaries, folder)
    print("\nthe webhook's caches of a large cluster")
    return ok & measure_caches(binaries, folder)


def _fill(control_plane: ControlPlane) -> None:
    control_plane.create_namespace(NAMESPACE)
    control_plane.create_node("bench-node", {"cpu": "4", "memory": "16Gi", "pods": "110"})
    containers = [raw_container(requests={"cpu": "250m", "memory": "256Mi"}), raw_container("helper")]
    control_plane.apply([raw_pod("web", NAMESPACE, containers=containers, nodeName="bench-node")])


def _installed(folder: Path) -> Path:
    """A fresh environment with the built wheel and its locked dependencies, as a user's."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    wheel = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(wheel, check=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    inside = [str(folder / "venv/bin/python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    subprocess.run([*inside, "--require-hashes", "-r", str(ROOT / "requirements/plugin.txt")], check=True)
    subprocess.run([*inside, "--no-deps", *map(str, folder.glob("*.whl"))], check=True)
    return folder / "venv/bin"


def _start(scripts: Path, environment: Mapping[str, str]) -> bool:
    help_page = [str(scripts / "kubectl-qos"), "--help"]
    ours, peers = _paired(help_page, [str(scripts / "python3"), "-c", "pass"], environment)
    return _report("kubectl-qos --help", "python3 -c pass", "cpu", ours, peers, bar=HELP_BAR)


def _answer(environment: Mapping[str, str]) -> bool:
    explain = ["kubectl", "qos", "explain", "pod/web", "-n", NAMESPACE]
    ours, peers = _paired(explain, ["kubectl", "get", "pod", "web", "-n", NAMESPACE, "-o", "yaml"], environment)
    return _report("kubectl qos explain pod/x", "kubectl get pod x -o yaml", "wall", ours, peers, bar=EXPLAIN_BAR)


def _completion(environment: Mapping[str, str]) -> bool:
    asked = ["kubectl", "__complete", "qos", "explain", "-n", NAMESPACE, "pod/"]
    ours, peers = _paired(asked, ["kubectl", "__complete", "get", "pod", "-n", NAMESPACE, ""], environment)
    return _report("kubectl qos explain pod/<Tab>", "kubectl get pod <Tab>", "wall", ours, peers, bar=COMPLETION_BAR)


def _transports(scripts: Path, control_plane: ControlPlane) -> None:
    environment = control_plane.kubectl_environment()
    paths = ["/version", f"/api/v1/namespaces/{NAMESPACE}/pods/web", "/api/v1/nodes/bench-node", "/api/v1/nodes"]
    proxy = (
        "from cluster_io.live.transport import KubectlProxy\n"
        f"with KubectlProxy([], request_timeout=30) as t: [t.get(p) for p in {paths}]"
    )
    raw = f"import subprocess\nfor p in {paths}: subprocess.run(['kubectl', 'get', '--raw', p], capture_output=True)"
    client = (
        "from cluster_io.live.client import ClientTransport\n"
        f"t = ClientTransport(context=None, kubeconfig={environment['KUBECONFIG']!r}, request_timeout=30)\n"
        f"[t.get(p) for p in {paths}]"
    )
    for name, code in (("kubectl get --raw, each", raw), ("official client", client)):
        ours, peers = _paired(
            [str(scripts / "python"), "-c", proxy], [str(scripts / "python"), "-c", code], environment
        )
        _report("kubectl proxy on a socket", name, "wall", ours, peers, bar=None)


def _paired(ours: Sequence[str], peer: Sequence[str], environment: Mapping[str, str]) -> tuple[list[Cost], list[Cost]]:
    """Both commands in turn, after one run of each that does not count."""
    _run(ours, environment), _run(peer, environment)
    pairs = [(_run(ours, environment), _run(peer, environment)) for _ in range(RUNS)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _run(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    started = time.perf_counter()
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=said) as process,
    ):
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        problem = said.read().decode(errors="replace")
    if process.returncode != 0:
        raise SystemExit(f"{command} failed with exit code {process.returncode}: {problem}")
    return Cost(wall, usage.ru_utime + usage.ru_stime)


def _report(name: str, peer: str, what: str, ours: list[Cost], peers: list[Cost], *, bar: float | None) -> bool:
    mine, theirs = ([getattr(cost, what) for cost in costs] for costs in (ours, peers))
    ratio = statistics.median(a / b for a, b in zip(mine, theirs, strict=True))
    verdict = "" if bar is None else f", bar {bar:g}: {'kept' if ratio <= bar else 'MISSED'}"
    print(
        f"  {name} / {peer}: {what} {ratio:.2f}x (median of {RUNS} pairs; "
        f"{1000 * statistics.median(mine):.0f} ms / {1000 * statistics.median(theirs):.0f} ms){verdict}",
        flush=True,
    )
    return bar is None or ratio <= bar


if __name__ == "__main__":
    sys.exit(main())
