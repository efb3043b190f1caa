"""``kubectl qos place``: arguments, refusals, exit codes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster_io.demo import demo_objects
from kubectl_plugin.gather.manifest_objects import with_manifest_objects
from podrules.scheduling.placement.controllers import with_controllers
from podrules.scheduling.placement.what_if import cordoning_nodes
from tests.calls import counted_calls
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_node, raw_pod, raw_workload

ROOT = Path(__file__).resolve().parents[3]
CHECKOUT = str(ROOT / "tests/testdata/manifests/checkout.yaml")


def placed(*arguments: str, stdin: str = "") -> dict[str, Any]:
    ran = run("place", "--demo", *arguments, "-o", "json", stdin=stdin)
    assert ran.err == ""
    printed: dict[str, Any] = json.loads(ran.out)
    return printed


def manifest(kind: str, **spec: Any) -> str:
    pod = raw_pod(requests={"cpu": "100m"})
    return yaml.safe_dump(raw_workload(kind, "x", pod_spec=pod["spec"], **spec))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "nothing to place\nName TYPE/NAME, a file with -f, or a node with --drain"),
        (
            ("-f", CHECKOUT, "--replicas", "0"),
            2,
            '--replicas "0": not a number from 1 to 100000\nWrite a number, or max',
        ),
        (("-f", CHECKOUT, "--replicas", "many"), 2, '--replicas "many": not a number'),
        (("-f", CHECKOUT, "--exclude-node", "node-zz"), 3, 'nodes "node-zz" not found'),
        (("-f", CHECKOUT, "--without", "pod/missing"), 3, 'pods "missing" not found in namespace shop'),
        (
            ("-f", CHECKOUT, "--without", "missing"),
            2,
            '--without "missing": not a pod\nWrite pod/missing or NAMESPACE/missing',
        ),
        (("--drain", "node/node-zz"), 3, 'nodes "node-zz" not found'),
        (
            ("-f", CHECKOUT, "--add-node", "cpu=8"),
            2,
            "without like=NODE it needs memory\nWrite e.g. cpu=8,memory=32Gi, or like=NODE",
        ),
        (("-f", CHECKOUT, "--add-node", "like=node-zz"), 3, 'nodes "node-zz" not found'),
        (
            ("-f", CHECKOUT, "--add-node", "like=node-a1,name=node-b1"),
            2,
            "node node-b1 already exists\nGive the new one another name: name=NAME",
        ),
        (
            ("-f", CHECKOUT, "--add-node", "like=node-a1,count=none"),
            2,
            "count=none: not a number of nodes\nWrite a number from 1 to 10000",
        ),
        (("-f", CHECKOUT, "--add-node", "like"), 2, '"like": not KEY=VALUE\nWrite e.g. like=node-1,count=2'),
        (
            ("-f", CHECKOUT, "--add-node", "like=node-a1,taint=x"),
            2,
            "taint=x: not a taint\nWrite taint=KEY=VALUE:EFFECT with NoSchedule",
        ),
        (("-f", CHECKOUT, "--add-node", "like=node-a1,label=x"), 2, "label=x: not a label\nWrite label=KEY=VALUE"),
        (
            ("-f", CHECKOUT, "--add-node", "like=node-a1,cpu=lots"),
            2,
            "cpu=lots: 'lots' is not a quantity: it must be a number and a suffix\nWrite e.g. 250m",
        ),
        (("-f", CHECKOUT, "--add-node", "cpu=-3,memory=-1Gi"), 2, "cpu=-3: below 0\nWrite an amount of 0 or more"),
        (("-f", CHECKOUT, "--add-node", "cpuu=3,memroy=3Gi"), 2, "cpuu= is not a key\nDid you mean cpu=?"),
        (("-f", CHECKOUT, "--add-node", "like=node-a1,memroy=3Gi"), 2, "memroy= is not a key\nDid you mean memory=?"),
        (("-f", CHECKOUT, "--add-node", "like=node-a1,x=3"), 2, "x= is not a key\nWrite one of name, like, count,"),
        (("-f", "/nowhere.yaml"), 6, "/nowhere.yaml"),
    ],
)
def test_refusal_has_a_remedy(arguments: tuple[str, ...], code: int, words: str) -> None:
    ran = run("place", "--demo", *arguments)
    assert ran.code == code
    assert words in ran.err
    assert ran.out == ""


def test_file_without_pods_is_reported() -> None:
    ran = run("place", "--demo", "-f", "-", stdin="apiVersion: v1\nkind: Service\nmetadata: {name: x}\n")
    assert ran.code == 6
    assert ran.err == (
        "error: standard input: no pod and no workload in it, only Service x; there is nothing to place\n"
        "Name a file with a Pod, or with a workload, as a Deployment\n"
    )


def test_each_kind_has_its_own_number() -> None:
    numbers = {
        "Deployment": manifest("Deployment", replicas=3),
        "StatefulSet": manifest("StatefulSet"),
        "Job": manifest("Job", parallelism=2),
    }
    for kind, text in numbers.items():
        (spec,) = placed("-f", "-", stdin=text)["specs"]
        assert spec["wanted"] == {"Deployment": 3, "StatefulSet": 1, "Job": 2}[kind]


def _daemon_set(requests: Mapping[str, str], **spec: Any) -> str:
    pod = raw_pod(requests=requests, **spec)
    return yaml.safe_dump(raw_workload("DaemonSet", "agent", pod_spec=pod["spec"]))


def _words(*arguments: str, stdin: str = "") -> str:
    return " ".join(run("place", "--demo", *arguments, stdin=stdin).out.split())


def test_daemon_set_runs_on_the_nodes_that_it_chooses() -> None:
    text = _daemon_set({"cpu": "10m"}, tolerations=[{"key": "example.com/spot", "operator": "Exists"}])
    (spec,) = placed("-f", "-", "--no-preemption", stdin=text)["specs"]
    chosen, without = spec["daemon"]["eligible"], {node["node"] for node in spec["daemon"]["without"][0]["nodes"]}
    assert spec["wanted"] == spec["placed"] == chosen == len(spec["nodes"]) == 12 - len(without)
    assert {"cp-a1", "node-c3"} <= without
    assert not {"node-b4", "node-c4"} & without
    assert f"daemonset/agent runs on {chosen} of 12 nodes. {len(without)} nodes get no pod: " in _words(
        "-f", "-", "--no-preemption", stdin=text
    )


def test_pending_daemon_pods_are_listed_by_node() -> None:
    text = _daemon_set({"cpu": "700m", "memory": "1500Mi"})
    ran = run("place", "--demo", "-f", "-", stdin=text)
    words = " ".join(ran.out.split())
    assert ran.code == 7
    assert words.startswith(
        "3 of 6 pods of daemonset/agent stay pending: node-a2, node-b1 and node-c2 lack memory. "
        "Way out: free 269Mi memory on node-a2 by moving payments/card-vault-ljj5qpgbh-6m2fw. "
        "daemonset/agent runs on 3 of 12 nodes."
    )
    assert "node-b1 NodeResourcesFit Insufficient memory: lacks 591Mi memory" in words
    # explain uses the same rule.
    report = json.loads(run("explain", "--demo", "-f", "-", "-o", "json", stdin=text).out)
    assert report["daemon"] == placed("-f", "-", stdin=text)["specs"][0]
    page = " ".join(run("explain", "--demo", "-f", "-", stdin=text).out.split())
    assert "3 of 6 pods of daemonset/agent stay pending: node-a2, node-b1 and node-c2 lack memory." in page
    assert "Nodes daemonset/agent runs on 3 of 12 nodes. 6 nodes get no pod: " in page


def test_new_node_gets_the_pods_of_daemon_sets() -> None:
    named = ("daemonset/kube-proxy", "-n", "kube-system")
    assert _words(*named).startswith("daemonset/kube-proxy has its pods on all 12 nodes already.")
    words = _words(*named, "--add-node", "like=node-a1")
    assert "daemonset/kube-proxy runs on all 13 nodes, on 12 already." in words


_SCALER = """
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scaler}
spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}}
"""


def _scaled(**spec: Any) -> str:
    pod = raw_pod(requests={"cpu": "700m", "memory": "3Gi"})
    return yaml.safe_dump(raw_workload("Deployment", "x", pod_spec=pod["spec"], **spec)) + _SCALER


def test_replicas_of_an_autoscaler_are_a_range() -> None:
    found = placed("-f", "-", "--no-preemption", stdin=_scaled(replicas=1))["specs"]
    assert [(spec["origin"], spec["wanted"]) for spec in found] == [("manifest", 2), ("autoscaler", 7)]
    assert found[0]["autoscaler"] == {"name": "scaler", "minReplicas": 2, "maxReplicas": 9}
    fit = sum(spec["placed"] for spec in found)
    assert 2 < fit < 9
    ran = run("place", "--demo", "-f", "-", "--no-preemption", stdin=_scaled())
    # Its minimum fits; it scales up only by its metrics.
    assert ran.code == 0
    words = " ".join(ran.out.split())
    assert f"deployment/x has 2 to 9 replicas (HorizontalPodAutoscaler scaler): of 9, {fit} fit." in words
    assert f"deployment/x (up to 9) {fit - 2} of 7" in words
    title = " ".join(run("explain", "--demo", "-f", "-", stdin=_scaled()).out.split())
    assert "2 to 9 replicas from HorizontalPodAutoscaler scaler: the pod that it makes" in title


@pytest.mark.parametrize(("arguments", "spec", "wanted"), [((), {"replicas": 0}, [0]), (("--replicas", "3"), {}, [3])])
def test_autoscaler_that_is_ignored(arguments: tuple[str, ...], spec: dict[str, int], wanted: list[int]) -> None:
    """At 0 replicas it does nothing; --replicas sets its own number."""
    found = placed("-f", "-", *arguments, stdin=_scaled(**spec))["specs"]
    assert [one["wanted"] for one in found] == wanted


def test_job_shows_parallel_and_total_pods() -> None:
    text = manifest("Job", parallelism=3, completions=10, completionMode="Indexed")
    assert "job/x makes 3 pods at once, 10 in all, one for each index. All 3 pods fit" in _words("-f", "-", stdin=text)
    title = " ".join(run("explain", "--demo", "-f", "-", stdin=text).out.split())
    assert "3 pods at once, 10 in all, one for each index: the pod that it makes" in title
    assert placed("-f", "-", stdin=manifest("Job", parallelism=3, completions=2))["specs"][0]["wanted"] == 2


def test_stateful_set_stops_at_pending_pod() -> None:
    pod = raw_pod(requests={"cpu": "700m", "memory": "6Gi"})
    more: dict[str, Any] = {"pod_spec": pod["spec"], "replicas": 9, "ordinals": {"start": 3}}
    text = yaml.safe_dump(raw_workload("StatefulSet", "db", **more))
    assert (
        "8 of 9 replicas of statefulset/db do not run. db-4 stays pending, and none after it is made (OrderedReady)."
    ) in _words("-f", "-", "--no-preemption", stdin=text)
    parallel = yaml.safe_dump(raw_workload("StatefulSet", "db", podManagementPolicy="Parallel", **more))
    assert "8 of 9 replicas of statefulset/db stay pending. Of 12 nodes" in _words(
        "-f", "-", "--no-preemption", stdin=parallel
    )


def test_pod_refused_by_api_server_is_reported() -> None:
    text = manifest("Deployment").replace("containers:", "priorityClassName: missing\n      containers:")
    ran = run("place", "--demo", "-f", "-", stdin=text)
    assert ran.code == 7
    assert "deployment/x is not placed: " in ran.out
    assert "missing" in ran.out


def test_claims_of_a_stateful_set_are_assumed_to_exist() -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    (spec,) = placed("-f", "-", stdin=manifest("StatefulSet", replicas=2, volumeClaimTemplates=[claim]))["specs"]
    assert spec["placed"] == 2


@pytest.mark.parametrize("mode", ["ReadWriteOnce", "ReadWriteOncePod"])
def test_replicas_do_not_take_each_others_claims(mode: str) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}},
    }
    (spec,) = placed("-f", "-", stdin=manifest("StatefulSet", replicas=3, volumeClaimTemplates=[claim]))["specs"]
    assert spec["placed"] == 3


def test_claims_of_ephemeral_volumes_are_assumed_to_exist() -> None:
    document = yaml.safe_load(manifest("Deployment", replicas=2))
    claim = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    document["spec"]["template"]["spec"]["volumes"] = [{"name": "tmp", "ephemeral": {"volumeClaimTemplate": claim}}]
    text = yaml.safe_dump(document)
    assert placed("-f", "-", stdin=text)["specs"][0]["placed"] == 2
    explained = json.loads(run("explain", "--demo", "-f", "-", "-o", "json", stdin=text).out)
    assert explained["placement"]["outcome"] == "Fits"


def test_added_node_takes_pods_and_an_excluded_one_does_not() -> None:
    (spec, _) = placed(
        "-f", CHECKOUT, "--add-node", "name=big,cpu=64,memory=256Gi,zone=eu-1c,label=x=y", "--exclude-node", "node-b2"
    )["specs"]
    assert "big" in spec["nodes"]
    assert "node-b2" not in spec["nodes"]


def test_removed_pod_frees_its_room() -> None:
    before = placed("-f", CHECKOUT, "--replicas", "max", "--no-preemption")["specs"][0]
    after = placed("-f", CHECKOUT, "--replicas", "max", "--no-preemption", "--without", "data/broker-0")["specs"][0]
    assert after["placed"] >= before["placed"]


def test_drained_pods_and_manifests_share_the_room() -> None:
    plan = placed("--drain", "node-c2", "-f", CHECKOUT)
    assert plan["whatIf"]["drained"] == "node-c2"
    assert any(spec["name"].startswith("pod/") for spec in plan["specs"])
    assert any(spec["name"] == "deployment/checkout-next" for spec in plan["specs"])
    assert all("node-c2" not in spec["nodes"] for spec in plan["specs"])


CASES = ROOT / "tests/testdata/cases"


def test_drain_builds_its_cluster_once() -> None:
    """The leaving pods are determined on the cluster as read; the changed cluster is built once all are known."""
    with counted_calls(with_manifest_objects, with_controllers, cordoning_nodes) as counts:
        ran = run("place", "--demo", "--drain", "node/node-a1")
    assert "drained" in ran.out
    assert counts == {"with_manifest_objects": 1, "with_controllers": 1, "cordoning_nodes": 1}


def test_drained_node_is_no_remedy() -> None:
    said = run("place", "--demo", "--drain", "node/node-a1").out
    assert "Ways out: free 817Mi memory on node-a2 by moving shop/catalog-8wstmlzv2-nrz7h; or tolerate" in " ".join(
        said.split()
    )
    assert "uncordon node-a1" not in said


def test_drain_lists_blocking_pods_before_daemon_pods() -> None:
    for form, daemons in (("wide", ["kube-proxy", "net-agent", "csi-block-node", "log-agent"]), ("table", ["4"])):
        said = run("place", "--demo", "--drain", "node/node-a1", "-o", form).out
        table = said.partition("that are not moved\n")[2].partition("\n\n")[0]
        rows = [line.split()[0].rpartition("/")[2] for line in table.splitlines()[1:] if not line.startswith(" ")]
        assert rows[0].startswith("checkout-")
        assert [next(one for one in daemons if name.startswith(one)) for name in rows[1:]] == daemons


def test_drain_of_a_silent_node_fails() -> None:
    ran = run("place", "--snapshot", str(CASES / "seeds/s3a.json"), "--drain", "node/a")
    text = " ".join(ran.out.split())
    assert ran.code == 7
    assert (
        "The drain does not end: a does not answer, and 1 pod stays Terminating until it does, or is fenced. "
        "Besides, no pod of a is recreated elsewhere." in text
    )
    assert "default/etcd-2 stays Terminating: its StatefulSet makes no other before a answers, or is fenced" in text


def test_drain_answer_precedes_kubectl_drain_refusals(tmp_path: Path) -> None:
    """A pod without a controller and one with an emptyDir: kubectl evicts no pod unless flags allow losing both."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}
    cached = raw_pod(
        "cached",
        nodeName="a",
        volumes=[{"name": "tmp", "emptyDir": {}}],
        metadata={"ownerReferences": [owner], "uid": "cached"},
    )
    lone = raw_pod("lone", nodeName="a", metadata={"uid": "lone"})
    has = {"cpu": "64", "memory": "64Gi", "pods": "110"}
    nodes = [raw_node(name, {"kubernetes.io/hostname": name}, allocatable=has) for name in "ab"]
    cluster = write_cluster(tmp_path / "cluster.qos", [*nodes, cached, lone])
    ran = run("place", "--snapshot", cluster, "--drain", "node/a")
    assert ran.code == 7
    assert (
        "The drain ends; pod/cached finds a place on b. 1 pod would be lost: no controller recreates it. "
        "kubectl drain evicts no pod without --force (1 pod that no controller recreates) and --delete-emptydir-data "
        "(1 pod with an emptyDir, which is lost)." in " ".join(ran.out.split())
    )
    cluster = write_cluster(tmp_path / "cluster.qos", [*nodes, cached])
    assert run("place", "--snapshot", cluster, "--drain", "node/a").code == 0


