"""The priority of new pods: the filled-in fields, and the refusals."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from cluster_io.demo import demo_objects
from cluster_io.errors import Unreachable
from cluster_io.in_memory import MemorySource
from tests.controlplane.client import Object
from tests.webhook.clusters import SilentSource, in_doubt, make_class, make_cluster
from tests.webhook.review_objects import create_review, mutated, patched, pod_object, said, update_review, validated
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import decode_review
from webhook.reviews.response import ALLOWED, encode_answer
from webhook.rules import mutate, validate

LOW, HIGH = make_class("low", -10, policy="Never"), make_class("high", 1000)
DEFAULT = make_class("usual", 100, default=True)
CLASSES = [LOW, HIGH, DEFAULT]
MIRROR = {"kubernetes.io/config.mirror": "x", "kubernetes.io/config.source": "file"}
PREEMPT = "PreemptLowerPriority"
UNRESOLVED: Object = {"priority": None, "preemptionPolicy": None}
"""Pods as they arrive if the API server's own Priority plugin is off."""
Priority = tuple[Any, Any, Any]


def _priority(pod: Mapping[str, Any]) -> Priority:
    spec = pod["spec"]
    return spec.get("priorityClassName"), spec.get("priority"), spec.get("preemptionPolicy")


def _filled_in(pod: Object, cluster: Cluster) -> Priority:
    """The fields after the mutation."""
    return _priority(patched(pod, mutated(pod, cluster)))


@pytest.mark.parametrize(
    ("classes", "spec", "expected"),
    [
        pytest.param(CLASSES, {"priorityClassName": "high"}, ("high", 1000, PREEMPT), id="a class"),
        pytest.param(CLASSES, {"priorityClassName": "low"}, ("low", -10, "Never"), id="a class that never preempts"),
        pytest.param(CLASSES, {"priorityClassName": "low", "nodeName": "a1"}, ("low", -10, "Never"), id="a bound pod"),
        pytest.param(CLASSES, {}, ("usual", 100, PREEMPT), id="none: the global default"),
        pytest.param(
            [*CLASSES, make_class("cheap", 5, default=True, policy="Never")],
            {},
            ("cheap", 5, "Never"),
            id="of several global defaults the lowest",
        ),
        pytest.param([LOW, HIGH], {}, (None, 0, PREEMPT), id="none, and no global default"),
        pytest.param(
            CLASSES,
            {"priorityClassName": "low", "priority": -10},
            ("low", -10, "Never"),
            id="the priority is there, the policy is filled in",
        ),
        pytest.param(
            CLASSES,
            {"priorityClassName": "system-node-critical"},
            ("system-node-critical", None, None),
            id="a class that has not arrived",
        ),
    ],
)
def test_P1_class_priority_and_policy_are_resolved_together(
    classes: Sequence[Object], spec: Mapping[str, Any], expected: Priority
) -> None:
    pod, cluster = pod_object(**{**UNRESOLVED, **spec}), make_cluster(classes)
    after = patched(pod, mutated(pod, cluster))
    assert _priority(after) == expected
    assert mutated(after, cluster) == ALLOWED


def test_nothing_else_of_the_pod_changes() -> None:
    pod = pod_object(priorityClassName="high", **UNRESOLVED, nodeSelector={"disk": "ssd"}, unknownField=[{"a": None}])
    after = patched(pod, mutated(pod, make_cluster(CLASSES)))
    filled = {"priority": 1000, "preemptionPolicy": PREEMPT}
    assert after == {**pod, "spec": {**pod["spec"], **filled}}


RESOLVED: Object = {"priorityClassName": "high", "priority": 1000}
NEW = {"priorityClassName": "new", "priority": 7}


