"""NodeName: a pod whose spec.nodeName is set fits that node alone.

Source: pkg/scheduler/framework/plugins/nodename/node_name.go at v1.36.3.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from podrules.scheduler.framework.interface import CycleContext, Verdicts, all_fit
from podrules.scheduler.framework.status import Code

__all__ = ["ERR_REASON", "NodeName"]

ERR_REASON: Final = "node(s) didn't match the requested node name"


class NodeName:
    """Filters by ``spec.nodeName``."""

    name = "NodeName"

    def filter(self, context: CycleContext, state: Any) -> Verdicts:  # noqa: ARG002 - has none
        """UnschedulableAndUnresolvable for each node of another name."""
        wanted = context.pod.spec.node_name
        if not wanted:
            return all_fit(context.table)
        codes = np.full(len(context.table), Code.UNSCHEDULABLE_AND_UNRESOLVABLE, np.int8)
        row = context.table.index.get(wanted)
        if row is not None:
            codes[row] = Code.SUCCESS
        return Verdicts(codes, lambda _: (ERR_REASON,))
