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
from tests.kubectl_plugin.answers import data, said, write_list
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_container, raw_node, raw_object, raw_pod
from tests.tree import ROOT

MINORS = {"old": 33, "n34": 34, "n36": 36, "n37": 37}
"""The minor by node."""
MEMORY = 8 << 30
FIX = "PodLevelResourcesFixKubeletQOSClass"
KUBELET = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def _node(name: str, version: str, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    amounts = {"cpu": "4", "memory": str(MEMORY), "pods": "110"}
    info = {"kubeletVersion": version, "operatingSystem": "linux"}
    return raw_node(name, labels, capacity=amounts, allocatable=amounts, status={"nodeInfo": info})


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
def cluster(tmp_path_factory: pytest.TempPathFactory) -> str:
    nodes = [_node(name, f"v1.{minor}.2") for name, minor in MINORS.items()]
    pods = [_pod(f"pod-{name}", name) for name in MINORS]
    return write_cluster(tmp_path_factory.mktemp("cluster") / "cluster.json", [*nodes, *pods])


def answer(cluster: str, *arguments: str) -> Any:
    ran = run(*arguments, "--snapshot", cluster, "-o", "json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def scores(found: Mapping[str, Any]) -> dict[str, int]:
    return {entry["container"]: entry["value"] for one in found["oom"] for entry in one["containers"]}


@pytest.mark.parametrize(("node", "minor"), MINORS.items())
def test_explain_uses_kubelet_version_of_node(cluster: str, node: str, minor: int) -> None:
    found = answer(cluster, "explain", f"pod/pod-{node}", "-n", "shop", "--kubernetes-version", "1.37")
    pod, kubelet = from_object(_pod(f"pod-{node}", node), Pod), Features.of_minor(minor)
    expected = pod_oom_score_adjs(pod, MEMORY, features=kubelet)
    assert expected is not None
    assert scores(found) == {score.container: score.value for score in expected}
    assert found["cgroup"]["config"]["memory"] == (pod_resource_config(pod, features=kubelet).memory)
    assert (found["serverVersion"], found["rulesVersion"]) == ("1.37", "1.37.1")
    assert [note["nodes"] for note in found["versionNotes"]] == ([["old"]] if minor == 33 else [])


def test_minors_differ(cluster: str) -> None:
    """Otherwise the tests here could not fail."""
    found = [answer(cluster, "explain", f"pod/pod-{node}", "-n", "shop") for node in MINORS]
    assert scores(found[0]) != scores(found[1]), "1.33 ignores pod-level resources"
    assert found[2]["cgroup"]["config"]["memory"] != found[3]["cgroup"]["config"]["memory"], "1.37 sees a limit missing"


@pytest.mark.parametrize("node", MINORS)
def test_node_and_report_agree_with_explain(cluster: str, node: str) -> None:
    report = scores(answer(cluster, "explain", f"pod/pod-{node}", "-n", "shop"))
    pressure = answer(cluster, "node", node)
    machine = next(order for order in pressure["oom"] if order["scope"] == "Global")
    running = {place["container"]: place["oomScoreAdj"] for place in machine["places"]}
    assert running == {name: report[name] for name in ("side", "app")}
    (entry,) = [one for one in answer(cluster, "report", "-A")["pods"] if one["name"] == f"pod-{node}"]
    assert entry["oomScoreAdj"] in report.values()


POD = ("explain", "pod/pod-n36", "-n", "shop")
NO_VERSION = '--kubernetes-version "{}": not a version of Kubernetes'
NO_GATES = {
    "empty": ("", "it is no KubeletConfiguration"),
    "a node's configz": ('{"kubeletconfig": {}}', "it has no featureGates"),
    "a list": ("[]", "it is no KubeletConfiguration"),
    "another kind": ("kind: Pod\nfeatureGates: {}\n", "kind is Pod, apiVersion is missing"),
    "no bool": (f"{KUBELET}featureGates: {{MemoryQoS: null}}\n", '"MemoryQoS=null": neither true nor false'),
}


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        *((f"--kubernetes-version={bad}", NO_VERSION.format(bad)) for bad in ("1.x", "1.37.x", "1.037", "2.1")),
        ("--feature-gates=A", '--feature-gates "A": not NAME=BOOL'),
        ("--feature-gates=PodLevelResources=yes", '"PodLevelResources=yes": neither true nor false'),
        ("--feature-gates=", "--feature-gates: no gate given"),
        ("--feature-gates=@", "--feature-gates @: no file name"),
        ("--feature-gates=@/", "--feature-gates @/: /: Is a directory"),
        ("--feature-gates=@nowhere.yaml", "--feature-gates @nowhere.yaml: nowhere.yaml: No such file"),
        *((f"--feature-gates=@{name}", says) for name, (_, says) in NO_GATES.items()),
    ],
)
def test_invalid_versions_are_refused(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argument: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    name = argument.partition("@")[2]
    if name in NO_GATES:
        (tmp_path / name).write_text(NO_GATES[name][0], encoding="utf-8")
    ran = run(*POD, "--snapshot", cluster, argument)
    assert ran.code == 2
    assert says in ran.err


def test_gates_of_the_flag_and_of_a_file(cluster: str, tmp_path: Path) -> None:
    without = scores(answer(cluster, *POD, "--feature-gates", "PodLevelResources=false"))
    assert without != scores(answer(cluster, *POD))
    config = tmp_path / "kubelet.yaml"
    for text in (
        f"{KUBELET}featureGates: {{PodLevelResources: off}}",
        '{"kubeletconfig": {"enableServer": true, "featureGates": {"PodLevelResources": false}}}',
        '{"enableServer": true, "featureGates": {"PodLevelResources": false}}',
    ):
        config.write_text(text)
        assert scores(answer(cluster, *POD, "--feature-gates", f"@{config}")) == without


def test_pending_pod_has_cgroups_of_possible_kubelets(tmp_path: Path) -> None:
    """Only on 1.34 does a sidecar's limit count for the init container after it."""
    pods = [_pod("any", ""), _pod("there", "")]
    for pod in pods:
        del pod["spec"]["resources"]
        pod["status"] = {"phase": "Pending"}
    pods[1]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "n34"}
    nodes = [_node(name, f"v1.{MINORS[name]}.2", {"kubernetes.io/hostname": name}) for name in ("n34", "n37")]
    file = write_cluster(tmp_path / "cluster.json", [*nodes, *pods])

    def cgroup(pod: str, *more: str) -> tuple[Any, str]:
        found = answer(file, "explain", f"pod/{pod}", "-n", "shop", *more)["cgroup"]
        return found["config"]["memory"], found["asOn"]

    assert cgroup("there") == (640 << 20, "")
    assert cgroup("any", "--on", "n37") == (None, "")
    assert cgroup("any", "--on", "n34") == (640 << 20, "")
    assert cgroup("any") in ((640 << 20, "n34"), (None, "n37"))
    on = cgroup("any")[1]
    page = said("explain", "pod/any", "-n", "shop", "--snapshot", file, "-o", "wide")
    assert f"as on {on}: kubelets of other nodes have other rules" in page


