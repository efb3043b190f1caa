"""Verdicts on evidence that no machine here can produce: cgroup v2, other clocks, odd orders of events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from msgspec.structs import replace

from podrules.api.model.event import Event
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.pod import Pod
from podrules.ending.died.cause import Cause, EndVerdict, Grade, Trace
from podrules.ending.died.evidence import Clocks, Evidence, MissingEvidence, PodEvents, clocks_of
from podrules.ending.died.of_pod import EndOf, Manner, PodEnd, last_end
from tests.objects import raw_condition, raw_container
from tests.podrules.ending.died.evidence import (
    FAILED,
    GUARANTEED,
    LIVENESS,
    MEMORY,
    SCHEDULED,
    V2,
    at,
    causes,
    deletion,
    disrupted,
    end_of,
    ended,
    event,
    judged,
    neighbour,
    node,
    pod,
    started,
    stopping,
)
from tests.table import table

# Memory


def test_on_cgroup_v2_a_kill_of_the_whole_container_is_its_end() -> None:
    """No other container is possible: one that the kernel would kill first is still running."""
    killed = pod(ended(137, "OOMKilled"), container={"limits": GUARANTEED, "requests": GUARANTEED})

    end = end_of(killed, node=node(), config=V2, neighbours=[neighbour()])

    assert end.verdict.grade is Grade.CERTAIN
    assert end.verdict.cause is Cause.OWN_MEMORY_LIMIT
    assert end.container == "app"


@pytest.mark.parametrize(
    "missing",
    [
        {"config": None},
        {"node": None},
        {"neighbours": None},
        {"config": KubeletConfiguration(fail_cgroup_v1=False)},
        {"config": KubeletConfiguration(fail_cgroup_v1=True, single_process_oom_kill=True)},
        {"neighbours": [neighbour("11:30:30")]},
        {"neighbours": []},
        {"node": node("v1.30.4")},
    ],
    ids=lambda one: next(iter(one)),
)
def test_kill_without_group_kill_is_likely(missing: dict[str, Any]) -> None:
    killed = pod(ended(137, "OOMKilled"), container={"limits": GUARANTEED, "requests": GUARANTEED})

    end = end_of(killed, **{"node": node(), "config": V2, "neighbours": [neighbour()], **missing})

    assert end.verdict.grade is Grade.LIKELY
    assert end.verdict.cause is Cause.OWN_MEMORY_LIMIT
    assert Cause.NODE_OUT_OF_MEMORY in end.verdict.causes or Cause.APPLICATION in end.verdict.causes


def test_oom_kill_without_any_limit_is_the_node() -> None:
    killed = pod(ended(137, "OOMKilled"))

    end = end_of(killed, node=node(), config=V2, neighbours=[])

    assert judged(end) == (Grade.CERTAIN, Cause.NODE_OUT_OF_MEMORY)


def test_group_kill_with_other_exit_code_is_not_oom() -> None:
    """A process of it that was killed in its own cgroup did not end it."""
    end = end_of(pod(ended(1, "OOMKilled"), container={"limits": MEMORY}), node=node(), config=V2, neighbours=[])

    assert judged(end) == (Grade.CERTAIN, Cause.APPLICATION)
    [one] = end.ends
    assert one.child_killed


def test_drained_pod_may_show_oom_killed_with_143() -> None:
    """As on cgroup v1, where a child process, or a process under a limit above it, ran out of memory before."""
    drained = pod(
        now=ended(143, "OOMKilled", at("11:29:52")),
        container={"limits": MEMORY},
        metadata=deletion("11:30:20"),
        status={"conditions": [disrupted("EvictionByEvictionAPI", "11:29:50")]},
    )

    end = end_of(drained, [stopping("11:29:50")])

    assert (end.of, end.verdict.grade, end.verdict.cause) == (EndOf.POD, Grade.CERTAIN, Cause.API_EVICTION)
    [one] = end.ends
    assert (one.manner, one.child_killed) == (Manner.OBEYED, True)
    # Without the event, it may have ended by itself just before.
    alone = end_of(drained)
    assert judged(alone) == (Grade.LIKELY, Cause.API_EVICTION)
    assert Cause.APPLICATION in alone.verdict.causes


# The kubelet


def test_probe_cannot_have_failed_too_early() -> None:
    probe = {"httpGet": {"path": "/"}, "initialDelaySeconds": 7200, "periodSeconds": 10, "failureThreshold": 3}

    end = end_of(pod(ended(1), container={"livenessProbe": probe}), events=None)

    assert judged(end) == (Grade.CERTAIN, Cause.APPLICATION)


@pytest.mark.parametrize(
    ("events", "grade", "cause"),
    [
        (None, Grade.LIKELY, Cause.LIVENESS_PROBE),
        ((), Grade.LIKELY, Cause.LIVENESS_PROBE),
        ((event("Scheduled", "to n1", "10:59:00"), started()), Grade.CERTAIN, Cause.APPLICATION),
        # The status of the following run was lost: other runs may have ended in between, too.
        ((event("Scheduled", "to n1", "10:59:00"), started(last="11:00:00")), Grade.LIKELY, Cause.LIVENESS_PROBE),
        (
            (
                event("Scheduled", "to n1", "10:59:00"),
                started(),
                event("Pulled", "", "11:31:00", metadata={"creationTimestamp": at("11:33:00")}),
            ),
            Grade.LIKELY,
            Cause.LIVENESS_PROBE,
        ),
        (
            (event("Killing", "Container app failed liveness probe, will be restarted", "11:29:58", "app"),),
            Grade.CERTAIN,
            Cause.LIVENESS_PROBE,
        ),
        # An event of an earlier run.
        (
            (event("Killing", "Container app failed liveness probe, will be restarted", "10:59:58", "app"), started()),
            Grade.CERTAIN,
            Cause.APPLICATION,
        ),
        # So many that the kubelet drops others.
        ((event("Scheduled", "to n1", "10:59:00", count=25),), Grade.LIKELY, Cause.LIVENESS_PROBE),
    ],
)
def test_events_about_a_probe(events: Sequence[Event] | None, grade: Grade, cause: Cause) -> None:
    probed = pod(ended(143), container={"livenessProbe": {"exec": {"command": ["true"]}}})

    end = end_of(probed, events)

    assert judged(end) == (grade, cause)


def test_event_about_other_container_does_not_count() -> None:
    kill = event("Killing", "Container side failed liveness probe, will be restarted", "11:29:58", "side")

    end = end_of(pod(ended(1), container={"livenessProbe": {"exec": {}}}), [kill])

    assert end.verdict.cause is Cause.APPLICATION


def test_event_may_arrive_later() -> None:
    """The kubelet limits its rate of events: one that is missing after 9 s may still arrive."""
    probed = pod(ended(143), container={"livenessProbe": {"exec": {"command": ["true"]}}})
    events = PodEvents.of([event("Scheduled", "to n1", "10:59:00"), started()])
    evidence = Evidence(name="web", namespace="shop", pod=probed, events=events)
    finished = datetime(2026, 10, 1, 11, 30, tzinfo=UTC)

    soon, later = (
        last_end(replace(evidence, now=finished + timedelta(seconds=seconds), clocks=Clocks())) for seconds in (9, 11)
    )
    assert (soon.verdict.grade, soon.lost) == (
        Grade.LIKELY,
        (MissingEvidence.EVENTS_COMING, MissingEvidence.NODE_UNREAD),
    )
    assert later.verdict.grade is Grade.CERTAIN


def test_probe_failures_of_earlier_run_count() -> None:
    """A probe worker keeps its count when a container ends by itself: one more failure is enough then."""
    probe = {"exec": {}, "periodSeconds": 600, "failureThreshold": 6}
    first, second = pod(ended(143), container={"livenessProbe": probe}), {"restartCount": 2}
    status = {"name": "app", "state": {"running": {"startedAt": at("11:31:00")}}, "lastState": ended(143), **second}
    later = pod(container={"livenessProbe": probe}, status={"containerStatuses": [status]})

    assert end_of(first).verdict.causes == {Cause.APPLICATION}
    assert Cause.LIVENESS_PROBE in causes(end_of(later))


@pytest.mark.parametrize(
    ("code", "reason", "grade"),
    [
        (143, "Error", Grade.CERTAIN),
        (137, "Error", Grade.CERTAIN),
        (0, "Completed", Grade.LIKELY),
        (2, "Error", Grade.SEVERAL),
        (137, "OOMKilled", Grade.SEVERAL),
    ],
)
def test_probe_also_fails_if_the_process_just_died(code: int, reason: str, grade: Grade) -> None:
    """Both happen in the same second: the order is unknown."""
    kill = event("Killing", FAILED, "11:30:00", "app")

    end = end_of(pod(ended(code, reason), container={**LIVENESS, "limits": MEMORY}), [SCHEDULED, started(), kill])

    assert end.verdict.grade is grade
    assert Cause.LIVENESS_PROBE in causes(end)


@pytest.mark.parametrize(("generation", "grade"), [(1, Grade.CERTAIN), (0, Grade.LIKELY), (2, Grade.SEVERAL)])
def test_pod_without_generation_may_have_been_changed(generation: int, grade: Grade) -> None:
    end = end_of(pod(ended(143), metadata={"generation": generation}))

    assert end.verdict.grade is grade
    assert Cause.APPLICATION in causes(end)
    assert (Cause.DEFINITION_CHANGED in end.verdict.causes) is (generation != 1)


def test_combined_event_does_not_identify_the_container() -> None:
    kill = event("Killing", "(combined from similar events): Container b definition changed", "11:29:59", "app")

    assert end_of(pod(ended(143)), [SCHEDULED, started(), kill]).verdict.cause is not Cause.DEFINITION_CHANGED


def test_event_without_times_uses_creation_time() -> None:
    kill = event("Killing", FAILED, "11:29:59", "app", firstTimestamp=None, lastTimestamp=None)

    end = end_of(pod(ended(143), container=LIVENESS), [SCHEDULED, started(), kill])

    assert judged(end) == (Grade.CERTAIN, Cause.LIVENESS_PROBE)


# Sidecars


def with_sidecar(code: int, finished: str, app: dict[str, Any]) -> Pod:
    """A finished pod with a sidecar ``proxy`` that ended with this code."""
    proxy = {"name": "proxy", "state": ended(code, finished=at(finished)), "restartCount": 0}
    main = {"name": "app", "state": app, "restartCount": 0}
    status = {"phase": "Succeeded", "containerStatuses": [main], "initContainerStatuses": [proxy]}
    sidecar = {**raw_container("proxy"), "restartPolicy": "Always"}
    return pod(status=status, initContainers=[sidecar], restartPolicy="Never")


def verdict_of_proxy(end: PodEnd) -> EndVerdict:
    proxy = end.end_of("proxy")
    assert proxy is not None
    assert proxy.verdict is not None
    return proxy.verdict


@pytest.mark.parametrize(("code", "event_time"), [(143, "11:30:05"), (137, "11:29:35"), (0, "11:30:01")])
def test_sidecar_stops_after_main_containers(code: int, event_time: str) -> None:
    over = with_sidecar(code, "11:30:05", ended(0, "Completed", at("11:29:30")))

    end = end_of(over, [SCHEDULED, started(container="proxy"), stopping(event_time, "proxy")])

    # The end of the pod is the end of its main container.
    assert (end.container, end.verdict.cause) == ("app", Cause.APPLICATION)
    stopped = verdict_of_proxy(end)
    assert (stopped.grade, stopped.cause) == (Grade.CERTAIN, Cause.SIDECAR_STOPPED)


def test_sidecar_without_event_may_have_ended_by_itself() -> None:
    alone = verdict_of_proxy(end_of(with_sidecar(143, "11:30:05", ended(0, "Completed", at("11:29:30")))))

    assert (alone.grade, alone.cause) == (Grade.LIKELY, Cause.SIDECAR_STOPPED)


def test_sidecar_that_ended_first_was_not_stopped() -> None:
    first = verdict_of_proxy(end_of(with_sidecar(1, "11:20:00", ended(0, "Completed", at("11:29:30")))))

    assert Cause.SIDECAR_STOPPED not in first.causes


def test_pod_stop_without_reason_is_not_the_application() -> None:
    end = end_of(pod(ended(143)), [SCHEDULED, started(), stopping("11:29:50")])

    assert end.verdict.grade is Grade.NOTHING
    assert [clue.says for clue in end.verdict.clues] == ["Stopping container app"]


# The node


@pytest.mark.parametrize(("clock", "suspected"), [("11:31:00", True), ("11:50:00", False), ("11:29:00", False)])
def test_node_restart_right_after_may_be_the_cause(clock: str, suspected: bool) -> None:
    over = pod(now=ended(0, "Completed"), restartPolicy="Never", status={"phase": "Succeeded"})
    reboot = event("Rebooted", "Node n1 has been rebooted, boot id: b", clock)

    end = end_of(over, [SCHEDULED, started()], node_events=PodEvents.of([reboot]))

    assert (Cause.NODE_REBOOT in causes(end)) is suspected
    assert (end.verdict.grade is Grade.CERTAIN) is not suspected


# Apparent proof that belongs to another run or proves nothing


@table(
    "event_time, grade",
    {
        "in the second in which it began: about the earlier run": ("11:00:00", Grade.SEVERAL),
        "longer ago than a stop takes": ("11:20:00", Grade.SEVERAL),
        "within its grace period": ("11:29:50", Grade.CERTAIN),
    },
)
def test_kill_belongs_to_the_run_that_it_ended(event_time: str, grade: Grade) -> None:
    end = end_of(pod(ended(1), container=LIVENESS), [SCHEDULED, event("Killing", FAILED, event_time, "app")])

    assert end.verdict.grade is grade
    assert Cause.LIVENESS_PROBE in causes(end)
    assert grade is Grade.CERTAIN or Cause.APPLICATION in causes(end)


@pytest.mark.parametrize("code", [0, 137, 143])
def test_missing_sandbox_after_end_may_be_the_cause(code: int) -> None:
    """As after a restart of the node: its events come minutes later."""
    changed = event("SandboxChanged", "Pod sandbox changed, it will be killed and re-created.", "11:30:50")
    again = [raw_condition("PodReadyToStartContainers", lastTransitionTime=at("11:30:55"))]
    restarted = pod(ended(code), status={"conditions": again})

    end = end_of(restarted, [SCHEDULED, changed])

    assert end.verdict.grade is not Grade.CERTAIN
    assert Cause.SANDBOX_CHANGED in causes(end)


def test_missing_task_is_no_evidence_about_the_process() -> None:
    assert end_of(pod(ended(255, "Unknown")), [SCHEDULED]).verdict.cause is Cause.CONTAINER_LOST


def test_victim_that_did_not_run_yet_was_not_deleted() -> None:
    victim = event("Preempted", "Preempted by pod x on node n1 (in kube-scheduler memory).", "11:28:00")

    assert end_of(None, [SCHEDULED, victim, stopping("11:28:05")]).verdict.cause is not Cause.PREEMPTION


@pytest.mark.parametrize("reason", ["ProviderFailed", "Evicted"])
def test_unknown_reason_is_quoted(reason: str) -> None:
    failed = pod(now=ended(137), status={"phase": "Failed", "reason": reason, "message": "a reason"})

    end = end_of(failed, [SCHEDULED])

    assert (end.of, end.verdict.grade) == (EndOf.POD, Grade.NOTHING)
    assert [clue.says for clue in end.verdict.clues] == [f"Failed: {reason}: a reason"]


def test_older_kubelet_has_a_shorter_rejection() -> None:
    rejected = pod(status={"phase": "Failed", "reason": "OutOfcpu", "containerStatuses": []})

    assert end_of(rejected).verdict.cause is Cause.REJECTED


def test_deleting_the_mirror_of_a_static_pod_stops_nothing() -> None:
    static = {
        "annotations": {"kubernetes.io/config.mirror": "m", "kubernetes.io/config.source": "file"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n", "controller": True}],
        "deletionTimestamp": at("11:59:30"),
        "deletionGracePeriodSeconds": 30,
    }

    assert end_of(pod(metadata=static)).of is EndOf.NOTHING


def test_no_time_is_not_a_time() -> None:
    end = end_of(pod(ended(1, finished="1970-01-01T00:00:00Z")), [SCHEDULED])

    assert (end.at, end.verdict.cause) == (None, Cause.APPLICATION)


def test_time_of_fast_node_uses_api_server_clock() -> None:
    ahead = event("Started", "Container started", "11:00:00", "app", metadata={"creationTimestamp": at("10:50:00")})

    assert end_of(pod(ended(1)), [ahead], clocks=clocks_of([ahead])).at == at("11:20:00")


@pytest.mark.parametrize("seconds", [2, 20])
def test_condition_after_deletion_is_a_second_request(seconds: int) -> None:
    later = disrupted("EvictionByEvictionAPI", f"11:30:{seconds:02}")

    end = end_of(pod(metadata=deletion("11:30:30"), status={"conditions": [later]}))

    assert end.verdict.grade is not Grade.CERTAIN
    assert Cause.DELETED in causes(end)


OF_PODS_THAT_EXIST: Final = {
    Cause.CONFIGURATION,
    Cause.DEFINITION_CHANGED,
    Cause.IMAGE,
    Cause.NODE_REBOOT,
    Cause.RESIZE,
    Cause.RESTART_ALL,
    Cause.RUNTIME,
    Cause.SIDECAR_STOPPED,
    Cause.STATIC_MANIFEST,
}
"""Causes that keep the pod's object, or that `gone` weighs one by one."""


def test_every_cause_has_a_trace_in_gone_pods() -> None:
    """A verdict on a pod that is gone excludes a cause without a trace, also without evidence."""
    own = {cause for cause in Cause if cause.rule.trace is Trace.OWN and not cause.rule.cleaned_up}
    assert own == OF_PODS_THAT_EXIST
