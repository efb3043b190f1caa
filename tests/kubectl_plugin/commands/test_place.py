"""``kubectl qos place``: arguments, refusals, exit codes."""

from __future__ import annotations

import json
import re
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
from tests.kubectl_plugin.answers import data, said, transcript
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_node, raw_object, raw_owner, raw_pod, raw_workload

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


FILE_NEEDS = f"""\
$ -f {CHECKOUT} --replicas 0   # 2
error: --replicas "0": not a number from 1 to 100000
Write a number, or max
$ -f {CHECKOUT} --replicas many   # 2
error: --replicas "many": not a number
Write a number, or max
$ -f {CHECKOUT} --exclude-node node-zz   # 3
$ --drain node/node-zz   # 3
$ -f {CHECKOUT} --add-node like=node-zz   # 3
error: no node "node-zz"
Did you mean node/
$ -f {CHECKOUT} --without pod/missing   # 3
error: no pod "missing" in shop
To list them:
$ -f {CHECKOUT} --without missing   # 2
error: --without "missing": not a pod
Write pod/missing or NAMESPACE/missing
$    # 2
error: nothing to place
Name TYPE/NAME, a file with -f, or a node with --drain
$ -f /nowhere.yaml   # 6
error: /nowhere.yaml: No such file or directory
Look at the name, and at the folder
"""
NODE_NEEDS = """\
$ cpu=8
error: without like=NODE it needs memory
Write e.g. cpu=8,memory=32Gi, or like=NODE
$ like=node-a1,name=node-b1
error: node node-b1 already exists
Give the new one another name: name=NAME
$ like=node-a1,count=none
error: count=none: not a number of nodes
Write a number from 1 to 10000
$ like
error: "like": not KEY=VALUE
Write e.g. like=node-1,count=2
$ like=node-a1,taint=x
error: taint=x: not a taint
Write taint=KEY=VALUE:EFFECT with NoSchedule
$ like=node-a1,label=x
error: label=x: not a label
Write label=KEY=VALUE
$ like=node-a1,cpu=lots
error: cpu=lots: 'lots' is not a quantity: it must be a number and a suffix
Write e.g. 250m
$ cpu=-3,memory=-1Gi
error: cpu=-3: below 0
Write an amount of 0 or more
$ cpuu=3,memroy=3Gi
error: cpuu= is not a key
Did you mean cpu=?
$ like=node-a1,memroy=3Gi
error: memroy= is not a key
Did you mean memory=?
$ like=node-a1,x=3
error: x= is not a key
Write one of name, like, count,
"""
NEEDS = [
    *transcript(FILE_NEEDS),
    *((f"-f {CHECKOUT} --add-node {node}   # 2", error, advice) for node, error, advice in transcript(NODE_NEEDS)),
]


@pytest.mark.parametrize(("typed", "error", "advice"), NEEDS)
def test_refusal_has_a_remedy(typed: str, error: str, advice: str) -> None:
    typed, _, code = typed.partition("# ")
    ran = run("place", "--demo", *typed.split())
    assert (ran.code, ran.out) == (int(code), "")
    assert re.match(f"error: .*{re.escape(error)}", ran.err)
    assert f"\n{advice}" in ran.err


def test_file_without_pods_is_reported() -> None:
    ran = run("place", "--demo", "-f", "-", stdin="apiVersion: v1\nkind: Service\nmetadata: {name: x}\n")
    assert ran.code == 6
    assert ran.err == (
        "error: standard input: no pod and no workload in it, only Service x; there is nothing to place\n"
        "Name a file with a Pod, or with a workload, as a Deployment\n"
    )


def test_each_kind_has_its_own_number() -> None:
    cases: tuple[tuple[str, dict[str, int], int], ...] = (
        ("Deployment", {"replicas": 3}, 3),
        ("StatefulSet", {}, 1),
        ("Job", {"parallelism": 2}, 2),
        ("Job", {"parallelism": 3, "completions": 2}, 2),
    )
    for kind, spec, wanted in cases:
        assert [one["wanted"] for one in placed("-f", "-", stdin=manifest(kind, **spec))["specs"]] == [wanted]


def _daemon_set(requests: Mapping[str, str], **spec: Any) -> str:
    pod = raw_pod(requests=requests, **spec)
    return yaml.safe_dump(raw_workload("DaemonSet", "agent", pod_spec=pod["spec"]))


