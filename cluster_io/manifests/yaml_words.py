"""Explains why a text is not valid YAML, with the line and the remedy; also for a template that was not rendered."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath
from typing import Final

from cluster_io.errors import ManifestError
from cluster_io.manifests.text import PIPED

_TEMPLATE: Final = re.compile(r"\{\{|\{%")
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
    if _TEMPLATE.search(text):
        return ManifestError(f"{where}{line}: it is a template", advice=TEMPLATE_ADVICE)
    if isinstance(error, RecursionError):
        return ManifestError(f"{where}: nested too deeply")
    if isinstance(error, yaml.reader.ReaderError):
        return ManifestError(f"{where}{_line_of(text, error)}: not valid YAML: {_character(error)}", advice="Remove it")
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
    if problem == "found character that cannot start any token" and _at(mark, text) == "\t":
        return "a tab stands here", "Indent with spaces"
    return problem, next((words for start, words in _REMEDIES.items() if problem.startswith(start)), "")


def _at(mark: object, text: str) -> str:
    """The character at a mark of PyYAML."""
    lines = text.split("\n")
    line, column = getattr(mark, "line", -1), getattr(mark, "column", -1)
    return lines[line][column : column + 1] if 0 <= line < len(lines) else ""


def _line_of(text: str, error: object) -> str:
    found = re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]", text)
    return f", line {text.count(chr(10), 0, found.start()) + 1}" if found and error else ""


def _character(error: object) -> str:
    code = getattr(error, "character", None)
    number = code if isinstance(code, int) else ord(code) if isinstance(code, str) and len(code) == 1 else None
    return "a control character" if number is None else f"the character U+{number:04X} is not allowed"
