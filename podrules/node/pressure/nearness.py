"""How near a node is to an eviction, and a container to its own memory limit.

The kubelet looks once in 10 s (monitoringInterval, pkg/kubelet/kubelet.go at v1.36.3), so what is left above a
threshold has to last for that long at least. Shares of the capacity say that the same way for every signal.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

__all__ = [
    "CLOSE_HEADROOM_PERCENT",
    "NEAR_HEADROOM_PERCENT",
    "NEAR_LIMIT_PERCENT",
    "Nearness",
    "headroom_nearness",
    "is_near_limit",
    "limit_percent",
]

NEAR_HEADROOM_PERCENT: Final = 10
"""Percent of the capacity: with less than that left, one pod that grows brings the eviction about."""
CLOSE_HEADROOM_PERCENT: Final = 3
"""Percent of the capacity: 2 GiB of 64 GiB, which a process fills between two looks of the kubelet."""
NEAR_LIMIT_PERCENT: Final = 95
"""Percent of a container's own memory limit: from there on its verdict, and that of its node, mention it."""


class Nearness(Enum):
    """How near what is left is to a threshold."""

    FAR = "Far"
    NEAR = "Near"
    CLOSE = "Close"
    MET = "Met"


def headroom_nearness(percent: int, *, met: bool) -> Nearness:
    """How near a threshold is.

    Args:
        percent: What is left above it, of the capacity.
        met: Whether less is left than it asks for.
    """
    if met:
        return Nearness.MET
    if percent < CLOSE_HEADROOM_PERCENT:
        return Nearness.CLOSE
    return Nearness.NEAR if percent < NEAR_HEADROOM_PERCENT else Nearness.FAR


def limit_percent(used: int, limit: int) -> int:
    """How much of a limit is used, rounded down; both in one unit."""
    return 100 * used // limit if limit else 0


def is_near_limit(used: int | None, limit: int) -> bool:
    """Whether a container that uses so much is near its limit; one that is not measured is not said to be."""
    return used is not None and limit_percent(used, limit) >= NEAR_LIMIT_PERCENT
