"""The pools of devices that a node can reach, and the devices in them.

    slice         reaches a node by name, by node selector, on all nodes, or device by device; until 1.36 one with
                  counters reaches all
    generation    only the newest of a pool counts
    incomplete    fewer slices than the pool says it has: nothing is taken from it, and "all devices" cannot be answered
    invalid       a device name twice, a counter set twice, or a counter that does not exist: likewise
    order         driver, then pool name; pools with binding conditions last; slices by name

Without the gate DRAPartitionableDevices, slices with counters or with devices that choose nodes are ignored.

Source: k8s.io/dynamic-resource-allocation/structured: internal/incubating/pools_incubating.go at v0.36.3 and v0.37.1,
internal/incubating/allocator_incubating.go and schedulerapi/types.go at v0.36.3.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.model.quantity import Quantity
from podrules.api.model.resource import CounterSet, Device, ResourceSlice
from podrules.api.model.selectors import NodeSelector
from podrules.scheduling.scheduler.framework.node_table import Nodes
from podrules.scheduling.scheduler.plugins.node_selector import match_node_selector


class AllocationError(Exception):
    """The claim, its class or an expression is at fault: upstream aborts scheduling with this text."""


class InvalidPoolsError(Exception):
    """Nothing could be allocated, and a pool could not be used (ErrFailedAllocationOnNode)."""


class UnknownAnswer(Exception):
    """Upstream would have an answer that these rules cannot work out; the text says what is missing."""


class PoolID(NamedTuple):
    """A pool belongs to a driver."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class Pool(Struct, frozen=True):
    """A pool as one node sees it."""

    id: PoolID
    incomplete: bool = False
    invalid_reason: str = ""
    slices: tuple[ResourceSlice, ...] = ()
    """Slices with devices that reach the node; none of a pool that is incomplete or invalid."""
    elsewhere: tuple[ResourceSlice, ...] = ()
    """The pool's other slices with devices: they share its counters."""
    counter_sets: Mapping[str, CounterSet] = {}


class Slices:
    """All slices, found by node and by pool. Made once for a pod."""

    def __init__(
        self,
        nodes: Nodes,
        slices: Iterable[ResourceSlice],
        *,
        partitionable: bool = True,
        counters_everywhere: bool = False,
        as_a_whole: bool = True,
    ) -> None:
        """Sort the slices of the cluster into those of one node and those that may reach several.

        ``partitionable`` is the gate DRAPartitionableDevices. In 1.35 and 1.36 slices with counters reach every node
        (``counters_everywhere``); since 1.35 slices that do not reach a node count for its pools (``as_a_whole``).
        """
        self._nodes = nodes
        self._partitionable = partitionable
        self._counters_everywhere = counters_everywhere
        self._as_a_whole = as_a_whole
        self._own: dict[str, list[ResourceSlice]] = defaultdict(list)
        self._shared: list[ResourceSlice] = []
        self._by_pool: dict[PoolID, list[ResourceSlice]] = defaultdict(list)
        self._masks: dict[int, NDArray[np.bool_]] = {}
        self._pools: dict[tuple[int, ...], tuple[Pool, ...]] = {}
        for item in slices:
            # A pool's slices are counted whether or not they are used.
            self._by_pool[_pool_id(item)].append(item)
            if not partitionable and (
                (item.spec.shared_counters and as_a_whole) or item.spec.per_device_node_selection
            ):
                continue
            if item.spec.node_name and not (counters_everywhere and item.spec.shared_counters):
                self._own[item.spec.node_name].append(item)
            else:
                self._shared.append(item)

    def relevant(self, row: int) -> list[ResourceSlice]:
        """The slices that reach a node."""
        found = [*self._own.get(self._nodes.names[row], ())]
        for item in self._shared:
            spec = item.spec
            if spec.shared_counters and self._counters_everywhere:
                reaches = True
            elif spec.node_name or spec.all_nodes or spec.node_selector is not None:
                reaches = self._matches(row, spec.node_name, spec.node_selector, all_nodes=spec.all_nodes)
            else:
                reaches = spec.per_device_node_selection and any(
                    self.device_reaches(device, row) for device in spec.devices
                )
            if reaches:
                found.append(item)
        return found

    def pools(self, slices: Sequence[ResourceSlice]) -> tuple[Pool, ...]:
        """The pools of the slices that reach a node, in the order in which devices are tried (GatherPools)."""
        key = tuple(map(id, slices))
        if key in self._pools:
            return self._pools[key]
        newest: dict[PoolID, list[ResourceSlice]] = {}
        for item in slices:
            found = newest.setdefault(_pool_id(item), [item])
            generation = found[0].spec.pool.generation
            if item.spec.pool.generation > generation:
                newest[_pool_id(item)] = [item]
            elif item.spec.pool.generation == generation and item is not found[0]:
                found.append(item)
        pools = [pool for pool_id, found in newest.items() if (pool := self._pool(pool_id, found)) is not None]
        ordered = tuple(sorted(pools, key=lambda pool: (any(map(_binds, pool.slices)), pool.id)))
        self._pools[key] = ordered
        return ordered

    def device_reaches(self, device: Device, row: int) -> bool:
        """Whether a device with a node selection of its own reaches a node."""
        return self._matches(row, device.node_name, device.node_selector, all_nodes=device.all_nodes)

    def _matches(self, row: int, name: str | None, selector: NodeSelector | None, *, all_nodes: bool) -> bool:
        """The node selection of a slice or a device (NodeMatches)."""
        if name:
            return self._nodes.names[row] == name
        if all_nodes or selector is None:
            return all_nodes
        if id(selector) not in self._masks:
            self._masks[id(selector)] = match_node_selector(self._nodes, selector)
        return bool(self._masks[id(selector)][row])

    def _pool(self, pool_id: PoolID, slices: list[ResourceSlice]) -> Pool | None:
        """One pool; None when a newer generation exists elsewhere."""
        wanted = slices[0].spec.pool.resource_slice_count
        if not self._as_a_whole:
            # Until 1.34 an incomplete pool is used, and its slices with binding conditions come last.
            ordered = tuple(sorted(slices, key=lambda item: (_binds(item), item.metadata.name)))
            return Pool(pool_id, len(slices) != wanted, _duplicate_device(ordered), ordered)
        if len(slices) == wanted:
            return _build(pool_id, slices, slices, partitionable=self._partitionable)
        generation = slices[0].spec.pool.generation
        if any(item.spec.pool.generation > generation for item in self._by_pool[pool_id]):
            return None
        everywhere = [item for item in self._by_pool[pool_id] if item.spec.pool.generation == generation]
        if len(everywhere) != wanted:
            return Pool(pool_id, incomplete=True)
        return _build(pool_id, slices, everywhere, partitionable=self._partitionable)


