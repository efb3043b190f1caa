"""Reads the text of files and of standard input; an error says how to convert it to UTF-8.

It also explains why a text is not valid YAML, with the line and the remedy; also for a template that was not rendered.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path, PurePath
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


_TEMPLATE: Final = r"\{\{|\{%"
TEMPLATE_ADVICE: Final = f"Render it first: helm template . | {PIPED}"
"""The advice for a template."""
_REMEDIES: Final = {
    "mapping values are not allowed in this context": "Put a value that has a colon and a space in quotation marks",
    "found character that cannot start any token": "Put the value in quotation marks",
    "could not find expected ':'": "Write FIELD: VALUE here or in the line above",
    "did not find expected node content": "A value is missing here, or a bracket is not closed in a line above",
    "did not find expected ',' or": "A comma or a closing bracket is missing here or in a line above",
    "did not find expected key": "Look at the indentation here and in the line above",
    "did not find expected '-' indicator": "Look at the indentation: items of a list begin below each other",
    "found unhashable key": "A mapping or a list cannot be the name of a field",
    "found unexpected end of stream": "A quotation mark or a bracket is not closed",
}


def yaml_problem(where: str, error: Exception, text: str = "") -> ManifestError:
    """The error for a text that PyYAML cannot read, with the line if PyYAML knows it.

    Args:
        where: What messages call the text.
        error: The error that PyYAML raised.
        text: The text.
    """
    import yaml

    mark = getattr(error, "problem_mark", None)
    line = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    if re.search(_TEMPLATE, text):
        return ManifestError(f"{where}{line}: it is a template", advice=TEMPLATE_ADVICE)
    if isinstance(error, RecursionError):
        return ManifestError(f"{where}: nested too deeply")
    if isinstance(error, yaml.reader.ReaderError):
        found = re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]", text)
        line = f", line {text.count(chr(10), 0, found.start()) + 1}" if found else ""
        return ManifestError(f"{where}{line}: not valid YAML: {_character(error)}", advice="Remove it")
    if not isinstance(error, yaml.MarkedYAMLError):
        return ManifestError(
            f"{where}: not valid YAML: a number in it cannot be read", advice="Put it in quotation marks"
        )
    problem, advice = _problem(error.problem or error.context or "", mark, text)
    return ManifestError(f"{where}{line}: not valid YAML: {problem}", advice=advice)


def no_manifest(where: str, file: str) -> ManifestError | None:
    """The error for a file of Kustomize or Helm, which is not a manifest, by its name; None: another file.

    Args:
        where: What messages call the document.
        file: The file's path.
    """
    name = PurePath(file).name
    folder = shlex.quote(str(PurePath(file).parent))
    if name in {"kustomization.yaml", "kustomization.yml", "Kustomization"}:
        advice = f"Build them first: kubectl kustomize {folder} | {PIPED}"
        return ManifestError(f"{where}: a kustomization, which makes manifests", advice=advice)
    if name in {"Chart.yaml", "values.yaml", "values.yml"}:
        advice = f"Render the chart first: helm template {folder} | {PIPED}"
        return ManifestError(f"{where}: a part of a Helm chart, no manifest", advice=advice)
    return None


def _problem(problem: str, mark: object, text: str) -> tuple[str, str]:
    tag = re.search(r"constructor for the tag (.+)", problem)
    if tag:
        return f"the tag {tag[1]} means nothing to Kubernetes", "Remove it"
    if problem == "found character that cannot start any token":
        lines = text.split("\n")
        line, column = getattr(mark, "line", -1), getattr(mark, "column", -1)
        if 0 <= line < len(lines) and lines[line][column : column + 1] == "\t":
            return "a tab stands here", "Indent with spaces"
    return problem, next((words for start, words in _REMEDIES.items() if problem.startswith(start)), "")


def _character(error: object) -> str:
    code = getattr(error, "character", None)
    number = code if isinstance(code, int) else ord(code) if isinstance(code, str) and len(code) == 1 else None
    return "a control character" if number is None else f"the character U+{number:04X} is not allowed"
