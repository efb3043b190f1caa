"""The pending pods that would preempt a bound one agree with the victims of each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod, PodReference
from podrules.pod.reading import UnreadInput
from podrules.scheduling.placement.likely import likely_placement
from podrules.scheduling.placement.preemption_victims import Preemptor
from podrules.scheduling.placement.preview import preemptor
from podrules.scheduling.placement.situation import Situation
from podrules.scheduling.scheduler.queue import queued_above
from tests.e2e.preemption_objects import make_classes, make_fillers, make_guards, make_nodes, make_preemptor
from tests.objects import raw_node
from tests.podrules.scheduling.building import PREEMPTED, Json, make_budget
from tests.podrules.scheduling.placement.building import make_node, make_pod, situation

HIGH: Final = make_pod("high", cpu="3", priority=1000)
START: Final = "2026-11-01T10:00:00Z"
STARTED: Final = {"startTime": START}


def on_node(name: str, node: str, priority: int, cpu: str = "3", **more: Any) -> Json:
    return make_pod(name, on=node, cpu=cpu, priority=priority, **more)


def preemptors(
    pending: Json, bound: Json, nodes: Sequence[Json], pods: Sequence[Json], **lists: Any
) -> Preemptor | None:
    return preemptor(situation(pending, nodes, [*pods, bound], **lists), from_object(bound, Pod))


def test_only_the_victim_of_the_chosen_node_is_preempted() -> None:
    low, middle = on_node("x", "a", 10), on_node("y", "b", 500)
    nodes = [make_node("a"), make_node("b")]
    found = preemptors(HIGH, low, nodes, [middle])
    assert found == Preemptor(
        pod=PodReference("default", "high"),
        priority=1000,
        seen=False,
        denied=False,
        node="a",
        victims=1,
        violates=(),
        nodes=1,
        twin=None,
        sampled=None,
        assumed=(),
    )
    assert preemptors(HIGH, middle, nodes, [low]) is None


@pytest.mark.parametrize(
    ("pending", "why"),
    [
        (make_pod("high", cpu="1", priority=1000), "it fits beside it"),
        (make_pod("high", cpu="90", priority=1000), "it fits nowhere even then"),
        (make_pod("high", cpu="3", priority=10), "the priority is the same"),
        (make_pod("high", cpu="3", priority=1000, preemptionPolicy="Never"), "it never preempts"),
        (make_pod("high", cpu="3", priority=1000, nodeSelector={"disk": "ssd"}), "its node is no candidate"),
        (make_pod("high", cpu="3", priority=1000, schedulingGates=[{"name": "quota"}]), "it is gated"),
    ],
)
def test_pod_that_would_not_preempt_is_not_named(pending: Json, why: str) -> None:
    assert preemptors(pending, on_node("x", "a", 10), [make_node("a")], []) is None, why


@pytest.mark.parametrize(("added", "denied"), [("preemption: 0/1 nodes are available: 1 None.", True), ("", False)])
def test_scheduler_that_found_no_victims_is_believed(added: str, *, denied: bool) -> None:
    pending = make_pod("high", cpu="3", priority=1000, message=f"0/1 nodes are available: 1 Insufficient cpu. {added}")
    found = preemptors(pending, on_node("x", "a", 10), [make_node("a")], [])
    assert found is not None
    assert found.denied is denied


def test_pod_that_waits_for_its_victims_preempts_no_other() -> None:
    """Its nomination counts while a victim terminates there."""
    leaves: Any = {"metadata": {"deletionTimestamp": START}, "status": {"conditions": [PREEMPTED]}}
    going = on_node("going", "a", 5, **leaves)
    nominated = {**HIGH, "status": {"nominatedNodeName": "a"}}
    other = on_node("x", "b", 1)
    nodes = [make_node("a"), make_node("b")]
    assert preemptors(nominated, other, nodes, [going]) is None
    assert preemptors(HIGH, other, nodes, [going]) is not None


def test_room_reserved_for_nominated_pod_counts() -> None:
    """Without the reservation this pod would fit and preempt no pod."""
    nodes = [make_node("a", cpu="6")]
    bound = on_node("x", "a", 1, "2")
    nominated = make_pod("first", cpu="3", priority=2000, status={"nominatedNodeName": "a"})
    assert preemptors(make_pod("big", cpu="4", priority=1000), bound, nodes, [nominated]) is None, (
        "even without x it does not fit beside the first"
    )
    small = make_pod("small", cpu="2", priority=1000)
    assert preemptors(small, bound, nodes, [nominated]) is not None
    assert preemptors(small, bound, nodes, []) is None, "it fits"


def test_budget_moves_preemption_to_another_node() -> None:
    nodes = [make_node("a"), make_node("b")]
    guarded, other = on_node("x", "a", 1, labels={"app": "x"}), on_node("y", "b", 500)
    budget = make_budget("keep", app="x")
    assert preemptors(HIGH, guarded, nodes, [other]) is not None
    assert preemptors(HIGH, guarded, nodes, [other], podDisruptionBudgets=[budget]) is None
    alone = preemptors(HIGH, guarded, nodes[:1], [], podDisruptionBudgets=[budget])
    assert alone is not None
    assert alone.violates == ("keep",), "a budget prevents no preemption"


def test_several_equal_nodes_leave_the_victim_open() -> None:
    nodes = [make_node("a"), make_node("b"), make_node("c")]
    pods = [on_node(name, node, 1, status=STARTED) for name, node in (("x", "a"), ("y", "b"), ("z", "c"))]
    found = preemptors(HIGH, pods[0], nodes, pods[1:])
    assert found is not None
    assert found.nodes == 3


def test_equally_important_pods_leave_the_victim_open() -> None:
    nodes = [make_node("a", cpu="4")]
    x, y = (on_node(name, "a", 1, "2", status=STARTED) for name in "xy")
    pending = make_pod("high", cpu="2", priority=1000)
    for bound, other in ((x, y), (y, x)):
        found = preemptors(pending, bound, nodes, [other])
        assert found is not None
        assert found.twin == PodReference("default", other["metadata"]["name"])
    older = on_node("old", "a", 1, "2", status={"startTime": "2026-10-01T10:00:00Z"})
    assert preemptors(pending, older, nodes, [x]) is None
    found = preemptors(pending, x, nodes, [older])
    assert found is not None
    assert found.twin is None


def test_unread_kinds_are_assumed() -> None:
    budgets = UnreadInput("list", "poddisruptionbudgets.policy", None, "not in the file")
    bound = on_node("x", "a", 1)
    known = situation(HIGH, [make_node("a")], [bound])
    part = Situation(**{name: getattr(known, name) for name in known.__struct_fields__} | {"unread": (budgets,)})
    found = preemptor(part, from_object(bound, Pod))
    assert found is not None
    assert found.assumed == (budgets,)


def test_queue_has_pods_of_higher_priority_that_may_preempt() -> None:
    def pending(name: str, priority: int, minute: int, **spec: Any) -> Pod:
        at = {"creationTimestamp": f"2026-11-01T10:{minute:02}:00Z"}
        return from_object(make_pod(name, priority=priority, metadata=at, **spec), Pod)

    waiting = [
        pending("late", 50, 9),
        pending("early", 50, 1),
        pending("top", 90, 5),
        pending("same", 10, 1),
        pending("patient", 90, 1, preemptionPolicy="Never"),
        pending("gated", 90, 1, schedulingGates=[{"name": "x"}]),
        pending("bound", 90, 1, on="b"),
    ]
    bound = from_object(on_node("x", "a", 10), Pod)
    assert [pod.metadata.name for pod in queued_above(bound, waiting)] == ["top", "early", "late"]


def crowd(seed: int) -> tuple[Sequence[Json], Sequence[Json], Mapping[str, Any], Random]:
    """An overfull cluster with objects of every kind."""
    random = Random(seed)  # noqa: S311  # the same each time
    drawn = make_nodes(random)
    nodes = [
        raw_node(
            one["name"],
            {"kubernetes.io/hostname": one["name"], **one["labels"]},
            allocatable={"memory": "16Gi", "pods": "110", **one["capacity"]},
            taints=one["taints"],
            unschedulable=one.get("unschedulable", False),
        )
        for one in drawn
    ]
    priorities = {one["metadata"]["name"]: one["value"] for one in make_classes()}
    pods = [_stored(one.pod, priorities, one.start) for one in make_fillers(random, drawn)]
    lists = {"podDisruptionBudgets": [{**budget, "status": status} for budget, status in make_guards()]}
    return nodes, pods, lists | {"priorities": priorities}, random


def _stored(pod: Any, priorities: Mapping[str, int], start: str | None = None) -> Json:
    meta = {**pod["metadata"], "uid": pod["metadata"]["name"]}
    spec = {**pod["spec"], "priority": priorities.get(pod["spec"].get("priorityClassName", ""), 0)}
    if spec.get("priorityClassName", "").endswith("-patient"):
        spec["preemptionPolicy"] = "Never"
    return {**pod, "metadata": meta, "spec": spec, "status": {"startTime": start} if start else {}}


def test_only_victims_name_their_preemptors() -> None:
    nodes, pods, lists, random = crowd(1)
    priorities = lists["priorities"]
    budgets = {"podDisruptionBudgets": lists["podDisruptionBudgets"]}
    preempting = open_cases = 0
    for number in range(60):
        pending = _stored(make_preemptor(random, number), priorities)
        found = situation(pending, nodes, pods, **budgets)
        preview = likely_placement(found).preemption
        wanted = {(one.pod.namespace, one.pod.name) for one in preview.victims} if preview is not None else set()
        best = preview.nodes if preview is not None else ()
        preempting += bool(best)
        asked = [pod for pod in found.snapshot.pods if (pod.metadata.namespace, pod.metadata.name) in wanted]
        asked += random.sample(found.snapshot.pods, 5)
        for pod in asked:
            one = preemptor(found, pod)
            is_open = one is not None and (one.nodes > 1 or one.twin is not None)
            assert is_open or (one is not None) == (pod.metadata.name in {name for _, name in wanted}), number
            if one is not None:
                assert one.nodes == len(best)
                open_cases += is_open
    assert preempting >= 20
    assert open_cases >= 1
