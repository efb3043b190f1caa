"""Releases on the real API server, each with its own authority."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.controlplane.control_plane import ControlPlane
from tests.webhook.balancer import Balancer
from tests.webhook.certificates.fleet import Fleet

__all__ = ["fleet", "moved_fleet"]


@pytest.fixture
def fleet(control_plane: ControlPlane, helm: Path, namespace: str, tmp_path: Path) -> Iterator[Fleet]:
    """A release that is not installed yet."""
    with _removed(control_plane, helm, namespace, tmp_path, real_time=True) as found:
        yield found


@pytest.fixture
def moved_fleet(control_plane: ControlPlane, helm: Path, namespace: str, tmp_path: Path) -> Iterator[Fleet]:
    """The same; its replicas use a clock that the test sets forward."""
    with _removed(control_plane, helm, namespace, tmp_path, real_time=False) as found:
        yield found


@contextmanager
def _removed(
    control_plane: ControlPlane, helm: Path, namespace: str, folder: Path, *, real_time: bool
) -> Iterator[Fleet]:
    with Balancer() as balancer:
        found = Fleet(control_plane, helm, folder, balancer, namespace, real_time=real_time)
        try:
            yield found
        finally:
            found.remove()
