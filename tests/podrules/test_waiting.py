"""What containers wait for."""

from __future__ import annotations

import pytest

from podrules.model.decode import from_object
from podrules.model.pod import Pod
from podrules.waiting import Wait, readiness, waits
from tests.objects import raw_condition, raw_pod


def make(*reasons: str, init: str = "", phase: str = "Pending", ready: str = "") -> Pod:
    """A pod of which containers ``0``, ``1`` and so on wait, for these reasons."""
    status = {
        "phase": phase,
        "containerStatuses": [
            {"name": str(place), "state": {"waiting": {"reason": reason}}} for place, reason in enumerate(reasons)
        ],
        "initContainerStatuses": [{"name": "init", "state": {"waiting": {"reason": init}}}] if init else [],
        "conditions": [raw_condition("Ready", ready)] if ready else [],
    }
    return from_object(raw_pod(status=status), Pod)


@pytest.mark.parametrize("reason", ["", "ContainerCreating", "PodInitializing"])
def test_what_passes_by_itself_holds_nothing_up(reason: str) -> None:
    assert waits(make(reason)) == (Wait("0", reason, "", held_up=False),)


@pytest.mark.parametrize(
    "reason",
    ["CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "CreateContainerConfigError", "RunContainerError"],
)
def test_what_the_kubelet_tried_in_vain_does(reason: str) -> None:
    assert waits(make(reason)) == (Wait("0", reason, "", held_up=True),)


def test_what_is_held_up_comes_first() -> None:
    found = waits(make("PodInitializing", "ErrImagePull", init="CrashLoopBackOff"))
    assert [wait.container for wait in found] == ["init", "1", "0"]


def test_a_finished_pod_waits_for_nothing() -> None:
    assert waits(make("CrashLoopBackOff", phase="Failed")) == ()


@pytest.mark.parametrize(("status", "ready"), [("True", True), ("False", False), ("Unknown", False), ("", None)])
def test_readiness(status: str, ready: bool | None) -> None:
    assert readiness(make(ready=status)) is ready
