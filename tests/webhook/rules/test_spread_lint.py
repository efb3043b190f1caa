"""Warnings about ineffective topology spread constraints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podrules.qos_webhook.rules import PodRules
from tests.objects import raw_node
from tests.webhook.clusters import make_cluster, pod_rules
from tests.webhook.review_objects import controlled_by, create_review, pod_object, said, update_review, workload_object
from webhook.reviews.admission_review import decode_review
from webhook.reviews.response import ALLOWED, Answer, encode_answer
from webhook.rules import validate

Object = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
LABELS = {"app": "web", "tier": "front"}
KEYS = pod_rules(lint={"topologyKeys": True})
COUNTED = "it is not counted, and copies of it may all go to one place"


def constraint(selector: Any = None, key: str = ZONE, *, when: str = "DoNotSchedule", **more: Any) -> Object:
    given = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, **more}
    return given if selector is None else {**given, "labelSelector": selector}


def labels(**matched: str) -> Object:
    return {"matchLabels": matched}


def node(name: str, *keys: str) -> Object:
    return raw_node(name, dict.fromkeys(keys, "x"))


def warnings(*constraints: Object, nodes: tuple[Object, ...] = (), options: PodRules | None = None) -> tuple[str, ...]:
    """The warnings for a new pod, without the field that all of them begin with."""
    pod = pod_object(name="web", labels=LABELS, topologySpreadConstraints=list(constraints))
    answer = validate(decode_review(create_review(pod)), make_cluster(nodes, options=options))
    assert answer.allowed
    return tuple(text.removeprefix("spec.topologySpreadConstraints") for text in answer.warnings)


@pytest.mark.parametrize(
    ("selector", "more", "said"),
    [
        pytest.param(labels(app="web"), {}, "", id="it matches"),
        pytest.param(
            labels(app="wbe"), {}, f".labelSelector: app=wbe does not match the pod's own labels: {COUNTED}", id="typo"
        ),
        pytest.param(
            {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["front", "back"]}]},
            {},
            f".labelSelector: tier notin (back,front) does not match the pod's own labels: {COUNTED}",
            id="an expression",
        ),
        pytest.param(
            labels(app="web", **{"pod-template-hash": "1"}),
            {},
            f".labelSelector: pod-template-hash=1 does not match the pod's own labels: {COUNTED}",
            id="a hash that the pod does not have",
        ),
        pytest.param(None, {}, ": without labelSelector it counts no pods, so it spreads nothing", id="none"),
        pytest.param(
            None,
            {"matchLabelKeys": ["app"]},
            ": without labelSelector it counts no pods, so it spreads nothing",
            id="none, whatever the keys",
        ),
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
    ("nodes", "given", "said"),
    [
        pytest.param((node("a"), node("b", ZONE)), constraint(labels(app="web")), "", id="one node has it"),
        pytest.param(
            (node("a", "topology.kubernetes.io/zoen"),),
            constraint(labels(app="web")),
            f"no node has label {ZONE}: the pod fits nowhere; did you mean topology.kubernetes.io/zoen?",
            id="no node has it",
        ),
        pytest.param(
            (node("a", "x"),),
            constraint(labels(app="web"), when="ScheduleAnyway"),
            f"no node has label {ZONE}: it spreads over nothing",
            id="and it is no condition",
        ),
        pytest.param((), constraint(labels(app="web")), "", id="there are no nodes"),
        pytest.param((node("a"),), constraint(labels(app="web")), "", id="nodes without any labels"),
    ],
)
def test_A_topology_key_that_no_node_has(nodes: tuple[Object, ...], given: Object, said: str) -> None:
    assert warnings(given, nodes=nodes, options=KEYS) == ((f"[0].topologyKey: {said}",) if said else ())
    assert warnings(given, nodes=nodes) == ()


def test_A_ten_problems_are_listed_and_the_others_counted() -> None:
    wrong = [constraint(labels(app=f"x{number}"), f"key-{number}") for number in range(95)]
    said = warnings(*wrong, nodes=(node("a", "key-x"),), options=KEYS)
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
    (said,) = warnings(*wrong, nodes=(node("a", ZONE),), options=KEYS)
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
    warning = f"{place}: app=wbe does not match the pod's own labels: {COUNTED}"
    assert said(validate(decode_review(review(workload)), make_cluster())) == Answer(warnings=(warning,))


def test_A_labels_that_controllers_add_are_taken_to_match() -> None:
    added = {"matchExpressions": [{"key": "controller-revision-hash", "operator": "Exists"}]}
    workload = _with(workload_object("StatefulSet", None), constraint(added))
    assert validate(decode_review(create_review(workload)), make_cluster()) == ALLOWED


def test_A_objects_of_controllers_are_ignored() -> None:
    owner = workload_object("ReplicaSet", None)
    wrong = [constraint(labels(app="wbe"))]
    pod = pod_object(name="web", labels=LABELS, owner=controlled_by(owner), topologySpreadConstraints=wrong)
    owned = _with(workload_object("ReplicaSet", None, owner=controlled_by(workload_object("Deployment", None))), *wrong)
    for entry in (pod, owned):
        assert validate(decode_review(create_review(entry)), make_cluster()) == ALLOWED
