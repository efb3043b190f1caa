"""The nodes on which a DaemonSet runs: its controller's choice, and the scheduler's placement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pytest
from msgspec.structs import replace

from podrules.api.model.decode import from_object
from podrules.api.model.selectors import Toleration
from podrules.api.model.workload import UpdateStrategy
from podrules.pod.tolerations import daemon_tolerations, with_daemon_tolerations
from podrules.scheduling.placement.controllers import OwnPods
from podrules.scheduling.placement.daemon_sets import Existing, chosen_nodes, existing_pods
from podrules.scheduling.placement.plan import PlanCluster, plan
from podrules.scheduling.placement.planned import DaemonNodes, PlannedSpec
from podrules.scheduling.placement.situation import Situation
from tests.podrules.scheduling.building import Json, node_affinity, owned
from tests.podrules.scheduling.placement.building import make_node, make_pod, make_taint, placement_request, situation

OWN: Final = {"type": "production"}
"""The labels of upstream's test-node."""


def daemon(nodes: Sequence[Json], pods: Sequence[Json] = (), **pod: Any) -> Situation:
    """The pod of a DaemonSet with its cluster and the tolerations that its controller adds."""
    found = situation(make_pod("agent", **pod), nodes, pods)
    spec = found.pod.spec
    tolerations = with_daemon_tolerations(spec.tolerations, host_network=spec.host_network)
    return replace(found, pod=replace(found.pod, spec=replace(spec, tolerations=tolerations)))


def placed(
    nodes: Sequence[Json],
    pods: Sequence[Json] = (),
    existing: Existing = Existing.KEPT,
    *,
    preemption: bool = True,
    **pod: Any,
) -> PlannedSpec:
    at = daemon(nodes, pods, **pod)
    own = tuple(OwnPods("daemonset", at.pod.metadata).unfinished(at.snapshot.pods))
    request = placement_request("daemonset/agent", at, None, existing=existing, daemons=own)
    return plan([request], PlanCluster.of(at), preemption=preemption)[0]


def nodes_of(spec: PlannedSpec) -> DaemonNodes:
    assert spec.daemon is not None
    return spec.daemon


def own_pod(name: str, on: str, **more: Any) -> Json:
    """An existing pod of the DaemonSet."""
    pod: Json = owned(make_pod(name, on=on, **more), "DaemonSet", "agent")
    return pod


