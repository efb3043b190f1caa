"""The browser, and the page of the demo cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.controlplane.binaries import Unavailable
from tests.kubectl_plugin.running import run
from tests.report.browser import find_browser, opened
from tests.required import without

__all__ = ["browser", "demo"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium."""
    found = find_browser()
    if isinstance(found, Unavailable):
        without(found.reason)
    with opened(found) as running:
        yield running


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the demo cluster."""
    path = tmp_path_factory.mktemp("report") / "demo.html"
    ran = run("report", "--all", "--demo", "-o", str(path))
    assert (ran.code, ran.err) == (0, ""), ran
    return path
