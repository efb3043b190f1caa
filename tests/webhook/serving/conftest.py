"""Registries of connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.webhook.serving.world import World


@pytest.fixture
def world() -> Iterator[World]:
    with ExitStack() as stack:
        yield World(stack)


@pytest.fixture
def wide() -> Iterator[World]:
    """A registry with enough places."""
    with ExitStack() as stack:
        yield World(stack, most=1000)
