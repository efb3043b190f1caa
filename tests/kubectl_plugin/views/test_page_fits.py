"""A page fits its terminal: the default page has what decides, ``-o wide`` the rest, at any width."""

from __future__ import annotations

import io
import os
import pty
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.demo import demo_objects
from cluster_io.kinds import PODS
from kubectl_plugin.options import Streams
from kubectl_plugin.progress import ProgressLine
from kubectl_plugin.render.command import Target
from kubectl_plugin.render.page import Page, Row, Section, Table
from kubectl_plugin.render.text import render_page
from kubectl_plugin.render.width import text_columns
from kubectl_plugin.reports.verdict import Severity
from tests.golden import check
from tests.kubectl_plugin.answers import data
from tests.kubectl_plugin.running import run
from tests.kubectl_plugin.terminals import resize
from tests.kubectl_plugin.test_golden import GOLDEN

CASES: Final = Path(__file__).resolve().parents[2] / "testdata" / "cases" / "cli"
HUGE: Final = str(CASES / "huge30.yaml")
_PODS: Final = sorted(
    (one["metadata"]["namespace"], one["metadata"]["name"]) for one in demo_objects() if one["kind"] == "Pod"
)
_MOST, _MAX_HEALTHY = 40, 16
_LABEL: Final = re.compile(r"^([A-Z][A-Za-z ]{1,12}?)  +\S", re.MULTILINE)
_ONLY_BRIEF: Final = frozenset({"Next", "Unknown"})
"""The command for the whole page, and the note about a missing rank, which Pressure explains."""


@cache
def explained(namespace: str, name: str) -> dict[str, Any]:
    read: dict[str, Any] = data("explain", f"pod/{name}", "-n", namespace, "--demo")
    return read


def page(monkeypatch: pytest.MonkeyPatch, columns: int, *words: str) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    ran = run("explain", *words)
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def is_healthy(report: dict[str, Any]) -> bool:
    """Whether it runs, is Ready, has no faulty container and an answering node, and is not being changed or deleted."""
    status = report["status"]
    node = status["node"]
    return (
        status["phase"] == "Running"
        and status["health"]["ready"] is True
        and not status["health"]["troubles"]
        and not status["deletionTimestamp"]
        and not status["resize"]
        and report["verdict"]["code"] != "NearMemoryLimit"
        and node is not None
        and node["reach"]["reach"] == "Answers"
    )


def overlong(text: str, columns: int) -> list[str]:
    """Lines that are longer than the terminal and could be wrapped; commands to paste are excluded."""
    lines = (line for line in text.splitlines() if "kubectl " not in line)
    # The label of a line reduces the room for words.
    return [line for line in lines if len(line) > columns and max(map(len, line.split())) <= columns - 14]


def test_every_demo_pod_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = {pod: len(page(monkeypatch, 80, f"pod/{pod[1]}", "-n", pod[0], "--demo").splitlines()) for pod in _PODS}
    assert {pod: count for pod, count in lines.items() if count > _MOST} == {}
    healthy = {pod: count for pod, count in lines.items() if is_healthy(explained(*pod))}
    assert len(healthy) > 90
    assert {pod: count for pod, count in healthy.items() if count > _MAX_HEALTHY} == {}


