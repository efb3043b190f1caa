"""Devices for claims on one node: the first solution of an exhaustive search.

    order        claims, their requests, a request's devices in the order of pools, slices and devices; a request's
                 devices are taken in that order only, so that no set of devices is tried twice
    a device     is free, matches the selectors of class and request, has enough capacity and counters, has no taint
                 that the request does not tolerate, and keeps the claim's constraints
    admin access takes devices that are in use, but none twice for one claim
    shared       a device with ``allowMultipleAllocations`` is taken again while its capacity lasts
    all devices  every device that matches, of complete and valid pools only
    alternatives the first subrequest with which everything else works, too
    at most      32 devices a claim

The search is upstream's, with its order and its texts. Where upstream stops after its filter timeout, this one gives up
after `MAX_STEPS` and says that it does not know.

Without a gate:

    DRAAdminAccess              a request that says anything of admin access is an error
    DRAConsumableCapacity       no device is shared, and capacity is not compared
    DRADeviceBindingConditions  no device with binding conditions is selected
    DRADeviceTaints             taints keep nothing away
    DRAPartitionableDevices     no device that consumes counters is taken

Upstream has several allocators and takes the first that knows all gates that are on. Its stable one, with neither
DRAConsumableCapacity nor DRADeviceBindingConditions, passes over the capacity that a request asks for and does not know
distinctAttribute; it tries pools and their slices in no order, here they keep theirs.

Source: k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go at v0.36.3, which is
what the default feature gates of 1.36 select, and stable/allocator_stable.go, what those of 1.34 and 1.35 do; KEP-4381,
KEP-4815, KEP-4816, KEP-5007, KEP-5018, KEP-5055, KEP-5075.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from podrules.features import REFERENCE, Features
from podrules.model.quantity import Quantity
from podrules.model.resource import (
    ALL_DEVICES,
    EXACT_COUNT,
    CapacityRequirements,
    Device,
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceSlice,
)
from podrules.scheduler.plugins.dynamic_resources.capacity import (
    Consumed,
    add_consumed,
    consumed_capacity,
    fits_capacity,
    subtract_consumed,
)
from podrules.scheduler.plugins.dynamic_resources.constraints import Constraint, make_constraint
from podrules.scheduler.plugins.dynamic_resources.errors import AllocationError, InvalidPoolsError, UnknownAnswer
from podrules.scheduler.plugins.dynamic_resources.pools import Pool, PoolID, Slices
from podrules.scheduler.plugins.dynamic_resources.selectors import SelectorCache
from podrules.tolerations import tolerations_tolerate_taint

__all__ = ["MAX_DEVICES", "AllocatedDevice", "AllocatedState", "Allocator", "DeviceID"]

MAX_DEVICES: Final = 32
"""Devices of one claim (AllocationResultsMaxSize)."""
MAX_STEPS: Final = 20_000
"""Steps of one search."""

_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})

MISSING_KEY_HINT: Final = (
    ". consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)
"""What upstream adds since 1.37 where an expression reads a key that a device does not have."""


class DeviceID(NamedTuple):
    """A device's name is unique within its pool."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


class AllocatedState(NamedTuple):
    """What all claims of the cluster hold."""

    devices: frozenset[DeviceID]
    """Held by one claim alone."""
    shared: frozenset[DeviceID]
    """Held in part."""
    capacity: Mapping[DeviceID, Mapping[str, Quantity]]
    """How much of the shared ones is taken."""


class AllocatedDevice(Struct, frozen=True):
    """A device picked for a request."""

    request: str
    """The request's name, or request and subrequest with a slash between them."""
    id: DeviceID
    admin_access: bool = False
    consumed: Mapping[str, Quantity] = {}
    """What is taken of a shared device's capacity."""


class _Request(Struct, frozen=True):
    """A request, or one of its alternatives."""

    name: str
    parent: str
    device_class: DeviceClass
    selectors: tuple[DeviceSelector, ...]
    tolerations: tuple[DeviceToleration, ...]
    capacity: CapacityRequirements | None
    admin_access: bool
    all_devices: bool
    devices: tuple[_Candidate, ...]
    """All that match, when all are wanted."""
    count: int

    @property
    def full_name(self) -> str:
        return f"{self.parent}/{self.name}" if self.parent else self.name


class _Candidate(NamedTuple):
    id: DeviceID
    device: Device
    slice: ResourceSlice
    pool: Pool


