"""The page of a whole real cluster, and of one namespace for a user with few rights."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.access import robot
from tests.e2e.plugin import InProcess, Qos, flat
from tests.objects import unscheduled_pod

pytestmark = pytest.mark.controlplane


@pytest.fixture
def report(qos: InProcess) -> Qos:
    """``kubectl qos report``."""
    return qos.also("report")


@pytest.fixture
def node(make_node: Callable[..., Object]) -> Object:
    """A node of its own."""
    return make_node()


@pytest.fixture
def pod(control_plane: ControlPlane, namespace: str, node: Object) -> str:
    """A namespace with the pod web on that node."""
    requests = {"cpu": "100m", "memory": "64Mi"}
    control_plane.apply([unscheduled_pod(namespace, requests=requests, nodeName=node["metadata"]["name"])])
    return namespace


def test_all_of_the_cluster(
    report: Qos, pod: str, node: Object, make_node: Callable[..., Object], tmp_path: Path
) -> None:
    make_node()
    path = tmp_path / "all.html"
    ran = report("--all", "-o", path)
    assert (ran.code, ran.err) == (0, ""), ran
    assert "Written," in ran.out
    assert flat(ran.out).count("is unknown: each kubelet answers 500: no preferred addresses found") == 1
    page = path.read_text(encoding="utf-8")
    assert f"node/{node['metadata']['name']}" in page
    assert f"explain pod/web -n {pod}" in page


def test_without_rights_beyond_a_namespace(control_plane: ControlPlane, report: Qos, pod: str, tmp_path: Path) -> None:
    kubeconfig, path = robot(control_plane, pod), tmp_path / "own.html"
    ran = report("-n", pod, "-o", path, kubeconfig=kubeconfig)
    assert (ran.code, ran.err) == (11, ""), ran
    assert "nodes: you may not list them (kubectl auth can-i list nodes)" in flat(ran.out)
    page = path.read_text(encoding="utf-8")
    assert "Unknown" in page
    assert '<template id="pod-0">' in page
    assert "Burstable: container " in flat(unescape(page))
    everything = report("--all", "-o", tmp_path / "all.html", kubeconfig=kubeconfig)
    assert everything.code == 4
    assert "you may not list pods" in everything.err
    assert not (tmp_path / "all.html").exists()