def _pool_id(item: ResourceSlice) -> PoolID:
    return PoolID(item.spec.driver, item.spec.pool.name)


def _binds(item: ResourceSlice) -> bool:
    return any(device.binding_conditions is not None for device in item.spec.devices)


def _build(
    pool_id: PoolID, slices: list[ResourceSlice], everywhere: list[ResourceSlice], *, partitionable: bool
) -> Pool:
    """A complete pool, checked (buildPool)."""
    slices = sorted(slices, key=lambda item: item.metadata.name)
    with_devices = tuple(item for item in slices if not item.spec.shared_counters)
    names = {item.metadata.name for item in slices}
    others = [item for item in everywhere if item.metadata.name not in names]
    elsewhere = tuple(item for item in others if not item.spec.shared_counters)
    counter_sets: dict[str, CounterSet] = {}
    problem = _duplicate_device(with_devices)
    if not partitionable:
        return Pool(pool_id, invalid_reason=problem) if problem else Pool(pool_id, slices=with_devices)
    for item in (*slices, *others):
        for counter_set in item.spec.shared_counters:
            if counter_set.name in counter_sets:
                problem = problem or f"duplicate counter set name {counter_set.name}"
            counter_sets[counter_set.name] = counter_set
    problem = problem or _missing_counter(counter_sets, slices) or _missing_counter(counter_sets, elsewhere)
    if problem:
        return Pool(pool_id, invalid_reason=problem)
    return Pool(pool_id, slices=with_devices, elsewhere=elsewhere, counter_sets=counter_sets)


def _duplicate_device(slices: Iterable[ResourceSlice]) -> str:
    seen: set[str] = set()
    for item in slices:
        for device in item.spec.devices:
            if device.name in seen:
                return f"duplicate device name {device.name}"
            seen.add(device.name)
    return ""


def _missing_counter(counter_sets: Mapping[str, CounterSet], slices: Iterable[ResourceSlice]) -> str:
    """The first counter set or counter that a device consumes and that does not exist."""
    for item in slices:
        for device in item.spec.devices:
            for consumption in device.consumes_counters:
                counter_set = counter_sets.get(consumption.counter_set)
                if counter_set is None:
                    return f"counter set {consumption.counter_set} not found"
                for name in consumption.counters:
                    if name not in counter_set.counters:
                        return f"counter {name} not found in counter set {counter_set.name}"
    return ""


# The devices that a node offers, in the order in which they are tried, and what claims hold of them.
#
#     order        pools in their order, their slices in theirs, a slice's devices as the driver lists them
#     in use       a claim holds the device alone, a part of it, or some of its capacity
#
# Until 1.34 an invalid pool is found out when its turn comes: the search ends there with an error.

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

    Raises:
        AllocationError: a pool is invalid, and ``refuse_invalid`` (until 1.34).
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
