"""The newest time in a List: past times count, future times do not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from cluster_io.in_memory import MemorySource, newest_time
from podrules.api.model.instant import instant

OLD = "2026-11-22T09:00:00Z"
NEW = "2026-11-22T10:00:00Z"
AT_NEW = datetime(2026, 11, 22, 10, tzinfo=UTC)
LATE = "2026-11-22T11:00:00Z"


def obj(kind: str, metadata: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"creationTimestamp": OLD, **(metadata or {})}, **fields}


HAPPENED = {
    "made": obj("Pod", {"creationTimestamp": NEW}),
    "written": obj("Pod", {"managedFields": [{"time": OLD}, {"time": NEW, "fieldsV1": {"f:time": {}}}]}),
    "a condition": obj("Pod", status={"conditions": [{"type": "Ready", "lastTransitionTime": NEW}]}),
    "a probe": obj("Pod", status={"conditions": [{"type": "Ready", "lastProbeTime": NEW, "lastTransitionTime": OLD}]}),
    "a heartbeat": obj("Node", status={"conditions": [{"type": "Ready", "lastHeartbeatTime": NEW}]}),
    "a taint": obj("Node", spec={"taints": [{"key": "k", "timeAdded": NEW}, {"key": "without"}]}),
    "a start": obj("Pod", status={"startTime": NEW}),
    "a running container": obj("Pod", status={"containerStatuses": [{"state": {"running": {"startedAt": NEW}}}]}),
    "an ended container": obj(
        "Pod", status={"initContainerStatuses": [{"lastState": {"terminated": {"startedAt": OLD, "finishedAt": NEW}}}]}
    ),
    "a Lease": obj("Lease", spec={"acquireTime": OLD, "renewTime": "2026-11-22T10:00:00.000000Z"}),
    "an old event": obj("Event", firstTimestamp=OLD, lastTimestamp=NEW, eventTime=None),
    "an event": obj("Event", eventTime="2026-11-22T10:00:00.000000Z"),
    "a series": obj("Event", eventTime=OLD, series={"count": 2, "lastObservedTime": NEW}),
    "a Job's end": obj("Job", status={"startTime": OLD, "completionTime": NEW}),
    "a failed attach": obj("VolumeAttachment", status={"attachError": {"time": NEW, "message": "no"}}),
    "usage": obj("NodeMetrics", timestamp=NEW, window="20s"),
    "a deletion": obj("Pod", {"deletionTimestamp": LATE, "deletionGracePeriodSeconds": 3600}),
    "a deletion without its grace": obj(
        "Pod", {"deletionTimestamp": LATE}, spec={"terminationGracePeriodSeconds": 3600}
    ),
    "a deletion with the usual grace": obj("Pod", {"deletionTimestamp": "2026-11-22T10:00:30Z"}),
    "a deletion of another kind": obj("Node", {"deletionTimestamp": NEW}),
    "another time zone": obj("Pod", {"creationTimestamp": "2026-11-22T11:00:00+01:00"}),
}


@pytest.mark.parametrize("name", HAPPENED)
def test_newest_event_time_counts(name: str) -> None:
    assert newest_time([obj("Pod"), HAPPENED[name], obj("Node")]) == AT_NEW


TO_COME = {
    "the end of a deletion": obj("Pod", {"deletionTimestamp": LATE, "deletionGracePeriodSeconds": 7200}),
    "an annotation": obj("Pod", {"annotations": {"startTime": LATE, "creationTimestamp": LATE}}),
    "a wish": obj("Certificate", spec={"notAfter": LATE, "startTime": LATE}),
    "a plan": obj("Certificate", status={"renewalTime": LATE, "notAfter": LATE}),
    "a template": obj("Deployment", spec={"template": {"metadata": {"creationTimestamp": LATE}}}),
    "a time in data": obj("ConfigMap", data={"time": LATE}, timestamp=LATE),
}


@pytest.mark.parametrize("name", TO_COME)
def test_future_times_do_not_count(name: str) -> None:
    made = obj("Pod", {"creationTimestamp": NEW})
    assert newest_time([made, TO_COME[name]]) == AT_NEW


NODE = obj("Node", status={"conditions": [{"type": "Ready", "lastHeartbeatTime": OLD}]})
LEASE = obj("Lease", spec={"renewTime": OLD})


@pytest.mark.parametrize("heard", [NODE, LEASE], ids=["of a Node", "of a Lease"])
def test_time_far_after_all_heartbeats_does_not_count(heard: dict[str, Any]) -> None:
    far = obj("Pod", {"creationTimestamp": "2099-01-01T00:00:00Z"}, status={"startTime": "2099-01-01T00:00:00Z"})
    assert newest_time([far, heard, obj("Pod", {"creationTimestamp": NEW})]) == AT_NEW
    assert newest_time([far, obj("Pod", {"creationTimestamp": NEW})]) == datetime(2099, 1, 1, tzinfo=UTC)
    assert newest_time([obj("Pod", {"creationTimestamp": "2026-11-22T10:00:01Z"}), heard]) != AT_NEW


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"metadata": None, "status": [], "spec": "x"},
        {"metadata": {"creationTimestamp": "soon", "managedFields": [None, 3], "deletionTimestamp": 5}},
        {"metadata": {"creationTimestamp": None}, "status": {"startTime": {}, "conditions": [[]]}},
        {"kind": "Node", "metadata": {}, "spec": {"taints": [None, {"timeAdded": 7}]}},
        {"kind": "Event", "series": 3, "lastTimestamp": "2026"},
    ],
    ids=str,
)
def test_unreadable_times_are_skipped(broken: dict[str, Any]) -> None:
    assert newest_time([broken]) is None
    assert newest_time([broken, obj("Pod", {"creationTimestamp": NEW})]) == AT_NEW


@pytest.mark.parametrize("grace", [-1, "3600", 10**18, 3600.5, [], 10**11])
def test_odd_grace_periods(grace: Any) -> None:
    """The start of such a deletion is unknown."""
    gone = obj("Pod", {"deletionTimestamp": LATE, "deletionGracePeriodSeconds": grace})
    assert newest_time([gone, obj("Pod", {"creationTimestamp": NEW})]) == AT_NEW


def test_deep_status() -> None:
    value: Any = {"finishedAt": NEW}
    for _ in range(5000):
        value = [{"a": value}]
    assert newest_time([obj("Pod", status=value)]) == AT_NEW


def test_a_plain_list_takes_it_for_now() -> None:
    source = MemorySource([obj("Pod", {"creationTimestamp": NEW})], description="x", is_plain_list=True)
    assert (source.now, source.is_plain_list) == (AT_NEW, True)
    assert MemorySource([], description="x", is_plain_list=True).now is None


@pytest.mark.parametrize("given", [None, AT_NEW])
def test_objects_are_a_cluster_unless_marked_a_list(given: datetime | None) -> None:
    """With a time of capture or without one."""
    source = MemorySource([obj("Pod", {"creationTimestamp": NEW})], description="x", now=given)
    assert (source.now, source.is_plain_list) == (AT_NEW, False)
    listed = MemorySource([obj("Pod")], description="x", now=given, is_plain_list=True)
    assert (listed.now, listed.is_plain_list) == (given or instant(OLD), True)
    assert MemorySource([], description="x", now=given).now == given
