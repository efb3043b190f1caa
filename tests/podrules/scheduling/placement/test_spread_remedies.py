"""Changes of a spread constraint that admit the pod: node policies that exclude unusable nodes come first."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.scheduling.placement.outcome import Placement
from podrules.scheduling.scheduler.framework.answers import ChangeKind
from tests.podrules.scheduling.building import ZONE, Json, spread
from tests.podrules.scheduling.placement.building import (
    make_node,
    make_pod,
    make_taint,
    only_change,
    place,
    remedy_of,
    zoned,
)

FOO = {"foo": "bar"}
FIELD = "spec.topologySpreadConstraints[0]"


def incoming(*, constraint: Json | None = None, **spec: Any) -> Json:
    constraints = [{**spread(ZONE, foo="bar"), **(constraint or {})}]
    return make_pod("new", labels=FOO, topologySpreadConstraints=constraints, **spec)


PODS = [make_pod(name, on=on, labels=FOO) for name, on in (("p1", "node1"), ("p2", "node1"), ("p3", "node2"))]


def placed(pod: Json, third: Json) -> Placement:
    """Two zones with pods, and a third one that is closed to the pod."""
    return place(pod, [zoned("node1", "a"), zoned("node2", "b"), third], PODS)


TAINTED = zoned("node3", "c", taints=[make_taint("k", "v")])


def test_S4_taint_policy_excludes_tainted_minimum() -> None:
    change = only_change(placed(incoming(), TAINTED), "PodTopologySpread")
    assert (change.kind, change.field, change.value) == (ChangeKind.SPREAD, f"{FIELD}.nodeTaintsPolicy", "Honor")


def test_S4_policy_admits_the_pod_as_predicted() -> None:
    remedy = remedy_of(placed(incoming(), TAINTED), "PodTopologySpread")
    then = placed(incoming(constraint={"nodeTaintsPolicy": "Honor"}), TAINTED)
    assert ([remedy.node], remedy.feasible) == ([*then.best], then.feasible)


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
    zones = (("node1", "a", "ssd"), ("node2", "b", "ssd"), ("node3", "c", "hdd"))
    nodes = [make_node(name, labels={ZONE: zone, "disk": disk}) for name, zone, disk in zones]
    change = only_change(place(pod, nodes, PODS), "PodTopologySpread")
    assert (change.field, change.value) == (f"{FIELD}.nodeAffinityPolicy", "Honor")
