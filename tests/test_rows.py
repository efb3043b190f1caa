"""Every row that is built has a test."""

from __future__ import annotations

import pytest

from tests.rows import count_by_row, rows


@pytest.mark.parametrize("row", [row for row, (_, state) in rows().items() if state == "built"])
def test_built_row_has_a_test(row: str) -> None:
    assert count_by_row()[row] > 0


def test_tests_name_known_rows() -> None:
    assert set(count_by_row()) <= set(rows())
