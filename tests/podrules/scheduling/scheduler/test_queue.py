"""The pods before a pod in the queue."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from podrules.api.model.base import Condition
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.queue import QueuePosition, queue_position, queued_above
from tests.objects import raw_pod


def make_pending(name: str, priority: int | None = None, created: str = "10:00:00", **spec: Any) -> Pod:
    at = {"creationTimestamp": f"2026-01-01T{created}Z"}
    return from_object(
        raw_pod(name, uid=name, metadata=at, status={"phase": "Pending"}, priority=priority, **spec), Pod
    )


def test_P3_priority_comes_before_age() -> None:
    pods = [make_pending("old", 0, "09:00:00"), make_pending("high", 5, "11:00:00")]
    assert queue_position(make_pending("own", 1), pods) == QueuePosition(2, 3, 1)


def test_P3_older_pod_of_equal_priority_is_first() -> None:
    pods = [make_pending("older", None, "09:00:00"), make_pending("younger", 0, "11:00:00")]
    assert queue_position(make_pending("own", 0), pods) == QueuePosition(2, 3, 0)


def test_P3_pods_of_one_priority_and_second_are_tied() -> None:
    own = make_pending("own", 7)
    pods = [own, make_pending("twin", 7), make_pending("lower", 6), make_pending("later", 7, "10:00:01")]
    assert queue_position(own, pods) == QueuePosition(1, 4, 0, tied=1)


def test_P3_pod_itself_is_counted_once() -> None:
    own = make_pending("own")
    assert queue_position(own, [own]) == QueuePosition(1, 1, 0)


@pytest.mark.parametrize(
    "spec",
    [{"schedulingGates": [{"name": "wait"}]}, {"nodeName": "a"}, {"schedulerName": "volcano"}],
    ids=["gated", "bound", "of another scheduler"],
)
def test_P3_pod_outside_the_queue_precedes_no_pod(spec: Any) -> None:
    gated = 1 if "schedulingGates" in spec else 0
    assert queue_position(make_pending("own"), [make_pending("other", 9, **spec)]) == QueuePosition(1, 1, 0, gated)


def test_P3_pod_that_is_being_bound_is_not_in_the_queue() -> None:
    own, other = make_pending("own"), make_pending("other", 9, "09:00:00")
    status = replace(other.status, nominated_node_name="n-1")
    binds = replace(other, status=status)
    assert queue_position(own, [binds]) == QueuePosition(1, 1, 0)
    assert queue_position(binds, [own]) is None
    assert queued_above(own, [binds]) == []
    # A preemption makes room for it.
    unschedulable = Condition(type="PodScheduled", status="False", reason="Unschedulable")
    waits = replace(other, status=replace(status, conditions=(unschedulable,)))
    assert queue_position(own, [waits]) == QueuePosition(2, 2, 1)
    assert queued_above(own, [waits]) == [waits]


@pytest.mark.parametrize("spec", [{"schedulingGates": [{"name": "wait"}]}, {"nodeName": "a"}])
def test_P3_gated_or_bound_pod_has_no_position(spec: Any) -> None:
    assert queue_position(make_pending("own", **spec), []) is None
