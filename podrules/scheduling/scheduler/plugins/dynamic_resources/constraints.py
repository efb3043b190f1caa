"""What limits the devices of a claim: constraints among them, capacity that claims share, counters of a pool.

    matchAttribute      all devices have the attribute with the same value
    distinctAttribute   all devices have the attribute, each with another value; upstream keeps one value a request, the
                        last, so that devices of the same request are compared with the last one only

Source: k8s.io/dynamic-resource-allocation/structured/internal/incubating at v0.36.3 (allocator_incubating.go,
constraint.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from podrules.api.features import REFERENCE, Features
from podrules.api.model.quantity import Quantity, QuantityFormat
from podrules.api.model.resource import (
    CapacityRequestPolicy,
    CapacityRequirements,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceConstraint,
)
from podrules.scheduling.scheduler.plugins.dynamic_resources.pools import (
    AllocatedState,
    DeviceCandidate,
    DeviceID,
    Pool,
    PoolID,
)


class Constraint(Protocol):
    """A check that runs before a device is taken, and is notified when it is returned."""

    def add(self, request: str, sub_request: str, driver: str, device: Device) -> bool:
        """Whether the device may join; if so it has joined."""
        ...

    def remove(self, request: str, sub_request: str) -> None:
        """A device that joined leaves again."""
        ...


def make_constraint(
    constraint: DeviceConstraint, *, distinct: bool = True, features: Features = REFERENCE
) -> Constraint | None:
    """The constraint at work; None when it is of no known kind, as distinctAttribute is unless ``distinct``."""
    requests = frozenset(constraint.requests)
    if constraint.match_attribute is not None:
        return MatchAttribute(requests, constraint.match_attribute)
    if constraint.distinct_attribute is not None and distinct:
        return DistinctAttribute(requests, constraint.distinct_attribute, features)
    return None


class MatchAttribute:
    """Devices share the value of an attribute (matchAttributeConstraint)."""

    def __init__(self, requests: frozenset[str], name: str) -> None:
        self._requests = requests
        self._name = name
        self._value: DeviceAttribute | None = None
        self._devices = 0

    def add(self, request: str, sub_request: str, driver: str, device: Device) -> bool:
        """Whether the device may join; if so it has joined."""
        if not _applies(self._requests, request, sub_request):
            return True
        value = _lookup(device, driver, self._name)
        if value is None or (self._devices and value != self._value):
            return False
        if not self._devices:
            self._value = value
        self._devices += 1
        return True

    def remove(self, request: str, sub_request: str) -> None:
        """A device that joined leaves again."""
        if _applies(self._requests, request, sub_request):
            self._devices -= 1


class DistinctAttribute:
    """No two devices share the value of an attribute (distinctAttributeConstraint)."""

    def __init__(self, requests: frozenset[str], name: str, features: Features) -> None:
        self._requests = requests
        self._name = name
        self._by_value = features.dra_distinct_by_value
        self._by_device = features.dra_distinct_by_device
        self._values: dict[str | int, DeviceAttribute] = {}
        self._devices = 0

    def add(self, request: str, sub_request: str, driver: str, device: Device) -> bool:
        """Whether the device may join; if so it has joined."""
        if not _applies(self._requests, request, sub_request):
            return True
        value = _lookup(device, driver, self._name)
        if value is None or (self._by_value and value in self._values.values()):
            return False
        self._values[self._devices if self._by_device else request] = value
        self._devices += 1
        return True

    def remove(self, request: str, sub_request: str) -> None:
        """The device that joined last leaves again; with it the value that it, or its request, is remembered by."""
        if _applies(self._requests, request, sub_request):
            self._devices -= 1
            self._values.pop(self._devices if self._by_device else request, None)


def _applies(requests: frozenset[str], request: str, sub_request: str) -> bool:
    return not requests or request in requests or bool(sub_request and f"{request}/{sub_request}" in requests)


def _lookup(device: Device, driver: str, name: str) -> DeviceAttribute | None:
    """An attribute by its full name; attributes of the driver's own domain may lack it (lookupAttribute)."""
    found = device.attributes.get(name)
    if found is not None:
        return found
    domain, slash, rest = name.partition("/")
    return device.attributes.get(rest) if slash and domain == driver else None


# Devices that several claims share by capacity.
#
#     asked for      request, else the policy's default, else the whole capacity; rounded up to what the policy allows
#     fits           for each capacity of the device:  consumed + being allocated + asked for <= capacity
#
# Source: consumable_capacity.go there and structured/schedulerapi/types.go at v0.36.3.

Consumed = dict[str, Quantity]


def add_consumed(total: Consumed, more: Mapping[str, Quantity]) -> None:
    """Add amounts, name by name (ConsumedCapacity.Add)."""
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def subtract_consumed(total: Consumed, less: Mapping[str, Quantity]) -> None:
    """Take amounts away again (ConsumedCapacity.Sub)."""
    for name, amount in less.items():
        if name in total:
            total[name] -= amount


