"""Builds the image with buildah, from a base that needs no registry.

``python -m tests.image.builder`` prepares, as root: a Debian with Python by mmdebstrap, and the wheels that
``requirements/image*.txt`` pin. Both are made once on a machine, and all checkouts only read them. Each checkout has a
storage of its own, for its images and their layers; it is removed when its tree is gone. All is kept in
``$XDG_CACHE_HOME/kubectl-qos``. Tests only look.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from tests.controlplane.binaries import Unavailable, cache_folder, locked
from tests.wheelhouse import Wheelhouse

ROOT: Final = Path(__file__).resolve().parents[2]
_SUITE: Final = "bookworm"
_INCLUDED: Final = "python3,python3-venv"
# Otherwise apt merges /usr by a package that needs all of Perl.
_MERGED: Final = "/usr/share/mmdebstrap/hooks/maybe-merged-usr"
BASE: Final = f"localhost/kubectl-qos-base:{_SUITE}"
IMAGE: Final = "localhost/kubectl-qos/qos-webhook:test"
_KEPT: Final = ("dependencies", "stripped")
"""Stages that do not change with the program."""
_WHEELS: Final = Wheelhouse(("image-build.txt", "image.txt"))
_SECONDS: Final = 580
_PREPARE: Final = "python -m tests.image.builder"


class Image(NamedTuple):
    """An image that was built, as long as it is mounted."""

    root: Path
    """The folder of its files."""
    config: dict[str, Any]
    """User, environment, entry point, labels, layers: as OCI has them."""


class Builder:
    """buildah with the images of one checkout; other images are not touched, and only the base is visible."""

    def __init__(self, folder: Path, tree: Path = ROOT) -> None:
        """Take the parent folder of checkouts and bases, and the checkout."""
        self._shared = folder
        self._tree = tree.resolve()
        self._base = folder / f"base-{_digest(_SUITE, _INCLUDED)}"
        # Its layers are based on this base.
        self.folder = folder / "checkouts" / _digest(str(self._tree), self._base.name)

    def of(self, tree: Path) -> Builder:
        """That of another checkout on the same machine."""
        return Builder(self._shared, tree)

    def buildah(self, *arguments: str | Path, check: bool = True) -> str:
        """Its output.

        Raises:
            RuntimeError: it failed; the message is its output.
        """
        # The base is made with the driver that fits this machine.
        driver = next(self._base.glob("storage/*-images")).name.removesuffix("-images")
        shared = ("--storage-driver", driver, "--storage-opt", f"{driver}.imagestore={self._base / 'storage'}")
        return _buildah(self.folder, *shared, *arguments, check=check)

    def images(self, *names: str) -> set[str]:
        """The ids of all images, or of those with a name, while no other run builds or removes one."""
        with self._alone():
            return set(self.buildah("images", "--quiet", "--no-trunc", *names).split())

    def has_base(self) -> bool:
        """Whether mmdebstrap has done its work."""
        return (self._base / "made").exists()

    def base_id(self) -> str:
        """The base's id in buildah."""
        (found,) = self.images(BASE)
        return found

    def base_by_digest(self) -> str:
        """The base's name in the Dockerfile."""
        digest = self.buildah("images", "--format", "{{.Digest}}", BASE)
        return f"{BASE.partition(':')[0]}@{digest}"

    def make_base(self) -> None:
        """Import the file system from mmdebstrap."""
        if self._base.exists():
            # It was not finished.
            _remove(self._base)
        self._base.mkdir()
        with tempfile.TemporaryDirectory(dir=self._base) as scratch:
            root = f"{scratch}/root"
            options = ["--quiet", "--variant=minbase", f"--hook-dir={_MERGED}", f"--include={_INCLUDED}"]
            _run(["mmdebstrap", *options, _SUITE, root])
            container = _buildah(self._base, "from", "scratch")
            try:
                _buildah(self._base, "add", "--quiet", container, root, "/")
                _buildah(self._base, "commit", "--quiet", container, BASE)
            finally:
                _buildah(self._base, "rm", container)
        (self._base / "made").touch()

    def build_first_layers(self) -> None:
        """Build the stages that do not change with the program, so that the image takes less time."""
        with self._alone():
            self._build_first_layers()

    @contextmanager
    def image(self) -> Iterator[Image]:
        """Build the image of the tree; it stays mounted for the block, even if other runs build meanwhile."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "used").open("w") as used:
            with self._alone():
                self._remove_abandoned(used)
                self._build_first_layers()
                self._build("--tag", IMAGE)
                container = self.buildah("from", "--pull-never", IMAGE)
                # Remains of earlier trees without a name or a container.
                self.buildah("rmi", "--prune", check=False)
            try:
                config = json.loads(self.buildah("inspect", container))["OCIv1"]
                yield Image(Path(self.buildah("mount", container)), config)
            finally:
                self.buildah("rm", container)

    def remove_stale(self) -> None:
        """Remove the storage of deleted checkouts, unless one of their runs is active."""
        for tree in self._shared.glob("checkouts/*/tree"):
            # Another run may be removing it.
            with suppress(FileNotFoundError):
                _remove_unused(tree)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let one run of this checkout build at a time."""
        with locked(self.folder):
            (self.folder / "tree").write_text(str(self._tree), encoding="utf-8")
            yield

    def _remove_abandoned(self, used: IO[str]) -> None:
        """Remove containers of runs that were killed, unless another run has one now; then have one of our own."""
        if _is_free(used):
            self.buildah("rm", "--all")
        fcntl.flock(used, fcntl.LOCK_SH)

    def _build_first_layers(self) -> None:
        for stage in _KEPT:
            self._build("--target", stage, "--tag", f"{IMAGE}-{stage}")

    def _build(self, *arguments: str) -> None:
        given = {
            "BASE": self.base_by_digest(),
            "REVISION": "test",
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": "/wheels",
            "PIP_INDEX_URL": "",
        }
        options = [f"--build-arg={name}={value}" for name, value in given.items()]
        wheels = f"--volume={_WHEELS.folder}:/wheels:ro"
        self.buildah("build", "--quiet", "--layers", "--pull-never", wheels, *options, *arguments, self._tree)