def _words(*arguments: str, stdin: str = "") -> str:
    return said("place", "--demo", *arguments, stdin=stdin)


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
        "x 3 of 6 pods of daemonset/agent stay pending: node-a2, node-b1 and node-c2 lack memory. "
        "Way out: free 269Mi memory on node-a2 by moving payments/card-vault-ljj5qpgbh-6m2fw. "
        "daemonset/agent runs on 3 of 12 nodes."
    )
    assert "node-b1 NodeResourcesFit Insufficient memory: lacks 591Mi memory" in words
    # explain uses the same rule.
    assert data("explain", "--demo", "-f", "-", stdin=text)["daemon"] == placed("-f", "-", stdin=text)["specs"][0]
    page = said("explain", "--demo", "-f", "-", stdin=text)
    assert "3 of 6 pods of daemonset/agent stay pending: node-a2, node-b1 and node-c2 lack memory." in page
    assert "Nodes daemonset/agent runs on 3 of 12 nodes. 6 nodes get no pod: " in page


def test_new_node_gets_the_pods_of_daemon_sets() -> None:
    named = ("daemonset/kube-proxy", "-n", "kube-system")
    assert _words(*named).startswith("ok daemonset/kube-proxy has its pods on all 12 nodes already.")
    words = _words(*named, "--add-node", "like=node-a1")
    assert "daemonset/kube-proxy runs on all 13 nodes, on 12 already." in words


_TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}
_RANGE = {"minReplicas": 2, "maxReplicas": 9, "scaleTargetRef": _TARGET}


def _scaled(**spec: Any) -> str:
    pod = raw_pod(requests={"cpu": "700m", "memory": "3Gi"})
    made = raw_workload("Deployment", "x", pod_spec=pod["spec"], **spec)
    return yaml.safe_dump_all([made, raw_object("HorizontalPodAutoscaler", "scaler", spec=_RANGE)])


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
    title = said("explain", "--demo", "-f", "-", stdin=_scaled())
    assert "2 to 9 replicas from HorizontalPodAutoscaler scaler: the pod that it makes" in title


@pytest.mark.parametrize(("arguments", "spec", "wanted"), [((), {"replicas": 0}, [0]), (("--replicas", "3"), {}, [3])])
def test_autoscaler_that_is_ignored(arguments: tuple[str, ...], spec: dict[str, int], wanted: list[int]) -> None:
    """At 0 replicas it does nothing; --replicas sets its own number."""
    found = placed("-f", "-", *arguments, stdin=_scaled(**spec))["specs"]
    assert [one["wanted"] for one in found] == wanted


def test_job_shows_parallel_and_total_pods() -> None:
    text = manifest("Job", parallelism=3, completions=10, completionMode="Indexed")
    assert "All 3 pods fit: 3 on node-b2. job/x makes 3 pods at once, 10 in all, one for each index." in _words(
        "-f", "-", stdin=text
    )
    title = said("explain", "--demo", "-f", "-", stdin=text)
    assert "3 pods at once, 10 in all, one for each index: the pod that it makes" in title


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


def _claim(mode: str) -> dict[str, Any]:
    return {"spec": {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}}}


@pytest.mark.parametrize("mode", ["ReadWriteOnce", "ReadWriteOncePod"])
def test_claims_of_a_stateful_set_are_assumed_to_exist(mode: str) -> None:
    """No replica takes the claim of another."""
    claim = {"metadata": {"name": "data"}, **_claim(mode)}
    (spec,) = placed("-f", "-", stdin=manifest("StatefulSet", replicas=3, volumeClaimTemplates=[claim]))["specs"]
    assert spec["placed"] == 3


def test_claims_of_ephemeral_volumes_are_assumed_to_exist() -> None:
    document = yaml.safe_load(manifest("Deployment", replicas=2))
    volume = {"name": "tmp", "ephemeral": {"volumeClaimTemplate": _claim("ReadWriteOnce")}}
    document["spec"]["template"]["spec"]["volumes"] = [volume]
    text = yaml.safe_dump(document)
    assert placed("-f", "-", stdin=text)["specs"][0]["placed"] == 2
    assert data("explain", "--demo", "-f", "-", stdin=text)["placement"]["outcome"] == "Fits"


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
    assert "Drain of node-a1 stops" in ran.out
    assert counts == {"with_manifest_objects": 1, "with_controllers": 1, "cordoning_nodes": 1}


