"""Timelines: the events of a pod, with their times, for every way in which it may end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from podrules.api.model.decode import from_object
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.node import Node
from podrules.api.model.pod import Container, ContainerStatus, Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.api.model.selectors import Toleration
from podrules.api.model.workload import Workload
from podrules.ending.timeline.aftermath import Ownership
from podrules.ending.timeline.events import (
    EventKind,
    Note,
    PodTimeline,
    Reminder,
    Span,
    Standing,
    TimelineEvent,
    TimeRule,
    Way,
    WayTimeline,
)
from podrules.ending.timeline.kubelet_kill import shutdown_groups
from podrules.ending.timeline.lost import tolerations_of
from podrules.ending.timeline.of_pod import TimelineFacts, pod_timeline
from podrules.ending.volumes import WriterGuard, WriterLock
from podrules.node.reachability import OUT_OF_SERVICE, NodeReach, Reach
from podrules.workload.safety import owner_guarantee
from tests.objects import make_node, make_pod, raw_container, raw_owner, raw_sidecar
from tests.table import table

NEVER = (None, None)
UNREACHABLE = "node.kubernetes.io/unreachable"
NOT_READY = "node.kubernetes.io/not-ready"
EXEC: Mapping[str, Any] = {"exec": {"command": ["drain"]}}
OWNERS = {
    "ReplicaSet": raw_owner("ReplicaSet"),
    "StatefulSet": raw_owner("StatefulSet"),
    "DaemonSet": raw_owner("DaemonSet"),
    "Job": raw_owner("Job", apiVersion="batch/v1"),
    "Rollout": raw_owner("Rollout", apiVersion="example.com/v1"),
}


def _pod(
    grace: int | None = 30,
    *,
    owner: str = "",
    metadata: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **more: Any,
) -> Pod:
    """A running pod with the toleration that the API server adds to every pod."""
    toleration = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    return make_pod(
        metadata={"ownerReferences": [OWNERS[owner]] if owner else [], **(metadata or {})},
        status={"phase": "Running", **(status or {})},
        terminationGracePeriodSeconds=grace,
        tolerations=[toleration],
        **{"nodeName": "node-1", **more},
    )


def _toleration(seconds: int | None) -> Toleration:
    return Toleration(key=UNREACHABLE, operator="Exists", effect="NoExecute", toleration_seconds=seconds)


def _workload(**spec: Any) -> Workload:
    return from_object({"spec": spec}, Workload)


def _timeline(pod: Pod, *, workload: Workload | None = None, silent: bool = False, **more: Any) -> PodTimeline:
    reach = NodeReach("node-1", Reach.SILENT if silent else Reach.ANSWERS, "")
    facts = {
        "owner": Ownership(owner_guarantee(pod), workload),
        "tolerations": pod.spec.tolerations,
        "reach": reach,
        "budgets": (),
        **more,
    }
    return pod_timeline(TimelineFacts(pod=pod, **facts))


def _way(way: Way, pod: Pod, **more: Any) -> WayTimeline:
    return next(entry for entry in _timeline(pod, **more).ways if entry.way is way)


def _event(timeline: WayTimeline, what: EventKind, subject: str = "") -> TimelineEvent:
    """The only event of its kind, for this container if one is named."""
    [found] = [event for event in timeline.events if event.what is what and subject in {"", event.subject}]
    return found


def _span(timeline: WayTimeline, what: EventKind, subject: str = "") -> tuple[int | None, int | None]:
    event = _event(timeline, what, subject)
    return event.earliest, event.latest


def _has(timeline: WayTimeline, reminder: Reminder) -> bool:
    return any(note.reminder is reminder for note in timeline.notes)


# Observations of a real kubelet 1.36.3, in seconds after the DELETE, of a process that ignores SIGTERM by default.
# It checks its containers each second, so the object was removed up to a second after the process.


@table(
    "grace, deletion, pre_stop, sigterm, dead, gone",
    {
        "grace 5": (5, None, None, 0.01, 5.02, 6.0),
        "grace 5, preStop of 3 s": (5, None, EXEC, 3.01, 5.02, 5.9),
        "grace 5, preStop sleep 5": (5, None, {"sleep": {"seconds": 5}}, 5.01, 7.02, 7.9),
        "grace 5, preStop exec of 20 s": (5, None, EXEC, 5.01, 7.02, 7.9),
        "--grace-period=1": (30, 1, None, 0.02, 2.02, 2.5),
        "--grace-period=0 --force": (30, 0, None, 0.01, 2.02, 0.01),
        "terminationGracePeriodSeconds 0, plain delete": (0, None, None, 0.01, 2.02, 0.01),
    },
)
def test_T5_real_node_stopped_within_the_predicted_span(
    grace: int, deletion: int | None, pre_stop: Mapping[str, Any] | None, sigterm: float, dead: float, gone: float
) -> None:
    # An option of the DELETE becomes the period of the object.
    pod = _pod(grace, containers=[raw_container(lifecycle={"preStop": pre_stop})])
    if deletion is not None:
        marked = replace(
            pod.metadata, deletion_timestamp="2026-11-21T03:00:00Z", deletion_grace_period_seconds=deletion
        )
        pod = replace(pod, metadata=marked, spec=replace(pod.spec, termination_grace_period_seconds=deletion))
    timeline = _way(Way.DELETE, pod)

    noise = 0.1
    for what, seen in ((EventKind.SIGTERM, sigterm), (EventKind.SIGKILL, dead), (EventKind.OBJECT_REMOVED, gone)):
        earliest, latest = _span(timeline, what)
        assert earliest is not None
        assert latest is not None
        assert earliest - noise <= seen <= latest + noise
    assert (_event(timeline, EventKind.OBJECT_REMOVED).rule is TimeRule.GRACE_ZERO) is (gone < 1)


def test_T5_real_node_ended_an_obeying_process_with_its_sigterm() -> None:
    # Grace 5, preStop of 3 s: SIGTERM at 3.01, ended at 3.02, gone at 4.0.
    timeline = _way(Way.DELETE, _pod(5, containers=[raw_container(lifecycle={"preStop": {"sleep": {"seconds": 3}}})]))
    assert _span(timeline, EventKind.SIGTERM) == (3, 3)
    assert _span(timeline, EventKind.PROCESSES_ENDED) == (3, 5)
    assert _span(timeline, EventKind.OBJECT_REMOVED) == (3, 7)


@pytest.mark.parametrize("way", [Way.DELETE, Way.DRAIN])
@pytest.mark.parametrize(
    ("asked", "kill", "gone"),
    [(None, (30, 30), (0, 32)), (1, (2, 2), (0, 4)), (0, (2, 2), (0, 0)), (100, (100, 100), (0, 102))],
)
def test_T5_delete_may_ask_for_its_own_period(
    way: Way, asked: int | None, kill: tuple[int, int], gone: tuple[int, int]
) -> None:
    # The real node: --grace-period=1 dead at 2.02 s, object gone at 2.5; --grace-period=0 --force: 2.02, gone at 0.01.
    timeline = _way(way, _pod(30, owner="ReplicaSet"), asked_seconds=asked)
    assert (_span(timeline, EventKind.SIGKILL), _span(timeline, EventKind.OBJECT_REMOVED)) == (kill, gone)
    field = "spec.terminationGracePeriodSeconds" if asked is None else "DeleteOptions.gracePeriodSeconds"
    assert _event(timeline, EventKind.SIGKILL).field == field
    assert timeline.grace_seconds == (30 if asked is None else asked)
    assert _has(timeline, Reminder.ZERO_IS_FORCED) is (asked == 0 and way is Way.DELETE)


@pytest.mark.parametrize(
    ("asked", "reminder"),
    [(45, Reminder.NOT_LONGER), (30, Reminder.NOT_LONGER), (29, Reminder.SHORTER), (1, Reminder.SHORTER)],
)
def test_T5_second_delete_is_shorter_never_longer(asked: int, reminder: Reminder) -> None:
    pod = _pod(30, metadata={"deletionTimestamp": "2026-11-21T03:00:30Z", "deletionGracePeriodSeconds": 30})
    timeline = _way(Way.DELETE, pod, asked_seconds=asked)
    assert timeline.notes[0] == Note(reminder, asked)
    assert timeline.events == _way(Way.DELETE, pod).events


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize(
    ("owner", "replaced"), [("StatefulSet", (3, 3)), ("ReplicaSet", (0, 0)), ("", NEVER), ("Rollout", NEVER)]
)
def test_T5_second_delete_without_grace_removes_object(
    owner: str, replaced: tuple[int | None, int | None], *, silent: bool
) -> None:
    # Real node: plain delete (30), forced 3 s later: the object was removed at 3.0 s, the process lived until 30.02 s.
    pod = _pod(
        30, owner=owner, metadata={"deletionTimestamp": "2026-11-21T03:00:30Z", "deletionGracePeriodSeconds": 30}
    )
    at = datetime(2026, 11, 21, 3, 0, 3, tzinfo=UTC)
    timeline = _way(Way.DELETE, pod, asked_seconds=0, at=at, silent=silent)
    assert (_span(timeline, EventKind.OBJECT_REMOVED), _span(timeline, EventKind.REPLACED)) == ((3, 3), replaced)
    assert _event(timeline, EventKind.OBJECT_REMOVED).rule is TimeRule.SECOND_DELETE
    assert silent or _span(timeline, EventKind.SIGKILL) == (30, 30)
    guard = WriterGuard("data", WriterLock.CONTROLLER, "PersistentVolumeClaim")
    volume = _way(Way.DELETE, pod, asked_seconds=0, at=at, silent=silent, guards=(guard,))
    assert _span(volume, EventKind.VOLUME_FREE) == ((363, 363) if silent else (0, 40))
    held = replace(pod, metadata=replace(pod.metadata, finalizers=("example.com/backup",)))
    assert _span(_way(Way.DELETE, held, asked_seconds=0, at=at), EventKind.OBJECT_REMOVED) == (3, None)
    ended = replace(pod, status=replace(pod.status, phase="Failed"))
    assert _span(_way(Way.DELETE, ended, asked_seconds=0, at=at), EventKind.OBJECT_REMOVED) == (3, 3)


@pytest.mark.parametrize("more", [{"nodeName": ""}, {"status": {"phase": "Failed"}}])
def test_T5_no_period_counts_if_nothing_runs(more: dict[str, Any]) -> None:
    pod = _pod(30, **more)
    assert _way(Way.DELETE, pod, asked_seconds=99).events == _way(Way.DELETE, pod).events


def test_T5_real_node_ignored_a_forced_delete() -> None:
    # Plain delete (30), forced 3 s later: the object was removed at 3.0 s, the process lived until 30.02 s.
    pod = _pod(30, metadata={"deletionTimestamp": "2026-11-21T03:00:30Z", "deletionGracePeriodSeconds": 30})
    timeline = _way(Way.DELETE, pod)
    assert timeline.standing is Standing.UNDER_WAY
    [note] = [note for note in timeline.notes if note.reminder is Reminder.SECOND_DELETE]
    assert note.seconds == 30
    assert _span(timeline, EventKind.SIGKILL) == (30, 30)


def test_T5_real_node_ignored_a_shorter_delete() -> None:
    # Plain delete (30), --grace-period=2 three seconds later, which the API server makes 1: the process lived until
    # 30.02 s, the object until 31 s.
    pod = _pod(30, metadata={"deletionTimestamp": "2026-11-21T03:00:03Z", "deletionGracePeriodSeconds": 1})
    timeline = _way(Way.DELETE, pod)
    kill = _event(timeline, EventKind.SIGKILL)
    assert (kill.rule, kill.field, kill.seconds) == (TimeRule.SHORTENED, "metadata.deletionGracePeriodSeconds", 1)
    assert _span(timeline, EventKind.SIGKILL) == (2, 30)
    assert _span(timeline, EventKind.OBJECT_REMOVED) == (0, 32)


@table(
    "pod, stops, gone",
    {
        "no process obeys: the sidecar's turn comes at the end of the period": (
            _pod(5, initContainers=[raw_sidecar("side")]),
            {"app": 0.06, "side": 5.06},
            7.98,
        ),
        "the main's hook of 20 s: its turn comes though the main still runs": (
            _pod(5, containers=[raw_container(lifecycle={"preStop": EXEC})], initContainers=[raw_sidecar("side")]),
            {"app": 5.06, "side": 5.06},
            7.99,
        ),
        "all processes obey": (_pod(8, initContainers=[raw_sidecar("side")]), {"app": 0.02, "side": 0.09}, 1.01),
        "the second sidecar's hook begins at once, and the first waits for it": (
            _pod(
                10,
                initContainers=[
                    raw_sidecar("first"),
                    raw_sidecar("second", lifecycle={"preStop": {"sleep": {"seconds": 3}}}),
                ],
            ),
            {"app": 0.04, "second": 3.08, "first": 3.15},
            4.12,
        ),
    },
)
def test_T5_real_node_gave_sidecars_their_turn(pod: Pod, stops: Mapping[str, float], gone: float) -> None:
    way = _way(Way.DELETE, pod)
    for what, name, seen in (
        *((EventKind.SIGTERM, name, seen) for name, seen in stops.items()),
        (EventKind.OBJECT_REMOVED, "", gone),
    ):
        earliest, latest = _span(way, what, name)
        assert earliest is not None
        assert latest is not None
        assert earliest - 0.1 <= seen <= latest + 0.1


def test_T5_real_node_restarted_a_hanging_container() -> None:
    # Hung at 0, SIGTERM at 3.71, which it ignored for its 4 s, and restarted at 8.11, also the third time.
    probe = {"periodSeconds": 2, "failureThreshold": 2, "terminationGracePeriodSeconds": 4}
    timeline = _way(Way.PROBE, _pod(containers=[_probed("livenessProbe", **probe)]))
    assert _span(timeline, EventKind.PROBE_FAILED) == _span(timeline, EventKind.SIGTERM) == (2, 5)
    assert _span(timeline, EventKind.SIGKILL) == (6, 9)
    assert _span(timeline, EventKind.RESTARTED) == (2, 9)


def test_T5_real_node_stopped_sidecars_after_main_containers() -> None:
    timeline = _way(Way.DELETE, _pod(5, initContainers=[raw_sidecar("mesh")]))
    assert _span(timeline, EventKind.SIGTERM, "app") == (0, 0)
    assert _span(timeline, EventKind.SIGKILL, "app") == (5, 5)
    # It waits for the end of the main container, which comes with the end of the period.
    assert _span(timeline, EventKind.SIGTERM, "mesh") == (0, 5)
    assert _event(timeline, EventKind.SIGTERM, "mesh").rule is TimeRule.SIDECAR_TURN
    assert _span(timeline, EventKind.SIGKILL, "mesh") == (5, 7)


def test_T5_real_node_gave_two_seconds_at_a_hard_threshold() -> None:
    timeline = _way(Way.EVICT_HARD, _pod(300))
    assert _span(timeline, EventKind.SIGKILL) == (2, 2)
    assert _event(timeline, EventKind.SIGKILL).rule is TimeRule.MINIMUM_GRACE_PERIOD
    # "An evicted pod whose process exits 0 ended Succeeded with no reason."
    assert _has(timeline, Reminder.EXITS_ZERO)


# Deleted through the API


def test_T5_second_sidecar_waits_for_the_first_and_its_hook() -> None:
    slow = raw_sidecar("slow", lifecycle={"preStop": {"sleep": {"seconds": 4}}})
    timeline = _way(Way.DELETE, _pod(10, initContainers=[raw_sidecar("last"), slow]))
    assert _span(timeline, EventKind.SIGTERM, "slow") == (4, 10)
    assert _span(timeline, EventKind.SIGTERM, "last") == (4, 10)
    assert _span(timeline, EventKind.PROCESSES_ENDED) == (4, 12)


def test_T5_container_that_does_not_run_gets_no_signal() -> None:
    states = {"app": {"running": {}}, "broken": {"waiting": {"reason": "CrashLoopBackOff"}}}
    statuses = [from_object({"name": name, "state": state}, ContainerStatus) for name, state in states.items()]
    pod = _pod(containers=[raw_container("broken"), raw_container("app")], status={"containerStatuses": statuses})
    timeline = _way(Way.DELETE, pod)
    assert [event.subject for event in timeline.events if event.what is EventKind.SIGTERM] == ["app"]
    assert [note.subject for note in timeline.notes if note.reminder is Reminder.NOT_RUNNING] == ["broken"]


def test_T5_stop_signal_is_the_containers_own() -> None:
    timeline = _way(Way.DELETE, _pod(containers=[raw_container(lifecycle={"stopSignal": "SIGUSR1"})]))
    assert _event(timeline, EventKind.SIGTERM).signal == "SIGUSR1"


@table(
    "owner, spec, replaced, rule",
    {
        "ReplicaSet: at the deletionTimestamp": ("ReplicaSet", None, (0, 0), TimeRule.INACTIVE),
        "StatefulSet: after the object is removed": ("StatefulSet", None, (0, 32), TimeRule.AFTER_OBJECT),
        "DaemonSet: the same": ("DaemonSet", {}, (0, 32), TimeRule.AFTER_OBJECT),
        "DaemonSet with a maxSurge of nothing": (
            "DaemonSet",
            {"updateStrategy": {"rollingUpdate": {"maxSurge": "0%"}}},
            (0, 32),
            TimeRule.AFTER_OBJECT,
        ),
        "maxSurge": ("DaemonSet", {"updateStrategy": {"rollingUpdate": {"maxSurge": "10%"}}}, (0, 0), TimeRule.SURGE),
        "Job: 10 s after the deletion": ("Job", {}, (10, 10), TimeRule.JOB_TERMINATING_OR_FAILED),
        "podReplacementPolicy Failed": ("Job", {"podReplacementPolicy": "Failed"}, (10, 40), TimeRule.JOB_FAILED),
        "which a podFailurePolicy implies": ("Job", {"podFailurePolicy": {}}, (10, 40), TimeRule.JOB_FAILED),
        "an owner that is not known": ("Rollout", None, NEVER, TimeRule.OWNER_DECIDES),
        "no owner": ("", None, NEVER, TimeRule.NOT_REPLACED),
    },
)
def test_T5_replacement_after_a_delete(
    owner: str, spec: Mapping[str, Any] | None, replaced: tuple[int | None, int | None], rule: TimeRule
) -> None:
    timeline = _way(Way.DELETE, _pod(owner=owner), workload=None if spec is None else _workload(**spec))
    assert _span(timeline, EventKind.REPLACED) == replaced
    assert _event(timeline, EventKind.REPLACED).rule is rule
    assert _has(timeline, Reminder.JOB_COUNTS_SUCCESS) is (owner == "Job")


@table(
    "finalizers, gone, rule",
    {
        "of others": (["example.com/keep"], (0, None), TimeRule.FINALIZERS),
        "of the Job controller": (["batch.kubernetes.io/job-tracking"], (0, 32), TimeRule.KUBELET_CONFIRMS),
    },
)
def test_T5_finalizers_keep_the_object(
    finalizers: Sequence[str], gone: tuple[int | None, int | None], rule: TimeRule
) -> None:
    timeline = _way(Way.DELETE, _pod(owner="StatefulSet", metadata={"finalizers": finalizers}))
    assert _span(timeline, EventKind.OBJECT_REMOVED) == _span(timeline, EventKind.REPLACED) == gone
    assert _event(timeline, EventKind.OBJECT_REMOVED).rule is rule


@pytest.mark.parametrize("way", [Way.DELETE, Way.NODE_LOST])
def test_T5_finalizers_keep_object_on_silent_node(way: Way) -> None:
    timeline = _way(way, _pod(owner="StatefulSet", metadata={"finalizers": ["example.com/keep"]}), silent=True)
    assert _event(timeline, EventKind.OBJECT_REMOVED).rule is TimeRule.FINALIZERS
    assert _span(timeline, EventKind.OBJECT_REMOVED) == _span(timeline, EventKind.REPLACED) == NEVER


def test_T5_grace_zero_frees_the_name_of_a_pod_that_runs() -> None:
    timeline = _way(Way.DELETE, _pod(0, owner="StatefulSet"))
    assert _span(timeline, EventKind.OBJECT_REMOVED) == _span(timeline, EventKind.REPLACED) == (0, 0)
    assert _span(timeline, EventKind.PROCESSES_ENDED) == (0, 2)


def test_T5_pod_without_processes_ends_with_the_delete() -> None:
    pending = _way(
        Way.DELETE, make_pod(metadata={"ownerReferences": [OWNERS["ReplicaSet"]]}, terminationGracePeriodSeconds=30)
    )
    assert [event.what for event in pending.events] == [EventKind.OBJECT_REMOVED, EventKind.REPLACED]
    finished = _way(Way.DELETE, _pod(status={"phase": "Failed"}, owner="ReplicaSet"))
    assert [(event.what, event.latest) for event in finished.events] == [(EventKind.OBJECT_REMOVED, 0)]


def test_T5_mirror_pod_is_recreated_and_nothing_stops() -> None:
    timeline = _way(Way.DELETE, _pod(metadata={"annotations": {"kubernetes.io/config.mirror": "0"}}))
    assert {event.what for event in timeline.events} == {
        EventKind.DELETED,
        EventKind.OBJECT_REMOVED,
        EventKind.REPLACED,
    }
    assert {event.rule for event in timeline.events} == {TimeRule.START, TimeRule.MIRROR}


@pytest.mark.parametrize(
    ("priority", "standing"),
    [(None, Standing.APPLIES), (2_000_000_000, Standing.APPLIES), (2_000_001_000, Standing.HIGHEST)],
)
def test_T5_no_pod_preempts_the_highest_priority(priority: int | None, standing: Standing) -> None:
    pod = _pod(owner="ReplicaSet")
    assert _way(Way.PREEMPT, replace(pod, spec=replace(pod.spec, priority=priority))).standing is standing


def test_T5_no_preemption_if_every_profile_disables_it() -> None:
    assert _way(Way.PREEMPT, _pod(), preemption_disabled=True).standing is Standing.NO_PREEMPTION


@table(
    "pod, standing",
    {
        "replicated": (_pod(owner="ReplicaSet"), Standing.APPLIES),
        "of a DaemonSet": (_pod(owner="DaemonSet"), Standing.PASSED_OVER),
        "a finished one of a DaemonSet": (_pod(owner="DaemonSet", status={"phase": "Failed"}), Standing.APPLIES),
        "mirror": (_pod(metadata={"annotations": {"kubernetes.io/config.mirror": "0"}}), Standing.PASSED_OVER),
        "without a controller": (_pod(), Standing.NEEDS_FORCE),
        "a finished one without": (_pod(status={"phase": "Succeeded"}), Standing.APPLIES),
        "on no node": (make_pod(), Standing.NOT_RUNNING),
        "stopping": (
            _pod(metadata={"deletionTimestamp": "2026-11-21T03:00:30Z", "deletionGracePeriodSeconds": 30}),
            Standing.STOPPING,
        ),
    },
)
def test_T5_pods_that_a_drain_evicts(pod: Pod, standing: Standing) -> None:
    assert _way(Way.DRAIN, pod).standing is standing


def test_T5_budget_blocks_only_a_drain() -> None:
    budget = from_object(
        {
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}},
            "status": {"disruptionsAllowed": 0, "desiredHealthy": 2, "currentHealthy": 2},
        },
        PodDisruptionBudget,
    )
    ready = [{"type": "Ready", "status": "True"}]
    pod = _pod(owner="ReplicaSet", labels={"app": "web"}, status={"conditions": ready})
    timeline = _way(Way.DRAIN, pod, budgets=[budget])
    assert timeline.standing is Standing.HELD
    assert timeline.reason == "The disruption budget web needs 2 healthy pods and has 2 currently"
    # Once the eviction is allowed, the same events follow as after any delete.
    assert timeline.events == _way(Way.DELETE, pod).events
    assert _way(Way.PREEMPT, pod, budgets=[budget]).standing is Standing.APPLIES


# Ends by the kubelet only


@table(
    "grace, most, kill, field, waits",
    {
        "at most evictionMaxPodGracePeriod": (300, 60, (60, 60), "evictionMaxPodGracePeriod", 90),
        "no longer than the pod's own": (8, 60, (8, 8), "spec.terminationGracePeriodSeconds", 12),
        "as short as a hard one unless it is set": (300, 0, (2, 2), "evictionMaxPodGracePeriod", 10),
    },
)
def test_T5_soft_eviction(grace: int, most: int, kill: tuple[int, int], field: str, waits: int) -> None:
    timeline = _way(Way.EVICT_SOFT, _pod(grace), kubelet=KubeletConfiguration(eviction_max_pod_grace_period=most))
    assert _span(timeline, EventKind.SIGKILL) == kill
    assert _event(timeline, EventKind.SIGKILL).field == field
    assert _span(timeline, EventKind.KILL_TIMEOUT) == (waits, waits)
    assert _has(timeline, Reminder.NO_MAX_GRACE) is (most == 0)
    assert not _has(timeline, Reminder.KUBELET_NOT_READ)


def test_T5_unread_kubelet_is_marked() -> None:
    assert _has(_way(Way.EVICT_SOFT, _pod()), Reminder.KUBELET_NOT_READ)
    assert _has(_way(Way.SHUTDOWN, _pod()), Reminder.KUBELET_NOT_READ)
    # The configuration has no effect at a hard threshold.
    assert not _has(_way(Way.EVICT_HARD, _pod()), Reminder.KUBELET_NOT_READ)


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
    timeline = _way(Way.EVICT_HARD, _pod(owner=owner))
    assert _span(timeline, EventKind.FAILED) == (0, 4)
    assert _span(timeline, EventKind.OBJECT_REMOVED) == gone
    assert _span(timeline, EventKind.REPLACED) == replaced


@pytest.mark.parametrize("way", [Way.EVICT_HARD, Way.EVICT_SOFT])
def test_T5_critical_pods_are_not_evicted(way: Way) -> None:
    assert _way(way, _pod(priority=2_000_000_000)).standing is Standing.CRITICAL


def _probed(name: str, **probe: int) -> Container:
    return from_object({"name": "app", name: {"httpGet": {"path": "/"}, **probe}}, Container)


@table(
    "container, failed, kill, field, restart",
    {
        "liveness, with the pod's own period": (
            _probed("livenessProbe", periodSeconds=10, failureThreshold=3, timeoutSeconds=1),
            (20, 31),
            (50, 61),
            "spec.terminationGracePeriodSeconds",
            (20, 61),
        ),
        "the API server's defaults": (
            _probed("livenessProbe"),
            (20, 31),
            (50, 61),
            "spec.terminationGracePeriodSeconds",
            (20, 61),
        ),
        "liveness counts from when the container hangs: its delay is long over": (
            _probed("livenessProbe", initialDelaySeconds=600),
            (20, 31),
            (50, 61),
            "spec.terminationGracePeriodSeconds",
            (20, 61),
        ),
        "the probe's own period": (
            _probed("livenessProbe", periodSeconds=5, failureThreshold=1, terminationGracePeriodSeconds=7),
            (0, 6),
            (7, 13),
            "spec.containers[0].livenessProbe.terminationGracePeriodSeconds",
            (0, 13),
        ),
        "never below 2 s": (
            _probed("livenessProbe", periodSeconds=2, failureThreshold=2, terminationGracePeriodSeconds=1),
            (2, 5),
            (4, 7),
            "spec.containers[0].livenessProbe.terminationGracePeriodSeconds",
            (2, 7),
        ),
        "a time-out longer than the period delays the next probe": (
            _probed("livenessProbe", periodSeconds=1, failureThreshold=3, timeoutSeconds=4),
            (2, 13),
            (32, 43),
            "spec.terminationGracePeriodSeconds",
            (2, 43),
        ),
        "startup, from the container's start": (
            _probed("startupProbe", initialDelaySeconds=20, periodSeconds=10, failureThreshold=30),
            (310, 321),
            (340, 351),
            "spec.terminationGracePeriodSeconds",
            (310, 351),
        ),
    },
)
def test_T5_failed_probe(
    container: Container, failed: tuple[int, int], kill: tuple[int, int], field: str, restart: tuple[int, int]
) -> None:
    timeline = _way(Way.PROBE, _pod(30, containers=[container]))
    assert _span(timeline, EventKind.PROBE_FAILED) == failed
    assert _span(timeline, EventKind.SIGKILL) == kill
    assert _event(timeline, EventKind.SIGKILL).field == field
    assert _span(timeline, EventKind.RESTARTED) == restart
    # The pod stays, and its owner has nothing to do.
    assert _event(timeline, EventKind.OBJECT_REMOVED).rule is TimeRule.POD_STAYS
    assert all(event.what is not EventKind.REPLACED for event in timeline.events)
    assert _has(timeline, Reminder.BACK_OFF)


@pytest.mark.parametrize(("policy", "restarts"), [("Always", True), ("OnFailure", True), ("Never", False)])
def test_T5_restart_policy_decides_after_a_failed_probe(policy: str, *, restarts: bool) -> None:
    sidecar = replace(_probed("livenessProbe"), name="mesh", restart_policy="Always")
    pod = _pod(containers=[_probed("livenessProbe")], initContainers=[sidecar])
    timeline = _way(Way.PROBE, replace(pod, spec=replace(pod.spec, restart_policy=policy)))
    assert (_span(timeline, EventKind.RESTARTED, "app") != NEVER) is restarts
    assert _event(timeline, EventKind.RESTARTED, "app").field == "spec.restartPolicy"
    own = replace(_probed("livenessProbe"), restart_policy="Never" if restarts else "OnFailure")
    timeline = _way(Way.PROBE, replace(pod, spec=replace(pod.spec, restart_policy=policy, containers=(own,))))
    assert (_span(timeline, EventKind.RESTARTED, "app") == NEVER) is restarts
    assert _event(timeline, EventKind.RESTARTED, "app").field == "spec.containers[0].restartPolicy"
    # A sidecar has its own policy, and waits for no container when it is killed alone.
    assert _span(timeline, EventKind.RESTARTED, "mesh") != NEVER
    assert _span(timeline, EventKind.SIGTERM, "mesh") == _span(timeline, EventKind.PROBE_FAILED, "mesh")


def test_T5_no_failure_without_a_probe() -> None:
    assert _way(Way.PROBE, _pod()).standing is Standing.NO_PROBE


@table(
    "whole, critical, groups",
    {
        "both shutdownGracePeriodRequested and shutdownGracePeriodCriticalPods": (
            "5m0s",
            "2m0s",
            [(0, 180), (2_000_000_000, 120)],
        ),
        "only shutdownGracePeriodRequested": ("1m40s", "0s", [(0, 100), (2_000_000_000, 0)]),
        "all of it for critical pods": ("30s", "30s", [(0, 0), (2_000_000_000, 30)]),
        "empty configuration": ("0s", "0s", []),
        "wrong configuration": ("1s", "1m40s", []),
    },
)
def test_T5_migrate_config(whole: str, critical: str, groups: list[tuple[int, int]]) -> None:
    config = KubeletConfiguration(shutdown_grace_period=whole, shutdown_grace_period_critical_pods=critical)
    assert [(group.priority, group.seconds) for group in shutdown_groups(config)] == groups


MIGRATED = from_object({"shutdownGracePeriod": "5m0s", "shutdownGracePeriodCriticalPods": "2m0s"}, KubeletConfiguration)
BY_PRIORITY = from_object(
    {
        "shutdownGracePeriodByPodPriority": [
            {"priority": priority, "shutdownGracePeriodSeconds": 10 * priority} for priority in (4, 3, 1, 2)
        ]
    },
    KubeletConfiguration,
)


@table(
    "kubelet, priority, start, seconds",
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
def test_T5_group_by_priority(kubelet: KubeletConfiguration, priority: int, start: int, seconds: int) -> None:
    timeline = _way(Way.SHUTDOWN, _pod(3600, priority=priority), kubelet=kubelet)
    # Earlier groups may have no pods, and take no time then.
    assert _span(timeline, EventKind.SIGTERM) == (0, start)
    assert _span(timeline, EventKind.SIGKILL) == (seconds, start + seconds)
    assert _span(timeline, EventKind.MACHINE_OFF)[1] == sum(group.seconds for group in shutdown_groups(kubelet))


@table(
    "grace, kill, field",
    {
        "its own period where that is shorter": (20, (20, 20), "spec.terminationGracePeriodSeconds"),
        "or the same": (180, (180, 180), "spec.terminationGracePeriodSeconds"),
        "else its group's": (600, (180, 180), "shutdownGracePeriod"),
        "2 s at the least": (0, (2, 2), "spec.terminationGracePeriodSeconds"),
    },
)
def test_T5_shutdown_gives_a_pod_its_own_time_at_most(grace: int, kill: tuple[int, int], field: str) -> None:
    timeline = _way(Way.SHUTDOWN, _pod(grace, owner="StatefulSet"), kubelet=MIGRATED)
    assert _span(timeline, EventKind.SIGKILL) == kill
    assert _event(timeline, EventKind.SIGKILL).field == field
    assert _span(timeline, EventKind.REPLACED) == (0, kill[1] + 2)


BOTH = {"shutdownGracePeriod": "45s", "shutdownGracePeriodCriticalPods": "15s"}


@table(
    "config, grace, late",
    {
        "critical pods have 0 s": ({"shutdownGracePeriod": "20s"}, 30, {EventKind.SIGKILL, EventKind.FAILED}),
        "15 s": (BOTH, 30, {EventKind.FAILED}),
        "3 s of its 15 s": (BOTH, 3, set()),
    },
)
def test_T5_once_the_machine_may_be_off_no_end_is_certain(
    config: Mapping[str, str], grace: int, late: set[EventKind]
) -> None:
    """The kubelet delays the shutdown for shutdownGracePeriod, and no longer."""
    pod = _pod(grace, priority=2_000_001_000)
    timeline = _way(Way.SHUTDOWN, pod, kubelet=from_object(dict(config), KubeletConfiguration))
    off = _event(timeline, EventKind.MACHINE_OFF)
    assert (off.latest, off.field) == (off.seconds, "shutdownGracePeriod")
    assert {one.what for one in timeline.events if one.earliest is not None and one.latest is None} == late
    assert [one.what for one in timeline.events if one.latest is not None and one.latest > (off.latest or 0)] == []
    assert timeline.notes[-1] == Note(Reminder.THEN_NODE_LOST, off.latest if late else None)


def test_T5_shutdown_without_a_grace_period_is_not_the_kubelets() -> None:
    timeline = _way(Way.SHUTDOWN, _pod(), kubelet=KubeletConfiguration())
    assert _event(timeline, EventKind.SIGTERM).rule is TimeRule.NOT_BY_KUBELET
    assert _span(timeline, EventKind.OBJECT_REMOVED) == NEVER
    # It answers until its machine is off.
    assert _event(timeline, EventKind.OBJECT_REMOVED).rule is TimeRule.KUBELET_GOES_TOO
    assert _has(timeline, Reminder.THEN_NODE_LOST)


# A node that stops answering


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
    timeline = _way(Way.NODE_LOST, _pod(owner=owner))
    assert _span(timeline, EventKind.NODE_UNKNOWN) == (50, 60)
    assert _span(timeline, EventKind.TAINTED) == (50, 61)
    assert _span(timeline, EventKind.DELETED) == (350, 361)
    assert _event(timeline, EventKind.DELETED).field == "spec.tolerations[0].tolerationSeconds"
    assert _span(timeline, EventKind.SIGTERM) == _span(timeline, EventKind.OBJECT_REMOVED) == NEVER
    assert _span(timeline, EventKind.REPLACED) == replaced
    assert {Reminder.NODE_RETURNS, Reminder.NODE_DELETED, Reminder.OUT_OF_SERVICE} <= {
        note.reminder for note in timeline.notes
    }


def test_T5_job_back_off_starts_when_node_goes_silent() -> None:
    timeline = _way(Way.NODE_LOST, _pod(owner="Job"), tolerations=(_toleration(3),))
    assert _span(timeline, EventKind.DELETED) == (53, 64)
    assert _span(timeline, EventKind.REPLACED) == (60, 70)


def test_T5_job_replaces_a_pod_that_was_not_ready_at_once() -> None:
    timeline = _way(Way.DELETE, _pod(owner="Job", status={"conditions": [{"type": "Ready", "status": "False"}]}))
    assert _span(timeline, EventKind.REPLACED) == (0, 10)


def test_T5_job_replacing_failed_pods_waits_on_lost_node() -> None:
    timeline = _way(Way.NODE_LOST, _pod(owner="Job"), workload=_workload(podReplacementPolicy="Failed"))
    assert _span(timeline, EventKind.REPLACED) == NEVER


@table(
    "tolerations, deleted, rule",
    {
        "none": ([], (50, 61), TimeRule.NOT_TOLERATED),
        "without end": ([_toleration(None)], NEVER, TimeRule.TOLERATED_FOR_EVER),
        "of 0 s": ([_toleration(0)], (50, 61), TimeRule.TOLERATION_SECONDS),
        "of 30 s": ([_toleration(30)], (80, 91), TimeRule.TOLERATION_SECONDS),
        "the first that matches counts": ([_toleration(60), _toleration(30)], (110, 121), TimeRule.TOLERATION_SECONDS),
        "of everything": ([Toleration(operator="Exists")], NEVER, TimeRule.TOLERATED_FOR_EVER),
        "of another taint": (
            [Toleration(key=NOT_READY, operator="Exists", effect="NoExecute")],
            (50, 61),
            TimeRule.NOT_TOLERATED,
        ),
    },
)
def test_T5_lost_node_and_tolerations(
    tolerations: list[Toleration], deleted: tuple[int | None, int | None], rule: TimeRule
) -> None:
    timeline = _way(Way.NODE_LOST, _pod(), tolerations=tuple(tolerations))
    assert _span(timeline, EventKind.DELETED) == deleted
    assert _event(timeline, EventKind.DELETED).rule is rule


@table(
    "own, seconds",
    {
        "pod has no tolerations": ([], [300]),
        "none is for taint unreachable": ([Toleration(key="foo", toleration_seconds=700)], [700, 300]),
        "pod specified a toleration for taint not-ready": (
            [Toleration(key=NOT_READY, operator="Exists", effect="NoExecute", toleration_seconds=700)],
            [700, 300],
        ),
        "pod specified a toleration for taint unreachable": ([_toleration(700)], [700]),
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
    timeline = _way(Way.NODE_LOST, _pod(status={"phase": "Succeeded"}))
    assert _span(timeline, EventKind.OBJECT_REMOVED) == _span(timeline, EventKind.DELETED) == (350, 361)
    assert [note.reminder for note in timeline.notes] == [Reminder.VERSION_UNKNOWN]


@pytest.mark.parametrize("reach", [Reach.SILENT, Reach.MISSED_HEARTBEATS, Reach.OUT_OF_SERVICE])
def test_T5_silent_node_counts_from_last_heartbeat(reach: Reach) -> None:
    heartbeat = datetime(2026, 11, 21, 3, 2, 4, tzinfo=UTC)
    timeline = _timeline(_pod(), reach=NodeReach("node-1", reach, ""), renewed=heartbeat)
    assert (timeline.silent, timeline.began, timeline.ways[0].way) == (True, heartbeat, Way.NODE_LOST)
    by_way = {entry.way: entry for entry in timeline.ways}
    # A DELETE is accepted, and no kubelet acts on it.
    assert _span(by_way[Way.DELETE], EventKind.SIGTERM) == NEVER
    collected = (0, 20) if reach is Reach.OUT_OF_SERVICE else NEVER
    assert _span(by_way[Way.DELETE], EventKind.OBJECT_REMOVED) == collected
    for way in (Way.EVICT_HARD, Way.EVICT_SOFT, Way.PROBE, Way.SHUTDOWN, Way.PREEMPT):
        assert by_way[way].standing is Standing.SILENT


def test_T5_heartbeat_without_lease_comes_from_condition() -> None:
    since = datetime(2026, 11, 21, 3, 2, 56, tzinfo=UTC)
    timeline = _timeline(_pod(), reach=NodeReach("node-1", Reach.SILENT, "", since))
    assert timeline.began == since - timedelta(seconds=50)


@table(
    "ready, added, unknown, tainted, deleted",
    {
        "both": ("03:02:56", "03:02:57", (52, 52), (53, 53), (353, 353)),
        "the taint is to come": ("03:02:56", None, (52, 52), (52, 53), (352, 353)),
        "neither": (None, None, (50, 60), (50, 61), (350, 361)),
    },
)
def test_T5_silent_node_shows_what_it_has_noted_at_its_own_time(
    ready: str | None, added: str | None, unknown: tuple[int, int], tainted: tuple[int, int], deleted: tuple[int, int]
) -> None:
    heartbeat = datetime(2026, 11, 21, 3, 2, 4, 500000, tzinfo=UTC)
    day = "2026-11-21T"
    conditions = [{"type": "Ready", "status": "Unknown", "lastTransitionTime": f"{day}{ready}Z"}] if ready else []
    taints = [{"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": f"{day}{added}Z"}] if added else []
    node = make_node("node-1", conditions=conditions, taints=taints)
    timeline = _way(Way.NODE_LOST, _pod(), silent=True, renewed=heartbeat, node=node)
    assert _span(timeline, EventKind.NODE_UNKNOWN) == unknown
    assert _span(timeline, EventKind.TAINTED) == tainted
    assert _span(timeline, EventKind.DELETED) == deleted
    assert (_event(timeline, EventKind.NODE_UNKNOWN).rule is TimeRule.NODE_SHOWS) is (ready is not None)
    # A node that already has its taint does not wait for the eviction rate of its zone.
    assert _has(timeline, Reminder.MAX_SILENT) is (added is None)
    # Once it answers again it may be lost again: the time of that is unknown.
    later = _way(Way.NODE_LOST, _pod(), renewed=heartbeat, node=node)
    assert _span(later, EventKind.NODE_UNKNOWN) == (50, 60)


@table(
    "deleted, event, sigterm",
    {
        "after the node went silent: never delivered": ("2026-11-21T03:08:26Z", 352, NEVER),
        "in the second of the last heartbeat: as before": ("2026-11-21T03:02:34Z", 0, (0, None)),
        "before: delivered, outcome unknown": ("2026-11-21T03:02:24Z", -10, (-10, None)),
    },
)
def test_T5_pod_that_was_deleted_on_a_silent_node(
    deleted: str, event: int, sigterm: tuple[int | None, int | None]
) -> None:
    heartbeat = datetime(2026, 11, 21, 3, 2, 4, tzinfo=UTC)
    pod = _pod(metadata={"deletionTimestamp": deleted, "deletionGracePeriodSeconds": 30})
    timeline = _way(Way.NODE_LOST, pod, silent=True, renewed=heartbeat)
    assert _span(timeline, EventKind.DELETED) == (event, event)
    assert _span(timeline, EventKind.SIGTERM) == sigterm
    # It no longer stays, whenever its node answers again.
    assert _has(timeline, Reminder.NODE_RETURNS_LATE)
    assert not _has(timeline, Reminder.NODE_RETURNS)


def test_T5_pod_of_deleted_node_is_collected() -> None:
    timeline = _way(Way.NODE_LOST, _pod(owner="StatefulSet"), reach=NodeReach("node-1", Reach.GONE, ""))
    assert _span(timeline, EventKind.OBJECT_REMOVED) == _span(timeline, EventKind.REPLACED) == (0, 80)
    assert _event(timeline, EventKind.OBJECT_REMOVED).rule is TimeRule.POD_GC
    assert _span(timeline, EventKind.SIGTERM) == NEVER


def test_T5_deleted_node_counts_from_now() -> None:
    gone = NodeReach("node-1", Reach.GONE, "", datetime(2026, 11, 21, 3, 2, 4, tzinfo=UTC))
    timeline = _timeline(_pod(owner="StatefulSet"), reach=gone, renewed=gone.since)
    assert timeline.began is None
    by_way = {entry.way: entry for entry in timeline.ways}
    assert _span(by_way[Way.DELETE], EventKind.OBJECT_REMOVED) == (0, 80)


def test_T5_finalizers_delay_collection_on_deleted_node() -> None:
    timeline = _way(
        Way.NODE_LOST, _pod(metadata={"finalizers": ["example.com/keep"]}), reach=NodeReach("node-1", Reach.GONE, "")
    )
    assert _event(timeline, EventKind.OBJECT_REMOVED).rule is TimeRule.FINALIZERS
    assert _span(timeline, EventKind.OBJECT_REMOVED) == (0, None)


@pytest.mark.parametrize(("added", "gone"), [("2026-11-21T03:10:04Z", (480, 500)), (None, (350, None))])
def test_T5_out_of_service_object_is_gone_after_20_s(added: str | None, gone: tuple[int, int | None]) -> None:
    heartbeat = datetime(2026, 11, 21, 3, 2, 4, tzinfo=UTC)
    taint = {"key": OUT_OF_SERVICE, "effect": "NoExecute", **({"timeAdded": added} if added else {})}
    pod = _pod(
        owner="StatefulSet", metadata={"deletionTimestamp": "2026-11-21T03:08:24Z", "deletionGracePeriodSeconds": 30}
    )
    timeline = _way(
        Way.NODE_LOST,
        pod,
        reach=NodeReach("node-1", Reach.OUT_OF_SERVICE, "spec.taints[0]"),
        renewed=heartbeat,
        node=make_node(taints=[taint]),
    )
    assert _span(timeline, EventKind.OBJECT_REMOVED) == _span(timeline, EventKind.REPLACED) == gone
    assert _event(timeline, EventKind.OBJECT_REMOVED).rule is TimeRule.POD_GC_OUT_OF_SERVICE


# Volumes


@table(
    "lock, delete, lost",
    {
        "attached by a driver": (WriterLock.ATTACHMENT, Span(0, 40), Span(None, None)),
        "nothing keeps another node off": (WriterLock.NONE, Span(0, 0), Span(0, 0)),
    },
)
def test_T5_volume_is_released(lock: WriterLock, delete: Span, lost: Span) -> None:
    guards = (WriterGuard("data", lock),)
    assert _event(_way(Way.DELETE, _pod(), guards=guards), EventKind.VOLUME_FREE, "data").span == delete
    assert _event(_way(Way.NODE_LOST, _pod(), guards=guards), EventKind.VOLUME_FREE, "data").span == lost


def test_T5_lost_node_volume_detaches_6_min_after_object() -> None:
    event = _event(
        _way(Way.NODE_LOST, _pod(), guards=(WriterGuard("data", WriterLock.ATTACHMENT),)), EventKind.VOLUME_FREE
    )
    assert (event.rule, event.seconds) == (TimeRule.FORCE_DETACH, 360)


def test_T5_shared_volume_waits_for_no_pod() -> None:
    timeline = _way(Way.DELETE, _pod(), guards=(WriterGuard("shared", WriterLock.NOT_NEEDED),))
    assert all(event.what is not EventKind.VOLUME_FREE for event in timeline.events)


# The order of the ways


@table(
    "node, first",
    {
        "an unknown node": (None, Way.DELETE),
        "no trouble": (make_node(), Way.DELETE),
        "pressure": (make_node(conditions=[{"type": "MemoryPressure", "status": "True"}]), Way.EVICT_HARD),
        "cordoned": (from_object({"spec": {"unschedulable": True}}, Node), Way.DRAIN),
    },
)
def test_T5_most_relevant_way_comes_first(node: Node | None, first: Way) -> None:
    timeline = _timeline(_pod(), node=node)
    assert timeline.ways[0].way is first
    assert [entry.way for entry in timeline.ways[1:]] == [way for way in Way if way is not first]


def test_T5_deletion_of_terminating_pod_comes_first() -> None:
    pod = _pod(metadata={"deletionTimestamp": "2026-11-21T03:00:30Z", "deletionGracePeriodSeconds": 30})
    timeline = _timeline(pod, node=make_node(conditions=[{"type": "DiskPressure", "status": "True"}]))
    assert timeline.ways[0].way is Way.DELETE
    assert timeline.began == datetime(2026, 11, 21, 3, 0, 0, tzinfo=UTC)
    stopping = {entry.way for entry in timeline.ways if entry.standing is Standing.STOPPING}
    assert stopping == set(Way) - {Way.DELETE, Way.NODE_LOST}


def test_T5_pod_on_no_node_can_only_be_deleted() -> None:
    timeline = _timeline(make_pod(terminationGracePeriodSeconds=30), reach=None)
    assert [entry.way for entry in timeline.ways if entry.standing is not Standing.NOT_RUNNING] == [Way.DELETE]
