"""The files of the repository, without those that .gitignore leaves out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


def files() -> Iterator[Path]:
    """Paths relative to the repository."""
    ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").split()] + [".git"]
    for folder, below, names in os.walk(ROOT):
        here = Path(folder).relative_to(ROOT)
        below[:] = [name for name in below if not _matches(here / name, ignored)]
        yield from (here / name for name in names if not _matches(here / name, ignored))


def _matches(path: Path, patterns: list[str]) -> bool:
    return any(fnmatch(path.name, pattern) or str(path) == pattern for pattern in patterns)
