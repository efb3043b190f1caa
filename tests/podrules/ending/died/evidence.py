"""The evidence of an end: pods, their events, and the verdict on them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from podrules.api.model.decode import from_object
from podrules.api.model.event import Event
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.ending.died.cause import Cause, Grade
from podrules.ending.died.evidence import Evidence, PodEvents
from podrules.ending.died.of_pod import PodEnd, last_end
from tests.objects import make_node, make_pod, raw_condition, raw_container

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
    return make_pod(
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


def node(version: str = "v1.36.3") -> Node:
    return make_node("n1", capacity={"memory": "8Gi", "cpu": "4"}, kubelet=version)


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
    return make_pod(
        "other",
        "shop",
        containers=[raw_container("main", limits={"memory": limit} if limit else None)],
        nodeName="n1",
        status={
            "phase": "Running",
            "containerStatuses": [{"name": "main", "state": {"running": {"startedAt": at(running_since)}}}],
        },
    )


LIVENESS = {"livenessProbe": {"exec": {"command": ["true"]}}}
FAILED = "Container app failed liveness probe, will be restarted"
SCHEDULED = event("Scheduled", "Successfully assigned shop/web to n1", "10:59:00")
