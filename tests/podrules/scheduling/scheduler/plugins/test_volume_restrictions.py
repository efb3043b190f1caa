"""Cases of upstream's volumerestrictions/volume_restrictions_test.go at v1.36.3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
from tests.table import row, table

NODES = [labelled_node("node-1"), labelled_node("node-2")]
CONFLICT = Status(Code.UNSCHEDULABLE, (REASON_DISK_CONFLICT,))
IN_USE = Status(Code.UNSCHEDULABLE, (REASON_READ_WRITE_ONCE_POD,))

GCE, GCE_OTHER = {"gcePersistentDisk": {"pdName": "foo"}}, {"gcePersistentDisk": {"pdName": "bar"}}
AWS, AWS_OTHER = {"awsElasticBlockStore": {"volumeID": "foo"}}, {"awsElasticBlockStore": {"volumeID": "bar"}}
RBD = {"rbd": {"monitors": ["a", "b"], "pool": "foo", "image": "bar"}}
RBD_OTHER = {"rbd": {"monitors": ["c", "d"], "pool": "foo", "image": "bar"}}
ISCSI = {"iscsi": {"targetPortal": "127.0.0.1:3260", "iqn": "iqn.2016-12.server:storage.target01", "lun": 0}}
ISCSI_OTHER = {"iscsi": {"targetPortal": "127.0.0.1:3260", "iqn": "iqn.2017-12.server:storage.target01", "lun": 0}}


@table(
    "disk, other",
    {
        "GCE": row(GCE, GCE_OTHER),
        "AWS": row(AWS, AWS_OTHER),
        "RBD": row(RBD, RBD_OTHER),
        "ISCSI": row(ISCSI, ISCSI_OTHER),
    },
)
@table(
    "wanted, held, expected",
    {
        "nothing": row("", "", SKIP),
        "one state": row("", "disk", SKIP),
        "same state": row("disk", "disk", [CONFLICT, SUCCESS]),
        "different state": row("other", "disk", [SUCCESS, SUCCESS]),
        "pod with a volume that doesn't have restrictions": row("empty", "", SKIP),
    },
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


@table(
    "disk, both, one",
    {
        "GCE": row(GCE, SUCCESS, CONFLICT),
        "AWS": row(AWS, CONFLICT, CONFLICT),
        "RBD": row(RBD, SUCCESS, CONFLICT),
        "ISCSI": row(ISCSI, SUCCESS, CONFLICT),
    },
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


@table(
    "pod, pods, expected",
    {
        "nothing": row(claiming_pod(), [], SKIP),
        "no conflict": row(ONE, [], SKIP),
        "access mode conflict": row(ONE, [HOLDS_ONE, HOLDS_SHARED], [IN_USE, IN_USE]),
        "two conflicts, one held": row(TWO, [HOLDS_ONE, HOLDS_SHARED], [IN_USE, IN_USE]),
        "two conflicts": row(TWO, [HOLDS_TWO, HOLDS_SHARED], [IN_USE, IN_USE]),
        "a claim for many": row(claiming_pod("claim-with-rwx"), [HOLDS_SHARED], SKIP),
        "in another namespace": row(ONE, [claiming_pod("claim-with-rwop-1", node="node-1", namespace="other")], SKIP),
        "missing claim": row(
            claiming_pod("missing"),
            [],
            Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ('persistentvolumeclaim "missing" not found',)),
        ),
        "disk conflicts come first": row(
            claiming_pod("claim-with-rwop-1", GCE),
            [claiming_pod("claim-with-rwop-1", GCE, node="node-2")],
            [IN_USE, CONFLICT],
        ),
    },
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
