"""Every recorded answer of upstream's own code, held against ours; none may be unknown."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parity.answer import SUITES
from tests.parity.grading import EQUAL, graded

CASES = Path(__file__).resolve().parents[1] / "testdata" / "conformance"
ANSWER = Path(__file__).with_name("answer.py")


def _cases(suite: str) -> Iterator[dict[str, Any]]:
    with gzip.open(CASES / f"{suite}.jsonl.gz", "rt") as file:
        yield from map(json.loads, file)


@pytest.mark.parametrize("suite", SUITES)
def test_answers_equal_upstreams(suite: str) -> None:
    grades = {
        case["id"]: graded(suite, SUITES[suite]({**case["input"], "expected": case["expected"]}), case["expected"])
        for case in _cases(suite)
    }
    assert {case: grade for case, grade in grades.items() if grade != EQUAL} == {}


@pytest.mark.parametrize("suite", SUITES)
def test_there_are_enough_cases(suite: str) -> None:
    assert sum(1 for _ in _cases(suite)) >= 400


def test_answer_program_reads_cases_and_writes_answers() -> None:
    case = next(_cases("qos"))
    line = json.dumps({"id": case["id"], "input": case["input"]})
    done = subprocess.run([sys.executable, ANSWER, "qos"], input=line, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"id": case["id"], "answer": case["expected"]}


def test_answer_program_refuses_an_unknown_suite() -> None:
    done = subprocess.run([sys.executable, ANSWER, "nothing"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage: answer.py {quantity,qos,oom" in done.stderr
