"""The data file: projects with versions, hashes of their objects, and the objects that API servers reject.

It has no content of the projects except their names.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

DATA: Final = Path(__file__).resolve().parents[1] / "testdata" / "corpus" / "projects.json"
_WIDTH: Final = 120


class Project(Struct, frozen=True):
    """One version of a project."""

    name: str
    """``owner/name`` of a git repository, or the path of a Go module that the control plane is built from."""
    version: str
    """The commit, or the module's version; empty: the newest one is wanted."""
    licence: str
    objects: Sequence[str] = ()
    """The hash of each object that is checked, once; see `tests.corpus.objects.digest`."""
    refused: dict[str, list[int]] = {}
    """The minors with API servers that reject an object, by the object's hash."""


def read(path: Path = DATA) -> list[Project]:
    """The record of all projects."""
    return msgspec.json.decode(path.read_bytes(), type=list[Project])


def write(projects: Sequence[Project], path: Path = DATA) -> None:
    """Write the record."""
    path.parent.mkdir(exist_ok=True)
    parts = (msgspec.json.encode(one).decode().replace(',"', ', "') for one in projects)
    lines = (textwrap.fill(part, _WIDTH, break_long_words=False, break_on_hyphens=False) for part in parts)
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
