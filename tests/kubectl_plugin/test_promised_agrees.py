"""All answers agree on the requests of a node; requests of nominated pods are shown separately."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import pytest
import yaml

from cluster_io.demo import demo_objects
from podrules.api.model.quantity import Quantity
from tests.kubectl_plugin.answers import data, said
from tests.objects import raw_pod

Json = dict[str, Any]
Promised = dict[str, tuple[int, int]]
"""Requested and allocatable by resource; cpu in thousandths, memory in bytes."""

NODES: Final = sorted(entry["metadata"]["name"] for entry in demo_objects() if entry["kind"] == "Node")
PENDING: Final = sorted(
    (entry["metadata"]["namespace"], entry["metadata"]["name"])
    for entry in demo_objects()
    if entry["kind"] == "Pod" and not entry["spec"].get("nodeName") and not entry["spec"].get("schedulingGates")
)
NOMINATED: Final = "fraud-score-w88lqz7hx-c8z2n"
HUGE: Final = yaml.safe_dump(
    raw_pod("huge", "shop", requests={"cpu": "500", "memory": "5Ti"}, tolerations=[{"operator": "Exists"}])
)
"""It fits on no node because both are lacking."""


def report_of(*words: str, stdin: str = "") -> Json:
    read: Json = data(*words, "--demo", stdin=stdin)
    return read


def of_resources(entries: list[Json]) -> Promised:
    amounts = {entry["name"]: (entry["requested"], entry["allocatable"]) for entry in entries}
    return {
        "cpu": tuple(Quantity.parse(text).milli_value for text in amounts["cpu"]),  # type: ignore[dict-item]
        "memory": tuple(Quantity.parse(text).value for text in amounts["memory"]),  # type: ignore[dict-item]
    }


@cache
def of_report() -> dict[str, Promised]:
    return {
        node["name"]: {
            resource: (sum(node[resource]["requested"].values()), node[resource]["allocatable"])
            for resource in ("cpu", "memory")
        }
        for node in report_of("report", "--all")["nodes"]
    }


def shortages(placement: Json) -> Iterator[tuple[str, Json]]:
    """The resources that nodes lack, each with its node."""
    for group in placement["rejected"]:
        for node in group["nodes"]:
            for fact in node["facts"]:
                if fact["type"] == "InsufficientResource" and fact["resource"] in {"cpu", "memory"}:
                    yield node["node"], fact


def test_report_has_every_node() -> None:
    assert sorted(of_report()) == NODES


@pytest.mark.parametrize("node", NODES)
def test_node_pages_and_report_agree_on_requests(node: str) -> None:
    explained = of_resources(report_of("explain", f"node/{node}")["resources"])
    assert explained == of_resources(report_of("node", node)["promised"]["resources"]) == of_report()[node]


def test_pod_pages_separate_requests_of_nominated_pods() -> None:
    placements = [report_of("explain", f"pod/{name}", "-n", space)["placement"] for space, name in PENDING]
    placements.append(report_of("explain", "-f", "-", stdin=HUGE)["placement"])
    placements += [spec["stopped"] for spec in report_of("place", "-f", "-", stdin=HUGE)["specs"]]
    seen, apart = set(), set()
    for placement in placements:
        for node, fact in shortages(placement):
            seen.add(node)
            requested, allocatable = of_report()[node][fact["resource"]]
            assert (fact["used"] - fact["nominated"], fact["allocatable"]) == (requested, allocatable), (node, fact)
            assert bool(fact["nominated"]) == bool(fact["nominatedPods"])
            apart |= {(node, pod["name"]) for pod in fact["nominatedPods"]}
    assert seen == set(NODES)
    assert apart == {("node-b3", NOMINATED)}


@pytest.mark.parametrize("words", [("explain", "node/{}"), ("node", "{}")], ids=["explain", "node"])
@pytest.mark.parametrize("node", NODES)
def test_node_shows_room_kept_for_nominated_pods(words: tuple[str, str], node: str) -> None:
    """The kept amount equals the amount counted when another pod is rejected."""
    command, target = words
    report = report_of(command, target.format(node))
    kept = report.get("promised", report)["kept"]
    page = said(command, target.format(node), "--demo")
    if node != "node-b3":
        assert (kept, "Nominated" in page) == (None, False)
        return
    placement = report_of("explain", "-f", "-", stdin=HUGE)["placement"]
    counted = {fact["resource"]: fact["nominated"] for name, fact in shortages(placement) if name == node}
    requests = {name: Quantity.parse(text) for name, text in kept["requests"].items()}
    assert counted == {"cpu": requests["cpu"].milli_value, "memory": requests["memory"].value}
    assert kept["pods"] == [{"namespace": "payments", "name": NOMINATED}]
    memory = f"and 20Gi memory kept for the nominated pod payments/{NOMINATED}, besides what is requested"
    assert memory in page[page.index("Nominated ") :]


def test_texts_show_the_same_numbers() -> None:
    assert "memory 61.2Gi 48.6Gi 79% 12.6Gi" in said("explain", "node/node-b3", "--demo")
    page = said("explain", f"pod/{NOMINATED}", "-n", "payments", "--demo", "-o", "wide")
    assert "node-b3: lacks 7.5Gi memory: 12.6Gi of 61.2Gi free, asks 20Gi" in page
    page = said("explain", "pod/trainer-v9c4m", "-n", "ml", "--demo", "-o", "wide")
    assert (
        "node-b3: lacks 63.5Gi memory: 68.6Gi of 61.2Gi promised already, "
        f"20Gi of it for the nominated pod payments/{NOMINATED}, asks 56Gi"
    ) in page
    assert "Way out: free 63.5Gi of the 68.6Gi promised memory on node-a3, where the waiting resize of" in page
    own = said("place", "job/embed", "-n", "ml", "--demo")
    assert (
        "free 580m cpu and 31.5Gi of the 68.6Gi promised memory "
        f"(20Gi of it for the nominated pod payments/{NOMINATED}) on node-b3"
    ) in own
    assert "memory 61.2Gi 68.6Gi 112%" in said("explain", "node/node-a3", "--demo")


def test_pod_that_is_nominated_has_the_score_of_that_node() -> None:
    """Among equally large nodes, another one comes first by name."""
    named = report_of("explain", f"pod/{NOMINATED}", "-n", "payments")
    assert [entry["node"] for entry in named["oom"]] == ["node-b3"]
    assert "OOM score 682 as on node-b3 " in said("explain", f"pod/{NOMINATED}", "-n", "payments", "--demo")
