"""Answers about a cluster with kubelets of several minors: every answer uses the rules of each node."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podrules.api.features import Features
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.pod.cgroup import pod_resource_config
from podrules.pod.oom import pod_oom_score_adjs
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_container, raw_node, raw_pod
from tests.tree import ROOT

MINORS = {"old": 33, "n34": 34, "n36": 36, "n37": 37}
"""The minor by node."""
MEMORY = 8 << 30


def _node(name: str, version: str) -> dict[str, Any]:
    raw = raw_node(name)
    amounts = {"cpu": "4", "memory": str(MEMORY), "pods": "110"}
    info = {"kubeletVersion": version, "operatingSystem": "linux"}
    return {**raw, "status": {**raw.get("status", {}), "capacity": amounts, "allocatable": amounts, "nodeInfo": info}}


def _pod(name: str, node: str) -> dict[str, Any]:
    """Pod-level memory, and a sidecar with a limit before an init container without one: both depend on the version."""
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
    write_cluster(file, [*nodes, *pods])
    return file


def answer(cluster: Path, *arguments: str) -> Any:
    ran = run(*arguments, "--snapshot", str(cluster), "-o", "json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def scores(found: Mapping[str, Any]) -> dict[str, int]:
    return {entry["container"]: entry["value"] for one in found["oom"] for entry in one["containers"]}


@pytest.mark.parametrize(("node", "minor"), MINORS.items())
def test_explain_uses_kubelet_version_of_node(cluster: Path, node: str, minor: int) -> None:
    found = answer(cluster, "explain", f"pod/pod-{node}", "-n", "shop", "--kubernetes-version", "1.37")
    pod, kubelet = from_object(_pod(f"pod-{node}", node), Pod), Features.of_minor(minor)
    expected = pod_oom_score_adjs(pod, MEMORY, features=kubelet)
    assert expected is not None
    assert scores(found) == {score.container: score.value for score in expected}
    assert found["cgroup"]["config"]["memory"] == (pod_resource_config(pod, features=kubelet).memory)
    assert (found["serverVersion"], found["rulesVersion"]) == ("1.37", "1.37.1")
    assert [note["nodes"] for note in found["versionNotes"]] == ([["old"]] if minor == 33 else [])


def test_minors_differ(cluster: Path) -> None:
    """Otherwise the tests here could not fail."""
    found = [answer(cluster, "explain", f"pod/pod-{node}", "-n", "shop") for node in MINORS]
    assert scores(found[0]) != scores(found[1]), "1.33 ignores pod-level resources"
    assert found[2]["cgroup"]["config"]["memory"] != found[3]["cgroup"]["config"]["memory"], "1.37 sees a limit missing"


@pytest.mark.parametrize("node", MINORS)
def test_node_and_report_agree_with_explain(cluster: Path, node: str) -> None:
    report = scores(answer(cluster, "explain", f"pod/pod-{node}", "-n", "shop"))
    pressure = answer(cluster, "node", node)
    machine = next(order for order in pressure["oom"] if order["scope"] == "Global")
    running = {place["container"]: place["oomScoreAdj"] for place in machine["places"]}
    assert running == {name: report[name] for name in ("side", "app")}
    (entry,) = [one for one in answer(cluster, "report", "-A")["pods"] if one["name"] == f"pod-{node}"]
    assert entry["oomScoreAdj"] in report.values()


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
        (("--kubernetes-version", "1.37.x"), '"1.37.x": not a version of Kubernetes'),
        (("--kubernetes-version", "1.037"), '"1.037": not a version of Kubernetes'),
        (("--kubernetes-version", "2.1"), '--kubernetes-version "2.1": not a version of Kubernetes'),
        (("--feature-gates", "A"), '--feature-gates "A": not NAME=BOOL'),
        (("--feature-gates", "PodLevelResources=yes"), '"PodLevelResources=yes": neither true nor false'),
        (("--feature-gates=",), "--feature-gates: no gate given"),
        (("--feature-gates", "@"), "--feature-gates @: no file name"),
        (("--feature-gates", "@/"), "--feature-gates @/: /: Is a directory"),
        (("--feature-gates", "@nowhere.yaml"), "--feature-gates @nowhere.yaml: nowhere.yaml: No such file"),
    ],
)
def test_invalid_versions_are_refused(cluster: Path, arguments: tuple[str, ...], says: str) -> None:
    ran = run("explain", "pod/pod-n36", "-n", "shop", "--snapshot", str(cluster), *arguments)
    assert ran.code == 2
    assert says in ran.err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param("", "it is no KubeletConfiguration", id="empty"),
        pytest.param('{"kubeletconfig": {}}', "it has no featureGates", id="a node's configz"),
        pytest.param("[]", "it is no KubeletConfiguration", id="a list"),
        pytest.param("kind: Pod\nfeatureGates: {}\n", "kind is Pod, apiVersion is missing", id="of another kind"),
        pytest.param(
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates: {MemoryQoS: null}\n",
            '"MemoryQoS=null": neither true nor false',
            id="no bool",
        ),
    ],
)
def test_file_that_names_no_gates_is_refused(cluster: Path, tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "gates"
    file.write_text(content, encoding="utf-8")
    ran = run("explain", "pods", "-A", "--snapshot", str(cluster), "--feature-gates", f"@{file}")
    assert ran.code == 2
    assert says in ran.err


def test_gates_of_the_flag_and_of_a_file(cluster: Path, tmp_path: Path) -> None:
    base = scores(answer(cluster, "explain", "pod/pod-n36", "-n", "shop"))
    without = scores(
        answer(cluster, "explain", "pod/pod-n36", "-n", "shop", "--feature-gates", "PodLevelResources=false")
    )
    assert without != base
    config = tmp_path / "kubelet.yaml"
    for text in (
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates: {PodLevelResources: off}",
        '{"kubeletconfig": {"enableServer": true, "featureGates": {"PodLevelResources": false}}}',
        '{"enableServer": true, "featureGates": {"PodLevelResources": false}}',
    ):
        config.write_text(text)
        found = answer(cluster, "explain", "pod/pod-n36", "-n", "shop", "--feature-gates", f"@{config}")
        assert scores(found) == without


def test_pending_pod_has_cgroups_of_possible_kubelets(tmp_path: Path) -> None:
    """Only on 1.34 does a sidecar's limit count for the init container after it."""
    pods = [_pod("any", ""), {**_pod("there", ""), "metadata": {"name": "there", "namespace": "shop", "uid": "t"}}]
    for pod in pods:
        del pod["spec"]["resources"]
        pod["status"] = {"phase": "Pending"}
    pods[1]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "n34"}
    nodes = [_node(name, f"v1.{MINORS[name]}.2") for name in ("n34", "n37")]
    for node in nodes:
        node["metadata"]["labels"] = {"kubernetes.io/hostname": node["metadata"]["name"]}
    file = tmp_path / "cluster.json"
    write_cluster(file, [*nodes, *pods])

    def cgroup(pod: str, *more: str) -> tuple[Any, str]:
        found = answer(file, "explain", f"pod/{pod}", "-n", "shop", *more)["cgroup"]
        return found["config"]["memory"], found["asOn"]

    assert cgroup("there") == (640 << 20, "")
    assert cgroup("any", "--on", "n37") == (None, "")
    assert cgroup("any", "--on", "n34") == (640 << 20, "")
    assert cgroup("any") in ((640 << 20, "n34"), (None, "n37"))
    on = cgroup("any")[1]
    ran = run("explain", "pod/any", "-n", "shop", "--snapshot", str(file), "-o", "wide")
    assert f"as on {on}: kubelets of other nodes have other rules" in " ".join(ran.out.split())


