"""LicensedNodes: a pod runs only where a licence is free; a plugin made up for tests, as one module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.model.node import Node
from podrules.scheduling.scheduler.framework.answers import CandidateChange, ChangeKind, Code, Fact
from podrules.scheduling.scheduler.framework.interface import AppliedChange, CycleContext, S, Verdicts
from podrules.scheduling.scheduler.framework.node_table import Nodes

LABEL = "example.com/licences"


class NoLicence(Fact, frozen=True):
    """The number of licences of the node."""

    licences: int


class LicensedNodes:
    """Filters by a label of nodes, and prefers nodes with many licences."""

    name = "LicensedNodes"
    fact_types = (NoLicence,)

    def filter(self, context: CycleContext, state: Any) -> Verdicts:
        """Unschedulable without a licence."""
        del state
        codes = np.where(_licences(context.table.nodes) > 0, Code.SUCCESS, Code.UNSCHEDULABLE).astype(np.int8)
        return Verdicts(codes, lambda _: ("node(s) had no licence",))

    def facts(self, context: CycleContext, state: Any, row: int) -> Iterator[Fact]:
        """The licences of the node."""
        del state
        yield NoLicence(int(_licences(context.table.nodes)[row]))

    def changes(self, situation: S, context: CycleContext, state: Any, row: int) -> Iterator[AppliedChange[S]]:
        """Buy a licence."""
        del context, state
        name = situation.table.names[row]
        change = CandidateChange(ChangeKind.LABEL_NODE, node=name, value=f"{LABEL}=1")
        yield AppliedChange(change, situation.with_node(name, _licensed))

    def score(self, context: CycleContext, state: Any, feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        """10 for each licence."""
        del state
        return 10 * _licences(context.table.nodes)[feasible]


def _licences(nodes: Nodes) -> NDArray[np.int64]:
    return np.array([int(node.metadata.labels.get(LABEL, "0")) for node in nodes], np.int64)


def _licensed(node: Node) -> Node:
    return replace(node, metadata=replace(node.metadata, labels={**node.metadata.labels, LABEL: "1"}))
