"""The image of this tree, built once a session, and its file system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.binaries import Unavailable
from tests.image.builder import Builder, Image, find_builder
from tests.required import without

__all__ = ["builder", "image", "root"]


@pytest.fixture(scope="session")
def builder() -> Builder:
    """The tool, and what it builds from."""
    found = find_builder()
    if isinstance(found, Unavailable):
        without(found.reason)
    return found


@pytest.fixture(scope="session")
def image(builder: Builder) -> Iterator[Image]:
    """The built image."""
    with builder.image() as built:
        yield built


@pytest.fixture(scope="session")
def root(image: Image) -> Path:
    """The folder of its files."""
    return image.root
