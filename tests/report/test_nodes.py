"""The summary of nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kubectl_plugin.reports.cluster.cluster_entries import NodeEntry
from kubectl_plugin.views.node.node_flags import NodeMark, node_sentences
from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_node


def summary(tmp_path: Path, *nodes: Any) -> str:
    snapshot = tmp_path / "nodes.json"
    snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
    ran = run("report", "--all", "--snapshot", str(snapshot))
    # A List without pods.
    assert (ran.code, ran.err) == (11, "")
    return " ".join(ran.out.split())


@pytest.mark.parametrize("ready", ["True", "False"])
def test_a_node_that_is_back_and_still_fenced_is_no_fine_node(tmp_path: Path, ready: str) -> None:
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
    node = raw_node("n1", conditions=[raw_condition("Ready", ready)], taints=[taint])
    said = summary(tmp_path, node)
    assert "x n1 answers again, and is still out of service" in said
    assert "Nothing stands out" not in said


def test_no_other_taint_makes_a_node_fenced(tmp_path: Path) -> None:
    taint = {"key": "node.kubernetes.io/out-of-services", "effect": "NoSchedule"}
    node = raw_node("n1", conditions=[raw_condition("Ready")], taints=[taint])
    assert "out of service" not in summary(tmp_path, node)


def test_nodes_near_an_eviction_are_named_the_nearest_first() -> None:
    found = json.loads(run("report", "--all", "--demo", "-o", "json").out)["nodes"]
    node = msgspec.convert(next(one for one in found if one["nearest"]), NodeEntry)
    assert node.nearest is not None
    near = [replace(node, name=f"n{left}", nearest=replace(node.nearest, percent=left)) for left in (9, 4, 7, 5)]
    fact, meaning = node_sentences(NodeMark.NEAR_EVICTION, near)
    assert fact == "4 nodes are near an eviction."
    assert [part.split(":")[0] for part in meaning.split("; ")] == ["n4", "n5", "n7", "and 1 more."]
