"""The layout in CONTRIBUTING.md names every folder of the tree, and only existing ones."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.tree import ROOT, files

WHOLE = ("tests/testdata", "tests/controlplane/tools", "tests/bench/webhook_peer", "charts/qos-webhook/templates")
"""The descriptions of these folders include their subfolders."""


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
    shorter = _layout().replace("      upgrade/ ", "      nothing/ ")
    named = {str(folder) for folder, _ in _named(shorter)}
    assert "podrules/upgrade" in _folders() - named
    assert not (ROOT / "podrules" / "nothing").exists()


GUIDE = ("CONTRIBUTING.md", "docs/architecture.md", *sorted(str(path) for path in files() if "decisions" in path.parts))


@pytest.mark.parametrize("page", GUIDE)
def test_paths_in_the_guide_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8").replace(_layout(), "")
    named = re.findall(
        r"(?<![\w./-])((?:podrules|cluster_io|kubectl_plugin|webhook|charts|tests|docs)/[\w./-]*\w)", text
    )
    assert named or page.endswith(("index.md", "nothing-installed.md"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_podrules_holds_rooms_and_no_loose_modules() -> None:
    assert [path.name for path in files() if path.parts[0] == "podrules" and len(path.parts) == 2] == ["__init__.py"]


@pytest.mark.parametrize(
    "room", sorted({path.parts[1] for path in files() if path.parts[:1] == ("podrules",)} - {"__init__.py"})
)
def test_each_room_says_what_it_imports(room: str) -> None:
    text = (ROOT / "podrules" / room / "__init__.py").read_text(encoding="utf-8")
    assert re.search(r"^Imports ", text, re.MULTILINE)
    assert "Start with" in text


PACKAGES = ("podrules", "cluster_io", "kubectl_plugin", "webhook")


def _modules() -> dict[str, Path]:
    found = {}
    for path in files():
        if path.parts[0] in PACKAGES and path.suffix == ".py":
            parts = path.with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def _trees() -> Mapping[str, ast.Module]:
    return {name: ast.parse((ROOT / path).read_text(encoding="utf-8")) for name, path in _modules().items()}


def _imports(tree: ast.AST, modules: Collection[str]) -> set[str]:
    """The modules that a module imports anywhere: at its top, in functions, and for types only."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{one.name}" for one in node.names}
            found |= names & set(modules) or {node.module}
    return found & set(modules)


def _cycles(graph: Mapping[str, set[str]]) -> list[str]:
    """The modules that are left when those without imports are taken away, again and again, from both ends."""
    left = {name: set(found) for name, found in graph.items()}
    while True:
        used = set().union(*left.values()) if left else set()
        kept = {name: found & left.keys() for name, found in left.items() if found & left.keys() and name in used}
        if kept.keys() == left.keys():
            return sorted(kept)
        left = {name: found & kept.keys() for name, found in kept.items()}


def test_no_modules_import_each_other_in_a_cycle() -> None:
    trees = _trees()
    assert _cycles({name: _imports(tree, trees) for name, tree in trees.items()}) == []


def test_a_cycle_is_found() -> None:
    assert _cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}, "e": set()}) == ["b", "c"]


def test_a_package_names_the_modules_to_start_with() -> None:
    trees = _trees()
    for name, tree in trees.items():
        for words in re.findall(r"^Start with ([^;\n]*)", ast.get_docstring(tree) or "", re.MULTILINE):
            named = re.findall(r"`([\w.]+)`", words)
            assert named, name
            assert [one for one in named if f"{name}.{one}" not in trees] == [], name


def test_each_public_class_name_has_one_meaning() -> None:
    classes = (node.name for tree in _trees().values() for node in tree.body if isinstance(node, ast.ClassDef))
    assert sorted(name for name, number in Counter(classes).items() if number > 1 and not name.startswith("_")) == []
