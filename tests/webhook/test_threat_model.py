"""The page of threats, and the limits of the server: existing tests check each protection that they name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.marked import TESTS, written_tests

ROOT = TESTS.parent
PAGE = ROOT / "docs" / "threat-model.md"
LIMITS = ROOT / "docs" / "webhook" / "reference.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
ATTACKERS = (
    "A tenant with every right inside one namespace",
    "A pod without any right, on the network",
    "A client that reaches the metrics port",
    "A tenant who may label namespaces",
    "A cloud controller gone wrong",
    "A stolen ServiceAccount token of the webhook",
)


def sections() -> Mapping[str, str]:
    """The text under each heading."""
    _, *parts = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_every_test_that_the_threat_model_names_exists() -> None:
    there = {(str(test.file.relative_to(ROOT)), test.name) for test in written_tests()}
    named = NAMED.findall(PAGE.read_text(encoding="utf-8"))
    assert len(named) > 30
    assert [f"{Path(file)}::{name}" for file, name in named if (file, name) not in there] == []


def test_every_limit_of_the_server_names_a_test() -> None:
    there = {test.name for test in written_tests()}
    _, table = LIMITS.read_text(encoding="utf-8").split("| limit | value | tests |\n| --- | --- | --- |\n")
    rows = [line for line in table.split("\n\n")[0].splitlines() if line]
    assert len(rows) > 20
    assert [row for row in rows if not (named := re.findall(r"`(test_\w+)`", row)) or not there.issuperset(named)] == []


@pytest.mark.parametrize("attacker", ATTACKERS)
def test_threat_model_names_tests_and_gaps_for_each_attacker(attacker: str) -> None:
    text = sections()[attacker]
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    assert rows[0] == ["| what is tried", "what is kept", "held by |"]
    assert len(rows) > 1
    assert [row for row in rows[1:] if not NAMED.search(row[-1])] == []
    assert "Not kept:" in text