def test_gate_that_decides_is_named(cluster: Path) -> None:
    """The kubelet's setting is unknown unless the user gives it; on a page that has every detail."""
    words = ("explain", "pod/pod-n36", "-n", "shop")
    gates = {gate["name"]: gate for gate in answer(cluster, *words)["assumedGates"]}
    assert {name: gate["on"] for name, gate in gates.items()} == {"MemoryQoS": False, "PodLevelResources": True}
    assert set(gates["PodLevelResources"]["changes"]) == {"OOMScore", "Requests"}
    assert gates["MemoryQoS"]["changes"] == ["Cgroup"]
    report = "--feature-gates=PodLevelResources=true,MemoryQoS=true"
    assert answer(cluster, *words, report)["assumedGates"] == []
    ran = run(*words, "--snapshot", str(cluster), "-o", "wide")
    assert "feature gate PodLevelResources is assumed to be on, and decides" in " ".join(ran.out.split())


def test_gate_that_decides_placement_is_named(tmp_path: Path) -> None:
    pod = raw_pod("needs", "shop", uid="1", hostNetwork=True, hostUsers=False)
    file = tmp_path / "cluster.json"
    write_cluster(file, [_node("n36", "v1.36.2"), pod])
    words = ("explain", "pod/needs", "-n", "shop")
    (gate,) = answer(file, *words)["assumedGates"]
    assert gate == {"name": "NodeDeclaredFeatures", "on": True, "changes": ["Placement"]}
    ran = run(*words, "--snapshot", str(file), "-o", "wide")
    said = " ".join(ran.out.split())
    assert "feature gate NodeDeclaredFeatures is assumed to be on, and decides its placement; if it is not:" in said
    assert "NodeDeclaredFeatures" not in run(*words, "--snapshot", str(file)).out.partition("Versions")[2]
    assert answer(file, *words, "--feature-gates=NodeDeclaredFeatures=true")["assumedGates"] == []
    assert answer(file, "explain", "pods", "-n", "shop")["items"][0]["assumedGates"] == []


