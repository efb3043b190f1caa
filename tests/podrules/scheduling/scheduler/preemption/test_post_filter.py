"""The result for a pod that fits nowhere: who may preempt, the message, and the nomination."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.api.features import Features
from podrules.scheduling.scheduler.framework.answers import Code, Status
from podrules.scheduling.scheduler.preemption import PostFilter
from podrules.scheduling.scheduler.runtime import Framework, new_framework
from tests.features import around
from tests.podrules.scheduling.building import PREEMPTED, Json, bound_claim, mounted, read_profile
from tests.podrules.scheduling.scheduler.preemption.building import (
    HIGH,
    LARGE,
    LOW,
    MID,
    VERY_HIGH,
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

PREEMPTOR = make_pod("p", LARGE, HIGH)
NODE, P1 = [make_node("node1")], [make_pod("p1", LARGE, MID, on="node1")]
NEVER = make_pod("p", LARGE, HIGH, preemptionPolicy="Never")
ARGS_KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "DefaultPreemptionArgs"}
TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}


def framework(*, args: Json | None = None, **plugins: Any) -> Framework:
    typed = [] if args is None else [{"name": "DefaultPreemption", "args": {**ARGS_KIND, **args}}]
    return new_framework(read_profile(plugins=plugins, pluginConfig=typed))


def said(found: PostFilter) -> str:
    """The sentence that DefaultPreemption adds."""
    (reason,) = found.status.reasons
    return reason


def test_P4_nomination_drops_reasons_of_other_plugins() -> None:
    found = preempted(PREEMPTOR, NODE, P1)
    reason = "preemption: found a potential placement for pod on node node1, preempting 1 victims"
    assert found.status == Status(Code.SUCCESS, (reason,))
    assert found.nominated_node_name == "node1"
    assert found.message == f"0/1 nodes are available: 1 Insufficient cpu. {reason}"
    assert [candidate.node for candidate in found.best] == ["node1"]


def test_P4_any_of_tied_nodes_is_nominated() -> None:
    pods = [make_pod(f"p{number}", LARGE, MID, on=f"node{number}", start=1) for number in (1, 2)]
    found = preempted(PREEMPTOR, [make_node("node1"), make_node("node2")], pods)
    assert found.nominates == ("node1", "node2")
    assert found.nominated_node_name is None


def test_P4_unresolvable_nodes_are_not_tried() -> None:
    found = preempted(
        make_pod("p", VERY_LARGE, HIGH),
        [make_node("tainted", taints=[TAINT]), make_node("small", LARGE), make_node("node1")],
        [make_pod(f"on-{name}", LARGE, MID, on=name) for name in ("tainted", "small", "node1")],
    )
    assert looked_at(found).potential_nodes == ("node1",)


@table(
    "node, pods, reason",
    {
        "pod with tied priority is still unschedulable": row(
            make_node("node1"),
            [make_pod("p1", LARGE, HIGH, on="node1")],
            "1 No preemption victims found for incoming pod",
        ),
        "preemption should respect filteredNodesStatuses": row(
            make_node("node1", taints=[TAINT]),
            [make_pod("p1", LARGE, LOW, on="node1")],
            "1 Preemption is not helpful for scheduling",
        ),
        "no enough resource after removing low priority pods": row(
            make_node("node1"),
            [make_pod("p1", LARGE, HIGH, on="node1"), make_pod("p2", "1m", LOW, on="node1")],
            "1 Insufficient cpu",
        ),
    },
)
def test_no_candidate_clears_the_nomination(node: Json, pods: list[Json], reason: str) -> None:
    found = preempted(PREEMPTOR, [node], pods)
    assert said(found) == f"preemption: 0/1 nodes are available: {reason}."
    assert found.status.code is Code.UNSCHEDULABLE
    assert found.status.plugin == "DynamicResources"
    assert found.nominated_node_name == ""


def test_reasons_are_counted_as_those_of_filter_are() -> None:
    found = preempted(
        PREEMPTOR,
        [make_node("node1"), make_node("node2"), make_node("node3"), make_node("node4", taints=[TAINT])],
        [
            make_pod("p1", LARGE, HIGH, on="node1"),
            make_pod("p2", LARGE, HIGH, on="node2"),
            make_pod("low", "1m", LOW, on="node2"),
            make_pod("p3", LARGE, HIGH, on="node3"),
        ],
    )
    assert found.message == (
        "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 Insufficient cpu. "
        "preemption: 0/4 nodes are available: 1 Insufficient cpu, "
        "1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod."
    )


def test_P2_pod_that_never_preempts_waits() -> None:
    pod = make_pod("p", LARGE, HIGH, preemptionPolicy="Never", nominated="node1")
    found = preempted(pod, NODE, P1)
    assert said(found) == "preemption: not eligible due to preemptionPolicy=Never."
    assert looked_at(found).not_eligible == "not eligible due to preemptionPolicy=Never."
    assert looked_at(found).potential_nodes == ("node1",)
    assert found.nominates is None


def test_P2_pod_that_never_preempts_can_be_preempted() -> None:
    modest = make_pod("modest", LARGE, MID, on="node1", preemptionPolicy="Never")
    assert victims_of(preempted(PREEMPTOR, [make_node("node1")], [modest])) == {"node1": ["modest"]}


def test_P2_preempt_lower_priority_is_the_default() -> None:
    pod = make_pod("p", LARGE, HIGH, preemptionPolicy="PreemptLowerPriority")
    assert preempted(pod, NODE, P1).status.ok


def terminating(priority: int = MID, **fields: Any) -> Json:
    return make_pod("p1", LARGE, priority, on="node1", **{"deleted": True, "conditions": [PREEMPTED], **fields})


@table(
    "victim, node, eligible",
    {
        "preemption victim pod terminating, as indicated by the dedicated DisruptionTarget condition": row(
            terminating(), make_node("node1"), False
        ),
        "non-victim Pods terminating": row(terminating(conditions=[]), make_node("node1"), True),
        "a victim that is not terminating yet": row(terminating(deleted=False), make_node("node1"), True),
        "someone else's victim": row(
            terminating(conditions=[{**PREEMPTED, "reason": "EvictionByEvictionAPI"}]), make_node("node1"), True
        ),
        "a victim that this pod could not preempt": row(terminating(HIGH), make_node("node1"), True),
        "Pod with nominated node": row(terminating(), make_node("node1", taints=[TAINT]), True),
    },
)
def test_P5_no_further_preemption_while_victims_terminate(victim: Json, node: Json, eligible: bool) -> None:
    pod = make_pod("p", LARGE, HIGH, nominated="node1")
    other = make_pod("p2", LARGE, MID, on="node2")
    found = preempted(pod, [node, make_node("node2")], [victim, other])
    assert found.status.ok is eligible
    if not eligible:
        assert said(found) == "preemption: not eligible due to a terminating pod on the nominated node."
        assert found.nominates is None


def test_P5_nomination_to_deleted_node_does_not_count() -> None:
    pod = make_pod("p", LARGE, HIGH, nominated="gone")
    assert preempted(pod, NODE, P1).status.ok


def test_P5_node_is_reserved_for_pods_nominated_to_it() -> None:
    """A pod with higher precedence already has the room that one victim frees."""
    pods = [make_pod("p1", LARGE, MID, on="node1"), make_pod("waiting", LARGE, HIGH, nominated="node1")]
    found = preempted(PREEMPTOR, [make_node("node1")], pods)
    assert looked_at(found).no_candidate["node1"].reasons == ("Insufficient cpu",)


def test_P5_higher_priority_pod_replaces_nominated_pod() -> None:
    pods = [make_pod("p1", LARGE, MID, on="node1"), make_pod("waiting", LARGE, HIGH, nominated="node1")]
    found = preempted(make_pod("p", LARGE, VERY_HIGH), [make_node("node1")], pods)
    assert victims_of(found) == {"node1": ["p1"]}


def test_P5_victims_grace_periods_are_the_gap() -> None:
    pods = [
        make_pod("quick", "100m", MID, on="node1", terminationGracePeriodSeconds=5),
        make_pod("slow", "100m", MID, on="node1", terminationGracePeriodSeconds=600),
        make_pod("unsaid", "300m", MID, on="node1"),
    ]
    found = preempted(make_pod("p", VERY_LARGE, HIGH), [make_node("node1")], pods)
    assert candidates_of(found)["node1"].grace_seconds == 600
    assert candidates_of(preempted(PREEMPTOR, [make_node("node1")], pods))["node1"].grace_seconds == 30


def test_P5_terminating_victim_keeps_its_grace_period() -> None:
    going = dict(make_pod("going", VERY_LARGE, MID, on="node1", deleted=True, terminationGracePeriodSeconds=600))
    going["metadata"] = {**going["metadata"], "deletionGracePeriodSeconds": 7}
    found = preempted(make_pod("p", VERY_LARGE, HIGH), [make_node("node1")], [going])
    assert candidates_of(found)["node1"].grace_seconds == 7


def test_early_pre_filter_end_prevents_preemption() -> None:
    pod = make_pod("p", LARGE, HIGH, volumes=[mounted("missing")])
    found = preempted(pod, NODE, P1)
    assert found.status == Status(Code.ERROR, ("not found",), "DynamicResources")
    assert found.preemption is None
    assert found.nominates is None
    assert found.message == '0/1 nodes are available: persistentvolumeclaim "missing" not found. not found'


def test_only_preemption_reports_without_dynamic_resources() -> None:
    given: list[dict[str, Any]] = [
        {"features": Features.of_minor(33)},
        {"framework": framework(postFilter={"disabled": [{"name": "DynamicResources"}]})},
    ]
    for setting in given:
        found = preempted(NEVER, NODE, P1, **setting)
        assert found.status.reasons == ("preemption: not eligible due to preemptionPolicy=Never.",)
        assert found.status.plugin == "DefaultPreemption"


def test_no_pod_is_preempted_without_default_preemption() -> None:
    setting = framework(postFilter={"disabled": [{"name": "DefaultPreemption"}]})
    found = preempted(PREEMPTOR, NODE, P1, framework=setting)
    assert found.status.reasons == ()
    assert found.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert found.preemption is None


def test_idle_plugin_reports_until_1_36() -> None:
    before, _ = around("dra_quiet_post_filter")
    setting = {"framework": framework(postFilter={"disabled": [{"name": "DefaultPreemption"}]})}
    alone = preempted(PREEMPTOR, NODE, P1, features=before, **setting)
    assert alone.message == "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate"
    both = preempted(NEVER, NODE, P1, features=before)
    assert both.status.plugin == "DynamicResources"
    assert both.status.reasons == (
        "no new claims to deallocate",
        "preemption: not eligible due to preemptionPolicy=Never.",
    )


def test_no_plugin_clears_the_nomination() -> None:
    setting = framework(postFilter={"disabled": [{"name": "*"}]})
    found = preempted(PREEMPTOR, NODE, P1, framework=setting)
    assert found.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert found.nominated_node_name == ""
    assert found.preemption is None


@table(
    "args, enough, samples",
    {
        "a small cluster is tried completely": row(None, 5, False),
        "limits to 2": row({"minCandidateNodesPercentage": 40, "minCandidateNodesAbsolute": 1}, 2, True),
    },
)
def test_P4_candidates_are_complete_and_sampling_is_shown(args: Json | None, enough: int, samples: bool) -> None:
    names = [f"node{number}" for number in range(5)]
    pods = [make_pod(f"on-{name}", LARGE, MID, on=name) for name in names]
    found = preempted(PREEMPTOR, [make_node(name) for name in names], pods, framework=framework(args=args))
    assert len(looked_at(found).candidates) == 5
    assert looked_at(found).num_candidates == enough
    assert looked_at(found).samples is samples


def test_arguments_may_allow_no_candidate() -> None:
    setting = framework(args={"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 0})
    found = preempted(PREEMPTOR, NODE, P1, framework=setting)
    assert said(found) == ("preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.")


@pytest.mark.parametrize("elsewhere", [True, False])
def test_error_counts_only_without_candidate(elsewhere: bool) -> None:
    """The volumes of a pod that stays on node1 are unknown, which matters only once there is room."""
    pods = [
        make_pod("odd", on="node1", priority=HIGH, volumes=[{"name": "data", "ephemeral": {}}]),
        make_pod("p1", LARGE, MID, on="node1"),
        make_pod("p2", LARGE, MID if elsewhere else HIGH, on="node2"),
    ]
    found = preempted(
        make_pod("p", LARGE, HIGH, volumes=[mounted("mine")]),
        [make_node("node1"), make_node("node2")],
        pods,
        csiNodes=[csi_node("node1", 1)],
        persistentVolumeClaims=[bound_claim("mine", "pv"), bound_claim("odd-data", "")],
        persistentVolumes=[csi_volume("pv")],
    )
    problem = (
        'running "NodeVolumeLimits" filter plugin: PVC default/odd-data was not created for pod default/odd '
        "(pod is not owner)"
    )
    assert looked_at(found).error == problem
    if elsewhere:
        assert found.nominated_node_name == "node2"
    else:
        assert found.status == Status(Code.ERROR, (f"preemption: {problem}",), "DefaultPreemption")
        assert found.nominates is None
