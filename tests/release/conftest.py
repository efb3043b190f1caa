"""What a release consists of, built once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from release.build import build_archive, build_packages, reproducible_environment
from release.krew import Archive
from release.platforms import THIS
from tests.controlplane.fixtures import control_plane_binaries, helm

__all__ = ["control_plane_binaries", "helm"]


class Built(NamedTuple):
    """Files of a release."""

    folder: Path
    wheel: Path
    archive: Archive
    environment: dict[str, str]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Wheel, source distribution and the executable for this machine."""
    folder = tmp_path_factory.mktemp("dist")
    environment = reproducible_environment(os.environ)
    wheel = build_packages(folder, environment)
    return Built(folder, wheel, build_archive(folder, THIS, wheel, environment), environment)
