"""NodeResourcesFit: whether a node has room for what the pod asks for, and how full it would be.

    pods      pods on the node + 1 > allocatable pods                    Too many pods
    resource  request > 0 and request > allocatable - requested          Insufficient <resource>
    code      UnschedulableAndUnresolvable when some request is more than the whole node has (of resources, not of the
              number of pods), else Unschedulable

Resources are cpu, memory, ephemeral-storage, then extended resources, huge pages and attachable volumes, by name
(upstream: in no order). Extended resources that the arguments ignore, by name or by group, are passed over. The request
is the spec's alone: a pod that is not placed has nothing in its status. A resource that a DeviceClass stands for is
left to DynamicResources on nodes that offer none of it.

Score: `scoringStrategy` (see `scorers`), where a container that asks for no cpu or memory counts as 100m and 200Mi, and
``spec.resources`` of the pod to be placed do not count, though those of pods on the node do.

Source: pkg/scheduler/framework/plugins/noderesources/fit.go at v1.36.3.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PodResourcesOptions,
    is_overcommit_allowed,
    is_scalar_resource_name,
    pod_requests,
)
from podrules.scheduler.framework.interface import CycleContext, PreFilterResult, PreScoreResult, Verdicts
from podrules.scheduler.framework.status import Code
from podrules.scheduler.plugins.dynamic_resources.extended import classes_by_resource
from podrules.scheduler.plugins.node_resources.args import NodeResourcesFitArgs, weighted
from podrules.scheduler.plugins.node_resources.columns import PODS, Accounting, allocatable
from podrules.scheduler.plugins.node_resources.scorers import allocations, requested_amounts, strategy_score

__all__ = ["FitState", "InsufficientResource", "NodeResourcesFit"]

TOO_MANY_PODS: Final = "Too many pods"
_FIRST: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)


class FitState(Struct, frozen=True):
    """What the pod needs room for."""

    requests: tuple[tuple[str, int], ...]
    """Resources that are asked for and not ignored, in the order of reasons; cpu in thousandths."""
    devices: frozenset[str] = frozenset()
    """Those of them that a DeviceClass stands for: where a node offers none, DynamicResources judges."""


class InsufficientResource(Struct, frozen=True, rename="camel"):
    """A resource of which a node has too little; cpu in thousandths, the rest in whole units."""

    resource_name: str
    reason: str
    requested: int
    used: int
    capacity: int
    unresolvable: bool
    """The whole node has less than the request."""


class NodeResourcesFit:
    """Judges room; ranks by use."""

    name: Final = "NodeResourcesFit"

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        """What the pod needs room for (computePodResourceRequest)."""
        args = self._args(context)
        options = PodResourcesOptions(skip_pod_level_resources=not context.features.pod_level_resources)
        needs: dict[str, int] = {}
        for name, amount in pod_requests(context.pod, options).items():
            if name in _FIRST or (is_scalar_resource_name(name) and not _ignored(name, args)):
                needs[name] = amount.milli_value if name == CPU else amount.value
        order = (*_FIRST, *sorted(needs.keys() - set(_FIRST)))
        requests = tuple((name, needs[name]) for name in order if needs.get(name, 0) > 0)
        devices = classes_by_resource(context.snapshot.device_classes)
        return PreFilterResult(state=FitState(requests, frozenset(name for name, _ in requests if name in devices)))

    def filter(self, context: CycleContext, state: FitState) -> Verdicts:
        """Whether each node has room (fitsRequest)."""
        capacities = context.table.derived(allocatable)
        accounts = context.table.derived(Accounting(context.features))
        crowded = accounts.pods + 1 > capacities.of(PODS)
        codes = np.where(crowded, Code.UNSCHEDULABLE, Code.SUCCESS).astype(np.int8)
        for name, amount in state.requests:
            capacity = capacities.of(name)
            short = amount > capacity - accounts.requested.of(name)
            if name in state.devices:
                short &= capacity > 0
            codes[short & (codes == Code.SUCCESS)] = Code.UNSCHEDULABLE
            codes[short & (amount > capacity)] = Code.UNSCHEDULABLE_AND_UNRESOLVABLE

        def reasons(row: int) -> tuple[str, ...]:
            return tuple(entry.reason for entry in self.explain(context, state, row))

        return Verdicts(codes, reasons)

    def explain(self, context: CycleContext, state: FitState, row: int) -> tuple[InsufficientResource, ...]:
        """What a node has too little of, with numbers, in the order of the reasons."""
        capacities = context.table.derived(allocatable)
        accounts = context.table.derived(Accounting(context.features))
        found: list[InsufficientResource] = []
        used, capacity = int(accounts.pods[row]), int(capacities.of(PODS)[row])
        if used + 1 > capacity:
            found.append(InsufficientResource(PODS, TOO_MANY_PODS, 1, used, capacity, unresolvable=False))
        for name, amount in state.requests:
            used, capacity = int(accounts.requested.of(name)[row]), int(capacities.of(name)[row])
            if amount > capacity - used and (capacity > 0 or name not in state.devices):
                reason = f"Insufficient {name}"
                found.append(InsufficientResource(name, reason, amount, used, capacity, amount > capacity))
        return tuple(found)

    def pre_score(self, context: CycleContext, feasible: NDArray[np.int32]) -> PreScoreResult:  # noqa: ARG002 - Protocol
        """What the pod adds to each scored resource."""
        resources = weighted(self._args(context).strategy.resources)
        return PreScoreResult(state=requested_amounts(context, resources, use_requested=False))

    def score(self, context: CycleContext, state: tuple[int, ...], feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        """The strategy's score of each feasible node."""
        strategy = self._args(context).strategy
        resources = weighted(strategy.resources)
        return strategy_score(strategy, allocations(context, resources, state, feasible, use_requested=False))

    def _args(self, context: CycleContext) -> NodeResourcesFitArgs:
        found: NodeResourcesFitArgs = context.args.get(self.name) or NodeResourcesFitArgs()
        return found


def _ignored(name: str, args: NodeResourcesFitArgs) -> bool:
    """Whether an extended resource is passed over; no other resource can be."""
    extended = "/" in name and not is_overcommit_allowed(name)
    return extended and (name in args.ignored_resources or name.partition("/")[0] in args.ignored_resource_groups)
