"""The speed of placing planned replicas, compared with kube-scheduler's own floors and with cluster-capacity.

Alone, without an API server: 1,000 replicas on the cluster of `tests.bench.placement`. The floors are those that
upstream's CI holds kube-scheduler to on 5,000 nodes: SchedulingBasic 270 pods a second, TopologySpreading 85
(test/integration/scheduler_perf/{misc,topology_spreading}/performance-config.yaml at v1.36.3).

Beside, where ``cluster-capacity`` (sigs.k8s.io/cluster-capacity) is on PATH: both commands, whole runs, against one API
server. It is a program of its own, which nothing here installs.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from podrules.api.model.decode import from_json, from_object
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.placement.controllers import ControlledPod
from podrules.scheduling.placement.plan import PlacementRequest, PlanCluster, plan
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from tests.bench.placement import HOST, PODS_PER_NODE, ZONE, make_cluster
from tests.controlplane.binaries import Binaries
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_container, raw_pod
from tests.scheduling import DEFAULT_FRAMEWORK

NODES: Final = 5_000
REPLICAS: Final = 1_000
FLOORS: Final = {"basic": 270, "hard spread over zones": 85}
"""Pods a second."""
PEER: Final = "cluster-capacity"
PEER_NODES: Final = 500
PEER_PODS_PER_NODE: Final = 10
PEER_REPLICAS: Final = 300
PEER_BAR: Final = 10.0
"""Its time over ours."""
_THREADS: Final = 4


def measure_place(binaries: Binaries, scripts: Path) -> bool:
    """Print all figures.

    Args:
        binaries: The control plane's.
        scripts: The folder that has the plugin.

    Returns:
        Whether all bars are kept; one that cannot be measured here is.
    """
    root = Path(__file__).resolve().parents[2]
    # A process of its own: its memory is its own.
    alone = subprocess.run([sys.executable, "-m", "tests.bench.place"], cwd=root, check=False).returncode == 0
    if shutil.which(PEER) is None:
        print(f"  beside {PEER}: skipped, it is not on PATH", flush=True)
        return alone
    return _beside(binaries, scripts) and alone


def _alone() -> bool:
    text = json.dumps(make_cluster(NODES)).encode()
    gc.collect()
    started = time.perf_counter()
    snapshot = from_json(text, ClusterSnapshot)
    decoded = time.perf_counter()
    table = NodeTable(snapshot.nodes, snapshot.pods)
    # The first one makes the columns, which a cluster needs once.
    _placed("basic", 1, table, snapshot)
    ready = time.perf_counter()
    print(
        f"  {NODES} nodes {NODES * PODS_PER_NODE} pods ({len(text) >> 20} MB): decoded in {decoded - started:.2f} s, "
        f"tables and first replica {ready - decoded:.2f} s"
    )
    kept = True
    for name, floor in FLOORS.items():
        begun = time.perf_counter()
        placed = _placed(name, REPLICAS, table, snapshot)
        rate = placed / (time.perf_counter() - begun)
        kept &= placed == REPLICAS
        # Another machine's figure is not a bar for this one.
        print(f"  {name}: {placed} of {REPLICAS} placed, {rate:.0f} replicas/s; upstream's floor in its CI is {floor}")
    print(f"  {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB at most", flush=True)
    return kept


def _placed(name: str, replicas: int, table: NodeTable, snapshot: ClusterSnapshot) -> int:
    controlled = ControlledPod(from_object(_pod(spread="spread" in name), Pod))
    request = PlacementRequest("deployment/wanted", controlled, DEFAULT_FRAMEWORK, replicas)
    return plan([request], PlanCluster(table, snapshot), preemption=True)[0].placed


def _pod(*, spread: bool) -> dict[str, Any]:
    requests = {"cpu": "100m", "memory": "128Mi"}
    selector = {"matchLabels": {"app": "wanted"}}
    hard = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return raw_pod(
        "wanted",
        "default",
        labels={"app": "wanted"},
        containers=[raw_container(requests=requests, image="registry/app-1:v1")],
        topologySpreadConstraints=[hard] if spread else None,
    )


def _beside(binaries: Binaries, scripts: Path) -> bool:
    # Neither a scheduler nor controllers, because the nodes have no kubelets.
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        ControlPlane(binaries, scheduler=False, controllers=False) as control_plane,
    ):
        _fill(control_plane)
        manifest = Path(folder) / "pod.json"
        manifest.write_text(json.dumps(_pod(spread=True)))
        environment = control_plane.kubectl_environment()
        environment["PATH"] = f"{scripts}{os.pathsep}{environment['PATH']}"
        number = str(PEER_REPLICAS)
        ours = _seconds(
            ["kubectl", "qos", "place", "-f", str(manifest), "--replicas", number, "-o", "json"],
            environment,
            f'"placed":{number},',
        )
        kubeconfig = ["--kubeconfig", environment["KUBECONFIG"]]
        theirs = _seconds(
            [PEER, *kubeconfig, "--podspec", str(manifest), "--max-limit", number, "-o", "json"],
            environment,
            f'"replicas":{number},',
        )
    ratio = theirs / ours
    print(
        f"  beside {PEER}, {PEER_NODES} nodes {PEER_NODES * PEER_PODS_PER_NODE} pods, {number} with hard spread: "
        f"{PEER_REPLICAS / ours:.0f} and {PEER_REPLICAS / theirs:.0f} replicas/s in whole runs of {ours:.1f} s and "
        f"{theirs:.1f} s, {ratio:.1f}x, bar {PEER_BAR:g}: {'kept' if ratio >= PEER_BAR else 'MISSED'}",
        flush=True,
    )
    return ratio >= PEER_BAR


def _seconds(command: Sequence[str], environment: Mapping[str, str], said: str) -> float:
    """How long a command runs that says in JSON that everything was placed."""
    started = time.perf_counter()
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if said not in "".join(ran.stdout.split()).lower():
        raise SystemExit(f"{command} did not place everything: {ran.returncode}\n{ran.stdout[:2000]}\n{ran.stderr}")
    return seconds


def _fill(control_plane: ControlPlane) -> None:
    """The same cluster through the API, with fewer pods a node."""
    cluster = make_cluster(PEER_NODES, PEER_PODS_PER_NODE)

    def create(first: int) -> None:
        try:
            for node in cluster["nodes"][first::_THREADS]:
                metadata, status = node["metadata"], node["status"]
                labels = {key: value for key, value in metadata["labels"].items() if key != HOST}
                control_plane.create_node(metadata["name"], status["allocatable"], labels)
            for pod in cluster["pods"][first::_THREADS]:
                # The priority is the API server's to give.
                spec = {key: value for key, value in pod["spec"].items() if key != "priority"}
                metadata = {key: value for key, value in pod["metadata"].items() if key != "uid"}
                control_plane.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        finally:
            control_plane.api.close()

    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(create, range(_THREADS)))


if __name__ == "__main__":
    sys.exit(0 if _alone() else 1)
