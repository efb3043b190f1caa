"""Whether a pod's node still answers, and the field that shows it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

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


@table(
    "node, renewed, expected",
    {
        "ready": (make_node(conditions=[READY]), FRESH, NodeReach("n", Reach.ANSWERS, BY_CONDITION)),
        "not ready by its own report": (
            make_node(conditions=[NOT_READY]),
            FRESH,
            NodeReach("n", Reach.ANSWERS, BY_CONDITION),
        ),
        "another condition is unknown": (
            make_node(conditions=[PRESSURE, READY]),
            FRESH,
            NodeReach("n", Reach.ANSWERS, BY_CONDITION),
        ),
        "no conditions yet": (make_node(), FRESH, NodeReach("n", Reach.ANSWERS, BY_CONDITION)),
        "ready, no Lease": (make_node(conditions=[READY]), None, NodeReach("n", Reach.ANSWERS, BY_CONDITION)),
        "silent": (make_node(conditions=[UNKNOWN]), None, NodeReach("n", Reach.SILENT, BY_CONDITION, SINCE)),
        "Unknown, the Lease renewed a moment ago: the condition follows soon": (
            make_node(conditions=[UNKNOWN]),
            FRESH,
            NodeReach("n", Reach.RETURNING, "Lease spec.renewTime", SINCE),
        ),
        "Unknown within the second of the last renewal: the order is unknown": (
            make_node(conditions=[UNKNOWN | {"lastTransitionTime": FRESH.isoformat()}]),
            FRESH + timedelta(milliseconds=700),
            NodeReach("n", Reach.SILENT, BY_CONDITION, FRESH),
        ),
        "the same, Unknown since an unknown time": (
            make_node(conditions=[{"type": "Ready", "status": "Unknown"}]),
            FRESH,
            NodeReach("n", Reach.RETURNING, "Lease spec.renewTime"),
        ),
        "silent again: the Lease was renewed once after Ready became Unknown": (
            make_node(conditions=[UNKNOWN]),
            NOW - timedelta(seconds=41),
            NodeReach("n", Reach.SILENT, BY_CONDITION, SINCE),
        ),
        "a heartbeat in the future proves nothing": (
            make_node(conditions=[UNKNOWN]),
            NOW + timedelta(hours=1),
            NodeReach("n", Reach.SILENT, BY_CONDITION, SINCE),
        ),
        "silent since an unknown time": (
            make_node(conditions=[{"type": "Ready", "status": "Unknown"}]),
            None,
            NodeReach("n", Reach.SILENT, BY_CONDITION),
        ),
        "the taint of a silent node proves nothing": (
            make_node(conditions=[UNKNOWN], taints=[UNREACHABLE]),
            None,
            NodeReach("n", Reach.SILENT, BY_CONDITION, SINCE),
        ),
        "Lease renewed 40 s ago": (
            make_node(conditions=[READY]),
            NOW - timedelta(seconds=40),
            NodeReach("n", Reach.ANSWERS, BY_CONDITION),
        ),
        "Lease renewed 41 s ago, the condition has not changed yet": (
            make_node(conditions=[READY]),
            NOW - timedelta(seconds=41),
            NodeReach("n", Reach.MISSED_HEARTBEATS, "Lease spec.renewTime", NOW - timedelta(seconds=41)),
        ),
        "not ready, then no heartbeat": (
            make_node(conditions=[NOT_READY]),
            SINCE,
            NodeReach("n", Reach.MISSED_HEARTBEATS, "Lease spec.renewTime", SINCE),
        ),
        "the kubelet's clock is ahead": (
            make_node(conditions=[READY]),
            NOW + timedelta(minutes=2),
            NodeReach("n", Reach.ANSWERS, BY_CONDITION),
        ),
        "silent and declared out of service": (
            make_node(conditions=[UNKNOWN], taints=[UNREACHABLE, OUT_OF_SERVICE]),
            SINCE,
            NodeReach("n", Reach.OUT_OF_SERVICE, "spec.taints[1]"),
        ),
        "declared out of service while it answers: back": (
            make_node(conditions=[READY], taints=[OUT_OF_SERVICE]),
            FRESH,
            NodeReach("n", Reach.BACK, "spec.taints[0]"),
        ),
        "the same with any effect": (
            make_node(conditions=[READY], taints=[OUT_OF_SERVICE | {"effect": "NoSchedule"}]),
            FRESH,
            NodeReach("n", Reach.BACK, "spec.taints[0]"),
        ),
        "declared out of service, not Ready though it answers: garbage collection acts": (
            make_node(conditions=[NOT_READY], taints=[OUT_OF_SERVICE]),
            FRESH,
            NodeReach("n", Reach.BACK_NOT_READY, "spec.taints[0]"),
        ),
        "declared out of service, and coming back": (
            make_node(conditions=[UNKNOWN], taints=[UNREACHABLE, OUT_OF_SERVICE]),
            FRESH,
            NodeReach("n", Reach.BACK_NOT_READY, "spec.taints[1]"),
        ),
        "declared out of service, not Ready, no Lease: nothing shows that it answers": (
            make_node(conditions=[NOT_READY], taints=[OUT_OF_SERVICE]),
            None,
            NodeReach("n", Reach.OUT_OF_SERVICE, "spec.taints[0]"),
        ),
        "declared out of service, Ready by a condition that is old": (
            make_node(conditions=[READY], taints=[OUT_OF_SERVICE]),
            SINCE,
            NodeReach("n", Reach.OUT_OF_SERVICE, "spec.taints[0]"),
        ),
        "no Node object": (None, None, NodeReach("n", Reach.GONE, "metadata.name")),
        "no Node object, its Lease is there still": (None, FRESH, NodeReach("n", Reach.GONE, "metadata.name", FRESH)),
    },
)
def test_node_reach(node: Node | None, renewed: datetime | None, expected: NodeReach) -> None:
    assert node_reach("n", node, renewed=renewed, now=NOW) == expected
