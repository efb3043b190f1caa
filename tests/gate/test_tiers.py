"""The order of tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from tests.gate.tiers import in_order, live_files, quick_files, seconds_by_file, shuffled
from tests.marked import TESTS


class _Item:
    """The properties of a test that decide its order."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid


def _items(*ids: str) -> list[pytest.Item]:
    return cast("list[pytest.Item]", [_Item(one) for one in ids])


def _ids(items: Sequence[pytest.Item]) -> list[str]:
    return [item.nodeid for item in items]


def test_each_file_of_tests_is_in_one_tier() -> None:
    quick, live = quick_files(), live_files()
    assert sorted([*quick, *live]) == sorted(TESTS.rglob("test_*.py"))
    assert not set(quick) & set(live)


def test_no_quick_file_asks_for_the_control_plane() -> None:
    argument = "control_plane" + ": ControlPlane"
    asking = [file for file in quick_files() if argument in file.read_text(encoding="utf-8")]
    assert asking == []


def test_seconds_are_of_files_that_there_are() -> None:
    assert [file for file in seconds_by_file() if not (TESTS.parent / file).is_file()] == []


def test_longest_file_comes_first_in_its_own_order() -> None:
    items = _items("a.py::one", "b.py::two", "b.py::one", "c.py::one")
    assert _ids(in_order(items, {"b.py": 7, "c.py": 9})) == ["c.py::one", "b.py::two", "b.py::one", "a.py::one"]


def test_random_order_keeps_files_and_follows_its_seed() -> None:
    items = _items(*(f"{file}.py::{test}" for file in "abcdef" for test in range(5)))
    orders = {seed: _ids(shuffled(items, seed)) for seed in range(8)}
    for seed, order in orders.items():
        assert sorted(order) == sorted(_ids(items))
        files = [one[0] for one in order]
        assert all(files[place : place + 5] == [files[place]] * 5 for place in range(0, 30, 5))
        assert _ids(shuffled(items, seed)) == order
    assert len({tuple(order) for order in orders.values()}) == len(orders)
