"""The prose linter finds what it forbids, and nothing in our own texts (`tests.prose`)."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.controlplane.binaries import Unavailable, find_binaries
from tests.prose import VERBS, alerts, name_problems, sentences, subject_problems
from tests.required import without
from tests.tree import ROOT

RULES = ROOT / ".vale" / "Plain"
SAMPLES = """\
It warns whoever reads this.
Mind that it ends. No memory is to be had. The node is told that. It runs, whatever becomes of it.
It waits lest it fail. It is stored, thereby saved. The rule whereby it runs. The pod therein. All for nought.
It runs save for one. The pod that is none. A flag; usual. A flag; nowhere. It does not have a say.
The fields to set are these.
A page whose pods those of it are. It has those of another. It is as of old. It waits in vain. It ends by and by.
The tool at hand. It failed of late. It stands upon a node. One amongst many. It waits whilst it runs.
It runs albeit slowly.
It ought to run. It shall run. It fails for want of memory. It fails for lack of memory. It goes without one.
It is as good as gone. It does, other than that. But nothing looks. And nobody looks. It says who dies.
It is made anew. A graver one. It runs beside the pod. It stops for good. It runs wherever it fits.
It is a pod told to end.
"""


@pytest.fixture(scope="module")
def vale() -> Path:
    found = find_binaries(["vale"])
    if isinstance(found, Unavailable):
        without(found.reason)
    return found["vale"]


def test_every_word_of_the_list_is_found(vale: Path, tmp_path: Path) -> None:
    rule = yaml.safe_load((RULES / "Dialect.yml").read_text(encoding="utf-8"))
    file = tmp_path / "samples.md"
    file.write_text(SAMPLES, encoding="utf-8")
    found = [line for line in alerts(vale, [file]).splitlines() if "Plain.Dialect" in line]
    assert len(found) == len(rule["swap"]), "\n".join(found)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("Inverted", "Of a pod without a node the queue is shown."),
        ("Inverted", "Whose pods these are is shown."),
        ("Length", f"{'word ' * 70}end."),
    ],
)
def test_other_rules_find_their_kind(vale: Path, tmp_path: Path, rule: str, text: str) -> None:
    file = tmp_path / "sample.md"
    file.write_text(text, encoding="utf-8")
    assert f"Plain.{rule}" in alerts(vale, [file])


def test_every_word_about_people_is_found(vale: Path, tmp_path: Path) -> None:
    rule = yaml.safe_load((RULES / "People.yml").read_text(encoding="utf-8"))
    words = [token.replace("tells?", "tells") for token in rule["tokens"]]
    file = tmp_path / "samples.md"
    file.write_text("\n".join(f"A pod {word} it." for word in words), encoding="utf-8")
    found = [line for line in alerts(vale, [file]).splitlines() if "Plain.People" in line]
    assert len(found) == len(words)


def test_plain_sentences_pass(vale: Path, tmp_path: Path) -> None:
    file = tmp_path / "plain.md"
    file.write_text("The scheduler puts the pod on node-a1. Run `kubectl qos explain pod/web`.\n", encoding="utf-8")
    assert alerts(vale, [file]) == ""


def test_strings_of_a_module_are_read_on_their_lines() -> None:
    source = '"""A docstring too."""\n\nX = (\n    "a key",\n    f"pod {X} is made again",\n)\n# and a comment\n'
    found = [(line, text) for line, text in sentences(source) if " " in text]
    assert found == [(1, "A docstring too."), (4, "a key"), (5, "pod X is made again"), (7, "and a comment")]


def test_names_in_dialect_are_found() -> None:
    source = (
        "def why_told(whose, page):\n    node_gone = page\n    again = told_before = gone = 1\nclass NobodyKnows: ...\n"
    )
    found = {name for _, name in name_problems(source)}
    assert found == {"why_told", "NobodyKnows", "node_gone", "told_before", "whose"}


@pytest.mark.parametrize(
    ("subject", "problem"),
    [
        ("Read SystemOOM events as evidence", ""),
        ("Read SystemOOM events.", "full stop"),
        ("read SystemOOM events", "verb"),
        ("Events of the kernel are read", "verb"),
        (f"Read {'x' * 68}", "73 characters"),
    ],
)
def test_subjects_of_commits(subject: str, problem: str) -> None:
    found = list(subject_problems(subject, VERBS.read_text(encoding="utf-8").split()))
    assert len(found) == bool(problem)
    assert problem in "".join(found)
