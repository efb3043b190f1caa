"""Answers about a cluster whose nodes have kubelets of several minors: each node's own rules, in every answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podrules.cgroup import pod_resource_config
from podrules.features import Features
from podrules.model.decode import from_object
from podrules.model.pod import Pod
from podrules.oom import pod_oom_score_adjs
from tests.kubectl_plugin.running import run
from tests.objects import raw_container, raw_node, raw_pod

MINORS = {"old": 33, "n34": 34, "n36": 36, "n37": 37}
"""By node."""
MEMORY = 8 << 30


def _node(name: str, version: str) -> dict[str, Any]:
    raw = raw_node(name)
    amounts = {"cpu": "4", "memory": str(MEMORY), "pods": "110"}
    info = {"kubeletVersion": version, "operatingSystem": "linux"}
    return {**raw, "status": {**raw.get("status", {}), "capacity": amounts, "allocatable": amounts, "nodeInfo": info}}


def _pod(name: str, node: str) -> dict[str, Any]:
    """Pod-level memory, and a sidecar with a limit before an init container without: both count by version."""
    return raw_pod(
        name,
        "shop",
        uid=name,
        initContainers=[
            raw_container("side", {"memory": "64Mi"}, {"memory": "128Mi"}, restartPolicy="Always"),
            raw_container("once", {"memory": "32Mi"}),
        ],
        containers=[raw_container("app", {"memory": "256Mi"}, {"memory": "512Mi"})],
        resources={"requests": {"memory": "1Gi"}},
        nodeName=node,
        status={"phase": "Running", "qosClass": "Burstable"},
    )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("cluster") / "cluster.json"
    nodes = [_node(name, f"v1.{minor}.2") for name, minor in MINORS.items()]
    pods = [_pod(f"pod-{name}", name) for name in MINORS]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, *pods]}), encoding="utf-8")
    return file


def answer(cluster: Path, *arguments: str) -> Any:
    ran = run(*arguments, "--snapshot", str(cluster), "-o", "json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def scores(found: Mapping[str, Any]) -> dict[str, int]:
    return {entry["container"]: entry["value"] for one in found["oom"] for entry in one["containers"]}


@pytest.mark.parametrize(("node", "minor"), MINORS.items())
def test_explain_goes_by_the_kubelet_of_the_node(cluster: Path, node: str, minor: int) -> None:
    found = answer(cluster, "explain", f"pod/pod-{node}", "-n", "shop", "--kubernetes-version", "1.37")
    pod, kubelet = from_object(_pod(f"pod-{node}", node), Pod), Features.of_minor(minor)
    expected = pod_oom_score_adjs(pod, MEMORY, features=kubelet)
    assert expected is not None
    assert scores(found) == {score.container: score.value for score in expected}
    assert found["cgroup"]["config"]["memory"] == (pod_resource_config(pod, features=kubelet).memory)
    assert (found["serverVersion"], found["rulesVersion"]) == ("1.37", "1.37.1")
    assert [note["nodes"] for note in found["versionNotes"]] == ([["old"]] if minor == 33 else [])


def test_the_minors_do_differ(cluster: Path) -> None:
    """Else the tests here could not fail."""
    found = [answer(cluster, "explain", f"pod/pod-{node}", "-n", "shop") for node in MINORS]
    assert scores(found[0]) != scores(found[1]), "1.33 passes pod-level resources over"
    assert found[2]["cgroup"]["config"]["memory"] != found[3]["cgroup"]["config"]["memory"], "1.37 sees a limit missing"


@pytest.mark.parametrize("node", MINORS)
def test_node_and_report_agree_with_explain(cluster: Path, node: str) -> None:
    told = scores(answer(cluster, "explain", f"pod/pod-{node}", "-n", "shop"))
    pressure = answer(cluster, "node", node)
    machine = next(order for order in pressure["oom"] if order["scope"] == "Global")
    running = {place["container"]: place["oomScoreAdj"] for place in machine["places"]}
    assert running == {name: told[name] for name in ("side", "app")}
    (entry,) = [one for one in answer(cluster, "report", "-A")["pods"] if one["name"] == f"pod-{node}"]
    assert entry["oomScoreAdj"] in told.values()


def test_old_kubelets_are_named_where_their_node_is_judged(cluster: Path) -> None:
    ran = run("node", "old", "--snapshot", str(cluster))
    assert "kubelet on old is v1.33.2, and answers were checked on 1.34 to 1.37 only" in " ".join(ran.out.split())
    ran = run("node", "n36", "--snapshot", str(cluster))
    assert "answers were checked" not in " ".join(ran.out.split())
    ran = run("report", "-A", "--snapshot", str(cluster))
    assert "kubelet on old is v1.33.2" in " ".join(ran.out.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--kubernetes-version", "1.x"), '--kubernetes-version "1.x": not a version of Kubernetes'),
        (("--kubernetes-version", "2.1"), '--kubernetes-version "2.1": not a version of Kubernetes'),
        (("--feature-gates", "A"), '--feature-gates "A": no NAME=BOOL'),
        (("--feature-gates", "PodLevelResources=yes"), '"PodLevelResources=yes": neither true nor false'),
        (("--feature-gates", "@nowhere.yaml"), "nowhere.yaml"),
    ],
)
def test_what_cannot_be_read_is_refused(cluster: Path, arguments: tuple[str, ...], says: str) -> None:
    ran = run("explain", "pod/pod-n36", "-n", "shop", "--snapshot", str(cluster), *arguments)
    assert ran.code in {2, 6}
    assert says in ran.err


def test_gates_of_the_flag_and_of_a_file(cluster: Path, tmp_path: Path) -> None:
    base = scores(answer(cluster, "explain", "pod/pod-n36", "-n", "shop"))
    without = scores(
        answer(cluster, "explain", "pod/pod-n36", "-n", "shop", "--feature-gates", "PodLevelResources=false")
    )
    assert without != base
    config = tmp_path / "kubelet.yaml"
    config.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "featureGates: {PodLevelResources: false}\n"
    )
    assert scores(answer(cluster, "explain", "pod/pod-n36", "-n", "shop", "--feature-gates", f"@{config}")) == without


def test_a_gate_that_decides_is_named(cluster: Path) -> None:
    """Nobody knows how the kubelet sets it, unless the user says so; on a page that has every detail."""
    words = ("explain", "pod/pod-n36", "-n", "shop")
    gates = {gate["name"]: gate for gate in answer(cluster, *words)["assumedGates"]}
    assert {name: gate["on"] for name, gate in gates.items()} == {"MemoryQoS": False, "PodLevelResources": True}
    assert set(gates["PodLevelResources"]["changes"]) == {"OOMScore", "Requests"}
    assert gates["MemoryQoS"]["changes"] == ["Cgroup"]
    told = "--feature-gates=PodLevelResources=true,MemoryQoS=true"
    assert answer(cluster, *words, told)["assumedGates"] == []
    ran = run(*words, "--snapshot", str(cluster), "-o", "wide")
    assert "feature gate PodLevelResources is taken to be on, and decides" in " ".join(ran.out.split())


def test_of_many_pods_no_gate_is_named(cluster: Path) -> None:
    for item in answer(cluster, "explain", "pods", "-n", "shop")["items"]:
        assert item["assumedGates"] == []


def test_a_gate_that_no_rule_reads_is_a_warning(cluster: Path) -> None:
    ran = run("explain", "pod/pod-n36", "-n", "shop", "--snapshot", str(cluster), "--feature-gates=PodLevelResource=0")
    assert ran.code == 0
    assert "no rule reads PodLevelResource; did you mean PodLevelResources?" in ran.err


def test_suggested_commands_keep_the_version(cluster: Path) -> None:
    ran = run("explain", "pod/pod-n36", "-n", "shop", "--snapshot", str(cluster), "--kubernetes-version=1.35")
    assert "--kubernetes-version=1.35" in ran.out


def test_lint_and_explain_go_by_the_version_of_the_flag(tmp_path: Path) -> None:
    """Until 1.36 an empty spec.resources alone decides the class."""
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(raw_pod("web", requests={"cpu": "1"}, resources={})), encoding="utf-8")
    classes = {}
    for minor in ("1.36", "1.37"):
        ran = run("explain", "-f", str(file), "--offline", "--kubernetes-version", minor, "-o", "json")
        classes[minor] = json.loads(ran.out)["qos"]["qosClass"]
        ran = run("lint", "-f", str(file), "--kubernetes-version", minor, "-o", "json")
        assert json.loads(ran.out)["rulesVersion"].startswith(minor)
    assert classes == {"1.36": "BestEffort", "1.37": "Burstable"}
