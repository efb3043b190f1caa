"""Several replicas placed one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from podrules.api.model.pod import PodReference
from podrules.scheduling.placement.outcome import Placement, PlacementOutcome, Remedy
from podrules.scheduling.placement.plan import PlanCluster, plan
from podrules.scheduling.placement.planned import PlannedSpec
from podrules.scheduling.scheduler.framework.answers import ChangeKind
from podrules.scheduling.scheduler.runtime import new_framework
from tests.objects import raw_condition
from tests.podrules.scheduling.building import ZONE, Json, anti_affinity, make_budget, read_profile, spread
from tests.podrules.scheduling.placement.building import (
    make_host,
    make_node,
    make_pod,
    make_taint,
    placement_request,
    situation,
    zoned,
)
from tests.table import row, table

A, B = make_node("a"), make_node("b")
HIGH = make_pod(cpu="3", priority=10)
OLD = {"app": "old"}
TAINT = make_taint("team", "b")


def placed(
    *specs: tuple[Json, int | None],
    nodes: Sequence[Json],
    pods: Sequence[Json] = (),
    preemption: bool = True,
    **lists: Any,
) -> tuple[PlannedSpec, ...]:
    first = situation(specs[0][0], nodes, pods, **lists)
    requests = [
        placement_request(
            f"deployment/{pod['metadata']['name']}", replace(first, pod=situation(pod, nodes).pod), replicas
        )
        for pod, replicas in specs
    ]
    return plan(requests, PlanCluster.of(first), preemption=preemption)


def test_each_replica_is_seen_by_the_next() -> None:
    (found,) = placed((make_pod(cpu="3"), 4), nodes=[A, B])
    assert (found.placed, found.nodes) == (2, {"a": 1, "b": 1})
    assert stopped_of(found).message == "0/2 nodes are available: 2 Insufficient cpu."


def test_as_many_as_fit() -> None:
    (found,) = placed((make_pod(cpu="1"), None), nodes=[make_node("a", cpu="5"), make_node("b", cpu="2")])
    assert (found.wanted, found.placed, found.limit) == (None, 7, None)
    assert found.stopped is not None


def stopped_of(found: PlannedSpec) -> Placement:
    assert found.stopped is not None
    return found.stopped


def remedies_of(found: PlannedSpec) -> list[Remedy]:
    return [group.remedy for group in stopped_of(found).rejected if group.remedy is not None]


def kinds_of_remedies(found: PlannedSpec) -> list[ChangeKind]:
    return [change.kind for remedy in remedies_of(found) for change in remedy.changes]


@table(
    "cpu, taint, replicas, helped",
    {
        "room for one is made": row("3", {}, 4, (1, 3)),
        "some fit there": row("1", TAINT, 9, (3, 5)),
        "all fit there": row("1", TAINT, 6, (2, 2)),
        "one waits": row("1", TAINT, 5, (None, 1)),
        "too many to count": row("1", TAINT, 99, (None, 95)),
    },
)
def test_remedy_counts_the_replicas_that_it_helps(
    cpu: str, taint: Json, replicas: int, helped: tuple[int | None, int]
) -> None:
    nodes = [make_node("a"), *([make_node("b", cpu="3", taints=[taint])] if taint else [])]
    (found,) = placed((make_pod(cpu=cpu), replicas), nodes=nodes)
    assert (remedies_of(found)[-1].helped, remedies_of(found)[-1].waiting) == helped


def test_replicas_with_claims_of_their_own_are_not_counted() -> None:
    volumes = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}}]
    (found,) = placed((make_pod(cpu="3", volumes=volumes), 4), nodes=[make_node("a", cpu="1")])
    assert all(remedy.helped is None for remedy in remedies_of(found))


def test_no_remedy_stops_a_pod_placed_here() -> None:
    """The pod does not exist yet, and the next would only take its place."""
    apart = make_pod(labels={"app": "web"}, affinity=anti_affinity(app="web"))
    node = make_host("a")
    (found,) = placed((apart, None), nodes=[node])
    assert (found.placed, kinds_of_remedies(found)) == (1, [ChangeKind.ADD_NODE])
    other = make_pod("other", on="a", labels={"app": "web"})
    (found,) = placed((apart, None), nodes=[node], pods=[other])
    assert (found.placed, kinds_of_remedies(found)) == (0, [ChangeKind.REMOVE_PODS])


def test_no_remedy_frees_room_placed_here() -> None:
    pod = make_pod(memory="5Gi")
    (found,) = placed((pod, None), nodes=[A])
    assert (found.placed, kinds_of_remedies(found)) == (1, [ChangeKind.ENLARGE])
    (found,) = placed((pod, None), nodes=[A], pods=[make_pod("other", on="a", memory="5Gi")])
    assert (found.placed, kinds_of_remedies(found)) == (0, [ChangeKind.FREE])


def test_hard_spread_keeps_zones_level() -> None:
    nodes = [zoned("a1", "a"), zoned("a2", "a"), zoned("b1", "b")]
    pod = make_pod(cpu="100m", memory="1Mi", labels={"app": "web"}, topologySpreadConstraints=[spread(ZONE, app="web")])
    (found,) = placed((pod, 6), nodes=nodes)
    assert found.zones == {"a": 3, "b": 3}
    (achieved,) = found.spread
    assert (achieved.skew, [domain.matching for domain in achieved.domains]) == (0, [3, 3])


def test_P3_higher_priority_is_placed_first() -> None:
    low, high = make_pod("low", cpu="3"), make_pod("high", cpu="3", priority=10)
    found = placed((low, 1), (high, 1), nodes=[A], preemption=False)
    assert [(spec.name, spec.placed) for spec in found] == [("deployment/high", 1), ("deployment/low", 0)]


def test_P3_equal_priority_keeps_the_given_order() -> None:
    first, second = make_pod("first", cpu="3"), make_pod("second", cpu="3")
    found = placed((first, 1), (second, 1), nodes=[A])
    assert [(spec.name, spec.placed) for spec in found] == [("deployment/first", 1), ("deployment/second", 0)]


def test_P4_lower_pods_are_preempted_if_allowed() -> None:
    old = make_pod("old", on="a", cpu="3", priority=1)
    wanted = make_pod(cpu="3", priority=10)
    (kept,) = placed((wanted, 1), nodes=[A], pods=[old], preemption=False)
    assert (kept.placed, kept.victims) == (0, ())
    (found,) = placed((wanted, 2), nodes=[A], pods=[old])
    assert found.placed == 1
    assert [victim.pod for victim in found.victims] == [PodReference("default", "old")]
    assert stopped_of(found).outcome is PlacementOutcome.UNSCHEDULABLE


def test_P4_fit_without_preemption_is_counted() -> None:
    old = make_pod("old", on="a", cpu="3", priority=1)
    wanted = make_pod(cpu="1500m", priority=10)
    (found,) = placed((wanted, None), nodes=[A, B], pods=[old])
    assert (found.without_preemption, found.placed, len(found.victims)) == (2, 4, 1)
    (kept,) = placed((wanted, None), nodes=[A, B], pods=[old], preemption=False)
    assert (kept.without_preemption, kept.placed) == (2, 2)


def test_P4_fit_without_preemption_ignores_freed_room() -> None:
    old = make_pod("old", on="a", cpu="4", priority=1)
    first, second = make_pod("first", cpu="2", priority=10), make_pod("second", cpu="2", priority=10)
    specs = placed((first, 1), (second, 1), nodes=[A], pods=[old])
    assert [(spec.placed, len(spec.victims), spec.without_preemption) for spec in specs] == [(1, 1, 0), (1, 0, 0)]


def test_P2_never_preempts() -> None:
    old = make_pod("old", on="a", cpu="3", priority=1)
    wanted = make_pod(cpu="3", priority=10, preemptionPolicy="Never")
    (found,) = placed((wanted, 1), nodes=[A], pods=[old])
    assert (found.placed, found.victims) == (0, ())


def test_violated_budgets_are_named() -> None:
    old = make_pod("old", on="a", cpu="3", priority=1, labels=OLD)
    budgets = [make_budget("keep", app="old")]
    (found,) = placed((HIGH, 1), nodes=[A], pods=[old], podDisruptionBudgets=budgets)
    assert found.victims[0].violates == ("default/keep",)


def test_each_victim_takes_from_its_budget() -> None:
    ready = {"conditions": [raw_condition("Ready")]}
    old = [make_pod(f"old-{node}", on=node, cpu="3", priority=1, labels=OLD, status=ready) for node in "ab"]
    first, second = (make_pod(name, cpu="3", priority=10) for name in ("first", "second"))
    budgets = [make_budget("keep", 1, app="old")]
    found = placed((first, 1), (second, 1), nodes=[A, B], pods=old, podDisruptionBudgets=budgets)
    assert [victim.violates for spec in found for victim in spec.victims] == [(), ("default/keep",)]


def test_victims_that_were_not_ready_take_nothing_from_a_budget() -> None:
    old = [make_pod(f"old-{node}", on=node, cpu="3", priority=1, labels=OLD) for node in "ab"]
    budgets = [make_budget("keep", 1, app="old")]
    (found,) = placed((HIGH, 2), nodes=[A, B], pods=old, podDisruptionBudgets=budgets)
    assert [victim.violates for victim in found.victims] == [(), ()]


def test_pods_of_the_revision_before_do_not_count() -> None:
    """MatchLabelKeys: a Deployment's new pods have another hash than the running ones."""
    nodes = [zoned("a1", "a"), zoned("b1", "b")]
    old = [make_pod(f"old-{number}", on="a1", labels={"app": "web", "pod-template-hash": "5f6c"}) for number in "12"]
    by_revision = {**spread(ZONE, app="web"), "matchLabelKeys": ["pod-template-hash"]}
    pod = make_pod(cpu="100m", memory="1Mi", labels={"app": "web"}, topologySpreadConstraints=[by_revision])
    (found,) = placed((pod, 4), nodes=nodes, pods=old)
    assert found.zones == {"a": 2, "b": 2}
    assert [domain.matching for domain in found.spread[0].domains] == [2, 2]


