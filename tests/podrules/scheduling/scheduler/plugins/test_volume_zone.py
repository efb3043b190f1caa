"""Cases of upstream's volumezone/volume_zone_test.go at v1.36.3."""

from __future__ import annotations

from collections.abc import Mapping

from podrules.api.csi_translation import BETA_REGION, BETA_ZONE, REGION, ZONE
from podrules.api.model.node import Node
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.answers import SKIP, SUCCESS, Code, Status
from podrules.scheduling.scheduler.plugins.volume_zone import REASON_CONFLICT, VolumeTopology, VolumeZone
from tests.podrules.scheduling.scheduler.plugins.building_affinity import labelled_node, make_context, statuses
from tests.podrules.scheduling.scheduler.plugins.building_storage import (
    claim,
    claiming_pod,
    ephemeral,
    storage_class,
    volume,
)
from tests.table import row, table

CONFLICT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON_CONFLICT,))
LABELS = {
    "beta-zone": {BETA_ZONE: "us-west1-a"},
    "beta-region": {BETA_REGION: "us-west1", "uselessLabel": "none"},
    "beta-zones": {BETA_ZONE: "us-west1-c__us-west1-a"},
    "zone": {ZONE: "us-west1-a"},
    "region": {REGION: "us-west1", "uselessLabel": "none"},
    "both": {ZONE: "us-west1-a", REGION: "us-west1-a"},
    "zones": {ZONE: "us-west1-c__us-west1-a"},
    "odd": {ZONE: "us-west1-c__"},
    "none": {},
}
SNAPSHOT = ClusterSnapshot(
    persistent_volume_claims=(
        *(claim(name, volume_name=f"pv-{name}") for name in LABELS),
        claim("lost", volume_name="pv-lost"),
        claim("PVC_NoSC", "Class_0"),
        claim("PVC_EmptySC"),
        claim("PVC_WaitSC", "Class_Wait"),
        claim("PVC_ImmediateSC", "Class_Immediate"),
        claim("PVC_NoMode", "Class_NoMode"),
    ),
    persistent_volumes=tuple(volume(f"pv-{name}", labels=labels) for name, labels in LABELS.items()),
    storage_classes=(
        storage_class("Class_Wait"),
        storage_class("Class_Immediate", mode="Immediate"),
        storage_class("Class_NoMode", mode=None),
    ),
)


def host(labels: Mapping[str, str]) -> Node:
    return labelled_node("host1", **labels)


@table(
    "name, labels, expected",
    {
        "node without labels": row("beta-zone", {}, SUCCESS),
        "beta zone label matched": row("beta-zone", {BETA_ZONE: "us-west1-a"}, SUCCESS),
        "beta region label matched": row("beta-region", {BETA_REGION: "us-west1"}, SUCCESS),
        "beta region label doesn't match": row("beta-region", {BETA_REGION: "no_us-west1"}, CONFLICT),
        "beta zone label doesn't match": row("beta-zone", {BETA_ZONE: "no_us-west1-a"}, CONFLICT),
        "zone label matched": row("zone", {ZONE: "us-west1-a"}, SUCCESS),
        "region label matched": row("region", {REGION: "us-west1"}, SUCCESS),
        "region label doesn't match": row("region", {REGION: "no_us-west1"}, CONFLICT),
        "zone label doesn't match": row("zone", {ZONE: "no_us-west1-a"}, CONFLICT),
        "pv with zone and region, node with only zone": row("both", {ZONE: "us-west1-a"}, CONFLICT),
        "pv with zone,node with beta zone": row("zone", {BETA_ZONE: "us-west1-a"}, CONFLICT),
        "pv with beta label,node with ga label, matched": row("beta-zone", {ZONE: "us-west1-a"}, SUCCESS),
        "pv with beta label,node with ga label, don't match": row("beta-zone", {ZONE: "us-west1-b"}, CONFLICT),
        "the beta label of the node counts": row("beta-zone", {BETA_ZONE: "us-west1-b", ZONE: "us-west1-a"}, CONFLICT),
        "multi: node without labels": row("beta-zones", {}, SUCCESS),
        "multi: beta zone label matched": row("beta-zones", {BETA_ZONE: "us-west1-a"}, SUCCESS),
        "multi: beta zone label doesn't match": row("beta-zones", {BETA_ZONE: "us-west1-b"}, CONFLICT),
        "multi: zone label matched": row("zones", {ZONE: "us-west1-a"}, SUCCESS),
        "multi: zone label doesn't match": row("zones", {ZONE: "us-west1-b"}, CONFLICT),
    },
)
def test_zone(name: str, labels: Mapping[str, str], expected: Status) -> None:
    context = make_context(claiming_pod(name), [host({**labels, "uselessLabel": "none"})], snapshot=SNAPSHOT)

    assert statuses(VolumeZone(), context) == [expected]


def rejected(text: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,))


@table(
    "name, expected",
    {
        "unbound volume empty storage class": row(
            "PVC_EmptySC", rejected("PersistentVolumeClaim had no pv name and storageClass name")
        ),
        "unbound volume no storage class": row("PVC_NoSC", rejected('storageclass.storage.k8s.io "Class_0" not found')),
        "unbound volume without binding mode": row(
            "PVC_NoMode", rejected('VolumeBindingMode not set for StorageClass "Class_NoMode"')
        ),
        "unbound volume immediate binding mode": row("PVC_ImmediateSC", rejected("PersistentVolume had no name")),
        "unbound volume wait binding mode": row("PVC_WaitSC", SKIP),
        "volume not found": row("lost", rejected('persistentvolume "pv-lost" not found')),
        "claim not found": row("missing", rejected('persistentvolumeclaim "missing" not found')),
        "claim without a name": row("", rejected("PersistentVolumeClaim had no name")),
        "a label with an empty part is passed over": row("odd", SKIP),
        "volume without labels": row("none", SKIP),
    },
)
def test_with_binding(name: str, expected: Status) -> None:
    context = make_context(claiming_pod(name), [host({BETA_ZONE: "us-west1-a"})], snapshot=SNAPSHOT)

    assert statuses(VolumeZone(), context) == expected


def test_pods_without_named_claims_are_skipped() -> None:
    for pod in (claiming_pod(), claiming_pod(ephemeral("missing"))):
        assert statuses(VolumeZone(), make_context(pod, [host({ZONE: "z"})], snapshot=SNAPSHOT)) is SKIP


def test_claims_behind_other_volumes_are_read() -> None:
    pod = claiming_pod({"name": "scratch", "emptyDir": {}}, "zone")
    context = make_context(pod, [host({ZONE: "no_us-west1-a"})], snapshot=SNAPSHOT)

    assert statuses(VolumeZone(), context) == [CONFLICT]


def test_explain_names_the_label() -> None:
    context = make_context(claiming_pod("zone", "beta-zones"), [host({ZONE: "us-west1-c"})], snapshot=SNAPSHOT)
    state = VolumeZone().pre_filter(context).state

    assert VolumeZone().explain(context, state, 0) == (VolumeTopology("pv-zone", ZONE, ("us-west1-a",)),)
