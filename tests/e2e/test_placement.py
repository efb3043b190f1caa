"""The real scheduler places each pod where the rules predict: on one of their best nodes, or nowhere.

A hundred pods try every rule. ``PLACEMENT_PODS`` sets the number for long runs, and
``PLACEMENT_MINORS`` names minors that place two hundred pods each: `make versions` has all that can be built.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

import pytest
from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.cycle import FilterResult, filter_nodes, score_nodes
from podrules.scheduling.scheduler.framework.answers import Code
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from tests.controlplane.binaries import GATE_MINORS
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.fixtures import require_minor
from tests.e2e.placement_objects import NAMESPACES, NODES, make_nodes, make_placed_pod, make_surroundings
from tests.e2e.scheduling import ALL_NODES, create_nodes, make_framework, read_cluster, settled, why_not

MANY: Final = int(os.environ.get("PLACEMENT_PODS", "500"))
OF_A_MINOR: Final = 200
MINORS: Final = tuple(os.environ.get("PLACEMENT_MINORS", "").split())
"""Empty: what `make test` runs."""
THIS: Final = ""
"""The minor of the reference."""
pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.parametrize(
        "run",
        [(minor, OF_A_MINOR) for minor in MINORS]
        or [
            (THIS, 100),
            *((minor, 100) for minor in GATE_MINORS),
            pytest.param(
                (THIS, MANY),
                marks=pytest.mark.long(
                    "test_bound_pods_are_on_one_of_the_best_nodes[100 pods], "
                    "test_unschedulable_pods_have_the_same_message[100 pods] "
                    "and the others of test_placement with 100 pods"
                ),
            ),
        ],
        indirect=True,
        scope="module",
        ids=lambda run: " ".join((*filter(None, run[:1]), f"{run[1]} pods")),
    ),
]

SEED: Final = 1
REJECTING: Final = ("NodeResourcesFit", "TaintToleration", "NodeAffinity", "PodTopologySpread", "InterPodAffinity")
SCORING: Final = (
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
)


class Answer(Struct, frozen=True):
    """The rules' answer about one pod, and the outcome."""

    pod: Object
    best: frozenset[str]
    message: str
    """Why no node fits, with PostFilter's message; empty if one does."""
    rejected_by: frozenset[str]
    """Plugins that reject a node."""
    distinguished_by: frozenset[str]
    """Plugins with different scores among the nodes that fit."""
    totals: int
    """The number of different totals."""
    real_node: str
    real_message: str
    """Why the scheduler found none."""

    def __str__(self) -> str:
        ours = sorted(self.best) or self.message
        return f"ours: {ours}\nreal: {self.real_node or self.real_message}\nof: {json.dumps(self.pod)}"


