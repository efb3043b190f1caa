"""In-tree volumes as volumes of the CSI drivers that replaced them.

    awsElasticBlockStore  kubernetes.io/aws-ebs          ebs.csi.aws.com           topology.ebs.csi.aws.com/zone
    azureDisk             kubernetes.io/azure-disk       disk.csi.azure.com
    cinder                kubernetes.io/cinder           cinder.csi.openstack.org  topology.<driver>/zone
    gcePersistentDisk     kubernetes.io/gce-pd           pd.csi.storage.gke.io     topology.gke.io/zone
    portworxVolume        kubernetes.io/portworx-volume  pxd.portworx.com

vsphereVolume (csi.vsphere.vmware.com) and azureFile, which is never attached, have translations that the scheduler does
not use; VolumeAttachments and node statuses have the CSI names of all. A volume's node affinity is also translated: its
zone key becomes the driver's topology key, without a zone the zone label is added; beta region keys become current.

Source: k8s.io/csi-translation-lib/{translate.go,plugins/*.go} at v0.36.3;
pkg/scheduler/framework/plugins/nodevolumelimits/utils.go, volumebinding/binder.go (isCSIMigrationOnForPlugin) at
v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from podrules.api.model.base import ObjectMeta
from podrules.api.model.selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from podrules.api.model.storage import (
    CSIVolumeSource,
    PersistentVolume,
    PersistentVolumeSpec,
    Volume,
    VolumeNodeAffinity,
)

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
ZONE_DELIMITER: Final = "__"
_UNSPECIFIED: Final = "UNSPECIFIED"


class TranslationError(ValueError):
    """The volume has no valid form for its CSI driver; the message is upstream's."""


class InTreeVolume(NamedTuple):
    """An in-tree plugin and its successor."""

    name: str
    driver: str
    topology_key: str = ""


_PLUGINS: Final[Mapping[str, InTreeVolume]] = {
    "aws_elastic_block_store": InTreeVolume(
        "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"
    ),
    "azure_disk": InTreeVolume("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    "cinder": InTreeVolume(
        "kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"
    ),
    "gce_persistent_disk": InTreeVolume("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"),
    "portworx_volume": InTreeVolume("kubernetes.io/portworx-volume", "pxd.portworx.com"),
}
"""The plugins by field of the source; the scheduler considers their migration as enabled."""

_NOT_SWITCHED_ON: Final = ("azure_file", "vsphere_volume")
NOT_SWITCHED_ON_PROVISIONERS: Final = frozenset({"kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"})
"""Provisioners that could be migrated but are not considered as migrated."""
MIGRATED_PROVISIONERS: Final[Mapping[str, str]] = {plugin.name: plugin.driver for plugin in _PLUGINS.values()}
"""In-tree provisioner to CSI driver."""


def is_inline_migratable(volume: Volume) -> bool:
    """Whether a volume of a pod, without a claim, has a CSI successor (IsInlineMigratable)."""
    return any(getattr(volume, field) is not None for field in (*_PLUGINS, *_NOT_SWITCHED_ON))


def in_tree_plugin(spec: PersistentVolumeSpec | Volume) -> InTreeVolume | None:
    """The plugin of a volume, if the scheduler considers it as migrated."""
    return next((plugin for field, plugin in _PLUGINS.items() if getattr(spec, field) is not None), None)


def csi_source(volume: PersistentVolume | Volume) -> CSIVolumeSource | None:
    """A volume's source for the attach/detach controller: its own, or that of the driver for its in-tree disk."""
    spec = volume.spec if isinstance(volume, PersistentVolume) else volume
    if spec.vsphere_volume is not None:
        return CSIVolumeSource("csi.vsphere.vmware.com", spec.vsphere_volume.volume_path)
    try:
        return translate_inline(volume) if isinstance(volume, Volume) else translate_volume(volume).spec.csi
    except TranslationError:
        return None


def translate_inline(volume: Volume) -> CSIVolumeSource | None:
    """The CSI source of a pod's volume without a claim; None: it is not migrated.

    Raises:
        TranslationError: it has no CSI form.
    """
    plugin = in_tree_plugin(volume)
    if plugin is None:
        return None
    if volume.gce_persistent_disk is not None:
        name = volume.gce_persistent_disk.pd_name
        return CSIVolumeSource(plugin.driver, f"projects/{_UNSPECIFIED}/zones/{_UNSPECIFIED}/disks/{name}")
    return CSIVolumeSource(plugin.driver, _handle(volume))


def translate_volume(volume: PersistentVolume) -> PersistentVolume:
    """The same volume with a CSI source and the driver's topology; unchanged if it is not migrated.

    Raises:
        TranslationError: it has no CSI form.
    """
    spec, plugin = volume.spec, in_tree_plugin(volume.spec)
    if plugin is None:
        return volume
    if spec.gce_persistent_disk is not None:
        handle = _gce_handle(spec.gce_persistent_disk.pd_name, volume.metadata)
    else:
        handle = _handle(spec)
    affinity = _translate_topology(volume, plugin.topology_key) if plugin.topology_key else spec.node_affinity
    cleared = dict.fromkeys(_PLUGINS)
    source = CSIVolumeSource(plugin.driver, handle)
    return replace(volume, spec=replace(spec, **cleared, csi=source, node_affinity=affinity))