def test_gate_that_decides_is_named(cluster: str) -> None:
    """The kubelet's setting is unknown unless the user gives it; on a page that has every detail."""
    gates = {gate["name"]: gate for gate in answer(cluster, *POD)["assumedGates"]}
    assert {name: gate["on"] for name, gate in gates.items()} == {"MemoryQoS": False, "PodLevelResources": True}
    assert set(gates["PodLevelResources"]["changes"]) == {"OOMScore", "Requests"}
    assert gates["MemoryQoS"]["changes"] == ["Cgroup"]
    assert answer(cluster, *POD, "--feature-gates=PodLevelResources=true,MemoryQoS=true")["assumedGates"] == []
    page = said(*POD, "--snapshot", cluster, "-o", "wide")
    assert "feature gate PodLevelResources is assumed to be on, and decides" in page
    assert [one["assumedGates"] for one in answer(cluster, "explain", "pods", "-n", "shop")["items"]] == [[]] * 4


def test_gate_that_decides_placement_is_named(tmp_path: Path) -> None:
    pod = raw_pod("needs", "shop", uid="1", hostNetwork=True, hostUsers=False)
    file = write_cluster(tmp_path / "cluster.json", [_node("n36", "v1.36.2"), pod])
    words = ("explain", "pod/needs", "-n", "shop")
    (gate,) = answer(file, *words)["assumedGates"]
    assert gate == {"name": "NodeDeclaredFeatures", "on": True, "changes": ["Placement"]}
    page = said(*words, "--snapshot", file, "-o", "wide")
    assert "feature gate NodeDeclaredFeatures is assumed to be on, and decides its placement; if it is not:" in page
    assert "NodeDeclaredFeatures" not in run(*words, "--snapshot", file).out.partition("Versions")[2]
    assert answer(file, *words, "--feature-gates=NodeDeclaredFeatures=true")["assumedGates"] == []
    assert answer(file, "explain", "pods", "-n", "shop")["items"][0]["assumedGates"] == []


