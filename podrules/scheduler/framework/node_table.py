"""The nodes and the pods on them, in columns: one array entry a node, in the order of the snapshot.

A column is computed when it is first asked for and kept with the table: label values as small integers, and whatever
else a plugin derives from nodes and pods alone (`NodeTable.derived`). The table itself never changes; `with_pods` and
`without_pods` make others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.model.node import Node
from podrules.model.pod import Pod

__all__ = ["ABSENT", "LabelColumn", "NodeTable"]

T = TypeVar("T")

ABSENT: Final = -1
"""The code of a node that lacks the label."""


class LabelColumn(Struct, frozen=True):
    """One label of all nodes."""

    codes: NDArray[np.int32]
    """For each node the index of its value in ``values``, or `ABSENT`."""
    values: tuple[str, ...]
    """Distinct values, in the order in which nodes first have them."""


class NodeTable:
    """Nodes with their pods. Pods on nodes that are not in the table are left out, as upstream's snapshot does."""

    def __init__(self, nodes: Iterable[Node], pods: Iterable[Pod]) -> None:
        """Index the nodes; assign each bound pod to its node."""
        self.nodes = tuple(nodes)
        self.names = tuple(node.metadata.name for node in self.nodes)
        self.index: Mapping[str, int] = {name: row for row, name in enumerate(self.names)}
        placed = [(pod, self.index[pod.spec.node_name]) for pod in pods if pod.spec.node_name in self.index]
        self.pods: tuple[Pod, ...] = tuple(pod for pod, _ in placed)
        """Bound pods that have not finished, in the order given."""
        self.pod_rows: NDArray[np.int32] = np.fromiter((row for _, row in placed), np.int32, len(placed))
        """For each of ``pods`` the row of its node."""
        self._labels: dict[str, LabelColumn] = {}
        self._derived: dict[Callable[[NodeTable], Any], Any] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def label(self, key: str) -> LabelColumn:
        """A label's column."""
        if key not in self._labels:
            codes = np.full(len(self), ABSENT, np.int32)
            values: dict[str, int] = {}
            for row, node in enumerate(self.nodes):
                value = node.metadata.labels.get(key)
                if value is not None:
                    codes[row] = values.setdefault(value, len(values))
            self._labels[key] = LabelColumn(codes, tuple(values))
        return self._labels[key]

    def derived(self, build: Callable[[NodeTable], T]) -> T:
        """What a function makes of this table, made once; the function itself, defined at module level, is the key."""
        if build not in self._derived:
            self._derived[build] = build(self)
        found: T = self._derived[build]
        return found

    @cached_property
    def pods_by_row(self) -> Sequence[Sequence[Pod]]:
        """For each node its pods, in the order given."""
        found: list[list[Pod]] = [[] for _ in self.nodes]
        for pod, row in zip(self.pods, self.pod_rows, strict=True):
            found[row].append(pod)
        return found

    def with_pods(self, pods: Iterable[tuple[Pod, str]]) -> NodeTable:
        """The same nodes with more pods, each with the name of its node."""
        more = (replace(pod, spec=replace(pod.spec, node_name=name)) for pod, name in pods)
        return NodeTable(self.nodes, (*self.pods, *more))

    def without_pods(self, uids: frozenset[str]) -> NodeTable:
        """The same nodes without some pods, by uid."""
        return NodeTable(self.nodes, (pod for pod in self.pods if pod.metadata.uid not in uids))
