"""What a release consists of, built once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from release.build import build_archive, build_packages, reproducible_environment
from release.krew import Archive
from release.platforms import THIS
from tests.controlplane.binaries import Unavailable
from tests.controlplane.fixtures import control_plane_binaries, helm
from tests.image.conftest import builder
from tests.required import without
from tests.wheelhouse import PLUGIN

__all__ = ["builder", "control_plane_binaries", "helm"]

NOBODY = "http://127.0.0.1:9"
"""A proxy that is not there: whoever asks another machine for something fails."""


class Built(NamedTuple):
    """Files of a release."""

    folder: Path
    wheel: Path
    archive: Archive
    environment: dict[str, str]


@pytest.fixture(scope="session")
def wheels() -> Path:
    """All wheels that the plugin's lock pins."""
    found = PLUGIN.find()
    if isinstance(found, Unavailable):
        without(found.reason)
    return found


@pytest.fixture(scope="session")
def alone() -> dict[str, str]:
    """The environment of a build that reaches no other machine."""
    names = ("http_proxy", "https_proxy", "all_proxy")
    return reproducible_environment(os.environ) | dict.fromkeys([*names, *map(str.upper, names)], NOBODY)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, wheels: Path, alone: dict[str, str]) -> Built:
    """Wheel, source distribution and the executable for this machine."""
    folder = tmp_path_factory.mktemp("dist")
    # Nothing that was kept from an earlier build is used.
    environment = alone | {"PEX_ROOT": str(tmp_path_factory.mktemp("pex"))}
    wheel = build_packages(folder, environment)
    return Built(folder, wheel, build_archive(folder, THIS, wheel, environment, wheels), environment)