LOCKED = "is locked to true since Kubernetes {}, and the rules are those of {}"


@pytest.mark.parametrize(
    ("version", "gate", "warning"),
    [
        ("1.36", "InPlacePodVerticalScaling=false", LOCKED.format("1.35", "1.36")),
        ("1.36", f"{FIX}=true", "came with Kubernetes 1.37, and the rules are those of 1.36"),
        ("1.36", "InPlacePodVerticalScaling=true", ""),
        ("1.34", "InPlacePodVerticalScaling=false", ""),
        ("1.37", f"{FIX}=false", ""),
        ("1.39", "NodeDeclaredFeatures=false", LOCKED.format("1.37", "1.39")),
    ],
)
def test_gate_that_cannot_be_set_is_a_warning(cluster: str, version: str, gate: str, warning: str) -> None:
    asked = (*POD, "--snapshot", cluster, f"--kubernetes-version={version}")
    ran = run(*asked, f"--feature-gates={gate}")
    assert ran.code == 0
    assert ran.err == (f"warning: --feature-gates: {gate.partition('=')[0]} {warning}\n" if warning else "")
    if warning:
        assert ran.out.replace(f" --feature-gates={gate}", "") == run(*asked).out, "it changes nothing"


def test_gate_that_no_rule_reads_is_a_warning(cluster: str) -> None:
    ran = run(*POD, "--snapshot", cluster, "--feature-gates=PodLevelResource=0")
    assert ran.code == 0
    assert "no rule reads PodLevelResource; did you mean PodLevelResources?" in ran.err


def test_gate_of_either_version_is_no_warning(tmp_path: Path) -> None:
    file = write_cluster(tmp_path / "cluster.json", [_node("n36", "v1.36.2"), _pod("a", "n36")])
    asked = ("versions", "--snapshot", file)
    new, locked = f"--feature-gates={FIX}=false", "--feature-gates=DRAExtendedResource=false"
    assert run(*asked, "--to", "1.37", new).err == ""
    assert "came with Kubernetes 1.37, and the rules are those of 1.36" in run(*asked, new).err
    assert run(*asked, "--to", "1.37", locked).err == "", "it can be set in 1.36"
    assert "is locked to true since Kubernetes 1.37" in run("lint", "-f", file, locked).err


@pytest.mark.parametrize(
    ("asked", "both"),
    [
        ("explain pods -n shop", True),
        ("explain nodes", True),
        ("node", True),
        ("explain node/old", False),
        ("node old", False),
        ("explain pod/pod-old -n shop", True),
        ("report -n shop", True),
        ("report -A", True),
        ("explain pod/pod-old -n shop -o wide", True),
        ("explain pod/pod-old -n shop --timeline", True),
        ("explain pod/pod-old -n shop --timeline=evict-hard", True),
        ("place --drain old", False),
    ],
)
def test_every_answer_names_a_version_that_was_not_checked(cluster: str, asked: str, both: bool) -> None:
    checked = ", and answers were checked on 1.34 to 1.37 only"
    page = said(*asked.split(), "--snapshot", cluster, "--kubernetes-version", "1.37")
    assert page.count(f"kubelet on old is v1.33.2{checked}") == 1
    if both:
        page = said(*asked.split(), "--snapshot", cluster, "--kubernetes-version", "1.99")
        assert page.count(f"kube-apiserver is 1.99{checked}") == 1


