"""Cases of upstream's csi-translation-lib/plugins tests at v0.36.3, as far as the scheduler needs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from podrules.api.csi_translation import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    ZONE,
    TranslationError,
    is_inline_migratable,
    translate_inline,
    translate_volume,
)
from podrules.api.model.decode import from_object
from podrules.api.model.storage import Volume
from tests.podrules.scheduling.scheduler.plugins.building_storage import volume
from tests.table import table

EBS_ZONE = "topology.ebs.csi.aws.com/zone"


@table(
    "source, driver, handle",
    {
        "bare id": ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, "ebs.csi.aws.com", "vol-1"),
        "URL": ({"awsElasticBlockStore": {"volumeID": "aws://zone/vol-1"}}, "ebs.csi.aws.com", "vol-1"),
        "no zone": ({"awsElasticBlockStore": {"volumeID": "aws:///vol-1"}}, "ebs.csi.aws.com", "vol-1"),
        "Azure": ({"azureDisk": {"diskURI": "uri", "kind": "managed"}}, "disk.csi.azure.com", "uri"),
        "Cinder": ({"cinder": {"volumeID": "c"}}, "cinder.csi.openstack.org", "c"),
        "Portworx": ({"portworxVolume": {"volumeID": "p"}}, "pxd.portworx.com", "p"),
        "GCE": (
            {"gcePersistentDisk": {"pdName": "g"}},
            "pd.csi.storage.gke.io",
            "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/g",
        ),
    },
)
def test_translate(source: Mapping[str, Any], driver: str, handle: str) -> None:
    inline = from_object(source, Volume)
    found = translate_inline(inline)
    moved = translate_volume(volume("pv", **source)).spec

    assert is_inline_migratable(inline)
    assert found is not None
    assert moved.csi == found
    assert (found.driver, found.volume_handle) == (driver, handle)
    assert translate_volume(volume("pv", csi={"driver": "x", "volumeHandle": "h"})).spec.csi is not None


@table(
    "source, message",
    {
        "EBS": (
            {"awsElasticBlockStore": {"volumeID": "aws:///vol/1"}},
            "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws:///vol/1)",
        ),
        "Azure Disk": (
            {"azureDisk": {"diskURI": "uri", "kind": "Shared"}},
            "kind(Shared) is not supported in csi migration",
        ),
    },
)
def test_untranslatable_volumes(source: Mapping[str, Any], message: str) -> None:
    with pytest.raises(TranslationError) as caught:
        translate_inline(from_object(source, Volume))
    assert str(caught.value) == message
    with pytest.raises(TranslationError):
        translate_volume(volume("pv", **source))


@pytest.mark.parametrize("source", ["azureFile", "vsphereVolume"])
def test_migratable_and_not_switched_on(source: str) -> None:
    inline = from_object({source: {}}, Volume)

    assert is_inline_migratable(inline)
    assert translate_inline(inline) is None
    assert not is_inline_migratable(from_object({"rbd": {}}, Volume))


@table(
    "labels, handle",
    {
        "zonal": ({ZONE: "us-east1-a"}, "zones/us-east1-a"),
        "the beta label first": ({BETA_ZONE: "us-east1-b", ZONE: "us-east1-a"}, "zones/us-east1-b"),
        "regional": ({ZONE: "us-east1-a__us-east1-b"}, "regions/us-east1"),
    },
)
def test_gce_handle(labels: Mapping[str, str], handle: str) -> None:
    found = translate_volume(volume("pv", labels=labels, gcePersistentDisk={"pdName": "g"})).spec.csi

    assert found is not None
    assert found.volume_handle == f"projects/UNSPECIFIED/{handle}/disks/g"


def test_gce_zones_of_several_regions() -> None:
    with pytest.raises(TranslationError, match=r"got: map\[a-b:\{\} c-d:\{\}\]$"):
        translate_volume(volume("pv", labels={ZONE: "c-d-e__a-b-c"}, gcePersistentDisk={"pdName": "g"}))


@table(
    "on, labels, expected",
    {
        "zone key is renamed": ({ZONE: ["z"]}, {}, {EBS_ZONE: ["z"]}),
        "beta zone key is renamed": ({BETA_ZONE: ["z"]}, {}, {EBS_ZONE: ["z"]}),
        "zone label is added": ({}, {ZONE: "b__a"}, {EBS_ZONE: ["a", "b"]}),
        "added to every term": ({"rack": ["r"]}, {BETA_ZONE: "a"}, {"rack": ["r"], EBS_ZONE: ["a"]}),
        "the affinity counts, not the label": ({ZONE: ["z"]}, {ZONE: "other"}, {EBS_ZONE: ["z"]}),
        "beta region key is renamed": ({BETA_ZONE: ["z"], BETA_REGION: ["r"]}, {}, {EBS_ZONE: ["z"], REGION: ["r"]}),
        "mixed keys": ({ZONE: ["z"], BETA_REGION: ["r"]}, {}, {EBS_ZONE: ["z"], BETA_REGION: ["r"]}),
        "no topology": ({}, {}, {}),
        "a label without zones": ({}, {ZONE: "__"}, {}),
    },
)
def test_topology(on: Mapping[str, list[str]], labels: Mapping[str, str], expected: Mapping[str, list[str]]) -> None:
    found = translate_volume(volume("pv", on=on, labels=labels, awsElasticBlockStore={"volumeID": "vol-1"}))

    assert found.spec.node_affinity == volume("pv", on=expected).spec.node_affinity
