"""Cases of upstream's volumerestrictions/volume_restrictions_test.go at v1.36.3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.answers import SKIP, SUCCESS, Code, Status
from podrules.scheduling.scheduler.plugins.volume_restrictions import (
    REASON_DISK_CONFLICT,
    REASON_READ_WRITE_ONCE_POD,
    DiskConflict,
    VolumeRestrictions,
)
from tests.podrules.scheduling.scheduler.plugins.building_affinity import labelled_node, make_context, statuses
from tests.podrules.scheduling.scheduler.plugins.building_storage import claim, claiming_pod

NODES = [labelled_node("node-1"), labelled_node("node-2")]
CONFLICT = Status(Code.UNSCHEDULABLE, (REASON_DISK_CONFLICT,))
IN_USE = Status(Code.UNSCHEDULABLE, (REASON_READ_WRITE_ONCE_POD,))

GCE, GCE_OTHER = {"gcePersistentDisk": {"pdName": "foo"}}, {"gcePersistentDisk": {"pdName": "bar"}}
AWS, AWS_OTHER = {"awsElasticBlockStore": {"volumeID": "foo"}}, {"awsElasticBlockStore": {"volumeID": "bar"}}
RBD = {"rbd": {"monitors": ["a", "b"], "pool": "foo", "image": "bar"}}
RBD_OTHER = {"rbd": {"monitors": ["c", "d"], "pool": "foo", "image": "bar"}}
ISCSI = {"iscsi": {"targetPortal": "127.0.0.1:3260", "iqn": "iqn.2016-12.server:storage.target01", "lun": 0}}
ISCSI_OTHER = {"iscsi": {"targetPortal": "127.0.0.1:3260", "iqn": "iqn.2017-12.server:storage.target01", "lun": 0}}


@pytest.mark.parametrize(
    ("disk", "other"),
    [
        pytest.param(GCE, GCE_OTHER, id="GCE"),
        pytest.param(AWS, AWS_OTHER, id="AWS"),
        pytest.param(RBD, RBD_OTHER, id="RBD"),
        pytest.param(ISCSI, ISCSI_OTHER, id="ISCSI"),
    ],
)
@pytest.mark.parametrize(
    ("wanted", "held", "expected"),
    [
        pytest.param("", "", SKIP, id="nothing"),
        pytest.param("", "disk", SKIP, id="one state"),
        pytest.param("disk", "disk", [CONFLICT, SUCCESS], id="same state"),
        pytest.param("other", "disk", [SUCCESS, SUCCESS], id="different state"),
        pytest.param("empty", "", SKIP, id="pod with a volume that doesn't have restrictions"),
    ],
)
def test_disk_conflicts(
    disk: Mapping[str, Any], other: Mapping[str, Any], wanted: str, held: str, expected: Status | list[Status]
) -> None:
    volumes: Mapping[str, list[Mapping[str, Any]]] = {
        "disk": [disk],
        "other": [other],
        "empty": [{"name": "empty"}],
        "": [],
    }
    holder = claiming_pod(*volumes[held], node="node-1")

    assert statuses(VolumeRestrictions(), make_context(claiming_pod(*volumes[wanted]), NODES, [holder])) == expected


@pytest.mark.parametrize(
    ("disk", "both", "one"),
    [
        pytest.param(GCE, SUCCESS, CONFLICT, id="GCE"),
        pytest.param(AWS, CONFLICT, CONFLICT, id="AWS"),
        pytest.param(RBD, SUCCESS, CONFLICT, id="RBD"),
        pytest.param(ISCSI, SUCCESS, CONFLICT, id="ISCSI"),
    ],
)
def test_read_only_disks(disk: dict[str, dict[str, Any]], both: Status, one: Status) -> None:
    read_only = {kind: {**source, "readOnly": True} for kind, source in disk.items()}

    for held, expected in ((read_only, both), (disk, one)):
        context = make_context(claiming_pod(read_only), NODES, [claiming_pod(held, node="node-1")])
        assert statuses(VolumeRestrictions(), context) == [expected, SUCCESS]


def test_rbd_of_clusters_with_one_monitor_in_common_is_the_same() -> None:
    near = {"rbd": {"monitors": ["b", "c"], "pool": "foo", "image": "bar"}}
    context = make_context(claiming_pod(near), NODES, [claiming_pod(RBD, node="node-1")])

    assert statuses(VolumeRestrictions(), context) == [CONFLICT, SUCCESS]


SNAPSHOT = ClusterSnapshot(
    persistent_volume_claims=(
        claim("claim-with-rwop-1", accessModes=["ReadWriteOncePod"]),
        claim("claim-with-rwop-2", accessModes=["ReadWriteOncePod"]),
        claim("claim-with-rwx", accessModes=["ReadWriteMany"]),
    )
)
ONE = claiming_pod("claim-with-rwop-1")
TWO = claiming_pod("claim-with-rwop-1", "claim-with-rwop-2")
HOLDS_ONE = claiming_pod("claim-with-rwop-1", node="node-1")
HOLDS_TWO = claiming_pod("claim-with-rwop-1", "claim-with-rwop-2", node="node-1")
HOLDS_SHARED = claiming_pod("claim-with-rwx", node="node-1")


@pytest.mark.parametrize(
    ("pod", "pods", "expected"),
    [
        pytest.param(claiming_pod(), [], SKIP, id="nothing"),
        pytest.param(
            ONE,
            [],
            SKIP,
            id="no conflict",
        ),
        pytest.param(ONE, [HOLDS_ONE, HOLDS_SHARED], [IN_USE, IN_USE], id="access mode conflict"),
        pytest.param(TWO, [HOLDS_ONE, HOLDS_SHARED], [IN_USE, IN_USE], id="two conflicts, one held"),
        pytest.param(TWO, [HOLDS_TWO, HOLDS_SHARED], [IN_USE, IN_USE], id="two conflicts"),
        pytest.param(claiming_pod("claim-with-rwx"), [HOLDS_SHARED], SKIP, id="a claim for many"),
        pytest.param(
            ONE, [claiming_pod("claim-with-rwop-1", node="node-1", namespace="other")], SKIP, id="in another namespace"
        ),
        pytest.param(
            claiming_pod("missing"),
            [],
            Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ('persistentvolumeclaim "missing" not found',)),
            id="missing claim",
        ),
        pytest.param(
            claiming_pod("claim-with-rwop-1", GCE),
            [claiming_pod("claim-with-rwop-1", GCE, node="node-2")],
            [IN_USE, CONFLICT],
            id="disk conflicts come first",
        ),
    ],
)
def test_access_mode_conflicts(pod: Pod, pods: Sequence[Pod], expected: Status | list[Status]) -> None:
    assert statuses(VolumeRestrictions(), make_context(pod, NODES, pods, snapshot=SNAPSHOT)) == expected


def test_explain_names_the_holder() -> None:
    holder = claiming_pod("claim-with-rwop-1", RBD, name="db", node="node-2")
    context = make_context(claiming_pod("claim-with-rwop-1", RBD), NODES, [holder], snapshot=SNAPSHOT)
    state = VolumeRestrictions().pre_filter(context).state

    values = [VolumeRestrictions().explain(context, state, row) for row in range(2)]

    assert values[0].disks == ()
    assert values[0].claims == ("claim-with-rwop-1",)
    assert values[1].disks == (DiskConflict("rbd", "foo/bar", "default", "db"),)
