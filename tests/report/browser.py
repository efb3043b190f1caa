"""Debian's Chromium, driven by Playwright, and axe-core to judge a page's accessibility."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.controlplane.binaries import Unavailable

_START_MILLISECONDS = 120_000
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def find_browser() -> str | Unavailable:
    """The program, or why there is none."""
    found = shutil.which("chromium")
    return found or Unavailable(reason="there is no chromium: make ci-tools installs Debian's")


@contextmanager
def opened(program: str) -> Iterator[Browser]:
    """The browser; it ends with the block."""
    with sync_playwright() as playwright:
        # Its sandbox needs another user than root, who runs these tests in a container.
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"], timeout=_START_MILLISECONDS
        )
        try:
            yield browser
        finally:
            browser.close()


def axe_violations(page: Page) -> list[dict[str, Any]]:
    """What axe-core finds on a page."""
    page.evaluate(_axe().read_text(encoding="utf-8"))
    options = json.dumps({"runOnly": {"type": "tag", "values": _TAGS}, "resultTypes": ["violations"]})
    found: list[dict[str, Any]] = page.evaluate(f"async () => (await axe.run(document, {options})).violations")
    return found


def _axe() -> Path:
    """axe-core as its package has it; the package's own code is not used."""
    spec = find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        raise AssertionError("axe-playwright-python is not installed: make .venv/.dev")
    return Path(spec.origin).parent / "axe.min.js"