def fits_capacity(
    device: Device,
    wanted: CapacityRequirements | None,
    consumed: Mapping[str, Quantity],
    allocating: Mapping[str, Quantity],
    *,
    features: Features = REFERENCE,
) -> bool:
    """Whether the device has all requested capacity (CmpRequestOverCapacity).

    A request for a capacity that the device does not have makes it unusable, too.
    """
    requests = wanted.requests if wanted else {}
    if not (requests or consumed or allocating) and all(
        held.request_policy is None for held in device.capacity.values()
    ):
        return True  # the whole of each capacity is asked for, and it is there
    if not all(name in device.capacity for name in requests):
        return False
    for name, capacity in device.capacity.items():
        amount = _rounded(requests.get(name), capacity, features)
        if not _allows(capacity.request_policy, amount):
            return False
        total = consumed[name] + amount if name in consumed else amount
        if name in allocating:
            total += allocating[name]
        if total > capacity.value:
            return False
    return True


def consumed_capacity(
    device: Device, wanted: CapacityRequirements | None, *, features: Features = REFERENCE
) -> Consumed:
    """The amount that an allocation takes of each capacity (GetConsumedCapacityFromRequest)."""
    requests = wanted.requests if wanted else {}
    return {name: _rounded(requests.get(name), capacity, features) for name, capacity in device.capacity.items()}


def _rounded(wanted: Quantity | None, capacity: DeviceCapacity, features: Features) -> Quantity:
    """The requested amount, as the policy allows it (calculateConsumedCapacity)."""
    policy = capacity.request_policy
    if wanted is None:
        return policy.default if policy and policy.default is not None else capacity.value
    if policy is None:
        return wanted
    if policy.valid_range and policy.valid_range.min is not None:
        # The next step at or above the requested amount (roundUpRange).
        least, step = policy.valid_range.min, policy.valid_range.step
        if wanted < least:
            return least
        if step is None:
            return wanted
        form = step.format if features.dra_rounded_like_step else QuantityFormat.BINARY_SI
        steps = -(-(wanted.value - least.value) // step.value)
        return Quantity(least.value + step.value * steps, format=form)
    return next((value for value in policy.valid_values if wanted <= value), wanted)


def _allows(policy: CapacityRequestPolicy | None, amount: Quantity) -> bool:
    """The reverse of violatesPolicy."""
    if policy is None or (policy.default is not None and amount == policy.default):
        return True
    allowed = policy.valid_range
    if allowed is None:
        return not policy.valid_values or amount in policy.valid_values
    if allowed.max is not None and amount > allowed.max:
        return False
    least = allowed.min.value if allowed.min is not None else 0
    return allowed.step is None or (amount.value - least) % allowed.step.value == 0


# Counters that the devices of a pool take from: a partition of a card leaves less for the others.
#
#     available    what devices in use leave of the pool's counters, on whatever node they are; may be less than nothing
#     a device     may be taken if no counter of its pool is exceeded, those that it does not consume included
#     key          until 1.36 pools of the same name share counters, of whatever driver they are
#
# Source: allocator_incubating.go there (checkAvailableCounters, deallocateCountersForDevice), and at v0.37.1; KEP-4815.

_Counters = dict[str, dict[str, Quantity]]
"""By counter set and counter."""

_NOTHING: Final = Quantity(0)


class AvailableCounters:
    """The remaining counters beside devices in use, computed once for a pool, as upstream does."""

    def __init__(self, state: AllocatedState, features: Features) -> None:
        """Take what is in use."""
        self._state = state
        self._by_driver = features.dra_counters_by_driver
        self._left: dict[PoolID, _Counters] = {}

    def of(self, pool: Pool) -> _Counters:
        """The pool's counters that allocated devices leave; may be negative."""
        key = self.key(pool)
        if key not in self._left:
            left = {
                name: {counter: held.value for counter, held in counter_set.counters.items()}
                for name, counter_set in pool.counter_sets.items()
            }
            for item in (*pool.slices, *pool.elsewhere):
                for device in item.spec.devices:
                    if self._state.in_use(DeviceID(item.spec.driver, item.spec.pool.name, device.name)):
                        _change(left, device, -1)
            self._left[key] = left
        return self._left[key]

    def key(self, pool: Pool) -> PoolID:
        """The pools that have the same key share counters."""
        return pool.id if self._by_driver else PoolID("", pool.id.pool)


class TakenCounters:
    """The counters that one search has taken so far."""

    def __init__(self, available: AvailableCounters) -> None:
        """Start with nothing taken."""
        self._available = available
        self._taken: dict[PoolID, _Counters] = {}

    def reserve(self, found: DeviceCandidate) -> bool:
        """Whether the pool's counters allow the device; if so they are taken (checkAvailableCounters).

        All counters of the pool are compared, those that the device does not consume, too.
        """
        available = self._available.of(found.pool)
        taken = self._taken.setdefault(self._available.key(found.pool), {})
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

    def give_back(self, found: DeviceCandidate) -> None:
        """Undo `reserve`."""
        _change(self._taken[self._available.key(found.pool)], found.device, -1)


def _change(counters: _Counters, device: Device, sign: int) -> None:
    """Add a device's consumption to counters, or subtract it; other counters are ignored."""
    for consumption in device.consumes_counters:
        held = counters.get(consumption.counter_set, {})
        for name, counter in consumption.counters.items():
            if name in held:
                held[name] = held[name] + counter.value if sign > 0 else held[name] - counter.value
