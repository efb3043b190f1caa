"""The victims of a pod, and the reasons why other pods are not preempted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podrules.api.model.pod import PodOnNode, PodReference
from podrules.scheduling.placement.outcome import Placement
from podrules.scheduling.placement.preemption_victims import NominatedNode, NoRoom, PreemptionPreview
from tests.objects import raw_condition, raw_container
from tests.podrules.scheduling.building import PREEMPTED, ZONE, Json, anti_affinity, make_budget, near, spread
from tests.podrules.scheduling.placement.building import make_host, make_node, make_pod, place, zoned

HIGH: Mapping[str, Any] = {"priority": 10}
BIG = make_pod(cpu="3", **HIGH)
A = make_node("a")


def on_node(name: str, node: str, priority: int, **more: Any) -> Any:
    return make_pod(name, on=node, cpu="3", priority=priority, **more)


def preview_of(pod: Json, nodes: Sequence[Json], pods: Sequence[Json], **lists: Any) -> PreemptionPreview:
    preview = place(pod, nodes, pods, **lists).preemption
    assert preview is not None
    return preview


def leaving(name: str, *, cpu: str = "3", until: str = "10:00:30", preempted: bool = True) -> Json:
    """A terminating pod on node ``a``."""
    deletion = {"deletionTimestamp": f"2026-01-01T{until}Z"}
    status = {"conditions": [PREEMPTED]} if preempted else None
    return make_pod(name, on="a", cpu=cpu, priority=1, metadata=deletion, status=status)


def nominated(pods: Sequence[Json], node: Json = A) -> Placement:
    """The preview of a pod that is nominated to node ``a``."""
    own = make_pod(cpu="3", status={"nominatedNodeName": "a"}, **HIGH)
    return place(own, [node], [*pods, own])


def nominated_of(pods: Sequence[Json], node: Json = A) -> NominatedNode:
    found = nominated(pods, node).nominated
    assert found is not None
    return found


def test_P4_victims_and_deciding_criterion_are_named() -> None:
    pods = [on_node("x", "a", 5), on_node("y", "b", 3)]
    preview = preview_of(BIG, [A, make_node("b")], pods)
    assert (preview.candidates, preview.nodes, preview.decided_by) == (2, ("b",), "lowestTopPriority")
    assert [(victim.pod.name, victim.priority) for victim in preview.victims] == [("y", 3)]


def test_P5_wait_equals_grace_period_of_victims() -> None:
    pods = [on_node("x", "a", 5, terminationGracePeriodSeconds=120)]
    preview = preview_of(BIG, [A], pods)
    assert preview.grace_seconds == 120


def test_P6_spared_lower_pods_have_a_reason() -> None:
    pods = [on_node("x", "a", 5), on_node("y", "b", 3, labels={"app": "low"})]
    preview = preview_of(BIG, [A, make_node("b")], pods, podDisruptionBudgets=[make_budget("keep", app="low")])
    assert preview.nodes == ("a",)
    (left,) = preview.left_alone
    expected = ("fewestPDBViolations", PodReference("default", "y"), 3)
    assert (left.why, left.lowest, left.lowest_priority) == expected


def test_P7_best_effort_pod_preempts_guaranteed_pod() -> None:
    guaranteed = on_node("x", "a", 1, limits={"cpu": "3", "memory": "1Gi"})
    best_effort = make_pod(containers=[raw_container()], **HIGH)
    preview = preview_of(best_effort, [make_node("a", pods="1")], [guaranteed])
    assert [(victim.pod.name, victim.qos_class) for victim in preview.victims] == [("x", "Guaranteed")]


def test_P2_never_policy_is_shown() -> None:
    pods = [on_node("x", "a", 5)]
    preview = preview_of(make_pod(cpu="3", preemptionPolicy="Never", **HIGH), [A], pods)
    assert (preview.not_eligible, preview.nodes) == ("not eligible due to preemptionPolicy=Never.", ())


def test_P4_cross_node_help_is_shown() -> None:
    nodes = [zoned("a", "z"), zoned("b", "z", cpu="1")]
    low = make_pod("low", on="b", labels={"app": "low"}, cpu="100m")
    preview = preview_of(make_pod(cpu="3", affinity=anti_affinity(ZONE, app="low"), **HIGH), nodes, [low])
    assert preview.nodes == ()
    assert preview.elsewhere is not None
    assert (preview.elsewhere.node, preview.elsewhere.elsewhere) == ("a", (PodOnNode("default", "low", "b"),))


def test_P5_nomination_names_leaving_pods_and_rivals() -> None:
    deletion = {"deletionTimestamp": "2026-01-01T10:00:30Z", "deletionGracePeriodSeconds": 30}
    ends = {"metadata": deletion, "terminationGracePeriodSeconds": 30, "status": {"conditions": [PREEMPTED]}}
    nominated = nominated_of([on_node("x", "a", 1, **ends), make_pod("rival", priority=20)])
    assert (nominated.node, nominated.rivals) == ("a", (PodReference("default", "rival"),))
    (victim,) = nominated.victims
    assert (victim.pod.name, victim.gone_by) == ("x", "2026-01-01T10:00:30Z")


def test_P5_nomination_to_deleted_node_reserves_nothing() -> None:
    for node, exists in (("gone", False), ("a", True)):
        own = make_pod(cpu="100", status={"nominatedNodeName": node}, **HIGH)
        found = place(own, [A], [own]).nominated
        assert found is not None
        assert found.exists is exists


def test_P5_fitting_nominated_node_wins_over_scores() -> None:
    own = make_pod(status={"nominatedNodeName": "small"}, **HIGH)
    nodes = [make_node("small"), make_node("large", cpu="64", memory="256Gi")]
    placement = place(own, nodes, [own])
    assert (placement.best, placement.scores[0].node) == (("small",), "large")


def test_P5_pod_with_leaving_victims_only_waits() -> None:
    placement = nominated([leaving("x", cpu="2", until="10:00:50"), leaving("y", cpu="2")])
    found = placement.nominated
    assert found is not None
    assert [victim.pod.name for victim in found.going] == ["y", "x"]
    assert (found.under_way, found.rejected, found.others) == (True, (), ())
    # No other action is possible: nothing competes with the wait.
    assert [group.remedy for group in placement.rejected] == [None]


def test_P5_node_waits_for_other_leaving_pods() -> None:
    found = nominated_of([leaving("x", cpu="2"), leaving("y", cpu="2", preempted=False)])
    assert [other.pod.name for other in found.others] == ["y"]
    assert [victim.pod.name for victim in found.victims] == ["x"]
    assert found.under_way


def test_P5_node_fitting_without_victims_needs_no_others() -> None:
    found = nominated_of([leaving("x"), leaving("y", cpu="500m", preempted=False)])
    assert (found.others, found.under_way) == ((), True)


def test_P5_node_unfit_after_victims_end_has_a_reason() -> None:
    placement = nominated([leaving("x", cpu="1"), make_pod("stays", on="a", cpu="3", priority=20)])
    found = placement.nominated
    assert found is not None
    assert (found.rejected, found.under_way) == (("Insufficient cpu",), False)
    assert [group.remedy is None for group in placement.rejected] == [False]


def test_P5_nothing_ends_on_a_silent_node() -> None:
    placement = nominated([leaving("x")], make_node("a", conditions=[raw_condition("Ready", "Unknown")]))
    found = placement.nominated
    assert found is not None
    assert (found.silent, found.rejected, found.under_way) == (True, (), False)
    assert [group.remedy is None for group in placement.rejected] == [False]


def test_P5_no_time_is_known_on_a_virtual_kubelet() -> None:
    found = nominated_of([leaving("x")], make_node("a", labels={"type": "virtual-kubelet"}))
    assert (found.victims[0].gone_by, found.under_way) == (None, True)


def test_P5_nomination_without_victims_is_no_wait() -> None:
    found = nominated_of([make_pod("stays", on="a", cpu="3", priority=20)])
    assert (found.under_way, found.reach) == (False, None)


def no_room(pod: Json, nodes: Sequence[Json], pods: Sequence[Json]) -> Sequence[NoRoom]:
    preview = preview_of(pod, nodes, pods)
    assert preview.nodes == ()
    return preview.no_room


def test_P4_affinity_to_victim_defeats_preemption() -> None:
    pods = [on_node("needed", "a", 1, labels={"app": "low"}), make_pod("other", on="a", cpu="500m", priority=1)]
    (found,) = no_room(make_pod(cpu="3", affinity=near(app="low"), **HIGH), [make_host("a")], pods)
    assert (found.plugin, found.needs) == ("InterPodAffinity", (PodReference("default", "needed"),))


def test_P4_affinity_to_remaining_pod_allows_preemption() -> None:
    pods = [
        on_node("low", "a", 1, labels={"app": "low"}),
        make_pod("stays", on="a", cpu="500m", priority=20, labels={"app": "low"}),
    ]
    preview = preview_of(make_pod(cpu="3", affinity=near(app="low"), **HIGH), [make_host("a")], pods)
    assert (preview.nodes, preview.no_room) == (("a",), ())


def test_P4_non_candidate_node_has_reason_of_plugin() -> None:
    nodes = [zoned("a", "x"), zoned("b", "y"), zoned("c", "x")]
    pods = [
        make_pod("web-1", on="a", cpu="100m", priority=10, labels={"app": "web"}),
        make_pod("low", on="a", cpu="100m", priority=1),
        on_node("stays", "b", 20),
    ]
    pod = make_pod(cpu="3", labels={"app": "web"}, topologySpreadConstraints=[spread(ZONE, app="web")], **HIGH)
    found = [(entry.plugin, entry.node, entry.nodes, entry.lower) for entry in no_room(pod, nodes, pods)]
    assert found == [("", "b", 2, 0), ("PodTopologySpread", "a", 1, 1)]
