"""The prose linter: Vale with the rules of .vale/Plain.

It reads the docs, the chart's texts, the help of all commands, and the strings, docstrings and comments of the program.

``make lint`` runs it. Without Vale, which `make ci-tools` builds, it says so and passes; with ``CI=true`` it fails.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kubectl_plugin.parsing import COMMANDS
from tests.controlplane.binaries import Unavailable, find_binaries
from tests.tree import ROOT

__all__ = ["PAGES", "alerts", "main", "sentences"]

PAGES: Final = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "charts/qos-webhook/README.md")
PACKAGES: Final = ("kubectl_plugin", "webhook", "podrules", "cluster_io")
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
    programs = {name: ("kubectl_plugin", name) for name in COMMANDS} | {"webhook": ("webhook.main",)}
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


def main() -> int:
    """Print what Vale finds; 1 when it finds something, or when ``CI=true`` and Vale is missing."""
    found = find_binaries(["vale"])
    if isinstance(found, Unavailable):
        print(f"prose was not looked at: {found.reason}")
        return _FAILED if os.environ.get("CI") == "true" else 0
    with TemporaryDirectory() as folder:
        _write_helps(Path(folder))
        _write_strings(Path(folder))
        said = alerts(found["vale"], (*(ROOT / page for page in PAGES), Path(folder)))
    print(said.replace(f"{folder}/", ""), end="")
    return _FAILED if said else 0


if __name__ == "__main__":
    sys.exit(main())