class _Position(NamedTuple):
    """Which device of which request is looked for."""

    claim: int
    request: int = 0
    alternative: int = 0
    device: int = 0


class _LimitExceededError(Exception):
    """No solution within the limit of devices."""


Counters = dict[str, dict[str, Quantity]]


class Allocator:
    """Answers for one pod, node by node. Counters left are worked out once for a pool, as upstream."""

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
        self.selectors = SelectorCache(shows_shared=not self.stable)
        self._available: dict[PoolID, Counters] = {}
        self._memo: dict[tuple[object, ...], list[list[AllocatedDevice]] | Exception | None] = {}

    def allocate(self, row: int, claims: Sequence[ResourceClaim]) -> list[list[AllocatedDevice]] | None:
        """The devices for each claim on a node; None when they cannot all be had.

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

    def in_use(self, device: DeviceID) -> bool:
        """Whether a claim holds the device or a part of it (IsDeviceAllocated)."""
        return device in self.state.devices or device in self.state.shared or device in self.state.capacity

    def count_in_use(self, pool: Pool) -> int:
        """How many of the pool's devices on the node are held, in whole or in part."""
        return sum(self.in_use(DeviceID(*pool.id, device.name)) for item in pool.slices for device in item.spec.devices)

    def available_counters(self, pool: Pool) -> Counters:
        """What allocated devices leave of the pool's counters; may be less than nothing."""
        key = self.counters_of(pool)
        if key not in self._available:
            left = {
                name: {counter: held.value for counter, held in counter_set.counters.items()}
                for name, counter_set in pool.counter_sets.items()
            }
            for item in (*pool.slices, *pool.elsewhere):
                for device in item.spec.devices:
                    if self.in_use(DeviceID(item.spec.driver, item.spec.pool.name, device.name)):
                        _change(left, device, -1)
            self._available[key] = left
        return self._available[key]

    def counters_of(self, pool: Pool) -> PoolID:
        """The pools that have the same key share counters."""
        return pool.id if self.features.dra_counters_by_driver else PoolID("", pool.id.pool)


