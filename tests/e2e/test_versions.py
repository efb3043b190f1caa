"""The versions of a real control plane during an upgrade: a newer API server, an older scheduler."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from podrules.api.features import VERIFIED
from tests.controlplane.binaries import GATE_MINORS, Binaries
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.fixtures import require_minor
from tests.e2e.plugin import InProcess, KeptConnection
from tests.objects import raw_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

NEWER = GATE_MINORS[-1]
EMULATED = "1.36"
ELECTED = "--feature-gates=CoordinatedLeaderElection=true"


@pytest.fixture(scope="module")
def plane(control_plane_binaries: Binaries) -> Iterator[ControlPlane]:
    """The scheduler is elected by its version, so it has a LeaseCandidate."""
    newer = require_minor(NEWER)
    mixed = Binaries(paths={**newer.paths, "kube-scheduler": control_plane_binaries["kube-scheduler"]})
    with ControlPlane(
        mixed,
        controllers=False,
        apiserver_args=[ELECTED, "--runtime-config=coordination.k8s.io/v1beta1=true", f"--emulated-version={EMULATED}"],
        scheduler_args=[ELECTED],
        scheduler_config={"leaderElection": {"leaderElect": True}},
    ) as running:
        wait_for(lambda: _candidates(running), "the scheduler has a LeaseCandidate")
        yield running


@pytest.fixture(scope="module")
def qos(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    with KeptConnection(tmp_path_factory.mktemp("kept")) as kept:
        yield InProcess(plane, tmp_path_factory.mktemp("run"), kept, command="versions")


def _candidates(plane: ControlPlane) -> bool:
    return bool(plane.api.list_items("coordination.k8s.io/v1beta1", "LeaseCandidate"))


def _version(minor: str) -> str:
    return VERIFIED[int(minor.partition(".")[2])]


def test_the_scheduler_is_known_by_its_lease_candidate(qos: InProcess) -> None:
    running = {one["component"]: one["version"] for one in qos.json()["running"]}
    assert running["kube-apiserver"] == f"v{_version(NEWER)}"
    assert running["kube-scheduler"] == f"v{_version('1.36')}"


def test_emulated_version_decides_the_gates(qos: InProcess) -> None:
    server = next(one for one in qos.json()["running"] if one["component"] == "kube-apiserver")
    assert (server["emulates"], server["rules"]) == (EMULATED, _version(NEWER))
    assert f"v{_version(NEWER)} (emulates {EMULATED})" in qos.text()
    pod = raw_pod("empty", "default", requests={"cpu": "1"}, resources={})
    explained = qos.also("explain").json("-f", "-", stdin=json.dumps(pod))
    assert explained["qos"]["qosClass"] == "BestEffort", "PodLevelResourcesFixKubeletQOSClass is off in 1.36"


def test_placement_uses_the_scheduler_version(plane: ControlPlane, qos: InProcess) -> None:
    """Without preemption 1.36 says "no new claims to deallocate, preemption: …", and 1.37 does not."""
    plane.create_node("n1", {"cpu": "1", "memory": "1Gi", "pods": "1"})
    plane.apply([raw_pod("waits", "default", requests={"cpu": "2"})])
    message = wait_for(lambda: _message(plane), "the scheduler has judged the pod")
    assert "no new claims to deallocate" in message
    placement = qos.also("explain").json("pod/waits")["placement"]
    assert placement["preemption"]["message"] == message


def _message(plane: ControlPlane) -> str:
    conditions = plane.api.get("v1", "Pod", "waits", "default")["status"].get("conditions", ())
    return next((one["message"] for one in conditions if one["type"] == "PodScheduled"), "")


def test_a_snapshot_keeps_it(qos: InProcess, tmp_path: Path) -> None:
    file = tmp_path / "cluster.qos"
    assert qos.also("snapshot")("-o", file, "--anonymise").code == 0
    running = {one["component"]: (one["version"], one["emulates"]) for one in qos.json("--snapshot", file)["running"]}
    assert running["kube-scheduler"] == (f"v{_version('1.36')}", "")
    assert running["kube-apiserver"] == (f"v{_version(NEWER)}", EMULATED)
