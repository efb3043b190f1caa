"""NodeUnschedulable: a cordoned node takes only pods that tolerate being there.

    node.spec.unschedulable, and no toleration of the taint node.kubernetes.io/unschedulable:NoSchedule

Source: pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.model.node import Node, Taint
from podrules.pod.tolerations import NO_SCHEDULE, tolerations_tolerate_taint
from podrules.scheduling.scheduler.framework.answers import CandidateChange, ChangeKind, Code
from podrules.scheduling.scheduler.framework.interface import AppliedChange, CycleContext, S, Verdicts, all_fit
from podrules.scheduling.scheduler.framework.nodes import Nodes

ERR_REASON_UNSCHEDULABLE: Final = "node(s) were unschedulable"
TAINT_NODE_UNSCHEDULABLE: Final = Taint("node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


class NodeUnschedulable:
    """Filters by ``spec.unschedulable``."""

    name = "NodeUnschedulable"

    def filter(self, context: CycleContext, state: Any) -> Verdicts:  # noqa: ARG002 - has none
        """UnschedulableAndUnresolvable for each cordoned node, unless the pod tolerates that."""
        if tolerations_tolerate_taint(context.pod.spec.tolerations, TAINT_NODE_UNSCHEDULABLE):
            return all_fit(context.table)
        cordoned = context.table.nodes.derived(_unschedulable)
        codes = np.where(cordoned, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.SUCCESS).astype(np.int8)
        return Verdicts(codes, lambda _: (ERR_REASON_UNSCHEDULABLE,))

    def changes(self, situation: S, context: CycleContext, state: Any, row: int) -> Iterator[AppliedChange[S]]:
        """Uncordon the node."""
        del context, state
        yield uncordoned(situation, row)


def uncordoned(situation: S, row: int) -> AppliedChange[S]:
    """The node of a row uncordoned, without the taint that a cordon sets."""
    name = situation.table.names[row]

    def schedulable(node: Node) -> Node:
        taints = tuple(taint for taint in node.spec.taints if taint.key != TAINT_NODE_UNSCHEDULABLE.key)
        return replace(node, spec=replace(node.spec, unschedulable=False, taints=taints))

    return AppliedChange(CandidateChange(ChangeKind.UNCORDON, node=name), situation.with_node(name, schedulable))


def _unschedulable(nodes: Nodes) -> NDArray[np.bool_]:
    return np.fromiter((node.spec.unschedulable for node in nodes), np.bool_, len(nodes))