@pytest.mark.parametrize(
    ("case", "node", "pod", "runs", "stays"),
    [
        ("ShouldRunDaemonPod", {}, {}, True, True),
        ("InsufficientResourceError", {}, {"cpu": "64"}, True, True),
        ("ErrPodNotMatchHostName", {}, {"on": "other-node"}, False, False),
        ("ErrNodeSelectorNotMatch", {}, {"nodeSelector": {"type": "test"}}, False, False),
        ("ShouldRunDaemonPod", {}, {"nodeSelector": OWN}, True, True),
        ("ErrPodAffinityNotMatch", {}, {"affinity": node_affinity("type", "In", "test")}, False, False),
        ("ShouldRunDaemonPod", {}, {"affinity": node_affinity("type", "In", "production")}, True, True),
        (
            "ShouldRunDaemonPodOnUnschedulableNode",
            {"unschedulable": True, "taints": [make_taint("node.kubernetes.io/unschedulable")]},
            {},
            True,
            True,
        ),
        ("a NoSchedule taint", {"taints": [make_taint("gpu")]}, {}, False, True),
        ("a NoExecute taint", {"taints": [make_taint("gpu", effect="NoExecute")]}, {}, False, False),
        ("a PreferNoSchedule taint", {"taints": [make_taint("gpu", effect="PreferNoSchedule")]}, {}, True, True),
        ("a node that is not ready", {"taints": [make_taint("node.kubernetes.io/not-ready")]}, {}, False, True),
        ("its own toleration", {"taints": [make_taint("gpu")]}, {"tolerations": [{"operator": "Exists"}]}, True, True),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_nodes_that_the_controller_selects(case: str, node: Json, pod: Json, runs: bool, stays: bool) -> None:
    """Upstream's TestNodeShouldRunDaemonPod, with its names, and taints."""
    chosen = chosen_nodes(daemon([make_node("test-node", labels=OWN, **node)], **pod))
    assert (bool(chosen.runs[0]), bool(chosen.stays[0])) == (runs, stays), case


def test_tolerations_that_its_controller_adds() -> None:
    """A toleration of the author that ends is extended to no end; others keep their places."""
    limited = Toleration("node.kubernetes.io/unreachable", "Exists", "", "NoExecute", 60)
    other = Toleration("node.kubernetes.io/not-ready", "Exists", "", "NoSchedule", None)
    found = with_daemon_tolerations((limited, other), host_network=True)
    added = daemon_tolerations(host_network=True)
    assert found[:2] == (replace(limited, toleration_seconds=None), other)
    assert set(found[2:]) == set(added) - {found[0]}
    assert len(added) == 7


def test_pod_on_each_node_or_the_reason() -> None:
    nodes = [
        make_node("a"),
        make_node("full"),
        make_node("gpu", taints=[make_taint("gpu")]),
        make_node("hdd", labels={"disk": "hdd"}),
    ]
    ssd = node_affinity("disk", "NotIn", "hdd")
    found = placed(nodes, [make_pod("big", on="full", cpu="4")], affinity=ssd)
    assert (found.wanted, found.placed, found.nodes) == (2, 1, {"a": 1})
    assert found.stopped is not None
    ((pending,), without) = (found.stopped.rejected, nodes_of(found).without)
    assert (pending.plugin, pending.reasons) == ("NodeResourcesFit", ("Insufficient cpu",))
    assert [node.node for node in pending.nodes] == ["full"]
    assert {group.plugin: [node.node for node in group.nodes] for group in without} == {
        "TaintToleration": ["gpu"],
        "NodeAffinity": ["hdd"],
    }


def test_unfitting_daemon_pod_does_not_block_others() -> None:
    full = make_pod("big", on="a", cpu="4")
    found = placed([make_node("a"), make_node("b"), make_node("c")], [full])
    assert (found.placed, found.nodes) == (2, {"b": 1, "c": 1})


def test_daemon_pod_preempts_only_on_its_node() -> None:
    """Node b has a pod that is cheaper to preempt, which does not help."""
    pods = [make_pod("big-a", on="a", cpu="4", priority=5), make_pod("big-b", on="b", cpu="4", priority=1)]
    nodes = [make_node("a"), make_node("b", labels={"disk": "hdd"})]
    found = placed(nodes, pods, priority=10, affinity=None, nodeSelector=None)
    assert [(victim.pod.name, victim.node) for victim in found.victims] == [("big-a", "a"), ("big-b", "b")]
    assert (found.placed, found.without_preemption, found.nodes_unaided) == (2, 0, {})
    assert placed(nodes, pods, priority=10, preemption=False).placed == 0


def test_existing_daemon_pods() -> None:
    nodes = [
        make_node("a"),
        make_node("b"),
        make_node("c"),
        make_node("gone", taints=[make_taint("x", "", "NoExecute")]),
    ]
    pods = [
        own_pod("agent-a", "a", cpu="3"),
        own_pod("agent-waits", ""),
        own_pod("agent-gone", "gone"),
        make_pod("other", on="b", cpu="2"),
    ]
    kept = placed(nodes, pods, cpu="3")
    assert (kept.wanted, kept.nodes) == (2, {"c": 1})
    assert (nodes_of(kept).kept, nodes_of(kept).removed, nodes_of(kept).eligible) == (("a",), ("gone",), 3)
    replaced = placed(nodes, pods, Existing.REPLACED, cpu="3")
    assert (replaced.wanted, replaced.nodes, nodes_of(replaced).kept) == (3, {"a": 1, "c": 1}, ())
    beside = placed(nodes, pods, Existing.BESIDE, cpu="3")
    assert (beside.wanted, beside.nodes, nodes_of(beside).kept) == (3, {"c": 1}, ("a",))


def test_existing_daemon_pod_stays_on_unselected_node() -> None:
    tainted = make_node("a", taints=[make_taint("gpu")])
    for existing in Existing:
        found = placed([tainted], [own_pod("agent-a", "a")], existing)
        assert (found.wanted, nodes_of(found).kept) == (0, ("a",))


def test_template_that_names_its_node() -> None:
    found = placed([make_node("a"), make_node("b")], on="b")
    assert (found.wanted, found.nodes) == (1, {"b": 1})
    full = placed([make_node("a"), make_node("b")], [make_pod("big", on="b", cpu="4")], on="b")
    assert (full.wanted, full.placed) == (1, 0)
    assert full.stopped is not None
    assert full.stopped.named is not None


def test_gated_daemon_pods() -> None:
    found = placed([make_node("a"), make_node("b")], schedulingGates=[{"name": "wait"}])
    assert (found.wanted, found.placed) == (2, 0)
    assert found.stopped is not None
    assert found.stopped.outcome.value == "Held"


@pytest.mark.parametrize(
    ("strategy", "beside"),
    [
        ({}, False),
        ({"type": "OnDelete", "rollingUpdate": {"maxSurge": 1}}, False),
        ({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}, True),
        ({"rollingUpdate": {"maxSurge": "10%"}}, True),
        ({"rollingUpdate": {"maxSurge": "0%"}}, False),
        ({"rollingUpdate": {"maxSurge": "some"}}, False),
    ],
)
def test_surge(strategy: Json, beside: bool) -> None:
    found = existing_pods(from_object(strategy, UpdateStrategy), more=False)
    assert found is (Existing.BESIDE if beside else Existing.REPLACED)
    assert existing_pods(from_object(strategy, UpdateStrategy), more=True) is Existing.KEPT


def test_daemon_set_and_deployment_share_the_room() -> None:
    nodes = [make_node("a"), make_node("b")]
    first = daemon(nodes, cpu="3", priority=10)
    web = placement_request("deployment/web", replace(first, pod=situation(make_pod("web", cpu="2"), nodes).pod), 2)
    agents = placement_request("daemonset/agent", first, None, existing=Existing.KEPT)
    found = plan([web, agents], PlanCluster.of(first), preemption=True)
    assert [(spec.name, spec.placed) for spec in found] == [("daemonset/agent", 2), ("deployment/web", 0)]
