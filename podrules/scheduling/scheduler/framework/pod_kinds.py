"""Groups bound pods by namespace, labels and deletion: a selector judges each group once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Requirement, Selector
from podrules.scheduling.scheduler.framework.node_table import BoundPods, BoundPodsChange, frozen

V = TypeVar("V", str, str | None)

Mask = NDArray[np.bool_]
Codes = NDArray[np.int32]


class PodKind(NamedTuple):
    """The common fields of pods of one kind."""

    namespace: str
    deleted: bool
    """They are being deleted."""
    labels: Mapping[str, str]


class PodKinds:
    """Kinds of pods."""

    def __init__(self, kinds: Sequence[PodKind]) -> None:
        self.kinds = kinds
        self._labels: dict[str, tuple[Sequence[str | None], Codes]] = {}

    def __len__(self) -> int:
        return len(self.kinds)

    @cached_property
    def deleted(self) -> Mask:
        """For each kind whether its pods are being deleted."""
        return np.fromiter((kind.deleted for kind in self.kinds), np.bool_, len(self))

    def in_namespaces(self, holds: Callable[[str], bool]) -> Mask:
        """For each kind whether something holds of its namespace."""
        values, codes = self._namespaces
        return np.fromiter(map(holds, values), np.bool_, len(values))[codes]

    def matching(self, selector: Selector) -> Mask:
        """For each kind whether a selector matches its labels."""
        matched = np.ones(len(self), np.bool_)
        for requirement in selector.requirements:
            matched &= self._satisfying(requirement)
        return matched

    def _satisfying(self, requirement: Requirement) -> Mask:
        key = requirement.key
        if key not in self._labels:
            self._labels[key] = _coded([kind.labels.get(key) for kind in self.kinds])
        values, codes = self._labels[key]
        answers = (requirement.matches({} if value is None else {key: value}) for value in values)
        return np.fromiter(answers, np.bool_, len(values))[codes]

    @cached_property
    def _namespaces(self) -> tuple[Sequence[str], Codes]:
        return _coded([kind.namespace for kind in self.kinds])


class PodSelection(Protocol):
    """Which pods are counted. It is a key: frozen, and equal to others that want the same."""

    def among(self, kinds: PodKinds) -> Mask:
        """For each kind whether its pods are."""
        ...


class CountPods(Struct, frozen=True):
    """Counts the pods of each node that are wanted: ``table.pods.derived(CountPods(wanted)).counts``."""

    wanted: PodSelection

    def __call__(self, pods: BoundPods) -> _PodCounts:
        """Judge each kind, then count."""
        column = pods.derived(_kinds_of)
        rows = pods.rows[self.wanted.among(column.kinds)[column.codes]]
        return _PodCounts(self.wanted, frozen(np.bincount(rows, minlength=pods.node_count).astype(np.int64)))


class _PodCounts(Struct, frozen=True):
    wanted: PodSelection
    counts: NDArray[np.int64]
    """For each row."""

    def after(self, change: BoundPodsChange) -> _PodCounts:
        wanted = self.wanted.among(PodKinds([_kind(pod) for pod in change.pods]))
        if not wanted.any():
            return self
        counts = self.counts.copy()
        np.add.at(counts, change.rows[wanted], change.sign)
        return _PodCounts(self.wanted, frozen(counts))


class _KindColumn(Struct, frozen=True):
    known: Mapping[tuple[object, ...], int]
    kinds: PodKinds
    codes: Codes
    """For each pod its kind."""

    def after(self, change: BoundPodsChange) -> _KindColumn:
        if change.sign < 0:
            return _KindColumn(self.known, self.kinds, np.delete(self.codes, change.places))
        return _numbered(change.pods, self)


def _kinds_of(pods: BoundPods) -> _KindColumn:
    return _numbered(pods, _KindColumn({}, PodKinds(()), np.zeros(0, np.int32)))


def _numbered(pods: Iterable[Pod], earlier: _KindColumn) -> _KindColumn:
    """The column with more pods at the end; kinds keep their numbers."""
    known, more = dict(earlier.known), list[PodKind]()
    codes: list[int] = []
    for pod in pods:
        metadata = pod.metadata
        key = (metadata.namespace, metadata.deletion_timestamp is None, *metadata.labels.items())
        code = known.setdefault(key, len(known))
        codes.append(code)
        if code == len(earlier.kinds) + len(more):
            more.append(_kind(pod))
    kinds = PodKinds((*earlier.kinds.kinds, *more)) if more else earlier.kinds
    return _KindColumn(known, kinds, np.append(earlier.codes, np.array(codes, np.int32)))


def _kind(pod: Pod) -> PodKind:
    metadata = pod.metadata
    return PodKind(metadata.namespace, metadata.deletion_timestamp is not None, metadata.labels)


def _coded(entries: Sequence[V]) -> tuple[Sequence[V], Codes]:
    """Distinct values, and for each entry the index of its own."""
    values: dict[V, int] = {}
    codes = [values.setdefault(entry, len(values)) for entry in entries]
    return tuple(values), np.array(codes, np.int32)
