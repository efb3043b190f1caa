"""The first lines of a page name the deciding label, rule, budget or class."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import check_texts
from tests.kubectl_plugin.edits import FIELD
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_container, raw_node, raw_owner, raw_pod, raw_workload

RACK: Final = "rack.example.com/row"
ZONE: Final = "topology.kubernetes.io/zone"


def said(*words: str) -> str:
    """The whole page in one line; that of ``explain`` with all its sections."""
    ran = run(*words, *(("-o", "wide") if words[0] == "explain" else ()))
    assert ran.code in {0, 7, 11}, ran.err
    return " ".join(ran.out.split())


def field(name: str, *words: str) -> str:
    return said(*words, "--snapshot", str(FIELD / name))


def asked(folder: Path, objects: list[dict[str, Any]], *words: str) -> str:
    return said(*words, "--snapshot", write_cluster(folder / "cluster.qos", objects))


def node(name: str, labels: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    hostname = {"kubernetes.io/hostname": name}
    return raw_node(name, {**hostname, **(labels or {})}, allocatable={"cpu": "4", "pods": "10"}, **more)


def spread(key: str, app: str, **more: Any) -> dict[str, Any]:
    selector = {"labelSelector": {"matchLabels": {"app": app}}}
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", **selector, **more}


def waiting(name: str, app: str, **spec: Any) -> dict[str, Any]:
    return raw_pod(name, labels={"app": app}, uid=f"u-{name}", status={"phase": "Pending"}, **spec)


def running(name: str, app: str, where: str, **spec: Any) -> dict[str, Any]:
    status = {"phase": "Running"}
    return raw_pod(name, labels={"app": app}, uid=f"u-{name}", status=status, nodeName=where, **spec)


def test_missing_topology_key_is_the_reason(tmp_path: Path) -> None:
    assert f"Of 3 nodes, 3 lack label {ZONE} of its topology spread." in field("c24.json", "explain", "pod/os-nodes-0")
    objects = [
        node("m1"),
        node("m2"),
        node("m3", {RACK: "4"}, unschedulable=True),
        running("q-0", "q", "m3"),
        waiting("q-1", "q", topologySpreadConstraints=[spread(RACK, "q"), spread("kubernetes.io/hostname", "q")]),
    ]
    assert f"2 lack label {RACK} of its topology spread" in asked(tmp_path, objects, "explain", "pod/q-1")
    assert f"2 lack label {RACK} of its topology spread" in asked(tmp_path, objects, "place", "pod/q-1")


def test_misspelt_topology_key_suggests_known_key(tmp_path: Path) -> None:
    wrong = "topology.kubernetes.io/hostname"
    pod = waiting("q-1", "q", topologySpreadConstraints=[spread(wrong, "q")])
    page = asked(tmp_path, [node("m1"), node("m2"), pod], "explain", "pod/q-1")
    assert f"2 lack label {wrong} of its topology spread (Kubernetes sets kubernetes.io/hostname)." in page
    assert f"Way out: spread over kubernetes.io/hostname instead of {wrong} (then m1 and 1 more node)." in page


def test_misspelt_node_selector_key_suggests_known_key(tmp_path: Path) -> None:
    objects = [node("m1", {ZONE: "east"}), waiting("own", "o", nodeSelector={"kubernetes.io/zone": "east"})]
    page = asked(tmp_path, objects, "explain", "pod/own")
    assert f"spec.nodeSelector wants kubernetes.io/zone In east (Kubernetes sets {ZONE})" in page


def test_nodes_that_lack_different_keys_lack_a_label(tmp_path: Path) -> None:
    objects = [
        node("m1", {RACK: "4"}),
        node("m2", {ZONE: "z"}),
        waiting("q-1", "q", topologySpreadConstraints=[spread(RACK, "q"), spread(ZONE, "q")]),
    ]
    page = asked(tmp_path, objects, "explain", "pod/q-1")
    assert "Of 2 nodes, 2 lack a label that its topology spread needs." in page


def test_exclusive_spread_constraints_conflict(tmp_path: Path) -> None:
    conflict = "Its spread constraints on {} conflict: each alone leaves nodes, together they leave none."
    ways = "Ways out: maxSkew 2 on zone (then node2); or ScheduleAnyway on zone (then node2)."
    for command in ("explain", "place"):
        page = field("ex3.json", command, "pod/mypod")
        assert f"{conflict.format('zone and node')} {ways}" in page
    host = "kubernetes.io/hostname"
    rows = [node("m1", {RACK: "r1"}), node("m2", {RACK: "r1"}), node("m3", {RACK: "r2"})]
    own = waiting("q-9", "q", topologySpreadConstraints=[spread(RACK, "q"), spread(host, "q")])
    # By rack, only m3 remains, because it has fewer pods; by node, only m1, which has none.
    pods = [*(running(f"q-{n}", "q", "m2") for n in range(3)), running("q-3", "q", "m3"), running("q-4", "q", "m3")]
    page = asked(tmp_path, [*rows, *pods, own], "explain", "pod/q-9")
    assert conflict.format(f"{RACK} and {host}") in page
    assert f"or ScheduleAnyway on {RACK} (then m1)." in page
    assert "conflict:" not in asked(tmp_path, [*rows, *pods[1:], own], "explain", "pod/q-9")


def test_three_constraints_may_conflict_only_together(tmp_path: Path) -> None:
    keys = [f"{letter}.example.com/key" for letter in "abc"]
    nodes = [node(f"m{n}", {key: "mine" if n == i else "other" for i, key in enumerate(keys)}) for n in range(3)]
    # Each constraint counts its own pods, two of them on one node, and so excludes only that node.
    pods = [running(f"x{n}-{i}", f"x{n}", f"m{n}") for n in range(3) for i in range(2)]
    hard = [spread(key, f"x{n}") for n, key in enumerate(keys)]
    page = asked(tmp_path, [*nodes, *pods, waiting("q", "q", topologySpreadConstraints=hard)], "explain", "pod/q")
    assert f"Its spread constraints on {keys[0]}, {keys[1]} and {keys[2]} conflict: each alone leaves nodes" in page
    page = asked(tmp_path, [*nodes, *pods, waiting("q", "q", topologySpreadConstraints=hard[:2])], "explain", "pod/q")
    assert "1 of 3 nodes fits now" in page


def affine(rule: str, app: str, key: str) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {rule: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def test_affinity_rule_is_named(tmp_path: Path) -> None:
    for name, pod in (("c17.json", "pod/api-new-1"), ("cross2.json", "pod/P")):
        assert "are ruled out by its required pod anti-affinity." in field(name, "explain", pod)
    host = "kubernetes.io/hostname"
    near, keyed = (waiting("near", "n", **affine("podAffinity", *of)) for of in (("cache", host), ("n", RACK)))
    alone = [running("alone", "a", "m1", **affine("podAntiAffinity", "n", host)), waiting("near", "n")]
    for pods, why in (
        ([near], "Of 1 node, 1 has no pod that its required pod affinity needs."),
        ([keyed], f"1 lacks label {RACK} of its required pod affinity."),
        (alone, "1 is ruled out by required anti-affinity of other pods."),
    ):
        assert why in asked(tmp_path, [node("m1"), *pods], "explain", "pod/near")


def test_budget_that_a_preemption_violates_is_named() -> None:
    page = field("pdb2.json", "explain", "pod/P")
    assert "would preempt default/v1 on n1 for it, within 30 s, against PodDisruptionBudget prot." in page
    assert "default/v1 (priority 10, violates PodDisruptionBudget prot)" in page


def test_pods_that_tie_in_the_queue_are_shown() -> None:
    page = field("c01.json", "explain", "pod/web-6d4-ddddd")
    assert "queue: it may be the first; 3 other pods have the same priority and creation time" in page


@pytest.mark.parametrize(
    ("name", "pod", "first"),
    [
        ("c01.json", "web-6d4-ddddd", "x web-6d4-ddddd is pending and does not fit now. No: 1 more pod"),
        ("ex3.json", "mypod", "x mypod is pending and does not fit now. No: 1 more pod"),
        ("cross2.json", "P", "! P is pending and fits, on n2, if 1 pod is preempted. Yes: 1 more pod like P"),
    ],
)
def test_pending_pod_is_placed_and_named_first(name: str, pod: str, first: str) -> None:
    assert field(name, "place", f"pod/{pod}").startswith(first)


def test_pending_pod_with_last_room_is_named_first(tmp_path: Path) -> None:
    pods = [waiting("late", "l", containers=[raw_container(requests={"cpu": "3"})])]
    page = asked(tmp_path, [node("m1"), *pods], "place", "pod/late")
    assert page.startswith("x late is pending and fits, on m1. No: 1 more pod like late does not fit now.")


@pytest.mark.parametrize(
    ("conditions", "taint", "expected"),
    [
        (None, "", "No Ready condition (its kubelet has not reported): no taint is set yet, and the scheduler still"),
        (["False"], "", "Not ready: no taint is set yet, and the scheduler still places pods here."),
        (None, "not-ready", "No Ready condition (its kubelet has not reported): the scheduler places no pod here."),
        (["False"], "not-ready", "Not ready: the scheduler places no pod here."),
    ],
)
def test_taint_not_condition_repels_pods(
    tmp_path: Path, conditions: list[str] | None, taint: str, expected: str
) -> None:
    """The page of the node agrees with explain and place for a pod."""
    taints = [{"key": f"node.kubernetes.io/{taint}", "effect": "NoSchedule"}] if taint else None
    ready = [raw_condition("Ready", status) for status in conditions or ()]
    objects = [node("m1", conditions=ready or None, taints=taints), waiting("own", "o")]
    for command in (("node", "m1"), ("explain", "node/m1")):
        assert expected in asked(tmp_path, objects, *command)
    fits = not taint
    assert ("1 of 1 node fits now" in asked(tmp_path, objects, "explain", "pod/own")) == fits
    assert ("own is pending and fits, on m1" in asked(tmp_path, objects, "place", "pod/own")) == fits


def test_deferred_resize_names_pods_to_remove(tmp_path: Path) -> None:
    deferred = raw_condition("PodResizePending", reason="Deferred", message="Node didn't have enough resource: cpu")
    own = running("own", "o", "m1", containers=[raw_container(requests={"cpu": "3"})])
    own["status"]["conditions"] = [deferred]
    other = running("idle-7", "i", "m1", containers=[raw_container(requests={"cpu": "2500m"})])
    page = asked(tmp_path, [node("m1"), own, other], "explain", "pod/own")
    assert "m1 lacks 1.5 cpu for it: enough is free without default/idle-7." in page
    other["metadata"] |= {"deletionTimestamp": "2026-05-01T08:00:30Z", "deletionGracePeriodSeconds": 30}
    page = asked(tmp_path, [node("m1"), own, other], "explain", "pod/own")
    assert "enough is free once default/idle-7, which is being deleted, has ended." in page
    own["status"]["conditions"] = [deferred | {"reason": "Infeasible"}]
    assert "lacks" not in asked(tmp_path, [node("m1"), own, other], "explain", "pod/own")


@pytest.mark.parametrize(
    ("spec", "labels", "why"),
    [
        (
            {"nodeSelector": {"pool": "big"}},
            {"pool": "big"},
            "2 nodes, such as m2, do not count: they do not match its node affinity or selector",
        ),
        (
            {"topologySpreadConstraints": [spread(RACK, "w")]},
            {RACK: "r"},
            "2 nodes, such as m2, do not count: they lack label rack.example.com/row",
        ),
        (
            {"topologySpreadConstraints": [spread("kubernetes.io/hostname", "w", nodeTaintsPolicy="Honor")]},
            {},
            "2 nodes, such as m2, do not count: they have a taint that the pod does not tolerate (nodeTaintsPolicy)",
        ),
    ],
)
def test_skew_0_on_one_node_names_uncounted_nodes(
    tmp_path: Path, spec: dict[str, Any], labels: dict[str, str], why: str
) -> None:
    hard = {"topologySpreadConstraints": [spread("kubernetes.io/hostname", "w")], **spec}
    template = {"containers": [raw_container()], **hard}
    taints = [{"key": "own", "effect": "NoSchedule"}]
    objects = [
        node("m1", labels),
        node("m2", taints=taints),
        node("m3", taints=taints),
        raw_workload("StatefulSet", "w", replicas=2, serviceName="w", pod_spec=template),
        *(running(f"w-{n}", "w", "m1", **hard) for n in range(2)),
    ]
    for pod in objects[4:]:
        pod["metadata"]["ownerReferences"] = [raw_owner("StatefulSet", "w", uid="s")]
    check_texts(asked(tmp_path, objects, "explain", "statefulset/w"), ("skew 0 within maxSkew 1 now:", f"; {why}"))


@pytest.mark.parametrize("nodes", [1, 2])
def test_chosen_node_that_is_silent_is_shown(tmp_path: Path, nodes: int) -> None:
    silent = node("m1", conditions=[raw_condition("Ready", "Unknown")])
    ready = node("m2", conditions=[raw_condition("Ready")])
    objects = [*[silent, ready][:nodes], waiting("own", "o")]
    which = "one of those that score highest" if nodes == 2 else "which scores highest"
    page = asked(tmp_path, objects, "explain", "pod/own")
    assert f"not yet bound: {nodes} of {nodes} node" in page
    assert f"m1, {which}, is silent: nothing starts there." in page
    assert "to m1, which is silent: nothing starts there" in asked(tmp_path, objects, "place", "pod/own")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            "priorityClassName: gold\n  priority: 4",
            'class "gold": unknown without the cluster\'s PriorityClasses; rejected if it is not 4 (spec.priority)',
        ),
        (
            "priority: 9",
            "the cluster's default class: unknown without the cluster's PriorityClasses; rejected if it is not 9",
        ),
        ("priorityClassName: gold", 'class "gold": unknown without the cluster\'s PriorityClasses Stops'),
    ],
)
def test_class_that_was_not_read_gives_no_priority(tmp_path: Path, written: str, expected: str) -> None:
    file = tmp_path / "pod.yaml"
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
    file.write_text(f"{pod}  containers: [{{name: a, image: b}}]\n  {written}\n")
    assert expected in said("explain", "-f", str(file), "--offline")


def test_priority_of_unread_class_is_unknown() -> None:
    page = said("explain", "-f", str(FIELD / "c16.yaml"), "--offline")
    check_texts(page, 'Priority that of class "high": unknown', "no PriorityClass")
