"""VolumeZone: bound volumes with zone or region labels go with nodes of that zone or region.

    volume label   topology.kubernetes.io/{zone,region} or the beta ones, with several values as ``a__b``; a list with
                   an empty part is passed over
    node           has that label, or for a beta label today's, with one of the values; nodes without any zone or region
                   label take every volume
    otherwise      node(s) had no available volume zone (UnschedulableAndUnresolvable)

PreFilter rejects pods with a missing claim, class or volume, and unbound claims that do not wait for a first
consumer; it skips Filter when no volume has such a label. Claims of ephemeral volumes are not examined.

Source: pkg/scheduler/framework/plugins/volumezone/volume_zone.go at v1.36.3; k8s.io/cloud-provider/volume/helpers
(LabelZonesToSet) at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.csi_translation import BETA_REGION, BETA_ZONE, REGION, ZONE, ZONE_DELIMITER
from podrules.api.model.base import Model
from podrules.api.model.storage import PersistentVolume
from podrules.scheduling.scheduler.framework.answers import SKIP, Code, Fact, Status
from podrules.scheduling.scheduler.framework.interface import CycleContext, PreFilterResult, Verdicts, WithoutState
from podrules.scheduling.scheduler.framework.node_table import ABSENT, Nodes
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import (
    WAIT_FOR_FIRST_CONSUMER,
    ClaimMismatch,
    StorageIndex,
    claim_class,
    not_found,
    storage_index,
)

REASON_CONFLICT: Final = "node(s) had no available volume zone"

_TOPOLOGY_LABELS: Final = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_TODAYS: Final = {BETA_ZONE: ZONE, BETA_REGION: REGION}


class VolumeTopology(Model, frozen=True):
    """A label of a volume."""

    volume: str
    key: str
    values: tuple[str, ...]


class VolumeZoneState(Struct, frozen=True):
    """What PreFilter found."""

    topologies: tuple[VolumeTopology, ...]


class VolumeZone:
    """The plugin."""

    name = "VolumeZone"
    fact_types = (ClaimMismatch,)
    without_pre_filter = WithoutState.COMPUTED

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        """Read the labels of the pod's bound volumes."""
        index = storage_index(context)
        topologies: list[VolumeTopology] = []
        for mounted in context.pod.spec.volumes:
            if mounted.persistent_volume_claim is None:
                continue
            name = mounted.persistent_volume_claim.claim_name
            volume = _bound_volume(index, context.pod.metadata.namespace, name)
            if isinstance(volume, str):
                return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (volume,)))
            if volume is None:
                continue
            for key in _TOPOLOGY_LABELS:
                # A zone or region label (getPVTopologies).
                values = [value.strip() for value in volume.metadata.labels.get(key, "").split(ZONE_DELIMITER)]
                if all(values):
                    topologies.append(VolumeTopology(volume.metadata.name, key, tuple(dict.fromkeys(values))))
        return PreFilterResult(state=VolumeZoneState(tuple(topologies))) if topologies else PreFilterResult(SKIP)

    def filter(self, context: CycleContext, state: VolumeZoneState) -> Verdicts:
        """Judge every node."""
        table = context.table
        rejected = np.zeros(len(table), np.bool_)
        for topology in state.topologies:
            rejected |= outside(table.nodes, topology)
        codes = np.where(rejected, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.SUCCESS).astype(np.int8)
        return Verdicts(codes, lambda _: (REASON_CONFLICT,))

    def explain(self, context: CycleContext, state: VolumeZoneState, row: int) -> tuple[VolumeTopology, ...]:
        """The labels of volumes that a node does not match."""
        return tuple(topology for topology in state.topologies if not _matches(context.table.nodes, topology)[row])

    def facts(self, context: CycleContext, state: VolumeZoneState, row: int) -> Iterator[Fact]:
        """The labels of the volume that the node does not have."""
        for entry in self.explain(context, state, row):
            yield ClaimMismatch("", entry.volume, "", {entry.key: entry.values}, "")


def outside(nodes: Nodes, topology: VolumeTopology) -> NDArray[np.bool_]:
    """For each node whether it has a zone or region, and not that of the volume."""
    found: NDArray[np.bool_] = ~_matches(nodes, topology) & nodes.derived(_has_topology)
    return found


def _bound_volume(index: StorageIndex, namespace: str, name: str) -> PersistentVolume | str | None:
    """A claim's volume; None for one that waits for its first consumer; or why the pod cannot be placed at all."""
    if not name:
        return "PersistentVolumeClaim had no name"
    claim = index.claims.get((namespace, name))
    if claim is None:
        return not_found("persistentvolumeclaim", name)
    if claim.spec.volume_name:
        return index.volumes.get(claim.spec.volume_name) or not_found("persistentvolume", claim.spec.volume_name)
    class_name = claim_class(claim)
    if not class_name:
        return "PersistentVolumeClaim had no pv name and storageClass name"
    found = index.classes.get(class_name)
    if found is None:
        return not_found("storageclass.storage.k8s.io", class_name)
    if found.volume_binding_mode is None:
        return f'VolumeBindingMode not set for StorageClass "{class_name}"'
    return None if found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER else "PersistentVolume had no name"


def _matches(nodes: Nodes, topology: VolumeTopology) -> NDArray[np.bool_]:
    """For each node whether it has one of the values, under the label itself or else today's."""
    matched = _has_value(nodes, topology.key, topology.values)
    todays = _TODAYS.get(topology.key)
    if todays is not None:
        absent = nodes.label(topology.key).codes == ABSENT
        matched |= absent & _has_value(nodes, todays, topology.values)
    return matched


def _has_value(nodes: Nodes, key: str, values: tuple[str, ...]) -> NDArray[np.bool_]:
    column = nodes.label(key)
    return np.array([*(value in values for value in column.values), False], np.bool_)[column.codes]


def _has_topology(nodes: Nodes) -> NDArray[np.bool_]:
    """For each node whether it has any of the four labels."""
    found = np.zeros(len(nodes), np.bool_)
    for key in _TOPOLOGY_LABELS:
        found |= nodes.label(key).codes != ABSENT
    return found
