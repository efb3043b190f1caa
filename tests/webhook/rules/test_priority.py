"""The priority of new pods: the filled-in fields, and the refusals."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from cluster_io.demo import demo_objects
from cluster_io.errors import Unreachable
from cluster_io.in_memory import MemorySource
from tests.webhook.clusters import SilentSource, make_class, make_cluster
from tests.webhook.review_objects import create_review, patched, pod_object, said, update_review
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import decode_review
from webhook.reviews.response import ALLOWED, encode_answer
from webhook.rules import mutate, validate

LOW, HIGH = make_class("low", -10, policy="Never"), make_class("high", 1000)
DEFAULT = make_class("usual", 100, default=True)
CLASSES = [LOW, HIGH, DEFAULT]
MIRROR = {"kubernetes.io/config.mirror": "x", "kubernetes.io/config.source": "file"}
PREEMPT = "PreemptLowerPriority"
UNRESOLVED: dict[str, Any] = {"priority": None, "preemptionPolicy": None}
"""Pods as they arrive if the API server's own Priority plugin is off."""


def _priority(pod: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    spec = pod["spec"]
    return spec.get("priorityClassName"), spec.get("priority"), spec.get("preemptionPolicy")


@pytest.mark.parametrize(
    ("classes", "spec", "expected"),
    [
        pytest.param(CLASSES, {"priorityClassName": "high"}, ("high", 1000, PREEMPT), id="a class"),
        pytest.param(CLASSES, {"priorityClassName": "low"}, ("low", -10, "Never"), id="a class that never preempts"),
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
    classes: Iterable[dict[str, Any]], spec: Mapping[str, Any], expected: tuple[Any, Any, Any]
) -> None:
    pod = pod_object(**{**UNRESOLVED, **spec})
    cluster = make_cluster(classes)
    after = patched(pod, mutate(decode_review(create_review(pod)), cluster))
    assert _priority(after) == expected
    assert mutate(decode_review(create_review(after)), cluster) == ALLOWED


def test_nothing_else_of_the_pod_changes() -> None:
    pod = pod_object(priorityClassName="high", **UNRESOLVED, nodeSelector={"disk": "ssd"}, unknownField=[{"a": None}])
    after = patched(pod, mutate(decode_review(create_review(pod)), make_cluster(CLASSES)))
    filled = {"priority": 1000, "preemptionPolicy": PREEMPT}
    assert after == {**pod, "spec": {**pod["spec"], **filled}}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"priorityClassName": "high", "priority": 1000}, id="resolved by the API server"),
        pytest.param({"priorityClassName": "usual", "priority": 100}, id="resolved to the global default"),
        pytest.param({"priorityClassName": "gone", **UNRESOLVED}, id="an unknown class"),
        pytest.param({"priorityClassName": "high", "priority": 7, "preemptionPolicy": None}, id="another priority"),
        pytest.param({"priorityClassName": "high", "priority": None, "preemptionPolicy": "Never"}, id="another policy"),
        pytest.param({"priority": 0}, id="resolved when there was no global default yet"),
    ],
)
def test_P1_nothing_is_patched(spec: Mapping[str, Any]) -> None:
    pod = pod_object(**spec)
    assert mutate(decode_review(create_review(pod)), make_cluster(CLASSES)) == ALLOWED


@pytest.mark.parametrize("resolve", [mutate, validate])
@pytest.mark.parametrize(
    "review",
    [
        pytest.param(
            create_review(
                pod_object(name="etcd", annotations=MIRROR, priorityClassName="gone"), groups=("system:nodes",)
            ),
            id="mirror of an unknown class",
        ),
        pytest.param(
            create_review(pod_object(name="etcd", annotations=MIRROR, priorityClassName="high", **UNRESOLVED)),
            id="mirror of a class that exists",
        ),
        pytest.param(update_review(pod_object(name="web", priorityClassName="gone", **UNRESOLVED)), id="update"),
        pytest.param(
            create_review(pod_object(name="web", priorityClassName="gone", **UNRESOLVED), sub_resource="eviction"),
            id="subresource",
        ),
    ],
)
def test_ignored_pods(resolve: Any, review: bytes) -> None:
    assert resolve(decode_review(review), make_cluster(CLASSES)) == ALLOWED


