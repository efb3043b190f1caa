"""Stop, detach, attach, start: the steps of a volume on its way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.storage import PersistentVolume, VolumeAttachment
from podrules.ending.attachment import (
    MoveStep,
    VolumeFacts,
    WaitsFor,
    detached_after,
    is_pod_terminated,
    unique_volume_name,
    volume_position,
)
from podrules.ending.deleted_pod import deleted_at
from podrules.ending.volumes import is_multi_attach_allowed
from podrules.node.reachability import NodeReach, Reach
from tests.podrules.node.lost import make_attachment, make_lost_pod, make_volume
from tests.table import table

DELETED = "2026-11-21T03:08:30Z"
AT = datetime.fromisoformat("2026-11-21T03:08:00Z")
NEW = make_lost_pod("web-2", "well", owner="ReplicaSet/web", claims=["data"], running=False, phase="Pending")


def old(**more: Any) -> Pod:
    return make_lost_pod("web-1", "lost", owner="ReplicaSet/web", claims=["data"], **more)


def facts(
    *users: Pod,
    attachments: Sequence[VolumeAttachment] = (),
    mounted: Sequence[str] = (),
    attachable: bool = True,
    modes: Sequence[str] = ("ReadWriteOnce",),
) -> VolumeFacts:
    return VolumeFacts(
        name="data",
        claim="data",
        volume=make_volume("data", modes=modes),
        attachable=attachable,
        attachments=attachments,
        users=(*users, NEW),
        mounted_on=frozenset(mounted),
    )


def reach(lost: Reach = Reach.ANSWERS) -> list[NodeReach]:
    return [NodeReach("lost", lost, ""), NodeReach("well", Reach.ANSWERS, "")]


HELD = [make_attachment("data", "lost")]


@table(
    "deletion, answers, step, waits, since",
    {
        "it keeps running elsewhere": (None, Reach.ANSWERS, MoveStep.STOP, WaitsFor.USER, None),
        "it is being stopped": (DELETED, Reach.ANSWERS, MoveStep.STOP, WaitsFor.KUBELET, AT),
        "its node is silent": (DELETED, Reach.SILENT, MoveStep.STOP, WaitsFor.SILENT_KUBELET, AT),
        "its node is unknown": (DELETED, Reach.UNKNOWN, MoveStep.STOP, WaitsFor.KUBELET, AT),
    },
)
def test_F7_stop(deletion: str | None, answers: Reach, step: MoveStep, waits: WaitsFor, since: datetime | None) -> None:
    position = volume_position(NEW, facts(old(deleted=deletion), attachments=HELD, mounted=["lost"]), reach(answers))
    assert position is not None
    assert (position.step, position.waits_for, position.since) == (step, waits, since)
    assert position.reach is answers
    assert (position.node, position.held_by) == ("lost", ("web-1",))


@table(
    "users, mounted, answers, waits",
    {
        "still mounted": ([], ["lost"], Reach.ANSWERS, WaitsFor.KUBELET),
        "still mounted on a silent node": ([], ["lost"], Reach.SILENT, WaitsFor.FORCE_DETACH),
        "unmounted": ([], [], Reach.ANSWERS, WaitsFor.CONTROLLER),
        "unmounted on a silent node": ([], [], Reach.SILENT, WaitsFor.CONTROLLER),
        "its pod has finished": ([old(phase="Succeeded")], ["lost"], Reach.ANSWERS, WaitsFor.KUBELET),
        "its pod has stopped": ([old(deleted=DELETED, running=False)], ["lost"], Reach.ANSWERS, WaitsFor.KUBELET),
    },
)
def test_F7_detach(users: Sequence[Pod], mounted: Sequence[str], answers: Reach, waits: WaitsFor) -> None:
    position = volume_position(NEW, facts(*users, attachments=HELD, mounted=mounted), reach(answers))
    assert position is not None
    assert (position.step, position.waits_for, position.node, position.held_by) == (MoveStep.DETACH, waits, "lost", ())


def test_F7_detach_in_progress_shows_driver_error() -> None:
    leaving = [make_attachment("data", "lost", deleted="2026-11-21T03:09:00Z", error="rpc timeout")]
    position = volume_position(NEW, facts(attachments=leaving, mounted=["lost"]), reach())
    assert position is not None
    assert (position.waits_for, position.error) == (WaitsFor.DRIVER, "rpc timeout")
    assert position.since == datetime.fromisoformat("2026-11-21T03:09:00Z")


@pytest.mark.parametrize(
    ("attachments", "error"),
    [
        ([], ""),
        ([make_attachment("data", "well", attached=False, created="2026-11-21T03:09:00Z")], ""),
        (
            [make_attachment("data", "well", attached=False, created="2026-11-21T03:09:00Z", error="disk is busy")],
            "disk is busy",
        ),
    ],
)
def test_F7_attach(attachments: Sequence[VolumeAttachment], error: str) -> None:
    position = volume_position(NEW, facts(attachments=attachments), reach())
    assert position is not None
    assert (position.step, position.waits_for, position.node) == (MoveStep.ATTACH, WaitsFor.DRIVER, "well")
    assert position.error == error
    assert position.since == (datetime.fromisoformat("2026-11-21T03:09:00Z") if attachments else None)


def test_F7_start() -> None:
    position = volume_position(NEW, facts(attachments=[make_attachment("data", "well")]), reach())
    assert position is not None
    assert (position.step, position.waits_for, position.node) == (MoveStep.START, WaitsFor.OWN_KUBELET, "well")


def test_F7_pod_that_runs_waits_for_nothing() -> None:
    running = make_lost_pod("web-2", "well", owner="ReplicaSet/web", claims=["data"])
    assert volume_position(running, facts(attachments=[make_attachment("data", "well")]), reach()) is None


@table(
    "more",
    {
        "for many nodes": {"modes": ["ReadWriteMany"]},
        "no access mode: the driver decides": {"modes": []},
        "nothing attaches it": {"attachable": False},
    },
)
def test_F7_no_pod_waits_for_shared_volume(more: Any) -> None:
    position = volume_position(NEW, facts(old(), attachments=HELD, **more), reach())
    assert position is not None
    assert position.step is (MoveStep.START if "attachable" in more else MoveStep.ATTACH)


def test_F7_leaving_pod_still_has_its_volume() -> None:
    leaving = old(deleted=DELETED)
    position = volume_position(leaving, facts(leaving, attachments=HELD), reach(Reach.SILENT))
    assert position is not None
    assert (position.step, position.waits_for, position.held_by) == (MoveStep.STOP, WaitsFor.SILENT_KUBELET, ("web-1",))


def test_F7_pod_that_left_has_no_volume() -> None:
    left = old(deleted=DELETED, running=False)
    assert volume_position(left, facts(left, attachments=HELD), reach()) is None


def test_F7_continuing_holder_counts() -> None:
    others = [old(deleted=DELETED), replace(old(), metadata=replace(old().metadata, name="web-0"))]
    position = volume_position(NEW, facts(*others, attachments=HELD), reach())
    assert position is not None
    assert (position.waits_for, position.held_by) == (WaitsFor.USER, ("web-1", "web-0"))


@pytest.mark.parametrize(
    ("pod", "terminated"),
    [
        (make_lost_pod(), False),
        (make_lost_pod(running=False), False),
        (make_lost_pod(deleted=DELETED), False),
        (make_lost_pod(deleted=DELETED, running=False), True),
        (make_lost_pod(phase="Failed"), True),
        (make_lost_pod(phase="Succeeded"), True),
    ],
)
def test_F7_when_volumes_may_be_detached(pod: Pod, terminated: bool) -> None:
    assert is_pod_terminated(pod) is terminated


@pytest.mark.parametrize(
    ("source", "about", "name"),
    [
        ("csi", {"driver": "d.example.com", "volumeHandle": "vol-1"}, "kubernetes.io/csi/d.example.com^vol-1"),
        (
            "iscsi",
            {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.x", "lun": 2},
            "kubernetes.io/iscsi/10.0.0.1:3260:iqn.x:2",
        ),
        ("fc", {"targetWWNs": ["5006", "5007"], "lun": 0}, "kubernetes.io/fc/[5006 5007]:0"),
        ("fc", {"wwids": ["3600"]}, "kubernetes.io/fc/[3600]"),
        ("nfs", {"server": "s", "path": "/"}, ""),
    ],
)
def test_F7_node_statuses_name_what_the_controller_attaches(source: str, about: Mapping[str, Any], name: str) -> None:
    assert unique_volume_name(from_object({"spec": {source: about}}, PersistentVolume)) == name


ISCSI = from_object(
    {"spec": {"accessModes": ["ReadWriteOnce"], "iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.x", "lun": 0}}},
    PersistentVolume,
)


@table(
    "users, attached, mounted, answers, step, waits",
    {
        "used elsewhere": ([old()], [], [], Reach.ANSWERS, MoveStep.STOP, WaitsFor.USER),
        "being stopped": ([old(deleted=DELETED)], [], [], Reach.ANSWERS, MoveStep.STOP, WaitsFor.KUBELET),
        "still mounted": ([], ["lost"], ["lost"], Reach.ANSWERS, MoveStep.DETACH, WaitsFor.KUBELET),
        "6 min": ([], ["lost"], ["lost"], Reach.SILENT, MoveStep.DETACH, WaitsFor.FORCE_DETACH),
        "tainted": ([], ["lost"], ["lost"], Reach.OUT_OF_SERVICE, MoveStep.DETACH, WaitsFor.CONTROLLER),
        "node deleted": ([], ["lost"], ["lost"], Reach.GONE, MoveStep.DETACH, WaitsFor.FORCE_DETACH),
        "unmounted": ([], ["lost"], [], Reach.ANSWERS, MoveStep.DETACH, WaitsFor.CONTROLLER),
        "detached by force": ([], [], ["lost"], Reach.SILENT, MoveStep.ATTACH, WaitsFor.CONTROLLER),
        "attached here": ([], ["well"], [], Reach.ANSWERS, MoveStep.START, WaitsFor.OWN_KUBELET),
    },
)
def test_F7_iscsi_waits_without_volume_attachment(
    users: Sequence[Pod],
    attached: Sequence[str],
    mounted: Sequence[str],
    answers: Reach,
    step: MoveStep,
    waits: WaitsFor,
) -> None:
    known = replace(
        facts(*users, mounted=mounted), volume=ISCSI, attached_to=frozenset(attached), attachable=True, attachments=()
    )
    position = volume_position(NEW, known, reach(answers))
    assert position is not None
    assert (position.step, position.waits_for) == (step, waits)


@pytest.mark.parametrize(
    ("answers", "after"),
    [
        (Reach.ANSWERS, None),
        (Reach.UNKNOWN, None),
        (Reach.SILENT, timedelta(minutes=6)),
        (Reach.GONE, timedelta(minutes=6)),
        (Reach.OUT_OF_SERVICE, timedelta()),
        (Reach.BACK, timedelta()),
    ],
)
def test_F7_when_a_volume_is_detached_mounted_or_not(answers: Reach, after: timedelta | None) -> None:
    assert detached_after(answers) == after


@table(
    "answers, waits",
    {
        "its node was deleted": (Reach.GONE, WaitsFor.POD_GC),
        "declared out of service": (Reach.OUT_OF_SERVICE, WaitsFor.POD_GC),
        "back in service": (Reach.BACK, WaitsFor.KUBELET),
        "no heartbeats": (Reach.MISSED_HEARTBEATS, WaitsFor.SILENT_KUBELET),
    },
)
def test_F7_component_that_ends_the_holder(answers: Reach, waits: WaitsFor) -> None:
    position = volume_position(NEW, facts(old(deleted=DELETED), attachments=HELD, mounted=["lost"]), reach(answers))
    assert position is not None
    assert position.waits_for is waits


def test_F7_names_and_times() -> None:
    assert deleted_at(make_lost_pod(deleted=DELETED)) == AT
    assert deleted_at(make_lost_pod()) is None


@pytest.mark.parametrize(
    ("modes", "allowed"),
    [
        (["ReadWriteOnce"], False),
        (["ReadWriteOncePod"], False),
        (["ReadWriteOnce", "ReadOnlyMany"], True),
        (["ReadWriteMany"], True),
        ([], True),
    ],
)
def test_F7_multi_attach(modes: Sequence[str], allowed: bool) -> None:
    assert is_multi_attach_allowed(make_volume("data", modes=modes)) is allowed
