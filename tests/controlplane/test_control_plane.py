"""The control plane of the tests is a real one, and nothing of it is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.controlplane.binaries import Binaries
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import ProcessError
from tests.objects import raw_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

ROOT = Path(__file__).parents[2]

STARTED_AND_LEFT_RUNNING = """
import sys
from tests.controlplane.binaries import find_binaries
from tests.controlplane.control_plane import ControlPlane

control_plane = ControlPlane(find_binaries(), scheduler=False, controllers=False)
control_plane.start()
print(*control_plane.pids.values(), control_plane.folder, flush=True)
sys.stdin.read()
"""


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_version_is_the_reference(control_plane: ControlPlane) -> None:
    versions = json.loads(control_plane.kubectl("version", "-o", "json").stdout)

    for side in ("clientVersion", "serverVersion"):
        assert versions[side]["gitVersion"] == "v1.36.3"
        assert (versions[side]["major"], versions[side]["minor"]) == ("1", "36")


def test_node_that_is_not_ready_is_tainted(control_plane: ControlPlane, make_node: Callable[..., Object]) -> None:
    ready, failed = make_node(), make_node(ready=False)

    def taints() -> list[tuple[str, str]]:
        # The controller may take the API server's own taint away before it has seen the status. It puts it back with
        # the time.
        found = control_plane.api.get("v1", "Node", failed["metadata"]["name"])["spec"].get("taints", [])
        return [(taint["key"], taint["effect"]) for taint in found]

    assert "taints" not in ready["spec"]
    not_ready = ("node.kubernetes.io/not-ready", "NoSchedule")
    wait_for(lambda: not_ready in taints(), "it is tainted")


def test_user_may_do_what_rbac_grants(control_plane: ControlPlane, namespace: str) -> None:
    kubeconfig = control_plane.kubeconfig_for_client_certificate("jane", ["developers"])
    get_pods = ("get", "pods", "--namespace", namespace)

    refused = control_plane.kubectl(*get_pods, kubeconfig=kubeconfig, check=False)
    control_plane.kubectl("create", "rolebinding", "view", "--clusterrole=view", "--group=developers", "-n", namespace)
    allowed = wait_for(
        lambda: control_plane.kubectl(*get_pods, kubeconfig=kubeconfig, check=False).returncode == 0,
        "the role binding takes effect",
    )

    assert refused.returncode == 1
    assert 'pods is forbidden: User "jane" cannot list resource "pods"' in refused.stderr
    assert allowed


def test_kubectl_reads_standard_input(control_plane: ControlPlane, namespace: str) -> None:
    done = control_plane.kubectl("apply", "-f", "-", input=json.dumps(raw_pod("web", namespace)))

    assert done.stdout == "pod/web created\n"


def test_refused_request_gives_its_reason(control_plane: ControlPlane, namespace: str) -> None:
    with pytest.raises(ApiError, match='pods "absent" not found') as refused:
        control_plane.api.get("v1", "Pod", "absent", namespace)

    assert refused.value.code == HTTPStatus.NOT_FOUND


def test_pods_without_scheduler_and_controllers(control_plane_binaries: Binaries) -> None:
    with ControlPlane(control_plane_binaries, scheduler=False, controllers=False) as alone:
        assert set(alone.pids) == {"etcd", "kube-apiserver"}
        alone.create_namespace("shop")
        node = alone.create_node("node-1", {"memory": "2Gi"}, allocatable={"memory": "1Gi"})
        pod = alone.api.create(raw_pod("web", "shop"))

        alone.bind(pod, "node-1")
        alone.set_pod_status(pod, {"phase": "Running"})

        stored = alone.api.get("v1", "Pod", "web", "shop")
    assert stored["spec"]["nodeName"] == "node-1"
    assert stored["status"]["phase"] == "Running"
    assert stored["status"]["qosClass"] == "BestEffort"
    assert node["status"]["allocatable"] == {"cpu": "4", "memory": "1Gi", "pods": "110"}
    assert "taints" not in node["spec"]


@pytest.mark.long(
    "test_start_that_fails_shows_the_log_and_leaves_nothing, test_nothing_runs_on_when_the_test_run_is_killed"
)
def test_nothing_is_left_after_a_failure(control_plane_binaries: Binaries) -> None:
    control_plane = ControlPlane(control_plane_binaries)
    pids: list[int] = []

    def fail_inside() -> None:
        with control_plane:
            pids.extend(control_plane.pids.values())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_inside()

    assert len(pids) == 4
    assert not [pid for pid in pids if is_running(pid)]
    assert not control_plane.folder.exists()


def test_start_that_fails_shows_the_log_and_leaves_nothing(control_plane_binaries: Binaries) -> None:
    control_plane = ControlPlane(control_plane_binaries, apiserver_args=["--no-such-flag"])

    with pytest.raises(ProcessError, match=r"(?s)kube-apiserver ended with 1:.*unknown flag: --no-such-flag"):
        control_plane.start()

    assert not control_plane.pids
    assert not control_plane.folder.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills the children of a killed process")
def test_nothing_runs_on_when_the_test_run_is_killed(
    control_plane_binaries: Binaries, control_plane: ControlPlane, tmp_path: Path
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTED_AND_LEFT_RUNNING],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        *pids, _ = other.stdout.readline().split()
        other.send_signal(signal.SIGKILL)

    assert len(pids) == 2
    wait_for(lambda: not any(is_running(int(pid)) for pid in pids), "the kernel killed them")
