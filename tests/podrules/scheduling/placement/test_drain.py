"""A node drained as `kubectl drain` does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.node.reachability import NodeReach, Reach
from podrules.scheduling.placement.drain import Drain, DrainPlan, drain_plan
from podrules.scheduling.placement.drain_rounds import place_all
from podrules.scheduling.placement.plan import PlanCluster
from podrules.scheduling.placement.what_if import cordoning_nodes
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from tests.objects import raw_condition
from tests.podrules.scheduling.building import Json, make_budget, owned
from tests.podrules.scheduling.placement.building import make_node, make_pod, make_taint

ANSWERS: Final = NodeReach("a", Reach.ANSWERS, "status.conditions[type=Ready]")


def cluster(*pods: Any, **lists: Any) -> ClusterSnapshot:
    nodes = [make_node("a", taints=[make_taint("dedicated")]), make_node("b")]
    return from_object({"nodes": nodes, "pods": list(pods), **lists}, ClusterSnapshot)


def bare(name: str, phase: str = "Running", **more: Any) -> Json:
    return make_pod(name, on="a", status={"phase": phase}, **more)


def managed(name: str, kind: str = "ReplicaSet", ending: bool = False, phase: str = "Running", **more: Any) -> Any:
    deletion = {"deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30}
    fields = {"on": "a", "metadata": deletion if ending else None, "terminationGracePeriodSeconds": 30, **more}
    return owned(make_pod(name, status={"phase": phase, "conditions": [raw_condition("Ready")]}, **fields), kind)


def names(snapshot: ClusterSnapshot) -> list[str]:
    return [pod.metadata.name for pod in snapshot.pods]


def drain(
    snapshot: ClusterSnapshot, name: str, reach: NodeReach, at: datetime | None = None
) -> tuple[DrainPlan, ClusterSnapshot]:
    plan = drain_plan(snapshot.pods, snapshot.pod_disruption_budgets, name, reach, at)
    before = cordoning_nodes(snapshot, [name])
    placed_on = PlanCluster(NodeTable(before.nodes, before.pods), before)
    after = place_all([], Drain((reach,), at=at), placed_on, preemption=False)
    assert sum(after.stuck.values()) == plan.stuck
    return plan, after.snapshot


def fates(plan: DrainPlan) -> dict[str, str]:
    """The outcome of each pod."""
    moved = {pod.metadata.name: "moved" for pod in plan.moved}
    return moved | {entry.pod.name: entry.reason for entry in plan.unmoved}


def test_missing_node_is_reported() -> None:
    with pytest.raises(KeyError, match="missing"):
        drain(cluster(), "missing", ANSWERS)


def test_drain_moves_pods_that_controllers_recreate() -> None:
    static = make_pod("static", on="a", metadata={"annotations": {"kubernetes.io/config.mirror": "x"}})
    pods = [managed("web"), managed("agent", "DaemonSet"), static, bare("bare"), make_pod("other", on="b")]
    plan, after = drain(cluster(*pods), "a", ANSWERS)
    assert fates(plan) == {"web": "moved", "agent": "DaemonSet", "static": "StaticPod", "bare": "NoController"}
    assert names(after) == ["agent", "static", "other"]
    node = after.nodes[0]
    assert node.spec.unschedulable
    assert [taint.key for taint in node.spec.taints] == ["dedicated", "node.kubernetes.io/unschedulable"]


def test_budget_blocks_pods_on_drained_node() -> None:
    budget = make_budget("web", 1, app="web", currentHealthy=2, desiredHealthy=2)
    pods = [managed("web-0", labels={"app": "web"}), managed("web-1", labels={"app": "web"})]
    plan, _after = drain(cluster(*pods, podDisruptionBudgets=[budget]), "a", ANSWERS)
    assert [pod.metadata.name for pod in plan.moved] == ["web-0"]
    (kept,) = plan.unmoved
    assert (kept.pod.name, kept.reason) == ("web-1", "PodDisruptionBudget")
    assert kept.detail == "The disruption budget web needs 2 healthy pods and has 2 currently"


def test_terminating_pods_are_not_recreated_twice() -> None:
    pods = [
        managed("web", ending=True),
        managed("job", "Job", ending=True),
        managed("db-0", "StatefulSet", ending=True),
    ]
    plan, after = drain(cluster(*pods), "a", ANSWERS)
    assert fates(plan) == {"web": "Terminating", "job": "Terminating", "db-0": "moved"}
    assert (names(after), plan.stuck) == ([], 0)


@pytest.mark.parametrize(("seconds", "late"), [(29, False), (90, False), (91, True), (86400, True)])
def test_drain_waits_for_pods_that_are_overdue(seconds: int, late: bool) -> None:
    pods = [
        managed("web", ending=True),
        managed("db-0", "StatefulSet", ending=True),
        managed("agent", "DaemonSet", True),
    ]
    pods[1]["metadata"]["finalizers"] = ["example.com/copy", "example.com/audit"]
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    plan, after = drain(cluster(*pods), "a", ANSWERS, at)
    if not late:
        assert fates(plan) == {"web": "Terminating", "db-0": "moved", "agent": "DaemonSet"}
        return
    assert fates(plan) == {"web": "Overdue", "db-0": "Overdue", "agent": "DaemonSet"}
    assert names(after) == ["web", "db-0", "agent"]
    over = datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC)
    assert [(one.over, one.detail) for one in plan.unmoved[:2]] == [
        (over, ""),
        (over, "example.com/copy, example.com/audit"),
    ]
    # A silent node has a separate reason.
    silent, _ = drain(cluster(*pods), "a", NodeReach("a", Reach.SILENT, ""), at)
    assert fates(silent) == {"web": "Terminating", "db-0": "NodeSilent", "agent": "DaemonSet"}


def test_only_stateful_set_recreates_finished_pods() -> None:
    pods = [managed("web", phase="Failed"), managed("job", "Job", phase="Succeeded")]
    pods += [managed("db-0", "StatefulSet", phase="Failed"), bare("bare", phase="Failed")]
    plan, _after = drain(cluster(*pods), "a", ANSWERS)
    assert fates(plan) == {"web": "Finished", "job": "Finished", "db-0": "moved", "bare": "Finished"}
    assert plan.flags == ()


@pytest.mark.parametrize("reach", [Reach.SILENT, Reach.MISSED_HEARTBEATS])
def test_drain_of_a_silent_node_does_not_end(reach: Reach) -> None:
    pods = [
        managed("web"),
        managed("old", ending=True),
        managed("db-0", "StatefulSet"),
        managed("job", "Job", phase="Failed"),
    ]
    plan, after = drain(cluster(*pods), "a", NodeReach("a", reach, ""))
    assert fates(plan) == {"web": "moved", "old": "Terminating", "db-0": "NodeSilent", "job": "Finished"}
    assert plan.stuck == 3
    assert {pod.metadata.name: bool(pod.metadata.deletion_timestamp) for pod in after.pods} == {
        "web": True,
        "old": True,
        "db-0": True,
    }


def test_pods_of_out_of_service_node_are_removed() -> None:
    plan, after = drain(cluster(managed("db-0", "StatefulSet")), "a", NodeReach("a", Reach.OUT_OF_SERVICE, ""))
    assert (fates(plan), plan.stuck, names(after)) == ({"db-0": "moved"}, 0, [])


def test_flags_that_kubectl_asks_for_are_counted() -> None:
    local: Any = {"volumes": [{"name": "tmp", "emptyDir": {}}]}
    pods = [managed("agent", "DaemonSet", **local), managed("cached", **local), managed("web")]
    pods += [bare("lone", **local), bare("ended", phase="Succeeded", **local)]
    plan, _after = drain(cluster(*pods), "a", ANSWERS)
    assert [(entry.flag, entry.pods) for entry in plan.flags] == [
        ("--force", 1),
        ("--delete-emptydir-data", 2),
        ("--ignore-daemonsets", 1),
    ]


@pytest.mark.parametrize("reason", ["Unschedulable", "SchedulingGated"])
def test_budget_waits_for_a_pod_that_fits_nowhere(reason: str) -> None:
    """Waiting does not help there: the pod is named."""
    labels = {"app": "db"}
    budget = {
        "metadata": {"namespace": "default", "name": "db", "generation": 1},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": labels}},
        "status": {"observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 3},
    }
    waits = {"phase": "Pending", "conditions": [raw_condition("PodScheduled", "False", reason=reason)]}
    other = owned(make_pod("other", labels={"app": "web"}, status=waits), "ReplicaSet")
    lacking = owned(make_pod("db-2", labels=labels, status=waits), "ReplicaSet")
    pods = [other, managed("db-0", labels=labels), lacking]
    plan, _ = drain(cluster(*pods, podDisruptionBudgets=[budget]), "a", ANSWERS)
    (kept,) = plan.unmoved
    assert kept.reason == "PodDisruptionBudget"
    assert (kept.lacks.name if kept.lacks is not None else "") == ("db-2" if reason == "Unschedulable" else "")
