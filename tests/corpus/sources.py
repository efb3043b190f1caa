"""The files of a project: from a git repository, or from a Go module that the control plane is built from.

A repository is looked for in a folder of mirrors, then in the cache, and cloned there when it is in neither: one commit
without history. Files are read from git's store; no work tree is made.
"""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.controlplane.binaries import Unavailable, cache_folder
from tests.corpus.record import Project
from tests.upstream import MODULES, find_source

GITHUB: Final = "https://github.com"
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_MAX_BYTES: Final = 1 << 20
"""Of a file: a longer one is generated."""
_LINK: Final = "120000"
_OTHERS: Final = re.compile(r"(^|/)(vendor|node_modules|third_party)/")
"""Folders with files of other projects."""


class Missing(Exception):
    """A project is unavailable here."""


class Text(NamedTuple):
    """A file that may hold manifests."""

    path: str
    content: str


class Repository:
    """A git repository at one commit."""

    def __init__(self, folder: Path, commit: str) -> None:
        """An existing repository.

        Args:
            folder: Of git's store.
            commit: Its hash.
        """
        self._folder = folder
        self.commit = commit

    @classmethod
    def find(cls, project: Project, mirrors: Path | None, base: str = GITHUB) -> Repository:
        """The repository of a project; it is cloned if it is missing.

        Raises:
            Missing: it is unavailable.
        """
        below = Path(project.name.replace("/", "+")) / "repo"
        cached = cache_folder().parent / "corpus" / below
        for folder in (mirrors / below if mirrors else None, cached):
            if folder and folder.is_dir() and (commit := _commit(folder, project.version or "HEAD")):
                return cls(folder, commit)
        return cls(cached, _clone(f"{base}/{project.name}", project.version or "HEAD", cached))

    def paths(self) -> list[str]:
        """All files but links."""
        return [path for path, _ in self._entries(None)]

    def texts(self) -> Iterator[Text]:
        """The YAML and JSON files, without those that git's store lacks."""
        wanted = self._entries(_MAX_BYTES)
        found = _git(self._folder, "cat-file", "--batch", given="".join(f"{entry}\n" for _, entry in wanted).encode())
        stream = io.BytesIO(found)
        for path, _ in wanted:
            header = stream.readline().split()
            if header[-1] == b"missing":
                continue
            content = stream.read(int(header[-1]) + 1)[:-1]
            try:
                yield Text(path, content.decode())
            except UnicodeDecodeError:
                continue

    def unpack(self, below: str, target: Path) -> None:
        """Write a folder of it to a folder."""
        packed = _git(self._folder, "archive", self.commit, *([below] if below else []))
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(target, filter="data")

    def _entries(self, most: int | None) -> list[tuple[str, str]]:
        """Path and hash of the files; with a limit: of YAML and JSON files that keep it."""
        listed = _git(self._folder, "ls-tree", "-r", "-z", *(["-l"] if most else []), self.commit).decode()
        found = []
        for line in filter(None, listed.split("\0")):
            about, _, path = line.partition("\t")
            mode, kind, entry, *size = about.split()
            small = most is None or (path.endswith(_SUFFIXES) and size[0].isdigit() and int(size[0]) < most)
            if kind == "blob" and mode != _LINK and small and not _OTHERS.search(path):
                found.append((path, entry))
        return found


def texts_of(project: Project, repository: Repository | None) -> Iterator[Text]:
    """The YAML and JSON files of a project.

    Args:
        project: What is asked for.
        repository: Its repository; None: it is a Go module.

    Raises:
        Missing: the module is not in Go's module cache in that version.
    """
    if repository is not None:
        yield from repository.texts()
        return
    found = find_source(project.name)
    if isinstance(found, Unavailable):
        raise Missing(found.reason)
    if project.version not in {"", MODULES[project.name]}:
        raise Missing(f"{project.name} is here as {MODULES[project.name]} and not as {project.version}")
    for path in sorted(found.rglob("*")):
        if path.suffix in _SUFFIXES and path.is_file() and path.stat().st_size < _MAX_BYTES:
            yield Text(str(path.relative_to(found)), path.read_text(encoding="utf-8"))


def _commit(folder: Path, name: str) -> str:
    """The hash of a commit; empty: the repository lacks it."""
    try:
        return _git(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").decode().strip()
    except Missing:
        return ""


def _clone(address: str, name: str, folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    _git(folder, "init", "--quiet", "--bare")
    _git(folder, "fetch", "--quiet", "--depth=1", address, name)
    return _commit(folder, "FETCH_HEAD")


def _git(folder: Path, *arguments: str, given: bytes | None = None) -> bytes:
    done = subprocess.run(("git", "-C", folder, *arguments), input=given, capture_output=True, check=False)
    if done.returncode:
        said: Sequence[str] = done.stderr.decode(errors="replace").strip().splitlines()
        raise Missing(f"git {arguments[0]} in {folder}: {said[-1] if said else f'exit code {done.returncode}'}")
    return done.stdout
