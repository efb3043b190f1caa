"""Verdicts on evidence that no machine here can produce: cgroup v2, other clocks, odd orders of events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from msgspec.structs import replace

from podrules.api.model.decode import from_object
from podrules.api.model.event import Event
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.node import Node
from podrules.api.model.pod import Container, ContainerStatus, Pod
from podrules.ending.died.cause import Cause, EndVerdict, Grade, Trace
from podrules.ending.died.evidence import Clocks, Evidence, MissingEvidence, PodEvents, clocks_of
from podrules.ending.died.of_pod import EndOf, Manner, PodEnd, has_ended, last_end
from tests.objects import raw_condition, raw_container, raw_node, raw_pod
from tests.table import table

STARTED, ENDED = "2026-10-01T11:00:00Z", "2026-10-01T11:30:00Z"
NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)
V2 = KubeletConfiguration(fail_cgroup_v1=True)
MEMORY = {"memory": "64Mi"}
GUARANTEED = {"memory": "64Mi", "cpu": "1"}


def at(clock: str) -> str:
    return f"2026-10-01T{clock}Z"


def ended(code: int, reason: str = "Error", finished: str = ENDED, **more: Any) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "startedAt": STARTED, "finishedAt": finished, **more}}


def pod(
    last: dict[str, Any] | None = None,
    *,
    now: dict[str, Any] | None = None,
    container: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    **spec: Any,
) -> Pod:
    """``web`` with container ``app`` that ended this way and runs again unless the arguments differ."""
    state = now or {"running": {"startedAt": at("11:31:00")}}
    end_of = {"name": "app", "state": state, "lastState": last or {}, "restartCount": 1}
    made = raw_pod(
        "web",
        "shop",
        containers=[raw_container("app", **(container or {}))],
        nodeName="n1",
        metadata={"uid": "u", "creationTimestamp": at("10:59:00"), "generation": 1, **(metadata or {})},
        status={
            "phase": "Running",
            "conditions": [raw_condition("PodReadyToStartContainers", lastTransitionTime=at("10:59:30"))],
            "containerStatuses": [end_of],
            **(status or {}),
        },
        **{"terminationGracePeriodSeconds": 30, **spec},
    )
    return from_object(made, Pod)


def node(version: str = "v1.36.3") -> Node:
    size = {"memory": "8Gi", "cpu": "4"}
    made = raw_node("n1", capacity=size, allocatable=size)
    made["status"]["nodeInfo"] = {"kubeletVersion": version}
    return from_object(made, Node)


def event(reason: str, message: str, clock: str, container: str = "", **more: Any) -> Event:
    path = {"fieldPath": f"spec.containers{{{container}}}"} if container else {}
    body = {
        "metadata": {"creationTimestamp": at(clock)},
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web", "uid": "u", **path},
        "reason": reason,
        "message": message,
        "firstTimestamp": at(clock),
        "lastTimestamp": at(clock),
        "source": {"component": "kubelet", "host": "n1"},
        **more,
    }
    return from_object(body, Event)


def started(first: str = "11:00:00", last: str = "11:31:00", container: str = "app", **more: Any) -> Event:
    """The event about the runs of a container that started then."""
    return event("Started", "Container started", first, container, lastTimestamp=at(last), count=2, **more)


def stopping(clock: str, container: str = "app") -> Event:
    return event("Killing", f"Stopping container {container}", clock, container)


def deletion(clock: str, seconds: int = 30, **more: Any) -> dict[str, Any]:
    """Metadata of a pod that is gone at this time."""
    return {"deletionTimestamp": at(clock), "deletionGracePeriodSeconds": seconds, **more}


def disrupted(reason: str, clock: str) -> dict[str, Any]:
    return raw_condition("DisruptionTarget", reason=reason, lastTransitionTime=at(clock))


def judged(end: PodEnd) -> tuple[Grade, Cause | None]:
    return end.verdict.grade, end.verdict.cause


def end_of(one: Pod | None, events: Sequence[Event] | None = (), **more: Any) -> PodEnd:
    known = None if events is None else PodEvents.of(events)
    return last_end(Evidence(name="web", namespace="shop", now=NOW, pod=one, events=known, **more))


def causes(end: PodEnd) -> set[Cause]:
    return {one.cause for one in end.verdict.suspects}


def neighbour(running_since: str = "10:00:00", limit: str = "") -> Pod:
    made = raw_pod(
        "other",
        "shop",
        containers=[raw_container("main", limits={"memory": limit} if limit else None)],
        nodeName="n1",
        status={
            "phase": "Running",
            "containerStatuses": [{"name": "main", "state": {"running": {"startedAt": at(running_since)}}}],
        },
    )
    return from_object(made, Pod)


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


# Controllers


def of_controller(kind: str, reason: str, message: str, clock: str) -> Event:
    about = {"kind": kind, "namespace": "shop", "name": "c", "uid": "c"}
    return event(reason, message, clock, involvedObject=about, source={"component": "controller"})


@pytest.mark.parametrize(
    ("kind", "reason", "message"),
    [
        ("DaemonSet", "FailedDaemonPod", "Found failed daemon pod shop/web on node n1, will try to kill it"),
        ("DaemonSet", "SucceededDaemonPod", "Found succeeded daemon pod shop/web on node n1, will try to delete it"),
        ("StatefulSet", "RecreatingFailedPod", "StatefulSet shop/c is recreating failed Pod web"),
    ],
)
def test_pod_that_had_ended_was_not_ended_by_its_controller(kind: str, reason: str, message: str) -> None:
    cleanup = of_controller(kind, reason, message, "11:29:31")
    deleted = of_controller(kind, "SuccessfulDelete", "Deleted pod: web", "11:29:31")

    end = end_of(None, [SCHEDULED, stopping("11:29:00")], owner_events=PodEvents.of([cleanup, deleted]))

    assert end.verdict.grade is not Grade.CERTAIN
    assert Cause.OWNER not in end.verdict.causes
    assert Cause.NODE_SHUTDOWN in causes(end)


@table(
    "kind, deleted_at, ready_since, grade",
    {
        "stopped for it": ("StatefulSet", "11:29:00", "09:00:00", Grade.CERTAIN),
        "stopped before": ("StatefulSet", "11:29:40", "11:40:00", Grade.SEVERAL),
        "the node was down since": ("StatefulSet", "11:29:00", "11:40:00", Grade.LIKELY),
        "deletes no pod that has ended": ("ReplicaSet", "11:29:00", "11:40:00", Grade.CERTAIN),
    },
)
def test_stateful_set_also_deletes_a_pod_that_has_ended(
    kind: str, deleted_at: str, ready_since: str, grade: Grade
) -> None:
    deleted = of_controller(kind, "SuccessfulDelete", "Deleted pod: web", deleted_at)
    stop = stopping("11:29:00")
    made = raw_node("n1", conditions=[raw_condition("Ready", lastTransitionTime=at(ready_since))])

    end = end_of(
        None,
        [SCHEDULED, stop],
        owner_events=PodEvents.of([deleted]),
        node=from_object(made, Node),
        clocks=clocks_of([stop]),
    )

    assert end.verdict.grade is grade
    assert Cause.OWNER in causes(end)


# Ends of the containers of a stopped pod


@pytest.mark.parametrize(
    ("code", "finished", "manner"),
    [
        (143, "11:30:05", Manner.OBEYED),
        (137, "11:30:30", Manner.KILLED),
        (137, "11:30:10", Manner.CUT_SHORT),
        (1, "11:10:00", Manner.BEFORE),
    ],
)
def test_end_of_a_container_of_a_deleted_pod(code: int, finished: str, manner: Manner) -> None:
    stop = stopping("11:30:00")
    gone = pod(now=ended(code, finished=at(finished)), metadata=deletion("11:30:30", finalizers=["a/b"]))
    side = from_object({"name": "side", "state": ended(143, finished=at("11:30:01"))}, ContainerStatus)
    both = replace(
        gone,
        spec=replace(gone.spec, containers=(*gone.spec.containers, Container(name="side"))),
        status=replace(gone.status, container_statuses=(*gone.status.container_statuses, side)),
    )

    end = end_of(both, [stop, stopping("11:30:00", "side")], clocks=clocks_of([stop]))

    one = end.end_of("app")
    assert end.of is EndOf.POD
    assert one is not None
    assert one.manner is manner


def test_sigkill_without_events_leaves_grace_period_open() -> None:
    [one] = end_of(pod(now=ended(137, finished=at("11:30:10")), metadata=deletion("11:30:30", finalizers=["a/b"]))).ends

    assert one.manner is Manner.SIGKILL


@pytest.mark.parametrize("message", ["The node was low on resource: memory. ", "something new"])
def test_container_that_ended_before_eviction(message: str) -> None:
    condition = disrupted("TerminationByKubelet", "11:40:00")
    status = {"phase": "Failed", "reason": "Evicted", "message": message, "conditions": [condition]}

    end = end_of(pod(now=ended(1), status=status))

    [one] = end.ends
    assert end.of is EndOf.POD
    assert (one.manner, one.verdict is not None) == (Manner.BEFORE, True)


# Clocks


@pytest.mark.parametrize(("finished", "of"), [("11:29:40", EndOf.CONTAINER), ("11:30:10", EndOf.POD)])
def test_node_clock_orders_end_and_deletion(finished: str, of: EndOf) -> None:
    """The node's clock is 10 minutes ahead, as its events show; the API server deleted the pod at 11:20:00."""
    ahead = event("Started", "Container started", "11:00:00", "app", metadata={"creationTimestamp": at("10:50:00")})
    deleted = deletion("11:20:30", finalizers=["a/b"])
    gone = pod(now=ended(1, finished=at(finished)), metadata=deleted)

    end = end_of(gone, clocks=clocks_of([ahead]))

    assert end.of is of


