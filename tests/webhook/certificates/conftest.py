"""Releases on the real API server, each with an authority of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.control_plane import ControlPlane
from tests.webhook.balancer import Balancer
from tests.webhook.certificates.fleet import Fleet

__all__ = ["fleet"]


@pytest.fixture
def fleet(control_plane: ControlPlane, helm: Path, namespace: str, tmp_path: Path) -> Iterator[Fleet]:
    """A release that is not installed yet."""
    with Balancer() as balancer:
        found = Fleet(control_plane, helm, tmp_path, balancer, namespace)
        try:
            yield found
        finally:
            found.remove()
