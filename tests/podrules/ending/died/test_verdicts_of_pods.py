"""Verdicts on pods that were stopped or deleted, on evidence that no machine here can produce."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from podrules.api.model.decode import from_object
from podrules.api.model.event import Event
from podrules.api.model.pod import Container, ContainerStatus
from podrules.ending.died.cause import Cause, Grade
from podrules.ending.died.evidence import PodEvents, clocks_of
from podrules.ending.died.of_pod import EndOf, Manner, has_ended
from tests.objects import make_node, raw_condition, raw_container
from tests.podrules.ending.died.evidence import (
    SCHEDULED,
    at,
    causes,
    deletion,
    disrupted,
    end_of,
    ended,
    event,
    judged,
    pod,
    started,
    stopping,
)
from tests.table import table

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
    made = make_node("n1", conditions=[raw_condition("Ready", lastTransitionTime=at(ready_since))])

    end = end_of(
        None,
        [SCHEDULED, stop],
        owner_events=PodEvents.of([deleted]),
        node=made,
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
