"""The nodes in columns: one array entry a node, in the order of the snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, overload

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.model.node import Node
from podrules.scheduling.scheduler.framework.columns import Columns, frozen

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
