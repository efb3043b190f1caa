"""The demo cluster's recorded words of kube-scheduler are what the rules say of it."""

from __future__ import annotations

import json

import pytest

from podrules.cluster.demo import demo_objects
from tests.kubectl_plugin.running import run

PENDING = [
    pytest.param(entry["metadata"]["namespace"], entry["metadata"]["name"], id=entry["metadata"]["name"])
    for entry in demo_objects()
    if entry["kind"] == "Pod"
    and any(condition.get("reason") == "Unschedulable" for condition in entry["status"].get("conditions", []))
]


def test_there_are_some() -> None:
    assert len(PENDING) >= 2


@pytest.mark.parametrize(("namespace", "name"), PENDING)
def test_condition_agrees(namespace: str, name: str) -> None:
    ran = run("explain", "--demo", "-n", namespace, f"pod/{name}", "-o", "json")
    placement = json.loads(ran.out)["placement"]
    assert placement["told"]["agrees"] is True, placement