def test_drain_cost_precedes_its_caveats() -> None:
    text = " ".join(run("place", "--demo", "--drain", "node-c1").out.split())
    assert text.startswith(
        "on 12 nodes, with node-c1 drained The drain ends; 5 of 6 pods find a place without preemption, "
        "all 6 if 2 pods are preempted: "
        "2 on node-c2, 2 on node-b2, 1 on node-a2 and 1 on node-a1. "
        "The scheduler preempts shop/recommend-27tvm5xll-5mzzd and batch/nightly-index-q7n2s for "
        "pod/search-5l7xfxsb4-ctpmn. "
        "The preempted pods' replacements need room too: that is not counted here. "
        "kubectl drain evicts no pod without "
    )


CRON_JOB = yaml.safe_dump(
    {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "x"},
        "spec": {
            "schedule": "@daily",
            "suspend": True,
            "jobTemplate": {"spec": {"template": {"spec": raw_pod(restartPolicy="Never")["spec"]}}},
        },
    }
)
SPREAD = {"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}


@pytest.mark.parametrize(
    ("document", "code", "words"),
    [
        (yaml.safe_dump(raw_pod("") | {"metadata": {"generateName": "x-"}}), 0, "pod/x-… 1 of 1 node-"),
        (manifest("Job", parallelism=2, suspend=True), 0, "job/x is suspended (spec.suspend): it makes no pod before"),
        (CRON_JOB, 0, "cronjob/x is suspended (spec.suspend): it makes no pod before"),
        (manifest("Deployment", replicas=0), 0, "deployment/x requests no pods. spec"),
        (
            yaml.safe_dump(raw_pod("x", schedulingGates=[{"name": "a/b"}])),
            7,
            "pod/x stays pending. The scheduler does not look at it: waiting for scheduling gates: [a/b].",
        ),
        (
            yaml.safe_dump(raw_pod("x", topologySpreadConstraints=[SPREAD])),
            6,
            "refuses it (standard input, line 10): spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0:",
        ),
    ],
)
def test_reason_without_new_or_placed_pods_is_shown(document: str, code: int, words: str) -> None:
    ran = run("place", "--demo", "-f", "-", stdin=document)
    text = " ".join(ran.out.split())
    assert ran.code == code
    assert words in text
    assert "All 0 pods" not in text


def test_explain_and_place_agree_on_api_server_refusals() -> None:
    document = yaml.safe_dump(raw_pod("x", topologySpreadConstraints=[SPREAD]))
    field = "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0:"
    for command, words in (("place", "refuses it (standard input, line 10):"), ("explain", "Refused: line 10:")):
        text = " ".join(run(command, "--demo", "-f", "-", stdin=document).out.split())
        assert f"{words} {field}" in text
        assert "way out" not in text


def seed(folder: Path) -> str:
    """A cluster that has only the objects of a recorded List."""
    return write_cluster(folder / "cluster.qos", json.loads((CASES / "seeds/s3a.json").read_text())["items"])


def test_existing_pods_and_silent_node_are_reported(tmp_path: Path) -> None:
    """Node a of the seed is silent, and etcd has three pods."""
    pod = raw_pod(tolerations=[{"operator": "Exists"}])
    file = tmp_path / "etcd.yaml"
    workload = raw_workload("StatefulSet", "etcd", "default", pod_spec=pod["spec"], replicas=3)
    file.write_text(yaml.safe_dump(workload))
    source = ("place", "--snapshot", seed(tmp_path), "-f", str(file))
    ran = run(*source, "--exclude-node", "b", "--exclude-node", "c")
    text = " ".join(ran.out.split())
    assert ran.code == 7
    assert "3 pods go to a, which does not answer: nothing starts there until it does." in text
    text = " ".join(run(*source, "--exclude-node", "a").out.split())
    assert "already; 3 more are placed. All 3 pods fit: 2 on b and 1 on c." in text


@pytest.mark.parametrize(
    ("node", "code", "words"),
    [
        ("a", 7, "Its spec.nodeName is a, which does not answer: the pod stays Pending until it does."),
        ("nosuch", 7, "Its spec.nodeName is nosuch, and there is no such node: pod garbage collection deletes it."),
        ("b", 0, ""),
    ],
)
def test_pod_with_node_name_skips_the_scheduler(tmp_path: Path, node: str, code: int, words: str) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(yaml.safe_dump(raw_pod("x", "shop", nodeName=node)))
    source = ("--snapshot", seed(tmp_path), "-f", str(file))
    ran = run("place", *source)
    assert ran.code == code
    assert (f"pod/x does not run. {words}" if words else "It fits, on b.") in " ".join(ran.out.split())
    explained = " ".join(run("explain", *source).out.split())
    assert (words or "spec.nodeName is b: no scheduler is involved, and the kubelet there runs it") in explained
    assert "would not be chosen" not in explained


@pytest.mark.parametrize("name", ["d6", "rs6", "sts6", "d6svc"])
def test_S4_replicas_spread_by_their_owner(name: str) -> None:
    (spec,) = placed("-f", str(CASES / f"{name}.yaml"))["specs"]
    assert spec["placed"] == 6
    assert max(spec["nodes"].values()) <= 2
    assert set(spec["zones"].values()) == {2}


def test_S4_job_pods_have_no_default_spread() -> None:
    (spec,) = placed("-f", "-", stdin=manifest("Job", parallelism=6))["specs"]
    assert len(spec["nodes"]) == 1


def small(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return raw_workload(kind, name, "shop", pod_spec=raw_pod(requests={"cpu": "1m"})["spec"], **spec)


@pytest.mark.parametrize(("kind", "template_hash"), [("ReplicaSet", ""), ("StatefulSet", ""), ("Deployment", "5f6c")])
def test_S4_existing_pods_count(tmp_path: Path, kind: str, template_hash: str) -> None:
    """Pods of the same revision count: the pod is placed where none of them is."""
    assert best(tmp_path, small(kind, "x", replicas=3), kind, template_hash) == ["b"]


@pytest.mark.parametrize(
    "changed", [{"containers": [{"name": "app", "image": "new"}]}, {"terminationGracePeriodSeconds": 5}]
)
def test_S4_pods_of_another_revision_do_not_count(tmp_path: Path, changed: dict[str, Any]) -> None:
    workload = small("Deployment", "x", replicas=3)
    workload["spec"]["template"]["spec"] |= changed
    assert best(tmp_path, workload, "Deployment", "5f6c") == ["a", "b"]


def best(tmp_path: Path, workload: dict[str, Any], kind: str, template_hash: str) -> list[str]:
    """The equally best nodes for a workload's next pod; its first pod runs on node a of two equal nodes.

    Both commands agree, and so does the workload in the cluster.
    """
    labels = {"app": "x", **({"pod-template-hash": template_hash} if template_hash else {})}
    first = small(kind, "x", replicas=3)
    owner = first
    if template_hash:
        owner = small("ReplicaSet", f"x-{template_hash}", selector={"matchLabels": labels})
        owner["spec"]["template"] = first["spec"]["template"]
        owner["metadata"] |= {
            "labels": labels,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "x", "controller": True}],
        }
    reference = {"apiVersion": "apps/v1", "kind": owner["kind"], "name": owner["metadata"]["name"], "controller": True}
    there = raw_pod("x-0", "shop", labels=labels, nodeName="a", metadata={"ownerReferences": [reference]})
    has = {"cpu": "64", "memory": "64Gi", "pods": "110"}
    nodes = [raw_node(name, {"kubernetes.io/hostname": name}, allocatable=has) for name in "ab"]
    # A pod as large as the first, so that resource scores do not decide.
    other = raw_pod("other", "shop", nodeName="b")
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(yaml.safe_dump_all([*nodes, there, other, owner, {**workload, "kind": kind}]))
    file = tmp_path / "x.yaml"
    file.write_text(yaml.safe_dump(workload))
    asked = run("explain", "--snapshot", str(cluster), "-f", str(file), "-o", "json")
    found: list[str] = json.loads(asked.out)["placement"]["best"]
    ran = run("place", "--snapshot", str(cluster), "-f", str(file), "--replicas", "1", "-o", "json")
    (spec,) = json.loads(ran.out)["specs"]
    assert list(spec["nodes"]) == found[:1]
    named = f"{kind.lower()}/x"
    live = run("explain", "--snapshot", str(cluster), named, "-n", "shop", "--placement", "-o", "json")
    assert json.loads(live.out)["template"]["placement"]["best"] == found
    return found


