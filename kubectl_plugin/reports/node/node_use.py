"""The usage of a node as data. Every verdict about the node is made from it."""

from __future__ import annotations

from msgspec import Struct

from podrules.node.eviction.signals import Signal
from podrules.node.pressure.node import Headroom, ThresholdSource
from podrules.node.pressure.usage import UsageSource

__all__ = ["EvictedPod", "NearLimit", "NodeUse", "OverLimitReport", "ThresholdReport", "threshold_report"]


class ThresholdReport(Struct, frozen=True, rename="camel"):
    """An eviction threshold and what is left."""

    signal: Signal
    hard: bool
    grace_period_seconds: float
    """For how long it must be met; 0 for hard ones."""
    quantity: str
    """Less than this must be left."""
    available: str
    headroom: str
    """What is left above it; negative when it is met."""
    headroom_percent: int
    """Percent of the capacity, rounded down."""
    met: bool


class OverLimitReport(Struct, frozen=True, rename="camel"):
    """A pod over a storage limit of its own."""

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
    """How far a node is from an eviction, and whom its kubelet and kernel take next."""

    usage_source: UsageSource
    threshold_source: ThresholdSource
    met: ThresholdReport | None
    """The threshold that is met, of several one of memory, then a hard one; None: none, or usage is not known."""
    evicted_first: EvictedPod | None
    """For the threshold that is met, else for memory if it has one, else for `other_ahead`; None: none, or unknown."""
    unmeasured: int
    """Pods that the metrics API lacks: each may go before `evicted_first`."""
    memory_ahead: ThresholdReport | None
    """Of memory the nearest that is not met; None: there is none, or what is left is not known."""
    other_ahead: ThresholdReport | None
    """The same of disks, inodes and process ids."""
    over_limits: tuple[OverLimitReport, ...]
    """Pods that go in the kubelet's next pass."""
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