def find_builder() -> Builder | Unavailable:
    """The builder, if all its requirements are met."""
    if missing := _missing_programs():
        return missing
    wheels = _WHEELS.find()
    if isinstance(wheels, Unavailable):
        return wheels
    builder = Builder(_folder())
    if not builder.has_base():
        return Unavailable(reason=f"the base of the image is missing: {_PREPARE} makes it")
    return builder


def prepare() -> Builder | Unavailable:
    """Make the missing parts; existing ones stay."""
    if missing := _missing_programs():
        return missing
    _WHEELS.fetch()
    builder = Builder(_folder())
    with locked(_folder()):
        builder.remove_stale()
        if not builder.has_base():
            builder.make_base()
    builder.build_first_layers()
    return builder


def _folder() -> Path:
    return cache_folder().parent / "image"


def _missing_programs() -> Unavailable | None:
    missing = [name for name in ("buildah", "mmdebstrap") if shutil.which(name) is None]
    if missing:
        return Unavailable(reason=f"{' and '.join(missing)} is not installed: apt-get install buildah mmdebstrap")
    if os.geteuid() != 0:
        return Unavailable(reason="the image is built and run as root here: its root file system is mounted")
    return None


def _buildah(folder: Path, *arguments: str | Path, check: bool = True) -> str:
    """Run buildah with its storage in a folder; return its output."""
    done = subprocess.run(
        ["buildah", "--root", folder / "storage", "--runroot", folder / "run", *arguments],
        # No daemon, and no namespaces, which a container may not create.
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


def _remove(folder: Path) -> None:
    """Remove a storage, also one in which a process that was killed has left something mounted."""
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()]
    # The last is on top.
    for mount in reversed(mounts):
        if Path(mount).is_relative_to(folder.resolve()):
            _run(["umount", mount])
    shutil.rmtree(folder)


def _is_free(used: IO[str]) -> bool:
    """Lock the file if no other process has it locked; return whether that succeeded."""
    try:
        fcntl.flock(used, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_unused(tree: Path) -> None:
    """Remove a checkout's storage, by the file that names its tree, if that is no more and no run of it goes on."""
    if Path(tree.read_text(encoding="utf-8")).exists():
        return
    with tree.with_name("used").open("w") as used:
        if _is_free(used):
            _remove(tree.parent)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    argparse.ArgumentParser(prog=_PREPARE, description="Prepare what the image is built from.").parse_args()
    outcome = prepare()
    if isinstance(outcome, Unavailable):
        sys.exit(outcome.reason)
    print(outcome.folder)
