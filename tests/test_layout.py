"""The layout in CONTRIBUTING.md names every folder of the tree, and nothing that is not there."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tree import ROOT, files

WHOLE = ("tests/testdata", "tests/controlplane/tools", "tests/bench/webhook_peer", "charts/qos-webhook/templates")
"""What is below these folders is described with them."""


def _layout() -> str:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return page.partition("## How it is laid out")[2].partition("\n## ")[0]


def _named(text: str) -> Iterator[tuple[Path, str]]:
    """Each folder of the drawing with what its line says; a line that is further in is below the one before."""
    above: list[tuple[int, Path]] = []
    for line in re.findall(r"^    ( *\S.*)$", text, re.MULTILINE):
        indent = len(line) - len(line.lstrip())
        words = re.match(r"(?:\S+/ ?)+", line.lstrip())
        assert words is not None, f"no folder: {line}"
        above = [(depth, folder) for depth, folder in above if depth < indent]
        parent = above[-1][1] if above else Path()
        folders = [parent / name for name in words[0].split()]
        above.append((indent, folders[0]))
        yield from ((folder, line) for folder in folders)


def _folders() -> set[str]:
    found = {str(folder) for path in files() for folder in path.parents} - {"."}
    return {
        folder
        for folder in found
        if not folder.startswith(tuple(f"{whole}/" for whole in WHOLE))
        and not (folder.startswith("tests/") and (ROOT / folder.removeprefix("tests/")).is_dir())
        # Holds one folder, which is named.
        and folder != "charts"
    }


def test_every_folder_is_named() -> None:
    assert _folders() - {str(folder) for folder, _ in _named(_layout())} == set()


def test_every_name_is_there() -> None:
    missing = [str(folder) for folder, _ in _named(_layout()) if not (ROOT / folder).is_dir()]
    assert missing == []


def test_every_module_that_is_named_is_there() -> None:
    named = [folder / name for folder, line in _named(_layout()) for name in re.findall(r"\b\w+\.py\b", line)]
    assert named
    assert [str(path) for path in named if not (ROOT / path).is_file()] == []


def test_a_folder_that_is_forgotten_is_found() -> None:
    shorter = _layout().replace("      eviction/ ", "      nothing/ ")
    named = {str(folder) for folder, _ in _named(shorter)}
    assert "podrules/eviction" in _folders() - named
    assert not (ROOT / "podrules" / "nothing").exists()


GUIDE = ("CONTRIBUTING.md", "docs/architecture.md", *sorted(str(path) for path in files() if "decisions" in path.parts))


@pytest.mark.parametrize("page", GUIDE)
def test_paths_in_the_guide_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8").replace(_layout(), "")
    named = re.findall(r"(?<![\w./-])((?:podrules|kubectl_plugin|webhook|charts|tests|docs)/[\w./-]*\w)", text)
    assert named or page.endswith(("index.md", "nothing-installed.md"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_rule_module_does_no_io() -> None:
    """import-linter holds the modules that its contract lists; a new one has to be among them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (pure,) = [contract for contract in contracts if contract["name"] == "rules do no I/O and read no clock"]
    listed = {module.removeprefix("podrules.") for module in pure["source_modules"]}
    there = {path.parts[1].removesuffix(".py") for path in files() if path.parts[0] == "podrules"}
    assert there - {"__init__", "cluster"} - {"py.typed"} == listed
