"""Pods that a workload already has."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.api.model.base import ObjectMeta
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import LabelSelector
from podrules.scheduling.placement.controllers import OwnPods
from tests.podrules.scheduling.building import owned
from tests.podrules.scheduling.placement.building import make_pod


def made_by(name: str, kind: str, owner: str, **status: Any) -> Pod:
    return from_object(owned(make_pod(name, labels={"app": "web"}, status=status), kind, owner), Pod)


PODS = (
    made_by("web-a", "ReplicaSet", "web-5f6c"),
    made_by("web-b", "ReplicaSet", "web-77aa"),
    made_by("web-c", "ReplicaSet", "web-77aa", phase="Failed"),
    made_by("db-0", "StatefulSet", "db"),
    made_by("other-0", "StatefulSet", "other"),
    from_object(make_pod("lone"), Pod),
)


@pytest.mark.parametrize(
    ("kind", "name", "count"),
    [
        ("deployment", "web", 2),
        ("replicaset", "web-77aa", 1),
        ("statefulset", "db", 1),
        ("statefulset", "web", 0),
        ("pod", "lone", 1),
        ("cronjob", "db", 0),
    ],
)
def test_only_own_unfinished_pods_count(kind: str, name: str, count: int) -> None:
    selector = LabelSelector(match_labels={"app": "web"})
    assert len(OwnPods(kind, ObjectMeta(name=name, namespace="default"), selector).staying(PODS)) == count
    assert len(OwnPods(kind, ObjectMeta(name=name, namespace="elsewhere"), selector).staying(PODS)) == 0


def test_deployment_without_a_selector_has_none() -> None:
    assert len(OwnPods("deployment", ObjectMeta(name="web", namespace="default"), None).staying(PODS)) == 0
