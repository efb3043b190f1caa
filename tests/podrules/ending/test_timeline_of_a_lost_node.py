"""Timelines of a pod on a node that stops answering, and of its volumes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Toleration
from podrules.api.model.workload import Workload
from podrules.ending.timeline.events import EventKind, Reminder, Span, Standing, TimeRule, Way
from podrules.ending.timeline.lost import tolerations_of
from podrules.ending.volumes import WriterGuard, WriterLock
from podrules.node.reachability import OUT_OF_SERVICE, NodeReach, Reach
from tests.controlplane.client import Object
from tests.objects import make_node, make_pod, raw_condition
from tests.podrules.ending.timelines import (
    KEPT,
    NEVER,
    UNREACHABLE,
    Events,
    deleted,
    event,
    has,
    like,
    pod_of,
    timeline_of,
    toleration,
    way_of,
)
from tests.table import table

NOT_READY = "node.kubernetes.io/not-ready"
HEARTBEAT = datetime(2026, 11, 21, 3, 2, 4, tzinfo=UTC)
SILENT = {"reach": Reach.SILENT, "renewed": HEARTBEAT}


@table(
    "owner, replaced",
    {
        "ReplicaSet: at the deletionTimestamp": ("ReplicaSet", (350, 361)),
        "StatefulSet: never by itself": ("StatefulSet", NEVER),
        "Job: the same, for it was Ready last when the node went silent": ("Job", (350, 361)),
        "no owner": ("", NEVER),
    },
)
def test_T5_lost_node_with_the_default_toleration(owner: str, replaced: tuple[int | None, int | None]) -> None:
    timeline = way_of(Way.NODE_LOST, pod_of(owner=owner))
    expected = {
        "NodeUnknown": (50, 60),
        "Tainted": (50, 61),
        "Deleted": (350, 361, "spec.tolerations[0].tolerationSeconds"),
        "SIGTERM": NEVER,
        "ObjectGone": NEVER,
        "Replaced": replaced,
    }
    assert like(timeline, expected) == expected
    for reminder in (Reminder.NODE_RETURNS, Reminder.NODE_DELETED, Reminder.OUT_OF_SERVICE):
        assert has(timeline, reminder)


@table(
    "pod, facts, expected",
    {
        "a Job's back-off starts when the node goes silent": (
            pod_of(owner="Job"),
            {"tolerations": (toleration(3),)},
            {"Deleted": (53, 64), "Replaced": (60, 70)},
        ),
        "a Job that replaces failed pods waits": (
            pod_of(owner="Job"),
            {"workload": from_object({"spec": {"podReplacementPolicy": "Failed"}}, Workload)},
            {"Replaced": NEVER},
        ),
        "the pod of a deleted node is collected": (
            pod_of(owner="StatefulSet"),
            {"reach": Reach.GONE},
            {"ObjectGone": (0, 80, TimeRule.POD_GC), "Replaced": (0, 80), "SIGTERM": NEVER},
        ),
        "finalizers delay that": (
            pod_of(metadata=KEPT),
            {"reach": Reach.GONE},
            {"ObjectGone": (0, None, TimeRule.FINALIZERS)},
        ),
        "a deletion after the node went silent is never delivered": (
            pod_of(metadata=deleted("03:08:26")),
            SILENT,
            {"Deleted": (352, 352), "SIGTERM": NEVER},
        ),
        "one in the second of the last heartbeat is as one before": (
            pod_of(metadata=deleted("03:02:34")),
            SILENT,
            {"Deleted": (0, 0), "SIGTERM": (0, None)},
        ),
        "one before is delivered, with an unknown outcome": (
            pod_of(metadata=deleted("03:02:24")),
            SILENT,
            {"Deleted": (-10, -10), "SIGTERM": (-10, None)},
        ),
        "a volume that a driver attached": (
            pod_of(),
            {"guards": (WriterGuard("data", WriterLock.ATTACHMENT),)},
            {"VolumeFree data": (*NEVER, TimeRule.FORCE_DETACH)},
        ),
        "a volume that nothing keeps from another node": (
            pod_of(),
            {"guards": (WriterGuard("data", WriterLock.NONE),)},
            {"VolumeFree data": (0, 0)},
        ),
    },
)
def test_T5_events_of_a_lost_node_come_in_time(pod: Pod, facts: Object, expected: Events) -> None:
    timeline = way_of(Way.NODE_LOST, pod, **facts)
    assert like(timeline, expected) == expected
    if pod.metadata.deletion_timestamp:
        # It no longer stays, whenever its node answers again.
        assert has(timeline, Reminder.NODE_RETURNS_LATE)
        assert not has(timeline, Reminder.NODE_RETURNS)


@table(
    "tolerations, expected",
    {
        "none": ([], (50, 61, TimeRule.NOT_TOLERATED)),
        "without end": ([toleration(None)], (*NEVER, TimeRule.TOLERATED_FOR_EVER)),
        "of 0 s": ([toleration(0)], (50, 61, TimeRule.TOLERATION_SECONDS)),
        "of 30 s": ([toleration(30)], (80, 91, TimeRule.TOLERATION_SECONDS)),
        "the first that matches counts": ([toleration(60), toleration(30)], (110, 121, TimeRule.TOLERATION_SECONDS)),
        "of everything": ([Toleration(operator="Exists")], (*NEVER, TimeRule.TOLERATED_FOR_EVER)),
        "of another taint": (
            [Toleration(key=NOT_READY, operator="Exists", effect="NoExecute")],
            (50, 61, TimeRule.NOT_TOLERATED),
        ),
    },
)
def test_T5_lost_node_and_tolerations(tolerations: list[Toleration], expected: tuple[Any, ...]) -> None:
    timeline = way_of(Way.NODE_LOST, pod_of(), tolerations=tuple(tolerations))
    assert like(timeline, {"Deleted": expected}) == {"Deleted": expected}


@table(
    "own, seconds",
    {
        "pod has no tolerations": ([], [300]),
        "none is for taint unreachable": ([Toleration(key="foo", toleration_seconds=700)], [700, 300]),
        "pod specified a toleration for taint not-ready": (
            [Toleration(key=NOT_READY, operator="Exists", effect="NoExecute", toleration_seconds=700)],
            [700, 300],
        ),
        "pod specified a toleration for taint unreachable": ([toleration(700)], [700]),
        "of every effect": ([Toleration(key=UNREACHABLE, operator="Exists", toleration_seconds=700)], [700]),
        "pod specified for all keys": ([Toleration(operator="Exists", toleration_seconds=700)], [700]),
    },
)
def test_T5_tolerations_of_a_new_pod(own: list[Toleration], seconds: list[int]) -> None:
    pod = make_pod()
    pod = replace(pod, spec=replace(pod.spec, tolerations=tuple(own)))
    assert [entry.toleration_seconds for entry in tolerations_of(pod, daemon=False)] == seconds
    # A DaemonSet's pod tolerates it without end, whatever its author wrote.
    assert tolerations_of(pod, daemon=True)[0].toleration_seconds is None


def test_T5_finished_pod_of_lost_node_ends_with_deletion() -> None:
    timeline = way_of(Way.NODE_LOST, pod_of(status={"phase": "Succeeded"}))
    expected = {"ObjectGone": (350, 361), "Deleted": (350, 361)}
    assert like(timeline, expected) == expected
    assert [note.reminder for note in timeline.notes] == [Reminder.VERSION_UNKNOWN]


@pytest.mark.parametrize("reach", [Reach.SILENT, Reach.MISSED_HEARTBEATS, Reach.OUT_OF_SERVICE])
def test_T5_silent_node_counts_from_last_heartbeat(reach: Reach) -> None:
    timeline = timeline_of(pod_of(), reach=reach, renewed=HEARTBEAT)
    assert (timeline.silent, timeline.began, timeline.ways[0].way) == (True, HEARTBEAT, Way.NODE_LOST)
    by_way = {entry.way: entry for entry in timeline.ways}
    # A DELETE is accepted, and no kubelet acts on it.
    expected = {"SIGTERM": NEVER, "ObjectGone": (0, 20) if reach is Reach.OUT_OF_SERVICE else NEVER}
    assert like(by_way[Way.DELETE], expected) == expected
    for way in (Way.EVICT_HARD, Way.EVICT_SOFT, Way.PROBE, Way.SHUTDOWN, Way.PREEMPT):
        assert by_way[way].standing is Standing.SILENT


def test_T5_heartbeat_without_lease_comes_from_condition() -> None:
    since = datetime(2026, 11, 21, 3, 2, 56, tzinfo=UTC)
    timeline = timeline_of(pod_of(), reach=NodeReach("node-1", Reach.SILENT, "", since))
    assert timeline.began == since - timedelta(seconds=50)


@table(
    "ready, added, expected",
    {
        "both": ("03:02:56", "03:02:57", {"NodeUnknown": (52, 52), "Tainted": (53, 53), "Deleted": (353, 353)}),
        "the taint is to come": (
            "03:02:56",
            None,
            {"NodeUnknown": (52, 52), "Tainted": (52, 53), "Deleted": (352, 353)},
        ),
        "neither": (None, None, {"NodeUnknown": (50, 60), "Tainted": (50, 61), "Deleted": (350, 361)}),
    },
)
def test_T5_silent_node_shows_what_it_has_noted_at_its_own_time(
    ready: str | None, added: str | None, expected: Events
) -> None:
    day = "2026-11-21T"
    conditions = [raw_condition("Ready", "Unknown", lastTransitionTime=f"{day}{ready}Z")] if ready else []
    taints = [{"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": f"{day}{added}Z"}] if added else []
    facts: dict[str, Any] = {
        "renewed": HEARTBEAT + timedelta(milliseconds=500),
        "node": make_node(conditions=conditions, taints=taints),
    }
    timeline = way_of(Way.NODE_LOST, pod_of(), reach=Reach.SILENT, **facts)
    assert like(timeline, expected) == expected
    assert (event(timeline, "NodeUnknown").rule is TimeRule.NODE_SHOWS) is (ready is not None)
    # A node that already has its taint does not wait for the eviction rate of its zone.
    assert has(timeline, Reminder.MAX_SILENT) is (added is None)
    # Once it answers again it may be lost again: the time of that is unknown.
    assert event(way_of(Way.NODE_LOST, pod_of(), **facts), "NodeUnknown").span == Span(50, 60)


def test_T5_deleted_node_counts_from_now() -> None:
    timeline = timeline_of(
        pod_of(owner="StatefulSet"), reach=NodeReach("node-1", Reach.GONE, "", HEARTBEAT), renewed=HEARTBEAT
    )
    assert timeline.began is None
    [delete] = [entry for entry in timeline.ways if entry.way is Way.DELETE]
    assert event(delete, "ObjectGone").span == Span(0, 80)


@pytest.mark.parametrize(("added", "gone"), [("2026-11-21T03:10:04Z", (480, 500)), (None, (350, None))])
def test_T5_out_of_service_object_is_gone_after_20_s(added: str | None, gone: tuple[int, int | None]) -> None:
    timeline = way_of(
        Way.NODE_LOST,
        pod_of(owner="StatefulSet", metadata=deleted("03:08:24")),
        reach=NodeReach("node-1", Reach.OUT_OF_SERVICE, "spec.taints[0]"),
        renewed=HEARTBEAT,
        node=make_node(taints=[{"key": OUT_OF_SERVICE, "effect": "NoExecute", "timeAdded": added}]),
    )
    expected = {"ObjectGone": (*gone, TimeRule.POD_GC_OUT_OF_SERVICE), "Replaced": gone}
    assert like(timeline, expected) == expected


# Volumes


@pytest.mark.parametrize(("lock", "free"), [(WriterLock.ATTACHMENT, Span(0, 40)), (WriterLock.NONE, Span(0, 0))])
def test_T5_volume_is_released_after_a_delete(lock: WriterLock, free: Span) -> None:
    timeline = way_of(Way.DELETE, pod_of(), guards=(WriterGuard("data", lock),))
    assert event(timeline, "VolumeFree data").span == free


def test_T5_lost_node_volume_detaches_6_min_after_object() -> None:
    timeline = way_of(Way.NODE_LOST, pod_of(), guards=(WriterGuard("data", WriterLock.ATTACHMENT),))
    assert event(timeline, "VolumeFree").seconds == 360


def test_T5_shared_volume_waits_for_no_pod() -> None:
    timeline = way_of(Way.DELETE, pod_of(), guards=(WriterGuard("shared", WriterLock.NOT_NEEDED),))
    assert all(one.what is not EventKind.VOLUME_FREE for one in timeline.events)
