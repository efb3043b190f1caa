"""The demo cluster's recorded messages of kube-scheduler agree with the rules."""

from __future__ import annotations

import pytest

from cluster_io.demo import demo_objects
from tests.kubectl_plugin.answers import data

PENDING = [
    pytest.param(entry["metadata"]["namespace"], entry["metadata"]["name"], id=entry["metadata"]["name"])
    for entry in demo_objects()
    if entry["kind"] == "Pod"
    and any(condition.get("reason") == "Unschedulable" for condition in entry["status"].get("conditions", []))
]


def test_demo_has_pending_pods() -> None:
    assert len(PENDING) >= 2


@pytest.mark.parametrize(("namespace", "name"), PENDING)
def test_condition_agrees(namespace: str, name: str) -> None:
    placement = data("explain", "--demo", "-n", namespace, f"pod/{name}")["placement"]
    assert placement["told"]["agrees"] is True, placement
