"""The end of a deleted pod: one rule for every answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podrules.api.model.instant import FIRST, LAST
from podrules.api.model.pod import Pod
from podrules.ending.deleted_pod import deleted_at, pod_ending, stop_plan
from tests.objects import make_pod, raw_container
from tests.table import table

RUNNING = {"name": "app", "state": {"running": {}}}
ENDED = {"name": "app", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}


def at(second: int) -> datetime:
    return datetime(2026, 11, 22, 10, 5, tzinfo=UTC) + timedelta(seconds=second)


def going(seconds: int = 30, spec: int = 30, **more: Any) -> Pod:
    """A pod deleted at 10:05:00 with this grace period in seconds."""
    metadata = {"deletionGracePeriodSeconds": seconds, **more.pop("metadata", {})}
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = at(seconds).isoformat()
    status = {"phase": "Running", "containerStatuses": [more.pop("container", RUNNING)], **more.pop("status", {})}
    given = {"nodeName": "node-1", "metadata": metadata, "status": status, **more}
    return make_pod(terminationGracePeriodSeconds=spec, **given)


def test_T5_pod_ends_by_grace_period_after_deletion() -> None:
    ending = pod_ending(going())
    assert (ending.deleted_at, ending.ends_by, ending.processes) == (at(0), at(30), True)
    assert not ending.deleted_earlier


def test_T5_stop_in_progress_keeps_its_period() -> None:
    # BeforeDelete has reduced the deletionTimestamp by the shortening of the second delete.
    ending = pod_ending(going(10, 60))
    assert (ending.deleted_at, ending.ends_by, ending.grace.first) == (at(0), at(60), 60)
    # A period longer than the pod's own can only come from the first delete.
    longer = pod_ending(going(300, 60))
    assert (longer.ends_by, longer.grace.first) == (at(300), None)
    assert stop_plan(going(300, 60)).sigkill_latest == 300


@pytest.mark.parametrize("seconds", [0, 1])
def test_T5_elapsed_period_hides_first_delete(seconds: int) -> None:
    ending = pod_ending(going(seconds, 60))
    assert (ending.deleted_at, ending.deleted_earlier) == (at(0), True)


@table(
    "seconds, deleted_at, after",
    {
        "consistent times": (60, at(-60), False),
        "deleted before the pod was created": (600, at(-300), True),
        "a hundred years": (3_153_600_000, at(-300), True),
        "more than a Duration holds": (10**11, at(-300), True),
        "the most: a Duration of -1 s": (2**63 - 1, at(1), False),
    },
)
def test_T5_pod_is_not_deleted_before_its_creation(seconds: int, deleted_at: datetime, after: bool) -> None:
    made = {"creationTimestamp": at(-300).isoformat(), "deletionTimestamp": at(0).isoformat()}
    ending = pod_ending(going(seconds, metadata=made))
    assert (ending.deleted_at, ending.deletion_time_unknown) == (deleted_at, after)
    assert ending.ends_by is not None


def test_T5_extreme_deletion_times_are_clamped() -> None:
    ending = pod_ending(going(86_400, metadata={"deletionTimestamp": "0001-01-01T00:00:00Z"}))
    assert ending.deleted_at == FIRST
    assert pod_ending(going(60, 10**15)).ends_by == LAST


def test_T5_hook_that_takes_the_whole_period_adds_the_minimum() -> None:
    hook = raw_container(lifecycle={"preStop": {"exec": {"command": ["drain"]}}})
    assert pod_ending(going(containers=[hook])).ends_by == at(32)


@table(
    "pod, quiet, processes",
    {
        "its containers have ended": (going(container=ENDED), False, False),
        "they had ended at the node's last heartbeat": (going(container=ENDED), True, True),
        "its node does not answer": (going(), True, True),
        "it has finished": (going(status={"phase": "Succeeded"}), False, False),
        "it is on no node": (going(nodeName=""), False, False),
    },
)
def test_T5_no_end_time_without_process_or_kubelet(pod: Pod, quiet: bool, processes: bool) -> None:
    ending = pod_ending(pod, quiet=quiet)
    assert (ending.processes, ending.ends_by) == (processes, None)


def test_T5_delete_of_a_mirror_stops_no_static_pod() -> None:
    mirror = {"annotations": {"kubernetes.io/config.mirror": "abc"}}
    ending = pod_ending(going(metadata=mirror))
    assert (ending.static, ending.processes, ending.ends_by) == (True, True, None)
    plan = stop_plan(going(metadata=mirror))
    assert (plan.static, plan.processes, plan.containers, plan.sigkill_latest) == (True, True, (), 0)


@table(
    "pod, option, at_once",
    {
        "another delete waits for the first": (going(status={"phase": "Succeeded"}), None, False),
        "without grace it does not": (going(status={"phase": "Succeeded"}), 0, True),
        "an interrupted removal is finished": (going(0), None, True),
        "a finalizer keeps it": (going(0, metadata={"finalizers": ["example.com/copy"]}), 0, False),
    },
)
def test_T1_second_delete_removes_the_object_only_without_grace(pod: Pod, option: int | None, at_once: bool) -> None:
    assert stop_plan(pod, option).object_removed_at_once is at_once


def test_T1_undeleted_pod_has_no_deletion() -> None:
    pod = make_pod(nodeName="node-1", terminationGracePeriodSeconds=5)
    ending = pod_ending(pod)
    assert (deleted_at(pod), ending.deleted_at, ending.ends_by, ending.processes) == (None, None, None, True)


@pytest.mark.parametrize(("second", "late"), [(29, False), (31, False), (90, False), (91, True)])
def test_T5_pod_is_late_a_minute_after_its_end(second: int, late: bool) -> None:
    assert pod_ending(going()).is_late(at(second)) is late
    assert pod_ending(going()).is_late(None) is False
    assert pod_ending(going(), quiet=True).is_late(at(second)) is False
