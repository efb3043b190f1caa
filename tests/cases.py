"""Tables of named cases: one test function, one row for each of its cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest


def cases(names: str, rows: Mapping[str, tuple[Any, ...]]) -> pytest.MarkDecorator:
    """A mark that runs a test once for each row.

    Args:
        names: The test's arguments, separated by commas.
        rows: Each case by its id.
    """
    return pytest.mark.parametrize(names, [pytest.param(*values) for values in rows.values()], ids=list(rows))


def row(*values: Any) -> tuple[Any, ...]:
    """The values of the arguments, in their order."""
    return values
