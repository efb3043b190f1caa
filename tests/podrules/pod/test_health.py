"""Whether a pod is healthy, and which container has which fault."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.api.model.pod import Pod
from podrules.pod.health import Trouble, TroubleKind, UnmetGate, health, readiness
from tests.objects import make_pod, raw_condition, raw_container
from tests.table import table

RUNNING = {"running": {"startedAt": "2026-10-01T00:00:00Z"}}
CRASHED = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2026-10-01T00:01:00Z"}}
DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


def make(
    app: dict[str, Any] | None = None,
    *,
    last: dict[str, Any] | None = None,
    ready: bool = False,
    restarts: int = 0,
    init: dict[str, Any] | None = None,
    sidecar: dict[str, Any] | None = None,
    phase: str = "Running",
    conditions: list[Any] | None = None,
    **spec: Any,
) -> Pod:
    """A pod with an init container, a sidecar and ``app``; omitted states are not reported."""
    reported = {"name": "app", "state": app, "lastState": last, "ready": ready, "restartCount": restarts}
    first = [("init", init, False), ("mesh", sidecar, True)]
    status = {
        "phase": phase,
        "containerStatuses": [reported] if app is not None else [],
        "initContainerStatuses": [
            {"name": name, "state": state, "ready": up} for name, state, up in first if state is not None
        ],
        "conditions": conditions or [],
        "startTime": "2026-10-01T00:00:00Z",
    }
    before = [raw_container("init"), raw_container("mesh", restartPolicy="Always")]
    return make_pod(nodeName="node-1", initContainers=before, status=status, **spec)


def kinds(pod: Pod) -> list[tuple[str, str]]:
    return [(trouble.container, trouble.kind.value) for trouble in health(pod).troubles]


@pytest.mark.parametrize("reason", ["", "ContainerCreating", "PodInitializing"])
def test_temporary_states_are_no_trouble(reason: str) -> None:
    found = health(make(waiting(reason), phase="Pending"))
    assert [trouble.kind for trouble in found.troubles] == [TroubleKind.STARTING]
    assert not found.broken


OF_IMAGES = ["ImagePullBackOff", "ErrImagePull", "InvalidImageName"]


@pytest.mark.parametrize("reason", [*OF_IMAGES, "CrashLoopBackOff", "CreateContainerConfigError", "RunContainerError"])
def test_failed_kubelet_actions_are_trouble(reason: str) -> None:
    found = health(make(waiting(reason, "why"), last=CRASHED, restarts=7))
    assert found.troubles == (
        Trouble(
            TroubleKind.HELD_UP,
            "app",
            reason=reason,
            message="why",
            exit_code=1,
            end_reason="Error",
            ended_at="2026-10-01T00:01:00Z",
            restarts=7,
        ),
    )
    assert found.broken


@table(
    "pod, expected",
    {
        "all is well": (make(RUNNING, ready=True), []),
        "an init container fails: the worst first": (
            make(waiting("PodInitializing"), init=waiting("CrashLoopBackOff"), phase="Pending"),
            [("init", "HeldUp"), ("app", "Starting")],
        ),
        "an init container is done": (make(RUNNING, ready=True, init=DONE), []),
        "ended with an error, for good": (make(CRASHED, restartPolicy="Never"), [("app", "Ended")]),
        "done, and not restarted": (make(DONE, restartPolicy="Never"), []),
        "done, and restarted": (make(DONE), [("app", "Ended")]),
        "done, by its own policy": (make(DONE, containers=[raw_container("app", restartPolicy="Never")]), []),
        "restarted by its own restartPolicy": (
            make(DONE, restartPolicy="Never", containers=[raw_container("app", restartPolicy="Always")]),
            [("app", "Ended")],
        ),
        "a sidecar has ended": (make(RUNNING, ready=True, sidecar=DONE, restartPolicy="Never"), [("mesh", "Ended")]),
        "its probe has not succeeded": (make(RUNNING), [("app", "NotReady")]),
        "it crashed before": (make(RUNNING, ready=True, last=CRASHED), [("app", "Restarted")]),
        "it was done before": (make(RUNNING, ready=True, last=DONE), [("app", "Restarted")]),
        "a finished pod": (make(waiting("CrashLoopBackOff"), phase="Failed"), []),
        "nothing is reported": (make(), []),
    },
)
def test_troubles_of_containers(pod: Pod, expected: list[tuple[str, str]]) -> None:
    assert kinds(pod) == expected


@pytest.mark.parametrize(("status", "ready"), [("True", True), ("False", False), ("Unknown", False)])
def test_readiness_is_the_condition(status: str, ready: bool) -> None:
    assert readiness(make(RUNNING, conditions=[raw_condition("Ready", status)])) is ready


@pytest.mark.parametrize(("pod", "ready"), [(make(RUNNING, ready=True), True), (make(RUNNING), False), (make(), None)])
def test_readiness_without_condition_follows_containers(pod: Pod, ready: bool | None) -> None:
    assert readiness(pod) is ready


def test_conditions_show_the_reason() -> None:
    conditions = [
        raw_condition("Ready", "False", reason="ReadinessGatesNotReady", message="gate is not set"),
        raw_condition("PodReadyToStartContainers", "False"),
    ]
    found = health(make(RUNNING, ready=True, conditions=conditions))
    assert (found.ready, found.unready, found.no_sandbox, found.started) == (
        False,
        "ReadinessGatesNotReady: gate is not set",
        True,
        "2026-10-01T00:00:00Z",
    )


def test_running_init_container_delays_the_others() -> None:
    found = health(make(waiting("PodInitializing"), init=RUNNING, sidecar=RUNNING, phase="Pending"))
    assert (found.initializing, found.initializing_since) == ("init", "2026-10-01T00:00:00Z")


def test_running_sidecar_delays_no_container() -> None:
    found = health(make(waiting("PodInitializing"), init=DONE, sidecar=RUNNING, phase="Pending"))
    assert (found.initializing, found.initializing_since) == ("", None)


GATED = raw_condition("Ready", "False", reason="ReadinessGatesNotReady")
GATES = [{"conditionType": "example.com/lb"}, {"conditionType": "example.com/dns"}, {"conditionType": "example.com/ok"}]
LB = raw_condition("example.com/lb", "False", reason="Target.NotRegistered", message="registration is in progress")


@table(
    "further, ready",
    {
        "its condition says that the containers are ready": ([raw_condition("ContainersReady")], False),
        "each container says so": ([], True),
    },
)
def test_gates_that_are_not_true_keep_a_pod_unready(further: list[Any], ready: bool) -> None:
    conditions = [GATED, *further, LB, raw_condition("example.com/ok")]
    found = health(make(RUNNING, ready=ready, conditions=conditions, readinessGates=GATES))
    assert found.unmet_gates == (
        UnmetGate("example.com/lb", "False", "Target.NotRegistered", "registration is in progress"),
        UnmetGate("example.com/dns"),
    )


@table(
    "conditions, app",
    {
        "a container is not ready": ([GATED, raw_condition("ContainersReady", "False"), LB], RUNNING),
        "no container status": ([GATED, LB], None),
        "the pod is ready": ([raw_condition("Ready"), raw_condition("ContainersReady"), LB], RUNNING),
    },
)
def test_gates_are_not_blamed_where_they_do_not_decide(conditions: list[Any], app: Any) -> None:
    assert health(make(app, ready=True, conditions=conditions, readinessGates=GATES)).unmet_gates == ()


UNEXPLAINED = raw_condition("Ready", "False")


@table(
    "conditions, ready, marked",
    {
        "the condition says so": ([UNEXPLAINED, raw_condition("ContainersReady")], False, True),
        "each container says so": ([UNEXPLAINED], True, True),
        "containers are not": ([UNEXPLAINED, raw_condition("ContainersReady", "False")], True, False),
        "a container is not": ([UNEXPLAINED], False, False),
        "a reason": ([raw_condition("Ready", "False", reason="ContainersNotReady")], True, False),
        "Ready": ([raw_condition("Ready")], True, False),
        "nothing reported": ([], True, False),
    },
)
def test_node_controller_marks_a_pod_without_a_reason(conditions: list[Any], ready: bool, marked: bool) -> None:
    assert health(make(RUNNING, ready=ready, conditions=conditions)).marked_not_ready is marked


def test_unmet_gate_comes_before_the_mark() -> None:
    found = health(make(RUNNING, ready=True, conditions=[UNEXPLAINED, LB], readinessGates=GATES[:1]))
    assert (len(found.unmet_gates), found.marked_not_ready) == (1, False)
