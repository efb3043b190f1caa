"""DynamicResources: a pod's resource claims are allocated on its node, or can be.

    PreEnqueue  every claim of the pod exists, is not being deleted and, when made from a template, belongs to the pod
    PreFilter   the same; the device classes of claims without an allocation exist; a pod without claims skips Filter
    Filter      allocated claims: the node matches the allocation's node selector, and binding has not failed;
                others: devices can be found for all of them together (`allocator`)
    PostFilter  an allocated claim that was not available on a node, and that no other pod has reserved, loses its
                allocation; a claim that was written for extended resources is deleted
    Score       8, 7, 6, … for the first, second, third alternative of each request with ``firstAvailable``;
                100 * score / highest

What upstream could answer and these rules cannot is never taken for a fit: the node's code is then `Code.ERROR` and its
one reason begins with `UNKNOWN` (``unknown: …``).

Gates, where they are off: without DynamicResourceAllocation the plugin says nothing; without DRAExtendedResource no
class stands for a resource; without DRAPrioritizedList a request with alternatives is rejected and nothing is scored;
without DRADeviceBindingConditions binding is not examined; the rest concerns what can be asked for (`requests`), which
devices are selected (`selectors`) and the search (`allocator`). Claims of pod groups and node-allocatable resources are
off by default and not restated; allocations that the scheduler has made and not yet written are not visible.

Source: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go at v1.36.3; KEP-4381, KEP-5007.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.features import Features
from podrules.api.model.base import Model
from podrules.api.model.instant import parse_duration
from podrules.api.model.pod import Pod
from podrules.api.model.resource import DeviceClass, ResourceClaim
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.answers import SKIP, SUCCESS, Code, Fact, ScoreError, Status
from podrules.scheduling.scheduler.framework.interface import (
    CycleContext,
    PreFilterResult,
    Verdicts,
    all_fit,
)
from podrules.scheduling.scheduler.plugins.dynamic_resources.allocator import Allocator
from podrules.scheduling.scheduler.plugins.dynamic_resources.claims import (
    SPECIAL_NAME,
    ClaimError,
    allocated_state,
    claim_for,
    classes_by_resource,
    find_claim,
    is_unavailable,
    needs_claim,
    node_requests,
    pod_claims,
    special_claim,
)
from podrules.scheduling.scheduler.plugins.dynamic_resources.pools import (
    AllocatedDevice,
    AllocationError,
    InvalidPoolsError,
    Slices,
    UnknownAnswer,
)
from podrules.scheduling.scheduler.plugins.node_selector import match_node_selector
from podrules.scheduling.scheduler.plugins.scores import default_normalize_score
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import ClaimMismatch

UNKNOWN: Final = "unknown: "
CANNOT_ALLOCATE: Final = "cannot allocate all claims"
INVALID_POOLS: Final = "invalid resource pools were encountered"
NOT_AVAILABLE: Final = "resourceclaim not available on the node"
STALE_CLAIM: Final = "cannot schedule extended resource claim"
CANNOT_FIT: Final = "cannot fit resource"
NOTHING_TO_DEALLOCATE: Final = "no new claims to deallocate"
DEALLOCATED: Final = "deallocation of ResourceClaim completed"
DELETED: Final = "deletion of ResourceClaim completed"
STILL_UNSCHEDULABLE: Final = "still not schedulable"

_ALTERNATIVES: Final = 8
"""FirstAvailableDeviceRequestMaxSize."""

Outcome = tuple[Code, str]
_FITS: Final[Outcome] = (Code.SUCCESS, "")


def _unless_quiet(reason: str, features: Features) -> tuple[str, ...]:
    """Upstream's message that nothing was deallocated, until 1.36."""
    return () if features.dra_quiet_post_filter else (reason,)


class DynamicResourcesArgs(Model, frozen=True):
    """The plugin's arguments, as far as they are read; durations in upstream's notation."""

    binding_timeout: str = "10m0s"