def _handle(source: PersistentVolumeSpec | Volume) -> str:
    if source.aws_elastic_block_store is not None:
        # ``aws://<zone>/vol-…``, ``aws:///vol-…`` or the bare id (KubernetesVolumeIDToEBSVolumeID).
        identity = source.aws_elastic_block_store.volume_id
        if not identity.startswith("aws://"):
            return identity
        path = re.split("[?#]", identity.removeprefix("aws://"), maxsplit=1)[0].partition("/")[2].strip("/")
        if not re.fullmatch("vol-[^/]*", path):
            problem = f"Invalid format for AWS volume ({identity})"
            raise TranslationError(f"failed to translate Kubernetes ID to EBS Volume ID {problem}")
        return path
    if source.azure_disk is not None:
        kind = source.azure_disk.kind
        if kind is not None and kind.casefold() != "managed":
            raise TranslationError(f"kind({kind}) is not supported in csi migration")
        return source.azure_disk.disk_uri
    if source.cinder is not None:
        return source.cinder.volume_id
    return source.portworx_volume.volume_id if source.portworx_volume is not None else ""


def _gce_handle(name: str, metadata: ObjectMeta) -> str:
    """The handle of a disk: zonal with one zone in the labels, regional with several."""
    label = metadata.labels.get(BETA_ZONE) or metadata.labels.get(ZONE, "")
    zones = label.split(ZONE_DELIMITER)
    if len(zones) > 1:
        return f"projects/{_UNSPECIFIED}/regions/{_gce_region(zones)}/disks/{name}"
    return f"projects/{_UNSPECIFIED}/zones/{zones[0] or _UNSPECIFIED}/disks/{name}"


def _gce_region(zones: Sequence[str]) -> str:
    """``us-central1`` of ``us-central1-a`` and ``us-central1-b`` (gceGetRegionFromZones)."""
    regions: set[str] = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            problem = f"zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            raise TranslationError(f"failed to get region from zones: {problem}")
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        found = " ".join(f"{region}:{{}}" for region in sorted(regions))
        problem = f"multiple or no regions gotten from zones, got: map[{found}]"
        raise TranslationError(f"failed to get region from zones: {problem}")
    return regions.pop()


def _translate_topology(volume: PersistentVolume, topology_key: str) -> VolumeNodeAffinity | None:
    """The node affinity with the driver's keys (translateTopologyFromInTreeToCSI)."""
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    terms = required.node_selector_terms if required is not None else ()
    zone, region = _topology_labels(terms, volume.metadata.labels)
    if _has_values(terms, zone):
        terms = _renamed(terms, zone, topology_key)
    else:
        terms = _with_zones(terms, topology_key, volume.metadata.labels.get(zone, ""))
    if region == BETA_REGION and _has_values(terms, region):
        terms = _renamed(terms, region, REGION)
    if not terms:
        return affinity
    return VolumeNodeAffinity(NodeSelector(terms))


def _topology_labels(terms: Sequence[NodeSelectorTerm], labels: Mapping[str, str]) -> tuple[str, str]:
    """The current or the beta labels for zones and regions, whichever the volume uses (getTopologyLabel)."""
    keys = {expression.key for term in terms for expression in term.match_expressions}
    for present in (keys, labels):
        for pair in ((ZONE, REGION), (BETA_ZONE, BETA_REGION)):
            if pair[0] in present:
                return pair
    return ZONE, REGION


def _has_values(terms: Sequence[NodeSelectorTerm], key: str) -> bool:
    return any(expression.values for term in terms for expression in term.match_expressions if expression.key == key)


def _renamed(terms: Sequence[NodeSelectorTerm], old: str, new: str) -> tuple[NodeSelectorTerm, ...]:
    """Terms with another key (replaceTopology)."""
    return _each_expressions(
        terms,
        lambda expressions: tuple(replace(entry, key=new) if entry.key == old else entry for entry in expressions),
    )


def _with_zones(terms: Sequence[NodeSelectorTerm], key: str, label: str) -> tuple[NodeSelectorTerm, ...]:
    """addTopology: the zones of a label, required by every term."""
    zones = tuple(sorted({zone.strip() for zone in label.split(ZONE_DELIMITER)} - {""}))
    if not zones:
        return tuple(terms)
    added = NodeSelectorRequirement(key, "In", zones)
    return _each_expressions(terms or (NodeSelectorTerm(),), lambda expressions: (*expressions, added))


_Expressions = tuple[NodeSelectorRequirement, ...]


def _each_expressions(
    terms: Sequence[NodeSelectorTerm], change: Callable[[_Expressions], _Expressions]
) -> tuple[NodeSelectorTerm, ...]:
    return tuple(replace(term, match_expressions=change(term.match_expressions)) for term in terms)
