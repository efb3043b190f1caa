"""Whether a node suits a pod's claims: bound ones by their volumes, the others by what can be bound or provisioned.

    bound        the volume exists, and its node affinity matches (on nodes that a CSI driver has taken over from an
                 in-tree plugin: the driver's form of it)
    not bound    with annotation volume.kubernetes.io/selected-node: on that node alone, and provisioned there;
                 else a volume that exists (`matching`), else provisioned: the class has a provisioner, and
                 allowedTopologies matches, and a driver that tracks capacity has enough of it

Source: pkg/scheduler/framework/plugins/volumebinding/binder.go at v1.36.3;
pkg/apis/core/v1/helper/helpers.go (MatchTopologySelectorTerms) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.csi_translation import TranslationError, in_tree_plugin, translate_volume
from podrules.api.features import Features
from podrules.api.model.selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, SelectorError
from podrules.api.model.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    TopologySelectorTerm,
)
from podrules.scheduling.scheduler.framework.node_table import Nodes
from podrules.scheduling.scheduler.plugins.node_selector import match_node_selector
from podrules.scheduling.scheduler.plugins.volume_binding.matching import (
    NO_VOLUME,
    AttributesClassError,
    find_matching_volumes,
    matches_node_affinity,
)
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import STORAGE, StorageIndex, claim_class

ANNOTATION_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
ANNOTATION_MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"

Mask = NDArray[np.bool_]
Problems = NDArray[np.int8]
"""A `Problem` for each row."""


class Problem(IntEnum):
    """What keeps a claim off a node; also held in arrays, one entry a node."""

    NONE = 0
    NODE_CONFLICT = 1
    """The volume's node affinity."""
    BIND_CONFLICT = 2
    """No volume to bind, and none is provisioned there."""
    NOT_ENOUGH_SPACE = 3
    VOLUME_NOT_FOUND = 4
    ERROR = 5
    """Something cannot be read."""


class PodVolumeClaims(Struct, frozen=True):
    """A pod's claims, in the order of its volumes."""

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[PersistentVolumeClaim, ...]
    """Not bound, and their class waits for the first consumer."""


class ClaimVerdict(NamedTuple):
    """A claim on all nodes."""

    claim: PersistentVolumeClaim
    problems: Problems
    error: str = ""
    """For `Problem.ERROR`."""


def find_pod_volumes(
    index: StorageIndex, claims: PodVolumeClaims, features: Features
) -> tuple[tuple[ClaimVerdict, ...], tuple[ClaimVerdict, ...]]:
    """Bound claims and the others, each in upstream's order (FindPodVolumes)."""
    bound = tuple(_bound_verdict(index, claim) for claim in claims.bound)
    return bound, tuple(_delayed_verdicts(index, claims, features))


def reserved_volumes(
    index: StorageIndex, claims: PodVolumeClaims, row: int, features: Features
) -> tuple[tuple[PersistentVolumeClaim, PersistentVolume | None], ...]:
    """Claims that wait, each with its volume on a node that suits the pod; None: one will be provisioned there.

    Source: the StaticBindings and DynamicProvisions that AssumePodVolumes is given.
    """
    rows = np.zeros(len(index.nodes), np.bool_)
    rows[row] = True
    selected, others = waiting_claims(claims)
    found: list[tuple[PersistentVolumeClaim, PersistentVolume | None]] = [(claim, None) for claim in selected]
    for matched in find_matching_volumes(index, others, rows, features):
        place = int(matched.chosen[row])
        volume = None if place == NO_VOLUME else index.volumes_by_class[matched.storage_class][place]
        found.append((matched.claim, volume))
    return tuple(found)


def _bound_verdict(index: StorageIndex, claim: PersistentVolumeClaim) -> ClaimVerdict:
    """A bound claim (checkBoundClaims)."""
    nodes = index.nodes
    volume = index.volumes.get(claim.spec.volume_name)
    if volume is None:
        return ClaimVerdict(claim, np.full(len(nodes), Problem.VOLUME_NOT_FOUND, np.int8))
    problems = _conflicts(nodes, volume)
    plugin = in_tree_plugin(volume.spec)
    migrated = None if plugin is None else index.derived(_migrated).get(plugin.name)
    if migrated is None:
        return ClaimVerdict(claim, problems)
    try:
        problems[migrated] = _conflicts(nodes, translate_volume(volume))[migrated]
    except TranslationError as error:
        problems[migrated] = Problem.ERROR
        return ClaimVerdict(claim, problems, f"could not translate pv: {error}")
    return ClaimVerdict(claim, problems)


def _conflicts(nodes: Nodes, volume: PersistentVolume) -> Problems:
    matched = matches_node_affinity(nodes, volume)
    return np.where(matched, Problem.NONE, Problem.NODE_CONFLICT).astype(np.int8)


def _migrated(index: StorageIndex) -> Mapping[str, NDArray[np.int32]]:
    """In-tree plugin to the rows that have moved to its CSI driver (isPluginMigratedToCSIOnNode)."""
    found: dict[str, list[int]] = {}
    for row, node in index.csi_nodes.items():
        for plugin in set(node.metadata.annotations.get(ANNOTATION_MIGRATED_PLUGINS, "").split(",")):
            found.setdefault(plugin, []).append(row)
    return {plugin: np.array(rows, np.int32) for plugin, rows in found.items()}


