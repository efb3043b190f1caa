"""Volumes for claims that wait for their first consumer, on all nodes at once.

    a volume that names the claim   is taken if its node affinity matches; on no other node does the claim get another
    otherwise the smallest          that is Available, large enough, of the claim's class, mode, attributes class and
                                    access modes, that its selector matches, with a node affinity that matches the node
    a pod's claims                  smallest request first; what one takes on a node is gone there for the next
    gate VolumeAttributesClass off  a claim that has an attributes class is an error

Among volumes of one size upstream takes any; here the first of the snapshot.

Source: k8s.io/component-helpers/storage/volume/{pv_helpers,helpers}.go (FindMatchingVolume, CheckNodeAffinity) at
v0.36.3; pkg/scheduler/framework/plugins/volumebinding/binder.go (findMatchingVolumes) at v1.36.3.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from podrules.api.features import Features
from podrules.api.model.base import ResourceList
from podrules.api.model.quantity import ZERO, Quantity
from podrules.api.model.selectors import NodeSelector, NodeSelectorTerm, Selector
from podrules.api.model.storage import PersistentVolume, PersistentVolumeClaim
from podrules.scheduling.scheduler.framework.node_table import ABSENT, Nodes
from podrules.scheduling.scheduler.plugins.node_selector import match_node_selector
from podrules.scheduling.scheduler.plugins.requirement import term_problems
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import STORAGE, StorageIndex, claim_class

NO_VOLUME: Final = -1
FILESYSTEM: Final = "Filesystem"

Rows = NDArray[np.int32]
Mask = NDArray[np.bool_]


class AttributesClassError(ValueError):
    """A claim has an attributes class although the gate VolumeAttributesClass is off."""


class ClaimMatches(NamedTuple):
    """What a claim takes on each node."""

    claim: PersistentVolumeClaim
    storage_class: str
    chosen: NDArray[np.int32]
    """For each row the volume's place among those of its class, or `NO_VOLUME`."""


def matches_node_affinity(nodes: Nodes, volume: PersistentVolume) -> Mask:
    """For each node whether its labels match the volume's node affinity (CheckNodeAffinity)."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return np.ones(len(nodes), np.bool_)
    # Valid terms without their fields: a volume's affinity is asked about labels alone, where fields pass.
    terms = tuple(
        NodeSelectorTerm(term.match_expressions)
        for term in affinity.required.node_selector_terms
        if (term.match_expressions or term.match_fields) and not term_problems(term, "")
    )
    if any(not term.match_expressions for term in terms):
        return np.ones(len(nodes), np.bool_)
    return match_node_selector(nodes, NodeSelector(terms))


def affinity_labels(volume: PersistentVolume) -> dict[str, tuple[str, ...]]:
    """The labels and values that a volume's node affinity asks for; empty: it is none, or says it in another form."""
    affinity = volume.spec.node_affinity
    terms = () if affinity is None or affinity.required is None else affinity.required.node_selector_terms
    wanted = terms[0].match_expressions if len(terms) == 1 else ()
    return {one.key: one.values for one in wanted} if all(one.operator == "In" for one in wanted) else {}


def find_matching_volumes(
    index: StorageIndex, claims: Sequence[PersistentVolumeClaim], rows: Mask, features: Features
) -> tuple[ClaimMatches, ...]:
    """For each claim, in the order in which they choose, its volume on each of the rows.

    Raises:
        AttributesClassError: a claim has an attributes class, and the gate is off.
        SelectorError: a claim's selector cannot be read.
    """
    found: list[ClaimMatches] = []
    for claim in sorted(claims, key=lambda claim: _storage(claim.spec.resources.requests)):
        if claim.spec.volume_attributes_class_name and not features.volume_attributes_class:
            where = f"{claim.metadata.namespace}/{claim.metadata.name}"
            raise AttributesClassError(
                f"unsupported volumeAttributesClassName is set on claim {where} "
                "when the feature-gate VolumeAttributesClass is disabled"
            )
        name = claim_class(claim)
        earlier = [matches.chosen for matches in found if matches.storage_class == name]
        choice = _Choice(index.derived(_Supply).of(name), earlier, rows)
        found.append(ClaimMatches(claim, name, choice.choose(claim)))
    return tuple(found)


class _ClassVolumes:
    """The volumes of a class: those that name a claim, and those that are free, the smallest first."""

    def __init__(self, nodes: Nodes, volumes: Sequence[PersistentVolume]) -> None:
        self.nodes = nodes
        self.volumes = volumes
        self.named: dict[tuple[str, str], list[int]] = {}
        free: list[int] = []
        for place, volume in enumerate(volumes):
            reference = volume.spec.claim_ref
            if reference is not None:
                self.named.setdefault((reference.namespace, reference.name), []).append(place)
            elif volume.status.phase == "Available":
                free.append(place)
        self.free = sorted(free, key=lambda place: _storage(volumes[place].spec.capacity))
        self.sizes = [_storage(volumes[place].spec.capacity) for place in self.free]
        self._rows: dict[int, Rows] = {}

    def rows(self, place: int) -> Rows:
        """Rows that match a volume's node affinity: looked up where it is one label's values, as for local volumes."""
        if place in self._rows:
            return self._rows[place]
        affinity = self.volumes[place].spec.node_affinity
        terms = () if affinity is None or affinity.required is None else affinity.required.node_selector_terms
        wanted = terms[0].match_expressions if len(terms) == 1 and not term_problems(terms[0], "") else ()
        if len(wanted) == 1 and wanted[0].operator == "In":
            by_value = self.nodes.derived(_RowsByValue).of(wanted[0].key)
            rows = np.concatenate([by_value.get(value, _NO_ROWS) for value in dict.fromkeys(wanted[0].values)])
        else:
            rows = np.flatnonzero(matches_node_affinity(self.nodes, self.volumes[place])).astype(np.int32)
        self._rows[place] = rows
        return rows


