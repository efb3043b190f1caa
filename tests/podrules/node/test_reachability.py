"""Whether a pod's node still answers, and the field that shows it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from podrules.api.model.node import Node
from podrules.node.reachability import NodeReach, Reach, node_reach
from tests.objects import make_node

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


@pytest.mark.parametrize(
    ("node", "renewed", "expected"),
    [
        pytest.param(make_node(conditions=[READY]), FRESH, NodeReach("n", Reach.ANSWERS, BY_CONDITION), id="ready"),
        pytest.param(
            make_node(conditions=[NOT_READY]),
            FRESH,
            NodeReach("n", Reach.ANSWERS, BY_CONDITION),
            id="not ready by its own report",
        ),
        pytest.param(
            make_node(conditions=[PRESSURE, READY]),
            FRESH,
            NodeReach("n", Reach.ANSWERS, BY_CONDITION),
            id="another condition is unknown",
        ),
        pytest.param(make_node(), FRESH, NodeReach("n", Reach.ANSWERS, BY_CONDITION), id="no conditions yet"),
        pytest.param(
            make_node(conditions=[READY]), None, NodeReach("n", Reach.ANSWERS, BY_CONDITION), id="ready, no Lease"
        ),
        pytest.param(
            make_node(conditions=[UNKNOWN]), None, NodeReach("n", Reach.SILENT, BY_CONDITION, SINCE), id="silent"
        ),
        pytest.param(
            make_node(conditions=[UNKNOWN]),
            FRESH,
            NodeReach("n", Reach.RETURNING, "Lease spec.renewTime", SINCE),
            id="Unknown, the Lease renewed a moment ago: the condition follows soon",
        ),
        pytest.param(
            make_node(conditions=[UNKNOWN | {"lastTransitionTime": FRESH.isoformat()}]),
            FRESH + timedelta(milliseconds=700),
            NodeReach("n", Reach.SILENT, BY_CONDITION, FRESH),
            id="Unknown within the second of the last renewal: the order is unknown",
        ),
        pytest.param(
            make_node(conditions=[{"type": "Ready", "status": "Unknown"}]),
            FRESH,
            NodeReach("n", Reach.RETURNING, "Lease spec.renewTime"),
            id="the same, Unknown since an unknown time",
        ),
        pytest.param(
            make_node(conditions=[UNKNOWN]),
            NOW - timedelta(seconds=41),
            NodeReach("n", Reach.SILENT, BY_CONDITION, SINCE),
            id="silent again: the Lease was renewed once after Ready became Unknown",
        ),
        pytest.param(
            make_node(conditions=[UNKNOWN]),
            NOW + timedelta(hours=1),
            NodeReach("n", Reach.SILENT, BY_CONDITION, SINCE),
            id="a heartbeat in the future proves nothing",
        ),
        pytest.param(
            make_node(conditions=[{"type": "Ready", "status": "Unknown"}]),
            None,
            NodeReach("n", Reach.SILENT, BY_CONDITION),
            id="silent since an unknown time",
        ),
        pytest.param(
            make_node(conditions=[UNKNOWN], taints=[UNREACHABLE]),
            None,
            NodeReach("n", Reach.SILENT, BY_CONDITION, SINCE),
            id="the taint of a silent node proves nothing",
        ),
        pytest.param(
            make_node(conditions=[READY]),
            NOW - timedelta(seconds=40),
            NodeReach("n", Reach.ANSWERS, BY_CONDITION),
            id="Lease renewed 40 s ago",
        ),
        pytest.param(
            make_node(conditions=[READY]),
            NOW - timedelta(seconds=41),
            NodeReach("n", Reach.MISSED_HEARTBEATS, "Lease spec.renewTime", NOW - timedelta(seconds=41)),
            id="Lease renewed 41 s ago, the condition has not changed yet",
        ),
        pytest.param(
            make_node(conditions=[NOT_READY]),
            SINCE,
            NodeReach("n", Reach.MISSED_HEARTBEATS, "Lease spec.renewTime", SINCE),
            id="not ready, then no heartbeat",
        ),
        pytest.param(
            make_node(conditions=[READY]),
            NOW + timedelta(minutes=2),
            NodeReach("n", Reach.ANSWERS, BY_CONDITION),
            id="the kubelet's clock is ahead",
        ),
        pytest.param(
            make_node(conditions=[UNKNOWN], taints=[UNREACHABLE, OUT_OF_SERVICE]),
            SINCE,
            NodeReach("n", Reach.OUT_OF_SERVICE, "spec.taints[1]"),
            id="silent and declared out of service",
        ),
        pytest.param(
            make_node(conditions=[READY], taints=[OUT_OF_SERVICE]),
            FRESH,
            NodeReach("n", Reach.BACK, "spec.taints[0]"),
            id="declared out of service while it answers: back",
        ),
        pytest.param(
            make_node(conditions=[READY], taints=[OUT_OF_SERVICE | {"effect": "NoSchedule"}]),
            FRESH,
            NodeReach("n", Reach.BACK, "spec.taints[0]"),
            id="the same with any effect",
        ),
        pytest.param(
            make_node(conditions=[NOT_READY], taints=[OUT_OF_SERVICE]),
            FRESH,
            NodeReach("n", Reach.BACK_NOT_READY, "spec.taints[0]"),
            id="declared out of service, not Ready though it answers: garbage collection acts",
        ),
        pytest.param(
            make_node(conditions=[UNKNOWN], taints=[UNREACHABLE, OUT_OF_SERVICE]),
            FRESH,
            NodeReach("n", Reach.BACK_NOT_READY, "spec.taints[1]"),
            id="declared out of service, and coming back",
        ),
        pytest.param(
            make_node(conditions=[NOT_READY], taints=[OUT_OF_SERVICE]),
            None,
            NodeReach("n", Reach.OUT_OF_SERVICE, "spec.taints[0]"),
            id="declared out of service, not Ready, no Lease: nothing shows that it answers",
        ),
        pytest.param(
            make_node(conditions=[READY], taints=[OUT_OF_SERVICE]),
            SINCE,
            NodeReach("n", Reach.OUT_OF_SERVICE, "spec.taints[0]"),
            id="declared out of service, Ready by a condition that is old",
        ),
        pytest.param(None, None, NodeReach("n", Reach.GONE, "metadata.name"), id="no Node object"),
        pytest.param(
            None,
            FRESH,
            NodeReach("n", Reach.GONE, "metadata.name", FRESH),
            id="no Node object, its Lease is there still",
        ),
    ],
)
def test_node_reach(node: Node | None, renewed: datetime | None, expected: NodeReach) -> None:
    assert node_reach("n", node, renewed=renewed, now=NOW) == expected
