"""Wheels for tests, fetched in advance, so that no test accesses the package index.

``python -m tests.wheelhouse`` fetches what the plugin's lock pins, once, as pip is set up on this machine. Each wheel
is held to the lock's hashes, then and again when it is installed. Tests only look.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.controlplane.binaries import Unavailable, cache_folder, locked

_REQUIREMENTS: Final = Path(__file__).resolve().parents[1] / "requirements"
_FETCH: Final = "python -m tests.wheelhouse"
_UNUSED_SECONDS: Final = 30 * 24 * 3600
"""Other checkouts may have other locks: their wheels stay for this time after their last use."""


@dataclass(frozen=True, slots=True)
class Wheelhouse:
    """A folder of the wheels that some locks pin, for this Python on this machine."""

    locks: tuple[str, ...]
    """Names in ``requirements/``."""

    @property
    def folder(self) -> Path:
        """The folder of these wheels: another lock or another Python has another folder."""
        digest = hashlib.sha256(f"{sys.implementation.cache_tag} {sys.platform} {platform.machine()}".encode())
        for path in self._paths():
            digest.update(path.read_bytes())
        return _parent() / digest.hexdigest()[:16]

    def find(self) -> Path | Unavailable:
        """The folder, or what fills it."""
        if self.folder.is_dir():
            os.utime(self.folder)
            return self.folder
        return Unavailable(reason=f"the wheels of {', '.join(self.locks)} are not fetched: `make ci-tools` does it")

    def fetch(self) -> Path:
        """Fetch the missing wheels."""
        with locked(_parent()):
            if not self.folder.is_dir():
                with tempfile.TemporaryDirectory(dir=_parent(), prefix=".fetch-") as scratch:
                    self._download(Path(scratch, "wheels"))
                    Path(scratch, "wheels").replace(self.folder)
            _remove_unused()
        return self.folder

    def _download(self, target: Path) -> None:
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet")
        for path in self._paths():
            # A lock has all wanted packages, which may be fewer than their requirements.
            how = ("--require-hashes", "--no-deps", "--only-binary=:all:")
            command = [*pip, *how, "--dest", str(target), "--requirement", str(path)]
            subprocess.run(command, stdin=subprocess.DEVNULL, check=True)

    def _paths(self) -> list[Path]:
        return [_REQUIREMENTS / name for name in self.locks]


PLUGIN: Final = Wheelhouse(("plugin.txt",))


def _parent() -> Path:
    return cache_folder().parent / "wheels"


def _remove_unused() -> None:
    """Wheels without recent use, and remains of a killed fetch."""
    for old in _parent().iterdir():
        if old.is_dir() and (old.name.startswith(".fetch-") or old.stat().st_mtime < time.time() - _UNUSED_SECONDS):
            shutil.rmtree(old)


if __name__ == "__main__":
    argparse.ArgumentParser(prog=_FETCH, description="Fetch the wheels that tests install.").parse_args()
    print(PLUGIN.fetch())
