"""Captures rebuilt from public reports: the first lines answer the question asked there."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.running import run
from tests.tree import ROOT

REPORTS: Final = ROOT / "tests" / "testdata" / "reports"
CASES: Final[list[dict[str, Any]]] = json.loads((REPORTS / "cases.json").read_text(encoding="utf-8"))
LINES: Final = 12
"""The number of lines that are visible without scrolling."""


def _first_lines(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> str:
    # By the file's name only, because a path would take a line of the answer.
    monkeypatch.chdir(REPORTS)
    monkeypatch.setenv("COLUMNS", "80")
    ran = run(*case["command"], "--snapshot", case["file"])
    assert "Traceback" not in ran.out + ran.err
    text = " ".join(" ".join(ran.out.splitlines()[:LINES]).split())
    # The file is named after its answer, and its missing kinds do not change the answer.
    return re.sub(r"Not certain: no [^.]*(\.[^.]+)*? in the file: assumed none\.", "", text).replace(case["file"], "")


@pytest.mark.parametrize("case", CASES, ids=lambda case: Path(case["file"]).stem)
def test_first_lines_answer(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    text = _first_lines(case, monkeypatch)
    lacking = [one for one in case["shows"] if not re.search(one, text, re.IGNORECASE)]
    wrong = [one for one in case["neverShows"] if re.search(one, text, re.IGNORECASE)]
    assert (lacking, wrong) == ([], []), f"expected: {case['expected']}\n{text}"


def test_every_capture_is_listed_once() -> None:
    assert Counter(case["file"] for case in CASES) == {
        path.name: 1 for path in REPORTS.glob("*.json") if path.name != "cases.json"
    }


def test_every_capture_is_of_another_report() -> None:
    references = [case["reference"] for case in CASES]
    assert len(set(references)) == len(references)
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+|https://\S+", one) for one in references)
