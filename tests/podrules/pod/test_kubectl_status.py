"""The STATUS column of `kubectl get pods`."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.api.model.pod import Pod
from podrules.pod.health import kubectl_status
from tests.controlplane.client import Object
from tests.objects import make_pod, raw_condition, raw_container

RUNNING = {"running": {"startedAt": "2026-10-01T00:00:00Z"}}
DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}
READY = raw_condition("Ready", "True")


def waiting(reason: str) -> Object:
    return {"waiting": {"reason": reason}}


def ended(code: int, reason: str = "", signal: int = 0) -> Object:
    return {"terminated": {"exitCode": code, "reason": reason, "signal": signal}}


def container_status(name: str, state: Object, **more: Any) -> Object:
    return {"name": name, "state": state, "ready": state is RUNNING, **more}


def make(
    *apps: Object,
    init: list[Object] | None = None,
    metadata: Object | None = None,
    phase: str = "Running",
    **status: Any,
) -> Pod:
    """The containers are `a`, `b` and so on; the init containers `first`, the sidecar `mesh` and `last`."""
    containers = [container_status("ab"[index], state) for index, state in enumerate(apps)]
    before = [raw_container("first"), raw_container("mesh", restartPolicy="Always"), raw_container("last")]
    whole = {"phase": phase, "containerStatuses": containers, "initContainerStatuses": init or [], **status}
    return make_pod(initContainers=before, metadata=metadata, status=whole)


FIRST, MESH = container_status("first", DONE), container_status("mesh", RUNNING, started=True)
STARTING = container_status("mesh", RUNNING, started=False)
CRASHING = container_status("mesh", waiting("CrashLoopBackOff"), started=False)
GATED = raw_condition("PodScheduled", "False", reason="SchedulingGated")
DELETED = {"deletionTimestamp": "2026-10-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("pod", "word"),
    [
        (make(RUNNING), "Running"),
        (make(phase="Pending"), "Pending"),
        (make(phase=""), ""),
        (make(phase="Failed", reason="Evicted"), "Evicted"),
        (make(phase="Pending", conditions=[GATED]), "SchedulingGated"),
        (make(waiting("CrashLoopBackOff")), "CrashLoopBackOff"),
        (make(RUNNING, waiting("ImagePullBackOff")), "ImagePullBackOff"),
        (make(waiting("ErrImagePull"), waiting("CrashLoopBackOff")), "ErrImagePull"),
        (make(waiting("")), "Running"),
        (make(ended(137, "OOMKilled")), "OOMKilled"),
        (make(ended(3)), "ExitCode:3"),
        (make(ended(137, signal=9)), "Signal:9"),
        (make(DONE, phase="Succeeded"), "Completed"),
        (make(DONE, RUNNING, conditions=[READY]), "Running"),
        (make(DONE, RUNNING), "NotReady"),
        (make(DONE, ended(1, "Error")), "Error"),
        (make(init=[container_status("first", waiting("CrashLoopBackOff"))], phase="Pending"), "Init:CrashLoopBackOff"),
        (make(init=[container_status("first", ended(1, "Error"))], phase="Pending"), "Init:Error"),
        (make(init=[container_status("first", ended(4))], phase="Pending"), "Init:ExitCode:4"),
        (make(init=[container_status("first", ended(139, signal=11))], phase="Pending"), "Init:Signal:11"),
        (make(waiting("PodInitializing"), init=[container_status("first", RUNNING)], phase="Pending"), "Init:0/3"),
        (make(init=[FIRST, STARTING], phase="Pending"), "Init:1/3"),
        (make(init=[FIRST, MESH, container_status("last", RUNNING)], phase="Pending"), "Init:2/3"),
        (make(RUNNING, init=[FIRST, MESH, container_status("last", DONE)]), "Running"),
        # A sidecar that crashes after the start is shown like an init container, unless an app container has a reason.
        (make(RUNNING, init=[FIRST, CRASHING], conditions=[raw_condition("Initialized")]), "Init:CrashLoopBackOff"),
        (make(RUNNING, metadata=DELETED), "Terminating"),
        (make(DONE, phase="Succeeded", metadata=DELETED), "Completed"),
        (make(RUNNING, reason="NodeLost", metadata=DELETED), "Unknown"),
    ],
)
def test_status_matches_kubectl_get_pods(pod: Pod, word: str) -> None:
    assert kubectl_status(pod) == word
