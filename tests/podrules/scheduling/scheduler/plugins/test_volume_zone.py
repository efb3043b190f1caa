"""Cases of upstream's volumezone/volume_zone_test.go at v1.36.3."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

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


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        pytest.param("beta-zone", {}, SUCCESS, id="node without labels"),
        pytest.param("beta-zone", {BETA_ZONE: "us-west1-a"}, SUCCESS, id="beta zone label matched"),
        pytest.param("beta-region", {BETA_REGION: "us-west1"}, SUCCESS, id="beta region label matched"),
        pytest.param("beta-region", {BETA_REGION: "no_us-west1"}, CONFLICT, id="beta region label doesn't match"),
        pytest.param("beta-zone", {BETA_ZONE: "no_us-west1-a"}, CONFLICT, id="beta zone label doesn't match"),
        pytest.param("zone", {ZONE: "us-west1-a"}, SUCCESS, id="zone label matched"),
        pytest.param("region", {REGION: "us-west1"}, SUCCESS, id="region label matched"),
        pytest.param("region", {REGION: "no_us-west1"}, CONFLICT, id="region label doesn't match"),
        pytest.param("zone", {ZONE: "no_us-west1-a"}, CONFLICT, id="zone label doesn't match"),
        pytest.param("both", {ZONE: "us-west1-a"}, CONFLICT, id="pv with zone and region, node with only zone"),
        pytest.param("zone", {BETA_ZONE: "us-west1-a"}, CONFLICT, id="pv with zone,node with beta zone"),
        pytest.param("beta-zone", {ZONE: "us-west1-a"}, SUCCESS, id="pv with beta label,node with ga label, matched"),
        pytest.param(
            "beta-zone", {ZONE: "us-west1-b"}, CONFLICT, id="pv with beta label,node with ga label, don't match"
        ),
        pytest.param(
            "beta-zone", {BETA_ZONE: "us-west1-b", ZONE: "us-west1-a"}, CONFLICT, id="the beta label of the node counts"
        ),
        pytest.param("beta-zones", {}, SUCCESS, id="multi: node without labels"),
        pytest.param("beta-zones", {BETA_ZONE: "us-west1-a"}, SUCCESS, id="multi: beta zone label matched"),
        pytest.param("beta-zones", {BETA_ZONE: "us-west1-b"}, CONFLICT, id="multi: beta zone label doesn't match"),
        pytest.param("zones", {ZONE: "us-west1-a"}, SUCCESS, id="multi: zone label matched"),
        pytest.param("zones", {ZONE: "us-west1-b"}, CONFLICT, id="multi: zone label doesn't match"),
    ],
)
def test_zone(name: str, labels: Mapping[str, str], expected: Status) -> None:
    context = make_context(claiming_pod(name), [host({**labels, "uselessLabel": "none"})], snapshot=SNAPSHOT)

    assert statuses(VolumeZone(), context) == [expected]


def rejected(text: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(
            "PVC_EmptySC",
            rejected("PersistentVolumeClaim had no pv name and storageClass name"),
            id="unbound volume empty storage class",
        ),
        pytest.param(
            "PVC_NoSC",
            rejected('storageclass.storage.k8s.io "Class_0" not found'),
            id="unbound volume no storage class",
        ),
        pytest.param(
            "PVC_NoMode",
            rejected('VolumeBindingMode not set for StorageClass "Class_NoMode"'),
            id="unbound volume without binding mode",
        ),
        pytest.param(
            "PVC_ImmediateSC",
            rejected("PersistentVolume had no name"),
            id="unbound volume immediate binding mode",
        ),
        pytest.param("PVC_WaitSC", SKIP, id="unbound volume wait binding mode"),
        pytest.param("lost", rejected('persistentvolume "pv-lost" not found'), id="volume not found"),
        pytest.param("missing", rejected('persistentvolumeclaim "missing" not found'), id="claim not found"),
        pytest.param("", rejected("PersistentVolumeClaim had no name"), id="claim without a name"),
        pytest.param("odd", SKIP, id="a label with an empty part is passed over"),
        pytest.param("none", SKIP, id="volume without labels"),
    ],
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
