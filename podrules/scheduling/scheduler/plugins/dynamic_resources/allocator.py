"""Devices for claims on one node: the first solution of an exhaustive search.

    order        claims, their requests, a request's devices in the order of pools, slices and devices; a request's
                 devices are taken in that order only, so that no set of devices is tried twice
    a device     is free, matches the selectors of class and request, has enough capacity and counters, has no taint
                 that the request does not tolerate, and keeps the claim's constraints
    admin access takes devices that are in use, but none twice for one claim
    shared       a device with ``allowMultipleAllocations`` is taken again while its capacity lasts
    alternatives the first subrequest with which everything else works, too
    at most      32 devices a claim

The search is upstream's, with its order and its texts. Where upstream stops after its filter timeout, this one gives up
after `MAX_STEPS` and says that it does not know.

Without a gate:

    DRAConsumableCapacity    no device is shared, and capacity is not compared
    DRADeviceTaints          taints have no effect
    DRAPartitionableDevices  no device that consumes counters is taken

Upstream has several allocators and takes the first that knows all gates that are on. Its stable one, with neither
DRAConsumableCapacity nor DRADeviceBindingConditions, passes over the capacity that a request asks for and does not know
distinctAttribute; it tries pools and their slices in no order, here they keep theirs.

Source: k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go at v0.36.3, which is
what the default feature gates of 1.36 select, and stable/allocator_stable.go, what those of 1.34 and 1.35 do; KEP-4381,
KEP-4815, KEP-4816, KEP-5007, KEP-5018, KEP-5055, KEP-5075.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from podrules.api.features import REFERENCE, Features
from podrules.api.model.resource import Device, DeviceClass, ResourceClaim
from podrules.pod.tolerations import tolerations_tolerate_taint
from podrules.scheduling.scheduler.plugins.dynamic_resources.constraints import (
    AvailableCounters,
    Constraint,
    Consumed,
    TakenCounters,
    add_consumed,
    consumed_capacity,
    fits_capacity,
    subtract_consumed,
)
from podrules.scheduling.scheduler.plugins.dynamic_resources.pools import (
    AllocatedDevice,
    AllocatedState,
    AllocationError,
    DeviceCandidate,
    DeviceID,
    InvalidPoolsError,
    Place,
    Pool,
    Slices,
    UnknownAnswer,
    candidates,
    devices_of,
)
from podrules.scheduling.scheduler.plugins.dynamic_resources.requests import (
    MAX_DEVICES,
    AllocationRequest,
    DeviceSelection,
    Requests,
)

MAX_STEPS: Final = 20_000
"""Steps of one search."""

_START: Final = (0, 0, 0)
_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})


class _Position(NamedTuple):
    """The request, and its device number, that is being allocated."""

    claim: int
    request: int = 0
    alternative: int = 0
    device: int = 0


class _LimitExceededError(Exception):
    """No solution within the limit of devices."""


class Allocator:
    """Answers for one pod, node by node."""

    def __init__(
        self,
        slices: Slices,
        classes: Mapping[str, DeviceClass],
        state: AllocatedState,
        features: Features = REFERENCE,
    ) -> None:
        """Take the cluster's devices and what is in use."""
        self.slices = slices
        self.classes = classes
        self.state = state
        self.features = features
        # Loaded for pods with device claims: the evaluator of expressions is large.
        from podrules.scheduling.scheduler.plugins.dynamic_resources.selectors import SelectorCache

        self.selectors = SelectorCache(shows_shared=not self.stable)
        self.counters = AvailableCounters(state, features)
        self._memo: dict[tuple[object, ...], list[list[AllocatedDevice]] | Exception | None] = {}

    def allocate(self, row: int, claims: Sequence[ResourceClaim]) -> list[list[AllocatedDevice]] | None:
        """The devices for each claim on a node; None if not all can be allocated.

        Raises:
            AllocationError: a claim, a class or an expression is at fault.
            InvalidPoolsError: not allocated, and a pool is invalid.
            UnknownAnswer: an expression or the search is beyond these rules.
        """
        slices = self.slices.relevant(row)
        alone = any(item.spec.per_device_node_selection for item in slices)
        key = (row if alone else -1, tuple(map(id, slices)), tuple(map(id, claims)))
        if key not in self._memo:
            try:
                self._memo[key] = _Search(self, row, claims, self.slices.pools(slices)).run()
            except (AllocationError, InvalidPoolsError, UnknownAnswer) as error:
                self._memo[key] = error
        found = self._memo[key]
        if isinstance(found, Exception):
            raise found
        return found

    @property
    def stable(self) -> bool:
        """Whether an allocator answers that knows neither shared devices nor binding conditions."""
        features = self.features
        newer = features.dra_consumable_capacity or features.dra_device_binding_conditions
        return features.dra_allocator_by_binding and not newer

    def count_in_use(self, pool: Pool) -> int:
        """How many of the pool's devices on the node are held, in whole or in part."""
        return sum(self.state.in_use(found.id) for found in devices_of(pool))


