"""A node on which requests reach allocatable of a resource: all answers agree on which pods still fit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import check_texts, data, fine, write_list
from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_node, raw_node_event, raw_pod

NOMEM: Final = Path(__file__).parents[1] / "testdata/cases/cli/nomem.yaml"
NO_MEMORY: Final = "no pod that requests memory fits here"


def on(tmp_path: Path, pods: Sequence[Mapping[str, Any]], *arguments: str) -> str:
    """The output for a node of 2 cpu, 4Gi and three pods."""
    node = raw_node(
        "n1",
        capacity={"cpu": "2", "memory": "4Gi", "pods": "3"},
        allocatable={"cpu": "2", "memory": "4Gi", "pods": "3"},
        conditions=[raw_condition("Ready")],
    )
    snapshot = write_list(tmp_path / "snapshot.json", [node, *pods, raw_node_event("n1")])
    return fine(*arguments, "--snapshot", snapshot)


def running(name: str, **requests: str) -> dict[str, Any]:
    return raw_pod(name, "default", uid=name, requests=requests, nodeName="n1", status={"phase": "Running"})


def test_Q4_overcommitted_node_takes_pod_without_requests() -> None:
    said = fine("explain", "node/node-a3", "--demo")
    check_texts(said, f"Requests add up to memory 112% of allocatable: {NO_MEMORY}.", "puts nothing more")
    # The scheduler's own rule places that pod there.
    placed = data("explain", "-f", str(NOMEM), "--demo")["placement"]
    assert placed["best"] == ["node-a3"]


def test_Q4_overcommitted_node_rejects_pod_with_requests(tmp_path: Path) -> None:
    manifest = tmp_path / "some.yaml"
    manifest.write_text(NOMEM.read_text().replace("cpu: 100m", "memory: 1Ki"))
    placed = data("explain", "-f", str(manifest), "--demo")["placement"]
    assert (placed["outcome"], placed["best"]) == ("Unschedulable", [])


def test_Q4_node_and_report_agree() -> None:
    assert f"of allocatable: {NO_MEMORY}." in fine("node", "node-a3", "--demo")
    page = re.sub(r"\s+", " ", run("report", "node/node-a3", "--demo", "-o", "-").out)
    assert "node-a3: memory requests over 100%." in page
    check_texts(page, "112% of allocatable.", "no room for a pod that comes")


FULL: Final[Mapping[str, Any]] = {
    "exactly full": (
        [running("a", cpu="2", memory="1Gi")],
        "Requests add up to cpu 100% of allocatable: no pod that requests cpu fits here.",
    ),
    "of two resources": (
        [running("a", cpu="2", memory="4Gi")],
        "Requests add up to cpu 100% and memory 100% of allocatable: no pod that requests cpu or memory fits here.",
    ),
    "the number of pods binds all": (
        [running("a"), running("b"), running("c")],
        "It has 3 of 3 pods: no other fits here.",
    ),
}


@pytest.mark.parametrize(("pods", "said"), FULL.values(), ids=FULL)
def test_Q4_full_resource_is_named(tmp_path: Path, pods: Sequence[Mapping[str, Any]], said: str) -> None:
    assert said in on(tmp_path, pods, "explain", "node/n1")


def test_Q4_node_with_room_has_no_remark(tmp_path: Path) -> None:
    pods = [running("a", cpu="1999m", memory="1Gi"), running("b")]
    assert "does not fit" not in on(tmp_path, pods, "explain", "node/n1")
    assert "No room" not in on(tmp_path, pods, "node", "n1")
