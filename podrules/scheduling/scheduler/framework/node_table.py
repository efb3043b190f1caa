"""The nodes and the pods on them, in columns: a plugin judges all nodes at once.

    table.nodes.derived(build)           what a function makes of the nodes: labels, taints, room
    table.pods.derived(build)            of the pods and their rows: what is in use
    table.nodes.derived_with(snapshot, build)  of the nodes and a snapshot's other objects
    table.derived_with(snapshot, build)        of all of these

A table never changes; `with_pods`, `without_pods` and `with_nodes` make others, which share all unchanged parts. So a
function only gets the part from which its result is derived: it cannot read parts that would not be checked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.bound_pods import BoundPods
from podrules.scheduling.scheduler.framework.columns import Columns
from podrules.scheduling.scheduler.framework.nodes import LabelColumn, Nodes


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
