"""Who is warned that the pods of a workload will be refused for their class."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from podrules.cluster.demo import demo_objects
from tests.webhook.clusters import SilentSource, make_class, make_cluster
from tests.webhook.reviews import controlled_by, create_review, update_review, workload_object
from webhook.cluster import Cluster
from webhook.handlers import mutate, validate
from webhook.response import ALLOWED, encode_answer
from webhook.review import decode_review

CLASSES = [make_class("high", 1000), make_class("low", -10)]
KINDS = ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob"]
WORDS = "no PriorityClass with name hihg was found, its pods will be refused; did you mean high?"
DEPLOYMENT = workload_object("Deployment", "hihg")


def _path(kind: str) -> str:
    template = "spec.jobTemplate.spec.template" if kind == "CronJob" else "spec.template"
    return f"{template}.spec.priorityClassName"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("review", [create_review, update_review])
def test_P1_an_unknown_class_is_warned_of(kind: str, review: Any) -> None:
    answer = validate(decode_review(review(workload_object(kind, "hihg"))), make_cluster(CLASSES))
    assert answer.allowed
    assert answer.warnings == (f"{_path(kind)}: {WORDS}",)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("class_name", [None, "", "high"])
def test_P1_a_class_that_exists_or_none_is_not(kind: str, class_name: str | None) -> None:
    workload = workload_object(kind, class_name)
    assert validate(decode_review(create_review(workload)), make_cluster(CLASSES)) == ALLOWED


@pytest.mark.parametrize(
    "review",
    [
        pytest.param(
            create_review(workload_object("ReplicaSet", "hihg", owner=controlled_by(DEPLOYMENT))),
            id="a Deployment's ReplicaSet",
        ),
        pytest.param(
            create_review(workload_object("Job", "hihg", owner=controlled_by(workload_object("CronJob", "hihg")))),
            id="a CronJob's Job",
        ),
        pytest.param(update_review(DEPLOYMENT, sub_resource="status"), id="a status"),
        pytest.param(update_review(DEPLOYMENT, sub_resource="scale"), id="a scale"),
        pytest.param(
            create_review(workload_object("ReplicationController", "hihg")), id="a ReplicationController, not asked"
        ),
    ],
)
def test_passed_over(review: bytes) -> None:
    assert validate(decode_review(review), make_cluster(CLASSES)) == ALLOWED


def test_an_owner_that_does_not_control_is_no_excuse() -> None:
    owner = {**controlled_by(DEPLOYMENT), "controller": False}
    workload = workload_object("ReplicaSet", "hihg", owner=owner)
    answer = validate(decode_review(create_review(workload)), make_cluster(CLASSES))
    assert answer.warnings == (f"spec.template.spec.priorityClassName: {WORDS}",)


@pytest.mark.parametrize("kind", KINDS)
def test_workloads_are_never_changed(kind: str) -> None:
    assert mutate(decode_review(create_review(workload_object(kind, None))), make_cluster(CLASSES)) == ALLOWED


def test_P1_a_class_that_the_cache_does_not_have_yet() -> None:
    cluster = make_cluster(CLASSES, live=[*CLASSES, make_class("hihg", 1)])
    assert validate(decode_review(create_review(DEPLOYMENT)), cluster) == ALLOWED


def test_P1_a_class_that_is_gone_and_cached_still() -> None:
    workload = workload_object("Deployment", "high")
    assert validate(decode_review(create_review(workload)), make_cluster(CLASSES, live=[])) == ALLOWED


def test_P1_a_class_that_cannot_be_read_is_taken_to_exist(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        answer = validate(decode_review(create_review(DEPLOYMENT)), make_cluster(CLASSES, live=SilentSource()))
    assert answer == ALLOWED
    assert "PriorityClass hihg is taken to exist" in caplog.text


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("a\x1b[2J\r\n\u202e\u2028b", id="control characters"),
        pytest.param("x" * 100_000, id="100 KB"),
        pytest.param("high" * 25_000, id="100 KB of a near name"),
    ],
)
def test_a_hostile_class_name_is_warned_of_in_plain_and_short_words(name: str) -> None:
    answer = validate(decode_review(create_review(workload_object("Deployment", name))), make_cluster(CLASSES))
    response = json.loads(encode_answer("u", answer))["response"]
    (warning,) = response["warnings"]
    assert response == {"uid": "u", "allowed": True, "warnings": [warning]}
    assert warning.startswith("spec.template.spec.priorityClassName: no PriorityClass with name ")
    assert warning.isprintable()
    assert len(warning) <= 256


def test_P1_of_the_demo_cluster_only_who_names_the_deleted_class_is_warned(demo_cluster: Cluster) -> None:
    workloads = [entry for entry in demo_objects() if entry["kind"] in KINDS]
    warned = {
        (entry["kind"], entry["metadata"]["name"])
        for entry in workloads
        if validate(decode_review(update_review(entry)), demo_cluster) != ALLOWED
    }
    assert warned == {("Deployment", "loyalty")}
