"""Reads the text of files and of standard input; an error says how to convert it to UTF-8."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import IO, Final

from cluster_io.errors import ManifestError

MAX_BYTES: Final = 1 << 30
"""Bytes of one file."""
STDIN: Final = "standard input"
PIPED: Final = "kubectl qos explain -f -"
"""The command that reads another program's output."""
_SUFFIXES: Final = {".yaml", ".yml", ".json"}
_BYTE_ORDER_MARKS: Final = (
    (b"\xff\xfe\0\0", "UTF-32"),
    (b"\0\0\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
"""Byte order marks and their encodings, the longer marks first."""
_UTF8_MARK: Final = "\ufeff"
_PRINTABLE: Final = bytes(range(0x20, 0x7F)) + bytes(range(0x80, 0x100))
_GZIP: Final = b"\x1f\x8b"
_SNAPSHOT: Final = b"kubectl-qos snapshot"


def advice_for(advice: str, command: str) -> str:
    """The advice of an error, with the typed command in place of `PIPED`.

    Args:
        advice: The advice of a `ManifestError`.
        command: A command of `kubectl qos` that reads manifests.
    """
    return advice.replace(PIPED, f"kubectl qos {command} -f -")


def files_of(path: str) -> list[Path]:
    """The file itself, or the .yaml, .yml and .json files below a folder.

    Raises:
        ManifestError: the path is a URL, a folder without such files, or a Helm chart.
    """
    if path.startswith(("http://", "https://")):
        fetched = f"curl -fsSL {shlex.quote(path)} | {PIPED}"
        raise ManifestError(f"{path}: a URL is not fetched", advice=f"Download it first: {fetched}")
    root = Path(path)
    if not root.is_dir():
        return [root]
    if (root / "Chart.yaml").is_file():
        raise ManifestError(
            f"{path}: a Helm chart; its files are templates",
            advice=f"Render it first: helm template {shlex.quote(path)} | {PIPED}",
        )
    files = sorted(file for file in root.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    if not files:
        raise ManifestError(
            f"{path}: no .yaml, .yml or .json file in this folder",
            advice="Name a file, or a folder that has manifests",
        )
    return files


def read_text(file: Path, limit: int = MAX_BYTES) -> str:
    """A file's text.

    Raises:
        ManifestError: it is missing, larger than ``limit`` bytes or not UTF-8.
    """
    try:
        with file.open("rb") as opened:
            # A pipe has no size, so the read has the limit too.
            data = opened.read(limit + 1) if file.stat().st_size <= limit else None
    except FileNotFoundError as error:
        raise ManifestError(f"{file}: No such file or directory", advice=_near(file)) from error
    except OSError as error:
        raise ManifestError(f"{file}: {error.strerror or 'it cannot be read'}") from error
    if data is None or len(data) > limit:
        raise ManifestError(f"{file}: larger than {limit >> 20} MiB")
    return _decoded(str(file), data, shlex.quote(str(file)))


def read_stdin(stdin: IO[str] | None = None, limit: int = MAX_BYTES) -> str:
    """The text of standard input.

    Raises:
        ManifestError: it is larger than ``limit`` bytes, or not UTF-8.
    """
    stream = stdin or sys.stdin
    data = getattr(stream, "buffer", stream).read(limit + 1)
    if len(data) > limit:
        raise ManifestError(f"{STDIN}: larger than {limit >> 20} MiB")
    return _decoded(STDIN, data, "FILE") if isinstance(data, bytes) else data.removeprefix(_UTF8_MARK)


def _near(file: Path) -> str:
    from difflib import get_close_matches

    try:
        names = [entry.name for entry in file.parent.iterdir()]
    except OSError:
        return f"The folder {file.parent} cannot be read either: look at the path"
    near = get_close_matches(file.name, names, n=1)
    return f"Did you mean {file.parent / near[0]}?" if near else "Look at the name, and at the folder you are in"


def _decoded(where: str, data: bytes, file: str) -> str:
    encoding = _encoding(data)
    if encoding:
        raise ManifestError(
            f"{where}: it is {encoding}; Kubernetes reads UTF-8",
            advice=f"Save it as UTF-8: iconv -f {encoding} -t UTF-8 {file} > utf8.yaml "
            f"(PowerShell: Get-Content {file} | Out-File -Encoding utf8 utf8.yaml)",
        )
    if data.startswith(_GZIP):
        raise ManifestError(
            f"{where}: it is compressed with gzip", advice=f"Unpack it first: gunzip -c {file} | {PIPED}"
        )
    if data.startswith(_SNAPSHOT):
        raise ManifestError(
            f"{where}: it is a snapshot of a cluster, no manifest", advice=f"Read it with --snapshot {file}"
        )
    try:
        return data.decode().removeprefix(_UTF8_MARK)
    except UnicodeDecodeError as error:
        if b"\0" in data or data[: error.start].translate(None, b"\t\n\r").strip(_PRINTABLE):
            raise ManifestError(
                f"{where}: it is binary, no YAML or JSON", advice="Name a file with manifests as text"
            ) from error
        line = data.count(b"\n", 0, error.start) + 1
        raise ManifestError(
            f"{where}, line {line}: not UTF-8 text: byte {error.start} is {data[error.start]:#04x}",
            advice=f"Save it as UTF-8 (PowerShell: Get-Content {file} | Out-File -Encoding utf8 utf8.yaml)",
        ) from error


def _encoding(data: bytes) -> str:
    """UTF-16 or UTF-32, by the byte order mark or the NULs of the first character; empty: neither."""
    marked = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), "")
    if marked or b"\0" not in data[:4]:
        return marked
    zeros = "".join("0" if byte == 0 else "x" for byte in data[:4])
    return {"x000": "UTF-32LE", "000x": "UTF-32BE", "x0x0": "UTF-16LE", "0x0x": "UTF-16BE"}.get(zeros, "")