@pytest.mark.parametrize(
    ("cached", "live", "spec"),
    [
        pytest.param(CLASSES, None, RESOLVED, id="resolved by the API server"),
        pytest.param(CLASSES, None, {"priorityClassName": "usual", "priority": 100}, id="resolved to the default"),
        pytest.param(CLASSES, [*CLASSES, make_class("new", 7)], NEW, id="a class that is not cached"),
        pytest.param(CLASSES, [LOW, make_class("high", 2000)], RESOLVED | {"priority": 2000}, id="a recreated class"),
        pytest.param(CLASSES, [LOW, DEFAULT], RESOLVED, id="deleted, but cached: the API server refuses it"),
        pytest.param([], SilentSource(), RESOLVED, id="before the first class has arrived"),
        # The cache may have a deleted default with value 0: the API server would refuse it by name.
        pytest.param([make_class("zero", 0, default=True)], None, {}, id="resolved without a class"),
    ],
)
def test_P1_resolved_pod_is_neither_patched_nor_refused(cached: Sequence[Object], live: Any, spec: Object) -> None:
    pod, cluster = pod_object(**spec), make_cluster(cached, live=live)
    assert mutated(pod, cluster) == ALLOWED
    assert validated(pod, cluster) == ALLOWED


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"priority": 0}, id="resolved when there was no global default yet"),
        pytest.param({"priorityClassName": "gone", **UNRESOLVED}, id="an unknown class"),
        pytest.param({"priorityClassName": "high", "priority": 7, "preemptionPolicy": None}, id="another priority"),
        pytest.param({"priorityClassName": "high", "priority": None, "preemptionPolicy": "Never"}, id="another policy"),
    ],
)
def test_P1_nothing_is_patched(spec: Mapping[str, Any]) -> None:
    assert mutated(pod_object(**spec), make_cluster(CLASSES)) == ALLOWED


UNKNOWN = pod_object(name="web", priorityClassName="gone", **UNRESOLVED)
MIRRORS = {
    name: pod_object(name="etcd", annotations=MIRROR, priorityClassName=name, **spec)
    for name, spec in {"gone": {}, "high": UNRESOLVED}.items()
}


@pytest.mark.parametrize("resolve", [mutate, validate])
@pytest.mark.parametrize(
    "review",
    [
        pytest.param(create_review(MIRRORS["gone"], groups=("system:nodes",)), id="mirror of an unknown class"),
        pytest.param(create_review(MIRRORS["high"]), id="mirror of a class that exists"),
        pytest.param(update_review(UNKNOWN), id="update"),
        pytest.param(create_review(UNKNOWN, sub_resource="eviction"), id="subresource"),
    ],
)
def test_ignored_pods(resolve: Any, review: bytes) -> None:
    assert resolve(decode_review(review), make_cluster(CLASSES)) == ALLOWED


@pytest.mark.parametrize(
    ("spec", "denial"),
    [
        pytest.param(
            {"name": "web", "priorityClassName": "hihg"},
            'pods "web" is forbidden: no PriorityClass with name hihg was found; did you mean high?',
            id="a name that is near",
        ),
        pytest.param(
            {"name": "web", "priorityClassName": "zzz"},
            'pods "web" is forbidden: no PriorityClass with name zzz was found',
            id="a name that is near to none",
        ),
        pytest.param(
            {"priorityClassName": "zzz"},
            'pods "web-" is forbidden: no PriorityClass with name zzz was found',
            id="a pod that has no name yet",
        ),
        pytest.param(
            {**RESOLVED, "name": "web", "priority": 7},
            'pods "web" is forbidden: the integer value of priority (7) must not be provided in pod spec; '
            "priority admission controller computed 1000 from the given PriorityClass name",
            id="priority given and different",
        ),
        pytest.param(
            {**RESOLVED, "name": "web", "preemptionPolicy": "Never"},
            'pods "web" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; '
            "priority admission controller computed PreemptLowerPriority from the given PriorityClass name",
            id="policy given and different",
        ),
    ],
)
def test_P1_refused(spec: Object, denial: str) -> None:
    answer = validated(pod_object(**spec), make_cluster(CLASSES))
    assert (answer.denial, answer.warnings, answer.patch) == (denial, (), ())


def test_P1_pod_that_is_not_resolved_yet_is_allowed() -> None:
    assert validated(pod_object(priorityClassName="low", **UNRESOLVED), make_cluster(CLASSES)) == ALLOWED


