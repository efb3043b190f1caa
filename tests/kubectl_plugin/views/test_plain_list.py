"""A List shows neither its capture time nor which objects are missing.

Every answer uses the newest time in it as the present, and the page shows this. It shows that its objects exist, and
never that others do not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.demo import demo_objects
from tests.kubectl_plugin.answers import check_texts, data, write_list
from tests.kubectl_plugin.running import Ran, run, write_cluster
from tests.objects import raw_condition, raw_node, raw_object, raw_owner, raw_pod, raw_priority_class, raw_workload

SEED: Final = Path(__file__).resolve().parents[2] / "testdata" / "cases" / "seeds" / "s3a.json"
SAYS: Final = f"Now is taken to be 2026-11-22 10:05:00 UTC, the newest time in {SEED}."
"""Nodes b and c renewed their Leases then; a has been silent for 15 minutes."""
ASKED: Final = {
    "explain": (0, ["explain", "pod/etcd-2"]),
    "explain several": (0, ["explain", "pods"]),
    "explain a node": (0, ["explain", "node/a"]),
    "explain a workload": (11, ["explain", "statefulset/etcd"]),
    "timeline": (0, ["explain", "pod/etcd-2", "--timeline=node-lost"]),
    "node": (0, ["node", "a", "b"]),
    "partitions": (11, ["partitions"]),
    "place": (11, ["place", "--drain", "node/b"]),
    "delete": (3, ["delete", "pod/etcd-2", "--grace-period=0"]),
    "fence": (3, ["fence", "node/a"]),
    "unfence": (0, ["unfence", "node/a"]),
}


def said(*words: str) -> str:
    return " ".join(run(*words, "--snapshot", str(SEED)).out.split())


@pytest.mark.parametrize("name", ASKED)
def test_now_is_newest_time_and_is_shown_once(name: str) -> None:
    code, words = ASKED[name]
    ran = run(*words, "--snapshot", str(SEED))
    assert ran.code == code, ran.err
    assert " ".join(ran.out.split()).count(SAYS) == 1


def test_only_the_silent_node_is_called_silent() -> None:
    check_texts(
        said("partitions"),
        ("node/a x Silent for 14 min", "UTC heartbeat > 09:50:50 Unknown"),
        ("node/b", "No heartbeats"),
    )


def test_answering_node_of_a_list_is_not_fenced() -> None:
    assert "Not fenced: it answers." in said("fence", "node/b")
    assert "b answers" in said("delete", "pod/etcd-0", "--grace-period=0")


def test_json_uses_the_same_time() -> None:
    assert data("partitions", "--snapshot", str(SEED))["at"] == "2026-11-22T10:05:00Z"


def test_html_page_shows_assumed_time() -> None:
    page = run("report", "--snapshot", str(SEED), "-o", "-").out
    assert "now is taken to be 2026-11-22 10:05:00 UTC, by the times in it" in page
    assert "now is taken" not in run("report", "--demo", "-o", "-").out


@pytest.mark.parametrize("name", ["partitions", "explain", "fence"])
def test_stated_capture_time_is_used(name: str, tmp_path: Path) -> None:
    """The demo cluster, and a snapshot of it."""
    words = {"partitions": ["partitions"], "explain": ["explain", "pod/db-1"], "fence": ["fence", "node/node-c3"]}[name]
    captured = tmp_path / "c.qos"
    assert run("snapshot", "--demo", "-o", str(captured)).code == 0
    for source in (["--demo"], ["--snapshot", str(captured), "-n", "shop"]):
        assert "taken to be" not in run(*words, *source).out


def test_list_without_times_shows_no_now(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    write_list(file, [raw_node("n1"), raw_pod("web", nodeName="n1")])
    ran = run("explain", "pods", "--snapshot", str(file))
    assert (ran.code, ran.err) == (0, "")
    assert "pod/web, on n1" in ran.out
    assert "taken to be" not in ran.out


def test_list_without_pods_leaves_pods_unknown(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    write_list(file, [raw_node("n1")])
    ran = run("explain", "pods", "--snapshot", str(file))
    assert (ran.code, ran.out) == (6, "")
    assert ran.err == (
        f"error: pods are not in snapshot {file}\n"
        "Capture the cluster again: kubectl qos snapshot -o FILE; or add them to this file: "
        "kubectl get pods -A -o json >> FILE\n"
    )
    whole = run("explain", "pods", "--snapshot", write_cluster(tmp_path / "c.qos", [raw_node("n1")]))
    assert (whole.code, whole.out, whole.err) == (0, "", "No resources found in default namespace.\n")


def test_list_is_still_no_snapshot(tmp_path: Path) -> None:
    """A kind without objects may not have been captured."""
    ran = run("snapshot", "--snapshot", str(SEED), "-o", str(tmp_path / "c.qos"))
    assert ran.code == 6
    assert "has no capture time, and does not list what is missing in it\nCapture the cluster" in ran.err
    assert "or a List" not in run("snapshot", "--help").out
    assert "or a List" in run("node", "--help").out


NODE: Final = raw_node(
    "n1",
    capacity={"cpu": "4", "memory": "4Gi", "pods": "110"},
    allocatable={"cpu": "4", "memory": "4Gi", "pods": "110"},
    conditions=[raw_condition("Ready", lastHeartbeatTime="2026-01-01T10:00:00Z")],
)
ELSEWHERE: Final = {**NODE, "metadata": {"name": "n2"}}
BUDGET: Final = raw_object("PodDisruptionBudget", "b", "p")
CLAIM: Final = raw_object("PersistentVolumeClaim", "x", "p")


def running(name: str, class_name: str = "", priority: int = 0, claim: str = "") -> dict[str, Any]:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}] if claim else []
    return raw_pod(
        name,
        "p",
        uid=name,
        metadata={"ownerReferences": [raw_owner("StatefulSet", "db", uid="db")]},
        nodeName="n1",
        priorityClassName=class_name,
        priority=priority,
        volumes=volumes,
        status={"phase": "Running", "conditions": [raw_condition("Ready")]},
    )


def ask(tmp_path: Path, objects: list[dict[str, Any]], *words: str) -> Ran:
    """An answer from a List of two nodes and some objects."""
    file = tmp_path / "c.json"
    write_list(file, [NODE, ELSEWHERE, *objects])
    return run(*words, "--snapshot", str(file))


def asked(tmp_path: Path, objects: list[dict[str, Any]], *words: str) -> str:
    return " ".join(ask(tmp_path, objects, *words).out.split())


def asked_of_cluster(tmp_path: Path, objects: list[dict[str, Any]], *words: str) -> str:
    """The answer about a cluster that has only these objects."""
    file = write_cluster(tmp_path / "c.qos", [NODE, ELSEWHERE, *objects])
    return " ".join(run(*words, "--snapshot", file).out.split())


@pytest.mark.parametrize(
    ("others", "lack"),
    [
        pytest.param([], "no persistentvolumeclaims, [^:]* in the file: what needs them is not judged", id="no claims"),
        pytest.param(
            [CLAIM], "not all persistentvolumeclaims are in the file: what needs them is not judged", id="another claim"
        ),
    ],
)
def test_unlisted_claim_is_not_called_missing(tmp_path: Path, others: list[dict[str, Any]], lack: str) -> None:
    objects = [running("db-0", claim="data-db-0"), running("db-1"), *others]
    words = ("place", "--drain", "node/n1")
    ran = ask(tmp_path, objects, *words)
    page = " ".join(ran.out.split())
    assert ran.code == 11
    assert "Unknown; by what was read, drain of n1 ends: both pods find a place." in page
    assert re.search(rf"Not certain: {lack}\.", page.partition(" Now is taken")[0])
    assert "persistentvolumeclaims" in page.partition("Unknown ")[2]
    assert "does not exist" not in page
    assert 'Claim "data-db-0" does not exist' in asked_of_cluster(tmp_path, objects, *words)


@pytest.mark.parametrize(("preemption", "code"), [(True, 11), (False, 7)])
def test_unlisted_priority_class_leaves_placement_open(tmp_path: Path, *, preemption: bool, code: int) -> None:
    full = [raw_pod(f"low-{node}", "p", uid=node, requests={"memory": "4Gi"}, nodeName=node) for node in ("n1", "n2")]
    write_list(
        manifest := tmp_path / "vip.yaml", [raw_pod("vip", "p", requests={"memory": "4Gi"}, priorityClassName="vip")]
    )
    words = ("place", "-f", str(manifest), *(() if preemption else ("--no-preemption",)))
    ran = ask(tmp_path, full, *words)
    assert ran.code == code
    assert ("Unknown; by what was read" in ran.out) == preemption
    found = asked_of_cluster(tmp_path, [*full, raw_priority_class("vip", 7000)], *words)
    assert ("if 1 pod is preempted" in found) == preemption, found


def test_pod_may_fit_if_earlier_pod_is_placed_elsewhere(tmp_path: Path) -> None:
    zones = [
        {**node, "metadata": {**node["metadata"], "labels": {"zone": node["metadata"]["name"]}}}
        for node in (NODE, ELSEWHERE)
    ]
    on_n1 = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["n1"]}]}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [on_n1]}}}
    volume = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}, **affinity}
    meta = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    done: Any = {"spec": {"volumeName": "v"}, "status": {"phase": "Bound"}}
    bound = [
        raw_object("PersistentVolumeClaim", "x", "p", metadata=meta, **done),
        raw_object("PersistentVolume", "v", spec=volume),
    ]
    data_of_x = [{"name": "data", "persistentVolumeClaim": {"claimName": "x"}}]
    small = raw_pod("small", "p", requests={"memory": "1Gi"}, volumes=data_of_x)
    write_list(manifest := tmp_path / "two.yaml", [small, raw_pod("large", "p", requests={"memory": "4Gi"})])
    there = raw_pod("there", "p", uid="there", requests={"memory": "1Gi"}, nodeName="n1")
    words = ("place", "-f", str(manifest))
    assert "Both pods fit" in run(*words, "--snapshot", write_cluster(tmp_path / "c.qos", [*zones, there, *bound])).out
    ran = ask(tmp_path, [there], *words)
    assert ran.code == 11
    assert "Unknown; by what was read, pod/large" in " ".join(ran.out.split())


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        pytest.param([], "not in the file", id="no classes"),
        pytest.param([raw_priority_class("other", 1)], "not all in the file", id="another class"),
    ],
)
def test_unlisted_class_is_not_called_deleted(tmp_path: Path, others: list[dict[str, Any]], reason: str) -> None:
    objects = [running("web", "vip", 7000), *others]
    words = ("explain", "pod/web", "-n", "p", "-o", "wide")
    page = asked(tmp_path, objects, *words)
    check_texts(page, f"priorityclasses.scheduling.k8s.io: {reason}", "no longer exists")
    assert "to add: kubectl get priorityclasses -A -o json >> FILE" in page
    assert 'class "vip" no longer exists' in asked_of_cluster(tmp_path, objects, *words)


def test_unlisted_node_is_not_called_deleted(tmp_path: Path) -> None:
    pod = running("db-0")
    pod["spec"]["nodeName"] = "n9"
    words = ("explain", "pod/db-0", "-n", "p")
    ran = ask(tmp_path, [pod], *words)
    page = " ".join(ran.out.split())
    assert ran.code == 11
    assert "Not certain: whether n9 answers is unknown; the Node could not be read." in page
    check_texts(page, "Force delete not known to be safe: whether n9 answers is unknown", "no Node object any more")
    whole = asked_of_cluster(tmp_path, [pod], *words)
    check_texts(whole, "Its node n9 has no Node object any more", "unknown; the Node")


@pytest.mark.parametrize(
    ("words", "severity", "lacks"),
    [
        (
            ("explain", "statefulset/etcd"),
            "trouble",
            ["priorityclasses.scheduling.k8s.io", "limitranges", "namespaces", "resourcequotas"],
        ),
        (("place", "--drain", "node/b"), "notice", ["services", "poddisruptionbudgets.policy"]),
    ],
)
def test_json_names_missing_kinds_of_the_verdict(
    words: tuple[str, ...], severity: str, lacks: list[str], tmp_path: Path
) -> None:
    verdict = data(*words, "--snapshot", str(SEED))["verdict"]
    assert (verdict["severity"], verdict["lacks"]) == (severity, lacks)
    objects = json.loads(SEED.read_text())["items"]
    whole = run(*words, "--snapshot", write_cluster(tmp_path / "c.qos", objects), "-o", "json")
    assert json.loads(whole.out)["verdict"]["lacks"] == []


@pytest.mark.parametrize("others", [[], [raw_priority_class("other", 1)]])
def test_class_of_the_system_is_in_every_cluster(tmp_path: Path, others: list[dict[str, Any]]) -> None:
    page = asked(
        tmp_path, [running("dns", "system-cluster-critical", 2_000_000_000), *others], "explain", "pod/dns", "-n", "p"
    )
    check_texts(page, 'Priority 2000000000 (class "system-cluster-critical")', ("no longer exists", "priorityclasses"))


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "pod/db-1", "-n", "p", "--timeline=drain"),
        ("delete", "pod/db-1", "-n", "p", "--grace-period=0"),
        ("place", "--drain", "node/n1"),
    ],
)
def test_list_without_budgets_leaves_budgets_unknown(tmp_path: Path, words: tuple[str, ...]) -> None:
    unknown = "poddisruptionbudgets.policy"
    assert unknown in asked(tmp_path, [running("db-1")], *words)
    assert unknown not in asked(tmp_path, [running("db-1"), BUDGET], *words)


@pytest.fixture
def nodeless(tmp_path: Path) -> str:
    pods = [entry for entry in demo_objects() if entry["kind"] != "Node"]
    return write_list(tmp_path / "pods.json", pods)


@pytest.mark.parametrize("form", ["table", "wide"])
def test_list_without_nodes_does_not_claim_answers(form: str, nodeless: str) -> None:
    page = " ".join(run("partitions", "--snapshot", nodeless, "-o", form).out.split())
    assert page.startswith("0 nodes ! No Node was read: it is unknown whether the nodes of pods answer.")
    verdict = data("partitions", "--snapshot", nodeless)["verdict"]
    assert (verdict["code"], verdict["severity"]) == ("NodesUnread", "notice")


def test_placement_is_unknown_without_nodes(nodeless: str) -> None:
    ran = run("place", "deployment/web", "-n", "shop", "--snapshot", nodeless)
    page = " ".join(ran.out.split())
    assert (ran.code, ran.err) == (11, "")
    assert page.startswith("! Unknown where it would go: the nodes could not be read. Not certain: no ")
    assert "Not certain: no nodes in the file: what needs them is not judged." in page


def test_list_without_nodes_suffices_for_added_node(nodeless: str) -> None:
    asked = "place", "deployment/web", "-n", "shop", "--snapshot", nodeless, "--add-node", "name=n1,cpu=4,memory=8Gi"
    ran = run(*asked)
    assert (ran.code, ran.err) == (11, "")
    assert "Unknown; by what was read, 1 more pod of Deployment web fits, on n1." in ran.out
    # The demo cluster has no limits, and a List may lack some.
    assert "no limitranges or resourcequotas in the file: assumed none." in " ".join(ran.out.split())


LARGE: Final = raw_pod("large", "p", uid="large", requests={"memory": "8Gi"}, status={"phase": "Pending"})


INCOMPLETE: Final[Mapping[str, Any]] = {
    "a node of a pod": ([LARGE, raw_pod("on-n3", "p", uid="3", nodeName="n3")], ("place", "pod/large"), "nodes"),
    "a node that a pod is nominated to": (
        [LARGE, raw_pod("to-n3", "p", uid="3", status={"phase": "Pending", "nominatedNodeName": "n3"})],
        ("place", "pod/large"),
        "nodes",
    ),
    "the class of a pod to come": (
        [
            raw_priority_class("other", 1),
            raw_workload(
                "Deployment",
                "web",
                "p",
                pod_spec={**raw_pod(requests={"memory": "1Gi"})["spec"], "priorityClassName": "vip"},
            ),
        ],
        ("place", "deployment/web"),
        "priorityclasses.scheduling.k8s.io",
    ),
    "the volume that a claim waits for": (
        [
            running("db-0", claim="x"),
            {**CLAIM, "spec": {"volumeName": "v"}},
            raw_object("PersistentVolume", "other", "p"),
            raw_pod(
                "app",
                "p",
                uid="app",
                status={"phase": "Pending"},
                volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "x"}}],
            ),
        ],
        ("place", "pod/app"),
        "persistentvolumes",
    ),
    "all pods of a drained node": ([], ("place", "--drain", "node/n1"), "pods"),
    "a version beside the one that is read": (
        [running("db-0"), BUDGET, {**BUDGET, "apiVersion": "policy/v1beta1"}],
        ("place", "--drain", "node/n1"),
        "poddisruptionbudgets.policy",
    ),
}


@pytest.mark.parametrize(("objects", "words", "lack"), INCOMPLETE.values(), ids=INCOMPLETE)
def test_incomplete_list_gives_unknown_fit(
    tmp_path: Path, objects: list[dict[str, Any]], words: tuple[str, ...], lack: str
) -> None:
    ran = ask(tmp_path, objects, *words, "-n", "p")
    assert ran.code == 11, ran
    found = json.loads(ask(tmp_path, objects, *words, "-n", "p", "-o", "json").out)["verdict"]
    assert found["code"] == "FitUnknown"
    assert lack in found["lacks"]
    assert "does not exist" not in ran.out
    assert "recreate the claim" not in ran.out