def test_drained_node_is_no_remedy() -> None:
    page = _words("--drain", "node/node-a1")
    assert "Ways out: free 817Mi memory on node-a2 by moving shop/catalog-8wstmlzv2-nrz7h; or tolerate" in page
    assert "uncordon node-a1" not in page


def test_drain_lists_blocking_pods_before_daemon_pods() -> None:
    for form, daemons in (("wide", ["kube-proxy", "net-agent", "csi-block-node", "log-agent"]), ("table", [])):
        page = run("place", "--demo", "--drain", "node/node-a1", "-o", form).out
        rows = [line[3:] for line in page.splitlines() if line.startswith(("x  ", "!  ", "   ")) and line[3] != " "]
        assert rows[0].startswith("shop/checkout-")
        assert [row.partition("/")[2].rpartition("-")[0] for row in rows[3:]] == daemons


def test_drain_of_a_silent_node_fails() -> None:
    ran = run("place", "--snapshot", str(CASES / "seeds/s3a.json"), "--drain", "node/a")
    text = " ".join(ran.out.split())
    assert ran.code == 7
    assert (
        "x Drain of a stops: a is silent, and 1 pod stays Terminating until it is back or fenced. "
        "No pod is recreated elsewhere." in text
    )
    assert "default/etcd-2 stays Terminating: its StatefulSet makes no other before a answers, or is fenced" in text


AMOUNTS = {"cpu": "64", "memory": "64Gi", "pods": "110"}
LARGE = [raw_node(name, {"kubernetes.io/hostname": name}, allocatable=AMOUNTS) for name in "ab"]


def test_drain_answer_precedes_kubectl_drain_refusals(tmp_path: Path) -> None:
    """A pod without a controller and one with an emptyDir: kubectl evicts no pod unless flags allow losing both."""
    owned = {"ownerReferences": [raw_owner("ReplicaSet", "web")]}
    volumes = [{"name": "tmp", "emptyDir": {}}]
    cached = raw_pod("cached", nodeName="a", volumes=volumes, uid="cached", metadata=owned)
    lone = raw_pod("lone", nodeName="a", uid="lone")
    cluster = write_cluster(tmp_path / "cluster.qos", [*LARGE, cached, lone])
    ran = run("place", "--snapshot", cluster, "--drain", "node/a")
    assert ran.code == 7
    assert (
        "x Drain of a ends, but 1 pod is lost. Pod default/cached finds a place. x default/lone lost: no controller "
        "recreates it ok default/cached -> b Flags kubectl drain needs --force (no controller recreates 1 pod) and "
        "--delete-emptydir-data (1 pod with an emptyDir, which is lost)" in " ".join(ran.out.split())
    )
    cluster = write_cluster(tmp_path / "cluster.qos", [*LARGE, cached])
    assert run("place", "--snapshot", cluster, "--drain", "node/a").code == 0


def test_drain_cost_precedes_its_caveats() -> None:
    text = " ".join(run("place", "--demo", "--drain", "node-c1").out.split())
    assert text.startswith(
        "! Drain of node-c1 ends: 5 of 6 pods find a place without preemption, all 6 if 2 pods are preempted. "
        "The replacements of preempted pods need room that is not counted here. "
        "! shop/recommend-27tvm5xll-5mzzd preempted for shop/search-5l7xfxsb4-ctpmn on node-a1 "
        "! batch/nightly-index-q7n2s preempted for shop/search-5l7xfxsb4-ctpmn on node-a1 "
        "ok shop/loyalty-sxffnn9hq-mldtg -> node-c2 (eu-1c) "
    )