def _delayed_verdicts(index: StorageIndex, claims: PodVolumeClaims, features: Features) -> Iterable[ClaimVerdict]:
    """Claims to be provisioned on a chosen node, then those to be matched, then provisioned where unmatched."""
    selected, others = waiting_claims(claims)
    rows = np.ones(len(index.nodes), np.bool_)
    for claim in selected:
        wanted, name = np.zeros(len(index.nodes), np.bool_), claim.metadata.annotations[ANNOTATION_SELECTED_NODE]
        if name in index.nodes.rows:
            wanted[index.nodes.rows[name]] = True
        yield ClaimVerdict(claim, np.where(wanted, Problem.NONE, Problem.BIND_CONFLICT).astype(np.int8))
        rows &= wanted
    for claim in selected:
        yield ClaimVerdict(claim, provision_problems(index, claim) * rows)
    try:
        matches = find_matching_volumes(index, others, rows, features)
    except (SelectorError, AttributesClassError) as error:
        unread = isinstance(error, SelectorError)
        text = f"error creating internal label selector for claim: {error}" if unread else str(error)
        yield ClaimVerdict(others[0], np.where(rows, Problem.ERROR, Problem.NONE).astype(np.int8), text)
        return
    for matched in matches:
        unmatched = rows & (matched.chosen == NO_VOLUME)
        if unmatched.any():
            yield ClaimVerdict(matched.claim, provision_problems(index, matched.claim) * unmatched)


def waiting_claims(claims: PodVolumeClaims) -> tuple[list[PersistentVolumeClaim], list[PersistentVolumeClaim]]:
    """Claims that are not bound: those for which a node has been chosen, and the others."""
    selected = [claim for claim in claims.delayed if ANNOTATION_SELECTED_NODE in claim.metadata.annotations]
    return selected, [claim for claim in claims.delayed if ANNOTATION_SELECTED_NODE not in claim.metadata.annotations]


def provision_problems(index: StorageIndex, claim: PersistentVolumeClaim) -> Problems:
    """What keeps a claim from being provisioned on each node (checkVolumeProvisions)."""
    problems = np.full(len(index.nodes), Problem.BIND_CONFLICT, np.int8)
    found = index.classes.get(claim_class(claim))
    if found is None or found.provisioner in {"", NO_PROVISIONER}:
        return problems
    allowed = matches_topologies(index.nodes, found.allowed_topologies)
    reported = reported_capacity(index, claim)
    enough = allowed if reported is None else reported.enough
    problems[allowed] = np.where(enough, Problem.NONE, Problem.NOT_ENOUGH_SPACE)[allowed]
    return problems


def matches_topologies(nodes: Nodes, topologies: Sequence[TopologySelectorTerm]) -> Mask:
    """MatchTopologySelectorTerms: one of the terms, all of its labels; without terms every node."""
    if not topologies:
        return np.ones(len(nodes), np.bool_)
    terms = (
        NodeSelectorTerm(
            tuple(NodeSelectorRequirement(entry.key, "In", entry.values) for entry in term.match_label_expressions)
        )
        for term in topologies
    )
    return match_node_selector(nodes, NodeSelector(tuple(terms)))


class ReportedCapacity(NamedTuple):
    """What a claim's driver reports for each node."""

    amounts: NDArray[np.int64]
    """Bytes where it is enough, else 0. Of several that are enough upstream takes any; here the snapshot's first."""
    enough: Mask


def reported_capacity(index: StorageIndex, claim: PersistentVolumeClaim) -> ReportedCapacity | None:
    """None: not checked, because the claim's driver does not declare that it tracks capacity (hasEnoughCapacity)."""
    found = index.classes.get(claim_class(claim))
    request = claim.spec.resources.requests.get(STORAGE)
    driver = None if found is None else index.drivers.get(found.provisioner)
    if found is None or request is None or driver is None or not driver.spec.storage_capacity:
        return None
    size = len(index.nodes)
    amounts, enough = np.zeros(size, np.int64), np.zeros(size, np.bool_)
    for capacity in index.capacities:
        # The largest volume; without one, what is left.
        limit = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
        topology = capacity.node_topology
        if (
            capacity.storage_class_name != found.metadata.name
            or limit is None
            or limit.value < request.value
            or topology is None
        ):
            continue
        labels = (NodeSelectorRequirement(key, "In", (value,)) for key, value in topology.match_labels.items())
        expressions = (
            NodeSelectorRequirement(entry.key, entry.operator, entry.values) for entry in topology.match_expressions
        )
        # An empty topology is that of all nodes (nodeHasAccess).
        term, new = NodeSelectorTerm((*labels, *expressions)), ~enough
        if term.match_expressions:
            new &= match_node_selector(index.nodes, NodeSelector((term,)))
        amounts[new] = 0 if capacity.capacity is None else capacity.capacity.value
        enough |= new
    return ReportedCapacity(amounts, enough)