class DynamicResourcesState(Struct):
    """The results of PreFilter, and the allocations of Filter."""

    claims: tuple[ResourceClaim, ...]
    """The pod's claims; the one for extended resources last."""
    special: ResourceClaim | None
    """The claim for extended resources."""
    allocator: Allocator | None
    """Absent when all claims are allocated."""
    resource_classes: Mapping[str, DeviceClass] = {}
    """Classes by the extended resource that they provide."""
    special_claims: dict[tuple[str, ...], ResourceClaim] = {}
    """The special claim's requests, by the resources that a node does not offer itself."""
    allocations: dict[int, list[list[AllocatedDevice]]] = {}
    """By row of the table: the devices for each claim without an allocation."""


class ClaimAllocation(Struct, frozen=True):
    """A claim and what it would get on a node."""

    claim: str
    devices: tuple[AllocatedDevice, ...]


class PoolValues(Struct, frozen=True):
    """A pool that a node can reach."""

    pool: str
    devices: int
    in_use: int
    incomplete: bool
    invalid_reason: str


class DynamicResourcesValues(Struct, frozen=True):
    """The facts behind the verdict on a node."""

    unavailable: tuple[str, ...]
    """Allocated claims that cannot be used there."""
    allocations: tuple[ClaimAllocation, ...]
    pools: tuple[PoolValues, ...]


class DevicePool(Fact, frozen=True):
    """DynamicResources: a pool of devices that the node can reach."""

    pool: str
    devices: int
    in_use: int


