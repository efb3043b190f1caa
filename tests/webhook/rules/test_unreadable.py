"""Reviews that are large, odd or unreadable: the content of an object disables no rule."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podrules.api.model.pod import Pod
from podrules.qos_webhook.rules import PodRules
from tests.controlplane.client import Object
from tests.objects import raw_node, raw_object
from tests.webhook.clusters import make_class, make_cluster, make_namespace, pod_rules
from tests.webhook.review_objects import (
    create_review,
    delete_review,
    eviction_review,
    mutated,
    node_deletion_review,
    pod_object,
    update_review,
    validated,
    workload_object,
)
from webhook import rules as handlers
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import EDGE_BYTES, MAX_REVIEW_BYTES
from webhook.reviews.partial_objects import PartialObject
from webhook.reviews.response import Answer
from webhook.serving.app import REVIEW_PATHS, create_app
from webhook.serving.metrics import Metrics
from webhook.settings import ForceDeletion, ForceDeletionMode

CLASSES = [make_class("low", 0), make_class("high", 0)]
STRICT = pod_rules(priorityClasses={"allowed": {"shop": ["low"]}, "templates": "deny"})
DENY = ForceDeletion(mode=ForceDeletionMode.DENY, exempt_users=frozenset({"fencer"}))
UID = "6f1c1f9e-0a43-4f2e-9d3c-2b1c5f3d7e10"
NODE = raw_node("node-1")
BOUND = {**pod_object(name="web", nodeName="node-1"), "status": {"phase": "Running"}}
BOUND["metadata"]["uid"] = UID
COMMAS = {"example.com/list": "," * 100_001}
ODD = b'"spec": {"x": "\x01", '
"""A control character, which JSON does not have."""
DENSE = b'"spec": {"x": ' + b"[" * 1000 + b"[[1],1]," * 150_000 + b"1" + b"]" * 1000 + b", "
"""Deep, and with more brackets than are parsed."""
STORED = {
    "half a pair": b'"\\ud800"',
    "no UTF-8": b'"\xff"',
    "number": b"1e999999",
    "list": b"[" * 9000 + b"]" * 9000,
    "fields": b'{"f:a":' * 9000 + b"{}" + b"}" * 9000,
}
"""The values that the API server stores in fields with JSON."""


def cluster_of(options: PodRules = STRICT, force_deletion: ForceDeletion = DENY) -> Cluster:
    return make_cluster([make_namespace(), NODE, BOUND, *CLASSES], options=options, force_deletion=force_deletion)


def answered(body: bytes, cluster: Cluster | None = None, path: str = "/validate", status: int = 200) -> Any:
    """The response, by HTTP."""
    app = create_app(cluster or cluster_of(), lambda: (), lambda: False, metrics=Metrics(REVIEW_PATHS))
    answer = app.test_client().post(path, data=body, content_type="application/json")
    assert answer.status_code == status, answer.get_data(as_text=True)
    if status != 200:
        return None
    response: Object = answer.get_json()["response"]
    return response


def refusal(body: bytes, cluster: Cluster | None = None) -> str:
    """Why it is refused; empty: it is not."""
    response = answered(body, cluster)
    assert response["uid"]
    message: str = response["status"]["message"] if not response["allowed"] else ""
    return message


@pytest.mark.parametrize(
    "large",
    [
        pytest.param({"annotations": COMMAS}, id="commas"),
        pytest.param({"nodeSelector": {f"k{n}": "" for n in range(60_000)}}, id="values"),
    ],
)
def test_class_of_a_large_pod_is_refused(large: Object) -> None:
    pod = pod_object(name="web", priorityClassName="high", **large)
    assert "PriorityClass high is not allowed in namespace shop" in refusal(create_review(pod))
    pod["spec"]["priorityClassName"] = "low"
    assert answered(create_review(pod)) == {"uid": answered(create_review(pod))["uid"], "allowed": True}


@pytest.mark.parametrize("mode", [ForceDeletionMode.DENY, ForceDeletionMode.CONFIRM])
def test_force_deletion_of_a_large_pod_is_judged(mode: ForceDeletionMode) -> None:
    pod = json.loads(json.dumps(BOUND))
    pod["metadata"]["annotations"] = dict(COMMAS)
    cluster = cluster_of(force_deletion=ForceDeletion(mode=mode))
    assert "namespace shop" in refusal(delete_review(pod), cluster)
    assert refusal(delete_review(pod, seconds=30), cluster) == ""
    pod["metadata"]["annotations"]["kubectl-qos.io/confirm-force-delete"] = UID
    assert bool(refusal(delete_review(pod), cluster)) == (mode is ForceDeletionMode.DENY)


UNREADABLE = [
    pytest.param(create_review(pod_object(name="web")), "allows only these PriorityClasses: low", id="pod"),
    pytest.param(delete_review(BOUND), "forbids force deletions", id="force deletion"),
    pytest.param(node_deletion_review({**NODE, "spec": {"x": 1}}), "refuses force deletions", id="node"),
    pytest.param(create_review(workload_object("Deployment", "high")), "allows only", id="template"),
    pytest.param(update_review(workload_object("CronJob", "high")), "allows only", id="changed template"),
]


@pytest.mark.parametrize("spoilt", [pytest.param(ODD, id="control character"), pytest.param(DENSE, id="dense")])
@pytest.mark.parametrize(("body", "rule"), UNREADABLE)
def test_unreadable_request_is_refused_if_a_rule_might_apply(body: bytes, rule: str, spoilt: bytes) -> None:
    body = body.replace(b'"spec": {', spoilt)
    assert rule in refusal(body)
    assert "cannot be read" in refusal(body)


@pytest.mark.parametrize("value", STORED.values(), ids=STORED)
@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (create_review(pod_object(name="web", priorityClassName="high")), "PriorityClass high is not allowed"),
        (delete_review(BOUND), "forbids force deletions"),
        (node_deletion_review({**NODE, "spec": {"x": 1}}), "force deletes 1 pod"),
        (create_review(workload_object("Deployment", "high")), "PriorityClass high is not allowed"),
    ],
    ids=["pod", "force deletion", "node", "template"],
)
def test_all_json_that_can_be_stored_is_read(body: bytes, rule: str, value: bytes) -> None:
    message = refusal(body.replace(b'"spec": {', b'"spec": {"x": %b, ' % value))
    assert rule in message
    assert "cannot be read" not in message


@pytest.mark.parametrize(("body", "rule"), UNREADABLE)
def test_unreadable_request_is_allowed_with_warning_without_rule(body: bytes, rule: str) -> None:
    response = answered(body.replace(b'"spec": {', ODD), cluster_of(pod_rules(), ForceDeletion()))
    assert response["allowed"], rule
    assert "allowed without a check: it cannot be read" in response["warnings"][0]


@pytest.mark.parametrize(
    ("seconds", "user", "refused"),
    [(0, "jane", True), (30, "jane", False), (None, "jane", False), (0, "fencer", False)],
)
def test_plain_deletion_of_an_unreadable_pod_is_allowed(seconds: int | None, user: str, refused: bool) -> None:
    """The options of a DELETE are at the end of the review."""
    body = delete_review(BOUND, seconds=seconds, user=user).replace(b'"spec": {', ODD)
    assert bool(refusal(body)) == refused


FORCED = eviction_review("web", "shop", {"gracePeriodSeconds": 0})


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(eviction_review("web", "shop", {"gracePeriodSeconds": "none"}), id="another shape"),
        pytest.param(FORCED.replace(b'"metadata": {', b'"metadata": {"x": "\x01", '), id="a control character"),
    ],
)
def test_eviction_that_cannot_be_read_is_refused_where_force_is(body: bytes) -> None:
    assert "forbids force deletions" in refusal(body)
    assert refusal(body, cluster_of(force_deletion=ForceDeletion())) == ""


@pytest.mark.parametrize(("body", "rule"), UNREADABLE)
def test_too_long_request_is_refused_if_a_rule_might_apply(body: bytes, rule: str) -> None:
    """By its beginning: no more of it is kept."""
    body += b" " * (MAX_REVIEW_BYTES + 1 - len(body))
    assert rule in refusal(body)
    assert f"at most {MAX_REVIEW_BYTES} are read" in refusal(body)


@pytest.mark.parametrize(("seconds", "refused"), [(0, True), (30, False)])
def test_plain_deletion_of_a_too_long_pod_is_allowed(seconds: int, refused: bool) -> None:
    pod = {**BOUND, "padding": "x" * MAX_REVIEW_BYTES}
    assert bool(refusal(delete_review(pod, seconds=seconds))) == refused


def test_too_long_pod_is_not_patched() -> None:
    body = create_review(pod_object(name="web"))
    response = answered(body + b" " * MAX_REVIEW_BYTES, path="/mutate")
    assert response["allowed"]
    assert response["warnings"][0].startswith('pods "web": no defaults are filled in: it has')


def test_review_as_long_as_may_be_is_read() -> None:
    pod = pod_object(name="web", priorityClassName="high", containers=[{"name": "app", "args": ["<" * 4_100_000]}])
    body = create_review(pod).replace(b"<", b"\\u003c")
    assert MAX_REVIEW_BYTES - (1 << 20) < len(body) < MAX_REVIEW_BYTES
    assert "PriorityClass high is not allowed" in refusal(body)


def test_key_of_userinfo_does_not_stand_for_the_object() -> None:
    """A user who chooses keys of userInfo.extra cannot end the review before its identifying fields."""
    review = json.loads(create_review(pod_object(name="web")))
    request = review["request"]
    request["userInfo"]["extra"] = {"a": ['x","object":{'], "object": ["{"]}
    body = json.dumps(review, separators=(",", ":")).encode().replace(b'"spec":{', ODD)
    assert "allows only these PriorityClasses" in refusal(body)


def test_review_that_identifies_no_request_is_invalid() -> None:
    review = json.loads(create_review(pod_object(name="web")))
    review["request"]["userInfo"]["groups"] = ["g" * EDGE_BYTES]
    body = json.dumps(review).encode().replace(b'"spec": {', ODD)
    answered(body, status=400)


def test_fault_of_a_handler_switches_no_refusal_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_pod: PartialObject[Pod], _cluster: Cluster) -> Answer:
        raise ZeroDivisionError

    def fails(name: str) -> None:
        rules = [rule._replace(judge=failing) if rule.name == name else rule for rule in handlers.POD_RULES]
        assert rules != handlers.POD_RULES
        monkeypatch.setattr(handlers, "POD_RULES", rules)

    pod = pod_object(name="web", priorityClassName="high")
    fails("spread-lint")
    assert "PriorityClass high is not allowed" in refusal(create_review(pod))
    pod["spec"]["priorityClassName"] = "low"
    assert refusal(create_review(pod)) == ""
    fails("disallowed-class")
    assert "allows only these PriorityClasses" in refusal(create_review(pod))


def test_unread_constraints_are_not_replaced() -> None:
    """A pod that has too many to be read does not get the defaults instead."""
    one = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    pod = pod_object(name="web", labels={"app": "web"}, topologySpreadConstraints=[one] * 20_000)
    service = raw_object("Service", "web", "shop", spec={"selector": {"app": "web"}})
    cluster = make_cluster([make_namespace(), service], write_system_defaults=True)
    assert not mutated(pod, cluster).patch
    line = "spec.topologySpreadConstraints: not checked: they or the labels have more than 5000 values"
    assert validated(pod, cluster).warnings == (line,)
    pod["spec"]["topologySpreadConstraints"] = []
    assert mutated(pod, cluster).patch


def test_omitted_list_is_not_treated_as_absent() -> None:
    """For a pod with too many owners and volumes, the answer does not claim that it has none."""
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "x", "controller": True}
    pod = {**pod_object(name="web", nodeName="node-1", volumes=[{"name": "v", "nfs": {}}] * 5001)}
    pod["status"] = {"phase": "Running"}
    pod["metadata"]["ownerReferences"] = [owner] * 5001
    warnings = answered(delete_review(pod), cluster_of(force_deletion=ForceDeletion()))["warnings"]
    assert "Its owner decides whether a second starts while it still runs" in warnings[0]
    assert "whether anything keeps a second writer off volume (too many to read) is unknown" in warnings[1]
