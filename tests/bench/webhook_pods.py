"""The pods that an API server stores per second with the webhook, with the Go webhook, and without a webhook.

Eight clients create 1,500 pods with what a ReplicaSet's pods hold; everything runs on this machine. The kinds follow
each other in turns, forwards and backwards, over one API server without scheduler and controllers, and pods are removed
in between.
"""

from __future__ import annotations

import base64
import json
import statistics
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.bench.webhook_servers import Server, build_peer, kept, ours, peer, prepare
from tests.controlplane.binaries import Binaries
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.waiting import wait_for

PODS: Final = 1500
CONNECTIONS: Final = 8
WARM_UP: Final = 200
ROUNDS: Final = 7
RATE_BAR: Final = 1.1
"""Pods a second with ours over those with the peer."""
_NAMESPACE: Final = "shop"
_ADMISSION: Final = "admissionregistration.k8s.io/v1"


class Created(NamedTuple):
    """One run."""

    rate: float
    """Pods a second."""
    p50: float
    p99: float


def measure_creation(binaries: Binaries, folder: Path) -> bool:
    """Print the rates; False when the bar is missed or the peer cannot be built."""
    if not build_peer(folder):
        return False
    with ExitStack() as stack:
        control_plane = stack.enter_context(ControlPlane(binaries, scheduler=False, controllers=False))
        control_plane.create_namespace(_NAMESPACE)
        _write_pod(prepare(control_plane, folder)["mutate"], folder)
        servers: list[Server | None] = [None]
        servers += [stack.enter_context(server(control_plane, folder)) for server in (ours, peer)]
        rounds = [_in_turn(control_plane, folder, servers, backwards=bool(turn % 2)) for turn in range(ROUNDS)]
    print(f"  {PODS} pods, {CONNECTIONS} clients, medians of {ROUNDS} rounds")
    for server, runs in zip(servers, zip(*rounds, strict=True), strict=True):
        rate, p50, p99 = (statistics.median(column) for column in zip(*runs, strict=True))
        name = server.name if server else "no webhook"
        print(f"    {name:<18} {rate:5.0f} pods a second   p50 {p50 / 1000:6.2f} ms   p99 {p99 / 1000:6.2f} ms")
    return kept(
        "ours / peer", statistics.median(mine.rate / other.rate for _, mine, other in rounds), RATE_BAR, least=True
    )


def _in_turn(
    control_plane: ControlPlane, folder: Path, servers: Sequence[Server | None], *, backwards: bool
) -> list[Created]:
    """A run for each server, in their order whichever came first."""
    order = servers[::-1] if backwards else servers
    runs = [_round(control_plane, folder, server) for server in order]
    return runs[::-1] if backwards else runs


def _write_pod(review: Path, folder: Path) -> None:
    """The pod of the recorded review, as its owner's controller would send it."""
    pod = json.loads(review.read_text())["request"]["object"]
    del pod["metadata"]["managedFields"]
    pod |= {"apiVersion": "v1", "kind": "Pod"}
    (folder / "pod.json").write_text(json.dumps(pod))


def _round(control_plane: ControlPlane, folder: Path, server: Server | None) -> Created:
    configuration = _configuration(folder, server) if server else None
    if configuration is not None:
        control_plane.apply([configuration])
        wait_for(lambda: _is_asked(control_plane, folder), "the webhook is asked")
    try:
        _create(control_plane, folder, WARM_UP, constraints=server is not None)
        result = _create(control_plane, folder, PODS, constraints=server is not None)
    finally:
        if configuration is not None:
            control_plane.api.delete(configuration)
            wait_for(lambda: not _is_asked(control_plane, folder), "the webhook is forgotten")
        path = control_plane.api.path("v1", "Pod", _NAMESPACE)
        control_plane.api.request("DELETE", path, query={"gracePeriodSeconds": "0"})
    return Created(result["rate"], result["p50"], result["p99"])


def _create(control_plane: ControlPlane, folder: Path, pods: int, *, constraints: bool) -> dict[str, Any]:
    where = f"--url={control_plane.server}/api/v1/namespaces/{_NAMESPACE}/pods"
    known = [
        f"--{flag}={control_plane.folder / file}"
        for flag, file in (("ca", "ca.crt"), ("certificate", "admin.crt"), ("key", "admin.key"))
    ]
    how = [f"--body={folder / 'pod.json'}", f"--connections={CONNECTIONS}", f"--pods={pods}"]
    command = [str(folder / "create"), where, *known, *how, *(["--constraints"] if constraints else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _is_asked(control_plane: ControlPlane, folder: Path) -> bool:
    path = control_plane.api.path("v1", "Pod", _NAMESPACE)
    pod = json.loads((folder / "pod.json").read_text())
    made = control_plane.api.request("POST", path, pod, query={"dryRun": "All"})
    return bool(made["spec"].get("topologySpreadConstraints"))


def _configuration(folder: Path, server: Server) -> Object:
    """As the chart has it, for one namespace."""
    bundle = base64.b64encode((folder / "authority.crt").read_bytes()).decode()
    webhook = {
        "name": "pods.example.com",
        "clientConfig": {"url": f"https://127.0.0.1:{server.port}/mutate", "caBundle": bundle},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": _NAMESPACE}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 10,
        "reinvocationPolicy": "Never",
    }
    metadata = {"name": "bench"}
    return {
        "apiVersion": _ADMISSION,
        "kind": "MutatingWebhookConfiguration",
        "metadata": metadata,
        "webhooks": [webhook],
    }
