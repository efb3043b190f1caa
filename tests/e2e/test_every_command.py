"""Every command by the real kubectl, compared with the same arguments to the entry point in this process.

Most tests use the second way (`tests.e2e.plugin`). Here both ways answer the same, so those tests also hold for the
installed plugin.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.access import robot
from tests.e2e.plugin import InProcess, Plugin
from tests.kubectl_plugin.running import Ran
from tests.objects import unscheduled_pod
from tests.waiting import answer_in_the_end

pytestmark = pytest.mark.controlplane

Both = Callable[..., Ran]
"""Runs a command in both ways, and returns the common answer."""


@pytest.fixture
def node(make_node: Callable[..., Object]) -> str:
    """A node of its own."""
    name: str = make_node(capacity={"cpu": "16"})["metadata"]["name"]
    return name


@pytest.fixture
def pod(control_plane: ControlPlane, namespace: str, node: str) -> str:
    """A namespace with the pod web on that node, and an empty default namespace."""
    control_plane.apply([unscheduled_pod(namespace, requests={"cpu": "100m", "memory": "64Mi"}, nodeName=node)])
    return namespace


@pytest.fixture
def both(qos: InProcess, kubectl_qos: Plugin) -> Both:
    """See `Both`. Times of day are ignored."""

    def ask(command: str, *arguments: str | Path, stdin: str | None = None, kubeconfig: Path | None = None) -> Ran:
        ways = (Plugin(kubectl_qos.control_plane, kubectl_qos.runtime, command=command), qos.also(command))

        def answers() -> list[Ran]:
            return [_timeless(way(*arguments, stdin=stdin, kubeconfig=kubeconfig)) for way in ways]

        # Namespaces of other tests are deleted meanwhile, which changes answers. A real difference remains.
        real, in_process = answer_in_the_end(answers, lambda both: both[0] == both[1], timeout=60)
        assert real == in_process
        return real

    return ask


def _timeless(ran: Ran) -> Ran:
    return ran._replace(
        out=re.sub(r"\d\d:\d\d:\d\d|\b\d+(?= s\b|s\b)", "TIME", ran.out), err=re.sub(r"\d\d:\d\d:\d\d", "TIME", ran.err)
    )


def test_explain(both: Both, pod: str, node: str) -> None:
    assert both("explain", "pod/web", f"node/{node}", "-n", pod, "-o", "json").code == 0
    assert both("explain", "-f", "-", stdin=json.dumps(unscheduled_pod(pod, "other"))).code == 0


def test_explain_with_few_rights(both: Both, control_plane: ControlPlane, pod: str) -> None:
    user = robot(control_plane, pod, {"pods": ["get"]})
    assert "kubectl auth can-i" in both("explain", "pod/web", "-n", pod, kubeconfig=user).out
    assert both("explain", "pod/none", kubeconfig=user).code == 4


def test_node(both: Both, node: str, pod: str) -> None:
    assert both("node", node).code == 0


def test_place(both: Both, namespace: str, node: str) -> None:
    manifest = unscheduled_pod(namespace, requests={"cpu": "12"}, schedulerName="default-scheduler")
    ran = both("place", "-f", "-", stdin=yaml.safe_dump(manifest))
    assert (ran.code, node in ran.out) == (0, True)


def test_partitions(both: Both, node: str) -> None:
    assert both("partitions", "-o", "name").code in {0, 2}
    assert both("partitions").code == 0


def test_delete(both: Both, pod: str) -> None:
    assert both("delete", "pod/web", "-n", pod, "--grace-period=0").code == 3
    ran = both("delete", "pod/web", "-n", pod, "--dry-run=server")
    assert (ran.code, "dry run" in ran.out) == (0, True)


def test_fence_and_unfence(both: Both, node: str) -> None:
    assert both("fence", f"node/{node}", "--confirm-powered-off").code == 9
    assert both("unfence", f"node/{node}", "--confirm").code == 0


def test_lint(both: Both) -> None:
    assert both("lint", "-f", "-", stdin=json.dumps(unscheduled_pod("shop", priorityClassName=""))).code in {0, 1}


def test_why(both: Both) -> None:
    assert "oom_score_adj" in both("why", "OOMKilled").out
    assert both("why", "-", stdin="0/3 nodes are available: 3 Insufficient cpu.").code == 0


@pytest.mark.parametrize("command", ["report", "snapshot"])
def test_what_writes_a_file(both: Both, pod: str, tmp_path: Path, command: str) -> None:
    ran = both(command, "-n", pod, "-o", tmp_path / "file")
    assert ran.code == 0, ran
    assert (tmp_path / "file").stat().st_size


@pytest.mark.parametrize("words", [["--help"], ["explain", "--help"], ["nothing"], []], ids=" ".join)
def test_words_without_a_cluster(both: Both, words: list[str]) -> None:
    command, *rest = words or [""]
    assert both(command, *rest).code in {0, 2}
