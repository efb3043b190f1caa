"""Eviction thresholds. Case names are those of upstream's TestParseThresholdConfig and TestAddContainerFsThresholds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from podrules.api.model.quantity import Quantity
from podrules.node.eviction.thresholds import (
    DEFAULT_EVICTION_HARD,
    Signal,
    Threshold,
    ThresholdConfigError,
    ThresholdValue,
    effective_eviction_hard,
    parse_threshold_config,
    with_container_fs,
)
from tests.podrules.node.eviction.building import configuration
from tests.table import table

MEMORY, PODS_MEMORY = Signal.MEMORY_AVAILABLE, Signal.ALLOCATABLE_MEMORY_AVAILABLE
NODE_FS, NODE_INODES = Signal.NODE_FS_AVAILABLE, Signal.NODE_FS_INODES_FREE
IMAGE_FS, IMAGE_INODES = Signal.IMAGE_FS_AVAILABLE, Signal.IMAGE_FS_INODES_FREE
CONTAINER_FS, CONTAINER_INODES = Signal.CONTAINER_FS_AVAILABLE, Signal.CONTAINER_FS_INODES_FREE
HALF_A_MINUTE = timedelta(seconds=30)
# The nearest float32, as upstream stores percentages.
FIVE, TEN, THIRTY = 0.05000000074505806, 0.10000000149011612, 0.30000001192092896


def at(text: str) -> ThresholdValue:
    return ThresholdValue(Quantity.parse(text))


def share(percentage: float) -> ThresholdValue:
    return ThresholdValue(percentage=percentage)


def hard(amount: str) -> dict[str, Any]:
    """A configuration with this hard threshold of memory."""
    return {"evictionHard": {"memory.available": amount}}


def soft(amount: str, grace: str | None = None, reclaim: str | None = None) -> dict[str, Any]:
    found = {"evictionSoft": amount, "evictionSoftGracePeriod": grace, "evictionMinimumReclaim": reclaim}
    return {field: {"memory.available": value} for field, value in found.items() if value is not None}


def _parsed(**fields: Any) -> tuple[Threshold, ...]:
    return parse_threshold_config(configuration(**{"enforceNodeAllocatable": [], "evictionHard": {}, **fields}))


@table(
    "fields, expected",
    {
        "no values": ({}, ()),
        "all memory eviction values": (
            {"enforceNodeAllocatable": ["pods"], **hard("150Mi"), **soft("300Mi", "30s", "0")},
            (
                Threshold(MEMORY, at("150Mi"), min_reclaim=at("0")),
                Threshold(MEMORY, at("300Mi"), HALF_A_MINUTE, at("0")),
                Threshold(PODS_MEMORY, at("150Mi"), min_reclaim=at("0")),
            ),
        ),
        "all memory eviction values in percentages": (
            {**hard("10%"), **soft("30%", "30s", "5%")},
            (
                Threshold(MEMORY, share(TEN), min_reclaim=share(FIVE)),
                Threshold(MEMORY, share(THIRTY), HALF_A_MINUTE, share(FIVE)),
            ),
        ),
        "disk eviction values": (
            {
                "evictionHard": {"imagefs.available": "150Mi", "nodefs.available": "100Mi"},
                "evictionSoft": {"imagefs.available": "300Mi", "nodefs.available": "200Mi"},
                "evictionSoftGracePeriod": {"imagefs.available": "30s", "nodefs.available": "30s"},
                "evictionMinimumReclaim": {"imagefs.available": "2Gi", "nodefs.available": "1Gi"},
            },
            (
                Threshold(IMAGE_FS, at("150Mi"), min_reclaim=at("2Gi")),
                Threshold(NODE_FS, at("100Mi"), min_reclaim=at("1Gi")),
                Threshold(IMAGE_FS, at("300Mi"), HALF_A_MINUTE, at("2Gi")),
                Threshold(NODE_FS, at("200Mi"), HALF_A_MINUTE, at("1Gi")),
            ),
        ),
        "inode eviction values": (
            {"evictionHard": {"imagefs.inodesFree": "150Mi"}},
            (Threshold(IMAGE_INODES, at("150Mi")),),
        ),
        "disable via 0%": ({**hard("0%"), **soft("0%")}, ()),
        "disable via 100%": ({**hard("100%"), **soft("100%")}, ()),
        "only these two spellings disable": (
            {"evictionHard": {"memory.available": "0.0%", "nodefs.available": "100.0%"}},
            (Threshold(MEMORY, share(0)), Threshold(NODE_FS, share(1))),
        ),
    },
)
def test_Q6_parse_threshold_config(fields: dict[str, Any], expected: tuple[Threshold, ...]) -> None:
    assert _parsed(**fields) == expected


@table(
    "fields, problem",
    {
        "invalid-signal": (
            {"evictionHard": {"mem.available": "150Mi"}},
            r"evictionHard\[mem.available\]: no such eviction signal; use one of: memory.available, ",
        ),
        "hard-signal-negative": (
            hard("-150Mi"),
            r"evictionHard\[memory.available\]: -150Mi is not positive; 0% means no threshold",
        ),
        "hard-signal-zero": (hard("0"), "0 is not positive"),
        "hard-signal-negative-percentage": (hard("-15%"), "-15% is not between 0% and 100%"),
        "hard-signal-percentage-greater-than-100%": (hard("150%"), "150% is not between"),
        "hard-signal-empty-eviction-value": (hard(""), r"evictionHard\[memory.available\]: '' is not a quantity"),
        "soft-signal-negative": (soft("-150Mi"), r"evictionSoft\[memory.available\]: -150Mi is not positive"),
        "valid-and-invalid-signal": (
            {"evictionHard": {"memory.available": "150Mi", "invalid.foo": "150Mi"}},
            "invalid.foo",
        ),
        "soft-no-grace-period": (soft("150Mi"), r"evictionSoftGracePeriod\[memory.available\] is missing"),
        "soft-negative-grace-period": (soft("150Mi", "-30s"), "-30s is negative"),
        "soft-grace-period-that-is-none": (soft("150Mi", "soon"), "'soon' is not a duration"),
        "negative-reclaim": ({"evictionMinimumReclaim": {"memory.available": "-300Mi"}}, "-300Mi is negative"),
        "min-reclaim-invalid-signal": (
            {"evictionMinimumReclaim": {"mem.available": "300Mi"}},
            r"evictionMinimumReclaim\[mem.available\]: no such",
        ),
        "min-reclaim-empty-value": ({"evictionMinimumReclaim": {"memory.available": ""}}, "'' is not a quantity"),
        "min-reclaim-negative-percentage": (
            {"evictionMinimumReclaim": {"memory.available": "-15%"}},
            "-15% is not positive",
        ),
        "min-reclaim-invalid-percentage": (
            {"evictionMinimumReclaim": {"memory.available": "10..5%"}},
            "'10..5%' is not a percentage: write e.g. 10%",
        ),
        "percentage-beyond-float32": (hard("1e99%"), "'1e99%' is out of range"),
    },
)
def test_Q6_invalid_thresholds_are_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ThresholdConfigError, match=problem):
        _parsed(**fields)


def test_Q6_unset_thresholds_are_the_defaults() -> None:
    assert effective_eviction_hard(configuration()) == DEFAULT_EVICTION_HARD
    signals = [threshold.signal for threshold in parse_threshold_config(configuration())]
    assert signals == [MEMORY, NODE_FS, NODE_INODES, IMAGE_FS, IMAGE_INODES, PODS_MEMORY]


def test_Q6_one_signal_set_drops_the_other_defaults() -> None:
    own = {"evictionHard": {"memory.available": "1Gi"}}
    assert effective_eviction_hard(configuration(**own)) == {"memory.available": "1Gi"}
    merged = effective_eviction_hard(configuration(**own, mergeDefaultEvictionSettings=True))
    assert merged == {**DEFAULT_EVICTION_HARD, "memory.available": "1Gi"}


_DISKS = (
    Threshold(NODE_FS, at("100Mi")),
    Threshold(NODE_FS, at("200Mi"), HALF_A_MINUTE),
    Threshold(NODE_INODES, at("1k")),
    Threshold(IMAGE_FS, at("300Mi")),
    Threshold(IMAGE_INODES, at("3k")),
)
_AS_NODE_FS = {
    Threshold(CONTAINER_FS, at("100Mi")),
    Threshold(CONTAINER_FS, at("200Mi"), HALF_A_MINUTE),
    Threshold(CONTAINER_INODES, at("1k")),
}


@table(
    "image_fs, container_fs, expected",
    {
        "single filesystem": (False, False, _AS_NODE_FS),
        "image filesystem": (
            True,
            False,
            {Threshold(CONTAINER_FS, at("300Mi")), Threshold(CONTAINER_INODES, at("3k"))},
        ),
        "container filesystem and image filesystem apart": (True, True, _AS_NODE_FS),
    },
)
def test_Q6_containerfs_gets_thresholds_of_shared_disk(
    image_fs: bool, container_fs: bool, expected: set[Threshold]
) -> None:
    configured = Threshold(CONTAINER_FS, at("1Ti"))
    found = with_container_fs([*_DISKS, configured], image_fs=image_fs, container_fs=container_fs)
    assert found[: len(_DISKS)] == _DISKS
    assert set(found[len(_DISKS) :]) == expected


def test_Q6_percentage_is_of_the_capacity_and_rounded_down() -> None:
    ten_percent = _parsed(evictionHard={"memory.available": "10%"})[0].value
    # As a float64 it would be 838860800; upstream's float32 is a little more.
    assert str(ten_percent.of(8000 << 20)) == "838860812"
    assert at("1Gi").of(0) == Quantity.parse("1Gi")