def test_checked_version_is_not_named(cluster: str) -> None:
    assert "answers were checked" not in said("node", "n36", "--snapshot", cluster)
    assert "answers were checked" not in said("lint", "-f", cluster, "--kubernetes-version", "1.35")
    unchecked = said("lint", "-f", cluster, "--kubernetes-version", "1.99")
    assert "kube-apiserver is 1.99, and answers were checked on 1.34 to 1.37 only" in unchecked


OLD = "and answers were checked on 1.34 to 1.37 only: the rules of 1.34.4 are used"


@pytest.mark.parametrize(
    "asked",
    [
        *("explain pod/g1 --timeline=evict-hard", "died pod/g1", "place pod/g1", "place pod/g1 -o markdown"),
        *("partitions", "fence node/n1", "unfence node/n1", "delete pod/g1 --grace-period=0"),
    ],
)
def test_old_kubelet_of_a_capture_is_named_once(asked: str) -> None:
    page = said(*asked.split(), "--snapshot", str(ROOT / "tests" / "testdata" / "cases" / "field" / "old.json"))
    assert page.count(f"v1.23.1, {OLD}") == 1


def _ended(name: str, node: str) -> dict[str, Any]:
    ended = {"exitCode": 1, "reason": "Error", "finishedAt": "2026-07-01T08:00:00Z"}
    statuses = [{"name": "app", "restartCount": 0, "state": {"terminated": ended}}]
    return raw_pod(name, "shop", uid=name, nodeName=node, status={"phase": "Failed", "containerStatuses": statuses})


def test_table_of_ends_names_old_kubelets_once(tmp_path: Path) -> None:
    nodes = [_node("west", "v1.28.9"), _node("east", "v1.28.9"), _node("new", "v1.36.0")]
    file = write_cluster(
        tmp_path / "cluster.json", [*nodes, _ended("a", "west"), _ended("b", "east"), _ended("c", "new")]
    )
    page = said("died", "pods", "-n", "shop", "--snapshot", file)
    assert f"kubelet on west and east is v1.28.9, {OLD}" in page
    assert page.count("answers were checked") == 1


NEWEST = "the control plane's version is unknown; the newest kubelet"


@pytest.mark.parametrize("pending", ["explain", "place"])
def test_newest_kubelet_names_unknown_control_plane(tmp_path: Path, pending: str) -> None:
    waiting = raw_pod("waits", "shop", uid="w", requests={"cpu": "64"})
    file = write_cluster(tmp_path / "cluster.json", [_node("a", "v1.27.1"), _node("b", "v1.25.3"), waiting])
    page = said(pending, "pod/waits", "-n", "shop", "--snapshot", file)
    assert f"{NEWEST if pending == 'place' else 'kubelet on a'} is v1.27.1, {OLD}" in page
    checked = said(pending, "pod/waits", "-n", "shop", "--snapshot", file, "--kubernetes-version=1.36")
    assert "the newest kubelet" not in checked


def test_gate_that_decides_how_a_manifest_is_stored_is_named() -> None:
    amounts = {"cpu": "500m", "memory": "100Mi"}
    whole = {"requests": {"cpu": "1", "memory": "1Gi"}}
    pod = json.dumps(raw_pod("web", requests=amounts, limits=amounts, resources=whole))
    report = data("explain", "-f", "-", "--offline", "--kubernetes-version", "1.37", stdin=pod)
    gates = {gate["name"]: gate["changes"] for gate in report["assumedGates"]}
    assert "QoSClass" in gates["PodLevelResourcesFixDefaulting"]


