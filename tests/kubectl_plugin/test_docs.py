"""Outputs in the documentation match what the commands print."""

from __future__ import annotations

import os
import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from cluster_io.errors import UsageError
from kubectl_plugin.options import Output
from kubectl_plugin.parsing import parse
from kubectl_plugin.parsing.commands import COMMANDS, flags_of
from podrules.api.features import CHANGES, OLDEST_VERIFIED, Change
from tests.golden import check
from tests.kubectl_plugin.answers import check_texts
from tests.kubectl_plugin.running import run

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *(page for folder in ("how-to", "webhook") for page in sorted((ROOT / "docs" / folder).glob("*.md"))),
]
BLOCK = re.compile(r"(<!-- output(?: \((.+?)\))?: kubectl qos (.+?) -->\n```\n)(.*?)(```\n)", re.DOTALL)
"""The marker, the shown part of the output, the command, the text and the end.

``(verdict, Why no node fits)`` shows parts: the verdict with its title, and sections and tables by their first words.
``at most 20 lines`` at the end leaves out further rows of a table. Without parentheses the whole output is shown.
"""
TABLE = re.compile(r"(<!-- formats -->\n).*?(<!-- end of formats -->)", re.DOTALL)
CHANGED = re.compile(r"(<!-- changes -->\n).*?(<!-- end of changes -->)", re.DOTALL)
FORMATS = {
    **{f"`{name}`": (name,) for name in ("table", "wide", "json", "yaml", "markdown", "html", "name")},
    "`jsonpath`, `custom-columns`": ("jsonpath={.a}", "jsonpath-as-json={.a}", "custom-columns=A:.a"),
}
"""Columns of the table of formats, with the typed name of each."""
FILES = {"report": "the HTML page", "snapshot": "the capture"}
_REPEATED = 200
"""Minimum length of a paragraph that may appear on one page only."""


def _printed(command: str, patch: pytest.MonkeyPatch, scratch: Path) -> str:
    # The one command that is shown with the file that it writes.
    patch.chdir(scratch if command.startswith("snapshot ") else ROOT)
    patch.setenv("COLUMNS", "80")
    ran = run(*shlex.split(command))
    # 3: shown and not done, because it was not confirmed. 7: not every requested pod has a place.
    # 1: lint found an error. 11: the cause of an end is not certain.
    assert ran.code in {0, 3, 7, 11} or (ran.code == 1 and command.startswith("lint ")), ran.err
    return ran.out


def _part(output: str, name: str) -> str:
    """A part of an answer, which must exist."""
    if name == "verdict":
        return output.split("\n\n", maxsplit=1)[0].rstrip("\n")
    begin = re.search(rf"^{re.escape(name)}\b", output, re.MULTILINE)
    assert begin is not None, f"no {name} in\n{output}"
    text = output[begin.start() :]
    # The lines of a label continue to the next label, a table to the next blank line.
    end = re.search(r"\n(?=\S)|\n\n|\Z" if _is_section(text) else r"\n\n|\Z", text)
    assert end is not None
    return text[: end.start()].rstrip("\n")


def _is_section(part: str) -> bool:
    """A label with its lines, which follows another one without a gap."""
    return re.match(r"(?!Next )\S.{11}  \S", part) is not None


def _shown(output: str, wanted: str | None) -> str:
    """The part of the output that a marker selects."""
    if wanted is None:
        return output
    wanted, _, lines = wanted.partition(", at most ")
    parts = [_part(output, name) for name in wanted.split(", ")]
    text = parts[0]
    for before, part in pairwise(parts):
        text += ("\n" if _is_section(before) and _is_section(part) else "\n\n") + part
    return _whole_rows(text, int(lines.removesuffix(" lines"))) if lines else f"{text}\n"


def _whole_rows(text: str, most: int) -> str:
    lines = [*text.splitlines(), ""]
    begins = [at for at, line in enumerate(lines) if not line or re.match(r" {0,8}\S", line)]
    return "\n".join(lines[: max(at for at in begins if at <= most)]) + "\n"


