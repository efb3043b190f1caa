"""Where the volumes of a pod can be used, for a pod that fits nowhere.

    bound                a node matches the volume's node affinity, where a CSI driver has taken over in the driver's
                         form, and its labels of zone and region
    waits, provisioned   a node matches allowedTopologies of the StorageClass; without these any node does
    waits, selected      the node that an attempt before has chosen (annotation selected-node)
    waits, not so        the volumes that the claim could be bound to, each by its own node affinity

Volumes that every node can use are left out. Two volumes may have nodes each, and none together.

Source: pkg/scheduler/framework/plugins/volumebinding/binder.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.csi_translation import TranslationError, translate_volume
from podrules.api.model.node import Node
from podrules.api.model.selectors import SelectorError
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.storage import PersistentVolume, PersistentVolumeClaim
from podrules.ending.volumes import volume_backend
from podrules.scheduling.placement.outcome import VolumePlace
from podrules.scheduling.scheduler.cycle import FilterResult
from podrules.scheduling.scheduler.framework.node_table import Nodes
from podrules.scheduling.scheduler.plugins.volume_binding import VolumeBinding
from podrules.scheduling.scheduler.plugins.volume_binding.binder import (
    ANNOTATION_SELECTED_NODE,
    NO_PROVISIONER,
    PodVolumeClaims,
    Problem,
    find_pod_volumes,
    matches_topologies,
)
from podrules.scheduling.scheduler.plugins.volume_binding.matching import (
    affinity_labels,
    matches_node_affinity,
    suitable_volumes,
)
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import (
    STORAGE,
    StorageIndex,
    claim_class,
    storage_index,
)
from podrules.scheduling.scheduler.plugins.volume_zone import VolumeZone, VolumeZoneState, outside

HOSTNAME: Final = "kubernetes.io/hostname"
_TOPOLOGY: Final = "topology.kubernetes.io/"
_SHOWN_NODES: Final = 3
_SHOWN_VOLUMES: Final = 2
_TRIED_VOLUMES: Final = 100

Mask = NDArray[np.bool_]


def volume_places(filtered: FilterResult) -> tuple[VolumePlace, ...]:
    """The volumes of a cycle's pod that only some nodes can use; nothing where VolumeBinding does not ask."""
    context = filtered.context
    state = context.states.get(VolumeBinding.name)
    if not isinstance(state, PodVolumeClaims):
        return ()
    index = storage_index(context)
    verdicts, _ = find_pod_volumes(index, state, context.features)
    bound = [
        (volume_place(index, one.claim, volume), one.problems == Problem.NONE)
        for one in verdicts
        if (volume := index.volumes.get(one.claim.spec.volume_name)) is not None
    ]
    zones = context.states.get(VolumeZone.name)
    for zone in zones.topologies if isinstance(zones, VolumeZoneState) else ():
        for at, (place, nodes) in enumerate(bound):
            if place.volume == zone.volume:
                labels = {zone.key: zone.values, **place.labels}
                bound[at] = replace(place, labels=labels), nodes & ~outside(index.nodes, zone)
    waiting = [found for claim in state.delayed for found in _of_waiting(index, claim)]
    return tuple(
        replace(
            place,
            nodes=tuple(index.nodes.names[row] for row in np.flatnonzero(nodes)[:_SHOWN_NODES].tolist()),
            count=int(nodes.sum()),
            reasons=filtered.reasons(int(np.flatnonzero(nodes)[0])) if nodes.sum() == 1 else (),
            lacking=() if nodes.any() else tuple(islice(_lacking(index.nodes, place), _SHOWN_NODES)),
            apart=next((other.volume for other, its in bound if its.any() and not (its & nodes).any()), ""),
        )
        for place, nodes in (*bound, *waiting)
        if not nodes.all()
    )


def _lacking(nodes: Nodes, place: VolumePlace) -> Iterator[str]:
    """The nodes of a volume's zone, by Kubernetes' own labels, that lack the labels of its driver."""
    for node in nodes if place.labels else ():
        labels = node.metadata.labels
        own = {key: labels.get(key, labels.get(f"{_TOPOLOGY}{key.rpartition('/')[2]}")) for key in place.labels}
        if all(own[key] in values for key, values in place.labels.items()):
            yield node.metadata.name


def volume_place(index: StorageIndex, claim: PersistentVolumeClaim, volume: PersistentVolume) -> VolumePlace:
    """A volume that a claim has or may have, without the nodes."""
    labels, rows = affinity_labels(volume), index.nodes.rows
    # The writer of a node's name in place of its label means that node.
    nodes = [index.nodes[rows[one]].metadata for one in labels.get(HOSTNAME, ()) if one in rows]
    named = [node for node in nodes if node.labels.get(HOSTNAME) != node.name]
    return VolumePlace(
        claim=claim.metadata.name,
        volume=volume.metadata.name,
        size=str(volume.spec.capacity.get(STORAGE, "")),
        phase=volume.status.phase,
        kind=volume_backend(volume),
        labels=labels,
        hostnames={node.name: node.labels.get(HOSTNAME, "") for node in named[:_SHOWN_NODES]},
    )


def claimed_place(claim: PersistentVolumeClaim, volume: PersistentVolume, nodes: Sequence[Node]) -> VolumePlace:
    """The volume of a bound claim, with the nodes that its node affinity matches, as it is or in its CSI form."""
    index = StorageIndex(Nodes(nodes), ClusterSnapshot())
    place, matched = volume_place(index, claim, volume), matches_node_affinity(index.nodes, volume)
    with suppress(TranslationError):
        matched |= matches_node_affinity(index.nodes, translate_volume(volume))
    found = [index.nodes.names[row] for row in np.flatnonzero(matched).tolist()]
    lacking = () if found else tuple(islice(_lacking(index.nodes, place), _SHOWN_NODES))
    return replace(place, nodes=tuple(found[:_SHOWN_NODES]), count=len(found), lacking=lacking)


def _of_waiting(index: StorageIndex, claim: PersistentVolumeClaim) -> Iterator[tuple[VolumePlace, Mask]]:
    found = index.classes[claim_class(claim)]
    try:
        free = list(islice(suitable_volumes(index, claim), _TRIED_VOLUMES))
    except SelectorError:
        return  # The cycle's error says why.
    if found.provisioner in {"", NO_PROVISIONER}:
        offered = [(volume_place(index, claim, volume), matches_node_affinity(index.nodes, volume)) for volume in free]
        usable = [(place, nodes) for place, nodes in offered if nodes.any()]
        yield from (usable or offered)[:_SHOWN_VOLUMES]
    if free or found.provisioner in {"", NO_PROVISIONER}:
        return
    selected = claim.metadata.annotations.get(ANNOTATION_SELECTED_NODE, "")
    terms = [term.match_label_expressions for term in found.allowed_topologies]
    place = VolumePlace(
        claim=claim.metadata.name,
        volume="",
        size=str(claim.spec.resources.requests.get(STORAGE, "")),
        phase=claim.status.phase,
        kind=found.provisioner,
        labels={entry.key: entry.values for entry in terms[0]} if len(terms) == 1 else {},
    )
    if selected in index.nodes.rows:
        named = np.array([name == selected for name in index.nodes.names], np.bool_)
        yield replace(place, labels={ANNOTATION_SELECTED_NODE: (selected,)}), named
        return
    yield place, matches_topologies(index.nodes, found.allowed_topologies)