def test_many_pods_name_no_gate(cluster: Path) -> None:
    for item in answer(cluster, "explain", "pods", "-n", "shop")["items"]:
        assert item["assumedGates"] == []


def test_gate_that_no_rule_reads_is_a_warning(cluster: Path) -> None:
    ran = run("explain", "pod/pod-n36", "-n", "shop", "--snapshot", str(cluster), "--feature-gates=PodLevelResource=0")
    assert ran.code == 0
    assert "no rule reads PodLevelResource; did you mean PodLevelResources?" in ran.err


@pytest.mark.parametrize(
    ("version", "gate", "warning"),
    [
        (
            "1.36",
            "InPlacePodVerticalScaling=false",
            "locked to true since Kubernetes 1.35, and the rules are those of 1.36",
        ),
        (
            "1.36",
            "PodLevelResourcesFixKubeletQOSClass=true",
            "came with Kubernetes 1.37, and the rules are those of 1.36",
        ),
        ("1.36", "InPlacePodVerticalScaling=true", ""),
        ("1.34", "InPlacePodVerticalScaling=false", ""),
        ("1.37", "PodLevelResourcesFixKubeletQOSClass=false", ""),
        ("1.39", "NodeDeclaredFeatures=false", "locked to true since Kubernetes 1.37, and the rules are those of 1.39"),
    ],
)
def test_gate_that_cannot_be_set_is_a_warning(cluster: Path, version: str, gate: str, warning: str) -> None:
    asked = ("explain", "pod/pod-n36", "-n", "shop", "--snapshot", str(cluster), f"--kubernetes-version={version}")
    ran = run(*asked, f"--feature-gates={gate}")
    assert ran.code == 0
    name, locked = gate.partition("=")[0], "is " if "locked" in warning else ""
    assert ran.err == (f"warning: --feature-gates: {name} {locked}{warning}\n" if warning else "")
    if warning:
        own = f" --feature-gates={gate}"
        assert ran.out.replace(own, "") == run(*asked).out, "it changes nothing"