ENDS = {"spec": {"template": {"spec": raw_pod(restartPolicy="Never")["spec"]}}}
CRON_JOB = raw_object("CronJob", "x", spec={"schedule": "@daily", "suspend": True, "jobTemplate": ENDS})
SPREAD = {"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}


@pytest.mark.parametrize(
    ("document", "code", "words"),
    [
        (yaml.safe_dump(raw_pod("") | {"metadata": {"generateName": "x-"}}), 0, "pod/x-… 1 of 1 node-"),
        (manifest("Job", parallelism=2, suspend=True), 0, "job/x is suspended (spec.suspend): it makes no pod before"),
        (yaml.safe_dump(CRON_JOB), 0, "cronjob/x is suspended (spec.suspend): it makes no pod before"),
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
        text = said(command, "--demo", "-f", "-", stdin=document)
        assert f"{words} {field}" in text
        assert "way out" not in text


def seed(folder: Path) -> str:
    """A cluster that has only the objects of a recorded List."""
    return write_cluster(folder / "cluster.qos", json.loads((CASES / "seeds/s3a.json").read_text())["items"])


def test_existing_pods_and_silent_node_are_reported(tmp_path: Path) -> None:
    """Node a of the seed is silent, and etcd has three pods."""
    pod = raw_pod(tolerations=[{"operator": "Exists"}])
    workload = raw_workload("StatefulSet", "etcd", "default", pod_spec=pod["spec"], replicas=3)
    source = ("place", "--snapshot", seed(tmp_path), "-f", "-")
    manifest = yaml.safe_dump(workload)
    ran = run(*source, "--exclude-node", "b", "--exclude-node", "c", stdin=manifest)
    text = " ".join(ran.out.split())
    assert ran.code == 7
    assert "x 3 pods go to a, which is silent: nothing starts there until it is back. All 3 new pods fit: " in text
    text = said(*source, "--exclude-node", "a", stdin=manifest)
    assert "All 3 pods fit: 2 on b and 1 on c. statefulset/etcd has 2 pods already; 3 more are placed." in text


@pytest.mark.parametrize(
    ("node", "code", "words"),
    [
        ("a", 7, "Its spec.nodeName is a, which is silent: the pod stays Pending until it answers."),
        ("nosuch", 7, "Its spec.nodeName is nosuch, and there is no such node: pod garbage collection deletes it."),
        ("b", 0, ""),
    ],
)
def test_pod_with_node_name_skips_the_scheduler(tmp_path: Path, node: str, code: int, words: str) -> None:
    manifest = yaml.safe_dump(raw_pod("x", "shop", nodeName=node))
    source = ("--snapshot", seed(tmp_path), "-f", "-")
    ran = run("place", *source, stdin=manifest)
    assert ran.code == code
    assert (f"pod/x does not run. {words}" if words else "It fits, on b.") in " ".join(ran.out.split())
    explained = said("explain", *source, stdin=manifest)
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
        owner["metadata"] |= {"labels": labels, "ownerReferences": [raw_owner("Deployment", "x")]}
    reference = raw_owner(owner["kind"], owner["metadata"]["name"])
    there = raw_pod("x-0", "shop", labels=labels, nodeName="a", metadata={"ownerReferences": [reference]})
    # A pod as large as the first, so that resource scores do not decide.
    other = raw_pod("other", "shop", nodeName="b")
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(yaml.safe_dump_all([*LARGE, there, other, owner, {**workload, "kind": kind}]))
    source, text = ("--snapshot", str(cluster)), yaml.safe_dump(workload)
    found: list[str] = data("explain", *source, "-f", "-", stdin=text)["placement"]["best"]
    (spec,) = data("place", *source, "-f", "-", "--replicas", "1", stdin=text)["specs"]
    assert list(spec["nodes"]) == found[:1]
    live = data("explain", *source, f"{kind.lower()}/x", "-n", "shop", "--placement")
    assert live["template"]["placement"]["best"] == found
    return found


def test_S4_revision_counts_in_a_snapshot_too(tmp_path: Path) -> None:
    """A snapshot keeps the parts of a template that rules read."""
    (there,) = (obj for obj in demo_objects() if (obj["kind"], obj["metadata"]["name"]) == ("Deployment", "catalog"))
    text = yaml.safe_dump({**there, "metadata": {"name": "catalog", "namespace": "shop"}})
    snapshot = str(tmp_path / "demo.snapshot")
    assert run("snapshot", "--demo", "-o", snapshot).code == 0
    for source in (("--demo",), ("--snapshot", snapshot)):
        manifest = data("explain", *source, "-f", "-", stdin=text)
        live = data("explain", *source, "deployment/catalog", "-n", "shop", "--placement")
        for placement in (manifest["placement"], live["template"]["placement"]):
            counts = {
                score["node"]: {term["domain"]: term["count"] for term in score["softSpread"]["terms"]}
                for score in placement["scores"]
            }
            assert counts == {"node-b2": {"eu-1b": 1, "node-b2": 0}, "node-a1": {"eu-1a": 2, "node-a1": 1}}
