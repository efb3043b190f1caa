"""The prose linter, which ``make lint`` runs.

texts      Vale with the rules of .vale/Plain reads the docs, the chart's texts, the help of all commands, and the
           strings, docstrings and comments of the program. Vale comes from `make ci-tools`: without it this part is
           skipped, and fails with ``CI=true``
names      identifiers of the program, and the names of tests
subjects   of commits, after the commit that added `tests/subject_verbs.txt`
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kubectl_plugin.parsing.commands import LISTED
from tests.controlplane.binaries import Unavailable, find_binaries
from tests.marked import written_tests
from tests.tree import ROOT

PAGES: Final = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "charts/qos-webhook/README.md"),
    "kubectl_plugin/glossary/glossary.md",
)
PACKAGES: Final = ("kubectl_plugin", "webhook", "podrules", "cluster_io")
VERBS: Final = ROOT / "tests" / "subject_verbs.txt"
"""First words of subjects, one on each line."""
_MAX_SUBJECT: Final = 72
_MAX_TEST_NAME: Final = 60
_DIALECT: Final = re.compile(
    r"(?:^|_)(?:told|tells|whose|whom|nobody|somebody)(?:_|$)|_(?:gone|again|must)$", re.IGNORECASE
)
_FAILED: Final = 1
_MIN_SPACES: Final = 2
"""Of a string: a shorter one is a name, a key or a flag."""


def alerts(vale: Path, paths: Iterable[Path]) -> str:
    """What Vale says, a line each; empty: nothing.

    Args:
        vale: The program.
        paths: Files and folders.
    """
    command = (str(vale), f"--config={ROOT / '.vale.ini'}", "--output=line", *map(str, paths))
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    return done.stdout or done.stderr


def _write_helps(folder: Path) -> None:
    """The help of each command, as one file each."""
    wide = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    programs = {name: ("kubectl_plugin", name) for name in LISTED} | {"webhook": ("webhook.main",)}
    for name, (module, *arguments) in programs.items():
        command = (sys.executable, "-m", module, *arguments, "--help")
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=wide, cwd=ROOT)
        (folder / f"{name}-help.txt").write_text(done.stdout, encoding="utf-8")


def sentences(source: str) -> Iterator[tuple[int, str]]:
    """The strings and comments of a module, each line with its number; an ``X`` stands for each value in a string.

    Args:
        source: The module's text.
    """
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            known = (str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
            yield node.lineno, "".join(known)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            lines = node.value.splitlines() if id(node) in docstrings else [node.value]
            yield from enumerate(lines, node.lineno)
    for number, line in enumerate(source.splitlines(), 1):
        if line.lstrip().startswith("# "):
            yield number, line.lstrip(" #")


def _write_strings(folder: Path) -> None:
    """The strings of each module, each on the line that it has there."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            lines = [""] * (source.count("\n") + 1)
            for line, text in sentences(source):
                if text.count(" ") >= _MIN_SPACES:
                    lines[line - 1] += f" {' '.join(text.split())}"
            target = folder / f"{path.relative_to(ROOT)}.txt"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("\n".join(lines), encoding="utf-8")


def name_problems(source: str) -> Iterator[tuple[int, str]]:
    """The names of a module that are no plain English, with their lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name, line = node.name, node.lineno
        elif isinstance(node, ast.arg):
            name, line = node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name, line = node.id, node.lineno
        else:
            continue
        if _DIALECT.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)):
            yield line, name


def _names() -> Iterator[str]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for line, name in name_problems(path.read_text(encoding="utf-8")):
                yield f"{path.relative_to(ROOT)}:{line}: {name}: use a noun for a thing and a verb for a function"
    for test in written_tests():
        if len(test.name) > _MAX_TEST_NAME:
            file = test.file.relative_to(ROOT)
            yield f"{file}: {test.name}: {len(test.name)} characters, at most {_MAX_TEST_NAME}"


def subject_problems(subject: str, verbs: Collection[str]) -> Iterator[str]:
    """Why a commit's subject is refused."""
    if len(subject) > _MAX_SUBJECT:
        yield f"{len(subject)} characters, at most {_MAX_SUBJECT}"
    if subject.endswith("."):
        yield "no full stop at its end"
    first = subject.partition(" ")[0]
    if first not in verbs:
        yield f"{first!r} is not in {VERBS.relative_to(ROOT)}: begin with a verb in the imperative, with a capital"


def _subjects() -> Iterator[str]:
    def log(*words: str) -> list[str]:
        command = ("git", "log", *words)
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT).stdout.splitlines()

    verbs = VERBS.read_text(encoding="utf-8").split()
    # A copy without history, or with the newest commit alone, has no subjects to check.
    for since in log("--diff-filter=A", "--format=%H", "--", str(VERBS))[-1:]:
        for subject in log("--no-merges", "--format=%s", f"{since}..HEAD"):
            yield from (f"commit {subject!r}: {problem}" for problem in subject_problems(subject, verbs))


def main() -> int:
    """Print what is found; 1 when there is something, or when ``CI=true`` and Vale is missing."""
    problems = [*_names(), *_subjects()]
    print("".join(f"{one}\n" for one in problems), end="")
    found = find_binaries(["vale"])
    if isinstance(found, Unavailable):
        print(f"texts were not checked: {found.reason}")
        return _FAILED if problems or os.environ.get("CI") == "true" else 0
    with TemporaryDirectory() as folder:
        _write_helps(Path(folder))
        _write_strings(Path(folder))
        said = alerts(found["vale"], (*(ROOT / page for page in PAGES), Path(folder)))
    print(said.replace(f"{folder}/", ""), end="")
    return _FAILED if said or problems else 0


if __name__ == "__main__":
    sys.exit(main())