def test_gate_of_either_version_is_no_warning(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    write_cluster(file, [_node("n36", "v1.36.2"), _pod("a", "n36")])
    asked = ("versions", "--snapshot", str(file))
    new, locked = (
        "--feature-gates=PodLevelResourcesFixKubeletQOSClass=false",
        "--feature-gates=DRAExtendedResource=false",
    )
    assert run(*asked, "--to", "1.37", new).err == ""
    assert "came with Kubernetes 1.37, and the rules are those of 1.36" in run(*asked, new).err
    assert run(*asked, "--to", "1.37", locked).err == "", "it can be set in 1.36"
    assert "is locked to true since Kubernetes 1.37" in run("lint", "-f", str(file), locked).err


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(("explain", "pods", "-n", "shop"), id="explain of many"),
        pytest.param(("explain", "nodes"), id="explain of nodes"),
        pytest.param(("node",), id="node"),
        pytest.param(("explain", "node/old"), id="explain of one node"),
        pytest.param(("explain", "pod/pod-old", "-n", "shop"), id="explain of one pod"),
        pytest.param(("report", "-n", "shop"), id="report"),
        pytest.param(("explain", "pod/pod-old", "-n", "shop", "-o", "wide"), id="wide explain of one pod"),
        pytest.param(("explain", "pod/pod-old", "-n", "shop", "--timeline"), id="all timelines"),
        pytest.param(("explain", "pod/pod-old", "-n", "shop", "--timeline=evict-hard"), id="one timeline"),
        pytest.param(("place", "--drain", "old"), id="place of a drain"),
    ],
)
def test_every_answer_names_a_version_that_was_not_checked(cluster: Path, asked: tuple[str, ...]) -> None:
    ran = run(*asked, "--snapshot", str(cluster), "--kubernetes-version", "1.37")
    said = " ".join(ran.out.split())
    assert said.count("kubelet on old is v1.33.2, and answers were checked on 1.34 to 1.37 only") == 1
    if "old" not in asked[-1]:
        ran = run(*asked, "--snapshot", str(cluster), "--kubernetes-version", "1.99")
        said = " ".join(ran.out.split())
        assert said.count("kube-apiserver is 1.99, and answers were checked on 1.34 to 1.37 only") == 1


OLD = "and answers were checked on 1.34 to 1.37 only: the rules of 1.34.4 are used"


@pytest.mark.parametrize(
    "asked",
    [
        ("explain", "pod/g1", "--timeline=evict-hard"),
        ("died", "pod/g1"),
        ("place", "pod/g1"),
        ("place", "pod/g1", "-o", "markdown"),
        ("partitions",),
        ("fence", "node/n1"),
        ("unfence", "node/n1"),
        ("delete", "pod/g1", "--grace-period=0"),
    ],
    ids=" ".join,
)
def test_old_kubelet_of_a_capture_is_named_once(asked: tuple[str, ...]) -> None:
    ran = run(*asked, "--snapshot", str(ROOT / "tests" / "testdata" / "cases" / "field" / "old.json"))
    assert " ".join(ran.out.split()).count(f"v1.23.1, {OLD}") == 1


def _ended(name: str, node: str) -> dict[str, Any]:
    ended = {"exitCode": 1, "reason": "Error", "finishedAt": "2026-07-01T08:00:00Z"}
    statuses = [{"name": "app", "restartCount": 0, "state": {"terminated": ended}}]
    return raw_pod(name, "shop", uid=name, nodeName=node, status={"phase": "Failed", "containerStatuses": statuses})


