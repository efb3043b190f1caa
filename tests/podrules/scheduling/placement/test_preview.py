"""The victims of a pod, and the reasons why other pods are not preempted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podrules.api.model.pod import PodOnNode, PodReference
from podrules.scheduling.placement.outcome import Placement
from podrules.scheduling.placement.preemption_victims import NoRoom
from tests.objects import raw_condition
from tests.podrules.scheduling.placement.building import make_node, make_pod, place

HIGH: Mapping[str, Any] = {"priority": 10}


def on_node(name: str, node: str, priority: int, **more: Any) -> Any:
    return make_pod(name, on=node, cpu="3", priority=priority, **more)


def test_P4_victims_and_deciding_criterion_are_named() -> None:
    pods = [on_node("x", "a", 5), on_node("y", "b", 3)]
    preview = place(make_pod(cpu="3", **HIGH), [make_node("a"), make_node("b")], pods).preemption
    assert preview is not None
    assert (preview.candidates, preview.nodes, preview.decided_by) == (2, ("b",), "lowestTopPriority")
    assert [(victim.pod.name, victim.priority) for victim in preview.victims] == [("y", 3)]


def test_P5_wait_equals_grace_period_of_victims() -> None:
    pods = [on_node("x", "a", 5, terminationGracePeriodSeconds=120)]
    preview = place(make_pod(cpu="3", **HIGH), [make_node("a")], pods).preemption
    assert preview is not None
    assert preview.grace_seconds == 120


def test_P6_spared_lower_pods_have_a_reason() -> None:
    budget = {
        "metadata": {"name": "keep", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "low"}}},
        "status": {"disruptionsAllowed": 0},
    }
    pods = [on_node("x", "a", 5), on_node("y", "b", 3, labels={"app": "low"})]
    preview = place(
        make_pod(cpu="3", **HIGH), [make_node("a"), make_node("b")], pods, podDisruptionBudgets=[budget]
    ).preemption
    assert preview is not None
    assert preview.nodes == ("a",)
    (left,) = preview.left_alone
    assert (left.why, left.lowest, left.lowest_priority) == ("fewestPDBViolations", PodReference("default", "y"), 3)


def test_P7_best_effort_pod_preempts_guaranteed_pod() -> None:
    guaranteed: Any = on_node("x", "a", 1)
    resources = {"requests": {"cpu": "3", "memory": "1Gi"}, "limits": {"cpu": "3", "memory": "1Gi"}}
    guaranteed["spec"]["containers"][0]["resources"] = resources
    node: Any = make_node("a")
    node["status"]["allocatable"]["pods"] = "1"
    best_effort: Any = make_pod(**HIGH)
    best_effort["spec"]["containers"][0]["resources"] = {}
    preview = place(best_effort, [node], [guaranteed]).preemption
    assert preview is not None
    assert [(victim.pod.name, victim.qos_class) for victim in preview.victims] == [("x", "Guaranteed")]


def test_P2_never_policy_is_shown() -> None:
    pods = [on_node("x", "a", 5)]
    preview = place(make_pod(cpu="3", preemptionPolicy="Never", **HIGH), [make_node("a")], pods).preemption
    assert preview is not None
    assert (preview.not_eligible, preview.nodes) == ("not eligible due to preemptionPolicy=Never.", ())


def test_P4_cross_node_help_is_shown() -> None:
    zone = "topology.kubernetes.io/zone"
    term = {"topologyKey": zone, "labelSelector": {"matchLabels": {"app": "low"}}}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    nodes = [make_node("a", labels={zone: "z"}), make_node("b", labels={zone: "z"}, cpu="1")]
    low: Any = make_pod("low", on="b", labels={"app": "low"}, cpu="100m")
    preview = place(make_pod(cpu="3", affinity=anti, **HIGH), nodes, [low]).preemption
    assert preview is not None
    assert preview.nodes == ()
    assert preview.elsewhere is not None
    assert (preview.elsewhere.node, preview.elsewhere.elsewhere) == ("a", (PodOnNode("default", "low", "b"),))


def test_P5_nomination_names_leaving_pods_and_rivals() -> None:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    going: Any = on_node("x", "a", 1)
    going["metadata"] |= {"deletionTimestamp": "2026-01-01T10:00:30Z", "deletionGracePeriodSeconds": 30}
    going["spec"]["terminationGracePeriodSeconds"] = 30
    going["status"] = {"conditions": [condition]}
    own: Any = make_pod(cpu="3", **HIGH)
    own["status"] = {"nominatedNodeName": "a"}
    rival: Any = make_pod("rival", priority=20)
    nominated = place(own, [make_node("a")], [going, own, rival]).nominated
    assert nominated is not None
    assert (nominated.node, nominated.rivals) == ("a", (PodReference("default", "rival"),))
    (victim,) = nominated.victims
    assert (victim.pod.name, victim.gone_by) == ("x", "2026-01-01T10:00:30Z")


def test_P5_nomination_to_deleted_node_reserves_nothing() -> None:
    own: Any = make_pod(cpu="100", **HIGH)
    own["status"] = {"nominatedNodeName": "gone"}
    nominated = place(own, [make_node("a")], [own]).nominated
    assert nominated is not None
    assert not nominated.exists
    own["status"] = {"nominatedNodeName": "a"}
    there = place(own, [make_node("a")], [own]).nominated
    assert there is not None
    assert there.exists


def test_P5_fitting_nominated_node_wins_over_scores() -> None:
    own: Any = make_pod(**HIGH)
    own["status"] = {"nominatedNodeName": "small"}
    nodes = [make_node("small"), make_node("large", cpu="64", memory="256Gi")]
    placement = place(own, nodes, [own])
    assert (placement.best, placement.scores[0].node) == (("small",), "large")


def leaving(name: str, *, cpu: str = "3", priority: int = 1, until: str = "10:00:30", preempted: bool = True) -> Any:
    """A terminating pod on node ``a``."""
    pod: Any = make_pod(name, on="a", cpu=cpu, priority=priority)
    pod["metadata"]["deletionTimestamp"] = f"2026-01-01T{until}Z"
    if preempted:
        condition = raw_condition("DisruptionTarget", reason="PreemptionByScheduler")
        pod["status"] = {"conditions": [condition]}
    return pod


def nominated(pods: Sequence[Any], *, cpu: str = "3", node: Any = None) -> Placement:
    """The preview of a pod that is nominated to node ``a``."""
    own: Any = make_pod(cpu=cpu, **HIGH)
    own["status"] = {"nominatedNodeName": "a"}
    return place(own, [node or make_node("a")], [*pods, own])


def test_P5_pod_with_leaving_victims_only_waits() -> None:
    placement = nominated([leaving("x", cpu="2", until="10:00:50"), leaving("y", cpu="2")])
    found = placement.nominated
    assert found is not None
    assert [victim.pod.name for victim in found.going] == ["y", "x"]
    assert (found.under_way, found.rejected, found.others) == (True, (), ())
    # No other action is possible: nothing competes with the wait.
    assert [group.remedy for group in placement.rejected] == [None]


def test_P5_node_waits_for_other_leaving_pods() -> None:
    found = nominated([leaving("x", cpu="2"), leaving("y", cpu="2", preempted=False)]).nominated
    assert found is not None
    assert [other.pod.name for other in found.others] == ["y"]
    assert [victim.pod.name for victim in found.victims] == ["x"]
    assert found.under_way


def test_P5_node_fitting_without_victims_needs_no_others() -> None:
    found = nominated([leaving("x"), leaving("y", cpu="500m", preempted=False)]).nominated
    assert found is not None
    assert (found.others, found.under_way) == ((), True)


def test_P5_node_unfit_after_victims_end_has_a_reason() -> None:
    placement = nominated([leaving("x", cpu="1"), make_pod("stays", on="a", cpu="3", priority=20)])
    found = placement.nominated
    assert found is not None
    assert (found.rejected, found.under_way) == (("Insufficient cpu",), False)
    assert [group.remedy is None for group in placement.rejected] == [False]


def test_P5_nothing_ends_on_a_silent_node() -> None:
    node: Any = make_node("a")
    node["status"]["conditions"] = [raw_condition("Ready", "Unknown")]
    placement = nominated([leaving("x")], node=node)
    found = placement.nominated
    assert found is not None
    assert (found.silent, found.rejected, found.under_way) == (True, (), False)
    assert [group.remedy is None for group in placement.rejected] == [False]


def test_P5_no_time_is_known_on_a_virtual_kubelet() -> None:
    found = nominated([leaving("x")], node=make_node("a", labels={"type": "virtual-kubelet"})).nominated
    assert found is not None
    assert (found.victims[0].gone_by, found.under_way) == (None, True)


def test_P5_nomination_without_victims_is_no_wait() -> None:
    found = nominated([make_pod("stays", on="a", cpu="3", priority=20)]).nominated
    assert found is not None
    assert (found.under_way, found.reach) == (False, None)


HOST = "kubernetes.io/hostname"


def near(app: str) -> Any:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def no_room(pod: Any, nodes: Sequence[Any], pods: Sequence[Any], **lists: Any) -> Sequence[NoRoom]:
    preview = place(pod, nodes, pods, **lists).preemption
    assert preview is not None
    assert preview.nodes == ()
    return preview.no_room


def test_P4_affinity_to_victim_defeats_preemption() -> None:
    node = make_node("a", labels={HOST: "a"})
    pods = [on_node("needed", "a", 1, labels={"app": "low"}), make_pod("other", on="a", cpu="500m", priority=1)]
    (found,) = no_room(make_pod(cpu="3", affinity=near("low"), **HIGH), [node], pods)
    assert (found.plugin, found.needs) == ("InterPodAffinity", (PodReference("default", "needed"),))


def test_P4_affinity_to_remaining_pod_allows_preemption() -> None:
    node = make_node("a", labels={HOST: "a"})
    pods = [
        on_node("low", "a", 1, labels={"app": "low"}),
        make_pod("stays", on="a", cpu="500m", priority=20, labels={"app": "low"}),
    ]
    preview = place(make_pod(cpu="3", affinity=near("low"), **HIGH), [node], pods).preemption
    assert preview is not None
    assert (preview.nodes, preview.no_room) == (("a",), ())


def test_P4_non_candidate_node_has_reason_of_plugin() -> None:
    zone = "topology.kubernetes.io/zone"
    spread = {
        "maxSkew": 1,
        "topologyKey": zone,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    nodes = [make_node("a", labels={zone: "x"}), make_node("b", labels={zone: "y"}), make_node("c", labels={zone: "x"})]
    pods = [
        make_pod("web-1", on="a", cpu="100m", priority=10, labels={"app": "web"}),
        make_pod("low", on="a", cpu="100m", priority=1),
        on_node("stays", "b", 20),
    ]
    pod = make_pod(cpu="3", labels={"app": "web"}, topologySpreadConstraints=[spread], **HIGH)
    found = [(entry.plugin, entry.node, entry.nodes, entry.lower) for entry in no_room(pod, nodes, pods)]
    assert found == [("", "b", 2, 0), ("PodTopologySpread", "a", 1, 1)]