class _Search:
    """One allocation on one node (allocator)."""

    def __init__(self, allocator: Allocator, row: int, claims: Sequence[ResourceClaim], pools: Sequence[Pool]) -> None:
        self._allocator = allocator
        self._features = allocator.features
        self._row = row
        self._claims = claims
        self._pools = pools
        self._requests: dict[tuple[int, int, int], _Request] = {}
        self._alternatives: dict[tuple[int, int], int] = {}
        self._constraints: list[list[Constraint]] = []
        self._matches: dict[tuple[DeviceID, tuple[int, int, int]], bool] = {}
        self._counters: dict[PoolID, Counters] = {}
        self._allocating: dict[DeviceID, set[int]] = {}
        self._capacity: dict[DeviceID, Consumed] = {}
        self._result: list[list[AllocatedDevice]] = [[] for _ in claims]
        self._steps = 0

    def run(self) -> list[list[AllocatedDevice]] | None:
        for index, claim in enumerate(self._claims):
            self._prepare(index, claim)
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

    # What is asked for.

    def _prepare(self, index: int, claim: ResourceClaim) -> None:
        """Look at a claim's requests and constraints before anything is tried."""
        least = 0
        for number, request in enumerate(claim.spec.devices.requests):
            self._refuse_capacity(claim, request)
            found = list(self._alternatives_of(claim, request, index, number))
            self._alternatives[index, number] = len(found) if request.first_available else 0
            fewest = min(one.count for one in found)
            if self._features.dra_limit_by_request and fewest > MAX_DEVICES - least:
                raise AllocationError(
                    f"claim {claim.key}, request {request.name}: adding {fewest} devices "
                    f"exceeds the claim limit of {MAX_DEVICES}, with {least} already accounted for"
                )
            least += fewest
        if least > MAX_DEVICES:
            raise AllocationError(
                f"claim {claim.key}: number of requested devices {least} exceeds the claim limit of {MAX_DEVICES}"
            )
        constraints = []
        for number, constraint in enumerate(claim.spec.devices.constraints):
            made = make_constraint(constraint, distinct=not self._allocator.stable, features=self._features)
            if made is None:
                raise AllocationError(
                    f"claim {claim.key}, constraint #{number}: empty constraint (unsupported constraint type?)"
                )
            constraints.append(made)
        self._constraints.append(constraints)

    def _refuse_capacity(self, claim: ResourceClaim, request: DeviceRequest) -> None:
        """Without its gate a request for capacity is an error, save in the stable allocator."""
        if self._features.dra_consumable_capacity or self._allocator.stable:
            return
        problem = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        if request.exactly is not None and request.exactly.capacity is not None:
            raise AllocationError(f"claim {claim.key}, request {request.name}: {problem}")
        for sub in request.first_available:
            if sub.capacity is not None:
                asked = (
                    f"subrequest {sub.name}" if self._features.dra_allocator_by_binding else f"request {request.name}"
                )
                raise AllocationError(f"claim {claim.key}, {asked}: {problem}")

    def _alternatives_of(
        self, claim: ResourceClaim, request: DeviceRequest, index: int, number: int
    ) -> Iterator[_Request]:
        if not request.first_available:
            exactly = request.exactly or ExactDeviceRequest()
            yield self._request(claim, (index, number, 0), request.name, "", exactly)
        for alternative, sub in enumerate(request.first_available):
            exactly = ExactDeviceRequest(
                sub.device_class_name,
                sub.selectors,
                sub.allocation_mode,
                sub.count,
                None,
                sub.tolerations,
                sub.capacity,
            )
            yield self._request(claim, (index, number, alternative), sub.name, request.name, exactly)

    def _request(
        self, claim: ResourceClaim, key: tuple[int, int, int], name: str, parent: str, asked: ExactDeviceRequest
    ) -> _Request:
        """A request as the search uses it (validateDeviceRequest)."""
        where = f"claim {claim.key}, request {name}"
        for number, selector in enumerate(asked.selectors):
            if selector.cel is None:
                raise AllocationError(f"{where}, selector #{number}: CEL expression empty (unsupported selector type?)")
        if asked.admin_access is not None and not self._features.dra_admin_access:
            raise AllocationError(f"{where}: admin access is requested, but the feature is disabled")
        if not asked.device_class_name:
            raise AllocationError(f"{where}: missing device class name (unsupported request type?)")
        device_class = self._allocator.classes.get(asked.device_class_name)
        if device_class is None:
            missing = f'deviceclass.resource.k8s.io "{asked.device_class_name}" not found'
            raise AllocationError(f"{where}: could not retrieve device class {asked.device_class_name}: {missing}")
        wants_all = asked.allocation_mode == ALL_DEVICES
        if not wants_all and asked.allocation_mode != EXACT_COUNT:
            raise AllocationError(f"{where}: unsupported count mode {asked.allocation_mode}")
        request = _Request(
            name, parent, device_class, asked.selectors, asked.tolerations, asked.capacity,
            bool(asked.admin_access), wants_all, (), asked.count,
        )  # fmt: skip
        if wants_all:
            devices = tuple(self._all_devices(where, key, request))
            request = _Request(
                name, parent, device_class, asked.selectors, asked.tolerations, asked.capacity,
                bool(asked.admin_access), wants_all, devices, len(devices),
            )  # fmt: skip
        self._requests[key] = request
        return request

    def _all_devices(self, where: str, key: tuple[int, int, int], request: _Request) -> Iterator[_Candidate]:
        for pool in self._pools:
            if pool.incomplete or pool.invalid_reason:
                state = "being updated" if pool.incomplete else "invalid"
                raise AllocationError(
                    f"{where}: asks for all devices, but resource pool {pool.id} is currently {state}"
                )
            for item in pool.slices:
                for device in item.spec.devices:
                    candidate = _Candidate(DeviceID(*pool.id, device.name), device, item, pool)
                    if self._selectable(key, request, candidate) and self._may_fit(request, candidate):
                        yield candidate

    # The search.

    def _allocate_one(self, at: _Position, *, chosen: bool = False, start: tuple[int, int, int] = (0, 0, 0)) -> bool:
        """Whether the device at a position, and all after it, can be had (allocateOne)."""
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
        if not chosen and self._alternatives[at.claim, at.request]:
            return self._first_available(at)
        request = self._requests[at.claim, at.request, at.alternative]
        if request.all_devices and not request.devices:
            return False
        if at.device >= request.count:
            return self._allocate_one(_Position(at.claim, at.request + 1))
        if len(self._result[at.claim]) + request.count - at.device > MAX_DEVICES:
            raise _LimitExceededError
        if request.all_devices:
            return self._take(at, request, request.devices[at.device], (0, 0, 0), must=True, chosen=chosen) is True
        return self._find(at, request, start, chosen=chosen)

    def _first_available(self, at: _Position) -> bool:
        """The first alternative that works, or, with all of them too large, the way back."""
        exceeded = True
        for alternative in range(self._alternatives[at.claim, at.request]):
            try:
                if self._allocate_one(at._replace(alternative=alternative), chosen=True):
                    return True
                exceeded = False
            except _LimitExceededError:
                continue
        if exceeded:
            raise _LimitExceededError
        return False

    def _find(self, at: _Position, request: _Request, start: tuple[int, int, int], *, chosen: bool) -> bool:
        """Try one device after the other, from a place on."""
        key = at[:3]
        for where, candidate in self._candidates(start):
            if self._busy(at, request, candidate.id):
                continue
            if not self._selectable(key, request, candidate) or not self._fits_capacity(request, candidate):
                continue
            if self._take(at, request, candidate, where, must=False, chosen=chosen):
                return True
        return False

    def _candidates(self, start: tuple[int, int, int]) -> Iterator[tuple[tuple[int, int, int], _Candidate]]:
        """Devices from a place on, each with the place after it; a pool that may not be used has none."""
        for pool_index in range(start[0], len(self._pools)):
            pool = self._pools[pool_index]
            if pool.invalid_reason and not self._features.dra_pools_as_a_whole:
                raise AllocationError(f"pool {pool.id.pool} is invalid: {pool.invalid_reason}")
            first_slice = start[1] if pool_index == start[0] else 0
            for slice_index in range(first_slice, len(pool.slices)):
                item = pool.slices[slice_index]
                first = start[2] if (pool_index, slice_index) == start[:2] else 0
                for device_index in range(first, len(item.spec.devices)):
                    device = item.spec.devices[device_index]
                    candidate = _Candidate(DeviceID(*pool.id, device.name), device, item, pool)
                    yield (pool_index, slice_index, device_index + 1), candidate

    def _take(
        self,
        at: _Position,
        request: _Request,
        found: _Candidate,
        after: tuple[int, int, int],
        *,
        must: bool,
        chosen: bool,
    ) -> bool:
        """Take a device and go on; give it back when there is no way on."""
        taken = self._reserve(at, request, found, must=must)
        if taken is None:
            return False
        done, onward = False, at._replace(device=at.device + 1)
        if not self._features.dra_search_goes_on:
            # Upstream forgets which alternative it is at once it takes all devices.
            after, onward = (0, 0, 0), onward._replace(alternative=0 if must else at.alternative)
        try:
            done = self._allocate_one(onward, chosen=chosen, start=after)
        finally:
            if not done:
                self._give_back(at, request, found, taken)
        return done

    def _busy(self, at: _Position, request: _Request, device: DeviceID) -> bool:
        holders = self._allocating.get(device, ())
        if request.admin_access:
            return at.claim in holders
        return device in self._allocator.state.devices or bool(holders)

    def _selectable(self, key: tuple[int, int, int], request: _Request, found: _Candidate) -> bool:
        """Whether class and request select the device, and it reaches the node (isSelectable)."""
        if found.device.binding_conditions and not self._features.dra_device_binding_conditions:
            return False
        cached = self._matches.get((found.id, key))
        if cached is None:
            cached = self._selected(key[0], request, found) and (
                not found.slice.spec.per_device_node_selection
                or self._allocator.slices.device_reaches(found.device, self._row)
            )
            self._matches[found.id, key] = cached
        return cached

    def _selected(self, claim: int, request: _Request, found: _Candidate) -> bool:
        device_class = request.device_class
        groups = (
            (f"class {device_class.metadata.name}", device_class.spec.selectors),
            (f"claim {self._claims[claim].key}", request.selectors),
        )
        for whose, selectors in groups:
            for number, selector in enumerate(selectors):
                expression = selector.cel.expression if selector.cel else ""
                try:
                    if not self._allocator.selectors.matches(expression, found.id.driver, found.device):
                        return False
                except AllocationError as error:
                    raise self._selector_error(f"{whose}: selector #{number}", found, error) from error
                except UnknownAnswer as error:
                    raise UnknownAnswer(f"{whose}: selector #{number}: {error}") from error
        return True

    def _selector_error(self, which: str, found: _Candidate, error: AllocationError) -> AllocationError:
        if not self._features.dra_errors_name_device:
            return AllocationError(f"{which}: CEL runtime error: {error}")
        hint = MISSING_KEY_HINT if "no such key:" in str(error) else ""
        return AllocationError(f"{which} on device {found.id}: CEL runtime error: {error}{hint}")

    def _may_fit(self, request: _Request, found: _Candidate) -> bool:
        """Whether a device's capacity, or until 1.36 what is left of it, is as much as a request asks for."""
        if not (self._features.dra_all_by_whole_capacity and self._features.dra_consumable_capacity):
            return self._fits_capacity(request, found)
        return fits_capacity(found.device, request.capacity, {}, {}, features=self._features)

    def _fits_capacity(self, request: _Request, found: _Candidate) -> bool:
        if not self._features.dra_consumable_capacity:
            return True
        consumed = self._allocator.state.capacity.get(found.id, {})
        allocating = self._capacity.get(found.id, {})
        return fits_capacity(found.device, request.capacity, consumed, allocating, features=self._features)

    def _reserve(self, at: _Position, request: _Request, found: _Candidate, *, must: bool) -> _Taken | None:
        """Mark a device as taken; None when it cannot be (allocateDevice)."""
        device, shared = found.device, self._shared(found.device)
        busy = self._busy(at, request, found.id)
        if busy and not (shared and request.admin_access):
            return None
        if device.consumes_counters and not self._features.dra_partitionable_devices:
            return None
        known = shared and (found.id in self._allocator.state.capacity or found.id in self._capacity)
        counted = bool(device.consumes_counters) and not known
        if counted and not self._reserve_counters(found):
            return None
        joined: list[Constraint] = []
        tainted = self._features.dra_device_taints and _tainted(device.taints, request.tolerations)
        if tainted or not self._join(at, request, found, joined, must=must):
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

    def _join(
        self, at: _Position, request: _Request, found: _Candidate, joined: list[Constraint], *, must: bool
    ) -> bool:
        for constraint in self._constraints[at.claim]:
            if not constraint.add(*_names(request), found.id.driver, found.device):
                if must:
                    self._refuse(at, request, found)
                return False
            joined.append(constraint)
        return True

    def _refuse(self, at: _Position, request: _Request, found: _Candidate) -> None:
        problem = "because a claim constraint would not be satisfied"
        where = f"claim {self._claims[at.claim].key}, request {request.name}"
        raise AllocationError(f"{where}: cannot add device {found.id} {problem}")

    def _give_back(self, at: _Position, request: _Request, found: _Candidate, taken: _Taken) -> None:
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

    def _undo(self, request: _Request, found: _Candidate, *, counted: bool, joined: Sequence[Constraint]) -> None:
        for constraint in reversed(joined):
            constraint.remove(*_names(request))
        if counted:
            _change(self._counters[self._allocator.counters_of(found.pool)], found.device, -1)

    def _reserve_counters(self, found: _Candidate) -> bool:
        """Whether the pool's counters allow the device; if so they are taken (checkAvailableCounters).

        All counters of the pool are compared, those that the device does not consume, too.
        """
        available = self._allocator.available_counters(found.pool)
        taken = self._counters.setdefault(self._allocator.counters_of(found.pool), {})
        for consumption in found.device.consumes_counters:
            counters = taken.setdefault(consumption.counter_set, {})
            add_consumed(counters, {name: counter.value for name, counter in consumption.counters.items()})
        for name, counters in available.items():
            held = taken.get(name, {})
            for counter, left in counters.items():
                if left < held.get(counter, _NOTHING):
                    _change(taken, found.device, -1)
                    return False
        return True


class _Taken(NamedTuple):
    """What taking a device changed."""

    counted: bool
    joined: tuple[Constraint, ...]
    consumed: Consumed
    existed: bool


_NOTHING: Final = Quantity(0)


def _names(request: _Request) -> tuple[str, str]:
    """The request's name and the subrequest's, as constraints name them."""
    return (request.parent, request.name) if request.parent else (request.name, "")


def _change(counters: Counters, device: Device, sign: int) -> None:
    """Add to counters, or take from them, what a device consumes; others are passed over."""
    for consumption in device.consumes_counters:
        held = counters.get(consumption.counter_set, {})
        for name, counter in consumption.counters.items():
            if name in held:
                held[name] = held[name] + counter.value if sign > 0 else held[name] - counter.value


def _tainted(taints: Sequence[DeviceTaint], tolerations: Sequence[DeviceToleration]) -> bool:
    """Whether a taint keeps the request away (taintPreventsAllocation)."""
    return any(taint.effect in _EFFECTS and not tolerations_tolerate_taint(tolerations, taint) for taint in taints)
