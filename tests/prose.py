"""The prose linter: Vale with the rules of .vale/Plain over the docs, the chart's texts and the help of all commands.

``make lint`` runs it. Without Vale, which `make ci-tools` builds, it says so and passes; with ``CI=true`` it fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kubectl_plugin.parsing import COMMANDS
from tests.controlplane.binaries import Unavailable, find_binaries
from tests.tree import ROOT

__all__ = ["PAGES", "alerts", "main"]

PAGES: Final = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "charts/qos-webhook/README.md")
_FAILED: Final = 1


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


def main() -> int:
    """Print what Vale finds; 1 when it finds something, or when ``CI=true`` and Vale is missing."""
    found = find_binaries(["vale"])
    if isinstance(found, Unavailable):
        print(f"prose was not looked at: {found.reason}")
        return _FAILED if os.environ.get("CI") == "true" else 0
    with TemporaryDirectory() as folder:
        _write_helps(Path(folder))
        said = alerts(found["vale"], (*(ROOT / page for page in PAGES), Path(folder)))
    print(said, end="")
    return _FAILED if said else 0


if __name__ == "__main__":
    sys.exit(main())
