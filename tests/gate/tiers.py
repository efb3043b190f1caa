"""The order of tests: quick ones first, then those that start real programs, the longest files first.

Tests marked ``long`` run in ``make test-all`` alone.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.marked import TESTS

_SECONDS = Path(__file__).with_name("seconds.json")
_QUICK_FOLDERS = frozenset({"cluster_io", "gate", "kubectl_plugin", "matrix", "parity", "podrules", "property"})
_LIVE_MARK = "mark.controlplane"


def quick_files() -> list[Path]:
    """Files of tests that start no server: they fail within seconds if a rule is wrong."""
    return [file for file in _all_files() if _is_quick(file)]


def live_files() -> list[Path]:
    """All other files of tests."""
    return [file for file in _all_files() if not _is_quick(file)]


def _all_files() -> list[Path]:
    return sorted(TESTS.rglob("test_*.py"))


def _is_quick(file: Path) -> bool:
    folders = file.relative_to(TESTS).parts[:-1]
    # Tests beside this package's folders are about the tests themselves.
    quick = not folders or folders[0] in _QUICK_FOLDERS
    return quick and _LIVE_MARK not in file.read_text(encoding="utf-8")


def seconds_by_file() -> Mapping[str, float]:
    """The recorded seconds of each file of tests; files that take no time are left out."""
    found: Mapping[str, float] = json.loads(_SECONDS.read_text(encoding="utf-8"))
    return found


def write_seconds(seconds: Mapping[str, float], *, least: float = 1) -> None:
    """Write down how long files took, those of at least ``least`` seconds."""
    kept = {file: round(taken) for file, taken in sorted(seconds.items()) if taken >= least}
    _SECONDS.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def file_of(node_id: str) -> str:
    """The file of a test, by its id, relative to the checkout."""
    return node_id.partition("::")[0]


def in_order(items: Sequence[pytest.Item], seconds: Mapping[str, float]) -> list[pytest.Item]:
    """The longest files first, so that no worker is alone with one at the end; tests keep their order in a file."""
    return sorted(items, key=lambda item: (-seconds.get(file_of(item.nodeid), 0), file_of(item.nodeid)))


def shuffled(items: Iterable[pytest.Item], seed: int) -> list[pytest.Item]:
    """Files, and the tests of each, in an order that follows from the seed; a file's tests stay together."""
    by_file: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_file.setdefault(file_of(item.nodeid), []).append(item)
    chance = random.Random(seed)  # noqa: S311  # an order, no secret
    files = list(by_file.values())
    chance.shuffle(files)
    for tests in files:
        chance.shuffle(tests)
    return [item for tests in files for item in tests]
