"""The pods on nodes in columns; a column is updated when pods come or go.

Data derived from pods refers to rows, not nodes, so it stays valid while the nodes' labels and room change. A column
that can compute its next state (`CarriedColumn`) follows each change of pods; others are computed again. Columns are
updated when they are requested, so changes cost nothing for unused columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol, cast, overload, runtime_checkable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.columns import ResultCache, T, frozen
from podrules.scheduling.scheduler.framework.pod_list import PodList

Rows = NDArray[np.int32]


class BoundPodsChange(Struct, frozen=True):
    """Pods that came, or pods that went."""

    sign: Literal[1, -1]
    """1: they came, and stand at the end; -1: they went."""
    pods: tuple[Pod, ...]
    rows: Rows
    """The row of each."""
    places: NDArray[np.int64]
    """Where each stands: of those that came afterwards, of those that went before."""

    def then(self, later: BoundPodsChange) -> BoundPodsChange:
        """Two comings as one."""
        return BoundPodsChange(
            1, self.pods + later.pods, np.append(self.rows, later.rows), np.append(self.places, later.places)
        )


@runtime_checkable
class CarriedColumn(Protocol):
    """A column that can compute its next state."""

    def after(self, change: BoundPodsChange) -> CarriedColumn:
        """The new column, equal to one that is computed again; this one does not change."""
        ...


class _Kept(Struct):
    """A column, and the changes that it has yet to follow."""

    value: Any
    carried: bool
    changes: tuple[BoundPodsChange, ...] = ()

    @classmethod
    def of(cls, value: Any) -> _Kept:
        return cls(value, isinstance(value, CarriedColumn))

    def after(self, change: BoundPodsChange) -> _Kept | None:
        """None: it has to be computed again."""
        if not self.carried:
            return None
        earlier = self.changes
        if earlier and earlier[-1].sign == change.sign == 1:
            return _Kept(self.value, self.carried, (*earlier[:-1], earlier[-1].then(change)))
        return _Kept(self.value, self.carried, (*earlier, change))

    def current(self) -> Any:
        for change in self.changes:
            self.value = self.value.after(change)
        self.changes = ()
        return self.value


class BoundPods(Sequence[Pod]):
    """Pods in the order given, each with the row of its node."""

    def __init__(self, pods: Iterable[Pod], rows: Rows, node_count: int) -> None:
        """Take the pods.

        Args:
            pods: In order.
            rows: The row of each.
            node_count: How many rows there are.
        """
        self._list = pods if isinstance(pods, PodList) else PodList(pods)
        self.rows = frozen(rows)
        self.node_count = node_count
        self._made = ResultCache()

    def __len__(self) -> int:
        return len(self._list)

    def __iter__(self) -> Iterator[Pod]:
        return iter(self._list)

    @overload
    def __getitem__(self, place: int) -> Pod: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Pod]: ...
    def __getitem__(self, place: int | slice) -> Pod | Sequence[Pod]:
        return self._list[place]

    def on(self, row: int) -> tuple[Pod, ...]:
        """The pods of one node, in the order given."""
        return tuple(self[place] for place in np.flatnonzero(self.rows == row).tolist())

    def derived(self, build: Callable[[BoundPods], T]) -> T:
        """What a function makes of these pods, made once; see `columns` for what a function may be."""
        return cast("T", self._made.of(build, lambda: _Kept.of(build(self))).current())

    def only(self, holds: Callable[[Pod], bool]) -> BoundPods:
        """The pods that satisfy a condition; the same object, and its derived data, when only other pods change."""
        return self.derived(_Only(holds)).pods

    def adding(self, pods: Sequence[Pod], rows: Sequence[int]) -> BoundPods:
        """With more pods at the end."""
        if not pods:
            return self
        places = np.arange(len(self), len(self) + len(pods))
        change = BoundPodsChange(1, tuple(pods), np.array(rows, np.int32), places)
        return self._after(self._list.adding(pods), np.append(self.rows, change.rows), change)

    def removing(self, uids: frozenset[str]) -> BoundPods:
        """Without the pods that have these uids."""
        places = self._list.places(uids)
        if not len(places):
            return self
        gone = tuple(self[place] for place in places.tolist())
        change = BoundPodsChange(-1, gone, self.rows[places], places)
        return self._after(self._list.removing(places), np.delete(self.rows, places), change)

    def _after(self, pods: PodList, rows: Rows, change: BoundPodsChange) -> BoundPods:
        changed = BoundPods(pods, rows, self.node_count)
        changed._made = self._made.following(lambda kept: kept.after(change))
        return changed


class _Subset(Struct, frozen=True):
    holds: Callable[[Pod], bool]
    pods: BoundPods

    def after(self, change: BoundPodsChange) -> _Subset:
        places = [place for place, pod in enumerate(change.pods) if self.holds(pod)]
        pods = [change.pods[place] for place in places]
        if change.sign < 0:
            # All pods with these uids went.
            changed = self.pods.removing(frozenset(pod.metadata.uid for pod in pods))
        else:
            changed = self.pods.adding(pods, change.rows[places].tolist())
        return _Subset(self.holds, changed)


class _Only(Struct, frozen=True):
    holds: Callable[[Pod], bool]

    def __call__(self, pods: BoundPods) -> _Subset:
        places = [place for place, pod in enumerate(pods) if self.holds(pod)]
        found = (pods[place] for place in places)
        return _Subset(self.holds, BoundPods(found, pods.rows[places], pods.node_count))
