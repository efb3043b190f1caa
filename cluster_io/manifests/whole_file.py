"""Writes a file atomically: the old one stays until the new one is complete."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterable
from pathlib import Path

from cluster_io.errors import ClusterError


def write_whole(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file that only its owner may read.

    Args:
        path: The file; an old one stays until the new one is complete.
        parts: The content, part by part.

    Raises:
        ClusterError: the file cannot be written.
    """
    if path.exists() and not path.is_file():
        # The new file would replace a device or a pipe.
        raise ClusterError(f"{path}: cannot be written: it is no regular file", advice="Name a new file")
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                file.writelines(parts)
                file.flush()
                os.replace(file.name, path)  # noqa: PTH105 - the file has only its name here
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        advice = "Name a file in a folder that you may write to, or - for standard output"
        if not path.parent.is_dir():
            advice = f"Make the folder first: mkdir -p {shlex.quote(str(path.parent))}"
        raise ClusterError(f"{path}: cannot be written: {error.strerror or error}", advice=advice) from error