class DynamicResources:
    """The plugin."""

    name = "DynamicResources"
    formula = "100 x raw / most"
    fact_types = (ClaimMismatch, DevicePool)
    args_type = DynamicResourcesArgs
    gate = "dynamic_resource_allocation"
    without_pre_filter = "not found"
    score_without_pre_filter = "not found"

    def pre_enqueue(self, pod: Pod, snapshot: ClusterSnapshot, features: Features) -> Status:
        """Success, or why the pod waits for its claims."""
        if not features.dynamic_resource_allocation:
            return SUCCESS
        try:
            pod_claims(pod, {claim.key: claim for claim in snapshot.resource_claims}, features=features)
        except ClaimError as error:
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (str(error),))
        return SUCCESS

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        """The pod's claims, checked, and an allocator for those without an allocation."""
        pod, cluster, features = context.pod, context.snapshot, context.features
        if not features.dynamic_resource_allocation:
            return PreFilterResult(SKIP)
        try:
            named = {claim.key: claim for claim in cluster.resource_claims} if pod.spec.resource_claims else {}
            claims = pod_claims(pod, named, features=features)
        except ClaimError as error:
            return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (str(error),)))
        classes = classes_by_resource(cluster.device_classes) if features.dra_extended_resource else {}
        special = None
        if needs_claim(pod, classes):
            special = find_claim(pod, cluster.resource_claims) or special_claim(pod)
        store = (*claims, special) if special else tuple(claims)
        if not store:
            return PreFilterResult(SKIP)
        status = _check_classes(claims, {item.metadata.name for item in cluster.device_classes}, features)
        if not status.ok:
            return PreFilterResult(status)
        allocator = None
        if any(claim.status.allocation is None for claim in store):
            by_name = {item.metadata.name: item for item in cluster.device_classes}
            slices = Slices(
                context.table.nodes,
                cluster.resource_slices,
                partitionable=features.dra_partitionable_devices,
                counters_everywhere=features.dra_pools_as_a_whole and not features.dra_counters_by_node,
                as_a_whole=features.dra_pools_as_a_whole,
            )
            held = allocated_state(cluster.resource_claims, shareable=features.dra_consumable_capacity)
            allocator = Allocator(slices, by_name, held, features)
        return PreFilterResult(state=DynamicResourcesState(store, special, allocator, classes))

    def filter(self, context: CycleContext, state: DynamicResourcesState | None) -> Verdicts:
        """A verdict for each node; stores the possible allocations for Score."""
        if state is None:
            return all_fit(context.table)
        unavailable = self._unavailable(context, state)
        codes = np.zeros(len(context.table), np.int8)
        reasons: dict[int, tuple[str, ...]] = {}
        for row in range(len(context.table)):
            code, reason = self._judge(context, state, row, unavailable)
            if code is not Code.SUCCESS:
                codes[row] = code
                reasons[row] = (reason,)
        return Verdicts(codes, lambda row: reasons.get(row, ()))

    def raw_scores(self, context: CycleContext, state: Any, feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        """Points for early alternatives."""
        found = state if state is not None else context.states.get(self.name)
        scores = np.zeros(len(feasible), np.int64)
        if isinstance(found, DynamicResourcesState) and context.features.dra_prioritized_list:
            for place, row in enumerate(feasible.tolist()):
                scores[place] = _score(found, row, context.features)
        return scores

    def score(self, context: CycleContext, state: Any, feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        """The same, against the best node."""
        return default_normalize_score(self.raw_scores(context, state, feasible), reverse=False)

    def explain(self, context: CycleContext, state: DynamicResourcesState, row: int) -> DynamicResourcesValues:
        """The facts behind the verdict on one node, for claims that Filter has examined."""
        unavailable = self._unavailable(context, state)
        keys = tuple(
            claim.key
            for claim, masks in zip(state.claims, unavailable, strict=True)
            if isinstance(masks, np.ndarray) and masks[row]
        )
        waiting = [claim for claim in state.claims if claim.status.allocation is None]
        found = state.allocations.get(row, ())
        allocations = tuple(
            ClaimAllocation(claim.key, tuple(devices)) for claim, devices in zip(waiting, found, strict=False)
        )
        allocator = state.allocator
        pools = allocator.slices.pools(allocator.slices.relevant(row)) if allocator else ()
        return DynamicResourcesValues(
            keys,
            allocations,
            tuple(
                PoolValues(
                    str(pool.id),
                    sum(len(item.spec.devices) for item in pool.slices),
                    allocator.count_in_use(pool),
                    pool.incomplete,
                    pool.invalid_reason,
                )
                for pool in pools
                if allocator
            ),
        )

    def facts(self, context: CycleContext, state: DynamicResourcesState, row: int) -> Iterator[Fact]:
        """Claims that cannot be used there, and the pools that the node can reach."""
        found = self.explain(context, state, row)
        for claim in found.unavailable:
            yield ClaimMismatch(claim, "", "", {}, "allocated devices cannot be used here")
        for pool in found.pools:
            yield DevicePool(pool.pool, pool.devices, pool.in_use)

    def post_filter(self, context: CycleContext, state: DynamicResourcesState | None, rows: Sequence[int]) -> Status:
        """The claims' fate if the pod fits nowhere: an unusable claim is deallocated for a later attempt.

        The rows are those that were rejected because a claim is `NOT_AVAILABLE`. Without a state there are no claims,
        or `pre_filter` did not get that far.
        """
        if state is None:
            return Status(Code.UNSCHEDULABLE, _unless_quiet(NOTHING_TO_DEALLOCATE, context.features))
        for claim, mask in zip(state.claims, self._unavailable(context, state), strict=True):
            unavailable = isinstance(mask, np.ndarray) and mask[list(rows)].any()
            users = {reference.uid for reference in claim.status.reserved_for}
            if unavailable and claim is not state.special and users <= {context.pod.metadata.uid}:
                return Status(Code.UNSCHEDULABLE, (DEALLOCATED,))
        if state.special is not None and state.special.metadata.name != SPECIAL_NAME:
            return Status(Code.UNSCHEDULABLE, (DELETED,))
        return Status(Code.UNSCHEDULABLE, _unless_quiet(STILL_UNSCHEDULABLE, context.features))

    def _judge(
        self, context: CycleContext, state: DynamicResourcesState, row: int, unavailable: Sequence[_Unavailable]
    ) -> Outcome:
        """The verdict on one node (Filter)."""
        waiting, outcome = self._to_allocate(context, state, row)
        if outcome is not None:
            return outcome
        for mask in unavailable:
            if isinstance(mask, str):
                return Code.ERROR, UNKNOWN + mask
        if state.allocator is not None:
            try:
                found = state.allocator.allocate(row, waiting)
            except InvalidPoolsError:
                return Code.UNSCHEDULABLE_AND_UNRESOLVABLE, INVALID_POOLS
            except AllocationError as error:
                return Code.ERROR, str(error)
            except UnknownAnswer as error:
                return Code.ERROR, f"{UNKNOWN}{error}"
            if found is None:
                return Code.UNSCHEDULABLE_AND_UNRESOLVABLE, CANNOT_ALLOCATE
            state.allocations[row] = found
        if any(mask[row] for mask in unavailable if isinstance(mask, np.ndarray)):
            state.allocations.pop(row, None)
            return Code.UNSCHEDULABLE_AND_UNRESOLVABLE, NOT_AVAILABLE
        return _FITS

    def _to_allocate(
        self, context: CycleContext, state: DynamicResourcesState, row: int
    ) -> tuple[list[ResourceClaim], Outcome | None]:
        """The claims to allocate on a node, or a verdict that needs no allocation (filterExtendedResources)."""
        waiting = [claim for claim in state.claims if claim.status.allocation is None]
        special = state.special
        if special is None:
            return waiting, None
        if special.spec.devices.requests:
            return [], (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, STALE_CLAIM)
        resources = node_requests(context.pod, context.table.nodes[row], state.resource_classes)
        if resources is None:
            return [], (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, CANNOT_FIT)
        if len(state.claims) == 1 and (not resources or special.status.allocation is not None):
            return [], _FITS
        if special.status.allocation is None:
            if resources not in state.special_claims:
                made = claim_for(context.pod, special, resources, state.resource_classes)
                state.special_claims[resources] = made
            waiting[-1] = state.special_claims[resources]
        return waiting, None

    def _unavailable(self, context: CycleContext, state: DynamicResourcesState) -> list[_Unavailable]:
        """For each claim the nodes where its allocation cannot be used; a text where that is not known."""
        args = context.args.get(self.name) or DynamicResourcesArgs()
        timeout = parse_duration(args.binding_timeout)
        now, binds = context.now, context.features.dra_device_binding_conditions
        found: list[_Unavailable] = []
        for claim in state.claims:
            allocation = claim.status.allocation
            mask = np.zeros(len(context.table), np.bool_)
            if allocation is not None and allocation.node_selector is not None:
                mask |= ~match_node_selector(context.table.nodes, allocation.node_selector)
            try:
                if allocation is not None and binds and is_unavailable(claim, allocation, timeout, now):
                    mask[:] = True
            except UnknownAnswer as error:
                found.append(str(error))
                continue
            found.append(mask)
        return found


_Unavailable = NDArray[np.bool_] | str


def _check_classes(claims: Sequence[ResourceClaim], classes: set[str], features: Features) -> Status:
    """Whether the classes of all requests exist, of claims that are not allocated (validateDeviceClass)."""
    for claim in claims:
        if claim.status.allocation is not None:
            continue
        for request in claim.spec.devices.requests:
            if request.exactly is None and request.first_available and not features.dra_prioritized_list:
                problem = "has subrequests, but the DRAPrioritizedList feature is disabled"
                text = f"resource claim {claim.key}, request {request.name}: {problem}"
                return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,))
            if request.exactly is not None:
                wanted = [(request.name, request.exactly.device_class_name)]
            else:
                wanted = [(f"{request.name}/{sub.name}", sub.device_class_name) for sub in request.first_available]
            if not wanted:
                problem = f"resource claim {claim.key}, request {request.name}: unknown request type"
                return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (problem,))
            for name, class_name in wanted:
                if not class_name:
                    return Status(Code.ERROR, (f"request {name}: unsupported request type",))
                if class_name not in classes:
                    problem = f"request {name}: device class {class_name} does not exist"
                    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (problem,))
    return SUCCESS


def _score(state: DynamicResourcesState, row: int, features: Features) -> int:
    """Points for the alternatives that were taken (computeScore).

    Raises:
        ScoreError: until 1.35, if a claim was allocated before.
    """
    if row not in state.allocations:
        return 0
    count = len(state.allocations[row])
    if not features.dra_score_of_allocated and count < len(state.claims):
        raise ScoreError(f"number of allocations {count} is smaller than number of claims")
    found = iter(state.allocations[row])
    points = 0
    for claim in state.claims:
        allocation = claim.status.allocation
        if allocation is not None:
            taken = {result.request for result in allocation.devices.results}
        else:
            taken = {device.request for device in next(found)}
        for request in claim.spec.devices.requests:
            if request.exactly is None:
                names = [f"{request.name}/{sub.name}" for sub in request.first_available]
                points += sum(_ALTERNATIVES - place for place, name in enumerate(names) if name in taken)
    return points
