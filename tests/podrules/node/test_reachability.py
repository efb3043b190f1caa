"""Whether a pod's node still answers, and the field that shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from podrules.api.model.node import Node
from podrules.node.reachability import NodeReach, Reach, node_reach
from tests.objects import make_node
from tests.table import table

NOW = datetime(2026, 11, 21, 3, 11, tzinfo=UTC)
FRESH = NOW - timedelta(seconds=9)
SINCE = datetime(2026, 11, 21, 3, 2, 56, tzinfo=UTC)
READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-06-28T00:00:00Z"}
NOT_READY = READY | {"status": "False"}
UNKNOWN = READY | {"status": "Unknown", "lastTransitionTime": "2026-11-21T03:02:56Z"}
PRESSURE = {"type": "MemoryPressure", "status": "Unknown", "lastTransitionTime": "2026-11-21T03:02:56Z"}
OUT_OF_SERVICE = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
BY_CONDITION = "status.conditions[type=Ready]"


BY_LEASE = "Lease spec.renewTime"
SINCE_WHEN = UNKNOWN | {"lastTransitionTime": None}
IN_THAT_SECOND = UNKNOWN | {"lastTransitionTime": FRESH.isoformat()}
ANY_EFFECT = OUT_OF_SERVICE | {"effect": "NoSchedule"}
AGO_41 = NOW - timedelta(seconds=41)


def _node(*conditions: Mapping[str, Any], taints: Sequence[Mapping[str, Any]] = ()) -> Node:
    return make_node(conditions=conditions, taints=taints)


@table(
    "node, renewed, expected",
    {
        "ready": (_node(READY), FRESH, (Reach.ANSWERS, BY_CONDITION)),
        "not ready by its own report": (_node(NOT_READY), FRESH, (Reach.ANSWERS, BY_CONDITION)),
        "another condition is unknown": (_node(PRESSURE, READY), FRESH, (Reach.ANSWERS, BY_CONDITION)),
        "no conditions yet": (_node(), FRESH, (Reach.ANSWERS, BY_CONDITION)),
        "ready, no Lease": (_node(READY), None, (Reach.ANSWERS, BY_CONDITION)),
        "silent": (_node(UNKNOWN), None, (Reach.SILENT, BY_CONDITION, SINCE)),
        "Unknown, the Lease renewed a moment ago: the condition follows soon": (
            _node(UNKNOWN),
            FRESH,
            (Reach.RETURNING, BY_LEASE, SINCE),
        ),
        "Unknown within the second of the last renewal: the order is unknown": (
            _node(IN_THAT_SECOND),
            FRESH + timedelta(milliseconds=700),
            (Reach.SILENT, BY_CONDITION, FRESH),
        ),
        "the same, Unknown since an unknown time": (_node(SINCE_WHEN), FRESH, (Reach.RETURNING, BY_LEASE)),
        "silent again: the Lease was renewed once after Ready became Unknown": (
            _node(UNKNOWN),
            AGO_41,
            (Reach.SILENT, BY_CONDITION, SINCE),
        ),
        "a heartbeat in the future proves nothing": (
            _node(UNKNOWN),
            NOW + timedelta(hours=1),
            (Reach.SILENT, BY_CONDITION, SINCE),
        ),
        "silent since an unknown time": (_node(SINCE_WHEN), None, (Reach.SILENT, BY_CONDITION)),
        "the taint of a silent node proves nothing": (
            _node(UNKNOWN, taints=[UNREACHABLE]),
            None,
            (Reach.SILENT, BY_CONDITION, SINCE),
        ),
        "Lease renewed 40 s ago": (_node(READY), NOW - timedelta(seconds=40), (Reach.ANSWERS, BY_CONDITION)),
        "Lease renewed 41 s ago, the condition has not changed yet": (
            _node(READY),
            AGO_41,
            (Reach.MISSED_HEARTBEATS, BY_LEASE, AGO_41),
        ),
        "not ready, then no heartbeat": (_node(NOT_READY), SINCE, (Reach.MISSED_HEARTBEATS, BY_LEASE, SINCE)),
        "the kubelet's clock is ahead": (_node(READY), NOW + timedelta(minutes=2), (Reach.ANSWERS, BY_CONDITION)),
        "silent and declared out of service": (
            _node(UNKNOWN, taints=[UNREACHABLE, OUT_OF_SERVICE]),
            SINCE,
            (Reach.OUT_OF_SERVICE, "spec.taints[1]"),
        ),
        "declared out of service while it answers: back": (
            _node(READY, taints=[OUT_OF_SERVICE]),
            FRESH,
            (Reach.BACK, "spec.taints[0]"),
        ),
        "the same with any effect": (_node(READY, taints=[ANY_EFFECT]), FRESH, (Reach.BACK, "spec.taints[0]")),
        "declared out of service, not Ready though it answers: garbage collection acts": (
            _node(NOT_READY, taints=[OUT_OF_SERVICE]),
            FRESH,
            (Reach.BACK_NOT_READY, "spec.taints[0]"),
        ),
        "declared out of service, and coming back": (
            _node(UNKNOWN, taints=[UNREACHABLE, OUT_OF_SERVICE]),
            FRESH,
            (Reach.BACK_NOT_READY, "spec.taints[1]"),
        ),
        "declared out of service, not Ready, no Lease: nothing shows that it answers": (
            _node(NOT_READY, taints=[OUT_OF_SERVICE]),
            None,
            (Reach.OUT_OF_SERVICE, "spec.taints[0]"),
        ),
        "declared out of service, Ready by a condition that is old": (
            _node(READY, taints=[OUT_OF_SERVICE]),
            SINCE,
            (Reach.OUT_OF_SERVICE, "spec.taints[0]"),
        ),
        "no Node object": (None, None, (Reach.GONE, "metadata.name")),
        "no Node object, its Lease is there still": (None, FRESH, (Reach.GONE, "metadata.name", FRESH)),
    },
)
def test_node_reach(node: Node | None, renewed: datetime | None, expected: tuple[Any, ...]) -> None:
    assert node_reach("n", node, renewed=renewed, now=NOW) == NodeReach("n", *expected)
