"""The cost of a pod's placement on large clusters: tables from JSON, an answer, and replicas placed in sequence.

Thirty pods a node from 300 templates, a tenth of them with anti-affinity. The target pod has hard spread over
zones, soft spread over nodes, and anti-affinity. No API server: only the rules are measured.
"""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from podrules.api.features import REFERENCE
from podrules.api.model.decode import from_json, from_object
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.cycle import filter_nodes, score_nodes
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from tests.objects import raw_container, raw_pod
from tests.scheduling import DEFAULT_FRAMEWORK

SIZES: Final = (500, 1_000, 5_000, 15_000)
PODS_PER_NODE: Final = 30
TEMPLATES: Final = 300
ANSWERS: Final = 20
REPLICAS: Final = 100
ZONE: Final = "topology.kubernetes.io/zone"
HOST: Final = "kubernetes.io/hostname"


def measure_placement() -> None:
    """Print a line a size, each measured in a process of its own."""
    root = Path(__file__).resolve().parents[2]
    for size in SIZES:
        subprocess.run([sys.executable, "-m", "tests.bench.placement", str(size)], cwd=root, check=True)


def _measured(nodes: int) -> None:
    text = json.dumps(make_cluster(nodes)).encode()
    gc.collect()
    started = time.perf_counter()
    snapshot = from_json(text, ClusterSnapshot)
    decoded = time.perf_counter()
    table = NodeTable(snapshot.nodes, snapshot.pods)
    _answer(_pod("a0"), table, snapshot)
    ready = time.perf_counter()
    times = []
    for number in range(ANSWERS):
        begun = time.perf_counter()
        fits = _answer(_pod(f"a{10 * number}"), table, snapshot)
        times.append(time.perf_counter() - begun)
    begun = time.perf_counter()
    _place_replicas(table, snapshot)
    replica = (time.perf_counter() - begun) / REPLICAS
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"  {nodes:>6} nodes {nodes * PODS_PER_NODE:>7} pods ({len(text) >> 20} MB): "
        f"decoded in {decoded - started:.2f} s, tables and first answer {ready - decoded:.2f} s, "
        f"then {1000 * sorted(times)[ANSWERS // 2]:.1f} ms an answer ({fits} fit), "
        f"{1000 * replica:.1f} ms a replica that the next one sees, {memory:.0f} MiB at most",
        flush=True,
    )


def _place_replicas(table: NodeTable, snapshot: ClusterSnapshot) -> None:
    template = _pod("replica")
    for number in range(REPLICAS):
        pod = replace(template, metadata=replace(template.metadata, name=f"r{number}", uid=f"r{number}"))
        filtered = filter_nodes(pod, table, snapshot, features=REFERENCE, framework=DEFAULT_FRAMEWORK)
        best = score_nodes(filtered).best
        table = table.with_pods([(pod, table.names[best[0]])])


def _answer(pod: Pod, table: NodeTable, snapshot: ClusterSnapshot) -> int:
    filtered = filter_nodes(pod, table, snapshot, features=REFERENCE, framework=DEFAULT_FRAMEWORK)
    if len(filtered.feasible):
        score_nodes(filtered)
    return len(filtered.feasible)


def make_cluster(nodes: int, pods_per_node: int = PODS_PER_NODE) -> dict[str, list[dict[str, Any]]]:
    """Nodes and pods as JSON, in three zones."""
    images = [{"names": [f"registry/app-{number}:v1"], "sizeBytes": 50_000_000 + number} for number in range(10)]
    allocatable = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    templates = [_spec(number) for number in range(TEMPLATES)]
    return {
        "nodes": [
            {
                "metadata": {"name": f"n{number}", "labels": {HOST: f"n{number}", ZONE: f"z{number % 3}"}},
                "status": {"allocatable": allocatable, "images": images},
            }
            for number in range(nodes)
        ],
        "pods": [
            {
                "metadata": {
                    "name": f"p{number}",
                    "namespace": "default",
                    "uid": f"u{number}",
                    "labels": {"app": f"a{number % TEMPLATES}"},
                },
                "spec": {**templates[number % TEMPLATES], "nodeName": f"n{number % nodes}"},
                "status": {"phase": "Running"},
            }
            for number in range(nodes * pods_per_node)
        ],
    }


def _spec(number: int) -> dict[str, Any]:
    requests = {"cpu": f"{100 + number % 10 * 50}m", "memory": f"{128 + number % 7 * 64}Mi"}
    container = {"name": "app", "image": f"registry/app-{number % 40}:v1", "resources": {"requests": requests}}
    spec: dict[str, Any] = {"containers": [container], "priority": 100}
    return spec | ({"affinity": _apart(f"a{number}")} if number % 10 == 0 else {})


def _apart(app: str) -> Mapping[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOST}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _pod(app: str) -> Pod:
    selector = {"matchLabels": {"app": app}}
    hard = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    soft = {"maxSkew": 2, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}
    pod = raw_pod(
        "new",
        "default",
        uid="new",
        labels={"app": app},
        containers=[raw_container(requests={"cpu": "500m", "memory": "1Gi"}, image="registry/app-1:v1")],
        topologySpreadConstraints=[hard, soft],
        affinity=_apart(app),
    )
    return from_object(pod, Pod)


if __name__ == "__main__":
    _measured(int(sys.argv[1]))
