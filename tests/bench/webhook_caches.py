"""The cost of the webhook's caches of a large cluster: a replica's memory, and the time until it is ready.

5,000 nodes with what a kubelet reports, 20,000 ReplicaSets of the size that people write, 5,000 Services; a real API
server is filled with them first, without its etcd being kept.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from tests.bench.webhook_servers import Server, cpu_seconds, family, kept, memory, ours, prepare
from tests.controlplane.binaries import Binaries
from tests.controlplane.client import ApiClient, Object
from tests.controlplane.control_plane import ControlPlane
from tests.scale import cluster
from tests.scale.cluster import Size
from tests.scale.share_out import share_out

NODES: Final = 5_000
REPLICA_SETS: Final = 20_000
SERVICES: Final = 5_000
MEMORY_BAR: Final = 150.0
"""MiB of a replica, its two processes together, shared pages once."""
READY_BAR: Final = 10.0
"""Seconds from the start of the program."""
ROUNDS: Final = 3
_SETTLE_SECONDS: Final = 5.0


def measure_caches(binaries: Binaries, folder: Path) -> bool:
    """Print memory and time; False when a bar is missed."""
    with ControlPlane(
        binaries, scheduler=False, controllers=False, etcd_args=(f"--quota-backend-bytes={4 << 30}",)
    ) as control_plane:
        prepare(control_plane, folder)
        started = time.monotonic()
        _fill(control_plane)
        count = f"{NODES:,} nodes, {REPLICA_SETS:,} ReplicaSets, {SERVICES:,} Services"
        print(f"  {count}, created in {time.monotonic() - started:.0f} s; the worst of {ROUNDS} starts", flush=True)
        runs = [_start(control_plane, folder) for _ in range(ROUNDS)]
    ready, settled, peak = (max(column) for column in zip(*runs, strict=True))
    print(f"    at the most {peak:.0f} MiB while it started")
    return kept("seconds until ready", ready, READY_BAR) & kept("MiB resident", settled, MEMORY_BAR)


def _start(control_plane: ControlPlane, folder: Path) -> tuple[float, float, float]:
    """Seconds until it is ready, MiB when it has come to rest, and at the most."""
    started = time.monotonic()
    with ours(control_plane, folder) as server:
        ready = time.monotonic() - started
        time.sleep(_SETTLE_SECONDS)
        print(f"    ready in {ready:.1f} s, {cpu_seconds(server.process.pid):.1f} s of CPU", flush=True)
        return ready, memory(server.process.pid), _peak(server)


def _peak(server: Server) -> float:
    """The most that its processes have had, each for itself; MiB."""
    total = 0
    for pid in family(server.process.pid):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        total += int(found.group(1)) if found else 0
    return total / 1024


def _fill(control_plane: ControlPlane) -> None:
    for name in cluster.namespaces():
        control_plane.create_namespace(name)
    share_out(control_plane.api, partial(_create, control_plane.api))


def _create(api: ApiClient, first: int, step: int) -> None:
    for make in islice(_objects(), first, None, step):
        api.create(make())


def _objects() -> Iterator[Callable[[], Object]]:
    sets = [entry for entry in cluster.deployments(Size(NODES, 0)) if entry["kind"] == "ReplicaSet"]
    for number in range(NODES):
        yield partial(_node, number)
    for number in range(REPLICA_SETS):
        yield partial(_named, sets[number % len(sets)], f"app-{number}")
    for number in range(SERVICES):
        yield partial(_service, number)


def _node(number: int) -> Object:
    """As its kubelet registers it: with its status."""
    return {**cluster.node(number), "status": cluster.node_status(number)}


def _named(entry: Object, name: str) -> Object:
    # Of no owner that there is: nothing collects it, for there are no controllers.
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": name, "controller": True}
    return {**entry, "metadata": {**entry["metadata"], "name": f"{name}-6d5f8c7b9d", "ownerReferences": [owner]}}


def _service(number: int) -> Object:
    name, namespace = f"app-{number}", cluster.namespace_of(number)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name, "team": namespace}},
        "spec": {"clusterIP": "None", "selector": {"app": name}, "ports": [{"name": "http", "port": 80}]},
    }
