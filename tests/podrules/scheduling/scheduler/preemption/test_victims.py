"""The victims of a node; the names of upstream's cases are kept (TestDryRunPreemption)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podrules.scheduling.scheduler.framework.answers import Code, Status
from tests.objects import raw_pod
from tests.podrules.scheduling.building import (
    HOST,
    Json,
    anti_affinity,
    bound_claim,
    make_budget,
    mounted,
    near,
    spread,
)
from tests.podrules.scheduling.scheduler.preemption.building import (
    DATA,
    HIGH,
    LARGE,
    LOW,
    MEDIUM,
    MID,
    SMALL,
    USES_DATA,
    VERY_LARGE,
    candidates_of,
    csi_node,
    csi_volume,
    looked_at,
    make_node,
    make_pod,
    preempted,
    victims_of,
)
from tests.table import row, table

NODES = [make_node("node1"), make_node("node2")]
FOO = {"app": "foo"}


@table(
    "pod, pods, expected",
    {
        "a pod that fits on both nodes when lower priority pods are preempted": row(
            make_pod("p", LARGE, HIGH),
            [make_pod("p1", LARGE, MID, on="node1"), make_pod("p2", LARGE, MID, on="node2")],
            {"node1": ["p1"], "node2": ["p2"]},
        ),
        "a pod that would fit on the nodes, but other pods running are higher priority": row(
            make_pod("p", LARGE, LOW),
            [make_pod("p1", LARGE, MID, on="node1"), make_pod("p2", LARGE, MID, on="node2")],
            {},
        ),
        "medium priority pod is preempted, but lower priority one stays as it is small": row(
            make_pod("p", LARGE, HIGH),
            [
                make_pod("p1.1", SMALL, LOW, on="node1"),
                make_pod("p1.2", LARGE, MID, on="node1"),
                make_pod("p2", LARGE, MID, on="node2"),
            ],
            {"node1": ["p1.2"], "node2": ["p2"]},
        ),
        "mixed priority pods are preempted": row(
            make_pod("p", LARGE, HIGH),
            [
                make_pod("p1.1", SMALL, MID, on="node1"),
                make_pod("p1.2", SMALL, LOW, on="node1"),
                make_pod("p1.3", MEDIUM, MID, on="node1"),
                make_pod("p1.4", SMALL, HIGH, on="node1"),
                make_pod("p2", LARGE, HIGH, on="node2"),
            ],
            # p1.1 is reprieved first; then neither p1.3 nor p1.2 fits.
            {"node1": ["p1.3", "p1.2"]},
        ),
        "mixed priority pods are preempted, pick later StartTime one when priorities are equal": row(
            make_pod("p", LARGE, HIGH),
            [
                make_pod("p1.1", SMALL, LOW, on="node1", start=5),
                make_pod("p1.2", SMALL, LOW, on="node1", start=4),
                make_pod("p1.3", MEDIUM, MID, on="node1", start=3),
                make_pod("p1.4", SMALL, HIGH, on="node1", start=2),
                make_pod("p2", LARGE, HIGH, on="node2", start=1),
            ],
            {"node1": ["p1.3", "p1.1"]},
        ),
    },
)
def test_room(pod: Json, pods: Sequence[Json], expected: Mapping[str, list[str]]) -> None:
    assert victims_of(preempted(pod, NODES, pods)) == expected


def test_pod_with_anti_affinity_is_preempted() -> None:
    away = anti_affinity(foo="")
    found = preempted(
        make_pod("p", SMALL, HIGH, labels={"foo": ""}),
        [make_node("node1"), make_node("node2", SMALL)],
        [
            make_pod("p1.1", SMALL, LOW, on="node1", labels={"foo": ""}, affinity=away),
            make_pod("p1.2", SMALL, MID, on="node1"),
            make_pod("p1.3", SMALL, HIGH, on="node1"),
            make_pod("p2", SMALL, HIGH, on="node2"),
        ],
    )
    assert victims_of(found) == {"node1": ["p1.1"]}


def test_preemption_resolves_topology_spread_failure() -> None:
    foo = {"foo": ""}
    constraints = [spread("zone", foo=""), spread(HOST, foo="")]
    found = preempted(
        make_pod("p", priority=HIGH, labels=foo, topologySpreadConstraints=constraints),
        [
            make_node("node-a", labels={"zone": "zone1"}),
            make_node("node-b", labels={"zone": "zone1"}),
            make_node("node-x", labels={"zone": "zone2"}),
        ],
        [
            make_pod("pod-a1", priority=MID, on="node-a", labels=foo),
            make_pod("pod-a2", priority=LOW, on="node-a", labels=foo),
            make_pod("pod-b1", priority=LOW, on="node-b", labels=foo),
            make_pod("pod-x1", priority=HIGH, on="node-x", labels=foo),
            make_pod("pod-x2", priority=HIGH, on="node-x", labels=foo),
        ],
    )
    assert victims_of(found) == {"node-a": ["pod-a2"], "node-b": ["pod-b1"]}


TWO = [make_pod(name, MEDIUM, MID, on="node1", labels=FOO, start=1) for name in ("p1.1", "p1.2")]


@table(
    "budgets, violations",
    {
        "preemption with violation of same pdb": row([make_budget(allowed=1)], 1),
        "the victim belongs to DisruptedPods": row([make_budget(allowed=1, disrupted=["p1.2"])], 0),
        "a budget of another namespace": row([make_budget(namespace="other")], 0),
        "an empty selector matches nothing": row([make_budget(selector={})], 0),
        "any of several budgets": row([make_budget("a", 2), make_budget("b", 1)], 1),
        "a victim of two budgets counts once": row([make_budget("a"), make_budget("b")], 2),
    },
)
def test_violations(budgets: Sequence[Json], violations: int) -> None:
    found = preempted(make_pod("p", VERY_LARGE, HIGH), NODES[:1], TWO, podDisruptionBudgets=budgets)
    assert victims_of(found) == {"node1": ["p1.1", "p1.2"]}
    assert candidates_of(found)["node1"].num_pdb_violations == violations


def test_disrupted_pod_is_a_non_violating_victim() -> None:
    third = make_pod("p1.3", "100m", MID, on="node1", labels=FOO, start=1)
    budgets = [make_budget(allowed=1, disrupted=["p1.3"])]
    found = preempted(make_pod("p", VERY_LARGE, HIGH), NODES[:1], [*TWO, third], podDisruptionBudgets=budgets)
    candidate = candidates_of(found)["node1"]
    assert candidate.num_pdb_violations == 1
    assert [victim.pod.metadata.name for victim in candidate.victims if victim.violates] == ["p1.2"]
    assert candidate.victims[1].violates[0].metadata.name == "pdb"


def test_P4_violating_victims_are_reprieved_first() -> None:
    """One of two pods can stay: the less important one does, because a budget protects it."""
    guarded = make_pod("guarded", LARGE, LOW, on="node1", labels=FOO)
    important = make_pod("important", LARGE, MID, on="node1")
    node = make_node("node1", "600m")
    pod = make_pod("p", LARGE, HIGH)
    assert victims_of(preempted(pod, [node], [guarded, important])) == {"node1": ["guarded"]}
    found = preempted(pod, [node], [guarded, important], podDisruptionBudgets=[make_budget()])
    assert victims_of(found) == {"node1": ["important"]}
    assert candidates_of(found)["node1"].num_pdb_violations == 0


def test_P4_pods_are_put_back_by_priority_then_by_start() -> None:
    """Two of four equal pods can stay: the most important one, then the oldest of the next."""
    pods = [
        make_pod("low", SMALL, LOW, on="node1", start=1),
        make_pod("young", SMALL, MID, on="node1", start=9),
        make_pod("old", SMALL, MID, on="node1", start=2),
        make_pod("top", SMALL, HIGH - 1, on="node1", start=8),
    ]
    found = preempted(make_pod("p", MEDIUM, HIGH), [make_node("node1", "400m")], pods)
    assert victims_of(found) == {"node1": ["young", "low"]}


def test_P4_unstarted_pod_is_preempted_first() -> None:
    pods = [make_pod("starting", SMALL, MID, on="node1"), make_pod("running", SMALL, MID, on="node1", start=1)]
    found = preempted(make_pod("p", SMALL, HIGH), [make_node("node1", MEDIUM)], pods)
    assert victims_of(found) == {"node1": ["starting"]}


def test_P4_budgets_are_best_effort() -> None:
    """A budget that allows no disruption prevents no preemption."""
    found = preempted(make_pod("p", VERY_LARGE, HIGH), NODES[:1], TWO, podDisruptionBudgets=[make_budget()])
    assert found.status.ok
    assert victims_of(found) == {"node1": ["p1.1", "p1.2"]}
    assert candidates_of(found)["node1"].num_pdb_violations == 2


def test_P4_affinity_to_a_lower_priority_pod_defeats_preemption() -> None:
    """Without the friend the pod would no longer match the node, although another pod could be preempted instead."""
    friend = make_pod("friend", SMALL, LOW, on="node1", labels=FOO)
    big = make_pod("big", LARGE, LOW, on="node1")
    pod = make_pod("p", LARGE, HIGH, affinity=near(**FOO))
    found = preempted(pod, NODES[:1], [friend, big])
    assert victims_of(found) == {}
    reason = ("node(s) didn't match pod affinity rules",)
    rejection = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reason, "InterPodAffinity")
    assert looked_at(found).no_candidate == {"node1": rejection}
    # Affinity to a pod of the same priority still counts.
    friend = make_pod("friend", SMALL, HIGH, on="node1", labels=FOO)
    assert victims_of(preempted(pod, NODES[:1], [friend, big])) == {"node1": ["big"]}


def test_P4_pod_of_same_priority_is_not_preempted() -> None:
    found = preempted(make_pod("p", LARGE, MID), NODES[:1], [make_pod("p1", LARGE, MID, on="node1")])
    assert looked_at(found).no_candidate["node1"].reasons == ("No preemption victims found for incoming pod",)


def test_pod_without_a_priority_counts_as_0() -> None:
    pods = [make_pod("p1", LARGE, on="node1")]
    assert victims_of(preempted(make_pod("p", LARGE, 1), NODES[:1], pods)) == {"node1": ["p1"]}
    assert victims_of(preempted(make_pod("p", LARGE), NODES[:1], pods)) == {}


def test_host_ports_are_freed() -> None:
    def with_port(name: str, priority: int, port: int, *, on: str = "") -> Json:
        containers = [{"name": "app", "ports": [{"hostPort": port}]}]
        return raw_pod(name, "default", uid=name, containers=containers, nodeName=on, priority=priority)

    pods = [with_port("web", LOW, 80, on="node1"), with_port("other", LOW, 81, on="node1")]
    assert victims_of(preempted(with_port("p", HIGH, 80), NODES[:1], pods)) == {"node1": ["web"]}


def test_claim_for_one_pod_is_freed_on_its_node() -> None:
    user = make_pod("user", priority=LOW, on="node1", volumes=USES_DATA)
    idle = make_pod("idle", priority=LOW, on="node2")
    found = preempted(make_pod("p", priority=HIGH, volumes=USES_DATA), NODES, [user, idle], **DATA)
    assert victims_of(found) == {"node1": ["user"]}
    assert looked_at(found).no_candidate["node2"].plugin == "VolumeRestrictions"


def test_attached_volumes_are_freed() -> None:
    names = ["mine", "a", "b"]
    found = preempted(
        make_pod("p", priority=HIGH, volumes=[mounted("mine")]),
        NODES[:1],
        [
            make_pod("one", priority=LOW, on="node1", volumes=[mounted("a")], start=1),
            make_pod("two", priority=LOW, on="node1", volumes=[mounted("b")], start=2),
        ],
        csiNodes=[csi_node("node1", 2)],
        persistentVolumeClaims=[bound_claim(name, f"pv-{name}") for name in names],
        persistentVolumes=[csi_volume(f"pv-{name}") for name in names],
    )
    assert victims_of(found) == {"node1": ["two"]}