class _Supply:
    """Volumes by class, sorted when they are first asked for."""

    def __init__(self, index: StorageIndex) -> None:
        self._index = index
        self._found: dict[str, _ClassVolumes] = {}

    def of(self, name: str) -> _ClassVolumes:
        """A class's volumes."""
        if name not in self._found:
            self._found[name] = _ClassVolumes(self._index.nodes, self._index.volumes_by_class.get(name, ()))
        return self._found[name]


class _Choice:
    """One claim's choice among the volumes of its class."""

    def __init__(self, supply: _ClassVolumes, earlier: Sequence[NDArray[np.int32]], rows: Mask) -> None:
        self.supply = supply
        self.earlier = earlier
        self.open = rows.copy()
        self.chosen = np.full(len(rows), NO_VOLUME, np.int32)

    def choose(self, claim: PersistentVolumeClaim) -> NDArray[np.int32]:
        """Volumes that name the claim, then the others from the smallest on."""
        supply = self.supply
        everywhere = np.arange(len(self.open), dtype=np.int32)
        for place in _naming(supply, claim):
            self._take([place])
            self.open &= self._taken_earlier(everywhere, np.full(len(everywhere), place, np.int32))
        batch: list[int] = []
        reach = 0
        for place in _free(supply, claim):
            batch.append(place)
            reach += len(supply.rows(place))
            if reach >= _BATCH * len(everywhere):
                self._take(batch)
                batch, reach = [], 0
                if not self.open.any():
                    return self.chosen
        self._take(batch)
        return self.chosen

    def _take(self, places: Sequence[int]) -> None:
        """Give each open row the first of some volumes that can be used there and is not gone yet."""
        if not places:
            return
        found = [self.supply.rows(place) for place in places]
        rows = np.concatenate(found)
        offered = np.repeat(np.array(places, np.int32), [len(entry) for entry in found])
        possible = self.open[rows] & ~self._taken_earlier(rows, offered)
        taking, first = np.unique(rows[possible], return_index=True)
        self.chosen[taking] = offered[possible][first]
        self.open[taking] = False

    def _taken_earlier(self, rows: Rows, places: NDArray[np.int32]) -> Mask:
        taken = np.zeros(len(rows), np.bool_)
        for chosen in self.earlier:
            taken |= chosen[rows] == places
        return taken


def suitable_volumes(index: StorageIndex, claim: PersistentVolumeClaim) -> Iterator[PersistentVolume]:
    """Volumes that a claim could be bound to, whatever the node: those that name it, then free ones by size.

    Raises:
        SelectorError: the claim's selector cannot be read.
    """
    supply = index.derived(_Supply).of(claim_class(claim))
    for place in (*_naming(supply, claim), *_free(supply, claim)):
        yield supply.volumes[place]


def _naming(supply: _ClassVolumes, claim: PersistentVolumeClaim) -> Iterator[int]:
    """Volumes with a claimRef to the claim (IsVolumeBoundToClaim) that the claim can use."""
    for place in supply.named.get(claim.metadata.place, ()):
        volume = supply.volumes[place]
        reference = volume.spec.claim_ref
        named = reference is not None and reference.uid in {"", claim.metadata.uid}
        large_enough = _storage(volume.spec.capacity) >= _storage(claim.spec.resources.requests)
        if named and large_enough and _fits(claim, volume):
            yield place


def _free(supply: _ClassVolumes, claim: PersistentVolumeClaim) -> Iterator[int]:
    """Free volumes that a claim can have on some node."""
    selector = None if claim.spec.selector is None else Selector.from_label_selector(claim.spec.selector)
    modes = set(claim.spec.access_modes)
    for place in supply.free[bisect_left(supply.sizes, _storage(claim.spec.resources.requests)) :]:
        volume = supply.volumes[place]
        if (
            modes.issubset(volume.spec.access_modes)
            and (selector is None or selector.matches(volume.metadata.labels))
            and _fits(claim, volume)
        ):
            yield place


_BATCH: Final = 4
"""Volumes are processed together until they reach this many nodes for each existing node."""


def _fits(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """The requirements on a volume besides its size, whether it names the claim or no claim."""
    wanted, spec = claim.spec, volume.spec
    return (
        volume.metadata.deletion_timestamp is None
        and (wanted.volume_mode or FILESYSTEM) == (spec.volume_mode or FILESYSTEM)
        and (wanted.volume_attributes_class_name or "") == (spec.volume_attributes_class_name or "")
    )


def _storage(amounts: ResourceList) -> Quantity:
    return amounts.get(STORAGE, ZERO)


_NO_ROWS: Final = np.zeros(0, np.int32)


class _RowsByValue:
    """Rows by value of a label: thousands of volumes that are each one node's are asked about at once."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._found: dict[str, Mapping[str, Rows]] = {}

    def of(self, key: str) -> Mapping[str, Rows]:
        """Value to rows."""
        if key not in self._found:
            column = self._nodes.label(key)
            order = np.argsort(column.codes, kind="stable").astype(np.int32)
            order = order[column.codes[order] != ABSENT]
            ends = np.cumsum(np.bincount(column.codes[order], minlength=len(column.values)))
            parts = np.split(order, ends[:-1]) if len(ends) else []
            self._found[key] = dict(zip(column.values, parts, strict=True))
        return self._found[key]
