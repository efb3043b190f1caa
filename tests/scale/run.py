"""``make scale``: the cost of commands on large clusters, compared with kubectl and installed peers.

    make scale                                     5,000 nodes, 150,000 pods
    make scale NODES="500 1000 5000"               growth; 30 pods a node
    make scale NODES=5000 PODS=150000 ROUNDS=5
    make scale FORMATS=1                           also how a list comes best

Commands that are compared run in turn (A B A B …), and the median of their ratios counts. Memory is that of a command
and of all that it starts. Ends with the rows of docs/performance.md. Exits 1 when a bar is missed; the bars are for
5,000 nodes and 150,000 pods.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kubectl_plugin.exit_codes import NO_PLACE, NOT_CERTAIN
from tests.controlplane.binaries import CONTROL_PLANE, Binaries, Unavailable, find_binaries
from tests.controlplane.control_plane import ControlPlane
from tests.scale import cluster
from tests.scale.cluster import Size
from tests.scale.ends import leave_ends
from tests.scale.measure import Cost, measured
from tests.scale.seed import filled

ROOT: Final = Path(__file__).resolve().parents[2]
PODS_PER_NODE: Final = 30
REPLICAS: Final = 1_000
BARS_FOR: Final = Size(5_000, 150_000)
EXPLAIN_BAR: Final = 0.75
"""Wall time of an explained pod with its placement over that of the bytes of all pods by ``kubectl get --raw``."""
MEMORY_BAR: Final = 600 << 20
NODE_BAR: Final = 1.0
"""Seconds."""
DIED_BAR: Final = 10.0
"""Seconds, with 2,000 events."""
SNAPSHOT_BAR: Final = 2.0
"""Seconds to read all kinds of a snapshot."""
CAPACITY: Final = "cluster-capacity"
CAPACITY_WALL_BAR: Final = 1 / 4
CAPACITY_MEMORY_BAR: Final = 1 / 8
"""The cost of placing replicas as a part of the peer's cost."""
RAW: Final = ("kubectl", "get", "--raw", "/api/v1/pods?resourceVersion=0")
EXPLAIN: Final = ("kubectl", "qos", "explain", f"pod/{cluster.ASKED}", "-n", cluster.ASKED_NAMESPACE)
_READ_SNAPSHOT: Final = """\
import sys, time
started = time.perf_counter()
from cluster_io.capture.file import SnapshotFile
from cluster_io.capture.file import SnapshotSource
from cluster_io.kinds import ALL_KINDS
source = SnapshotSource(SnapshotFile(sys.argv[1]), namespace=None)
read = sum(len(source.list(kind)) for kind in ALL_KINDS)
print(f"{time.perf_counter() - started:.3f} {read}")
"""


class Question(NamedTuple):
    """A command, and its limit."""

    command: tuple[str, ...]
    wall: float | None = None
    """Seconds."""
    codes: tuple[int, ...] = (0,)


