"""``make rows``: the rows of the specification and the tests that hold them."""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict

from tests.marked import TESTS, written_tests

ROWS = TESTS.parent / "docs" / "rows.md"


def rows() -> dict[str, tuple[str, str]]:
    """By id: the row's subject, and whether it is built."""
    found = re.findall(
        r"^\| ([A-Z][0-9]*) \| (.+?) \| (built|planned) \|$", ROWS.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {row: (what, state) for row, what, state in found}


def places_by_row() -> dict[str, Counter[str]]:
    """How many test functions of ``make test`` are named after each row, by the folder of tests in which they are."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for test in written_tests():
        row = re.match(r"test_([A-Z][0-9]*)_", test.name)
        if row and not test.long:
            found[row[1]][test.file.relative_to(TESTS).parts[0]] += 1
    return found


def count_by_row() -> Counter[str]:
    """How many test functions are named after each row."""
    return Counter({row: places.total() for row, places in places_by_row().items()})


def main() -> int:
    """Print the table; 1 if a built row has no test."""
    places = places_by_row()
    named = count_by_row()
    missing = []
    for row, (what, state) in rows().items():
        count = named[row]
        if state == "built" and not count:
            missing.append(row)
        where = ", ".join(f"{place} {number}" for place, number in places[row].most_common())
        print(f"{row:<4}{state:<9}{count or '-':>4} tests  {what}{f' ({where})' if where else ''}")
    unknown = sorted(set(named) - set(rows()))
    if missing:
        print(f"built without a test: {', '.join(missing)}", file=sys.stderr)
    if unknown:
        print(f"tests of no row in {ROWS.name}: {', '.join(unknown)}", file=sys.stderr)
    return 1 if missing or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
