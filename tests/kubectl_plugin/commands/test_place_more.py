"""``kubectl qos place TYPE/NAME``: whether more pods like existing ones would fit."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster_io.demo import demo_objects
from tests.kubectl_plugin.answers import data, said, transcript
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_node, raw_object, raw_owner, raw_pod, raw_priority_class, raw_workload

PENDING = "checkout-mv9cgvs6p-x2x7p"
READY = raw_condition("Ready")
ROOM = ("--add-node", "like=node-c2,name=extra-c,zone=eu-1c", "--add-node", "like=node-b2,name=extra-b")


def words(*arguments: str) -> tuple[int, str]:
    ran = run("place", "--demo", *arguments)
    return ran.code, " ".join(ran.out.split())


def specs(*arguments: str, stdin: str = "") -> list[dict[str, Any]]:
    return list(data("place", "--demo", *arguments, stdin=stdin)["specs"])


def workload(kind: str, name: str) -> dict[str, Any]:
    [found] = (one for one in demo_objects() if (one["kind"], one["metadata"]["name"]) == (kind, name))
    return dict(found)


def test_fitting_replicas_are_yes_with_nodes() -> None:
    code, text = words("deployment/web", "--replicas", "3")
    (spec,) = specs("deployment/web", "--replicas", "3")
    nodes = " and ".join(f"{count} on {node}" for node, count in spec["nodes"].items())
    assert code == 0
    assert f"Yes: 3 of 3 more pods of Deployment web fit: {nodes}." in text


def test_unfitting_replicas_are_no_with_reason() -> None:
    code, text = words("deployment/checkout", "--replicas", "3")
    assert code == 7
    assert "No: 0 of 3 more pods of Deployment checkout fit now. Of 12 nodes, " in text
    assert f"{PENDING} is pending already and goes first, and does not fit either." in text


def test_pending_pods_of_the_workload_take_their_room_first() -> None:
    """One more node has room for the pending pod; the requested pods get the rest."""
    first, asked = specs("deployment/checkout", *ROOM)
    assert (first["name"], first["origin"], first["placed"]) == (f"pod/{PENDING}", "pending", 1)
    assert (asked["name"], asked["origin"]) == ("deployment/checkout", "more")
    assert f"{PENDING} is pending already and goes first, to " in words("deployment/checkout", *ROOM)[1]
    (alone,) = specs("deployment/checkout", *ROOM, "--without", f"pod/{PENDING}")
    assert next(iter(alone["nodes"])) == next(iter(first["nodes"]))


@pytest.mark.parametrize(
    ("kind", "name", "namespace"), [("Deployment", "checkout", "shop"), ("Job", "video-encode", "batch")]
)
def test_more_replicas_match_renamed_manifest(kind: str, name: str, namespace: str) -> None:
    """The constraints are its own, and a Job's pods have none, so the owner makes no difference."""
    there = copy.deepcopy(workload(kind, name))
    if kind == "Job":
        # The API server adds these, and refuses a new Job that has them.
        del there["spec"]["selector"]
        labels = there["spec"]["template"]["metadata"]["labels"]
        added = re.compile("controller-uid|job-name")
        there["spec"]["template"]["metadata"]["labels"] = {
            key: value for key, value in labels.items() if not added.search(key)
        }
    manifest = yaml.safe_dump(there | {"metadata": {"name": "other", "namespace": namespace}})
    gone = ("--without", f"shop/{PENDING}")
    flags = ("-n", namespace, "--replicas", "max", *ROOM, *gone)
    (more,) = specs(f"{kind.lower()}/{name}", *flags)
    (other,) = specs("-f", "-", *flags, stdin=manifest)
    own = ("name", "origin", "there")
    assert more["placed"] > 1
    assert {key: more[key] for key in more if key not in own} == {key: other[key] for key in other if key not in own}


def test_stateful_set_gets_the_ordinals_after_its_replicas() -> None:
    """Ordinal 2 is next in a set of two, and its claim exists already: the awaited step of the claim is shown."""
    code, text = words("sts/db")
    assert code == 7
    assert '1 more pod of StatefulSet db does not fit now. Claim "data-db-2" is unbound' in text