def _paragraphs(page: Path) -> set[str]:
    """Long paragraphs, without the flags that help pages share and the answers that README shows."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"<!-- output: kubectl qos \w+ --help -->\n```.*?```\n", "", text, flags=re.DOTALL)
    if page.name == "README.md":
        text = re.sub(r"```.*?```\n", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->|```\w*\n(\$ .*\n)?", "", text, flags=re.DOTALL)
    return {plain for one in re.split(r"\n\s*\n", text) if len(plain := " ".join(one.split())) > _REPEATED}


def _without_command(shown: str) -> str:
    return re.sub(r"\A\$ .*\n", "", shown)


def _without_layout(text: str) -> str:
    """A help page in one line; for a flag with a short form, the value follows only the long form."""
    return " ".join(re.sub(r"^(  -\w) \S+, (?=--)", r"\1, ", text, flags=re.MULTILINE).split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_outputs_are_generated(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def shown(found: re.Match[str]) -> str:
        printed = _shown(_printed(found[3], monkeypatch, tmp_path), found[2])
        # Each Python version formats help differently; the documentation shows the format of 3.11.
        other = found[3].endswith(" --help") and sys.version_info[:2] != (3, 11)
        if other and _without_layout(printed) == _without_layout(_without_command(found[4])):
            printed = _without_command(found[4])
        return f"{found[1]}$ kubectl qos {found[3]}\n{printed}{found[5]}"

    check(page, BLOCK.sub(shown, page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_output_is_written_by_hand(page: Path) -> None:
    """A block without a language follows the marker of a test that writes it."""
    lines = page.read_text(encoding="utf-8").splitlines()
    fences = [at for at, line in enumerate(lines) if line.startswith("```")]
    assert not [lines[at + 1] for at in fences[::2] if lines[at] == "```" and not lines[at - 1].endswith("-->")]


def _takes(command: str, output: str) -> bool:
    """Whether a command's parser accepts that as a format of -o, not as a file name."""
    words = {
        "explain": ["pod/a"],
        "place": ["pod/a"],
        "lint": ["-f", "-"],
        "died": [],
        "partitions": [],
        "rights": [],
        "report": [],
        "snapshot": [],
        "versions": [],
    }
    try:
        options = parse([command, *words.get(command, ["a"]), "-o", output]).options
    except UsageError:
        return False
    return isinstance(getattr(options, "output", None), Output)


def test_table_of_formats_is_that_of_the_parsers() -> None:
    lines = [f"| command | {' | '.join(FORMATS)} | also |", f"|{' --- |' * (len(FORMATS) + 2)}"]
    for command in COMMANDS:
        flag = next(flag for flag in flags_of(command).values() if "--output" in flag.names)
        taken = ["yes" if all(_takes(command, text) for text in texts) else "" for texts in FORMATS.values()]
        also = [f"`{name}`" for name in flag.choices if not name.endswith("=") and f"`{name}`" not in FORMATS]
        also += [f"`FILE`: {FILES[command]}"] if flag.value == "FILE" else []
        lines.append(f"| `{command}` | {' | '.join([*taken, ', '.join(also)])} |".replace("|  ", "| "))
    page = ROOT / "docs" / "formats.md"
    text = page.read_text(encoding="utf-8")
    check(page, TABLE.sub(lambda found: found[1] + "\n".join(lines) + "\n" + found[2], text))
    assert TABLE.search(text)


def _settable(change: Change) -> str:
    """The listed minors in which a gate can be set, if not all."""
    first = change.introduced if change.introduced > OLDEST_VERIFIED else None
    last = change.locked and change.locked - 1
    if first and last:
        return f" (1.{first} to 1.{last})" if first < last else f" (1.{first} alone)"
    if first or last:
        return f" (since 1.{first})" if first else f" (until 1.{last})"
    return ""


def test_table_of_versions_is_that_of_the_rules() -> None:
    lines = ["| since | rule | what a user sees | feature gate |", "| --- | --- | --- | --- |"]
    for change in sorted(CHANGES.values(), key=lambda one: (-one.since, one.rule)):
        gate = f"`{change.gate}`{_settable(change)}" if change.gate else ""
        lines.append(f"| 1.{change.since} | {change.rule} | {change.effect} | {gate} |".replace("|  |", "| |"))
    page = ROOT / "docs" / "versions.md"
    text = page.read_text(encoding="utf-8")
    check(page, CHANGED.sub(lambda found: found[1] + "\n".join(lines) + "\n" + found[2], text))
    assert CHANGED.search(text)


def test_five_demo_pods_are_shown() -> None:
    shown = BLOCK.findall((ROOT / "docs" / "explain.md").read_text(encoding="utf-8"))
    pods = {command for _, _, command, text, _ in shown if command.startswith("explain pod/") and text.strip()}
    assert len(pods) >= 5


def test_no_page_repeats_a_paragraph_of_another() -> None:
    stands: dict[str, str] = {}
    repeated = []
    for page in PAGES:
        for paragraph in _paragraphs(page):
            if paragraph in stands:
                repeated.append(f"{stands[paragraph]} and {page.name}: {paragraph[:80]}")
            stands[paragraph] = page.name
    assert not repeated


def test_first_screen_has_an_answer_of_each_kind() -> None:
    screen = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## Try it")[0]
    pending, killed = (text for _, _, command, text, _ in BLOCK.findall(screen) if command.startswith("explain"))
    assert "Why no node fits" in pending
    assert pending.count("\n") <= 20
    assert "OOMKilled" in killed
    assert killed.count("\n") <= 8
    check_texts(screen, ("Warning: Immediate deletion", "not released"))


def test_generating_is_off_in_ci() -> None:
    assert not (os.environ.get("CI") == "true" and os.environ.get("UPDATE_GOLDEN"))
