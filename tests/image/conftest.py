"""The image of this tree, built once a session, and its file system."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.binaries import Unavailable
from tests.image.builder import Builder, find_builder

__all__ = ["builder", "image", "root"]


@pytest.fixture(scope="session")
def builder() -> Builder:
    """The tool, and what it builds from: skipped where they are missing, and failed in CI, where they must be."""
    found = find_builder()
    if isinstance(found, Unavailable):
        if os.environ.get("CI") == "true":
            pytest.fail(found.reason, pytrace=False)
        pytest.skip(found.reason)
    return found


@pytest.fixture(scope="session")
def image(builder: Builder) -> str:
    """Its name."""
    return builder.build()


@pytest.fixture(scope="session")
def root(builder: Builder, image: str) -> Iterator[Path]:
    """Where its files are."""
    with builder.mounted(image) as path:
        yield path