def test_table_of_ends_names_old_kubelets_once(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    nodes = [_node("west", "v1.28.9"), _node("east", "v1.28.9"), _node("new", "v1.36.0")]
    write_cluster(file, [*nodes, _ended("a", "west"), _ended("b", "east"), _ended("c", "new")])
    said = " ".join(run("died", "pods", "-n", "shop", "--snapshot", str(file)).out.split())
    assert f"kubelet on west and east is v1.28.9, {OLD}" in said
    assert said.count("answers were checked") == 1


NEWEST = "the control plane's version is unknown; the newest kubelet"


@pytest.mark.parametrize("pending", ["explain", "place"])
def test_newest_kubelet_names_unknown_control_plane(tmp_path: Path, pending: str) -> None:
    file = tmp_path / "cluster.json"
    waiting = raw_pod("waits", "shop", uid="w", containers=[raw_container("app", {"cpu": "64"})])
    write_cluster(file, [_node("a", "v1.27.1"), _node("b", "v1.25.3"), waiting])
    said = " ".join(run(pending, "pod/waits", "-n", "shop", "--snapshot", str(file)).out.split())
    assert f"{NEWEST if pending == 'place' else 'kubelet on a'} is v1.27.1, {OLD}" in said
    checked = run(pending, "pod/waits", "-n", "shop", "--snapshot", str(file), "--kubernetes-version=1.36")
    assert "the newest kubelet" not in " ".join(checked.out.split())


def test_lint_names_a_version_that_was_not_checked(cluster: Path) -> None:
    ran = run("lint", "-f", str(cluster), "--kubernetes-version", "1.99")
    assert "kube-apiserver is 1.99, and answers were checked on 1.34 to 1.37 only" in " ".join(ran.out.split())
    assert "answers were checked" not in run("lint", "-f", str(cluster), "--kubernetes-version", "1.35").out


def test_gate_that_decides_how_a_manifest_is_stored_is_named(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    amounts = {"cpu": "500m", "memory": "100Mi"}
    whole = {"requests": {"cpu": "1", "memory": "1Gi"}}
    pod = raw_pod("web", containers=[raw_container("app", amounts, amounts)], resources=whole)
    file.write_text(json.dumps(pod))
    ran = run("explain", "-f", str(file), "--offline", "--kubernetes-version", "1.37", "-o", "json")
    gates = {gate["name"]: gate["changes"] for gate in json.loads(ran.out)["assumedGates"]}
    assert "QoSClass" in gates["PodLevelResourcesFixDefaulting"]


def test_gate_that_needs_more_objects_is_named(tmp_path: Path) -> None:
    """On 1.36 a scheduler reads no CSIDrivers for a bound claim, unless VolumeLimitScaling is on."""
    bound = {"name": "c", "namespace": "shop", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    csi = {"driver": "csi.example.com", "volumeHandle": "1"}
    claim: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": bound,
        "spec": {"volumeName": "v"},
        "status": {"phase": "Bound"},
    }
    volume: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {"csi": csi, "claimRef": {"name": "c", "namespace": "shop"}},
    }
    driver: dict[str, Any] = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": csi["driver"]},
        "spec": {"preventPodSchedulingIfMissing": True},
    }
    pod = raw_pod("db", "shop", uid="1", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    file = tmp_path / "cluster.json"
    items = [_node("n36", "v1.36.2"), claim, volume, driver, pod]
    write_cluster(file, items)
    (gate,) = answer(file, "explain", "pod/db", "-n", "shop")["assumedGates"]
    assert gate == {"name": "VolumeLimitScaling", "on": False, "changes": ["Placement"]}


def test_suggested_commands_keep_the_version(cluster: Path) -> None:
    ran = run("explain", "pod/pod-n36", "-n", "shop", "--snapshot", str(cluster), "--kubernetes-version=1.35")
    assert "--kubernetes-version=1.35" in ran.out


def test_lint_and_explain_use_version_of_flag(tmp_path: Path) -> None:
    """Until 1.36 an empty spec.resources alone decides the class."""
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(raw_pod("web", requests={"cpu": "1"}, resources={})), encoding="utf-8")
    classes = {}
    for minor in ("1.36", "1.37"):
        ran = run("explain", "-f", str(file), "--offline", "--kubernetes-version", minor, "-o", "json")
        classes[minor] = json.loads(ran.out)["qos"]["qosClass"]
        ran = run("lint", "-f", str(file), "--kubernetes-version", minor, "-o", "json")
        printed = json.loads(ran.out)
        assert printed["rulesVersion"].startswith(minor)
        rules = {finding["rule"] for finding in printed["findings"]}
        assert ("best-effort" in rules) == (classes[minor] == "BestEffort")
    assert classes == {"1.36": "BestEffort", "1.37": "Burstable"}


