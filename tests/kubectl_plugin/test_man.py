"""Manual pages and examples agree with the parsers."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_plugin.manual import main, pages
from kubectl_plugin.parsing import parse
from kubectl_plugin.parsing.commands import COMMANDS, flags_of, options_of
from tests.required import without


@pytest.fixture(scope="module")
def groff() -> str:
    """The program that formats pages."""
    return shutil.which("groff") or without("there is no groff: make ci-tools installs Debian's")


def _rendered(groff: str, text: str) -> str:
    """The visible text in one line: without hyphenation, colour and justification."""
    command = [groff, "-man", "-Tutf8", "-P-cbou", "-ww", "-rHY=0", "-rLL=200n"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, encoding="utf-8", check=True)
    assert done.stderr == ""
    # Distributions differ in how they show a dash that is to be typed.
    return " ".join(done.stdout.replace("\N{MINUS SIGN}", "-").replace("\N{HYPHEN}", "-").split())


@pytest.mark.parametrize("command", COMMANDS)
def test_K_every_flag_is_in_the_page_of_its_command(groff: str, command: str) -> None:
    page = _rendered(groff, pages()[f"kubectl-qos-{command}.1"])
    flags = list(flags_of(command))
    assert "--help" in flags
    assert [name for name in flags if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", page)] == []
    assert COMMANDS[command] in page
    for heading in ("EXAMPLES", "EXIT CODES"):
        assert f" {heading} " in page


def test_K_first_page_leads_to_the_others(groff: str) -> None:
    page = _rendered(groff, pages()["kubectl-qos.1"])
    assert [command for command in COMMANDS if f"kubectl-qos-{command}(1)" not in page] == []
    assert "130 interrupted" in page


def test_pages_are_written(tmp_path: Path) -> None:
    assert main([str(tmp_path / "man")]) == 0
    assert {file.name: file.read_text() for file in (tmp_path / "man").iterdir()} == dict(pages())


def _examples() -> Iterator[tuple[str, str]]:
    """The words after ``kubectl qos`` of each example of each command."""
    for command in COMMANDS:
        for line in options_of(command).examples.splitlines():
            found = re.match(r"  (?:.*\| )?kubectl qos (.*?)(?: [|>] .*|   ?#? ?[a-z.].*)?$", line)
            if found:
                yield command, found[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_K_help_has_examples(command: str) -> None:
    assert sum(name == command for name, _ in _examples()) >= 2


@pytest.mark.parametrize(("command", "line"), list(_examples()), ids=str)
def test_K_examples_are_understood(command: str, line: str) -> None:
    parsed = parse(shlex.split(line))
    assert parsed.command in COMMANDS
    # An example may begin with a capture, and explain reads snapshot's files.
    assert parsed.command in {command, "snapshot"} or command in {"fence", "snapshot"}
