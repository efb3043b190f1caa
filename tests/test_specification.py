"""docs/specification.md has the rows of docs/rows.md, and names existing tests."""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.rows import rows
from tests.tree import ROOT

PAGE: Final = (ROOT / "docs" / "specification.md").read_text(encoding="utf-8")
LINES: Final = re.findall(r"^\| ([A-Z][0-9]*) \| (.+) \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)


def test_rows_are_those_of_the_short_list() -> None:
    assert [row for row, _, _, _ in LINES] == list(rows())


@pytest.mark.parametrize(("row", "tests"), [(row, tests) for row, _, _, tests in LINES], ids=[row for row, *_ in LINES])
def test_files_hold_tests_of_the_row(row: str, tests: str) -> None:
    files = re.findall(r"`([^`]+)`", tests)
    assert files
    for file in files:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^\s*def test_{row}_", text, re.MULTILINE), f"{file} has no test_{row}_…"


def test_every_row_names_a_source() -> None:
    assert [row for row, _, source, _ in LINES if not source.strip()] == []