class Run(Struct, frozen=True):
    """All pods' answers, and the cluster after them: as updated during placement, and as read again."""

    answers: Sequence[Answer]
    kept: ClusterSnapshot
    read: ClusterSnapshot


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Places so many pods as the parameter sets, with the control plane of its minor."""
    minor, count = request.param
    random = Random(SEED)  # noqa: S311  # the same cluster each time
    # No controllers: only the scheduler acts.
    with ControlPlane(require_minor(minor), controllers=False, scheduler_config=ALL_NODES) as plane:
        for namespace, labels in NAMESPACES.items():
            plane.create_namespace(namespace, labels)
        plane.apply(make_surroundings())
        create_nodes(plane, make_nodes(random), "shop")
        pods = [make_placed_pod(random, number) for number in range(count)]
        placer = Placer(plane, pods)
        answers = [placer.place(pod) for pod in pods]
        yield Run(answers, placer.snapshot, read_cluster(plane, pods)[0])


class Placer:
    """Places pods one by one and updates the cluster."""

    def __init__(self, plane: ControlPlane, pods: Sequence[Object]) -> None:
        """Begin with the parts of the current cluster that these pods need."""
        self._api = plane.api
        self.snapshot, self._features = read_cluster(plane, pods)
        self._framework = make_framework(self._features)

    def place(self, written: Object) -> Answer:
        """Create a pod, ask the rules, and wait for the scheduler."""
        stored = self._api.create(written)
        pod = from_object(stored, Pod)
        table = NodeTable(self.snapshot.nodes, self.snapshot.pods)
        filtered = filter_nodes(pod, table, self.snapshot, features=self._features, framework=self._framework)
        judged = settled(self._api, stored)
        node: str = judged["spec"].get("nodeName", "")
        if node:
            self.snapshot = replace(self.snapshot, pods=(*self.snapshot.pods, from_object(judged, Pod)))
        else:
            # No pod may be retried when later pods come.
            self._api.delete(judged, grace_period_seconds=0)
        return _answer(written, filtered, node, why_not(judged))


def _answer(written: Object, filtered: FilterResult, node: str, message: str) -> Answer:
    rejected_by = frozenset(status.plugin for status in filtered.rejected.values())
    if not len(filtered.feasible):
        ours = f"{filtered.message} {_post_filter(filtered)}"
        return Answer(written, frozenset(), ours, rejected_by, frozenset(), 0, node, message)
    scored = score_nodes(filtered)
    names = filtered.context.table.names
    return Answer(
        pod=written,
        best=frozenset(names[row] for row in scored.best),
        message="",
        rejected_by=rejected_by,
        distinguished_by=frozenset(name for name, scores in scored.by_plugin.items() if len(set(scores.tolist())) > 1),
        totals=len(set(scored.totals.tolist())),
        real_node=node,
        real_message=message,
    )


def _post_filter(filtered: FilterResult) -> str:
    """The message of the PostFilter plugins without claims and with equal priorities."""
    context, before = filtered.context, filtered.pre_filter.status
    if context.pod.spec.preemption_policy == "Never":
        said = "not eligible due to preemptionPolicy=Never."
    else:
        codes = [before.code] * NODES if not before.ok else [status.code for status in filtered.rejected.values()]
        searched = codes.count(Code.UNSCHEDULABLE)
        counts = {
            "No preemption victims found for incoming pod": searched,
            "Preemption is not helpful for scheduling": NODES - searched,
        }
        reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items() if count))
        said = f"0/{NODES} nodes are available: {reasons}."
    quiet = filtered.context.features.dra_quiet_post_filter
    return f"preemption: {said}" if quiet else f"no new claims to deallocate, preemption: {said}"


def test_bound_pods_are_on_one_of_the_best_nodes(run: Run) -> None:
    bound = [answer for answer in run.answers if answer.real_node]

    assert [str(answer) for answer in bound if answer.real_node not in answer.best] == []


def test_unschedulable_pods_have_the_same_message(run: Run) -> None:
    pending = [answer for answer in run.answers if not answer.real_node]

    assert [str(answer) for answer in pending if answer.real_message != answer.message] == []


def test_snapshot_is_the_cluster_that_the_pods_made(run: Run) -> None:
    kept = sorted(run.kept.pods, key=lambda pod: pod.metadata.uid)
    read = sorted(run.read.pods, key=lambda pod: pod.metadata.uid)

    assert read == kept
    assert replace(run.read, pods=()) == replace(run.kept, pods=())


def test_pods_tried_every_rule(run: Run) -> None:
    """The counts as shares of the pods."""
    rejecting = Counter(plugin for answer in run.answers for plugin in answer.rejected_by)
    scoring = Counter(plugin for answer in run.answers for plugin in answer.distinguished_by)
    unschedulable = sum(not answer.real_node for answer in run.answers)
    distinguished, pods = sum(answer.totals > 1 for answer in run.answers), len(run.answers)

    assert min(unschedulable, distinguished) >= 0.12 * pods, (unschedulable, distinguished)
    assert min(rejecting[plugin] for plugin in REJECTING) >= 0.06 * pods, rejecting
    assert min(scoring[plugin] for plugin in SCORING) >= 0.06 * pods, scoring
    assert {"NodePorts", "NodeUnschedulable"} <= set(rejecting)
