"""Fills a real API server with a cluster of `tests.scale.cluster`, once: etcd's folder is kept for later runs.

Kept in ``$XDG_CACHE_HOME/kubectl-qos/scale``, a folder for each size and each version of the objects. Scheduler and
controllers are off, because the nodes have no kubelets. Objects go through the API, with admission and
managed fields, each pod with the status that its kubelet would write; eight connections, four processes. An
interrupted run is continued.

    python -m tests.scale.seed --nodes 5000 --pods 150000
"""

from __future__ import annotations

import argparse
import fcntl
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Final

from tests.controlplane.binaries import CONTROL_PLANE, Binaries, Unavailable, cache_folder, find_binaries
from tests.controlplane.client import ApiClient, ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.scale import cluster
from tests.scale.cluster import Size
from tests.scale.share_out import share_out
from tests.waiting import wait_for

_QUOTA: Final = 8 << 30
"""Bytes that etcd may keep: each pod is stored twice until etcd is compacted."""
_READY_SECONDS: Final = 900.0
"""For the API server to load a large cluster, also on a machine that others use."""
_PAGE: Final = 5_000
_NAMES: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_DONE: Final = "whole"
"""The file that marks a complete cluster."""


@contextmanager
def filled(binaries: Binaries, size: Size) -> Iterator[ControlPlane]:
    """An API server that holds a cluster; it is filled first if that was not done before."""
    folder = cache_folder().parent / "scale" / f"{size.nodes}-{size.pods}-{cluster.fingerprint()}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        # One etcd at a time may have the folder.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / _DONE).exists():
            with _control_plane(binaries, folder) as control_plane:
                fill(control_plane, size, lambda line: print(line, file=sys.stderr, flush=True))
            (folder / _DONE).touch()
        with _control_plane(binaries, folder) as control_plane:
            _wait_until_cached(control_plane)
            yield control_plane


def fill(control_plane: ControlPlane, size: Size, progress: Callable[[str], None] = lambda _: None) -> None:
    """Create the objects of a cluster."""
    started = time.monotonic()
    for name in cluster.namespaces():
        with _there_already():
            control_plane.create_namespace(name)
    control_plane.apply(cluster.priority_classes())
    with _there_already():
        control_plane.api.create(cluster.asked_pod())
    done = _reported(control_plane.api)
    share_out(control_plane.api, partial(_create, control_plane.api, size, done))
    progress(f"{size.nodes} nodes and {size.pods} pods were created in {time.monotonic() - started:.0f} s")


@contextmanager
def _there_already() -> Iterator[None]:
    """An object that an earlier run created is as good."""
    try:
        yield
    except ApiError as error:
        if error.code != HTTPStatus.CONFLICT:
            raise


def _reported(api: ApiClient) -> frozenset[str]:
    """Names of the pods with a written status: they are complete."""
    found: list[str] = []
    query = {"fieldSelector": "status.phase!=Pending", "limit": str(_PAGE)}
    while True:
        page = api.request("GET", "/api/v1/pods", accept=_NAMES, query=query)
        found += (entry["metadata"]["name"] for entry in page["items"] or ())
        if not (token := page["metadata"].get("continue")):
            return frozenset(found)
        query["continue"] = token


@contextmanager
def _control_plane(binaries: Binaries, folder: Path) -> Iterator[ControlPlane]:
    with ControlPlane(
        binaries,
        scheduler=False,
        controllers=False,
        etcd_args=(f"--data-dir={folder / 'etcd'}", f"--quota-backend-bytes={_QUOTA}"),
        ready_seconds=_READY_SECONDS,
    ) as control_plane:
        yield control_plane


def _wait_until_cached(control_plane: ControlPlane) -> None:
    """Wait until lists are answered from memory: a large cluster takes a while to load."""

    def cached() -> bool:
        try:
            control_plane.api.request(
                "GET", "/api/v1/pods", query={"resourceVersion": "0", "fieldSelector": "spec.nodeName=-"}
            )
        except (ApiError, OSError):
            return False
        return True

    wait_for(cached, "the API server has loaded all pods", timeout=_READY_SECONDS)


def _create(api: ApiClient, size: Size, done: frozenset[str], first: int, step: int) -> None:
    """Create a part of the nodes and pods."""
    for entry in islice(cluster.deployments(size), first, None, step):
        with _there_already():
            api.create(entry)
    for number in range(first, size.nodes, step):
        _create_node(api, number)
    for number in range(first, size.pods, step):
        if cluster.pod_name(number) not in done:
            _create_pod(api, number, size)


def _create_node(api: ApiClient, number: int) -> None:
    stored = _created(api, "/api/v1/nodes", cluster.node(number), "kubelet")
    if "images" in stored["status"]:
        return
    # Admission taints a new node as not ready, and no controller removes the taint.
    stored["spec"].pop("taints", None)
    stored = _sent(api, "PUT", f"/api/v1/nodes/{cluster.node_name(number)}", stored, "kube-controller-manager")
    stored["status"] = cluster.node_status(number)
    _sent(api, "PUT", f"/api/v1/nodes/{cluster.node_name(number)}/status", stored, "kubelet")


def _create_pod(api: ApiClient, number: int, size: Size) -> None:
    pod = cluster.pod(number, size)
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"
    stored = _created(api, path, pod, "kube-controller-manager")
    stored["status"] = {"qosClass": stored["status"]["qosClass"], **cluster.pod_status(number, size)}
    _sent(api, "PUT", f"{path}/{pod['metadata']['name']}/status", stored, "kubelet")


def _created(api: ApiClient, path: str, made: Object, manager: str) -> Object:
    try:
        return _sent(api, "POST", path, made, manager)
    except ApiError as error:
        if error.code != HTTPStatus.CONFLICT:
            raise
        return api.request("GET", f"{path}/{made['metadata']['name']}")


def _sent(api: ApiClient, method: str, path: str, body: Object, manager: str) -> Object:
    return api.request(method, path, body, query={"fieldManager": manager})


def main(arguments: Iterable[str] | None = None) -> int:
    """Fill the cluster, and print its folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=150_000)
    parser.add_argument("--wait", action="store_true", help="go on running, for questions by hand, until Enter")
    given = parser.parse_args(None if arguments is None else list(arguments))
    found = find_binaries(CONTROL_PLANE)
    if isinstance(found, Unavailable):
        print(found.reason, file=sys.stderr)
        return 1
    with filled(found, Size(given.nodes, given.pods)) as control_plane:
        print(f"export KUBECONFIG={control_plane.admin_kubeconfig}", flush=True)
        if given.wait:
            input()
    return 0


if __name__ == "__main__":
    sys.exit(main())
