"""The states of a pod and its node: the axes of the matrix."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final, NamedTuple

from tests.controlplane.client import Object
from tests.objects import raw_condition

__all__ = ["Befallen", "Life", "NodeState", "befallen"]


class NodeState(NamedTuple):
    """The state of a node."""

    reach: str
    """``Answers Silent MissedHeartbeats OutOfService Gone``."""
    system: str = "linux"
    """``linux windows virtual``; a virtual node is not a machine of the cluster."""
    ready: str = "True"
    """The conditions that an answering kubelet reports."""
    cordoned: bool = False
    pressure: bool = False


class Life(Enum):
    """The state of a pod's life."""

    RUNNING = "Running"
    NOT_READY = "NotReady"
    CRASH_LOOP = "CrashLoopBackOff"
    OOM_KILLED = "OOMKilled"
    IMAGE_PULL = "ImagePullBackOff"
    CREATING = "ContainerCreating"
    CONFIG_ERROR = "CreateContainerConfigError"
    INITIALISING = "PodInitializing"
    SUCCEEDED = "Succeeded"
    FAILED = "Error"
    EVICTED = "Evicted"
    TERMINATING = "Terminating"
    SHORTENED = "Shortened"
    OVERDUE = "Overdue"
    FINALIZED = "Finalized"
    ENDED_FINALIZED = "EndedFinalized"
    DONE_FINALIZED = "DoneFinalized"
    UNPLACED = "Unschedulable"
    NEW = "New"
    GATED = "SchedulingGated"
    NOMINATED = "Nominated"
    GROUPED = "Grouped"

    @property
    def is_unbound(self) -> bool:
        """Whether it is on no node."""
        return self in _UNBOUND


_UNBOUND: Final = frozenset({Life.UNPLACED, Life.NEW, Life.GATED, Life.NOMINATED, Life.GROUPED})
_WAITING: Final = frozenset({Life.CRASH_LOOP, Life.IMAGE_PULL, Life.CREATING, Life.CONFIG_ERROR, Life.INITIALISING})
_ENDED: Final = {Life.SUCCEEDED: ("Completed", 0), Life.FAILED: ("Error", 1), Life.EVICTED: ("Error", 137)}
_SECONDS_SINCE: Final = {
    Life.TERMINATING: 10,
    Life.SHORTENED: 3,
    Life.OVERDUE: 3600,
    Life.FINALIZED: 10,
    Life.ENDED_FINALIZED: 600,
    Life.DONE_FINALIZED: 600,
}
"""Seconds since the DELETE."""
_UNPLACED: Final = "0/8 nodes are available: 8 Insufficient cpu."


class Befallen(NamedTuple):
    """Parts of the pod's object."""

    metadata: Object
    spec: Object
    status: Object


def befallen(
    life: Life,
    chance: random.Random,
    now: datetime,
    *,
    grace: int,
    containers: Sequence[Mapping[str, Any]],
    inits: Sequence[Mapping[str, Any]],
    hostile: str,
) -> Befallen:
    """The parts of the pod's object that show its state.

    Args:
        life: The state.
        chance: Decides what the state leaves open.
        now: The present.
        grace: The pod's own period, seconds.
        containers: Of the pod.
        inits: Its init containers.
        hostile: A text that moves terminals; empty: none.
    """
    spec: Object = {}
    status: Object = {"phase": _phase(life), "conditions": _conditions(life, now, hostile)}
    if life is Life.EVICTED:
        status |= {"reason": "Evicted", "message": f"The node was low on resource: memory. {hostile}"}
    if not life.is_unbound:
        status["startTime"] = _before(now, 7000)
        status["containerStatuses"] = [_container(one["name"], life, now) for one in containers]
        if inits:
            status["initContainerStatuses"] = [_init(one, life, now) for one in inits]
    if life is Life.GATED:
        spec["schedulingGates"] = [{"name": f"example.com/{hostile or 'quota'}"}]
    if life is Life.GROUPED:
        spec["schedulingGroup"] = {"podGroupName": "gang"}
    return Befallen(_deletion(life, now, grace, chance), spec, status)