@pytest.mark.parametrize("wide", [False, True], ids=["default", "wide"])
@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_no_line_is_longer_than_the_terminal(columns: int, wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    more = ["-o", "wide"] if wide else []
    for namespace, name in _PODS[:: 14 if wide else 7]:
        text = page(monkeypatch, columns, f"pod/{name}", "-n", namespace, "--demo", *more)
        assert overlong(text, columns) == [], (namespace, name)


def test_whole_page_includes_the_default_page(monkeypatch: pytest.MonkeyPatch) -> None:
    for namespace, name in _PODS[::7]:
        words = (f"pod/{name}", "-n", namespace, "--demo")
        brief, whole = page(monkeypatch, 80, *words), page(monkeypatch, 80, *words, "-o", "wide")
        assert set(_LABEL.findall(brief)) - set(_LABEL.findall(whole)) <= _ONLY_BRIEF, name
        head, whole_head = (" ".join(text.partition("\n\n")[0].split()) for text in (brief, whole))
        # A table of the default page has these counts.
        assert head == re.sub(r"Of \d+ nodes, .*?\. (?=Ways? out:)", "", whole_head), name
        assert f"kubectl qos explain pod/{name} -n {namespace} --demo -o wide" in brief
        assert brief.count("\n") < whole.count("\n"), name


def test_sections_moved_off_the_page_are_in_the_whole_page(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("pod/checkout-mv9cgvs6p-x2x7p", "-n", "shop", "--demo")
    brief, whole = page(monkeypatch, 80, *words), page(monkeypatch, 80, *words, "-o", "wide")
    for part in (
        "\nCgroup ",
        "Guaranteed if ",
        "\nTopology spread",
        "0/12 nodes are available",
        "way out: ",
        "1000 - ",
    ):
        assert part not in brief, part
        assert part in whole, part
    assert "kube-scheduler said the same (its message: -o wide)" in brief
    words = ("pod/postgres-0", "-n", "data", "--demo")
    brief, whole = page(monkeypatch, 80, *words), page(monkeypatch, 80, *words, "-o", "wide")
    for part in ("\nCgroup ", "\nPressure ", "\nWriters ", "wal-archiver  SIGTERM", "preStop exec", "hard threshold"):
        assert part not in brief, part
        assert part in whole, part
    assert "Force delete  not safe: two may run; StatefulSet postgres promises one" in brief


def test_force_deletion_risk_stays_on_silent_node_page(monkeypatch: pytest.MonkeyPatch) -> None:
    text = page(monkeypatch, 120, "pod/db-1", "-n", "shop", "--demo")
    assert "make sure that the machine is off first" in " ".join(text.split())
    assert "NFS, ReadWriteOnce: nothing keeps a second writer off" in text
    assert "Unknown       usage of node-c3 is unknown: the node is not ready, so its" in text


@pytest.mark.parametrize("wide", [False, True], ids=["default", "wide"])
def test_thirty_containers_are_not_one_sentence(wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("-f", HUGE, "--demo")
    text = page(monkeypatch, 80, *words, *(["-o", "wide"] if wide else []))
    # At most a few lines between two container names: a list has rows, one per container.
    for paragraph in re.split(r"\n(?=\S)|\n +(?=container|and |Guaranteed|\d+  |memory)", text):
        names = re.findall(r"container-number-\d\d(?=[ ,;])", paragraph.split("SIGTERM")[0])
        assert len(names) <= 3 or "limits.cpu" in paragraph, paragraph
    assert text.count("container-number-29") == (6 if wide else 0)
    assert (len(text.splitlines()) <= _MOST) is not wide
    if wide:
        assert "\n              container-number-29  limits.cpu = 300m, requests.memory = 310Mi\n" in text


SIZES: Final = {
    "pod-healthy": ["-n", "shop", "pod/checkout-mv9cgvs6p-m2n4z"],
    "pod-pending": ["-n", "shop", "pod/checkout-mv9cgvs6p-x2x7p"],
    "pod-stuck": ["-n", "shop", "pod/db-1"],
}


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("name", SIZES)
def test_pages_of_three_terminals(name: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    check(GOLDEN / f"{name}-{columns}.txt", page(monkeypatch, columns, "--demo", *SIZES[name]))


@pytest.mark.parametrize(
    ("value", "columns"),
    [("", 80), ("0", 80), ("wide", 80), ("-5", 80), ("10", 40), ("100", 100), ("999", 200), ("9" * 5000, 80)],
)
def test_columns_override_the_terminal(value: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("-n", "shop", "pod/checkout-mv9cgvs6p-x2x7p", "--demo")
    expected = page(monkeypatch, columns, *words)
    monkeypatch.setenv("COLUMNS", value)
    assert run("explain", *words).out == expected


@pytest.mark.parametrize(("terminal", "columns"), [(0, 80), (20, 40), (97, 97), (300, 200)])
def test_text_is_as_wide_as_the_terminal(terminal: int, columns: int) -> None:
    master, slave = pty.openpty()
    resize(slave, rows=24, columns=terminal)
    with os.fdopen(slave, "w", encoding="utf-8") as stream:
        assert text_columns(stream) == columns
        assert Streams(io.StringIO(), stream, io.StringIO()).width() == columns
        assert Streams(io.StringIO(), stream, io.StringIO(), 50).width() == 50
    os.close(master)
    assert text_columns(io.StringIO()) == 80


def test_progress_line_does_not_wrap() -> None:
    master, slave = pty.openpty()
    resize(slave, rows=24, columns=50)
    with os.fdopen(slave, "w", encoding="utf-8") as stream:
        line = ProgressLine(stream)
        line._counts = {f"kind{number}": 1000 for number in range(9)}
        line.read(PODS, 1_000_000)
        drawn = os.read(master, 4096).decode()
    os.close(master)
    assert drawn.startswith("\r\x1b[Kreading 1,000 kind0, ")
    assert len(drawn.removeprefix("\r\x1b[K")) == 49


def test_narrow_table_wraps_without_loss() -> None:
    row = ("checkout-mv9cgvs6p-bj94z", "Running", "Burstable", "1000", "node-b2")
    table = Table("7 pods", ("pod", "status", "qos", "priority", "node"), (row,))
    text = render_page(Page("t", (), Severity.FINE, (table,)), colour=False, target=Target(), width=40)
    assert set(row) <= set(text.split())
    assert max(map(len, text.splitlines())) <= 40


def test_wide_terminals_get_columns_and_no_longer_prose() -> None:
    prose = Section("Why", ("word " * 60, Row(("name", "word " * 60))))
    table = Table("", ("a", "b"), (("x", "word " * 60),))
    text = render_page(
        Page("t", ("word " * 60,), Severity.FINE, (prose, table)), colour=False, target=Target(), width=200
    )
    above, _, rows = text.rpartition("\n\n")
    assert 90 < max(map(len, above.splitlines())) <= 100
    assert 190 < max(map(len, rows.splitlines())) <= 200


def test_drawing_that_does_not_fit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("pod/postgres-0", "-n", "data", "--demo", "--timeline=delete")
    assert "====" in page(monkeypatch, 80, *words)
    narrow = page(monkeypatch, 40, *words)
    assert "====" not in narrow
    assert overlong(narrow, 40) == []


def test_colours_work_on_light_and_dark_terminals() -> None:
    """Bold, and of the sixteen colours only green, yellow and red in their normal tone; a pipe gets none."""
    for severity in Severity:
        drawn = Page("t", ("said",), severity, (Section("Why", ("x",)),))
        painted = render_page(drawn, colour=True, target=Target())
        assert set(re.findall(r"\x1b\[([\d;]*)m", painted)) <= {"0", "1", "31", "32", "33"}
        assert re.sub(r"\x1b\[[\d;]*m", "", painted) == render_page(drawn, colour=False, target=Target())
    assert "\x1b" not in run("explain", "--demo", *SIZES["pod-stuck"]).out


def test_name_that_cannot_be_broken_starts_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("node", "--demo", "-o", "wide").out.splitlines()
    assert any(line.startswith("  kube-system/csi-block-controller-qwtv78rmd-vxhjc ") for line in lines)
    # Commands are pasted, so only they may be longer.
    assert [line for line in lines if len(line) > 80 and "kubectl qos " not in line] == []
