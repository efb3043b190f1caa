"""The usage of a node as data, the basis of every verdict about the node."""

from __future__ import annotations

from msgspec import Struct

from podrules.node.eviction.thresholds import Signal
from podrules.node.pressure.node import Headroom, ThresholdSource
from podrules.node.pressure.usage import UsageSource


class ThresholdReport(Struct, frozen=True, rename="camel"):
    """An eviction threshold and the amount that is left."""

    signal: Signal
    hard: bool
    grace_period_seconds: float
    """For how long it must be met; 0 for hard ones."""
    quantity: str
    """The threshold is met if less than this is left."""
    available: str
    headroom: str
    """The amount above the threshold; negative if it is met."""
    headroom_percent: int
    """Percent of the capacity, rounded down."""
    met: bool


class OverLimitReport(Struct, frozen=True, rename="camel"):
    """A pod above a storage limit of its own."""

    namespace: str
    pod: str
    field: str
    """The limit's."""
    usage: int
    """Bytes."""
    limit: int
    """Bytes, as usage."""
    message: str


class EvictedPod(Struct, frozen=True):
    """A pod that the kubelet may evict."""

    namespace: str
    pod: str


class NearLimit(Struct, frozen=True, rename="camel"):
    """A container near its own memory limit."""

    namespace: str
    pod: str
    container: str
    working_set: int
    """Bytes."""
    limit: int
    """Bytes."""


class NodeUse(Struct, frozen=True, rename="camel"):
    """How close a node is to an eviction, and which pod or container its kubelet and kernel select next."""

    usage_source: UsageSource
    threshold_source: ThresholdSource
    met: ThresholdReport | None
    """The threshold that is met: of several, one of memory, then a hard one; None: none, or usage is unknown."""
    evicted_first: EvictedPod | None
    """For the threshold that is met, else for memory if it has one, else for `other_ahead`; None: none, or unknown."""
    unmeasured: int
    """Pods without data in the metrics API: each may be evicted before `evicted_first`."""
    memory_ahead: ThresholdReport | None
    """The nearest threshold of memory that is not met; None: none, or the amount left is unknown."""
    other_ahead: ThresholdReport | None
    """The same for disks, inodes and process ids."""
    over_limits: tuple[OverLimitReport, ...]
    """Pods that the kubelet evicts in its next pass."""
    near_limits: tuple[NearLimit, ...]
    """The nearest first."""


def threshold_report(headroom: Headroom) -> ThresholdReport:
    """A threshold, with quantities as the API writes them."""
    threshold, capacity = headroom.threshold, headroom.capacity.value
    return ThresholdReport(
        signal=threshold.signal,
        hard=threshold.is_hard,
        grace_period_seconds=threshold.grace_period.total_seconds(),
        quantity=str(headroom.quantity),
        available=str(headroom.available),
        headroom=str(headroom.left),
        headroom_percent=100 * headroom.left.value // capacity if capacity else 0,
        met=headroom.met,
    )
