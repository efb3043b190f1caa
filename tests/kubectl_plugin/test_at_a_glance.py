"""Pages that are read at a glance: marks, folded lists, bars and widths agree with the data behind them."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from typing import Any, Final

import pytest

from kubectl_plugin.reports.verdict import Severity
from kubectl_plugin.views.words import bar
from tests.kubectl_plugin.running import run
from tests.kubectl_plugin.terminals import shown

PAGES: Final = {
    "pods": "explain pods -A",
    "pending pod": "explain pod/checkout-mv9cgvs6p-x2x7p -n shop",
    "pod near its limit": "explain pod/postgres-0 -n data",
    "pod on a silent node": "explain pod/db-1 -n shop",
    "deployment": "explain deployment/checkout -n shop",
    "deployments": "explain deployments -A",
    "claims": "explain pvc -A",
    "nodes": "node",
    "full node": "node node-a1",
    "silent node": "node node-c3",
    "partitions": "partitions",
    "ends": "died -A",
    "end": "died pod/image-resizer-t7fpjd79c-t6pxj -n shop",
    "report": "report",
    "drain": "place --drain node-a1",
    "timeline": "explain pod/db-1 -n shop --timeline=node-lost",
}
MARKS: Final = {severity.value: severity.mark for severity in Severity}
COLOURS: Final = {"x": "\x1b[31m", "!": "\x1b[33m", "ok": "\x1b[32m"}
_MOST: Final = 30
"""The most lines of the list of all pods of the demo cluster on a terminal of 80 columns."""


@cache
def data(page: str) -> Any:
    return json.loads(run(*PAGES[page].split(), "--demo", "-o", "json").out)


@cache
def on_terminal(page: str, columns: int = 80) -> str:
    return shown(*PAGES[page].split(), "--demo", columns=columns)


def marked(text: str) -> list[tuple[str, str]]:
    """The lines that begin with a mark, and the rest of each."""
    return re.findall(r"^(x|!|ok) +(.*)", text, re.MULTILINE)


@pytest.mark.parametrize("page", ["pending pod", "pod on a silent node", "deployment", "full node", "end", "drain"])
def test_mark_of_a_headline_is_the_severity_of_its_verdict(page: str) -> None:
    verdict = data(page)["verdict"]
    mark, headline = marked(on_terminal(page, 200))[0]
    assert mark == MARKS[verdict["severity"]]
    assert verdict["text"].startswith(headline[:60])


@pytest.mark.parametrize("page", ["pods", "deployments", "claims"])
def test_every_row_has_the_mark_of_its_object(page: str) -> None:
    items = data(page)["items"]
    wanted = {f"{one['namespace']}/{one['name']}": MARKS[one["verdict"]["severity"]] for one in items}
    text = shown(*PAGES[page].split(), "--demo", "--all", columns=200)
    rows = {rest.split()[0]: mark for mark, rest in marked(text)[1:]}
    assert rows == wanted
    wrong = sum(mark != "ok" for mark in rows.values())
    assert marked(text)[0][1].startswith(f"{wrong} of {len(rows)} " if wrong else "Nothing is wrong with ")


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_folded_list_names_each_pod_with_a_problem_once(columns: int) -> None:
    text = on_terminal("pods", columns)
    wrong, of = map(int, re.findall(r"^x (\d+) of (\d+) pods have", text)[0])
    folded = text.partition("\n\n")[2].partition("\nHidden")[0]
    names = Counter(re.findall(r"[a-z-]+/[a-z0-9-]+", folded))
    every = {f"{one['namespace']}/{one['name']}" for one in data("pods")["items"]}
    assert len(every) == of
    assert set(names) <= every
    assert set(names.values()) == {1}
    unnamed = sum(int(count) for count in re.findall(r" and\s+(\d+)\s+more", folded))
    counts = re.findall(r"^(?:x|!) +(\d+)  ", folded, re.MULTILINE)
    assert len(names) + unnamed == wrong == sum(map(int, counts))
    assert f"{of - wrong} with nothing wrong (--all)" in " ".join(text.split())
    # In a pipe each pod has its row.
    piped = run(*PAGES["pods"].split(), "--demo").out
    assert {rest.split()[0] for _, rest in marked(piped)[1:]} == every


def test_list_of_all_pods_fits_on_a_screen() -> None:
    assert len(on_terminal("pods").splitlines()) <= _MOST
    assert "node-c3 silent" in "".join(on_terminal("pods").splitlines()[:4])


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("page", PAGES)
def test_only_commands_and_names_are_wider_than_the_terminal(page: str, columns: int) -> None:
    lines = [line for line in on_terminal(page, columns).splitlines() if "kubectl " not in line]
    # A name is never broken; the label of a section and the gap of a row reduce its room.
    wide = [line for line in lines if len(line) > columns and max(map(len, line.split())) <= columns - 16]
    assert wide == []


@pytest.mark.parametrize("page", PAGES)
def test_page_is_ascii_and_colours_only_marks_and_headings(page: str) -> None:
    plain = on_terminal(page)
    assert plain.isascii()
    coloured = shown(*PAGES[page].split(), "--demo", colour=True)
    assert re.sub(r"\x1b\[\d*m", "", coloured) == plain
    for mark, colour in COLOURS.items():
        assert f"\n{mark} " not in coloured
        assert coloured.count(f"{colour}{mark}") == len([one for one, _ in marked(plain) if one == mark])


def test_counts_of_a_pending_pod_add_up() -> None:
    text = on_terminal("pending pod")
    nodes = int(re.findall(r"0 of (\d+) nodes fit", text)[0])
    rows = re.findall(r"^(\d+)  \[(#+)-*\]", text, re.MULTILINE)
    assert sum(int(count) for count, _ in rows) == nodes
    assert all(int(count) == len(cells) for count, cells in rows)


def test_numbers_of_headlines_are_those_of_their_rows() -> None:
    for page, pattern in (
        ("nodes", r"x (\d+) of"),
        ("partitions", r": (\d+) pods depend"),
        ("report", r"x (\d+) find"),
    ):
        text = on_terminal(page)
        number = re.findall(pattern, text)[0]
        assert int(number) == len([mark for mark, _ in marked(text)[1:] if mark != "ok"]), page
    report = on_terminal("report")
    [(trouble, notice)] = re.findall(r"(\d+) trouble, (\d+) notice", report)
    assert Counter(mark for mark, _ in marked(report)[1:]) == {"x": int(trouble), "!": int(notice), "ok": 1}
    ends = on_terminal("ends")
    [(all_of_them, most)] = re.findall(r"x (\d+) pods .*, (\d+) of them", ends)
    counts = [int(rest.split()[0]) for _, rest in marked(ends)[1:]]
    assert (sum(counts), counts[0]) == (int(all_of_them), int(most))
    [(more, nodes)] = re.findall(r"^ok (\d+) more +-> (.*) \(-o wide\)$", on_terminal("drain"), re.MULTILINE)
    assert int(more) == sum(int(one.split()[1]) for one in nodes.split(", "))


@pytest.mark.parametrize(
    ("used", "whole", "mark", "drawn"),
    [
        (0, 8, 0, "[--------------------]"),
        (1, 800, 0, "[#-------------------]"),
        (76, 80, 0, "[###################-]"),
        (79, 80, 0, "[###################-]"),
        (80, 80, 0, "[####################]"),
        (95, 80, 0, "[####################]"),
        (30, 80, 40, "[#######---|---------]"),
        (60, 80, 40, "[##########|####-----]"),
        (60, 80, 80, "[###############-----]"),
        (1, 0, 0, ""),
    ],
)
def test_bar_is_full_only_at_the_limit(used: int, whole: int, mark: int, drawn: str) -> None:
    assert bar(used, whole, mark) == drawn
