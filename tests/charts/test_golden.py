"""Whole renders, recorded as files: `make docs` rewrites them, and a review of a change reads their diff."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.charts.chart import FULL_VALUES, PRODUCTION, Chart
from tests.golden import check

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        pytest.param("default", {}, id="default"),
        pytest.param("production", PRODUCTION, id="the example"),
        pytest.param("full", FULL_VALUES, id="all values"),
    ],
)
def test_render(chart: Chart, name: str, values: Mapping[str, Any]) -> None:
    check(GOLDEN / f"{name}.yaml", chart.rendered(values))
