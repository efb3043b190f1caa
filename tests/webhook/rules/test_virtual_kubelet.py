"""A force deletion on a virtual kubelet: the answer names no time for the pod's end, as only the provider knows it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from podrules.node.reachability import node_reach
from podrules.workload.safety import owner_guarantee
from tests.objects import make_node, make_pod
from webhook.rules.force_delete import ForceDeleteRisk, first_line

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TAINT = {"key": "virtual-kubelet.io/provider", "value": "azure", "effect": "NoSchedule"}


@pytest.mark.parametrize("virtual", [False, True])
def test_F1_a_virtual_kubelet_promises_no_time(virtual: bool) -> None:
    node = make_node("aci", taints=[TAINT] if virtual else [], conditions=[{"type": "Ready", "status": "True"}])
    pod = make_pod(
        "web", metadata={"deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30}, nodeName="aci"
    )
    reach = node_reach("aci", node, renewed=NOW, now=NOW)
    said = first_line(pod, ForceDeleteRisk(owner_guarantee(pod), reach, (), NOW))
    assert said.startswith("web on aci")
    assert ("may run until" in said) is not virtual
