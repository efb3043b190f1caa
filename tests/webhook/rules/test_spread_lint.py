"""Warnings about ineffective topology spread constraints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podrules.qos_webhook.rules import PodRules
from tests.controlplane.client import Object
from tests.objects import raw_node
from tests.webhook.clusters import make_cluster, pod_rules
from tests.webhook.review_objects import (
    controlled_by,
    create_review,
    pod_object,
    said,
    update_review,
    validated,
    workload_object,
)
from webhook.reviews.response import ALLOWED, Answer, encode_answer

ZONE = "topology.kubernetes.io/zone"
LABELS = {"app": "web", "tier": "front"}
KEYS = pod_rules(lint={"topologyKeys": True})
MISSES = "does not match the pod's own labels: it is not counted, and copies of it may all go to one place"
NO_SELECTOR = ": without labelSelector it counts no pods, so it spreads nothing"
NOT_IN = {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["front", "back"]}]}


def constraint(selector: Any = None, key: str = ZONE, *, when: str = "DoNotSchedule", **more: Any) -> Object:
    given = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, **more}
    return given if selector is None else {**given, "labelSelector": selector}


def labels(**matched: str) -> Object:
    return {"matchLabels": matched}


def warnings(*constraints: Object, nodes: tuple[Object, ...] = (), options: PodRules | None = None) -> tuple[str, ...]:
    """The warnings for a new pod, without the field that all of them begin with."""
    pod = pod_object(name="web", labels=LABELS, topologySpreadConstraints=list(constraints))
    answer = validated(pod, make_cluster(nodes, options=options))
    assert answer.allowed
    return tuple(text.removeprefix("spec.topologySpreadConstraints") for text in answer.warnings)


@pytest.mark.parametrize(
    ("selector", "more", "said"),
    [
        pytest.param(labels(app="web"), {}, "", id="it matches"),
        pytest.param(labels(app="wbe"), {}, f".labelSelector: app=wbe {MISSES}", id="typo"),
        pytest.param(NOT_IN, {}, f".labelSelector: tier notin (back,front) {MISSES}", id="an expression"),
        pytest.param(
            labels(app="web", **{"pod-template-hash": "1"}),
            {},
            f".labelSelector: pod-template-hash=1 {MISSES}",
            id="a hash that the pod does not have",
        ),
        pytest.param(None, {}, NO_SELECTOR, id="none"),
        pytest.param(None, {"matchLabelKeys": ["app"]}, NO_SELECTOR, id="none, whatever the keys"),
        pytest.param({}, {}, ".labelSelector: an empty one counts no pods, so it spreads nothing", id="empty"),
        pytest.param({}, {"matchLabelKeys": ["app"]}, "", id="empty, with keys: they take the pod's values"),
        pytest.param(labels(app="web"), {"matchLabelKeys": ["gone"]}, "", id="a key that the pod does not have"),
        pytest.param(labels(**{"-": "x"}), {}, "", id="one that the API server refuses"),
    ],
)
def test_A_selector_of_the_author(selector: Any, more: Object, said: str) -> None:
    given = constraint(selector, **more)
    assert warnings(given) == ((f"[0]{said}",) if said else ())
    assert warnings(given, options=pod_rules(lint={"spreadSelectors": False})) == ()


def test_A_every_constraint_is_checked() -> None:
    first, second = warnings(constraint(labels(app="a")), constraint(labels(app="web")), constraint(labels(app="b")))
    assert (first[:3], second[:3]) == ("[0]", "[2]")


@pytest.mark.parametrize(
    ("keys", "when", "said"),
    [
        pytest.param(("", ZONE), "DoNotSchedule", "", id="one node has it"),
        pytest.param(
            ("topology.kubernetes.io/zoen",),
            "DoNotSchedule",
            f"no node has label {ZONE}: the pod fits nowhere; did you mean topology.kubernetes.io/zoen?",
            id="no node has it",
        ),
        pytest.param(("x",), "ScheduleAnyway", f"no node has label {ZONE}: it spreads over nothing", id="no condition"),
        pytest.param((), "DoNotSchedule", "", id="there are no nodes"),
        pytest.param(("",), "DoNotSchedule", "", id="nodes without any labels"),
    ],
)
def test_A_topology_key_that_no_node_has(keys: tuple[str, ...], when: str, said: str) -> None:
    nodes = tuple(raw_node(f"node-{number}", {key: "x"} if key else {}) for number, key in enumerate(keys))
    given = constraint(labels(app="web"), when=when)
    assert warnings(given, nodes=nodes, options=KEYS) == ((f"[0].topologyKey: {said}",) if said else ())
    assert warnings(given, nodes=nodes) == ()


def test_A_ten_problems_are_listed_and_the_others_counted() -> None:
    wrong = [constraint(labels(app=f"x{number}"), f"key-{number}") for number in range(95)]
    said = warnings(*wrong, nodes=(raw_node("a", {"key-x": "x"}),), options=KEYS)
    assert len(said) == 11
    assert said[-1] == ": and 180 more"
    assert sum("did you mean" in text for text in said) == 3


def test_A_only_the_first_hundred_constraints_are_checked() -> None:
    right = [constraint(labels(app="web"), f"key-{number}") for number in range(150)]
    assert warnings(*right) == ()
    assert warnings(constraint(labels(app="x")), *right)[1:] == (": only the first 100 of 151 constraints are checked",)
    assert warnings(*right, constraint(labels(app="x"))) == ()


def test_A_unread_constraints_cause_a_warning() -> None:
    """A megabyte of them, each wrong twice."""
    wrong = [constraint(None, f"topology.kubernetes.io/zo{number}") for number in range(12_000)]
    (said,) = warnings(*wrong, nodes=(raw_node("a", {ZONE: "x"}),), options=KEYS)
    assert said == ": not checked: they or the labels have more than 5000 values"


def test_A_all_warnings_together_stay_below_the_limit() -> None:
    """The API server truncates each if all together have more than 4,096 characters."""
    answer = Answer(warnings=tuple(f"{number} {'x' * 300}" for number in range(500)))
    said = json.loads(encode_answer("uid", answer))["response"]["warnings"]
    assert said[-1] == "and 486 more warnings"
    assert len(said) == 15
    assert sum(map(len, said)) <= 4096


def _with(workload: Object, *constraints: Object) -> Object:
    inside = workload["spec"]
    template = (inside["jobTemplate"]["spec"] if workload["kind"] == "CronJob" else inside)["template"]
    template["spec"]["topologySpreadConstraints"] = list(constraints)
    return workload


@pytest.mark.parametrize("review", [create_review, update_review])
@pytest.mark.parametrize(
    "kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job", "CronJob"]
)
def test_A_templates_are_checked(kind: str, review: Any) -> None:
    path = "spec.jobTemplate.spec.template.spec" if kind == "CronJob" else "spec.template.spec"
    workload = _with(workload_object(kind, None), constraint(labels(app="wbe")))
    place = f"{path}.topologySpreadConstraints[0].labelSelector"
    answer = validated(review(workload), make_cluster())
    assert said(answer) == Answer(warnings=(f"{place}: app=wbe {MISSES}",))


def test_A_labels_that_controllers_add_are_taken_to_match() -> None:
    added = {"matchExpressions": [{"key": "controller-revision-hash", "operator": "Exists"}]}
    workload = _with(workload_object("StatefulSet", None), constraint(added))
    assert validated(workload, make_cluster()) == ALLOWED


def test_A_objects_of_controllers_are_ignored() -> None:
    owner = workload_object("ReplicaSet", None)
    wrong = [constraint(labels(app="wbe"))]
    pod = pod_object(name="web", labels=LABELS, owner=controlled_by(owner), topologySpreadConstraints=wrong)
    owned = _with(workload_object("ReplicaSet", None, owner=controlled_by(workload_object("Deployment", None))), *wrong)
    for entry in (pod, owned):
        assert validated(entry, make_cluster()) == ALLOWED
