"""The nodes and the pods on them, in columns: a plugin judges all nodes at once.

    table.nodes.derived(build)           what a function makes of the nodes: labels, taints, room
    table.pods.derived(build)            of the pods and their rows: what is in use
    table.nodes.derived_with(snapshot, build)  of the nodes and a snapshot's other objects
    table.derived_with(snapshot, build)        of all of these

A table never changes; `with_pods`, `without_pods` and `with_nodes` make others, which share all unchanged parts. So a
function only gets the part from which its result is derived: it cannot read parts that would not be checked again.

The table caches what a function makes of a part, next to that part. A function that is a key stands at module level;
one with parameters is a frozen Struct with ``__call__``. The least recently used results are dropped when there are too
many: each pod has its own selectors and tolerations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Final, Literal, Protocol, Self, TypeVar, cast, overload, runtime_checkable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot

T = TypeVar("T")
A = TypeVar("A", bound=np.generic)

_MOST: Final = 256
"""Columns of 5,000 nodes take 40 kB each."""


class ResultCache:
    """Results by what made them."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}

    def of(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result under a key, made now if it has not been."""
        found: T = self._found.pop(key) if key in self._found else make()
        self._found[key] = found
        if len(self._found) > _MOST:
            del self._found[next(iter(self._found))]
        return found

    def following(self, follow: Callable[[Any], Any]) -> ResultCache:
        """Each result as the function returns it, without those for which it returns None."""
        made = ResultCache()
        made._found = {key: new for key, found in self._found.items() if (new := follow(found)) is not None}
        return made


class Columns:
    """A value with what is made of it alone, and of it and a snapshot."""

    def __init__(self) -> None:
        self._made = ResultCache()
        self._snapshot: ClusterSnapshot | None = None
        self._with_snapshot = ResultCache()

    def derived(self, build: Callable[[Self], T]) -> T:
        """What a function makes of this, made once."""
        return self._made.of(build, lambda: build(self))

    def derived_with(self, snapshot: ClusterSnapshot, build: Callable[[Self, ClusterSnapshot], T]) -> T:
        """What a function makes of this and of a snapshot's other objects, made once for the snapshot last asked of."""
        if self._snapshot is not snapshot:
            self._snapshot, self._with_snapshot = snapshot, ResultCache()
        return self._with_snapshot.of(build, lambda: build(self, snapshot))


def frozen(column: NDArray[A]) -> NDArray[A]:
    """The same array, read-only, because many callers share it."""
    column.flags.writeable = False
    return column


ABSENT: Final = -1
"""The code of a node that lacks the label."""


class LabelColumn(Struct, frozen=True):
    """One label of all nodes."""

    codes: NDArray[np.int32]
    """For each node the index of its value in ``values``, or `ABSENT`."""
    values: tuple[str, ...]
    """Distinct values, in the order in which nodes first have them."""


class Nodes(Columns, Sequence[Node]):
    """Nodes, each with a row. What is derived from them holds whatever pods they run."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        super().__init__()
        self._nodes = tuple(nodes)
        self.names = tuple(node.metadata.name for node in self._nodes)
        self.rows: Mapping[str, int] = {name: row for row, name in enumerate(self.names)}
        """Name to row."""
        self._labels: dict[str, LabelColumn] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes)

    @overload
    def __getitem__(self, row: int) -> Node: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Node]: ...
    def __getitem__(self, row: int | slice) -> Node | Sequence[Node]:
        return self._nodes[row]

    def label(self, key: str) -> LabelColumn:
        """A label's column."""
        if key not in self._labels:
            codes = np.full(len(self), ABSENT, np.int32)
            values: dict[str, int] = {}
            for row, node in enumerate(self._nodes):
                value = node.metadata.labels.get(key)
                if value is not None:
                    codes[row] = values.setdefault(value, len(values))
            self._labels[key] = LabelColumn(frozen(codes), tuple(values))
        return self._labels[key]

    def sums_by_value(self, key: str, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each value of a label, the sum over the nodes that have it; sums stay far below 2**53."""
        column = self.label(key)
        # Codes begin at -1, `ABSENT`; its sum is left out.
        return np.bincount(column.codes + 1, numbers, len(column.values) + 1)[1:].astype(np.int64)

    def replacing(self, changed: Mapping[str, Node]) -> Nodes:
        """The same rows, with some nodes replaced by others of the same name.

        Raises:
            KeyError: no node has the name, or the new node has another name.
        """
        nodes = list(self._nodes)
        for name, node in changed.items():
            if node.metadata.name != name:
                raise KeyError(node.metadata.name)
            nodes[self.rows[name]] = node
        return Nodes(nodes)


# Long lists of pods that differ in a few pods: the common part is stored once.
#
# A list is a base that it shares with others, the places of the base that it keeps, and a short tail of its own. A tail
# that has grown long becomes a new base together with what was kept.

_LONGEST_TAIL: Final = 1024

Places = NDArray[np.int64]


class _Base:
    def __init__(self, pods: tuple[Pod, ...]) -> None:
        self.pods = pods

    @cached_property
    def places(self) -> Mapping[str, Sequence[int]]:
        """By uid."""
        found: dict[str, list[int]] = {}
        for place, pod in enumerate(self.pods):
            found.setdefault(pod.metadata.uid, []).append(place)
        return found


class PodList(Sequence[Pod]):
    """Pods in order; never changes."""

    def __init__(self, pods: Iterable[Pod]) -> None:
        self._base = _Base(tuple(pods))
        self._kept: Places | None = None
        """Places in the base, rising; None: all."""
        self._tail: tuple[Pod, ...] = ()

    def __len__(self) -> int:
        return self._in_base + len(self._tail)

    def __iter__(self) -> Iterator[Pod]:
        pods = self._base.pods
        kept = pods if self._kept is None else map(pods.__getitem__, self._kept.tolist())
        return chain(kept, self._tail)

    @overload
    def __getitem__(self, place: int) -> Pod: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Pod]: ...
    def __getitem__(self, place: int | slice) -> Pod | Sequence[Pod]:
        if isinstance(place, slice):
            return tuple(self)[place]
        place = range(len(self))[place]
        if place >= self._in_base:
            return self._tail[place - self._in_base]
        return self._base.pods[place if self._kept is None else self._kept[place]]

    def places(self, uids: frozenset[str]) -> Places:
        """Where pods with these uids stand, in order."""
        known = self._base.places
        found = np.array([place for uid in uids for place in known.get(uid, ())], np.int64)
        if self._kept is not None:
            at = np.searchsorted(self._kept, found)
            found = at[(at < self._in_base) & (np.append(self._kept, -1)[at] == found)]
        tail = [self._in_base + place for place, pod in enumerate(self._tail) if pod.metadata.uid in uids]
        return np.sort(np.append(found, np.array(tail, np.int64)))

    def adding(self, pods: Sequence[Pod]) -> PodList:
        """The same list with more at its end."""
        tail = (*self._tail, *pods)
        if len(tail) > _LONGEST_TAIL:
            return PodList(chain(self, pods))
        return self._with(self._kept, tail)

    def removing(self, places: Places) -> PodList:
        """The same list without the pods at some places."""
        kept = np.arange(self._in_base) if self._kept is None else self._kept
        gone = frozenset((places - self._in_base).tolist())
        tail = tuple(pod for place, pod in enumerate(self._tail) if place not in gone)
        return self._with(np.delete(kept, places[places < self._in_base]), tail)

    @property
    def _in_base(self) -> int:
        return len(self._base.pods) if self._kept is None else len(self._kept)

    def _with(self, kept: Places | None, tail: tuple[Pod, ...]) -> PodList:
        found = PodList.__new__(PodList)
        found._base, found._kept, found._tail = self._base, kept, tail  # noqa: SLF001 - its own
        return found


# The pods on nodes in columns; a column is updated when pods come or go.
#
# Data derived from pods refers to rows, not nodes, so it stays valid while the nodes' labels and room change. A column
# that can compute its next state (`CarriedColumn`) follows each change of pods; others are computed again. Columns are
# updated when they are requested, so changes cost nothing for unused columns.

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
        """Take the pods in order, the row of each, and how many rows there are."""
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
        """What a function makes of these pods, made once; see the module for what a function may be."""
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


class NodeTable(Columns):
    """Nodes with their pods. Pods on nodes that are not in the table are left out, as upstream's snapshot does."""

    nodes: Nodes
    pods: BoundPods
    """Bound pods that have not finished, in the order given."""

    def __init__(self, nodes: Iterable[Node], pods: Iterable[Pod]) -> None:
        """Index the nodes; assign each bound pod to its node."""
        super().__init__()
        self.nodes = Nodes(nodes)
        known = self.nodes.rows
        placed = [pod for pod in pods if pod.spec.node_name in known]
        rows = np.fromiter((known[pod.spec.node_name] for pod in placed), np.int32, len(placed))
        self.pods = BoundPods(placed, rows, len(self.nodes))

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return self.nodes.names

    @property
    def index(self) -> Mapping[str, int]:
        """Name of a node to its row."""
        return self.nodes.rows

    @property
    def pod_rows(self) -> NDArray[np.int32]:
        """For each of ``pods`` the row of its node."""
        return self.pods.rows

    def label(self, key: str) -> LabelColumn:
        """A label of the nodes."""
        return self.nodes.label(key)

    def with_pods(self, pods: Iterable[tuple[Pod, str]]) -> NodeTable:
        """The same nodes with more pods, each with the name of its node."""
        more = [(pod, name) for pod, name in pods if name in self.index]
        bound = [replace(pod, spec=replace(pod.spec, node_name=name)) for pod, name in more]
        return self._changed(self.nodes, self.pods.adding(bound, [self.index[name] for _, name in more]))

    def without_pods(self, uids: frozenset[str]) -> NodeTable:
        """The same nodes without some pods, by uid."""
        return self._changed(self.nodes, self.pods.removing(uids))

    def with_nodes(self, changed: Mapping[str, Node]) -> NodeTable:
        """The same pods, with some nodes, by name, replaced.

        Raises:
            KeyError: no node has the name, or the new node has another name.
        """
        return self._changed(self.nodes.replacing(changed), self.pods)

    def _changed(self, nodes: Nodes, pods: BoundPods) -> NodeTable:
        table = NodeTable.__new__(NodeTable)
        Columns.__init__(table)
        table.nodes, table.pods = nodes, pods
        return table
