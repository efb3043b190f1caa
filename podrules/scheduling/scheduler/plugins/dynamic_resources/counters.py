"""Counters that the devices of a pool take from: a partition of a card leaves less for the others.

    available    what devices in use leave of the pool's counters, on whatever node they are; may be less than nothing
    a device     may be taken if no counter of its pool is exceeded, those that it does not consume included
    key          until 1.36 pools of the same name share counters, of whatever driver they are

Source: k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go
(checkAvailableCounters, deallocateCountersForDevice) at v0.36.3 and v0.37.1; KEP-4815.
"""

from __future__ import annotations

from typing import Final

from podrules.api.features import Features
from podrules.api.model.quantity import Quantity
from podrules.api.model.resource import Device
from podrules.scheduling.scheduler.plugins.dynamic_resources.capacity import add_consumed
from podrules.scheduling.scheduler.plugins.dynamic_resources.pools import (
    AllocatedState,
    DeviceCandidate,
    DeviceID,
    Pool,
    PoolID,
)

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
