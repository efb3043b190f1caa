"""Formats of ``-o`` are the same for every command that prints reports, and match kubectl's."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from kubectl_plugin.render.formats import Format, formats_of
from kubectl_plugin.render.jsonpath import JSONPathError
from kubectl_plugin.render.templates import columns_from_lines, columns_from_spec
from tests.kubectl_plugin.answers import data
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_pod
from tests.tree import ROOT

COMMANDS: Final[dict[str, tuple[tuple[str, ...], int, str]]] = {
    "explain": (("-n", "shop", "pod/db-1"), 0, "pod/db-1\n"),
    "node": (("node-a1",), 0, "node/node-a1\n"),
    "partitions": ((), 0, "node/node-c3\n"),
    "delete": (("-n", "shop", "pod/db-1", "--grace-period=0"), 3, "pod/db-1\n"),
    "fence": (("node/node-c3",), 3, "node/node-c3\n"),
    "unfence": (("node/node-a1",), 0, "node/node-a1\n"),
    "place": (("--exclude-node", "node-a1", "--drain", "cp-a1"), 0, ""),
}
"""Each command's arguments, its exit code, and the names of its objects."""

OFFERED: Final = formats_of(wide=True, names=True)
"""The arguments of `explain`."""
AFTER = ": -o json shows the fields\n"
"""The end of a note about a column."""


@pytest.mark.parametrize("command", COMMANDS)
def test_K_names(command: str) -> None:
    words, code, names = COMMANDS[command]
    ran = run(command, *words, "--demo", "-o", "name")
    assert (ran.code, ran.err) == (code, "")
    assert ran.out == names or (command == "place" and all("/" in line for line in ran.out.splitlines()))


@pytest.mark.parametrize("command", COMMANDS)
def test_K_templates_use_the_json_output(command: str) -> None:
    words, code, _ = COMMANDS[command]
    printed = json.loads(run(command, *words, "--demo", "-o", "json").out)
    expected = f"{printed['kind']} of {printed['source']}"
    assert run(command, *words, "--demo", "-ojsonpath={.kind} of {.source}") == (code, expected, "")


def test_K_templates_in_files_and_columns(tmp_path: Path) -> None:
    words = ("unfence", "node/node-a1", "--demo", "-o")
    (tmp_path / "template").write_text("{.kind} of {.name}\n")
    (tmp_path / "columns").write_text("KIND NOTHING\n{.kind} .nothing\n")
    assert run(*words, f"jsonpath-file={tmp_path / 'template'}") == (0, "Fencing of node-a1\n", "")
    table = "KIND      NOTHING\nFencing   <none>\n"
    note = f"the object has no {{}}nothing{AFTER}".format
    assert run(*words, f"custom-columns-file={tmp_path / 'columns'}") == (0, table, note("."))
    assert run(*words, "custom-columns=KIND:.kind,NOTHING:nothing") == (0, table, note(""))


def test_K_column_without_values_is_reported_once() -> None:
    words = ("explain", "--demo", "-n", "shop", "pod/db-0", "pod/db-1", "-o")
    ran = run(*words, "custom-columns=N:.name,A:.nope,B:.nope,C:.deleted")
    assert ran.out == "N      A        B        C\ndb-0   <none>   <none>   <none>\ndb-1   <none>   <none>   <none>\n"
    assert ran.err == f"none of the 2 objects has .nope{AFTER}none of the 2 objects has .deleted{AFTER}"
    some = run(*words, "custom-columns=N:.name,D:.oom[0].node,AT:.status.deletionTimestamp")
    assert (some.err, "<none>" in some.out) == ("", False), "null is a value"


def test_K_columns_in_the_documentation_exist() -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    columns = re.findall(r"^\$ .*(custom-columns=\S+)", page, re.MULTILINE)
    assert max(spec.count(":") for spec in columns) == 6
    for spec in columns:
        ran = run("explain", "pods", "-A", "--demo", "-o", spec)
        assert (ran.code, ran.err) == (0, "")


def test_K_lists_of_a_report_are_lists() -> None:
    words = ("explain", "--demo", "-n", "shop", "pod/db-1")
    values = [str(entry["value"]) for entry in data(*words)["oom"][0]["containers"]]
    assert run(*words, "-o", "jsonpath={.oom[0].containers[*].value}").out == " ".join(values)
    columns = run(*words, "-o", "custom-columns=A:.oom[0].containers[*].value").out
    assert columns.split() == ["A", ",".join(values)]


@pytest.mark.parametrize(
    ("output", "printed"),
    [
        ('jsonpath={range .items[*]}{.name}{"\\n"}{end}', "db-0\ndb-1\n"),
        ("custom-columns=N:.name", "N\ndb-0\ndb-1\n"),
        ("jsonpath-as-json={.items[*].name}", '[\n    "db-0",\n    "db-1"\n]\n'),
    ],
)
def test_K_list_has_items(output: str, printed: str) -> None:
    words = ("explain", "--demo", "-n", "shop", "pod/db-0", "pod/db-1", "-o", output)
    assert run(*words).out == printed
    if printed.startswith("N\n"):
        assert run(*words, "--no-headers").out == printed.removeprefix("N\n")


