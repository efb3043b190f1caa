"""Every built row has a test."""

from __future__ import annotations

import re

import pytest

from tests.marked import written_tests
from tests.rows import count_by_row, rows


@pytest.mark.parametrize("row", [row for row, (_, state) in rows().items() if state == "built"])
def test_built_row_has_a_test(row: str) -> None:
    assert count_by_row()[row] > 0


def test_tests_name_known_rows() -> None:
    assert set(count_by_row()) <= set(rows())


def test_substitutes_of_long_tests_run_in_every_run() -> None:
    """The mark of a long test names tests that are not long."""
    written = written_tests()
    every_time = {test.name for test in written if not test.long}
    for test in written:
        for reason in test.held_by:
            named = set(re.findall(r"\btest_[A-Za-z0-9_]+", reason)) - {test.file.stem}
            assert named, f"{test.name}: its mark names no test: {reason!r}"
            files = {other.file.stem for other in written}
            assert named <= every_time | files, f"{test.name}: {sorted(named - every_time - files)}"