class Report:
    """What is printed while it is measured, its rows for the documentation, and whether all bars were kept."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.kept = True
        self._size = Size(0, 0)

    def begin(self, size: Size) -> None:
        """What comes is of a cluster of this size."""
        self._size = size
        print(f"\n{size.nodes} nodes, {size.pods} pods; wall, CPU and memory of the command and all that it starts")

    def cost(self, command: Sequence[str], costs: Sequence[Cost]) -> None:
        """A command was run so often."""
        wall, cpu = (statistics.median(getattr(cost, what) for cost in costs) for what in ("wall", "cpu"))
        memory = max(cost.memory for cost in costs) >> 20
        # The files are in a temporary folder.
        shown = " ".join(
            word.rpartition("/")[2] if word.startswith(tempfile.gettempdir()) else word for word in command
        )
        print(f"  {shown:<76} {wall:6.2f} s  {cpu:6.2f} s CPU  {memory:>6} MiB", flush=True)
        nodes, pods = self._size
        self.rows.append(f"| {nodes:,} | {pods:,} | `{shown}` | {wall:.2f} s | {cpu:.2f} s | {memory:,} MiB |")

    def bar(self, what: str, bar: float, *, kept: bool) -> None:
        """Compare a measurement with its limit, if the cluster has the size for it."""
        if self._size != BARS_FOR:
            return
        self.kept &= kept
        print(f"    {what}, bar {bar:g}: {'kept' if kept else 'MISSED'}", flush=True)


def main() -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[5_000])
    parser.add_argument("--pods", type=int, help="30 a node when not given")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--formats", action="store_true", help="also in which format and pages a list comes best")
    given = parser.parse_args()
    found = find_binaries(CONTROL_PLANE)
    if isinstance(found, Unavailable):
        print(found.reason, file=sys.stderr)
        return 1
    sizes = [Size(nodes, given.pods or nodes * PODS_PER_NODE) for nodes in given.nodes]
    report = Report()
    for size in sizes:
        _measure(found, size, given.rounds, report, formats=given.formats)
    print("", *report.rows, sep="\n")
    return 0 if report.kept else 1


def _measure(binaries: Binaries, size: Size, rounds: int, report: Report, *, formats: bool) -> None:
    with filled(binaries, size) as control_plane, tempfile.TemporaryDirectory(prefix="scale-") as folder:
        environment = _environment(control_plane)
        report.begin(size)
        _explain(environment, rounds, report)
        leave_ends(control_plane.api, size)
        costs = {
            question.command: _answered(question, environment, rounds, report)
            for question in _questions(Path(folder), environment, size)
        }
        _beside_cluster_capacity(costs, report)
        _snapshot(Path(folder) / "cluster.qos", environment, report)
        if formats:
            subprocess.run([sys.executable, "-m", "tests.scale.formats"], cwd=ROOT, env=environment, check=True)


def _environment(control_plane: ControlPlane) -> dict[str, str]:
    environment = control_plane.kubectl_environment()
    return {**environment, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"}


def _explain(environment: Mapping[str, str], rounds: int, report: Report) -> None:
    """An explained pod, with its placement, beside the bytes of all pods."""
    pairs = [(measured(EXPLAIN, environment), measured(RAW, environment)) for _ in range(rounds)]
    ours = [pair[0] for pair in pairs]
    ratio = statistics.median(mine.wall / other.wall for mine, other in pairs)
    report.cost(EXPLAIN, ours)
    report.cost(RAW, [pair[1] for pair in pairs])
    report.bar(f"{ratio:.2f}x the bytes alone", EXPLAIN_BAR, kept=ratio <= EXPLAIN_BAR)
    memory = max(cost.memory for cost in ours)
    report.bar(f"{memory >> 20} MiB", MEMORY_BAR >> 20, kept=memory <= MEMORY_BAR)


def _questions(folder: Path, environment: Mapping[str, str], size: Size) -> Iterator[Question]:
    node = cluster.node_name(size.nodes // 2)
    wanted = folder / "wanted.json"
    wanted.write_text(json.dumps(cluster.wanted_pod()))
    snapshot = str(folder / "cluster.qos")
    yield Question(("kubectl", "qos", "explain", f"node/{node}"), wall=NODE_BAR)
    yield Question(("kubectl", "qos", "node", node), wall=NODE_BAR)
    yield Question(("kubectl", "qos", "place", "-f", str(wanted), "--replicas", str(REPLICAS)), codes=(0, NO_PLACE))
    yield Question(("kubectl", "qos", "snapshot", "-o", snapshot))
    yield Question((*EXPLAIN, "--snapshot", snapshot))
    yield Question(("kubectl", "qos", "partitions"))
    yield Question(("kubectl", "qos", "died", "-A", "--since", "1h"), wall=DIED_BAR, codes=(0, NOT_CERTAIN))
    replicas = ("--podspec", str(wanted), "--max-limit", str(REPLICAS), "--kubeconfig", environment["KUBECONFIG"])
    for command in (("kube-capacity",), (CAPACITY, *replicas)):
        if shutil.which(command[0], path=environment["PATH"]):
            yield Question(command)
        else:
            print(f"  {command[0]}: not on PATH, left out", flush=True)


def _answered(question: Question, environment: Mapping[str, str], rounds: int, report: Report) -> list[Cost]:
    costs = [measured(question.command, environment, codes=question.codes) for _ in range(rounds)]
    report.cost(question.command, costs)
    if question.wall is not None:
        wall = statistics.median(cost.wall for cost in costs)
        report.bar(f"{wall:.2f} s", question.wall, kept=wall <= question.wall)
    return costs


def _beside_cluster_capacity(costs: Mapping[tuple[str, ...], Sequence[Cost]], report: Report) -> None:
    """The same replicas placed by both, if the peer is installed."""
    found = {command[2] if command[0] == "kubectl" else command[0]: entry for command, entry in costs.items()}
    if CAPACITY not in found:
        return
    for what, bar in (("wall", CAPACITY_WALL_BAR), ("memory", CAPACITY_MEMORY_BAR)):
        ours, theirs = (statistics.median(getattr(cost, what) for cost in found[name]) for name in ("place", CAPACITY))
        report.bar(f"{ours / theirs:.3f}x the {what} of {CAPACITY}", bar, kept=ours / theirs <= bar)


def _snapshot(path: Path, environment: Mapping[str, str], report: Report) -> None:
    """A snapshot's kinds read by the library, without what a command does besides."""
    command = [sys.executable, "-c", _READ_SNAPSHOT, str(path)]
    runs = [
        subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True) for _ in range(3)
    ]
    seconds = statistics.median(float(run.stdout.split()[0]) for run in runs)
    print(f"  read all kinds of a snapshot of {path.stat().st_size / 1e6:.1f} MB: {seconds:.2f} s", flush=True)
    report.bar(f"{seconds:.2f} s", SNAPSHOT_BAR, kept=seconds <= SNAPSHOT_BAR)


if __name__ == "__main__":
    sys.exit(main())
