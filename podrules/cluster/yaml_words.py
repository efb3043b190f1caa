"""What keeps a text from being YAML, with the line and what to do: also where it is a template still."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath
from typing import Final

from podrules.cluster.errors import ManifestError
from podrules.cluster.text import PIPED

__all__ = ["no_manifest", "template_hint", "yaml_problem"]

_TEMPLATE: Final = re.compile(r"\{\{|\{%")
_RENDER: Final = f"helm template . | {PIPED}"
_REMEDIES: Final = {
    "mapping values are not allowed in this context": "a colon and a space within a value: put it in quotation marks",
    "found character that cannot start any token": "put the value in quotation marks",
    "could not find expected ':'": "write FIELD: VALUE here or in the line above",
    "did not find expected key": "look at the indentation here and in the line above",
    "did not find expected '-' indicator": "look at the indentation: items of a list begin below each other",
    "found unhashable key": "a mapping or a list cannot be the name of a field",
    "found unexpected end of stream": "a quotation mark or a bracket is not closed",
}


def yaml_problem(where: str, error: Exception, text: str = "") -> ManifestError:
    """What PyYAML objects to, with the line where it knows one.

    Args:
        where: What messages call the text.
        error: What was raised.
        text: What was read.
    """
    import yaml

    mark = getattr(error, "problem_mark", None)
    line = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    if _TEMPLATE.search(text):
        return ManifestError(f"{where}{line}: {template_hint()}")
    if isinstance(error, RecursionError):
        return ManifestError(f"{where}: nested too deeply")
    if isinstance(error, yaml.reader.ReaderError):
        return ManifestError(f"{where}{_line_of(text, error)}: not valid YAML: {_character(error)}; remove it")
    if not isinstance(error, yaml.MarkedYAMLError):
        return ManifestError(f"{where}: not valid YAML: a number in it cannot be read; put it in quotation marks")
    return ManifestError(f"{where}{line}: not valid YAML: {_problem(error.problem or error.context or '', mark, text)}")


def template_hint() -> str:
    """What to do with a template."""
    return f"it is a template, to be rendered first: {_RENDER}"


def no_manifest(where: str, file: str) -> str:
    """What a document without apiVersion and kind is, by the name of its file; empty: that is not known.

    Args:
        where: What messages call it.
        file: The path.
    """
    name = PurePath(file).name
    folder = shlex.quote(str(PurePath(file).parent))
    if name in {"kustomization.yaml", "kustomization.yml", "Kustomization"}:
        return f"{where}: a kustomization, which makes manifests; build them: kubectl kustomize {folder} | {PIPED}"
    if name in {"Chart.yaml", "values.yaml", "values.yml"}:
        return f"{where}: a part of a Helm chart, no manifest; render the chart: helm template {folder} | {PIPED}"
    return ""


def _problem(problem: str, mark: object, text: str) -> str:
    tag = re.search(r"constructor for the tag (.+)", problem)
    if tag:
        return f"the tag {tag[1]} means nothing to Kubernetes; remove it"
    if problem == "found character that cannot start any token" and _at(mark, text) == "\t":
        return "a tab stands here; indent with spaces"
    remedy = next((words for start, words in _REMEDIES.items() if problem.startswith(start)), "")
    return f"{problem}; {remedy}" if remedy else problem


def _at(mark: object, text: str) -> str:
    """The character that a mark is at."""
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
