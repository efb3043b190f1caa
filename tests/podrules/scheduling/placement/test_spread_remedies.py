"""Changes of a spread constraint that admit the pod: node policies that exclude unusable nodes come first."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.scheduling.placement.outcome import Placement
from podrules.scheduling.scheduler.framework.answers import ChangeKind
from tests.podrules.scheduling.placement.building import Json, make_node, make_pod, make_taint, only_change, place

ZONE = "topology.kubernetes.io/zone"
FOO = {"foo": "bar"}
FIELD = "spec.topologySpreadConstraints[0]"


def zoned(name: str, zone: str, **spec: Any) -> Json:
    return make_node(name, labels={ZONE: zone}, **spec)


def incoming(*, constraint: Json | None = None, **spec: Any) -> Json:
    full = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": FOO},
        **(constraint or {}),
    }
    return make_pod("new", labels=FOO, topologySpreadConstraints=[full], **spec)


def placed(pod: Json, third: Json) -> Placement:
    """Two zones with pods, and a third one that is closed to the pod."""
    nodes = [zoned("node1", "a"), zoned("node2", "b"), third]
    pods = [make_pod(name, on=on, labels=FOO) for name, on in (("p1", "node1"), ("p2", "node1"), ("p3", "node2"))]
    return place(pod, nodes, pods)


TAINTED = zoned("node3", "c", taints=[make_taint("k", "v")])


def with_disks(pod: Json) -> Placement:
    labels = {"disk": "ssd"}
    nodes = [
        make_node("node1", labels={ZONE: "a", **labels}),
        make_node("node2", labels={ZONE: "b", **labels}),
        make_node("node3", labels={ZONE: "c"}),
    ]
    pods = [make_pod(name, on=on, labels=FOO) for name, on in (("p1", "node1"), ("p2", "node1"), ("p3", "node2"))]
    return place(pod, nodes, pods)


def test_S4_taint_policy_excludes_tainted_minimum() -> None:
    change = only_change(placed(incoming(), TAINTED), "PodTopologySpread")
    assert (change.kind, change.field, change.value) == (ChangeKind.SPREAD, f"{FIELD}.nodeTaintsPolicy", "Honor")


def test_S4_policy_admits_the_pod_as_predicted() -> None:
    group = next(g for g in placed(incoming(), TAINTED).rejected if g.plugin == "PodTopologySpread")
    assert group.remedy is not None
    then = placed(incoming(constraint={"nodeTaintsPolicy": "Honor"}), TAINTED)
    assert ([group.remedy.node], group.remedy.feasible) == ([*then.best], then.feasible)


@pytest.mark.parametrize(
    ("pod", "third"),
    [
        (incoming(), zoned("node3", "c", unschedulable=True)),
        (incoming(constraint={"nodeTaintsPolicy": "Honor"}), zoned("node3", "c", cpu="500m")),
    ],
    ids=["no taint: the policy would change nothing", "it is honoured already"],
)
def test_S4_policy_without_effect_is_no_remedy(pod: Json, third: Json) -> None:
    change = only_change(placed(pod, third), "PodTopologySpread")
    assert (change.field, change.value) == (f"{FIELD}.maxSkew", "2")


def test_S4_node_affinity_policy_is_honoured_too() -> None:
    pod = incoming(constraint={"nodeAffinityPolicy": "Ignore"}, nodeSelector={"disk": "ssd"})
    change = only_change(with_disks(pod), "PodTopologySpread")
    assert (change.field, change.value) == (f"{FIELD}.nodeAffinityPolicy", "Honor")
