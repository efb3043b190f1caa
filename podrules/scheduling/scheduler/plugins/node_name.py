"""NodeName: a pod with spec.nodeName set fits only that node.

Since 1.37 no other node is examined; before, each of them was rejected.

Source: pkg/scheduler/framework/plugins/nodename/node_name.go at v1.36.3 and v1.37.1.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from podrules.scheduling.scheduler.framework.answers import Code
from podrules.scheduling.scheduler.framework.interface import (
    CycleContext,
    PreFilterResult,
    Verdicts,
    WithoutState,
    all_fit,
)

ERR_REASON_NODE_NAME: Final = "node(s) didn't match the requested node name"


class NodeName:
    """Filters by ``spec.nodeName``."""

    name = "NodeName"
    without_pre_filter = WithoutState.NOT_NEEDED

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        """The named node alone (since 1.37)."""
        wanted = context.pod.spec.node_name
        return PreFilterResult(node_names=frozenset({wanted}) if wanted else None)

    def filter(self, context: CycleContext, state: Any) -> Verdicts:  # noqa: ARG002 - has none
        """UnschedulableAndUnresolvable for each node of another name."""
        wanted = context.pod.spec.node_name
        if not wanted:
            return all_fit(context.table)
        codes = np.full(len(context.table), Code.UNSCHEDULABLE_AND_UNRESOLVABLE, np.int8)
        row = context.table.index.get(wanted)
        if row is not None:
            codes[row] = Code.SUCCESS
        return Verdicts(codes, lambda _: (ERR_REASON_NODE_NAME,))
