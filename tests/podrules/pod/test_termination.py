"""Grace periods: at the API server, in the kubelet, per container; hooks, order and eviction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from podrules.api.model.pod import Pod
from podrules.ending.deleted_pod import StopPlan, stop_plan
from podrules.pod.termination import (
    ContainerKillReason,
    EvictionStop,
    GraceSource,
    TerminationGrace,
    check_graceful_delete,
    container_grace_period,
    effective_grace_period,
    eviction_stop,
    kill_timeout,
    set_termination_grace_period,
    termination_order,
)
from tests.controlplane.client import Object
from tests.objects import make_pod, raw_container, raw_sidecar
from tests.restated.termination import DeleteOptions, DeleteOutcome, before_delete
from tests.table import table

NOW = 1_000_000.0
SLEEP_5: Mapping[str, Any] = {"sleep": {"seconds": 5}}
EXEC: Mapping[str, Any] = {"exec": {"command": ["drain"]}}
HTTP_GET: Mapping[str, Any] = {"httpGet": {"path": "/drain", "port": 80}}


def _running(*, grace: int | None = 30, phase: str = "Running", **more: Any) -> Pod:
    return make_pod(nodeName="node-1", terminationGracePeriodSeconds=grace, status={"phase": phase}, **more)


def _hooked(pre_stop: Mapping[str, Any], name: str = "app") -> Object:
    return raw_container(name, lifecycle={"preStop": pre_stop})


def _deleting(current: int | None) -> Pod:
    return _running(metadata={"deletionGracePeriodSeconds": current})


def _delete(pod: Pod, seconds: int | None = None, *, due_in: float | None = None) -> DeleteOutcome:
    """The outcome of a DELETE; ``due_in``: an earlier one set a deletionTimestamp this far in the future."""
    return before_delete(
        pod,
        DeleteOptions(grace_period_seconds=seconds),
        now=NOW,
        deletion_time=None if due_in is None else NOW + due_in,
    )


@table(
    "pod, option, seconds, source",
    {
        "in pending phase with has node name": (_running(grace=None, phase="Pending"), 30, 30, GraceSource.OPTION),
        "in failed phase with has node name": (_running(grace=None, phase="Failed"), 30, 0, GraceSource.FINISHED),
        "in failed phase": (make_pod(status={"phase": "Pending"}), 30, 0, GraceSource.NOT_SCHEDULED),
        "in succeeded phase": (make_pod(status={"phase": "Succeeded"}), 30, 0, GraceSource.NOT_SCHEDULED),
        "succeeded, on a node": (_running(phase="Succeeded"), None, 0, GraceSource.FINISHED),
        "no phase": (make_pod(), 30, 0, GraceSource.NOT_SCHEDULED),
        "has negative grace period": (_running(grace=-1, phase=""), None, 1, GraceSource.NEGATIVE),
        "negative option": (_running(), -5, 1, GraceSource.NEGATIVE),
        "negative, not scheduled": (make_pod(terminationGracePeriodSeconds=-1), None, 0, GraceSource.NOT_SCHEDULED),
        "the spec": (_running(grace=7), None, 7, GraceSource.SPEC),
        "the option may be longer than the spec": (_running(grace=7), 60, 60, GraceSource.OPTION),
        "an option of zero": (_running(grace=7), 0, 0, GraceSource.OPTION),
        "a spec of zero": (_running(grace=0), None, 0, GraceSource.SPEC),
        "neither": (_running(grace=None), None, 0, GraceSource.SPEC),
    },
)
def test_T1_grace_period_of_a_first_delete(pod: Pod, option: int | None, seconds: int, source: GraceSource) -> None:
    assert check_graceful_delete(pod, option) == TerminationGrace(seconds, source)


def test_T1_first_delete_marks_the_object() -> None:
    assert _delete(_running(grace=30, metadata={"generation": 4})) == DeleteOutcome(
        graceful=True, option_seconds=30, deletion_grace_period_seconds=30, deletion_time=NOW + 30, generation=5
    )


def test_T1_first_delete_leaves_an_unset_generation() -> None:
    assert _delete(_running(metadata={"generation": 0})).generation == 0


def test_T1_first_delete_of_finished_pod_has_no_grace() -> None:
    outcome = _delete(_running(phase="Succeeded"), 60)
    assert (outcome.option_seconds, outcome.deletion_grace_period_seconds, outcome.deletion_time) == (0, 0, NOW)


GRACEFUL, PENDING, AT_ONCE = (True, False), (False, True), (False, False)


@table(
    "current, asked, kind, option, deletion_seconds",
    {
        "when DeletionGracePeriodSeconds=-1, GracePeriodSeconds=-1": (-1, -1, PENDING, 1, 1),
        "when DeletionGracePeriodSeconds=-1, GracePeriodSeconds=0": (-1, 0, GRACEFUL, 0, 0),
        "when DeletionGracePeriodSeconds=-1, GracePeriodSeconds=1": (-1, 1, PENDING, 1, 1),
        "when DeletionGracePeriodSeconds=-1, GracePeriodSeconds=2": (-1, 2, PENDING, 2, 1),
        "when DeletionGracePeriodSeconds=0, GracePeriodSeconds=-1": (0, -1, AT_ONCE, 1, 0),
        "when DeletionGracePeriodSeconds=0, GracePeriodSeconds=0": (0, 0, AT_ONCE, 0, 0),
        "when DeletionGracePeriodSeconds=0, GracePeriodSeconds=1": (0, 1, AT_ONCE, 1, 0),
        "when DeletionGracePeriodSeconds=0, GracePeriodSeconds=2": (0, 2, AT_ONCE, 2, 0),
        "when DeletionGracePeriodSeconds=1, GracePeriodSeconds=-1": (1, -1, PENDING, 1, 1),
        "when DeletionGracePeriodSeconds=1, GracePeriodSeconds=0": (1, 0, GRACEFUL, 0, 0),
        "when DeletionGracePeriodSeconds=1, GracePeriodSeconds=1": (1, 1, PENDING, 1, 1),
        "when DeletionGracePeriodSeconds=1, GracePeriodSeconds=2": (1, 2, PENDING, 2, 1),
        "when DeletionGracePeriodSeconds=2, GracePeriodSeconds=-1": (2, -1, GRACEFUL, 1, 1),
        "when DeletionGracePeriodSeconds=2, GracePeriodSeconds=0": (2, 0, GRACEFUL, 0, 0),
        "when DeletionGracePeriodSeconds=2, GracePeriodSeconds=1": (2, 1, GRACEFUL, 1, 1),
        "when DeletionGracePeriodSeconds=2, GracePeriodSeconds=2": (2, 2, PENDING, 2, 2),
        "no option: the period under way": (2, None, PENDING, 2, 2),
        "a deletionTimestamp without a period": (None, 5, AT_ONCE, 5, None),
        "neither": (None, None, AT_ONCE, None, None),
    },
)
def test_T1_second_delete_can_only_shorten(
    current: int | None, asked: int | None, kind: tuple[bool, bool], option: int | None, deletion_seconds: int | None
) -> None:
    outcome = _delete(_deleting(current), asked, due_in=0 if current is None else current)
    assert (outcome.graceful, outcome.graceful_pending) == kind
    assert outcome.option_seconds == option
    assert outcome.deletion_grace_period_seconds == deletion_seconds


@table(
    "due_in, asked, deletion_time, deletion_seconds",
    {
        "counted from the first delete, 20 s ago": (40, 50, NOW + 30, 50),
        "exactly over: no earlier than now": (40, 20, NOW, 20),
        "already over: the shortest graceful period": (40, 10, NOW, 1),
        "when a shorter non-zero grace period would move into the past": (-60, 50, NOW, 1),
        "when a zero grace period would move into the past": (-60, 0, NOW, 0),
        "longer: left as it was": (40, 90, NOW + 40, 60),
    },
)
def test_T1_deletion_time_after_a_second_delete(
    due_in: float, asked: int, deletion_time: float, deletion_seconds: int
) -> None:
    outcome = _delete(_deleting(60), asked, due_in=due_in)
    assert (outcome.deletion_time, outcome.deletion_grace_period_seconds) == (deletion_time, deletion_seconds)


def test_T1_second_delete_leaves_the_generation() -> None:
    pod = _running(metadata={"deletionGracePeriodSeconds": 60, "generation": 4})
    assert [_delete(pod, asked, due_in=60).generation for asked in (None, 5, 90)] == [4, 4, 4]


RECREATED = ". The object might have been deleted and then recreated"


@table(
    "options, error",
    {
        "same uid": (DeleteOptions(uid="u1"), None),
        "same uid and version": (DeleteOptions(uid="u1", resource_version="7"), None),
        "other uid": (
            DeleteOptions(uid="u2"),
            f"UID in the precondition (u2) does not match the UID in record (u1){RECREATED}",
        ),
        "other version": (
            DeleteOptions(resource_version="6"),
            (
                "ResourceVersion in the precondition (6) does not match the ResourceVersion in record (7)"
                ". The object might have been modified"
            ),
        ),
        "empty is asked too; the uid first": (
            DeleteOptions(uid="", resource_version="6"),
            f"UID in the precondition () does not match the UID in record (u1){RECREATED}",
        ),
    },
)
def test_T1_preconditions(options: DeleteOptions, error: str | None) -> None:
    outcome = before_delete(_running(uid="u1", metadata={"resourceVersion": "7"}), options, now=NOW, deletion_time=None)
    assert outcome.error == (f'Operation cannot be fulfilled on Pod "web": the {error}' if error else None)
    assert outcome.graceful is (error is None)


@table(
    "pod, option, at_once, processes",
    {
        "plain delete": (_running(), None, False, True),
        "grace period of 1": (_running(), 1, False, True),
        "force: the object goes, processes may run on": (_running(), 0, True, True),
        "the pod's own period is 0": (_running(grace=0), None, True, True),
        "not scheduled": (make_pod(terminationGracePeriodSeconds=30), None, True, False),
        "finished": (_running(phase="Failed"), None, True, False),
    },
)
def test_T1_what_a_delete_removes(pod: Pod, option: int | None, at_once: bool, processes: bool) -> None:
    plan = stop_plan(pod, option)
    assert (plan.object_removed_at_once, plan.processes) == (at_once, processes)
    assert bool(plan.containers) is processes


def test_T1_finalizer_keeps_the_object_of_a_forced_delete() -> None:
    # Every pod of a Job has it until the Job controller has counted the pod.
    pod = _running(metadata={"finalizers": ["batch.kubernetes.io/job-tracking"]})
    assert not stop_plan(pod, 0).object_removed_at_once


@table(
    "spec, deletion, override, expected",
    {
        "use termination grace period from the spec when no overrides": (30, None, None, 30),
        "use pod DeletionGracePeriodSeconds when set": (30, 5, None, 5),
        "use grace period override when set": (30, 5, 2, 2),
        "use 1 when pod DeletionGracePeriodSeconds is zero": (30, 0, None, 1),
        "use 1 when grace period override is zero": (30, 5, 0, 1),
        "an override cannot lengthen": (30, 5, 60, 5),
        "a deletion may be longer than the spec": (30, 60, None, 60),
        "zero means unset, so that an override can raise it": (30, 0, 20, 20),
        "nothing set": (None, None, None, 1),
        "a spec of zero": (0, None, None, 1),
        "a negative spec": (-3, None, None, 1),
    },
)
def test_T2_pod_workers_first_period(
    spec: int | None, deletion: int | None, override: int | None, expected: int
) -> None:
    pod = _running(grace=spec, metadata={"deletionGracePeriodSeconds": deletion})
    assert effective_grace_period(pod, override_seconds=override) == (expected, False)


@table(
    "deletion, override, known, expected",
    {
        "a shorter delete": (2, None, 30, (2, True)),
        "a forced delete": (0, None, 30, (1, True)),
        "a longer delete": (60, None, 30, (30, False)),
        "the same delete": (30, None, 30, (30, False)),
        "an eviction of a pod being deleted": (30, 5, 30, (5, True)),
        "nothing new: not the spec again": (None, None, 30, (30, False)),
        "but zero means unset: an eviction raises it, and upstream says shortened": (0, 2, 1, (2, True)),
    },
)
def test_T2_pod_workers_period_only_decreases(
    deletion: int | None, override: int | None, known: int, expected: tuple[int, bool]
) -> None:
    pod = _running(grace=90, metadata={"deletionGracePeriodSeconds": deletion})
    assert effective_grace_period(pod, known_seconds=known, override_seconds=override) == expected


STARTUP, LIVENESS = ContainerKillReason.STARTUP_PROBE, ContainerKillReason.LIVENESS_PROBE
UNKNOWN, POST_START = ContainerKillReason.UNKNOWN, ContainerKillReason.FAILED_POST_START_HOOK
TEN, THIRTY, SIXTY = ({"terminationGracePeriodSeconds": seconds} for seconds in (10, 30, 60))
BOTH_PROBES = raw_container(startupProbe=TEN, livenessProbe=THIRTY)
LIVENESS_10, LIVENESS_60 = raw_container(livenessProbe=TEN), raw_container(livenessProbe=SIXTY)
STARTUP_10, STARTUP_60 = raw_container(startupProbe=TEN), raw_container(startupProbe=SIXTY)


@table(
    "container, spec, deletion, reason, expected",
    {
        "default termination grace period": (raw_container(), None, None, UNKNOWN, 2),
        "use pod termination grace period": (raw_container(), 60, None, UNKNOWN, 60),
        "liveness probe overrides pod termination grace period": (LIVENESS_10, 60, None, LIVENESS, 10),
        "startup probe overrides pod termination grace period": (STARTUP_10, 60, None, STARTUP, 10),
        "startup probe overrides the pod's, probe period > pod period": (STARTUP_60, 10, None, STARTUP, 60),
        "liveness probe overrides the pod's, probe period > pod period": (LIVENESS_60, 10, None, LIVENESS, 60),
        "non-liveness probe failure, use pod termination grace period": (LIVENESS_10, 60, None, UNKNOWN, 60),
        "non-startup probe failure, use pod termination grace period": (STARTUP_10, 60, None, UNKNOWN, 60),
        "all three grace periods set, use pod termination grace period": (BOTH_PROBES, 60, None, UNKNOWN, 60),
        "all three grace periods set, use startup termination grace period": (BOTH_PROBES, 60, None, STARTUP, 10),
        "all three grace periods set, use liveness termination grace period": (BOTH_PROBES, 60, None, LIVENESS, 30),
        "failed postStart hook": (BOTH_PROBES, 60, None, POST_START, 60),
        "the other probe's period": (LIVENESS_10, 60, None, STARTUP, 60),
        "a deletion comes before the probe": (BOTH_PROBES, 60, 20, LIVENESS, 20),
        "also one of zero": (BOTH_PROBES, 60, 0, LIVENESS, 0),
        "a probe's period needs one in the spec": (BOTH_PROBES, None, None, LIVENESS, 2),
    },
)
def test_T2_period_of_a_container(
    container: Object, spec: int | None, deletion: int | None, reason: ContainerKillReason, expected: int
) -> None:
    pod = _running(grace=spec, metadata={"deletionGracePeriodSeconds": deletion}, containers=[container])
    assert set_termination_grace_period(pod, pod.spec.containers[0], reason) == expected


@table(
    "seconds, pre_stop, waited, expected",
    {
        "nothing taken": (30, 0, 0, 30),
        "the hook's time is subtracted": (30, 12, 0, 18),
        "so is the wait for its turn": (30, 0, 12, 18),
        "and both": (30, 12, 10, 8),
        "never below two seconds": (30, 29, 0, 2),
        "a hanging hook is left behind": (30, 300, 0, 2),
        "no time to wait is left": (30, 300, 300, 2),
        "a period of zero runs no hook": (0, 10, 10, 2),
        "a period of one": (1, 0, 0, 2),
        "a period of two": (2, 0, 0, 2),
        "a period of three": (3, 0, 0, 3),
    },
)
def test_T3_time_between_sigterm_and_sigkill(seconds: int, pre_stop: int, waited: int, expected: int) -> None:
    assert container_grace_period(seconds, pre_stop_seconds=pre_stop, waited_seconds=waited) == expected


@table(
    "pod, order",
    {
        "TestTerminationOrderingSidecarStopAfterMain": (
            make_pod(initContainers=[raw_sidecar("init")]),
            (("app",), ("init",)),
        ),
        "TestTerminationOrderingSidecarsInReverseOrder": (
            make_pod(initContainers=[raw_sidecar("sc1"), raw_sidecar("sc2"), raw_sidecar("sc3")]),
            (("app",), ("sc3",), ("sc2",), ("sc1",)),
        ),
        "app containers at once, init containers that ended not at all": (
            make_pod(
                containers=[raw_container("a"), raw_container("b")],
                initContainers=[raw_container("setup"), raw_sidecar("mesh"), raw_container("migrate")],
            ),
            (("a", "b"), ("mesh",)),
        ),
    },
)
def test_T3_sidecars_stop_last_in_reverse_order(pod: Pod, order: tuple[tuple[str, ...], ...]) -> None:
    assert termination_order(pod) == order


def _times(plan: StopPlan) -> dict[str, tuple[int, int, int]]:
    """By container: earliest and latest SIGTERM, latest SIGKILL."""
    return {step.name: (step.sigterm_earliest, step.sigterm_latest, step.sigkill_latest) for step in plan.containers}


@table(
    "pre_stop, grace, hook, times",
    {
        "no hook": (None, 30, None, (0, 0, 30)),
        "sleep": ({"sleep": {"seconds": 10}}, 30, "sleep", (10, 10, 30)),
        "sleep that leaves a second": ({"sleep": {"seconds": 29}}, 30, "sleep", (29, 29, 31)),
        "sleep beyond the period": ({"sleep": {"seconds": 90}}, 30, "sleep", (30, 30, 32)),
        "exec takes what it takes": (EXEC, 30, "exec", (0, 30, 32)),
        "httpGet too": (HTTP_GET, 30, "httpGet", (0, 30, 32)),
        "force: the kubelet still gives one second": (SLEEP_5, 0, "sleep", (1, 1, 3)),
    },
)
def test_T3_hooks_come_before_sigterm(
    pre_stop: Mapping[str, Any] | None, grace: int, hook: str | None, times: tuple[int, int, int]
) -> None:
    container = _hooked(pre_stop) if pre_stop else raw_container()
    plan = stop_plan(_running(grace=grace, containers=[container]))
    assert plan.containers[0].pre_stop == hook
    assert _times(plan) == {"app": times}
    assert plan.sigkill_latest == times[2]


def test_T3_sidecar_s_hook_starts_at_once_and_takes_its_own_time() -> None:
    pod = _running(
        grace=45,
        containers=[_hooked(EXEC)],
        initContainers=[raw_sidecar("proxy", lifecycle={"preStop": {"sleep": {"seconds": 10}}}), raw_sidecar("logs")],
    )
    steps = {step.name: step for step in stop_plan(pod).containers}
    assert list(steps) == ["app", "logs", "proxy"]
    assert (steps["app"].pre_stop_earliest, steps["app"].pre_stop_latest) == (0, 45)
    # The hook runs in parallel with the others; only SIGTERM waits for the turn.
    assert (steps["proxy"].pre_stop_earliest, steps["proxy"].pre_stop_latest) == (10, 10)
    assert (steps["proxy"].sigterm_earliest, steps["proxy"].sigterm_latest) == (10, 45)
    assert steps["proxy"].field == "spec.initContainers[0]"


def test_T3_hook_of_one_container_does_not_delay_another() -> None:
    containers = [_hooked({"sleep": {"seconds": 20}}, "slow"), raw_container("quick")]
    assert _times(stop_plan(_running(grace=30, containers=containers))) == {"slow": (20, 20, 30), "quick": (0, 0, 30)}


def test_T3_sidecars_wait_whole_period_plus_two_seconds() -> None:
    second = raw_sidecar("second", lifecycle={"preStop": SLEEP_5})
    init = [raw_sidecar("first"), raw_container("setup"), second]
    plan = stop_plan(_running(grace=5, containers=[raw_container("main")], initContainers=init))
    assert [(step.name, step.field, step.is_sidecar) for step in plan.containers] == [
        ("main", "spec.containers[0]", False),
        ("second", "spec.initContainers[2]", True),
        ("first", "spec.initContainers[0]", True),
    ]
    # The first of them waits for the second, which has a sleeping hook.
    assert _times(plan) == {"main": (0, 0, 5), "second": (5, 5, 7), "first": (5, 5, 7)}
    assert plan.sigkill_latest == 7


@table(
    "container, signal",
    {
        "none set": (raw_container(), "SIGTERM"),
        "a lifecycle without a signal": (raw_container(lifecycle={"preStop": EXEC}), "SIGTERM"),
        "lifecycle.stopSignal": (raw_container(lifecycle={"stopSignal": "SIGUSR1"}), "SIGUSR1"),
    },
)
def test_T3_stop_signal(container: Object, signal: str) -> None:
    assert stop_plan(_running(containers=[container])).containers[0].stop_signal == signal


def test_T3_no_container_stops_if_none_runs() -> None:
    plan = stop_plan(make_pod(terminationGracePeriodSeconds=30))
    assert (plan.containers, plan.sigkill_latest) == ((), 0)


def test_T4_hard_eviction_periods_of_pod_and_containers() -> None:
    assert eviction_stop(_running(grace=300)) == EvictionStop(
        pod_seconds=1, container_seconds=2, sigkill_latest=2, kill_timeout=10
    )


def test_T4_hook_takes_its_second_before_the_containers_two() -> None:
    hooked = eviction_stop(_running(containers=[_hooked(EXEC)]))
    assert hooked is not None
    assert (hooked.container_seconds, hooked.sigkill_latest) == (2, 3)


@table(
    "grace, deletion, maximum, expected",
    {
        "at most evictionMaxPodGracePeriod": (300, None, 60, EvictionStop(60, 60, 60, 90)),
        "no longer than the pod's own period": (30, None, 60, EvictionStop(30, 30, 30, 45)),
        "a pod without a period": (None, None, 60, EvictionStop(60, 60, 60, 90)),
        "a maximum of zero is as hard": (300, None, 0, EvictionStop(1, 2, 2, 10)),
        "a deletion under way is not lengthened": (300, 20, 60, EvictionStop(20, 20, 20, 90)),
        "a short period waits ten seconds at least": (5, None, 60, EvictionStop(5, 5, 5, 10)),
    },
)
def test_T4_soft_threshold(grace: int | None, deletion: int | None, maximum: int, expected: EvictionStop) -> None:
    pod = _running(grace=grace, metadata={"deletionGracePeriodSeconds": deletion})
    assert eviction_stop(pod, max_pod_grace_period_seconds=maximum) == expected


@table(
    "pod",
    {
        "system priority": _running(priority=2_000_000_000),
        "static pod": _running(metadata={"annotations": {"kubernetes.io/config.source": "file"}}),
        "mirror pod": _running(metadata={"annotations": {"kubernetes.io/config.mirror": ""}}),
    },
)
def test_T4_critical_pods_are_not_evicted(pod: Pod) -> None:
    assert eviction_stop(pod) is None
    assert eviction_stop(pod, max_pod_grace_period_seconds=60) is None


@table("override, seconds", {"older versions, 0": (0, 1), "this version, 1": (1, 1)})
def test_T4_zero_and_one_are_equivalent(override: int, seconds: int) -> None:
    assert effective_grace_period(_running(), override_seconds=override) == (seconds, False)
    assert container_grace_period(override) == 2


@pytest.mark.parametrize(("seconds", "expected"), [(0, 10), (2, 10), (6, 10), (7, 10), (8, 12), (30, 45), (61, 91)])
def test_T4_kill_timeout(seconds: int, expected: int) -> None:
    assert kill_timeout(seconds) == expected


# Observations of one kubelet 1.36.3. Each row: SIGTERM and the end of a process that ignores it, in seconds after the
# DELETE, and whether the object was removed by the DELETE.
@table(
    "pod, option, hook_takes, seen, gone_at_once",
    {
        "grace 5": (_running(grace=5), None, 0, (0, 5), False),
        "grace 30": (_running(grace=30), None, 0, (0, 30), False),
        "grace 5, preStop of 3 s": (_running(grace=5, containers=[_hooked(EXEC)]), None, 3, (3, 5), False),
        "grace 5, preStop sleep 5": (_running(grace=5, containers=[_hooked(SLEEP_5)]), None, 5, (5, 7), False),
        "grace 5, preStop exec of 20 s": (_running(grace=5, containers=[_hooked(EXEC)]), None, 20, (5, 7), False),
        "--grace-period=0 --force": (_running(grace=30), 0, 0, (0, 2), True),
        "--grace-period=1": (_running(grace=30), 1, 0, (0, 2), False),
        "terminationGracePeriodSeconds 0, plain delete": (_running(grace=0), None, 0, (0, 2), True),
    },
)
def test_T3_stop_on_a_real_node(
    pod: Pod, option: int | None, hook_takes: int, seen: tuple[int, int], gone_at_once: bool
) -> None:
    sigterm, dead = seen
    plan = stop_plan(pod, option)
    step = plan.containers[0]
    assert step.sigterm_earliest <= sigterm <= step.sigterm_latest
    assert dead <= step.sigkill_latest
    if not hook_takes:
        assert plan.sigkill_latest == dead
    assert plan.object_removed_at_once is gone_at_once
    # To the second, given the duration of the hook.
    pod_seconds, _ = effective_grace_period(pod, override_seconds=plan.grace.seconds)
    assert sigterm + container_grace_period(pod_seconds, pre_stop_seconds=hook_takes) == dead


def test_T3_real_node_ended_process_at_sigterm() -> None:
    # Grace 5, preStop of 3 s: SIGTERM at 3.01, ended at 3.02, two seconds before the planned SIGKILL.
    plan = stop_plan(_running(grace=5, containers=[_hooked({"sleep": {"seconds": 3}})]))
    assert _times(plan) == {"app": (3, 3, 5)}


def test_T1_real_forced_delete_removed_only_the_object() -> None:
    # Plain delete (30), forced 3 s later: the object was removed at 3 s, the process lived until 30 s.
    first = stop_plan(_running(grace=30))
    forced = before_delete(_deleting(30), DeleteOptions(grace_period_seconds=0), now=NOW + 3, deletion_time=NOW + 30)
    assert (forced.deletion_grace_period_seconds, forced.deletion_time) == (0, NOW + 3)
    assert first.sigkill_latest == 30
    # The pod worker takes the new period; the stop that the runtime has begun continues with the old one.
    assert effective_grace_period(_deleting(0), known_seconds=30) == (1, True)


def test_T1_real_shorter_delete_changed_only_the_object() -> None:
    # Plain delete (30), --grace-period=2 three seconds later: the process lived until 30 s, the object until 31 s.
    shorter = before_delete(_deleting(30), DeleteOptions(grace_period_seconds=2), now=NOW + 3, deletion_time=NOW + 30)
    assert (shorter.graceful, shorter.deletion_grace_period_seconds, shorter.deletion_time) == (True, 1, NOW + 3)


def test_T4_hard_eviction_on_a_real_node_gave_two_seconds() -> None:
    stop = eviction_stop(_running(grace=30))
    assert stop is not None
    assert stop.container_seconds == 2
