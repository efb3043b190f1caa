"""The webhook's image as a part of a release: an archive that any tool can push, and its bill of materials."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from podrules import __version__

_BILL: Final = Path("opt", "qos-webhook", "sbom.cdx.json")
_NAME: Final = "qos-webhook"
_LABEL: Final = "org.opencontainers.image"


class ReleasedImage(NamedTuple):
    """An image in an archive."""

    archive: Path
    bill: Path
    digest: str
    """The manifest's digest, ``sha256:…``; a registry keeps it if the archive is pushed unchanged."""
    base: str
    """The base image, by digest."""

    @property
    def subject(self) -> dict[str, Any]:
        """The image as the subject of a statement."""
        return {"name": _NAME, "digest": {"sha256": self.digest.removeprefix("sha256:")}}


def buildah(*arguments: str) -> str:
    """Run buildah; return its output."""
    done = subprocess.run(("buildah", *arguments), check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def release_image(run: Callable[..., str], name: str, out: Path, *, commit: str) -> ReleasedImage:
    """Write the archive of a built image, and its bill of materials.

    Args:
        run: `buildah`, with the storage that holds the image.
        name: The image's name.
        out: The folder for both files.
        commit: The commit that the image must be built from.

    Raises:
        SystemExit: the image is of another commit.
    """
    described = json.loads(run("inspect", "--type", "image", name))["OCIv1"]
    labels = described["config"]["Labels"]
    revision = labels.get(f"{_LABEL}.revision")
    if revision != commit:
        raise SystemExit(f"image {name} is of commit {revision or 'unknown'}, not of {commit}: run make image again")
    archive = out / f"{_NAME}-{__version__}-linux-{described['architecture']}.oci.tar"
    # buildah would add to an existing archive.
    archive.unlink(missing_ok=True)
    digest = out / ".digest"
    run("push", "--digestfile", str(digest), name, f"oci-archive:{archive}")
    bill = out / f"{_NAME}-{__version__}.cdx.json"
    container = run("from", "--pull-never", name)
    try:
        shutil.copyfile(Path(run("mount", container)) / _BILL, bill)
    finally:
        run("rm", container)
    made = ReleasedImage(archive, bill, digest.read_text().strip(), labels[f"{_LABEL}.base.name"])
    digest.unlink()
    return made