def test_kubelets_last_request_hides_when_a_pod_was_deleted() -> None:
    """It sets both fields again, without grace: containers may have ended before or because of the first request."""
    deleted = deletion("11:30:02", 0, finalizers=["a/b"])
    removed = pod(now=ended(1), metadata=deleted, status={"phase": "Failed", "conditions": []})

    end = end_of(removed)

    assert end.verdict.grade is Grade.SEVERAL
    assert causes(end) >= {Cause.DELETED, Cause.FORCE_DELETED, Cause.APPLICATION}
    # All events exist, and none is about a stop.
    by_itself = end_of(removed, [event("Scheduled", "to n1", "10:59:00"), started()])
    assert (by_itself.of, by_itself.verdict.cause) == (EndOf.CONTAINER, Cause.APPLICATION)


def test_one_minute_is_allowed_without_events() -> None:
    deleted = deletion("11:30:50", finalizers=["a/b"])

    assert end_of(pod(now=ended(1, finished=at("11:29:40")), metadata=deleted)).of is EndOf.POD
    assert end_of(pod(now=ended(1, finished=at("11:19:00")), metadata=deleted)).of is EndOf.CONTAINER


def test_condition_long_before_deletion_is_only_likely() -> None:
    condition = disrupted("PreemptionByScheduler", "11:00:00")

    end = end_of(pod(metadata=deletion("11:30:50"), status={"conditions": [condition]}))

    assert judged(end) == (Grade.LIKELY, Cause.PREEMPTION)
    assert Cause.DELETED in end.verdict.causes