def test_S4_revision_counts_in_a_snapshot_too(tmp_path: Path) -> None:
    """A snapshot keeps the parts of a template that rules read."""
    (there,) = (obj for obj in demo_objects() if (obj["kind"], obj["metadata"]["name"]) == ("Deployment", "catalog"))
    file = tmp_path / "catalog.yaml"
    file.write_text(yaml.safe_dump({**there, "metadata": {"name": "catalog", "namespace": "shop"}}))
    snapshot = str(tmp_path / "demo.snapshot")
    assert run("snapshot", "--demo", "-o", snapshot).code == 0
    for source in (("--demo",), ("--snapshot", snapshot)):
        manifest = run("explain", *source, "-f", str(file), "-o", "json")
        live = run("explain", *source, "deployment/catalog", "-n", "shop", "--placement", "-o", "json")
        for placement in (json.loads(manifest.out)["placement"], json.loads(live.out)["template"]["placement"]):
            counts = {score["node"]: _counts(score) for score in placement["scores"]}
            assert counts == {"node-b2": {"eu-1b": 1, "node-b2": 0}, "node-a1": {"eu-1a": 2, "node-a1": 1}}


def _counts(score: dict[str, Any]) -> dict[str, int]:
    """Pods of the revision by domain."""
    return {term["domain"]: term["count"] for term in score["softSpread"]["terms"]}