def test_gated_pod_is_not_placed() -> None:
    (found,) = placed((make_pod(schedulingGates=[{"name": "quota"}]), 2), nodes=[A])
    assert found.placed == 0
    assert stopped_of(found).outcome is PlacementOutcome.HELD


def test_failing_plugin_ends_its_spec_without_preemption() -> None:
    """If its PreScore is disabled, TaintToleration cannot score (`podrules.scheduling.scheduler.runtime`)."""
    framework = new_framework(read_profile(plugins={"preScore": {"disabled": [{"name": "TaintToleration"}]}}))
    old = make_pod("old", on="a", cpu="1", priority=1)
    before = replace(situation(make_pod(priority=10), [A, B], [old]), framework=framework)
    (found,) = plan([placement_request("deployment/web", before, 2)], PlanCluster.of(before), preemption=True)
    assert (found.placed, found.victims) == (0, ())
    assert 'plugin "TaintToleration" failed' in stopped_of(found).message


def test_nothing_is_placed_without_nodes() -> None:
    (found,) = placed((make_pod(), None), nodes=[])
    assert (found.placed, found.nodes, found.zones) == (0, {}, {})
    assert stopped_of(found).message == "no nodes available to schedule pods"


def test_search_for_more_replicas_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podrules.scheduling.placement.plan.MAX_REPLICAS", 5)
    first, second = (make_pod(name, cpu="10m", memory="1Mi") for name in "ab")
    found = placed((first, None), (second, 7), nodes=[A])
    assert [(spec.placed, spec.limit, spec.stopped) for spec in found] == [(5, 5, None), (7, None, None)]
