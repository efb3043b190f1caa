"""A List that does not say when it was made: now is the newest time in it, in every answer, and the page says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from podrules.cluster.demo import demo_objects
from tests.kubectl_plugin.running import run

SEED: Final = Path(__file__).resolve().parents[1] / "testdata" / "cases" / "seeds" / "s3a.json"
SAYS: Final = f"Now is taken to be 2026-11-22 10:05:00 UTC, the newest time in {SEED}."
"""Nodes b and c renewed their Leases then; a has been silent for a quarter of an hour."""
ASKED: Final = {
    "explain": (0, ["explain", "pod/etcd-2"]),
    "explain several": (0, ["explain", "pods"]),
    "explain a node": (0, ["explain", "node/a"]),
    "explain a workload": (0, ["explain", "statefulset/etcd"]),
    "timeline": (0, ["explain", "pod/etcd-2", "--timeline=node-lost"]),
    "node": (0, ["node", "a", "b"]),
    "partitions": (0, ["partitions"]),
    "place": (0, ["place", "--drain", "node/b"]),
    "delete": (3, ["delete", "pod/etcd-2", "--grace-period=0"]),
    "fence": (3, ["fence", "node/a"]),
    "unfence": (0, ["unfence", "node/a"]),
}


def said(*words: str) -> str:
    return " ".join(run(*words, "--snapshot", str(SEED)).out.split())


@pytest.mark.parametrize("name", ASKED)
def test_now_is_the_newest_time_and_the_page_says_so_once(name: str) -> None:
    code, words = ASKED[name]
    ran = run(*words, "--snapshot", str(SEED))
    assert ran.code in {code, 7 if name == "place" else code}, ran.err
    assert " ".join(ran.out.split()).count(SAYS) == 1


def test_only_the_node_that_is_silent_is_silent() -> None:
    text = said("partitions")
    assert "node/a Silent since 09:50:50 UTC" in text
    assert "15m ago" in text
    assert "node/b" not in text
    assert "No heartbeats" not in text


def test_a_node_of_it_that_answers_is_not_fenced() -> None:
    assert "Not fenced: it answers." in said("fence", "node/b")
    assert "b answers" in said("delete", "pod/etcd-0", "--grace-period=0")


def test_data_is_told_by_the_same_time() -> None:
    report = json.loads(run("partitions", "--snapshot", str(SEED), "-o", "json").out)
    assert report["at"] == "2026-11-22T10:05:00Z"


def test_the_page_of_a_list_says_so() -> None:
    page = run("report", "--snapshot", str(SEED), "-o", "-").out
    assert "now is taken to be 2026-11-22 10:05:00 UTC, the newest time in it" in page
    assert "now is taken" not in run("report", "--demo", "-o", "-").out


@pytest.mark.parametrize("name", ["partitions", "explain", "fence"])
def test_what_tells_its_time_is_believed(name: str, tmp_path: Path) -> None:
    """The demo cluster, and a snapshot of it."""
    words = {"partitions": ["partitions"], "explain": ["explain", "pod/db-1"], "fence": ["fence", "node/node-c3"]}[name]
    captured = tmp_path / "c.qos"
    assert run("snapshot", "--demo", "-o", str(captured)).code == 0
    for source in (["--demo"], ["--snapshot", str(captured), "-n", "shop"]):
        assert "taken to be" not in run(*words, *source).out


def test_a_list_without_times_says_nothing_of_now(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    bare = [
        {**one, "metadata": {"name": one["metadata"]["name"]}}
        for one in demo_objects()
        if one["kind"] == "PriorityClass"
    ]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": bare}))
    ran = run("explain", "pods", "--snapshot", str(file))
    assert (ran.code, "taken to be" in ran.out) == (0, False)


def test_a_list_is_still_no_snapshot(tmp_path: Path) -> None:
    """What it has none of may not have been asked for."""
    ran = run("snapshot", "--snapshot", str(SEED), "-o", str(tmp_path / "c.qos"))
    assert ran.code == 2
    assert "does not tell when it was captured, nor what is missing in it" in ran.err