def test_P1_a_class_that_the_cache_does_not_have_yet() -> None:
    """It was created a moment ago: otherwise the pod would be stored with the priority of no class."""
    pod = pod_object(name="web", priorityClassName="new", **UNRESOLVED)
    cluster = make_cluster(CLASSES, live=[*CLASSES, make_class("new", 7)])
    assert _filled_in(pod, cluster) == ("new", 7, PREEMPT)
    assert validated(pod, cluster) == ALLOWED


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"priorityClassName": "high"}, ("high", 2000, "Never"), id="another value"),
        pytest.param({}, ("high", 2000, "Never"), id="another global default"),
        pytest.param({"priorityClassName": "low"}, ("low", None, None), id="a class that is gone"),
    ],
)
def test_P1_uncertain_classes_are_read_live(spec: Mapping[str, Any], expected: Priority) -> None:
    """If the API server's own plugin is off, nothing else would detect that the cache is wrong."""
    cluster = in_doubt(make_cluster(CLASSES, live=[make_class("high", 2000, default=True, policy="Never")]))
    assert _filled_in(pod_object(**UNRESOLVED, **spec), cluster) == expected


class _Counted(MemorySource):
    """Counts the complete lists of a kind, and may be silent."""

    lists = 0
    silent = False

    def list(self, *arguments: Any, **how: Any) -> Any:
        self.lists += 1
        if self.silent:
            raise Unreachable("no answer")
        return super().list(*arguments, **how)


@pytest.mark.parametrize("silent", [False, True])
def test_P1_many_pods_are_not_many_lists_of_classes(silent: bool) -> None:
    live = _Counted(CLASSES, description="the cluster")
    live.silent = silent
    cluster = in_doubt(make_cluster(CLASSES, live=live))
    pod = pod_object(priorityClassName="high", **UNRESOLVED)
    began = time.monotonic()
    for _ in range(100):
        assert _filled_in(pod, cluster.for_review(time.monotonic())) == ("high", 1000, PREEMPT)
    assert 1 <= live.lists <= 1 + (time.monotonic() - began) / 0.25


def test_P1_near_names_are_those_that_exist_now() -> None:
    cluster = make_cluster(CLASSES, live=[LOW, make_class("high-2", 5)])
    assert validated(pod_object(priorityClassName="hihg"), cluster).denial.endswith(" was found; did you mean high-2?")


def test_P1_pods_are_allowed_while_the_api_server_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    cluster = make_cluster(CLASSES, live=SilentSource())
    with caplog.at_level(logging.WARNING):
        assert validated(UNKNOWN, cluster) == ALLOWED
        assert mutated(UNKNOWN, cluster) == ALLOWED
    assert "PriorityClasses cannot be read" in caplog.text
    assert "is not resolved: gone cannot be read" in caplog.text


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("a\x1b[2J\r\n\u202e\u2028b", id="control characters"),
        pytest.param("x" * 100_000, id="100 KB"),
        pytest.param("high" * 25_000, id="100 KB of a near name"),
        pytest.param('"}],"allowed":true,"x":"', id="JSON"),
    ],
)
def test_refusal_of_hostile_class_name_is_plain_and_short(name: str) -> None:
    answer = validated(pod_object(name="web", priorityClassName=name), make_cluster(CLASSES))
    response = json.loads(encode_answer("u", said(answer)))["response"]
    message = response["status"]["message"]
    status = {"message": message, "code": 403, "reason": "Forbidden"}
    assert response == {"uid": "u", "allowed": False, "status": status}
    assert message.startswith('pods "web" is forbidden: no PriorityClass with name ')
    assert message.isprintable()
    assert len(message) <= 1024


@pytest.mark.parametrize("name", sorted(e["metadata"]["name"] for e in demo_objects() if e["kind"] == "PriorityClass"))
def test_P1_every_class_of_the_demo_cluster(demo_cluster: Cluster, name: str) -> None:
    found = next(e for e in demo_objects() if e["kind"] == "PriorityClass" and e["metadata"]["name"] == name)
    pod = pod_object(priorityClassName=name, **UNRESOLVED)
    assert _filled_in(pod, demo_cluster) == (name, found["value"], found["preemptionPolicy"])


def test_P1_the_pods_of_the_demo_cluster_have_it_all_already(demo_cluster: Cluster) -> None:
    pods = [entry for entry in demo_objects() if entry["kind"] == "Pod"]
    assert [_filled_in(pod, demo_cluster) for pod in pods] == [_priority(pod) for pod in pods]


def test_P1_a_class_that_was_deleted_in_the_demo_cluster(demo_cluster: Cluster) -> None:
    denial = validated(pod_object(priorityClassName="legacy-vip"), demo_cluster).denial
    assert denial == 'pods "web-" is forbidden: no PriorityClass with name legacy-vip was found'
