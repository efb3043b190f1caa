"""The cost of a review in the webhook, compared with an equivalent Go webhook on controller-runtime.

Both run with the same API server and get the same load in turns: TLS kept alive, HTTP/1.1, as the API server
calls webhooks behind a Service. CPU is user and system time of the server's processes, from /proc.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.bench.webhook_servers import Server, build_peer, cpu_seconds, kept, memory, ours, peer, prepare
from tests.controlplane.control_plane import ControlPlane

REVIEWS: Final = 3000
WARM_UP: Final = 1000
ROUNDS: Final = 5
CPU_BAR: Final = 0.8
"""CPU of a mutate review over the peer's."""
P99_BAR: Final = 1.0
"""Of mutate reviews, over the peer's."""


class Measured(NamedTuple):
    """One run of the load generator against one server."""

    cpu: float
    """Microseconds a review."""
    p50: float
    p99: float
    rate: float
    """Reviews a second."""


class Case(NamedTuple):
    """The request to both."""

    path: str
    body: Path
    want: str
    """What each answer must hold, in the load generator's words."""
    connections: int


def measure_webhook(control_plane: ControlPlane, folder: Path) -> bool:
    """Print the figures of both servers; False when a bar is missed or the peer cannot be built."""
    if not build_peer(folder):
        return False
    bodies = prepare(control_plane, folder)
    ok = True
    with ours(control_plane, folder) as mine, peer(control_plane, folder) as theirs:
        for server in (mine, theirs):
            print(f"  {server.name}: {memory(server.process.pid):.0f} MiB resident at rest (PSS)")
        for path, want in (("mutate", "patch"), ("validate", "warnings")):
            for connections in (1, 8):
                ok &= _compare(folder, mine, theirs, Case(path, bodies[path], want, connections))
        for server in (mine, theirs):
            print(f"  {server.name}: {memory(server.process.pid):.0f} MiB after {4 * ROUNDS * REVIEWS} reviews")
    return ok


def _compare(folder: Path, mine: Server, theirs: Server, case: Case) -> bool:
    """Ask both in turns and print medians, and the median of the pairs' ratios; False when a bar is missed."""
    pairs = [tuple(_load(folder, server, case) for server in (mine, theirs)) for _ in range(ROUNDS)]
    many = "s" if case.connections > 1 else ""
    print(f"  {case.path}, {case.connections} connection{many}, {ROUNDS} pairs of {REVIEWS} reviews")
    for index, server in enumerate((mine, theirs)):
        runs = [pair[index] for pair in pairs]
        cpu, p50, p99, rate = (statistics.median(column) for column in zip(*runs, strict=True))
        print(
            f"    {server.name:<18} {cpu:5.0f} us CPU a review   p50 {p50 / 1000:6.2f} ms   p99 {p99 / 1000:6.2f} ms   "
            f"{rate:5.0f} a second"
        )
    cpu, p50, p99, rate = (
        statistics.median(a / b for a, b in zip(first, second, strict=True))
        for first, second in zip(*(zip(*runs, strict=True) for runs in zip(*pairs, strict=True)), strict=True)
    )
    print(
        f"    ours / peer        {cpu:5.2f}x CPU{'':11}   p50 {p50:5.2f}x     p99 {p99:5.2f}x     {rate:5.2f}x",
        flush=True,
    )
    if case.path != "mutate":
        return True
    return kept("CPU", cpu, CPU_BAR) & kept("p99", p99, P99_BAR)


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
    before = cpu_seconds(server.process.pid)
    result = run(REVIEWS)
    used = cpu_seconds(server.process.pid) - before
    latency = result["latency_us"]
    return Measured(used / REVIEWS * 1e6, latency["p50"], latency["p99"], result["rate"])
