"""The image as buildah makes it, from a base that no registry is needed for.

``python -m tests.image.builder`` prepares, once, as root: a Debian with Python by debootstrap, and the wheels that
``requirements/image*.txt`` pin, fetched as pip is set up on this machine. Both are kept in
``$XDG_CACHE_HOME/kubectl-qos/image``, beside the images and their layers. Tests only look.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.controlplane.binaries import Unavailable, cache_folder

__all__ = ["ROOT", "Builder", "find_builder", "prepare"]

ROOT = Path(__file__).resolve().parents[2]
_SUITE = "bookworm"
_INCLUDED = "python3,python3-venv"
_BASE = f"localhost/kubectl-qos-base:{_SUITE}"
_IMAGE = "localhost/kubectl-qos/qos-webhook:test"
_KEPT = ("dependencies", "stripped")
"""Stages that do not change with the program."""
_LOCKS = ("image-build.txt", "image.txt")
_SECONDS = 580
_PREPARE = "python -m tests.image.builder"


class Builder:
    """buildah with images of its own: nobody's are touched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def wheels(self) -> Path:
        """The folder for exactly these locks."""
        digest = hashlib.sha256()
        for name in _LOCKS:
            digest.update((ROOT / "requirements" / name).read_bytes())
        return self.folder / f"wheels-{digest.hexdigest()[:16]}"

    def buildah(self, *arguments: str | Path, check: bool = True) -> str:
        """What it prints.

        Raises:
            RuntimeError: it failed; the message is what it said.
        """
        store = ("--root", self.folder / "storage", "--runroot", self.folder / "run")
        done = subprocess.run(
            ["buildah", *store, *arguments],
            # No daemon, no namespaces that a container would be refused.
            env={**os.environ, "BUILDAH_ISOLATION": "chroot"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
        if check and done.returncode != 0:
            raise RuntimeError(f"buildah {' '.join(map(str, arguments))}: {done.returncode}\n{done.stderr[-3000:]}")
        return done.stdout.strip()

    def has_base(self) -> bool:
        """Whether debootstrap has done its work."""
        return bool(self.buildah("images", "--quiet", _BASE, check=False))

    def build(self) -> str:
        """Build the image of this tree; returns its name."""
        for stage in _KEPT:
            self._build("--target", stage, "--tag", f"{_IMAGE}-{stage}")
        self._build("--tag", _IMAGE)
        # What earlier trees left, but for what has a name.
        self.buildah("rmi", "--prune", check=False)
        return _IMAGE

    def _build(self, *arguments: str) -> None:
        given = {
            "BASE": _BASE,
            "REVISION": "test",
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": "/wheels",
            "PIP_INDEX_URL": "",
        }
        options = [f"--build-arg={name}={value}" for name, value in given.items()]
        self.buildah("build", "--quiet", "--layers", f"--volume={self.wheels}:/wheels:ro", *options, *arguments, ROOT)

    @contextmanager
    def mounted(self, image: str) -> Iterator[Path]:
        """The file system of an image."""
        container = self.buildah("from", image)
        try:
            yield Path(self.buildah("mount", container))
        finally:
            self.buildah("rm", container)

    def make_base(self) -> None:
        """Import what debootstrap makes."""
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            _run(["debootstrap", "--variant=minbase", f"--include={_INCLUDED}", _SUITE, f"{scratch}/root"])
            container = self.buildah("from", "scratch")
            try:
                self.buildah("add", "--quiet", container, f"{scratch}/root", "/")
                self.buildah("commit", "--quiet", container, _BASE)
            finally:
                self.buildah("rm", container)

    def fetch_wheels(self) -> None:
        """Bring what is pinned, each held to its hash."""
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            pip = (sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--only-binary=:all:")
            for lock in _LOCKS:
                _run([*pip, "--dest", f"{scratch}/wheels", "-r", str(ROOT / "requirements" / lock)])
            Path(scratch, "wheels").replace(self.wheels)


def find_builder() -> Builder | Unavailable:
    """What can build the image here and now."""
    if missing := _missing_programs():
        return missing
    builder = Builder(_folder())
    if not builder.wheels.is_dir() or not builder.has_base():
        return Unavailable(reason=f"the base of the image, or its wheels, are missing: {_PREPARE} makes them")
    return builder


def prepare() -> Builder | Unavailable:
    """Make what is missing; what is there already stays."""
    if missing := _missing_programs():
        return missing
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    builder = Builder(folder)
    if not builder.wheels.is_dir():
        for old in folder.glob("wheels-*"):
            shutil.rmtree(old)
        builder.fetch_wheels()
    if not builder.has_base():
        builder.make_base()
    # Its first layers then need no second time.
    builder.build()
    return builder


def _folder() -> Path:
    return cache_folder().parent / "image"


def _missing_programs() -> Unavailable | None:
    missing = [name for name in ("buildah", "debootstrap") if shutil.which(name) is None]
    if missing:
        return Unavailable(reason=f"{' and '.join(missing)} is not installed: apt-get install buildah debootstrap")
    if os.geteuid() != 0:
        return Unavailable(reason="the image is built and run as root here: its root file system is mounted")
    return None


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    argparse.ArgumentParser(prog=_PREPARE, description="Prepare what the image is built from.").parse_args()
    outcome = prepare()
    if isinstance(outcome, Unavailable):
        sys.exit(outcome.reason)
    print(outcome.folder)
