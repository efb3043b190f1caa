"""``make rows``: the rows of the specification and the tests that hold them."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROWS = TESTS.parent / "docs" / "rows.md"


def rows() -> dict[str, tuple[str, str]]:
    """By id: what the row knows, and whether it is built."""
    found = re.findall(
        r"^\| ([A-Z][0-9]+) \| (.+?) \| (built|planned) \|$", ROWS.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {row: (what, state) for row, what, state in found}


def count_by_row() -> Counter[str]:
    """How many test functions are named after each row."""
    named: Counter[str] = Counter()
    for path in TESTS.rglob("test_*.py"):
        named.update(re.findall(r"^\s*def test_([A-Z][0-9]+)_", path.read_text(encoding="utf-8"), re.MULTILINE))
    return named


def main() -> int:
    """Print the table; 1 when a row that is built has no test."""
    named = count_by_row()
    missing = []
    for row, (what, state) in rows().items():
        count = named[row]
        if state == "built" and not count:
            missing.append(row)
        print(f"{row:<4}{state:<9}{count or '-':>4} tests  {what}")
    unknown = sorted(set(named) - set(rows()))
    if missing:
        print(f"built without a test: {', '.join(missing)}", file=sys.stderr)
    if unknown:
        print(f"tests of no row in {ROWS.name}: {', '.join(unknown)}", file=sys.stderr)
    return 1 if missing or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