def _before(now: datetime, seconds: float) -> str:
    return (now - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def _phase(life: Life) -> str:
    if life in {Life.SUCCEEDED, Life.DONE_FINALIZED}:
        return "Succeeded"
    if life in {Life.FAILED, Life.EVICTED}:
        return "Failed"
    pending = {Life.IMAGE_PULL, Life.CREATING, Life.CONFIG_ERROR, Life.INITIALISING}
    return "Pending" if life.is_unbound or life in pending else "Running"


def _deletion(life: Life, now: datetime, grace: int, chance: random.Random) -> Object:
    if life not in _SECONDS_SINCE:
        return {}
    given = max(grace, 1)
    if life is Life.SHORTENED:
        given = min(given, chance.choice([1, 2, 5]))
    if life in {Life.TERMINATING, Life.FINALIZED}:
        given = max(given, 30)
    deleted = now - timedelta(seconds=_SECONDS_SINCE[life])
    deletion: Object = {
        "deletionTimestamp": (deleted + timedelta(seconds=given)).isoformat().replace("+00:00", "Z"),
        "deletionGracePeriodSeconds": given,
    }
    if life in {Life.FINALIZED, Life.ENDED_FINALIZED, Life.DONE_FINALIZED}:
        deletion["finalizers"] = ["example.com/archive"]
    return deletion


def _conditions(life: Life, now: datetime, hostile: str) -> list[Object]:
    if life in {Life.NEW, Life.GROUPED}:
        return []
    if life is Life.GATED:
        return [raw_condition("PodScheduled", "False", reason="SchedulingGated", message="Scheduling is blocked")]
    since = _before(now, 300)
    if life.is_unbound:
        message = f"{_UNPLACED} {hostile}".strip()
        return [
            raw_condition("PodScheduled", "False", reason="Unschedulable", message=message, lastTransitionTime=since)
        ]
    ready = "True" if life in {Life.RUNNING, Life.TERMINATING, Life.FINALIZED, Life.SHORTENED} else "False"
    return [raw_condition("PodScheduled"), raw_condition("Ready", ready, lastTransitionTime=since)]


def _container(name: str, life: Life, now: datetime) -> Object:
    status: Object = {"name": name, "restartCount": 0, "image": "registry.example.com/app:1"}
    ended = {"reason": "Error", "exitCode": 1, "finishedAt": _before(now, 60)}
    if life in _WAITING:
        status["state"] = {"waiting": {"reason": life.value}}
        if life is Life.CRASH_LOOP:
            status |= {"restartCount": 12, "lastState": {"terminated": ended}}
    elif life in _ENDED or life in {Life.DONE_FINALIZED, Life.ENDED_FINALIZED}:
        reason, code = _ENDED.get(life, ("Completed", 0))
        status["state"] = {"terminated": ended | {"reason": reason, "exitCode": code}}
    else:
        status["state"] = {"running": {"startedAt": _before(now, 6000)}}
        if life is Life.OOM_KILLED:
            killed = ended | {"reason": "OOMKilled", "exitCode": 137}
            status |= {"restartCount": 3, "lastState": {"terminated": killed}}
    status["ready"] = "running" in status["state"] and life is not Life.NOT_READY
    return status


def _init(container: Mapping[str, Any], life: Life, now: datetime) -> Object:
    done = {"reason": "Completed", "exitCode": 0, "finishedAt": _before(now, 6100)}
    state: Object = {"terminated": done}
    if life in {Life.IMAGE_PULL, Life.CREATING, Life.CONFIG_ERROR, Life.INITIALISING}:
        state = {"waiting": {"reason": "PodInitializing"}}
    elif container.get("restartPolicy") == "Always" and life not in _ENDED and "FINALIZED" not in life.name:
        state = {"running": {"startedAt": _before(now, 6050)}}
    return {"name": container["name"], "restartCount": 0, "state": state, "ready": "waiting" not in state}