def test_P1_a_bound_pod_is_resolved_as_any_other() -> None:
    pod = pod_object(name="web", nodeName="node-a1", priorityClassName="low", **UNRESOLVED)
    after = patched(pod, mutate(decode_review(create_review(pod)), make_cluster(CLASSES)))
    assert _priority(after) == ("low", -10, "Never")


NO_CLASS = "no PriorityClass with name {} was found"


@pytest.mark.parametrize(
    ("pod", "denial"),
    [
        pytest.param(
            pod_object(name="web", priorityClassName="hihg"),
            'pods "web" is forbidden: no PriorityClass with name hihg was found; did you mean high?',
            id="a name that is near",
        ),
        pytest.param(
            pod_object(name="web", priorityClassName="zzz"),
            'pods "web" is forbidden: no PriorityClass with name zzz was found',
            id="a name that is near to none",
        ),
        pytest.param(
            pod_object(priorityClassName="zzz"),
            'pods "web-" is forbidden: no PriorityClass with name zzz was found',
            id="a pod that has no name yet",
        ),
        pytest.param(
            pod_object(name="web", priorityClassName="high", priority=7),
            'pods "web" is forbidden: the integer value of priority (7) must not be provided in pod spec; '
            "priority admission controller computed 1000 from the given PriorityClass name",
            id="priority given and different",
        ),
        pytest.param(
            pod_object(name="web", priorityClassName="high", priority=1000, preemptionPolicy="Never"),
            'pods "web" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; '
            "priority admission controller computed PreemptLowerPriority from the given PriorityClass name",
            id="policy given and different",
        ),
    ],
)
def test_P1_refused(pod: dict[str, Any], denial: str) -> None:
    answer = validate(decode_review(create_review(pod)), make_cluster(CLASSES))
    assert (answer.denial, answer.warnings, answer.patch) == (denial, (), ())


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(pod_object(name="web", priorityClassName="high", priority=1000), id="resolved"),
        pytest.param(pod_object(name="web", priorityClassName="usual", priority=100), id="global default"),
        pytest.param(pod_object(name="web", priorityClassName="low", **UNRESOLVED), id="not resolved yet"),
    ],
)
def test_P1_allowed(pod: dict[str, Any]) -> None:
    assert validate(decode_review(create_review(pod)), make_cluster(CLASSES)) == ALLOWED


def test_P1_a_class_that_the_cache_does_not_have_yet() -> None:
    """It was created a moment ago: otherwise the pod would be stored with the priority of no class."""
    pod = pod_object(name="web", priorityClassName="new", **UNRESOLVED)
    cluster = make_cluster(CLASSES, live=[*CLASSES, make_class("new", 7)])
    after = patched(pod, mutate(decode_review(create_review(pod)), cluster))
    assert _priority(after) == ("new", 7, PREEMPT)
    assert validate(decode_review(create_review(pod)), cluster) == ALLOWED


def test_P1_uncached_class_that_the_api_server_has_resolved() -> None:
    pod = pod_object(name="web", priorityClassName="new", priority=7, preemptionPolicy=PREEMPT)
    cluster = make_cluster(CLASSES, live=[*CLASSES, make_class("new", 7)])
    assert mutate(decode_review(create_review(pod)), cluster) == ALLOWED
    assert validate(decode_review(create_review(pod)), cluster) == ALLOWED


def test_P1_recreated_class_with_another_value() -> None:
    pod = pod_object(name="web", priorityClassName="high", priority=2000)
    cluster = make_cluster(CLASSES, live=[LOW, make_class("high", 2000)])
    assert mutate(decode_review(create_review(pod)), cluster) == ALLOWED
    assert validate(decode_review(create_review(pod)), cluster) == ALLOWED


def test_P1_api_server_refuses_a_deleted_but_cached_class() -> None:
    pod = pod_object(name="web", priorityClassName="high", priority=1000)
    cluster = make_cluster(CLASSES, live=[LOW, DEFAULT])
    assert mutate(decode_review(create_review(pod)), cluster) == ALLOWED
    assert validate(decode_review(create_review(pod)), cluster) == ALLOWED


