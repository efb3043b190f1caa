"""Container images made here, with busybox's one static file: no registry is needed."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

IMAGE: Final = "local.test/busybox:1"
PAUSE: Final = "local.test/pause:1"
OTHER_IMAGE: Final = "local.test/busybox:2"
"""The same content, for a change of a pod's image."""
_APPLETS: Final = (
    *("cat", "date", "dd", "echo", "false", "head", "kill", "mkdir", "mkfifo", "rm", "sh", "sleep", "tail", "touch"),
    *("true", "usleep"),
)
_MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def write_image(archive: Path, busybox: Path) -> None:
    """An archive as ``docker save`` writes it, with all images: one layer, a few names.

    Args:
        archive: File to write.
        busybox: The statically linked program.
    """
    layer = _layer(busybox)
    config = json.dumps(
        {
            "architecture": _MACHINES.get(platform.machine(), platform.machine()),
            "os": "linux",
            # What a sandbox runs; containers of tests name their own command.
            "config": {"Cmd": ["/bin/sleep", "2147483647"], "Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
    ).encode()
    name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = json.dumps([{"Config": name, "RepoTags": [IMAGE, OTHER_IMAGE, PAUSE], "Layers": ["layer.tar"]}]).encode()
    _write(archive, {name: config, "layer.tar": layer, "manifest.json": manifest})


def _layer(busybox: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        program = layer.gettarinfo(str(busybox), "bin/busybox")
        program.mode, program.mtime = 0o755, 0
        with busybox.open("rb") as content:
            layer.addfile(program, content)
        for applet in _APPLETS:
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            layer.addfile(link)
        folder = tarfile.TarInfo("tmp")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o1777
        layer.addfile(folder)
    return buffer.getvalue()


def _write(archive: Path, files: Mapping[str, bytes]) -> None:
    with tarfile.open(archive, "w") as target:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            target.addfile(entry, io.BytesIO(content))
