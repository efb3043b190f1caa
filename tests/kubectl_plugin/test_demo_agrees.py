"""The demo cluster's recorded messages of kube-scheduler agree with the rules."""

from __future__ import annotations

import json
import re

import pytest

from cluster_io.demo import demo_objects
from tests.kubectl_plugin.running import run

PENDING = [
    pytest.param(entry["metadata"]["namespace"], entry["metadata"]["name"], id=entry["metadata"]["name"])
    for entry in demo_objects()
    if entry["kind"] == "Pod"
    and any(condition.get("reason") == "Unschedulable" for condition in entry["status"].get("conditions", []))
]
ROW = re.compile(r"^ +(\d+) {2}(\S+) {2,}(\S.*(?:\n {20,}\S.*)*)", re.MULTILINE)
"""Count, plugin and reason of a row, which continues below."""


def test_demo_has_pending_pods() -> None:
    assert len(PENDING) >= 2


@pytest.mark.parametrize(("namespace", "name"), PENDING)
def test_condition_agrees(namespace: str, name: str) -> None:
    ran = run("explain", "--demo", "-n", namespace, f"pod/{name}", "-o", "json")
    placement = json.loads(ran.out)["placement"]
    assert placement["told"]["agrees"] is True, placement


def test_verdict_and_the_row_of_taints_count_the_same_nodes() -> None:
    page = run("explain", "--demo", "-n", "shop", "pod/checkout-mv9cgvs6p-x2x7p").out
    verdict, table = page.partition("\n\n")[0], page.partition("Why no node fits")[2]
    said = "5 have taints that it does not tolerate, node-c3 is silent (taint unreachable)"
    assert said in " ".join(verdict.split())
    rows = {name: (int(count), " ".join(words.split())) for count, name, words in ROW.findall(table)}
    assert rows["TaintToleration"] == (
        5 + 1,
        "node(s) had untolerated taint(s): node-c4 has example.com/spot:NoSchedule; node-c3 is silent",
    )