# Deleted pods


def test_eviction_of_terminating_pod_is_uncertain() -> None:
    low = event("Evicted", "The node was low on resource: memory. ", "11:29:30")

    assert end_of(None, [stopping("11:29:00"), low]).verdict.grade is Grade.LIKELY
    assert end_of(None, [low, stopping("11:29:30")]).verdict.grade is Grade.CERTAIN


def test_no_evidence_remains() -> None:
    assert end_of(None, []).verdict.grade is Grade.NOTHING
    assert end_of(None, None).verdict.grade is Grade.NOTHING
    assert end_of(None, [event("Started", "Container started", "11:00:00", "app")]).verdict.grade is Grade.NOTHING


def test_nothing_has_ended() -> None:
    runs = pod()

    assert not has_ended(runs)
    assert end_of(runs).of is EndOf.NOTHING


def test_init_container_that_is_done_is_no_end() -> None:
    done = {"name": "setup", "state": ended(0, "Completed")}
    runs = pod(status={"initContainerStatuses": [done]}, initContainers=[raw_container("setup")])

    assert not has_ended(runs)
    assert end_of(runs).of is EndOf.NOTHING


# Apparent proof that belongs to another run or proves nothing

LIVENESS = {"livenessProbe": {"exec": {"command": ["true"]}}}
FAILED = "Container app failed liveness probe, will be restarted"
SCHEDULED = event("Scheduled", "Successfully assigned shop/web to n1", "10:59:00")


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