class _Search:
    """One allocation on one node (allocator)."""

    def __init__(self, allocator: Allocator, row: int, claims: Sequence[ResourceClaim], pools: Sequence[Pool]) -> None:
        self._features = allocator.features
        self._state = allocator.state
        self._claims = claims
        self._pools = pools
        self._selection = DeviceSelection(allocator.slices, row, allocator.selectors, allocator.features)
        self._asked = Requests(
            allocator.classes, allocator.state, pools, self._selection, allocator.features, stable=allocator.stable
        )
        self._counters = TakenCounters(allocator.counters)
        self._allocating: dict[DeviceID, set[int]] = {}
        self._capacity: dict[DeviceID, Consumed] = {}
        self._result: list[list[AllocatedDevice]] = [[] for _ in claims]
        self._steps = 0

    def run(self) -> list[list[AllocatedDevice]] | None:
        for index, claim in enumerate(self._claims):
            self._asked.add(index, claim)
        if not self._features.dra_alternatives_apart:
            self._selection.forget()
        try:
            done = self._allocate_one(_Position(0))
        except _LimitExceededError:
            # Upstream hands this to its caller as an error of its own.
            raise AllocationError("allocation max size exceeded") from None
        if done:
            return self._result
        if self._features.dra_pools_as_a_whole and any(pool.invalid_reason for pool in self._pools):
            raise InvalidPoolsError
        return None

    def _allocate_one(self, at: _Position, *, chosen: bool = False, start: Place = _START) -> bool:
        """Whether the device at a position, and all after it, can be allocated (allocateOne)."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise UnknownAnswer(f"the search for devices was given up after {MAX_STEPS} steps")
        if at.claim >= len(self._claims):
            return True
        if at.request >= len(self._claims[at.claim].spec.devices.requests):
            try:
                return self._allocate_one(_Position(at.claim + 1))
            except _LimitExceededError:
                return False
        if not chosen and self._asked.alternatives[at.claim, at.request]:
            # The first alternative that works, or, with all of them too large, the way back.
            exceeded = True
            for alternative in range(self._asked.alternatives[at.claim, at.request]):
                try:
                    if self._allocate_one(at._replace(alternative=alternative), chosen=True):
                        return True
                    exceeded = False
                except _LimitExceededError:
                    continue
            if exceeded:
                raise _LimitExceededError
            return False
        request = self._asked.by_key[at.claim, at.request, at.alternative]
        if request.all_devices and not request.devices:
            return False
        if at.device >= request.count:
            return self._allocate_one(_Position(at.claim, at.request + 1))
        if len(self._result[at.claim]) + request.count - at.device > MAX_DEVICES:
            raise _LimitExceededError
        if request.all_devices:
            return self._take(at, request, request.devices[at.device], _START, must=True, chosen=chosen)
        refuse_invalid = not self._features.dra_pools_as_a_whole
        for after, candidate in candidates(self._pools, start, refuse_invalid=refuse_invalid):
            if (
                not self._busy(at, request, candidate.id)
                and self._selection.admits(at[:3], request.selectors, candidate)
                and self._fits_capacity(request, candidate)
                and self._take(at, request, candidate, after, must=False, chosen=chosen)
            ):
                return True
        return False

    def _take(
        self,
        at: _Position,
        request: AllocationRequest,
        found: DeviceCandidate,
        after: Place,
        *,
        must: bool,
        chosen: bool,
    ) -> bool:
        """Take a device and continue; return it if there is no solution."""
        taken = self._reserve(at, request, found, must=must)
        if taken is None:
            return False
        done, onward = False, at._replace(device=at.device + 1)
        if not self._features.dra_search_goes_on:
            # Upstream forgets which alternative it is at once it takes all devices.
            after, onward = _START, onward._replace(alternative=0 if must else at.alternative)
        try:
            done = self._allocate_one(onward, chosen=chosen, start=after)
        finally:
            if not done:
                self._give_back(at, request, found, taken)
        return done

    def _busy(self, at: _Position, request: AllocationRequest, device: DeviceID) -> bool:
        holders = self._allocating.get(device, ())
        if request.admin_access:
            return at.claim in holders
        return device in self._state.devices or bool(holders)

    def _fits_capacity(self, request: AllocationRequest, found: DeviceCandidate) -> bool:
        if not self._features.dra_consumable_capacity:
            return True
        consumed = self._state.capacity.get(found.id, {})
        allocating = self._capacity.get(found.id, {})
        return fits_capacity(found.device, request.capacity, consumed, allocating, features=self._features)

    def _reserve(
        self, at: _Position, request: AllocationRequest, found: DeviceCandidate, *, must: bool
    ) -> _Taken | None:
        """Mark a device as taken; None when it cannot be (allocateDevice)."""
        device, shared = found.device, self._shared(found.device)
        busy = self._busy(at, request, found.id)
        if busy and not (shared and request.admin_access):
            return None
        if device.consumes_counters and not self._features.dra_partitionable_devices:
            return None
        # The first claim of a shared device takes its counters, the others do not (deviceCapacityInUse).
        in_part = found.id in self._state.capacity or found.id in self._capacity
        if self._features.dra_shares_without_capacity and found.id in self._state.shared:
            in_part = True
        counted = bool(device.consumes_counters) and not (shared and in_part)
        if counted and not self._counters.reserve(found):
            return None
        joined: list[Constraint] = []
        fits = not self._features.dra_device_taints or not any(
            taint.effect in _EFFECTS and not tolerations_tolerate_taint(request.tolerations, taint)
            for taint in device.taints
        )
        for constraint in self._asked.constraints[at.claim] if fits else ():
            fits = constraint.add(*request.names, found.id.driver, device)
            if not fits and must:
                problem = "because a claim constraint would not be satisfied"
                raise AllocationError(f"{request.where}: cannot add device {found.id} {problem}")
            if not fits:
                break
            joined.append(constraint)
        if not fits:
            self._undo(request, found, counted=counted, joined=joined)
            return None
        if not shared:
            self._allocating.setdefault(found.id, set()).add(at.claim)
        if not self._fits_capacity(request, found):
            if not shared:
                self._allocating[found.id].discard(at.claim)
            self._undo(request, found, counted=counted, joined=joined)
            return None
        consumed = consumed_capacity(device, request.capacity, features=self._features) if shared else {}
        existed = found.id in self._capacity
        if shared:
            add_consumed(self._capacity.setdefault(found.id, {}), consumed)
        self._result[at.claim].append(AllocatedDevice(request.full_name, found.id, request.admin_access, consumed))
        return _Taken(counted, tuple(joined), consumed, existed)

    def _give_back(self, at: _Position, request: AllocationRequest, found: DeviceCandidate, taken: _Taken) -> None:
        """Undo `_reserve` (rollbackDevice)."""
        self._result[at.claim].pop()
        if self._shared(found.device):
            left = self._capacity[found.id]
            subtract_consumed(left, taken.consumed)
            if all(amount.is_zero for amount in left.values()):
                del self._capacity[found.id]
                if taken.existed:
                    self._capacity[found.id] = {}
        else:
            self._allocating[found.id].discard(at.claim)
        self._undo(request, found, counted=taken.counted, joined=taken.joined)

    def _shared(self, device: Device) -> bool:
        return device.allow_multiple_allocations and self._features.dra_consumable_capacity

    def _undo(
        self, request: AllocationRequest, found: DeviceCandidate, *, counted: bool, joined: Sequence[Constraint]
    ) -> None:
        for constraint in reversed(joined):
            constraint.remove(*request.names)
        if counted:
            self._counters.give_back(found)


class _Taken(NamedTuple):
    """The changes of taking a device."""

    counted: bool
    joined: tuple[Constraint, ...]
    consumed: Consumed
    existed: bool
