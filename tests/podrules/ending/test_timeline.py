"""Timelines: the events of a pod, with their times, for every way in which it may end on a node that answers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from podrules.api.model.decode import from_object
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.api.model.workload import Workload
from podrules.ending.timeline.events import EventKind, Note, Reminder, Span, Standing, TimeRule, Way
from podrules.ending.timeline.kubelet_kill import shutdown_groups
from podrules.ending.volumes import WriterGuard, WriterLock
from podrules.node.reachability import Reach
from tests.controlplane.client import Object
from tests.objects import make_node, make_pod, raw_condition, raw_container, raw_sidecar
from tests.podrules.ending.timelines import (
    KEPT,
    MIRROR,
    NEVER,
    OWNERS,
    Events,
    deleted,
    event,
    has,
    like,
    pod_of,
    timeline_of,
    way_of,
)
from tests.table import table

FAILED = {"phase": "Failed"}
PERIOD = "spec.terminationGracePeriodSeconds"


def hooked(pre_stop: Object) -> Object:
    return raw_container(lifecycle={"preStop": pre_stop})


def sidecar(name: str, pause: int | None = None) -> Object:
    """One with a hook that pauses, if at all."""
    return raw_sidecar(name, lifecycle=None if pause is None else {"preStop": {"sleep": {"seconds": pause}}})


SIDECAR_TURN = (0, 5, TimeRule.SIDECAR_TURN)
EXEC: Object = {"exec": {"command": ["drain"]}}
# A pod that was deleted with its second argument: an option of the DELETE becomes the period of the object.
ASKED_1, ASKED_0 = (pod_of(asked, metadata=deleted("03:00:00", asked)) for asked in (1, 0))


# Observations of a real kubelet 1.36.3, in seconds after the DELETE, of a process that ignores SIGTERM by default.
# It checks its containers each second, so the object was removed up to a second after the process.
@table(
    "pod, seen",
    {
        "grace 5": (pod_of(5), {"SIGTERM": 0.01, "SIGKILL": 5.02, "ObjectGone": 6.0}),
        "grace 5, preStop of 3 s": (
            pod_of(5, containers=[hooked(EXEC)]),
            {"SIGTERM": 3.01, "SIGKILL": 5.02, "ObjectGone": 5.9},
        ),
        "grace 5, preStop sleep 5": (
            pod_of(5, containers=[hooked({"sleep": {"seconds": 5}})]),
            {"SIGTERM": 5.01, "SIGKILL": 7.02, "ObjectGone": 7.9},
        ),
        "grace 5, preStop exec of 20 s": (
            pod_of(5, containers=[hooked(EXEC)]),
            {"SIGTERM": 5.01, "SIGKILL": 7.02, "ObjectGone": 7.9},
        ),
        "--grace-period=1": (ASKED_1, {"SIGTERM": 0.02, "SIGKILL": 2.02, "ObjectGone": 2.5}),
        "--grace-period=0 --force": (ASKED_0, {"SIGTERM": 0.01, "SIGKILL": 2.02, "ObjectGone": 0.01}),
        "terminationGracePeriodSeconds 0, plain delete": (
            pod_of(0),
            {"SIGTERM": 0.01, "SIGKILL": 2.02, "ObjectGone": 0.01},
        ),
        "no process obeys: the sidecar's turn comes at the end of the period": (
            pod_of(5, initContainers=[sidecar("side")]),
            {"SIGTERM app": 0.06, "SIGTERM side": 5.06, "ObjectGone": 7.98},
        ),
        "the main's hook of 20 s: its turn comes though the main still runs": (
            pod_of(5, containers=[hooked(EXEC)], initContainers=[sidecar("side")]),
            {"SIGTERM app": 5.06, "SIGTERM side": 5.06, "ObjectGone": 7.99},
        ),
        "all processes obey": (
            pod_of(8, initContainers=[sidecar("side")]),
            {"SIGTERM app": 0.02, "SIGTERM side": 0.09, "ObjectGone": 1.01},
        ),
        "the second sidecar's hook begins at once, and the first waits for it": (
            pod_of(10, initContainers=[sidecar("first"), sidecar("second", 3)]),
            {"SIGTERM app": 0.04, "SIGTERM second": 3.08, "SIGTERM first": 3.15, "ObjectGone": 4.12},
        ),
    },
)
def test_T5_real_node_stopped_within_the_predicted_span(pod: Pod, seen: Mapping[str, float]) -> None:
    timeline, noise = way_of(Way.DELETE, pod), 0.1
    for name, second in seen.items():
        one = event(timeline, name)
        assert one.earliest is not None
        assert one.latest is not None
        assert one.earliest - noise <= second <= one.latest + noise
    assert (event(timeline, "ObjectGone").rule is TimeRule.GRACE_ZERO) is (seen["ObjectGone"] < 1)


@table(
    "pod, expected",
    {
        # On a real node with a period of 5 s and a preStop of 3 s: SIGTERM at 3.01, ended at 3.02, gone at 4.0.
        "an obeying process of a real node ends with its SIGTERM": (
            pod_of(5, containers=[hooked({"sleep": {"seconds": 3}})]),
            {"SIGTERM": (3, 3), "ProcessesEnded": (3, 5), "ObjectGone": (3, 7)},
        ),
        # It waits for the end of the main container, which comes with the end of the period.
        "a real node stops sidecars after main containers": (
            pod_of(5, initContainers=[sidecar("side")]),
            {"SIGTERM app": (0, 0), "SIGKILL app": (5, 5), "SIGTERM side": SIDECAR_TURN, "SIGKILL side": (5, 7)},
        ),
        "the last sidecar waits for the second and its hook": (
            pod_of(10, initContainers=[sidecar("last"), sidecar("slow", 4)]),
            {"SIGTERM slow": (4, 10), "SIGTERM last": (4, 10), "ProcessesEnded": (4, 12)},
        ),
        # On a real node: a plain delete (30), --grace-period=2 three seconds later, which the API server makes 1: the
        # process lived until 30.02 s, the object until 31 s.
        "a real node ignores a shorter delete": (
            pod_of(metadata=deleted("03:00:03", 1)),
            {"SIGKILL": (2, 30, TimeRule.SHORTENED, "metadata.deletionGracePeriodSeconds"), "ObjectGone": (0, 32)},
        ),
        "grace zero frees the name of a pod that runs": (
            pod_of(0, owner="StatefulSet"),
            {"ObjectGone": (0, 0), "Replaced": (0, 0), "ProcessesEnded": (0, 2)},
        ),
        "finalizers of others keep the object": (
            pod_of(owner="StatefulSet", metadata=KEPT),
            {"ObjectGone": (0, None, TimeRule.FINALIZERS), "Replaced": (0, None)},
        ),
        "a finalizer of the Job controller does not": (
            pod_of(owner="StatefulSet", metadata={"finalizers": ["batch.kubernetes.io/job-tracking"]}),
            {"ObjectGone": (0, 32, TimeRule.KUBELET_CONFIRMS), "Replaced": (0, 32)},
        ),
        "a Job replaces a pod that was not Ready at once": (
            pod_of(owner="Job", status={"conditions": [raw_condition("Ready", "False")]}),
            {"Replaced": (0, 10)},
        ),
    },
)
def test_T5_events_after_a_delete_come_in_time(pod: Pod, expected: Events) -> None:
    assert like(way_of(Way.DELETE, pod), expected) == expected


@pytest.mark.parametrize("way", [Way.DELETE, Way.NODE_LOST])
def test_T5_finalizers_keep_object_on_silent_node(way: Way) -> None:
    expected = {"ObjectGone": (*NEVER, TimeRule.FINALIZERS), "Replaced": NEVER}
    assert like(way_of(way, pod_of(owner="StatefulSet", metadata=KEPT), reach=Reach.SILENT), expected) == expected


@pytest.mark.parametrize("way", [Way.DELETE, Way.DRAIN])
@pytest.mark.parametrize(
    ("asked", "kill", "gone"),
    [(None, (30, 30), (0, 32)), (1, (2, 2), (0, 4)), (0, (2, 2), (0, 0)), (100, (100, 100), (0, 102))],
)
def test_T5_delete_may_ask_for_its_own_period(
    way: Way, asked: int | None, kill: tuple[int, int], gone: tuple[int, int]
) -> None:
    # The real node: --grace-period=1 dead at 2.02 s, object gone at 2.5; --grace-period=0 --force: 2.02, gone at 0.01.
    timeline = way_of(way, pod_of(owner="ReplicaSet"), asked_seconds=asked)
    field = PERIOD if asked is None else "DeleteOptions.gracePeriodSeconds"
    expected = {"SIGKILL": (*kill, field), "ObjectGone": gone}
    assert like(timeline, expected) == expected
    assert timeline.grace_seconds == (30 if asked is None else asked)
    assert has(timeline, Reminder.ZERO_IS_FORCED) is (asked == 0 and way is Way.DELETE)


@pytest.mark.parametrize(
    ("asked", "reminder"),
    [(45, Reminder.NOT_LONGER), (30, Reminder.NOT_LONGER), (29, Reminder.SHORTER), (1, Reminder.SHORTER)],
)
def test_T5_second_delete_is_shorter_never_longer(asked: int, reminder: Reminder) -> None:
    pod = pod_of(metadata=deleted())
    timeline = way_of(Way.DELETE, pod, asked_seconds=asked)
    assert timeline.notes[0] == Note(reminder, asked)
    assert timeline.events == way_of(Way.DELETE, pod).events


@pytest.mark.parametrize("reach", [Reach.ANSWERS, Reach.SILENT])
@pytest.mark.parametrize(
    ("owner", "replaced"), [("StatefulSet", (3, 3)), ("ReplicaSet", (0, 0)), ("", NEVER), ("Rollout", NEVER)]
)
def test_T5_second_delete_without_grace_removes_object(
    owner: str, replaced: tuple[int | None, int | None], reach: Reach
) -> None:
    # Real node: plain delete (30), forced 3 s later: the object was removed at 3.0 s, the process lived until 30.02 s.
    pod = pod_of(owner=owner, metadata=deleted())
    forced: Object = {"asked_seconds": 0, "at": datetime(2026, 11, 21, 3, 0, 3, tzinfo=UTC)}
    guard = WriterGuard("data", WriterLock.CONTROLLER, "PersistentVolumeClaim")
    expected: Events = {"ObjectGone": (3, 3, TimeRule.SECOND_DELETE), "Replaced": replaced}
    if reach is Reach.ANSWERS:
        expected = {**expected, "SIGKILL": (30, 30)}
    assert like(way_of(Way.DELETE, pod, reach=reach, **forced), expected) == expected
    volume = way_of(Way.DELETE, pod, reach=reach, guards=(guard,), **forced)
    assert event(volume, "VolumeFree").span == (Span(0, 40) if reach is Reach.ANSWERS else Span(363, 363))
    held = replace(pod, metadata=replace(pod.metadata, finalizers=("example.com/backup",)))
    assert event(way_of(Way.DELETE, held, **forced), "ObjectGone").span == Span(3, None)
    ended = replace(pod, status=replace(pod.status, phase="Failed"))
    assert event(way_of(Way.DELETE, ended, **forced), "ObjectGone").span == Span(3, 3)


@pytest.mark.parametrize("more", [{"nodeName": ""}, {"status": FAILED}])
def test_T5_no_period_counts_if_nothing_runs(more: Object) -> None:
    pod = pod_of(**more)
    assert way_of(Way.DELETE, pod, asked_seconds=99).events == way_of(Way.DELETE, pod).events


def test_T5_real_node_ignored_a_forced_delete() -> None:
    # Plain delete (30), forced 3 s later: the object was removed at 3.0 s, the process lived until 30.02 s.
    timeline = way_of(Way.DELETE, pod_of(metadata=deleted()))
    assert timeline.standing is Standing.UNDER_WAY
    assert [note.seconds for note in timeline.notes if note.reminder is Reminder.SECOND_DELETE] == [30]
    assert event(timeline, "SIGKILL").span == Span(30, 30)
    shorter = way_of(Way.DELETE, pod_of(metadata=deleted("03:00:03", 1)))
    assert event(shorter, "SIGKILL").seconds == 1


def test_T5_real_node_gave_two_seconds_at_a_hard_threshold() -> None:
    timeline = way_of(Way.EVICT_HARD, pod_of(300))
    expected = {"SIGKILL": (2, 2, TimeRule.MINIMUM_GRACE_PERIOD)}
    assert like(timeline, expected) == expected
    # "An evicted pod whose process exits 0 ended Succeeded with no reason."
    assert has(timeline, Reminder.EXITS_ZERO)


def test_T5_container_that_does_not_run_gets_no_signal() -> None:
    states = {"app": {"running": {}}, "broken": {"waiting": {"reason": "CrashLoopBackOff"}}}
    statuses = [{"name": name, "state": state} for name, state in states.items()]
    pod = pod_of(containers=[raw_container("broken"), raw_container("app")], status={"containerStatuses": statuses})
    timeline = way_of(Way.DELETE, pod)
    assert [one.subject for one in timeline.events if one.what is EventKind.SIGTERM] == ["app"]
    assert [note.subject for note in timeline.notes if note.reminder is Reminder.NOT_RUNNING] == ["broken"]


def test_T5_stop_signal_is_the_containers_own() -> None:
    timeline = way_of(Way.DELETE, pod_of(containers=[raw_container(lifecycle={"stopSignal": "SIGUSR1"})]))
    assert event(timeline, "SIGTERM").signal == "SIGUSR1"


SURGING = {"updateStrategy": {"rollingUpdate": {"maxSurge": "10%"}}}
NOT_SURGING = {"updateStrategy": {"rollingUpdate": {"maxSurge": "0%"}}}


@table(
    "owner, spec, expected",
    {
        "ReplicaSet: at the deletionTimestamp": ("ReplicaSet", None, (0, 0, TimeRule.INACTIVE)),
        "StatefulSet: after the object is removed": ("StatefulSet", None, (0, 32, TimeRule.AFTER_OBJECT)),
        "DaemonSet: the same": ("DaemonSet", {}, (0, 32, TimeRule.AFTER_OBJECT)),
        "DaemonSet with a maxSurge of nothing": ("DaemonSet", NOT_SURGING, (0, 32, TimeRule.AFTER_OBJECT)),
        "maxSurge": ("DaemonSet", SURGING, (0, 0, TimeRule.SURGE)),
        "Job: 10 s after the deletion": ("Job", {}, (10, 10, TimeRule.JOB_TERMINATING_OR_FAILED)),
        "podReplacementPolicy Failed": ("Job", {"podReplacementPolicy": "Failed"}, (10, 40, TimeRule.JOB_FAILED)),
        "which a podFailurePolicy implies": ("Job", {"podFailurePolicy": {}}, (10, 40, TimeRule.JOB_FAILED)),
        "an owner that is not known": ("Rollout", None, (*NEVER, TimeRule.OWNER_DECIDES)),
        "no owner": ("", None, (*NEVER, TimeRule.NOT_REPLACED)),
    },
)
def test_T5_replacement_after_a_delete(owner: str, spec: Object | None, expected: tuple[Any, ...]) -> None:
    workload = None if spec is None else from_object({"spec": spec}, Workload)
    timeline = way_of(Way.DELETE, pod_of(owner=owner), workload=workload)
    assert like(timeline, {"Replaced": expected}) == {"Replaced": expected}
    assert has(timeline, Reminder.JOB_COUNTS_SUCCESS) is (owner == "Job")


def test_T5_pod_without_processes_ends_with_the_delete() -> None:
    waiting = make_pod(metadata={"ownerReferences": [OWNERS["ReplicaSet"]]}, terminationGracePeriodSeconds=30)
    pending = way_of(Way.DELETE, waiting)
    assert [one.what for one in pending.events] == [EventKind.OBJECT_REMOVED, EventKind.REPLACED]
    finished = way_of(Way.DELETE, pod_of(status=FAILED, owner="ReplicaSet"))
    assert [(one.what, one.latest) for one in finished.events] == [(EventKind.OBJECT_REMOVED, 0)]


def test_T5_mirror_pod_is_recreated_and_nothing_stops() -> None:
    events = way_of(Way.DELETE, pod_of(metadata=MIRROR)).events
    assert {one.what for one in events} == {EventKind.DELETED, EventKind.OBJECT_REMOVED, EventKind.REPLACED}
    assert {one.rule for one in events} == {TimeRule.START, TimeRule.MIRROR}


@table(
    "way, pod, standing",
    {
        "no priority": (Way.PREEMPT, pod_of(owner="ReplicaSet"), Standing.APPLIES),
        "a high priority": (Way.PREEMPT, pod_of(owner="ReplicaSet", priority=2_000_000_000), Standing.APPLIES),
        "the highest priority": (Way.PREEMPT, pod_of(owner="ReplicaSet", priority=2_000_001_000), Standing.HIGHEST),
        "replicated": (Way.DRAIN, pod_of(owner="ReplicaSet"), Standing.APPLIES),
        "of a DaemonSet": (Way.DRAIN, pod_of(owner="DaemonSet"), Standing.PASSED_OVER),
        "a finished one of a DaemonSet": (Way.DRAIN, pod_of(owner="DaemonSet", status=FAILED), Standing.APPLIES),
        "mirror": (Way.DRAIN, pod_of(metadata=MIRROR), Standing.PASSED_OVER),
        "without a controller": (Way.DRAIN, pod_of(), Standing.NEEDS_FORCE),
        "a finished one without": (Way.DRAIN, pod_of(status={"phase": "Succeeded"}), Standing.APPLIES),
        "on no node": (Way.DRAIN, make_pod(), Standing.NOT_RUNNING),
        "stopping": (Way.DRAIN, pod_of(metadata=deleted()), Standing.STOPPING),
        "critical, at a hard threshold": (Way.EVICT_HARD, pod_of(priority=2_000_000_000), Standing.CRITICAL),
        "critical, at a soft threshold": (Way.EVICT_SOFT, pod_of(priority=2_000_000_000), Standing.CRITICAL),
        "without a probe": (Way.PROBE, pod_of(), Standing.NO_PROBE),
    },
)
def test_T5_pods_to_which_a_way_applies(way: Way, pod: Pod, standing: Standing) -> None:
    assert way_of(way, pod).standing is standing


def test_T5_no_preemption_if_every_profile_disables_it() -> None:
    assert way_of(Way.PREEMPT, pod_of(), preemption_disabled=True).standing is Standing.NO_PREEMPTION


def test_T5_budget_blocks_only_a_drain() -> None:
    budget = from_object(
        {
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}},
            "status": {"disruptionsAllowed": 0, "desiredHealthy": 2, "currentHealthy": 2},
        },
        PodDisruptionBudget,
    )
    pod = pod_of(owner="ReplicaSet", labels={"app": "web"}, status={"conditions": [raw_condition("Ready")]})
    timeline = way_of(Way.DRAIN, pod, budgets=[budget])
    assert timeline.standing is Standing.HELD
    assert timeline.reason == "The disruption budget web needs 2 healthy pods and has 2 currently"
    # Once the eviction is allowed, the same events follow as after any delete.
    assert timeline.events == way_of(Way.DELETE, pod).events
    assert way_of(Way.PREEMPT, pod, budgets=[budget]).standing is Standing.APPLIES


# Ends by the kubelet only


@table(
    "grace, most, kill, waits",
    {
        "at most evictionMaxPodGracePeriod": (300, 60, (60, 60, "evictionMaxPodGracePeriod"), 90),
        "no longer than the pod's own": (8, 60, (8, 8, PERIOD), 12),
        "as short as a hard one unless it is set": (300, 0, (2, 2, "evictionMaxPodGracePeriod"), 10),
    },
)
def test_T5_soft_eviction(grace: int, most: int, kill: tuple[int, int, str], waits: int) -> None:
    timeline = way_of(Way.EVICT_SOFT, pod_of(grace), kubelet=KubeletConfiguration(eviction_max_pod_grace_period=most))
    expected = {"SIGKILL": kill, "KillTimeout": (waits, waits)}
    assert like(timeline, expected) == expected
    assert has(timeline, Reminder.NO_MAX_GRACE) is (most == 0)
    assert not has(timeline, Reminder.KUBELET_NOT_READ)


def test_T5_unread_kubelet_is_marked() -> None:
    # The configuration has no effect at a hard threshold.
    for way, marked in ((Way.EVICT_SOFT, True), (Way.SHUTDOWN, True), (Way.EVICT_HARD, False)):
        assert has(way_of(way, pod_of()), Reminder.KUBELET_NOT_READ) is marked


@table(
    "owner, gone, replaced",
    {
        "ReplicaSet: the object stays, another is made": ("ReplicaSet", NEVER, (0, 4)),
        "StatefulSet: deletes and recreates it": ("StatefulSet", (0, 4), (0, 4)),
        "DaemonSet: the same": ("DaemonSet", (0, 4), (0, 4)),
        "Job: 10 s after its containers ended": ("Job", NEVER, (10, 12)),
        "no owner": ("", NEVER, NEVER),
    },
)
def test_T5_evicted_pod_stays_unless_its_owner_deletes_it(
    owner: str, gone: tuple[int | None, int | None], replaced: tuple[int | None, int | None]
) -> None:
    expected = {"Failed": (0, 4), "ObjectGone": gone, "Replaced": replaced}
    assert like(way_of(Way.EVICT_HARD, pod_of(owner=owner)), expected) == expected


def probed(period: int, failures: int, **probe: int) -> Object:
    return raw_container(livenessProbe={"periodSeconds": period, "failureThreshold": failures, **probe})


STARTING = raw_container(startupProbe={"initialDelaySeconds": 20, "periodSeconds": 10, "failureThreshold": 30})
HANGING = probed(2, 2, terminationGracePeriodSeconds=4)
DEFAULTS = raw_container(livenessProbe={"httpGet": {"path": "/"}})
OWN = "spec.containers[0].livenessProbe.terminationGracePeriodSeconds"


@table(
    "container, failed, kill, restart",
    {
        "liveness, with the pod's own period": (probed(10, 3, timeoutSeconds=1), (20, 31), (50, 61, PERIOD), (20, 61)),
        "the API server's defaults": (DEFAULTS, (20, 31), (50, 61, PERIOD), (20, 61)),
        "liveness counts from when the container hangs: its delay is long over": (
            raw_container(livenessProbe={"initialDelaySeconds": 600}),
            (20, 31),
            (50, 61, PERIOD),
            (20, 61),
        ),
        "the probe's own period": (probed(5, 1, terminationGracePeriodSeconds=7), (0, 6), (7, 13, OWN), (0, 13)),
        "never below 2 s": (probed(2, 2, terminationGracePeriodSeconds=1), (2, 5), (4, 7, OWN), (2, 7)),
        "a late answer delays the next probe": (probed(1, 3, timeoutSeconds=4), (2, 13), (32, 43, PERIOD), (2, 43)),
        "startup, from the container's start": (STARTING, (310, 321), (340, 351, PERIOD), (310, 351)),
        # A real container hung at 0, SIGTERM came at 3.71, which it ignored for its 4 s, and it was restarted at 8.11,
        # also the third time.
        "on a real node": (HANGING, (2, 5), (6, 9, OWN), (2, 9)),
    },
)
def test_T5_failed_probe(
    container: Object, failed: tuple[int, int], kill: tuple[int, int, str], restart: tuple[int, int]
) -> None:
    timeline = way_of(Way.PROBE, pod_of(containers=[container]))
    expected = {"ProbeFailed": failed, "SIGTERM": failed, "SIGKILL": kill, "Restarted": restart}
    assert like(timeline, expected) == expected
    # The pod stays, and its owner has nothing to do.
    assert event(timeline, "ObjectGone").rule is TimeRule.POD_STAYS
    assert all(one.what is not EventKind.REPLACED for one in timeline.events)
    assert has(timeline, Reminder.BACK_OFF)


@pytest.mark.parametrize(("policy", "restarts"), [("Always", True), ("OnFailure", True), ("Never", False)])
def test_T5_restart_policy_decides_after_a_failed_probe(policy: str, *, restarts: bool) -> None:
    mesh = DEFAULTS | {"name": "mesh", "restartPolicy": "Always"}
    own = {"restartPolicy": "Never" if restarts else "OnFailure"}
    for more, restarted, field in (
        ({}, restarts, "spec.restartPolicy"),
        (own, not restarts, "spec.containers[0].restartPolicy"),
    ):
        pod = pod_of(containers=[DEFAULTS | more], initContainers=[mesh], restartPolicy=policy)
        timeline = way_of(Way.PROBE, pod)
        assert (event(timeline, "Restarted app").earliest is not None) is restarted
        assert event(timeline, "Restarted app").field == field
    # A sidecar has its own policy, and waits for no container when it is killed alone.
    assert event(timeline, "Restarted mesh").earliest is not None
    assert event(timeline, "SIGTERM mesh").span == event(timeline, "ProbeFailed mesh").span


@table(
    "whole, critical, groups",
    {
        "both": ("5m0s", "2m0s", [(0, 180), (2_000_000_000, 120)]),
        "only shutdownGracePeriodRequested": ("1m40s", "0s", [(0, 100), (2_000_000_000, 0)]),
        "all of it for critical pods": ("30s", "30s", [(0, 0), (2_000_000_000, 30)]),
        "empty configuration": ("0s", "0s", []),
        "wrong configuration": ("1s", "1m40s", []),
    },
)
def test_T5_migrate_config(whole: str, critical: str, groups: list[tuple[int, int]]) -> None:
    config = KubeletConfiguration(shutdown_grace_period=whole, shutdown_grace_period_critical_pods=critical)
    assert [(group.priority, group.seconds) for group in shutdown_groups(config)] == groups


MIGRATED = {"shutdownGracePeriod": "5m0s", "shutdownGracePeriodCriticalPods": "2m0s"}
BY_PRIORITY = {
    "shutdownGracePeriodByPodPriority": [
        {"priority": priority, "shutdownGracePeriodSeconds": 10 * priority} for priority in (4, 3, 1, 2)
    ]
}


@table(
    "config, priority, start, seconds",
    {
        "migrate config: normal-pod": (MIGRATED, 0, 0, 180),
        "migrate config: highest-user-definable-pod": (MIGRATED, 1_000_000_000, 0, 180),
        "migrate config: critical-pod": (MIGRATED, 2_000_000_000, 180, 120),
        "pod priority: pod-0": (BY_PRIORITY, 0, 0, 10),
        "pod priority: pod-1": (BY_PRIORITY, 1, 0, 10),
        "pod priority: pod-2": (BY_PRIORITY, 2, 10, 20),
        "pod priority: pod-3": (BY_PRIORITY, 3, 30, 30),
        "pod priority: pod-4": (BY_PRIORITY, 4, 60, 40),
        "pod priority: pod-5": (BY_PRIORITY, 5, 60, 40),
    },
)
def test_T5_group_by_priority(config: Object, priority: int, start: int, seconds: int) -> None:
    kubelet = from_object(config, KubeletConfiguration)
    timeline = way_of(Way.SHUTDOWN, pod_of(3600, priority=priority), kubelet=kubelet)
    # Earlier groups may have no pods, and take no time then.
    expected = {"SIGTERM": (0, start), "SIGKILL": (seconds, start + seconds)}
    assert like(timeline, expected) == expected
    assert event(timeline, "MachineOff").latest == sum(group.seconds for group in shutdown_groups(kubelet))


@table(
    "grace, kill",
    {
        "its own period where that is shorter": (20, (20, 20, PERIOD)),
        "or the same": (180, (180, 180, PERIOD)),
        "else its group's": (600, (180, 180, "shutdownGracePeriod")),
        "2 s at the least": (0, (2, 2, PERIOD)),
    },
)
def test_T5_shutdown_gives_a_pod_its_own_time_at_most(grace: int, kill: tuple[int, int, str]) -> None:
    kubelet = from_object(MIGRATED, KubeletConfiguration)
    expected = {"SIGKILL": kill, "Replaced": (0, kill[1] + 2)}
    assert like(way_of(Way.SHUTDOWN, pod_of(grace, owner="StatefulSet"), kubelet=kubelet), expected) == expected


BOTH = {"shutdownGracePeriod": "45s", "shutdownGracePeriodCriticalPods": "15s"}


@table(
    "config, grace, late",
    {
        "critical pods have 0 s": ({"shutdownGracePeriod": "20s"}, 30, {EventKind.SIGKILL, EventKind.FAILED}),
        "15 s": (BOTH, 30, {EventKind.FAILED}),
        "3 s of its 15 s": (BOTH, 3, set()),
    },
)
def test_T5_once_the_machine_may_be_off_no_end_is_certain(config: Object, grace: int, late: set[EventKind]) -> None:
    """The kubelet delays the shutdown for shutdownGracePeriod, and no longer."""
    pod = pod_of(grace, priority=2_000_001_000)
    timeline = way_of(Way.SHUTDOWN, pod, kubelet=from_object(config, KubeletConfiguration))
    off = event(timeline, "MachineOff")
    assert (off.latest, off.field) == (off.seconds, "shutdownGracePeriod")
    assert {one.what for one in timeline.events if one.earliest is not None and one.latest is None} == late
    assert [one.what for one in timeline.events if one.latest is not None and one.latest > (off.latest or 0)] == []
    assert timeline.notes[-1] == Note(Reminder.THEN_NODE_LOST, off.latest if late else None)


def test_T5_shutdown_without_a_grace_period_is_not_the_kubelets() -> None:
    timeline = way_of(Way.SHUTDOWN, pod_of(), kubelet=KubeletConfiguration())
    assert event(timeline, "SIGTERM").rule is TimeRule.NOT_BY_KUBELET
    # It answers until its machine is off.
    expected = {"ObjectGone": (*NEVER, TimeRule.KUBELET_GOES_TOO)}
    assert like(timeline, expected) == expected
    assert has(timeline, Reminder.THEN_NODE_LOST)


# The order of the ways


@table(
    "node, first",
    {
        "an unknown node": (None, Way.DELETE),
        "no trouble": (make_node(), Way.DELETE),
        "pressure": (make_node(conditions=[raw_condition("MemoryPressure")]), Way.EVICT_HARD),
        "cordoned": (make_node(unschedulable=True), Way.DRAIN),
    },
)
def test_T5_most_relevant_way_comes_first(node: Node | None, first: Way) -> None:
    timeline = timeline_of(pod_of(), node=node)
    assert timeline.ways[0].way is first
    assert [entry.way for entry in timeline.ways[1:]] == [way for way in Way if way is not first]


def test_T5_deletion_of_terminating_pod_comes_first() -> None:
    node = make_node(conditions=[raw_condition("DiskPressure")])
    timeline = timeline_of(pod_of(metadata=deleted()), node=node)
    assert timeline.ways[0].way is Way.DELETE
    assert timeline.began == datetime(2026, 11, 21, 3, 0, 0, tzinfo=UTC)
    stopping = {entry.way for entry in timeline.ways if entry.standing is Standing.STOPPING}
    assert stopping == set(Way) - {Way.DELETE, Way.NODE_LOST}


def test_T5_pod_on_no_node_can_only_be_deleted() -> None:
    timeline = timeline_of(make_pod(terminationGracePeriodSeconds=30), reach=None)
    assert [entry.way for entry in timeline.ways if entry.standing is not Standing.NOT_RUNNING] == [Way.DELETE]
