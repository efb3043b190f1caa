"""What a force deletion is, and who is left without the pod."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from podrules.deletion import CONFIRMATION, Members, is_confirmed, is_force_deletion, members
from podrules.model.base import ObjectMeta
from podrules.model.pod import Pod
from tests.builders import make_pod
from tests.podrules.lost import make_lost_pod

RUNNING = make_pod(node_name="n", phase="Running", termination_seconds=30)


@pytest.mark.parametrize(
    ("pod", "seconds", "forced"),
    [
        pytest.param(RUNNING, None, False, id="its own period"),
        pytest.param(RUNNING, 0, True, id="0"),
        pytest.param(RUNNING, 1, False, id="1 s is a grace period"),
        pytest.param(make_pod(node_name="n", phase="Running", termination_seconds=0), None, True, id="its own is 0"),
        pytest.param(make_pod(phase="Pending"), 0, False, id="on no node: nothing runs"),
        pytest.param(make_pod(node_name="n", phase="Succeeded"), 0, False, id="finished: nothing runs"),
    ],
)
def test_F2_what_has_to_be_confirmed(pod: Pod, seconds: int | None, forced: bool) -> None:
    assert is_force_deletion(pod, seconds) is forced


def test_F2_a_confirmation_is_of_one_object() -> None:
    meta = ObjectMeta(uid="a", annotations={CONFIRMATION: "a"})
    assert is_confirmed(meta)
    assert not is_confirmed(replace(meta, uid="b"))
    assert not is_confirmed(ObjectMeta(uid="", annotations={CONFIRMATION: ""}))


def test_F3_members_and_majority() -> None:
    pod = make_lost_pod("db-1")
    siblings = [
        make_lost_pod("db-0", "a"),
        pod,
        make_lost_pod("db-2", "b", ready=False),
        make_lost_pod("db-3", "c", deleted="2026-11-21T03:08:30Z"),
        make_lost_pod("db-4", "d"),
        make_lost_pod("web-1", "e", owner="ReplicaSet/web"),
    ]
    assert members(pod, 5, siblings) == Members("db", 5, ("db-0", "db-4"), ("db-2", "db-3"), majority=3)


@pytest.mark.parametrize(("replicas", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_F3_majority_is_more_than_half(replicas: int, majority: int) -> None:
    found = members(make_lost_pod(), replicas, [])
    assert found is not None
    assert found.majority == majority


@pytest.mark.parametrize("owner", ["", "ReplicaSet/web", "Job/job"])
def test_F3_only_stateful_sets_have_members(owner: str) -> None:
    assert members(make_lost_pod(owner=owner), 3, []) is None
