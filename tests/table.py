"""Cases of a test as a table: the id of each row, then its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest


def table(names: str, rows: Mapping[str, Any]) -> pytest.MarkDecorator:
    """`pytest.mark.parametrize`; ``names`` are separated by commas, and a row of several has a tuple."""
    return pytest.mark.parametrize(names, list(rows.values()), ids=list(rows))


def row(*values: Any) -> tuple[Any, ...]:
    """A row of several values, written as a call: short values share a line."""
    return values