@pytest.mark.parametrize(("name", "namespace", "held"), [("broker", "data", "broker-2"), ("db", "shop", "db-1")])
def test_stateful_set_waits_for_ordinal_on_silent_node(name: str, namespace: str, held: str) -> None:
    """Place and partitions agree."""
    code, text = words(f"sts/{name}", "-n", namespace)
    holds = f"StatefulSet {name} makes no other {held} before it is gone, and neither scales nor rolls out"
    assert code == 7
    assert text.startswith(f"x No: {holds}; its node node-c3 is silent. Way out: bring node-c3 back, or fence it. ")
    [row] = [line for line in run("partitions", "--demo", "-o", "markdown").out.splitlines() if f"/{held} |" in line]
    assert "StatefulSet can neither replace it, scale nor roll out" in row


NEXT = "x No: StatefulSet broker makes no other"


@pytest.mark.parametrize(
    ("spec", "node", "deleted", "code", "first"),
    [
        (
            {"podManagementPolicy": "Parallel"},
            "node-c3",
            True,
            0,
            "ok Yes: 1 more pod of StatefulSet broker fits, on node-b2. ",
        ),
        ({}, "node-c2", True, 7, f"{NEXT} broker-2 before it is gone, and neither scales nor rolls out. There"),
        ({}, "node-c2", False, 7, f"{NEXT} pod before broker-2 is Ready (OrderedReady). There is room: 1 more "),
    ],
    ids=["Parallel", "being deleted on a node that answers", "not Ready"],
)
def test_stateful_set_waits_by_its_pod_management_policy(
    tmp_path: Path, spec: dict[str, str], node: str, deleted: bool, code: int, first: str
) -> None:
    objects = demo_objects()
    for entry in objects:
        named = (entry["kind"], entry["metadata"]["name"])
        if named == ("StatefulSet", "broker"):
            entry["spec"] |= spec
        if named == ("Pod", "broker-2"):
            entry["spec"]["nodeName"] = node
            if not deleted:
                del entry["metadata"]["deletionTimestamp"]
    file = write_cluster(tmp_path / "cluster.json", objects)
    ran = run("place", "--snapshot", file, "-n", "data", "sts/broker")
    assert (ran.code, ran.err) == (code, "")
    assert " ".join(ran.out.split()).startswith(first)


def test_copy_of_a_pod_has_no_node_and_its_own_name() -> None:
    code, text = words("pod/web-wkmm8tk5p-7ql9d", "--replicas", "2")
    assert code == 0
    assert "Yes: 2 of 2 more pods like web-wkmm8tk5p-7ql9d fit: " in text
    assert specs("web-wkmm8tk5p-7ql9d")[0]["there"] == 1


