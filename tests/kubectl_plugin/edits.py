"""Recorded clusters and pages, and their objects for tests that change some of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from tests.tree import ROOT

CASES: Final = ROOT / "tests" / "testdata" / "cases"
FIELD: Final = CASES / "field"
SEEDS: Final = CASES / "seeds"
GOLDEN: Final = ROOT / "tests" / "testdata" / "golden"


def items_of(file: Path | str) -> list[dict[str, Any]]:
    """The objects of a recorded List."""
    items: list[dict[str, Any]] = json.loads(Path(file).read_text(encoding="utf-8"))["items"]
    return items


def find(objects: Iterable[Mapping[str, Any]], target: str) -> Any:
    """The object ``Kind/name``."""
    kind, _, name = target.partition("/")
    return next(one for one in objects if (one["kind"], one["metadata"]["name"]) == (kind, name))
