"""NodeResourcesBalancedAllocation: whether the pod evens out the shares of a node's resources that are in use.

    score  50 + (50 + balance with the pod - balance without it) / 2; until 1.35 the balance with the pod
    skip   the pod asks for none of the scored resources

Requests count as they are: a container that asks for nothing adds nothing.

Source: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go at v1.36.3.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from podrules.scheduling.scheduler.framework.interface import CycleContext, PreScoreResult, WithoutState
from podrules.scheduling.scheduler.framework.status import SKIP
from podrules.scheduling.scheduler.plugins.node_resources.args import (
    NodeResourcesBalancedAllocationArgs,
    ResourceSpec,
    weighted,
)
from podrules.scheduling.scheduler.plugins.node_resources.scorers import allocations, balanced, requested_amounts


class NodeResourcesBalancedAllocation:
    """Ranks by balance."""

    name: Final = "NodeResourcesBalancedAllocation"
    args_type = NodeResourcesBalancedAllocationArgs
    without_pre_score = WithoutState.COMPUTED

    def pre_score(self, context: CycleContext, feasible: NDArray[np.int32]) -> PreScoreResult:  # noqa: ARG002 - Protocol
        """What the pod adds to each scored resource; Skip when that is nothing."""
        amounts = requested_amounts(context, self._resources(context), use_requested=True)
        return PreScoreResult(state=amounts) if any(amounts) else PreScoreResult(SKIP)

    def score(self, context: CycleContext, state: tuple[int, ...], feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        """How each feasible node's balance changes."""
        found = allocations(context, self._resources(context), state, feasible, use_requested=True)
        return balanced(found, compared=context.features.balance_compared)

    def _resources(self, context: CycleContext) -> tuple[ResourceSpec, ...]:
        args: NodeResourcesBalancedAllocationArgs = context.args.get(self.name) or NodeResourcesBalancedAllocationArgs()
        return weighted(args.resources)