def test_pending_pods_count_without_gated_ones(tmp_path: Path) -> None:
    objects = demo_objects()
    (pending,) = (entry for entry in objects if entry["metadata"]["name"] == PENDING)
    for number in range(13):
        more = copy.deepcopy(pending)
        more["metadata"] |= {"name": f"checkout-{number}", "uid": f"more-{number}"}
        if number == 0:
            more["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
        objects.append(more)
    file = write_cluster(tmp_path / "cluster.json", objects)
    text = said("place", "--snapshot", file, "-n", "shop", "deployment/checkout")
    assert "No: 1 more pod of Deployment checkout does not fit now." in text
    assert "13 of its pods are pending already and go first: 0 of 13 fit." in text
    assert "checkout-0 " not in text
    assert "3 more pending (-o wide) 0 of 3" in text


def test_pending_pod_and_copy_are_distinguished() -> None:
    lines = run("place", "--demo", f"pod/{PENDING}", *ROOM).out.splitlines()
    assert {f"pod/{PENDING} (pending)", f"like pod/{PENDING}"} <= {line[3:].split("  ")[0] for line in lines}


def test_answer_shows_lost_pods() -> None:
    """The pending pod preempts one as well, which does not count for the answer."""
    code, text = words("deployment/fraud-score", "-n", "payments")
    assert code == 0
    assert (
        "! Only with preemption: 1 more pod of Deployment fraud-score fits, on node-b3, if 1 pod is preempted. "
    ) in text
    assert (
        "goes first, to node-b3, once 1 pod that is ending is gone. "
        "The replacement of the preempted pod needs room that is not counted here. "
        "! ml/model-server-x9c2gh544-2z6q5 preempted for deployment/fraud-score on node-b3 ml/embed-n6d8t already "
    ) in text
    assert "No: 1 more pod" in words("deployment/fraud-score", "-n", "payments", "--no-preemption")[1]


def test_leaving_victim_counts_for_its_first_preemptor() -> None:
    """Its preemptor is nominated to the node and counts there before the requested pods."""
    flags = ("deployment/model-server", "-n", "ml")
    code, text = words(*flags)
    first = "payments/fraud-score-w88lqz7hx-c8z2n"
    assert code == 0
    assert text.startswith(
        "ok Yes: 1 more pod of Deployment model-server fits, on node-b3, once 1 pod that is ending is gone. "
        f"ml/embed-n6d8t already being preempted for {first}, which goes first; deployment/model-server needs its room"
    )
    (victim,) = specs(*flags)[0]["victims"]
    namespace, name = first.split("/")
    assert (victim["leaving"], victim["preemptedFor"]) == (True, [{"namespace": namespace, "name": name}])
    most = words(*flags, "--replicas", "max")[1]
    assert most.startswith(
        "ok 0 more pods of Deployment model-server fit now, 1 once 1 pod that is ending is gone: 1 on node-b3. "
    )


def test_pending_pods_are_separate_from_requested_pods() -> None:
    code, text = words("deployment/fraud-score", "-n", "payments", "--replicas", "3")
    waiting, asked = specs("deployment/fraud-score", "-n", "payments", "--replicas", "3")
    assert code == 7
    assert (len(waiting["victims"]), len(asked["victims"]), asked["placed"]) == (1, 2, 2)
    assert "No: 0 of 3 more pods of Deployment fraud-score fit without preemption, 2 if 2 pods are preempted: " in text
    assert "pods are preempted: 1 on node-b3 and 1 on node-a3. " in text


@pytest.mark.parametrize(
    ("namespace", "name", "replicas"),
    [("shop", "cart", "max"), ("shop", "cart", "40"), ("payments", "fraud-score", "3"), ("shop", "checkout", "max")],
)
def test_fit_without_preemption_comes_first(namespace: str, name: str, replicas: str) -> None:
    flags = (f"deployment/{name}", "-n", namespace, "--replicas", replicas)
    alone = specs(*flags, "--no-preemption")[-1]
    asked = specs(*flags)[-1]
    assert asked["withoutPreemption"] == alone["placed"] == alone["withoutPreemption"]
    victims, text = len(asked["victims"]), words(*flags)[1]
    phrase = f"without preemption, {asked['placed']} if {victims} pod{'' if victims == 1 else 's'} "
    if victims and asked["placed"] == asked["wanted"]:
        assert text.startswith("! Only with preemption: ")
        phrase = f"; {alone['placed']} of {asked['wanted']} fit without."
    assert (phrase in text) == (victims > 0)


IF = "! Only with preemption: {} more pods of StatefulSet ledger fit if 1 pod is preempted ({}); "
ALONE = "1 of {} fits without. Without preemption: 1 on node-b2. "


@pytest.mark.parametrize(
    ("replicas", "answer"),
    [
        ("1", "ok Yes: 1 more pod of StatefulSet ledger fits, on node-b2."),
        ("2", IF.format(2, "1 on node-b2, 1 on node-a1") + ALONE.format(2)),
        (
            "3",
            IF.format(3, "2 on node-a1, 1 on node-b2")
            + ALONE.format(3)
            + "The replacement of the preempted pod needs room that is not counted here. ! batch/nightly-index-q7n2s ",
        ),
    ],
)
def test_answer_starts_with_its_condition(replicas: str, answer: str) -> None:
    code, text = words("statefulset/ledger", "-n", "payments", "--replicas", replicas)
    assert code == 0
    assert text.startswith(answer)


def test_both_numbers_have_nodes_and_lost_pods() -> None:
    """price-feed is not recreated: it has no controller."""
    flags = ("deployment/web", "--replicas", "max")
    (spec,), (alone,) = specs(*flags), specs(*flags, "--no-preemption")
    text = words(*flags)[1]
    assert spec["nodesUnaided"] == alone["nodes"] == alone["nodesUnaided"]
    assert sum(alone["nodes"].values()) == spec["withoutPreemption"] > 0
    first, count = next(iter(alone["nodes"].items()))
    assert f"Without preemption: {count} on {first}" in text
    lost = [victim["pod"]["name"] for victim in spec["victims"] if not victim["replaced"]]
    assert lost == ["price-feed"]
    assert (
        "here. ! shop/price-feed preempted for deployment/web on node-a2; lost: no controller recreates it "
        "! monitoring/prometheus-0 " in text
    )


def test_texts_count_nodes_and_pods_separately() -> None:
    """Up to five are named; the rest of more is given with both numbers."""
    nodes = specs("deployment/cart", "--replicas", "max")[0]["nodes"]
    first, text = list(nodes.items()), words("deployment/cart", "--replicas", "max")[1]
    assert len(first) == 5
    assert f"and {first[-1][1]} on {first[-1][0]}. The next does not." in text
    added = [part for size in range(6) for part in ("--add-node", f"name=n{size},cpu=1,memory=2Gi")]
    more = specs("deployment/cart", "--replicas", "max", *added)[0]["nodes"]
    rest = list(more.values())[4:]
    assert f" and {sum(rest)} on {len(rest)} more nodes." in words("deployment/cart", "--replicas", "max", *added)[1]


def test_answer_is_first_line_after_change_title() -> None:
    ran = run("place", "--demo", "-n", "shop", "deployment/web", "--replicas", "3")
    assert ran.out.startswith("ok Yes: 3 of 3 more pods of Deployment web fit: 2 on node-c2 and 1 on node-b2.\n")
    ran = run("place", "--demo", "-n", "shop", "deployment/web", "--exclude-node", "node-c2")
    assert ran.out.startswith("on 11 nodes, without node-c2\nok Yes: 1 more pod of Deployment web fits, on node-b2.\n")


def test_as_many_as_fit_are_counted() -> None:
    flags = ("deployment/cart", "--no-preemption", "--replicas")
    code, text = words(*flags, "max")
    [most] = (spec["placed"] for spec in specs(*flags, "max"))
    assert code == 0
    assert f"{most} more pods of Deployment cart fit: " in text
    assert "The next does not. Of 12 nodes, " in text
    code, text = words(*flags, str(most + 1))
    assert code == 7
    assert f"No: {most} of {most + 1} more pods of Deployment cart fit now: " in text


def test_names_files_and_changes_can_be_combined() -> None:
    manifest = yaml.safe_dump(workload("Deployment", "cart") | {"metadata": {"name": "other"}})
    ran = run("place", "--demo", "deployment/web", "--exclude-node", "node-c2", "-f", "-", stdin=manifest)
    text = " ".join(ran.out.split())
    assert "on 11 nodes, without node-c2 ok Yes: 1 more pod of Deployment web fits, on " in text
    assert "All 4 pods fit: 1 on node-" in text
    assert "deployment/other 4 of 4" in text
    drained = words("deployment/cart", "--drain", "node-a1", "--replicas", "2")[1]
    assert "Yes: 2 of 2 more pods of Deployment cart fit: " in drained


REFUSED = """\
$ deployment/nope   # 3
error: no deployment "nope" in shop
To list them: kubectl qos explain deployments
$ web   # 3
error: no pod "web" in shop
Deployment web has 7 pods. Try kubectl qos place deployment/web -n shop --demo
$ web -n data   # 3
error: no pod "web" in data
deployment/web exists in namespace shop. Try kubectl qos place deployment/web -n shop --demo
$ xyz   # 3
error: no pod "xyz" in shop
A name alone is a pod's; write TYPE/NAME for others
$ deploy/web 3   # 2
error: "3": pass the number of pods with --replicas
Try kubectl qos place deploy/web --replicas 3 -n shop --demo
$ deployment web 3   # 2
error: "3": pass the number of pods with --replicas
Try kubectl qos place deployment web --replicas 3 -n shop --demo
$ ds/log-agent --replicas 3 -n monitoring   # 2
error: daemonset/log-agent: a DaemonSet has one pod on each node that it chooses, and cannot have more
On which nodes it runs: kubectl qos place daemonset/log-agent
$ node/node-a1   # 2
error: node/node-a1: a node is not placed
Where its pods would go: kubectl qos place --drain
$ job/nightly-report-29870100 -n batch   # 2
error: job/nightly-report-29870100: it has ended, and has no more pods
\n\
$ secret/x   # 2
error: "secret" cannot be placed
Types: pod, \n\
$ deployments   # 2
error: "deployments": no name
Write deployment/NAME
"""


@pytest.mark.parametrize(("typed", "error", "advice"), transcript(REFUSED))
def test_unscalable_target_is_a_two_line_error(typed: str, error: str, advice: str) -> None:
    typed, _, code = typed.partition("   # ")
    ran = run("place", "--demo", *typed.split())
    first, second = ran.err.splitlines()
    assert (ran.code, ran.out, first) == (int(code), "", f"error: {error}")
    assert second.startswith(advice)


def test_daemon_set_pod_cannot_have_replicas() -> None:
    names = (one["metadata"]["name"] for one in demo_objects() if one["kind"] == "Pod")
    name = next(name for name in names if name.startswith("log-agent-"))
    ran = run("place", "--demo", "-n", "monitoring", f"pod/{name}")
    assert ran.code == 2
    assert f"pod/{name}: it belongs to DaemonSet log-agent, which does not choose a node" in ran.err


def test_pending_pods_of_file_workload_are_placed_first() -> None:
    there = workload("Deployment", "checkout")
    meta = {"name": "checkout", "namespace": "shop"}
    manifest = yaml.safe_dump({**there, "metadata": meta, "spec": {**there["spec"], "replicas": 1}})
    found = specs("-f", "-", *ROOM, stdin=manifest)
    assert [(spec["name"], spec["origin"], spec["placed"]) for spec in found] == [
        (f"pod/{PENDING}", "pending", 1),
        ("deployment/checkout", "manifest", 1),
    ]
    out = said("place", "--demo", "-f", "-", stdin=manifest)
    assert f"{PENDING} is pending already and goes first, and does not fit either." in out
    assert out.index("deployment/checkout stays pending.") < out.index(f"{PENDING} is pending already")


def test_P1_class_of_file_counts_for_named_workloads() -> None:
    """Loyalty's own class was deleted."""
    named = ("place", "--demo", "deployment/loyalty", "-n", "shop")
    alone = run(*named)
    assert (alone.code, "no PriorityClass with name legacy-vip was found" in " ".join(alone.out.split())) == (7, True)
    brought = yaml.safe_dump(raw_priority_class("legacy-vip", 5000))
    ran = run(*named, "-f", "-", "-o", "json", stdin=brought)
    report = json.loads(ran.out)
    assert (ran.code, ran.err, report["refused"]) == (0, "", [])
    assert [(spec["name"], spec["placed"]) for spec in report["specs"]] == [("deployment/loyalty", 1)]


def test_file_without_effect_is_reported_beside_a_name() -> None:
    ran = run(
        *("place", "--demo", "deployment/web", "-n", "shop", "-f", "-"),
        stdin="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    )
    assert ran.code == 6
    assert "only ConfigMap a; there is nothing to place" in ran.err


def test_budget_violating_victims_come_first(tmp_path: Path) -> None:
    """The scheduler prefers the lowest priority; a database preempted against its budget weighs more."""
    amounts = {"cpu": "6", "memory": "6Gi", "pods": "9"}
    node = raw_node("n1", {"kubernetes.io/hostname": "n1"}, conditions=[READY], allocatable=amounts)
    budget = raw_object(
        "PodDisruptionBudget",
        "pg",
        "data",
        spec={"maxUnavailable": 0, "selector": {"matchLabels": {"app": "pg"}}},
        status={"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
    )
    owners = {"a": "ReplicaSet", "b": "ReplicaSet", "c": "ReplicaSet", "lone": "", "pg-0": "StatefulSet"}
    pods = [
        raw_pod(
            name,
            "data",
            uid=name,
            labels={"app": "pg"} if owner == "StatefulSet" else {},
            metadata={"ownerReferences": [raw_owner(owner, f"o-{name}", name)]} if owner else {},
            requests={"cpu": "1"},
            nodeName="n1",
            priority=0,
            status={"phase": "Running", "conditions": [READY]},
        )
        for name, owner in owners.items()
    ]
    file = write_cluster(tmp_path / "cluster.json", [node, budget, raw_priority_class("top", 9), *pods])
    pod = raw_pod(requests={"cpu": "1"}, priorityClassName="top")
    manifest = raw_workload("Deployment", "new", "data", pod_spec=pod["spec"], replicas=6)
    text = said("place", "-f", "-", "--snapshot", file, stdin=json.dumps(manifest))
    assert "! data/pg-0 preempted for deployment/new on n1; violates PodDisruptionBudget data/pg" in text
    assert text.index("! data/pg-0") < text.index("! data/lone") < text.index("! data/a")
