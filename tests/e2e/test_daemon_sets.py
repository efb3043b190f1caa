"""Random DaemonSets by their real controller and scheduler, compared with the answers of `kubectl qos place -f`.

Each comes alone to nodes; some are tainted, cordoned, full, or have its host port in use. The test compares the nodes
that its controller chooses, the pods that the scheduler binds, those that stay Pending with the scheduler's reasons,
and those that preempt, with their victims.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from msgspec import Struct

from tests.controlplane.binaries import Binaries
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.daemon_sets import HIGH, daemon_nodes, fillers, random_daemon_set
from tests.e2e.plugin import InProcess, KeptConnection
from tests.e2e.scheduling import await_node, why_not
from tests.objects import raw_priority_class as make_class
from tests.waiting import answer_in_the_end, wait_for

pytestmark = pytest.mark.controlplane

IN_THE_SUITE: Final = 16
ON_ONE_CLUSTER: Final = 8
_NAMESPACE: Final = "agents"


class Compared(Struct, frozen=True):
    """A DaemonSet: the plan and the outcome."""

    manifest: Object
    said: Mapping[str, Any]
    """One of ``specs`` of the plan."""
    desired: int
    """``status.desiredNumberScheduled``."""
    pods: Mapping[str, Object]
    """By the node that they are for."""
    victims: frozenset[str]
    """The names of pods that the scheduler has ended."""

    def wrong(self) -> str:
        """The difference from the plan; empty: none."""
        pending = self._pending()
        bound = {node for node, pod in self.pods.items() if pod["spec"].get("nodeName")}
        nominated = {node for node, pod in self.pods.items() if pod["status"].get("nominatedNodeName")}
        said = self.said
        checks = {
            "chosen": (said["daemon"]["eligible"], self.desired),
            "nodes": (said["nodes"].keys() | pending.keys(), self.pods.keys()),
            "bound": (said["nodesUnaided"].keys(), bound),
            "nominated": (said["nodes"].keys() - said["nodesUnaided"].keys(), nominated),
            "victims": ({victim["pod"]["name"] for victim in said["victims"]}, set(self.victims)),
        }
        for node, reasons in pending.items():
            message = why_not(self.pods[node]) if node in self.pods else ""
            checks[f"why {node}"] = (True, all(f"1 {reason}" in message for reason in reasons))
        wrong = {name: pair for name, pair in checks.items() if pair[0] != pair[1]}
        return f"{json.dumps(self.manifest)}: {wrong}" if wrong else ""

    def _pending(self) -> Mapping[str, Sequence[str]]:
        """The reasons of pods that stay Pending, by node."""
        groups = (self.said["stopped"] or {}).get("rejected", ())
        return {node["node"]: group["reasons"] for group in groups for node in group["nodes"]}


class _Runner:
    """Runs DaemonSets in a control plane."""

    def __init__(self, plane: ControlPlane, place: InProcess, random: Random) -> None:
        self._plane, self._place, self._random = plane, place, random
        self.compared: list[Compared] = []

    def batch(self, number: int, count: int) -> None:
        """Some DaemonSets, one after the other, on the same nodes."""
        plane, random = self._plane, self._random
        nodes = daemon_nodes(random, f"n{number}")
        made = [plane.create_node(**node) for node in nodes]
        await_node(plane, made[-1], _NAMESPACE)
        full = list(fillers(random, nodes, _NAMESPACE))
        for index in range(count):
            # NoExecute taints and preemption remove them.
            for pod in full:
                plane.api.create(pod)
            self._one(random_daemon_set(random, f"agent-{number}-{index}", _NAMESPACE))
            self._sweep()
        for node in made:
            plane.api.delete(node)

    def _one(self, manifest: Object) -> None:
        plane = self._plane
        ran = self._place("-f", "-", "-o", "json", stdin=json.dumps(manifest))
        (said,) = json.loads(ran.out)["specs"]
        stored = plane.api.create(manifest)
        wanted = wait_for(partial(self._settled, stored, said), f"the scheduler has looked at {json.dumps(manifest)}")
        pods, desired = wanted
        victims = {victim["pod"]["name"] for victim in said["victims"]}
        # The scheduler deletes them after it has named the preemptor.
        ended = answer_in_the_end(self._ended, lambda names: victims <= names, timeout=15)
        self.compared.append(Compared(manifest, said, desired, {_node_of(pod): pod for pod in pods}, ended))
        plane.api.delete(manifest)

    def _ended(self) -> frozenset[str]:
        """The names of pods that are being deleted."""
        pods = self._plane.api.list_items("v1", "Pod", _NAMESPACE)
        return frozenset(pod["metadata"]["name"] for pod in pods if "deletionTimestamp" in pod["metadata"])

    def _settled(self, stored: Object, said: Mapping[str, Any]) -> tuple[list[Object], int] | None:
        """Its pods, and the number of nodes that its controller wants, once it and the scheduler are idle."""
        name = stored["metadata"]["name"]
        status = self._plane.api.get("apps/v1", "DaemonSet", name, _NAMESPACE).get("status", {})
        pods = self._plane.api.list_items("v1", "Pod", _NAMESPACE, labelSelector=f"app={name}")
        desired = status.get("desiredNumberScheduled", 0)
        if status.get("observedGeneration") != stored["metadata"]["generation"] or len(pods) < desired:
            return None
        if not all(pod["spec"].get("nodeName") or why_not(pod) for pod in pods):
            return None
        # The scheduler names the victims after it has reported that no node fits.
        awaited = said["nodes"].keys() - said["nodesUnaided"].keys()
        nominated = {_node_of(pod) for pod in pods if pod["status"].get("nominatedNodeName")}
        return (pods, desired) if awaited <= nominated else None

    def _sweep(self) -> None:
        """No kubelet confirms that pods stopped."""
        api = self._plane.api

        def gone() -> bool:
            api.request("DELETE", api.path("v1", "Pod", _NAMESPACE), query={"gracePeriodSeconds": "0"})
            return not api.list_items("v1", "Pod", _NAMESPACE) and not api.list_items(
                "apps/v1", "DaemonSet", _NAMESPACE
            )

        wait_for(gone, "the pods are gone")


def _node_of(pod: Object) -> str:
    """The node for which its controller has made it."""
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    name: str = required["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]
    return name


def run_daemon_sets(binaries: Binaries, folder: Path, count: int, seed: int) -> list[Compared]:
    """Run and compare so many DaemonSets."""
    # Without taint eviction: it ends fillers, which are there to fill.
    makers = "--controllers=daemonset-controller,namespace-controller"
    with ControlPlane(binaries, controller_manager_args=[makers]) as plane, KeptConnection(folder) as kept:
        place = InProcess(plane, folder / "run", kept, command="place")
        plane.create_namespace(_NAMESPACE)
        plane.apply([make_class(HIGH, 1000)])
        runner = _Runner(plane, place, Random(seed))  # noqa: S311  # a sequence that can be had again
        for number, begin in enumerate(range(0, count, ON_ONE_CLUSTER)):
            runner.batch(number, min(ON_ONE_CLUSTER, count - begin))
        return runner.compared


@pytest.fixture(scope="module")
def compared(control_plane_binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> list[Compared]:
    """The DaemonSets of the suite."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "run").mkdir()
    return run_daemon_sets(control_plane_binaries, folder, IN_THE_SUITE, seed=1)


