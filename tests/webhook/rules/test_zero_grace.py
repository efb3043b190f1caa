"""Warnings about pods with terminationGracePeriodSeconds 0."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controlplane.client import Object
from tests.objects import raw_object
from tests.webhook.clusters import make_cluster
from tests.webhook.review_objects import (
    controlled_by,
    create_review,
    pod_object,
    update_review,
    validated,
    workload_object,
)
from webhook.reviews.response import ALLOWED

MEANING = (
    "0, so every deletion is a force deletion: the object is removed at once, and its processes may run on "
    "next to a replacement; 1 or more waits for them"
)


def of_kind(kind: str, api_version: str) -> Object:
    return controlled_by(raw_object(kind, "owner", apiVersion=api_version, metadata={"uid": "1"}))


@pytest.mark.parametrize(
    "owner",
    [pytest.param(None, id="bare"), pytest.param(of_kind("Kafka", "kafka.example.com/v1"), id="of an operator")],
)
def test_F1_zero_grace_pod_warns(owner: Object | None) -> None:
    answer = validated(pod_object(terminationGracePeriodSeconds=0, owner=owner), make_cluster())
    assert answer.warnings == (f"spec.terminationGracePeriodSeconds: {MEANING}",)


@pytest.mark.parametrize(
    ("seconds", "owner"),
    [(1, None), (30, None), (None, None), (0, of_kind("ReplicaSet", "apps/v1")), (0, of_kind("Job", "batch/v1"))],
)
def test_F1_pod_with_grace_or_of_a_workload_causes_no_warning(seconds: int | None, owner: Object | None) -> None:
    assert validated(pod_object(terminationGracePeriodSeconds=seconds, owner=owner), make_cluster()) == ALLOWED


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"])
@pytest.mark.parametrize("review", [create_review, update_review])
def test_F1_zero_grace_workload_warns(kind: str, review: Any) -> None:
    workload = workload_object(kind, None)
    path = "spec.jobTemplate.spec.template.spec" if kind == "CronJob" else "spec.template.spec"
    spec = workload["spec"]["jobTemplate"]["spec"] if kind == "CronJob" else workload["spec"]
    spec["template"]["spec"]["terminationGracePeriodSeconds"] = 0
    warnings = validated(review(workload), make_cluster()).warnings
    assert warnings == (f"{path}.terminationGracePeriodSeconds: {MEANING}",)
    assert all(len(line) <= 256 for line in warnings)


def test_F1_workload_of_a_controller_is_ignored() -> None:
    workload = workload_object("ReplicaSet", None, owner=of_kind("Deployment", "apps/v1"))
    workload["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 0
    assert validated(workload, make_cluster()) == ALLOWED
