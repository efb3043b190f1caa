"""The recorded answers of upstream's own code in ``testdata/conformance``."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.tree import ROOT

_FOLDER: Final = ROOT / "tests" / "testdata" / "conformance"
MINORS: Final = tuple(sorted(int(folder.name.removeprefix("1.")) for folder in _FOLDER.glob("1.*")))
"""Versions with recorded answers."""
FULL_MINOR: Final = 36
"""The version with the most cases, and with every suite."""


def recorded_file(suite: str, minor: int = FULL_MINOR) -> Path:
    """The path of a suite's cases."""
    return _FOLDER / f"1.{minor}" / f"{suite}.jsonl.gz"


def recorded(suite: str, minor: int = FULL_MINOR) -> Iterator[dict[str, Any]]:
    """Its cases: ``id``, ``input`` and ``expected``."""
    with gzip.open(recorded_file(suite, minor), "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
