"""One cycle over all plugins: the order of verdicts, nominated pods, narrowed nodes, the sentence, the best nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from podrules.features import REFERENCE
from podrules.model.decode import from_object
from podrules.model.pod import Pod
from podrules.model.snapshot import ClusterSnapshot
from podrules.scheduler.cycle import Filtered, filter_nodes, pre_enqueue, score_nodes
from podrules.scheduler.framework.node_table import NodeTable
from podrules.scheduler.framework.status import Code, Status

Json = Mapping[str, Any]


def make_node(name: str, cpu: str = "4", *, labels: Json | None = None, **spec: Any) -> Json:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": spec, "status": {"allocatable": allocatable}}


def make_pod(name: str, cpu: str = "1", *, nominated: str = "", **spec: Any) -> Json:
    container = {"name": "app", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"containers": [container], **spec},
        "status": {"nominatedNodeName": nominated},
    }


def on_node(name: str) -> Json:
    """An affinity that names one node."""
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def cycle(pod: Json, nodes: Sequence[Json], pods: Sequence[Json] = ()) -> Filtered:
    snapshot = from_object({"nodes": nodes, "pods": pods}, ClusterSnapshot)
    table = NodeTable(snapshot.nodes, snapshot.pods)
    return filter_nodes(from_object(pod, Pod), table, snapshot, features=REFERENCE, args={})


def names(filtered: Filtered, rows: Any) -> list[str]:
    return [filtered.context.table.names[row] for row in rows]


def test_the_first_plugin_that_rejects_counts() -> None:
    taint = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
    found = cycle(make_pod("web", cpu="9"), [make_node("a", unschedulable=True, taints=[taint])])
    assert found.rejected["a"] == Status(
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) were unschedulable",), "NodeUnschedulable"
    )
    assert found.unschedulable_plugins == {"NodeUnschedulable"}


def test_the_sentence_counts_reasons_in_the_order_of_their_text() -> None:
    taint = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
    nodes = [
        *(make_node(f"small-{number}", cpu="1") for number in range(11)),
        make_node("cordoned", unschedulable=True),
        make_node("tainted", taints=[taint]),
        make_node("full", cpu="4"),
    ]
    found = cycle(make_pod("web", cpu="3"), nodes, [make_pod("old", cpu="2", nodeName="full")])
    assert list(found.feasible) == []
    # As text: "1 node(s)" before "12 Insufficient".
    assert found.message == (
        "0/14 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, "
        "12 Insufficient cpu."
    )
    assert found.unschedulable_plugins == {"NodeUnschedulable", "TaintToleration", "NodeResourcesFit"}


def test_pre_filter_narrows_the_nodes() -> None:
    found = cycle(make_pod("web", affinity=on_node("b"), cpu="9"), [make_node("a"), make_node("b"), make_node("c")])
    assert found.pre_filter.node_names == frozenset({"b"})
    assert list(found.rejected) == ["b"]
    assert found.message == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )
    assert found.unschedulable_plugins == {"NodeAffinity", "NodeResourcesFit"}


def test_pre_filter_names_a_node_that_does_not_exist() -> None:
    found = cycle(make_pod("web", affinity=on_node("gone")), [make_node("a"), make_node("b")])
    assert list(found.feasible) == []
    assert found.message == "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."


def test_pre_filter_rejects_the_pod_for_all_nodes() -> None:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "missing"}}
    found = cycle(make_pod("web", volumes=[volume]), [make_node("a"), make_node("b")])
    assert found.pre_filter.status.plugin
    assert found.rejected == {}
    assert list(found.feasible) == []
    assert found.message == '0/2 nodes are available: persistentvolumeclaim "missing" not found.'


@pytest.mark.parametrize(
    ("priority", "fits"),
    [
        pytest.param(5, ["a", "b"], id="of lower priority: no matter"),
        pytest.param(10, ["b"], id="of the same priority: it has the place"),
        pytest.param(20, ["b"], id="of higher priority: likewise"),
    ],
)
def test_a_pod_that_was_nominated_has_its_place(priority: int, fits: list[str]) -> None:
    waiting = make_pod("waiting", cpu="3", nominated="a", priority=priority)
    found = cycle(make_pod("web", cpu="2", priority=10), [make_node("a"), make_node("b")], [waiting])
    assert names(found, found.feasible) == fits
    assert [status.reasons for status in found.rejected.values()] == [("Insufficient cpu",)] * (2 - len(fits))


def test_a_pod_that_was_nominated_is_not_relied_upon() -> None:
    """The pod wants to be near to one that is not there yet: it has to fit without it too."""
    near = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    waiting = make_pod("waiting", nominated="a", priority=10)
    waiting = {**waiting, "metadata": {**waiting["metadata"], "labels": {"app": "db"}}}
    nodes = [make_node("a", labels={"kubernetes.io/hostname": "a"})]
    found = cycle(make_pod("web", priority=10, affinity=affinity), nodes, [waiting])
    assert found.rejected["a"].plugin == "InterPodAffinity"


def test_its_own_nomination_takes_no_place() -> None:
    pod = make_pod("web", cpu="3", nominated="a", priority=10)
    found = cycle(pod, [make_node("a")], [pod])
    assert names(found, found.feasible) == ["a"]


def test_scores_add_up_and_ties_are_all_best() -> None:
    nodes = [make_node("a"), make_node("b"), make_node("busy")]
    found = cycle(make_pod("web"), nodes, [make_pod("old", cpu="2", nodeName="busy")])
    scored = score_nodes(found)
    assert names(found, scored.best) == ["a", "b"]
    assert scored.totals.tolist() == [sum(column) for column in zip(*scored.by_plugin.values(), strict=True)]
    assert scored.skipped >= {"InterPodAffinity", "NodeAffinity"}


def test_P3_gated_pod_is_not_queued() -> None:
    gated = from_object(make_pod("web", schedulingGates=[{"name": "example.com/quota"}]), Pod)
    status = pre_enqueue(gated, ClusterSnapshot())
    assert (status.plugin, status.rejected) == ("SchedulingGates", True)
    assert pre_enqueue(from_object(make_pod("web"), Pod), ClusterSnapshot()).ok
