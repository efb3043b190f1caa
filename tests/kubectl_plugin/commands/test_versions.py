"""``kubectl qos versions``: the running versions, and the changes of another version."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cluster_io.in_memory import MemorySource
from kubectl_plugin.commands import snapshot
from kubectl_plugin.options import ClusterOptions, Streams
from kubectl_plugin.options.cluster_commands import SnapshotOptions
from kubectl_plugin.reports.schema import schema_of
from podrules.api.features import CHANGES
from tests.kubectl_plugin.answers import data, write_list
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_container, raw_node, raw_object, raw_pod

Object = dict[str, Any]
NOW = datetime(2026, 11, 21, 3, 11, tzinfo=UTC)
AMOUNTS = {"cpu": "4", "memory": str(8 << 30), "pods": "110"}


def node(name: str, version: str, **more: Any) -> Object:
    info = {"kubeletVersion": version, "operatingSystem": "linux"}
    return raw_node(name, capacity=AMOUNTS, allocatable=AMOUNTS, status={"nodeInfo": info}, **more)


def pods(on: str = "n1") -> list[Object]:
    """A pod with an empty spec.resources, one with a sidecar, and one that no version changes."""
    running = {"phase": "Running", "qosClass": "Burstable"}
    once = raw_container("once", {"memory": "32Mi"})
    side = raw_container("side", {"memory": "64Mi"}, {"memory": "128Mi"}, restartPolicy="Always")
    app = raw_container("app", {"memory": "256Mi"}, {"memory": "512Mi"})
    return [
        raw_pod("empty", "shop", uid="1", requests={"memory": "1Gi"}, resources={}, nodeName=on, status=running),
        raw_pod("side", "shop", uid="2", initContainers=[side, once], containers=[app], nodeName=on, status=running),
        raw_pod("plain", "shop", uid="3", requests={"cpu": "1"}, nodeName=on, status=running),
    ]


def written(folder: Path, *objects: Object) -> str:
    return write_cluster(folder / "cluster.json", objects)


def compared(file: str, *arguments: str, code: int = 0) -> Any:
    ran = run("versions", "--snapshot", file, *arguments, "-o", "json")
    assert ran.code == code, ran.err
    printed = json.loads(ran.out)
    jsonschema.Draft202012Validator(schema_of("VersionComparison")).validate(printed)
    return printed


def said(file: str, *arguments: str) -> str:
    return " ".join(run("versions", "--snapshot", file, *arguments).out.split())


def explained(file: str, pod: str, *arguments: str) -> Any:
    ran = run("explain", f"pod/{pod}", "-n", "shop", "--snapshot", file, *arguments, "-o", "json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_running_versions(tmp_path: Path) -> None:
    scheduler = raw_pod(
        "kube-scheduler-n1",
        "kube-system",
        uid="s",
        labels={"component": "kube-scheduler"},
        containers=[raw_container("kube-scheduler", image="registry.k8s.io/kube-scheduler:v1.35.2")],
        nodeName="n1",
    )
    nodes = [node("n1", "v1.34.1"), node("n2", "v1.36.3"), node("n3", "v1.36.3")]
    found = compared(written(tmp_path, *nodes, scheduler), "--kubernetes-version", "1.36")
    assert [(one["component"], one["version"], one["nodes"], one["rules"]) for one in found["running"]] == [
        ("kube-apiserver", "1.36", 0, "1.36.3"),
        ("kube-scheduler", "1.36", 0, "1.36.3"),
        ("kubelet", "v1.36.3", 2, "1.36.3"),
        ("kubelet", "v1.34.1", 1, "1.34.4"),
    ]
    unset = compared(written(tmp_path, *nodes, scheduler))
    assert unset["running"][1]["version"] == "v1.35.2", "no version was given"
    assert unset["verdict"]["code"] == "VersionsListed"
    assert unset["to"] is None


def test_snapshot_keeps_scheduler_version_of_lease(tmp_path: Path) -> None:
    metadata = {"creationTimestamp": "2026-11-01T00:00:00Z"}
    spec = {"leaseName": "kube-scheduler", "binaryVersion": "1.36.2", "emulationVersion": "1.36"}
    candidate = raw_object("LeaseCandidate", "cp-1", "kube-system", metadata=metadata, spec=spec)
    candidate["apiVersion"] = "coordination.k8s.io/v1beta1"
    live = MemorySource(
        [node("n1", "v1.37.1"), *pods(), candidate], description="the cluster", now=NOW, git_version="v1.37.1"
    )
    for anonymise in (False, True):
        file = str(tmp_path / f"{anonymise}.qos")
        options = SnapshotOptions(
            path=file, anonymise=anonymise, scheduler_config=None, colour=False, cluster=ClusterOptions()
        )
        assert snapshot.run(options, live, Streams(io.StringIO(), io.StringIO(), io.StringIO())) == 0
        running = {one["component"]: (one["version"], one["rules"]) for one in compared(file)["running"]}
        assert running["kube-scheduler"] == ("v1.36.2", "1.36.3"), f"anonymise={anonymise}"
        assert running["kube-apiserver"] == ("v1.37.1", "1.37.1")
        text = compared(file)["verdict"]["text"]
        assert text.startswith("The API server is v1.37.1, the scheduler v1.36.2; kubelets: ")


def test_unnamed_scheduler_version_is_unknown(tmp_path: Path) -> None:
    file = written(tmp_path, node("n1", "v1.36.3"))
    unknown = {"component": "kube-scheduler", "version": "", "emulates": "", "nodes": 0, "rules": "1.36.3"}
    assert compared(file)["running"][1] == unknown
    assert "kube-scheduler unknown 1.36.3" in said(file)


def test_changes_agree_with_explain_of_both_versions(tmp_path: Path) -> None:
    now, then = tmp_path / "now", tmp_path / "then"
    now.mkdir()
    then.mkdir()
    before = written(now, node("n1", "v1.36.3"), *pods())
    # The same pods after recreation.
    again = [{**pod, "status": {"phase": "Running"}} for pod in pods()]
    after = written(then, node("n1", "v1.37.1"), *again)
    found = compared(before, "--kubernetes-version", "1.36", "--to", "1.37")
    assert {entry["name"] for entry in found["changed"]} == {"empty", "side"}
    assert (found["pods"], found["verdict"]["code"]) == (3, "AnswersChange")
    by_pod = {
        entry["name"]: {
            (change["kind"], change["field"], change["container"]): (change["before"], change["after"])
            for change in entry["changes"]
        }
        for entry in found["changed"]
    }
    for name in ("empty", "side", "plain"):
        changes = by_pod.get(name, {})
        will_be = explained(after, name, "--kubernetes-version", "1.37")
        was = explained(before, name, "--kubernetes-version", "1.36")
        classes = (was["qos"]["computedClass"], will_be["qos"]["computedClass"])
        assert changes.get(("QoSClass", "", ""), (classes[0],) * 2) == classes
        limits = tuple(str(one["cgroup"]["config"]["memory"] or "none") for one in (was, will_be))
        if name != "empty":
            assert changes.get(("Cgroup", "memory limit", ""), (limits[0],) * 2) == limits
        scores = {one["container"]: str(one["value"]) for entry in will_be["oom"] for one in entry["containers"]}
        for (kind, _, container), (_, value) in changes.items():
            assert kind != "OOMScore" or scores[container] == value


def test_no_change_is_an_answer(tmp_path: Path) -> None:
    file = written(tmp_path, node("n1", "v1.36.3"), pods()[2])
    found = compared(file, "--kubernetes-version", "1.36", "--to", "1.37")
    assert (found["changed"], found["orders"], found["placements"]) == ([], [], [])
    assert found["verdict"]["code"] == "NothingChanges"
    assert found["rules"], "rules differ, but no pod depends on them"
    page = said(file, "--kubernetes-version=1.36", "--to", "1.37")
    assert "With Kubernetes 1.37 nothing changes for the one pod" in page


def test_rules_change_per_component_version(tmp_path: Path) -> None:
    file = written(tmp_path, node("n1", "v1.34.4"), node("n2", "v1.36.3"), pods()[2])
    found = compared(file, "--kubernetes-version", "1.36", "--to", "1.37")
    newest = [one for one in found["rules"] if one["since"] == "1.37"]
    assert len(newest) == sum(change.since == 37 for change in CHANGES.values())
    of_kubelets = {one["rule"] for one in found["rules"] if one["since"] != "1.37"}
    assert of_kubelets == {"Cgroups", "Requests"}, "the scheduler already uses the others"
    back = compared(file, "--kubernetes-version", "1.36", "--to", "1.34")
    assert {one["since"] for one in back["rules"]} == {"1.35", "1.36"}
    assert {"Cgroups", "NodeResourcesBalancedAllocation", "DynamicResources"} <= {one["rule"] for one in back["rules"]}


def test_rule_with_disabled_gate_does_not_change(tmp_path: Path) -> None:
    file = written(tmp_path, node("n1", "v1.36.3"), pods()[2])
    asked = (file, "--kubernetes-version", "1.36", "--to", "1.37")
    gate = "PodLevelResourcesFixKubeletQOSClass"
    assert gate in {one["gate"] for one in compared(*asked)["rules"]}
    assert gate not in {one["gate"] for one in compared(*asked, f"--feature-gates={gate}=false")["rules"]}


def test_recreated_pod_has_no_resize_in_flight(tmp_path: Path) -> None:
    granted = {"requests": {"memory": "2Gi"}}
    statuses = [{"name": name, "allocatedResources": granted["requests"], "resources": granted} for name in ("a", "b")]
    containers = [raw_container("a", {"memory": "1Gi"}), raw_container("b", {"memory": "4Gi"})]
    status = {"phase": "Running", "qosClass": "Burstable", "containerStatuses": statuses}
    resized = raw_pod("resized", "shop", uid="1", containers=containers, nodeName="n1", status=status)
    file = written(tmp_path, node("n1", "v1.36.3"), resized)
    assert compared(file, "--kubernetes-version", "1.36", "--to", "1.37")["changed"] == []


def test_unmodelled_placement_is_not_compared(tmp_path: Path) -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    waiting = [
        raw_pod("claims", "shop", uid="1", volumes=volumes),
        raw_pod("other", "shop", uid="2", schedulerName="mine"),
        raw_pod("held", "shop", uid="3", schedulingGates=[{"name": "quota"}]),
        raw_pod("goes", "shop", uid="4"),
    ]
    listed = write_list(tmp_path / "list.json", [node("n1", "v1.36.3"), *waiting])
    found = compared(listed, "--to", "1.37", code=11)
    assert (found["placed"], found["notPlaced"]) == (1, 0)
    reasons = {one["reason"]: one["pods"] for one in found["notCompared"]}
    assert list(reasons.values()) == [1, 1, 1]
    for part in ("persistentvolumeclaims", 'schedulerName "mine"', "scheduling gates"):
        assert any(part in reason for reason in reasons)
    page = said(listed, "--to", "1.37")
    assert "nothing changes for the 4 pods, nor for 1 placement" in page
    assert page.count("where 1 pod would go") == 3
    whole = compared(written(tmp_path, node("n1", "v1.36.3"), *waiting), "--to", "1.37")
    assert (whole["placed"], len(whole["notCompared"])) == (2, 2), "there is no such claim: no node fits"


def test_pod_without_node_has_no_oom_score_change(tmp_path: Path) -> None:
    empty = pods("")[0]
    found = compared(written(tmp_path, node("n1", "v1.36.3"), empty), "--to", "1.37")
    kinds = {change["kind"] for entry in found["changed"] for change in entry["changes"]}
    assert ("OOMScore" in kinds, "QoSClass" in kinds) == (False, True)


def test_table_shows_each_pod_whole(tmp_path: Path) -> None:
    many = [
        {**pods()[0], "metadata": {"name": f"empty-{number}", "namespace": "shop", "uid": str(number)}}
        for number in range(20)
    ]
    ran = run("versions", "--snapshot", written(tmp_path, node("n1", "v1.36.3"), *many), "--to", "1.37")
    shown = [line for line in ran.out.splitlines() if "shop/empty-" in line]
    assert f"recreated ({20 - len(shown)} more: -o wide)" in ran.out
    assert ran.out.count("oom_score_adj of app") == len(shown), "including the last one"


def test_newest_version_suggests_no_other(tmp_path: Path) -> None:
    assert "--to" not in said(written(tmp_path, node("n1", "v1.37.0")))
    assert "--to 1.37" in said(written(tmp_path, node("n1", "v1.36.0")))


def test_pending_pods_agree_with_explain_of_both_versions() -> None:
    """1.33 ignores pod-level resources: there is more room."""
    found = data("versions", "--demo", "--to", "1.33")
    waiting = [entry for entry in found["placements"] if entry["waits"]]
    assert waiting
    assert found["placed"] > len(found["placements"]), "the other placements are unchanged"
    for entry in waiting:
        for side, flags in (("before", ()), ("after", ("--kubernetes-version", "1.33"))):
            placement = data("explain", f"pod/{entry['pod']}", "-n", entry["namespace"], "--demo", *flags)["placement"]
            assert entry[side]["outcome"] == placement["outcome"]
            assert entry[side]["best"] == sorted(placement["best"])
            assert entry[side]["message"] == placement["message"]


def test_changed_kill_order_of_nodes(tmp_path: Path) -> None:
    file = written(tmp_path, node("n1", "v1.36.3"), *pods())
    found = compared(file, "--kubernetes-version", "1.36", "--to", "1.37")
    orders = {entry["order"]: entry for entry in found["orders"]}
    assert orders["OOM"]["before"][0] == "shop/empty/app", "BestEffort goes first"
    assert orders["OOM"]["after"][0] == "shop/plain/app", "it requests no memory"


@pytest.mark.parametrize("columns", ["80", "200"])
def test_page_fits_the_terminal(tmp_path: Path, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    written(tmp_path, node("n1", "v1.36.3"), *pods())
    monkeypatch.chdir(tmp_path)
    ran = run("versions", "--snapshot", "cluster.json", "--kubernetes-version=1.36", "--to", "1.37", "-o", "wide")
    assert max(map(len, ran.out.splitlines())) <= int(columns)
    assert "BestEffort -> Burstable" in " ".join(ran.out.split())


def test_one_namespace_and_all(tmp_path: Path) -> None:
    other = [{**pod, "metadata": {**pod["metadata"], "namespace": "other", "uid": "x"}} for pod in pods()[:1]]
    file = written(tmp_path, node("n1", "v1.36.3"), *pods(), *other)
    flags = ("--kubernetes-version", "1.36", "--to", "1.37")
    assert compared(file, *flags, "-n", "other")["pods"] == 1
    assert compared(file, *flags)["pods"] == 4
    assert compared(file, *flags, "-n", "other", "-A")["pods"] == 4, "as in kubectl"


@pytest.mark.parametrize(
    ("objects", "to", "has"),
    [
        ([node("n1", "v1.36.3")], "1.37", "there is nothing to compare: no pods."),
        ([raw_pod("waits", "shop", uid="9")], "1.36", "where 1 pod would go: there are no nodes"),
    ],
)
def test_nothing_to_compare(tmp_path: Path, objects: Sequence[Object], to: str, has: str) -> None:
    assert has in said(written(tmp_path, *objects), "--to", to)


@pytest.mark.parametrize(
    ("flags", "code", "error"),
    [
        ("-n shopp", 3, "did you mean -n shop?"),
        ("--to 1.37 -n shopp", 3, "did you mean -n shop?"),
        ("--to latest", 2, '--to "latest": not a version of Kubernetes'),
    ],
)
def test_wrong_flags(flags: str, code: int, error: str) -> None:
    ran = run("versions", "--demo", *flags.split())
    assert ran.code == code
    assert error in ran.err


def test_suggested_commands_keep_the_namespace() -> None:
    for words in ((), ("--to", "1.33")):
        assert "-n shop" in run("versions", "--demo", "-n", "shop", *words).out.partition("Next")[2]


def test_other_version_is_called_other() -> None:
    page = " ".join(run("versions", "--demo", "--to", "1.33").out.split())
    assert "kube-apiserver is 1.33 (--to), and answers were checked on 1.34 to 1.37 only" in page
    assert "DynamicResources, Pod-level resources and VolumeBinding" in page, "the scheduler has that version, too"


def test_many_kubelets_are_counted_by_minor(tmp_path: Path) -> None:
    nodes = [node(f"n{patch}", f"v1.36.{patch}") for patch in range(5)]
    page = said(written(tmp_path, *nodes))
    assert "kubelets: 1.36 on 5 nodes." in page
    assert all(f"v1.36.{patch}" in page for patch in range(5))