def test_gate_that_needs_more_objects_is_named(tmp_path: Path) -> None:
    """On 1.36 a scheduler reads no CSIDrivers for a bound claim, unless VolumeLimitScaling is on."""
    bound = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    csi = {"driver": "csi.example.com", "volumeHandle": "1"}
    spec = {"csi": csi, "claimRef": {"name": "c", "namespace": "shop"}}
    claim = {"spec": {"volumeName": "v"}, "status": {"phase": "Bound"}}
    items = [
        _node("n36", "v1.36.2"),
        raw_object("PersistentVolumeClaim", "c", "shop", metadata=bound, **claim),
        raw_object("PersistentVolume", "v", spec=spec),
        raw_object("CSIDriver", csi["driver"], spec={"preventPodSchedulingIfMissing": True}),
    ]
    pod = raw_pod("db", "shop", uid="1", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    file = write_cluster(tmp_path / "cluster.json", [*items, pod])
    (gate,) = answer(file, "explain", "pod/db", "-n", "shop")["assumedGates"]
    assert gate == {"name": "VolumeLimitScaling", "on": False, "changes": ["Placement"]}


def test_suggested_commands_keep_the_version(cluster: str) -> None:
    ran = run(*POD, "--snapshot", cluster, "--kubernetes-version=1.35")
    assert "--kubernetes-version=1.35" in ran.out


def test_lint_and_explain_use_version_of_flag() -> None:
    """Until 1.36 an empty spec.resources alone decides the class."""
    pod = json.dumps(raw_pod("web", requests={"cpu": "1"}, resources={}))
    for minor, qos_class in (("1.36", "BestEffort"), ("1.37", "Burstable")):
        found = data("explain", "-f", "-", "--offline", "--kubernetes-version", minor, stdin=pod)
        assert found["qos"]["qosClass"] == qos_class
        printed = data("lint", "-f", "-", "--kubernetes-version", minor, stdin=pod)
        assert printed["rulesVersion"].startswith(minor)
        assert ("best-effort" in {one["rule"] for one in printed["findings"]}) == (qos_class == "BestEffort")


@pytest.mark.parametrize(("minor", "found"), [("1.33", True), ("1.34", False)])
def test_lint_reads_pod_level_resources_where_the_version_does(minor: str, found: bool) -> None:
    pod = json.dumps(raw_pod("web", resources={"limits": {"cpu": "1", "memory": "1Gi"}}))
    assert ("best-effort" in run("lint", "-f", "-", "--kubernetes-version", minor, stdin=pod).out) == found


@pytest.mark.parametrize(("node", "share"), [("old", False), ("n36", True)])
def test_new_pod_uses_kubelet_of_named_node(cluster: str, tmp_path: Path, node: str, share: bool) -> None:
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
    items = [_node("n37", "v1.37.1"), pod]
    file = write_cluster(tmp_path / "cluster.json", items)
    page = said("explain", "pod/web", "-n", "shop", "--snapshot", file, *wide)
    assert f"{stored}: status.qosClass says so; it was written at creation" in page
    other = "BestEffort" if stored == "Guaranteed" else "Guaranteed"
    assert f"a new pod with its resources would be {other}" in page
    assert "Guaranteed if ," not in page
    if stored == "BestEffort":
        assert "not on every container" not in page


def test_kubelet_without_version_is_reported(tmp_path: Path) -> None:
    file = write_cluster(tmp_path / "cluster.json", [_node("odd", "latest")])
    page = said("explain", "node/odd", "--snapshot", file)
    assert 'kubelet on odd is "latest": that is not a known version' in page


def test_list_uses_newest_non_virtual_kubelet(tmp_path: Path) -> None:
    virtual = _node("far", "v1.37.9", {"type": "virtual-kubelet"})
    items = [_node("a", "v1.34.2"), _node("b", "v1.35.2"), virtual, _pod("pod-a", "a")]
    file = write_list(tmp_path / "cluster.json", items)
    report = answer(file, "explain", "pod/pod-a", "-n", "shop")
    assert (report["serverVersion"], report["rulesVersion"]) == (None, "1.35.4")


def test_unchecked_scheduler_version_is_named(tmp_path: Path) -> None:
    container = raw_container("kube-scheduler", image="registry.k8s.io/kube-scheduler:v1.29.6")
    own = {"uid": "s", "labels": {"component": "kube-scheduler"}}
    scheduler = raw_pod("kube-scheduler-a", "kube-system", metadata=own, nodeName="a", containers=[container])
    waiting = raw_pod("waits", "shop", uid="w", requests={"cpu": "64"})
    file = write_cluster(tmp_path / "cluster.json", [_node("a", "v1.28.4"), scheduler, waiting])
    page = said("place", "pod/waits", "-n", "shop", "--snapshot", file)
    assert f"kube-scheduler is v1.29.6, {OLD}" in page
