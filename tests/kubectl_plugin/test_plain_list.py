"""A List that does not say when it was made: now is the newest time in it, in every answer, and the page says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from podrules.cluster.demo import demo_objects
from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_node, raw_pod, raw_priority_class

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
    assert ran.code == 6
    assert "does not tell when it was captured, nor what is missing in it\nCapture the cluster" in ran.err
    assert "or a List" not in run("snapshot", "--help").out
    assert "or a List" in run("node", "--help").out


NODE: Final = raw_node(
    "n1",
    capacity={"cpu": "4", "memory": "4Gi", "pods": "110"},
    allocatable={"cpu": "4", "memory": "4Gi", "pods": "110"},
    conditions=[raw_condition("Ready", lastHeartbeatTime="2026-01-01T10:00:00Z")],
)
ELSEWHERE: Final = {**NODE, "metadata": {"name": "n2"}}
OWNER: Final = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db", "controller": True}
BUDGET: Final = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "p"}}
CLAIM: Final = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "x", "namespace": "p"}}


def running(name: str, class_name: str = "", priority: int = 0, claim: str = "") -> dict[str, Any]:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}] if claim else []
    return raw_pod(
        name,
        "p",
        uid=name,
        metadata={"ownerReferences": [OWNER]},
        nodeName="n1",
        priorityClassName=class_name,
        priority=priority,
        volumes=volumes,
        status={"phase": "Running", "conditions": [raw_condition("Ready")]},
    )


def asked(tmp_path: Path, objects: list[dict[str, Any]], *words: str) -> str:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [NODE, ELSEWHERE, *objects]}))
    return " ".join(run(*words, "--snapshot", str(file)).out.split())


def test_a_claim_is_not_said_to_be_missing_where_the_list_has_no_claims(tmp_path: Path) -> None:
    pods = [running("db-0", claim="data-db-0"), running("db-1")]
    words = ("place", "--drain", "node/n1")
    told = asked(tmp_path, pods, *words)
    assert "has no persistentvolumeclaims, and the pod names one: add them to it" in told
    assert "The one new pod fits, on n2." in told
    assert "does not exist" not in told
    assert 'Claim "data-db-0" does not exist' in asked(tmp_path, [*pods, CLAIM], *words)


def test_a_class_is_not_said_to_be_gone_where_the_list_has_no_classes(tmp_path: Path) -> None:
    pods = [running("web", "vip", 7000)]
    told = asked(tmp_path, pods, "explain", "pod/web", "-n", "p", "-o", "wide")
    assert "no longer exists" not in told
    assert "priorityclasses.scheduling.k8s.io: not in the snapshot" in told
    others = [*pods, raw_priority_class("other", 1)]
    assert 'class "vip" no longer exists' in asked(tmp_path, others, "explain", "pod/web", "-n", "p", "-o", "wide")


@pytest.mark.parametrize("others", [[], [raw_priority_class("other", 1)]])
def test_a_class_of_the_system_is_in_every_cluster(tmp_path: Path, others: list[dict[str, Any]]) -> None:
    told = asked(
        tmp_path, [running("dns", "system-cluster-critical", 2_000_000_000), *others], "explain", "pod/dns", "-n", "p"
    )
    assert 'Priority 2000000000 (class "system-cluster-critical")' in told
    assert "no longer exists" not in told
    assert "priorityclasses" not in told


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "pod/db-1", "-n", "p", "--timeline=drain"),
        ("delete", "pod/db-1", "-n", "p", "--grace-period=0"),
        ("place", "--drain", "node/n1"),
    ],
)
def test_that_no_budget_holds_is_not_known_where_the_list_has_none(tmp_path: Path, words: tuple[str, ...]) -> None:
    unknown = "poddisruptionbudgets.policy"
    assert unknown in asked(tmp_path, [running("db-1")], *words)
    assert unknown not in asked(tmp_path, [running("db-1"), BUDGET], *words)


@pytest.fixture
def nodeless(tmp_path: Path) -> str:
    file = tmp_path / "pods.json"
    pods = [entry for entry in demo_objects() if entry["kind"] != "Node"]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    return str(file)


@pytest.mark.parametrize("form", ["table", "wide"])
def test_without_nodes_nobody_says_that_all_answer(form: str, nodeless: str) -> None:
    told = " ".join(run("partitions", "--snapshot", nodeless, "-o", form).out.split())
    assert told.startswith("0 nodes No Node was read: whether the nodes of pods answer is not known.")
    verdict = json.loads(run("partitions", "--snapshot", nodeless, "-o", "json").out)["verdict"]
    assert (verdict["code"], verdict["severity"]) == ("NodesUnread", "notice")


def test_without_nodes_it_is_not_known_where_pods_would_go(nodeless: str) -> None:
    asked = "place", "deployment/web", "-n", "shop", "--snapshot", nodeless
    ran = run(*asked)
    told = " ".join(ran.out.split())
    assert told.startswith(f"deployment/web is not placed: not known: snapshot {nodeless} has no nodes.")
    assert ran.code == 7
    added = run(*asked, "--add-node", "name=n1,cpu=4,memory=8Gi")
    assert "Yes: 1 more pod of Deployment web fits, on n1." in added.out
