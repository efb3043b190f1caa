"""Warnings about workloads with pods that will be refused because of their class."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from cluster_io.demo import demo_objects
from tests.controlplane.client import Object
from tests.webhook.clusters import SilentSource, make_class, make_cluster, make_namespace, pod_rules
from tests.webhook.review_objects import (
    controlled_by,
    create_review,
    mutated,
    said,
    update_review,
    validated,
    workload_object,
)
from webhook.cluster.view import Cluster
from webhook.reviews.response import ALLOWED, Answer, encode_answer

CLASSES = [make_class("high", 1000), make_class("low", -10)]
RESOURCES = {
    "Deployment": "deployments.apps",
    "ReplicaSet": "replicasets.apps",
    "StatefulSet": "statefulsets.apps",
    "DaemonSet": "daemonsets.apps",
    "ReplicationController": "replicationcontrollers",
    "Job": "jobs.batch",
    "CronJob": "cronjobs.batch",
}
WORDS = "no PriorityClass with name hihg was found, its pods will be refused; did you mean high?"
DEPLOYMENT = workload_object("Deployment", "hihg")
DELETED = {**DEPLOYMENT, "metadata": {**DEPLOYMENT["metadata"], "deletionTimestamp": "2026-11-21T03:00:00Z"}}


def _path(kind: str) -> str:
    template = "spec.jobTemplate.spec.template" if kind == "CronJob" else "spec.template"
    return f"{template}.spec.priorityClassName"


@pytest.mark.parametrize("kind", RESOURCES)
@pytest.mark.parametrize("review", [create_review, update_review])
def test_P1_unknown_class_warns(kind: str, review: Any) -> None:
    answer = validated(review(workload_object(kind, "hihg")), make_cluster(CLASSES))
    assert answer.allowed
    assert answer.warnings == (f"{_path(kind)}: {WORDS}",)


@pytest.mark.parametrize("kind", RESOURCES)
@pytest.mark.parametrize("class_name", [None, "", "high"])
def test_P1_a_class_that_exists_or_none_is_not(kind: str, class_name: str | None) -> None:
    assert validated(workload_object(kind, class_name), make_cluster(CLASSES)) == ALLOWED


REPLICA_SET = workload_object("ReplicaSet", "hihg", owner=controlled_by(DEPLOYMENT))
JOB = workload_object("Job", "hihg", owner=controlled_by(workload_object("CronJob", "hihg")))


@pytest.mark.parametrize(
    "review",
    [
        pytest.param(create_review(REPLICA_SET), id="a Deployment's ReplicaSet"),
        pytest.param(create_review(JOB), id="a CronJob's Job"),
        pytest.param(update_review(DEPLOYMENT, sub_resource="status"), id="a status"),
        pytest.param(update_review(DEPLOYMENT, sub_resource="scale"), id="a scale"),
    ],
)
def test_passed_over(review: bytes) -> None:
    assert validated(review, make_cluster(CLASSES)) == ALLOWED


def test_an_owner_that_does_not_control_is_no_excuse() -> None:
    owner = {**controlled_by(DEPLOYMENT), "controller": False}
    answer = validated(workload_object("ReplicaSet", "hihg", owner=owner), make_cluster(CLASSES))
    assert answer.warnings == (f"spec.template.spec.priorityClassName: {WORDS}",)


@pytest.mark.parametrize("kind", RESOURCES)
def test_workloads_are_never_changed(kind: str) -> None:
    assert mutated(workload_object(kind, None), make_cluster(CLASSES)) == ALLOWED


@pytest.mark.parametrize(
    ("name", "live"),
    [
        pytest.param("hihg", [*CLASSES, make_class("hihg", 1)], id="not cached yet"),
        pytest.param("high", [], id="deleted, but cached"),
    ],
)
def test_P1_class_that_differs_in_the_cache_causes_no_warning(name: str, live: list[Object]) -> None:
    assert validated(workload_object("Deployment", name), make_cluster(CLASSES, live=live)) == ALLOWED


def test_P1_unreadable_class_is_assumed_to_exist(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert validated(DEPLOYMENT, make_cluster(CLASSES, live=SilentSource())) == ALLOWED
    assert "PriorityClass hihg cannot be read and is assumed to exist" in caplog.text


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("a\x1b[2J\r\n\u202e\u2028b", id="control characters"),
        pytest.param("x" * 100_000, id="100 KB"),
        pytest.param("high" * 25_000, id="100 KB of a near name"),
    ],
)
def test_warning_about_hostile_class_name_is_plain_and_short(name: str) -> None:
    answer = validated(workload_object("Deployment", name), make_cluster(CLASSES))
    response = json.loads(encode_answer("u", said(answer)))["response"]
    (warning,) = response["warnings"]
    assert response == {"uid": "u", "allowed": True, "warnings": [warning]}
    assert warning.startswith("spec.template.spec.priorityClassName: no PriorityClass with name ")
    assert warning.isprintable()
    assert len(warning) <= 256


def test_P1_demo_cluster_warns_only_about_the_deleted_class(demo_cluster: Cluster) -> None:
    warned = {
        (entry["kind"], entry["metadata"]["name"])
        for entry in demo_objects()
        if entry["kind"] in RESOURCES and validated(update_review(entry), demo_cluster) != ALLOWED
    }
    assert warned == {("Deployment", "loyalty")}


# What a namespace does not allow, and refusals

LIMITED: Object = {"allowed": {"shop": ["low"]}}
WARNS, DENIES = (pod_rules(priorityClasses={**LIMITED, "templates": mode}) for mode in ("warn", "deny"))
NOT_ALLOWED = "PriorityClass high is not allowed in namespace shop (allowed: low)"


@pytest.mark.parametrize("kind", RESOURCES)
def test_P1_disallowed_class_of_a_template_warns_or_is_refused(kind: str) -> None:
    workload = workload_object(kind, "high")
    text = f"{_path(kind)}: {NOT_ALLOWED}, its pods will be refused"
    assert said(validated(workload, make_cluster(CLASSES, options=WARNS))) == Answer(warnings=(text,))
    denial = f'{RESOURCES[kind]} "web" is forbidden: {text}'
    assert said(validated(workload, make_cluster(CLASSES, options=DENIES))) == Answer(denial=denial)


def test_P1_template_is_not_refused_if_pods_only_get_warnings() -> None:
    options = pod_rules(priorityClasses={**LIMITED, "templates": "deny", "disallowed": "warn"})
    answer = validated(workload_object("Deployment", "high"), make_cluster(CLASSES, options=options))
    assert said(answer) == Answer(warnings=(f"{_path('Deployment')}: {NOT_ALLOWED}",))


USUAL, BY_LABEL = make_class("usual", 7, default=True), make_namespace(default_priority_class="low")


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        pytest.param(CLASSES, "", id="no class at all"),
        pytest.param([*CLASSES, USUAL], "usual", id="the global default"),
        pytest.param([*CLASSES, BY_LABEL, USUAL], "", id="the namespace's default"),
        pytest.param([USUAL, BY_LABEL], "usual", id="the namespace's default does not exist"),
    ],
)
def test_P1_template_without_class_is_judged_by_its_pods_class(objects: list[Object], text: str) -> None:
    answer = validated(workload_object("Deployment", None), make_cluster(objects, options=DENIES))
    assert (f"PriorityClass {text} is not allowed" in answer.denial) if text else answer == ALLOWED


@pytest.mark.parametrize(
    ("review", "refused"),
    [
        pytest.param(create_review(DEPLOYMENT), True, id="made"),
        pytest.param(update_review(DEPLOYMENT, old=workload_object("Deployment", "low")), True, id="changed to it"),
        pytest.param(update_review(DEPLOYMENT), False, id="there before: it can be scaled, and changed otherwise"),
        pytest.param(update_review(DELETED, old=workload_object("Deployment", "low")), True, id="being deleted"),
        pytest.param(update_review(DELETED), False, id="being deleted, with the class it had: a finalizer is removed"),
    ],
)
def test_P1_only_a_change_to_an_unknown_class_is_refused(review: bytes, refused: bool) -> None:
    text = f"{_path('Deployment')}: {WORDS}"
    expected = Answer(denial=f'deployments.apps "web" is forbidden: {text}') if refused else Answer(warnings=(text,))
    assert said(validated(review, make_cluster(CLASSES, options=DENIES))) == expected


def test_P1_nothing_is_refused_for_a_class_that_cannot_be_read() -> None:
    cluster = make_cluster(CLASSES, live=SilentSource(), options=pod_rules(priorityClasses={"templates": "deny"}))
    assert validated(DEPLOYMENT, cluster) == ALLOWED


def test_a_replication_controller_without_a_template() -> None:
    workload = {**workload_object("ReplicationController", None), "spec": {"replicas": 0}}
    assert validated(workload, make_cluster(CLASSES, options=DENIES)) == ALLOWED
