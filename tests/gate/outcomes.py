"""The result of a run of pytest, from the record of `tests.gate.collection`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.gate.tiers import file_of


@dataclass
class Outcomes:
    """Of all tests that ran."""

    passed: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    """By test, or by file where it could not be loaded: its first traceback."""
    seconds: dict[str, float] = field(default_factory=dict)
    """By file."""
    collected: set[str] = field(default_factory=set)
    """Tests that were to run."""

    @property
    def missing(self) -> set[str]:
        """Tests that were to run and did not, as when the process that should have run them has crashed."""
        return self.collected - self.passed - self.skipped - self.failed.keys()

    def add(self, line: Mapping[str, object]) -> None:
        """Count one phase of one test."""
        test, phase, outcome = str(line["id"]), line["phase"], line["outcome"]
        file = file_of(test)
        self.seconds[file] = self.seconds.get(file, 0) + float(str(line["seconds"]))
        if outcome == "failed":
            self.failed.setdefault(test, f"[{phase}]\n{line['text']}")
        elif outcome == "skipped":
            self.skipped.add(test)
        elif phase == "call":
            self.passed.add(test)
        self.passed -= self.failed.keys()

    def include(self, other: Outcomes) -> None:
        """Count another run's tests, too."""
        self.passed |= other.passed
        self.skipped |= other.skipped
        self.failed |= other.failed
        self.collected |= other.collected
        for file, taken in other.seconds.items():
            self.seconds[file] = self.seconds.get(file, 0) + taken


def read_outcomes(record: Path) -> Outcomes:
    """Read a record; a run without one has no outcomes."""
    found = Outcomes()
    if record.exists():
        with record.open(encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                if "collected" in line:
                    found.collected.update(line["collected"])
                else:
                    found.add(line)
    return found