@pytest.mark.parametrize(("minor", "found"), [("1.33", True), ("1.34", False)])
def test_lint_reads_pod_level_resources_where_the_version_does(tmp_path: Path, minor: str, found: bool) -> None:
    file = tmp_path / "pod.json"
    limits = {"limits": {"cpu": "1", "memory": "1Gi"}}
    file.write_text(json.dumps(raw_pod("web", resources=limits)), encoding="utf-8")
    assert ("best-effort" in run("lint", "-f", str(file), "--kubernetes-version", minor).out) == found


@pytest.mark.parametrize(("node", "share"), [("old", False), ("n36", True)])
def test_new_pod_uses_kubelet_of_named_node(cluster: Path, tmp_path: Path, node: str, share: bool) -> None:
    file = tmp_path / "pod.json"
    pod = raw_pod("new", "shop", containers=[raw_container("app")], resources={"requests": {"memory": "1Gi"}})
    file.write_text(json.dumps(pod), encoding="utf-8")
    report = answer(cluster, "explain", "-f", str(file), "--on", node)
    (oom,) = report["oom"]
    assert oom["node"] == node
    assert (oom["containers"][0]["podLevelShare"] > 0) == share
    assert bool(report["versionNotes"]) == (not share)


@pytest.mark.parametrize("wide", [(), ("-o", "wide")])
@pytest.mark.parametrize("stored", ["Guaranteed", "Burstable", "BestEffort"])
def test_stored_qos_class_that_differs_from_resources(tmp_path: Path, stored: str, wide: tuple[str, ...]) -> None:
    """A pod created under other rules keeps its class."""
    amounts = {"cpu": "1", "memory": "1Gi"}
    containers = [raw_container("app") if stored == "Guaranteed" else raw_container("app", amounts, amounts)]
    pod = raw_pod("web", "shop", containers=containers, nodeName="n37", status={"phase": "Running", "qosClass": stored})
    file = tmp_path / "cluster.json"
    items = [_node("n37", "v1.37.1"), pod]
    write_cluster(file, items)
    said = " ".join(run("explain", "pod/web", "-n", "shop", "--snapshot", str(file), *wide).out.split())
    assert f"{stored}: status.qosClass says so; it was written at creation" in said
    other = "BestEffort" if stored == "Guaranteed" else "Guaranteed"
    assert f"a new pod with its resources would be {other}" in said
    assert "Guaranteed if ," not in said
    if stored == "BestEffort":
        assert "not on every container" not in said


def test_kubelet_without_version_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    write_cluster(file, [_node("odd", "latest")])
    said = " ".join(run("explain", "node/odd", "--snapshot", str(file)).out.split())
    assert 'kubelet on odd is "latest": that is not a known version' in said


def test_list_uses_newest_non_virtual_kubelet(tmp_path: Path) -> None:
    virtual = _node("far", "v1.37.9")
    virtual["metadata"]["labels"] = {"type": "virtual-kubelet"}
    file = tmp_path / "cluster.json"
    items = [_node("a", "v1.34.2"), _node("b", "v1.35.2"), virtual, _pod("pod-a", "a")]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    report = answer(file, "explain", "pod/pod-a", "-n", "shop")
    assert (report["serverVersion"], report["rulesVersion"]) == (None, "1.35.4")


def test_unchecked_scheduler_version_is_named(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    labels = {"component": "kube-scheduler"}
    scheduler = raw_pod(
        "kube-scheduler-a",
        "kube-system",
        uid="s",
        labels=labels,
        nodeName="a",
        containers=[{"name": "kube-scheduler", "image": "registry.k8s.io/kube-scheduler:v1.29.6"}],
    )
    waiting = raw_pod("waits", "shop", uid="w", containers=[raw_container("app", {"cpu": "64"})])
    write_cluster(file, [_node("a", "v1.28.4"), scheduler, waiting])
    said = " ".join(run("place", "pod/waits", "-n", "shop", "--snapshot", str(file)).out.split())
    assert f"kube-scheduler is v1.29.6, {OLD}" in said
