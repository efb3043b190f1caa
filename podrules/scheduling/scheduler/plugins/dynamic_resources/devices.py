"""The devices that a node offers, in the order in which they are tried, and what claims hold of them.

    order        pools in their order, their slices in theirs, a slice's devices as the driver lists them
    in use       a claim holds the device alone, a part of it, or some of its capacity

Until 1.34 an invalid pool is found out when its turn comes: the search ends there with an error.

Source: k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go and
structured/schedulerapi/types.go at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from podrules.api.model.quantity import Quantity
from podrules.api.model.resource import Device, ResourceSlice
from podrules.scheduling.scheduler.plugins.dynamic_resources.pools import Pool
from podrules.scheduling.scheduler.plugins.dynamic_resources.selectors import AllocationError

Place = tuple[int, int, int]
"""Where a device stands: the numbers of pool, slice and device."""


class DeviceID(NamedTuple):
    """A device's name is unique within its pool."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


class AllocatedState(NamedTuple):
    """The devices that all claims of the cluster hold."""

    devices: frozenset[DeviceID]
    """Held by one claim alone."""
    shared: frozenset[DeviceID]
    """Held in part."""
    capacity: Mapping[DeviceID, Mapping[str, Quantity]]
    """How much of the shared ones is taken."""

    def in_use(self, device: DeviceID) -> bool:
        """Whether a claim holds the device or a part of it (IsDeviceAllocated)."""
        return device in self.devices or device in self.shared or device in self.capacity


class AllocatedDevice(Struct, frozen=True):
    """A device picked for a request."""

    request: str
    """The request's name, or request and subrequest with a slash between them."""
    id: DeviceID
    admin_access: bool = False
    consumed: Mapping[str, Quantity] = {}
    """What is taken of a shared device's capacity."""


class DeviceCandidate(NamedTuple):
    """A device that a node offers."""

    id: DeviceID
    device: Device
    slice: ResourceSlice
    pool: Pool


def devices_of(pool: Pool) -> Iterator[DeviceCandidate]:
    """All devices of a pool."""
    for item in pool.slices:
        for device in item.spec.devices:
            yield DeviceCandidate(DeviceID(*pool.id, device.name), device, item, pool)


def candidates(pools: Sequence[Pool], start: Place, *, refuse_invalid: bool) -> Iterator[tuple[Place, DeviceCandidate]]:
    """Devices from a place on, each with the place after it; a pool that may not be used has none.

    Args:
        pools: Those of the node.
        start: The first place.
        refuse_invalid: Whether an invalid pool is an error (until 1.34).

    Raises:
        AllocationError: a pool is invalid.
    """
    for pool_index in range(start[0], len(pools)):
        pool = pools[pool_index]
        if pool.invalid_reason and refuse_invalid:
            raise AllocationError(f"pool {pool.id.pool} is invalid: {pool.invalid_reason}")
        first_slice = start[1] if pool_index == start[0] else 0
        for slice_index in range(first_slice, len(pool.slices)):
            item = pool.slices[slice_index]
            first = start[2] if (pool_index, slice_index) == start[:2] else 0
            for device_index in range(first, len(item.spec.devices)):
                device = item.spec.devices[device_index]
                candidate = DeviceCandidate(DeviceID(*pool.id, device.name), device, item, pool)
                yield (pool_index, slice_index, device_index + 1), candidate
