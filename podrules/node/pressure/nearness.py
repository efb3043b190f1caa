"""How near a node is to an eviction, and a container to its own memory limit.

The kubelet checks once in 10 s (monitoringInterval, pkg/kubelet/kubelet.go at v1.36.3), so the amount above a threshold
has to last at least that long. A share of the capacity expresses it in the same way for every signal.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

NEAR_HEADROOM_PERCENT: Final = 10
"""Percent of the capacity: with less left, one growing pod causes the eviction."""
CLOSE_HEADROOM_PERCENT: Final = 3
"""Percent of the capacity: 2 GiB of 64 GiB, which a process can fill between two checks of the kubelet."""
NEAR_LIMIT_PERCENT: Final = 95
"""Percent of a container's own memory limit: from this value its verdict, and that of its node, mention it."""


class Nearness(Enum):
    """How near a signal is to its threshold."""

    FAR = "Far"
    NEAR = "Near"
    CLOSE = "Close"
    MET = "Met"


def headroom_nearness(percent: int, *, met: bool) -> Nearness:
    """How near a threshold is.

    Args:
        percent: The percentage of the capacity that is left above it.
        met: Whether less is left than the threshold requires.
    """
    if met:
        return Nearness.MET
    if percent < CLOSE_HEADROOM_PERCENT:
        return Nearness.CLOSE
    return Nearness.NEAR if percent < NEAR_HEADROOM_PERCENT else Nearness.FAR


def limit_percent(used: int, limit: int) -> int:
    """The used percentage of a limit, rounded down; both in the same unit."""
    return 100 * used // limit if limit else 0


def is_near_limit(used: int | None, limit: int) -> bool:
    """Whether a container is near its limit; False if its usage is not measured."""
    return used is not None and limit_percent(used, limit) >= NEAR_LIMIT_PERCENT
