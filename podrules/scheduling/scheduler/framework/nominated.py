"""Pods that preemption nominated to a node and that no node has yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.interface import CycleContext
from podrules.scheduling.scheduler.framework.nodes import Nodes


def nominated_rows(context: CycleContext) -> Mapping[int, Sequence[Pod]]:
    """Rows with pods that were nominated to them and that this pod must yield to."""
    own = context.pod
    by_row: dict[int, list[Pod]] = {}
    for row, pod in context.table.nodes.derived_with(context.snapshot, _nominated):
        if pod.metadata.uid != own.metadata.uid and (pod.spec.priority or 0) >= (own.spec.priority or 0):
            by_row.setdefault(row, []).append(pod)
    return by_row


def _nominated(nodes: Nodes, snapshot: ClusterSnapshot) -> Sequence[tuple[int, Pod]]:
    """All pods that wait for a node and are nominated to one, with its row."""
    waiting = (pod for pod in snapshot.pods if not pod.spec.node_name)
    named = ((nodes.rows.get(pod.status.nominated_node_name), pod) for pod in waiting)
    return [(row, pod) for row, pod in named if row is not None]