def in_doubt(cluster: Cluster) -> Cluster:
    """The same; the watch of PriorityClasses has been silent for a minute."""
    cache = cluster._caches.priority_classes
    assert cache.heard_at is not None
    cache.heard_at -= 60
    return cluster


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"priorityClassName": "high"}, ("high", 2000, "Never"), id="another value"),
        pytest.param({}, ("high", 2000, "Never"), id="another global default"),
        pytest.param({"priorityClassName": "low"}, ("low", None, None), id="a class that is gone"),
    ],
)
def test_P1_uncertain_classes_are_read_live(spec: Mapping[str, Any], expected: Any) -> None:
    """If the API server's own plugin is off, nothing else would detect that the cache is wrong."""
    pod = pod_object(**UNRESOLVED, **spec)
    present = [make_class("high", 2000, default=True, policy="Never")]
    cluster = in_doubt(make_cluster(CLASSES, live=present))
    assert _priority(patched(pod, mutate(decode_review(create_review(pod)), cluster))) == expected


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
        after = patched(pod, mutate(decode_review(create_review(pod)), cluster.for_review(time.monotonic())))
        assert _priority(after) == ("high", 1000, PREEMPT)
    assert 1 <= live.lists <= 1 + (time.monotonic() - began) / 0.25


def test_P1_near_names_are_those_that_exist_now() -> None:
    pod = pod_object(name="web", priorityClassName="hihg")
    cluster = make_cluster(CLASSES, live=[LOW, make_class("high-2", 5)])
    assert validate(decode_review(create_review(pod)), cluster).denial.endswith(" was found; did you mean high-2?")


def test_P1_pods_are_allowed_while_the_api_server_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    pod = pod_object(name="web", priorityClassName="gone", **UNRESOLVED)
    cluster = make_cluster(CLASSES, live=SilentSource())
    with caplog.at_level(logging.WARNING):
        assert validate(decode_review(create_review(pod)), cluster) == ALLOWED
        assert mutate(decode_review(create_review(pod)), cluster) == ALLOWED
    assert "PriorityClasses cannot be read" in caplog.text
    assert "is not resolved: gone cannot be read" in caplog.text


def test_P1_before_the_first_class_has_arrived_nothing_happens() -> None:
    pod = pod_object(name="web", priorityClassName="high", priority=1000)
    cluster = make_cluster([], live=SilentSource())
    assert mutate(decode_review(create_review(pod)), cluster) == ALLOWED
    assert validate(decode_review(create_review(pod)), cluster) == ALLOWED


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
    pod = pod_object(name="web", priorityClassName=name)
    body = encode_answer("u", said(validate(decode_review(create_review(pod)), make_cluster(CLASSES))))
    response = json.loads(body)["response"]
    message = response["status"]["message"]
    assert response == {
        "uid": "u",
        "allowed": False,
        "status": {"message": message, "code": 403, "reason": "Forbidden"},
    }
    assert message.startswith('pods "web" is forbidden: no PriorityClass with name ')
    assert message.isprintable()
    assert len(message) <= 1024


@pytest.mark.parametrize("name", sorted(e["metadata"]["name"] for e in demo_objects() if e["kind"] == "PriorityClass"))
def test_P1_every_class_of_the_demo_cluster(demo_cluster: Cluster, name: str) -> None:
    found = next(e for e in demo_objects() if e["kind"] == "PriorityClass" and e["metadata"]["name"] == name)
    pod = pod_object(priorityClassName=name, **UNRESOLVED)
    after = patched(pod, mutate(decode_review(create_review(pod)), demo_cluster))
    assert _priority(after) == (name, found["value"], found["preemptionPolicy"])


def test_P1_the_pods_of_the_demo_cluster_have_it_all_already(demo_cluster: Cluster) -> None:
    pods = [entry for entry in demo_objects() if entry["kind"] == "Pod"]
    after = [patched(pod, mutate(decode_review(create_review(pod)), demo_cluster)) for pod in pods]
    assert [_priority(pod) for pod in after] == [_priority(pod) for pod in pods]


def test_P1_a_class_that_was_deleted_in_the_demo_cluster(demo_cluster: Cluster) -> None:
    answer = validate(decode_review(create_review(pod_object(priorityClassName="legacy-vip"))), demo_cluster)
    assert answer.denial == 'pods "web-" is forbidden: no PriorityClass with name legacy-vip was found'


def test_P1_a_pod_that_was_resolved_without_a_class_gets_none() -> None:
    """The cache may have a deleted default with value 0: the API server would refuse it by name."""
    pod = pod_object()
    after = patched(pod, mutate(decode_review(create_review(pod)), make_cluster([make_class("zero", 0, default=True)])))
    assert after == pod
