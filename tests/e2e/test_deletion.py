"""A delete changes a stored pod as the rules predict, the first time and afterwards."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.space import Space
from tests.objects import unscheduled_pod
from tests.restated.termination import DeleteOptions, DeleteOutcome, before_delete
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

PLAIN = None
"""A delete that names no grace period."""

# Grace periods of the deletes of one pod of 400 s, and its deletionGracePeriodSeconds after each; GONE: no object.
# Long ones: between two deletes the machine may stand still.
GONE = -1
DELETES: dict[str, tuple[Sequence[int | None], Sequence[int]]] = {
    "plain": ([PLAIN], [400]),
    "shorter than its own": ([70], [70]),
    "longer than its own": ([6000], [6000]),
    "negative": ([-7], [1]),
    "zero": ([0], [GONE]),
    "second shorter": ([PLAIN, 200], [400, 200]),
    "second longer": ([200, 600], [200, 200]),
    "second the same": ([200, 200], [200, 200]),
    "second plain": ([200, PLAIN], [200, 200]),
    "second negative": ([600, -1], [600, 1]),
    "second zero": ([600, 0], [600, GONE]),
    "shorter and shorter": ([1000, 500, 300], [1000, 500, 300]),
    "shorter, then longer": ([1000, 200, 500], [1000, 200, 200]),
}


@pytest.mark.parametrize(("asked", "expected"), DELETES.values(), ids=DELETES)
def test_T1_deletes_of_a_bound_pod(space: Space, asked: Sequence[int | None], expected: Sequence[int]) -> None:
    manifest = unscheduled_pod(space.name, nodeName=space.node(), terminationGracePeriodSeconds=400)
    pod = space.plane.api.create(manifest)

    seen = []
    for seconds in asked:
        pod = assert_predicted(space.plane, pod, seconds)
        seen.append(pod["metadata"]["deletionGracePeriodSeconds"] if pod else GONE)

    assert seen == expected


def test_T1_shorter_delete_after_its_time_counts_from_now(space: Space) -> None:
    pod = space.pod(nodeName=space.node())
    pod = assert_predicted(space.plane, pod, PLAIN)
    deletion = deletion_time(pod)
    assert deletion is not None
    wait_for(lambda: time.time() > deletion - 30 + 3, "the shorter period is over")

    # Two seconds after the first delete were over a second ago.
    pod = assert_predicted(space.plane, pod, 2)

    assert pod["metadata"]["deletionGracePeriodSeconds"] == 1


@pytest.mark.parametrize(
    "state",
    [
        pytest.param({"phase": "Succeeded"}, id="succeeded"),
        pytest.param({"phase": "Failed"}, id="failed"),
    ],
)
def test_T1_finished_pod_is_gone_at_once(space: Space, state: Object) -> None:
    pod = space.pod(nodeName=space.node())
    pod = space.plane.set_pod_status(pod, state)

    assert not assert_predicted(space.plane, pod, 60)


def test_T1_unscheduled_pod_is_gone_at_once(control_plane: ControlPlane, namespace: str) -> None:
    pod = control_plane.api.create(unscheduled_pod(namespace))

    assert not assert_predicted(control_plane, pod, 60)


def test_T1_pod_of_grace_zero_is_gone_at_once(space: Space) -> None:
    manifest = unscheduled_pod(space.name, nodeName=space.node(), terminationGracePeriodSeconds=0)
    pod = space.plane.api.create(manifest)
    text = space.text()

    assert not assert_predicted(space.plane, pod, PLAIN)
    assert "A plain delete is a force delete here: its grace period is 0." in text


def test_T1_finalizer_keeps_a_pod_of_no_processes(space: Space) -> None:
    manifest = unscheduled_pod(space.name)
    manifest["metadata"]["finalizers"] = ["example.com/keep"]
    pod = space.plane.api.create(manifest)

    for seconds in (60, PLAIN, 0):
        pod = assert_predicted(space.plane, pod, seconds)
        assert pod["metadata"]["deletionGracePeriodSeconds"] == 0

    text = space.text()
    space.plane.api.patch(pod, {"metadata": {"finalizers": None}})
    assert 'grace 0 s: no process of it runs, finalizer "example.com/keep" keeps the object until ' in text
    assert not read(space.plane, pod)


def test_T1_explained_while_it_stops(space: Space) -> None:
    pod = space.pod(nodeName=space.node())
    for seconds in (600, 300):
        pod = assert_predicted(space.plane, pod, seconds)

        status = space.json()["status"]
        assert status["deletionGracePeriodSeconds"] == seconds
        assert status["deletionTimestamp"] == pod["metadata"]["deletionTimestamp"]


def assert_predicted(control_plane: ControlPlane, pod: Object, seconds: int | None) -> Object:
    """Delete once more and compare the stored pod with the prediction; returns it, ``{}`` if it is gone."""
    started = int(time.time())
    delete(control_plane, pod, seconds)
    ended = time.time()
    stored = read(control_plane, pod)

    options = DeleteOptions(grace_period_seconds=seconds)
    model = from_object(pod, Pod)
    earliest = before_delete(model, options, now=started, deletion_time=deletion_time(pod))
    latest = before_delete(model, options, now=ended, deletion_time=deletion_time(pod))
    assert is_kept(model, earliest) == is_kept(model, latest) == bool(stored)
    if stored:
        when = deletion_time(stored)
        assert when is not None
        assert earliest.deletion_time is not None
        assert latest.deletion_time is not None
        assert earliest.deletion_time <= when <= latest.deletion_time
        assert stored["metadata"]["deletionGracePeriodSeconds"] == latest.deletion_grace_period_seconds
        assert stored["metadata"]["generation"] == latest.generation
    return stored


def is_kept(pod: Pod, outcome: DeleteOutcome) -> bool:
    """Whether the object remains: it has a finalizer, or a grace period is left."""
    return bool(pod.metadata.finalizers or outcome.deletion_grace_period_seconds)


def delete(control_plane: ControlPlane, pod: Object, seconds: int | None) -> None:
    """A DELETE as kubectl sends it; kubectl itself would take no negative period."""
    control_plane.api.delete(pod, grace_period_seconds=seconds)


def read(control_plane: ControlPlane, pod: Object) -> Object:
    try:
        return control_plane.api.get("v1", "Pod", pod["metadata"]["name"], pod["metadata"]["namespace"])
    except ApiError as error:
        if error.reason != "NotFound":
            raise
        return {}


def deletion_time(pod: dict[str, Any]) -> float | None:
    stamp = pod["metadata"].get("deletionTimestamp")
    return datetime.fromisoformat(stamp).timestamp() if stamp else None