def test_each_daemon_set_pod_appears_as_predicted(compared: list[Compared]) -> None:
    wrong = [text for one in compared if (text := one.wrong())]
    assert not wrong, "\n".join(wrong[:3])


def test_the_daemon_sets_are_of_all_sorts(compared: list[Compared]) -> None:
    """Check that the random cases include every kind."""
    groups = [group for one in compared for group in one.said["daemon"]["without"]]
    pending = [group for one in compared for group in (one.said["stopped"] or {}).get("rejected", ())]
    assert {group["plugin"] for group in groups} >= {"TaintToleration", "NodeAffinity"}
    assert {group["plugin"] for group in pending} >= {"NodeResourcesFit", "NodePorts"}
    assert any(one.victims for one in compared)
    assert sum(len(one.pods) for one in compared) > 60


@pytest.mark.long("test_each_daemon_set_pod_appears_as_predicted")
def test_hundreds_of_daemon_sets(control_plane_binaries: Binaries, tmp_path: Path) -> None:
    """`DAEMON_SETS` sets how many."""
    count = int(os.environ.get("DAEMON_SETS", "200"))
    (tmp_path / "run").mkdir()
    compared = run_daemon_sets(control_plane_binaries, tmp_path, count, seed=2)
    wrong = [text for one in compared if (text := one.wrong())]
    print(f"\n{len(compared)} DaemonSets, {sum(len(one.pods) for one in compared)} pods, {len(wrong)} not as said")
    assert not wrong, "\n".join(wrong[:3])
