"""Automatic actions on a node that does not answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.node import Taint
from podrules.api.model.selectors import Toleration
from podrules.node.lost_node import (
    MonitorGrace,
    ZoneState,
    compute_zone_state,
    eviction,
    eviction_rate,
    unknown_at,
    zone_health,
    zone_key,
)
from podrules.pod.tolerations import Eviction, eviction_after
from podrules.pod.versions import Versions
from tests.podrules.node.lost import (
    HEARTBEAT,
    OUT_OF_SERVICE,
    TOLERATES,
    UNKNOWN,
    UNREACHABLE,
    make_zone_node,
    tolerating,
)
from tests.table import table
from tests.upstream import upstream_source

SECOND = timedelta(seconds=1)
KEY = "node.kubernetes.io/unreachable"
LOST = f"{KEY}:NoExecute"


def tolerations(entries: Sequence[Mapping[str, Any]]) -> tuple[Toleration, ...]:
    return tuple(from_object(dict(entry), Toleration) for entry in entries)


def taint(number: int) -> Taint:
    return Taint(f"testTaint{number}", f"test{number}", "NoExecute")


def toleration(number: int, seconds: int | None) -> Mapping[str, Any]:
    value = {"key": f"testTaint{number}", "value": f"test{number}", "effect": "NoExecute"}
    return value | {"tolerationSeconds": seconds}


@table(
    "own, taints, expected",
    {
        # TestCreatePod, TestUpdateNode
        "scheduled on untainted Node": ([], [], None),
        "schedule on tainted Node": ([], [taint(1)], timedelta()),
        "schedule on tainted Node with finite toleration": ([toleration(1, 100)], [taint(1)], 100 * SECOND),
        "schedule on tainted Node with infinite toleration": ([toleration(1, None)], [taint(1)], None),
        "schedule on tainted Node with infinite invalid toleration": ([toleration(2, None)], [taint(1)], timedelta()),
        "Only one added taint tolerated": ([toleration(1, 100)], [taint(1), taint(2)], timedelta()),
        "Pod with multiple tolerations are evicted when first one runs out": (
            [toleration(1, 1), toleration(2, 100)],
            [taint(1), taint(2)],
            SECOND,
        ),
        # TestGetMinTolerationTime
        "one without end": ([toleration(1, 1), toleration(2, None)], [taint(1), taint(2)], SECOND),
        "the other without end": ([toleration(1, None), toleration(2, 1)], [taint(1), taint(2)], SECOND),
        "0 s": ([toleration(1, 0)], [taint(1)], timedelta()),
        "a negative time is 0": ([toleration(1, -5)], [taint(1)], timedelta()),
        "the first that tolerates counts": ([toleration(1, 9), toleration(1, 1)], [taint(1)], 9 * SECOND),
        "NoSchedule evicts no pod": ([], [Taint("a", "", "NoSchedule")], None),
    },
)
def test_T5_toleration_seconds_of_taints(
    own: Sequence[Mapping[str, Any]], taints: Sequence[Taint], expected: timedelta | None
) -> None:
    assert eviction_after(tolerations(own), taints) == expected


@pytest.mark.parametrize(
    ("nodes", "not_ready", "expected"),
    [
        (0, 0, ZoneState.NORMAL),
        (3, 0, ZoneState.NORMAL),
        (1, 1, ZoneState.FULL_DISRUPTION),
        (3, 3, ZoneState.FULL_DISRUPTION),
        (3, 2, ZoneState.NORMAL),  # 67 %, but fewer than 3
        (5, 3, ZoneState.PARTIAL_DISRUPTION),  # 60 %
        (6, 3, ZoneState.NORMAL),  # 50 %
        (20, 11, ZoneState.PARTIAL_DISRUPTION),  # 55 %: the threshold counts
    ],
)
def test_F5_zone_state(nodes: int, not_ready: int, expected: ZoneState) -> None:
    assert compute_zone_state(nodes, not_ready) is expected


@pytest.mark.parametrize(
    ("state", "nodes", "cluster_down", "rate"),
    [
        (ZoneState.NORMAL, 4, False, 0.1),
        (ZoneState.FULL_DISRUPTION, 4, False, 0.1),
        (ZoneState.PARTIAL_DISRUPTION, 50, False, 0.0),
        (ZoneState.PARTIAL_DISRUPTION, 51, False, 0.01),
        (ZoneState.FULL_DISRUPTION, 4, True, 0.0),
    ],
)
def test_F5_eviction_rate(state: ZoneState, nodes: int, cluster_down: bool, rate: float) -> None:
    assert eviction_rate(state, nodes, cluster_down=cluster_down) == rate


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, ""),
        ({"topology.kubernetes.io/zone": "a"}, "a"),
        ({"topology.kubernetes.io/region": "eu", "topology.kubernetes.io/zone": "a"}, "eu/a"),
        ({"failure-domain.beta.kubernetes.io/zone": "old", "topology.kubernetes.io/zone": "a"}, "old"),
        ({"topology.kubernetes.io/region": "eu"}, "eu"),
    ],
)
def test_F5_zone_of_a_node(labels: Mapping[str, str], expected: str) -> None:
    assert zone_key(make_zone_node("n", labels=labels)) == expected


def test_F5_zones_are_judged_apart() -> None:
    nodes = [
        make_zone_node("a1", zone="a"),
        make_zone_node("a2", zone="a", ready="Unknown"),
        *(make_zone_node(f"b{index}", zone="b", ready="Unknown" if index else "True") for index in range(4)),
    ]
    zones = zone_health(nodes)
    assert (zones["a"].state, zones["a"].rate) == (ZoneState.NORMAL, 0.1)
    assert (zones["b"].state, zones["b"].not_ready, zones["b"].rate) == (ZoneState.PARTIAL_DISRUPTION, 3, 0.0)
    assert not zones["a"].cluster_down


def test_F5_node_that_is_not_ready_counts_though_it_answers() -> None:
    nodes = [make_zone_node(f"n{index}", ready="False") for index in range(3)] + [make_zone_node("ready")]
    assert zone_health(nodes)[""].state is ZoneState.PARTIAL_DISRUPTION


def test_F5_no_node_ready_stops_everything() -> None:
    zones = zone_health([make_zone_node("a", zone="a", ready="Unknown"), make_zone_node("b", zone="b", ready="False")])
    assert {zone.rate for zone in zones.values()} == {0.0}
    assert all(zone.cluster_down for zone in zones.values())


def test_F5_excluded_nodes_do_not_count() -> None:
    label = {"node.kubernetes.io/exclude-disruption": ""}
    zone = zone_health([make_zone_node("in", ready="Unknown"), make_zone_node("out", labels=label)])[""]
    assert (zone.nodes, zone.cluster_down) == (1, True)


def test_T5_unknown_50_s_after_the_last_heartbeat() -> None:
    assert unknown_at(make_zone_node("n"), HEARTBEAT, MonitorGrace()) == HEARTBEAT + 50 * SECOND
    assert unknown_at(make_zone_node("n"), HEARTBEAT, MonitorGrace(40)) == HEARTBEAT + 40 * SECOND
    assert unknown_at(make_zone_node("n", ready="Unknown"), HEARTBEAT, MonitorGrace()) == UNKNOWN
    assert unknown_at(make_zone_node("n"), None, MonitorGrace()) is None


@pytest.mark.parametrize(
    ("server", "kubelets", "grace"),
    [
        ("v1.31.9", [], (40, True)),
        ("v1.32.0", [], (50, True)),
        ("v1.29.3-eks-1", ["v1.28.1"], (40, True)),
        (None, ["v1.31.2", "v1.33.1"], (50, True)),
        (None, ["v1.31.2"], (40, False)),
        (None, [], (50, False)),
        ("edge", ["v1.36.0"], (50, False)),
    ],
)
def test_T5_version_decides_how_long_after(server: str | None, kubelets: list[str], grace: tuple[int, bool]) -> None:
    """A control plane is at least as new as its newest kubelet."""
    assert MonitorGrace.of(Versions.of(server, kubelets=kubelets)) == grace


def test_T5_default_is_upstreams() -> None:
    path = "pkg/controller/nodelifecycle/config/v1alpha1/defaults.go"
    written = (upstream_source() / path).read_text(encoding="utf-8")
    assert f"NodeMonitorGracePeriod = metav1.Duration{{Duration: {MonitorGrace().seconds} * time.Second}}" in written


HEALTHY = zone_health([make_zone_node("n")])[""]
HELD = zone_health([make_zone_node(f"n{index}", ready="Unknown") for index in range(3)] + [make_zone_node("r")])[""]


@table(
    "taints, zone, own, expected",
    {
        "300 s after the taint": ([UNREACHABLE], HEALTHY, TOLERATES, Eviction(UNKNOWN + 300 * SECOND, 300, taint=LOST)),
        "the taint is to come": ([], HEALTHY, TOLERATES, Eviction(UNKNOWN + 300 * SECOND, 300, taint=LOST)),
        "the zone's nodes are not tainted": ([], HELD, TOLERATES, Eviction(None, 300, held_back=True)),
        "tainted before that": ([UNREACHABLE], HELD, TOLERATES, Eviction(UNKNOWN + 300 * SECOND, 300, taint=LOST)),
        "tolerated without end": ([UNREACHABLE], HEALTHY, [tolerating(KEY)], Eviction(None, None)),
        "not tolerated": ([UNREACHABLE], HEALTHY, [], Eviction(UNKNOWN, 0, taint=LOST)),
        "out of service after the toleration is over": (
            [UNREACHABLE, OUT_OF_SERVICE],
            HEALTHY,
            TOLERATES,
            Eviction(UNKNOWN + 300 * SECOND, 300, taint=LOST),
        ),
        "out of service: at once, from when that was said": (
            [UNREACHABLE, OUT_OF_SERVICE],
            HEALTHY,
            [tolerating(KEY)],
            Eviction(UNKNOWN + 360 * SECOND, 0, taint="node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"),
        ),
    },
)
def test_T5_when_a_pod_of_a_lost_node_is_deleted(
    taints: Sequence[Mapping[str, Any]], zone: Any, own: Sequence[Mapping[str, Any]], expected: Eviction
) -> None:
    node = make_zone_node("lost", ready="Unknown", taints=taints)
    assert eviction(tolerations(own), node, UNKNOWN, zone) == expected
