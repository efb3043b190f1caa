"""Pods with spec.nodeName: the kubelet there decides, no scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pytest
from msgspec.structs import replace

from podrules.node.reachability import NodeReach, Reach
from podrules.pod.reading import NOT_IN_FILE, UnreadInput
from podrules.scheduling.placement.likely import named_placement
from podrules.scheduling.placement.outcome import ClaimTrouble, NamedFate, NamedNode, Placement
from podrules.scheduling.placement.plan import PlanCluster, plan
from podrules.scheduling.placement.planned import PlannedSpec
from podrules.scheduling.placement.situation import Situation
from tests.objects import raw_container
from tests.podrules.scheduling.building import HOST, Json, spread
from tests.podrules.scheduling.placement.building import make_node, make_pod, make_taint, placement_request, situation
from tests.podrules.scheduling.placement.test_claim_problems import claim, storage_class, using, volume
from tests.table import table

ANSWERS: Final = NodeReach("a", Reach.ANSWERS, "")


def named(pod: Json, node: Json, *others: Json, reach: NodeReach | None = ANSWERS) -> NamedNode:
    found = named_placement(situation(pod, [node, make_node("b")], others), reach).named
    assert found is not None
    return found


def planned(before: Situation) -> PlannedSpec:
    """Two replicas."""
    request = placement_request("deployment/web", before, 2, reach=ANSWERS)
    (found,) = plan([request], PlanCluster.of(before), preemption=True)
    return found


def test_scheduler_only_checks_do_not_apply() -> None:
    taints = [make_taint("dedicated"), make_taint("node.kubernetes.io/unschedulable")]
    pod = make_pod(on="a", topologySpreadConstraints=[spread("nowhere")])
    assert named(pod, make_node("a", taints=taints, unschedulable=True)) == NamedNode("a", NamedFate.RUNS)


@pytest.mark.parametrize(
    ("asked", "node", "reason"),
    [
        ({"cpu": "5"}, {}, "OutOfcpu"),
        ({"memory": "9Gi"}, {}, "OutOfmemory"),
        ({"nodeSelector": {"disk": "ssd"}}, {}, "NodeAffinity"),
        ({}, {"taints": [make_taint("gone", effect="NoExecute")]}, "TaintToleration"),
        ({"cpu": "5", "nodeSelector": {"disk": "ssd"}}, {}, "OutOfcpu"),
    ],
)
def test_kubelet_refuses_by_its_first_reason(asked: Any, node: Any, reason: str) -> None:
    assert named(make_pod(on="a", **asked), make_node("a", **node)) == NamedNode("a", NamedFate.REFUSED, reason)


def test_host_port_that_is_taken_is_a_reason() -> None:
    containers = [raw_container(ports=[{"containerPort": 80, "hostPort": 80}])]
    other = make_pod("other", on="a", containers=containers)
    found = named(make_pod(on="a", containers=containers), make_node("a"), other)
    assert found == NamedNode("a", NamedFate.REFUSED, "NodePorts")


def test_kubelet_makes_room_for_a_critical_pod() -> None:
    found = named(make_pod(on="a", cpu="3", priority=2_000_000_000), make_node("a"), make_pod("other", on="a", cpu="3"))
    assert found == NamedNode("a", NamedFate.RUNS)


def test_resource_unknown_to_the_node_is_not_checked() -> None:
    containers = [raw_container(requests={"example.com/gpu": "1"})]
    assert named(make_pod(on="a", containers=containers), make_node("a")).fate is NamedFate.RUNS


def test_silent_or_deleted_node_starts_nothing() -> None:
    silent = NodeReach("a", Reach.SILENT, "")
    assert named(make_pod(on="a"), make_node("a"), reach=silent) == NamedNode("a", NamedFate.SILENT)
    assert named(make_pod(on="x"), make_node("a"), reach=None) == NamedNode("x", NamedFate.NO_NODE)


def test_replicas_fill_the_node_that_they_name() -> None:
    before = situation(make_pod(on="a", cpu="3"), [make_node("a", taints=[make_taint("dedicated")]), make_node("b")])
    found = planned(before)
    assert (found.placed, found.nodes) == (1, {"a": 1})
    assert found.stopped is not None
    assert found.stopped.named == NamedNode("a", NamedFate.REFUSED, "OutOfcpu")


LATER: Final = "WaitForFirstConsumer"
LATE: Final = storage_class("late", LATER)
DATA: Final = claim(storageClassName="late")
LISTS: Final = {"persistentVolumeClaims": [DATA], "storageClasses": [LATE]}
SELECTED: Final = {"annotations": {"volume.kubernetes.io/selected-node": "b"}}


def with_claim(
    asked: Json = DATA, volumes: Sequence[Json] = (), others: Sequence[Json] = (), late: Json = LATE, **changed: Any
) -> Placement:
    host = make_node("a", labels={HOST: "a.example.com"})
    lists = {"persistentVolumeClaims": [asked], "persistentVolumes": volumes, "storageClasses": [late]}
    before = situation(using("data", on="a"), [host, make_node("b")], others, **lists)
    return named_placement(replace(before, **changed), ANSWERS)


def test_claim_that_waits_for_the_scheduler_stays_unbound() -> None:
    found = with_claim(volumes=[volume("free", storageClassName="late")])
    assert found.named == NamedNode("a", NamedFate.WAITS)
    assert (found.best, found.proven) == ((), True)
    (problem,) = found.claims
    assert (problem.trouble, problem.hostname) == (ClaimTrouble.NEEDS_SCHEDULER, "a.example.com")


@table(
    "cluster",
    {
        "a volume is reserved": {"volumes": [volume("kept", of="data")]},
        "a node was selected": {"asked": claim(storageClassName="late", meta=SELECTED)},
        "another": {"others": [using("data", name="x")]},
        "the class binds at once": {"late": storage_class("late", "Immediate")},
    },
)
def test_claim_that_may_be_bound_does_not_block(cluster: Any) -> None:
    assert with_claim(**cluster).named == NamedNode("a", NamedFate.RUNS)


def test_class_without_provisioner_needs_scheduler() -> None:
    found = with_claim(claim(storageClassName="late", meta=SELECTED), late=storage_class("late", LATER, makes=False))
    assert [one.trouble for one in found.claims] == [ClaimTrouble.NEEDS_SCHEDULER]


def test_missing_claim_blocks_the_pod() -> None:
    found = with_claim(claim("other"))
    assert found.named == NamedNode("a", NamedFate.WAITS)
    assert [one.trouble for one in found.claims] == [ClaimTrouble.MISSING]


@pytest.mark.parametrize(
    ("resource", "fate"),
    [
        ("persistentvolumes", NamedFate.WAITS),
        ("storageclasses.storage.k8s.io", NamedFate.RUNS),
        ("persistentvolumeclaims", NamedFate.RUNS),
    ],
)
def test_unread_kinds_make_it_uncertain(resource: str, fate: NamedFate) -> None:
    unread = (UnreadInput("list", resource, None, NOT_IN_FILE),)
    asked = claim("other") if resource == "persistentvolumeclaims" else DATA
    late = storage_class("other") if fate is NamedFate.RUNS else LATE
    found = with_claim(asked, late=late, unread=unread)
    assert (found.named, found.assumed, found.proven) == (NamedNode("a", fate), unread, False)


def test_replicas_on_a_named_node_wait_for_their_claim() -> None:
    found = planned(situation(using("data", on="a"), [make_node("a"), make_node("b")], **LISTS))
    assert (found.placed, found.proven) == (0, True)
    assert found.stopped is not None
    assert found.stopped.named == NamedNode("a", NamedFate.WAITS)


def test_pod_of_the_same_plan_has_the_claim_bound() -> None:
    nodes = [make_node("a"), make_node("b")]
    cluster = situation(using("data", on="a"), nodes, **LISTS)
    named = placement_request("pod/web", cluster, 1, reach=ANSWERS)
    through = placement_request("pod/through", situation(using("data"), nodes, **LISTS), 1)
    for requests in ([named, through], [through, named]):
        found = {one.name: one.placed for one in plan(requests, PlanCluster.of(cluster), preemption=True)}
        assert found == {"pod/web": 1, "pod/through": 1}