@pytest.mark.parametrize("output", ["table", "json", "name", "jsonpath={.name}"])
def test_K_only_columns_have_headings(output: str) -> None:
    ran = run("explain", "pod/x", "--no-headers", "-o", output)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: --no-headers needs -o custom-columns=SPEC\nFor names only, use -o name\n"


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("jsonpath", "-o jsonpath: its template is missing\nWrite e.g. -o jsonpath='{.name}'\n"),
        ("jsonpath=", "-o jsonpath: its template is missing"),
        ("jsonpath={.a", "jsonpath: an action is not closed"),
        ("jsonpath-file=/no/such/file", "/no/such/file: No such file or directory"),
        ("custom-columns=NAME", "column 'NAME': write HEADING:PATH"),
        ("custom-columns=N:{.a}{.b}", "a column is one path"),
        ("wide=x", f'-o "wide=x": not one of {", ".join(entry.typed for entry in OFFERED)}'),
        ("jsno", "\nDid you mean json?\n"),
    ],
)
def test_K_invalid_format_is_refused_before_any_work(output: str, problem: str) -> None:
    ran = run("explain", "pod/x", "-o", output)
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err


def test_K_template_file_has_a_limit(tmp_path: Path) -> None:
    (tmp_path / "large").write_text("x" * 100_001)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    assert "longer than 100000 characters" in run("explain", "pod/x", "-o", f"jsonpath-file={tmp_path / 'large'}").err
    assert "it is not text" in run("explain", "pod/x", "-o", f"jsonpath-file={tmp_path / 'binary'}").err


def test_K_template_that_does_not_match_the_data() -> None:
    """The exit code of a change stays."""
    words = ("--demo", "-o", "jsonpath={.name[0]}")
    error = "error: -o jsonpath: [0] is for a list, and this is a text\n-o json shows the data\n"
    assert run("explain", "-n", "shop", "pod/db-1", *words) == (2, "", error)
    assert run("fence", "node/node-c3", *words)[:2] == (3, "")
    assert "-o jsonpath: [0] is for a list" in run("fence", "node/node-c3", *words).err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "headings in the first line: 0, paths in the second: 0;"),
        ("A B\n.a", "headings in the first line: 2, paths in the second: 1;"),
        ("A\n{.a", "a column is one path"),
    ],
)
def test_K_files_of_columns(text: str, problem: str) -> None:
    with pytest.raises(JSONPathError, match=problem.replace("{", r"\{")):
        columns_from_lines(text)


def test_K_cells() -> None:
    columns = columns_from_spec("A:.a,B:b[*],C:{c},D:{.d},E:")
    items = [{"a": None, "b": [1, 2.5, "x"], "c": {"k": [True]}, "d": "two\nlines\x1b"}, {"a": "wide value"}]
    assert columns.render(items).splitlines() == [
        "A            B         C               D               E",
        "<nil>        1,2.5,x   map[k:[true]]   two lines\\x1b   <none>",
        "wide value   <none>    <none>          <none>          <none>",
    ]


HOSTILE: Final = raw_pod("a\x1b[2Jb", "default", uid="u")
TEMPLATES: Final = {
    "jsonpath": "{.items[*].name}",
    "jsonpath-as-json": "{.items[*].name}",
    "jsonpath-file": "jsonpath",
    "custom-columns": "NAME:.name",
    "custom-columns-file": "columns",
}
"""A template or a file name for each format that takes one."""


@pytest.fixture
def hostile(tmp_path: Path) -> list[str]:
    """The arguments for a pod with a name that would clear a terminal."""
    file = write_cluster(tmp_path / "c.qos", [HOSTILE])
    (tmp_path / "jsonpath").write_text("{.items[*].name}")
    (tmp_path / "columns").write_text("NAME\n.name\n")
    return ["explain", "--snapshot", file, "pods", "-o"]


def shown(words: list[str]) -> bytes:
    """The output of a command on a terminal."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "kubectl_plugin", *words]
    read = bytearray()
    with subprocess.Popen(command, cwd=ROOT, stdout=slave) as process:
        os.close(slave)
        # Read while the command writes: a terminal buffers a few kilobytes.
        with contextlib.suppress(OSError):
            while piece := os.read(master, 4096):
                read += piece
        assert process.wait(timeout=60) == 0
    os.close(master)
    return bytes(read)


def test_K_pipe_gets_unescaped_text(hostile: list[str]) -> None:
    assert run(*hostile, "jsonpath={.items[*].name}").out == "a\x1b[2Jb"


@pytest.mark.parametrize("entry", OFFERED, ids=lambda entry: entry.name)
def test_K_terminal_gets_escaped_text(entry: Format, hostile: list[str], tmp_path: Path) -> None:
    template = TEMPLATES[entry.name] if entry.template else ""
    if entry.name.endswith("-file"):
        template = str(tmp_path / template)
    text = shown([*hostile, f"{entry.typed}{template}"])
    assert b"\x1b[2J" not in text
    assert b"[2Jb" in text
    if entry.name.startswith("jsonpath") and not entry.name.endswith("json"):
        assert text == b"a\\x1b[2Jb"
