"""Random workloads by real controllers and the real scheduler, compared with the answers about their manifests.

Among equal nodes the scheduler chooses any, and each choice changes the cluster for the next pod. So each attempt is
judged alone: from the cluster just before it, a pod of the manifest's workload is placed on the same node or an equal
one, or nowhere if the scheduler found no node, with the same message.

Each workload comes twice: alone to nodes of different sizes, without ties, where `kubectl qos place -f` has to
predict the counts by node; and after others to nodes that are partly alike.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

import pytest
from msgspec import Struct

from podrules.scheduling.placement.outcome import PlacementOutcome
from tests.controlplane.binaries import Binaries
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.plugin import InProcess, KeptConnection
from tests.e2e.scheduling import why_not
from tests.e2e.workload_predictions import has_ties, predict
from tests.e2e.workload_runs import (
    SCHEDULER_ARGS,
    Attempt,
    Attempts,
    await_known,
    create,
    settle,
    swept,
    with_nodes,
)
from tests.e2e.workloads import Case, different_nodes, mixed_nodes, random_case

pytestmark = pytest.mark.controlplane

IN_THE_SUITE: Final = 30
CONTROLLERS: Final = ("deployment", "replicaset", "statefulset", "replicationcontroller", "job", "namespace")
"""The controllers that make and delete pods; others would only take time."""
TOGETHER: Final = 15
"""Workloads for one cluster."""


class Judged(Struct, frozen=True):
    """An attempt of the scheduler, and our answer."""

    attempt: Attempt
    best: Sequence[str]
    message: str
    outcome: PlacementOutcome

    @property
    def as_said(self) -> bool:
        """Whether the outcome agrees with our answer."""
        attempt = self.attempt
        if attempt.node:
            return attempt.node in self.best
        if self.outcome is not PlacementOutcome.UNSCHEDULABLE or not self.message:
            return False
        # The message of an earlier attempt is gone. Preemption appends to the message.
        return not attempt.last or why_not(attempt.pod).startswith(self.message)


class Counted(Struct, frozen=True):
    """A workload alone on empty nodes: pods by node."""

    case: Case
    planned: Mapping[str, int]
    real: Mapping[str, int]


class Run(Struct):
    """The observations."""

    cases: list[Case]
    judged: list[Judged]
    counted: list[Counted]


class _Runner:
    """Runs workloads in a control plane."""

    def __init__(self, plane: ControlPlane, place: InProcess, random: Random) -> None:
        self._plane, self._place, self._random = plane, place, random
        self.run = Run([], [], [])

    def batch(self, number: int, count: int) -> None:
        """Some workloads, each alone, then all together."""
        plane, random = self._plane, self._random
        alone, together = f"alone-{number}", f"together-{number}"
        nodes = different_nodes(random, f"a{number}")
        cases: list[Case] = []
        while len(cases) < count:
            case = random_case(random, f"w{len(cases)}", alone, [known.name for known in cases])
            cases += [] if has_ties(case, nodes) else [case]
        others = [case.into(together) for case in cases]
        for namespace, some in ((alone, cases), (together, others)):
            plane.create_namespace(namespace)
            create(plane, some)
        await_known(plane, alone)
        made = with_nodes(plane, nodes, alone)
        for case in cases:
            self._alone(case)
        self._leave(made, alone)
        made = with_nodes(plane, mixed_nodes(random, f"t{number}"), together)
        attempts = Attempts(plane)
        for case in others:
            settle(plane, case)
        self._judge(attempts.of(others))
        self._leave(made, together)
        self.run.cases += cases

    def _alone(self, case: Case) -> None:
        # In an empty namespace: the controller of its pods is known only from its manifest.
        planned = case.into("planned")
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "planned"}}
        items = [obj for obj in (space, planned.service, planned.manifest) if obj is not None]
        ran = self._place(
            "-f", "-", "-o", "json", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        )
        (spec,) = json.loads(ran.out)["specs"]
        attempts = Attempts(self._plane)
        settle(self._plane, case)
        seen = list(attempts.of([case]))
        self._judge(iter(seen))
        real = Counter(attempt.node for attempt in seen if attempt.node)
        self.run.counted.append(Counted(case, spec["nodes"], dict(real)))
        swept(self._plane, case)

    def _judge(self, attempts: Iterator[Attempt]) -> None:
        for attempt in attempts:
            said = predict(attempt.case, attempt.cluster)
            self.run.judged.append(Judged(attempt, said.best, said.message, said.outcome))

    def _leave(self, nodes: Sequence[Object], namespace: str) -> None:
        self._plane.leave_namespace(namespace)
        for node in nodes:
            self._plane.api.delete(node)


def run_workloads(binaries: Binaries, folder: Path, count: int, seed: int) -> Run:
    """Run and judge so many workloads."""
    makers = f"--controllers={','.join(f'{name}-controller' for name in CONTROLLERS)}"
    # Only the choice among equal nodes is random; below 100 nodes the scheduler examines all.
    with (
        ControlPlane(binaries, scheduler_args=SCHEDULER_ARGS, controller_manager_args=[makers]) as plane,
        KeptConnection(folder) as kept,
    ):
        place = InProcess(plane, folder / "run", kept, command="place")
        runner = _Runner(plane, place, Random(seed))  # noqa: S311  # a sequence that can be had again
        for number, begin in enumerate(range(0, count, TOGETHER)):
            runner.batch(number, min(TOGETHER, count - begin))
        return runner.run


@pytest.fixture(scope="module")
def run(control_plane_binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The workloads of the suite."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "run").mkdir()
    return run_workloads(control_plane_binaries, folder, IN_THE_SUITE, seed=1)


def test_S4_each_pod_is_placed_as_its_manifest_predicts(run: Run) -> None:
    _hold_pods(run)


def test_S4_place_shows_the_counts_by_node(run: Run) -> None:
    _hold_counts(run)


def test_the_workloads_are_of_all_sorts(run: Run) -> None:
    """Check that the random cases include every kind."""
    kinds = Counter(case.kind for case in run.cases)
    assert len(run.cases) == IN_THE_SUITE
    assert kinds.keys() == {"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController", "Job"}
    assert {case.service is None for case in run.cases} == {True, False}
    for field in ("topologySpreadConstraints", "affinity", "nodeSelector", "tolerations"):
        assert any(field in case.manifest["spec"]["template"]["spec"] for case in run.cases), field
    nowhere = [judged for judged in run.judged if not judged.attempt.node]
    ties = [judged for judged in run.judged if len(judged.best) > 1]
    assert len(run.judged) > 150
    assert nowhere
    assert ties


@pytest.mark.long("test_S4_each_pod_is_placed_as_its_manifest_predicts, test_S4_place_shows_the_counts_by_node")
def test_S4_hundreds_of_workloads(control_plane_binaries: Binaries, tmp_path: Path) -> None:
    """`make workloads` sets how many, and the seed."""
    count, seed = int(os.environ.get("WORKLOADS", "300")), int(os.environ.get("WORKLOADS_SEED", "2"))
    (tmp_path / "run").mkdir()
    began = time.monotonic()
    run = run_workloads(control_plane_binaries, tmp_path, count, seed)
    pods = {(entry.attempt.pod["metadata"]["uid"]) for entry in run.judged}
    wrong = sum(not entry.as_said for entry in run.judged)
    counts = sum(entry.planned != entry.real for entry in run.counted)
    print(
        f"\nseed {seed}: {len(run.cases)} workloads twice, {len(pods)} pods in {len(run.judged)} attempts, "
        f"{wrong} not as said; counts by node of {len(run.counted)}, {counts} not as said; "
        f"{time.monotonic() - began:.0f} s"
    )
    _hold_pods(run)
    _hold_counts(run)


def _hold_pods(run: Run) -> None:
    wrong = [
        f"{json.dumps(judged.attempt.case.manifest)}: {judged.attempt.pod['metadata']['name']} went to "
        f"{judged.attempt.node or why_not(judged.attempt.pod)!r}; we said {judged.best or judged.message!r}"
        for judged in run.judged
        if not judged.as_said
    ]
    assert not wrong, "\n".join(wrong[:3])


def _hold_counts(run: Run) -> None:
    wrong = [entry for entry in run.counted if entry.planned != entry.real]
    assert not wrong, wrong[:3]
